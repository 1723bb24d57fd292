"""Which parameters of a test may be changed while it runs: between which values, and how fast."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bondloop.engine.data import Described, common_unit, number, state_unit, stated_units
from bondloop.errors import InputError
from bondloop.units import multiplied


@dataclass(frozen=True)
class Tunable(Described, family="tunable", alone=True):
    """What a parameter may be changed to while the test runs.

    Parameters
    ----------
    least, most
        Between which values; None where the parameter's own range, or that of a limit the limit itself, is
        all there is.
    rate
        Largest change a second, kept by the tick itself, so that it is rehearsed too; None: at once.
    description
        What it does, for the operator.

    Examples
    --------
    >>> Tunable(least=0, most="120 %", rate=0.5)
    Tunable(least=0.0, most=1.2, rate=0.5, description='')
    >>> Tunable(least=2, most=1)
    Traceback (most recent call last):
    bondloop.errors.InputError: Tunable: expected least at most as large as most; found 2 and 1
    """

    least: float | str | None = None
    most: float | str | None = None
    rate: float | str | None = None
    description: str = ""

    def __post_init__(self) -> None:
        for name in ("least", "most", "rate"):
            value: float | str | None = getattr(self, name)
            if value is not None:
                state_unit(self, name, value)
                object.__setattr__(self, name, number(value, f"Tunable({name})"))
        _ = self.unit  # refused here where they differ
        if self.low > self.high:
            raise InputError(
                f"Tunable: expected least at most as large as most; found {self.low:g} and {self.high:g}"
            )
        if self.rate is not None and not float(self.rate) > 0:
            raise InputError(f"Tunable(rate): expected a positive number; found {self.rate}")
        if not isinstance(self.description, str):
            raise InputError(f"Tunable(description): expected a text; found {self.description!r:.60}")

    @property
    def unit(self) -> str:
        """Unit of the values, as they were given; empty for plain numbers."""
        units = stated_units(self).items()
        return common_unit(
            {f"Tunable({n})": (multiplied(unit, "s") or "1") if n == "rate" else unit for n, unit in units}
        )

    @property
    def low(self) -> float:
        """The least value; minus infinity where none is stated."""
        return -math.inf if self.least is None else float(self.least)

    @property
    def high(self) -> float:
        """The largest value; infinity where none is stated."""
        return math.inf if self.most is None else float(self.most)
