"""How options are read that are numbers: times, rates and parts, plain or with a unit; and counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import typer

from bondloop.errors import InputError
from bondloop.units import quantity

T = TypeVar("T", int, float)


def plain(text: str) -> float:
    """Return a plain number.

    Python's own reading takes ``1_0`` for ten, which a table does not, nor a quantity with a unit.

    >>> plain("1e3")
    1000.0
    >>> plain("1_0")
    Traceback (most recent call last):
    ValueError: '1_0' is no number
    """
    if "_" in text:
        raise ValueError(f"{text!r} is no number")
    return float(text)


def whole(text: str) -> int:
    """Return a whole number; see `plain`.

    >>> whole("12")
    12
    """
    if "_" in text:
        raise ValueError(f"{text!r} is no whole number")
    return int(text)


def _reader(name: str, unit: str) -> Callable[[str | float], float]:
    """Return what reads an option: a number alone counts in the unit, a text says its own."""

    def read(text: str | float) -> float:
        try:
            return plain(str(text))
        except ValueError:
            pass
        try:
            return quantity(str(text), unit) / quantity(f"1 {unit}")
        except InputError as error:
            raise typer.BadParameter(str(error)) from None

    read.__name__ = name  # as --help calls it
    return read


TIME = _reader("time", "s")
MICROSECONDS = _reader("time", "us")
RATE = _reader("rate", "Hz")
PART = _reader("part", "1")


def _plain_reader(
    name: str, read_text: Callable[[str], T], wanted: str, least: float = -math.inf
) -> Callable[[str | T], T]:
    """Return what reads an option that has no unit."""

    def read(text: str | T) -> T:
        try:
            answer = read_text(str(text))
        except ValueError:
            answer = None
        if answer is None or answer < least:
            raise typer.BadParameter(f"expected {wanted}; found {text!r}")
        return answer

    read.__name__ = name
    return read


NUMBER = _plain_reader("float", plain, "a number")
WHOLE = _plain_reader("integer", whole, "a whole number")
COUNT = _plain_reader("integer", whole, "a whole number of at least 1", 1)
