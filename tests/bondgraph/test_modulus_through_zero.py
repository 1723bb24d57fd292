"""A pendulum through 90 degrees: a modulus that is divided by is warned of, one that multiplies is exact."""

import math
import warnings

import numpy as np
import pytest
import sympy as sp
from scipy.special import ellipk

from bondloop.bondgraph import MGY, MTF, Df, I, Integrator, Model, One, R, Se
from bondloop.errors import AccuracyWarning

LENGTH, MASS, GRAVITY = 1.3, 2.0, 9.81


def pendulum(start):
    """A shaft whose angle modulates what hangs on it."""
    model = Model("pendulum")
    model.shaft, model.speed, model.angle = One(), Df(), Integrator(initial=start)
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
        AccuracyWarning, match=r"the modulus of swing passes zero at t = .* 3 times after"
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
    model.shaft, model.speed, model.angle = One(), Df(), Integrator()
    model.shaft >> model.speed >> model.angle
    model.shaft >> [I(inertia=1.0, initial=2.0), R(damping=0.01)]
    model.coil, model.F, model.v = MGY(sp.cos), Se("F"), One()
    model.angle >> model.coil
    model.F >> model.coil >> model.v >> R(conductance=1.0)
    with pytest.warns(AccuracyWarning, match="the ratio of coil passes zero"):
        model.compile().simulate(2.0, {"F": 1.0})
