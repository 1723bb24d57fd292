"""Mechanisms whose geometry follows what a storage holds, against Lagrange and Euler by hand."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

from bondloop.bondgraph import MGY, MTF, C, Df, Function, I, Model, One, R, Se, SignalIntegrator, Zero
from bondloop.engine.codegen import compiler
from bondloop.hybrid.simulation import Simulation


def twins_agree(system, seconds=0.5, rate=200.0, **excitation):
    """Compare the C twin with the Python one on every output."""
    simulation = Simulation({"s": system}, excitation=excitation, rate=rate)
    python, c = (simulation.run(seconds, backend=backend) for backend in ("numpy", "c"))
    for name in system.outputs:
        assert c[f"s.{name}"] == pytest.approx(python[f"s.{name}"], rel=1e-11, abs=1e-12)


needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")

# ------------------------------------------------------------------ pendulum on a cart

CART, BOB, DISC, LENGTH, G, FRICTION, PIVOT = 1.2, 0.4, 0.002, 0.9, 9.81, 0.3, 0.4


def pendulum(start=0.0):
    """An inverted pendulum on a cart; the angle is what the weight, a spring of potential energy, holds.

    The bob's own inertia keeps its rotation as the state. Without it the velocity along x would be, and the
    rotation follow from it by a division that fails at 90 degrees.
    """
    m = Model("pendulum")
    m.push, m.v, m.w, m.x, m.y, m.joint = Se("F"), One(), One(), One(), One(), Zero()
    m.push >> m.v >> [I(mass=CART), R(damping=FRICTION)]
    m.weight = C(lambda a, m, g, l: -m * g * l * sp.sin(a), m=BOB, g=G, l=LENGTH, initial=start)
    m.w >> [m.weight, I(inertia=DISC), R(damping=PIVOT)]
    m.across, m.down = MTF(lambda a, l: l * sp.cos(a), l=LENGTH), MTF(lambda a, l: -l * sp.sin(a), l=LENGTH)
    m.weight.displacement >> [m.across, m.down]
    m.v >> m.joint >> m.x >> I(mass=BOB)
    m.w >> m.across >> m.joint
    m.w >> m.down >> m.y >> I(mass=BOB)
    return m


def lagrange(angle, speed, rate, force):
    """Accelerations of cart and angle, written down by hand from the Lagrangian."""
    c, s = np.cos(angle), np.sin(angle)
    mass = [[CART + BOB, BOB * LENGTH * c], [BOB * LENGTH * c, BOB * LENGTH**2 + DISC]]
    right = [
        force - FRICTION * speed + BOB * LENGTH * s * rate**2,
        BOB * G * LENGTH * s - PIVOT * rate,
    ]
    return np.linalg.solve(mass, right)


class TestPendulumOnACart:
    def test_poles_are_those_of_lagrange_and_none_is_at_zero(self):
        poles = np.sort(pendulum().compile().poles())
        h = 1e-6
        A = np.array(  # rates of (speed, angle, rate), by differences of Lagrange's equations at rest
            [
                [(lagrange(*(h * e), 0)[0] - lagrange(*(-h * e), 0)[0]) / (2 * h) for e in np.eye(3)],
                [0.0, 0.0, 1.0],
                [(lagrange(*(h * e), 0)[1] - lagrange(*(-h * e), 0)[1]) / (2 * h) for e in np.eye(3)],
            ]
        )
        A = A[:, [1, 0, 2]]  # lagrange takes the angle first
        assert poles == pytest.approx(np.sort(np.linalg.eigvals(A)), rel=1e-7)
        assert poles.max() > 1  # it falls
        assert np.abs(poles).min() > 0.05

    def test_a_second_integrator_adds_a_pole_at_zero(self):
        m = pendulum()
        m.rate, m.angle, m.copy_of_it = Df(), SignalIntegrator(), Function(lambda a: a)
        m.w >> m.rate >> m.angle >> m.copy_of_it
        assert np.abs(m.compile().poles()).min() < 1e-12

    def test_motion_agrees_with_lagrange(self):
        force = lambda t: 2 * np.sin(3 * t)  # noqa: E731
        run = pendulum(0.3).compile().simulate(
            3, {"F": force}, times=np.linspace(0, 3, 61), rtol=1e-11, atol=1e-12
        )  # fmt: skip

        def rates(t, y):
            v, a, w = y
            dv, dw = lagrange(a, v, w, force(t))
            return [dv, w, dw]

        expected = solve_ivp(rates, (0, 3), [0, 0.3, 0], t_eval=run.time, rtol=1e-11, atol=1e-12).y
        assert np.abs(expected[1]).max() > np.pi / 2  # through 90 degrees, where a modulus is zero
        for path, values in zip(("v.flow", "weight.displacement", "w.flow"), expected, strict=True):
            assert run[path] == pytest.approx(values, abs=1e-7)

    def test_power_balance(self):
        run = pendulum(0.3).compile().simulate(2, {"F": 1.0}, rtol=1e-11, atol=1e-13)
        parts = ("I", "I2", "I3", "I4", "weight", "R", "R2")
        taken = sum(run[f"{p}.effort"] * run[f"{p}.flow"] for p in parts)
        assert taken == pytest.approx(run["push.effort"] * run["push.flow"], abs=1e-8)

    def test_steady_state_hangs(self):
        rest = (
            pendulum(np.pi - 0.2)
            .compile()
            .steady_state({"F": 0.0}, initial={"weight.displacement": np.pi - 0.2})
        )
        assert rest["weight.displacement"] == pytest.approx(np.pi, abs=1e-8)

    @needs_compiler
    def test_twins(self):
        twins_agree(pendulum(0.3).compile(outputs=["v.flow", "weight.displacement", "I.effort"]))


# ------------------------------------------------------------------ crank and slider

CRANK, ROD, SLIDER, WHEEL, STIFF = 0.2, 0.5, 3.0, 0.4, 6.0


def slope(a):
    """Velocity of the slider over that of the crank: d/da of r cos a + sqrt(l² - r² sin² a)."""
    return -CRANK * np.sin(a) - CRANK**2 * np.sin(a) * np.cos(a) / np.sqrt(ROD**2 - CRANK**2 * np.sin(a) ** 2)


def crank_slider():
    m = Model("crank")
    m.w, m.v = One(), One()
    m.wheel, m.spring = I(inertia=WHEEL, initial=4.0), C(stiffness=STIFF, initial=0.3)
    m.rod = MTF(
        lambda a, r, l: -r * sp.sin(a) - r**2 * sp.sin(a) * sp.cos(a) / sp.sqrt(l**2 - r**2 * sp.sin(a) ** 2),
        r=CRANK, l=ROD,
    )  # fmt: skip
    m.w >> [m.wheel, m.spring]
    m.spring.displacement >> m.rod
    m.w >> m.rod >> m.v >> I(mass=SLIDER)
    return m


def test_crank_and_slider_agree_with_lagrange_through_dead_centre():
    # (J + m n²) w' = -k a - m n n' w², n = slope(a); the slider depends on the wheel.
    system = crank_slider().compile()
    assert system.dependent == ("I",)
    run = system.simulate(4, times=np.linspace(0, 4, 81), rtol=1e-11, atol=1e-12)

    def rates(_, y):
        a, w = y
        n, dn = slope(a), (slope(a + 1e-6) - slope(a - 1e-6)) / 2e-6
        return [w, -(STIFF * a + SLIDER * n * dn * w**2) / (WHEEL + SLIDER * n**2)]

    # The state at the start is the wheel's own momentum, so its speed is momentum / inertia.
    expected = solve_ivp(rates, (0, 4), [0.3, 4.0 / WHEEL], t_eval=run.time, rtol=1e-10, atol=1e-12).y
    assert expected[0].min() < 0 < expected[0].max()  # dead centre at 0
    assert run["spring.displacement"] == pytest.approx(expected[0], abs=1e-6)
    energy = (
        WHEEL * run["w.flow"] ** 2 + SLIDER * run["v.flow"] ** 2 + STIFF * run["spring.displacement"] ** 2
    ) / 2
    assert np.ptp(energy) < 1e-8 * energy[0]


# ------------------------------------------------------------------ momenta as signals

INERTIAS = np.array([1.0, 2.0, 3.5])


def free_body(momenta):
    """Euler's equations: a ring of gyrators between three rotations, each modulated by the third momentum."""
    m = Model("body")
    m.w = [One() for _ in range(3)]
    m.J = [I(inertia=j, initial=p) for j, p in zip(INERTIAS, momenta, strict=True)]
    m.turn = [MGY() for _ in range(3)]
    for k in range(3):
        m.w[k] >> m.J[k]
        m.w[k] >> m.turn[k] >> m.w[(k + 1) % 3]
        m.J[(k + 2) % 3].momentum >> m.turn[k]
    return m


def test_a_free_body_turns_as_euler_says():
    start = np.array([0.02, 2.0, -0.01])
    run = free_body(start).compile().simulate(20, times=np.linspace(0, 20, 201), rtol=1e-11, atol=1e-12)
    expected = solve_ivp(
        lambda _, p: np.cross(p, p / INERTIAS), (0, 20), start, t_eval=run.time, rtol=1e-11, atol=1e-12
    ).y
    ours = np.array([run[f"J[{k}].momentum"] for k in range(3)])
    assert ours[1].min() < -1.5  # about the middle axis it tumbles
    assert ours == pytest.approx(expected, abs=1e-6)
    assert np.linalg.norm(ours, axis=0) == pytest.approx(np.linalg.norm(start), rel=1e-9)


def test_the_middle_axis_is_unstable():
    # p = (0, p2, 0): growth rate p2 / J2 sqrt((J2 - J1)(J3 - J2) / (J1 J3)).
    system = free_body((0.0, 2.0, 0.0)).compile()
    growth = 2.0 / 2.0 * np.sqrt((2.0 - 1.0) * (3.5 - 2.0) / (1.0 * 3.5))
    assert np.sort(system.poles().real) == pytest.approx([-growth, 0.0, growth], abs=1e-12)


@needs_compiler
def test_twins():
    twins_agree(free_body((0.1, 2.0, 0.3)).compile(outputs=["J[0].momentum", "w[2].flow"]))
    twins_agree(crank_slider().compile(outputs=["v.flow", "I.effort", "spring.displacement"]))
