"""Slopes of smooth expressions as generated Python: one function for all expressions of one form.

A tick is differentiated at a dozen points, and most of its statements have one of some dozen forms: a sum of
products, a stage of the integrator. So a form is written out once for a process, and then called with the
variables and the numbers of each expression that has it. What it computes is what `program.slopes` computes
step by step, in the same order and to the last bit.

Forms are smooth: a choice (`select`, ``fmin``), a staircase or a jump is left to `program.slopes`, since
which slopes there are depends on the point.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from bondloop.program.calculus import partials
from bondloop.program.expr import FUNCTIONS, Const, Expr, Op, Var, variables
from bondloop.program.expression_text import PythonText
from bondloop.program.newton_text import LoopTerms

if TYPE_CHECKING:
    from bondloop.program.schedule import Loop
    from bondloop.program.slopes import Sloped
    from bondloop.program.tick import Tick

__all__ = ["Forms", "derivatives", "forms_of"]

OFTEN = 8
"""Uses after which a form is written out: before, that costs more than it saves."""

MANY = 4000
"""Forms that are kept at most, of all ticks that a process has seen."""

LARGEST = 150
"""Operands up to which an expression is written out: Python's compiler takes long for long ones."""

CURVED = (
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "atanh", "exp",
    "log", "sqrt", "cbrt", "pow",
)  # fmt: skip
"""Functions that are smooth wherever they are defined."""

Written = Callable[
    [Mapping[Var, float], Mapping[Var, int], set[int], tuple[Var, ...], tuple[float, ...]], Any
]
"""A form written out: of values, columns, bent columns, the variables and the numbers of an expression."""


class Plan(NamedTuple):
    """How the slopes of one expression are computed.

    Attributes
    ----------
    functions
        The form's functions, by which of its variables move; a number counts the uses until there is one.
    expr
        The expression.
    leaves, numbers
        Its variables, each once, and its constants, in order of appearance.
    """

    functions: dict[tuple[bool, ...], int | tuple[Written, bool]]
    expr: Expr
    leaves: tuple[Var, ...] = ()
    numbers: tuple[float, ...] = ()


_FORMS: dict[str, dict[tuple[bool, ...], int | tuple[Written, bool]]] = {}


class Forms:
    """The plans of a tick's expressions and loops, kept from one walk to the next."""

    def __init__(self) -> None:
        self._plans: dict[int, Plan | None] = {}
        self._kept: list[Expr | Loop] = []
        self._variables: dict[int, list[Var]] = {}
        self._terms: dict[int, LoopTerms] = {}

    def terms(self, loop: Loop) -> LoopTerms:
        """Return what Newton's method needs of a loop, written once."""
        known = self._terms.get(id(loop))
        if known is None:
            self._kept.append(loop)
            known = self._terms[id(loop)] = LoopTerms.of(loop)
        return known

    def variables(self, expr: Expr) -> list[Var]:
        """Return the variables of an expression, looked for once."""
        known = self._variables.get(id(expr))
        if known is None:
            self._kept.append(expr)  # so that its number stays its own
            known = self._variables[id(expr)] = variables(expr)
        return known

    def sloped(
        self, expr: Op, values: Mapping[Var, float], columns: Mapping[Var, int], bent: set[int]
    ) -> tuple[Sloped, bool] | None:
        """Return value, slopes and whether it is bent, and whether it curves; None where no form is known."""
        try:
            plan = self._plans[id(expr)]
        except KeyError:
            self._kept.append(expr)
            plan = self._plans[id(expr)] = planned(expr)
        if plan is None:
            return None
        functions, _, leaves, numbers = plan
        moving = tuple([v in columns for v in leaves])
        function = functions.get(moving, 0)
        if isinstance(function, int):
            functions[moving] = function + 1 if function < OFTEN else written(expr, moving)
            return None
        return function[0](values, columns, bent, leaves, numbers), function[1]


_OF_TICKS: dict[int, Forms] = {}


def forms_of(tick: Tick) -> Forms:
    """Return the forms of a tick: the same ones as long as it lives."""
    key = id(tick)
    if key not in _OF_TICKS:
        _OF_TICKS[key] = Forms()
        weakref.finalize(tick, _OF_TICKS.pop, key, None).atexit = False
    return _OF_TICKS[key]


def planned(expr: Op) -> Plan | None:
    """Return the plan of an expression; None where it is not smooth."""
    leaves: dict[Var, int] = {}
    numbers: list[float] = []
    form = _form(expr, leaves, numbers)
    if form is None or len(leaves) + len(numbers) > LARGEST:
        return None
    if form not in _FORMS and len(_FORMS) >= MANY:
        _FORMS.clear()
    return Plan(_FORMS.setdefault(form, {}), expr, tuple(leaves), tuple(numbers))


def _form(expr: Expr, leaves: dict[Var, int], numbers: list[float]) -> str | None:
    """Return the form of an expression as text, and collect what it has in the places of the form."""
    if type(expr) is Var:
        return f"x{leaves.setdefault(expr, len(leaves))}"
    if type(expr) is Const:
        numbers.append(expr.value)
        return "c"
    if type(expr) is not Op or not (expr.name in ("add", "neg", "mul", "div") or expr.name in CURVED):
        return None
    parts = []
    for a in expr.args:
        part = _form(a, leaves, numbers)
        if part is None:
            return None
        parts.append(part)
    return f"{expr.name}({','.join(parts)})"


def written(expr: Op, moving: tuple[bool, ...]) -> tuple[Written, bool]:
    """Return a form as a function, and whether it curves.

    Parameters
    ----------
    expr
        An expression of the form.
    moving
        Which of its variables move.
    """
    writer = _Writer(expr, moving)
    value, slopes = writer.write(expr)
    n, c = len(writer.leaves), writer.constants
    names = [f"v{i}" for i in range(n)]
    found = ", ".join(f"({column}, {slope})" for column, slope in slopes)
    columns = dict.fromkeys(column for column, _ in slopes)
    bent = "True" if writer.curved else " or ".join(f"{j} in B" for j in columns) or "False"
    lines = [
        "def form(V, J, B, leaves, numbers):",
        *([f"    ({', '.join(names)},) = leaves"] if n else []),
        *([f"    ({', '.join(f'c{i}' for i in range(c))},) = numbers"] if c else []),
        *(f"    x{i} = V[v{i}]" for i in range(n)),
        *(f"    j{i} = J[v{i}]" for i in range(n) if moving[i]),
        *(f"    {line}" for line in writer.lines),
        f"    return {value}, [{found}], {bent}",
    ]
    scope = dict(writer.scope)
    exec("\n".join(lines), scope)  # noqa: S102 - our own text
    function: Written = scope["form"]
    return function, writer.curved


class _Writer:
    """Writes values and slopes of an expression as lines of Python."""

    def __init__(self, expr: Op, moving: tuple[bool, ...]) -> None:
        self.leaves: dict[Var, int] = {}
        _form(expr, self.leaves, [])
        self.moving = moving
        self.constants = 0
        self.curved = False
        self.lines: list[str] = []
        self.scope: dict[str, Callable[..., float]] = {}

    def write(self, expr: Expr) -> tuple[str, list[tuple[str, str]]]:
        """Return what a value is called, and its slopes by column."""
        if isinstance(expr, Var):
            i = self.leaves[expr]
            return f"x{i}", [(f"j{i}", "1.0")] if self.moving[i] else []
        if isinstance(expr, Const):
            self.constants += 1
            return f"c{self.constants - 1}", []
        assert isinstance(expr, Op)
        operands = [self.write(a) for a in expr.args]
        if expr.name == "add":
            value = self._named(" + ".join(x for x, _ in operands))
            return value, [pair for _, pairs in operands for pair in pairs]
        (x, dx), (y, dy) = (*operands, ("", []))[:2]
        if expr.name == "neg":
            return self._named(f"-{x}"), [(j, self._slope(f"-{s}")) for j, s in dx]
        if expr.name == "mul":
            self.curved |= bool(dx and dy)
            slopes = [(j, self._product(s, y)) for j, s in dx] + [(j, self._product(s, x)) for j, s in dy]
            return self._named(f"{x} * {y}"), slopes
        if expr.name == "div":
            self.curved |= bool(dy)
            value = self._named(f"{x} / {y}")
            slopes = [(j, self._slope(f"{s} / {y}")) for j, s in dx]
            return value, slopes + [(j, self._slope(f"-{s} * {value} / {y}")) for j, s in dy]
        return self._function(expr.name, operands)

    def _function(
        self, name: str, operands: list[tuple[str, list[tuple[str, str]]]]
    ) -> tuple[str, list[tuple[str, str]]]:
        self.scope[f"f_{name}"] = math.pow if name == "pow" else FUNCTIONS[name]
        arguments = ", ".join(x for x, _ in operands)
        value, slopes = self._named(f"f_{name}({arguments})"), []
        for i, (_, pairs) in enumerate(operands):
            outer = _partial(name, len(operands), i) if pairs else None
            if outer is not None:
                self.scope[f"d{i}_{name}"] = outer
                d = self._named(f"d{i}_{name}({arguments})")
                slopes += [(j, self._product(d, s)) for j, s in pairs]
            self.curved |= bool(pairs)
        return value, slopes

    def _named(self, text: str) -> str:
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _slope(self, text: str) -> str:
        return "-1.0" if text == "-1.0" else self._named(text)

    def _product(self, a: str, b: str) -> str:
        return b if a == "1.0" else a if b == "1.0" else self._named(f"{a} * {b}")


@cache
def derivatives(name: str, count: int) -> tuple[tuple[Var, ...], dict[Var, Expr]]:
    """Return operands of a function, and its partial derivatives as expressions of them."""
    operands = tuple(Var(f"operand[{i}]") for i in range(count))
    return operands, partials(Op(name, operands))


@cache
def _partial(name: str, count: int, place: int) -> Callable[..., float] | None:
    """Return a partial derivative of a function, as a function of all its operands; None where it is zero."""
    operands, slopes = derivatives(name, count)
    if operands[place] not in slopes:
        return None
    names = {v: f"x{i}" for i, v in enumerate(operands)}
    text = PythonText(names.__getitem__, largest_power=1)(slopes[operands[place]])
    scope: dict[str, Callable[..., float]] = {**FUNCTIONS, "pow": math.pow}
    exec(f"def partial({', '.join(names.values())}):\n    return {text}", scope)  # noqa: S102 - our own text
    function: Callable[..., float] = scope["partial"]
    return function
