"""Records as MATLAB files (version 5)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.records.replacing import replacing

if TYPE_CHECKING:
    from bondloop.records.record import Record

LONGEST = 63
"""MATLAB's ``namelengthmax``."""
_TAKEN = ["time", "channel_names", "description", "attributes"]
_KEYWORDS = {
    "break", "case", "catch", "classdef", "continue", "else", "elseif", "end", "for", "function", "global",
    "if", "otherwise", "parfor", "persistent", "return", "spmd", "switch", "try", "while",
}  # fmt: skip
_LIMIT = 2**31 - 1


def matlab_names(names: Iterable[str]) -> dict[str, str]:
    """Return a legal, unique MATLAB name for each path name.

    Examples
    --------
    >>> matlab_names(["m3.v.flow", "m3.v_flow", "2nd", "end"])
    {'m3.v.flow': 'm3_v_flow', 'm3.v_flow': 'm3_v_flow_2', '2nd': 'x_2nd', 'end': 'x_end'}
    """
    legal: dict[str, str] = {}
    taken = {name.lower() for name in _TAKEN}
    for name in names:
        stem = re.sub(r"[^A-Za-z0-9_]", "_", name)
        if not re.match(r"[A-Za-z]", stem) or stem in _KEYWORDS:
            stem = f"x_{stem}"
        candidate, number = stem[:LONGEST], 1
        while candidate.lower() in taken:
            number += 1
            ending = f"_{number}"
            candidate = stem[: LONGEST - len(ending)] + ending
        taken.add(candidate.lower())
        legal[name] = candidate
    return legal


def write_mat(record: Record, path: str | os.PathLike[str]) -> None:
    """Write columns, and the cell table ``channel_names``: variable, path name, unit."""
    from scipy.io import savemat

    if record.time.nbytes > _LIMIT:
        raise InputError("a MATLAB 5 variable ends at 2 GiB; save as HDF5, which MATLAB reads with h5read")
    names = matlab_names(record.channels)
    mapping = np.empty((len(names), 3), dtype=object)
    for row, (name, legal) in enumerate(names.items()):
        mapping[row] = legal, name, record.units[name]
    content = {
        "time": record.time,
        **{legal: record.channels[name] for name, legal in names.items()},
        "channel_names": mapping,
        "description": json.dumps(record.description),
        "attributes": json.dumps(record.attributes),
    }
    with replacing(path) as temporary:
        savemat(str(temporary), content, appendmat=False, oned_as="column", do_compression=True)
