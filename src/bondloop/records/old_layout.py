"""Run files of schema 1: a group of channels, each a dataset of its own with its unit and meaning.

Opening a dataset costs half a millisecond, and there may be a thousand. No longer written, but read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.containers import dataset_values, own_item
from bondloop.errors import InputError, unknown_name
from bondloop.records.columns import Columns, take_meaning

if TYPE_CHECKING:
    import h5py
    from numpy.typing import NDArray

__all__ = ["read_separate", "row_of_numbers", "text_of"]


def read_separate(
    base: h5py.Group,
    rows: int | None,
    size: int | None,
    wanted: Sequence[str] | None,
    faults: list[str],
    first: int = 0,
) -> Columns:
    """Return numbers, units and meanings of channels; what is wrong with them is added to the faults.

    Parameters
    ----------
    base
        A part of an open run file.
    rows
        How many samples are complete; None where all are.
    size
        How many samples time has; None where that is not known.
    wanted
        Names; all if not given.
    faults
        To which is added.
    first
        Sample from which on they are read.
    """
    import h5py

    columns: Columns = ({}, {}, {})
    arrays, units, meanings = columns
    group = own_item(base, "channels")
    if not isinstance(group, h5py.Group):
        faults.append("no group 'channels'")
        return columns
    for name in group if wanted is None else wanted:
        if name not in group:
            faults.append(unknown_name("channel", name, group))
            continue
        values = row_of_numbers(group, name, rows, size, faults, first)
        if values is None:
            continue
        unit = text_of(group[name].attrs.get("unit"))
        if unit is None:
            faults.append(f"channel '{name}' has no attribute 'unit'")
        else:
            arrays[name], units[name] = values, unit
            take_meaning(text_of(group[name].attrs.get("meaning")), name, meanings, faults)
    return columns


def row_of_numbers(
    group: h5py.Group, name: str, rows: int | None, size: int | None, faults: list[str], first: int = 0
) -> NDArray[np.float64] | None:
    """Return a dataset of one dimension; None, and a fault more, where that cannot be.

    Parameters
    ----------
    group, name
        Where it is.
    rows
        How many numbers are complete; None where all are.
    size
        How many there must be; None where any number will do.
    faults
        To which is added.
    first
        Number of the first that is read.
    """
    import h5py

    dataset = own_item(group, name)
    if not isinstance(dataset, h5py.Dataset):
        faults.append(f"no dataset '{name}'")
        return None
    if dataset.ndim != 1 or dataset.dtype.kind not in "fiu":
        faults.append(
            f"dataset '{name}' is {dataset.dtype} of shape {dataset.shape}; a row of numbers is needed"
        )
        return None
    try:
        values = np.asarray(dataset_values(dataset, rows, first), dtype=np.float64)
    except (OSError, InputError) as error:
        faults.append(f"dataset '{name}' cannot be read ({error})")
        return None
    if size is not None and values.size != size:
        faults.append(f"dataset '{name}' has {values.size} samples; time has {size}")
        return None
    return values


def text_of(value: object) -> str | None:
    """Return what an attribute or a dataset says, if it is text.

    >>> text_of(b"m/s"), text_of("m/s"), text_of(3)
    ('m/s', 'm/s', None)
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else None
