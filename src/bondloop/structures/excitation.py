"""Forces on a structure: where they act, and their course in time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.structures.matrices import Matrices

__all__ = ["Force", "Place", "courses", "pattern"]

Place = str | Sequence[str] | Mapping[str, float]
"""A degree of freedom, several, or one pattern of forces with amplitudes."""
Course = Callable[[float], Any]
Force = Mapping[str, Any] | Course | Any
"""Forces by degree of freedom (arrays, functions of time), a function of time that gives all, or an array."""

EXPECTED = (
    "expected forces by degree of freedom, {'a.ux': numbers, a function of time or one number}, a function "
    "of time that gives all, or an array with a row per instant"
)


def pattern(matrices: Matrices, place: Place) -> NDArray[np.float64]:
    """Return unit forces as columns, shape (n, forces).

    Parameters
    ----------
    matrices
        The model.
    place
        One degree of freedom or several: a column each; a mapping: one column with those amplitudes.
    """
    n = len(matrices)
    if isinstance(place, Mapping):
        column = np.zeros((n, 1))
        column[matrices.indices(place), 0] = list(place.values())
        return column
    names = [place] if isinstance(place, str) else list(place)
    columns = np.zeros((n, len(names)))
    columns[matrices.indices(names), np.arange(len(names))] = 1.0
    return columns


def courses(
    matrices: Matrices, force: Force, sample_period: float, steps: int | None
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64]]:
    """Return where forces act, (n, forces) or None for everywhere, and their values, (steps + 1, forces).

    Parameters
    ----------
    matrices
        The model.
    force
        By degree of freedom: an array with a value per instant, a function of time or a number; or a
        function of time that gives a vector of n forces; or an array of shape (steps + 1, n).
    sample_period
        Seconds between instants.
    steps
        How many steps; needed where no array says it.
    """
    if steps is not None and steps < 1:
        raise InputError(f"steps must be at least 1; found {steps}")
    if isinstance(force, Mapping):
        force = {
            name: f if callable(f) else numbers(f, f"the force on '{name}'", most=1)
            for name, f in force.items()
        }
        lengths = {len(f) for f in force.values() if not callable(f) and np.ndim(f)}
        count = _count(lengths, steps)
        instants = np.arange(count + 1, dtype=np.float64) * sample_period
        columns = [_column(f, instants, name) for name, f in force.items()]
        values = np.stack(columns, axis=1) if columns else np.zeros((count + 1, 0))
        return pattern(matrices, list(force)), values
    if callable(force):
        count = _count(set(), steps)
        rows = [numbers(force(t), f"force at {t:g} s") for t in sample_period * np.arange(count + 1)]
        shapes = {row.shape for row in rows}
        if shapes != {(len(matrices),)}:
            raise InputError(
                f"force: expected a function that gives {len(matrices)} forces, one for each degree of "
                f"freedom, at every time; found shapes {sorted(shapes)}. One signal for one of them is given "
                "by name: {'" + matrices.dofs[0] + "': signal}"
            )
        values = np.array(rows)
    else:
        values = numbers(force, "force")
        if not values.ndim:
            raise InputError(f"force: {EXPECTED}; found {force!r:.60}")
        count = _count({len(values)}, steps)
        values = values[: count + 1]
    if values.shape != (count + 1, len(matrices)):
        raise InputError(
            f"force: expected shape ({count + 1}, {len(matrices)}), a row per instant and a column per "
            f"degree of freedom; found {values.shape}"
        )
    return None, _finite(values, "force")


def numbers(values: object, what: str, most: int = 2) -> NDArray[np.float64]:
    """Return real numbers as an array, or say what there is instead.

    Parameters
    ----------
    values
        What was given.
    what
        What it is, for the words.
    most
        How many dimensions it may have.

    Examples
    --------
    >>> numbers("10 kN", "the force on 'a.ux'")
    Traceback (most recent call last):
    bondloop.errors.InputError: the force on 'a.ux': expected forces by degree of freedom...; found '10 kN'
    """
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what}: {EXPECTED}; found {values!r:.60}") from None
    if array.ndim > most:
        raise InputError(
            f"{what}: expected {('one number', 'one number per instant', 'a table')[most]}; found an array "
            f"of shape {array.shape}"
        )
    return array


def _count(lengths: set[int], steps: int | None) -> int:
    if steps is None:
        if len(lengths) != 1:
            raise InputError(
                "give steps=..., or forces as arrays of one length"
                + (f"; found lengths {sorted(lengths)}" if lengths else "")
            )
        return lengths.pop() - 1
    short = [n for n in lengths if n < steps + 1]
    if short:
        raise InputError(f"{steps} steps need {steps + 1} values of every force; found {min(short)}")
    return steps


def _column(
    force: Callable[[float], object] | NDArray[np.float64], instants: NDArray[np.float64], name: str
) -> NDArray[np.float64]:
    if callable(force):
        values: ArrayLike = [float(numbers(force(t), f"the force on '{name}'", most=0)) for t in instants]
    else:
        values = np.broadcast_to(force, len(instants)) if not np.ndim(force) else force[: len(instants)]
    return _finite(np.asarray(values, dtype=float), f"the force on '{name}'")


def _finite(values: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    if not np.all(np.isfinite(values)):
        k = int(np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))[0])
        raise InputError(f"{what} is not finite at instant {k}")
    return values
