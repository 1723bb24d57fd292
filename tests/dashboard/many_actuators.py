"""A loop of many actuators that turn, with a name as odd as names can be."""

from contextlib import contextmanager

import numpy as np
from two_halves import LoopOptions

from bondloop.engine.ir.expr import Var, function
from bondloop.engine.ir.quantity import Meaning, Role
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Tick, Update
from bondloop.realtime import Console, LoopProcess
from bondloop.realtime.programs.build import build_pair

PERIOD = 1e-3
T, K, FORCE, COMMAND, PHASE = (Var(n) for n in ("t", "k", "measured.force", "command.value", "phase"))


def computer(count, odd):
    """Angles that are wanted, angles that lag behind, and torques."""
    wanted, seen = function("sin", PHASE), function("sin", PHASE - 0.1)
    kinds = (
        ("desired", 0.2 * wanted, "rad", Meaning(Role.DESIRED, "angle", "displacement")),
        ("actual", 0.2 * seen, "rad", Meaning(Role.ACTUAL, "angle", "displacement")),
        ("torque", 300.0 * wanted, "N m", Meaning(Role.MEASURED, "torque", "effort")),
    )
    channels = [
        Channel(f"{word}[{i}]", value, unit, Meaning(m.role, m.quantity, m.kind, i))
        for i in range(count)
        for word, value, unit, m in kinds
    ]
    channels += [
        Channel(f"x{odd}", wanted, "<b>"),
        Channel("command", COMMAND, "m", Meaning(Role.COMMAND, interface=0)),
    ]
    steps = (Assign(COMMAND, 0.01 * wanted), Update(((PHASE, PHASE + 6 * np.pi * PERIOD),)))
    return Tick("many", PERIOD, T, K, (FORCE,), {PHASE: 0.0}, {}, steps, tuple(channels), {}, (FORCE,))


def rig():
    """A spring."""
    command, seen = Var("command"), Meaning(Role.MEASURED, "force", "effort", 0)
    steps, shown = (Assign(FORCE, 1000.0 * command),), (Channel("measured.force", FORCE, "N", seen),)
    return Tick("many_rig", PERIOD, T, K, (command,), {}, {}, steps, shown)


@contextmanager
def odd_loop(count, odd):
    """Run it."""
    programs = build_pair(computer(count, odd), rig())
    options = LoopOptions(link="loopback://", start=False, arm=True, hold=True, retreat=0.2)
    with LoopProcess(programs.loop, options) as loop, Console.attach(loop.name) as console:
        console.arm().wait(60)
        console.start().wait(60)
        yield loop
