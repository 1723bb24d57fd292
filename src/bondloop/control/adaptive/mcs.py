"""Minimal control synthesis (MCS), in the substructuring form of Wagg and Stoten 2001."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import contextlib
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bondloop.control.base import Controller, Design, displacement_state
from bondloop.engine.data import FINITE, NOT_NEGATIVE, POSITIVE, Parameter, in_seconds, state_unit
from bondloop.engine.ir import (
    Channel,
    Const,
    Expr,
    Quantity,
    Role,
    Update,
    Var,
    function,
    quantity_of,
    select,
    substitute,
)
from bondloop.engine.passes import Applied, Context
from bondloop.errors import InputError, ModelError
from bondloop.signals import Signal
from bondloop.substructure import indexed, reference_model
from bondloop.units import multiplied, unit_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control.base import Measured
    from bondloop.engine.data import Range
    from bondloop.substructure import NumericalHalf
    from bondloop.transfer import TransferSystem


FILTERS = ("settling", "lyapunov", "reference")
"""Ways to choose C_e."""


@dataclass(frozen=True)
class MCS(Controller):
    """Adaptive control that needs no model of the transfer system.

    ``u = K x + K_r r`` (Wagg 2001, eq. 6) with the gains ``K = a int(y_e x^T) dt + b y_e x^T`` and
    ``K_r = a int(y_e r^T) dt + b y_e r^T``. The reference model is the numerical half itself:
    ``x_e = x_m - x`` is the difference between its interface motion and the transfer system's, and
    ``y_e = C_e x_e`` the filtered error.

    The proof of stability asks that {A_m, B_e, C_e} is strictly positive real (eq. 11), with A_m that of the
    *numerical half* (eq. 9): see `bondloop.substructure.reference_model`. C_e = [4/t_s, 1] is strictly
    positive real with a model of poles at -4/t_s, which is not the one that is followed; with a mass on a
    spring and a damper it is only where 4/t_s is below c/m. The check of a test says which it is.

    Parameters
    ----------
    alpha, beta
        Adaptive weights a and b; the literature keeps alpha / beta = 10.
    settling_time
        Settling time t_s in seconds of the ideal error dynamics: all poles at -4/t_s.
    order
        How many of displacement, velocity, acceleration and so on have gains. Beyond the velocity they are
        derivatives of the desired and the measured velocity, both behind the same filter.
    reference
        The signal r: None for the desired displacement, or a signal such as the support motion (Wagg 2001).
    error_filter
        C_e. ``"settling"``: the coefficients of (s + 4/t_s)^(order - 1), so [4/t_s, 1] for order 2;
        ``"lyapunov"``: C_e = B_e^T P with A_m^T P + P A_m = -Q, Q = I, and A_m with all poles at -4/t_s;
        ``"reference"``: the same with A_m of the numerical half, which makes it strictly positive real for
        this test (order 2 only); or C_e itself, a weight for each of displacement, velocity and so on.
    dead_zone
        Wind-up protection: the integral part does not adapt while |y_e| is below this; a velocity where the
        error filter is ``"settling"`` and the order 2 (m/s, or rad/s where the interface turns); beside
        weights with units, what these make of the error.
    leakage
        Wind-up protection by sigma-modification: the integral part decays at this rate in 1/s.
    coupled
        For several transfer systems: gains from every measured motion to every command.
    initial_gains
        K(0) and then K_r(0): one number for each gain of a command, all commands alike; or a list of such
        lists, one for each command. Zeros where nothing is given.
    differentiation_time
        For orders above 2: time constant in s of the filters that differentiate; several sample periods.

    Examples
    --------
    >>> MCS(settling_time=0.01).error_weights()
    (400.0, 1.0)
    >>> MCS(settling_time=0.01, order=3).error_weights()
    (160000.0, 800.0, 1.0)
    >>> MCS(error_filter=[0.05, 1]).error_weights()
    (0.05, 1.0)
    """

    alpha: Parameter = Parameter(100.0, above=0)
    beta: Parameter = Parameter(10.0, above=0)
    settling_time: Parameter = Parameter(0.01, above=0, unit="s")
    order: int = 2
    reference: Signal | None = None
    error_filter: str | Sequence[float] = "settling"
    dead_zone: float = 0.0
    leakage: Parameter = Parameter(0.0, least=0, unit="1/s")
    coupled: bool = False
    initial_gains: Any = ()
    differentiation_time: Parameter = Parameter(0.01, above=0, unit="s")

    def __post_init__(self) -> None:
        kind = type(self).__name__
        try:
            order = 0 if isinstance(self.order, bool) else operator.index(self.order)
        except TypeError:
            order = 0
        most = 8  # filtered derivatives beyond it say nothing of a measured motion
        if not 1 <= order <= most:
            raise InputError(f"{kind}: order must be a whole number from 1 to {most}; found {self.order}")
        given: object = self.reference  # whatever stands in a script
        if not isinstance(given, (Signal, type(None))):
            raise InputError(
                f"{kind}(reference): expected a signal, such as bondloop.signals.Sine('1 mm', '2 Hz'), or "
                f"None for the desired displacement; found {given!r:.60}"
            )
        scale = self._scale()
        orders = range(order) if scale is None else [scale]
        motions = [multiplied(unit, "s", -k) for k in orders for unit in ("m", "rad")]
        state_unit(self, "dead_zone", self.dead_zone, motions)
        zone = NOT_NEGATIVE.check(self.dead_zone, f"{kind}(dead_zone)", *motions)
        object.__setattr__(self, "dead_zone", zone)
        object.__setattr__(self, "error_filter", self._checked_filter(scale))
        object.__setattr__(self, "initial_gains", self._checked_gains())

    def _scale(self) -> int | None:
        """Return which derivative of x_e the filtered error measures; None where the weights do not say.

        (s + 4/t_s)^(order - 1) x_e measures what its highest derivative does; plain weights may be of any
        scale, and those of the other filters are.
        """
        choice: object = self.error_filter
        highest = self.order - 1
        if isinstance(choice, str):
            return highest if choice == "settling" else None
        if not any(isinstance(w, str) and unit_in(w) for w in self._entries()):
            return None
        for scale in range(highest, -1, -1):
            with contextlib.suppress(InputError):
                self._weights(scale)
                return scale
        return highest

    def _entries(self) -> list[object]:
        choice: object = self.error_filter  # whatever stands in a file
        return list(choice) if isinstance(choice, Sequence | np.ndarray) else [choice]

    def _weights(self, scale: int) -> tuple[float, ...]:
        where = f"{type(self).__name__}(error_filter)"
        entries = enumerate(self._entries())
        return tuple(NOT_NEGATIVE.check(in_seconds(w, where, k - scale), where) for k, w in entries)

    def _checked_filter(self, scale: int | None) -> str | tuple[float, ...]:
        kind = type(self).__name__
        choice: object = self.error_filter  # whatever stands in a file
        if isinstance(choice, str):
            if choice not in FILTERS:
                raise InputError(
                    f"{kind}: error_filter must be {', '.join(map(repr, FILTERS))} or the weights; "
                    f"found {choice!r}"
                )
            if choice == "reference" and self.order != 2:
                raise InputError(
                    f"{kind}: error_filter='reference' takes A_m from the numerical half, whose interface "
                    f"motion is of second order; found order {self.order}"
                )
            return choice
        weights = self._weights(self.order - 1 if scale is None else scale)
        if len(weights) != self.order or not weights[-1]:
            raise InputError(
                f"{kind}: expected {self.order} weights in error_filter, one for each of displacement, "
                f"velocity and so on, the last above 0; found {list(weights)}"
            )
        return weights

    def _checked_gains(self) -> tuple[float, ...] | tuple[tuple[float, ...], ...]:
        kind = type(self).__name__
        rows = self.initial_gains
        if not isinstance(rows, Sequence | np.ndarray) or isinstance(rows, str):
            raise InputError(f"{kind}: initial_gains are a list of numbers, or of such lists; found {rows!r}")
        nested = [isinstance(row, Sequence | np.ndarray) and not isinstance(row, str) for row in rows]
        if any(nested) and not all(nested):
            raise InputError(
                f"{kind}: initial_gains are numbers or lists of numbers, not both; found {rows!r}"
            )
        # Of a displacement and its derivatives; where the command is no displacement, plain numbers will do.
        units = ["1", *(multiplied("1", "s", k) for k in range(1, self.order))]
        where = f"{kind}(initial_gains)"
        if any(nested):
            return tuple(tuple(FINITE.check(x, where, *units) for x in row) for row in rows)
        return tuple(FINITE.check(x, where, *units) for x in rows)

    def error_weights(self) -> tuple[float, ...]:
        """Return the row C_e: weights of the errors of displacement, velocity and so on."""
        if not isinstance(self.error_filter, str):
            return tuple(self.error_filter)
        if self.error_filter == "reference":
            raise InputError("error_filter='reference' depends on the numerical half; ask error_matrix(half)")
        pole, n = 4.0 / self.settling_time, self.order
        if self.error_filter == "settling":
            return tuple(comb(n - 1, k) * pole ** (n - 1 - k) for k in range(n))
        A = np.diag(np.ones(n - 1), 1)
        A[-1] = [-comb(n, k) * pole ** (n - k) for k in range(n)]
        return tuple(float(w) for w in _lyapunov(A, np.eye(n)[:, -1:])[0])

    def error_matrix(self, half: NumericalHalf) -> NDArray[np.float64]:
        """Return C_e for all interfaces: a row for each, over all displacement errors, velocity errors, ...

        Parameters
        ----------
        half
            The numerical half, of which ``error_filter="reference"`` takes A_m.
        """
        if self.error_filter == "reference":
            model = reference_model(half)
            if np.linalg.eigvals(model.A).real.max() >= 0:
                raise InputError(
                    "MCS(error_filter='reference'): the numerical half's interface motion does not decay, "
                    "so no C_e makes it strictly positive real; give it a spring and a damper"
                )
            return _lyapunov(model.A, model.B)
        return np.kron(np.array([self.error_weights()]), np.eye(len(half.flows)))

    def _error(self, kinds: Sequence[Quantity]) -> Quantity | None:
        """Return what y_e measures: (4/t_s) x + v is a velocity, and x alone a displacement.

        Lyapunov's weights follow from a matrix Q = 1 of no unit, so nothing is concluded from them.
        """
        return Quantity("filtered error", kinds[-1].unit) if self.error_filter == "settling" else None

    def design(self, half: NumericalHalf, actuators: Sequence[TransferSystem]) -> Design:  # noqa: ARG002 - needs no model
        """Join the adaptive laws to the numerical half, whose interface motion is the reference model's."""
        return self._joined(half, sampled=False)[0]

    def _joined(self, half: NumericalHalf, *, sampled: bool) -> tuple[Design, AdaptiveLaw]:
        names = indexed("", len(half.flows))
        states = dict(zip(half.system.state_vars, half.system.rate_exprs, strict=True))
        desired: list[Expr] = []
        for index, flow, domain in zip(names, half.flows, half.domains, strict=True):
            z, new = displacement_state(states, flow, f"controller.desired{index}.displacement", domain)
            states.update(new)
            desired.append(z)
        law = AdaptiveLaw(self, states, dict(half.system.definitions), sampled=sampled)
        law.observe(half, names, desired)
        weights, places = law.weights(self, self.error_matrix(half))
        shared = law.reference
        signals: dict[Var, Signal] = {} if self.reference is None else {shared: self.reference}
        commands: list[Expr] = []
        for i, index in enumerate(names):
            seen: list[Expr] = list(law.measured[i])
            if self.coupled:
                seen = [v for motion in law.measured for v in motion]
            references = [shared] if signals else desired if self.coupled else [desired[i]]
            law.error(i, index, places[i], weights[i], self._error(law.kinds[i]))
            first = self._first(i, len(names), len(seen) + len(references))
            commands.append(law.command(i, index, seen, references, first))
        system = half.system.replaced(
            name="computer",
            states=law.states,
            inputs=[
                *half.efforts,
                *half.excitations,
                *law.displacements,
                *law.velocities,
                *signals,
                *law.held,
            ],
            outputs={f"command{index}": u for index, u in zip(names, commands, strict=True)},
            parameters={**half.system.parameters_by_var, **law.parameters},
            definitions=law.definitions,
            initial={**half.system.initial_by_var, **({} if sampled else law.initial)},
        )
        design = Design(
            system,
            tuple(commands),
            half.efforts,
            tuple(desired),
            half.flows,
            law.displacements,
            law.velocities,
            tuple(law.channels),
            signals,
            adapted=tuple(law.held),
            gains=tuple(law.gains),
        )
        return design, law

    def _first(self, i: int, count: int, gains: int) -> tuple[float, ...]:
        """Return the initial gains of one command."""
        rows = self.initial_gains
        if not rows:
            return (0.0,) * gains
        kind, nested = type(self).__name__, isinstance(rows[0], tuple)
        if nested and len(rows) != count:
            raise InputError(
                f"{kind}: expected initial_gains for each of {count} commands; found {len(rows)}"
            )
        row: tuple[float, ...] = rows[i] if nested else rows
        if len(row) != gains:
            raise InputError(
                f"{kind}: expected {gains} initial_gains for a command, first those of K, then "
                f"those of K_r; found {len(row)}"
            )
        return row


def _lyapunov(A: NDArray[np.float64], B: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return C = B^T P with A^T P + P A = -I: {A, B, C} is strictly positive real."""
    from scipy.linalg import solve_continuous_lyapunov

    P = solve_continuous_lyapunov(A.T, -np.eye(len(A)))
    return np.asarray(B.T @ P, dtype=float)


@dataclass(frozen=True)
class _SampledDesign(Design):
    """A design whose gains change at every sample: first values, and what they grow by a second."""

    growths: tuple[Expr, ...] = ()
    first: tuple[float, ...] = ()


@dataclass(frozen=True)
class DiscreteMCS(MCS):
    """MCS whose gains are changed once a sample, by a difference equation.

    With the sample period T and the products of one sample, ``p_k = y_e x^T``,

    ``K_k = K_(k-1) + b p_k - (b - a T) p_(k-1)``,

    likewise for K_r. That is the rectangle rule for the integral part, where `MCS` integrates it together
    with the numerical half, by the same scheme. It works sample by sample, so the coupling of a test must be
    ``"sampled"``.

    Parameters
    ----------
    alpha, beta, settling_time, order, reference, error_filter, dead_zone, leakage, coupled, initial_gains
        As of `MCS`.
    differentiation_time
        As of `MCS`, for orders above 2.

    Examples
    --------
    >>> DiscreteMCS(alpha=1000, beta=100, error_filter="reference", leakage=0.01).sampled
    True
    """

    sampled: ClassVar[bool] = True

    def design(self, half: NumericalHalf, actuators: Sequence[TransferSystem]) -> Design:  # noqa: ARG002 - needs no model
        """Join the laws to the numerical half; the integral parts of the gains are held over a sample."""
        joined, law = self._joined(half, sampled=True)
        known = {f.name: getattr(joined, f.name) for f in fields(Design)}
        first = tuple(law.initial[gain] for gain in joined.gains)
        return _SampledDesign(**known, growths=tuple(law.growths), first=first)

    def observe(
        self,
        design: Design,
        measured: Sequence[Measured],  # noqa: ARG002 - it reads what the numerical half makes of them
        context: Context,  # noqa: ARG002
    ) -> tuple[Applied, Mapping[Var, Expr]]:
        """Give the integral parts as they are since the last sample."""
        sampled = _sampled(design)
        states = dict(zip(design.gains, sampled.first, strict=True))
        return Applied([], Const(0.0), states), dict(zip(design.adapted, design.gains, strict=True))

    def commands(
        self,
        design: Design,
        values: Mapping[Var, Expr],
        measured: Sequence[Measured],
        contexts: Sequence[Context],
    ) -> list[Applied]:
        """Return the commands, and with the last of them the gains' step to the next sample."""
        sampled = _sampled(design)
        period = Const(contexts[0].period)
        known = dict(values)
        steps = tuple(
            (gain, gain + period * substitute(growth, known))
            for gain, growth in zip(design.gains, sampled.growths, strict=True)
        )
        result = super().commands(design, values, measured, contexts)
        last = result[-1]
        return [*result[:-1], replace(last, steps=[*last.steps, Update(steps)])]


def _sampled(design: Design) -> _SampledDesign:
    if not isinstance(design, _SampledDesign):
        raise ModelError("DiscreteMCS needs the design that it made itself")
    return design


class AdaptiveLaw:
    """Collects states, definitions and parameters of the adaptive laws.

    Parameters
    ----------
    mcs
        The controller's settings.
    states, definitions
        Those of the numerical half, to which the law's are added.
    sampled
        Whether the integral parts of the gains are inputs, changed at every sample, and not states.

    Attributes
    ----------
    measured, model, kinds
        By interface: displacement, velocity and so on, measured and desired, and what each of them measures.
    gains, held
        The integral parts, where they are kept from sample to sample, and the inputs by which the law knows
        them where it is sampled.
    initial
        First values of the integral parts.
    growths
        Where it is sampled: what each integral part grows by, a second.
    """

    def __init__(
        self, mcs: MCS, states: dict[Var, Expr], definitions: dict[Var, Expr], *, sampled: bool
    ) -> None:
        self.states, self.definitions, self.sampled = states, definitions, sampled
        self.order = mcs.order
        self.parameters: dict[Var, float | None] = {}
        self.initial: dict[Var, float] = {}
        self.channels: list[Channel] = []
        self.gains: list[Var] = []
        self.held: list[Var] = []
        self.growths: list[Expr] = []
        self.reference = Var("controller.reference")
        self.kinds: list[list[Quantity]] = []
        self.measured: list[list[Expr]] = []
        self.model: list[list[Expr]] = []
        self.displacements: tuple[Var, ...] = ()
        self.velocities: tuple[Var, ...] = ()
        self.alpha = self._constant("alpha", mcs.alpha, POSITIVE)
        self.beta = self._constant("beta", mcs.beta, POSITIVE)
        self.leakage = self._constant("leakage", mcs.leakage, NOT_NEGATIVE) if mcs.leakage else None
        self.dead_zone = self._constant("dead_zone", mcs.dead_zone, NOT_NEGATIVE) if mcs.dead_zone else None
        self.lag = (
            self._constant("differentiation_time", mcs.differentiation_time, POSITIVE)
            if mcs.order > 2
            else None
        )

    def _constant(self, name: str, value: float, allowed: Range) -> Var:
        var = Var(f"controller.{name}", allowed)
        self.parameters[var] = value
        return var

    def observe(self, half: NumericalHalf, names: Sequence[str], desired: Sequence[Expr]) -> None:
        """Add what is known of every interface motion, measured and desired, up to the order."""
        displacements: list[Var] = []
        velocities: list[Var] = []
        for index, z, flow, domain in zip(names, desired, half.flows, half.domains, strict=True):
            kinds = [domain.displacement, domain.flow, domain.acceleration]
            while len(kinds) < self.order:
                kinds.append(kinds[-1].rate)
            self.kinds.append(kinds[: self.order])
            x = Var(f"controller.displacement{index}", quantity=kinds[0])
            displacements.append(x)
            measured: list[Expr] = [x]
            model = [z]
            if self.order > 1:
                v = Var(f"controller.velocity{index}", quantity=kinds[1])
                velocities.append(v)
                measured.append(v)
                model.append(flow)
            for k in range(2, self.order):
                measured.append(self._rate(measured[-1], f"controller.measured{index}.rate[{k}]", kinds[k]))
                model.append(self._rate(model[-1], f"controller.desired{index}.rate[{k}]", kinds[k]))
            self.measured.append(measured)
            self.model.append(model)
        self.displacements, self.velocities = tuple(displacements), tuple(velocities)

    def _rate(self, signal: Expr, name: str, kind: Quantity) -> Var:
        """Add a filtered derivative, s/(T s + 1): nothing measured is differentiated."""
        assert self.lag is not None
        slow = Var(f"{name}.lagging", quantity=quantity_of(signal))
        rate = Var(name, quantity=kind)
        self.definitions[rate] = (signal - slow) / self.lag
        self.states[slow] = rate
        return rate

    def weights(
        self, mcs: MCS, C_e: NDArray[np.float64]
    ) -> tuple[list[list[Var]], list[list[tuple[int, int]]]]:
        """Add C_e as constants; return for every interface its constants, and which errors they weigh.

        Weights that are alike at all interfaces are constants that they share.
        """
        count = len(C_e)
        blocks = C_e.reshape(count, self.order, count)
        if mcs.error_filter != "reference":
            shared = [
                self._constant(f"error_weight[{k}]", float(blocks[0, k, 0]), NOT_NEGATIVE)
                for k in range(self.order)
            ]
            return [shared] * count, [[(i, k) for k in range(self.order)] for i in range(count)]
        constants: list[list[Var]] = []
        places: list[list[tuple[int, int]]] = []
        for i, rows in enumerate(blocks):
            places.append([(j, k) for k in range(self.order) for j in range(count) if rows[k, j]])
            row = f"[{i}]" if count > 1 else ""
            constants.append(
                [
                    self._constant(f"error_weight{row}[{place}]", float(rows[k, j]), FINITE)
                    for place, (j, k) in enumerate(places[-1])
                ]
            )
        return constants, places

    def error(
        self,
        interface: int,
        index: str,
        places: Sequence[tuple[int, int]],
        weights: Sequence[Var],
        measures: Quantity | None,
    ) -> None:
        """Add y_e of one command, a row of ``C_e x_e``."""
        error: Expr = Const(0.0)
        for (j, k), weight in zip(places, weights, strict=True):
            error = error + weight * (self.model[j][k] - self.measured[j][k])
        self.y_e = Var(f"controller.error{index}")
        self.definitions[self.y_e] = error
        self.channels.append(Channel.of(self.y_e.name, self.y_e, measures, Role.ERROR, interface))

    def command(
        self,
        interface: int,
        index: str,
        seen: Sequence[Expr],
        references: Sequence[Expr],
        first: Sequence[float],
    ) -> Expr:
        """Add one command, ``u = K x + K_r r``; return it."""
        gains = [(f"K{index}[{j}]", x) for j, x in enumerate(seen)]
        several = len(references) > 1
        gains += [(f"K_r{index}[{j}]" if several else f"K_r{index}", r) for j, r in enumerate(references)]
        total: Expr = Const(0.0)
        for (name, signal), start in zip(gains, first, strict=True):
            total = total + self._gain(interface, f"controller.{name}", signal, start) * signal
        u = Var(f"command{index}")
        self.definitions[u] = total
        return u

    def _gain(self, interface: int, name: str, signal: Expr, first: float) -> Var:
        """Add one gain: its integral part, which adapts, and its proportional part beside it."""
        adapting: Expr = self.y_e
        if self.dead_zone is not None:
            adapting = select(function("fabs", self.y_e) > self.dead_zone, self.y_e, 0)
        integral = Var(f"{name}.integral")
        self.gains.append(integral)
        self.initial[integral] = first
        known: Expr = integral
        if self.sampled:
            known = Var(f"{name}.held")
            self.held.append(known)
        growth = self.alpha * adapting * signal
        growth = growth if self.leakage is None else growth - self.leakage * known
        if self.sampled:
            self.growths.append(growth)
        else:
            self.states[integral] = growth
        gain = Var(name)
        self.definitions[gain] = known + self.beta * self.y_e * signal
        unit = quantity_of(signal)
        per = None if unit is None else Quantity("gain", multiplied("", unit.unit, -1))
        self.channels.append(Channel.of(name, gain, per, Role.GAIN, interface))
        return gain
