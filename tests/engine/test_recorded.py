"""Recorded ground motions: exact integrals, baselines, and what is driven by the wrong motion."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Se, Sf, Zero
from bondloop.errors import InputError
from bondloop.results import GroundMotion
from bondloop.signals import Recorded, signal_from

samples = st.lists(st.floats(-10, 10), min_size=2, max_size=30)


@settings(max_examples=50, deadline=None)
@given(
    samples=samples,
    h=st.floats(1e-3, 1.0),
    baseline=st.sampled_from(["none", "constant", "linear", "high-pass"]),
)
def test_velocity_and_displacement_are_integrals_of_the_acceleration(samples, h, baseline):
    """Simpson's rule is exact for cubics: on each sample it integrates the acceleration and the velocity."""
    acceleration = Recorded(samples, h, "acceleration", baseline, 0.1 / h)
    velocity, displacement = (
        Recorded(samples, h, m, baseline, 0.1 / h) for m in ("velocity", "displacement")
    )
    assert signal_from(displacement.describe()) == displacement
    assert displacement.derivative() == velocity
    assert velocity.derivative() == acceleration
    t = acceleration.times
    middle = (t[:-1] + t[1:]) / 2
    for rate, whole, start in ((acceleration, velocity, 0.0), (velocity, displacement, 0.0)):
        edge = rate._derivatives(t, 0)
        steps = h / 6 * (edge[:-1] + 4 * rate(middle) + edge[1:])
        expected = start + np.concatenate([[0.0], np.cumsum(steps)])
        np.testing.assert_allclose(
            whole(t), expected, rtol=1e-9, atol=1e-9 * h * max(1.0, np.abs(expected).max())
        )


def test_after_the_end_the_ground_stands_still():
    for motion, last in (("acceleration", 0.0), ("velocity", 0.0), ("displacement", 1 / 3 + 2.0)):
        signal = Recorded([0.0, 2.0, 2.0], 1.0, motion)
        assert signal(5.0) == pytest.approx(last)  # d: ∫∫ 2t = 1/3 after 1 s, then 1·1 + 2/2
        assert signal(-1.0) == 0.0


def test_baselines_are_least_squares_and_known_filters():
    rng = np.random.default_rng(0)
    a = rng.normal(size=301) + 0.3 + 0.01 * np.arange(301)
    t = np.arange(301)
    np.testing.assert_allclose(
        Recorded(a, 0.1, baseline="linear").values, a - np.polyval(np.polyfit(t, a, 1), t), atol=1e-12
    )
    np.testing.assert_allclose(Recorded(a, 0.1, baseline="constant").values, a - a.mean(), atol=1e-12)
    # Forwards and backwards, a Butterworth filter of second order halves the amplitude at its corner and
    # leaves the phase: |H|² = 1 / (1 + (f_c / f)⁴).
    h, n = 0.01, 8000
    wave = np.sin(2 * np.pi * 0.5 * h * np.arange(n)) * np.sin(np.pi * np.arange(n) / n) ** 2
    for corner, gain in ((0.5, 0.5), (0.25, 1 / (1 + 0.5**4))):
        record = Recorded(wave, h, baseline="high-pass", corner=corner)
        pad = (len(record.values) - n) // 2
        assert pad == round(3 / corner / h)
        np.testing.assert_allclose(
            record.values[pad : pad + n], gain * wave, atol=0.015
        )  # it swells and dies


def test_a_high_pass_filter_ends_the_drift():
    a = np.random.default_rng(1).normal(size=4000) * np.hanning(4000) + 0.05
    drifted = Recorded(a, 0.01, "displacement")
    kept = Recorded(a, 0.01, "displacement", "high-pass", 0.1)
    assert abs(drifted(drifted.duration)) > 10
    assert abs(kept(kept.duration)) < 1e-5
    assert np.abs(kept.derivative()(kept.times)).max() < 1.0


def test_an_offset_of_the_sensor_does_not_matter_to_a_high_pass_filter():
    """The mean is taken away before silence is put at either end: no step where it begins."""
    a = np.random.default_rng(1).normal(size=4000) * np.hanning(4000)
    a -= a.mean()
    clean, offset = (Recorded(x, 0.01, "displacement", "high-pass", 0.1) for x in (a, a + 3.0))
    np.testing.assert_allclose(offset.values, clean.values, atol=1e-12)
    np.testing.assert_allclose(offset(offset.times), clean(clean.times), atol=1e-9)


def test_corrections_add_up_in_order_and_are_described():
    a = np.random.default_rng(2).normal(size=500) + 0.002 * np.arange(500)
    first = Recorded(a, 0.01, baseline="linear").values
    once = Recorded(first, 0.01, baseline="high-pass", corner=1.0).values
    both = Recorded(a, 0.01, baseline="high-pass", corner=1.0, before=[("linear", 0.1)])
    np.testing.assert_array_equal(both.values, once)
    assert signal_from(both.describe()) == both
    assert "baseline linear, then high-pass (1 Hz)" in repr(both)
    motion = GroundMotion(a, 0.01).corrected("linear").corrected("none").corrected("high-pass", "1 Hz")
    np.testing.assert_array_equal(motion.values, once)
    assert motion.before == (("linear", 0.1),)
    twice = motion.corrected("high-pass", 2.0)
    np.testing.assert_array_equal(twice.values, Recorded(once, 0.01, "acceleration", "high-pass", 2.0).values)
    assert "linear, then high-pass (1 Hz), then high-pass (2 Hz)" in str(twice)
    assert len(str(GroundMotion(a, 0.01))) < 120
    for wrong in ("linear", [("cubic", 1.0)], [("linear", 0.0)], [("linear",)], 3):
        with pytest.raises(InputError, match=r"Recorded\(before\)"):
            Recorded(a, 0.01, before=wrong)


def test_what_cannot_be_is_refused():
    for options, words in (
        ({"motion": "speed"}, "expected 'displacement' or"),
        ({"baseline": "cubic"}, "expected 'none' or"),
        ({"baseline": "high-pass", "corner": 60.0}, "lower the corner"),
        ({"baseline": "high-pass", "corner": 1e-7}, "raise the corner"),
        ({"scale": "3 m"}, "without a unit"),
    ):
        with pytest.raises(InputError, match=words):
            Recorded([0.0, 1.0], 0.01, **options).values  # noqa: B018 - it is computed here
    with pytest.raises(InputError, match="finite"):
        Recorded([0.0, np.nan], 0.01)


def oscillator(source):
    m = Model("oscillator")
    m.v = One()
    if source == "velocity":
        m.force = Zero()
        _ = Sf("ground") >> m.force >> [C(stiffness=100.0), m.v]
    else:
        _ = Se("ground") >> m.v >> C(stiffness=100.0)
    _ = m.v >> I(mass=1.0)
    return m


def test_a_source_refuses_another_motion():
    t = np.arange(200) * 0.01
    ground = GroundMotion(np.sin(5 * t), 0.01)

    def simulation(source, signal):
        return bl.Simulation({"it": oscillator(source)}, excitation={"ground": signal}, rate=100)

    simulation("velocity", ground.velocity())
    with pytest.raises(InputError, match=r"is in m/s\^2; expected a signal in m/s, .* take \.velocity\(\)"):
        simulation("velocity", ground.acceleration())
    with pytest.raises(InputError, match=r"is in m; expected a signal in m/s"):
        simulation("velocity", ground.displacement())
    with pytest.raises(InputError, match=r"is in m/s\^2; expected a signal in N"):
        simulation("force", ground.acceleration())
    simulation("force", -3.0 * ground.acceleration())  # a mass without its unit: nobody knows


def test_a_test_refuses_another_motion():
    test = bl.papers.find("gawthrop-three-mass").load().test()
    ground = GroundMotion(np.sin(np.arange(200) / 20), 0.01)
    options = {**test.arguments, "excitation": {"r": ground.acceleration()}}
    with pytest.raises(InputError, match=r"'r' is in m/s\^2; expected a signal in m/s, .*\.velocity\(\)"):
        type(test)(**options)
    type(test)(**{**options, "excitation": {"r": ground.velocity()}})
