"""Ranking up to six poles: the structure that made the data is found, its response to what noise allows."""

import numpy as np
import pytest

from bondloop.identify.experiment import multisine
from bondloop.identify.process.frequency_fit import response_derivatives
from bondloop.identify.process.line_fit import RecordLines, fit_lines, sampled_response
from bondloop.identify.process.process_fit import ModelStructure, structure
from bondloop.identify.process.ranking import rank_frequency, rank_time
from bondloop.identify.process.time_fit import fit_time
from bondloop.papers.silva_benchmark import DISPLACEMENT_NOISE, Plant
from bondloop.transfer.process import Process, first_order, second_order

T = 1e-3


def roots(count, lowest, highest, rng):
    """Draw real roots and pairs between two frequencies in Hz."""
    values = []
    while len(values) < count:
        w = 2 * np.pi * np.exp(rng.uniform(np.log(lowest), np.log(highest)))
        if count - len(values) >= 2 and rng.random() < 0.6:
            z = rng.uniform(0.1, 0.9)
            values += [w * (-z + 1j * np.sqrt(1 - z * z)), w * (-z - 1j * np.sqrt(1 - z * z))]
        else:
            values.append(-w)
    return np.array(values)


def drawn(seed, samples=4000):
    """Draw a plant of 1 to 6 poles, 0 to 3 zeros, 0 to 30 ms of delay, and a record with 30 to 80 dB."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    m = int(rng.integers(0, min(3, n - 1) + 1))
    delay = float(rng.uniform(0, 0.03)) if rng.random() < 0.6 else 0.0
    a, b = (np.real(np.poly(roots(k, 2, 60, rng))) if k else np.ones(1) for k in (n, m))
    G = Process(tuple(b / b[-1] * rng.uniform(0.5, 1.5)), tuple(a / a[-1]), delay)
    t = np.arange(samples) * T
    f = np.arange(0.5, 80, 0.5)
    noise = np.repeat(rng.normal(size=samples // 4 + 1), 4)[:samples]
    sines = np.sin(2 * np.pi * f[:, None] * t + rng.uniform(0, 6.28, f.size)[:, None]).sum(axis=0)
    u = noise if seed % 2 else sines
    y = G.simulate(u, T)
    level = 10 ** (-rng.uniform(30, 80) / 20) * y.std()
    return G, ModelStructure(n, m, delay > 0), u, y + level * rng.normal(size=samples) + 0.1, level


def least_deviation(G, s, u, level, f):
    """Return the deviation of the response that noise makes inevitable (Cramér and Rao)."""
    theta = s.coordinates(np.array(G.numerator[::-1]), np.array(G.denominator[::-1]), G.delay)
    U = np.fft.rfft(u)[1:] * np.sqrt(2 / u.size)
    lines = np.arange(1, U.size + 1) / (u.size * T)
    J = U[:, None] * response_derivatives(s, theta, 2j * np.pi * lines)[1]
    J = np.vstack([J.real, J.imag])
    size = np.sqrt((J * J).sum(axis=0))
    covariance = np.linalg.pinv((J / size).T @ (J / size), rcond=1e-13) * level**2
    D = response_derivatives(s, theta, 2j * np.pi * f)[1] / size
    return np.sqrt(np.real(np.einsum("ni,ij,nj->n", D, covariance, D.conj())))


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (3, 4))])
def test_drawn_plants_come_back_to_what_the_noise_allows(seed):
    """Error of the response, rms up to 40 Hz, within three times the least deviation of the truth."""
    G, s, u, y, level = drawn(seed)
    best = rank_time(u, y, T).recommended
    f = np.linspace(1, 40, 60)
    error = np.abs(best.process.response(f) - G.response(f))
    bound = least_deviation(G, s, u, level, f)
    assert np.sqrt(np.mean(error**2)) <= 3 * np.sqrt(np.mean(bound**2))
    assert best.rms == pytest.approx(level, rel=0.05)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_the_benchmarks_plant_has_five_poles(seed):
    """Silva et al. 2020: five poles, 16 um of noise. 20 s at 512 Hz; 0.1 ms and 0.1 % up to 30 Hz."""
    G, period = Plant().process(), 1 / 512
    t = np.arange(20 * 512) * period
    u = multisine(0.1, 60, 10, rms=2e-3)(t)
    noise = DISPLACEMENT_NOISE * np.random.default_rng(seed).normal(size=t.size)
    ranking = rank_time(u, G.simulate(u, period) + noise, period)
    assert ranking.recommended.name == "5 poles"
    f = np.linspace(0.5, 30, 60)
    ratio = ranking.recommended.process.response(f) / G.response(f)
    assert np.abs(np.abs(ratio) - 1).max() < 1e-3
    assert np.abs(np.angle(ratio) / (2 * np.pi * f)).max() < 1e-4


def test_a_delay_that_cannot_be_told_from_a_pole_is_said():
    """Up to 8 Hz a pole at 150 Hz and a delay of 1.06 ms look alike, at 40 dB."""
    G = first_order(1.0, 0.02)
    fast = Process(G.numerator, tuple(np.polymul(G.denominator, [1 / (2 * np.pi * 150), 1.0])))
    rng = np.random.default_rng(3)
    t = np.arange(8000) * T
    u = np.sin(2 * np.pi * np.arange(0.5, 8, 0.5)[:, None] * t + rng.uniform(0, 6.28, 15)[:, None]).sum(
        axis=0
    )
    y = fast.simulate(u, T)
    ranking = rank_time(u, y + 0.01 * y.std() * rng.normal(size=t.size), T, ["G1", "G2", "G1D"])
    assert ranking.recommended.name in {"G2", "G1D"}
    assert "The data do not tell" in " ".join(ranking.reasons)


def test_a_pole_and_a_zero_that_nearly_cancel_are_said():
    G = Process(tuple(np.polymul([1 / 50, 1.0], [0.9])), tuple(np.polymul([1 / 52, 1.0], [0.01, 1.0])))
    u = np.random.default_rng(1).normal(size=4000)
    ranking = rank_time(u, G.simulate(u, T), T, ["2 poles, 1 zero"])
    assert "nearly cancels a pole at 8.28 Hz" in " ".join(ranking.reasons)  # 52 rad/s


def test_a_measured_response_is_searched_too():
    f = np.linspace(0.5, 60, 120)
    rng = np.random.default_rng(0)
    G = Plant().process()
    H = G.response(f) + 1e-3 * (rng.normal(size=120) + 1j * rng.normal(size=120))
    assert rank_frequency(f, H).recommended.name == "5 poles"
    exact = rank_frequency(f, first_order(0.9, 0.01, 0.004).response(f))
    assert exact.recommended.name == "G1D"  # rounding errors ask for nothing more


def test_all_models_of_a_ranking_are_compared_on_the_same_samples():
    u, y = drawn(11)[2:4]
    assert len({f.samples for f in rank_time(u, y, T, ["G1", "G1D", "G2D"]).fits}) == 1


def test_lines_are_exact_for_a_record_that_begins_and_ends_anyhow():
    """Without noise hardly an error is left: images, ends, and a delay of 7.3 samples are accounted for."""
    G = second_order(0.9, 30.0, 0.5, delay=7.3e-3)
    u = np.random.default_rng(2).normal(size=3000)
    y = G.simulate(u, T)[500:]
    s = structure("G2D")
    low, high = np.array([-9.0, 1e-6, 1e-9, 0.0]), np.array([9.0, 1.0, 1.0, 0.05])
    fit = fit_lines(RecordLines(u[500:], y, T, "zero"), s, low, high, 0.02)
    assert np.sqrt(fit.cost / fit.samples) < 1e-4 * y.std()
    assert fit.theta[-1] == pytest.approx(7.3e-3, abs=1e-7)


def test_the_sampled_response_is_that_of_the_simulation():
    G = second_order(0.9, 30.0, 0.5, delay=2.3e-3)
    f = np.array([5.0, 50.0, 200.0])
    n = np.arange(20_000)
    for frequency, value in zip(f, sampled_response(G, f, T), strict=True):
        wave = np.exp(2j * np.pi * frequency * n * T)
        y = G.simulate(wave.real, T) + 1j * G.simulate(wave.imag, T)
        assert y[-1] / wave[-1] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_no_model_of_a_grid_fits_better_where_no_model_fits_well(seed):
    """A second order for half a second of a lag with more delay than it can follow."""
    rng = np.random.default_rng(seed)
    samples, period = 1000, 5e-4
    command = np.repeat(rng.normal(size=samples // 8), 8)
    true = first_order(rng.uniform(0.5, 2.0), rng.uniform(0.02, 0.08), rng.uniform(0.018, 0.03))
    response = true.simulate(command, period)
    response += 0.1 * response.std() * rng.normal(size=samples)
    fit = fit_time(command, response, period, "G2", start="rest")
    least = np.inf
    for frequency in np.geomspace(1.0, 60.0, 30):
        for damping in (0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 2.0, 4.0):
            moved = second_order(1.0, frequency, damping).simulate(command, period)
            known = np.array([moved, np.ones(samples)]).T
            left = response - known @ np.linalg.lstsq(known, response)[0]
            least = min(least, left @ left)
    assert fit.residual @ fit.residual <= 1.001 * least
