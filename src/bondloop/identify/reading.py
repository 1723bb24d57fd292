"""Measured data from files, ready for identification."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bondloop.errors import InputError
from bondloop.identify.data import Data
from bondloop.measurements import read_measurements, sampling_of

if TYPE_CHECKING:
    from bondloop.measurements import Measurements

__all__ = ["data_from", "read_data"]


def read_data(
    path: str | os.PathLike[str], *, time: str | None = None, rate: float | str | None = None
) -> Data:
    r"""Read measured signals from a file.

    Parameters
    ----------
    path
        A table of text (with a head, units in the names or in a row of their own, decimal commas), LVM, a
        MATLAB file (5 or 7.3; vectors, tables, structures), an HDF5 file (a run file or any other with
        one-dimensional datasets), a NumPy ``.npz``, TDMS, MDF or Parquet; see
        `bondloop.measurements.read_measurements`.
    time
        Name of the channel that holds the time; unless given, one called ``time`` or ``t``, in the unit that
        its header states, seconds otherwise.
    rate
        Sample rate [Hz] of a file without time stamps, or with bad ones. A single number called ``fs``,
        ``rate``, ``dt`` or ``Ts`` in the file does as well, or a line of its head, ``Sampling Rate: 1000``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rig.csv")
    ...     _ = path.write_text(
    ...         "t [ms],u [mm],y [mm]\n" + "\n".join(f"{i},{i % 7},{i % 5}" for i in range(99))
    ...     )
    ...     data = read_data(path)
    >>> data, data.units["u"]
    (<Data: 99 samples at 1000 Hz: u, y>, 'mm')
    """
    return data_from(read_measurements(path), time, rate)


def data_from(found: Measurements, time: str | None = None, rate: float | str | None = None) -> Data:
    """Return data once it is settled when the samples were taken.

    Parameters
    ----------
    found
        What a file holds.
    time, rate
        As for `read_data`.
    """
    source = found.source
    if not found.channels:
        raise InputError(f"{source}: no columns of numbers in it; save the measured signals as vectors")
    sampling = sampling_of(found, time, rate_given=rate is not None)
    stamps, notes = sampling.stamps, (*found.notes, *sampling.notes)
    channels = {key: values for key, values in found.channels.items() if key != sampling.name}
    units = {key: found.units[key] for key in channels}
    if stamps is not None:
        # A MATLAB workspace has other vectors besides; a file whose signals all differ from time is at fault.
        fitting = {key: values for key, values in channels.items() if values.size == stamps.size}
        if fitting and len(fitting) < len(channels):
            others = ", ".join(f"'{key}' ({channels[key].size})" for key in channels if key not in fitting)
            note = (
                f"left out, for they have another length than the time ({stamps.size} samples): "
                f"{others}; signals of mixed rates must be recorded again at one rate"
            )
            notes = (*notes, note)
            channels, units = fitting, {key: units[key] for key in fitting}
    rate = sampling.rate if rate is None else rate
    data = Data.from_arrays(channels, time=stamps, rate=rate, units=units, source=source)
    return Data(data.channels, data.sample_period, data.units, data.start, source, notes + data.warnings)
