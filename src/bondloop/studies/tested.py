"""What a study asks of the test that it rehearses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from bondloop.program.signals import Signal
    from bondloop.program.tick import Tick

__all__ = ["Tested"]


class Tested(Protocol):
    """A `HybridTest`, a `PseudoDynamicTest`, a `Simulation`, or anything else that has a tick."""

    period: float
    """Seconds between ticks."""

    seconds: float | None
    """Its own length; None where it has none."""

    @property
    def tick(self) -> Tick:
        """One step of it."""
        ...

    @property
    def tables(self) -> Mapping[str, Signal]:
        """Signals that are read from tables, by name."""
        ...

    def with_values(self, values: Mapping[str, float | str], /) -> Self:
        """Return the same with other values of its parameters, by path."""
        ...
