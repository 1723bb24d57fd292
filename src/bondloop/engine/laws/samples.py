"""Numbers that a law is told when it is tried out: NumPy's, but true and false count as 1 and 0.

In a tick the sum of two comparisons is 0, 1 or 2. NumPy's is true or false, and it refuses the difference.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.data import is_truth, si_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.laws.traced import Value


_JOINING = frozenset({"bitwise_and", "bitwise_or", "logical_and", "logical_or", "logical_not"})
"""Functions that take true and false as they are."""


class Sample(np.float64):
    """A number whose comparisons are Python's true and false, which add up.

    Examples
    --------
    >>> x = Sample(2.0)
    >>> (x > 0) + (x > 1), -(x > 0), (x > 0) & (x > 3)
    (2, -1, False)
    """

    __slots__ = ()


class Samples(np.ndarray[Any, Any]):
    """An array of such numbers.

    Examples
    --------
    >>> x = as_samples(np.array([-1.0, 2.0]))
    >>> ((x > 0) + (x > 1)).tolist(), (-(x > 0)).tolist(), ((x > 0) & (x > 3)).tolist()
    ([0.0, 2.0], [-0.0, -1.0], [False, False])
    """

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Value, **kwargs: Any) -> Value:
        """Let true and false be numbers for all that does not join them."""
        arrays = [np.asarray(v) for v in inputs]
        if ufunc.__name__ not in _JOINING:
            arrays = [a.astype(float) if a.dtype == bool else a for a in arrays]
        if "out" in kwargs:  # x += 1
            kwargs["out"] = tuple(np.asarray(x) for x in kwargs["out"])
        return as_samples(getattr(ufunc, method)(*arrays, **kwargs))

    def __getitem__(self, place: Any) -> Value:
        return as_samples(super().__getitem__(place))


def in_si(values: object, what: str, *units: str) -> NDArray[np.float64]:
    """Return what a law is tried out with, or starts from, as an array in SI; what is true counts as 1.

    Parameters
    ----------
    values
        A number or a text with a unit, or samples of either.
    what
        What they are, for the message.
    *units
        What a text must measure.

    Examples
    --------
    >>> in_si(["1 mm", 2], "x", "m").tolist(), in_si([True, False], "on").tolist()
    ([0.001, 2.0], [1.0, 0.0])
    >>> in_si([["1 mm", True], [2, 3]], "x", "m").tolist(), in_si(True, "on").tolist()
    ([[0.001, 1.0], [2.0, 3.0]], 1.0)
    """
    return si_array(_counted(values), what, *units)


def _counted(values: object) -> object:
    """Return values with what is true as 1, however deep in lists."""
    if is_truth(values):
        return np.asarray(values, dtype=float)
    return [_counted(v) for v in values] if isinstance(values, (list, tuple)) else values


def as_samples(value: Value) -> Value:
    """Return a number or an array of them as a law is told it; all else as it is.

    Parameters
    ----------
    value
        Anything.
    """
    if isinstance(value, np.ndarray) and value.ndim:
        return value.view(Samples)
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, np.ndarray) and value.dtype == bool):
        return bool(value)
    return Sample(value) if isinstance(value, (float, np.ndarray)) else value


def _operation(function: Callable[..., Value], swapped: bool = False) -> Callable[..., Value]:
    def operate(self: Sample, *other: Value) -> Value:
        if not all(isinstance(x, (int, float, np.generic, np.ndarray)) for x in other):
            return NotImplemented
        values = (np.float64(self), *(np.float64(x) if isinstance(x, Sample) else x for x in other))
        return as_samples(function(*(reversed(values) if swapped else values)))

    return operate


for _word in ("add", "sub", "mul", "truediv", "pow"):
    setattr(Sample, f"__{_word}__", _operation(getattr(operator, _word)))
    setattr(Sample, f"__r{_word}__", _operation(getattr(operator, _word), swapped=True))
for _word in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs"):
    setattr(Sample, f"__{_word}__", _operation(getattr(operator, _word)))
Sample.__hash__ = np.float64.__hash__  # type: ignore[method-assign]
