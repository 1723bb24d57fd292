"""Fields and elements of one's own that are turned round: couplings of zero, laws that cannot be inverted."""

import math

import numpy as np
import pytest
import sympy as sp
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, root

from bondloop.bondgraph import CField, I, ICField, IField, Model, Multiport, One, R, RField, Se, Sf
from bondloop.bondgraph.passes.relation_laws import largest_pairing
from bondloop.engine.codegen import Runner
from bondloop.errors import ModelError, SolveError
from bondloop.hybrid.simulation import Simulation
from bondloop.signals import Sine

DRAWN = settings(max_examples=12, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
TIGHT = {"rtol": 1e-11, "atol": 1e-13}
COUPLINGS = st.one_of(
    st.sampled_from([0.0, -0.0, 1e-200, -1e-200, 1e-12, 0.999, -0.999]), st.floats(-0.95, 0.95)
)


def at(system, goals, states=(), inputs=()):
    """Evaluate variables of a system by path."""
    return system.function([system.expression(g) for g in goals])(
        list(states), list(inputs), [0.0] * len(system.input_rates), list(system.values().values())
    )


# ---------------------------------------------------------------- couplings that may be zero


def coupled(a, b, c, g):
    """Two inertias that couple by c: half of a x^2 + b y^2 + 2 c x y, and a quarter of g x^4."""
    return IField(
        coenergy=lambda x, y, a, b, c, g: a * x**2 / 2 + b * y**2 / 2 + c * x * y + g * x**4 / 4,
        a=a, b=b, c=c, g=g,
    )  # fmt: skip


@DRAWN
@given(
    a=st.floats(0.2, 5.0), b=st.floats(0.2, 5.0), share=COUPLINGS, g=st.sampled_from([0.0, 0.1, 3.0]),
    p=st.tuples(st.floats(-3, 3), st.floats(-3, 3)), out=st.booleans(),
)  # fmt: skip
def test_flows_of_momenta_whatever_the_coupling(a, b, share, g, p, out):
    # The second flow out of the second momentum, put into the first: one rising equation, by bisection.
    c = share * math.sqrt(a * b)
    model = Model("coupled")
    model.f, model.x, model.y = coupled(a, b, c, g), One(), One()
    if out:  # an arrow drawn out of the element changes the signs of flows
        model.f.x >> model.x
    else:
        model.x >> model.f.x
    model.y >> model.f.y
    model.x >> R(resistance=1.0)
    model.y >> R(resistance=1.0)
    system = model.compile()
    assert system.states == ("f.x.momentum", "f.y.momentum")
    sign = -1 if out else 1
    x = brentq(lambda x: (a - c * c / b) * x + g * x**3 + c * p[1] / b - p[0], -1e4, 1e4, xtol=1e-14)
    y = (p[1] - c * x) / b
    size = abs(x) + abs(y) + abs(p[0]) + abs(p[1])
    assert at(system, ["x.flow", "y.flow"], p) == pytest.approx(
        [sign * x, y], rel=1e-9, abs=1e-9 * size / (1 - share**2) + 1e-15
    )
    # What the field holds is what Legendre's transform says.
    (energy,) = at(system, ["f.energy"], p)
    coenergy = a * x**2 / 2 + b * y**2 / 2 + c * x * y + g * x**4 / 4
    assert energy == pytest.approx(p[0] * x + p[1] * y - coenergy, rel=1e-7, abs=1e-7 * size**2 + 1e-15)


@pytest.mark.parametrize("c", [0.0, 1e-200, -0.4])
@pytest.mark.parametrize("g", [0.0, 0.5])
def test_coupled_inertias_move_as_lagrange_says(c, g):
    # M(f) f' = F - r f, with M the second derivatives of the coenergy.
    model = Model("coupled")
    model.f, model.x, model.y = coupled(2.0, 0.7, c, g), One(), One()
    Se("F") >> model.x >> [model.f.x, R(resistance=0.3)]
    model.y >> [model.f.y, R(resistance=0.2), I(mass=0.4)]  # the mass follows the field
    system = model.compile(outputs=["x.flow", "y.flow"])
    assert len(system.states) == 2

    def rates(t, f):
        M = np.array([[2.0 + 3 * g * f[0] ** 2, c], [c, 0.7 + 0.4]])
        return np.linalg.solve(M, [math.sin(3 * t) - 0.3 * f[0], -0.2 * f[1]])

    times = np.linspace(0, 4, 41)
    run = system.simulate(4.0, {"F": lambda t: math.sin(3 * t)}, times=times, **TIGHT)
    hand = solve_ivp(rates, (0, 4), [0, 0], method="DOP853", t_eval=times, **TIGHT)
    assert run["x.flow"] == pytest.approx(hand.y[0], rel=1e-8, abs=1e-10)
    assert run["y.flow"] == pytest.approx(hand.y[1], rel=1e-8, abs=1e-10)


CART = {"M": 1.5, "m": 0.6, "l": 0.8, "grav": 9.81}


def cart_pendulum(start, spin=0.0, *, driven=False):
    """A pendulum on a cart as one field: Lagrange's function is its coenergy."""
    model = Model("cart")
    model.x, model.w = One(), One()
    inertia = CART["m"] * CART["l"]
    starts = {"angle": start, "swing": inertia * CART["l"] * spin}
    if not driven:
        starts["cart"] = inertia * spin * math.cos(start)
    model.f = ICField(
        coenergy=lambda cart, swing, angle, M, m, l, grav: (
            (M + m) * cart**2 / 2 + m * l * cart * swing * sp.cos(angle) + m * l**2 * swing**2 / 2
            + m * grav * l * sp.cos(angle)
        ),
        momentum=["cart", "swing"],
        initial=starts,
        **CART,
    )  # fmt: skip
    if driven:
        Sf("v") >> model.x
    model.x >> model.f.cart
    model.w >> [model.f.swing, model.f.angle]
    return model


@pytest.mark.parametrize("start", [0.0, math.pi / 2, 2.0, -math.pi / 2])
def test_a_pendulum_on_a_cart_moves_as_lagrange_says(start):
    # At 90 degrees the two momenta do not couple; it passes there from 2 rad on.
    M, m, l, g = CART.values()

    def rates(_t, z):
        angle, _, w = z
        mass = np.array([[M + m, m * l * math.cos(angle)], [m * l * math.cos(angle), m * l**2]])
        force = [m * l * w**2 * math.sin(angle), -m * g * l * math.sin(angle)]
        return [w, *np.linalg.solve(mass, force)]

    spin = 1.3
    times = np.linspace(0, 3, 61)
    system = cart_pendulum(start, spin).compile(outputs=["x.flow", "w.flow", "f.energy"])
    run = system.simulate(3.0, times=times, **TIGHT)
    hand = solve_ivp(rates, (0, 3), [start, 0.0, spin], method="DOP853", t_eval=times, **TIGHT)
    for path, row in (("f.angle.displacement", 0), ("x.flow", 1), ("w.flow", 2)):
        assert run[path] == pytest.approx(hand.y[row], rel=1e-7, abs=1e-8)
    assert np.ptp(run["f.energy"]) < 1e-9 * m * g * l


@pytest.mark.parametrize("start", [0.0, math.pi / 2])
def test_a_pendulum_whose_cart_is_driven(start):
    # l w' = -g sin(angle) - v' cos(angle), and the driving force is the rate of the cart's momentum.
    M, m, l, g = CART.values()

    def rates(t, z):
        return [z[1], -(g * math.sin(z[0]) + 4 * math.cos(4 * t) * math.cos(z[0])) / l]

    times = np.linspace(0, 2, 41)
    inputs = {"v": lambda t: math.sin(4 * t), "d/dt v": lambda t: 4 * math.cos(4 * t)}
    run = (
        cart_pendulum(start, driven=True)
        .compile(outputs=["f.cart.effort"])
        .simulate(2.0, inputs, times=times, **TIGHT)
    )
    hand = solve_ivp(rates, (0, 2), [start, 0.0], method="DOP853", t_eval=times, **TIGHT)
    assert run["f.angle.displacement"] == pytest.approx(hand.y[0], rel=1e-7, abs=1e-8)
    angle, w = hand.y
    acceleration = -(g * np.sin(angle) + 4 * np.cos(4 * times) * np.cos(angle)) / l
    force = (M + m) * 4 * np.cos(4 * times) + m * l * (acceleration * np.cos(angle) - w**2 * np.sin(angle))
    assert run["f.cart.effort"] == pytest.approx(force, rel=1e-6, abs=1e-7)


@DRAWN
@given(seed=st.integers(0, 10**6), count=st.integers(2, 4), data=st.data())
def test_mixed_causality_of_resistors_with_zeros_in_their_matrix(seed, count, data):
    # Rayleigh's function of a positive definite matrix with entries made zero, and fourth powers.
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(count, count)) * rng.integers(0, 2, (count, count))
    S = W @ W.T + np.diag(rng.uniform(0.3, 2.0, count))
    quartic = rng.uniform(0, 1) * rng.integers(0, 2, count)
    efforts = data.draw(st.sets(st.integers(0, count - 1), min_size=1))

    def dissipation(*f):
        square = sum(float(S[i, j]) * f[i] * f[j] / 2 for i in range(count) for j in range(count))
        return square + sum(float(q) * x**4 / 4 for q, x in zip(quartic, f, strict=True))

    model = Model("mixed")
    model.r = RField(dissipation=dissipation, size=count)
    for i in range(count):
        (Se if i in efforts else Sf)(f"u{i}") >> model.r[i]
    system = model.compile(outputs=[f"r[{i}].{w}" for i in range(count) for w in ("effort", "flow")])
    f = rng.uniform(-2, 2, count)
    e = S @ f + quartic * f**3
    inputs = {f"u{i}": e[i] if i in efforts else f[i] for i in range(count)}
    got = at(system, system.outputs, [], [inputs[u] for u in system.inputs])
    assert got == pytest.approx([v for pair in zip(e, f, strict=True) for v in pair], rel=1e-9, abs=1e-11)
    assert sum(got[::2][i] * got[1::2][i] for i in range(count)) > 0  # it takes power


def test_compliances_under_forces_do_not_divide_by_their_coupling():
    for c in (0.0, 1e-200, -0.5):
        model = Model("springs")
        model.k = CField(energy=lambda x, y, c: x**2 / 2 + x**4 / 4 + y**2 + c * x * y, c=c)
        Se("F") >> model.k.x
        Se("G") >> model.k.y
        system = model.compile(outputs=["k.x.displacement", "k.y.displacement"])
        wanted = root(
            lambda z, c=c: [z[0] + z[0] ** 3 + c * z[1] - 1.5, 2 * z[1] + c * z[0] - 0.4], [0, 0], tol=1e-13
        ).x
        inputs = [{"F": 1.5, "G": 0.4}[u] for u in system.inputs]
        assert at(system, system.outputs, [], inputs) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("g", [0.0, 0.5], ids=["linear", "nonlinear"])
def test_c_and_python_solve_them_together(g):
    model = Model("coupled")
    model.f, model.x, model.y = coupled(2.0, 0.7, 1e-200, g), One(), One()
    Se("F") >> model.x >> [model.f.x, R(resistance=0.3)]
    Se("G") >> model.y >> [model.f.y, R(resistance=0.2)]
    system = model.compile(outputs=["x.flow", "y.flow", "f.x.momentum", "f.y.momentum"])
    test = Simulation({"s": system}, excitation={"F": Sine(2.0, 1.0), "G": Sine(5.0, 0.7)}, rate=500.0)
    one, other = (Runner(test.tick, b).run(300) for b in ("c", "numpy"))
    assert one.finished, one.message
    for path in ("s.x.flow", "s.y.flow"):
        assert np.abs(one.channels[path]).max() > 0.1
        assert np.abs(one.channels[path] - other.channels[path]).max() <= 1e-12
    # Without a coupling each momentum belongs to its own flow.
    x, y = one.channels["s.x.flow"], one.channels["s.y.flow"]
    assert one.channels["s.f.x.momentum"] == pytest.approx(2 * x + g * x**3, rel=1e-9, abs=1e-12)
    assert one.channels["s.f.y.momentum"] == pytest.approx(0.7 * y, rel=1e-9, abs=1e-12)


# ---------------------------------------------------------------- what really is singular


def two_inertias(**keywords):
    model = Model("two")
    model.f, model.x, model.y = IField(**keywords), One(), One()
    Se("F") >> model.x >> [model.f.x, R(resistance=1.0)]
    model.y >> [model.f.y, R(resistance=1.0)]
    return model


def test_a_field_that_leaves_its_flows_open_is_named():
    # (x + y)^2: only the sum of the flows has a momentum.
    with pytest.raises(
        ModelError, match=r"f \(IField\) cannot give f.x.flow, f.y.flow: .* matrix of their slo"
    ):
        two_inertias(coenergy=lambda x, y: (x + y) ** 2 / 2).compile()
    # With numbers that happen to make it singular it is found when it is solved, at its ports.
    system = two_inertias(coenergy=lambda x, y, c: x**2 / 2 + y**2 / 2 + c * x * y, c=1.0).compile()
    with pytest.raises(SolveError, match=r"two at t = 0 s: .* f.x.flow, f.y.flow has no unique solution"):
        system.simulate(1.0, {"F": 1.0})
    assert system.simulate(1.0, {"F": 1.0}, values={"f.c": 0.9})["y.flow"][-1] < 0


def test_the_pairing_with_the_largest_product():
    assert largest_pairing([[0.0, 2.0], [3.0, 0.0]]) == [1, 0]
    # In other units (rows and columns scaled) it is the same.
    rng = np.random.default_rng(3)
    for _ in range(20):
        S = rng.normal(size=(4, 4))
        scaled = np.diag(10.0 ** rng.integers(-9, 9, 4)) @ S @ np.diag(10.0 ** rng.integers(-9, 9, 4))
        assert largest_pairing(S.tolist()) == largest_pairing(scaled.tolist())


# ---------------------------------------------------------------- laws that cannot be inverted


def law(function):
    """Return an element of one port with a law effort(flow)."""

    class Thing(Multiport):
        """A law."""

        ports = ("p",)

        def equations(self, p):
            return {p.effort: function(p.flow)}

    model = Model("law")
    model.x = Thing()
    Se("e") >> model.x
    return model


@pytest.mark.parametrize(
    "function", [lambda f: f**2, lambda f: f**3 - f, lambda f: f**4 + f, lambda f: f * sp.exp(-(f**2))]
)
def test_a_law_that_turns_back_is_not_inverted(function):
    with pytest.raises(
        ModelError, match=r"law of x \(Thing\) for p.effort has no single inverse for x.flow: it t"
    ):
        law(function).compile()


@pytest.mark.parametrize(
    ("function", "word"),
    [(sp.sign, "is flat"), (lambda f: 2 * sp.sign(f - 1), "is flat"), (lambda f: sp.sign(f) + f, "jumps")],
)
def test_a_law_with_a_sign_says_why_it_is_not_inverted(function, word):
    with pytest.raises(ModelError, match=rf"law of x \(Thing\) .* inverted for x.flow: it {word}.*tanh"):
        law(function).compile()


@pytest.mark.parametrize(
    "function",
    [
        lambda f: (f - sp.Rational(3, 10)) ** 2 * sp.sign(f - sp.Rational(3, 10)) + f,
        lambda f: f * sp.Abs(f) + sp.atan(f),
        lambda f: sp.exp(f) + f**3,
        lambda f: sp.tanh(5 * f) + f / 10 + f**5,
    ],
)
def test_a_law_that_rises_is_inverted(function):
    x = sp.Symbol("x", real=True)
    plain = sp.lambdify(x, function(x), "math")
    system = law(function).compile(outputs=["x.flow"])
    for effort in (-3.0, 0.2, 7.0):
        wanted = brentq(lambda f, e=effort: plain(f) - e, -20, 20, xtol=1e-15)
        assert at(system, ["x.flow"], [], [effort])[0] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_resistors_that_turn_back_together_are_refused():
    model = Model("fold")
    model.r = RField(dissipation=lambda x, y: x**2 * y + y**3 / 3 + x * y)
    Se("u") >> model.r.x
    Se("w") >> model.r.y
    with pytest.raises(
        ModelError, match=r"law of r \(RField\) for x.effort and y.effort has no single inverse"
    ):
        model.compile()


def test_an_error_has_a_time_and_the_name_of_the_port():
    # tanh stays below one: from 0.5 s on no displacement gives the force. One initial value is not zero.
    model = Model("late")
    model.f = CField(energy=lambda x: sp.log(sp.cosh(x - 1)) + 0 * x, initial={"x": 0.5})
    Se("F") >> model.f.x
    run = model.compile(outputs=["f.x.displacement"]).simulate(1.0, {"F": lambda t: 2 * t, "d/dt F": 2.0})
    with pytest.raises(SolveError, match=r"late at t = 0\.50\d* s: .* f\.x\.displacement from its start"):
        run["f.x.displacement"]
