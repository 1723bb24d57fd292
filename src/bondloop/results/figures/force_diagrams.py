"""Diagrams of section forces on the deformed structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import PolyCollection
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

from bondloop.errors import InputError, unknown_name
from bondloop.results.figures.axis_unit import scaled
from bondloop.results.figures.layout import COLOURS, INK, STYLE, dress, finish, heading, page, plain
from bondloop.results.figures.structures import (
    at_instant,
    axes_of,
    draw_shape,
    draw_supports,
    height_of,
    lines,
    nodal_motion,
    scale_of,
)
from bondloop.structures import section_forces

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from bondloop.structures import History, MemberForces, Structure


SIDES = {"N": 1, "V": 1, "M": -1, "Vy": 1, "Vz": 2, "T": 1, "My": 2, "Mz": -1}
"""Along which local axis an ordinate is drawn (1: y, 2: z); moments on the side in tension. A moment My on
the face along x strains the side of positive z, a moment Mz that of negative y."""

SIGNS = {
    "N": "tension is positive",
    "V": "at end b along local y",
    "M": "on the side in tension",
}
"""What the sign or the side of an ordinate means, by the first letter."""

NAMES = {"N": "axial force", "V": "shear force", "M": "bending moment", "T": "torsional moment"}


def force_diagram(
    structure: Structure,
    motion: ArrayLike | Mapping[str, float] | History,
    force: str = "M",
    time: float | str | None = None,
    *,
    scale: float | None = None,
    title: str = "",
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a section force on the deformed structure; moments stand on the side in tension.

    Parameters
    ----------
    structure
        Where the nodes lie and which members join them.
    motion
        Displacements: one for each degree of freedom of ``structure.assemble()``, some by name (others zero),
        of every node (shape (nodes, 6)), or a time history.
    force
        ``"N"``, ``"V"`` or ``"M"``; of members in space ``"N"``, ``"Vy"``, ``"Vz"``, ``"T"``, ``"My"``,
        ``"Mz"``.
    time
        Of a time history, when; its nearest instant is drawn.
    scale
        How much displacements are enlarged; by default so that they are well seen.
    title
        Over the figure.
    path
        Where to save.

    Examples
    --------
    >>> from bondloop.structures import Frame2D, Structure
    >>> s = Structure("cantilever")
    >>> s.node("foot")
    >>> s.node("head", y=2.0)
    >>> s.add(Frame2D("foot", "head", E=1.0, A=1.0, I=1.0), "column")
    'column'
    >>> s.support("foot")
    >>> figure = force_diagram(s, {"head.ux": 0.1})
    >>> figure.axes[0].get_title("left")
    'bending moment M: largest 150 mN m, in column'
    """
    values, when = at_instant(motion, time)
    nodal = nodal_motion(structure, values)
    forces = section_forces(structure, nodal)
    carriers = {name: m for name, m in forces.items() if force in m.start}
    if not carriers:
        known = dict.fromkeys(word for m in forces.values() for word in m.start)
        raise InputError(unknown_name("section force", force, known, where=f"structure '{structure.name}'"))
    shape = lines(structure, nodal)
    plane = shape.plane
    figure = page(height_of(shape, plane, 0.8 * STYLE.width) + 0.8, 0.8 * STYLE.width)
    axes = axes_of(figure, (1, 1, 1), plane)
    factor = scale_of(shape, scale)
    draw_shape(axes, shape, factor, plane)
    largest = max(carriers, key=lambda n: _peak(carriers[n], force))
    peak = _peak(carriers[largest], force)
    members = [n for n, e in structure.elements.items() if len(e.nodes) == 2]
    base = shape.rest + factor * shape.moved
    reach = STYLE.ordinate * shape.size / peak if peak else 0.0
    areas = [_area(base[i], carriers[n], force, reach) for i, n in enumerate(members) if n in carriers]
    _fill(axes, areas, plane)
    draw_supports(axes, structure, plane)
    unit = "N m" if force in ("M", "My", "Mz", "T") else "N"
    size, shown = scaled(unit, [np.array([peak])])
    word = NAMES[force[0]]
    what = f"{word} {force}: largest {peak * size:.3g} {shown}, in {largest}"
    place = members.index(largest)
    if peak and plane:
        _label(axes, base[place], carriers[largest], force, reach, (size, shown))
        if force[0] in "NV" and len(carriers) <= STYLE.signed_members:
            for i, n in enumerate(members):
                if n in carriers:
                    _sign(axes, base[i], carriers[n], force, reach, peak)
    convention = SIGNS.get(force[0], "")
    about = "; ".join(p for p in (title, f"t = {when:.4g} s" if when is not None else "") if p)
    if plane:
        below = f"displacements enlarged {factor:.3g} times"
        dress(axes, f"x [m]   ({below}{f'; {force}: {convention}' if convention else ''})", "y [m]")
    else:
        axes.set_axis_off()
    heading(axes, plain(f"{about}\n{what}" if about else what))
    return finish(figure, path)


def _peak(member: MemberForces, force: str) -> float:
    return max(abs(member.start[force]), abs(member.end[force]))


def _area(line: NDArray[np.float64], member: MemberForces, force: str, reach: float) -> NDArray[np.float64]:
    """Return the corners of the area between a member and its diagram, shape (2 points, 3)."""
    side = SIDES[force]
    across = np.sign(side) * member.axes[abs(side)]
    values = np.linspace(member.start[force], member.end[force], STYLE.points)
    return np.concatenate([line, (line + reach * values[:, None] * across)[::-1]])


def _label(
    axes: Axes,
    line: NDArray[np.float64],
    member: MemberForces,
    force: str,
    reach: float,
    scale: tuple[float, str],
) -> None:
    """Write the largest ordinate beside its tip, as a scale. A moment has a side, no sign."""
    ends = (member.start[force], member.end[force])
    last = abs(ends[1]) > abs(ends[0])
    value, foot = ends[last], line[-1 if last else 0]
    tip = _area(line, member, force, reach)[STYLE.points if last else -1]
    dx, dy = (tip - foot)[:2]
    upright = abs(dx) > abs(dy)  # the member; its ordinates lie
    above = last if upright else dy > 0
    axes.annotate(
        f"{(abs(value) if force[0] == 'M' else value) * scale[0]:.3g} {scale[1]}",
        tip[:2],
        xytext=(0, 3 if above else -3),
        textcoords="offset points",
        ha="left" if (dx < 0 if upright else not last) else "right",
        va="bottom" if above else "top",
        fontsize=STYLE.small,
        color=INK,
    )


def _sign(
    axes: Axes, line: NDArray[np.float64], member: MemberForces, force: str, reach: float, peak: float
) -> None:
    """Write + or - into the middle of a member's diagram, or beside it where it is thin."""
    middle = 0.5 * (member.start[force] + member.end[force])
    if abs(middle) <= 0.01 * peak:
        return
    side = SIDES[force]
    share = 0.5 * middle if abs(middle) > 0.3 * peak else middle + 0.12 * peak * np.sign(middle)
    at = line[STYLE.points // 2] + reach * share * np.sign(side) * member.axes[abs(side)]
    mark = "+" if middle > 0 else "\u2212"
    axes.text(at[0], at[1], mark, ha="center", va="center", fontsize=STYLE.small, color=INK)


def _fill(axes: Any, areas: list[NDArray[np.float64]], plane: bool) -> None:
    look: Any = {"facecolor": COLOURS[1], "edgecolor": COLOURS[1], "alpha": 0.35, "linewidth": 0.7}
    if plane:
        axes.add_collection(PolyCollection([a[:, :2] for a in areas], **look))
        corners = np.concatenate(areas)[:, :2]
        room = 0.04 * np.ptp(corners, axis=0)
        low, high = corners.min(axis=0) - room, corners.max(axis=0) + room
        (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
        axes.set(xlim=(min(x0, low[0]), max(x1, high[0])), ylim=(min(y0, low[1]), max(y1, high[1])))
    else:
        axes.add_collection3d(Poly3DCollection(areas, **look))
