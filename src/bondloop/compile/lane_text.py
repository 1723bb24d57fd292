"""Expressions in C over several tests at once, one in each lane of a vector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bondloop.compile.c_text import CText
from bondloop.errors import CompileError
from bondloop.program.expr import COMPARISONS, LOGIC, Binding, Call, Op, is_comparison, variables

if TYPE_CHECKING:
    from bondloop.program.expr import Expr, Var

__all__ = ["LaneText"]


@dataclass
class LaneText(CText):
    """Expressions whose variables are wide (a value for each test) or the same for all tests.

    Arithmetic is written as for one test: C's vector types widen what is the same for all. Both sides of a
    choice are computed, then blended.

    Attributes
    ----------
    is_wide
        Whether a variable has a value for each test.
    lane_calls
        Functions that are called with wide arguments, and with how many.

    Examples
    --------
    >>> from bondloop.program.expr import Var, select
    >>> x, t = Var("x"), Var("t")
    >>> text = LaneText(lambda v: v.name, prefix="demo", is_wide=lambda v: v is x)
    >>> text(2 * x + t), text(select(x > t, x, 1))
    ('2.0*x + t', 'demo_choose((demo_mask)(x > t), x, demo_all(1.0))')
    """

    is_wide: Callable[[Var], bool] = lambda _: True
    lane_calls: dict[str, int] = field(default_factory=dict)

    def _outside(self, op: Op) -> str:
        if isinstance(op, Call):
            raise CompileError(
                f"{op.function.__qualname__} is a program that runs in one test at a time, and not in a batch"
            )
        return super()._outside(op)

    def wide(self, expr: Expr) -> bool:
        """Whether an expression has a value for each test."""
        return any(self.is_wide(v) for v in variables(expr))

    def full(self, expr: Expr) -> str:
        """Return an expression as a wide value."""
        return self(expr) if self.wide(expr) else f"{self.prefix}_all({self(expr)})"

    def number(self, value: float) -> str:
        """Return a number; the infinite ones of ``math.h`` are too narrow for a vector."""
        text = super().number(value)
        return text if text[-1].isdigit() else f"(double){text}"

    def condition(self, expr: Expr) -> str:
        """Return the truth of an expression: a mask where it is wide."""
        if not self.wide(expr):
            return super().condition(expr)
        if isinstance(expr, Op) and expr.name in LOGIC:
            masks = [self._mask(a) for a in expr.args]
            return f"(~{masks[0]})" if expr.name == "not" else f"({self._joint(expr.name).join(masks)})"
        if isinstance(expr, Op) and expr.name in COMPARISONS:
            a, b = (self(a) for a in expr.args)
            return f"({self.prefix}_mask)({a} {COMPARISONS[expr.name]} {b})"
        return f"({self.prefix}_mask)({self(expr)} != 0.0)"

    @staticmethod
    def _joint(name: str) -> str:
        return " & " if name == "and" else " | "

    def _mask(self, expr: Expr) -> str:
        return self.condition(expr) if self.wide(expr) else f"{self.prefix}_same({self.condition(expr)})"

    def _select(self, expr: Op) -> str:
        test, yes, no = expr.args
        if self.wide(test):
            return f"{self.prefix}_choose({self.condition(test)}, {self.full(yes)}, {self.full(no)})"
        if self.wide(yes) or self.wide(no):
            return f"({self.condition(test)} ? {self.full(yes)} : {self.full(no)})"
        return super()._select(expr)

    def _write(self, expr: Expr) -> tuple[str, Binding]:
        truth = is_comparison(expr)
        if truth and self.wide(expr):
            one, zero = (f"{self.prefix}_all({x})" for x in ("1.0", "0.0"))
            return f"{self.prefix}_choose({self.condition(expr)}, {one}, {zero})", Binding.ATOM
        return super()._write(expr)

    def _call(self, function: str, *args: Expr) -> str:
        if not any(self.wide(a) for a in args):
            return super()._call(function, *args)
        self.used.add(function)
        self.lane_calls[function] = len(args)
        return f"{self.prefix}_lanes_{function}({', '.join(self.full(a) for a in args)})"
