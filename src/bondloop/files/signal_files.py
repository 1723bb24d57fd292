"""Signals from files, by name in a description: ``{signal = "file", path = "force.csv", unit = "kN"}``."""

from __future__ import annotations

from pathlib import Path

from bondloop.engine.data import Kind, describable, number, register
from bondloop.errors import InputError, unknown_name
from bondloop.results.motions import read_at2, read_ground_motion
from bondloop.signals import Recorded, Table


@describable("signal", "at2", remembered=False)
def peer_acceleration(path: str | Path, scale: float = 1.0, interpolation: str = "linear") -> Table:
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
    factor = number(scale, "scale", "1")
    return Table(motion.time, factor * motion.values, interpolation, "zero", "m/s^2")


@describable("signal", "ground-motion", remembered=False)
def ground_motion(  # noqa: PLR0913, PLR0917 - what is in the file, what is taken of it, and how
    path: str | Path,
    motion: str = "acceleration",
    baseline: str = "none",
    corner: float | str = 0.1,
    scale: float = 1.0,
    peak: float | str | None = None,
    unit: str | None = None,
    channel: int | str | None = None,
    time_unit: str | None = None,
) -> Recorded:
    """Return a motion of the ground from a file: AT2, COSMOS, ESM, MATLAB or columns of text.

    Parameters
    ----------
    path
        The file.
    motion
        ``"acceleration"``, ``"velocity"`` or ``"displacement"``.
    baseline, corner
        How its baseline is corrected: ``"none"``, ``"constant"``, ``"linear"``, or ``"high-pass"`` with a
        corner in Hz.
    scale
        What it is multiplied by; or
    peak
        the peak acceleration to scale it to, in m/s² or as text.
    unit, channel, time_unit
        As for `bondloop.results.read_ground_motion`.
    """
    record = read_ground_motion(path, unit, channel=channel, time_unit=time_unit)
    record = record.corrected(baseline, corner).scaled(scale)
    record = record if peak is None else record.scaled(peak=peak)
    known = {
        "acceleration": record.acceleration,
        "velocity": record.velocity,
        "displacement": record.displacement,
    }
    if motion not in known:
        raise InputError(unknown_name("motion", motion, known))
    return known[motion]()


register(Kind("signal", "file", Table.from_file))
