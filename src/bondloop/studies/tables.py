"""Many tests as a table of another package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["data_frame", "data_set"]


def data_frame(columns: Mapping[str, NDArray[Any]]) -> Any:
    """Return columns as a table of pandas, a row for each test.

    Parameters
    ----------
    columns
        By name, all of one length.
    """
    try:
        import pandas as pd
    except ImportError:
        raise InputError(
            "to_pandas() needs pandas ('pip install pandas'); found['error'] is an array without it"
        ) from None
    return pd.DataFrame(dict(columns)).rename_axis("test")


def data_set(columns: Mapping[str, NDArray[Any]], about: Mapping[str, str]) -> Any:
    """Return columns as a data set of xarray.

    Parameters
    ----------
    columns
        By name, all of one length.
    about
        How some of them were drawn, by name.
    """
    try:
        import xarray as xr
    except ImportError:
        raise InputError(
            "to_xarray() needs xarray ('pip install xarray'); found['error'] is an array without it"
        ) from None
    drawn = {name: {"distribution": about[name]} if name in about else {} for name in columns}
    return xr.Dataset({name: ("test", values, drawn[name]) for name, values in columns.items()})
