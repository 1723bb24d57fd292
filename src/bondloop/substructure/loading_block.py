"""A rigid loading block held by actuators, as a coupler from geometry."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.structures.reduction.coordinates import stroke_rows
from bondloop.substructure.coupler import LinearCoupler

__all__ = ["loading_block"]

COORDINATES = ("x", "y", "z", "rx", "ry", "rz")
"""What a body in space can do."""


def loading_block(
    points: Sequence[Sequence[float]],
    *,
    directions: Sequence[Sequence[float]] = (),
    anchors: Sequence[Sequence[float]] = (),
    coordinates: Sequence[str] = COORDINATES,
) -> LinearCoupler:
    """Return the coupler of a rigid block that actuators hold, for small rotations.

    A pin at r moves by u + θ × r; the stroke is that along the actuator. For one plane and any rotation there
    is `Pins`.

    Parameters
    ----------
    points
        Where actuators are pinned to the block, (x, y, z) each, in m from the point whose motion is that of
        the interface.
    directions, anchors
        Of the actuators: in which direction each pushes, or where its other end is, in m from the same point.
    coordinates
        What the interface's coordinates are, in its order; as many as actuators. All six by default.

    Examples
    --------
    Three actuators for a plane: two along x, 1 m apart, one along y.

    >>> block = loading_block(
    ...     [[0, 0.5, 0], [0, -0.5, 0], [0.2, 0, 0]],
    ...     directions=[[1, 0, 0], [1, 0, 0], [0, 1, 0]],
    ...     coordinates=("x", "y", "rz"),
    ... )
    >>> block.matrix
    ((1.0, 0.0, -0.5), (1.0, 0.0, 0.5), (0.0, 1.0, 0.2))
    """
    for name in coordinates:
        if name not in COORDINATES:
            raise InputError(unknown_name("coordinate", str(name), COORDINATES, where="a loading block"))
    if len(set(coordinates)) != len(coordinates) or len(coordinates) != len(points):
        raise InputError(
            f"a loading block has as many different coordinates as actuators; found {len(points)} actuators "
            f"and the coordinates {', '.join(coordinates)}"
        )
    rows = stroke_rows(points, directions, anchors)[:, [COORDINATES.index(c) for c in coordinates]]
    size = np.abs(rows).max(axis=0, initial=1e-300)
    if not np.linalg.cond(rows / size) < 1e9:
        raise InputError(
            "some motion of the block moves no actuator, so the actuators cannot hold it; move a pin or turn "
            "an actuator"
        )
    return LinearCoupler(tuple(tuple(row) for row in (rows + 0.0).tolist()))
