"""The switching of a system: its elements' rules, the jumps between modes, and which modes there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.program.expr import Const, Expr, Op, Var, function, select
from bondloop.program.schedule import Assign

if TYPE_CHECKING:
    from bondloop.program.switching_rules import Rule

__all__ = ["Bits", "Switching"]

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

    def told(self, values: Sequence[float]) -> str:
        """Return modes in words: ``diode off, key closed``."""
        return ", ".join(
            f"{rule.path} {rule.words[round(v)]}" for rule, v in zip(self.rules, values, strict=True)
        )


def _code(bits: Bits) -> float:
    return float(sum(bit << i for i, bit in enumerate(bits)))
