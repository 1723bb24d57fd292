"""What the measures ask of the signals they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.results.assess.tolerances import LARGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from bondloop.results.records.record import Record


def same_length(**signals: ArrayLike) -> list[NDArray[np.float64]]:
    """Return the named signals as float64 rows of one length, or say which one does not fit.

    Examples
    --------
    >>> same_length(desired=[1, 2], actual=[1, 2, 3])
    Traceback (most recent call last):
    bondloop.errors.InputError: signals of one length are needed; found desired (2,), actual (3,)
    """
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in signals.items()}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) > 1 or any(array.ndim != 1 for array in arrays.values()):
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(f"signals of one length are needed; found {found}")
    if next(iter(shapes)) == (0,):
        raise InputError(f"{', '.join(arrays)}: no samples")
    return list(arrays.values())


def ratio(part: float, whole: float) -> float:
    """Return part / whole; NaN where the whole is zero, for there is nothing to compare with."""
    return float(part / whole) if whole != 0 else float("nan")


def finite_part(record: Record, names: Sequence[str]) -> tuple[list[NDArray[np.float64]], float | None]:
    """Return channels up to the first value that cannot be reckoned with, and its time if there is one."""
    signals = [record[name] for name in names]
    good = np.logical_and.reduce([np.abs(signal) < LARGEST for signal in signals])
    if good.all():
        return signals, None
    count = int(np.argmin(good))
    return [signal[:count] for signal in signals], float(record.time[count])


def mean_period(record: Record) -> float:
    """Return the mean time between samples [s]; a record in real time may lack some of them."""
    return float(record.time[-1] - record.time[0]) / (len(record) - 1)
