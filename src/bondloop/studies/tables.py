"""Many tests as a file, or as a table of another package."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from numpy.typing import NDArray

__all__ = ["data_frame", "data_set", "replacing", "write_csv", "write_parquet"]


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a file to write to, which takes the place of another when it is complete; else that one stays.

    Parameters
    ----------
    target
        The file to replace.
    """
    scratch = target.with_name(f"{target.name}.unfinished")
    try:
        yield scratch
        scratch.replace(target)
    except OSError as error:
        raise BondloopError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)


def write_csv(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns as CSV.

    Parameters
    ----------
    path
        Of the file.
    columns
        By name, all of one length.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(c.tolist() for c in columns.values()), strict=True))


def write_parquet(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns as Parquet.

    Parameters
    ----------
    path
        Of the file.
    columns
        By name, all of one length.
    """
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(dict(columns)), path)


def data_frame(columns: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
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
    return pd.DataFrame(dict(columns))


def data_set(columns: Mapping[str, NDArray[Any]], about: Mapping[str, str]) -> xr.Dataset:
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
    # Its numbers are the coordinate, as they have the name of the dimension.
    return xr.Dataset({name: ("test", values, drawn[name]) for name, values in columns.items()})
