"""Signals against closed forms, their expressions, finite differences and their spectra."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.engine.ir.expr import Var, evaluate
from bondloop.errors import InputError
from bondloop.signals import (
    Chirp,
    Constant,
    Earthquake,
    Flat,
    Gamma,
    HalfSine,
    Jennings,
    Noise,
    Pulse,
    Ramp,
    Recorded,
    Rise,
    Sine,
    Step,
    SumOfSines,
    Sweep,
    Table,
    Trapezoid,
    signal_from,
)
from bondloop.signals.base import Derivative

ANALYTIC = [
    Constant(3.0),
    Sine(0.3, 2.0, phase=0.4, offset=-0.1),
    SumOfSines([1.0, 0.5], [3.0, 7.0], [0.1, 0.2]),
    Sweep(2.0, start=1.0, stop=6.0, duration=1.5, phase=0.3),
    Sweep(2.0, start=6.0, stop=0.0, duration=1.5),
    Chirp(2.0, start=8.0, stop=0.5, duration=1.5),
    Ramp(3.0, start=0.21, end=1.13),
    HalfSine(2.0, start=0.33, width=0.71),
    Rise(3.0, start=0.21, end=1.13),
]
ROUGH = [Step(2.0, at=0.5), Pulse(2.0, start=0.4, width=0.7)]
TABULATED = [
    Table(np.linspace(0, 2, 9), np.sin(np.arange(9))),
    Table(np.linspace(0, 2, 9), np.sin(np.arange(9)), interpolation="cubic"),
    Noise(1.0, low=0.5, high=4.0, duration=2.0, seed=3),
    Earthquake(2.0, duration=2.0, step=0.02, seed=5),
    *(
        Recorded(np.sin(np.arange(101)), 0.02, motion)
        for motion in ("acceleration", "velocity", "displacement")
    ),
]
KINKS = np.array([0.0, 0.21, 0.33, 1.04, 1.13, 1.5, 2.0])
TIMES = np.linspace(-0.3, 2.4, 173) + 0.00137  # off every kink and every sample


def name(signal):
    return type(signal).__name__


@pytest.mark.parametrize("signal", [*ANALYTIC, *ROUGH, *(s.derivative() for s in ANALYTIC)], ids=name)
def test_the_expression_is_the_signal(signal):
    t = Var("t")
    expression = signal.expression(t)
    found = [evaluate(expression, {t: float(x)}) for x in [*TIMES, *KINKS]]
    np.testing.assert_allclose(found, signal(np.array([*TIMES, *KINKS])), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "signal", [*ANALYTIC, *TABULATED, 2 * ANALYTIC[1] - ANALYTIC[3].shifted(0.1)], ids=name
)
def test_the_derivative_is_that_of_finite_differences(signal):
    # Central differences over 2h err by h²/6 |x'''| < 1e-12/6 * (2π 8)³ * 2 for the fastest signal.
    h = 1e-6
    smooth = np.min(np.abs(TIMES[:, None] - KINKS), axis=1) > 2 * h
    expected = (signal(TIMES + h) - signal(TIMES - h)) / (2 * h)
    found = signal.derivative()(TIMES)
    np.testing.assert_allclose(found[smooth], expected[smooth], rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("signal", [*ANALYTIC, *TABULATED[1:3]], ids=name)
def test_higher_derivatives_follow_from_lower_ones(signal):
    if signal.smoothness < 2:
        with pytest.raises(InputError, match="impulse"):
            signal.derivative().derivative()
        return
    h = 1e-6
    inside = TIMES[(TIMES > 0.01) & (TIMES < 1.49)]
    first = signal.derivative()
    expected = (first(inside + h) - first(inside - h)) / (2 * h)
    scale = np.abs(expected).max() + 1
    np.testing.assert_allclose(first.derivative()(inside), expected, atol=1e-6 * scale)


def test_closed_forms():
    t = np.linspace(0, 3, 301)
    np.testing.assert_allclose(
        Sine("20 mm", 1.5, "30 deg", 0.1)(t), 0.02 * np.sin(3 * np.pi * t + np.pi / 6) + 0.1
    )
    np.testing.assert_allclose(
        SumOfSines([1, 2], [1, 3])(t), np.sin(2 * np.pi * t) + 2 * np.sin(6 * np.pi * t), atol=1e-14
    )
    assert Step(2, at=1)(np.array([0.999, 1.0])).tolist() == [0.0, 2.0]
    assert Ramp.at_rate(2.0, 1, 3)(2.0) == 2.0
    # A linear sweep has completed f0 T + (f1 - f0) T/2 cycles at its end: 2*3 + 4*1.5 = 12, a whole number.
    assert Sweep(1, 2, 6, 3)(3.0) == pytest.approx(0, abs=1e-13)
    assert Sweep(1, 2, 6, 3)(3.0 + 1 / 24) == pytest.approx(1)  # a quarter period of 6 Hz later
    # A chirp over one octave in T from f0 has completed f0 T/ln 2 cycles.
    assert Chirp(1, 1, 2, 3)(3.0) == pytest.approx(math.sin(2 * math.pi * 3 / math.log(2)))


@pytest.mark.parametrize("signal", [Sweep(1, 2, 20, 5), Sweep(1, 20, 2, 5), Chirp(1, 2, 20, 5)], ids=name)
def test_instantaneous_frequency(signal):
    # sin² + cos² = 1 gives |x'| = 2π f √(1 - x²); compared where x is not near its peaks.
    t = np.linspace(-1, 7, 4001)
    x = signal(t)
    away = np.abs(x) < 0.7
    measured = np.abs(signal.derivative()(t[away])) / (2 * np.pi * np.sqrt(1 - x[away] ** 2))
    np.testing.assert_allclose(measured, signal.frequency(t[away]), rtol=1e-9)


def test_arithmetic():
    a, b = Sine(1.0, 1.0), Ramp(2.0, 0, 4)
    t = np.linspace(0, 5, 51)
    np.testing.assert_allclose((a + b)(t), a(t) + b(t))
    np.testing.assert_allclose((a - b + 1)(t), a(t) - b(t) + 1)
    np.testing.assert_allclose((1 - a)(t), 1 - a(t))
    np.testing.assert_allclose((-2 * a / 4)(t), -a(t) / 2)
    np.testing.assert_allclose(a.shifted("250 ms")(t), np.sin(2 * np.pi * (t - 0.25)))
    assert (a + b).duration == math.inf
    assert b.shifted(1).duration == 5
    assert (a + TABULATED[0]).expression(Var("t")) is None
    assert (a + Sine(1, 7)).highest_frequency == 7
    with pytest.raises(InputError, match="expected a number"):
        a * b
    with pytest.raises(InputError, match="impulse"):
        (a + Step(1)).derivative()


floats = st.floats(-1e6, 1e6)
positive = st.floats(1e-3, 1e3)
seeds = st.integers(0, 2**53 - 1)
increasing = st.lists(floats, min_size=1, max_size=6, unique=True).map(sorted)
leaves = st.one_of(
    st.builds(Constant, floats),
    st.builds(Sine, floats, positive, floats, floats),
    st.lists(st.tuples(floats, positive, floats), min_size=1, max_size=4).map(
        lambda w: SumOfSines(*map(list, zip(*w, strict=True)))
    ),
    st.builds(Sweep, floats, positive, positive, positive, floats),
    st.builds(lambda a, f, r, d: Chirp(a, f, r * f, d), floats, positive, st.floats(1.01, 50), positive),
    st.builds(Step, floats, floats),
    st.builds(lambda a, s, w: Ramp(a, s, s + w), floats, floats, st.floats(1, 10)),
    st.builds(Pulse, floats, floats, positive),
    st.builds(HalfSine, floats, floats, positive),
    st.builds(lambda r, f, s: Noise(r, f, f + 3, 1.5, s), positive, positive, seeds),
    st.builds(lambda p, s, e: Earthquake(p, 8, seed=s, envelope=e), positive, seeds, st.sampled_from(
        [None, Flat(), Jennings(1, 4, 0.5), Gamma(2, 3), Trapezoid(1, 2, 8)])),
    st.builds(lambda t, k, b: Table(t, np.cos(t), k, b), increasing,
        st.sampled_from(["hold", "linear", "cubic"]), st.sampled_from(["hold", "zero"])),
)  # fmt: skip
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
        st.builds(lambda s, k: k * s, inner, floats),
        st.builds(lambda s, k: s.shifted(k), inner, floats),
        inner.map(lambda s: Derivative(s) if s.smoothness >= 1 else s),
    ),
    max_leaves=4,
)


@given(trees)
def test_a_description_is_the_signal(signal):
    text = json.dumps(signal.describe(), allow_nan=False)
    again = signal_from(json.loads(text))
    assert again == signal
    assert hash(again) == hash(signal)
    assert again.describe() == signal.describe()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sine(1, frequency=-2), r"Sine\(frequency\): expected a number at least 0; found -2"),
        (lambda: Sine(math.nan, 1), "finite"),
        (lambda: Sine("5 furlongs", 1), r"Sine\(amplitude\): .*unknown unit"),
        (lambda: Sine(None, 1), "expected a number or a text"),
        (lambda: SumOfSines([1, 2], [1]), "found 1"),
        (lambda: SumOfSines([], []), "found 0"),
        (lambda: SumOfSines([1], [-1]), "none negative"),
        (lambda: Sweep(1, 1, 2, 0), "above 0"),
        (lambda: Chirp(1, 0, 2, 1), "above 0"),
        (lambda: Chirp(1, 2, 2, 1), "use Sine"),
        (lambda: Ramp(1, 2, 2), "end after the start"),
        (lambda: Pulse(1, 0, -1), "above 0"),
        (lambda: Noise(1, 1.01, 1.09, 10), "no multiple"),
        (lambda: Noise(1, 1, 1e9, 10), "waves"),
        (lambda: Noise(1, 1, 2, 10, seed=1.5), "whole number"),
        (lambda: Noise(1, 1, 2, 10, seed=-1), "whole number"),
        (lambda: Noise(1, 1, 50, 10).sampled(np.arange(100) * 0.01), "sample faster"),
        (lambda: Earthquake(1, 20, 0.1).sampled(np.arange(100) * 0.15), "sample faster"),
        (lambda: Earthquake(1, 20, ground_frequency=60), "shorten the step"),
        (lambda: Earthquake(1, 0.1), "20 samples"),
        (lambda: Earthquake(0, 10), "above 0"),
        (lambda: Earthquake(1, 10, envelope=3), "Envelope"),
        (lambda: Trapezoid(3, 2, 4), "rise <= plateau"),
        (lambda: Jennings(3, 2, 4), "rise <= plateau"),
        (lambda: Table([0, 1, 1], [1, 2, 3]), "entry 2 is 1 s after 1 s"),
        (lambda: Table([0, 1], [1, math.inf]), "entry 1 is inf"),
        (lambda: Table([], []), "at least one"),
        (lambda: Table([0, 1], [1]), "2 times but 1 values"),
        (lambda: Table([0, 1], ["a", 1]), r"Table\(values\[0\]\): expected a number"),
        (lambda: Table([0, 1], [1, 2], "quadratic"), "interpolation"),
        (lambda: Table([0, 1], [1, 2], "hold").derivative(), "impulse"),
        (lambda: Step(1).derivative(), "a Ramp for a Step"),
        (lambda: Sine(1, 1).sampled([0, 0.1, 0.1]), "must increase"),
        (lambda: Sine(1, 1).sampled([0, math.nan]), "not finite"),
        (lambda: Sine(1, 1).sampled(0.1), "list of times"),
        (lambda: Sine(1, 1) + "x", "expected a number"),
        (lambda: signal_from({"signal": "Chrp"}), "did you mean 'Chirp'"),
        (lambda: signal_from({"signal": "Sine", "amplitude": 1}), "needs frequency"),
        (lambda: signal_from({"signal": "Sine", "frequency": 1, "amplitud": 1}), "did you mean 'amplitude'"),
        (lambda: signal_from({"kind": "Sine"}), "the entry 'signal'"),
        (lambda: signal_from([]), "expected a dictionary"),
        (lambda: signal_from({"signal": "Scaled", "of": 3, "factor": 2}), "expected a signal"),
    ],
)  # fmt: skip
def test_bad_input(make, message):
    with pytest.raises(InputError, match=message):
        make()
