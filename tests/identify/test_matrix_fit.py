"""Several inputs and outputs, fitted together: the two-actuator plant of the multi-axial benchmark."""

import numpy as np
import pytest
from scipy.signal import butter, sosfilt

from bondloop.errors import InputError
from bondloop.identify.process.matrix_fit import fit_matrix
from bondloop.identify.spectra import matrix_response
from bondloop.transfer.process import Process, first_order

PERIOD, NOISE = 1 / 1024, 0.01239
"""Of the benchmark (Condori Uribe et al. 2023): s, and the sensors' noise in mm."""


def entry(zeros, poles, gain):
    """Return an entry of the plant: zeros and poles in Hz, the gain in rad/s."""
    b, a = (np.real(np.poly(2 * np.pi * np.array(roots))) for roots in (zeros, poles))
    return Process(tuple(gain * b), tuple(a))


FIRST, SECOND = [-2.65, -40, -50 + 63j, -50 - 63j], [-3.5, -18.5, -50 + 63j, -50 - 63j]
PLANT = (
    (entry([-120, -90], FIRST, 2165.2), entry([-3], SECOND, 4.5394e6)),
    (entry([-120, -90], FIRST, 349.95), entry([-5], SECOND, 1.9238e7)),
)
MODELS = [["4 poles, 2 zeros", "4 poles, 1 zero"]] * 2


def record(kind, seed=0, seconds=60):
    rng = np.random.default_rng(seed)
    n = round(seconds / PERIOD)
    if kind == "multisines":  # each on lines of its own
        t, f = np.arange(n) * PERIOD, np.arange(2, 600) / 10
        sines = np.sin(2 * np.pi * f[:, None] * t + rng.uniform(0, 6.28, f.size)[:, None])
        u = np.column_stack([sines[::2].sum(axis=0), sines[1::2].sum(axis=0)])
    else:
        u = sosfilt(butter(4, 60, fs=1 / PERIOD, output="sos"), rng.normal(size=(n, 2)), axis=0)
    u *= 3.0 / u.std(axis=0)
    if kind == "one after another":
        u[n // 2 :, 0] = u[: n // 2, 1] = 0.0
    rows = [sum(PLANT[i][j].simulate(u[:, j], PERIOD) for j in range(2)) for i in range(2)]
    return u, np.column_stack(rows) + NOISE * rng.normal(size=(n, 2))


def worst(fit):
    f = np.linspace(0.1, 20, 100)
    truth = np.moveaxis(np.array([[e.response(f) for e in row] for row in PLANT]), 2, 0)
    found = fit.response(f)
    return np.abs(found / truth[:, : found.shape[1]] - 1).max()


@pytest.mark.parametrize(("kind", "common_poles"), [("noise", False), ("one after another", True)])
def test_every_entry_of_the_benchmarks_plant_to_half_a_percent(kind, common_poles):
    u, y = record(kind)
    fit = fit_matrix(u, y, PERIOD, MODELS, common_poles=common_poles)
    assert worst(fit) < 5e-3
    assert fit.process(1, 0) is fit.matrix[1][0]
    if common_poles:
        assert fit.process(0, 0).denominator == pytest.approx(fit.process(1, 0).denominator, rel=1e-9)
    assert fit.residual[600:].std(axis=0) == pytest.approx([NOISE, NOISE], rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("outputs", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_the_structures_are_found(outputs):
    u, y = record("multisines")
    assert worst(fit_matrix(u, y[:, :outputs], PERIOD)) < 5e-3


def test_delays_of_their_own():
    rng = np.random.default_rng(4)
    G = [[first_order(1.0, 0.02, 0.0153), first_order(-0.2, 0.05, 0.003)]]
    u = np.repeat(rng.normal(size=(2000, 2)), 4, axis=0)
    y = sum(G[0][j].simulate(u[:, j], 1e-3) for j in range(2))
    fit = fit_matrix(u, y + 1e-3 * rng.normal(size=y.size), 1e-3, "G1D")
    assert [p.delay for p in fit.matrix[0]] == pytest.approx([0.0153, 0.003], abs=1e-4)
    assert [p.gain for p in fit.matrix[0]] == pytest.approx([1.0, -0.2], rel=5e-3)


def test_the_deviation_is_that_of_repeated_records():
    """Of 40 records the scatter at a line is what each says of itself, to 35 % (chi, 40 records)."""
    values = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        u = rng.normal(size=(4000, 2))
        values.append(matrix_response(u, u @ [[1.0], [0.5]] + rng.normal(size=(4000, 1)), 1e-3))
    scatter = np.std([v.response[20, 0, 0].real for v in values])
    assert np.mean([v.deviation[20, 0, 0] for v in values]) == pytest.approx(scatter, rel=0.35)


def test_what_cannot_be_told_apart_is_refused():
    u = np.random.default_rng(0).normal(size=2000)
    with pytest.raises(InputError, match="hardly shows"):
        fit_matrix(np.column_stack([u, u]), u, 1e-3, "G1")
    with pytest.raises(InputError, match="input 1 is constant"):
        fit_matrix(np.column_stack([u, 0 * u]), u, 1e-3, "G1")
    with pytest.raises(InputError, match="a row of 1 structures"):
        fit_matrix(u, u, 1e-3, [["G1", "G1"]])
