"""What becomes known of a run when its file is written already."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from bondloop.records.columns import fixed_texts
from bondloop.records.hdf5 import read_run

__all__ = ["amend_run"]


def amend_run(path: str | os.PathLike[str], more: Mapping[str, object]) -> None:
    """Add attributes to a run file that nobody writes any more, or replace them.

    Parameters
    ----------
    path
        The file.
    more
        Attributes, by name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from bondloop.records import Record
    >>> from bondloop.records.hdf5 import write_run
    >>> path = Path(tempfile.mkdtemp()) / "run.h5"
    >>> write_run(Record(np.zeros(1), {"x": np.zeros(1)}, {"x": "m"}, {}, {"status": "completed"}), path)
    >>> amend_run(path, {"status": "stopped", "message": "the rig did not get there"})
    >>> read_run(path).attributes
    {'status': 'stopped', 'message': 'the rig did not get there'}
    """
    import h5py

    attributes = {**read_run(path, []).attributes, **more}
    with h5py.File(path, "r+") as file:
        del file["attributes"]
        file["attributes"] = fixed_texts([json.dumps(attributes)])[0]
        if "status" in more:
            file.attrs["status"] = str(more["status"])
