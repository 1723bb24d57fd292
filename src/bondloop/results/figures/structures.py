"""Figures of structures: mode shapes, deformed shapes, and diagrams of section forces on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.markers import CARETUP
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

from bondloop.engine.data import FINITE
from bondloop.errors import InputError, unknown_name
from bondloop.results.figures.layout import COLOURS, INK, STYLE, dress, finish, heading, page, plain, scaled
from bondloop.structures import DOFS, section_forces

if TYPE_CHECKING:
    import os

    from matplotlib import figure as pages
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from bondloop.display import Figure
    from bondloop.structures import Element, History, MemberForces, Modes, Structure


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
    plane, factor = shape.plane, scale_of(shape, scale)
    figure, axes = _shape_on_page(shape, factor)
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


@dataclass(frozen=True)
class Lines:
    """What is drawn of a structure.

    Attributes
    ----------
    rest
        Points of each member at rest, shape (members, points, 3), in m.
    moved
        How each of these points moves, same shape.
    masses, masses_moved
        Places of point masses and how they move, shape (masses, 3).
    """

    rest: NDArray[np.float64]
    moved: NDArray[np.float64]
    masses: NDArray[np.float64]
    masses_moved: NDArray[np.float64]

    @property
    def size(self) -> float:
        """Largest extent of the structure in m."""
        points = np.concatenate([self.rest.reshape(-1, 3), self.masses])
        return float(np.ptp(points, axis=0).max(initial=0.0)) or 1.0

    @property
    def largest(self) -> float:
        """Largest motion of any point in m."""
        points = np.concatenate([self.moved.reshape(-1, 3), self.masses_moved])
        return float(np.linalg.norm(points, axis=1).max(initial=0.0))

    @property
    def plane(self) -> bool:
        """Whether structure and motion stay in the xy-plane."""
        off = np.concatenate([self.rest[..., 2].ravel(), self.masses[:, 2]])
        across = np.concatenate([self.moved[..., 2].ravel(), self.masses_moved[:, 2]])
        return bool(
            np.ptp(off) <= 1e-9 * self.size and np.abs(across).max(initial=0.0) <= 1e-9 * self.largest
        )


def nodal_motion(structure: Structure, motion: ArrayLike | Mapping[str, float]) -> NDArray[np.float64]:
    """Return the motion of every node, shape (nodes, 6), in the order of ``structure.nodes``.

    Parameters
    ----------
    structure
        The structure; supports and constraints are applied.
    motion
        A value for every degree of freedom of ``structure.assemble()``, or some by name, the others zero; or
        the motion of every node, which is returned as it is.
    """
    if not isinstance(motion, Mapping) and np.shape(motion) == (len(structure.nodes), 6):
        return np.asarray(motion, dtype=float)
    assembly = structure.assembly()
    names = assembly.free_names
    if isinstance(motion, Mapping):
        place = {name: i for i, name in enumerate(names)}
        values = np.zeros(len(names))
        for name, value in motion.items():
            if name not in place:
                raise InputError(unknown_name("degree of freedom", name, names, structure.name))
            values[place[name]] = value
    else:
        values = np.asarray(motion, dtype=float)
        if values.shape != (len(names),):
            raise InputError(
                f"structure '{structure.name}' has {len(names)} degrees of freedom; "
                f"found motion of shape {values.shape}"
            )
    result = np.zeros((len(structure.nodes), 6))
    result.ravel()[assembly.codes] = assembly.T @ values
    return result


def lines(structure: Structure, motion: ArrayLike | Mapping[str, float]) -> Lines:
    """Return members as lines: beams as Hermite's cubics of their ends' displacements and rotations."""
    place = {name: i for i, name in enumerate(structure.nodes)}
    xyz, nodal = structure.coordinates, nodal_motion(structure, motion)
    rest, moved, masses, masses_moved = [], [], [], []
    for element in structure.elements.values():
        ends = [place[n] for n in element.nodes]
        if len(ends) == 1:
            masses.append(xyz[ends[0]])
            masses_moved.append(nodal[ends[0], :3])
        elif len(ends) == 2:
            a, b = ends
            along, bent = _member(element, xyz[a], xyz[b], nodal[a], nodal[b])
            rest.append(along)
            moved.append(bent)
    return Lines(
        np.array(rest).reshape(-1, STYLE.points, 3),
        np.array(moved).reshape(-1, STYLE.points, 3),
        np.array(masses).reshape(-1, 3),
        np.array(masses_moved).reshape(-1, 3),
    )


def _member(
    element: Element,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    at_a: NDArray[np.float64],
    at_b: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    xi = np.linspace(0, 1, STYLE.points)[:, None]
    line = a + xi * (b - a)
    straight = at_a[:3] + xi * (at_b[:3] - at_a[:3])
    length = float(np.linalg.norm(b - a))
    turns = any(d in DOFS[3:] for d in element.node_dofs)
    if not turns or not length:
        return line, straight
    axis = (b - a) / length
    slope_a, slope_b = length * np.cross(at_a[3:], axis), length * np.cross(at_b[3:], axis)
    across = at_b[:3] - at_a[:3] - axis * (axis @ (at_b[:3] - at_a[:3]))
    hinge_a, hinge_b = (
        any(d in ("ry", "rz") for d in getattr(element, f"release_{end}", ())) for end in "ab"
    )
    if hinge_a and hinge_b:
        return line, straight
    if hinge_a:  # no moment there: the slope follows from the other end
        slope_a = 1.5 * across - slope_b / 2
    if hinge_b:
        slope_b = 1.5 * across - slope_a / 2
    # Beyond the chord: cubics that vanish at both ends, with the slopes there less the chord's.
    bow = (xi - 2 * xi**2 + xi**3) * (slope_a - across) + (xi**3 - xi**2) * (slope_b - across)
    return line, straight + bow


FIXED: dict[str, Any] = {"marker": "_", "markersize": 15, "markeredgewidth": 3.5}
PINNED: dict[str, Any] = {"marker": CARETUP, "markersize": 9}  # a triangle whose tip is at the node
GUIDED: dict[str, Any] = {"marker": "o", "markersize": 6, "markerfacecolor": "white"}


def draw_supports(axes: Any, structure: Structure, plane: bool) -> None:
    """Draw a bar below nodes that are held altogether, a triangle below hinges, a ring at all others.

    Parameters
    ----------
    axes
        With the structure.
    structure
        Whose supports are drawn, where they are at rest.
    plane
        Whether the drawing is of the xy-plane, in which the rest does not count.
    """
    shifts, turns = ({"ux", "uy"}, {"rz"}) if plane else ({"ux", "uy", "uz"}, {"rx", "ry", "rz"})
    places: dict[str, list[tuple[float, ...]]] = {"fixed": [], "pinned": [], "guided": []}
    for node, dofs in structure.supports.items():
        held = set(dofs) & (shifts | turns)
        if held:
            kind = "guided" if not shifts <= held else "fixed" if turns <= held else "pinned"
            places[kind].append(structure.nodes[node][: 2 if plane else 3])
    for kind, look in (("fixed", FIXED), ("pinned", PINNED), ("guided", GUIDED)):
        if places[kind]:
            axes.plot(
                *np.array(places[kind]).T, color=INK, linestyle="none", label=f"{kind} supports", **look
            )


def mode_shapes(
    structure: Structure,
    modes: Modes,
    numbers: Sequence[int] | None = None,
    *,
    scale: float | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw mode shapes side by side, the structure at rest in grey.

    Parameters
    ----------
    structure
        Where the nodes lie and which members join them.
    modes
        Modes of ``structure.assemble()``.
    numbers
        Which, from 1; the first six by default.
    scale
        How much shapes are enlarged; by default so that each is well seen.
    path
        Where to save.

    Examples
    --------
    >>> from bondloop.structures import Beam, Structure, modes
    >>> s = Structure("cantilever")
    >>> s.node("root")
    >>> s.node("tip", x=1.0)
    >>> s.line("root", "tip", n=4, element=Beam("root", "tip", E=1.0, A=1.0, I=1.0, rho=1.0))[0]
    'root'
    >>> s.support("root")
    >>> figure = mode_shapes(s, modes(s.assemble(), 3))
    >>> [axes.get_title("left") for axes in figure.axes]
    ['1: 0.56 Hz', '2: 3.51 Hz', '3: 9.90 Hz']
    """
    wanted = list(range(1, min(6, len(modes)) + 1)) if numbers is None else list(numbers)
    drawn = [_shape(structure, modes, number) for number in wanted]
    if not drawn:
        raise InputError("name at least one mode")
    plane = all(d.plane for d in drawn)
    across = min(3, len(drawn))
    rows = -(-len(drawn) // across)
    figure = page(rows * (height_of(drawn[0], plane, STYLE.width / across) + 0.3), STYLE.width)
    for k, (number, shape) in enumerate(zip(wanted, drawn, strict=True)):
        axes = axes_of(figure, (rows, across, k + 1), plane)
        draw_shape(axes, shape, scale_of(shape, scale), plane)
        heading(axes, f"{number}: {_hertz(modes.frequencies[number - 1])}")
        axes.set_axis_off()
    return finish(figure, path)


def deformed_shape(
    structure: Structure,
    motion: ArrayLike | Mapping[str, float] | History,
    time: float | str | None = None,
    *,
    scale: float | None = None,
    title: str = "",
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw the deformed structure, at rest in grey; the enlargement stands below.

    Parameters
    ----------
    structure
        Where the nodes lie and which members join them.
    motion
        Displacements: one for each degree of freedom of ``structure.assemble()``, some by name (others zero),
        or a time history.
    time
        Of a time history, when; its nearest instant is drawn.
    scale
        How much displacements are enlarged; by default so that they are well seen.
    title
        Over the figure.
    path
        Where to save.
    """
    values, when = at_instant(motion, time)
    shape = lines(structure, values)
    plane, factor = shape.plane, scale_of(shape, scale)
    figure, axes = _shape_on_page(shape, factor)
    draw_supports(axes, structure, plane)
    note = f"displacements enlarged {factor:.3g} times; largest {shape.largest:.3g} m"
    text = "; ".join(part for part in (title, f"t = {when:.4g} s" if when is not None else "") if part)
    if plane:
        dress(axes, f"x [m]   ({note})", "y [m]")
    else:
        axes.set_axis_off()
        text = f"{text + ': ' if text else ''}{note}"
    heading(axes, text)
    return finish(figure, path)


def _shape_on_page(shape: Lines, factor: float) -> tuple[Figure, Any]:
    width = 0.8 * STYLE.width
    figure = page(height_of(shape, shape.plane, width) + 0.8, width)
    axes = axes_of(figure, (1, 1, 1), shape.plane)
    draw_shape(axes, shape, factor, shape.plane)
    return figure, axes


def _shape(structure: Structure, modes: Modes, number: int) -> Lines:
    if not 1 <= number <= len(modes):
        raise InputError(f"mode {number} is wanted; there are modes 1 to {len(modes)}")
    values = dict(zip(modes.dofs, modes.shapes[:, number - 1].tolist(), strict=True))
    return lines(structure, values)


def at_instant(motion: Any, time: float | str | None) -> tuple[ArrayLike | Mapping[str, float], float | None]:
    """Return displacements of one instant, and when that is: the nearest of a time history."""
    if not hasattr(motion, "displacements"):
        if time is not None:
            raise InputError("a time belongs to a time history; these are displacements of one instant")
        return motion, None
    if time is None:
        raise InputError("give the time at which the history is drawn")
    instants, time = motion.time, FINITE.check(time, "time", "s")
    if not instants[0] <= time <= instants[-1]:
        raise InputError(f"t = {time:g} s lies outside the history, {instants[0]:g} to {instants[-1]:g} s")
    k = int(np.argmin(np.abs(instants - time)))
    return dict(zip(motion.dofs, motion.displacements[k].tolist(), strict=True)), float(instants[k])


def axes_of(figure: pages.Figure, place: tuple[int, int, int], plane: bool) -> Any:
    """Add axes for a structure in the plane or in space."""
    if plane:
        axes: Any = figure.add_subplot(*place)
        axes.set_aspect("equal", adjustable="box")
        return axes
    axes = figure.add_subplot(*place, projection="3d")
    axes.view_init(elev=18.0, azim=-58.0)
    return axes


def scale_of(shape: Lines, given: float | None) -> float:
    """Return how much displacements are enlarged: as given, or so that they are well seen."""
    return given if given is not None else STYLE.motion * shape.size / (shape.largest or 1.0)


def height_of(shape: Lines, plane: bool, width: float) -> float:
    """Inches that a drawing of this width takes."""
    if not plane:
        return width
    span = np.ptp(np.concatenate([shape.rest.reshape(-1, 3), shape.masses]), axis=0)
    tall = (span[1] + 2.6 * STYLE.motion * shape.size) / (span[0] + 2.6 * STYLE.motion * shape.size)
    return width * float(np.clip(tall, 0.3, 1.6))


def moved_lines(shape: Lines, factor: float, plane: bool) -> list[NDArray[np.float64]]:
    """Return one broken line of all members (gaps are NaN), and the point masses."""
    axes = slice(0, 2) if plane else slice(0, 3)
    points = shape.rest + factor * shape.moved
    gaps = np.full((len(points), 1, 3), np.nan)
    joined = np.concatenate([points, gaps], axis=1).reshape(-1, 3)
    return [joined[:, axes], (shape.masses + factor * shape.masses_moved)[:, axes]]


def draw_shape(axes: Any, shape: Lines, factor: float, plane: bool) -> list[Any]:
    """Draw a structure at rest and moved; return the curves of the moved one."""
    curves = []
    fine = 1.0 if len(shape.rest) < 400 else 0.6
    for amount, colour, width in ((0.0, "#b5b5b5", 0.9), (factor, COLOURS[0], 1.4)):
        members, masses = moved_lines(shape, amount, plane)
        (line,) = axes.plot(*members.T, color=colour, linewidth=width * fine, solid_capstyle="round")
        (dots,) = axes.plot(*masses.T, color=colour, marker="o", markersize=4, linestyle="none")
        curves = [line, dots]
    reach = STYLE.motion * 1.3 * shape.size
    points = np.concatenate([shape.rest.reshape(-1, 3), shape.masses])
    low, high = points.min(axis=0) - reach, points.max(axis=0) + reach
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    if not plane:
        axes.set_zlim(low[2], high[2])
        axes.set_box_aspect(high - low, zoom=1.15)
    return curves


def _hertz(frequency: float) -> str:
    if frequency == 0:
        return "rigid body"
    digits = 0 if frequency >= 100 else 1 if frequency >= 10 else 2
    return f"{frequency:.{digits}f} Hz"
