"""What every kind of statement says of itself, so that few need ask which kind it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bondloop.errors import ModelError
from bondloop.program.expr import Expr, Var, variables

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

    def check(self, known: Known) -> None:
        """Every variable is computed before it is used; what is written is known from here on."""
        for v, e in self.defines:
            known.need(e, v.name)
            known.variables.add(v)
