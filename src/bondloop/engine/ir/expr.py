"""Expressions: the right-hand sides of a program's assignments.

An expression is a variable, a constant, or an operation on expressions. It is a plain value: it can be
evaluated, differentiated (:mod:`bondloop.engine.ir.causal_order`), shown with SymPy
(:mod:`bondloop.engine.passes.sympy_bridge`) and written as Python or C. All values are double precision
numbers; comparisons give 1.0 or 0.0. Operands are kept in the order in which they were written, so that
every reading of an expression sums in the same order.

>>> x, k = Var("x"), Var("k")
>>> print(k * x + x**3)
k*x + x**3
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from bondloop.engine.ir.philox import normal, uniform
from bondloop.errors import CompileError, ModelError, unknown_name

if TYPE_CHECKING:
    from bondloop.engine.data import Range
    from bondloop.engine.ir.quantity import Quantity

Number = int | float


def _sign(x: float) -> float:
    return (x > 0) - (x < 0) + 0.0


FUNCTIONS: dict[str, Callable[..., float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "atan2": math.atan2,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "asinh": math.asinh,
    "atanh": math.atanh,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "cbrt": math.cbrt,
    "fabs": math.fabs,
    "floor": lambda x: float(math.floor(x)),
    "sign": _sign,
    "fmin": min,
    "fmax": max,
    "normal": normal,
    "uniform": uniform,
}
"""Named functions, by their C99 names (``sign`` and Philox noise are ours), with their Python meaning."""

ARGUMENTS = {"atan2": 2, "fmin": 2, "fmax": 2, "normal": 3, "uniform": 3}
"""How many arguments those functions take that do not take one."""

COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
LOGIC = {"and", "or", "not"}


class Expr:
    """Base of all expressions; carries the arithmetic operators."""

    __slots__ = ()

    def __add__(self, other: Expr | Number) -> Expr:
        return _add(self, as_expr(other))

    def __radd__(self, other: Expr | Number) -> Expr:
        return _add(as_expr(other), self)

    def __sub__(self, other: Expr | Number) -> Expr:
        return _add(self, -as_expr(other))

    def __rsub__(self, other: Expr | Number) -> Expr:
        return _add(as_expr(other), -self)

    def __mul__(self, other: Expr | Number) -> Expr:
        return _mul(self, as_expr(other))

    def __rmul__(self, other: Expr | Number) -> Expr:
        return _mul(as_expr(other), self)

    def __truediv__(self, other: Expr | Number) -> Expr:
        return _div(self, as_expr(other))

    def __rtruediv__(self, other: Expr | Number) -> Expr:
        return _div(as_expr(other), self)

    def __pow__(self, exponent: Expr | Number) -> Expr:
        return _pow(self, as_expr(exponent))

    def __neg__(self) -> Expr:
        if isinstance(self, Const):
            return Const(-self.value)
        if isinstance(self, Op) and self.name == "neg":
            return self.args[0]
        return Op("neg", (self,))

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return function("fabs", self)

    def __lt__(self, other: Expr | Number) -> Expr:
        return Op("lt", (self, as_expr(other)))

    def __le__(self, other: Expr | Number) -> Expr:
        return Op("le", (self, as_expr(other)))

    def __gt__(self, other: Expr | Number) -> Expr:
        return Op("gt", (self, as_expr(other)))

    def __ge__(self, other: Expr | Number) -> Expr:
        return Op("ge", (self, as_expr(other)))

    def __bool__(self) -> bool:
        raise TypeError(
            f"the truth of '{self}' is known only when the program runs; "
            "use select(condition, a, b) instead of 'if'"
        )

    def __str__(self) -> str:
        return _PlainText(lambda v: v.name)(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


class Var(Expr):
    """A variable. Two variables are the same only if they are the same object; the name is for people.

    Parameters
    ----------
    name
        Its path.
    range
        For a parameter: which numbers it may be; None for any finite one.
    quantity
        What it measures; None where that is not known.
    """

    __slots__ = ("name", "quantity", "range")

    def __init__(
        self,
        name: str,
        range: Range | None = None,  # noqa: A002 - the word for it
        quantity: Quantity | None = None,
    ) -> None:
        self.name = name
        self.range = range
        self.quantity = quantity

    @property
    def unit(self) -> str:
        """Unit of what it measures; empty where that is not known."""
        return "" if self.quantity is None else self.quantity.unit


class Const(Expr):
    """A number.

    Parameters
    ----------
    value
        It is kept as a float.
    """

    __slots__ = ("value",)

    def __init__(self, value: Number) -> None:
        self.value = float(value)


class Op(Expr):
    """An operation by name on operands.

    Names: ``add`` (any number of operands, summed left to right), ``neg``, ``mul``, ``div``, ``pow``, the
    functions of :data:`FUNCTIONS`, the comparisons ``lt le gt ge eq ne``, ``and or not``, ``select``, and
    ``row``: a :class:`~bondloop.engine.ir.matrices.MatrixRow`.

    Parameters
    ----------
    name
        One of those above.
    args
        The operands.
    """

    __slots__ = ("args", "name")

    def __init__(self, name: str, args: tuple[Expr, ...]) -> None:
        self.name = name
        self.args = args

    @property
    def identity(self) -> Hashable:
        """What tells it from other operations on the same operands."""
        return self.name

    def with_args(self, args: tuple[Expr, ...]) -> Op:
        """Return the same operation on the operands ``args``."""
        return Op(self.name, args)

    def written_out(self) -> Expr:
        """Return the operation in terms of the others; a row of a matrix is a sum."""
        return self


class Call(Op):
    """What a function of numbers returns: no formula, so it can be executed and nothing else.

    Parameters
    ----------
    label
        A name of its own in the tick, as an identifier.
    function
        Called at every execution, with numbers; returns a number. Its ``__qualname__`` is for messages.
    args
        Its arguments.
    source
        C that defines a function of the label's name with the same result; empty where there is none, and the
        tick runs in Python alone.
    """

    __slots__ = ("function", "label", "source")

    def __init__(
        self, label: str, function: Callable[..., float], args: tuple[Expr, ...], source: str = ""
    ) -> None:
        super().__init__("call", args)
        self.label, self.function, self.source = label, function, source

    @property
    def identity(self) -> Hashable:
        """What tells it from other operations on the same operands."""
        return ("call", self.label)

    def with_args(self, args: tuple[Expr, ...]) -> Call:
        """Return the same call with other arguments."""
        return Call(self.label, self.function, args, self.source)


def as_expr(value: Expr | Number) -> Expr:
    """Return ``value`` as an expression."""
    return value if isinstance(value, Expr) else Const(value)


def _add(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Const):
        if isinstance(b, Const):
            return Const(a.value + b.value)
        if a.value == 0.0:
            return b
    if isinstance(b, Const) and b.value == 0.0:
        return a
    if isinstance(a, Op) and a.name == "add":
        return Op("add", (*a.args, b))
    return Op("add", (a, b))


def _mul(a: Expr, b: Expr) -> Expr:
    for c, other in ((a, b), (b, a)):
        if isinstance(c, Const):
            if isinstance(other, Const):
                return Const(a.value * b.value)  # type: ignore[attr-defined]
            if c.value == 0.0:
                return Const(0.0)
            if c.value == 1.0:
                return other
            if c.value == -1.0:
                return -other
    return Op("mul", (a, b))


def _div(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Const) and a.value == 0.0:
        return a
    if isinstance(b, Const):
        if isinstance(a, Const):
            return Const(a.value / b.value)
        if b.value == 1.0:
            return a
        if b.value == -1.0:
            return -a
    return Op("div", (a, b))


def _pow(a: Expr, b: Expr) -> Expr:
    if isinstance(b, Const):
        if b.value == 0.0:
            return Const(1.0)
        if b.value == 1.0:
            return a
        if isinstance(a, Const):
            return Const(a.value**b.value)
    return Op("pow", (a, b))


def is_comparison(expr: object) -> bool:
    """Whether an expression is true or false, which is no force and no displacement.

    Parameters
    ----------
    expr
        Anything.

    Examples
    --------
    >>> is_comparison(Var("x") > 1), is_comparison(Var("x") + 1)
    (True, False)
    """
    return isinstance(expr, Op) and (expr.name in COMPARISONS or expr.name in LOGIC)


def function(name: str, *args: Expr | Number) -> Expr:
    """Apply one of :data:`FUNCTIONS`; constants are folded.

    Parameters
    ----------
    name
        Of the function.
    *args
        Its arguments.

    Examples
    --------
    >>> print(function("tanh", Var("v") / 0.01))
    tanh(v/0.01)
    """
    if name not in FUNCTIONS:
        raise ModelError(unknown_name("function", name, FUNCTIONS))
    operands = tuple(as_expr(a) for a in args)
    if len(operands) != ARGUMENTS.get(name, 1):
        raise ModelError(f"{name} takes {ARGUMENTS.get(name, 1)} arguments; found {len(operands)}")
    if all(isinstance(a, Const) for a in operands):
        return Const(FUNCTIONS[name](*(a.value for a in operands)))  # type: ignore[attr-defined]
    return Op(name, operands)


def select(condition: Expr, if_true: Expr | Number, if_false: Expr | Number) -> Expr:
    """Choose between two expressions by a condition.

    Parameters
    ----------
    condition
        A comparison, such as ``x > 0.0``.
    if_true, if_false
        The value where it holds, and where it does not.

    Examples
    --------
    >>> x = Var("x")
    >>> evaluate(select(x > 1, 1, x), {x: 5.0})
    1.0
    """
    if isinstance(condition, Const):
        return as_expr(if_true) if condition.value else as_expr(if_false)
    return Op("select", (condition, as_expr(if_true), as_expr(if_false)))


def variables(expr: Expr) -> list[Var]:
    """List the variables of an expression, each once, in order of appearance.

    Parameters
    ----------
    expr
        What to look through.

    Examples
    --------
    >>> [v.name for v in variables(Var("a") * Var("b"))]
    ['a', 'b']
    """
    if isinstance(expr, Var):
        return [expr]
    if isinstance(expr, Const):
        return []
    names: dict[Var, None] = {}
    if isinstance(expr, Op):
        _collect(expr, names)
    return list(names)


def _collect(op: Op, names: dict[Var, None]) -> None:
    for a in op.args:
        if isinstance(a, Var):
            names[a] = None
        elif isinstance(a, Op):
            _collect(a, names)


def substitute(expr: Expr, replacements: dict[Var, Expr]) -> Expr:
    """Replace variables by expressions.

    Parameters
    ----------
    expr
        Where to replace.
    replacements
        What stands for which variable; the others stay.

    Examples
    --------
    >>> x, y = Var("x"), Var("y")
    >>> print(substitute(x * x, {x: y + 1}))
    (y + 1)*(y + 1)
    """
    if isinstance(expr, Var):
        return replacements.get(expr, expr)
    if isinstance(expr, Op):
        return expr.with_args(tuple(substitute(a, replacements) for a in expr.args))
    return expr


def evaluate(expr: Expr, values: dict[Var, float]) -> float:
    """Evaluate an expression for given values of its variables.

    Parameters
    ----------
    expr
        What to evaluate.
    values
        A number for each variable in it.

    Examples
    --------
    >>> x = Var("x")
    >>> evaluate(2 * x**2, {x: 3.0})
    18.0
    """
    if isinstance(expr, Var):
        return values[expr]
    if isinstance(expr, Const):
        return expr.value
    assert isinstance(expr, Op)
    if expr.name == "row":
        return evaluate(expr.written_out(), values)
    if expr.name == "select":
        return evaluate(expr.args[1 if evaluate(expr.args[0], values) else 2], values)
    return float(apply(expr.name, [evaluate(a, values) for a in expr.args]))


def apply(name: str, a: list[Any]) -> Any:  # noqa: PLR0911 - one case per operation
    """Apply an operation to numbers."""
    if name == "add":
        total = a[0]
        for term in a[1:]:
            total = total + term
        return total
    if name == "mul":
        return a[0] * a[1]
    if name == "neg":
        return -a[0]
    if name == "div":
        return a[0] / a[1]
    if name == "pow":
        return math.pow(a[0], a[1])
    if name in FUNCTIONS:
        return FUNCTIONS[name](*a)
    if name in COMPARISONS:
        x, y = a
        return float({"lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y, "eq": x == y, "ne": x != y}[name])
    if name == "and":
        return float(bool(a[0]) and bool(a[1]))
    if name == "or":
        return float(bool(a[0]) or bool(a[1]))
    if name == "not":
        return float(not a[0])
    raise ValueError(f"unknown operation '{name}'")


class Binding(IntEnum):
    """How tightly a text holds together: what does so less than its operation needs stands in parentheses."""

    SUM = 1
    SIGN = 2
    PRODUCT = 3
    ATOM = 4


LARGEST_POWER = 8
"""Largest whole exponent that is written as a product in a tick."""


@dataclass
class Text:
    """A writer of expressions in one language, with the same arithmetic in the same order in every language.

    In ticks, C and Python write sums from left to right, powers with a small whole exponent as repeated
    products ``((x*x)*x)*...``, and choose lazily; what they compute is therefore the same to the last bit, as
    far as their mathematical libraries are.

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
            return self.name(expr), Binding.ATOM
        if isinstance(expr, Const):
            text = self.number(expr.value)
            return text, Binding.SIGN if text.startswith("-") else Binding.ATOM
        assert isinstance(expr, Op)
        if expr.name == "row":
            return self._write(expr.written_out())
        if expr.name == "add":
            return self._sum(expr)
        if expr.name == "neg":
            return f"-{self._at_least(Binding.PRODUCT, expr.args[0])}", Binding.SIGN
        if expr.name == "mul":
            return self._factors(expr, "*")
        if expr.name == "div":
            return self._quotient(expr)
        if expr.name == "pow":
            return self._power(expr)
        if expr.name == "select":
            return self._select(expr), Binding.ATOM
        if expr.name in COMPARISONS or expr.name in LOGIC:
            return self._truth_value(self.condition(expr)), Binding.ATOM
        if expr.name in FUNCTIONS:
            return self._call(expr.name, *expr.args), Binding.ATOM
        return self._outside(expr), Binding.ATOM

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
        text = self._at_least(Binding.SUM, expr.args[0])
        for a in expr.args[1:]:
            if isinstance(a, Op) and a.name == "neg":
                text += f" - {self._at_least(Binding.PRODUCT, a.args[0])}"
            elif isinstance(a, Const) and a.value < 0:
                text += f" - {self.number(-a.value)}"
            else:
                text += f" + {self._at_least(Binding.SIGN, a)}"
        return text, Binding.SUM

    def _quotient(self, expr: Op) -> tuple[str, Binding]:
        return self._factors(expr, "/")

    def _factors(self, expr: Op, sign: str) -> tuple[str, Binding]:
        a, b = expr.args
        return f"{self._at_least(Binding.PRODUCT, a)}{sign}{self._at_least(Binding.ATOM, b)}", Binding.PRODUCT

    def _power(self, expr: Op) -> tuple[str, Binding]:
        base, exponent = expr.args
        if not (isinstance(exponent, Const) and exponent.value in range(2, self.largest_power + 1)):
            return self._call("pow", *expr.args), Binding.ATOM
        n = int(exponent.value)
        if isinstance(base, Var):
            return f"({'*'.join([self.name(base)] * n)})", Binding.ATOM
        return self._call(f"power{n}", base), Binding.ATOM

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
class _PlainText(Text):
    """Expressions as people read them."""

    def number(self, value: float) -> str:
        """Return the shortest text that reads back as the same number; whole ones without a point."""
        whole = math.isfinite(value) and value == int(value) and abs(value) < 1e15
        return str(int(value)) if whole else repr(value)

    def function(self, name: str) -> str:
        """Return the name."""
        return name

    def condition(self, expr: Expr) -> str:
        """Return a condition as it is written."""
        return super().condition(expr) if is_comparison(expr) else self(expr)

    def _power(self, expr: Op) -> tuple[str, Binding]:
        """Write ``**``; what is an operation, but no function, stands in parentheses."""
        parts = []
        for a in expr.args:
            inside = isinstance(a, Op) and a.name not in FUNCTIONS
            parts.append(f"({self(a)})" if inside else self._at_least(Binding.ATOM, a))
        return "**".join(parts), Binding.ATOM

    def _truth_value(self, condition: str) -> str:
        return condition

    def _outside(self, op: Op) -> str:
        return f"{op.name}({', '.join(map(self, op.args))})"


def shortened(expr: Expr, most: int = 80) -> str:
    """Return an expression as text for a message: its two ends where it is long.

    >>> shortened(Var("x") + 1), len(shortened(sum((Var(f"x{i}") for i in range(99)), Const(0.0))))
    ('x + 1', 80)
    """
    text = str(expr)
    if len(text) <= most:
        return text
    ahead = (most - 5) * 2 // 3
    return f"{text[:ahead]} ... {text[len(text) - (most - 5 - ahead) :]}"
