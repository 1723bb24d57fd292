"""What the notes of a system say of its algebraic loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.program.expr import Const, Op
from bondloop.program.mode_merge import folded, plain_name

if TYPE_CHECKING:
    from bondloop.program.schedule import Loop
    from bondloop.program.system import System

__all__ = ["loop_note"]

AROUND = 6
"""Variables of a loop that are named besides those that are solved for."""

MODES = 2
"""Modes that are named."""


def loop_note(system: System, loop: Loop) -> str:
    """Return what is to know of a loop: what it solves for and how, and in which modes there is one."""
    kind = "linear, solved directly"
    if not loop.linear:
        kind = f"nonlinear, at most {loop.iterations} Newton steps"
    around = ", ".join(plain_name(a.target) for a in loop.body[:AROUND])
    around += ", ..." if len(loop.body) > AROUND else ""
    through = f"; through {around}" if around else ""
    names = ", ".join(map(plain_name, loop.tears))
    return f"algebraic loop{_modes(system, loop)}: {names} ({kind}{through})"


def _modes(system: System, loop: Loop) -> str:
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
