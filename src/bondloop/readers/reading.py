"""Any file of measurements."""

from __future__ import annotations

import os
from pathlib import Path

from bondloop.containers import readable
from bondloop.errors import InputError
from bondloop.readers.arrays import read_numpy
from bondloop.readers.libraries import by_library
from bondloop.readers.measured import Measurements
from bondloop.readers.reader_process import ask
from bondloop.readers.text import FIRST, from_lines, from_lvm
from bondloop.readers.text_layout import read_text

ENDINGS = {
    **dict.fromkeys((".csv", ".txt", ".tsv", ".dat", ".asc", ".lvm", ".tst"), "text"),
    ".mat": "mat",
    **dict.fromkeys((".h5", ".hdf5", ".hdf", ".nc"), "hdf5"),
    ".npz": "npz",
    ".tdms": "tdms",
    **dict.fromkeys((".mf4", ".mdf"), "mdf"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
}
"""Which reader reads files of which ending."""
NEEDS = {"mat": ["scipy.io", "h5py"], "hdf5": ["h5py"]}
"""Libraries of kinds of files that a process of its own reads."""


def read_measurements(path: str | os.PathLike[str], *, nameless: bool = False) -> Measurements:
    r"""Read whatever a recorder wrote: text, LVM, MATLAB, HDF5, NumPy, TDMS, MDF, Parquet.

    The ending of the name says which reader is taken; a ``.dat`` that begins as an MDF file is one. TDMS, MDF
    and Parquet need an extra (``pip install 'bondloop[tdms,mdf,parquet]'``). They, MATLAB and HDF5 are read
    by a process of their own: damaged files make the libraries for them loop or crash.

    Parameters
    ----------
    path
        Of the file.
    nameless
        Whether text without names is good; see `read_text_measurements`.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "rig.csv"
    >>> _ = file.write_text("Time (ms),Command (mm)\n0,1\n5,2\n")
    >>> found = read_measurements(file)
    >>> found.units
    {'Time': 'ms', 'Command': 'mm'}
    """
    file = Path(path)
    if not file.exists():
        raise InputError(f"there is no file {path}")
    if file.is_dir():
        raise InputError(f"{path} is a folder; expected a file")
    kind = ENDINGS.get(file.suffix.lower())
    if kind is None:
        known = ", ".join(list(ENDINGS)[:-1])
        raise InputError(
            f"cannot tell what {file.name} is; measured data end in {known} or {list(ENDINGS)[-1]}"
        )
    if file.suffix.lower() == ".dat" and file.is_file():
        with readable(file, "file"), file.open("rb") as content:
            kind = "mdf" if content.read(8) in (b"MDF     ", b"UnFinMF ") else kind
    if kind in ("tdms", "mdf", "parquet"):
        return by_library(file, kind)
    if kind == "npz":
        return read_numpy(file)
    if kind in NEEDS:
        return Measurements.from_parts(
            *ask("bondloop.readers.arrays:read_parts", file, NEEDS[kind], kind=kind)
        )
    lines = read_text(file).splitlines()
    if lines and lines[0].lstrip("\ufeff").startswith(FIRST):
        return from_lvm(lines, str(path))
    return from_lines(lines, str(path), nameless=nameless)
