"""Notes of a system: what its causality implies, and its algebraic loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.engine.analysis.zero_dynamics_analysis import zero_dynamics
from bondloop.engine.ir import Const, Op, loops
from bondloop.engine.passes import folded, plain_name
from bondloop.errors import BondloopError

if TYPE_CHECKING:
    from bondloop.engine.ir import Loop, SystemData


AROUND = 6
"""Variables of a loop that are named besides those that are solved for."""

MODES = 2
"""Modes that are named."""


def notes(system: SystemData) -> list[str]:
    """Return what the causality implies: dependent storages, algebraic loops, input rates; each by name.

    Parameters
    ----------
    system
        The system; of an inverse the zero dynamics are judged where the model starts.
    """
    result = [*system.remarks, *_dependence(system)]
    result += [loop_note(system, loop) for loop in loops(system.statements)]
    result += [
        f"the rate of input {u.name} is needed: a source drives a storage in derivative causality"
        for u in system.input_rates
    ]
    if system.memories:
        names = ", ".join(v.name for v in system.memories)
        result.append(f"remembered within a step, and renewed at the beginning of each: {names}")
    if system.inversion is not None:
        try:
            result.append(str(zero_dynamics(system)))
        except BondloopError as error:
            result.append(f"zero dynamics of {', '.join(system.states)}: not judged ({error})")
    return result


def _dependence(system: SystemData) -> list[str]:
    """Return the note of derivative causality, where there is any."""
    if not system.dependent:
        return []
    storages = ", ".join(system.dependent)
    if system.inversion is not None:
        return [f"derivative causality: {storages} follow the imposed motions"]
    on = ", ".join(v.name for v in system.dots) or "inputs only"
    return [f"derivative causality: {storages} follow the other storages (their rates enter through {on})"]


def loop_note(system: SystemData, loop: Loop) -> str:
    """Return what is to know of a loop: what it solves for and how, and in which modes there is one."""
    kind = "linear, solved directly"
    if not loop.linear:
        kind = f"nonlinear, at most {loop.iterations} Newton steps"
    around = ", ".join(plain_name(a.target) for a in loop.body[:AROUND])
    around += ", ..." if len(loop.body) > AROUND else ""
    through = f"; through {around}" if around else ""
    names = ", ".join(map(plain_name, loop.tears))
    return f"algebraic loop{_modes(system, loop)}: {names} ({kind}{through})"


def _modes(system: SystemData, loop: Loop) -> str:
    """Return in words the modes in which a loop exists; nothing where it does in all."""
    choice = system.definitions.get(loop.tears[0])
    if not (isinstance(choice, Op) and choice.name == "select"):
        return ""
    for part in system.switching:
        active = []
        for bits in part.modes:
            modes = {rule.mode: Const(float(bit)) for rule, bit in zip(part.rules, bits, strict=True)}
            holds = folded(choice.args[0], modes)
            if not isinstance(holds, Const):
                break  # of other elements
            if holds.value:
                active.append(part.told(bits))
        else:
            if len(active) == len(part.modes):
                return ""
            more = f", and in {len(active) - MODES} more modes" if len(active) > MODES else ""
            return f" with {'; or '.join(active[:MODES])}{more}"
    return ""
