"""A pendulum through 90 degrees: a modulus that is divided by is warned of, one that multiplies is exact."""

import math
import warnings

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.special import ellipk

from bondloop.bondgraph import MGY, MTF, C, Df, I, Input, Model, One, R, Se, SignalIntegrator, Zero
from bondloop.errors import AccuracyWarning

LENGTH, MASS, GRAVITY = 1.3, 2.0, 9.81


def pendulum(start):
    """A shaft whose angle modulates what hangs on it."""
    model = Model("pendulum")
    model.shaft, model.speed, model.angle = One(), Df(), SignalIntegrator(initial=start)
    model.shaft >> model.speed >> model.angle
    model.rise, model.height = MTF(lambda a: LENGTH * sp.sin(a)), One()
    model.angle >> model.rise
    model.shaft >> model.rise >> model.height
    model.weight = Se(effort=-MASS * GRAVITY)
    model.weight >> model.height
    return model


def by_angle(start):
    model = pendulum(start)
    model.shaft >> I(inertia=MASS * LENGTH**2)
    return model


def by_place(start):
    """The mass twice, across and up: the one across gives the speed of the shaft, divided by L cos(angle)."""
    model = pendulum(start)
    model.swing, model.across = MTF(lambda a: LENGTH * sp.cos(a)), One()
    model.angle >> model.swing
    model.shaft >> model.swing >> model.across >> I(mass=MASS)
    model.height >> I(mass=MASS)
    return model


def energy(run):
    return 0.5 * MASS * LENGTH**2 * run["shaft.flow"] ** 2 - MASS * GRAVITY * LENGTH * np.cos(
        run["angle.value"]
    )


@pytest.mark.parametrize("start", [0.5, 1.8, 3.0])
def test_the_angle_as_coordinate_is_exact(start):
    # Period 4 K(sin^2(start/2)) sqrt(L/g), with the complete elliptic integral.
    period = 4 * ellipk(math.sin(start / 2) ** 2) * math.sqrt(LENGTH / GRAVITY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = by_angle(start).compile().simulate(3 * period, rtol=1e-11, atol=1e-13)
    assert run["angle.value"][-1] == pytest.approx(start, abs=1e-7)
    assert run["shaft.flow"][-1] == pytest.approx(0.0, abs=1e-6)
    assert np.ptp(energy(run)) < 1e-9 * MASS * GRAVITY * LENGTH


def test_a_modulus_that_is_divided_by_and_passes_zero_is_named():
    start = 1.8
    period = 4 * ellipk(math.sin(start / 2) ** 2) * math.sqrt(LENGTH / GRAVITY)
    with pytest.warns(
        AccuracyWarning, match=r"modulus of swing is zero at t = .* again, the last .* inertia at shaft, or a"
    ) as all_:
        run = by_place(start).compile().simulate(period)
    assert len(all_) == 1
    # The quadrant in which it passes: four times a period, the first when the angle is 90 degrees.
    exact = by_angle(start).compile().simulate(period, times=np.linspace(0, period, 4001))
    first = exact.time[np.argmax(exact["angle.value"] < math.pi / 2)]
    assert float(str(all_[0].message).split("t = ")[1].split(" s")[0]) == pytest.approx(first, abs=1e-3)
    # And it is right to warn: the same tolerance gives far less than with the angle.
    assert np.ptp(energy(run)) > 100 * np.ptp(energy(exact))


def test_a_modulus_that_stays_away_from_zero_is_not_mentioned():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_place(1.2).compile().simulate(3.0)


def test_a_gyrator_too():
    # A coil whose field turns, driven by a voltage: the current is voltage / ratio.
    model = Model("coil")
    model.shaft, model.speed, model.angle = One(), Df(), SignalIntegrator()
    model.shaft >> model.speed >> model.angle
    model.shaft >> [I(inertia=1.0, initial=2.0), R(damping=0.01)]
    model.coil, model.F, model.v = MGY(sp.cos), Se("F"), One()
    model.angle >> model.coil
    model.F >> model.coil >> model.v >> R(conductance=1.0)
    with pytest.warns(
        AccuracyWarning, match="the ratio of coil is zero at .* with an inertia at F or v it would"
    ):
        model.compile().simulate(2.0, {"F": 1.0})


# ---------------------------------------------------------------- causality that multiplies


@pytest.mark.parametrize("first", ["shaft", "height"])
@pytest.mark.parametrize("initial", [0.0, 1.0])
def test_the_order_of_the_storages_does_not_make_it_divide(first, initial):
    # (J + m r(a)^2) a'' + m r r' a'^2 = T, with r = L sin(a): by hand. A start of its own is kept.
    model = pendulum(0.4)
    parts = {"shaft": I(inertia=1.7), "height": I(mass=MASS, initial=initial if first == "height" else 0.0)}
    for name in sorted(parts, key=lambda n: n != first):
        getattr(model, name) >> parts[name]
    system = model.compile()
    if first == "height" and initial:
        assert system.annotations.divisors
        return
    assert not system.annotations.divisors

    def rates(_t, z):
        r, slope = LENGTH * math.sin(z[0]), LENGTH * math.cos(z[0])
        torque = -MASS * GRAVITY * r - MASS * r * slope * z[1] ** 2
        return [z[1], torque / (1.7 + MASS * r**2)]

    times = np.linspace(0, 4, 41)
    run = system.simulate(4.0, times=times, rtol=1e-11, atol=1e-13)
    hand = solve_ivp(rates, (0, 4), [0.4, 0.0], method="DOP853", t_eval=times, rtol=1e-11, atol=1e-13)
    assert run["angle.value"] == pytest.approx(hand.y[0], abs=1e-8)


@pytest.mark.parametrize("n", [0.0, 1e-200, -0.7, 3.0])
@pytest.mark.parametrize("form", ["ratio", "admittance"])
def test_a_gyrator_between_resistors_multiplies(n, form):
    # By hand: V = R1 f1 + n f2 and n f1 = R2 f2; with an admittance f2 = g e1, f1 = g e2, V = e1 + R1 g e2.
    model = Model("coils")
    model.a, model.b, model.n, model.gy = One(), One(), Input("n"), MGY(**{form: lambda x: x})
    model.n >> model.gy
    Se("V") >> model.a >> R(resistance=2.0)
    model.a >> model.gy >> model.b >> R(resistance=5.0)
    system = model.compile(outputs=["a.flow", "b.flow"])
    assert not system.annotations.divisors
    inputs = [{"V": 1.5, "n": n}[u] for u in system.inputs]
    got = system.function(list(system.output_exprs.values()))([], inputs, [], list(system.values().values()))
    if form == "ratio":
        f1 = 1.5 / (2.0 + n * n / 5.0)
        wanted = [f1, n * f1 / 5.0]
    else:
        f2 = n * 1.5 / (1 + 2.0 * n * n * 5.0)
        wanted = [n * 5.0 * f2, f2]
    assert got == pytest.approx(wanted, rel=1e-12, abs=1e-300)


def test_a_law_without_an_inverse_is_not_turned_for_it():
    # The resistor's law gives the effort only; so the gyrator has to divide, as before.
    model = Model("kept")
    model.a, model.b, model.n, model.gy = Zero(), One(), Input("n"), MGY()
    model.n >> model.gy
    model.a >> C(capacitance=1.0)
    model.a >> model.gy >> model.b >> R(law=lambda f: f**3 - f)
    assert "the ratio of gy" in map(str, model.compile().annotations.divisors)


def test_a_modulus_that_stays_at_zero_is_not_counted():
    model = Model("still")
    model.n, model.gy, model.v = Input("n"), MGY(), One()
    model.n >> model.gy
    Se("e") >> model.gy >> model.v >> [R(conductance=1.0)]
    model.w = One()
    model.w >> I(mass=1.0, initial=1.0)
    with pytest.warns(AccuracyWarning, match=r"ratio of gy is zero at t = 0 s and again, the last") as told:
        model.compile().simulate(1.0, {"e": 0.0, "n": 0.0})
    assert "times" not in str(told[0].message)
