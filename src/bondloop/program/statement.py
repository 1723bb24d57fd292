"""What every kind of statement says of itself, so that few need ask which kind it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bondloop.errors import ModelError
from bondloop.program.expr import Expr, Var, variables

if TYPE_CHECKING:
    from bondloop.program.tick import Step

__all__ = ["Known", "Stated"]


class Known:
    """Variables that are computed so far, and which of them are states."""

    def __init__(self, known: Iterable[Var], states: Iterable[Var]) -> None:
        self.variables, self.states = {*known}, {*states}

    def need(self, expr: Expr, what: str) -> None:
        """Refuse what needs a variable that is not known."""
        for v in variables(expr):
            if v not in self.variables:
                raise ModelError(f"{what} needs {v.name}, which is not computed before it")


class Stated:
    """What every kind of statement says of itself; a repetition does not speak for its body."""

    __slots__ = ()

    @property
    def defines(self) -> Sequence[tuple[Var, Expr]]:
        """Variables with what each is made equal to."""
        return ()

    @property
    def expressions(self) -> Sequence[Expr]:
        """All expressions that are evaluated."""
        return [e for _, e in self.defines]

    @property
    def reads(self) -> set[Var]:
        """Variables that its expressions need."""
        return {v for e in self.expressions for v in variables(e)}

    @property
    def writes(self) -> Sequence[Var]:
        """Variables that get a value."""
        return [v for v, _ in self.defines]

    @property
    def scratch(self) -> Sequence[Var]:
        """Those that it writes for itself alone."""
        return ()

    @property
    def sought(self) -> Sequence[Var]:
        """Variables whose values it looks for, ending when they are found."""
        return ()

    @property
    def worked_in(self) -> frozenset[str]:
        """Names of the parameters whose values are worked into its numbers."""
        return frozenset()

    @property
    def pure(self) -> bool:
        """Whether it does nothing but give its variables their values: without a reader it can go."""
        return False

    @property
    def inner(self) -> Sequence[Step]:
        """Statements within it."""
        return ()

    @property
    def times(self) -> int:
        """How often it executes those at most."""
        return 1

    @property
    def size(self) -> int:
        """For how many statements a compiler takes it, those within it apart."""
        return 1

    def check(self, known: Known) -> None:
        """Every variable is computed before it is used; what is written is known from here on."""
        for v, e in self.defines:
            known.need(e, v.name)
            known.variables.add(v)
