"""Compensators alone in a tick, and in a loop with an exactly discretised process."""

import math

import numpy as np
import pytest
from scipy.linalg import expm

from bondloop.control.base import Measured
from bondloop.engine.codegen.runner import Runner
from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Delay, Tick, Update
from bondloop.engine.passes.block import Context


def _tick(applied, inputs, period, count, more=(), states=None):
    value = Var("out")
    channels = [Channel("command", value)]
    channels += applied.channels
    steps = (*applied.steps, Assign(value, applied.value), *more)
    return Tick(
        "compensator", period, Var("t"), count, inputs, {**applied.states, **(states or {})},
        applied.parameters, steps, tuple(channels),
    )  # fmt: skip


def _alone(compensator, demand, motion=None, period=0.001, backend="numpy"):
    """The commands for a sequence of demands, and of measured displacements (zero if none)."""
    x, y, count = Var("x"), Var("y"), Var("k")
    measured = Measured(Const(0.0), y, Const(0.0))
    applied = compensator.compensate(x, measured, Context("controller", count, period))
    tick = _tick(applied, (x, y), period, count)
    table = np.column_stack([demand, np.zeros(len(demand)) if motion is None else motion])
    return Runner(tick, backend).run(len(table), table).channels


def _held(process, period):
    """F, G, C of a process (without its delay) whose input is held: SciPy's matrix exponential, no more."""
    a, b = np.array(process.denominator), np.array(process.numerator)
    n = len(a) - 1
    b = np.concatenate([np.zeros(n + 1 - len(b)), b]) / a[0]
    a = a / a[0]
    A = np.vstack([-a[1:], np.eye(n - 1, n)])
    big = np.zeros((n + 1, n + 1))
    big[:n, :n], big[0, n] = A * period, period
    e = expm(big)
    assert b[0] == 0, "a process whose output jumps with its input would close an algebraic loop"
    return e[:n, :n], e[:n, n], b[1:]


def _loop(compensator, process, demand, period=0.001, backend="c", noise=None):
    """Demand, command and motion of a compensator driving a process through a hold."""
    x, w, y, count = Var("x"), Var("noise"), Var("y"), Var("k")
    F, G, C = _held(process, period)
    n = len(F)
    z = [Var(f"z[{i}]") for i in range(n)]
    out = Const(0.0)
    for c, v in zip(C, z, strict=True):
        out = out + float(c) * v
    measured = Measured(Const(0.0), y, Const(0.0))
    applied = compensator.compensate(x, measured, Context("controller", count, period))
    sent, acting = Var("sent"), Var("acting")
    steps = [Assign(y, out + w), *applied.steps, Assign(sent, applied.value)]
    ticks = round(process.delay / period)
    assert math.isclose(ticks * period, process.delay, abs_tol=1e-12)
    steps.append(Delay(acting, sent, ticks) if ticks else Assign(acting, sent))
    following = []
    for i in range(n):
        e = float(G[i]) * acting
        for j in range(n):
            e = e + float(F[i, j]) * z[j]
        following.append((z[i], e))
    steps.append(Update(tuple(following)))
    channels = [Channel("command", sent), Channel("motion", y)]
    channels += applied.channels
    tick = Tick(
        "loop", period, Var("t"), count, (x, w), {**applied.states, **dict.fromkeys(z, 0.0)}, {},
        tuple(steps), tuple(channels),
    )  # fmt: skip
    table = np.column_stack([demand, np.zeros(len(demand)) if noise is None else noise])
    return Runner(tick, backend).run(len(table), table).channels


def _ratio(output, demand, frequency, period):
    """The complex ratio of two sines of one frequency, by least squares."""
    t = np.arange(len(demand)) * period
    basis = np.column_stack([np.cos(2 * np.pi * frequency * t), np.sin(2 * np.pi * frequency * t)])
    a, b = (np.linalg.lstsq(basis, s, rcond=None)[0] @ [1, -1j] for s in (output, demand))
    return a / b


@pytest.fixture(scope="session")
def alone():
    return _alone


@pytest.fixture(scope="session")
def loop():
    return _loop


@pytest.fixture(scope="session")
def ratio():
    return _ratio
