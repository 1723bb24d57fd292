"""Edits that put the ground's motion into a model: forces on 1-junctions, velocities into bonds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph import I, Input, MSe, MSf, One, Zero, bond
from bondloop.bondgraph.parts import Terminal, reading, unbond

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.bondgraph.parts import Bond, Part

__all__ = ["NOTHING", "Shift", "add_shift", "drive", "ground_input", "opened"]

NOTHING = 1e-12
"""Share of the ground's motion that rounding leaves."""


@dataclass
class Shift:
    """The ground's velocity in a bond: how much by direction; +1 where the head's flow gains it, else -1."""

    into_head: int
    gains: dict[str, float]


def add_shift(shifts: dict[Bond, Shift], b: Bond, head: bool, gains: Mapping[str, float]) -> None:
    """Let the flow at a bond's head, or else at its tail, gain shares of the ground's velocity.

    Parameters
    ----------
    shifts
        By bond, what there is already.
    b, head
        The bond, and whether its head gains.
    gains
        By direction or support, how much.
    """
    sign = 1 if head else -1
    if b not in shifts:
        shifts[b] = Shift(sign, dict(gains))
        return
    for where, gain in gains.items():
        shifts[b].gains[where] += gain * sign * shifts[b].into_head


def opened(model: Model, b: Bond, number: int) -> Zero:
    """Put a 0-junction into a bond, where flows add up."""
    total = Zero(domain=b.tail.domain or b.head.domain)
    setattr(model, f"ground_total_{number}", total)
    tail = b.tail if b.tail_index is None else Terminal(b.tail, b.tail_index)
    head = b.head if b.head_index is None else Terminal(b.head, b.head_index)
    unbond(b)
    bond(tail, total)
    bond(total, head)
    return total


def drive(
    model: Model,
    where: str,
    loads: list[tuple[Part, float]],
    drags: list[tuple[Part, float]],
    flows: list[tuple[Zero, float]],
) -> None:
    """Put the ground's acceleration on a model.

    Parameters
    ----------
    model, where
        The model, and the direction or support.
    loads, drags
        1-junctions, and the forces on them per unit of the ground's acceleration and of its velocity.
    flows
        0-junctions, and the shares of the ground's velocity that they gain.
    """
    name = ground_input(where)
    if not loads and not drags and not flows:
        return
    source = Input(name, unit="m/s^2")
    setattr(model, name, source)
    for i, (one, load) in enumerate(loads):
        force = MSe(_times(load))
        setattr(model, f"{name}_force_{i}", force)
        bond(source, force)
        bond(force, one)
    if not drags and not flows:
        return
    # A mass of 1 kg that is pushed by as many newtons has the ground's velocity.
    push, velocity, mass = MSe(_times(1.0)), One(), I(mass=1.0)
    for word, part in (("push", push), ("velocity", velocity), ("mass", mass)):
        setattr(model, f"{name}_{word}", part)
    bond(source, push)
    bond(push, velocity)
    bond(velocity, mass)
    for i, (one, load) in enumerate(drags):
        force = MSe(_times(load))
        setattr(model, f"{name}_drag_{i}", force)
        bond(reading(mass, "momentum"), force)
        bond(force, one)
    for i, (total, gain) in enumerate(flows):
        flow = MSf(_times(gain))
        setattr(model, f"{name}_flow_{i}", flow)
        bond(reading(mass, "momentum"), flow)
        bond(flow, total)


def _times(factor: float) -> Callable[[Any], Any]:
    return lambda signal: factor * signal


def ground_input(where: str) -> str:
    """Return the name of the input that is the ground's acceleration in a direction, or of a support.

    >>> ground_input("ux"), ground_input("pier[2].ux")
    ('ground_ux', 'ground_pier_2_ux')
    """
    words = "".join(c if c.isalnum() else "_" for c in where.replace("]", ""))
    return f"ground_{words}"
