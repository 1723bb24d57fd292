"""What a study varies: one option or parameter, and its values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondloop.errors import InputError
from bondloop.units import dimension, quantity

__all__ = ["Axis", "axis_from"]

_NUMBER = r"^\s*[-+]?[\d.]+([eE][-+]?\d+)?"

MOST = 10_000
"""Most values of one axis."""


@dataclass(frozen=True)
class Axis:
    """An option or parameter with the values it takes.

    Parameters
    ----------
    name
        An argument of the test's function, ``"sub_steps"``, or the path of a parameter, ``"scheme.P"``.
    values
        Texts as ``--set`` takes them: numbers, with units or without, or words.

    Examples
    --------
    >>> Axis("time_step", ("1 ms", "2 ms")).numbers
    (0.001, 0.002)
    """

    name: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        values = tuple(str(v) for v in self.values)
        object.__setattr__(self, "values", values)
        if not values:
            raise InputError(f"{self.name}: no values to vary over")
        if len(set(values)) < len(values):
            raise InputError(f"{self.name}: a value is given twice in {', '.join(values)}")
        if self.numbers is not None:
            _one_kind(self.name, values)

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The values as numbers; None where one is a word."""
        try:
            return tuple(quantity(v) for v in self.values)
        except InputError:
            return None


def axis_from(text: str) -> Axis:
    """Read ``name=1..12`` (whole numbers), ``name=0..1/5`` (five numbers, evenly spaced) or ``name=a,b,c``.

    Parameters
    ----------
    text
        As above. The unit of the last end is that of all values: ``name=0..4 mm/5``.

    Examples
    --------
    >>> axis_from("sub_steps=1..4").values
    ('1', '2', '3', '4')
    >>> axis_from("overshoot=-0.1..0.1/3").values
    ('-0.1', '0', '0.1')
    >>> axis_from("amplitude=500 um..1 mm/2").values
    ('0.5 mm', '1 mm')
    >>> axis_from("time_step=1 ms, 2 ms, 4 ms").values
    ('1 ms', '2 ms', '4 ms')
    """
    name, equals, given = (part.strip() for part in text.partition("="))
    if not equals or not name or not given:
        raise InputError(f"--vary takes NAME=VALUES, such as sub_steps=1..12 or P=0,-1; found {text!r}")
    if re.match(r"\w+\s*\(", given):
        raise InputError(f"{name}: {given} is a distribution; say how many tests to draw, --samples 1000")
    found = re.fullmatch(r"(?P<first>[^,]+?)\s*\.\.\s*(?P<last>[^,]+?)(?:\s*/\s*(?P<count>\d+))?", given)
    if found is None:
        values = [v.strip() for v in given.split(",")]
        if not all(values):
            raise InputError(f"{name}: a value is missing between the commas of {given!r}")
        return Axis(name, tuple(values))
    return Axis(name, tuple(_between(name, found["first"], found["last"], found["count"])))


def _one_kind(name: str, values: Sequence[str]) -> None:
    """Refuse units of different kinds; what a number without a unit measures, the test knows."""
    kinds = {kind: v for v in values if (kind := dimension(v)) is not None}
    if len(kinds) > 1:
        raise InputError(f"{name}: expected quantities of one kind; found {' and '.join(kinds.values())}")


def _between(name: str, first: str, last: str, count: str | None) -> Sequence[str]:
    """Return texts with the unit of the last end: what varies checks that it is one of its kind."""
    try:
        low, high = quantity(first), quantity(last)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    _one_kind(name, (first, last))
    if dimension(first) is not None and dimension(last) is None:
        raise InputError(f"{name}: expected the unit at the last end of {first}..{last}, or at both")
    unit = re.sub(_NUMBER, "", last).strip()
    scale = quantity(f"1 {unit}".strip())
    # Twelve digits: 0.3 mm over 1 mm is 0.3.
    high = float(f"{high / scale:.12g}")
    low = float(first) if dimension(first) is None else float(f"{low / scale:.12g}")
    return [f"{v} {unit}".strip() for v in _numbers(name, (low, high), (first, last), count)]


def _numbers(
    name: str, between: tuple[float, float], ends: tuple[str, str], count: str | None
) -> Sequence[str]:
    (low, high), (first, last) = between, ends
    if high < low:
        raise InputError(f"{name}: expected the smaller end first; found {first}..{last}")
    if count is not None:
        if not 2 <= int(count) <= MOST:
            raise InputError(f"{name}: expected from 2 to {MOST} values; found {count}")
        return [f"{v:.12g}" for v in np.linspace(low, high, int(count))]
    if low % 1 or high % 1:
        raise InputError(
            f"{name}: {first}..{last} are not whole numbers; say how many values, {first}..{last}/11"
        )
    if high - low >= MOST:
        raise InputError(f"{name}: {first}..{last} are more than {MOST} values")
    return [str(v) for v in range(int(low), int(high) + 1)]
