"""Whether a run that was repeated is the first again, to the last bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.records import Record

__all__ = ["difference"]


def difference(first: Record, again: Record) -> str:
    """Say how a record differs from another; nothing where they are equal to the last bit.

    Parameters
    ----------
    first, again
        The record of a file, and that of its repetition.

    Examples
    --------
    >>> from bondloop.records import Record
    >>> time = np.arange(3.0)
    >>> one = Record(time, {"x": time}, {"x": "m"})
    >>> difference(one, Record(time, {"x": time.copy()}, {"x": "m"}))
    ''
    >>> difference(one, Record(time, {"x": [0.0, 1.0, 2.5]}, {"x": "m"}))
    "'x' differs from t = 2 s on, by up to 0.5 m"
    """
    if list(first) != list(again):
        missing = [name for name in first if name not in again] or [n for n in again if n not in first]
        return f"the channels are others{f': {missing[0]!r} is in one alone' if missing else ''}"
    if len(first.time) != len(again.time):
        return f"it has {len(again.time)} samples in place of {len(first.time)}"
    if not _same(first.time, again.time).all():
        return "its samples stand at other times"
    places = {name: np.flatnonzero(~_same(first[name], again[name])) for name in first}
    differing = {name: at for name, at in places.items() if len(at)}
    if not differing:
        return ""
    name = min(differing, key=lambda n: int(differing[n][0]))
    a, b = first[name], again[name]
    finite = np.isfinite(a) & np.isfinite(b)
    most = f", by up to {abs(a - b)[finite].max():.3g} {first.units[name]}".rstrip() if finite.any() else ""
    others = f" (and {len(differing) - 1} more)" if len(differing) > 1 else ""
    return f"'{name}'{others} differs from t = {first.time[differing[name][0]]:.6g} s on{most}"


def _same(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether numbers are the same, the sign of zero too; NaN is NaN."""
    a, b = np.ascontiguousarray(a, dtype=float), np.ascontiguousarray(b, dtype=float)
    result: NDArray[np.bool_] = (a.view(np.uint64) == b.view(np.uint64)) | (np.isnan(a) & np.isnan(b))
    return result
