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

from bondloop.engine.codegen.plan import WORST, Plan
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


_SIGN = """
static inline double NAME_sign(double x)
{
    return (double)((x > 0.0) - (x < 0.0));
}
"""

_FMIN = """
static inline double NAME_fmin(double x, double y)
{
    return x < y || y != y ? x : y;
}
"""

_FMAX = """
static inline double NAME_fmax(double x, double y)
{
    return x > y || y != y ? x : y;
}
"""

_SOLVE1 = """
/* One linear equation. */
static inline double NAME_solve1(double a, double b, int *status)
{
    if (a == 0.0) {
        *status |= NAME_SINGULAR;
        return NAN;
    }
    return b/a;
}
"""

_SOLVE2 = """
/* Two linear equations, in place, by elimination with the larger pivot. */
static inline void NAME_solve2(double *a, double *b, int *status)
{
    const int lower = fabs(a[2]) > fabs(a[0]);
    const double p = lower ? a[2] : a[0], q = lower ? a[3] : a[1], u = lower ? b[1] : b[0];
    const double r = lower ? a[0] : a[2], w = lower ? a[1] : a[3], v = lower ? b[0] : b[1];
    const double ratio = r/p;
    const double pivot = w - ratio*q;
    if (p == 0.0 || pivot == 0.0) {
        *status |= NAME_SINGULAR;
        b[0] = b[1] = NAN;
        return;
    }
    b[1] = (v - ratio*u)/pivot;
    b[0] = (u - q*b[1])/p;
}
"""

_SOLVE = """
/* n linear equations, in place. */
static void NAME_solve(int n, double *a, double *b, int *status)
{
    if (NAME_eliminate(n, a, b))
        return;
    *status |= NAME_SINGULAR;
    for (int i = 0; i < n; ++i)
        b[i] = NAN;
}
"""

_PHILOX = f"""
/* Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011): four random words of a seed, a stream and a counter;
   0 unless these are whole numbers below 2^53, 2^32 and 2^53. */
static inline int NAME_philox(double seed, double stream, double counter, uint32_t *w)
{{
    if (!(seed >= 0.0 && seed < 9007199254740992.0 && counter >= 0.0 && counter < 9007199254740992.0
          && stream >= 0.0 && stream < 4294967296.0
          && floor(seed) == seed && floor(stream) == stream && floor(counter) == counter))
        return 0;
    uint32_t k0 = (uint32_t)(uint64_t)seed, k1 = (uint32_t)((uint64_t)seed >> 32);
    uint32_t c0 = (uint32_t)(uint64_t)counter, c1 = (uint32_t)((uint64_t)counter >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = 0;
    for (int i = 0; i < {ROUNDS}; ++i) {{
        const uint64_t p0 = (uint64_t){MULTIPLIERS[0]:#x}u*c0;
        const uint64_t p1 = (uint64_t){MULTIPLIERS[1]:#x}u*c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += {WEYL[0]:#x}u;
        k1 += {WEYL[1]:#x}u;
    }}
    w[0] = c0;
    w[1] = c1;
    w[2] = c2;
    w[3] = c3;
    return 1;
}}

/* 52 random bits and a half: never 0, never 1, and exact. */
static inline double NAME_fraction(uint32_t high, uint32_t low)
{{
    return ((double)(high >> 6)*67108864.0 + (double)(low >> 6) + 0.5)*2.220446049250313e-16;
}}
"""

_UNIFORM = """
static inline double NAME_uniform(double seed, double stream, double counter)
{
    uint32_t w[4] = {0};
    return NAME_philox(seed, stream, counter, w) ? NAME_fraction(w[0], w[1]) : NAN;
}
"""


def _series(coefficients: tuple[float, ...], x: str) -> str:
    text = repr(coefficients[-1])
    for a in coefficients[-2::-1]:
        text = f"({text}*{x} + {a!r})" if a >= 0 else f"({text}*{x} - {-a!r})"
    return text[1:-1]


_NORMAL = f"""
/* Box and Muller (1958), with the logarithm and the waves as series, so that every machine rounds alike. */
static inline double NAME_normal(double seed, double stream, double counter)
{{
    uint32_t w[4] = {{0}};
    if (!NAME_philox(seed, stream, counter, w))
        return NAN;
    int e;
    double m = frexp(NAME_fraction(w[0], w[1]), &e);
    if (m < {SQRT_HALF!r}) {{
        m = 2.0*m;
        e -= 1;
    }}
    const double f = (m - 1.0)/(m + 1.0);
    const double ff = f*f;
    const double logarithm = (double)e*{LN2!r} + f*({_series(LOG_SERIES, "ff")});
    const double x = 4.0*NAME_fraction(w[2], w[3]);
    const int quadrant = (int)(x + 0.5);
    const double angle = (x - (double)quadrant)*{HALF_PI!r};
    const double square = angle*angle;
    const double cosine = {_series(COS_SERIES, "square")};
    const double sine = angle*({_series(SIN_SERIES, "square")});
    const double wave = quadrant == 1 ? -sine : quadrant == 2 ? -cosine : quadrant == 3 ? sine : cosine;
    return sqrt(-2.0*logarithm)*wave;
}}
"""

_TEXTS = {
    "sign": _SIGN,
    "fmin": _FMIN,
    "fmax": _FMAX,
    "solve1": _SOLVE1,
    "solve2": _SOLVE2,
    "solve": _SOLVE,
    "philox": _PHILOX,
    "uniform": _UNIFORM,
    "normal": _NORMAL,
}


def helpers(used: set[str], prefix: str) -> str:
    """Return the helper functions among ``used``, with the model's name in front of theirs."""
    wanted = set(used)
    if wanted & {"uniform", "normal"}:
        wanted.add("philox")
    text = eliminate_c() if wanted & {"solve", "newton"} else ""
    text += newton_c() if "newton" in wanted else ""
    text += "".join(body for name, body in _TEXTS.items() if name in wanted)
    for name in sorted(n for n in wanted if n.startswith("power")):
        product = "*".join(["x"] * int(name[5:]))
        text += f"\nstatic inline double NAME_{name}(double x)\n{{\n    return {product};\n}}\n"
    return text.replace("NAME_", f"{prefix}_")
