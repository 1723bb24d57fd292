"""Expressions in C."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bondloop.program.expr import Call
from bondloop.program.expression_text import Text

if TYPE_CHECKING:
    from bondloop.program.expr import Expr, Op

__all__ = ["OWN", "REFUSAL", "CText"]

REFUSAL = """\
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) \\
    || defined(__NO_SIGNED_ZEROS__) || defined(_M_FP_FAST) || (__FINITE_MATH_ONLY__ + 0)
#error "bondloop refuses -ffast-math, -Ofast and their kin: the guard against NaN would be compiled away"
#endif
"""
"""What every generated tick and ``realtime/c/finite.h`` begin with: options that let a compiler assume that
there is no NaN take away every comparison that a NaN must fail; the others round otherwise than we do."""

OWN = ("sign", "fmin", "fmax", "uniform", "normal")
"""Functions that C lacks or leaves open (which of two zeros is the smaller), so that we write them out."""


@dataclass
class CText(Text):
    """Expressions in C99; functions that are not of ``math.h`` carry the model's name.

    >>> from bondloop.program.expr import Var
    >>> x = Var("x")
    >>> print(CText(lambda v: v.name, prefix="demo")(2 * x**3 - abs(x) / (1 + x)))
    2.0*(x*x*x) - fabs(x)/(1.0 + x)
    """

    prefix: str = ""
    sources: dict[str, None] = field(default_factory=dict)

    def number(self, value: float) -> str:
        """Return a number as a C constant."""
        if math.isfinite(value):
            return repr(value)
        return "NAN" if math.isnan(value) else ("INFINITY" if value > 0 else "-INFINITY")

    def full(self, expr: Expr) -> str:
        """Return an expression as a value of the kind that variables have."""
        return self(expr)

    def function(self, name: str) -> str:
        """Return a function of ``math.h``, or one of ours."""
        return f"{self.prefix}_{name}" if name in OWN or name.startswith("power") else name

    def _outside(self, op: Op) -> str:
        if isinstance(op, Call) and op.source:
            self.sources[op.source] = None
            return f"{op.label}({', '.join(map(self, op.args))})"
        return super()._outside(op)

    def _truth_value(self, condition: str) -> str:
        return f"(double){condition}"

    def _select(self, expr: Op) -> str:
        test, yes, no = expr.args
        return f"({self.condition(test)} ? {self(yes)} : {self(no)})"

    def _logic(self, name: str, args: list[str]) -> str:
        return f"(!{args[0]})" if name == "not" else f"({(' && ' if name == 'and' else ' || ').join(args)})"
