"""Values that stand for numbers while a law is written down: operators on them make expressions.

A law in Python is called once with traced values. What it returns are the formulas by which every sample, or
every instant, is computed from then on: in Python, in C, and in the check.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from bondloop.engine.ir import Assign, Const, Expr, Op, Var, is_comparison
from bondloop.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray


_PLACES = (
    np.append, np.array_split, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.block, np.broadcast_arrays,
    np.broadcast_to, np.column_stack, np.concatenate, np.copy, np.delete, np.diag, np.diagonal, np.dsplit,
    np.dstack, np.expand_dims, np.flip, np.fliplr, np.flipud, np.hsplit, np.hstack, np.insert, np.moveaxis,
    np.ndim, np.ravel, np.repeat, np.reshape, np.resize, np.roll, np.rollaxis, np.rot90, np.shape, np.size,
    np.split, np.squeeze, np.stack, np.swapaxes, np.take, np.tile, np.transpose, np.tril, np.triu, np.vsplit,
    np.vstack, np.where, np.full_like, np.ones_like, np.zeros_like, np.empty_like,
)  # fmt: skip
"""Entries move, and stay what they are; ``where`` asks its condition, which refuses if it is traced."""

_SUMS = (
    np.average, np.convolve, np.correlate, np.cross, np.cumprod, np.cumsum, np.diff, np.dot, np.ediff1d,
    np.einsum, np.inner, np.kron, np.mean, np.outer, np.polyval, np.prod, np.sum, np.tensordot, np.trace,
    np.trapezoid, np.linalg.matrix_power, np.linalg.multi_dot,
)  # fmt: skip
"""Sums and products, by the operators of the entries."""

_WORDS = (np.array2string, np.array_repr, np.array_str)

TRACEABLE = frozenset((*_PLACES, *_SUMS, *_WORDS))
"""Functions that do to traced values what they do to numbers."""


DEEPEST = 12
"""Operations within one another from which an expression gets a name: recursions end somewhere."""

Value: TypeAlias = Any
"""A number, a traced value, or an array of either."""


class Traced:
    """A number that is known only when the program runs.

    Examples
    --------
    >>> x = Traced(Var("x"))
    >>> print((2 * x**2 - abs(x)).expr)
    2*x**2 - fabs(x)
    >>> 1 if x > 0 else 0
    Traceback (most recent call last):
    bondloop.errors.ModelError: the truth of '(x > 0)' is known only when the test runs, so 'if', ...
    """

    __slots__ = ("expr",)
    __hash__ = None  # type: ignore[assignment]  # two of them are never known to be equal

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def __repr__(self) -> str:
        return f"<Traced {self.expr}>"

    def __neg__(self) -> Traced:
        return Traced(Op("neg", (self.expr,)))

    def __pos__(self) -> Traced:
        return self

    def __abs__(self) -> Traced:
        return Traced(Op("fabs", (self.expr,)))

    def __bool__(self) -> bool:
        raise ModelError(
            f"the truth of '{self._short()}' is known only when the test runs, so 'if', 'and', 'or', 'not', "
            "'while', min() and max() cannot ask for it; use bondloop.math: where(condition, a, b), "
            "minimum, maximum, clip, logical_and, logical_or, logical_not"
        )

    def _unknown(self) -> NoReturn:
        raise ModelError(
            f"the value of '{self._short()}' is known only when the test runs; use the functions of "
            "bondloop.math in place of Python's math, float(), int() and round(). A parameter that decides "
            "how a law is built, such as a number of terms, is declared with the type int"
        )

    def __float__(self) -> float:
        self._unknown()

    def __int__(self) -> int:
        self._unknown()

    def __index__(self) -> int:  # noqa: PLE0305 - it returns nothing at all
        self._unknown()

    def __round__(self, digits: int | None = None) -> int:
        self._unknown()

    def __iter__(self) -> NoReturn:
        raise TypeError(f"'{self._short()}' is one number, not several")

    def __array_ufunc__(self, function: np.ufunc, method: str, *values: Value, **options: object) -> Value:
        """Let numbers and arrays of NumPy leave their operators to this class; refuse all else."""
        operate = _OPERATORS.get(function.__name__)
        if operate is None or method != "__call__" or options:
            self._refuse(function.__name__)
        if any(isinstance(v, np.ndarray) and v.ndim for v in values):
            return elementwise(operate, *values)
        return operate(*(v if isinstance(v, Traced) else np.asarray(v).item() for v in values))

    def __array_function__(
        self, function: Callable[..., Value], _types: Value, args: Value, options: Value
    ) -> Value:
        """Let NumPy's functions that only move, add and multiply take it; refuse all else."""
        if function not in TRACEABLE:
            self._refuse(function.__name__)
        return function(*_held(args), **{name: _held(value) for name, value in options.items()})

    def _refuse(self, function: str) -> NoReturn:
        raise ModelError(
            f"the value of '{self._short()}' is known only when the test runs, so NumPy's {function} cannot "
            "take it; use the functions of bondloop.math in place of NumPy's"
        )

    def _remainder(self, _other: Value) -> NoReturn:
        raise ModelError(
            "'%', '//' and divmod() are no operations of a law; use bondloop.math.floor: "
            "x - n * floor(x / n) is what x % n would be"
        )

    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = __rdivmod__ = _remainder

    def __invert__(self) -> NoReturn:
        raise ModelError("'~' turns Python's True into -2; use bondloop.math.logical_not(condition)")

    def _short(self) -> str:
        text = str(self.expr)
        return text if len(text) <= 60 else f"{text[:57]}..."


def expression(value: Value, what: str = "the law") -> Expr:
    """Return a traced value or a number as an expression.

    Parameters
    ----------
    value
        What a law computed.
    what
        What it stands for, for the message.
    """
    if isinstance(value, Traced):
        return value.expr
    if isinstance(value, (numbers.Real, np.bool_)):
        return Const(float(value))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return expression(value.item(), what)
    raise ModelError(
        f"{what}: expected a number, or what operators and bondloop.math make of one; found {value!r:.60}"
    )


class TracedArray(np.ndarray[Any, Any]):
    """An array of traced values: NumPy's, but for comparisons, which NumPy wants answered at once."""

    __hash__ = None

    def __array_function__(
        self, function: Callable[..., Value], types: Value, args: Value, options: Value
    ) -> Value:
        """Refuse NumPy's functions that ask what the entries are."""
        traced = next((x for x in self.flat if isinstance(x, Traced)), None)
        if function not in TRACEABLE and traced is not None:
            traced._refuse(function.__name__)
        return super().__array_function__(function, types, args, options)

    def __lt__(self, other: Value) -> Value:
        return elementwise(operator.lt, self, other)

    def __le__(self, other: Value) -> Value:
        return elementwise(operator.le, self, other)

    def __gt__(self, other: Value) -> Value:
        return elementwise(operator.gt, self, other)

    def __ge__(self, other: Value) -> Value:
        return elementwise(operator.ge, self, other)

    def __eq__(self, other: Value) -> Value:
        return elementwise(operator.eq, self, other)

    def __ne__(self, other: Value) -> Value:
        return elementwise(operator.ne, self, other)


def array_of(values: Value) -> NDArray[np.float64] | TracedArray:
    """Return numbers and traced values as an array: of floats where no value is traced.

    >>> array_of([1, 2.5])
    array([1. , 2.5])
    """
    array = np.array([*values] if isinstance(values, (list, tuple)) else values)
    if any(isinstance(x, Traced) for x in array.flat):
        return array.view(TracedArray)
    return array.astype(float)


def elementwise(function: Callable[..., Value], *args: Value) -> Value:
    """Apply a function of numbers to arrays, entry by entry; numbers go with every entry."""
    arrays = np.broadcast_arrays(*(_array(a) for a in args))
    result = np.empty(arrays[0].shape, dtype=object)
    for place in np.ndindex(result.shape):
        result[place] = function(*(a[place] for a in arrays))
    return array_of(result)


def _array(value: Value) -> NDArray[np.generic]:
    if isinstance(value, (list, tuple, np.ndarray)):
        return np.asarray(value)
    held = np.empty((), dtype=object)  # NumPy would ask a traced value for its length
    held[()] = value
    return held


def _held(value: Value) -> Value:
    """Return a value in which each traced number is an array without axes, as NumPy holds numbers."""
    if isinstance(value, Traced):
        return _array(value).view(TracedArray)
    return type(value)(map(_held, value)) if type(value) in (list, tuple) else value


def _binary(
    name: str, combine: Callable[[Expr, Expr], Expr], swapped: bool
) -> Callable[[Traced, Value], Value]:
    symbol = {"and": "&", "or": "|"}.get(name)

    def operate(self: Traced, other: Value) -> Value:
        if isinstance(other, np.ndarray) and other.ndim:
            return elementwise(lambda x: operate(self, x), other)
        if not isinstance(other, (Traced, numbers.Real, np.bool_, np.ndarray)):
            return NotImplemented
        a, b = self.expr, expression(other)
        if symbol and not (_is_condition(self) and _is_condition(other)):
            raise ModelError(
                f"'{symbol}' joins two conditions here, though Python joins the bits of whole numbers too; "
                f"found '{self._short()}' and {other!r:.60}; use bondloop.math.logical_{name}, or where"
            )
        return Traced(combine(b, a) if swapped else combine(a, b))

    operate.__name__ = name
    return operate


def _is_condition(value: Value) -> bool:
    if isinstance(value, Traced):
        return is_comparison(value.expr)
    return isinstance(value, (bool, np.bool_)) or (isinstance(value, np.ndarray) and value.dtype == bool)


def _difference(a: Expr, b: Expr) -> Expr:
    return Op("add", (a, Op("neg", (b,))))


def _operation(name: str) -> Callable[[Expr, Expr], Expr]:
    return lambda a, b: Op(name, (a, b))


# The operations are kept as they are written, so that they round as Python's own numbers do.
for _word, _combine in {
    "add": _operation("add"), "sub": _difference, "mul": _operation("mul"), "truediv": _operation("div"),
    "pow": _operation("pow"), "and": _operation("and"), "or": _operation("or"),
}.items():  # fmt: skip
    setattr(Traced, f"__{_word}__", _binary(_word, _combine, swapped=False))
    setattr(Traced, f"__r{_word}__", _binary(_word, _combine, swapped=True))
for _word in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Traced, f"__{_word}__", _binary(_word, _operation(_word), swapped=False))

_OPERATORS: dict[str, Callable[..., Value]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "power": operator.pow, "negative": operator.neg, "positive": operator.pos, "absolute": operator.abs,
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
    "equal": operator.eq, "not_equal": operator.ne, "bitwise_and": operator.and_, "bitwise_or": operator.or_,
}  # fmt: skip
"""What operators of NumPy's numbers and arrays call, and what is meant."""


def named_parts(values: Sequence[Expr], prefix: str) -> tuple[list[Assign], list[Expr]]:
    """Name what is used more than once, and what is deep, so that it is computed once and written shortly.

    Parameters
    ----------
    values
        Expressions that share parts.
    prefix
        Before the numbers of the names.

    Returns
    -------
    steps, values
        The assignments, and the values in terms of their targets.
    """
    order, uses = operations_of(values)
    steps: list[Assign] = []
    short: dict[int, Expr] = {}
    depth: dict[int, int] = {}
    for op in order:
        args = tuple(short.get(id(a), a) for a in op.args)
        level = 1 + max((depth.get(id(a), 0) for a in op.args), default=0)
        value: Expr = op.with_args(args)
        if uses[id(op)] > 1 or level > DEEPEST:
            target = Var(f"{prefix}[{len(steps)}]")
            steps.append(Assign(target, value))
            value, level = target, 0
        short[id(op)], depth[id(op)] = value, level
    return steps, [short.get(id(v), v) for v in values]


def operations_of(values: Sequence[Expr]) -> tuple[list[Op], dict[int, int]]:
    """Return all operations of some expressions, operands first, and how often each is used."""
    uses: dict[int, int] = {}
    order: list[Op] = []
    # Without recursion: a sum of a thousand terms in a loop is a thousand operations deep.
    waiting: list[tuple[Expr, bool]] = [(v, False) for v in reversed(values)]
    while waiting:
        node, done = waiting.pop()
        if not isinstance(node, Op):
            continue
        if done:
            order.append(node)
            continue
        uses[id(node)] = uses.get(id(node), 0) + 1
        if uses[id(node)] == 1:
            waiting.append((node, True))
            waiting += [(a, False) for a in reversed(node.args)]
    return order, uses


def expect_same_formula(
    first: Sequence[Expr], again: Sequence[Expr], known: Iterable[Var] | None, what: str
) -> None:
    """Refuse a formula that is another one when it is traced again: it is traced only when a test is built.

    Parameters
    ----------
    first, again
        Expressions from two calls with the same arguments; variables are told by their names.
    known
        All variables that the second call could read: those of an earlier call are none of them. None where
        both calls read the same.
    what
        The user's method, for the message.

    Examples
    --------
    >>> x = Var("x")
    >>> expect_same_formula([x + 1], [x + 1], [x], "Mine.step")
    >>> expect_same_formula([x + 1], [x + 2], [x], "Mine.step")
    Traceback (most recent call last):
    bondloop.errors.ModelError: Mine.step gives another formula each time it is called: ...
    """
    numbers: dict[Hashable, int] = {}
    operations, _ = operations_of(again)
    read = {e for e in (*again, *(a for op in operations for a in op.args)) if isinstance(e, Var)}
    foreign = set() if known is None else read - set(known)
    if foreign or _numbered(first, numbers) != _numbered(again, numbers):
        raise ModelError(
            f"{what} gives another formula each time it is called: it keeps something elsewhere than in its "
            "states (a list, a counter, a global), or draws random numbers. It is called only when the test "
            "is built: name what it keeps in states = {...}, and give noise to a sensor or a signal"
        )


def _numbered(exprs: Sequence[Expr], numbers: dict[Hashable, int]) -> list[int]:
    """Return a number for each expression, the same for the same formula."""
    operations, _ = operations_of(exprs)  # operands first
    at: dict[int, int] = {}

    def number(expr: Expr) -> int:
        if isinstance(expr, Op):
            return at[id(expr)]
        key = ("number", repr(expr.value)) if isinstance(expr, Const) else ("variable", str(expr))
        return numbers.setdefault(key, len(numbers))

    for op in operations:
        key = (op.identity, *(number(a) for a in op.args))
        at[id(op)] = numbers.setdefault(key, len(numbers))
    return [number(e) for e in exprs]
