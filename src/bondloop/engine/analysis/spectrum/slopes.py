"""Value and slopes of an expression at a point, for the linear analysis of what runs.

The slopes are those of the piece in force: of a `select` the branch that is taken, of ``fmin`` and ``fmax``
the operand that counts. A function that goes in steps has no slope worth the name: ``floor``, the staircase
of a converter, counts with the gain 1 that it has on average, and what jumps (``sign``, a relay) is noted, so
that nobody takes its slope of zero for a loop that is open.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bondloop.engine.ir import (
    COMPARISONS,
    FUNCTIONS,
    LOGIC,
    Const,
    Expr,
    LoopTerms,
    Op,
    PythonText,
    Var,
    apply,
    evaluate,
    partials,
    variables,
)

if TYPE_CHECKING:
    from bondloop.engine.ir import Loop, Tick


Bend = Literal["smooth", "piecewise", "quantiser", "step"]
"""How an expression departs from a straight line: curved, in straight pieces, as a staircase with the right
mean slope, by a jump."""

Pairs = list[tuple[int, float]]
"""Slopes by number; a number may come twice: add them."""

Sloped = tuple[float, Pairs, bool]
"""Value, slopes, and whether it is bent."""


class Slopes:
    """Evaluates expressions with their slopes, and notes what is not linear on the way.

    Parameters
    ----------
    values
        The value of every variable; read, never written.
    columns
        The number of every variable that moves with the states; the others are constants here.
    bent
        Numbers of variables that are not linear in the states.
    forms
        Expressions that were written out in an earlier walk of the same tick.

    Attributes
    ----------
    bends
        How the expressions evaluated since `begin` depart from straight lines.
    branches
        Which piece was in force at every bend of the whole walk, with the statement's name, in order: equal
        lists, equal regimes.
    """

    def __init__(
        self,
        values: dict[Var, float],
        columns: Mapping[Var, int],
        bent: set[int],
        forms: Forms | None = None,
    ) -> None:
        self.values, self.columns, self.bent = values, columns, bent
        self._forms = Forms() if forms is None else forms
        self.bends: set[Bend] = set()
        self.branches: list[tuple[str, int]] = []
        self._statement = ""
        self._rules: dict[str, Callable[[Op], Sloped]] = {
            "add": self._sum,
            "neg": self._minus,
            "mul": self._times,
            "div": self._over,
            "select": self._select,
            "row": lambda expr: self.of(expr.written_out()),
        }

    def begin(self, statement: str) -> None:
        """Begin a new statement, by the name of its target."""
        if self.bends:
            self.bends = set()
        self._statement = statement

    def of(self, expr: Expr) -> Sloped:
        """Return value, slopes by number, and whether it is bent."""
        if type(expr) is Var:
            column = self.columns.get(expr)
            if column is None:
                return self.values[expr], [], False
            return self.values[expr], [(column, 1.0)], column in self.bent
        if type(expr) is Const:
            return expr.value, [], False
        assert isinstance(expr, Op)
        known = self._forms.sloped(expr, self.values, self.columns, self.bent)
        if known is None:
            return self._rules.get(expr.name, self._function)(expr)
        sloped, curved = known
        if curved:
            self.bends.add("smooth")
        return sloped

    def _sum(self, expr: Op) -> Sloped:
        total, pairs, bent = self.of(expr.args[0])
        for term in expr.args[1:]:
            value, more, crooked = self.of(term)
            total += value
            pairs = pairs + more
            bent = bent or crooked
        return total, pairs, bent

    def _minus(self, expr: Op) -> Sloped:
        value, pairs, bent = self.of(expr.args[0])
        return -value, [(j, -s) for j, s in pairs], bent

    def _times(self, expr: Op) -> Sloped:
        x, dx, bent_x = self.of(expr.args[0])
        y, dy, bent_y = self.of(expr.args[1])
        if dx and dy:
            self.bends.add("smooth")
            return x * y, [*((j, s * y) for j, s in dx), *((j, s * x) for j, s in dy)], True
        pairs = [(j, s * y) for j, s in dx] if dx else [(j, s * x) for j, s in dy]
        return x * y, pairs, bent_x or bent_y

    def _over(self, expr: Op) -> Sloped:
        x, dx, bent_x = self.of(expr.args[0])
        y, dy, bent_y = self.of(expr.args[1])
        value = x / y
        pairs = [(j, s / y) for j, s in dx]
        if dy:
            self.bends.add("smooth")
            return value, pairs + [(j, -s * value / y) for j, s in dy], True
        return value, pairs, bent_x or bent_y

    def _select(self, expr: Op) -> Sloped:
        condition, if_true, if_false = expr.args
        holds = bool(evaluate(condition, self.values))
        value, pairs, bent = self.of(if_true if holds else if_false)
        if not self._moves(condition):
            return value, pairs, bent
        self.branches.append((self._statement, int(holds)))
        jump = not (self._moves(if_true) or self._moves(if_false))
        if jump:  # a relay: two levels, and nothing but a jump between them
            try:
                jump = evaluate(if_true, self.values) != evaluate(if_false, self.values)
            except (ZeroDivisionError, ValueError, OverflowError):
                jump = True
            if not jump:
                return value, pairs, bent
        self.bends.add("step" if jump else "piecewise")
        return value, pairs, True

    def _moves(self, expr: Expr) -> bool:
        """Whether an expression depends on what moves."""
        if type(expr) is Var:
            return expr in self.columns
        return isinstance(expr, Op) and any(v in self.columns for v in self._forms.variables(expr))

    def _function(self, expr: Op) -> Sloped:
        name, operands = expr.name, [self.of(a) for a in expr.args]
        numbers = [value for value, _, _ in operands]
        value = float(apply(name, numbers))
        if not any(pairs for _, pairs, _ in operands):
            return value, [], any(bent for _, _, bent in operands)
        if name == "floor":
            self.bends.add("quantiser")
            return value, operands[0][1], True
        if name in COMPARISONS or name in LOGIC or name == "sign":
            self.branches.append((self._statement, int(value)))
            self.bends.add("step")
            return value, [], True
        if name in ("fmin", "fmax"):
            first = (numbers[0] <= numbers[1]) == (name == "fmin")
            self.branches.append((self._statement, int(first)))
            self.bends.add("piecewise")
            return value, operands[0 if first else 1][1], True
        if name == "fabs":
            side = math.copysign(1.0, numbers[0]) if numbers[0] else 0.0
            self.branches.append((self._statement, int(side)))
            self.bends.add("piecewise")
            return value, [(j, s * side) for j, s in operands[0][1]], True
        self.bends.add("smooth")
        return value, _chain(name, operands), True


def _chain(name: str, operands: Sequence[Sloped]) -> Pairs:
    """Slopes of a curved function by the chain rule and the rules of `engine.ir.causal_order`, at numbers."""
    values = [value for value, _, _ in operands]
    result: Pairs = []
    for i, (_, pairs, _) in enumerate(operands):
        partial = _partial(name, len(operands), i) if pairs else None
        if partial is not None:
            slope = partial(*values)
            result += [(j, slope * s) for j, s in pairs]
    return result


# Slopes of smooth expressions as generated Python: one function for all expressions of one form.
#
# A tick is differentiated at a dozen points, and most of its statements have one of some dozen forms: a sum
# of products, a stage of the integrator. So a form is written out once for a process, and then called with
# the variables and the numbers of each expression that has it. What it computes is what `Slopes`
# computes step by step, in the same order and to the last bit.
#
# Forms are smooth: a choice (`select`, ``fmin``), a staircase or a jump is left to `Slopes`, since
# which slopes there are depends on the point.


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
    """The plans of a tick's expressions and loops, kept from one walk to the next.

    Parameters
    ----------
    often
        Uses after which a form is written out: before, that costs more than it saves.
    """

    def __init__(self, often: int = 8) -> None:
        self._often = often
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
            functions[moving] = function + 1 if function < self._often else written(expr, moving)
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


def planned(expr: Op, largest: int = 150, most: int = 4000) -> Plan | None:
    """Return the plan of an expression; None where it is not smooth.

    Parameters
    ----------
    expr
        The expression.
    largest
        Operands up to which it is written out: Python's compiler takes long for long ones.
    most
        Forms that are kept, of all ticks that a process has seen.
    """
    leaves: dict[Var, int] = {}
    numbers: list[float] = []
    form = _form(expr, leaves, numbers)
    if form is None or len(leaves) + len(numbers) > largest:
        return None
    if form not in _FORMS and len(_FORMS) >= most:
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
def _partial(name: str, count: int, place: int) -> Callable[..., float] | None:
    """Return a partial derivative of a function, as a function of all its operands; None where it is zero."""
    operands = tuple(Var(f"operand[{i}]") for i in range(count))
    slopes = partials(Op(name, operands))
    if operands[place] not in slopes:
        return None
    names = {v: f"x{i}" for i, v in enumerate(operands)}
    text = PythonText(names.__getitem__, largest_power=1)(slopes[operands[place]])
    scope: dict[str, Callable[..., float]] = {**FUNCTIONS, "pow": math.pow}
    exec(f"def partial({', '.join(names.values())}):\n    return {text}", scope)  # noqa: S102 - our own text
    function: Callable[..., float] = scope["partial"]
    return function
