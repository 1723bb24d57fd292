"""The switching of a system: its elements' rules, the jumps between modes, and which modes there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar

from bondloop.engine.ir.expr import Const, Expr, Op, Var, function, select
from bondloop.engine.ir.renaming import PATHS
from bondloop.engine.ir.statement import Assign

ZERO, ONE = Const(0.0), Const(1.0)


class Blow(IntEnum):
    """Stages of a blow on a stop within one instant: none; stopped, to see the impulse; sent back; over."""

    QUIET = 0
    TRIED = 1
    REBOUNDING = 2
    HIT = 3


@dataclass(frozen=True)
class RuleInputs:
    """What a rule sees in one pass.

    Attributes
    ----------
    mode
        The element's.
    effort, flow
        Into the element, without impulses.
    effort_impulse, flow_impulse
        Those of the change that led to the present modes.
    terms
        What the rule reads besides, see `Rule.terms`.
    stage, before
        Of a blow: how far it is, and the flow before it.
    window
        Seconds within which events are one instant.
    effort_slack, flow_slack, term_slack
        What counts as zero.
    """

    mode: Expr
    effort: Expr
    flow: Expr
    effort_impulse: Expr
    flow_impulse: Expr
    terms: tuple[Expr, ...]
    stage: Expr
    before: Expr
    window: Expr
    effort_slack: Expr = ZERO
    flow_slack: Expr = ZERO
    term_slack: Expr = ZERO

    @property
    def on(self) -> Expr:
        """Whether the effort is imposed."""
        return Op("ne", (self.mode, ZERO))

    @property
    def whole_effort(self) -> Expr:
        """The effort, with its impulse over the window."""
        return self.effort + self.effort_impulse / self.window

    @property
    def whole_flow(self) -> Expr:
        """The flow, with its impulse over the window."""
        return self.flow + self.flow_impulse / self.window


@dataclass(frozen=True)
class Outcome:
    """What a rule makes of a look: the mode that it wants next, and how a blow goes on."""

    mode: Expr
    stage: Expr = ZERO
    before: Expr = ZERO
    rebound: Expr = ZERO


@dataclass(frozen=True)
class Rule(ABC):
    """The rule of one element.

    Attributes
    ----------
    path
        Of the element.
    words
        Its modes in words, by number.
    mode
        Variable of its mode, a state.
    effort, flow
        In the present modes, counted into the element.
    effort_impulse, flow_impulse
        Those that a change into the present modes brings.
    terms
        What else the rule reads.
    rebound
        Variable of the flow after a blow; None where there are no blows.
    """

    path: str = field(metadata=PATHS)
    words: Mapping[int, str]
    mode: Var
    effort: Expr
    flow: Expr
    effort_impulse: Expr
    flow_impulse: Expr
    terms: tuple[Expr, ...] = ()
    rebound: Var | None = None

    commanded: ClassVar[bool] = False
    """Whether something outside decides, so that the mode is not to be changed for the sake of the others."""

    @property
    def sized(self) -> list[Expr]:
        """What a margin is a small difference of: effort, flow, and the difference of the first two terms."""
        return [self.effort, self.flow, self.terms[0] - self.terms[1] if len(self.terms) > 1 else ZERO]

    @abstractmethod
    def margin(self, look: RuleInputs) -> Expr:
        """Return by how much the mode is wrong: above zero it must change."""

    def edges(self, look: RuleInputs) -> tuple[Expr, ...]:
        """Return smooth functions of the motion, one of which is above zero wherever the margin is."""
        return (self.margin(look),)

    def following(self, look: RuleInputs) -> Expr:
        """Return the mode after a change."""
        return select(look.on, ZERO, ONE)

    def outcome(self, look: RuleInputs, changes: Expr) -> Outcome:
        """Return what follows from a look, where it is known whether the mode changes."""
        return Outcome(select(changes, self.following(look), look.mode))

    @abstractmethod
    def broken(
        self, mode: int, effort: float, flow: float, terms: Sequence[float], slack: Sequence[float]
    ) -> str:
        """Return in words why a mode does not hold at a rest; nothing where it does.

        Parameters
        ----------
        mode, effort, flow, terms
            At the rest.
        slack
            What counts as zero: of effort, of flow, of each term. Less than zero, how far each may swing.
        """


@dataclass(frozen=True)
class HeldMode:
    """An element that switches, held in one mode.

    Attributes
    ----------
    rule
        What it reads, and when it would change.
    mode
        The number of the mode.
    """

    rule: Rule
    mode: int

    @property
    def words(self) -> str:
        """The element and its mode: ``stop closed``."""
        return f"{self.rule.path} {self.rule.words[self.mode]}"


class SwitchRule(Rule):
    """Closed while a signal is above a threshold. Terms: the signal, the threshold."""

    commanded: ClassVar[bool] = True

    def margin(self, look: RuleInputs) -> Expr:
        """Return how far the signal is on the other side."""
        signal, threshold = look.terms
        return select(look.on, threshold - signal, signal - threshold)

    def broken(
        self, mode: int, effort: float, flow: float, terms: Sequence[float], slack: Sequence[float]
    ) -> str:
        """Compare the signal with the threshold."""
        del effort, flow
        signal, threshold = terms
        near = slack[2] + slack[3]
        if mode and signal < threshold - near:
            return f"its signal {signal:.6g} is below the threshold {threshold:.6g}"
        if not mode and signal > threshold + near:
            return f"its signal {signal:.6g} is above the threshold {threshold:.6g}"
        return ""


class DiodeRule(Rule):
    """On while the flow is not negative, off while the effort is not positive."""

    def margin(self, look: RuleInputs) -> Expr:
        """Return the flow backwards, or the effort forwards."""
        return select(look.on, -look.whole_flow - look.flow_slack, look.whole_effort - look.effort_slack)

    def broken(
        self, mode: int, effort: float, flow: float, terms: Sequence[float], slack: Sequence[float]
    ) -> str:
        """Look for a flow backwards, or an effort forwards."""
        del terms
        if mode and flow < -slack[1]:
            return f"its flow {flow:.6g} is backwards"
        if not mode and effort > slack[0]:
            return f"its effort {effort:.6g} is forwards"
        return ""


class StopRule(Rule):
    """Free until the gap is used up, then closed while it is pressed. Terms: displacement, gap, restitution.

    A blow is tried without rebound first: that gives the impulse J and the effort e that presses afterwards.
    A rebound with a share r of J would last 2 r J / e; where that is longer than the window, the flow is sent
    back.
    """

    def margin(self, look: RuleInputs) -> Expr:
        """Return how far it is beyond the gap and still moving on, or how hard it is pulled."""
        displacement, gap, _ = look.terms
        beyond = function("fmin", displacement - gap - look.term_slack, look.flow - look.flow_slack)
        return select(look.on, beyond, -look.whole_effort - look.effort_slack)

    def edges(self, look: RuleInputs) -> tuple[Expr, ...]:
        """Return how far it is beyond the gap, or how hard it is pulled."""
        displacement, gap, _ = look.terms
        beyond = displacement - gap - look.term_slack
        return (select(look.on, beyond, -look.whole_effort - look.effort_slack),)

    def broken(
        self, mode: int, effort: float, flow: float, terms: Sequence[float], slack: Sequence[float]
    ) -> str:
        """Compare the displacement with the gap; a closed one must not be pulled."""
        del flow
        displacement, gap = terms[:2]
        near = slack[2] + slack[3]
        if mode and displacement > gap + near:
            return f"its displacement {displacement:.6g} is beyond the gap {gap:.6g}"
        if not mode and displacement < gap - near:
            return f"its displacement {displacement:.6g} has not used up the gap {gap:.6g}"
        if not mode and effort < -slack[0]:
            return f"it is pulled, its effort is {effort:.6g}"
        return ""

    def outcome(self, look: RuleInputs, changes: Expr) -> Outcome:
        """Stop it, see the impulse, send it back if that would be seen, and let go."""
        _, _, restitution = look.terms
        tried, rebounding = (Op("eq", (look.stage, Const(s))) for s in (Blow.TRIED, Blow.REBOUNDING))
        lasting = 2 * restitution * look.effort_impulse > look.effort * look.window
        hits = Op("and", (Op("and", (changes, look.on)), Op("eq", (look.stage, Const(Blow.QUIET)))))
        stage = select(
            tried,
            select(lasting, Const(Blow.REBOUNDING), Const(Blow.HIT)),
            select(rebounding, Const(Blow.HIT), select(hits, Const(Blow.TRIED), look.stage)),
        )
        plain = select(changes, self.following(look), look.mode)
        sent_back = Op("and", (tried, lasting))
        return Outcome(
            mode=select(rebounding, ONE, select(tried, ZERO, plain)),
            stage=stage,
            before=select(hits, look.flow, look.before),
            rebound=select(sent_back, -(restitution * look.before), ZERO),
        )


class ClutchRule(Rule):
    """Sticks up to a capacity, slides with it. Terms: the capacity."""

    def margin(self, look: RuleInputs) -> Expr:
        """Return the slip against the sense of sliding, or what is asked beyond the capacity."""
        (capacity,) = look.terms
        beyond = function("fabs", look.whole_effort) - capacity - look.effort_slack
        return select(look.on, -(look.mode * look.flow) - look.flow_slack, beyond)

    def edges(self, look: RuleInputs) -> tuple[Expr, ...]:
        """Return the slip against the sense of sliding, or what is asked beyond the capacity each way."""
        (capacity,) = look.terms
        turned = -(look.mode * look.flow) - look.flow_slack
        spare = capacity + look.effort_slack
        beyond = look.whole_effort - spare, -look.whole_effort - spare
        return tuple(select(look.on, turned, e) for e in beyond)

    def broken(
        self, mode: int, effort: float, flow: float, terms: Sequence[float], slack: Sequence[float]
    ) -> str:
        """Compare what is asked with the capacity, and the slip with its sense."""
        capacity = terms[0]
        if mode and mode * flow < -slack[1]:
            return f"its slip {flow:.6g} is the other way"
        if not mode and abs(effort) > capacity + slack[0] + slack[2]:
            return f"its effort {effort:.6g} is beyond the capacity {capacity:.6g}"
        return ""

    def following(self, look: RuleInputs) -> Expr:
        """Stick; or slide in the sense of the effort."""
        return select(look.on, ZERO, function("sign", look.whole_effort))


Bits = tuple[int, ...]
"""Which elements impose their effort (1) and which their flow (0), in the order of the rules."""


@dataclass(frozen=True)
class Switching:
    """How a system switches.

    Attributes
    ----------
    rules
        One for every element that switches.
    after
        For every content of a storage that may jump, its value after a change into the modes: an expression
        of the contents before, with the modes as they are to be.
    present
        For the same contents, what they are in the present modes: themselves, or what follows from others.
    carried
        Those of them that are no states, since they follow from others in every mode.
    definitions
        Assignments that ``after`` and the rules' impulses need, besides those of the system.
    tears
        Where the loops among them are best cut.
    modes
        The combinations that have a causality.
    refused
        The others, with the reason.
    """

    rules: tuple[Rule, ...]
    after: Mapping[Var, Expr]
    present: Mapping[Var, Expr]
    carried: tuple[Var, ...]
    definitions: Mapping[Var, Expr]
    tears: tuple[Var, ...]
    modes: tuple[Bits, ...]
    refused: Mapping[Bits, str]

    @property
    def own_vars(self) -> list[Var]:
        """The variables that are none of the system's own: of contents, blows and definitions."""
        rebounds = [rule.rebound for rule in self.rules if rule.rebound is not None]
        return [*self.carried, *rebounds, *self.definitions]

    def permitted(
        self, modes: Sequence[Expr], changed: Sequence[Expr], name: str
    ) -> tuple[list[Assign], list[Expr]]:
        """Return modes that have a causality: those that are wanted, or the nearest.

        What just changed is kept as it is, if possible, and so is what is commanded from outside: a switch
        that closes turns off the diode beside it.

        Parameters
        ----------
        modes
            What the rules want.
        changed
            Whether each is new.
        name
            Goes before the names of the assignments.
        """
        if not self.refused:
            return [], list(modes)
        on: list[Expr] = [Op("ne", (m, Const(0.0))) for m in modes]
        code: Expr = Const(0.0)
        for i, bit in enumerate(on):
            code = code + Const(2.0**i) * bit
        steps = [Assign(Var(f"{name}.code"), code)]
        for number, bits in enumerate(self.refused):
            choice: Expr | None = None
            for near in reversed(self._nearest(bits)):
                kept: Expr = Const(1.0)
                for a, b, c in zip(bits, near, changed, strict=True):
                    if a != b:
                        kept = kept * Op("not", (c,))
                place: Expr = Const(_code(near))
                choice = place if choice is None else select(kept, place, choice)
            if choice is not None:
                last = steps[-1].target
                here = Op("eq", (last, Const(_code(bits))))
                steps.append(Assign(Var(f"{name}.code{number}"), select(here, choice, last)))
        result: list[Expr] = []
        last = steps[-1].target
        for i, (m, was) in enumerate(zip(modes, on, strict=True)):
            upper = function("floor", last / Const(2.0 ** (i + 1)))
            bit = function("floor", last / Const(2.0**i)) - 2 * upper
            steps.append(Assign(Var(f"{name}.bit{i}"), bit))
            target = steps[-1].target
            result.append(select(Op("ne", (target, Const(0.0))), select(was, m, 1.0), 0.0))
        return steps, result

    def _nearest(self, bits: Bits) -> list[Bits]:
        """Return the permitted combinations that leave most as it is, and first of all what is commanded."""

        def distance(other: Bits) -> tuple[int, int]:
            apart = [rule for rule, a, b in zip(self.rules, bits, other, strict=True) if a != b]
            return sum(rule.commanded for rule in apart), len(apart)

        least = min(map(distance, self.modes))
        return [other for other in self.modes if distance(other) == least]

    def in_words(self, values: Sequence[float]) -> str:
        """Return modes in words: ``diode off, key closed``."""
        return ", ".join(
            f"{rule.path} {rule.words[round(v)]}" for rule, v in zip(self.rules, values, strict=True)
        )


def _code(bits: Bits) -> float:
    return float(sum(bit << i for i, bit in enumerate(bits)))
