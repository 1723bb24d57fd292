"""A scheduled program as a Python function: the reference reading of the list of assignments."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from bondloop.engine.ir.causal_order import curves, implicit, matrix, residuals, sizes
from bondloop.engine.ir.expr import (
    FUNCTIONS,
    Binding,
    Call,
    Expr,
    Op,
    Text,
    Var,
    evaluate,
)
from bondloop.engine.ir.matrices import SingularError, gathered, solve_small
from bondloop.engine.ir.newton_iteration import LoopFunctions, Solution, newton, worst
from bondloop.engine.ir.statement import Assign, Loop, Statement
from bondloop.errors import ModelError, SolveError


def total(terms: Sequence[float]) -> float:
    """Return a sum from left to right, as it is written out: Python's own ``sum`` rounds otherwise."""
    return reduce(operator.add, terms)


@dataclass
class PythonText(Text):
    """Expressions in Python over floats.

    ``careful`` writes quotients and functions as calls that give infinities and NaN, as C does, where Python
    would raise an exception. A sum of more terms than ``long_sum`` is a call: Python's compiler nests it term
    by term, and runs out of stack at some thousands.
    """

    careful: bool = False
    long_sum: int = 500

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
            return f"careful_div({self(expr.args[0])}, {self(expr.args[1])})", Binding.ATOM
        return super()._quotient(expr)

    def _sum(self, expr: Op) -> tuple[str, Binding]:
        if len(expr.args) > self.long_sum:
            return f"total(({', '.join(self(a) for a in expr.args)}))", Binding.ATOM
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
    rows = ", ".join(text(entry) for row in matrix(loop) for entry in row)
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


Memory = dict[int, list[float]]
"""The last tears of each loop of a program, by its number."""


def evaluator(
    statements: Sequence[Statement],
    arguments: Sequence[Sequence[Var]],
    results: Sequence[Expr],
) -> Callable[..., list[float]]:
    """Write a program as Python and return it as a function.

    Parameters
    ----------
    statements
        The program, in order.
    arguments
        One group of variables per argument of the function; each argument is a sequence of floats.
    results
        What the function returns, as a list.

    Returns
    -------
    function
        Called with the arguments, and perhaps with a ``memory``: loops that are not linear then start from
        what it holds, and leave their tears in it. Without one they start from zero: equal arguments, equal
        results.
    """
    names: dict[Var, str] = {}

    def name(var: Var) -> str:
        text = names.get(var)
        if text is None:
            text = names[var] = f"v{len(names)}"
        return text

    text = PythonText(name, largest_power=1)
    lines = [f"def program({', '.join(f'a{i}' for i in range(len(arguments)))}, memory):"]
    for i, group in enumerate(arguments):
        if group:
            lines.append(f"    ({', '.join(name(v) for v in group)},) = a{i}")
    products: dict[str, object] = {}
    for number, statement in enumerate(gathered(statements)):
        if isinstance(statement, Assign):
            lines.append(f"    {text.assign(statement)}")
        elif isinstance(statement, Loop):
            lines += _loop_lines(statement, text, number)
        else:
            rows, product = statement
            times = f"_times{len(products)}"
            products[times] = product.matrix.times
            vector = ", ".join(map(text, product.args))
            lines.append(f"    _p = {times}(({vector},))")
            lines += [f"    {name(r.target)} = _p[{r.expr.index}]" for r in rows]  # type: ignore[attr-defined]
    lines.append(f"    return [{', '.join(map(text, results))}]")
    scope: dict[str, object] = {
        **FUNCTIONS,
        "pow": math.pow,
        "total": total,
        "inf": math.inf,
        "nan": math.nan,
        "_solve": _solve,
        "_solve1": _solve1,
        "_divide": _divide,
        "_newton": _newton,
        "LoopFunctions": LoopFunctions,
        **products,
    }
    exec(compile("\n".join(lines), "<bondloop program>", "exec"), scope)  # noqa: S102 - our own text
    function: Callable[..., list[float]] = scope["program"]  # type: ignore[assignment]

    def guarded(*values: Sequence[float], memory: Memory | None = None) -> list[float]:
        try:
            return function(*values, memory)
        except NameError as error:
            refuse_unknown(v for v, text in names.items() if text == error.name)
            raise
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            raise SolveError(_culprit(statements, arguments, values, error)) from error

    return guarded


def refuse_unknown(unknown: Iterable[Var]) -> None:
    """Refuse a program that reads what it is neither given nor assigns."""
    names = [v.name for v in unknown]
    if names:
        raise ModelError(
            f"the program reads '{names[0]}', but nothing assigns it: whoever changes a system's "
            "definitions keeps those that rates, outputs and other definitions read"
        )


def _loop_lines(loop: Loop, text: PythonText, number: int) -> list[str]:
    tears, who = [text.name(t) for t in loop.tears], repr(tuple(t.name for t in loop.tears))
    if loop.linear:
        own = implicit(loop)[0] is not None  # one law: its slope has a unit, and is no difference from one
        how = "_divide" if own else "_solve1" if len(tears) == 1 else "_solve"
        lines = linear_lines(loop, text, how, who)
    else:
        lines = loop_functions(loop, text)
        solved = f"_newton(functions_, {loop.iterations}, {who}, memory, {number})"
        lines.append(f"[{', '.join(tears)}] = {solved}")
        lines += map(text.assign, loop.body)
    return [f"    {line}" for line in lines]


def _newton(
    functions: LoopFunctions, iterations: int, names: tuple[str, ...], memory: Memory | None, number: int
) -> list[float]:
    zero = [0.0] * len(names)
    start = zero if memory is None else memory.get(number, zero)
    solution = newton(functions, start, iterations)
    if not solution.converged:
        raise SolveError(unsolved(solution, functions.residual, names, iterations))
    if memory is not None:
        memory[number] = solution.tears
    return solution.tears


def unsolved(
    solution: Solution, residual: Callable[..., list[float]], names: Sequence[str], iterations: int
) -> str:
    """Return the sentence for a loop that did not converge: its worst tear, and how far that is off."""
    try:
        off = residual(*solution.tears)
    except (ZeroDivisionError, ValueError, OverflowError) as error:
        return f"the algebraic loop through {_shown(names)} left the domain of a law ({error})"
    if solution.singular:
        return singular_loop(names)
    k = worst(len(off), solution.tears, off)
    t, r = solution.tears[k], off[k]
    return (
        f"the algebraic loop through {_shown(names)} did not converge in {iterations} Newton steps; worst is "
        f"{names[k]}: {t:.6g} was guessed, {t + r:.6g} came out, {abs(r):.3g} apart; check the laws around "
        "it for jumps, and whether there is a solution at all (what is asked for may be impossible: a motion "
        "that no force can give, a power that no voltage can); else compile with more iterations"
    )


def _solve(matrix: list[list[float]], right: list[float], names: tuple[str, ...]) -> Sequence[float]:
    try:
        return solve_small(matrix, right)
    except SingularError:
        raise SolveError(singular_loop(names)) from None


def _solve1(slope: float, right: float, names: tuple[str, ...]) -> float:
    return _solve([[slope]], [right], names)[0]


def _divide(slope: float, right: float, names: tuple[str, ...]) -> float:
    if not 0.0 < abs(slope) < math.inf:
        raise SolveError(singular_loop(names))
    return right / slope


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


def singular_loop(names: Sequence[str]) -> str:
    """Return the sentence for a loop that has no unique solution."""
    return (
        f"the algebraic loop through {_shown(names)} has no unique solution (its matrix is singular); if "
        "that is so at this point alone, give another with inputs={...} or other states; else check the "
        "elements on it for zero or cancelling coefficients, add a small storage or resistance, or, where "
        "its notes say that nodes have no reference, join one of them to ground"
    )


def _culprit(
    statements: Sequence[Statement],
    arguments: Sequence[Sequence[Var]],
    values: Sequence[Sequence[float]],
    error: Exception,
) -> str:
    env = {
        v: float(x)
        for group, given in zip(arguments, values, strict=True)
        for v, x in zip(group, given, strict=True)
    }
    for statement in statements:
        if isinstance(statement, Loop):
            names = [t.name for t in statement.tears]
            return f"the algebraic loop through {_shown(names)} left the domain of a law ({error})"
        try:
            env[statement.target] = evaluate(statement.expr, env)
        except (ZeroDivisionError, ValueError, OverflowError, KeyError):
            return f"{statement.target.name} = {statement.expr} cannot be computed here: {error}"
    return f"the program cannot be computed here: {error}"
