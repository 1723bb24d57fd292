"""Factors of OpenSees's time series, which scale the loads of a pattern."""

from __future__ import annotations

from bondloop.structures.foreign.opensees_arguments import Arguments
from bondloop.structures.foreign.tcl import Command, parsed

__all__ = ["FACTORED", "SeriesReader"]

FACTORED = ("Linear", "Constant")
"""Series that have nothing but a factor."""


class SeriesReader:
    """Keeps the factors of series by their tags."""

    def __init__(self) -> None:
        self.factors: dict[str, float] = {}

    def read(self, command: Command) -> bool:
        """Take ``timeSeries Linear tag (-factor x)``; return whether all of it was understood."""
        a = Arguments(command)
        kind = a.take("the kind of series")
        if kind.text not in FACTORED:
            return True
        tag = str(a.tag("a series"))
        self.factors[tag], understood = _factor(a)
        return understood

    def of(self, series: str) -> float:
        """Return the factor of a series by its tag, or as it stands in a pattern: ``Linear -factor 2``.

        >>> SeriesReader().of("Linear -factor 2")
        2.0
        """
        words = next(iter(parsed(series)), ())
        if words and words[0].text in FACTORED:
            return _factor(Arguments(Command(words)))[0]
        return self.factors.get(series.strip(), 1.0)


def _factor(a: Arguments) -> tuple[float, bool]:
    """Return a factor, and whether there was nothing else."""
    factor = 1.0
    while a:
        if a.take("an option").text != "-factor":
            return factor, False
        factor = a.number("the factor")
    return factor, True
