"""What every kind of test offers: run its tick, write it as C."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bondloop.hybrid.run import Run
    from bondloop.program.tick import Tick

__all__ = ["Rehearsable"]


class Rehearsable(ABC):
    """A test, or a simulation, that comes down to one tick."""

    period: float
    """Seconds between ticks."""

    @property
    def seed(self) -> int | None:
        """Seed of all noise; None where there is none."""
        return None

    @property
    def remedies(self) -> dict[str, str]:
        """What to do when a channel passes its limit, by the channel's name."""
        return {}

    @property
    @abstractmethod
    def tick(self) -> Tick:
        """One step: what is rehearsed is what runs."""

    @property
    @abstractmethod
    def tables(self) -> dict[str, Any]:
        """Signals that are read from tables, by name."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Describe it for run files."""

    def run(
        self,
        seconds: float,
        *,
        backend: str = "auto",
        every: int = 1,
        progress: Callable[[int, int], None] | None = None,
    ) -> Run:
        """Rehearse it.

        Parameters
        ----------
        seconds
            Length of the run.
        backend
            ``"c"``, ``"numpy"``, or ``"auto"``: C where a compiler is found.
        every
            Record every so many samples.
        progress
            Called with (samples done, samples in all).
        """
        from bondloop.hybrid.run import rehearse

        return rehearse(self, seconds, backend=backend, every=every, progress=progress)

    def write_c(self, folder: str | Path) -> Path:
        """Write the tick as C into a folder; return the file."""
        from bondloop.compile import write_c

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.tick.name}.c"
        path.write_text(write_c(self.tick))
        return path
