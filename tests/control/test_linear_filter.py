"""Filters in a tick: lead compensation, low passes with derivatives, against SciPy."""

import numpy as np
import pytest
from scipy import signal

from bondloop.control import LeadCompensation
from bondloop.control.blocks.filters import rational, state_variable_filter
from bondloop.engine.codegen.runner import Runner
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.block import Context


def run(block, values, period=0.001, backend="c"):
    u, count = Var("u"), Var("k")
    applied, outputs = block.apply(u, Context("filter", count, period), "part")
    channels = tuple(Channel(f"y{i}", y) for i, y in enumerate(outputs))
    tick = Tick("filter", period, Var("t"), count, (u,), applied.states, {}, tuple(applied.steps), channels)
    result = Runner(tick, backend).run(len(values), np.reshape(values, (-1, 1))).channels
    return np.column_stack([result[f"y{i}"] for i in range(len(outputs))])


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize(("b", "a"), [([2.0, 3.0], [1e-4, 0.02, 1.0]), ([0.1, 2.0, 1.0], [0.01, 0.3, 5.0])])
def test_a_rational_filter_is_exact_for_a_linear_input(b, a, backend):
    """scipy.signal.lsim interpolates linearly between samples and is exact for it."""
    u = np.cumsum(np.random.default_rng(5).normal(size=200))
    u -= u[0]
    t = np.arange(200) * 0.002
    _, expected, _ = signal.lsim((b, a), u, t)
    found = run(rational(b, a), u, 0.002, backend)[:, 0]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())


def test_derivatives_are_those_of_the_filtered_signal():
    """Of a sine they differ by factors of i w; the low pass is (w0/(s + w0))^3."""
    T, f = 0.0005, 6.0
    t = np.arange(4000) * T
    y = run(state_variable_filter(2, 20.0), np.sin(2 * np.pi * f * t), T)
    s = 2j * np.pi * f
    for i in range(3):
        exact = s**i * (1 / (1 + s / (2 * np.pi * 20.0))) ** 3 * np.exp(s * t)
        assert np.abs(y[2000:, i] - exact.imag[2000:]).max() < 1e-4 * abs(s) ** i


def test_a_held_input_is_the_one_since_the_sample_before():
    """scipy.signal.lsim with steps between samples: the value u(k) acted from sample k-1 to k."""
    u = np.random.default_rng(2).normal(size=100)
    w = 2 * np.pi * 8.0
    _, expected, _ = signal.lsim(
        ([w**2], [1, 2 * w, w**2]), np.append(u, 0.0), np.arange(101) * 0.001, interp=False
    )
    found = run(state_variable_filter(1, 8.0, held=True), u)[:, 0]
    assert found == pytest.approx(expected[1:], abs=1e-12)


def test_a_lead_is_its_transfer_function():
    lead = LeadCompensation("8 ms", ratio=4)
    f = np.array([0.1, 1.0, 5.0])
    s = 2j * np.pi * f
    T = 0.008 * 4 / 3  # T (1 - 1/ratio) = delay
    assert lead.response(f, 1e-4) == pytest.approx((T * s + 1) / (T * s / 4 + 1), rel=1e-4)
    late = -np.angle(lead.response([0.1], 1e-4)) / (2 * np.pi * 0.1)
    assert late[0] == pytest.approx(-0.008, rel=1e-3)  # it leads by the delay


def test_a_lead_cancels_a_lag_for_slow_motions(loop, alone, ratio):
    from bondloop.transfer import first_order

    lag = first_order(1.0, 0.01)
    t = np.arange(3000) * 0.001
    x = 0.01 * np.sin(2 * np.pi * 2 * t)
    lead = LeadCompensation(0.0105)  # half a period for the hold
    without = ratio(loop(LeadCompensation(0.0), lag, x)["motion"][1000:], x[1000:], 2.0, 0.001)
    cancelled = ratio(loop(lead, lag, x)["motion"][1000:], x[1000:], 2.0, 0.001)
    assert np.degrees(np.angle(without)) == pytest.approx(-7.5, abs=0.1)  # atan(w tau) + w T/2
    assert abs(np.degrees(np.angle(cancelled))) < 0.1
    found = ratio(alone(lead, x)["command"][1000:], x[1000:], 2.0, 0.001)
    assert found == pytest.approx(complex(lead.response(2.0, 0.001)), rel=1e-9)
