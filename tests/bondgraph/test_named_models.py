"""Models that everybody knows, each as short as it should be, with its own solution.

Springs side by side and double wells are in tests/engine/test_steady.py, a diode with a resistor and
orifices in series in test_stiff_loops.py.
"""

import math

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

from bondloop.bondgraph import MTF, C, Df, I, Model, One, R, Se, SignalIntegrator, Zero

GRAVITY = 9.81


def test_two_capacitors_share_a_charge():
    model = Model("capacitors")
    model.left, model.wire, model.right = Zero(), One(), Zero()
    model.a, model.b = C(capacitance=2.0, initial=4.0), C(capacitance=6.0)
    model.left >> [model.a, model.wire]
    model.wire >> model.right >> model.b
    model.wire >> R(resistance=5.0)
    system = model.compile()
    # 4 C on 2 F and 6 F at one voltage: 1 C and 3 C; tau = R C1 C2 / (C1 + C2) = 7.5 s.
    assert system.steady_state() == pytest.approx({"a.displacement": 1.0, "b.displacement": 3.0}, rel=1e-12)
    assert system.simulate(15.0)["a.displacement"][-1] == pytest.approx(1 + 3 * math.exp(-2), rel=1e-8)


# ---------------------------------------------------------------- a pendulum on a cart

CART, BOB, ARM, ROD, DRAG, HINGE = 2.0, 0.5, 1.3, 0.1, 0.4, 0.05


def pendulum_on_a_cart(start=0.0):
    model = Model("crane")
    model.F, model.v, model.slide, model.x, model.y, model.w = Se("F"), One(), Zero(), One(), One(), One()
    # The rod's inertia comes before the bob's: its speed is a state, and no modulus is divided by.
    model.cart, model.rod = I(mass=CART), I(inertia=ROD)
    model.sideways, model.upwards = I(mass=BOB), I(mass=BOB)
    model.weight, model.angle = Se(effort=-BOB * GRAVITY), SignalIntegrator(initial=start)
    model.across, model.along = MTF(lambda q: ARM * sp.cos(q)), MTF(lambda q: ARM * sp.sin(q))
    model.F >> model.v >> [model.cart, R(damping=DRAG), model.slide]
    model.slide >> model.x >> model.sideways  # the bob moves with the cart and with the arm
    model.w >> model.across >> model.slide
    model.w >> model.along >> model.y >> model.upwards
    model.w >> [model.rod, R(damping=HINGE)]
    model.weight >> model.y
    model.w >> Df() >> model.angle >> [model.across, model.along]
    return model.compile(outputs=["v.flow", "w.flow", "angle"])


def lagrange(v, w, q, force):
    """Accelerations of cart and arm: (M + m) x'' + m l (cos q q'' - sin q q'^2) = F - c x', and so on."""
    mass = np.array([[CART + BOB, BOB * ARM * math.cos(q)], [BOB * ARM * math.cos(q), BOB * ARM**2 + ROD]])
    push = [
        force - DRAG * v + BOB * ARM * w**2 * math.sin(q),
        -HINGE * w - BOB * GRAVITY * ARM * math.sin(q),
    ]
    return np.linalg.solve(mass, push)


@pytest.mark.parametrize("seed", range(20))
def test_a_pendulum_on_a_cart(seed):
    v, w, q, force = np.random.default_rng(seed).normal(size=4) * [2, 2, 2, 5]
    system = pendulum_on_a_cart()
    dv, dw = lagrange(v, w, q, force)
    momenta = {
        "cart": (CART * v, CART * dv),
        "rod": (ROD * w, ROD * dw),
        "sideways": (
            BOB * (v + ARM * w * math.cos(q)),
            BOB * (dv + ARM * (dw * math.cos(q) - w**2 * math.sin(q))),
        ),
        "upwards": (
            BOB * ARM * w * math.sin(q),
            BOB * ARM * (dw * math.sin(q) + w**2 * math.cos(q)),
        ),
    }
    known = {f"{name}.momentum": pair for name, pair in momenta.items()} | {"angle.value": (q, w)}
    x, expected = zip(*(known[name] for name in system.states), strict=True)
    inputs = system.operating_inputs({"F": force}).tolist()
    rates = system.rates(list(x), inputs, [0.0] * len(system.input_rates), list(system.values().values()))
    assert rates == pytest.approx(list(expected), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("start", [0.0, math.pi])
def test_its_poles_hanging_and_standing(start):
    # M(q0) q'' + damping q' + stiffness q = 0, linearised by hand; the cart's own displacement is no state.
    sign = math.cos(start)
    a, b, d = CART + BOB, sign * BOB * ARM, BOB * ARM**2 + ROD
    k = sign * BOB * GRAVITY * ARM
    # (a s + c) (d s^2 + h s + k) - b^2 s^3 = 0
    expected = np.polysub(np.polymul([a, DRAG], [d, HINGE, k]), [b * b, 0, 0, 0])
    poles = pendulum_on_a_cart(start).poles()
    assert len(poles) == 3
    assert np.sort_complex(poles) == pytest.approx(np.sort_complex(np.roots(expected)), rel=1e-9)
    assert (poles.real.max() > 0.5) == (start > 0)


def test_it_swings_through_the_horizontal():
    system = pendulum_on_a_cart(2.5)
    times = np.linspace(0, 6, 25)
    run = system.simulate(6.0, times=times)
    theirs = solve_ivp(
        lambda _, z: [*lagrange(z[0], z[1], z[2], 0.0), z[1]],
        (0, 6), [0.0, 0.0, 2.5], "DOP853", t_eval=times, rtol=1e-11, atol=1e-13,
    ).y  # fmt: skip
    assert theirs[2].min() < -math.pi / 2 < math.pi / 2 < theirs[2].max()
    assert run["angle.value"] == pytest.approx(theirs[2], abs=1e-7)


# ---------------------------------------------------------------- a column under its load


@pytest.mark.parametrize("load", [0.5, 0.99, 1.01, 2.0])
def test_a_column_buckles_at_its_critical_load(load):
    # A rigid column of 3 m on a spring of 9 kNm: m l^2 q'' + k q = W l sin q; critical at W = k / l = 3 kN.
    height, spring, mass = 3.0, 9000.0, 100.0
    model = Model("column")
    model.w, model.x, model.y, model.angle = One(), One(), One(), SignalIntegrator()
    model.across, model.down = MTF(lambda q: height * sp.cos(q)), MTF(lambda q: height * sp.sin(q))
    model.w >> C(stiffness=spring)
    model.w >> model.across >> model.x >> I(mass=mass)
    model.w >> model.down >> model.y  # the load rides on it, its mass counts sideways only
    Se(effort=load * spring / height) >> model.y
    model.w >> Df() >> model.angle >> [model.across, model.down]
    poles = model.compile().poles()
    square = (load - 1) * spring / (mass * height**2)
    fast = poles[np.argsort(-np.abs(poles))][:2]
    assert fast**2 == pytest.approx([square, square], rel=1e-9)
    assert (poles.real.max() > 1e-6) == (load > 1)
