"""Options that are times, rates and parts: plain numbers, or texts with a unit."""

from __future__ import annotations

from collections.abc import Callable

import typer

from bondloop.errors import InputError
from bondloop.units import quantity

__all__ = ["MICROSECONDS", "PART", "RATE", "TIME"]


def _reader(name: str, unit: str) -> Callable[[str | float], float]:
    """Return what reads an option: a number alone counts in the unit, a text says its own."""

    def read(text: str | float) -> float:
        try:
            return float(text)
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
