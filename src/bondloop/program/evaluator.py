"""A scheduled program as a Python function: the reference reading of the list of assignments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from bondloop.errors import SolveError
from bondloop.program.expr import FUNCTIONS, Expr, Op, Var, evaluate
from bondloop.program.pycode import to_python
from bondloop.program.schedule import Assign, Loop, Statement
from bondloop.program.solving import SingularError, solve_small

__all__ = ["STEP_TOLERANCE", "evaluator", "newton", "singular_loop"]

LOOP_TOLERANCE = 1e-6
"""Largest last Newton step, relative to the tear: the step after it would be its square."""
STEP_TOLERANCE = 1e-15
"""A Newton step that changes every tear by less than this, relatively, is the last one; in the tick too."""
ROUNDING = 1e-14
"""Disagreement between a tear and its definition, relative to the terms that are summed, that is rounding."""


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
    scope: dict[str, object] = {
        **FUNCTIONS,
        "pow": math.pow,
        "_solve": _solve,
        "_check": _check,
        "_newton": newton,
    }
    exec(compile("\n".join(lines), "<bondloop program>", "exec"), scope)  # noqa: S102 - our own text
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
    tangents = [f"{name(s.target)} = {to_python(s.expr, name)}" for s in loop.tangents]
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
    if loop.linear:
        lines = [f"    {t} = 0.0" for t in tears]
        lines += [f"    {line}" for line in [*body, *tangents]]
        lines.append(f"    _d = _solve([{rows}], [{residual}], {who})")
        lines += [f"    {t} += _d[{i}]" for i, t in enumerate(tears)]
        return [*lines, *(f"    {line}" for line in body)]
    given = ", ".join(tears)
    lines = [f"    def _residual({given}):"]
    lines += [f"        {line}" for line in body]
    lines.append(f"        return [{residual}]")
    lines.append(f"    def _matrix({given}):")
    lines += [f"        {line}" for line in [*body, *tangents]]
    lines.append(f"        return [{rows}]")
    lines.append(f"    [{given}], _d = _newton(_residual, _matrix, {len(tears)}, {loop.iterations}, {who})")
    lines += [f"    {line}" for line in body]
    # The sizes of what is summed up are needed only where the plain test fails.
    lines.append("    def _size():")
    lines += [f"        m{name(s.target)} = {_size_text(s.expr, name, loop)}" for s in loop.body]
    lines.append(f"        return [{', '.join(_size_text(d, name, loop) for d in loop.definitions)}]")
    lines.append(f"    _check([{given}], _d, [{residual}], _size, {who})")
    return lines


def newton(
    residual: Callable[..., list[float]],
    matrix: Callable[..., list[list[float]]],
    count: int,
    iterations: int,
    names: tuple[str, ...],
) -> tuple[list[float], Sequence[float]]:
    """Return the tears of a loop and the last step to them, by Newton's method from zero, damped.

    A step that makes the residual no smaller is halved, and so is one that leaves the domain of a law. What
    is large is measured by the first step. Where the slope is infinite (a root at zero) the step is the
    residual. The tick does the same, see `compile.c_body`.
    """
    tears, kept = [0.0] * count, [0.0] * count
    step: Sequence[float] = [0.0] * count
    scale, least = [1.0] * count, math.inf
    for i in range(iterations):
        try:
            r = residual(*tears)
        except (ZeroDivisionError, ValueError, OverflowError):
            if i == 0:
                raise
            r = [math.nan] * count
        if not any(r):
            break
        size = sum(abs(x) * s for x, s in zip(r, scale, strict=True))
        if i and not size < least:
            step = [0.5 * d for d in step]
        else:
            step, kept = _step(matrix, tears, r, names), tears
            if not i:
                scale = [1 / abs(d) if d else 1.0 for d in step]
                size = sum(abs(x) * s for x, s in zip(r, scale, strict=True))
            least = size
        tears = [t + d for t, d in zip(kept, step, strict=True)]
        if all(abs(d) <= STEP_TOLERANCE * abs(t) for t, d in zip(tears, step, strict=True)):
            break
    return tears, step


def _step(
    matrix: Callable[..., list[list[float]]],
    tears: list[float],
    residual: list[float],
    names: tuple[str, ...],
) -> Sequence[float]:
    try:
        step = _solve(matrix(*tears), residual, names)
    except (ZeroDivisionError, ValueError, OverflowError):
        return residual
    return step if any(step) and all(math.isfinite(d) for d in step) else residual


def _size_text(expr: Expr, name: Callable[[Var], str], loop: Loop) -> str:
    """Python source of the size of an expression's terms, before they cancel: the scale of its rounding."""
    inside = {s.target for s in loop.body}

    def size(e: Expr) -> str:
        if isinstance(e, Var):
            return f"m{name(e)}" if e in inside else f"fabs({name(e)})"
        if isinstance(e, Op):
            if e.name in ("add", "neg"):
                return f"({' + '.join(size(a) for a in e.args)})"
            if e.name == "mul":
                return f"({size(e.args[0])}*{size(e.args[1])})"
            if e.name == "div":
                return f"({size(e.args[0])}/fabs({to_python(e.args[1], name)}))"
        return f"fabs({to_python(e, name)})"

    return size(expr)


def _solve(matrix: list[list[float]], right: list[float], names: tuple[str, ...]) -> Sequence[float]:
    try:
        return solve_small(matrix, right)
    except SingularError:
        raise SolveError(singular_loop(names)) from None


def singular_loop(names: Sequence[str]) -> str:
    """Return the sentence for a loop that has no unique solution."""
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return (
        f"the algebraic loop through {shown} has no unique solution (its matrix is singular); "
        "check the elements on it for zero or cancelling coefficients, or add a small storage or resistance"
    )


def _check(
    tears: list[float],
    steps: Sequence[float],
    residual: list[float],
    size: Callable[[], list[float]],
    names: tuple[str, ...],
) -> None:
    """Raise unless the last Newton step was small, or what is left is rounding."""
    if all(abs(d) <= LOOP_TOLERANCE * abs(t) for t, d in zip(tears, steps, strict=True)):
        return
    wrong = [
        (abs(r) / (abs(t) + abs(t + r) or 1.0), name, t, r)
        for name, t, r, s in zip(names, tears, residual, size(), strict=True)
        if not abs(r) <= ROUNDING * s
    ]
    if wrong:
        _, name, t, r = max(wrong, key=lambda w: (w[0] != w[0], w[0]))
        raise SolveError(
            f"the algebraic loop through {', '.join(names)} did not converge; worst is {name}: {t:.6g} was "
            f"guessed, {t + r:.6g} came out; give the law an inverse, or compile with more iterations"
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
            names = ", ".join(t.name for t in statement.tears)
            return f"the algebraic loop through {names} left the domain of a law ({error})"
        try:
            env[statement.target] = evaluate(statement.expr, env)
        except (ZeroDivisionError, ValueError, OverflowError, KeyError):
            return f"{statement.target.name} = {statement.expr} cannot be computed here: {error}"
    return f"the program cannot be computed here: {error}"
