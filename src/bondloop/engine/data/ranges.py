"""Ranges of parameters: which numbers a mass, a ratio or a width may be.

A range is stated once, by the element or dataclass that owns the parameter, and travels with the parameter's
variable (`Var.range`) from the model to the system, the test and the tick. So a value that is changed later,
by path, is held to the same range as one given to the constructor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from bondloop.engine.data.kinds import Kind, register
from bondloop.errors import InputError, unknown_name
from bondloop.units import multiplied, quantity, unit_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.data.kinds import Json


def each_number(
    values: Iterable[object], owner: str, name: str, units: Sequence[str], faults: list[str]
) -> tuple[float, ...]:
    """Return numbers, or texts with units, as floats in SI; those that are refused are noted, and left out.

    Parameters
    ----------
    values
        The numbers.
    owner, name
        Whose argument they are, and what it is called: ``"SumOfSines"``, ``"phases"``.
    units
        As for `number`.
    faults
        Takes a sentence for each that is refused.

    Examples
    --------
    >>> faults = []
    >>> each_number(["1 mm", "2 kg", 3], "Mine", "gaps", ["m"], faults), len(faults)
    ((0.001, 3.0), 1)
    """
    result = []
    if isinstance(values, str) or not isinstance(values, Iterable):
        faults.append(f"{owner}({name}): expected a list of numbers; found {values!r:.60}")
        return ()
    for i, value in enumerate(values):
        try:
            result.append(number(value, f"{owner}({name}[{i}])", *units))
        except InputError as error:
            faults.append(str(error))
    return tuple(result)


def number(value: object, what: str, *units: str) -> float:
    """Return a number, or a text with a unit, as a finite float in SI.

    Parameters
    ----------
    value
        The number, or the text.
    what
        What it is, for the message.
    *units
        What a text must measure, as units of its kind (``"s"`` for any time); none for anything.

    Examples
    --------
    >>> number("150 mm", "Sine(amplitude)")
    0.15
    >>> number("10 mm", "seconds", "s")
    Traceback (most recent call last):
    bondloop.errors.InputError: seconds: expected a quantity in s, or another unit of its kind; found '10 mm'
    """
    if isinstance(value, str):
        try:
            result = quantity(value, *units)
        except InputError as error:
            raise InputError(f"{what}: {error}") from None
    else:
        try:
            result = plain_number(value)
        except (TypeError, ValueError, OverflowError):
            result = math.nan
        if math.isnan(result) and not isinstance(value, float):
            raise InputError(f"{what}: expected a number or a text with unit; found {value!r}")
    if not math.isfinite(result):
        raise InputError(f"{what}: expected a finite number; found {result}")
    return result


def in_seconds(value: object, what: str, power: int) -> float:
    """Return a coefficient that measures s^power, such as one of a polynomial in s, as a float.

    An angle counts as nothing: a corner may be told in rad/s. One in Hz is refused, since it is 2π of those.

    Parameters
    ----------
    value, what
        As for `number`.
    power
        Of the second.

    Examples
    --------
    >>> in_seconds("20 ms", "lag", 1), in_seconds("50 rad/s", "corner", -1), in_seconds("5 %", "share", 0)
    (0.02, 50.0, 0.05)
    >>> in_seconds("8 Hz", "corner", -1)
    Traceback (most recent call last):
    bondloop.errors.InputError: corner: expected rad/s or 1/s, 2π times as many; found '8 Hz'
    """
    if isinstance(value, str) and "Hz" in unit_in(value):
        raise InputError(f"{what}: expected rad/s or 1/s, 2π times as many; found {value!r}")
    seconds = multiplied("1", "s", power) or "1"
    turning = [multiplied(seconds, "rad", -power)] if power else []
    return number(value, what, seconds, *turning)


def instant(value: object, what: str) -> float:
    """Return a time in s, or a text with its unit, as a float; one that is infinite is before or after all.

    Parameters
    ----------
    value, what
        As for `number`.

    Examples
    --------
    >>> instant("20 ms", "start"), instant(math.inf, "end")
    (0.02, inf)
    """
    if isinstance(value, float) and math.isinf(value):
        return value
    return number(value, what, "s")


def si_array(values: object, what: str, *units: str) -> NDArray[np.float64]:
    """Return numbers or texts with units, one or many, as an array in SI of their shape.

    Whether they are finite is not looked at: a spectrum may be asked for at infinity.

    Parameters
    ----------
    values
        A number or a text, a sequence of either, or an array.
    what
        What they are, for the message.
    *units
        What a text must measure, as for `number`.

    Examples
    --------
    >>> si_array(["0.5 kHz", 2], "frequency", "Hz").tolist(), si_array("20 ms", "period", "s").tolist()
    ([500.0, 2.0], 0.02)
    >>> si_array(["1 kg"], "frequency", "Hz")
    Traceback (most recent call last):
    bondloop.errors.InputError: frequency: expected a quantity in Hz, or another unit of its kind; ...
    """
    if isinstance(values, str):
        return np.asarray(number(values, what, *units))
    if isinstance(values, Iterable) and not isinstance(values, np.ndarray):
        values = [si_array(v, what, *units) if isinstance(v, (str, list, tuple)) else v for v in values]
    try:
        array = np.asarray(values)
        # NumPy would read texts without a look at their units, and True as 1.
        real = None if array.dtype.kind in "USbc" else np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        real = None
    if real is None:
        raise InputError(f"{what}: expected numbers or texts with units; found {values!r:.60}")
    return real


def plain_number(value: Any) -> float:
    """Return a number as a float; TypeError for what Python takes for one though it is none.

    Parameters
    ----------
    value
        A number. True is no quantity, nor is a text of bytes.

    Examples
    --------
    >>> plain_number(b"1")
    Traceback (most recent call last):
    TypeError: b'1' is no number
    """
    if is_truth(value) or isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"{value!r} is no number")
    return float(value)


def is_truth(value: object) -> bool:
    """Whether a value is True or False, NumPy's too: no quantity, though Python takes it for 1 or 0.

    Parameters
    ----------
    value
        Anything.
    """
    return isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"


@dataclass(frozen=True)
class Range:
    """Which finite numbers a parameter may be.

    Parameters
    ----------
    least, most, above, below
        Bounds: at least, at most, and strictly above or below; None where there is none.
    nonzero
        Whether zero is left out: the law divides by it.
    units
        What a text must measure, as units of its kind, any one of them; none for anything.

    Examples
    --------
    >>> print(Range(above=0, most=1))
    a number above 0 and at most 1
    >>> Range(least=0).check(-2, "spring.gap")
    Traceback (most recent call last):
    bondloop.errors.InputError: spring.gap: expected a number at least 0; found -2
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    nonzero: bool = False
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", tuple(self.units))  # a description has a list

    def __contains__(self, value: float) -> bool:
        return (
            math.isfinite(value)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
            and not (self.nonzero and value == 0)
        )

    def __str__(self) -> str:
        words = [
            f"{word} {bound:g}"
            for word, bound in (
                ("at least", self.least),
                ("above", self.above),
                ("at most", self.most),
                ("below", self.below),
            )
            if bound is not None
        ]
        if self.nonzero and 0.0 in replace(self, nonzero=False):
            words.append("other than 0")
        return f"a number {' and '.join(words)}" if words else "a finite number"

    def __and__(self, other: Range) -> Range:
        """Return the numbers that lie in both."""
        return Range(
            _tighter(max, self.least, other.least),
            _tighter(min, self.most, other.most),
            _tighter(max, self.above, other.above),
            _tighter(min, self.below, other.below),
            self.nonzero or other.nonzero,
            self.units or other.units,
        )

    def check(self, value: object, what: str, *units: str) -> float:
        """Return a value (a number, or a text with a unit) as a float in SI; refuse one outside the range.

        Parameters
        ----------
        value
            The number, or the text.
        what
            What it is, for the message.
        *units
            What a text must measure; those of the range where none are given.
        """
        result = number(value, what, *(units or self.units))
        if result not in self:
            raise InputError(f"{what}: expected {self}; found {result:g}")
        return result

    def describe(self) -> dict[str, Json]:
        """Return it as a dictionary that fits into JSON; ``Range(**description)`` is the inverse."""
        return {
            name: list(bound) if name == "units" else bound
            for name, bound in asdict(self).items()
            if bound is not None and bound is not False and bound != ()
        }


# Not "range": what a load cell measures is called so, and an entry that is called as a family names a kind.
register(Kind("parameter-range", "Range", Range, alone=True), "Range")

FINITE = Range()
POSITIVE = Range(above=0.0)
NOT_NEGATIVE = Range(least=0.0)
NOT_ZERO = Range(nonzero=True)


class Bounded(Protocol):
    """A parameter: a variable that knows its path, its range and what it measures."""

    @property
    def name(self) -> str:
        """Its path."""

    @property
    def range(self) -> Range | None:
        """Which numbers it may be; None for any."""

    @property
    def unit(self) -> str:
        """SI unit of what it measures; empty where that is not known."""


AnyBounded = TypeVar("AnyBounded", bound=Bounded)


def checked_value(parameter: Bounded, value: object) -> float:
    """Return a new value of a parameter; one outside its range is refused by path, value and range.

    A text must measure what the parameter does in its model; the range may know several kinds.
    """
    units = (parameter.unit,) if parameter.unit else ()
    return (parameter.range or FINITE).check(value, parameter.name, *units)


def checked_values(
    parameters: Iterable[AnyBounded], values: Mapping[str, object], where: str = ""
) -> dict[AnyBounded, float]:
    """Return new values of some parameters, given by path; an unknown path or a bad value is refused.

    Parameters
    ----------
    parameters
        All parameters there are.
    values
        Values by path, in SI or as text with a unit.
    where
        What has the parameters, for the message: ``"the test"``.
    """
    if not values:
        return {}
    by_name = {v.name: v for v in parameters}
    changed: dict[AnyBounded, float] = {}
    for path, value in values.items():
        if path not in by_name:
            raise InputError(unknown_name("parameter", path, by_name, where=where)).at("values", path)
        try:
            changed[by_name[path]] = checked_value(by_name[path], value)
        except InputError as error:
            raise error.at("values", path) from None
    return changed


def _tighter(choose: Callable[[float, float], float], a: float | None, b: float | None) -> float | None:
    return choose(a, b) if a is not None and b is not None else b if a is None else a
