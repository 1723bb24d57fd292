"""Functions that generated C may need, each written only where it is used."""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from bondloop.engine.codegen.c_text import c_parts, with_words
from bondloop.engine.codegen.plan import (
    BEYOND,
    NOT_A_NUMBER,
    SINGULAR,
    UNCONVERGED,
    UNSETTLED,
    WORST,
    Plan,
)
from bondloop.engine.ir import (
    COS_SERIES,
    HALF_PI,
    KERNELS,
    LN2,
    LOG_SERIES,
    MULTIPLIERS,
    ROUNDS,
    SIN_SERIES,
    SQRT_HALF,
    WEYL,
    allowed,
    curves,
    eliminate,
    matrix,
    residuals,
    sizes,
    solve_loop,
)

if TYPE_CHECKING:
    from bondloop.engine.codegen.c_text import CText
    from bondloop.engine.ir import Loop


Inline = Callable[[str, list[str]], list[str]]
"""Statements in place of a call: of the variable that gets the result (empty: none) and of the arguments."""

_BINARY = {
    ast.Add: ("+", 3),
    ast.Sub: ("-", 3),
    ast.Mult: ("*", 4),
    ast.Div: ("/", 4),
    ast.FloorDiv: ("/", 4),
}
_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_TYPES = {"int": "int", "bool": "int", "float": "double", "Vector": "double *", "None": "void"}


@dataclass(frozen=True)
class Translated:
    """One of our own functions, of numbers and arrays, as C.

    Attributes
    ----------
    function
        It uses integers, floats, truths and `Vector`, declares its variables with their types, repeats with
        ``for ... in range``, and calls functions of `KERNELS` and of ``math``.
    names
        What stands for some of its variables: another name, or a number.
    inline
        What stands for calls of functions that are its arguments.
    unrolled
        Where ``n`` is a number up to this, each turn of a loop over it is written by itself: a compiler then
        has them in registers, where it would have arrays.

    Examples
    --------
    >>> from bondloop.engine.ir.newton_iteration import shortened
    >>> print(Translated(shortened).definition())
    static double NAME_shortened(double least, double excess)
    {
        if (!(least < INFINITY && excess < INFINITY)) {
            return 0.5;
        }
        double factor = cbrt(least/excess);
        if (factor < 0.001) {
            return 0.001;
        }
        return factor > 0.5 ? 0.5 : factor;
    }
    <BLANKLINE>
    """

    function: Callable[..., object]
    names: Mapping[str, str] = field(default_factory=dict)
    inline: Mapping[str, Inline] = field(default_factory=dict)
    unrolled: int = 16

    def definition(self) -> str:
        """Return it as a function of the file."""
        tree = _parsed(self.function)
        arguments = [f"{_TYPES[ast.unparse(a.annotation)]} {a.arg}" for a in tree.args.args if a.annotation]
        assert tree.returns is not None
        head = f"static {_TYPES[ast.unparse(tree.returns)]} NAME_{tree.name}({', '.join(arguments)})"
        return "\n".join([head.replace("* ", "*"), "{", *(f"    {line}" for line in self.lines()), "}", ""])

    def lines(self) -> list[str]:
        """Return its statements; where they stand inside others, without the last, which returns."""
        body = _parsed(self.function).body
        if self.inline:
            body = body[:-1]
        return [line for statement in body[1:] for line in self._statement(statement)]

    def _statement(self, node: ast.stmt) -> list[str]:
        if isinstance(node, ast.AnnAssign):
            return self._declaration(node)
        if isinstance(node, ast.Assign):
            places = " = ".join(self._expr(t)[0] for t in node.targets)
            return [f"{places} = {self._expr(node.value)[0]};"]
        if isinstance(node, ast.AugAssign):
            sign = _BINARY[type(node.op)][0]
            return [f"{self._expr(node.target)[0]} {sign}= {self._expr(node.value)[0]};"]
        if isinstance(node, ast.If):
            lines = [f"if ({self._expr(node.test)[0]}) {{", *self._block(node.body)]
            return [*lines, *(["} else {", *self._block(node.orelse)] if node.orelse else []), "}"]
        if isinstance(node, ast.For):
            return self._repeated(node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return self._inlined("", node.value)
        if isinstance(node, ast.Return) and node.value is not None:
            return [f"return {self._expr(node.value)[0]};"]
        return [f"{'break' if isinstance(node, ast.Break) else 'continue'};"]

    def _repeated(self, node: ast.For) -> list[str]:
        assert isinstance(node.iter, ast.Call)
        count = int(self.names.get("n", 0)) if ast.unparse(node.iter) == "range(n)" else 0
        if 0 < count <= self.unrolled:
            i = self._expr(node.target)[0]
            each = [replace(self, names={**self.names, i: str(k)}) for k in range(count)]
            return [line for one in each for s in node.body for line in one._statement(s)]
        return [f"for ({self._range(node)}) {{", *self._block(node.body), "}"]

    def _block(self, body: list[ast.stmt]) -> list[str]:
        return [f"    {line}" for statement in body for line in self._statement(statement)]

    def _declaration(self, node: ast.AnnAssign) -> list[str]:
        name, value = self._expr(node.target)[0], node.value
        assert value is not None
        if ast.unparse(node.annotation) != "Vector":
            kind = _TYPES[ast.unparse(node.annotation)]
            if isinstance(value, ast.Call) and ast.unparse(value.func) in self.inline:
                return [f"{kind} {name};", *self._inlined(name, value)]
            return [f"{kind} {name} = {self._expr(value)[0]};"]
        if isinstance(value, ast.Call):  # of `scratch`
            return [f"double {name}[{self._expr(value.args[0])[0]}];"]
        assert isinstance(value, ast.BinOp)
        assert isinstance(value.left, ast.List)
        number, count = self._expr(value.left.elts[0])[0], self._expr(value.right)[0]
        numbers = "0.0" if number == "0.0" else ", ".join([number] * int(count))
        return [f"double {name}[{count}] = {{{numbers}}};"]

    def _inlined(self, name: str, call: ast.Call) -> list[str]:
        inline = self.inline.get(ast.unparse(call.func))
        return inline(name, [self._expr(a)[0] for a in call.args]) if inline else [f"{self._expr(call)[0]};"]

    def _range(self, node: ast.For) -> str:
        assert isinstance(node.iter, ast.Call)
        i, bounds = self._expr(node.target)[0], [self._expr(a)[0] for a in node.iter.args]
        if len(bounds) == 3:  # downwards
            return f"int {i} = {bounds[0]}; {i} > {bounds[1]}; --{i}"
        first, end = bounds if len(bounds) == 2 else ("0", bounds[0])
        return f"int {i} = {first}; {i} < {end}; ++{i}"

    def _expr(self, node: ast.expr) -> tuple[str, int]:  # noqa: PLR0911 - one case per operation
        """Return an expression, and how tightly it binds: 0 a choice, 1 truths, 2 a comparison, 5 a name."""
        if isinstance(node, ast.Name):
            return self._named(node.id), 5
        if isinstance(node, ast.Constant):
            return _number(node.value), 5
        if isinstance(node, ast.BinOp):
            sign, level = _BINARY[type(node.op)]
            blank = "" if level == 4 else " "
            left, right = self._within(level, node.left), self._within(level + 1, node.right)
            return f"{left}{blank}{sign}{blank}{right}", level
        if isinstance(node, ast.UnaryOp):
            inner = self._within(5, node.operand)
            return f"{'!' if isinstance(node.op, ast.Not) else '-'}{inner}", 5
        if isinstance(node, ast.Compare):
            a, b = self._within(3, node.left), self._within(3, node.comparators[0])
            return f"{a} {_COMPARED[type(node.ops[0])]} {b}", 2
        if isinstance(node, ast.BoolOp):
            sign = " && " if isinstance(node.op, ast.And) else " || "
            return sign.join(self._within(2, v) for v in node.values), 1
        if isinstance(node, ast.IfExp):
            test, yes, no = (self._within(1, x) for x in (node.test, node.body, node.orelse))
            return f"{test} ? {yes} : {no}", 0
        if isinstance(node, ast.Subscript):
            return f"{self._expr(node.value)[0]}[{self._expr(node.slice)[0]}]", 5
        assert isinstance(node, ast.Call)
        name = ast.unparse(node.func)
        prefix = "NAME_" if isinstance(self._global(name), FunctionType) else ""
        return f"{prefix}{name}({', '.join(self._expr(a)[0] for a in node.args)})", 5

    def _global(self, name: str) -> Any:
        return cast("FunctionType", self.function).__globals__.get(name)

    def _within(self, level: int, node: ast.expr) -> str:
        text, found = self._expr(node)
        return text if found >= level else f"({text})"

    def _named(self, name: str) -> str:
        value = self.names.get(name, self._global(name))
        return name if value is None else value if isinstance(value, str) else _number(value)


@cache
def _parsed(function: Callable[..., object]) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return "INFINITY" if value == math.inf else repr(value)


@cache
def newton_c() -> str:
    """Return the functions that every loop calls, but for that which solves linear equations."""
    return "".join(f"\n{Translated(kernel).definition()}" for kernel in KERNELS if kernel is not eliminate)


@cache
def eliminate_c() -> str:
    """Return the function that solves linear equations."""
    return f"\n{Translated(eliminate).definition()}"


def newton_lines(loop: Loop, plan: Plan, text: CText, declared: Callable[..., str]) -> list[str]:
    """Return the lines that solve a loop and leave its tears, and its body, in their variables."""
    text.used.add("newton")
    prefix, warm = plan.tick.name, plan.warm_start(loop)
    names, n = [text(t) for t in loop.tears], len(loop.tears)
    last = [f"s->{name}" for name in warm.names]
    body = [f"{declared(a.target)} = {text(a.expr)};" for a in loop.body]

    def given(tears: str) -> list[str]:
        return [f"{name} = {tears}[{k}];" for k, name in enumerate(names)]

    def filled(array: str, values: list[str]) -> list[str]:
        return [f"{array}[{k}] = {value};" for k, value in enumerate(values)]

    def residual_lines(_: str, arguments: list[str]) -> list[str]:
        return [*given(arguments[0]), *body, *filled(arguments[1], [text(r) for r in residuals(loop)])]

    def tangent_lines(_: str, arguments: list[str]) -> list[str]:  # at the point of the residuals
        slopes = [f"{declared(a.target)} = {text(a.expr)};" for a in loop.tangents]
        return [*slopes, *filled(arguments[1], [text(e) for row in matrix(loop) for e in row])]

    def size_lines(_: str, arguments: list[str]) -> list[str]:
        assigns, totals = sizes(loop)
        lines = [f"{declared(a.target)} = {text(a.expr)};" for a in assigns]
        inside = [*given(arguments[0]), *lines, *filled(arguments[1], [text(e) for e in totals])]
        return ["{", *(f"    {line}" for line in inside), "}"]

    def law_lines(_: str, arguments: list[str]) -> list[str]:
        tears, step, part = arguments
        lines = filled(part, ["1.0"] * n)
        for curve in curves(loop):
            k, t = curve.tear, names[curve.tear]
            inline: dict[str, Inline] = {
                "law_of": lambda v, x, t=t, c=curve: [f"{t} = {x[0]};", f"{v} = {text(c.law)};"],  # type: ignore[misc]
                "slope_of": lambda v, x, t=t, c=curve: [f"{t} = {x[0]};", f"{v} = {text(c.slope)};"],  # type: ignore[misc]
            }
            places = {"start": f"{tears}[{k}]", "way": f"{step}[{k}]"}
            found = Translated(allowed, places, inline).lines()
            smaller = [f"if (low < {part}[{k}]) {{", f"    {part}[{k}] = low;", "}"]
            lines += ["{", *(f"    {line}" for line in (*found, *smaller)), "}"]
        return lines

    inline: dict[str, Inline] = {
        "residuals": residual_lines, "tangents": tangent_lines, "sizes": size_lines, "laws": law_lines,
    }  # fmt: skip
    numbers = {"n": str(n), "iterations": str(loop.iterations), "turn": plan.names.fresh("newton")}
    inside = [
        f"double tears[{n}] = {{{', '.join(last)}}};",
        *Translated(solve_loop, numbers, inline).lines(),
        *(f"{place} = tears[{k}];" for k, place in enumerate(last)),
        *given("tears"),
        "if (!converged) {",
        *(f"    {line}" for line in residual_lines("", ["tears", "residual"])),
        f"    const int worst = NAME_worst({n}, tears, residual);",
        f"    s->{plan.left_over} = residual[worst];",
        "    *status |= regular ? NAME_UNCONVERGED : NAME_SINGULAR;",
        f"    if (*status < {WORST})",
        f"        *status += {WORST}*({warm.first + 1} + worst);",
        "}",
    ]
    lines = [f"{declared(t, variable=True)} = 0.0;" for t in loop.tears]
    inside = [line.replace("NAME_", f"{prefix}_") for line in inside]
    return [*lines, "{", *(f"    {line}" for line in inside), "}", *body]


def _series(coefficients: tuple[float, ...], x: str) -> str:
    text = repr(coefficients[-1])
    for a in coefficients[-2::-1]:
        text = f"({text}*{x} + {a!r})" if a >= 0 else f"({text}*{x} - {-a!r})"
    return text[1:-1]


_WORDS = {
    "BEYOND": BEYOND,
    "NOT_A_NUMBER": NOT_A_NUMBER,
    "SINGULAR": SINGULAR,
    "UNCONVERGED": UNCONVERGED,
    "UNSETTLED": UNSETTLED,
    "ROUNDS": ROUNDS,
    "FIRST_MULTIPLIER": f"{MULTIPLIERS[0]:#x}",
    "SECOND_MULTIPLIER": f"{MULTIPLIERS[1]:#x}",
    "FIRST_WEYL": f"{WEYL[0]:#x}",
    "SECOND_WEYL": f"{WEYL[1]:#x}",
    "SQRT_HALF": SQRT_HALF,
    "LN2": LN2,
    "HALF_PI": HALF_PI,
    "LOG_SERIES": _series(LOG_SERIES, "ff"),
    "COS_SERIES": _series(COS_SERIES, "square"),
    "SIN_SERIES": _series(SIN_SERIES, "square"),
}
"""What stands for the words of ``helpers.c``: numbers that the other targets have, too."""


def codes() -> str:
    """Return the bits of a status; ``NAME_`` stands for the model's name."""
    return with_words(c_parts("helpers.c")["codes"], _WORDS)


def helpers(used: set[str], prefix: str) -> str:
    """Return the helper functions among ``used``, with the model's name in front of theirs."""
    wanted = set(used)
    if wanted & {"uniform", "normal"}:
        wanted.add("philox")
    text = eliminate_c() if wanted & {"solve", "newton"} else ""
    text += newton_c() if "newton" in wanted else ""
    text += "".join(with_words(body, _WORDS) for name, body in c_parts("helpers.c").items() if name in wanted)
    for name in sorted(n for n in wanted if n.startswith("power")):
        product = "*".join(["x"] * int(name[5:]))
        text += f"\nstatic inline double NAME_{name}(double x)\n{{\n    return {product};\n}}\n"
    return text.replace("NAME_", f"{prefix}_")
