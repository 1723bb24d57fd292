"""The interlock: it watches a test in every tick, and brings the rig to a safe position when it must."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bondloop.errors import InputError
from bondloop.program.block import Applied, Context
from bondloop.program.described import Parameter
from bondloop.program.expr import Const, Expr, Var, function, select
from bondloop.program.schedule import Assign
from bondloop.program.tick import Step, Update
from bondloop.safety.base import SafetyBlock
from bondloop.safety.causes import Cause
from bondloop.safety.conditions import both, either, equal, finite, no, outside
from bondloop.safety.guard import Guarded, guard
from bondloop.safety.limits import Limits
from bondloop.safety.power_trip import PowerTrip

__all__ = ["Interlock", "Watch", "Watched"]


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
        The displacement switch, from 0 to 1: the rig is asked for safe + switch (command - safe), and
        to follow safe + switch (desired - safe).
    """

    force: Expr
    displacement: Expr
    velocity: Expr
    desired_displacement: Expr
    desired_velocity: Expr
    command: Expr
    bad: Expr = field(default_factory=lambda: Const(0.0))
    frozen: Expr = field(default_factory=lambda: Const(0.0))
    switch: Expr = field(default_factory=lambda: Const(1.0))


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
    """

    applied: Applied
    tripped: Expr
    commands: tuple[Expr, ...]
    latch: Var


@dataclass(frozen=True)
class Interlock(SafetyBlock):
    """Limits, power trip and checks of the data, latched, with a way to a safe position.

    The first cause is latched; of several at one tick, the first in this order: not a number, displacement,
    velocity, force, command, tracking error, power, stale, requested from outside. The command of the very
    tick that trips is already the interlock's: the last command before it, from where a raised cosine leads
    to the safe position. It does not depend on what the controller computes meanwhile.

    Two parameters can be changed while the tick runs. ``NAME.trip`` requests a trip: its value is the cause's
    number (`Cause`), 0 for none. ``NAME.reset`` clears the latch at a tick at which it goes from 0 to 1, if the
    retreat is over and no condition for a trip is present. Otherwise that edge is lost, and the operator sets
    it to 0 and to 1 again. Left at 1 it does nothing. After a reset the command begins at the safe position,
    and comes back with the displacement switch.

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
        Seconds in which the command goes from where it was to the safe position.
    safe_position
        Where the command goes, in its own unit.
    """

    limits: Limits = field(default_factory=Limits)
    power: PowerTrip | None = None
    stale: int | None = None
    release: Parameter = Parameter(0.05, above=0)
    retreat: Parameter = Parameter(1.0, above=0)
    safe_position: Parameter = Parameter(0.0)

    def __post_init__(self) -> None:
        if isinstance(self.limits, Mapping):
            object.__setattr__(self, "limits", Limits(**self.limits))
        if not isinstance(self.limits, Limits):
            raise InputError(f"Interlock(limits): expected Limits(...); found {self.limits!r:.60}")
        if self.power is not None and not isinstance(self.power, PowerTrip):
            raise InputError(f"Interlock(power): expected PowerTrip(...) or None; found {self.power!r:.60}")
        if self.stale is not None and (not isinstance(self.stale, int) or self.stale < 1):
            raise InputError(
                f"Interlock(stale): expected a number of samples from 1 up; found {self.stale!r}"
            )
        if self.release > self.retreat:
            raise InputError(
                f"Interlock(release): the switches must be open when the retreat ends; found a release of "
                f"{self.release:g} s and a retreat of {self.retreat:g} s; make the release the shorter one"
            )

    def describe(self) -> dict[str, Any]:
        """Describe it for run files."""
        return {**super().describe(), "limits": self.limits.describe()}

    def guard(self, value: Expr, context: Context) -> Guarded:
        """Guard a measured value: the last good one instead of NaN or an infinity."""
        return guard(value, self.stale, context)

    def watch(
        self, signals: Sequence[Watched], time: Expr, context: Context, *, latch: Var | None = None
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
        """
        if not signals:
            raise InputError("the interlock needs at least one interface to watch")
        cause = latch or Var(f"{context.name}.cause")
        request, reset = Var(f"{context.name}.trip"), Var(f"{context.name}.reset")
        steps: list[Step] = []
        states: dict[Var, float] = {cause: 0.0}
        channels: dict[str, tuple[Expr, str]] = {}
        found: list[tuple[Cause, Expr]] = []
        asked: list[Expr] = []
        for i, signal in enumerate(signals):
            index = f"[{i}]" if len(signals) > 1 else ""
            made, conditions, command = self._conditions(signal, index, context)
            steps += made.steps
            states.update(made.states)
            channels.update(made.channels)
            found += conditions
            asked.append(command)
        # Requested with NaN: the wish is plain, the reason is not.
        code = select(request >= 1.0, request, float(Cause.OPERATOR))
        first: Expr = select(no(request <= 0.0), code, 0.0)
        for number in reversed(_ORDER):
            holds = either(*(c for n, c in found if n is number))
            first = select(holds, float(number), first)
        present, now, elapsed, ticks, at, moment, before = (
            Var(f"{context.name}.{w}")
            for w in ("present", "cause_now", "elapsed", "ticks", "tripped_at", "moment", "reset_before")
        )
        # One tick more than the retreat: the switches hear of a trip at the tick after it.
        rest = math.ceil(self.retreat / context.period - 1e-9) + 1.0
        untripped = equal(cause, Const(0.0))
        clears = both(before <= 0.0, reset > 0.0, equal(present, Const(0.0)), ticks > rest)
        steps += [
            Assign(present, first),
            Assign(ticks, select(untripped, 0.0, function("fmin", elapsed + 1, rest + 1))),
            Assign(now, select(untripped, present, select(clears, 0.0, cause))),
            Assign(moment, select(now, select(untripped, time, at), -1.0)),
        ]
        states |= {elapsed: 0.0, at: -1.0, before: 1.0}
        pairs: list[tuple[Var, Expr]] = [(cause, now), (elapsed, ticks), (at, moment), (before, reset)]
        commands = self._commands(asked, now, ticks, context, steps, states, pairs)
        steps.append(Update(tuple(pairs)))
        channels[f"{context.name}.cause"] = (now, "")
        applied = Applied(steps, now, states, {request: 0.0, reset: 0.0}, channels)
        return Watch(applied, now, commands, cause)

    def _conditions(
        self, signal: Watched, index: str, context: Context
    ) -> tuple[Applied, list[tuple[Cause, Expr]], Expr]:
        """Return what is computed for an interface, its conditions for a trip and its command."""
        safe, limits, switch = self.safe_position, self.limits, signal.switch
        name = f"{context.name}{index}"
        coupled = isinstance(switch, Const) and switch.value == 1.0
        wanted, target, velocity = (Var(f"{name}.{w}") for w in ("wanted", "target", "target_velocity"))
        desired, desired_velocity = signal.desired_displacement, signal.desired_velocity
        steps: list[Step] = [
            Assign(wanted, signal.command if coupled else safe + switch * (signal.command - safe)),
            Assign(target, desired if coupled else safe + switch * (desired - safe)),
            Assign(velocity, desired_velocity if coupled else switch * desired_velocity),
        ]
        numbers = (signal.force, signal.displacement, signal.velocity, wanted, target, velocity)
        found = [
            (Cause.NOT_A_NUMBER, either(signal.bad, no(both(*(finite(x) for x in numbers))))),
            (Cause.STALE, signal.frozen),
        ]
        for number, value, limit in (
            (Cause.DISPLACEMENT, signal.displacement, limits.displacement),
            (Cause.VELOCITY, signal.velocity, limits.velocity),
            (Cause.FORCE, signal.force, limits.force),
            (Cause.COMMAND, wanted, limits.command),
            (Cause.TRACKING_ERROR, target - signal.displacement, limits.tracking_error),
        ):
            if limit is not None:
                found.append((number, outside(value, float(limit))))
        made = Applied(steps, wanted)
        if self.power is not None:
            power = self.power.apply(
                signal.force, signal.velocity, velocity, replace(context, name=f"{context.name}.power{index}")
            )
            found.append((Cause.POWER, self.power.tripped(power.value)))
            root = function("sqrt", power.value)
            made = Applied(
                [*steps, *power.steps],
                wanted,
                power.states,
                {},
                {f"{context.name}.power{index}": (root, "W")},
            )
        return made, found, wanted

    def _commands(
        self,
        asked: Sequence[Expr],
        tripped: Expr,
        ticks: Expr,
        context: Context,
        steps: list[Step],
        states: dict[Var, float],
        pairs: list[tuple[Var, Expr]],
    ) -> tuple[Expr, ...]:
        """Choose between what is asked and the way back; remember the last command before a trip."""
        share, part = Var(f"{context.name}.share"), Var(f"{context.name}.part")
        steps += [
            Assign(part, function("fmin", ticks * (context.period / self.retreat), 1.0)),
            Assign(share, 0.5 * (1 + function("cos", math.pi * part))),
        ]
        commands: list[Expr] = []
        for i, command in enumerate(asked):
            index = f"[{i}]" if len(asked) > 1 else ""
            last, out = Var(f"{context.name}.last{index}"), Var(f"{context.name}.command{index}")
            safe = self.safe_position
            steps.append(Assign(out, select(tripped, safe + share * (last - safe), command)))
            states[last] = safe
            pairs.append((last, select(tripped, last, command)))
            commands.append(out)
        return tuple(commands)


_ORDER = (
    Cause.NOT_A_NUMBER, Cause.DISPLACEMENT, Cause.VELOCITY, Cause.FORCE, Cause.COMMAND, Cause.TRACKING_ERROR,
    Cause.POWER, Cause.STALE,
)  # fmt: skip
"""Which of several causes at one tick is the first."""
