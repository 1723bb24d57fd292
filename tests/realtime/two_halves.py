"""A small test in two halves: what the tests of the real-time loop run."""

import time
from functools import partial

import bondloop.realtime
from bondloop.engine.codegen import compiler
from bondloop.engine.codegen.toolchain import build_program
from bondloop.engine.ir.expr import Var, function, select
from bondloop.engine.ir.quantity import Meaning, Role
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Delay, Tick, Update
from bondloop.realtime.programs.build import Programs, build_pair, loop_sources

PERIOD = 1e-3
LoopOptions = partial(bondloop.realtime.LoopOptions, gap=60.0, supervisor=60.0, machine=True)
"""Tests share the machine: their loops bear any pause, their supervisor's too, but for those that are about
pauses; and rigs that tests play need not say that they are models."""

T, K = Var("t"), Var("k")
LOAD, FORCE, COMMAND_IN = Var("load.now"), Var("measured.force"), Var("command")
X, V, STIFFNESS, COMMAND = Var("x"), Var("v"), Var("stiffness"), Var("command.value")
PLACE, LATE = Var("place"), Var("late")

COMPUTE = (Assign(COMMAND, X + 0.5 * PERIOD * V),)
INTEGRATE = (
    Update(
        (
            (X, X + PERIOD * V),
            (V, V + PERIOD * (LOAD - FORCE - STIFFNESS * X * (1 + X * X) - 2.0 * V)),
        )
    ),
)
SENT, SEEN = Meaning(Role.COMMAND, interface=0), Meaning(Role.MEASURED, "force", "effort", 0)
MEASURED = Channel("measured.force", FORCE, "N", SEEN)
CHANNELS = (Channel("x", X, "m"), Channel("command", COMMAND, "m", SENT), MEASURED)
STATES = {X: 0.05, V: 0.0}
PARAMETERS = {STIFFNESS: 400.0}


def measure():
    return (Assign(FORCE, 30.0 * PLACE + 5.0 * PLACE * function("fabs", PLACE)),)


def advance(command):
    """An actuator with a lag and a delay of three ticks."""
    return (Delay(LATE, command, 3), Update(((PLACE, PLACE + 0.3 * (LATE - PLACE)),)))


def make_computer(name="computer", channels=CHANNELS, bounds=None, extra=(), parameters=None):
    """A mass on a cubic spring, with a tabulated load and the rig's force; the command is its position."""
    return Tick(
        *(name, PERIOD, T, K, (LOAD, FORCE), STATES, {**PARAMETERS, **(parameters or {})}),
        *((*COMPUTE, *extra, *INTEGRATE), channels, bounds or {}, (FORCE,)),
    )


def make_rig(name="specimen", period=PERIOD):
    steps = (*measure(), *advance(COMMAND_IN))
    return Tick(name, period, T, K, (COMMAND_IN,), {PLACE: 0.01}, {}, steps, (MEASURED,))


def make_whole():
    """Both halves as one tick, as a rehearsal runs them."""
    steps = (*measure(), *COMPUTE, *advance(COMMAND), *INTEGRATE)
    return Tick("whole", PERIOD, T, K, (LOAD,), {**STATES, PLACE: 0.01}, PARAMETERS, steps, CHANNELS)


def make_interlocked(retreat=20):
    """A computer's tick with an interlock of its own: after a trip the command falls in a straight line."""
    trip, cause, last, left = (Var(f"interlock.{w}") for w in ("trip", "latched", "last", "left"))
    now, sent = Var("interlock.now"), Var("interlock.sent")
    steps = (
        *COMPUTE,
        Assign(now, select(cause > 0.0, cause, trip)),
        Assign(sent, select(now > 0.0, last * left, COMMAND)),
        Update(
            (
                (cause, now),
                (last, select(now > 0.0, last, COMMAND)),
                (left, select(now > 0.0, function("fmax", left - 1.0 / retreat, 0.0), 1.0)),
            )
        ),
        *INTEGRATE,
    )
    channels = (
        CHANNELS[0],
        Channel("command", sent, "m", SENT),
        CHANNELS[2],
        Channel("interlock.cause", now),
    )
    states = {**STATES, cause: 0.0, last: 0.0, left: 1.0}
    return Tick(
        *("interlocked", PERIOD, T, K, (LOAD, FORCE), states, {**PARAMETERS, trip: 0.0}, steps, channels),
        measured=(FORCE,),
    )


def hooked(computer, rig):
    """Both programs, the loop with what is compiled in for tests alone: a command that keeps a tick busy."""
    files = loop_sources(computer, rig=rig)
    loop = build_program(files, f"{computer.name}-loop", compiler(), extra=("-DBL_TEST_HOOKS",))
    return Programs(loop, build_pair(computer, rig).rig)


def stall(loop, seconds):
    """Keep one tick of a loop of `hooked` busy for so long; return the command's number."""
    return loop.mailbox._send(6, 0, seconds)


def until(condition, seconds=60.0):
    """Wait for something that another process does; fail if it never comes, however busy the machine is."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "what was waited for did not come"
        time.sleep(0.001)
