"""Expressions as text: formulas for people, and source with the same arithmetic in the same order everywhere.

In ticks, C and Python write sums from left to right, powers with a small whole exponent as repeated products
``((x*x)*x)*...``, and choose lazily; what they compute is therefore the same to the last bit, as far as their
mathematical libraries are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from bondloop.errors import CompileError, ModelError
from bondloop.program.call import Call
from bondloop.program.expr import COMPARISONS, FUNCTIONS, LOGIC, Const, Expr, Op, Var, is_comparison

if TYPE_CHECKING:
    from bondloop.program.schedule import Assign

__all__ = ["ATOM", "LARGEST_POWER", "Formula", "PythonText", "Text", "total"]

LARGEST_POWER = 8
"""Largest whole exponent that is written as a product in a tick."""

_LONG_SUM = 500
"""Python's compiler nests a sum term by term, and runs out of stack at some thousands."""

_ADD, _NEG, _MUL, ATOM = 1, 2, 3, 4


def total(terms: Sequence[float]) -> float:
    """Return a sum from left to right, as it is written out: Python's own ``sum`` rounds otherwise."""
    return reduce(operator.add, terms)


@dataclass
class Text:
    """A writer of expressions in one language.

    Attributes
    ----------
    name
        The text of a variable.
    used
        Names of the helper functions that the text calls.
    largest_power
        Largest whole exponent that is written as a product.
    """

    name: Callable[[Var], str]
    used: set[str] = field(default_factory=set)
    largest_power: int = LARGEST_POWER

    def __call__(self, expr: Expr) -> str:
        """Return an expression as text."""
        return self._write(expr)[0]

    def _write(self, expr: Expr) -> tuple[str, int]:  # noqa: PLR0911 - one case per operation
        if isinstance(expr, Var):
            return self.name(expr), ATOM
        if isinstance(expr, Const):
            text = self.number(expr.value)
            return text, _NEG if text.startswith("-") else ATOM
        assert isinstance(expr, Op)
        if expr.name == "row":
            return self._write(expr.written_out())
        if expr.name == "add":
            return self._sum(expr)
        if expr.name == "neg":
            return f"-{self._at_least(_MUL, expr.args[0])}", _NEG
        if expr.name == "mul":
            return f"{self._at_least(_MUL, expr.args[0])}*{self._at_least(ATOM, expr.args[1])}", _MUL
        if expr.name == "div":
            return self._quotient(expr)
        if expr.name == "pow":
            return self._power(expr)
        if expr.name == "select":
            return self._select(expr), ATOM
        if expr.name in COMPARISONS or expr.name in LOGIC:
            return self._truth_value(self.condition(expr)), ATOM
        if expr.name in FUNCTIONS:
            return self._call(expr.name, *expr.args), ATOM
        return self._outside(expr), ATOM

    def _outside(self, op: Op) -> str:
        if isinstance(op, Call):
            raise CompileError(
                f"{op.function.__qualname__} is a Python function: it can be rehearsed in Python, but not "
                "written as code; write it with operators and bondloop.math, as a bondloop.control.ControlLaw"
            )
        raise ModelError(
            f"'{op.name}' is no operation that can be written as code; known: {', '.join(FUNCTIONS)}"
        )

    def _at_least(self, level: int, expr: Expr) -> str:
        text, found = self._write(expr)
        return text if found >= level else f"({text})"

    def _sum(self, expr: Op) -> tuple[str, int]:
        text = self._at_least(_ADD, expr.args[0])
        for a in expr.args[1:]:
            if isinstance(a, Op) and a.name == "neg":
                text += f" - {self._at_least(_MUL, a.args[0])}"
            elif isinstance(a, Const) and a.value < 0:
                text += f" - {self.number(-a.value)}"
            else:
                text += f" + {self._at_least(_NEG, a)}"
        return text, _ADD

    def _quotient(self, expr: Op) -> tuple[str, int]:
        return f"{self._at_least(_MUL, expr.args[0])}/{self._at_least(ATOM, expr.args[1])}", _MUL

    def _power(self, expr: Op) -> tuple[str, int]:
        base, exponent = expr.args
        if not (isinstance(exponent, Const) and exponent.value in range(2, self.largest_power + 1)):
            return self._call("pow", *expr.args), ATOM
        n = int(exponent.value)
        if isinstance(base, Var):
            return f"({'*'.join([self.name(base)] * n)})", ATOM
        return self._call(f"power{n}", base), ATOM

    def _call(self, function: str, *args: Expr) -> str:
        self.used.add(function)
        return f"{self.function(function)}({', '.join(self(a) for a in args)})"

    def condition(self, expr: Expr) -> str:
        """Return the truth of an expression: not zero; NaN is true."""
        if isinstance(expr, Op):
            if expr.name in COMPARISONS:
                a, b = (self(a) for a in expr.args)
                return f"({a} {COMPARISONS[expr.name]} {b})"
            if expr.name in LOGIC:
                return self._logic(expr.name, [self.condition(a) for a in expr.args])
        return f"({self(expr)} != 0.0)"

    def _select(self, expr: Op) -> str:
        test, yes, no = expr.args
        return f"({self(yes)} if {self.condition(test)} else {self(no)})"

    def _logic(self, name: str, args: list[str]) -> str:
        return f"(not {args[0]})" if name == "not" else f"({f' {name} '.join(args)})"

    # What all languages write differently.

    def number(self, value: float) -> str:
        """Return a number, with all its digits."""
        raise NotImplementedError

    def function(self, name: str) -> str:
        """Return the name under which a function is called."""
        raise NotImplementedError

    def _truth_value(self, condition: str) -> str:
        raise NotImplementedError


@dataclass
class Formula(Text):
    """Expressions as people read them: whole numbers without a point, powers as powers.

    >>> print(Formula(lambda v: v.name)((Var("a.x") + 1) * Var("b.y") ** 2))
    (a.x + 1)*b.y**2
    """

    def number(self, value: float) -> str:
        """Return the shortest text that reads back as the same number."""
        whole = math.isfinite(value) and value == int(value) and abs(value) < 1e15
        return str(int(value)) if whole else repr(value)

    def function(self, name: str) -> str:
        """Return the name as it is."""
        return name

    def condition(self, expr: Expr) -> str:
        """Return an expression whose truth is meant."""
        truth = is_comparison(expr)
        return super().condition(expr) if truth else self(expr)

    def _outside(self, op: Op) -> str:
        return self._call(op.name, *op.args)

    def _at_least(self, level: int, expr: Expr) -> str:
        text = super()._at_least(level, expr)
        return f"({text})" if isinstance(expr, Op) and expr.name in {"select", *LOGIC} else text

    def _power(self, expr: Op) -> tuple[str, int]:
        def part(a: Expr) -> str:
            plain = not isinstance(a, Op) or a.name in FUNCTIONS
            return self._at_least(ATOM, a) if plain else f"({self(a)})"

        return "**".join(map(part, expr.args)), ATOM

    def _truth_value(self, condition: str) -> str:
        return condition


@dataclass
class PythonText(Text):
    """Expressions in Python over floats.

    ``careful`` writes quotients and functions as calls that give infinities and NaN, as C does, where Python
    would raise an exception.
    """

    careful: bool = False

    def assign(self, step: Assign) -> str:
        """Return an assignment."""
        return f"{self.name(step.target)} = {self(step.expr)}"

    def number(self, value: float) -> str:
        """Return a number as a Python constant, or as the name of one."""
        return repr(value)

    def function(self, name: str) -> str:
        """Return the name of a function in the generated module."""
        return f"careful_{name}" if self.careful else name

    def _outside(self, op: Op) -> str:
        return (
            f"{op.label}({', '.join(map(self, op.args))})" if isinstance(op, Call) else super()._outside(op)
        )

    def _quotient(self, expr: Op) -> tuple[str, int]:
        if self.careful:
            return f"careful_div({self(expr.args[0])}, {self(expr.args[1])})", ATOM
        return super()._quotient(expr)

    def _sum(self, expr: Op) -> tuple[str, int]:
        if len(expr.args) > _LONG_SUM:
            return f"total(({', '.join(self(a) for a in expr.args)}))", ATOM
        return super()._sum(expr)

    def _truth_value(self, condition: str) -> str:
        return f"(1.0 if {condition} else 0.0)"
