"""Fields from an energy, a coenergy or a dissipation, against closed forms and equations by hand."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from bondloop.bondgraph import C, CField, I, ICField, IField, Model, One, R, RField, Se, Sf
from bondloop.bondgraph.elements.fields import gradient
from bondloop.engine.codegen import Runner
from bondloop.engine.data.ranges import Range
from bondloop.engine.ir.causal_order import partials
from bondloop.engine.ir.expr import Var, evaluate
from bondloop.engine.passes.compose import with_values
from bondloop.engine.passes.sympy_bridge import from_sympy
from bondloop.errors import CausalityError, InputError, ModelError, SolveError
from bondloop.hybrid.simulation import Simulation
from bondloop.signals import Sine

sys.path.insert(0, str(Path(__file__).parent))
from energy_models import ELASTOMER, MIC, RELAY, TRUSS, elastomer, microphone, relay, truss

DRAWN = settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
TIGHT = {"rtol": 1e-12, "atol": 1e-18}


def at(system, goals, states=(), inputs=()):
    """Evaluate variables of a system by path."""
    return system.function([system.expression(g) for g in goals])(
        list(states), list(inputs), [0.0] * len(system.input_rates), list(system.values().values())
    )


# ---------------------------------------------------------------- condenser microphone


def pull_in():
    """Voltage and displacement at which the plates snap together: V^2 = 8 k d^3 / (27 eps A), x = d / 3."""
    return math.sqrt(8 * MIC["k"] * MIC["d"] ** 3 / (27 * MIC["eA"])), MIC["d"] / 3


@pytest.mark.parametrize("resistance", [1e7, 0.0], ids=["through a resistor", "ideal source"])
@pytest.mark.parametrize("share", [0.1, 0.6, 0.95])
def test_the_membrane_rests_where_spring_and_field_balance(resistance, share):
    # k x = eps A V^2 / (2 (d - x)^2): the root below d/3, by bisection.
    volts, limit = pull_in()
    V = share * volts
    wanted = brentq(
        lambda x: MIC["k"] * x - MIC["eA"] * V**2 / (2 * (MIC["d"] - x) ** 2), 0, limit, xtol=1e-18
    )
    rest = microphone(resistance).compile().steady_state({"V": V})
    assert rest["mic.membrane.displacement"] == pytest.approx(wanted, rel=1e-8)


def test_pull_in_is_where_the_stiffness_of_the_microphone_vanishes():
    volts, limit = pull_in()
    system = microphone(0.0).compile(outputs=["mic.membrane.effort"])
    below, there, above = (
        system.linearise({"mic.membrane.displacement": x}, {"V": volts}).C.toarray()[0, -1]
        for x in (0.9 * limit, limit, 1.1 * limit)
    )
    assert below > 0 > above
    assert abs(there) < 1e-9 * MIC["k"]
    # And the spring balances the field there, exactly.
    x = system.initial({"mic.membrane.displacement": limit})
    assert abs(at(system, ["mic.membrane.effort"], x, [volts])[0]) < 1e-9 * MIC["k"] * limit


def test_beyond_pull_in_nothing_comes_to_rest():
    # Between the plates no spring force equals the pull: the largest ratio of the two is at d/3.
    system = microphone().compile()
    with pytest.raises(SolveError):
        system.steady_state({"V": 1.05 * pull_in()[0]})


def test_the_microphone_moves_as_its_equations_by_hand_say():
    system = microphone().compile(outputs=["mic.plates.effort"])
    eA, d, k = MIC["eA"], MIC["d"], MIC["k"]

    def rates(t, z):
        q, x, v = z
        V = 25 + 5 * math.sin(2e3 * t)
        return [(V - q * (d - x) / eA) / 1e7, v, (q**2 / (2 * eA) - k * x - 0.02 * v) / 1e-5]

    times = np.linspace(0, 0.01, 101)
    run = system.simulate(0.01, {"V": lambda t: 25 + 5 * math.sin(2e3 * t)}, times=times, **TIGHT)
    hand = solve_ivp(rates, (0, 0.01), [0.0, 0.0, 0.0], method="DOP853", t_eval=times, **TIGHT)
    for path, row in (("mic.plates.displacement", 0), ("mic.membrane.displacement", 1), ("v.flow", 2)):
        assert run[path] == pytest.approx(hand.y[row], rel=1e-8, abs=1e-8 * np.abs(hand.y[row]).max())


def test_parameters_of_an_energy_have_names_and_can_be_changed():
    system = microphone().compile()
    assert system.parameters["mic.k"] == 500.0
    stiffer = with_values(system, {"mic.k": 5000.0})
    V = 0.5 * pull_in()[0]
    one, other = (
        s.steady_state({"V": V}, values)["mic.membrane.displacement"]
        for s, values in ((stiffer, None), (system, {"mic.k": 5000.0}))
    )
    wanted = brentq(
        lambda x: 5000.0 * x - MIC["eA"] * V**2 / (2 * (MIC["d"] - x) ** 2), 0, MIC["d"] / 3, xtol=1e-18
    )
    assert one == pytest.approx(wanted, rel=1e-8)
    assert other == pytest.approx(wanted, rel=1e-8)


def test_parameters_of_an_energy_have_ranges():
    model = Model("ranged")
    model.v, model.spring = One(), CField(energy=lambda q, k: k * q**2, k=1.0, ranges={"k": Range(above=0)})
    model.v >> [model.spring.q, I(mass=1.0)]
    system = model.compile()
    with pytest.raises(InputError, match=r"spring\.k: expected a number above 0; found -1"):
        system.values({"spring.k": -1.0})


# ---------------------------------------------------------------- relay


@pytest.mark.parametrize("form", ["coenergy", "energy"])
def test_a_relay_moves_as_its_equations_by_hand_say(form):
    a, b, k, x0 = RELAY.values()

    def rates(_t, z):
        flux, x, v = z
        i = flux * (b + x) / a
        return [2.0 - 5.0 * i, v, (-(i**2) * a / (2 * (b + x) ** 2) - k * (x - x0) - 2.0 * v) / 0.01]

    times = np.linspace(0, 0.05, 101)
    system = relay(form).compile(outputs=["i.flow"])
    run = system.simulate(0.05, {"V": 2.0}, times=times, **TIGHT)
    hand = solve_ivp(rates, (0, 0.05), [0.0, x0, 0.0], method="DOP853", t_eval=times, **TIGHT)
    assert run["coil.coil.momentum"] == pytest.approx(hand.y[0], rel=1e-8, abs=1e-14)
    assert run["coil.gap.displacement"] == pytest.approx(hand.y[1], rel=1e-8)
    assert run["i.flow"] == pytest.approx(hand.y[0] * (b + hand.y[1]) / a, rel=1e-8, abs=1e-12)


def test_a_coil_that_saturates_is_solved_by_iteration():
    # momentum = (1 + x) tanh(i) + i / 10 has no closed inverse; by bisection for every state.
    model = Model("saturated")
    model.i, model.v = One(), One()
    model.coil = ICField(coenergy=lambda i, x: (1 + x) * sp.log(sp.cosh(i)) + i**2 / 20, momentum="i")
    Se("V") >> model.i >> [model.coil.i, R(resistance=1.0)]
    model.v >> [model.coil.x, I(mass=1.0), C(stiffness=5.0)]
    system = model.compile(outputs=["coil.i.flow", "coil.x.effort"])
    assert any("nonlinear" in note for note in system.notes)
    names = system.states
    for p, x in ((0.3, 0.2), (-1.5, 0.4), (8.0, -0.1)):
        state = [{"coil.i.momentum": p, "coil.x.displacement": x}.get(n, 0.0) for n in names]
        current = brentq(lambda i, p=p, x=x: (1 + x) * math.tanh(i) + i / 10 - p, -100, 100, xtol=1e-15)
        got = at(system, ["coil.i.flow", "coil.x.effort"], state, [0.0])
        assert got == pytest.approx([current, -math.log(math.cosh(current))], rel=1e-10)


# ---------------------------------------------------------------- dielectric elastomer


@pytest.mark.parametrize("stretch", [1.02, 1.1, 1.2])
def test_a_dielectric_elastomer_rests_at_the_stretch_that_belongs_to_its_voltage(stretch):
    # Equal stretches: V^2 = mu H^2 / eps (stretch^-2 - stretch^-8) (Zhao and Suo 2007, eq. 9, free sheet);
    # it has its maximum at stretch = 4^(1/6) = 1.26, so 1.2 is still on the stable side.
    mu, L, H, eps = ELASTOMER.values()
    volts = math.sqrt(mu * H**2 / eps * (stretch**-2 - stretch**-8))
    rest = elastomer().compile().steady_state({"V": volts})
    assert rest["sheet.u.displacement"] == pytest.approx((stretch - 1) * L, rel=1e-7)
    assert rest["sheet.w.displacement"] == pytest.approx((stretch - 1) * L, rel=1e-7)


# ---------------------------------------------------------------- two springs at an angle


def truss_force(y):
    """Vertical force on the node of the von Mises truss, from the geometry."""
    k, a, h = TRUSS.values()
    length = math.hypot(a, h - y)
    return 2 * k * (length - math.hypot(a, h)) / length * -(h - y)


def test_the_truss_pushes_back_as_geometry_says():
    system = truss().compile(outputs=["springs.x.effort", "springs.y.effort"])
    index = system.states.index("springs.y.displacement")
    for y in (-0.02, 0.0, 0.03, 0.06, 0.1):
        x = system.initial()
        x[index] = y
        got = at(system, system.outputs, x, [0.0, 0.0])
        assert got == pytest.approx([0.0, truss_force(y)], rel=1e-12, abs=1e-9)


def test_the_truss_snaps_through_at_its_limit_load():
    # Where d(force)/dy = 0: cos^3 of the angle = cos of the angle at rest, from k (1 - cos0 / cos^3) = 0.
    a, h = TRUSS["a"], TRUSS["h"]
    cos0 = a / math.hypot(a, h)
    angle = math.acos(cos0 ** (1 / 3))
    y = h - a * math.tan(angle)
    limit = truss_force(y)
    # Slow enough that a load put on at once does not overshoot.
    system, slow = truss().compile(), {"loss.c": 300.0}
    below = system.steady_state({"Fy": 0.9 * limit}, slow)["springs.y.displacement"]
    above = system.steady_state({"Fy": 1.1 * limit}, slow)["springs.y.displacement"]
    assert 0 < below < y
    assert above > h
    assert below == pytest.approx(brentq(lambda z: truss_force(z) - 0.9 * limit, 0, y, xtol=1e-15), rel=1e-8)
    assert above == pytest.approx(
        brentq(lambda z: truss_force(z) - 1.1 * limit, h, 4 * h, xtol=1e-15), rel=1e-8
    )


def test_a_force_on_a_nonlinear_field_is_solved_by_iteration_from_its_start():
    # A weightless truss: its displacement follows from the force, on the branch where it starts.
    h = TRUSS["h"]
    for start, bracket in ((0.0, (-0.05, 0.02)), (2 * h, (1.5 * h, 3 * h))):
        model = Model("weightless")
        model.F, model.field = Se("F"), CField(
            energy=lambda y, k, a, h: k * (sp.sqrt(a**2 + (h - y) ** 2) - sp.sqrt(a**2 + h**2)) ** 2,
            **TRUSS, initial={"y": start} if start else None,
        )  # fmt: skip
        model.F >> model.field.y
        system = model.compile(outputs=["field.y.displacement"])
        for force in (-20.0, 0.5, 12.0):
            wanted = brentq(lambda z, f=force: truss_force(z) - f, *bracket, xtol=1e-16)
            assert at(system, ["field.y.displacement"], [], [force])[0] == pytest.approx(
                wanted, rel=1e-9, abs=1e-15
            )


# ---------------------------------------------------------------- reciprocity, on drawn energies


def drawn_energy(seed, count):
    """Return an energy of several variables as a function of SymPy, and the same of floats."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(count, count))
    a, b, w = rng.uniform(0.2, 2.0, 3)

    def energy(*z):
        # Convex (so that every mixed causality has a solution): squares, a fourth power, a log of cosines.
        forms = [sum(float(W[i, j]) * z[j] for j in range(count)) for i in range(count)]
        squares = sum(float(a) * q**2 for q in z) + sum(float(b) * f**4 for f in forms)
        return squares + float(w) * sp.log(sp.cosh(sum(z)))

    return energy


def hessian(energy, z):
    """Second derivatives of a plain function, by SymPy's own Hessian, at a point."""
    symbols = sp.symbols(f"z:{len(z)}", real=True)
    matrix = sp.hessian(energy(*symbols), symbols)
    return np.array(matrix.subs(dict(zip(symbols, z, strict=True)))).astype(float)


def on_sources(field, count, efforts):
    """Return a model with a source on every port; of effort where said, of flow elsewhere."""
    model = Model("drawn")
    model.field = field
    for i in range(count):
        (Se if i in efforts else Sf)(f"u{i}") >> field[i]
    return model


@DRAWN
@given(seed=st.integers(0, 10**6), count=st.integers(1, 3), data=st.data())
def test_reciprocity_in_every_causality(seed, count, data):
    # K = d(effort)/d(displacement) is symmetric and equal to the Hessian; where some efforts are given, the
    # others follow the Schur complement of K, as static condensation says.
    efforts = data.draw(st.sets(st.integers(0, count - 1)))
    energy = drawn_energy(seed, count)
    model = on_sources(CField(energy=energy, size=count), count, efforts)
    system = model.compile(
        outputs=[f"field[{i}].{'displacement' if i in efforts else 'effort'}" for i in range(count)]
    )
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1.5, 1.5, count)
    symbols = sp.symbols(f"z:{count}", real=True)
    e = [float(s.subs(dict(zip(symbols, q, strict=True)))) for s in gradient(energy(*symbols), symbols)]
    kept = [i for i in range(count) if i not in efforts]
    states = {f"field[{i}].displacement": q[i] for i in kept}
    inputs = {f"u{i}": e[i] if i in efforts else 0.0 for i in range(count)}
    x = system.initial(states)
    got = at(system, system.outputs, x, [inputs[u] for u in system.inputs])
    assert got == pytest.approx([q[i] if i in efforts else e[i] for i in range(count)], rel=1e-9, abs=1e-12)
    space = system.linearise(states, inputs)
    order = [*kept, *sorted(efforts)]
    K = hessian(energy, q)[np.ix_(order, order)]
    n = len(kept)
    a, b, c = K[:n, :n], K[:n, n:], K[n:, n:]
    condensed = a - b @ np.linalg.solve(c, b.T) if efforts else a
    rows = [system.outputs.index(f"field[{i}].effort") for i in kept]
    columns = [system.states.index(f"field[{i}].displacement") for i in kept]
    slopes = space.C.toarray()[np.ix_(rows, columns)]
    assert slopes == pytest.approx(condensed, rel=1e-8, abs=1e-10)
    assert np.abs(slopes - slopes.T).max(initial=0.0) <= 1e-9 * np.abs(K).max()


@DRAWN
@given(seed=st.integers(0, 10**6), count=st.integers(1, 3), data=st.data())
def test_inertias_and_resistors_from_a_potential_are_the_same_function_of_other_variables(seed, count, data):
    # One potential read four ways: what is effort of displacement in a C is flow of momentum in an I,
    # momentum of flow in a coenergy, effort of flow in an R.
    potential = drawn_energy(seed, count)
    z = np.random.default_rng(seed + 1).uniform(-1, 1, count)
    symbols = sp.symbols(f"z:{count}", real=True)
    slope = [
        float(s.subs(dict(zip(symbols, z, strict=True)))) for s in gradient(potential(*symbols), symbols)
    ]
    name = data.draw(
        st.sampled_from(["I energy", "I coenergy", "C coenergy", "R dissipation", "R codissipation"])
    )
    if name == "I energy":
        model = on_sources(IField(energy=potential, size=count, initial=z.tolist()), count, range(count))
        words, wanted = "flow", slope
    elif name == "I coenergy":
        model = on_sources(IField(coenergy=potential, size=count, initial=slope), count, range(count))
        words, wanted = "flow", z
    elif name == "C coenergy":
        model = on_sources(CField(coenergy=potential, size=count, initial=slope), count, ())
        words, wanted = "effort", z
    elif name == "R dissipation":
        efforts = data.draw(st.sets(st.integers(0, count - 1)))
        model = on_sources(RField(dissipation=potential, size=count), count, efforts)
        words, wanted = ["flow" if i in efforts else "effort" for i in range(count)], [
            z[i] if i in efforts else slope[i] for i in range(count)
        ]  # fmt: skip
        given_inputs = {f"u{i}": slope[i] if i in efforts else z[i] for i in range(count)}
    else:
        efforts = data.draw(st.sets(st.integers(0, count - 1)))
        model = on_sources(RField(codissipation=potential, size=count), count, efforts)
        words, wanted = ["flow" if i in efforts else "effort" for i in range(count)], [
            slope[i] if i in efforts else z[i] for i in range(count)
        ]  # fmt: skip
        given_inputs = {f"u{i}": z[i] if i in efforts else slope[i] for i in range(count)}
    words = [words] * count if isinstance(words, str) else words
    system = model.compile(outputs=[f"field[{i}].{w}" for i, w in enumerate(words)])
    inputs = [given_inputs[u] if name.startswith("R") else 0.0 for u in system.inputs]
    got = at(system, system.outputs, system.initial(), inputs)
    assert got == pytest.approx(list(wanted), rel=1e-9, abs=1e-12)


def test_derivatives_agree_with_the_package_s_own_calculus():
    x, y = sp.symbols("x y", real=True)
    formulas = [
        sp.Piecewise((x**2, x > 0), (x**4 * y, True)),
        sp.Max(x, 0) ** 2 * y,
        sp.Abs(x) ** 3 + sp.sign(y) * y**2,
        sp.sqrt(1 + x**2 * y**2) * sp.exp(-x),
        sp.atan2(y, x) * x,
    ]
    table = {x: Var("x"), y: Var("y")}
    rng = np.random.default_rng(3)
    for formula in formulas:
        own = partials(from_sympy(formula, table.__getitem__))
        for symbol, theirs in zip((x, y), gradient(formula, (x, y)), strict=True):
            for _ in range(20):
                point = {table[x]: rng.normal(), table[y]: rng.normal()}
                expected = evaluate(own[table[symbol]], point)
                assert evaluate(from_sympy(theirs, table.__getitem__), point) == pytest.approx(
                    expected, rel=1e-12
                )


# ---------------------------------------------------------------- equivalents


def test_a_quadratic_energy_is_a_stiffness_matrix():
    K = np.array([[5.0, -2.0], [-2.0, 4.0]])

    def build(field):
        model = Model("pair")
        model.a, model.b, model.K = One(), One(), field
        Se("F") >> model.a >> [I(mass=1.0), R(damping=0.1), model.K[0]]
        model.b >> [I(mass=2.0), R(damping=0.3), model.K[1]]
        return model.compile(outputs=["a.flow", "b.flow"])

    energy = build(CField(energy=lambda q, x: (5 * q**2 - 4 * q * x + 4 * x**2) / 2))
    matrix = build(CField(K))
    assert energy.is_linear
    w = np.array([0.3, 1.0, 5.0])
    assert energy.frequency_response(w) == pytest.approx(matrix.frequency_response(w), rel=1e-12)


def double_pendulum():
    """Two pendulums as one field of Lagrange's function: each angle has a port of either kind."""
    model = Model("double_pendulum")
    model.w = [One(), One()]

    def lagrange(w1, w2, a1, a2, m, L, g):
        kinetic = m * L**2 * (w1**2 + w2**2 / 2 + w1 * w2 * sp.cos(a1 - a2))
        return kinetic + m * g * L * (2 * sp.cos(a1) + sp.cos(a2))

    model.arm = ICField(
        coenergy=lagrange, momentum=["w1", "w2"], m=1.3, L=0.7, g=9.81, initial={"a1": 1.2, "a2": -0.5}
    )
    model.w[0] >> [model.arm.w1, model.arm.a1]
    model.w[1] >> [model.arm.w2, model.arm.a2]
    return model


def test_a_double_pendulum_as_one_field():
    m, L, g = 1.3, 0.7, 9.81

    def rates(_t, z):
        a1, a2, w1, w2 = z
        c, s = math.cos(a1 - a2), math.sin(a1 - a2)
        M = np.array([[2.0, c], [c, 1.0]])
        f = [-(w2**2) * s - 2 * g / L * math.sin(a1), w1**2 * s - g / L * math.sin(a2)]
        return [w1, w2, *np.linalg.solve(M, f)]

    system = double_pendulum().compile(outputs=["arm.energy"])
    times = np.linspace(0, 3, 61)
    run = system.simulate(3, times=times, **TIGHT)
    hand = solve_ivp(rates, (0, 3), [1.2, -0.5, 0, 0], method="DOP853", t_eval=times, **TIGHT)
    assert run["arm.a1.displacement"] == pytest.approx(hand.y[0], abs=1e-8)
    assert run["w[1].flow"] == pytest.approx(hand.y[3], abs=1e-7)
    energy = run["arm.energy"]
    assert np.abs(energy - energy[0]).max() < 1e-9 * abs(m * g * L)


def test_an_inertia_from_an_energy_before_a_mass_and_driven():
    # flow = momentum + momentum^3; a mass beside it follows it: (1 + 3 p^2) p' m + p' = F.
    model = Model("beside")
    model.F, model.v, model.m, model.T = (
        Se("F"),
        One(),
        I(mass=2.0),
        IField(energy=lambda p: p**2 / 2 + p**4 / 4),
    )
    model.F >> model.v >> [model.m, model.T.p]
    system = model.compile()
    assert system.states == ("T.p.momentum",)
    (rate,) = system.rates([0.7], [1.5], [], list(system.values().values()))
    assert rate == pytest.approx(1.5 / (1 + 2.0 * (1 + 3 * 0.49)), rel=1e-12)
    # Driven by a flow, the momentum is the root of p + p^3 = f and the force its rate, f' / (1 + 3 p^2).
    driven = Model("driven")
    driven.r, driven.T = Sf("r"), IField(energy=lambda p: p**2 / 2 + p**4 / 4)
    driven.r >> driven.T.p
    run = driven.compile(outputs=["T.p.effort"]).simulate(
        1.0, {"r": lambda t: 1 + t, "d/dt r": 1.0}, times=np.linspace(0, 1, 5)
    )
    for t, got in zip(run.time, run["T.p.effort"], strict=True):
        p = brentq(lambda p, t=t: p + p**3 - 1 - t, 0, 2, xtol=1e-15)
        assert got == pytest.approx(1 / (1 + 3 * p**2), rel=1e-10)


# ---------------------------------------------------------------- power balance and twins

MODELS = {
    "microphone": (microphone, {"V": (50.0, 300.0)}, 0.02, ("m", ["c", "r"], ["V"])),
    "relay": (relay, {"V": (1.2, 20.0)}, 0.1, ("m", ["c", "r"], ["V"])),
    "elastomer": (elastomer, {"V": (2500.0, 8.0)}, 0.3, ("mu mw", ["r", "cu", "cw"], ["V"])),
    "truss": (truss, {"Fx": (40.0, 3.0), "Fy": (150.0, 2.0)}, 1.0, ("mx my", [], ["Fx", "Fy"])),
}
FIELDS = {"microphone": "mic", "relay": "coil", "elastomer": "sheet", "truss": "springs"}


@pytest.mark.parametrize("name", MODELS)
def test_power_balance_in_simulation(name):
    build, sources, seconds, (masses, dampers, inputs) = MODELS[name]
    system = build(meters=True).compile()
    signals = {u: (lambda t, a=a, f=f: a * math.sin(2 * math.pi * f * t)) for u, (a, f) in sources.items()}
    run = system.simulate(seconds, signals, times=np.linspace(0, seconds, 201), rtol=1e-12, atol=1e-18)
    energy = run[f"{FIELDS[name]}.energy"].copy()
    for m in masses.split():
        energy += run[f"{m}.momentum"] ** 2 / (2 * system.parameters[f"{m}.mass"])
    heat = sum(run[f"{c}.heat"] for c in dampers) if dampers else 0.0
    work = sum(run[f"supply_{u}.work"] for u in inputs)
    if name == "truss":  # what its resistor field takes is summed up with a finer rule
        fine = system.simulate(seconds, signals, times=np.linspace(0, seconds, 20001), rtol=1e-12, atol=1e-18)
        power = sum(fine[f"loss.{p}.effort"] * fine[f"loss.{p}.flow"] for p in "xy")
        from scipy.integrate import cumulative_simpson

        heat = cumulative_simpson(power, x=fine.time, initial=0.0)[::100]
    scale = max(np.abs(energy - energy[0]).max(), np.abs(work).max())
    assert scale > 0
    assert np.abs(energy - energy[0] + heat - work).max() <= 1e-8 * scale


@pytest.mark.parametrize("name", MODELS)
def test_c_and_python_agree(name):
    build, sources, seconds, _ = MODELS[name]
    system = build().compile(outputs=[f"{FIELDS[name]}.energy"])
    test = Simulation(
        {"s": system}, excitation={u: Sine(a, f) for u, (a, f) in sources.items()}, rate=2000 / seconds
    )
    one, other = (Runner(test.tick, b).run(400) for b in ("c", "numpy"))
    assert one.finished, one.message
    (channel,) = [c for c in one.channels if c.endswith(".energy")]
    assert np.abs(one.channels[channel]).max() > 0
    assert (
        np.abs(one.channels[channel] - other.channels[channel]).max()
        <= 1e-12 * np.abs(one.channels[channel]).max()
    )


def test_an_iterated_field_in_c():
    # A nonlinear spring between two given velocities and forces: found by iteration in every step.
    model = Model("iterated")
    model.v = One()
    model.K = CField(energy=lambda q, x: q**2 + sp.cosh(x + q) + x**2)
    Se("F") >> model.v >> [I(mass=1.0), R(damping=0.5), model.K.q]
    Se("e") >> model.K.x
    system = model.compile(outputs=["K.x.displacement", "K.q.displacement", "v.flow"])
    test = Simulation({"s": system}, excitation={"F": Sine(2.0, 1.0), "e": Sine(5.0, 0.7)}, rate=500.0)
    one, other = (Runner(test.tick, b).run(500) for b in ("c", "numpy"))
    assert one.finished, one.message
    for path in ("s.K.x.displacement", "s.v.flow"):
        assert np.abs(one.channels[path] - other.channels[path]).max() <= 1e-11
    # Each sample by bisection: sinh(x + q) + 2 x = e.
    q, x = (one.channels[f"s.K.{p}.displacement"] for p in "qx")
    e = 5 * np.sin(2 * np.pi * 0.7 * one.time)
    for k in range(0, 500, 50):
        wanted = brentq(lambda z, k=k: math.sinh(z + q[k]) + 2 * z - e[k], -10, 10, xtol=1e-15)
        assert x[k] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


# ---------------------------------------------------------------- names and bad input


def test_ports_have_names_and_numbers():
    field = CField(energy=lambda plates, membrane: plates**2 + membrane**2)
    assert field.plates.index == 0
    assert field.membrane.index == field[1].index == 1
    with pytest.raises(AttributeError, match=r"no port or attribute 'plate'.*plates, membrane"):
        field.plate  # noqa: B018


def test_a_bond_to_a_named_port_can_be_named():
    model = microphone()
    bond = model.bond_at("v >> mic.membrane")
    assert str(bond) == "v >> mic.membrane"
    numerical, physical = model.cut("i >> mic.plates")
    assert "mic.membrane.displacement" in physical.compile().states
    assert "mic.membrane.displacement" not in numerical.compile().states


def test_a_copy_is_independent():
    model = microphone()
    twin = model.copy()
    assert twin.compile().states == model.compile().states
    assert twin.mic.plates.part is twin.mic


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: CField(energy=3.0), InputError, r"CField\(energy\): expected a function.*found 3.0"),
        (lambda: CField(energy=lambda: 0), InputError, r"at least one variable"),
        (lambda: CField(energy=lambda *q: q[0] ** 2), InputError, r"number of ports.*found None"),
        (lambda: CField(energy=lambda q: q**2, size=1), InputError, r"leave the size out"),
        (lambda: CField(energy=lambda q, k: k * q**2, j=3), InputError, r"unknown parameter 'j'"),
        (lambda: CField(energy=lambda q: q**2, initial=[1, 2]), InputError, r"expected 1 values; found 2"),
        (lambda: CField(energy=lambda q: q**2, initial={"x": 1}), InputError, r"unknown store 'x'"),
        (lambda: CField(energy=math.sin), ModelError, r"cannot be written as formulas.*SymPy"),
        (lambda: CField(energy=lambda size: size**2), ModelError, r"a port cannot be called 'size'"),
        (lambda: CField(np.eye(2), energy=lambda q: q**2), InputError, r"found several"),
        (lambda: RField(dissipation=lambda f: f**2, initial=[1.0]), InputError, r"stores nothing"),
        (lambda: ICField(lambda p: p, coenergy=lambda p: p, momentum="p"), InputError, r"either an energy"),
        (lambda: ICField(lambda p, q: p * q, momentum="x"), InputError, r"unknown port 'x'"),
        (lambda: IField(dissipation=lambda f: f**2), InputError, r"unknown parameter 'dissipation'"),
    ],
)  # fmt: skip
def test_bad_potentials(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_what_cannot_be_solved_says_why():
    # The second effort is q, and q follows its source of flow: a force there has no answer.
    model = on_sources(CField(energy=lambda q, x: q**2 / 2 + q * x), 2, {1})
    with pytest.raises(CausalityError, match=r"Se >> field.x is fixed twice.*equations of field \(CField\)"):
        model.compile()
    # An energy that does not depend on x at all gives no force there, so none can be imposed.
    with pytest.raises(CausalityError, match=r"Se >> field.x is fixed twice.*field \(CField\)"):
        on_sources(CField(energy=lambda q, x: q**2 / 2 + 0 * x), 2, {1}).compile()


def test_an_initial_value_that_would_be_overruled_is_refused():
    model = on_sources(CField(energy=lambda q: q**2, initial=[1.0]), 1, {0})
    with pytest.raises(ModelError, match=r"field: q.displacement is in derivative causality"):
        model.compile()


@pytest.mark.parametrize(
    "energy",
    [
        lambda x: x**2 / 2 + 3 * sp.Heaviside(x),
        lambda x, k=2.0: k * x**2 / 2 + sp.sign(x - 1),
        lambda x: sp.Piecewise((x**2 / 2, x < 0.5), (x**2 / 2 + 1, True)),
        lambda x: (x + 1) * sp.Heaviside(x),
    ],
)
def test_an_energy_that_jumps_is_refused(energy):
    with pytest.raises(ModelError, match=r"jumps by .* at x.displacement = "):
        CField(energy=energy)


@pytest.mark.parametrize(
    "energy",
    [
        lambda x, k=3.0, g=0.2: x**2 / 2 + k * (x - g) ** 2 * sp.Heaviside(x - g) / 2,
        lambda x: x**2 * sp.sign(x) / 2,
        lambda x: sp.Piecewise(((x + 1) ** 2, x < -1), (0, sp.And(x >= -1, x < 1)), ((x - 1) ** 2, True)),
        lambda x: 2 * sp.Abs(x),
        lambda x: sp.Max(0, x - 1) ** 2,
    ],
)
def test_an_energy_with_corners_is_conserved(energy):
    m = Model("corners")
    m.v, m.mass, m.field = One(), I(mass=1, initial=2.0), CField(energy=energy)
    m.v >> [m.mass, m.field.x]
    run = m.compile().simulate(3, rtol=1e-10)
    whole = run["mass.momentum"] ** 2 / 2 + run["field.energy"]
    np.testing.assert_allclose(whole, whole[0], rtol=1e-6)
