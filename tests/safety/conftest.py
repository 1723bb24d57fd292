"""A test bench for safety blocks: a tick with guards, switches and an interlock, and faults to order."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from bondloop.engine.codegen.runner import Runner
from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.block import Context
from bondloop.safety import Interlock, RampedSwitch, Watched

BACKENDS = ["numpy", *(["c"] if compiler() else [])]
PERIOD = 0.001
MEASURED = ("force", "displacement", "velocity")
WORDS = (*MEASURED, "desired_displacement", "desired_velocity", "command")


@dataclass
class Bench:
    """Guards, force switch, interlock with displacement switch, in the order in which a test has them.

    ``faults`` are imperfections by word, or by (word, interface).
    """

    interlock: Interlock
    faults: dict = field(default_factory=dict)
    displacement: RampedSwitch | None = None
    force: RampedSwitch = field(default_factory=lambda: RampedSwitch(1.0, ramp=0.1))
    interfaces: int = 1

    def tick(self):
        time, count = Var("t"), Var("k")
        steps, states, parameters, channels, inputs = [], {}, {}, [], []

        def take(applied):
            steps.extend(applied.steps)
            states.update(applied.states)
            parameters.update(applied.parameters)
            channels.extend(applied.channels)
            return applied.value

        def at(name):
            return Context(name, count, PERIOD)

        latch = Var("interlock.cause")
        gamma = take(self.force.apply(Const(1.0), latch, self.interlock.release, at("gamma")))
        channels.append(Channel("gamma", gamma))
        delta = None
        if self.displacement is not None:
            target = self.displacement.target(time)
            delta = take(self.displacement.apply(target, latch, self.interlock.release, at("delta")))
            channels.append(Channel("delta", delta))
        watched = []
        for i in range(self.interfaces):
            values, guards = {}, []
            for word in WORDS:
                value = Var(f"{word}[{i}]")
                inputs.append(value)
                fault = self.faults.get((word, i), self.faults.get(word))
                if fault is not None:
                    value = take(fault.apply(value, at(f"fault.{word}[{i}]")))
                if word in MEASURED:
                    guarded = self.interlock.guard(value, at(f"guard.{word}[{i}]"))
                    guards.append(guarded)
                    value = take(guarded.applied)
                    channels.append(Channel(f"{word}[{i}]", value))
                values[word] = value
            bad, frozen = guards[0].bad, guards[0].frozen
            for g in guards[1:]:
                bad, frozen = bad + g.bad, frozen + g.frozen
            watched.append(Watched(**values, bad=bad, frozen=frozen, switch=delta))
        watch = self.interlock.watch(watched, time, at("interlock"), latch=latch)
        take(watch.applied)
        channels += [Channel(f"command[{i}]", c) for i, c in enumerate(watch.commands)]
        return Tick(
            "bench", PERIOD, time, count, tuple(inputs), states, parameters, tuple(steps), tuple(channels)
        )

    def runner(self, backend):
        return Runner(self.tick(), backend=backend)


def motion(ticks, first=0, interfaces=1, amplitude=0.001, frequency=5.0):
    """A rig that follows perfectly: columns in the order of WORDS, for every interface."""
    t = (first + np.arange(ticks)) * PERIOD
    w = 2 * np.pi * frequency
    x, v = amplitude * np.sin(w * t), amplitude * w * np.cos(w * t)
    one = np.column_stack([100 * np.cos(w * t + 0.3), x, v, x, v, x])
    return np.tile(one, interfaces)


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@pytest.fixture(name="Bench", scope="session")
def bench():
    return Bench


@pytest.fixture(name="motion", scope="session")
def following():
    return motion
