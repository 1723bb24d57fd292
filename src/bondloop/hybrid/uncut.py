"""The complete structure of a test, uncut: numerical half and specimen joined ideally at the interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import Model, Port, bond, bonds_of, interfaces
from bondloop.engine import system_from_matrices
from bondloop.engine.analysis.simulation import starting_states
from bondloop.engine.ir import Const, Var, substitute
from bondloop.engine.passes import connect, with_values
from bondloop.errors import ModelError
from bondloop.hybrid.pseudo_dynamic_tick import Complete, assembled
from bondloop.rehearsal import UncutStructure
from bondloop.signals import Constant
from bondloop.structures import dof_domain
from bondloop.substructure import ExternalHalf, indexed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bondloop.engine import System
    from bondloop.engine.ir import Expr
    from bondloop.hybrid.ground import SteppedGround
    from bondloop.hybrid.pseudo_dynamic import PseudoDynamicTest
    from bondloop.hybrid.test import HybridTest
    from bondloop.signals import Signal


def joined(numerical: Model, physical: Model) -> tuple[Model, list[str], list[str]]:
    """Return two halves of a cut as one model with the paths that they have in a test.

    Parameters
    ----------
    numerical, physical
        The halves.

    Returns
    -------
    tuple
        The model, and the paths of the interfaces on either side.
    """
    whole, rig = Model("structure"), Model("rig")
    whole.numerical = numerical.copy()
    rig.specimen = physical.copy()
    whole.rig = rig
    ports: list[list[Port]] = []
    paths: list[list[str]] = []
    for half, prefix in ((whole.numerical, "numerical"), (rig.specimen, "rig.specimen")):
        ends = [(end.path.removeprefix(f"{prefix}."), end) for end in interfaces(half)]
        own = []
        for path, end in ends:
            port = Port(size=end.size or 1, domain=end.domain)
            half.swap(path, port)
            own.append(port)
        ports.append(own)
        paths.append([f"{prefix}.{path}" for path, _ in ends])
    for a, b in zip(*ports, strict=True):
        if bonds_of(a)[0].head is a:
            bond(a, b)
        else:
            bond(b, a)
    return whole, paths[0], paths[1]


def uncut_structure(test: HybridTest) -> UncutStructure:
    """Return the complete structure of a test, with the values in force.

    Parameters
    ----------
    test
        The test.
    """
    numerical, physical = test.halves_on_ground
    _refuse_foreign(test, numerical, physical)
    model, ours, theirs = joined(numerical, physical)
    outputs = [*(f"{path}.flow" for path in ours), *(f"{path}.effort" for path in theirs)]
    system: System = model.compile(outputs)
    system = with_values(system, test.values_for(system))
    flows = [system.output_exprs[f"{path}.flow"] for path in ours]
    efforts = [system.output_exprs[f"{path}.effort"] for path in theirs]
    system, channels = _with_motion(test, system, flows, efforts)
    signals: dict[Var, Signal] = {}
    scaled = set()
    for u in system.input_vars:
        name = u.name.removeprefix("numerical.").removeprefix("rig.specimen.")
        if name in test.excitation:
            signals[u] = test.excitation[name]
            scaled.add(u)
        elif u.name in test.overrides:  # a source of the specimen, which is a parameter of its rig
            signals[u] = Constant(test.overrides[u.name])
    return UncutStructure(system, signals, frozenset(scaled), channels, test.integrator)


def _refuse_foreign(test: HybridTest, *halves: Model) -> None:
    """Refuse halves that cannot be looked into, and forces that nothing but the test computes."""
    if isinstance(test.numerical, ExternalHalf):
        raise ModelError("the numerical half is computed by another program, so the halves cannot be joined")
    for half in halves:
        opaque = getattr(half, "opaque", "")
        if opaque:
            raise ModelError(f"{opaque} cannot be looked into, so the halves cannot be joined")
    law = test.restoring_force
    if law is not None and law.inputs:
        raise ModelError(
            f"the computed restoring force also drives {', '.join(law.inputs)}, which is no interface of the "
            "halves, so joining them leaves a part of the specimen out"
        )


def _with_motion(
    test: HybridTest, system: System, flows: Sequence[Expr], efforts: Sequence[Expr]
) -> tuple[System, dict[str, Expr]]:
    """Return the equations with the displacements of the interfaces, and what is recorded."""
    count = len(flows)
    domains = test.half.domains
    states = [
        Var(name, quantity=domain.displacement)
        for name, domain in zip(indexed("interface.displacement", count), domains, strict=True)
    ]
    coupler = test.rig.coupler
    first = _first_displacements(test) if coupler is None else [0.0] * count
    system = connect(
        "structure", [system], {}, {},
        states=dict(zip(states, flows, strict=True)), initial=dict(zip(states, first, strict=True)),
    )  # fmt: skip
    places: list[Expr] = [*states]
    strokes, velocities, forces = places, list(flows), list(efforts)
    if coupler is not None:
        strokes = coupler.strokes(places)
        velocities = coupler.velocities(places, flows)
        forces = coupler.forces(places, efforts)
    channels: dict[str, Expr] = {}
    for word, values in (("displacement", strokes), ("velocity", velocities)):
        for whose in ("desired", "actual"):
            channels.update(zip(indexed(f"{whose}.{word}", count), values, strict=True))
    channels.update(zip(indexed("force", count), forces, strict=True))
    return system.replaced(outputs=channels), channels


def _first_displacements(test: HybridTest) -> list[float]:
    """Return where the test's desired displacements begin."""
    design = test.design
    start: dict[Var, Expr] = {v: Const(x) for v, x in starting_states(design.system).items()}
    values = [substitute(x, start) for x in design.desired_displacements]
    return [x.value if isinstance(x, Const) else 0.0 for x in values]


def uncut_stepped(test: PseudoDynamicTest) -> UncutStructure:
    """Return the complete structure of a pseudo-dynamic test, in the structure's own time.

    Parameters
    ----------
    test
        The test.
    """
    specimen = test.rig.specimen
    joined_halves = _assembled if specimen.matrices is not None else _connected
    system, loads, motions, forces = joined_halves(test)
    at = test.numerical.indices(test.interface)
    domains = [dof_domain(test.numerical.dofs[i]) for i in at]
    signals = {u: test.excitation[name][0] for u, name in loads.items()}
    if test.ground is not None and test.ground.coordinates == "absolute":
        system, motions = _carried_along(test.ground, system, motions, signals)
    channels: dict[str, Expr] = {}
    count = len(domains)
    for word, values in zip(("displacement", "velocity"), motions, strict=True):
        for whose in ("desired", "actual"):
            channels.update(zip(indexed(f"{whose}.{word}", count), values, strict=True))
    channels.update(zip(indexed("force", count), forces, strict=True))
    return UncutStructure(system.replaced(outputs=channels), signals, frozenset(signals), channels)


_Joined = tuple["System", dict[Var, str], tuple[list["Expr"], list["Expr"]], list["Expr"]]
"""Equations, the names of the loads by input, displacements and velocities, and forces at the interfaces."""


def _assembled(test: PseudoDynamicTest) -> _Joined:
    """Join a specimen that has matrices, masses at the interface included."""
    specimen = test.rig.specimen
    whole = assembled(test.numerical, specimen, test.interface)
    beyond = {}
    if test.ground is not None:
        beyond = test.ground.beyond(whole, test.numerical, specimen, test.interface)
    complete = Complete(whole, test.numerical, test.interface, test.excitation, beyond)
    system, n = complete.system, len(whole)
    states, inputs = system.state_vars, system.input_vars
    rows = whole.indices(test.interface)
    forces = [
        _dot(of_states, states) + _dot(of_loads, inputs)
        for of_states, of_loads in zip(complete.force_matrix, complete.force_loads, strict=True)
    ]
    motions: tuple[list[Expr], list[Expr]] = [states[r] for r in rows], [states[n + r] for r in rows]
    return (
        system,
        dict(zip(inputs, complete.loads, strict=True)),
        (list(motions[0]), list(motions[1])),
        forces,
    )


def _connected(test: PseudoDynamicTest) -> _Joined:
    """Join a specimen that has equations alone."""
    half, n = test.numerical, len(test.numerical)
    if test.ground is not None and test.ground.coordinates == "absolute":
        raise ModelError(
            "the specimen is moved in absolute coordinates and has no matrices, so what it does on the "
            "ground is not known without the rig"
        )
    try:
        inverse = np.linalg.inv(half.M.toarray())
    except np.linalg.LinAlgError:
        raise ModelError(
            "the numerical half has a degree of freedom without mass, so the halves cannot be joined"
        ) from None
    at = half.indices(test.interface)
    names = [name for name, (_, pattern) in test.excitation.items() if np.any(pattern)]
    patterns = [test.excitation[name][1] for name in names] + [np.eye(n)[i] for i in at]
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ half.K.toarray(), -inverse @ half.C.toarray()]])
    B = np.vstack([np.zeros((n, len(patterns))), inverse @ np.column_stack(patterns)])
    own = system_from_matrices(
        A, B, np.zeros((0, 2 * n)), np.zeros((0, len(patterns))),
        states=[f"numerical.{d}.{word}" for word in ("displacement", "velocity") for d in half.dofs],
        inputs=[*(f"load.{name}" for name in names), *indexed("interface.force", len(at))], name="numerical",
    )  # fmt: skip
    specimen = test.rig.specimen.prefixed("rig.specimen.")
    moved = {"displacement": [own.state_vars[i] for i in at], "velocity": [own.state_vars[n + i] for i in at]}
    links: dict[Var, Expr] = dict(zip(own.input_vars[len(names) :], specimen.forces, strict=True))
    for i, motions in enumerate(specimen.motions):
        for word, u in motions.items():
            if word not in moved:
                raise ModelError("the specimen takes accelerations and has no matrices to be joined by")
            links[u] = moved[word][i]
    system = connect("structure", [own, specimen.system], links, {})
    system = with_values(system, {k: x for k, x in test.overrides.items() if k in system.parameters})
    loads = dict(zip(own.input_vars, names, strict=False))
    return system, loads, ([*moved["displacement"]], [*moved["velocity"]]), list(specimen.forces)


def _carried_along(
    ground: SteppedGround,
    system: System,
    motions: tuple[list[Expr], list[Expr]],
    signals: dict[Var, Signal],
) -> tuple[System, tuple[list[Expr], list[Expr]]]:
    """Add the ground's own motion to that of the interfaces, as the rig imposes it."""
    places, velocities = motions
    states: dict[Var, Expr] = {}
    for where, signal in ground.signals.items():
        shaken, speed, place = (
            Var(f"ground.{where}.{w}") for w in ("acceleration", "velocity", "displacement")
        )
        system = system.replaced(inputs=[*system.input_vars, shaken])
        signals[shaken] = signal
        states |= {speed: shaken, place: speed}
        share = [Const(x) for x in ground.motions[where]]
        places = [x + c * place for x, c in zip(places, share, strict=True)]
        velocities = [v + c * speed for v, c in zip(velocities, share, strict=True)]
    return connect("structure", [system], {}, {}, states=states), (places, velocities)


def _dot(weights: Iterable[float], values: Sequence[Expr]) -> Expr:
    total: Expr = Const(0.0)
    for weight, value in zip(weights, values, strict=True):
        if weight:
            total = total + Const(float(weight)) * value
    return total
