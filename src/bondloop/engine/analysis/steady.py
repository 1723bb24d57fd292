"""Steady states: where nothing changes, as the motion from the start leads to it.

A system may have many. Two springs side by side hold any difference of their lengths that they began with;
two capacitors hold the charge that they were given. What is conserved keeps its value, so the steady state is
the one that has it. Of a linear system that is a projection; one that is not linear is followed in time where
its equations alone leave a choice.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.analysis import tolerances
from bondloop.engine.analysis.linearisation import local_space, mode_words, system_in_mode
from bondloop.engine.analysis.rest import equilibrated, left_null, null, rest_of, state_units
from bondloop.engine.analysis.simulation.inputs import Inputs
from bondloop.engine.analysis.simulation.settling import Settling, check_gaps, mode_at
from bondloop.engine.analysis.simulation.switching_simulation import simulate_switching
from bondloop.engine.ir import SingularError, evaluator, factorised, variables
from bondloop.engine.passes import linearised, switching_rules, with_sizes
from bondloop.errors import ModeWarning, SolveError, StabilityWarning

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine.analysis.simulation.settling import Key
    from bondloop.engine.analysis.simulation.trajectory import Event
    from bondloop.engine.ir import StateSpace, SystemData


class SteadyState(dict[str, float]):
    """The states at rest by their paths, and whether the equations have only this rest.

    Where they have more, nearby, the start has decided: what is conserved was kept as it was there.

    Parameters
    ----------
    states
        Every state by its path.
    free
        States that the equations at rest leave open: they may be moved, together, and nothing changes. Of a
        system that is not linear this is so to first order.
    freedom
        In how many independent ways.

    Examples
    --------
    Of two springs side by side, only what they carry together is settled by a force:

    >>> from bondloop.bondgraph import C, I, Model, One, R, Se
    >>> pair = Model("pair")
    >>> pair.v, pair.a, pair.b = One(), C(stiffness=300), C(stiffness=100)
    >>> _ = Se("F") >> pair.v >> [I(mass=1), R(damping=10), pair.a, pair.b]
    >>> rest = pair.compile().steady_state({"F": 40})
    >>> round(rest["a.displacement"], 6), rest.unique, rest.free
    (0.1, False, ('a.displacement', 'b.displacement'))
    >>> print(rest.remark)
    not unique: the equations leave a.displacement and b.displacement open, in one way; the start has decided
    """

    def __init__(self, states: Mapping[str, float], free: tuple[str, ...] = (), freedom: int = 0) -> None:
        super().__init__(states)
        self.free = free
        self.freedom = freedom

    @property
    def unique(self) -> bool:
        """Whether no other rest is near."""
        return not self.freedom

    @property
    def remark(self) -> str:
        """What is to be said of it in words: empty where it is the only rest."""
        if self.unique:
            return ""
        shown = list(self.free)
        if len(shown) > 5:
            shown = [*shown[:4], f"{len(shown) - 4} more states"]
        names = " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
        ways = "one way" if self.freedom == 1 else f"{self.freedom} independent ways"
        return f"not unique: the equations leave {names} open, in {ways}; the start has decided"


def left_open(A: NDArray[np.float64]) -> tuple[NDArray[np.int_], int]:
    """Return which states A leaves open, by number, and in how many ways.

    >>> left_open(np.array([[0.0, 1.0, 0.0], [0.0, -2.0, 0.0], [0.0, 0.0, -1.0]]))
    (array([0]), 1)
    """
    directions = null(A)
    if not directions.shape[1]:
        return np.array([], dtype=int), 0
    share = np.abs(directions) / equilibrated(A)[2][:, None]
    share /= share.max(axis=0)
    return np.flatnonzero(share.max(axis=1) > tolerances.FREE_SHARE), directions.shape[1]


def steady_state(
    system: SystemData,
    inputs: Mapping[str, float] | None = None,
    values: Mapping[str, float] | None = None,
    initial: Mapping[str, float] | ArrayLike | None = None,
) -> SteadyState:
    """Return the states at which nothing changes, as the motion from the start leads to them.

    Parameters
    ----------
    system
        The system.
    inputs
        Constant inputs by name; those left out keep the model's value, or zero.
    values
        Parameter values that replace the model's own.
    initial
        Where the motion starts: states by name (others as the model says), or a full vector. It decides where
        something is conserved, and where there are several steady states.

    Raises
    ------
    SolveError
        Where nothing comes to rest, or where it cannot be known at which of several steady states it does.

    Warns
    -----
    StabilityWarning
        Where the only steady state is unstable: it is returned, but the motion leads away from it. Of more
        than 300 states this is not looked at.
    ModeWarning
        Where the system is of one mode, and that does not hold there.
    """
    x0 = system.initial(initial)
    if not len(x0):
        return SteadyState({})
    if system.switching:
        x = SwitchingRest(system, inputs, values, x0).found()
    else:
        x = rest_of(system, inputs, values, x0)
        warn_of_mode(system, x, inputs, values)
    local = local_space(system, x, inputs, values)
    if len(x) <= tolerances.DENSE_REST:
        _warn_of_growth(system, local)
    free, freedom = _open(local)
    return SteadyState(dict(zip(system.states, x.tolist(), strict=True)), free, freedom)


def _open(local: StateSpace) -> tuple[tuple[str, ...], int]:
    """Return the states that the equations about a rest leave open, and in how many ways."""
    if not local.states:
        return (), 0
    if len(local.states) > tolerances.DENSE_REST:
        try:
            factorised(local.A)
        except SingularError:
            pass
        else:
            return (), 0
    try:
        which, freedom = left_open(state_units(factorised(local.E)(local.A))[1])
    except SolveError:
        return (), 0  # a slope that does not exist just here
    return tuple(local.states[i] for i in which), freedom


def _warn_of_growth(system: SystemData, local: StateSpace) -> None:
    """Say so where something grows that is near a steady state."""
    try:
        rate = fastest_growth(factorised(local.E)(local.A))
    except SolveError:
        return  # a slope that does not exist just here
    if rate > 0:
        warnings.warn(
            f"{system.name}: the steady state is unstable: what is near it moves away, e times as far in "
            f"{1 / rate:.3g} s, and no other was found to which the motion from the start leads; take it "
            "for a point at which to linearise, not for an end",
            StabilityWarning,
            stacklevel=4,
        )


def fastest_growth(A: NDArray[np.float64]) -> float:
    """Return the largest real part of the eigenvalues, in 1/s; zero where it may be rounding.

    The rounding of an eigenvalue is that of the matrix, balanced, over the cosine between its left and right
    vectors (Wilkinson 1965). Integrators in a row have one that is nearly zero, and eigenvalues far off.

    >>> import numpy as np
    >>> fastest_growth(np.array([[0.0, 1.0], [0.0, 0.0]]))
    0.0
    >>> round(fastest_growth(np.array([[0.0, 1.0], [4.0, 0.0]])), 12)
    2.0
    """
    from scipy.linalg import eig

    solver: Any = eig  # its types know one kind of result only
    balanced = state_units(A)[1]
    p, left, right = solver(balanced, left=True, right=True)
    cosines = np.maximum(np.abs(np.einsum("ij,ij->j", left.conj(), right)), np.finfo(float).eps)
    rounding = 1e3 * np.finfo(float).eps * np.linalg.norm(balanced) / cosines
    return float(np.max(p.real[p.real > rounding], initial=0.0))


def warn_of_mode(
    system: SystemData,
    x: NDArray[np.float64],
    inputs: Mapping[str, float] | None,
    values: Mapping[str, float] | None,
) -> None:
    """Say so where a system of one mode rests where that mode does not hold."""
    if not system.modes.held:
        return
    goals = [g for held in system.modes.held for g in (held.rule.effort, held.rule.flow, *held.rule.terms)]
    statements = system.schedule(goals)
    groups = [
        system.state_vars,
        system.input_vars,
        tuple(system.input_rates.values()),
        tuple(system.parameters_by_var),
    ]
    numbers = [
        x.tolist(),
        system.operating_inputs(inputs).tolist(),
        [0.0] * len(system.input_rates),
        list(system.values(values).values()),
    ]
    try:
        seen = evaluator(statements, groups, goals)(*numbers)
        sized, ends = with_sizes(statements, goals)
        sizes = evaluator(sized, groups, ends)(*numbers)
    except SolveError:
        return  # what acts on an element cannot be computed here
    reasons, first = [], 0
    for held in system.modes.held:
        count = 2 + len(held.rule.terms)
        of_rule = seen[first : first + count]
        slack = [tolerances.MODE_SLACK * size for size in sizes[first : first + count]]
        why = held.rule.broken(held.mode, of_rule[0], of_rule[1], of_rule[2:], slack)
        if why:
            reasons.append(f"{held.words} does not hold there: {why}")
        first += count
    if reasons:
        warnings.warn(
            f"{system.name}: this is the steady state of one mode, but {'; '.join(reasons)}. Compile the "
            "model without modes={...}: its steady state is where the motion leads, in the mode that holds",
            ModeWarning,
            stacklevel=4,
        )


# Where a system that switches comes to rest: its motion is followed from mode to mode until nothing moves.
#
# Equations alone do not tell: a mass may rest against a stop or short of it, and a clutch anywhere within its
# capacity. Where the motion is over, the steady state of the mode that is left is exact, and that mode must
# hold there.


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
        self._u = system.operating_inputs(inputs).tolist()
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
        run = Settling(self.system, Inputs.constant(self.system, self._u), self._parameters, 1e-8)
        check_gaps(run, self.start.tolist())
        x = np.array(mode_at(run, self.start.tolist()))
        seconds, span, horizon = 0.0, 0.0, 0.0
        events: Sequence[Event] = ()
        why = ""
        for _ in range(tolerances.SWITCHING_ROUNDS):
            span = max(self._span(run, x), 2 * span)
            horizon = max(horizon, span * 2 ** (tolerances.SWITCHING_ROUNDS - 1)) if not seconds else horizon
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
        lasting = tolerances.SWITCHING_DECAYS / (slowest if np.isfinite(slowest) else fast or 1.0)
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
        return bool(np.all(np.abs(rest - x) <= tolerances.REST_DISTANCE * np.where(scale > 0, scale, 1.0)))

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
        return mode.states[worst] if drift[worst] > tolerances.REST_DISTANCE * scale[worst] else ""

    def _repeats(self, last: Sequence[Event], events: Sequence[Event]) -> bool:
        """Whether two rounds switched at the same states: nothing is lost in between."""
        if min(len(last), len(events)) < 2:
            return False
        sizes = [
            np.abs([list(e.before.values()) for e in of_round]).max(axis=0) for of_round in (last, events)
        ]
        return bool(np.all(np.abs(sizes[0] - sizes[1]) <= tolerances.REST_DISTANCE * self.scale))

    # ------------------------------------------------------------------ the motion

    def _moved(self, x: NDArray[np.float64], span: float) -> tuple[NDArray[np.float64], tuple[Event, ...]]:
        """Follow the motion for some time; return where it leads, and what switched."""
        size = self.scale.max(initial=0.0) or 1.0
        options = {
            "method": None,
            "rtol": 1e-9,
            "atol": 1e-12 * np.where(self.scale > 0, self.scale, size),
            "max_step": np.inf,
            "evaluations": tolerances.SWITCHING_EVALUATIONS,
        }
        motion = simulate_switching(
            self.system, Inputs.constant(self.system, self._u, (0.0, span)), self._parameters, x,
            np.linspace(0.0, span, tolerances.SWITCHING_INSTANTS), options,
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
