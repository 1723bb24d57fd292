"""Simulations are as accurate for 1e-18 as for 1e+18, and stiff ones end: against closed forms."""

import math

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from bondloop.bondgraph import C, I, IField, Model, One, R, Se, Stop, Zero
from bondloop.engine.analysis.simulation.stepping import StateSizes, fastest
from bondloop.errors import InputError

DRAWN = settings(deadline=None, max_examples=12, phases=[Phase.generate])
scales = st.floats(-18, 18).map(lambda k: 10.0**k)


def tank(capacitance, inductance):
    m = Model("tank")
    m.i, m.c = One(), C(capacitance=capacitance)
    _ = Se("V") >> m.i >> [m.c, I(inductance=inductance)]
    return m.compile()


@DRAWN
@given(scales, scales, scales)
def test_a_tank_rings_as_its_cosine_whatever_its_units(capacitance, inductance, voltage):
    """From rest: v = V (1 - cos(t / sqrt(L C)))."""
    duration = 2 * math.pi * math.sqrt(inductance * capacitance) * 5.25
    run = tank(capacitance, inductance).simulate(duration, {"V": voltage})
    exact = 1 - np.cos(2 * math.pi * 5.25 * np.linspace(0, 1, 1001))
    np.testing.assert_allclose(run["c.effort"] / voltage, exact, atol=2e-8)


@DRAWN
@given(scales, scales)
def test_a_spring_that_is_let_go_comes_back(stiffness, mass):
    m = Model("resonator")
    m.v, m.spring = One(), C(stiffness=stiffness, initial=1e-9)
    _ = m.v >> [m.spring, I(mass=mass)]
    run = m.compile().simulate(2 * math.pi * math.sqrt(mass / stiffness) * 50, times=None)
    assert run["spring.displacement"][-1] / 1e-9 == pytest.approx(1.0, abs=1e-7)


@DRAWN
@given(scales, st.floats(0, 4))
def test_a_late_jump_of_a_force_finds_everything_at_zero(scale, decades):
    """x' of a resting oscillator after a step of force F: F / (m w) sin(w t)."""
    w, end = 10.0**decades, 100.0
    jump = end - 7 / w
    m = Model("oscillator")
    m.v, m.mass = One(), I(mass=scale)
    _ = Se("F") >> m.v >> [m.mass, C(stiffness=scale * w**2)]
    run = m.compile().simulate(end, {"F": lambda t: scale * (t >= jump)})
    # a step is no shorter than 2e-15 of the time, and a few are taken at the jump
    assert run["mass.flow"][-1] * w == pytest.approx(math.sin(7.0), abs=1e-8 + 1e-13 * w * end)


def test_parts_that_do_not_touch_have_tolerances_of_their_own():
    m = Model("two")
    m.a, m.b = One(), One()
    m.small, m.large = C(stiffness=1.0, initial=1e-18), C(stiffness=1.0, initial=1e9)
    _ = m.a >> [m.small, I(mass=1)]
    _ = m.b >> [m.large, I(mass=1)]
    run = m.compile().simulate(20.0)
    assert run["small.displacement"][-1] * 1e18 == pytest.approx(math.cos(20), abs=1e-8)
    assert run["large.displacement"][-1] * 1e-9 == pytest.approx(math.cos(20), abs=1e-8)


@pytest.mark.parametrize("scale", [1e-18, 1e-9, 1.0, 1e12])
def test_bounces_are_at_their_times_whatever_the_height(scale):
    """Dropped from h, sent back with half the speed: at sqrt(2 h / g) times 1, 2, 2.5."""
    m = Model("ball")
    m.v, m.floor = One(), Stop(gap=scale, restitution=0.5)
    _ = Se(effort=9.81 * scale) >> m.v >> [I(mass=scale), m.floor]
    fall = math.sqrt(2 * scale / 9.81)
    run = m.compile().simulate(2.7 * fall)
    assert [e.time / fall for e in run.events] == pytest.approx([1, 2, 2.5], abs=1e-9)


def test_a_tolerance_of_ones_own_is_absolute():
    """1e-12 C is more than all that a femtofarad holds: nothing is controlled."""
    system = tank(1e-15, 1e-15)
    duration = 2 * math.pi * 1e-15 * 50.25
    assert abs(system.simulate(duration, {"V": 1.0}, atol=1e-12)["c.effort"][-1] - 1) > 0.01
    assert abs(system.simulate(duration, {"V": 1.0}, atol=1e-27)["c.effort"][-1] - 1) < 1e-6


@pytest.mark.parametrize("method", ["RK45", "RK23", "Radau", "BDF", "LSODA"])
def test_every_method_knows_the_sizes(method):
    run = tank(1e-15, 1e-15).simulate(6e-15, {"V": 1.0}, method=method, rtol=1e-6)
    assert run["c.effort"][-1] == pytest.approx(1 - math.cos(6), abs=3e-5)


def test_an_unknown_method_is_refused():
    with pytest.raises(InputError, match=r"method: expected one of DOP853, .*; found 'Euler'"):
        tank(1.0, 1.0).simulate(1.0, method="Euler")


def counted(system, most):
    """Return the system; it refuses to compute its rates more often than that."""
    rates, calls = system.rates, [0]

    def limited(*arguments, **options):
        calls[0] += 1
        assert calls[0] <= most, "a stiff system is followed with short steps"
        return rates(*arguments, **options)

    system.__dict__["rates"] = limited
    return system


@DRAWN
@given(st.floats(-12, -3).map(lambda k: 10.0**k), scales)
def test_a_fast_decay_beside_a_slow_one(fast, scale):
    """DOP853 alone would take 1 / (6 fast) steps of twelve evaluations."""
    m = Model("apart")
    m.i, m.v = One(), One()
    m.c, m.mass = C(capacitance=fast), I(mass=scale, initial=scale)
    _ = Se("V") >> m.i >> [R(resistance=1), m.c]
    _ = m.v >> [m.mass, R(damping=scale)]
    run = counted(m.compile(), 30_000).simulate(1, {"V": 1.0})
    assert run["c.effort"][-1] == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(run["mass.flow"], np.exp(-run.time), atol=2e-8)


@DRAWN
@given(st.floats(-12, -3).map(lambda k: 10.0**k), scales)
def test_what_follows_an_input_at_once_does_so_between_steps_too(tau, scale):
    """RC under sin(w t): amplitude and phase of 1 / (1 + i w tau), and a part that dies away.

    DOP853 is left where its steps, of twelve evaluations, are longer than 2 tau: here below 35 us.
    """
    w = 30.0
    m = Model("follower")
    m.i, m.c = One(), C(capacitance=tau * scale)
    _ = Se("V") >> m.i >> [R(resistance=1 / scale), m.c]
    run = counted(m.compile(), 200_000).simulate(1.0, {"V": lambda t: math.sin(w * t)})
    t = run.time
    exact = (np.sin(w * t) + w * tau * (np.exp(-t / tau) - np.cos(w * t))) / (1 + (w * tau) ** 2)
    np.testing.assert_allclose(run["c.effort"], exact, atol=2e-8)


def test_jumps_that_a_stiff_part_follows_at_once():
    m = Model("square")
    m.i, m.c = One(), C(capacitance=1e-9)
    m.v, m.mass = One(), I(mass=1.0)
    _ = Se("V") >> m.i >> [R(resistance=1), m.c]
    _ = Se("F") >> m.v >> m.mass
    times = np.arange(0.1, 1.0, 0.2)
    wave = lambda t: float(t % 0.4 >= 0.2)  # noqa: E731
    run = counted(m.compile(), 100_000).simulate(1.0, {"V": wave, "F": wave}, times=[*times, 1.0])
    np.testing.assert_allclose(run["c.effort"][:-1], [0, 1, 0, 1, 0], atol=1e-8)
    assert run["mass.flow"][-1] == pytest.approx(0.4, abs=1e-8)


@pytest.mark.parametrize("mutual", [0.9999, 0.9999999])
def test_coils_that_nearly_share_their_flux(mutual):
    m = Model("coils")
    m.a, m.b = One(), One()
    m.f = IField([[1, mutual], [mutual, 1]])
    _ = Se("V") >> m.a >> [m.f[0], R(resistance=1)]
    _ = m.b >> [m.f[1], R(resistance=1)]
    run = counted(m.compile(), 20_000).simulate(2.0, {"V": 1.0})
    # sum and difference of the currents: time constants 1 + M and 1 - M
    total, rest = (0.5 * (1 - np.exp(-run.time / (1 + s * mutual))) for s in (1, -1))
    np.testing.assert_allclose(run["a.flow"], total + rest, atol=1e-8)
    np.testing.assert_allclose(run["b.flow"], total - rest, atol=1e-8)


def test_a_law_that_becomes_stiff_on_the_way():
    """Van der Pol's, mu = 1000, beside SciPy's own at tighter tolerances."""
    from scipy.integrate import solve_ivp

    mu = 1000.0
    m = Model("relaxation")
    m.n, m.c = Zero(), C(capacitance=1.0, initial=2.0)
    _ = m.n >> [m.c, I(inductance=1.0), R(inverse=lambda v, a: a * (v**3 / 3 - v), a=mu)]
    run = counted(m.compile(), 60_000).simulate(2 * mu)
    exact = solve_ivp(
        lambda _, y: [-y[1] - mu * (y[0] ** 3 / 3 - y[0]), y[0]],
        (0, 2 * mu), [2.0, 0.0], method="LSODA", rtol=1e-12, atol=1e-13,
    )  # fmt: skip
    assert run["c.effort"][-1] == pytest.approx(exact.y[0, -1], abs=1e-6)


def test_sizes_reach_the_end_of_a_chain():
    """100 equal masses and springs: energies are equal where sizes are, so momenta of one size each."""
    n = 100
    A = np.zeros((2 * n, 2 * n))  # displacements, momenta; stiffness 4, mass 1
    for k in range(n):
        A[k, n + k] = 1.0
        A[n + k, k] = -4.0
        if k + 1 < n:
            A[k, n + k + 1] = -1.0
            A[n + k + 1, k] = 4.0
    sizes = StateSizes(2 * n, 1.0)
    sizes.couple(csr_array(A))
    x = np.zeros(2 * n)
    x[0] = 1e-9
    sizes.start(x)
    np.testing.assert_allclose(sizes.size[:n], 1e-9, rtol=1e-3)
    np.testing.assert_allclose(sizes.size[n:], 2e-9, rtol=1e-3)


@DRAWN
@given(st.integers(0, 10**6))
def test_sizes_settle_in_any_network(seed):
    """However states act on each other, sizes do not grow without end, and are proportional to the start."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    A = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-9, 9, (n, n)) * (rng.random((n, n)) < 0.4)
    x = rng.standard_normal(n) * (rng.random(n) < 0.5)
    sizes, larger = StateSizes(n, 1.0), StateSizes(n, 1.0)
    for of, start in ((sizes, x), (larger, 1e6 * x)):
        of.couple(csr_array(A))
        of.start(start)
    before = sizes.size.copy()
    for _ in range(1000):
        sizes.grow(x)
    np.testing.assert_allclose(sizes.size, before, rtol=1e-6)
    np.testing.assert_allclose(larger.size, 1e6 * before, rtol=1e-6)


def test_the_fastest_decay_is_nothing_that_grows_or_swings():
    assert fastest(csr_array([[1e9, 0.0], [0.0, -5.0]])) == 5.0
    assert fastest(csr_array([[0.0, 100.0], [-1.0, -0.1]])) == 0.0
    assert fastest(csr_array([[0.0, 100.0], [-1.0, -19.0]])) == pytest.approx(10.0)  # damping ratio 0.95
