"""H-infinity loop shaping: the optimum in closed form, the norm that is reached, its use, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.control import Compensator, LeadCompensation, LoopShaping
from bondloop.errors import BondloopError
from bondloop.transfer import Process, first_order, second_order

ONE = Process((1.0,), (1.0,))
LATE = first_order(1.0, 0.02, delay=0.006)


@settings(max_examples=30, deadline=None)
@given(pole=st.floats(-20.0, 50.0).map(lambda x: round(x, 6)), gain=st.floats(0.1, 100.0))
def test_the_optimum_of_a_first_order_process_is_the_closed_form(pole, gain):
    """For k/(s + a) both Riccati equations are quadratic: XZ = ((sqrt(a² + k²) - a)/k)²."""
    law = LoopShaping(Process((gain,), (1.0, pole)), LeadCompensation(0), ONE)
    product = ((np.hypot(pole, gain) - pole) / gain) ** 2
    assert law.robustness(0.0) == pytest.approx((1 + product) ** -0.5, rel=1e-7)


def test_the_optimum_of_a_double_integrator():
    """For 1/s² X = [[√2, 1], [1, √2]]: by hand, tr-det of XZ gives γ² = 4 + 2√2 (Glover and McFarlane)."""
    law = LoopShaping(Process((1.0,), (1.0, 0.0, 0.0)), LeadCompensation(0), ONE)
    assert law.robustness(0.0) == pytest.approx((4 + 2 * 2**0.5) ** -0.5, rel=1e-9)


def response(A, B, C, D, s):
    return (C @ np.linalg.solve(s[:, None, None] * np.eye(len(A)) - A, np.tile(B, (len(s), 1, 1))) + D)[
        :, 0, 0
    ]


@settings(max_examples=20, deadline=None)
@given(
    frequency=st.floats(3.0, 60.0),
    damping=st.floats(0.1, 1.5),
    late=st.floats(0.0, 0.01),
    bandwidth=st.floats(0.5, 6.0),
)
def test_the_loop_is_as_robust_as_is_said(frequency, damping, late, bandwidth):
    """ε = 1/max of sqrt(1 + |K|²) sqrt(1 + |G|²)/|1 + G K| over frequency (the four transfer functions)."""
    T = 0.001
    law = LoopShaping.for_bandwidth(second_order(1.0, frequency, damping, late), bandwidth)
    s = 2j * np.pi * np.geomspace(1e-3, 1e4, 1000)
    A, B, C = law.shaped(T)
    G = response(A, B, C, 0.0, s)
    whole = law.continuous(T)
    K = response(whole.A, whole.B, whole.C, whole.D, s) * np.polyval(law.weight.denominator, s)
    K /= np.polyval(law.weight.numerator, s)
    reached = 1 / np.max(np.sqrt(1 + abs(K) ** 2) * np.sqrt(1 + abs(G) ** 2) / abs(1 + G * K))
    best = law.robustness(T)
    assert best / law.slack <= reached * (1 + 1e-6)
    assert reached <= best * (1 + 1e-6)  # no filter does better


def test_the_sampled_loop_has_the_poles_of_the_continuous_one_to_the_second_order(loop):
    """A step of the demand at the sampled loop, against the same at a tenth of the period."""
    process = first_order(1.0, 0.02)
    law = LoopShaping.for_bandwidth(process, "3 Hz", LeadCompensation(0))
    ends = {}
    for T in (0.004, 0.002, 0.0002):
        t = np.arange(round(1.0 / T)) * T
        x = np.sin(2 * np.pi * t) ** 2
        ends[T] = loop(law, process, x, T)["motion"][:: round(0.004 / T)]
    coarse, fine = (np.abs(ends[T] - ends[0.0002]).max() for T in (0.004, 0.002))
    assert coarse < 0.1
    assert fine < 0.6 * coarse


def test_the_feedback_takes_away_what_the_model_does_not_know(loop):
    T = 0.001
    t = np.arange(6000) * T
    x = 0.01 * np.sin(2 * np.pi * 0.5 * t)
    law = LoopShaping.for_bandwidth(LATE, "5 Hz")
    plant = first_order(1.2, 0.03, delay=0.006)

    def error(controller):
        motion = loop(controller, plant, x, T)["motion"]
        return np.sqrt(np.mean((motion - x)[2000:] ** 2) / np.mean(x**2))

    assert error(law.forward) > 0.19
    assert error(law) < 0.2 * error(law.forward)


def test_more_bandwidth_than_the_delay_permits_is_told():
    slow, fast = (LoopShaping.for_bandwidth(LATE, f).robustness(0.001) for f in ("2 Hz", "60 Hz"))
    assert slow > 0.4
    assert fast < 0.25


def test_a_description_gives_the_same_law_back():
    law = LoopShaping.for_bandwidth(LATE, "4 Hz", LeadCompensation("20 ms"))
    assert Compensator.from_description(law.describe()) == law


@pytest.mark.parametrize(
    ("arguments", "words", "said"),
    [
        (("G",), {}, "expected a process model"),
        ((LATE,), {"weight": 5.0}, "expected a process model; LoopShaping.for_bandwidth"),
        ((LATE,), {"weight": first_order(1.0, 0.1, delay=0.1)}, "a weight has no delay"),
        ((LATE,), {"slack": 1.0}, "above 1"),
        ((Process((1.0, 0.5), (1.0, 1.0)),), {}, "as many zeros as poles"),
    ],
)
def test_silly_settings_are_refused(arguments, words, said):
    with pytest.raises(BondloopError, match=said):
        LoopShaping(*arguments, **words)


@pytest.mark.parametrize("bandwidth", [0, -1, "5 m", "fast"])
def test_a_silly_bandwidth_is_refused(bandwidth):
    with pytest.raises(BondloopError, match="bandwidth"):
        LoopShaping.for_bandwidth(LATE, bandwidth)


def test_a_loop_too_fast_for_its_samples_is_refused():
    law = LoopShaping.for_bandwidth(second_order(1.0, 0.3, 0.35, 0.003), "500 Hz")
    with pytest.raises(BondloopError, match="too fast for a sample period"):
        law.feedback(0.05)


def test_what_cannot_be_stabilised_is_refused(alone):
    zero_at_rest = Process((1.0, 0.0), (1e-4, 0.02, 1.0))
    law = LoopShaping(zero_at_rest, LeadCompensation(0), Process((1.0,), (1.0, 0.0)))
    with pytest.raises(BondloopError, match="cannot be stabilised"):
        alone(law, np.zeros(3))
