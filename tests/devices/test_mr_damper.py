"""The magneto-rheological damper beside the equations of Spencer and Dyke, and its energy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import bondloop as bl
from bondloop.bondgraph import Input, Model, One, Sf
from bondloop.devices import MRDamper
from bondloop.errors import InputError, ModelError
from bondloop.rigs import mounted


def spencer_dyke(volts, x, v, times):
    """Force by the equations as printed (1997, eqs. 18-25, Table 2; here in m), integrated by SciPy."""
    alpha, c0, c1 = 14000 + 69500 * volts, 2100 + 350 * volts, 28300 + 295 * volts
    k0, k1, x0, gamma, beta, A, n = 4690.0, 500.0, 0.143, 363e4, 363e4, 301.0, 2

    def y_rate(t, y, z):
        return (alpha * z + c0 * v(t) + k0 * (x(t) - y)) / (c0 + c1)

    def rates(t, state):
        y, z = state
        slip = v(t) - y_rate(t, y, z)
        return [
            y_rate(t, y, z),
            -gamma * abs(slip) * z * abs(z) ** (n - 1) - beta * slip * abs(z) ** n + A * slip,
        ]

    run = solve_ivp(rates, (0, times[-1]), [0.0, 0.0], "LSODA", times, rtol=1e-10, atol=1e-13, max_step=1e-3)
    return np.array([c1 * y_rate(t, y, z) + k1 * (x(t) - x0) for t, y, z in zip(times, *run.y, strict=True)])


@pytest.mark.parametrize("volts", [0.0, 1.0])
def test_it_is_the_model_of_spencer_and_dyke(volts):
    w, amplitude = 2 * np.pi * 2.5, 0.015  # the motion of their figures: 2.5 Hz, 1.5 cm
    times = np.arange(0, 0.5, 1e-3)
    expected = spencer_dyke(
        volts, lambda t: amplitude * np.sin(w * t), lambda t: amplitude * w * np.cos(w * t), times
    )
    damper = MRDamper.spencer_dyke()
    damper = MRDamper(**{**damper.parameter_values(), "current": volts})
    sine = bl.signals.Sine(amplitude, 2.5)
    run = bl.Simulation(
        {"damper": mounted(damper).compile()},
        excitation={"interface.flow": sine.derivative()},
        rate=40_000,
        integrator=bl.integrate.RK4(),
    ).run(0.5)
    force = run["damper.interface.effort"][::40][: times.size]
    assert np.max(np.abs(force - expected)) < 1e-6 * np.max(np.abs(expected))


def test_a_signal_sets_the_current_and_the_coil_follows_late():
    rod = Model("rod")
    rod.push, rod.v, rod.current = Sf("v"), One(), Input("i", unit="A")
    rod.damper = MRDamper(current_lag="20 ms").element(driven=["current"])
    _ = rod.push >> rod.v >> rod.damper
    _ = rod.current >> rod.damper
    system = rod.compile()
    assert "damper.current" not in system.parameters
    run = system.simulate(0.1, {"v": 0.05, "i": 0.8}, times=np.linspace(0, 0.1, 11))
    assert run["damper.coil_current"] == pytest.approx(0.8 * (1 - np.exp(-run.time / 0.02)), rel=1e-5)


def test_what_is_driven_must_be_a_parameter():
    with pytest.raises(ModelError, match=r"unknown parameter 'curent'.*current"):
        MRDamper().element(driven=["curent"])


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("yield_force", -1, "yield_force"), ("beta", 0.7, "beta"), ("current", "-1 A", "current")],
)
def test_parameters_outside_their_range_are_refused(name, value, words):
    with pytest.raises(InputError, match=words):
        MRDamper(**{name: value})


@settings(max_examples=15, deadline=None)
@given(
    current=st.floats(0, 3),
    beta=st.floats(0, 0.5),
    exponent=st.floats(1, 3),
    frequency=st.sampled_from([0.4, 3.0]),
    amplitude=st.floats(2e-3, 0.03),
)
def test_no_cycle_gives_energy_back(current, beta, exponent, frequency, amplitude):
    damper = MRDamper(current=current, beta=beta, exponent=exponent, moving_mass=5.0)
    n = 400
    phase = 2 * np.pi * np.arange(3 * n + 1) / n
    x = amplitude * np.sin(phase)
    v = amplitude * 2 * np.pi * frequency * np.cos(phase)
    force = damper.respond(x, n * frequency, velocity=v, substeps=8)
    work = np.trapezoid((force * v)[2 * n :], dx=1 / (n * frequency))
    assert work > 0


def test_more_current_resists_more_and_saturates():
    x = 0.01 * np.sin(2 * np.pi * np.arange(800) / 400)
    peaks = [
        np.ptp(MRDamper(current=i).respond(x, 400.0, substeps=8)[400:]) for i in (0.0, 0.5, 1.0, 8.0, 9.0)
    ]
    assert np.all(np.diff(peaks) > 0)
    assert peaks[4] < 1.001 * peaks[3]


def test_c_equals_numpy():
    x = 0.01 * np.sin(np.arange(60) / 9)
    damper = MRDamper(current=0.4, moving_mass=3.0)
    c, numpy = (damper.respond(x, 200.0, backend=b, substeps=8) for b in ("c", "numpy"))
    assert c == pytest.approx(numpy, rel=1e-12, abs=1e-9)
