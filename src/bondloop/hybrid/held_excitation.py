"""The excitation of a test, held from an instant on: what is left to see is what the test does by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from bondloop.signals import Signal, brought_to_rest, ground_brought_to_rest, held_at_zero, held_still
from bondloop.units import is_of_kind

if TYPE_CHECKING:
    from bondloop.engine.ir import Quantity


def held_input(signal: Signal, at: float, quantity: Quantity | None, *, rated: bool) -> Signal:
    """Return a signal held as suits what it drives.

    A displacement stays where it is; a force, a velocity and an acceleration go to zero. A force that no
    longer changes stays, such as a weight, and so does a velocity that was there from the start. An input of
    which nothing is known stays, so that nothing jumps. A velocity whose rate is needed, too, goes to zero no
    faster than it ever did, for at once would be an impulse.

    Parameters
    ----------
    signal
        What drives the input.
    at
        When, in s.
    quantity
        What the input measures.
    rated
        Whether its rate is needed.

    Examples
    --------
    >>> from bondloop.bondgraph import TRANSLATION
    >>> from bondloop.signals import Ramp
    >>> ramp = Ramp(1, start=0, end=2)
    >>> held_input(ramp, 1.0, TRANSLATION.displacement, rated=False)(5.0)
    0.5
    >>> held_input(ramp, 1.0, TRANSLATION.flow, rated=False)(5.0)
    0.0
    """
    kind, unit = ("", "") if quantity is None else (quantity.kind, quantity.unit)
    unit = unit or signal.unit
    if kind == "flow" and rated:
        return brought_to_rest(signal, at)
    if rated:
        return held_still(signal, at)
    if kind in ("flow", "acceleration"):  # no wall moves on at the last velocity of its record
        return held_at_zero(signal, at, steady=0.0)
    rates = kind == "effort" or (unit and not kind and _goes_to_zero(unit))
    return held_at_zero(signal, at) if rates else held_still(signal, at)


def held_load(signal: Signal, at: float) -> Signal:
    """Return a signal held that is given with forces per unit of it: at zero, if it is no displacement.

    Parameters
    ----------
    signal
        The signal.
    at
        When, in s.
    """
    moved = signal.unit and any(is_of_kind(f"1 {signal.unit}", u) for u in ("m", "rad"))
    return held_still(signal, at) if moved else held_at_zero(signal, at)


def _goes_to_zero(unit: str) -> bool:
    """Whether an input of which only the unit is known is a force, a velocity or an acceleration."""
    return any(is_of_kind(f"1 {unit}", u) for u in ("N", "N m", "m/s", "rad/s", "m/s^2", "rad/s^2"))


def held_grounds(ground: Mapping[str, Signal], at: float) -> dict[str, Signal]:
    """Return accelerations of a ground that comes to rest after an instant, by direction or support.

    Parameters
    ----------
    ground
        The accelerations.
    at
        When, in s.
    """
    return {where: ground_brought_to_rest(signal, at) for where, signal in ground.items()}


def with_own_signals_held(controller: Any, at: float) -> Any:
    """Return a controller whose own signals, which are demanded displacements, stay at their values.

    Parameters
    ----------
    controller
        Of a test.
    at
        When, in s.
    """
    if not is_dataclass(controller) or isinstance(controller, type):
        return controller
    own = {f.name: getattr(controller, f.name) for f in fields(controller) if f.init}
    held = {name: held_still(value, at) for name, value in own.items() if isinstance(value, Signal)}
    return replace(controller, **held) if held else controller
