"""Structures by their modes: as a bond graph of oscillators, and as a system for the loop.

The cost of both is linear in the number of modes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.bondgraph import TRANSLATION, Model, One, Zero, bond
from bondloop.bondgraph.elements import TF, C, I, R
from bondloop.engine import System
from bondloop.engine.data import Kind, register, stamp
from bondloop.engine.ir import Annotations, Const, Expr, Interface, Op, Program, Quantity, Var
from bondloop.errors import InputError
from bondloop.structures.analysis.modal_analysis import Modes, modes
from bondloop.structures.analysis.reduction import Reduced
from bondloop.structures.dofs import dof_domain
from bondloop.structures.ground import footing_data, footing_from
from bondloop.structures.matrices import Matrices
from bondloop.structures.structure_model import StructureModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


RATE = "d/dt "
"""What stands before the name of a degree of freedom whose velocity is meant."""


def modal_system(
    model: Matrices | Modes | Reduced,
    inputs: Sequence[str],
    outputs: Sequence[str] | None = None,
    *,
    count: int | None = None,
    name: str = "structure",
) -> System:
    """Return a structure as an ordinary system: forces in, displacements and velocities out.

    Forces become modal forces p = Φᵀ f, each mode is du Bois's transfer function

        H_i(s) = 1 / (s² + c_i s + λ_i),   c_i = α + β λ_i for Rayleigh damping,

    and the motion is x = Φ q. The states are ``mode[0].q``, ``mode[1].q``, ... and then ``mode[0].v``, ...:
    neighbours in memory, so that the generated code of the `Modal` integrator runs straight through them.

    Parameters
    ----------
    model
        Matrices, whose lowest modes are taken; modes; or a reduced model, whose modes are taken (with a
        static correction or a kept interface).
    inputs
        Degrees of freedom on which forces act; the input on ``tip.uy`` is called ``tip.uy.force``.
    outputs
        Degrees of freedom whose displacement is wanted, ``"tip.uy"``, or whose velocity is, ``"d/dt
        tip.uy"``; both of every input by default.
    count
        How many modes: 10 of matrices, all there are of modes or a reduced model, by default.
    name
        Name of the system.

    References
    ----------
    du Bois, Titurus and Lieven (2010), section 4.1, equations 10 to 15.

    Examples
    --------
    >>> one = Matrices([[2.0]], [[0.4]], [[8.0]], ("mass.ux",))
    >>> system = modal_system(one, inputs=["mass.ux"], count=1)
    >>> system.states, system.inputs, system.outputs
    (('mode[0].q', 'mode[0].v'), ('mass.ux.force',), ('mass.ux', 'd/dt mass.ux'))
    >>> abs(system.frequency_response([2.0]))[0, 0, 0].round(6)
    np.float64(1.25)
    """
    basis = _modes(model, count)
    forced = [inputs] if isinstance(inputs, str) else list(inputs)
    wanted = [o for d in forced for o in (d, RATE + d)] if outputs is None else list(outputs)
    for kind, names in (("inputs", forced), ("outputs", wanted)):
        if len(set(names)) < len(names):
            raise InputError(f"{kind}: a name is given twice in {names}")
    n = len(basis)
    # A mode's mass is 1 kg, so that its displacement is one in m.
    q, v = (
        [Var(f"mode[{i}].{letter}", quantity=quantity) for i in range(n)]
        for letter, quantity in (("q", TRANSLATION.displacement), ("v", TRANSLATION.flow))
    )
    f = [Var(f"{d}.force", quantity=dof_domain(d).effort) for d in forced]
    stiffness = [Var(f"mode[{i}].stiffness", quantity=Quantity("stiffness", "1/s^2")) for i in range(n)]
    damping = [Var(f"mode[{i}].damping", quantity=Quantity("damping", "1/s")) for i in range(n)]
    into = basis.rows(forced)
    states: dict[Var, Expr] = dict(zip(q, v, strict=True))
    for i in range(n):
        states[v[i]] = _sum([*_weighted(into[:, i], f), -(stiffness[i] * q[i]), -(damping[i] * v[i])])
    dofs = [o.removeprefix(RATE) for o in wanted]
    moved = basis.rows(dofs)
    rates = [o != d for o, d in zip(wanted, dofs, strict=True)]
    made = {
        o: Var(o, quantity=dof_domain(d).flow if rate else dof_domain(d).displacement)
        for o, d, rate in zip(wanted, dofs, rates, strict=True)
    }
    definitions = {
        made[o]: _sum(_weighted(row, v if rate else q))
        for o, row, rate in zip(wanted, moved, rates, strict=True)
    }
    parameters: dict[Var, float | None] = dict(zip(stiffness, (basis.omega**2).tolist(), strict=True))
    parameters.update(zip(damping, basis.damping.tolist(), strict=True))
    remarks = []
    if basis.coupling:
        remarks.append(
            f"damping couples the modes by up to {100 * basis.coupling:.2g} % of their own; "
            "the coupling is left out"
        )
    return System(
        name,
        Interface(states, f, dict(made), parameters),
        Program(definitions),
        annotations=Annotations(remarks=remarks),
    )


def _modes(model: Matrices | Modes | Reduced, count: int | None) -> Modes:
    if isinstance(model, Matrices):
        return modes(model, min(10, len(model)) if count is None else count)
    found = model.modes() if isinstance(model, Reduced) else model
    if count is None:
        return found
    if not 1 <= count <= len(found):
        raise InputError(f"{count} modes are wanted, but there are {len(found)}")
    return found.first(count)


def _weighted(weights: NDArray[np.float64], terms: Sequence[Var]) -> list[Expr]:
    return [Const(float(w)) * x for w, x in zip(weights, terms, strict=True) if w]


def _sum(terms: list[Expr]) -> Expr:
    if len(terms) > 1:
        return Op("add", tuple(terms))
    return terms[0] if terms else Const(0.0)
