"""Compensators made of others: one for each actuator, by amplitude, with the load, with what adapts."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from bondloop.control.base import Compensator, LearnsRemainder, Measured, channel, expect_compensator
from bondloop.control.blocks.filters import from_first
from bondloop.engine.data import POSITIVE, Parameter, state_unit
from bondloop.engine.ir import (
    Channel,
    Const,
    Expr,
    Quantity,
    Role,
    Var,
    as_expr,
    function,
    quantity_of,
    reads,
    substitute,
    variables,
)
from bondloop.engine.passes import Applied, Context, Statements, applied_of, at_interface
from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from bondloop.control.base import Design


@dataclass(frozen=True)
class PerActuator(Compensator):
    """Compensators side by side: the first for the first actuator, and so on.

    A compensator alone is used for every actuator, with the same settings. Behind a coupler each works on the
    stroke of its actuator.

    Parameters
    ----------
    compensators
        One for each actuator.

    Examples
    --------
    >>> from bondloop.control import LeadCompensation
    >>> len(PerActuator((LeadCompensation("40 ms"), LeadCompensation("23 ms"))).compensators)
    2
    """

    compensators: tuple[Compensator, ...]

    def __post_init__(self) -> None:
        members = _several(self.compensators, "PerActuator(compensators)", "compensators")
        object.__setattr__(self, "compensators", members)
        for word in ("adapts", "set_point"):
            object.__setattr__(self, word, any(getattr(member, word) for member in members))

    @property
    def _members(self) -> Sequence[Compensator]:
        return self.compensators

    def commands(
        self,
        design: Design,
        values: Mapping[Var, Expr],
        measured: Sequence[Measured],
        contexts: Sequence[Context],
    ) -> list[Applied]:
        """Return the statements that make the commands, one block for each."""
        if len(self.compensators) != len(design.commands):
            raise InputError(
                f"PerActuator: {len(self.compensators)} compensators for {len(design.commands)} actuators; "
                "give one for each"
            )
        return [
            at_interface(applied_of(member, "compensate", substitute(c, dict(values)), sensor, context), i)
            for i, (member, c, sensor, context) in enumerate(
                zip(self.compensators, design.commands, measured, contexts, strict=True)
            )
        ]

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command of the only actuator."""
        if len(self.compensators) > 1:
            raise InputError(f"PerActuator: {len(self.compensators)} compensators for one actuator")
        return self.compensators[0].compensate(desired, measured, context)


UNITS = {"displacement": ("m", "rad"), "force": ("N", "N m")}
"""What the schedule may go by, and its unit."""


@dataclass(frozen=True)
class Scheduled(Compensator):
    """Several compensators side by side; their commands are blended by an amplitude.

    A rig with a nonlinear specimen is another one at every amplitude. Identify it at several, give the
    compensator of each, and between two levels L_i the command changes linearly from one to the next::

        a_k = max(|x_k|, a_(k-1) e^(-T/memory))                      amplitude: holds peaks, and forgets
        u   = u_0 + Σ_i clip((a - L_(i-1))/(L_i - L_(i-1)), 0, 1) (u_i - u_(i-1))

    Below the first level the first compensator acts alone, beyond the last level the last. All of them run at
    every sample, so that none begins with an empty history.

    Parameters
    ----------
    compensators
        Two or more, from the smallest amplitude to the largest.
    levels
        Amplitude that each is meant for, rising: m, or N by force (rad and N m where it turns); texts with
        units are taken.
    by
        ``"displacement"``: amplitude of the demand, from its first sample on; ``"force"``: of the measured
        force.
    memory
        Time in s after which 37 % of a peak is left: several periods of the slowest motion to follow its
        amplitude; 0 to go by the value of the moment, within the stroke.

    Examples
    --------
    >>> from bondloop.transfer import first_order
    >>> from bondloop.control import InverseModel
    >>> loaded, free = (InverseModel(first_order(1.0, lag)) for lag in (0.008, 0.003))
    >>> Scheduled((free, loaded), ("0.05 mm", "0.2 mm")).levels
    (5e-05, 0.0002)

    References
    ----------
    Du Bois, Titurus and Lieven (2010), section 5, propose it for specimens such as their damper. Rugh and
    Shamma (2000), Research on gain scheduling, Automatica 36(10).
    """

    compensators: tuple[Compensator, ...]
    levels: tuple[float | str, ...]
    by: str = "displacement"
    memory: Parameter = Parameter(0.5, least=0, unit="s")

    adapts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.by not in UNITS:
            raise InputError(unknown_name("quantity to schedule by", str(self.by), tuple(UNITS)))
        members = _several(self.compensators, "Scheduled(compensators)", "two compensators or more")
        if len(members) < 2:
            raise InputError("Scheduled(compensators): expected two compensators or more; found one")
        amplitudes: object = self.levels
        if isinstance(amplitudes, str) or not isinstance(amplitudes, Sequence):
            raise InputError(f"Scheduled(levels): expected a list of amplitudes; found {amplitudes!r:.60}")
        levels = tuple(
            POSITIVE.check(level, f"Scheduled(levels[{i}])", *UNITS[self.by])
            for i, level in enumerate(amplitudes)
        )
        for i, level in enumerate(amplitudes):
            state_unit(self, f"levels[{i}]", level, UNITS[self.by])
        if len(levels) != len(members) or any(b <= a for a, b in itertools.pairwise(levels)):
            raise InputError(
                f"Scheduled(levels): expected {len(members)} rising amplitudes, one for each compensator; "
                f"found {', '.join(f'{level:g}' for level in levels) or 'none'}"
            )
        object.__setattr__(self, "compensators", members)
        object.__setattr__(self, "levels", levels)

    @property
    def _members(self) -> Sequence[Compensator]:
        return self.compensators

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the blended command."""
        body = Statements(context.name)
        demand, value = body.once("desired", desired), as_expr(measured.force)
        kind = quantity_of(desired if self.by == "displacement" else value)
        if self.by == "displacement":
            value = body.add(from_first(demand, context)[0])
        kept = math.exp(-context.period / self.memory) if self.memory else 0.0
        before = body.state("last_level")
        body.adapted.append(before)
        level = body.put("level", function("fmax", function("fabs", value), Const(kept) * before))
        measures = Quantity("level", UNITS[self.by][0] if kind is None else kind.unit)
        body.channels.append(Channel.of(channel(context, "level"), level, measures, Role.ESTIMATE))
        commands: list[Expr] = []
        for i, member in enumerate(self.compensators):
            part = member.compensate(demand, measured, replace(context, name=f"{context.name}.at[{i}]"))
            commands.append(body.once(f"command_at_{i}", body.add(part)))
        total = commands[0]
        for i in range(1, len(commands)):
            low, high = float(self.levels[i - 1]), float(self.levels[i])
            share = function("fmin", function("fmax", (level - low) / (high - low), 0.0), 1.0)
            total = total + share * (commands[i] - commands[i - 1])
        body.update({before: level})
        return body.applied(total)


@dataclass(frozen=True)
class LoadFeedforward(Compensator):
    """Another compensator's command, and on top of it what the load would take away.

    The displacement loop of an actuator gives way to its load F, slowly varying, by ``give`` F +
    ``give_rate`` dF/dt. For a hydraulic one the pressure in the cylinder is a state that the load cell shows,
    p = F/A: oil leaks in proportion to it, and oil that is compressed does not move the piston
    (`ServoHydraulic.give`). With the load so cancelled, the compensator needs to know the empty rig only,
    not the specimen::

        u = u_compensator + give F + give_rate dF/dt,     F through a first-order low-pass at the cutoff

    It is positive feedback of a force, which a latency turns round: the stiffer the specimen beside the oil
    column and the longer the latency, the lower the frequency up to which it helps. Look at the check.

    Parameters
    ----------
    compensator
        What makes the command of the demand; it is to fit the actuator without a load.
    give
        m/N (rad/(N m) where the interface turns).
    give_rate
        m s/N (rad s/(N m)).
    cutoff
        Of the low-pass filter, Hz.

    Examples
    --------
    >>> from bondloop.control import InverseModel
    >>> from bondloop.transfer import ServoHydraulic, first_order
    >>> law = LoadFeedforward(InverseModel(first_order(1.0, 0.004)), *ServoHydraulic().give)
    >>> print(f"{1e9 * law.give:.1f} nm/N, {1e9 * law.give_rate:.2f} nm s/N")
    3.6 nm/N, 0.18 nm s/N
    """

    compensator: Compensator
    give: Parameter = Parameter(least=0, unit=("m/N", "rad/N/m"))
    give_rate: Parameter = Parameter(least=0, unit=("m s/N", "rad s/N/m"))
    cutoff: Parameter = Parameter(100.0, above=0, unit="Hz")

    def __post_init__(self) -> None:
        expect_compensator(self.compensator, "LoadFeedforward(compensator)")
        # A member that adapts goes on to do so: the check has to know.
        object.__setattr__(self, "adapts", self.compensator.adapts)

    @property
    def _members(self) -> Sequence[Compensator]:
        return (self.compensator,)

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command."""
        body, inner = Statements(context.name), replace(context, name=f"{context.name}.unloaded")
        unloaded = body.add(self.compensator.compensate(desired, measured, inner))
        share = 1 - math.exp(-2 * math.pi * self.cutoff * context.period)
        before = body.state("last_load")
        force = body.put("load", before + Const(share) * (as_expr(measured.force) - before))
        rate = (force - before) * (self.give_rate / context.period)
        command = body.put("loaded_command", unloaded + self.give * force + rate)
        body.update({before: force})
        return body.applied(command)


@dataclass(frozen=True)
class AdaptiveRemainder(Compensator):
    """A fixed compensator, such as an inverse, and an adaptive one that learns what it leaves.

    To the adaptive part A the fixed part F and the transfer system G together are the plant, which is close
    to 1: u = F(A(x)), and A is adapted by its own output and the measured displacement. Linear parts commute
    as long as A changes slowly, and what is computed is u = A(F(x)): so F, which may differentiate five
    times, acts on the smooth demand, and never on a coefficient that moves. Derivatives in A are those of a
    low pass (at five times ``filter_frequency``): differences of what F has differentiated already would be
    noise.

    What is left may lead as well as lag: the adaptive part's bounds hold in both directions here, its delay
    from -``largest_delay`` to ``largest_delay``, and likewise every coefficient of a derivative. Begin it
    with a delay of 0; a small ``largest_delay`` keeps it close to the fixed part.

    An adaptive compensator that cannot act on one signal and learn of another (a `ControlLaw` of one's own)
    stands before the fixed part, u = F(A(x)) as it is written: then F should not differentiate more than
    once or twice.

    Parameters
    ----------
    fixed
        A compensator that neither adapts nor reads what is measured.
    adaptive
        One that adapts: `AdaptiveTimeSeries`, `AdaptiveModelBased`, `AdaptivePrediction`.

    Examples
    --------
    >>> from bondloop.control import AdaptiveModelBased, InverseModel
    >>> from bondloop.transfer import first_order
    >>> law = AdaptiveRemainder(
    ...     InverseModel(first_order(1.0, "20 ms")), AdaptiveModelBased(largest_delay="10 ms")
    ... )
    >>> law.adapts
    True
    """

    fixed: Compensator
    adaptive: Compensator

    def __post_init__(self) -> None:
        for word, example in (("fixed", "InverseModel(process)"), ("adaptive", "AdaptiveTimeSeries()")):
            part = expect_compensator(getattr(self, word), f"AdaptiveRemainder({word})")
            if part.adapts != (word == "adaptive"):
                raise InputError(
                    f"AdaptiveRemainder({word}): {type(part).__name__} "
                    f"{'adapts' if part.adapts else 'does not adapt'}; "
                    f"expected one that does{' not' if part.adapts else ''}, such as {example}"
                )
        object.__setattr__(self, "adapts", True)

    @property
    def _members(self) -> Sequence[Compensator]:
        return self.fixed, self.adaptive

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command."""
        inner, outer = (replace(context, name=f"{context.name}.{word}") for word in ("fixed", "adaptive"))
        learn = self.adaptive
        body = Statements(context.name)
        if isinstance(learn, LearnsRemainder):
            demand = body.once("desired", desired)
            sent = body.once("fixed.sent", body.add(self._fixed(demand, inner)))
            return body.applied(body.add(learn.remainder(demand, sent, measured, outer)))
        sent = body.once("adaptive.sent", body.add(learn.compensate(desired, measured, outer)))
        return body.applied(body.add(self._fixed(sent, replace(inner, velocity=None))))

    def _fixed(self, demand: Expr, context: Context) -> Applied:
        """Return the fixed part, which may not read what is measured."""
        sensors = [Var(f"{context.name}.{word}") for word in ("force", "displacement", "velocity")]
        applied = self.fixed.compensate(demand, Measured(*sensors), context)
        if {*reads(applied.steps), *variables(applied.value)} & {*sensors}:
            raise InputError(
                f"AdaptiveRemainder(fixed): {type(self.fixed).__name__} reads what is measured: it is "
                "no fixed filter of the demand; give it the chain instead, as its feedforward or compensator"
            )
        return applied


def _several(given: object, what: str, expected: str) -> tuple[Compensator, ...]:
    """Return compensators as a tuple; refuse what are none."""
    if not isinstance(given, Sequence) or not given:
        raise InputError(f"{what}: expected {expected}, such as InverseModel(...); found {given!r:.60}")
    return tuple(expect_compensator(member, f"{what[:-1]}[{i}])") for i, member in enumerate(given))
