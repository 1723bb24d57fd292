"""What sampling makes late, made up for: order of accuracy, ten times the rate, noise, twins, files."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from bondloop import files
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.control import AdaptiveTimeSeries, Direct, InverseModel, VirtualJunction
from bondloop.errors import InputError
from bondloop.hybrid import Extrapolation, HybridTest
from bondloop.integrate import Exact, ForwardEuler
from bondloop.papers import gawthrop_two_actuators
from bondloop.rigs import Emulated, PureDelay, Sensor, WhiteNoise
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper, first_order

M, D, K, SPRING = 10.0, 20.0, 4e3, 3e3
LAG = first_order(1.0, 0.01)
LOAD = Sine(20.0, 2.0)


def hybrid(rate, extrapolation=None, controller=None, late=0, noise=0.0, **rest):
    """A mass on a spring in the computer, a second spring on a rig whose actuator lags by 10 ms."""
    whole = Model("mass")
    whole.load, whole.v, whole.spring = Se("force"), One(), One()
    whole.load >> whole.v
    whole.v >> [I(mass=M), C(stiffness=K), R(damping=D)]
    whole.spring >> [C(stiffness=SPRING), R(damping=0.1)]
    whole.v >> whole.spring
    numerical, physical = whole.cut("v >> spring")
    parts = [*([WhiteNoise(noise)] if noise else []), *([PureDelay(late / rate)] if late else [])]
    sensors = {"force": Sensor(tuple(parts), unit="N")} if parts else {}
    return HybridTest(
        numerical,
        rig=Emulated(physical, LAG.actuator(), sensors=sensors, substeps=8),
        controller=controller or InverseModel(LAG),
        excitation={"force": LOAD},
        rate=rate,
        extrapolation=extrapolation,
        **rest,
    )


def exact(times):
    """The whole structure by SciPy, to 1e-10."""

    def rates(t, y):
        load = 20.0 * np.sin(2 * np.pi * 2.0 * t)
        return [y[1], (load - (D + 0.1) * y[1] - (K + SPRING) * y[0]) / M]

    return solve_ivp(rates, (0, times[-1] + 1e-9), [0.0, 0.0], "DOP853", times, rtol=1e-10, atol=1e-14).y[0]


def error(test, seconds=1.5):
    run = test.run(seconds)
    x = run["desired.displacement"]
    reference = exact(np.arange(len(x)) * test.period)
    return np.sqrt(np.mean((x - reference) ** 2) / np.mean(reference**2))


@pytest.mark.parametrize("late", [0, 1, 2])
def test_the_error_is_of_second_order_and_below_that_of_ten_times_the_rate(late):
    law = Extrapolation(late=late, command=0.5)
    errors = [error(hybrid(rate, law, late=late)) for rate in (250, 500, 1000)]
    held = [error(hybrid(rate, late=late)) for rate in (500, 1000)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(orders > 1.8)
    assert np.log2(held[0] / held[1]) < 1.5
    assert errors[1] < error(hybrid(5000, late=late))
    assert errors[2] < 3e-3


def test_each_half_of_it_is_of_use_alone():
    nothing, force, command, both = (
        error(hybrid(500, law, late=1))
        for law in (None, Extrapolation(late=1), Extrapolation(order=0, points=1, command=0.5),
                    Extrapolation(late=1, command=0.5))
    )  # fmt: skip
    assert both < 0.25 * force
    assert force < 0.5 * nothing
    assert command < 0.9 * nothing


def test_a_straight_line_is_carried_on_exactly():
    for late in (0.0, 1.0, 2.5):
        for points in (2, 3, 9):
            law = Extrapolation(late=late, points=points)
            samples = 3.0 + 2.0 * (-np.arange(points) - late)  # 2 a sample, seen late
            for fraction in (0.0, 0.5, 1.0):
                assert law.weights(fraction) @ samples == pytest.approx(3.0 + 2.0 * fraction)


def test_what_noise_costs_is_little_in_the_motion():
    """White noise of the force is amplified where it enters, hardly in what the mass makes of it."""
    law = Extrapolation(late=1, command=0.5)
    quiet = {"excitation": {}}
    assert law.amplification() == pytest.approx(np.hypot(2.5, 1.5))
    rms = []
    for extrapolation in (None, law):
        test = hybrid(1000, extrapolation, late=1, noise=5.0).replaced(**quiet)
        rms.append(np.std(test.run(20)["desired.displacement"]))
    assert 0.8 < rms[1] / rms[0] < 1.3


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_twins_and_a_file_give_the_same_run(tmp_path, backend):
    test = hybrid(500, Extrapolation(late=1, command=0.5, points=4), late=1)
    run = test.run(0.3, backend="c")
    file = tmp_path / "test.toml"
    file.write_text(files.to_toml(test), encoding="utf-8")
    again = files.load(file)
    assert again.extrapolation == test.extrapolation
    other = again.run(0.3, backend=backend)
    assert other["command"] == pytest.approx(run["command"], abs=1e-12)


def test_the_check_sees_two_samples_more_of_margin():
    """Half a sample of the held command, one of the late force, half of the held force."""
    late = hybrid(500, late=1)
    mended = late.replaced(extrapolation=Extrapolation(late=1, command=0.5))
    before, after = (test.check(1) for test in (late, mended))
    assert after.passed
    assert after.margins.delay.value - before.margins.delay.value == pytest.approx(2 / 500, rel=0.03)


def test_several_interfaces_have_each_their_own():
    test = gawthrop_two_actuators.test().replaced(extrapolation=Extrapolation())
    assert test.run(1).completed


def test_adaptive_ones_know_the_hold_and_need_no_demand_ahead():
    law = AdaptiveTimeSeries("10 ms", order=1)
    a, b = (error(hybrid(500, e, law, late=1), 6) for e in (None, Extrapolation(late=1)))
    assert b < 0.4 * a


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"order": 2}, "order 2 needs at least 3 points"),
        ({"late": -1}, "at least 0"),
        ({"command": "0.5 s"}, "command"),
        ({"order": 9, "points": 12}, "from 0 to 3"),
    ],
)
def test_silly_settings_are_refused(words, said):
    with pytest.raises(InputError, match=said):
        Extrapolation(**words)


def test_tests_that_cannot_have_one_are_refused():
    with pytest.raises(InputError, match="extrapolation"):
        hybrid(500, 0.5)
    junction = VirtualJunction(MassSpringDamper(m=1, c=1, k=1))
    with pytest.raises(InputError, match="VirtualJunction integrates its command"):
        hybrid(500, Extrapolation(command=0.5), junction)
    with pytest.raises(InputError, match="holds nothing"):
        hybrid(500, Extrapolation(), Direct(), coupling="continuous")


@pytest.mark.parametrize(("integrator", "better"), [(Exact(), "hold"), (ForwardEuler(), "RK4")])
def test_an_integrator_that_would_not_see_it_is_refused(integrator, better):
    with pytest.raises(InputError, match=f"changes nothing; use integrator=.*{better}"):
        hybrid(500, Extrapolation(), integrator=integrator)
    hybrid(500, Extrapolation(), integrator=Exact(hold="first"))
