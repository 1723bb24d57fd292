"""Records as xarray datasets, for those who have xarray."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.records.record import Record


def to_dataset(record: Record) -> Any:
    """Return an ``xarray.Dataset``: one variable a channel, with its ``units``, over ``time``."""
    try:
        xarray = import_module("xarray")
    except ImportError:
        raise InputError("to_xarray() needs xarray; install it: pip install 'bondloop[xarray]'") from None
    return xarray.Dataset(
        {
            name: ("time", values, {"units": record.units[name], **record.meanings[name].describe()})
            for name, values in record.channels.items()
        },
        coords={"time": ("time", record.time, {"units": "s"})},
        attrs={"description": json.dumps(record.description), "attributes": json.dumps(record.attributes)},
    )
