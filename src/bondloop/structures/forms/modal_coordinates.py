"""A structure as a bond graph of single modes: du Bois's modal transfer functions, bonded to the motion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.bondgraph import Model, One, Zero, bond
from bondloop.bondgraph.elements import TF, C, I, R
from bondloop.engine.data import Kind, register, stamp
from bondloop.errors import InputError
from bondloop.structures.forms.structure_model import StructureModel
from bondloop.structures.ground import footing_data, footing_from

if TYPE_CHECKING:
    from bondloop.structures.dynamics.modal_analysis import Modes
    from bondloop.structures.ground import Footing


def modal_form(
    modes: Modes,
    dofs: Sequence[str] | None = None,
    name: str = "structure",
    forces: Mapping[str, str] | Iterable[str] = (),
) -> StructureModel:
    """Return the modal form: an oscillator per mode, a transformer from each to every motion it is part of.

    Mode i is a 1-junction with I = 1, R = α + β λ_i and C of stiffness λ_i, so that q_i/p_i is

        H_i(s) = 1 / (s² + (α + β λ_i) s + λ_i);

    a transformer of ratio Φ_ji leads to the junction of degree of freedom j, where velocities add up,
    ẋ_j = Σ Φ_ji q̇_i, and forces go back, p_i = Σ Φ_ji f_j. Leaving modes and degrees of freedom out makes a
    large structure small.

    Parameters
    ----------
    modes
        The modes to take, from ``modes(matrices, count)``.
    dofs
        Degrees of freedom that are needed: for forces, for the interface, for the record; all by default.
    name
        Name of the model.
    forces
        Degrees of freedom on which a force acts, with input names if wished.

    References
    ----------
    du Bois, Titurus and Lieven (2010), section 4.1, equations 12 to 14.

    Examples
    --------
    >>> from bondloop.structures import Matrices, modes
    >>> chain = Matrices(
    ...     [[1.0, 0], [0, 2.0]], [[0.3, -0.2], [-0.2, 0.2]], [[30.0, -20], [-20, 20]], ("a.ux", "b.ux")
    ... )
    >>> model = modal_form(modes(chain, 2), forces=["b.ux"])
    >>> system = model.compile(["b.ux.flow"])
    >>> len(system.states), system.inputs
    (4, ('F_b_ux',))
    """
    wanted = list(modes.dofs if dofs is None else dofs)
    unknown = [d for d in wanted if d not in modes.dofs]
    if unknown:
        raise InputError(
            f"the modes have no degree of freedom {', '.join(unknown)}; they have {list(modes.dofs)[:8]}"
        )
    model = StructureModel(name, wanted)
    oscillators = [_oscillator(w**2, c) for w, c in zip(modes.omega, modes.damping, strict=True)]
    model.mode = oscillators
    model.sum = sums = [Zero() for _ in wanted]
    rows = [modes.shapes[modes.dofs.index(d)] for d in wanted]
    taking = [(j, i, float(w)) for j, row in enumerate(rows) for i, w in enumerate(row) if w]
    model.shape = shapes = [TF(w) for _, _, w in taking]
    for (j, i, _), shape in zip(taking, shapes, strict=True):
        bond(oscillators[i].v, shape)
        bond(shape, sums[j])
    for dof, total in zip(wanted, sums, strict=True):
        bond(total, model.junction(dof))
    footing: Footing | None = getattr(modes, "_footing", None)
    if modes.ground is not None:
        model._footing = footing_from(modes.ground, len(modes))
    elif footing is not None:
        model._footing = footing.projected(modes.shapes)
    if model._footing is not None:
        model._carriers = {i: one.v for i, one in enumerate(oscillators)}
    named = dict(forces) if isinstance(forces, Mapping) else list(forces)
    model.apply_forces(named)
    # Described by the rows that it takes: those of all other motions would fill a file for nothing.
    rows_taken = [modes.dofs.index(d) for d in wanted]
    few = replace(
        modes,
        shapes=modes.shapes[rows_taken],
        dofs=tuple(wanted),
        weighted=modes.weighted[rows_taken],
        ground=None if model._footing is None else footing_data(model._footing, wanted),
    )
    stamp(model, _KIND, {"modes": few, "dofs": wanted, "name": name, "forces": named})
    return model


_KIND = register(Kind("model", "modal_form", modal_form))


def _oscillator(stiffness: float, damping: float) -> Model:
    one = Model()
    one.v, one.mass = One(), I(mass=1.0)
    one.v >> one.mass
    if damping:
        one.damper = R(damping=float(damping))
        one.v >> one.damper
    if stiffness:
        one.spring = C(stiffness=float(stiffness))
        one.v >> one.spring
    return one
