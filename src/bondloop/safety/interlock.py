"""The interlock: what it sees of an interface, what it decides, and the way to the safe position."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bondloop.display import brief
from bondloop.engine.data import POSITIVE, Parameter
from bondloop.engine.ir import (
    Assign,
    Channel,
    Const,
    Expr,
    Quantity,
    Role,
    Step,
    Update,
    Var,
    function,
    select,
)
from bondloop.engine.passes import Applied, Context
from bondloop.errors import InputError
from bondloop.safety.base import SafetyBlock, both, either, equal, finite, no, outside
from bondloop.safety.causes import Cause
from bondloop.safety.limits import Limits
from bondloop.safety.switch import RampedSwitch


@dataclass(frozen=True)
class Guarded:
    """A guarded value, and what was wrong with it.

    Attributes
    ----------
    applied
        The statements; the value is the measured one, or the last good one.
    bad
        Whether the measured value was infinite or NaN at this tick.
    frozen
        Whether it has stayed the same, to the last bit, for too long.

    Examples
    --------
    >>> from bondloop.safety import Interlock
    >>> guarded = Interlock(stale=3).guard(Var("F"), Context("force", Var("k"), 1e-3))
    >>> guarded.value, str(guarded.frozen)
    (<Var force.guarded>, '(force.repeated >= 3)')
    """

    applied: Applied
    bad: Expr
    frozen: Expr

    __repr__ = brief

    @property
    def value(self) -> Expr:
        """The guarded value."""
        return self.applied.value


def guard(value: Expr, stale: int | None, context: Context) -> Guarded:
    """Replace infinities and NaN by the last good value (0 before there was one), and count repeats.

    Parameters
    ----------
    value
        The measured value.
    stale
        A value that repeats the one before it so many times in a row is frozen; None asks for no such check.
    context
        Names.
    """
    last, seen, bad = (Var(f"{context.name}.{w}") for w in ("good", "guarded", "bad"))
    raw = Var(f"{context.name}.raw")
    steps: list[Step] = [
        Assign(raw, value),
        Assign(bad, no(finite(raw))),
        Assign(seen, select(bad, last, raw)),
    ]
    states = {last: 0.0}
    frozen: Expr = Const(0.0)
    pairs: list[tuple[Var, Expr]] = [(last, seen)]
    if stale is not None:
        repeats, now = Var(f"{context.name}.repeats"), Var(f"{context.name}.repeated")
        again = function("fmin", repeats + 1, stale)
        steps.append(Assign(now, select(equal(seen, last), again, 0.0)))
        # One less than none: the first sample repeats nothing, even if it is 0.
        states[repeats] = -1.0
        pairs.append((repeats, now))
        frozen = now >= stale
    steps.append(Update(tuple(pairs)))
    return Guarded(Applied(steps, seen, states), bad, frozen)


# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class


@dataclass(frozen=True)
class PowerTrip(SafetyBlock):
    """The squared power discrepancy, low-pass filtered, against a threshold (du Bois 2010, section 4.4).

    Both halves feel the same force F, but move at v_p (physical) and v_n (numerical): the power that leaves
    one and does not arrive in the other is P = F (v_p - v_n). Its square is filtered by a first-order
    low-pass, y(k) = a y(k-1) + (1 - a) P(k)², a = exp(-2π f_c T), and trips when y exceeds the square of the
    threshold. So a spike is ignored and a discrepancy that persists is not, whichever way the power flows. A
    constant P above the threshold P_t trips after ln(1 - P_t²/P²)/ln(a) ticks; after that the filter holds at
    most 100 thresholds, and is below the threshold again after at most 2 ln(100)/(2π f_c) seconds without
    discrepancy.

    Parameters
    ----------
    threshold
        Root of the filtered square, in W: the trip acts when √y goes beyond it.
    cutoff
        Corner frequency of the filter, Hz: well below the lowest frequency of the motion.
    """

    threshold: Parameter = Parameter(above=0, most=1e100, unit="W")
    cutoff: Parameter = Parameter(1.0, above=0, unit="Hz")

    def decay(self, period: float | str) -> float:
        """Return what is left of the filter's memory after one tick.

        Parameters
        ----------
        period
            The sample period in s.

        Examples
        --------
        >>> round(PowerTrip(20.0).decay(1 / 1000), 6)
        0.993737
        """
        period = POSITIVE.check(period, "period", "s")
        return math.exp(-2 * math.pi * self.cutoff * period)

    def apply(
        self, force: Expr, physical_velocity: Expr, numerical_velocity: Expr, context: Context
    ) -> Applied:
        """Return the statements that filter the squared discrepancy; the value is that, in W².

        Parameters
        ----------
        force
            Measured, in N.
        physical_velocity, numerical_velocity
            Of the rig, and of the numerical half, in m/s.
        context
            Names and period.
        """
        ceiling = 100.0  # thresholds: the memory goes no higher, so that it forgets in a known time
        a, most = self.decay(context.period), (ceiling * self.threshold) ** 2
        filtered, power, mixed, now = (
            Var(f"{context.name}.{w}") for w in ("filtered", "discrepancy", "mixed", "square")
        )
        steps: list[Step] = [
            Assign(power, force * (physical_velocity - numerical_velocity)),
            Assign(mixed, a * filtered + (1 - a) * (power * power)),
            # The comparison is false for NaN and for a square that overflowed: both count as the most.
            Assign(now, select(mixed <= most, mixed, most)),
            Update(((filtered, now),)),
        ]
        return Applied(steps, now, {filtered: 0.0})

    def tripped(self, value: Expr) -> Expr:
        """Return whether ``value``, a filtered square in W², is beyond the threshold, or no number."""
        return no(value <= self.threshold**2)


# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class


@dataclass(frozen=True)
class Watched:
    """What the interlock sees of one interface, as expressions.

    Attributes
    ----------
    force, displacement, velocity
        Measured and guarded, in N, m, m/s.
    desired_displacement, desired_velocity
        Of the numerical half, in m, m/s.
    command
        As the controller wants it, before the displacement switch, in its own unit.
    bad, frozen
        Whether any of the measured values is not a number, or stale; from the guards.
    switch
        The displacement switch, from 0 to 1, moved by the latch (`Watch`): the rig is asked for
        safe + switch (command - safe), and to follow safe + switch (desired - safe). None where the test has
        no such switch; the interlock then moves one of its own.

    Examples
    --------
    >>> one = Watched(*(Var(name) for name in ("F", "x", "v", "z", "z_rate", "u")))
    >>> one.force, one.command, one.switch
    (<Var F>, <Var u>, None)
    """

    force: Expr
    displacement: Expr
    velocity: Expr
    desired_displacement: Expr
    desired_velocity: Expr
    command: Expr
    bad: Expr = field(default_factory=lambda: Const(0.0))
    frozen: Expr = field(default_factory=lambda: Const(0.0))
    switch: Expr | None = None


@dataclass(frozen=True)
class Watch:
    """What the interlock decided.

    Attributes
    ----------
    applied
        The statements, states, parameters and channels; the value is the cause at this tick.
    tripped
        The cause at this tick; not zero while the test is tripped.
    commands
        What the rig is to be given, one for each interface: the controller's command through the switch, or
        the way to the safe position.
    latch
        The state that keeps the cause. Before the interlock's statements it is the cause of the tick before:
        what the switches are given.

    Examples
    --------
    >>> from bondloop.engine.passes.block import Context
    >>> from bondloop.safety import Interlock, Limits
    >>> one = Watched(*(Var(name) for name in ("F", "x", "v", "z", "z_rate", "u")))
    >>> watch = Interlock(Limits(force="20 kN")).watch([one], Var("t"), Context("interlock", Var("k"), 1e-3))
    >>> watch.latch, watch.commands
    (<Var interlock.cause>, (<Var interlock.command>,))
    """

    applied: Applied
    tripped: Expr
    commands: tuple[Expr, ...]
    latch: Var

    __repr__ = brief


@dataclass(frozen=True)
class Interlock(SafetyBlock):
    """Limits, power trip and checks of the data, latched, with a way to a safe position.

    The first cause is latched; of several at one tick, the first in this order: not a number, displacement,
    velocity, force, command, its rate, tracking error, power, stale, requested from outside. The command of
    the very tick that trips is already the interlock's: the last command before it, from where a raised
    cosine leads to the safe position. It does not depend on what the controller computes meanwhile.

    Two parameters can be changed while the tick runs. ``NAME.trip`` requests a trip: its value is the cause's
    number (`Cause`), 0 for none. ``NAME.reset`` clears the latch at a tick at which it goes from 0 to 1, if
    the retreat is over and no condition for a trip is present. Otherwise that edge is lost, and the operator
    sets it to 0 and to 1 again. Left at 1 it does nothing. After a reset the command begins at the safe
    position, and comes back with the displacement switch; where a test has none, with the interlock's own,
    ``NAME.switch``, which takes as long as the retreat.

    Parameters
    ----------
    limits
        Largest magnitudes; where there are none, only infinities and NaN trip.
    power
        A power trip for every interface, or None.
    stale
        A measured value that repeats so many times in a row, to the last bit, trips; None asks for no such
        check. A sensor without noise repeats at rest.
    release
        Seconds in which the switches go from 1 to 0 after a trip; not longer than the retreat.
    retreat
        Seconds in which the command goes from where it was to the safe position; at most an hour.
    safe_position
        Where the command goes, in its own unit.
    deadline
        In real time: so many late ticks in a row trip; None leaves it to the loop (``overrun``).
    """

    limits: Limits = field(default_factory=Limits)
    power: PowerTrip | None = None
    stale: int | None = None
    release: Parameter = Parameter(0.05, above=0, unit="s")
    retreat: Parameter = Parameter(1.0, above=0, most=3600.0, unit="s")
    safe_position: Parameter = Parameter(0.0)
    deadline: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.limits, Limits):
            raise InputError(f"Interlock(limits): expected Limits(...); found {self.limits!r:.60}")
        if self.power is not None and not isinstance(self.power, PowerTrip):
            raise InputError(f"Interlock(power): expected PowerTrip(...) or None; found {self.power!r:.60}")
        for name, what in (("stale", "samples"), ("deadline", "late ticks in a row")):
            number = getattr(self, name)
            if number is not None and not (_whole(number) and number >= 1):
                raise InputError(
                    f"Interlock({name}): expected a number of {what}, 1 or more; found {number!r}"
                )
        most = self.limits.command
        if most is not None and abs(self.safe_position) > float(most):
            raise InputError(
                "Interlock(safe_position): expected a position within the limit of the command, "
                f"{float(most):g}; found {self.safe_position:g}"
            )
        if self.release > self.retreat:
            raise InputError(
                f"Interlock(release): the switches must be open when the retreat ends; found a release of "
                f"{self.release:g} s and a retreat of {self.retreat:g} s; make the release the shorter one"
            )

    def guard(self, value: Expr, context: Context) -> Guarded:
        """Guard a measured value: the last good one instead of NaN or an infinity.

        Parameters
        ----------
        value
            The measured value; 0 stands for it before there was a good one.
        context
            Where it stands in the tick: names, tick number, period.
        """
        return guard(value, self.stale, context)

    def watch(
        self,
        signals: Sequence[Watched],
        time: Expr,
        context: Context,
        *,
        latch: Var | None = None,
        adjustable: Mapping[str, Var] | None = None,
    ) -> Watch:
        """Return the statements that decide whether the test goes on, and what the rig is given.

        Parameters
        ----------
        signals
            One for each interface.
        time
            Of this tick, in s.
        context
            Names (``"interlock"``) and period.
        latch
            The variable of the cause's state, where statements before these need it; else a new one.
        adjustable
            Limits that may be tightened while the tick runs, by their names in `Limits`: the parameters that
            hold them.
        """
        if not signals:
            raise InputError("the interlock needs at least one interface to watch")
        cause = Var(f"{context.name}.cause") if latch is None else latch
        own = RampedSwitch(1.0, self.retreat).apply(
            Const(1.0), cause, self.release, replace(context, name=f"{context.name}.switch")
        )
        switched = [_switched(signal, own.value) for signal in signals]
        parts = [own] if any(a is not b for a, b in zip(switched, signals, strict=True)) else []
        found: list[tuple[Cause, Expr]] = []
        near: list[tuple[Cause, Expr]] = []
        asked: list[Expr] = []
        for i, signal in enumerate(switched):
            made, conditions, warnings = self._conditions(
                signal, i, f"[{i}]" if len(signals) > 1 else "", context, adjustable or {}
            )
            parts.append(made)
            found += conditions
            near += warnings
            asked.append(made.value)
        if near:
            measures = Quantity("cause")
            warned = Channel.of(f"{context.name}.warning", _first(near, Const(0.0)), measures, Role.SAFETY)
            parts.append(Applied([], Const(0.0), {}, {}, (warned,)))
        decided, ticks = self._decide(found, cause, time, context)
        back, commands = self._retreat(asked, decided.value, ticks, context)
        return Watch(_joined([*parts, decided, back], decided.value), decided.value, commands, cause)

    def _conditions(
        self,
        signal: Watched,
        interface: int,
        index: str,
        context: Context,
        adjustable: Mapping[str, Var],
    ) -> tuple[Applied, list[tuple[Cause, Expr]], list[tuple[Cause, Expr]]]:
        """Return the command of an interface through its switch, its conditions for a trip, for a warning."""
        safe, limits, switch = self.safe_position, self.limits, signal.switch
        assert switch is not None
        name = f"{context.name}{index}"
        wanted, target, velocity = (Var(f"{name}.{w}") for w in ("wanted", "target", "target_velocity"))
        desired, desired_velocity = signal.desired_displacement, signal.desired_velocity
        steps: list[Step] = [
            Assign(wanted, safe + switch * (signal.command - safe)),
            Assign(target, safe + switch * (desired - safe)),
            Assign(velocity, switch * desired_velocity),
        ]
        numbers = (signal.force, signal.displacement, signal.velocity, wanted, target, velocity)
        found = [
            (Cause.NOT_A_NUMBER, either(signal.bad, no(both(*(finite(x) for x in numbers))))),
            (Cause.STALE, signal.frozen),
        ]
        # The first tick follows from nothing: what leads to it is the start's business, not a rate.
        before, change = Var(f"{name}.before"), Var(f"{name}.change")
        states: dict[Var, float] = {}
        if limits.command_rate is not None:
            first = equal(context.count, Const(0.0))
            steps.append(Assign(change, select(first, 0.0, (wanted - before) * (1 / context.period))))
            steps.append(Update(((before, wanted),)))
            states[before] = self.safe_position
        near = []
        for number, value, word in (
            (Cause.DISPLACEMENT, signal.displacement, "displacement"),
            (Cause.VELOCITY, signal.velocity, "velocity"),
            (Cause.FORCE, signal.force, "force"),
            (Cause.COMMAND, wanted, "command"),
            (Cause.COMMAND_RATE, change, "command_rate"),
            (Cause.TRACKING_ERROR, target - signal.displacement, "tracking_error"),
        ):
            given = getattr(limits, word)
            if given is not None:
                limit = adjustable.get(word, float(given))
                found.append((number, outside(value, limit)))
                if limits.warning is not None:
                    near.append((number, outside(value, float(limits.warning) * limit)))
        channels: tuple[Channel, ...] = ()
        if self.power is not None:
            label = f"{context.name}.power{index}"
            power = self.power.apply(signal.force, signal.velocity, velocity, replace(context, name=label))
            found.append((Cause.POWER, self.power.tripped(power.value)))
            measures = Quantity("power", "W", "power")
            channels = (Channel.of(label, function("sqrt", power.value), measures, Role.SAFETY, interface),)
            steps += power.steps
            states.update(power.states)
        held = {v: float(getattr(limits, word)) for word, v in adjustable.items()}
        return Applied(steps, wanted, states, held, channels), found, near

    def _decide(
        self, found: Sequence[tuple[Cause, Expr]], latch: Var, time: Expr, context: Context
    ) -> tuple[Applied, Expr]:
        """Return the cause at this tick, latched, and the number of ticks since the trip."""
        request, reset, before, present, now, elapsed, ticks, at, moment = (
            Var(f"{context.name}.{word}")
            for word in (
                *("trip", "reset", "reset_before", "present", "cause_now", "elapsed", "ticks"),
                *("tripped_at", "moment"),
            )
        )
        # A request that is no number is still a request.
        known = both(request >= 1.0, finite(request))
        first = _first(found, select(no(request <= 0.0), select(known, request, float(Cause.OPERATOR)), 0.0))
        # One tick more than the retreat: the switches hear of a trip at the tick after it.
        rest = math.ceil(self.retreat / context.period - 1e-9) + 1.0
        untripped = equal(latch, Const(0.0))
        clears = both(before <= 0.0, reset > 0.0, equal(present, Const(0.0)), ticks > rest)
        steps: list[Step] = [
            Assign(present, first),
            Assign(ticks, select(untripped, 0.0, function("fmin", elapsed + 1, rest + 1))),
            Assign(now, select(untripped, present, select(clears, 0.0, latch))),
            Assign(moment, select(now, select(untripped, time, at), -1.0)),
            Update(((latch, now), (elapsed, ticks), (at, moment), (before, reset))),
        ]
        states = {latch: 0.0, elapsed: 0.0, at: -1.0, before: 1.0}
        channels = (Channel.of(f"{context.name}.cause", now, Quantity("cause"), Role.SAFETY),)
        return Applied(steps, now, states, {request: 0.0, reset: 0.0}, channels), ticks

    def _retreat(
        self, asked: Sequence[Expr], tripped: Expr, ticks: Expr, context: Context
    ) -> tuple[Applied, tuple[Expr, ...]]:
        """Choose between what is asked and the way from the last command before the trip to safety."""
        part, share = Var(f"{context.name}.part"), Var(f"{context.name}.share")
        steps: list[Step] = [
            Assign(part, function("fmin", ticks * (context.period / self.retreat), 1.0)),
            Assign(share, 0.5 * (1 + function("cos", math.pi * part))),
        ]
        states: dict[Var, float] = {}
        commands: list[Expr] = []
        for i, command in enumerate(asked):
            index = f"[{i}]" if len(asked) > 1 else ""
            last, out = Var(f"{context.name}.last{index}"), Var(f"{context.name}.command{index}")
            # Weighted, so that no difference of large numbers can overflow.
            way = share * last + (1 - share) * self.safe_position
            steps += [
                Assign(out, select(tripped, way, command)),
                Update(((last, select(tripped, last, command)),)),
            ]
            states[last] = self.safe_position
            commands.append(out)
        return Applied(steps, tripped, states), tuple(commands)


def _first(found: Sequence[tuple[Cause, Expr]], otherwise: Expr) -> Expr:
    """Return the number of the first cause that is present, in their order."""
    for number in reversed(_ORDER):
        otherwise = select(either(*(c for n, c in found if n is number)), float(number), otherwise)
    return otherwise


def _joined(parts: Sequence[Applied], value: Expr) -> Applied:
    """Return several blocks, executed one after the other, as one."""
    return Applied(
        [step for part in parts for step in part.steps],
        value,
        {v: x for part in parts for v, x in part.states.items()},
        {v: x for part in parts for v, x in part.parameters.items()},
        tuple(c for part in parts for c in part.channels),
    )


def _switched(signal: Watched, own: Expr) -> Watched:
    """Return what is watched with a switch that moves; a constant one is multiplied with the interlock's."""
    if signal.switch is None or isinstance(signal.switch, Const):
        return replace(signal, switch=own * (1.0 if signal.switch is None else signal.switch))
    return signal


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_ORDER = (
    Cause.NOT_A_NUMBER, Cause.DISPLACEMENT, Cause.VELOCITY, Cause.FORCE, Cause.COMMAND, Cause.COMMAND_RATE,
    Cause.TRACKING_ERROR, Cause.POWER, Cause.STALE,
)  # fmt: skip
"""Which of several causes at one tick is the first."""
