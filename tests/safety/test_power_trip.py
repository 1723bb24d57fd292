"""The power trip against closed forms and SciPy."""

import math

import numpy as np
import pytest
from scipy.signal import lfilter

from bondloop.engine.codegen.runner import Runner
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.block import Context
from bondloop.errors import InputError
from bondloop.rigs import Jump
from bondloop.safety import Cause, Interlock, PowerTrip, safety_from

T = 0.001


def filtered(trip, backend, table):
    f, p, n, time, count = (Var(w) for w in ("f", "vp", "vn", "t", "k"))
    applied = trip.apply(f, p, n, Context("power", count, T))
    channels = (Channel("square", applied.value), Channel("tripped", trip.tripped(applied.value)))
    tick = Tick("power", T, time, count, (f, p, n), applied.states, {}, tuple(applied.steps), channels)
    return Runner(tick, backend=backend).run(len(table), table).channels


def test_a_constant_discrepancy(backend):
    """P = 3 N (0.5 - 0.1) m/s; y(k) = P²(1 - exp(-2π f_c T (k+1)))."""
    found = filtered(PowerTrip(1.0, cutoff=4.0), backend, np.tile([3.0, 0.5, 0.1], (500, 1)))
    k = np.arange(500)
    expected = 1.2**2 * -np.expm1(-2 * np.pi * 4 * T * (k + 1))
    np.testing.assert_allclose(found["square"], expected, rtol=1e-11)
    np.testing.assert_array_equal(found["tripped"], expected > 1)


def test_any_discrepancy(backend):
    rows = np.random.default_rng(5).normal(size=(2000, 3))
    found = filtered(PowerTrip(1.0, cutoff=0.7), backend, rows)
    a = math.exp(-2 * math.pi * 0.7 * T)
    expected = lfilter([1 - a], [1, -a], (rows[:, 0] * (rows[:, 1] - rows[:, 2])) ** 2)
    np.testing.assert_allclose(found["square"], expected, rtol=1e-9)


@pytest.mark.parametrize(("phase", "factor"), [(0.0, 3 / 8), (np.pi / 2, 1 / 8)])
def test_a_harmonic_discrepancy(phase, factor):
    """Mean of sin⁴ is 3/8, of sin² cos² 1/8; ripple of the filter f_c/2f = 1 %."""
    t = np.arange(4000) * T
    rows = np.column_stack([200 * np.sin(100 * np.pi * t), 0.03 * np.sin(100 * np.pi * t + phase), 0 * t])
    found = filtered(PowerTrip(100.0, cutoff=1.0), "numpy", rows)
    assert found["square"][-1] == pytest.approx(factor * 6.0**2, rel=0.03)


@pytest.mark.parametrize("power", [1.01, 1.5, 5.0, 40.0])
def test_the_interlock_trips_after_the_time_of_the_closed_form(Bench, backend, power):
    """A velocity off by power/F from tick 100 on; threshold 1 W."""
    trip = PowerTrip(1.0, cutoff=2.0)
    rows = np.zeros((1100, 6))
    rows[:, 0] = 10.0
    result = Bench(Interlock(power=trip), {"velocity": Jump(0.1, power / 10)}).runner(backend).run(1100, rows)
    ticks = math.log(1 - 1 / power**2) / math.log(trip.decay(T))
    assert np.flatnonzero(result.channels["interlock.cause"])[0] == 100 + math.ceil(ticks) - 1
    assert result.channels["interlock.cause"][-1] == Cause.POWER
    root = result.channels["interlock.power"]
    assert root[150] == pytest.approx(power * math.sqrt(-math.expm1(-2 * math.pi * 2 * T * 51)), rel=1e-9)


def test_a_spike_is_ignored(backend):
    """One sample of 5 thresholds adds 25(1 - a) = 0.16 squared thresholds."""
    rows = np.zeros((200, 3))
    rows[50] = [5, 1, 0]
    found = filtered(PowerTrip(1.0), backend, rows)
    assert not found["tripped"].any()
    assert found["square"].max() == pytest.approx(25 * -math.expm1(-2 * math.pi * T), rel=1e-12)


def test_it_forgets_in_a_known_time(backend):
    """However large the discrepancy was: below the threshold after 2 ln(100)/(2π f_c)."""
    rows = np.zeros((400, 3))
    rows[10] = [1e200, 1e200, 0]
    found = filtered(PowerTrip(1.0, cutoff=5.0), backend, rows)
    after = math.ceil(2 * math.log(100) / (2 * math.pi * 5 * T))
    assert found["square"][10] == 1e4
    assert found["tripped"][10 : 10 + after - 1].all()
    assert not found["tripped"][10 + after + 1 :].any()


def test_description():
    trip = PowerTrip("20 W", cutoff="500 mHz")
    assert (trip.threshold, trip.cutoff) == (20.0, 0.5)
    assert safety_from(trip.describe()) == trip


@pytest.mark.parametrize("given", [{"threshold": 0}, {"threshold": -3}, {"threshold": 1, "cutoff": 0}])
def test_what_is_refused(given):
    with pytest.raises(InputError, match="above 0"):
        PowerTrip(**given)
