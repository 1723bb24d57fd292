"""Couplers: the geometry between actuators and the coordinates in which a structure is cut.

Several actuators hold one body. The structure knows the body's motion q (a translation and a rotation, say),
the actuators know their strokes s(q). Velocities go one way and forces the other, with the same slopes:
ds/dt = J dq/dt and f = Jᵀ F, J = ∂s/∂q, so the coupler neither takes nor gives power.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import Described, number
from bondloop.engine.ir import Assign, Const, Expr, Update, Var, function
from bondloop.engine.passes import Applied, Context
from bondloop.errors import InputError, unknown_name
from bondloop.structures import stroke_rows

if TYPE_CHECKING:
    from bondloop.engine.ir import Step


COORDINATES = ("x", "y", "theta")
"""What a plane body can do."""


class Coupler(Described, ABC, family="coupler"):
    """Geometry between the coordinates of an interface (the pose) and the strokes of as many actuators.

    Examples
    --------
    >>> [issubclass(kind, Coupler) for kind in (LinearCoupler, Pins)]
    [True, True]
    """

    __repr__ = brief

    @property
    @abstractmethod
    def size(self) -> int:
        """How many coordinates, and actuators."""

    @abstractmethod
    def strokes(self, pose: Sequence[Expr]) -> list[Expr]:
        """Return the strokes of the actuators at a pose; zero at the pose zero."""

    @abstractmethod
    def slopes(self, pose: Sequence[Expr]) -> list[list[Expr]]:
        """Return J at a ``pose``: a row for each actuator, a column for each coordinate."""

    @abstractmethod
    def inverse(self, pose: Sequence[Expr]) -> list[list[Expr]]:
        """Return the inverse of J at a ``pose``."""

    def rates(self, pose: Sequence[Expr], velocities: Sequence[Expr]) -> list[Expr]:
        """Return the rates of the coordinates at a ``pose`` and ``velocities`` of the actuators."""
        return [_dot(row, velocities) for row in self.inverse(pose)]

    def velocities(self, pose: Sequence[Expr], rates: Sequence[Expr]) -> list[Expr]:
        """Return the velocities of the actuators at a ``pose`` and ``rates`` of the coordinates."""
        return [_dot(row, rates) for row in self.slopes(pose)]

    def efforts(self, pose: Sequence[Expr], forces: Sequence[Expr]) -> list[Expr]:
        """Return the forces in the coordinates that ``forces`` of the actuators at a ``pose`` amount to."""
        return [_dot(column, forces) for column in zip(*self.slopes(pose), strict=True)]

    def forces(self, pose: Sequence[Expr], efforts: Sequence[Expr]) -> list[Expr]:
        """Return the forces of the actuators that at a ``pose`` amount to ``efforts`` in the coordinates."""
        return [_dot(column, efforts) for column in zip(*self.inverse(pose), strict=True)]

    def pose(
        self, strokes: Sequence[Expr], context: Context, iterations: int = 4
    ) -> tuple[Applied, list[Expr]]:
        """Return the statements that find the pose of measured strokes, and the pose.

        Newton's method from the last sample's pose, with a fixed number of steps.

        Parameters
        ----------
        strokes
            How far each actuator is out, in m.
        context
            Where it stands in the tick: names, tick number, period.
        iterations
            Newton steps; each doubles the digits, and the first are those of the last sample.
        """
        last = [Var(f"{context.name}.last[{i}]") for i in range(self.size)]
        steps: list[Step] = []
        q: list[Expr] = list(last)
        for k in range(iterations):
            error = [s - measured for s, measured in zip(self.strokes(q), strokes, strict=True)]
            q = _assigned(
                [x - dx for x, dx in zip(q, self.rates(q, error), strict=True)],
                f"{context.name}.step[{k}]",
                steps,
            )
        steps.append(Update(tuple(zip(last, q, strict=True))))
        return Applied(steps, q[0], dict.fromkeys(last, 0.0)), q


@dataclass(frozen=True)
class LinearCoupler(Coupler):
    """A coupler whose strokes are a matrix times the coordinates: small rotations, levers, modes.

    Parameters
    ----------
    matrix
        Rows of numbers, one row for each actuator: strokes in m per unit of each coordinate (m, rad).

    Examples
    --------
    Two actuators 254 mm apart hold a body that translates and rotates:

    >>> coupler = LinearCoupler(((1, 0.127), (1, -0.127)))
    >>> [e.value for e in coupler.efforts([], [Const(100.0), Const(100.0)])]
    [200.0, 0.0]
    """

    matrix: tuple[tuple[float, ...], ...]

    __repr__ = brief

    def __post_init__(self) -> None:
        try:
            T = np.array(self.matrix, dtype=float)
        except (TypeError, ValueError):
            T = np.zeros(0)
        if T.ndim != 2 or T.shape[0] != T.shape[1] or not T.size or not np.isfinite(T).all():
            raise InputError(
                "LinearCoupler(matrix): expected as many rows (actuators) as columns (coordinates) of "
                f"numbers, ((1, 0.1), (1, -0.1)); found {self.matrix!r:.60}"
            )
        if np.linalg.cond(T) > 1e12:
            raise InputError(
                "LinearCoupler(matrix): it has no inverse, so some motion of the interface moves no "
                f"actuator; found {self.matrix!r:.60}"
            )
        object.__setattr__(self, "matrix", tuple(tuple(row) for row in T.tolist()))

    @property
    def size(self) -> int:
        """How many coordinates, and actuators."""
        return len(self.matrix)

    def strokes(self, pose: Sequence[Expr]) -> list[Expr]:
        """Return the matrix times the pose."""
        return [_dot(row, pose) for row in self.slopes(pose)]

    def slopes(self, pose: Sequence[Expr]) -> list[list[Expr]]:  # noqa: ARG002 - the same everywhere
        """Return the matrix."""
        return [[Const(x) for x in row] for row in self.matrix]

    def inverse(self, pose: Sequence[Expr]) -> list[list[Expr]]:  # noqa: ARG002
        """Return its inverse."""
        return [[Const(x) for x in row] for row in np.linalg.inv(np.array(self.matrix)).tolist()]

    def pose(
        self,
        strokes: Sequence[Expr],
        context: Context,
        iterations: int = 0,  # noqa: ARG002
    ) -> tuple[Applied, list[Expr]]:
        """Return the inverse times the strokes."""
        steps: list[Step] = []
        q = _assigned(self.rates(strokes, strokes), f"{context.name}.now", steps)
        return Applied(steps, q[0]), q


@dataclass(frozen=True)
class Pins(Coupler):
    """A rigid body in a plane, held by actuators at pins: exact, whatever the rotation.

    A pin at r moves to (x, y) + R(θ) r. The stroke of a long actuator is how far its pin has moved in the
    actuator's direction; that of a short one, with an anchor b, how much farther the pin is from b.

    Parameters
    ----------
    points
        Where the pins are when the pose is zero, (x, y) in m from the point whose motion the interface is.
    coordinates
        What the interface's coordinates are, in its order: two or three of ``"x"``, ``"y"``, ``"theta"``
        (counter-clockwise), one only for one actuator.
    directions
        Of long actuators, (x, y) each; all along x unless given.
    anchors
        Of short actuators: where their other ends are, (x, y) in m from the same point.

    Examples
    --------
    >>> pins = Pins(((0.2667, 0.127), (0.2667, -0.127)))
    >>> [round(e.value, 6) for e in pins.strokes([Const(0.001), Const(0.0)])]
    [0.001, 0.001]
    >>> J = pins.slopes([Const(0.0), Const(0.0)])
    >>> [[round(e.value, 6) for e in row] for row in J]
    [[1.0, -0.127], [1.0, 0.127]]
    """

    points: tuple[tuple[float, float], ...]
    coordinates: tuple[str, ...] = ("x", "theta")
    directions: tuple[tuple[float, float], ...] = ()
    anchors: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        for word in ("points", "directions", "anchors"):
            object.__setattr__(self, word, _points(getattr(self, word), word))
        object.__setattr__(self, "coordinates", tuple(self.coordinates))
        for name in self.coordinates:
            if name not in COORDINATES:
                raise InputError(unknown_name("coordinate", str(name), COORDINATES, where="Pins"))
        n = len(self.points)
        if len(set(self.coordinates)) != n or len(self.coordinates) != n:
            raise InputError(
                f"Pins: expected as many different coordinates as pins; found {n} pins and the coordinates "
                f"{', '.join(self.coordinates) or 'none'}"
            )
        for word in ("directions", "anchors"):
            if getattr(self, word) and len(getattr(self, word)) != n:
                raise InputError(f"Pins({word}): expected one for each of {n} pins, or none")
        if self.directions and self.anchors:
            raise InputError("Pins: an actuator has a direction or an anchor; give one of the two")
        if any(not math.hypot(*d) > 0 for d in self.directions):
            raise InputError("Pins(directions): expected directions that are not zero")
        if any(math.dist(a, b) == 0 for a, b in zip(self.points, self.anchors, strict=False)):
            raise InputError("Pins(anchors): an actuator begins where it ends; move its anchor")
        J = np.array([[_value(e) for e in row] for row in self.slopes([Const(0.0)] * n)])
        if not np.linalg.cond(J / np.abs(J).max(axis=0, initial=1e-300)) < 1e9:
            raise InputError(
                "Pins: some motion of the body moves no actuator, so the actuators cannot hold it; move a "
                "pin or turn an actuator"
            )

    @property
    def size(self) -> int:
        """How many coordinates, and actuators."""
        return len(self.points)

    def _moved(self, pose: Sequence[Expr]) -> list[tuple[tuple[Expr, Expr], tuple[Expr, Expr]]]:
        """Return for each pin how far it has moved, and its slope over the rotation."""
        q: dict[str, Expr] = dict.fromkeys(COORDINATES, Const(0.0))
        q.update(zip(self.coordinates, pose, strict=True))
        c, s = function("cos", q["theta"]), function("sin", q["theta"])
        return [
            (
                (q["x"] + (c - 1.0) * a - s * b, q["y"] + s * a + (c - 1.0) * b),
                (-s * a - c * b, c * a - s * b),
            )
            for a, b in self.points
        ]

    def _directions(self, moved: Sequence[tuple[Expr, Expr]]) -> list[tuple[Expr, Expr, Expr]]:
        """Return for each actuator its direction and its length; that of a long one counts as zero."""
        if self.anchors:
            result = []
            for (dx, dy), (a, b), (p, q) in zip(moved, self.points, self.anchors, strict=True):
                x, y = dx + (a - p), dy + (b - q)
                length = function("sqrt", x * x + y * y)
                result.append((x / length, y / length, length))
            return result
        given = self.directions or ((1.0, 0.0),) * self.size
        sizes = [math.hypot(*d) for d in given]
        return [(Const(x / n), Const(y / n), Const(0.0)) for (x, y), n in zip(given, sizes, strict=True)]

    def strokes(self, pose: Sequence[Expr]) -> list[Expr]:
        """Return how far the actuators have moved."""
        moved = [m for m, _ in self._moved(pose)]
        ways = self._directions(moved)
        if self.anchors:
            rest = [math.dist(a, b) for a, b in zip(self.points, self.anchors, strict=True)]
            return [length - Const(r) for (_, _, length), r in zip(ways, rest, strict=True)]
        return [ex * x + ey * y for (ex, ey, _), (x, y) in zip(ways, moved, strict=True)]

    def slopes(self, pose: Sequence[Expr]) -> list[list[Expr]]:
        """Return J."""
        pins = self._moved(pose)
        rows = []
        for (ex, ey, _), (_, (tx, ty)) in zip(self._directions([m for m, _ in pins]), pins, strict=True):
            columns = {"x": ex, "y": ey, "theta": ex * tx + ey * ty}
            rows.append([columns[name] for name in self.coordinates])
        return rows

    def inverse(self, pose: Sequence[Expr]) -> list[list[Expr]]:
        """Return the inverse of J, by Cramer's rule: it has at most three rows."""
        J = self.slopes(pose)
        n = self.size
        whole = _determinant(J)
        return [
            [(1 if (i + k) % 2 == 0 else -1) * _determinant(_without(J, k, i)) / whole for k in range(n)]
            for i in range(n)
        ]


def _dot(weights: Sequence[Expr], values: Sequence[Expr]) -> Expr:
    total: Expr = Const(0.0)
    for w, v in zip(weights, values, strict=True):
        total = total + w * v
    return total


def _determinant(rows: Sequence[Sequence[Expr]]) -> Expr:
    if not rows:
        return Const(1.0)
    total: Expr = Const(0.0)
    for j, entry in enumerate(rows[0]):
        total = total + (1 if j % 2 == 0 else -1) * entry * _determinant(_without(rows, 0, j))
    return total


def _without(rows: Sequence[Sequence[Expr]], row: int, column: int) -> list[list[Expr]]:
    return [[e for j, e in enumerate(r) if j != column] for i, r in enumerate(rows) if i != row]


def _assigned(values: Sequence[Expr], name: str, steps: list[Step]) -> list[Expr]:
    targets = [Var(f"{name}.pose[{i}]") for i in range(len(values))]
    steps += [Assign(t, v) for t, v in zip(targets, values, strict=True)]
    return list(targets)


def _value(e: Expr) -> float:
    assert isinstance(e, Const)  # of constants all that follows is a constant
    return e.value


def _points(given: Iterable[Iterable[float | str]], word: str) -> tuple[tuple[float, float], ...]:
    try:
        rows = [tuple(p) for p in given]
        if all(len(p) == 2 for p in rows) and (rows or word != "points"):
            what, unit = f"Pins({word})", "1" if word == "directions" else "m"
            return tuple((number(x, what, unit), number(y, what, unit)) for x, y in rows)
    except TypeError:
        pass
    raise InputError(f"Pins({word}): expected (x, y) for each actuator; found {given!r:.60}")


SPACE_COORDINATES = ("x", "y", "z", "rx", "ry", "rz")
"""What a body in space can do."""


def loading_block(
    points: Sequence[Sequence[float]],
    *,
    directions: Sequence[Sequence[float]] = (),
    anchors: Sequence[Sequence[float]] = (),
    coordinates: Sequence[str] = SPACE_COORDINATES,
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
        if name not in SPACE_COORDINATES:
            raise InputError(
                unknown_name("coordinate", str(name), SPACE_COORDINATES, where="a loading block")
            )
    if len(set(coordinates)) != len(coordinates) or len(coordinates) != len(points):
        raise InputError(
            f"a loading block has as many different coordinates as actuators; found {len(points)} actuators "
            f"and the coordinates {', '.join(coordinates)}"
        )
    rows = stroke_rows(points, directions, anchors)[:, [SPACE_COORDINATES.index(c) for c in coordinates]]
    size = np.abs(rows).max(axis=0, initial=1e-300)
    if not np.linalg.cond(rows / size) < 1e9:
        raise InputError(
            "some motion of the block moves no actuator, so the actuators cannot hold it; move a pin or turn "
            "an actuator"
        )
    return LinearCoupler(tuple(tuple(row) for row in (rows + 0.0).tolist()))
