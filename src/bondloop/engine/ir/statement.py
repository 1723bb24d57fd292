"""Statements of a program: what every kind offers, assignments, and algebraic loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bondloop.engine.ir.expr import Expr, Var, variables
from bondloop.errors import ModelError


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
    def inner(self) -> Sequence[Any]:
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


@dataclass(frozen=True, slots=True)
class Assign(Stated):
    """One assignment, ``target = expr``.

    Attributes
    ----------
    target
        The variable.
    expr
        What it is from there on.
    """

    target: Var
    expr: Expr

    @property
    def defines(self) -> Sequence[tuple[Var, Expr]]:
        """The target with its expression."""
        return ((self.target, self.expr),)

    @property
    def pure(self) -> bool:
        """It is."""
        return True

    def copied(self, put: Callable[[Expr], Expr], fresh: Callable[[Var], Var]) -> Assign:
        """Return it with expressions as ``put`` gives them, and then variables as ``fresh`` does."""
        return Assign(expr=put(self.expr), target=fresh(self.target))


@dataclass(frozen=True)
class Loop(Stated):
    """An algebraic loop: find ``tears`` such that each equals its definition.

    Attributes
    ----------
    tears : tuple of Var
        The unknowns.
    body : tuple of Assign
        Everything between the tears and their definitions, in order.
    definitions : tuple of Expr
        What each tear must be equal to.
    tangents : tuple of Assign
        Derivatives of the body with respect to the tears, in order.
    jacobian : tuple of tuple of Expr
        Derivative of definition i with respect to tear j.
    linear : bool
        Whether one Newton step is exact.
    iterations : int
        Newton steps.
    """

    tears: tuple[Var, ...]
    body: tuple[Assign, ...]
    definitions: tuple[Expr, ...]
    tangents: tuple[Assign, ...]
    jacobian: tuple[tuple[Expr, ...], ...]
    linear: bool
    iterations: int

    @property
    def defines(self) -> Sequence[tuple[Var, Expr]]:
        """The body, then the tears with their definitions."""
        ends = zip(self.tears, self.definitions, strict=True)
        return [*((a.target, a.expr) for a in self.body), *ends]

    @property
    def expressions(self) -> Sequence[Expr]:
        """Those of the equations and of their slopes."""
        slopes = (e for row in self.jacobian for e in row)
        return [*super().expressions, *(a.expr for a in self.tangents), *slopes]

    @property
    def writes(self) -> Sequence[Var]:
        """The tears, the body, and its slopes, which no one needs afterwards."""
        return [*self.tears, *(a.target for a in (*self.body, *self.tangents))]

    @property
    def scratch(self) -> Sequence[Var]:
        """The slopes of its body."""
        return [a.target for a in self.tangents]

    def check(self, known: Known) -> None:
        """Check the body in its order, from the tears on; every tear has its equation and its slopes."""
        n = len(self.tears)
        if any(len(row) != n for row in (self.definitions, self.jacobian, *self.jacobian)):
            raise ModelError(
                f"an algebraic loop of {n} unknowns does not fit its {len(self.definitions)} definitions "
                "or its jacobian"
            )
        known.variables.update(self.tears)
        for a in (*self.body, *self.tangents):
            a.check(known)
        for e in (*self.definitions, *(e for row in self.jacobian for e in row)):
            known.need(e, f"the algebraic loop through {', '.join(t.name for t in self.tears)}")

    def copied(self, put: Callable[[Expr], Expr], fresh: Callable[[Var], Var]) -> Loop:
        """Return it with other expressions and variables."""
        return Loop(
            tears=tuple(map(fresh, self.tears)),
            body=tuple(a.copied(put, fresh) for a in self.body),
            definitions=tuple(map(put, self.definitions)),
            tangents=tuple(a.copied(put, fresh) for a in self.tangents),
            jacobian=tuple(tuple(map(put, row)) for row in self.jacobian),
            linear=self.linear,
            iterations=self.iterations,
        )


Statement = Assign | Loop


def loops(statements: Iterable[Stated]) -> list[Loop]:
    """Return the loops among statements."""
    return [s for s in statements if isinstance(s, Loop)]


def without_loops(statements: Sequence[Statement]) -> tuple[Assign, ...] | None:
    """Return statements if they are assignments alone; None if there are loops among them."""
    assigns = tuple(s for s in statements if isinstance(s, Assign))
    return assigns if len(assigns) == len(statements) else None
