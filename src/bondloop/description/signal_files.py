"""Signals from files, by name in a description: ``{signal = "file", path = "force.csv", unit = "kN"}``."""

from __future__ import annotations

from pathlib import Path

from bondloop.program.kinds import Kind, describable, register
from bondloop.program.signals import Table
from bondloop.records import read_at2

__all__ = ["ground_motion"]


@describable("signal", "at2", remembered=False)
def ground_motion(path: str | Path, scale: float = 1.0, interpolation: str = "linear") -> Table:
    """Return a ground acceleration in m/s² from a file of PEER's strong-motion database.

    Parameters
    ----------
    path
        The AT2 file.
    scale
        What it is multiplied by.
    interpolation
        Between samples: ``"linear"``, ``"cubic"`` or ``"hold"``.
    """
    motion = read_at2(path)
    return Table(motion.time, scale * motion.acceleration, interpolation, "zero")


register(Kind("signal", "file", Table.from_file))
