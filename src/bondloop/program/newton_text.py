"""The functions of a loop as lines of Python, for the evaluator and for the twin of the C code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.program.expr import Const, Expr, Op
from bondloop.program.loop_terms import Curve, curves, implicit, sizes

if TYPE_CHECKING:
    from bondloop.program.expression_text import PythonText
    from bondloop.program.schedule import Assign, Loop

__all__ = ["LoopTerms", "linear_lines", "loop_functions", "matrix", "residuals"]


@dataclass(frozen=True)
class LoopTerms:
    """What Newton's method needs of a loop, as expressions.

    Attributes
    ----------
    residuals, matrix
        What must vanish, and I - J.
    sizes
        Assignments, and the sizes of the residuals' terms.
    curves
        The laws of single tears.
    """

    residuals: list[Expr]
    matrix: list[list[Expr]]
    sizes: tuple[list[Assign], list[Expr]]
    curves: list[Curve]

    @staticmethod
    def of(loop: Loop) -> LoopTerms:
        """Return those of a loop."""
        return LoopTerms(residuals(loop), matrix(loop), sizes(loop), curves(loop))


def residuals(loop: Loop) -> list[Expr]:
    """Return what each definition gives, less its tear."""
    rows = zip(loop.definitions, loop.tears, implicit(loop), strict=True)
    return [d - t if g is None else g for d, t, g in rows]


def matrix(loop: Loop) -> list[list[Expr]]:
    """Return I - J, row by row: the slopes of the residuals, with the other sign."""
    rows = []
    for i, (entries, g) in enumerate(zip(loop.jacobian, implicit(loop), strict=True)):
        row = [Const(1.0 if i == j else 0.0) - entry for j, entry in enumerate(entries)]
        if g is not None:
            row[i] = -_without_one(entries[i])
        rows.append(row)
    return rows


def _without_one(slope: Expr) -> Expr:
    """Return g' of the slope 1 + g' of a definition ``tear + g``, which the schedule writes so."""
    if isinstance(slope, Op) and slope.name == "add" and len(slope.args) == 2:
        one, rest = slope.args
        if isinstance(one, Const) and one.value == 1.0:
            return rest
    return slope - Const(1.0)


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
