"""Statics: displacements under loads that stay, and the curve of a push."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import with_progress
from bondloop.errors import InputError, unknown_name
from bondloop.structures.analysis.equilibrium import Equilibrium, Held, State
from bondloop.structures.dofs import ROTATIONS, dof_domain, dof_word, force_on, forces_in_a_row
from bondloop.structures.factor import factor
from bondloop.structures.structure_model import StructureModel
from bondloop.units import quantity

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from bondloop.structures.elements.base import Array, Number
    from bondloop.structures.matrices import Matrices


@dataclass(frozen=True)
class Yielding:
    """When a device has lost half of its stiffness for the first time.

    Attributes
    ----------
    device
        Its name.
    load_factor, displacement
        At that moment, to a 64th of a step; a load factor of 0 where the load that stays was enough.

    Examples
    --------
    >>> from bondloop.devices import Bilinear
    >>> from bondloop.structures import ShearBuilding, attach, field_form, pushover
    >>> storey = field_form(ShearBuilding([1000], [1e4]).assemble())
    >>> attach(storey, "brace", Bilinear(1e4, 50.0, 0.0), {"floor[1].ux": 1})
    >>> pushover(storey, {"floor[1].ux": 1.0}, control="floor[1].ux", to=0.01, steps=1).yielding
    (Yielding(device='brace', load_factor=100.0, displacement=0.005),)
    """

    device: str
    load_factor: float
    displacement: float


@dataclass(frozen=True)
class Pushover:
    """A structure under a load that grows, from the load that stays on.

    Attributes
    ----------
    control
        The degree of freedom that is looked at.
    load_factor
        By which the pattern is multiplied, at every step.
    motion
        Displacements of all degrees of freedom, shape (steps + 1, n).
    dofs
        Their names.
    direction_load
        Sum of the pattern in the direction of the control: times the load factor it is the base shear.
    forces, stretches
        Of every device, by name; shape (steps + 1,), or (steps + 1, interfaces) of bars that turn.
    yielding
        Devices in the order in which they yield.
    """

    control: str
    load_factor: Array
    motion: Array
    dofs: tuple[str, ...]
    direction_load: float
    forces: Mapping[str, Array]
    stretches: Mapping[str, Array]
    yielding: tuple[Yielding, ...]

    def __getitem__(self, dof: str) -> Array:
        """Displacements of a degree of freedom."""
        if dof not in self.dofs:
            raise InputError(unknown_name("degree of freedom", dof, self.dofs))
        return np.asarray(self.motion[:, self.dofs.index(dof)])

    @property
    def displacement(self) -> Array:
        """Displacements of the control."""
        return self[self.control]

    @property
    def base_shear(self) -> Array:
        """The load in the direction of the control, N."""
        return self.load_factor * self.direction_load

    def __str__(self) -> str:
        strongest = int(np.argmax(np.abs(self.load_factor)))
        end, most = (f"{self.load_factor[i]:.4g} at {self.displacement[i]:.4g}" for i in (-1, strongest))
        lines = [f"{self.control} pushed; load factor {end} in the end, {most} at most"]
        lines += [
            f"  {i}. {y.device} yields at {y.displacement:.4g}, load factor {y.load_factor:.4g}"
            for i, y in enumerate(self.yielding, start=1)
        ]
        return "\n".join(lines)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the load over the displacement, with what yields where; a file with ``path``.

        Parameters
        ----------
        path
            Where to write the picture: ``"pushover.png"``, ``"pushover.svg"``.
        """
        return pushover_figure(self, path)


@with_progress("pushing the structure")
def pushover(
    model: StructureModel,
    pattern: Mapping[str, Number] | ArrayLike,
    *,
    control: str,
    to: Number | Sequence[Number] | None = None,
    load_factor: float | Sequence[float] | None = None,
    steps: int = 100,
    gravity: Mapping[str, Number] | ArrayLike | None = None,
) -> Pushover:
    """Push a structure with its devices, and return the curve.

    Every step is an equilibrium, found by Newton's method with a line search; where that fails, the step is
    halved, ten times at most. What is attached by `attach` and `attach_bar` takes part, in large
    displacements the latter; P-Δ is in the matrices of which the model was made (`Structure.p_delta`).

    Parameters
    ----------
    model
        A structure in either form.
    pattern
        Forces that grow, by degree of freedom or all n of them.
    control
        The degree of freedom that is looked at and, with `to`, led.
    to
        Displacement of the control at the end, in m or rad, counted from where it was described: displacement
        control, which passes peaks of the load. Several, ``["100 mm", "-100 mm", 0]``, are gone to in turn.
    load_factor
        In its place: the load factor at the end, load control; ``[2e4, 0]`` takes the load off again.
    steps
        How many, on the way to each end.
    gravity
        Loads that stay, brought on before.

    Examples
    --------
    A storey of 10 kN/m and a brace of as much that yields at 50 N:

    >>> from bondloop.devices import Bilinear
    >>> from bondloop.structures import ShearBuilding, attach, field_form, pushover
    >>> storey = field_form(ShearBuilding([1000], [1e4]).assemble())
    >>> attach(storey, "brace", Bilinear(1e4, 50.0, 0.0), {"floor[1].ux": 1})
    >>> curve = pushover(storey, {"floor[1].ux": 1.0}, control="floor[1].ux", to="10 mm", steps=2)
    >>> curve.load_factor.round(6).tolist()
    [0.0, 100.0, 150.0]
    >>> print(curve)
    floor[1].ux pushed; load factor 150 at 0.01 in the end, 150 at 0.01 at most
      1. brace yields at 0.005, load factor 100
    """
    if (to is None) == (load_factor is None):
        raise InputError(
            "pushover: give either to=, a displacement of the control, or load_factor=; found "
            + ("neither" if to is None else "both")
        )
    asked: object = steps
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
        raise InputError(f"pushover(steps): expected a whole number of at least 1; found {steps!r}")
    p = _load(model, pattern, "pattern")
    if not p.any():
        raise InputError("pushover: the pattern is zero; give forces by degree of freedom")
    n, at = len(p), model.dofs
    if control not in at:
        raise InputError(f"pushover(control): {unknown_name('degree of freedom', control, at)}")
    place = at.index(control)
    unit = None if to is None else dof_domain(control).displacement.unit
    goals = _goals(load_factor if to is None else to, unit)
    constant = np.zeros(n) if gravity is None else _load(model, gravity, "gravity")
    events: dict[str, Yielding] = {}
    state = _loaded(model, constant, place, events) if constant.any() else None
    equations = Equilibrium(model, constant, p)
    here = equations.at_rest() if state is None else State(state.u, 0.0, state.memory)
    chosen = None
    if to is not None:
        chosen = np.zeros(n)
        chosen[place] = 1.0
    begin = 0.0 if chosen is None else float(here.u[place])
    states = [here]
    for start, end in pairwise([begin, *goals]):
        for target in np.linspace(start, end, steps + 1)[1:]:
            states.append(_go(equations, states[-1], float(target), chosen, place, events))
    return _curve(model, equations, states, control, events)


def _goals(ends: Any, unit: str | None) -> list[float]:
    """Return where to go in turn: displacements with a unit, or load factors without one."""
    several = ends if isinstance(ends, (list, tuple, np.ndarray)) else [ends]
    word = "load_factor" if unit is None else "to"
    try:
        goals = [quantity(x, unit) if unit and isinstance(x, str) else float(x) for x in several]
    except (TypeError, ValueError):
        raise InputError(
            f"pushover({word}): expected a number, or several in a row; found {ends!r:.60}"
        ) from None
    if not goals or not np.isfinite(goals).all():
        raise InputError(f"pushover({word}): expected a finite end; found {ends!r:.60}")
    return goals


def loaded(model: StructureModel, load: Array) -> Array:
    """Return the displacements of a structure with devices under a load that is brought on in steps.

    Parameters
    ----------
    model
        A structure in either form.
    load
        All n forces.
    """
    return _loaded(model, load, 0, {}).u


def _loaded(
    model: StructureModel, load: Array, place: int, events: dict[str, Yielding], steps: int = 10
) -> State:
    """Bring on a load that stays, in steps where devices remember."""
    equations = Equilibrium(model, np.zeros(len(load)), load)
    here = equations.at_rest()
    # Where nothing is remembered the way does not matter, and a cable has its shape under all of its load.
    for target in np.linspace(0, 1, (steps if any(here.memory) else 1) + 1)[1:]:
        here = _go(equations, here, float(target), None, place, events)
    for name, event in events.items():
        events[name] = replace(event, load_factor=0.0)  # of the load that is to come
    return here


def _load(model: StructureModel, given: Mapping[str, Number] | ArrayLike, what: str) -> Array:
    f = np.zeros(len(model.dofs))
    if isinstance(given, Mapping):
        for dof, force in given.items():
            if dof not in model.dofs:
                model.junction(dof)  # which says why it is not there
            f[model.dofs.index(dof)] = force_on(dof, force, f"pushover({what})")
    else:
        f = forces_in_a_row(given, f"pushover({what})")
    if f.shape != (len(model.dofs),) or not np.isfinite(f).all():
        raise InputError(
            f"pushover({what}): expected {len(model.dofs)} finite forces; found shape {f.shape}"
            + ("" if np.isfinite(f).all() else ", not all of them finite")
        )
    return f


def _go(
    equations: Equilibrium,
    here: State,
    target: float,
    control: Array | None,
    place: int,
    events: dict[str, Yielding],
    halvings: int = 6,
) -> State:
    """Go on by a step; where something begins to yield in it, by its halves, so that it is known when."""
    ways = equations.advance(here, target, control)
    found = [y for before, after in ways for y in _yielding(equations.held, before, after, place, events)]
    if found and halvings:
        begun = here.factor if control is None else float(control @ here.u)
        for goal in ((begun + target) / 2, target):
            here = _go(equations, here, goal, control, place, events, halvings - 1)
        return here
    for event in found:
        events.setdefault(event.device, event)
    return equations.renewed(ways[-1][1])


def _yielding(
    held: list[Held],
    before: State,
    after: State,
    place: int,
    known: Mapping[str, Yielding],
    *,
    share_left: float = 0.5,
    places: int = 9,
) -> list[Yielding]:
    """Return what begins to yield between two states, with where on a straight line between them.

    A device yields where less than a share of its stiffness at rest is left; the line is seen at some places.
    """
    found: list[tuple[float, Yielding]] = []
    for h, memory in zip(held, before.memory, strict=True):
        if h.name in known or h.law.interfaces > 1:
            continue
        rest = float(h.law.at([0.0], h.law.memory)[1][0, 0])
        x0, x1 = (float((h.way @ s.u)[0]) for s in (before, after))
        if rest <= 0 or h.law.at([x1], memory)[1][0, 0] >= share_left * rest:
            continue
        way = np.linspace(x0, x1, places).tolist()
        soft = [bool(h.law.at([x], memory)[1][0, 0] < share_left * rest) for x in way]
        share = soft.index(True) / (places - 1)
        factor = before.factor + share * (after.factor - before.factor)
        moved = before.u[place] + share * (after.u[place] - before.u[place])
        found.append((share, Yielding(h.name, float(factor), float(moved))))
    return [event for _, event in sorted(found, key=lambda pair: pair[0])]


def _curve(
    model: StructureModel,
    equations: Equilibrium,
    states: list[State],
    control: str,
    events: dict[str, Yielding],
) -> Pushover:
    forces: dict[str, Array] = {}
    stretches: dict[str, Array] = {}
    for i, h in enumerate(equations.held):
        x = np.array([h.way @ s.u for s in states])
        f = np.array([h.law.at(row.tolist(), s.memory[i])[0] for row, s in zip(x, states, strict=True)])
        one = h.law.interfaces == 1
        forces[h.name], stretches[h.name] = (f[:, 0], x[:, 0]) if one else (f, x)
    direction = dof_word(control)
    along = [i for i, dof in enumerate(model.dofs) if dof_word(dof) == direction]
    return Pushover(
        control,
        np.array([s.factor for s in states]),
        np.array([s.u for s in states]),
        model.dofs,
        float(equations.pattern[along].sum()),
        forces,
        stretches,
        tuple(events.values()),
    )


def pushover_figure(curve: Pushover, path: str | Path | None = None, named: int = 8) -> Figure:
    """Return a figure of load over displacement, and write it to a file where a path is given.

    Parameters
    ----------
    curve
        What is drawn.
    path
        Of the file.
    named
        Devices whose names are written beside the curve, in the order in which they yield; others are dots.
    """
    from matplotlib.figure import Figure

    turns = dof_word(curve.control) in ROTATIONS
    scale, unit = (1.0, "rad") if turns else (1e3, "mm")
    shear = curve.direction_load != 0 and not turns
    factor, label = (curve.direction_load / 1e3, "load [kN]") if shear else (1.0, "load factor")
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(scale * curve.displacement, factor * curve.load_factor, color="#1f6f8b", linewidth=1.5)
    shown = [y for y in curve.yielding if y.load_factor != 0.0]
    x = scale * np.array([y.displacement for y in shown])
    f = factor * np.array([y.load_factor for y in shown])
    axes.plot(x, f, "o", color="#c1440e", markersize=4)
    words = [f"{i}  {y.device}" for i, y in enumerate(shown[:named], start=1)]
    wide, high = (float(np.ptp(v)) or 1.0 for v in (scale * curve.displacement, factor * curve.load_factor))
    for first, last in _together(x[: len(words)] / wide, f[: len(words)] / high):
        numbers = str(first + 1) if first == last else f"{first + 1}\u2013{last + 1}"
        axes.annotate(
            numbers, (x[first], f[first]), (-3, 5), textcoords="offset points", ha="right", fontsize=8
        )
    if words:
        more = [f"and {len(shown) - named} more"] if len(shown) > named else []
        text = "\n".join(["yields:", *words, *more])
        axes.text(0.98, 0.04, text, transform=axes.transAxes, ha="right", va="bottom", fontsize=8, ma="left")
    axes.axhline(0, color="0.8", linewidth=0.8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, color="0.9", linewidth=0.6)
    axes.set_xlabel(f"displacement {curve.control} [{unit}]")
    axes.set_ylabel(label)
    if path is not None:
        try:
            figure.savefig(path, dpi=150)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot write the picture '{path}': {error}") from error
    return figure


def _together(x: Array, f: Array, near: float = 0.03) -> list[tuple[int, int]]:
    """Return numbers of dots that lie on each other, as first and last of a row of them.

    Parameters
    ----------
    x, f
        Where they are, as shares of the axes.
    near
        Share of the axes within which dots share a label.
    """
    groups: list[tuple[int, int]] = []
    for i in range(len(x)):
        first = groups[-1][0] if groups else i
        if groups and abs(x[i] - x[first]) < near and abs(f[i] - f[first]) < near:
            groups[-1] = (first, i)
        else:
            groups.append((i, i))
    return groups


def static(matrices: Matrices | StructureModel, force: Mapping[str, Number] | ArrayLike) -> Array:
    """Return the displacements K⁻¹ f under a load, or under several at once.

    Parameters
    ----------
    matrices
        The model, which must be supported; or a structure in either form, with the devices that are attached
        to it, whose loads are brought on in steps (see `pushover`).
    force
        Forces by degree of freedom, or all n of them, or several loads as columns, shape (n, loads).

    Examples
    --------
    >>> from bondloop.structures import ShearBuilding
    >>> m = ShearBuilding([1.0, 1.0], [100.0, 50.0]).assemble()
    >>> static(m, {"floor[2].ux": 10.0}).round(12).tolist()
    [0.1, 0.3]
    """
    model = matrices if isinstance(matrices, StructureModel) else None
    if isinstance(matrices, StructureModel):
        if matrices.matrices is None:
            raise InputError("static: the model was not made of matrices; use field_form or network_form")
        matrices = matrices.matrices
    if isinstance(force, Mapping):
        f = np.zeros(len(matrices))
        f[matrices.indices(force)] = [force_on(dof, x, "static") for dof, x in force.items()]
    else:
        f = forces_in_a_row(force, "static")
    if f.ndim not in (1, 2) or f.shape[0] != len(matrices):
        raise InputError(f"static: {len(matrices)} degrees of freedom; found loads of shape {f.shape}")
    if not np.isfinite(f).all():
        raise InputError("static: the load has entries that are not finite")
    if model is not None:
        columns = f.reshape(len(matrices), -1)
        return np.stack([loaded(model, load) for load in columns.T], axis=1).reshape(f.shape)
    try:
        u = np.asarray(factor(matrices.K)(f))
    except RuntimeError:
        u = np.full_like(f, np.nan)
    if not np.isfinite(u).all():
        raise InputError(
            "static: the stiffness is singular; support the structure so that it cannot move freely"
        )
    return u
