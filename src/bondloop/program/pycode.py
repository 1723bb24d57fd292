"""Expressions as text: readable formulas and Python source."""

from __future__ import annotations

from collections.abc import Callable

from bondloop.program.expr import COMPARISONS, FUNCTIONS, Const, Expr, Op, Var

__all__ = ["format_number", "to_python", "to_text", "write"]

_PRECEDENCE = {"select": 0, "or": 1, "and": 2, "not": 3, "add": 5, "neg": 6, "mul": 7, "div": 7, "pow": 9}


def format_number(value: float) -> str:
    """Shortest text that reads back as the same number; whole numbers without a point."""
    if value == int(value) and abs(value) < 1e15 if value - value == 0 else False:
        return str(int(value))
    return repr(value)


def write(
    expr: Expr,
    name: Callable[[Var], str],
    number: Callable[[float], str],
    call: Callable[[Op, list[str]], str],
) -> str:
    """Write an expression as infix text.

    ``name`` and ``number`` give the text of leaves; ``call`` that of everything that is not plain arithmetic.
    """
    return _write(expr, name, number, call)[0]


def _write(
    expr: Expr,
    name: Callable[[Var], str],
    number: Callable[[float], str],
    call: Callable[[Op, list[str]], str],
) -> tuple[str, int]:
    if isinstance(expr, Var):
        return name(expr), 10
    if isinstance(expr, Const):
        return number(expr.value), 10 if expr.value >= 0 else 6
    assert isinstance(expr, Op)
    if expr.name == "row":
        return _write(expr.written_out(), name, number, call)
    op = expr.name
    parts = [_write(a, name, number, call) for a in expr.args]

    def wrap(i: int, least: int) -> str:
        text, level = parts[i]
        return text if level >= least else f"({text})"

    if op == "add":
        text = wrap(0, 5)
        for i, a in enumerate(expr.args[1:], 1):
            if isinstance(a, Op) and a.name == "neg":
                inner, level = _write(a.args[0], name, number, call)
                text += f" - {inner}" if level > 5 else f" - ({inner})"
            elif isinstance(a, Const) and a.value < 0:
                text += f" - {number(-a.value)}"
            else:
                text += f" + {wrap(i, 6)}"
        return text, 5
    if op == "neg":
        return f"-{wrap(0, 7)}", 6
    if op == "mul":
        return f"{wrap(0, 7)}*{wrap(1, 8)}", 7
    if op == "div":
        return f"{wrap(0, 7)}/{wrap(1, 8)}", 7
    return call(expr, [text for text, _ in parts]), _PRECEDENCE.get(op, 10)


def _text_call(op: Op, args: list[str]) -> str:
    if op.name == "pow":
        base, exponent = (a if _atomic(o) else f"({a})" for a, o in zip(args, op.args, strict=True))
        return f"{base}**{exponent}"
    if op.name in COMPARISONS:
        return f"({args[0]} {COMPARISONS[op.name]} {args[1]})"
    if op.name == "select":
        return f"({args[1]} if {args[0]} else {args[2]})"
    if op.name == "not":
        return f"(not {args[0]})"
    if op.name in ("and", "or"):
        return f"({args[0]} {op.name} {args[1]})"
    return f"{op.name}({', '.join(args)})"


def _atomic(expr: Expr) -> bool:
    return (
        isinstance(expr, Var)
        or (isinstance(expr, Const) and expr.value >= 0)
        or (isinstance(expr, Op) and expr.name in FUNCTIONS)
    )


def to_text(expr: Expr) -> str:
    """Readable formula with the variables' path names.

    >>> print(to_text((Var("a.x") + 1) * Var("b.y")))
    (a.x + 1)*b.y
    """
    return write(expr, lambda v: v.name, format_number, _text_call)


def to_python(expr: Expr, name: Callable[[Var], str]) -> str:
    """Python source of an expression, for double precision scalars."""
    return write(expr, name, repr, _python_call)


def _python_call(op: Op, args: list[str]) -> str:
    # Python's ** answers a fractional power of a negative number with a complex one; C's pow does not.
    return f"pow({', '.join(args)})" if op.name == "pow" else _text_call(op, args)
