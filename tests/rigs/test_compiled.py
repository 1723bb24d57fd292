"""Imperfections and signals as C and as its Python twin, against the reference executor and NumPy."""

import numpy as np
import pytest

from bondloop.engine.codegen.runner import Runner
from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.extend import Context
from bondloop.rigs import (
    Backlash,
    Bias,
    Chain,
    GainError,
    LowPass,
    Nonlinearity,
    PureDelay,
    Quantisation,
    RateLimit,
    Saturation,
    WhiteNoise,
)
from bondloop.signals import Chirp, HalfSine, Pulse, Ramp, Rise, Sine, Step, SumOfSines, Sweep

BACKENDS = ["numpy", *(["c"] if compiler() else [])]
PERIOD = 0.01
N = 500


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_long_chain(execute, backend, tmp_path, monkeypatch):
    monkeypatch.setenv("BONDLOOP_CACHE", str(tmp_path))
    parts = Chain(
        [
            Nonlinearity(0.01, 5), GainError(0.02), Bias(0.1), Backlash(0.2), RateLimit(40), LowPass(20),
            WhiteNoise(0.1), PureDelay(0.025), Saturation(3, -2.5),
            Chain((WhiteNoise(0.05), PureDelay(0.03))),
            Quantisation(14, 5),
        ]
    )  # fmt: skip
    u, n, t = Var("u"), Var("n"), Var("t")
    applied = parts.apply(u, Context("rig.force[0]", n, PERIOD, seed=9, stream=4))
    channels = (Channel("y", applied.value),)
    tick = Tick("chain", PERIOD, t, n, (u,), applied.states, {}, tuple(applied.steps), channels)
    wave = 3 * np.sin(0.07 * np.arange(N)) + np.cos(0.31 * np.arange(N))
    result = Runner(tick, backend).run(N, wave[:, None])
    np.testing.assert_allclose(result.channels["y"], execute(parts, wave, PERIOD, 9, 4), atol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_signals(backend, tmp_path, monkeypatch):
    monkeypatch.setenv("BONDLOOP_CACHE", str(tmp_path))
    signals = [
        Sine(2, 3, 0.3, 1), SumOfSines([1, 2], [3, 4]), Sweep(1, 1, 9, 3), Chirp(1, 9, 1, 3), Ramp(2, 1, 3),
        Rise(2, 1, 3), HalfSine(3, 1, 2), Step(2, 1.5), Pulse(2, 1, 0.5),
        2 * Sine(1, 1).shifted(0.3) - Step(1, 2),
    ]  # fmt: skip
    signals += [s.derivative() for s in signals[:7]]
    n, t = Var("n"), Var("t")
    channels = tuple(Channel(f"s{i}", s.expression(t)) for i, s in enumerate(signals))
    tick = Tick("signals", PERIOD, t, n, (), {}, {}, (), channels)
    result = Runner(tick, backend).run(N)
    for i, signal in enumerate(signals):
        # 2π 9 Hz: the slope turns a rounding of the time (4e-16) into about 1e-12 of the derivative.
        np.testing.assert_allclose(
            result.channels[f"s{i}"], signal(result.time), rtol=1e-11, atol=1e-11, err_msg=str(signal)
        )
