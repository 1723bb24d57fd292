"""Inverses of process models: unity with the exact process, zeros, closed form, refusals."""

import numpy as np
import pytest
from scipy import signal

from bondloop.control import InverseModel, PolynomialPrediction
from bondloop.errors import InputError, SolveError
from bondloop.transfer import first_order, second_order
from bondloop.transfer.process import Process

G1 = first_order(0.9, 0.012)
G2 = second_order(1.1, 15.0, 0.6)
ZERO = Process((0.004, 1.0), (1e-6, 3e-4, 0.02, 1.0))  # three poles, one zero at -250 rad/s
LEAD_LAG = Process((0.02, 0.8), (0.03, 1.0))  # as many zeros as poles


def error(process, loop, period, frequency=3.0):
    t = np.arange(0, 1.5, period)
    x = 0.01 * np.sin(2 * np.pi * frequency * t)
    motion = loop(InverseModel(process), process, x, period)["motion"]
    late = t > 1.0
    return np.abs(motion[late] - x[late]).max() / 0.01


@pytest.mark.parametrize("process", [G1, G2, ZERO], ids=["G1", "G2", "zero"])
def test_inverse_and_process_are_one_in_the_limit_of_small_periods(process, loop):
    """The held command is half a period late: an error of the first order, w T/2 at first."""
    errors = [error(process, loop, T) for T in (2e-3, 1e-3, 5e-4, 2.5e-4)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(orders > 0.85)
    assert np.all(orders < 1.5)
    assert errors[-1] < 0.006


@pytest.mark.parametrize("process", [G1, G2, ZERO, LEAD_LAG], ids=["G1", "G2", "zero", "lead-lag"])
def test_the_discrete_inverse_approaches_the_exact_one_with_the_second_order(process):
    """1/G(i w) from the transfer function itself; first derivatives are of second order, second of first."""
    f = np.array([1.0, 4.0])
    errors = [
        np.abs(InverseModel(process).response(f, T) * process.response(f) - 1).max()
        for T in (1e-3, 5e-4, 2.5e-4)
    ]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    second_derivatives = len(process.denominator) - len(process.numerator) >= 2
    assert np.all(orders > (0.9 if second_derivatives else 1.9))
    assert errors[0] < 5e-3


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("process", [G1, G2, ZERO, LEAD_LAG], ids=["G1", "G2", "zero", "lead-lag"])
@pytest.mark.parametrize("way", ["none", "difference", "polynomial"])
def test_closed_form_response_is_that_of_the_running_block(process, way, backend, alone, ratio):
    prediction = None if way == "none" else PolynomialPrediction(0.004, order=4, span=0.02, points=9)
    inverse = InverseModel(process, prediction, "polynomial" if way == "polynomial" else "difference")
    t = np.arange(1200) * 0.001
    x = 0.01 * np.sin(2 * np.pi * 7 * t)
    command = alone(inverse, x, backend=backend)["command"]
    found = ratio(command[700:], x[700:], 7.0, 0.001)
    assert found == pytest.approx(complex(inverse.response(7.0, 0.001)), rel=1e-9)


def test_the_filter_of_the_zeros_is_scipys_for_a_linear_input():
    """scipy.signal.cont2discrete(..., 'foh') discretises independently."""
    inverse = InverseModel(LEAD_LAG)
    b, a, _ = signal.cont2discrete((LEAD_LAG.denominator, LEAD_LAG.numerator), 0.001, "foh")
    f = np.array([0.5, 5.0, 50.0])
    _, H = signal.freqz(b.ravel(), a, f, fs=1000.0)
    assert inverse.response(f, 0.001) == pytest.approx(H, rel=1e-9)


def test_a_known_demand_given_early_is_followed_without_prediction(loop):
    """du Bois 2010, Figure 7: the delay is cancelled by shifting the known signal; Figure 13 must predict."""
    process = second_order(1.0, 25.0, 0.7, delay=0.006)
    T, f = 5e-4, 10.0
    t = np.arange(0, 2, T)
    x = 0.01 * np.sin(2 * np.pi * f * t)
    early = 0.01 * np.sin(2 * np.pi * f * (t + 0.006))
    late = t > 1
    shifted = loop(InverseModel(process), process, early, T)["motion"]
    predicted = loop(InverseModel(process, PolynomialPrediction(0.006)), process, x, T)["motion"]
    neither = loop(InverseModel(process), process, x, T)["motion"]
    errors = [np.abs(y[late] - x[late]).max() / 0.01 for y in (shifted, predicted, neither)]
    assert errors[0] < 0.03
    assert errors[1] < 0.03
    assert errors[2] > 0.3  # w tau = 0.38


@pytest.mark.parametrize("zero", [2e-8, 1e-9, 3e-12])
def test_a_zero_that_does_nothing_spoils_nothing(zero):
    """A fit may leave a zero ten thousand times as fast as the poles; without it the inverse is the same."""
    lags = np.polymul([0.01, 1.0], [0.004, 1.0])
    with_zero, without = Process((zero, 1.0), tuple(lags)), Process((1.0,), tuple(lags))
    f = [0.5, 2.0, 10.0]
    ours = InverseModel(with_zero).response(f, 1e-3)
    assert ours == pytest.approx(InverseModel(without).response(f, 1e-3), rel=1e-9)
    assert abs(ours * with_zero.response(f) - 1) == pytest.approx(0.0, abs=0.03)


def test_a_demand_that_begins_away_from_zero_is_held_at_once(alone):
    for process in (G2, ZERO, LEAD_LAG):
        command = alone(InverseModel(process, PolynomialPrediction(0.005)), np.full(30, 0.02))["command"]
        assert np.abs(command - 0.02 / process.gain).max() < 1e-11


def test_an_integrating_process_is_inverted_too(alone):
    """x = u/s: the command is the velocity."""
    t = np.arange(300) * 0.001
    command = alone(InverseModel(Process((1.0,), (1.0, 0.0))), 0.3 * t**2)["command"]
    assert command[5:] == pytest.approx(0.6 * t[5:], abs=1e-9)


@pytest.mark.parametrize("numerator", [(-0.01, 1.0), (0.01, 0.0), (1.0, 0.0, 100.0)])
def test_zeros_that_are_not_stable_are_refused_by_name(numerator):
    with pytest.raises(SolveError, match=r"cannot be inverted: its zero at .* rad/s is not stable"):
        InverseModel(Process(numerator, (1e-6, 1e-4, 0.02, 1.0)))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((G2, None, "polynomial"), "need a prediction"),
        ((G2, PolynomialPrediction(0.005, order=1, points=5), "polynomial"), "order 1 has fewer; raise"),
        ((G2, None, "exact"), "unknown way to derivatives 'exact'"),
        ((G2, 0.005), "expected a PolynomialPrediction or None; found float"),
        (("G2",), "expected a process model"),
    ],
)
def test_what_cannot_be_built_is_refused_with_the_reason(arguments, reason):
    with pytest.raises(InputError, match=reason):
        InverseModel(*arguments)
