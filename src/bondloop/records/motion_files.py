"""Ground motions from files of any kind that is known."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bondloop.errors import InputError
from bondloop.measurements.text_lines import read_text
from bondloop.records.cosmos import FIRST, read_cosmos
from bondloop.records.esm import read_esm
from bondloop.records.matlab_motion import read_matlab_motion
from bondloop.records.peer import HEADER_LINES, read_at2
from bondloop.records.two_columns import read_two_columns

if TYPE_CHECKING:
    from bondloop.records.ground_motion import GroundMotion

__all__ = ["read_ground_motion"]


def read_ground_motion(
    path: str | os.PathLike[str],
    unit: str | None = None,
    *,
    channel: int | str | None = None,
    time_unit: str | None = None,
) -> GroundMotion:
    """Read a ground motion of any kind: AT2, COSMOS V1 and V2, ESM, MATLAB, columns of text; told by content.

    Parameters
    ----------
    path
        Of the file.
    unit
        Of the acceleration, for columns of text and MATLAB files that do not say it themselves; ``"g"`` is
        gravity.
    channel
        Which acceleration, where a COSMOS file or a table holds several: by number from 1; in a table also by
        name.
    time_unit
        Of the times in columns of text that do not say it themselves: ``"ms"``.
    """
    if Path(path).suffix.lower() == ".mat":
        _refuse_option(path, "channel", channel)
        return read_matlab_motion(path, unit, time_unit=time_unit)
    lines = read_text(path, strict=False).splitlines()
    head = [line.upper() for line in lines[:HEADER_LINES]]
    if any(FIRST.search(line) for line in lines[:200]):
        _refuse_option(path, "unit", unit)
        _refuse_option(path, "time_unit", time_unit)
        if isinstance(channel, str):
            raise InputError(f"{path}: channels of a COSMOS file have numbers; found channel={channel!r:.40}")
        return read_cosmos(path, channel)
    if Path(path).suffix.lower() == ".at2" or any("NPTS" in line and "DT" in line for line in head):
        _refuse_option(path, "unit", unit)
        _refuse_option(path, "time_unit", time_unit)
        _refuse_option(path, "channel", channel)
        return read_at2(path)
    if any("SAMPLING_INTERVAL_S:" in line for line in lines[:200]):
        _refuse_option(path, "unit", unit)
        _refuse_option(path, "time_unit", time_unit)
        _refuse_option(path, "channel", channel)
        return read_esm(path)
    return read_two_columns(path, unit, time_unit=time_unit, column=channel)


def _refuse_option(path: str | os.PathLike[str], name: str, value: object) -> None:
    if value is not None:
        raise InputError(
            f"{path}: a file of this kind says its {name} itself; leave out {name}={value!r:.40}"
        )
