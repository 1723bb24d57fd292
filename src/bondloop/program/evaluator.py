"""A scheduled program as a Python function: the reference reading of the list of assignments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from bondloop.errors import SolveError
from bondloop.program.expr import FUNCTIONS, Expr, Var, evaluate
from bondloop.program.pycode import to_python
from bondloop.program.schedule import Assign, Loop, Statement

__all__ = ["evaluator"]

LOOP_TOLERANCE = 1e-8
"""Largest relative disagreement between a tear and its definition after the last Newton step."""


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
    """
    names: dict[Var, str] = {}

    def name(var: Var) -> str:
        text = names.get(var)
        if text is None:
            text = names[var] = f"v{len(names)}"
        return text

    lines = [f"def program({', '.join(f'a{i}' for i in range(len(arguments)))}):"]
    for i, group in enumerate(arguments):
        if group:
            lines.append(f"    ({', '.join(name(v) for v in group)},) = a{i}")
    for statement in statements:
        if isinstance(statement, Assign):
            lines.append(f"    {name(statement.target)} = {to_python(statement.expr, name)}")
        else:
            lines += _loop_lines(statement, name)
    lines.append(f"    return [{', '.join(to_python(r, name) for r in results)}]")
    scope: dict[str, object] = {**FUNCTIONS, "pow": math.pow, "_solve": _solve, "_check": _check}
    exec(compile("\n".join(lines), "<bondloop program>", "exec"), scope)
    function: Callable[..., list[float]] = scope["program"]  # type: ignore[assignment]

    def guarded(*values: Sequence[float]) -> list[float]:
        try:
            return function(*values)
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            raise SolveError(_culprit(statements, arguments, values, error)) from error

    return guarded


def _loop_lines(loop: Loop, name: Callable[[Var], str]) -> list[str]:
    tears = [name(t) for t in loop.tears]
    body = [f"{name(s.target)} = {to_python(s.expr, name)}" for s in loop.body]
    lines = [f"    {t} = 0.0" for t in tears]
    lines.append(f"    for _ in range({loop.iterations}):")
    lines += [f"        {line}" for line in body]
    lines += [f"        {name(s.target)} = {to_python(s.expr, name)}" for s in loop.tangents]
    residual = ", ".join(f"{to_python(d, name)} - {t}" for d, t in zip(loop.definitions, tears, strict=True))
    rows = ", ".join(
        "["
        + ", ".join(
            f"{'1.0' if i == j else '0.0'} - ({to_python(entry, name)})" for j, entry in enumerate(row)
        )
        + "]"
        for i, row in enumerate(loop.jacobian)
    )
    who = repr(tuple(t.name for t in loop.tears))
    lines.append(f"        _d = _solve([{rows}], [{residual}], {who})")
    lines += [f"        {t} += _d[{i}]" for i, t in enumerate(tears)]
    lines += [f"    {line}" for line in body]
    pairs = ", ".join(f"({to_python(d, name)}, {t})" for d, t in zip(loop.definitions, tears, strict=True))
    lines.append(f"    _check([{pairs}], {who})")
    return lines


def _solve(matrix: list[list[float]], right: list[float], names: tuple[str, ...]) -> Sequence[float]:
    if len(right) == 1:
        if matrix[0][0] == 0.0:
            raise SolveError(_singular(names))
        return [right[0] / matrix[0][0]]
    import numpy as np

    try:
        return [float(v) for v in np.linalg.solve(np.array(matrix), np.array(right))]
    except np.linalg.LinAlgError as error:
        raise SolveError(_singular(names)) from error


def _singular(names: tuple[str, ...]) -> str:
    return (
        f"the algebraic loop through {', '.join(names)} has no unique solution (its matrix is singular); "
        "check the elements on it for zero or cancelling coefficients, or add a small storage or resistance"
    )


def _check(pairs: list[tuple[float, float]], names: tuple[str, ...]) -> None:
    for definition, guess in pairs:
        if not abs(definition - guess) <= LOOP_TOLERANCE * (1.0 + abs(guess)):
            raise SolveError(
                f"the algebraic loop through {', '.join(names)} did not converge: {guess:.6g} was guessed, "
                f"{definition:.6g} came out; give the law an inverse, or compile with more iterations"
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
            return f"the algebraic loop through {', '.join(t.name for t in statement.tears)} left the domain of a law ({error})"
        try:
            env[statement.target] = evaluate(statement.expr, env)
        except (ZeroDivisionError, ValueError, OverflowError, KeyError):
            return f"{statement.target.name} = {statement.expr} cannot be computed here: {error}"
    return f"the program cannot be computed here: {error}"
