"""Where a system that switches comes to rest: its motion is followed from mode to mode until nothing moves.

Equations alone do not tell: a mass may rest against a stop or short of it, and a clutch anywhere within its
capacity. Where the motion is over, the steady state of the mode that is left is exact, and that mode must
hold there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis.one_mode import mode_words, system_in_mode
from bondloop.engine.analysis.rest import left_null, rest_of
from bondloop.engine.analysis.simulation.inputs import Inputs
from bondloop.engine.analysis.simulation.mode_at_point import check_gaps, constant, mode_at
from bondloop.engine.analysis.simulation.settling import Settling
from bondloop.engine.analysis.simulation.switching_simulation import simulate_switching
from bondloop.engine.ir import (
    REST_DISTANCE,
    SWITCHING_DECAYS,
    SWITCHING_EVALUATIONS,
    SWITCHING_INSTANTS,
    SWITCHING_ROUNDS,
    factorised,
    variables,
)
from bondloop.engine.passes import linearised, switching_rules
from bondloop.errors import SolveError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.analysis.simulation.switching_functions import Key
    from bondloop.engine.analysis.simulation.trajectory import Event
    from bondloop.engine.ir import SystemData


class SwitchingRest:
    """The steady state of a system that switches to which the motion from a start leads.

    Parameters
    ----------
    system, inputs, values
        The system, its constant inputs, its parameters.
    start
        The states where the motion starts, modes among them.
    """

    def __init__(
        self,
        system: SystemData,
        inputs: Mapping[str, float] | None,
        values: Mapping[str, float] | None,
        start: NDArray[np.float64],
    ) -> None:
        self.system, self.inputs, self.given, self.start = system, inputs, values, start
        u = system.operating_inputs(inputs).tolist()
        self._signals = [partial(constant, x) for x in u]
        self._rates = [partial(constant, 0.0) for _ in system.input_rates]
        self._parameters = list(system.values(values).values())
        self._modes: dict[Key, tuple[SystemData, list[int]]] = {}
        self._read = {
            f"{rule.path} {i}": e
            for rule in switching_rules(system)
            for i, e in enumerate((rule.effort, rule.flow, *rule.terms))
            if not all(v in system.parameters_by_var for v in variables(e))
        }
        self.scale = np.abs(start)

    def found(self) -> NDArray[np.float64]:
        """Return where the motion from the start comes to rest, with the modes that hold there."""
        run = Settling(self.system, self._signals, self._rates, self._parameters, 1e-8)
        check_gaps(run, self.start.tolist())
        x = np.array(mode_at(run, self.start.tolist()))
        seconds, span, horizon = 0.0, 0.0, 0.0
        events: Sequence[Event] = ()
        why = ""
        for _ in range(SWITCHING_ROUNDS):
            span = max(self._span(run, x), 2 * span)
            horizon = max(horizon, span * 2 ** (SWITCHING_ROUNDS - 1)) if not seconds else horizon
            try:
                before, last, (x, events) = x, events, self._moved(x, span)
            except SolveError as error:
                why = str(error).removeprefix(f"{self.system.name}: ")
                raise SolveError(self._restless(run, x, seconds, events, why)) from error
            seconds += span
            self.scale = np.maximum.reduce([self.scale, np.abs(before), np.abs(x)])
            if self._repeats(last, events):
                why = "it switches over and over again, at the same states"
                break
            drifting = self._drifting(run, x, span)
            if drifting:
                why = f"{drifting} changes at a constant rate"
                if not events:
                    if span >= horizon:
                        break
                    span = 0.5 * horizon  # where it can only drift on, look at once how far that leads
                continue
            try:
                rest = self._rest(run, x)
            except SolveError as error:
                why = str(error).removeprefix("no steady state found: ")
                continue
            why = "it still moves"
            if rest is not None and (self._near(rest, x) or self._stays(run, rest, x)):
                return rest
        raise SolveError(self._restless(run, x, seconds, events, why))

    # ------------------------------------------------------------------ one mode

    def _mode(self, run: Settling, x: NDArray[np.float64]) -> tuple[SystemData, list[int]]:
        """Return the equations of the mode among some states, and the places of its states."""
        key = run.modes.of(x.tolist())
        if key not in self._modes:
            # Its outputs are what the rules read.
            self._modes[key] = system_in_mode(self.system.replaced(outputs=self._read), key)
        return self._modes[key]

    def _poles(self, run: Settling, x: NDArray[np.float64]) -> NDArray[np.complex128]:
        mode, places = self._mode(run, x)
        if not places:
            return np.zeros(0, dtype=complex)
        try:
            local = linearised(mode, x[places], self.inputs, self.given)
            return np.asarray(np.linalg.eigvals(factorised(local.E)(local.A)), dtype=complex)
        except (SolveError, ArithmeticError):
            return np.zeros(0, dtype=complex)  # a slope that does not exist just here

    def _span(self, run: Settling, x: NDArray[np.float64]) -> float:
        """Return for how long a motion lasts in the mode of a point: decays, or two periods of a swing."""
        p = self._poles(run, x)
        fast = np.abs(p).max(initial=0.0)
        dying = -p.real[p.real < -1e-9 * fast]
        swinging = np.abs(p.imag[(np.abs(p.real) <= 1e-9 * fast) & (np.abs(p.imag) > 1e-9 * fast)])
        slowest = dying.min(initial=np.inf)
        lasting = SWITCHING_DECAYS / (slowest if np.isfinite(slowest) else fast or 1.0)
        return float(max(lasting, 4 * np.pi / swinging.min(initial=np.inf)))

    def _rest(self, run: Settling, x: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the steady state of the mode that is left, and None where that mode does not hold there."""
        mode, places = self._mode(run, x)
        full = x.copy()
        if places:
            full[places] = rest_of(mode, self.inputs, self.given, x[places])
        full = np.array(run.present(0.0, full.tolist()))
        settled = np.array(run.settle(0.0, full.tolist()).x)
        if run.modes.of(settled.tolist()) == run.modes.of(full.tolist()):
            return settled
        # On the edge between two modes either will do, if nothing moves in it.
        other, places = self._mode(run, settled)
        if places:
            settled[places] = rest_of(other, self.inputs, self.given, settled[places])
        held = run.modes.of(run.settle(0.0, settled.tolist()).x) == run.modes.of(settled.tolist())
        return settled if held and self._near(settled, full) else None

    def _near(self, rest: NDArray[np.float64], x: NDArray[np.float64]) -> bool:
        """Whether a point is a rest but for what is left of the motion."""
        scale = np.where(self.scale > 0, self.scale, np.abs(rest))
        return bool(np.all(np.abs(rest - x) <= REST_DISTANCE * np.where(scale > 0, scale, 1.0)))

    def _stays(self, run: Settling, rest: NDArray[np.float64], x: NDArray[np.float64]) -> bool:
        """Whether a motion from x about a rest of the same mode can never end that mode.

        With x(t) - rest the sum of v_j z_j exp(p_j t), and no p_j growing, what a rule reads departs from its
        value at the rest by no more than the sum of the sizes of c v_j z_j.
        """
        key = run.modes.of(x.tolist())
        mode, places = self._mode(run, x)
        if key != run.modes.of(rest.tolist()) or not mode.is_linear:
            return False
        local = linearised(mode, x[places], self.inputs, self.given)
        p, V = np.linalg.eig(factorised(local.E)(local.A))
        if p.real.max(initial=0.0) > 1e-9 * np.abs(p).max(initial=0.0):
            return False
        try:
            z = np.linalg.solve(V, (x - rest)[places])
        except np.linalg.LinAlgError:
            return False  # integrators in a row
        reach = dict(zip(mode.outputs, np.abs((local.C @ V) * z).sum(axis=1).tolist(), strict=True))
        efforts, flows, terms = run.ports(0.0, rest.tolist())
        for i, rule in enumerate(run.rules.rules):
            swing = [-reach.get(f"{rule.path} {j}", 0.0) for j in range(2 + len(rule.terms))]
            if rule.broken(round(key[i]), efforts[i], flows[i], terms[i], swing):
                return False
        return True

    def _drifting(self, run: Settling, x: NDArray[np.float64], span: float) -> str:
        """Return the state that drifts most in the mode of a point, where it will as long as that mode lasts.

        Of rates A x + b with a constant A, what lies in the left null space of A never changes.
        """
        mode, places = self._mode(run, x)
        if not places:
            return ""
        try:
            here, there = (
                factorised(local.E)(local.A)
                for local in (
                    linearised(mode, z, self.inputs, self.given) for z in (x[places], 0.5 * x[places])
                )
            )
            still = [0.0] * len(mode.input_rates)
            parameters = list(mode.values(self.given).values())
            rates = np.array(mode.rates(x[places].tolist(), run.inputs(0.0)[0], still, parameters))
        except (SolveError, ArithmeticError):
            return ""  # a slope that does not exist just here
        if not np.allclose(here, there, rtol=1e-9, atol=0.0):
            return ""
        L = left_null(here)
        drift = np.abs(L @ (L.T @ rates)) * span
        scale = np.where(self.scale > 0, self.scale, 1.0)[places]
        worst = int(np.argmax(drift / scale)) if len(drift) else 0
        return mode.states[worst] if drift[worst] > REST_DISTANCE * scale[worst] else ""

    def _repeats(self, last: Sequence[Event], events: Sequence[Event]) -> bool:
        """Whether two rounds switched at the same states: nothing is lost in between."""
        if min(len(last), len(events)) < 2:
            return False
        sizes = [
            np.abs([list(e.before.values()) for e in of_round]).max(axis=0) for of_round in (last, events)
        ]
        return bool(np.all(np.abs(sizes[0] - sizes[1]) <= REST_DISTANCE * self.scale))

    # ------------------------------------------------------------------ the motion

    def _moved(self, x: NDArray[np.float64], span: float) -> tuple[NDArray[np.float64], tuple[Event, ...]]:
        """Follow the motion for some time; return where it leads, and what switched."""
        size = self.scale.max(initial=0.0) or 1.0
        options = {
            "method": None,
            "rtol": 1e-9,
            "atol": 1e-12 * np.where(self.scale > 0, self.scale, size),
            "max_step": np.inf,
            "evaluations": SWITCHING_EVALUATIONS,
        }
        motion = simulate_switching(
            self.system, self._signals, self._rates, self._parameters, x,
            np.linspace(0.0, span, SWITCHING_INSTANTS), options,
            Inputs({}, self._signals, self._rates, (0.0, span)),
        )  # fmt: skip
        self.scale = np.maximum(self.scale, np.abs(motion.states).max(axis=0))
        return motion.states[-1], motion.events

    def _restless(
        self, run: Settling, x: NDArray[np.float64], seconds: float, events: Sequence[Event], why: str
    ) -> str:
        modes = mode_words(run.rules.rules, run.modes.of(x.tolist()))
        busy = ", ".join(dict.fromkeys(event.path for event in events))
        last = f"; {busy} switched {len(events)} times at the last look" if events else ""
        return (
            f"{self.system.name}: no steady state found: the motion from the start was followed for "
            f"{seconds:.3g} s and does not come to rest ({why}){last}; it ends with {modes}. Give it a "
            "damper or another start, initial={...}; the steady state of one mode, whether or not it holds, "
            "is had from a model compiled with modes={...}"
        )
