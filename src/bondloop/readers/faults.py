"""Everything that is wrong with a file or a record, said at once."""

from __future__ import annotations

from collections.abc import Sequence

from bondloop.errors import InputError
from bondloop.readers.policy import LIMITS


def refuse(where: str, faults: Sequence[str]) -> None:
    """Raise one `InputError` that lists all the faults; do nothing when there are none.

    Examples
    --------
    >>> refuse("run.h5", [])
    >>> refuse("run.h5", ["no dataset 'time'", "no dataset 'description'"])
    Traceback (most recent call last):
    bondloop.errors.InputError: run.h5: 2 faults: no dataset 'time'; no dataset 'description'
    """
    if not faults:
        return
    if len(faults) == 1:
        raise InputError(f"{where}: {faults[0]}")
    more = f"; and {len(faults) - LIMITS.faults} more" if len(faults) > LIMITS.faults else ""
    raise InputError(f"{where}: {len(faults)} faults: " + "; ".join(faults[: LIMITS.faults]) + more)
