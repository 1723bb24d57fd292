"""Loads: spread over members, of temperature, and forces with their course in time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.structures.elements.bars_and_springs import Bar
from bondloop.structures.elements.base import DOFS, Array, block_diagonal
from bondloop.structures.elements.beams import Frame2D, Frame3D

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.structures.elements.base import Element
    from bondloop.structures.matrices import Matrices
    from bondloop.structures.structure import Structure


def distributed_load(structure: Structure, elements: Iterable[str], force: Array) -> Array:
    """Consistent forces of a uniform load, on 6 · node + dof.

    The load's shape functions are the mass's, so that the load of 1 N/m is M r of a member that weighs
    1 kg/m; with released ends this is the load of the released member.

    Parameters
    ----------
    structure
        What carries the load.
    elements
        Names of members, or one that several share: ``"girder"`` for ``"girder[0]"``, ``"girder[1]"``, ...
    force
        Global components of the load in N per m of member, shape (3,).
    """
    place = {name: i for i, name in enumerate(structure.nodes)}
    load = np.zeros(6 * len(place))
    coordinates = structure.coordinates
    for name in chosen(structure, elements):
        e: Any = structure.elements[name]
        if not hasattr(e, "rho"):
            raise InputError(f"structure '{structure.name}': {name} is no member that could carry a load")
        xyz = coordinates[[place[n] for n in e.nodes]]
        dofs = np.array([DOFS.index(d) for d in e.node_dofs])
        unit = replace(e, rho=1 / float(e.A))
        f = type(e).blocks([unit], xyz[None]).M[0] @ np.tile(np.append(force, np.zeros(3))[dofs], 2)
        whole = force * np.linalg.norm(xyz[1] - xyz[0])
        carried = np.bincount(np.tile(dofs, 2), weights=f, minlength=6)[:3]
        if np.abs(carried - whole).max() > 1e-9 * np.abs(whole).max():
            raise InputError(
                f"structure '{structure.name}': {name} cannot carry {force.tolist()} N/m: a beam bears "
                "nothing along its axis, a plane member nothing out of its plane"
            )
        np.add.at(load, np.concatenate([6 * place[n] + dofs for n in e.nodes]), f)
    return load


def chosen(structure: Structure, elements: Iterable[str]) -> list[str]:
    """Names of elements, with shared names spelt out."""
    groups: dict[str, list[str]] = {}
    for name in structure.elements:
        groups.setdefault(name.partition("[")[0], []).append(name)
    names: list[str] = []
    for wanted in elements:
        if wanted not in structure.elements and wanted not in groups:
            known = (*structure.elements, *groups)
            raise InputError(
                f"structure '{structure.name}': load on {unknown_name('element', wanted, known)}"
            )
        names += [wanted] if wanted in structure.elements else groups[wanted]
    return names


def thermal_load(
    structure: Structure, elements: Iterable[str], strain: float, curvatures: tuple[float, float]
) -> Array:
    """Return the forces of free strains that members would have, on 6 · node + dof.

    A member that may not lengthen by ε or bend by κ presses with EAε and EIκ: f = ∫ Bᵀ E (ε, κ) dx, which for
    constant values are forces along its axis and moments at its ends.

    Parameters
    ----------
    structure
        What is heated.
    elements
        Names of members, or one that several share.
    strain
        α ΔT, along the axis.
    curvatures
        α times the rise of temperature per m along the local y and z.
    """
    place = {name: i for i, name in enumerate(structure.nodes)}
    load = np.zeros(6 * len(place))
    coordinates = structure.coordinates
    for name in chosen(structure, elements):
        e: Element = structure.elements[name]
        what = f"structure '{structure.name}': {name}"
        if not isinstance(e, (Bar, Frame2D, Frame3D)):
            raise InputError(f"{what} does not expand; bars and frame members do")
        xyz = coordinates[[place[n] for n in e.nodes]]
        f = _bar(e, xyz, strain) if isinstance(e, Bar) else _frame(e, xyz, strain, curvatures, what)
        if isinstance(e, Bar) and any(curvatures):
            raise InputError(f"{what} is a bar, which does not bend; give it no gradient")
        dofs = np.array([DOFS.index(d) for d in e.node_dofs])
        np.add.at(load, np.concatenate([6 * place[n] + dofs for n in e.nodes]), f)
    return load


def _bar(bar: Bar, xyz: Array, strain: float) -> Array:
    axis = (xyz[1] - xyz[0]) / np.linalg.norm(xyz[1] - xyz[0])
    return float(bar.E) * float(bar.A) * strain * np.concatenate([-axis, axis])


def _frame(
    e: Frame2D | Frame3D, xyz: Array, strain: float, curvatures: tuple[float, float], what: str
) -> Array:
    """Return forces in global axes, with released rotations condensed as in the stiffness."""
    along_y, along_z = curvatures
    E = float(e.E)
    axial = E * float(e.A) * strain
    # A fibre at y lengthens by α g y, and -y v'' is the strain of bending: v'' = -α g.
    if isinstance(e, Frame2D):
        if along_z:
            raise InputError(f"{what} is a plane member, which does not bend along z")
        moment = E * float(e.I) * along_y
        f = np.array([-axial, 0, moment, axial, 0, -moment])
    else:
        about_z, about_y = E * float(e.Iz) * along_y, E * float(e.Iy) * along_z
        f = np.zeros(12)
        f[[0, 6]], f[[5, 11]], f[[4, 10]] = [-axial, axial], [about_z, -about_z], [-about_y, about_y]
    T = block_diagonal(type(e).axes([e], xyz[None]), len(f))[0]
    released = _released(e)
    if released:
        whole = replace(e, release_a=(), release_b=())
        K = T @ type(e).blocks([whole], xyz[None]).K[0] @ T.T  # type: ignore[list-item]
        kept = [i for i in range(len(f)) if i not in released]
        f[kept] -= K[np.ix_(kept, released)] @ np.linalg.solve(K[np.ix_(released, released)], f[released])
        f[released] = 0.0
    return np.asarray(T.T @ f)


def _released(e: Frame2D | Frame3D) -> list[int]:
    dofs = list(e.node_dofs)
    return [dofs.index(d) for d in e.release_a] + [len(dofs) + dofs.index(d) for d in e.release_b]


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
