"""How a structure goes with the ground, as data: what matrices that are written entry by entry take along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError
from bondloop.structures.elements.base import DOFS
from bondloop.structures.footing import Footing, Known

if TYPE_CHECKING:
    from bondloop.structures.elements.base import Array

__all__ = ["footing_data", "footing_from"]

MANY = 60
"""Most supports that are written, each with its solution; of more, the directions alone."""


def footing_data(footing: Footing, dofs: Sequence[str]) -> dict[str, Any]:
    """Return motions, loads and drags by direction and support, as `Matrices` takes them for its ``ground``.

    Parameters
    ----------
    footing
        How a structure goes with the ground.
    dofs
        Names whose motion is asked for; those that are no places of the structure are left out.
    """
    names = [d for d in dofs if d in footing.names]
    supports = [*footing.known.supports, *footing.known.told]
    motions, loads, drags = {}, {}, {}
    for where in [*footing.rigid, *(supports if len(supports) <= MANY else ())]:
        try:
            motion = footing.motion(where)
        except InputError:  # a mechanism, which does not follow one support
            continue
        motions[where] = [motion[d] for d in names]
        loads[where] = footing.load(where).tolist()
        drag = footing.drag(where)
        if np.any(drag):
            drags[where] = drag.tolist()
    reduced = footing.basis is not None
    return {"reduced": reduced, "dofs": names, "motions": motions, "loads": loads, "drags": drags}


def footing_from(data: object, count: int) -> Footing:
    """Return the footing that `footing_data` describes.

    Parameters
    ----------
    data
        What it gave.
    count
        Number of coordinates on which the loads act.

    Examples
    --------
    >>> data = {"reduced": True, "dofs": ["top.ux"], "motions": {"ux": [1.0]}, "loads": {"ux": [-2.0, -0.5]}}
    >>> footing = footing_from(data, 2)
    >>> (
    ...     footing.motion("ux"),
    ...     footing.load("ux").tolist(),
    ...     footing_data(footing, ["top.ux"]) == {**data, "drags": {}},
    ... )
    ({'top.ux': 1.0}, [-2.0, -0.5], True)
    """
    words = {"reduced", "dofs", "motions", "loads", "drags"}
    if not isinstance(data, Mapping) or not {"dofs", "motions", "loads"} <= set(data) <= words:
        raise InputError(
            "ground of matrices: expected dofs, and by direction motions (one number for each of them) and "
            f"loads (one for each coordinate); found {data!r:.60}"
        )
    names = tuple(data["dofs"])
    drags = data.get("drags", {})
    rigid: dict[str, tuple[Array, Array]] = {}
    told: dict[str, tuple[Array, Array, Array]] = {}
    for where, motion in data["motions"].items():
        r = _row(where, "motions", motion, len(names))
        inertia = -_row(where, "loads", data["loads"].get(where), count)
        drag = -_row(where, "drags", drags.get(where, [0.0] * count), count)
        if where in DOFS:
            rigid[where] = (r, inertia)
        else:
            told[where] = (r, inertia, drag)
    known = Known(rigid, told=told)
    return Footing(names, (None, None), lambda: known, np.eye(count) if data.get("reduced", True) else None)


def _row(where: str, word: str, given: object, count: int) -> Array:
    try:
        row = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        row = np.zeros(0)
    if row.shape != (count,) or not np.all(np.isfinite(row)):
        raise InputError(f"ground of matrices: {word}.{where}: expected {count} numbers; found {given!r:.60}")
    return row
