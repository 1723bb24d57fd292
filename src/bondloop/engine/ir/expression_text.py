"""Expressions as source code, with the same arithmetic in the same order in every language.

In ticks, C and Python write sums from left to right, powers with a small whole exponent as repeated products
``((x*x)*x)*...``, and choose lazily; what they compute is therefore the same to the last bit, as far as their
mathematical libraries are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from bondloop.engine.ir.expr import COMPARISONS, FUNCTIONS, LOGIC, Binding, Call, Const, Expr, Op, Var
from bondloop.engine.ir.loop_terms import curves, matrix, residuals, sizes
from bondloop.errors import CompileError, ModelError

if TYPE_CHECKING:
    from bondloop.engine.ir.statement import Assign, Loop


LARGEST_POWER = 8
"""Largest whole exponent that is written as a product in a tick."""

_LONG_SUM = 500
"""Python's compiler nests a sum term by term, and runs out of stack at some thousands."""


_SUM, _SIGN, _PRODUCT, _ATOM = Binding


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

    def _write(self, expr: Expr) -> tuple[str, Binding]:  # noqa: PLR0911 - one case per operation
        if isinstance(expr, Var):
            return self.name(expr), _ATOM
        if isinstance(expr, Const):
            text = self.number(expr.value)
            return text, _SIGN if text.startswith("-") else _ATOM
        assert isinstance(expr, Op)
        if expr.name == "row":
            return self._write(expr.written_out())
        if expr.name == "add":
            return self._sum(expr)
        if expr.name == "neg":
            return f"-{self._at_least(_PRODUCT, expr.args[0])}", _SIGN
        if expr.name == "mul":
            return (
                f"{self._at_least(_PRODUCT, expr.args[0])}*{self._at_least(_ATOM, expr.args[1])}",
                _PRODUCT,
            )
        if expr.name == "div":
            return self._quotient(expr)
        if expr.name == "pow":
            return self._power(expr)
        if expr.name == "select":
            return self._select(expr), _ATOM
        if expr.name in COMPARISONS or expr.name in LOGIC:
            return self._truth_value(self.condition(expr)), _ATOM
        if expr.name in FUNCTIONS:
            return self._call(expr.name, *expr.args), _ATOM
        return self._outside(expr), _ATOM

    def _outside(self, op: Op) -> str:
        if isinstance(op, Call):
            raise CompileError(
                f"{op.function.__qualname__} is a Python function: it can be rehearsed in Python, but not "
                "written as code; write it with operators and bondloop.math, as a bondloop.control.ControlLaw"
            )
        raise ModelError(
            f"'{op.name}' is no operation that can be written as code; known: {', '.join(FUNCTIONS)}"
        )

    def _at_least(self, level: Binding, expr: Expr) -> str:
        text, found = self._write(expr)
        return text if found >= level else f"({text})"

    def _sum(self, expr: Op) -> tuple[str, Binding]:
        text = self._at_least(_SUM, expr.args[0])
        for a in expr.args[1:]:
            if isinstance(a, Op) and a.name == "neg":
                text += f" - {self._at_least(_PRODUCT, a.args[0])}"
            elif isinstance(a, Const) and a.value < 0:
                text += f" - {self.number(-a.value)}"
            else:
                text += f" + {self._at_least(_SIGN, a)}"
        return text, _SUM

    def _quotient(self, expr: Op) -> tuple[str, Binding]:
        return (
            f"{self._at_least(_PRODUCT, expr.args[0])}/{self._at_least(_ATOM, expr.args[1])}",
            _PRODUCT,
        )

    def _power(self, expr: Op) -> tuple[str, Binding]:
        base, exponent = expr.args
        if not (isinstance(exponent, Const) and exponent.value in range(2, self.largest_power + 1)):
            return self._call("pow", *expr.args), _ATOM
        n = int(exponent.value)
        if isinstance(base, Var):
            return f"({'*'.join([self.name(base)] * n)})", _ATOM
        return self._call(f"power{n}", base), _ATOM

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

    def _quotient(self, expr: Op) -> tuple[str, Binding]:
        if self.careful:
            return f"careful_div({self(expr.args[0])}, {self(expr.args[1])})", _ATOM
        return super()._quotient(expr)

    def _sum(self, expr: Op) -> tuple[str, Binding]:
        if len(expr.args) > _LONG_SUM:
            return f"total(({', '.join(self(a) for a in expr.args)}))", _ATOM
        return super()._sum(expr)

    def _truth_value(self, condition: str) -> str:
        return f"(1.0 if {condition} else 0.0)"


def linear_lines(loop: Loop, text: PythonText, solve: str, last: str) -> list[str]:
    """Return lines that solve a linear loop: one Newton step from zero, which is exact.

    Parameters
    ----------
    loop
        The loop.
    text
        How expressions and variables are written.
    solve, last
        The function that is called with the matrix and the right-hand side, two numbers if there is but one
        tear, and its last argument.
    """
    tears = [text.name(t) for t in loop.tears]
    body = [text.assign(a) for a in loop.body]
    rows = [", ".join(map(text, row)) for row in matrix(loop)]
    right = ", ".join(map(text, residuals(loop)))
    added = [f"{t} += change[{i}]" for i, t in enumerate(tears)]
    step = f"change = {solve}([[{'], ['.join(rows)}]], [{right}], {last})"
    if len(tears) == 1:
        added, step = [f"{tears[0]} += change"], f"change = {solve}({rows[0]}, {right}, {last})"
    return [*(f"{t} = 0.0" for t in tears), *body, *map(text.assign, loop.tangents), step, *added, *body]


def loop_functions(loop: Loop, text: PythonText) -> list[str]:
    """Return lines that define ``functions_``, a `newton.LoopFunctions`."""
    tears = ", ".join(text.name(t) for t in loop.tears)
    assigns, totals = sizes(loop)
    rows = ", ".join(f"[{', '.join(map(text, row))}]" for row in matrix(loop))
    lines: list[str] = []

    def function(name: str, body: Sequence[Assign], values: str) -> None:
        lines.append(f"def {name}({tears}):")
        lines.extend(f"    {text.assign(a)}" for a in body)
        lines.append(f"    return [{values}]")

    function("residual_", loop.body, ", ".join(map(text, residuals(loop))))
    function("matrix_", (*loop.body, *loop.tangents), rows)
    function("sizes_", assigns, ", ".join(map(text, totals)))
    laws = [
        f"({c.tear}, lambda {t}: {text(c.law)}, lambda {t}: {text(c.slope)})"
        for c in curves(loop)
        for t in [text.name(loop.tears[c.tear])]
    ]
    return [*lines, f"functions_ = LoopFunctions(residual_, matrix_, sizes_, [{', '.join(laws)}])"]
