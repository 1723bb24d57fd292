"""What a test records so that its run can be judged: the reference's counterparts, the power supplied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.bondgraph import bonds_of
from bondloop.bondgraph.elements import MSe, MSf, Se, Sf
from bondloop.engine.ir import Const, Expr, Var
from bondloop.errors import InputError
from bondloop.rigs import indexed
from bondloop.units import is_of_kind, multiplied

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.engine import System
    from bondloop.hybrid.test import HybridTest


def interface_velocities(test: HybridTest) -> list[tuple[int, str, Expr]]:
    """Return the velocities in the complete model where the interfaces are, as far as it has them by name.

    Each with the number of the interface and the name of its channel.

    The numerical half is a copy of a part of the complete model, and its paths are those of the latter.
    """
    reference = test.reference_system
    velocities: list[tuple[int, str, Expr]] = []
    if reference is None or test.rig.coupler is not None:  # what is desired there are strokes
        return velocities
    names = indexed("reference.velocity", len(test.half.flows))
    for i, (name, flow) in enumerate(zip(names, test.half.flows, strict=True)):
        path = flow.name.removeprefix("numerical.") if isinstance(flow, Var) else ""
        velocity = _variable(reference, f"reference.{path}")
        if velocity is not None:
            velocities.append((i, name, velocity))
    return velocities


def counterparts(test: HybridTest) -> dict[str, str]:
    """Return by the name of each of the reference's outputs what it is compared with, as far as there is one.

    A path in numerical half or specimen. What is an interface's velocity is compared as that: the desired one
    is recorded anyway.
    """
    paths: dict[str, str] = {}
    if test.reference_system is None:
        return paths
    for name, _, _ in test.reference_outputs:
        ours = _variable(test.design.system, f"numerical.{name}")
        if ours is not None:
            if not any(ours is flow for flow in test.half.flows):
                paths[name] = f"numerical.{name}"
        elif _variable(test.rig_system.system, f"rig.specimen.{name}") is not None:
            paths[name] = f"rig.specimen.{name}"
    return paths


def supplied_power(test: HybridTest) -> Expr | None:
    """Return the power [W] that the numerical half's sources supply; None where it cannot be told.

    Each source has its own domain: effort times flow, but in an engineer's network of heat the flow alone.
    """
    if test.ground:
        return None  # the ground moves the specimen too
    return power_of_sources(test.numerical, test.half.system, "numerical.")


def power_of_sources(model: Model, system: System, prefix: str) -> Expr | None:
    """Return the power [W] that a model's sources supply; None where it cannot be told.

    Parameters
    ----------
    model
        With the sources.
    system
        Its equations.
    prefix
        What the names of its variables begin with there.
    """
    total: Expr = Const(0.0)
    count = 0
    for path, part in model.walk():
        if not isinstance(part, (Se, Sf, MSe, MSf)):
            continue
        bonds = [b for b in bonds_of(part) if not (b.tail.is_signal or b.head.is_signal or b.word)]
        if len(bonds) != 1 or (getattr(part, "size", None) or 1) > 1:
            return None  # one that drives several bonds has as many efforts or flows
        power = _power(system, f"{prefix}{path}")
        if power is None:
            return None
        total = total + power if bonds[0].tail is part else total - power
        count += 1
    return total if count else None


def _power(system: System, path: str) -> Expr | None:
    """Return the power of a bond; None where it has none that can be told."""
    effort, flow = (_variable(system, f"{path}.{word}") for word in ("effort", "flow"))
    if effort is None or flow is None:
        return None
    units = [q.unit for q in (system.quantity(f"{path}.{word}") for word in ("effort", "flow")) if q]
    if len(units) < 2 or not all(units):  # of generalised forces and velocities the product is a power
        return effort * flow
    if is_of_kind(f"1 {units[1]}", "W"):
        return flow
    return effort * flow if is_of_kind(f"1 {multiplied(units[0], units[1])}", "W") else None


def _variable(system: System, path: str) -> Expr | None:
    try:
        return system.expression(path)
    except InputError:
        return None
