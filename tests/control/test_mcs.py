"""Minimal control synthesis: the law against a plain integration, its error filter, wind-up protection."""

import math

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.linalg import solve_continuous_lyapunov

from bondloop.bondgraph import C
from bondloop.control import MCS
from bondloop.engine.analysis import positive_realness
from bondloop.errors import InputError
from bondloop.hybrid import HybridTest
from bondloop.papers import gawthrop_three_mass as three
from bondloop.papers import gawthrop_two_actuators as two
from bondloop.rigs import Emulated, Sensor, WhiteNoise
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper

RATE = 1000.0


def one_interface(mcs, coupling="continuous", **rig):
    chain = three._chain(three.VALUES, C(law=lambda d: d + d**3))
    numerical, physical = chain.cut(three.CUT)
    return HybridTest(
        numerical,
        rig=Emulated(physical, MassSpringDamper(1.0, 1.0, 1.0), **rig),
        controller=mcs,
        excitation={"r": Sine(-0.5, 1 / (2 * math.pi))},
        rate=RATE,
        coupling=coupling,
    )


def rk4(f, y, h, steps):
    rows = [y]
    for i in range(steps):
        t = i * h
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        rows.append(y)
    return np.array(rows)


def plain_three_mass(mcs, reference):
    """Newton's law of the numerical masses, the transfer mass and the specimen; the MCS law by hand."""
    weights = np.array(mcs.error_weights())
    n = mcs.order

    def f(t, y):
        w, x1, x2, v1, v2, x, v, x3, v3 = y[:9]
        integral = y[9:]
        d = x - x3
        force = d + d**3
        state, model = np.array([x, v])[:n], np.array([x2, v2])[:n]
        y_e = weights @ (model - state)
        r = x2 if reference is None else reference(t)
        regressor = np.append(state, r)
        gains = integral + mcs.beta * y_e * regressor
        u = gains @ regressor
        adapting = y_e if abs(y_e) > mcs.dead_zone else 0.0
        growth = mcs.alpha * adapting * regressor - mcs.leakage * integral
        return np.array(
            [
                -0.5 * math.sin(t),
                v1,
                v2,
                (w - x1) - (x1 - x2) - 0.1 * v1,
                (x1 - x2) - force - 0.1 * v2,
                v,
                u - force - v - x,
                v3,
                force - 0.1 * v3,
                *growth,
            ]
        )

    return rk4(f, np.zeros(9 + n + 1), 1 / RATE, 3000)


@pytest.mark.parametrize(
    ("mcs", "reference"),
    [
        (MCS(), None),
        (MCS(100, 10, 0.1, order=1), None),
        (MCS(5000, 500, 1.0, error_filter="lyapunov"), None),
        (
            MCS(100, 10, 0.01, reference=Sine(0.5, 1 / (2 * math.pi), phase=math.pi / 2)),
            lambda t: 0.5 * math.cos(t),
        ),
        (MCS(100, 10, 0.05, leakage=0.3), None),
    ],
    ids=["order 2", "order 1", "lyapunov", "support as reference", "leakage"],
)
def test_the_law_is_the_one_that_a_plain_integration_finds(mcs, reference):
    run = one_interface(mcs).run(3)
    rows = plain_three_mass(mcs, reference)
    assert run.completed
    assert np.abs(rows[:, 5]).max() > 0.01
    assert np.abs(run["actual.displacement"] - rows[:, 5]).max() < 1e-8
    assert np.abs(run["desired.displacement"] - rows[:, 2]).max() < 1e-8
    regressor = rows[:, [5, 6]][:, : mcs.order]
    weights = np.array(mcs.error_weights())
    y_e = (rows[:, [2, 4]][:, : mcs.order] - regressor) @ weights
    assert np.abs(run["controller.error"] - y_e).max() < 1e-8 * max(1, weights.max())
    for j in range(mcs.order):
        gain = rows[:, 9 + j] + mcs.beta * y_e * regressor[:, j]
        assert np.abs(run[f"controller.K[{j}]"] - gain).max() < 1e-7 * max(1, np.abs(gain).max())


@pytest.mark.parametrize(
    ("options", "unit"),
    [({}, "m/s"), ({"order": 1}, "m"), ({"error_filter": "lyapunov"}, "")],
)
def test_the_filtered_error_is_measured_as_its_formula_says(options, unit):
    """(4/t_s) x + v is a velocity."""
    channels = {c.name: c for c in one_interface(MCS(1e4, 1e3, "0.1 s", **options)).tick.channels}
    assert channels["controller.error"].unit == unit


def two_interfaces(mcs):
    structure = two.model()
    numerical, physical = structure.cut(*two.CUTS)
    actuators = [MassSpringDamper(2.2, c, k) for c, k in two.TABLE_I]
    return HybridTest(
        numerical,
        rig=Emulated(physical, actuators),
        controller=mcs,
        excitation=two.excitations("5/5", 0.01),
        rate=4000,
        coupling="continuous",
    )


@pytest.mark.parametrize("coupled", [False, True])
def test_a_vector_of_transfer_systems_adapts_each_its_own_gains_or_all_together(coupled):
    """Vector form of the law: K = alpha int(y_e x^T) dt + beta y_e x^T, row i for command i."""
    mcs = MCS(1e4, 1e3, 0.05, coupled=coupled)
    run = two_interfaces(mcs).run(1)
    assert run.completed
    x = np.array([run[f"actual.{w}[{i}]"] for i in range(2) for w in ("displacement", "velocity")])
    z = np.array([run[f"desired.{w}[{i}]"] for i in range(2) for w in ("displacement", "velocity")])
    weights = mcs.error_weights()
    for i in range(2):
        y_e = sum(w * (z[2 * i + j] - x[2 * i + j]) for j, w in enumerate(weights))
        assert np.abs(run[f"controller.error[{i}]"] - y_e).max() < 1e-12
        seen = x if coupled else x[2 * i : 2 * i + 2]
        names = [f"controller.K[{i}][{j}]" for j in range(len(seen))]
        references = z[::2] if coupled else z[2 * i : 2 * i + 1]
        names += [f"controller.K_r[{i}]" + (f"[{j}]" if coupled else "") for j in range(len(references))]
        total = np.zeros_like(y_e)
        for name, signal in zip(names, [*seen, *references], strict=True):
            integral = CubicSpline(run.time, 1e4 * y_e * signal).antiderivative()(run.time)
            gain = integral + 1e3 * y_e * signal
            assert np.abs(run[name] - gain).max() < 1e-3 * max(np.abs(gain).max(), 1e-9)
            total += run[name] * signal
        assert np.abs(run[f"command[{i}]"] - total).max() < 1e-12 * max(1, np.abs(total).max())


@pytest.mark.parametrize("settling_time", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("error_filter", ["settling", "lyapunov"])
@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_the_error_filter_is_strictly_positive_real_with_its_own_poles(settling_time, error_filter, order):
    """g_e(s) = C_e (s I - A_m)^-1 B_e with all poles of A_m at -4/t_s.

    That is not the A_m of Wagg 2001, eq. 11, which is the numerical half's: see tests/papers/test_wagg.py.
    """
    p = 4 / settling_time
    A = np.diag(np.ones(order - 1), 1)
    A[-1] = -np.poly([-p] * order)[:0:-1]
    B = np.eye(order)[:, -1:]
    weights = np.array(
        [MCS(settling_time=settling_time, order=order, error_filter=error_filter).error_weights()]
    )
    if error_filter == "lyapunov":
        P = solve_continuous_lyapunov(A.T, -np.eye(order))
        assert weights == pytest.approx(B.T @ P)
    if order > 2 and error_filter == "lyapunov":
        return  # P of poles at -400 and order 3 has entries of 1e-15 to 1e3: no number of it is sure
    for omega in np.concatenate([[0], np.logspace(-3, 6, 200)]):
        g = (weights @ np.linalg.solve(1j * omega * np.eye(order) - A, B))[0, 0]
        assert g.real > -1e-9 * abs(g)
    assert positive_realness(A, B, weights).strict


def drift(**protection):
    """Largest integral gain of the first and of the last quarter, at rest but for a noisy transducer."""
    chain = three._chain(three.VALUES, C(stiffness=1.0))
    numerical, physical = chain.cut(three.CUT)
    run = HybridTest(
        numerical,
        rig=Emulated(
            physical,
            MassSpringDamper(1.0, 1.0, 1.0),
            sensors={"displacement": Sensor((WhiteNoise(1e-3),)), "velocity": Sensor((WhiteNoise(1e-3),))},
        ),
        controller=MCS(10, 1, 1.0, **protection),
        excitation={"r": 0.0},
        rate=RATE,
        record=["controller.K[0].integral"],
    ).run(100)
    assert run.completed
    gain = np.abs(run["controller.K[0].integral"])
    return gain[: len(gain) // 4].max(), gain[-len(gain) // 4 :].max()


def test_noise_makes_plain_gains_drift_and_protection_holds_them():
    """With the reference at rest y_e x = -(4/t_s) x^2 + ...: pure noise integrates to a ramp."""
    early, late = drift()
    assert late > 2.5 * early
    _, guarded = drift(dead_zone=0.05)  # ten standard deviations of y_e
    assert guarded == 0.0
    early, leaking = drift(leakage=1.0)
    assert leaking < 0.2 * late
    assert leaking < 1.5 * early


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"alpha": 0}, r"alpha\): expected a number above 0"),
        ({"beta": -1}, r"beta\): expected a number above 0"),
        ({"settling_time": math.nan}, r"settling_time\): expected a finite number"),
        ({"order": 9}, "order must be a whole number from 1 to 8; found 9"),
        ({"error_filter": "popov"}, "error_filter must be"),
        ({"dead_zone": -1}, "dead_zone.*at least 0; found -1"),
        ({"leakage": -1}, "leakage.*at least 0; found -1"),
    ],
)
def test_impossible_settings_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        MCS(**settings)


def test_settings_are_parameters_and_described():
    test = one_interface(MCS(dead_zone=0.1, leakage=0.2, reference=Sine(1, 1)))
    for name, value in {"alpha": 100, "error_weight[0]": 400, "dead_zone": 0.1, "leakage": 0.2}.items():
        assert test.parameters[f"controller.{name}"] == value
    assert test.controller.describe()["reference"]["signal"] == "Sine"


@pytest.mark.parametrize(
    ("weights", "numbers", "zone"),
    [
        (["400 rad/s", 1], (400.0, 1.0), "3 mm/s"),
        (["1", "2.5 ms"], (1.0, 0.0025), "3 mm"),  # the same filter, told of the displacement
        (np.array(["400 1/s", "1"]), (400.0, 1.0), "3 mm/s"),
    ],
)
def test_weights_with_units_say_what_the_dead_zone_measures(weights, numbers, zone):
    law = MCS(error_filter=weights, dead_zone=zone)
    assert (law.error_filter, law.dead_zone) == (numbers, 0.003)
    other = {"3 mm/s": "3 mm", "3 mm": "3 mm/s"}[zone]
    with pytest.raises(InputError, match="dead_zone"):
        MCS(error_filter=weights, dead_zone=other)


@pytest.mark.parametrize("weights", [["400 Hz", 1], ["400 kg", 1], ["1 s", "1 1/s"]])
def test_weights_of_other_units_are_refused(weights):
    with pytest.raises(InputError, match="error_filter"):
        MCS(error_filter=weights)


def test_initial_gains_are_no_masses():
    assert MCS(initial_gains=["50 %", "20 ms", 0]).initial_gains == (0.5, 0.02, 0.0)
    with pytest.raises(InputError, match=r"initial_gains.*'400 kg'"):
        MCS(initial_gains=["400 kg", "1 V", 0])
