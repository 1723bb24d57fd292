"""Time-stepping schemes: order of accuracy, the one-step map against theory, exactness, both backends."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from bondloop.bondgraph import C, I, Model, One, R, Se, Sf
from bondloop.engine.codegen import Runner
from bondloop.engine.ir.expr import Const, Var, function
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.errors import InputError
from bondloop.integrate import RK4, Exact, ForwardEuler, NewmarkAverage

M, K = 2.0, 8.0


def oscillator(damping=0.0, cubic=0.0, velocity=0.0, displacement=1.0):
    m = Model("oscillator")
    m.v, m.force = One(), Se("F")
    spring = (
        C(law=lambda d: K * d + cubic * d**3, initial=displacement)
        if cubic
        else C(stiffness=K, initial=displacement)
    )
    m.mass, m.spring = I(mass=M, initial=M * velocity), spring
    m.force >> m.v >> [m.mass, m.spring]
    if damping:
        m.v >> R(damping=damping)
    return m.compile(outputs=["v.flow"])


def stepped(system, scheme, h, steps, force=None, backend="numpy"):
    """States after every step; the force is an expression of time, given by a function t -> Expr."""
    t, k = Var("t"), Var("k")
    f = force or (lambda _: Const(0.0))
    (u,) = system.input_vars

    def inputs(fraction):
        return {u: f(t + Const(fraction * h))}

    made = scheme.discretise(system, h, inputs, [])
    states = {x: system.initial_by_var.get(x, 0.0) for x in system.state_vars}
    tick = Tick(
        "scheme", h, t, k, (), states, system.values(), (*made.first, *made.rest),
        tuple(Channel(x.name, x) for x in system.state_vars),
    )  # fmt: skip
    result = Runner(tick, backend).run(steps + 1)
    assert result.finished, result.message
    return np.column_stack(list(result.channels.values()))


def sine(t):
    return function("sin", 3 * t)


def reference(cubic, damping, seconds):
    def f(t, y):
        p, d = y
        return [np.sin(3 * t) - K * d - cubic * d**3 - damping * p / M, p / M]

    return solve_ivp(f, (0, seconds), [0.0, 1.0], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


@pytest.mark.parametrize("cubic", [0.0, 5.0], ids=["linear", "nonlinear"])
@pytest.mark.parametrize("scheme", [ForwardEuler(), RK4(), NewmarkAverage()], ids=lambda s: type(s).__name__)
def test_observed_order(scheme, cubic):
    """Halving the step divides the error by 2**order."""
    system = oscillator(damping=0.5, cubic=cubic)
    assert system.states == ("mass.momentum", "spring.displacement")
    exact = reference(cubic, 0.5, 2.0)
    base = {1: 2000, 2: 200, 4: 50}[scheme.order]
    errors = [
        np.abs(stepped(system, scheme, 2.0 / n, n, sine)[-1] - exact).max()
        for n in (base, 2 * base, 4 * base)
    ]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx(scheme.order, abs=0.15)


@pytest.mark.parametrize("hold", ["zero", "first"])
def test_exact_is_exact_for_the_inputs_it_assumes(hold):
    """A constant force for a zero-order hold; a ramp, F = 2 t, for a first-order hold; coarse steps."""
    system = oscillator(damping=0.5)
    h, steps = 0.3, 40
    force = (lambda _: Const(3.0)) if hold == "zero" else (lambda t: 2 * t)
    rows = stepped(system, Exact(hold), h, steps, force)
    # The input joins the state: constant, or growing by 2 a second.
    A = np.array([[-0.5 / M, -K, 1, 0], [1 / M, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    start = np.array([0.0, 1.0, 3.0, 0.0]) if hold == "zero" else np.array([0.0, 1.0, 0.0, 2.0])
    for n in range(steps + 1):
        assert np.abs(rows[n] - (expm(A * n * h) @ start)[:2]).max() < 1e-12 * (1 + n)


def test_exact_with_held_input_is_second_order_for_others_only_with_a_first_order_hold():
    system = oscillator(damping=0.5)
    exact = reference(0.0, 0.5, 2.0)
    orders = {}
    for hold in ("zero", "first"):
        errors = [
            np.abs(stepped(system, Exact(hold), 2.0 / n, n, sine)[-1] - exact).max() for n in (200, 400)
        ]
        orders[hold] = np.log2(errors[0] / errors[1])
    assert orders == {"zero": pytest.approx(1, abs=0.1), "first": pytest.approx(2, abs=0.1)}


def one_step_map(system, scheme, h):
    """The matrix that carries the states over one step, column by column."""
    columns = []
    for i in range(2):
        start = np.eye(2)[i]
        moved = system.replaced(initial=dict(zip(system.state_vars, start, strict=True)))
        columns.append(stepped(moved, scheme, h, 1)[1])
    return np.column_stack(columns)


@pytest.mark.parametrize("damping", [0.0, 0.8])
@pytest.mark.parametrize("omega_h", [0.1, 1.0, 2.5, 2.9, 10.0])
def test_the_one_step_map_has_the_eigenvalues_of_theory(damping, omega_h):
    """z = lambda h: 1 + z; 1 + z + z^2/2 + z^3/6 + z^4/24; (1 + z/2)/(1 - z/2); e^z."""
    h = omega_h / np.sqrt(K / M)
    system = oscillator(damping=damping)
    z = h * np.linalg.eigvals([[-damping / M, -K], [1 / M, 0]])
    theory = {
        ForwardEuler(): 1 + z,
        RK4(): 1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24,
        NewmarkAverage(): (1 + z / 2) / (1 - z / 2),
        Exact(): np.exp(z),
    }
    for scheme, expected in theory.items():
        found = np.linalg.eigvals(one_step_map(system, scheme, h))
        assert np.sort_complex(found) == pytest.approx(np.sort_complex(expected), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("omega_h", [0.1, 1.0, 10.0, 1000.0])
def test_newmark_neither_damps_nor_grows(omega_h):
    system = oscillator()
    radius = np.abs(np.linalg.eigvals(one_step_map(system, NewmarkAverage(), omega_h / 2.0))).max()
    assert radius == pytest.approx(1.0, abs=1e-11)


def test_rk4_is_stable_up_to_two_root_two():
    """On the imaginary axis the stability polynomial leaves the unit circle at 2 sqrt(2)."""
    system = oscillator()
    for omega_h, stable in ((2.82, True), (2.84, False)):
        radius = np.abs(np.linalg.eigvals(one_step_map(system, RK4(), omega_h / 2.0))).max()
        assert (radius < 1) == stable


@pytest.mark.parametrize("cubic", [0.0, 5.0], ids=["linear", "nonlinear"])
@pytest.mark.parametrize(
    "scheme", [ForwardEuler(), RK4(), NewmarkAverage(), Exact()], ids=lambda s: type(s).__name__
)
def test_python_and_c_agree(scheme, cubic):
    if cubic and isinstance(scheme, Exact):
        pytest.skip("linear systems only")
    system = oscillator(damping=0.5, cubic=cubic)
    rows = [stepped(system, scheme, 0.01, 300, sine, backend) for backend in ("c", "numpy")]
    assert np.abs(rows[0] - rows[1]).max() < 1e-12


def test_what_a_scheme_cannot_do_is_refused():
    with pytest.raises(InputError, match="needs a linear system"):
        stepped(oscillator(cubic=1.0), Exact(), 0.01, 1)
    with pytest.raises(InputError, match="hold must be"):
        Exact("third")
    with pytest.raises(InputError, match="time step must be positive"):
        stepped(oscillator(), RK4(), 0.0, 1)
    driven = Model("driven")
    driven.wall, driven.v = Sf("r"), One()
    driven.wall >> driven.v >> I(mass=1)
    driven.v >> (side := One())
    side >> C(stiffness=1)
    system = driven.compile(outputs=["I.effort"])
    assert system.input_rates
    with pytest.raises(InputError, match="needs the rate of r"):
        stepped(system, Exact(), 0.01, 1)
