"""What a storage holds as a signal: it modulates and is measured without a second integrator."""

import random

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from bondloop.bondgraph import (
    GY,
    MC,
    MGY,
    MR,
    MTF,
    TF,
    C,
    CField,
    Function,
    I,
    IField,
    Model,
    MSe,
    Multiport,
    One,
    R,
    Se,
    Sf,
    Zero,
)
from bondloop.engine.codegen import compiler
from bondloop.errors import CausalityError, InputError, ModelError, SolveError
from bondloop.hybrid.simulation import Simulation

NO_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]
"""A seed makes the whole graph: a smaller seed is no simpler graph."""


# ------------------------------------------------------------------ derivative causality


def test_what_a_dependent_mass_holds_is_known():
    # (m1 + m2) v' = F - c (1 + (m2 v)²) v.
    m = Model("bolted")
    m.F, m.v, m.table, m.specimen = Se("F"), One(), I(mass=2.0), I(mass=3.0)
    m.damper = MR(lambda p, c: c * (1 + p**2), c=0.5)
    m.F >> m.v >> [m.table, m.specimen, m.damper]
    m.specimen.momentum >> m.damper
    system = m.compile(outputs=[m.specimen.momentum])
    assert system.states == ("table.momentum",)
    assert system.dependent == ("specimen",)
    run = system.simulate(3, {"F": 4.0}, times=np.linspace(0, 3, 31))
    expected = solve_ivp(
        lambda _, v: (4 - 0.5 * (1 + 9 * v**2) * v) / 5, (0, 3), [0], t_eval=run.time, rtol=1e-10, atol=1e-12
    ).y[0]
    assert run["specimen.momentum"] == pytest.approx(3 * expected, abs=1e-7)


def test_what_a_capacitor_across_a_source_holds_is_known():
    # q = C u; a resistor elsewhere takes i = u2 / (r (1 + q)).
    m = Model("across")
    m.u, m.p, m.plate = Se("u"), Zero(), C(capacitance=0.5)
    m.u >> m.p >> [m.plate, R(resistance=1.0)]
    m.u2, m.i, m.gap = Se("u2"), One(), MR(lambda q: 4 * (1 + q))
    m.u2 >> m.i >> m.gap
    m.plate.displacement >> m.gap
    run = m.compile(outputs=["i.flow"]).simulate(1, {"u": np.sin, "d/dt u": np.cos, "u2": 3.0})
    assert run["i.flow"] == pytest.approx(3.0 / (4 * (1 + 0.5 * np.sin(run.time))), rel=1e-12)


def test_ports_of_fields_are_read_too():
    M, K = np.array([[2.0, 0.5], [0.5, 3.0]]), np.array([[8.0, -4.0], [-4.0, 4.0]])
    m = Model("fields")
    m.v, m.mass, m.springs = One(size=2), IField(M, initial=[0.3, -0.2]), CField(K, initial=[0.1, 0.4])
    m.v >> [m.mass, m.springs]
    m.push = MSe(lambda p, q, a, b: a * p + b * q, a=-0.7, b=0.2)
    m.push >> m.v[0]
    m.mass[1].momentum >> m.push
    m.springs[1].displacement >> m.push
    system = m.compile(outputs=[m.mass[1].momentum, "push.effort"])
    run = system.simulate(0.01)
    assert run["mass[1].momentum"][0] == pytest.approx(0.5 * 0.3 - 3 * 0.2)
    assert run["push.effort"][0] == pytest.approx(-0.7 * (0.5 * 0.3 - 3 * 0.2) + 0.2 * 0.4)
    # M v' = -K q + [a (M v)[1] + b q[1], 0]: poles by hand.
    B = np.zeros((2, 2)), np.zeros((2, 2))
    B[0][0], B[1][0, 1] = -0.7 * M[1], 0.2
    A = np.block([[np.linalg.solve(M, B[0]), np.linalg.solve(M, B[1] - K)], [np.eye(2), np.zeros((2, 2))]])
    assert np.sort_complex(system.poles()) == pytest.approx(np.sort_complex(np.linalg.eigvals(A)), rel=1e-9)


def test_ports_of_energies_and_of_elements_of_ones_own_are_read():
    # A plate condenser q²(d + x)/2 with its gap on a spring; a damper and an own element follow the gap.
    class Gauge(Multiport):
        """A source of force, as a signal says."""

        ports, inputs = ("tip",), ("x",)

        def equations(self, tip, x, k):
            return {tip.effort: k * x}

    m = Model("microphone")
    m.circuit, m.v, m.w = One(), One(), One()
    m.plates = CField(energy=lambda q, x, d: q**2 * (d + x) / 2, d=1.0, initial={"q": 0.4, "x": 0.1})
    m.circuit >> [R(resistance=2.0), m.plates.q]
    m.damper, m.gauge = MR(lambda x, q, c: c * (1 + x**2) + q, c=0.3), Gauge(k=3.0)
    m.v >> [m.plates.x, m.damper, I(mass=1.5, initial=0.2), C(stiffness=2.0, initial=0.1)]
    m.plates.x.displacement >> m.damper
    m.plates.q.displacement >> m.damper
    m.w >> [I(mass=1.0), m.gauge.tip]
    m.plates.x.displacement >> m.gauge
    system = m.compile(outputs=[m.plates.x.displacement, "gauge.effort"])
    run = system.simulate(2, times=np.linspace(0, 2, 21))

    def rates(_, y):
        q, x, p, s = y
        return [-q * (1 + x) / 2, p / 1.5, -(q**2) / 2 - (0.3 * (1 + x**2) + q) * p / 1.5 - 2 * s, p / 1.5]

    expected = solve_ivp(rates, (0, 2), [0.4, 0.1, 0.2, 0.1], t_eval=run.time, rtol=1e-10, atol=1e-12).y
    assert run["plates.x.displacement"] == pytest.approx(expected[1], abs=1e-7)
    assert run["gauge.effort"] == pytest.approx(3 * expected[1], abs=1e-6)
    with pytest.raises(ModelError, match=r"plates \(CField\) has no momentum"):
        m.plates.x.momentum  # noqa: B018


# ------------------------------------------------------------------ either sense of a coefficient


def driven(two_port, load, source):
    m = Model("driven")
    m.u, m.a, m.b, m.part = source, One(), One(), two_port
    m.u >> m.a >> m.part >> m.b >> load
    m.a >> R(damping=0.3)
    return m


@pytest.mark.parametrize("load", ["I", "C"])
@pytest.mark.parametrize("source", [Se, Sf])
@given(value=st.floats(0.1, 10))
@settings(max_examples=5, deadline=None)
def test_a_coefficient_the_other_way_round_is_its_inverse(load, source, value):
    def response(part):
        element = I(mass=2.0) if load == "I" else C(stiffness=3.0)
        system = driven(part, element, source("u")).compile(outputs=["u.effort", "u.flow", "b.flow"])
        return system.numeric().frequency_response([0.9])[0]

    for one, other in (
        (TF(modulus=value), TF(effort_ratio=1 / value)),
        (TF([[value]]), TF(effort_ratio=[[1 / value]])),
        (TF(modulus=value), TF([[value]])),
        (GY(ratio=value), GY(admittance=1 / value)),
    ):
        assert response(one) == pytest.approx(response(other), rel=1e-12)


def test_the_other_sense_as_it_is_written():
    # effort_out = m effort_in, flow_in = m flow_out; flow_out = g effort_in, flow_in = g effort_out.
    for part, laws in (
        (TF(effort_ratio=4.0), {"part.out.effort": "4 part.in.effort", "part.in.flow": "4 part.out.flow"}),
        (GY(admittance=4.0), {"part.out.flow": "4 part.in.effort", "part.in.flow": "4 part.out.effort"}),
    ):
        names = [*laws, *(text.split()[1] for text in laws.values())]
        run = driven(part, R(damping=2.0), Se("u")).compile(outputs=names).simulate(0.1, {"u": 1.0})
        for left, right in laws.items():
            assert run[left][-1] == pytest.approx(4 * run[right.split()[1]][-1], rel=1e-12)
            assert run[left][-1] != 0
    with pytest.raises(
        InputError, match="TF takes one of modulus, effort_ratio; found a first argument, effort_ratio"
    ):
        TF(2.0, effort_ratio=3.0)
    with pytest.raises(InputError, match="unknown parameter 'flow_ratio' of TF"):
        TF(flow_ratio=3.0)


# ------------------------------------------------------------------ drawn graphs


def random_graph(rng):
    """A tree of junctions with storages, whose contents modulate transformers, gyrators and resistors."""
    m = Model("random")
    count = rng.randint(2, 6)
    m.j = [rng.choice([Zero, One])() for _ in range(count)]
    modulated = []
    for i in range(1, count):
        tail, head = rng.sample([m.j[rng.randrange(i)], m.j[i]], 2)
        kind = rng.choice(["bond", "TF", "MTF", "MGY"])
        if kind == "bond":
            tail >> head
        elif kind == "TF":
            tail >> TF(effort_ratio=rng.uniform(0.4, 2.5)) >> head
        else:
            word = rng.choice(["modulus", "effort_ratio"] if kind == "MTF" else ["ratio", "admittance"])
            part = (MTF if kind == "MTF" else MGY)(a=rng.uniform(0.5, 2), **{word: lambda q, a: a + q * q})
            tail >> part >> head
            modulated.append(part)
    m.storage = [
        rng.choice([I(mass=rng.uniform(0.3, 3)), C(stiffness=rng.uniform(0.3, 3))]) for _ in range(count)
    ]
    for k, (junction, storage) in enumerate(zip(m.j, m.storage, strict=True)):
        junction >> storage
        if rng.random() < 0.6:
            word = rng.choice(["resistance", "conductance"])
            part = MR(a=rng.uniform(0.5, 2), **{word: lambda q, a: a + q * q})
            modulated.append(part)
            junction >> part
        if rng.random() < 0.2:
            rng.choice([Se, Sf])(f"u{k}") >> junction
    for part in modulated:
        source = rng.choice(m.storage)
        (source.momentum if isinstance(source, I) else source.displacement) >> part
    return m


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, phases=NO_SHRINKING, deadline=None)
def test_energy_changes_by_what_sources_give_and_resistors_take(seed):
    model = random_graph(random.Random(seed))
    try:
        system = model.compile(iterations=40)
    except (CausalityError, SolveError):
        assume(False)
    assert len(system.states) + len(system.dependent) == len(model.storage)  # and no other state
    numbers = np.random.default_rng(seed)
    x, u, r = (
        numbers.uniform(-1, 1, len(names)) for names in (system.states, system.inputs, system.input_rates)
    )
    parameters = list(system.values().values())
    rates_of = dict(zip(system.input_rates, r, strict=True))
    du = np.array([rates_of.get(v, 0.0) for v in system.input_vars])
    words = ["momentum" if isinstance(s, I) else "displacement" for s in model.storage]
    contents = system.function([system.expression(f"storage[{k}].{w}") for k, w in enumerate(words)])
    others = [
        (path, 1 if next(b for b in part._bonds if not b.word).head is part else -1)
        for path, part in model.walk()
        if isinstance(part, (MR, Se, Sf))
    ]
    power = system.function([system.expression(f"{p}.{w}") for p, _ in others for w in ("effort", "flow")])
    weights = [
        1 / (2 * s.coefficient[1]) if isinstance(s, I) else s.coefficient[1] / 2 for s in model.storage
    ]
    try:
        rate = np.array(system.rates(x.tolist(), u.tolist(), r.tolist(), parameters))

        def energy(h):
            at = contents((x + h * rate).tolist(), (u + h * du).tolist(), r.tolist(), parameters)
            return float(np.dot(weights, np.square(at)))

        h = 1e-4 / max(1.0, np.abs(rate).max(initial=0.0))
        change = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
        values = np.array(power(x.tolist(), u.tolist(), r.tolist(), parameters))
    except SolveError:
        assume(False)
    taken = values[::2] * values[1::2] * np.array([sign for _, sign in others])
    assert change == pytest.approx(-taken.sum(), abs=1e-6 * max(1.0, np.abs(taken).sum()))


def test_most_drawn_graphs_are_accepted():
    accepted = 0
    for seed in range(60):
        try:
            random_graph(random.Random(seed)).compile()
            accepted += 1
        except (CausalityError, SolveError):
            pass
    assert accepted >= 45


# ------------------------------------------------------------------ edits, twins, bad input


def buffer():
    m = Model("buffer")
    m.v, m.spring, m.damper = One(), C(stiffness=10.0, initial=0.1), MR(lambda x, c: c * (1 + x**2), c=2.0)
    m.v >> [I(mass=2.0), m.spring, m.damper]
    m.spring.displacement >> m.damper
    return m


def test_signals_survive_copies_swaps_and_inserts():
    m = buffer()
    assert str(m.copy().compile().equations()) == str(m.compile().equations())
    m.swap("spring", C(lambda d: d**3))
    assert "spring.displacement**2" in str(m.compile().equations())
    m.insert(Function(lambda x: 2 * x), "spring.displacement >> damper", name="twice")
    assert "twice.value" in str(m.compile().equations("causal"))
    m.swap("spring", R(damping=1.0))
    with pytest.raises(ModelError, match=r"spring \(R\) has no displacement; only a compliance .* has one"):
        m.compile()


def test_a_signal_of_a_sub_model_and_of_a_moved_spring():
    m = Model("outer")
    m.part = buffer()
    m.v, m.follower, m.command = One(), MC(lambda q, x, k: k * (q - x), k=5.0), MR(lambda x: 1 + x)
    m.v >> [m.follower, m.command, I(mass=1.0)]
    m.part.spring.displacement >> m.follower
    m.follower.displacement >> m.command
    run = m.compile(outputs=["follower.effort", "command.effort"]).simulate(0.3)
    expected = 5.0 * (run["follower.displacement"] - run["part.spring.displacement"])
    assert run["follower.effort"] == pytest.approx(expected, abs=1e-14)
    assert run["command.effort"] == pytest.approx(
        (1 + run["follower.displacement"]) * run["v.flow"], abs=1e-14
    )


def test_parameters_of_modulated_elements_are_parameters_of_the_model():
    system = buffer().compile()
    assert system.parameters["damper.c"] == 2.0
    assert system.poles({"damper.c": 0.0}) == pytest.approx([-1j * 5**0.5, 1j * 5**0.5])


@pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")
def test_twins():
    system = buffer().compile(outputs=["v.flow", "spring.displacement", "damper.effort"])
    simulation = Simulation({"s": system}, excitation={}, rate=200.0)
    python, c = (simulation.run(0.5, backend=backend) for backend in ("numpy", "c"))
    for name in system.outputs:
        assert c[f"s.{name}"] == pytest.approx(python[f"s.{name}"], rel=1e-11, abs=1e-12)


def test_bad_readings_are_refused():
    m = buffer()
    with pytest.raises(AttributeError):
        m.damper.displacement  # noqa: B018
    with pytest.raises(ModelError, match=r"v \(1\) has no momentum; only an inertia \(I, IField\) has one"):
        m.v[0].momentum  # noqa: B018
    with pytest.raises(ModelError, match=r"spring.displacement is a signal that can be read, not imposed"):
        m.v >> m.spring.displacement
    m.plain = R(damping=1.0)
    m.v >> m.plain
    m.spring.displacement >> m.plain
    with pytest.raises(ModelError, match=r"plain \(R\) takes no signal; use its modulated form \(MR\)"):
        m.compile()
    m = Model("several")
    m.v, m.springs, m.damper = One(size=2), C(stiffness=[1.0, 2.0]), MR(lambda x: x)
    m.v >> [m.springs, I(mass=[1.0, 1.0])]
    m.v[0] >> m.damper
    m.springs.displacement >> m.damper
    with pytest.raises(
        ModelError, match=r"springs has 2 components, .* bond springs\[i\].displacement to it"
    ):
        m.compile()
    with pytest.raises(ModelError, match=r"spring.displacement is not part of this model"):
        buffer().compile(outputs=[buffer().spring.displacement])
    with pytest.raises(ModelError, match=r"carries a signal; a cut is made at bonds that carry power"):
        buffer().cut("spring.displacement >> damper")
    with pytest.raises(InputError, match=r"unknown parameter 'd' of MR's function; known: c, x"):
        MR(lambda x, c: c * x, d=1.0)
    with pytest.raises(InputError, match="MSe has no function, so it takes no parameters; found k"):
        MSe(k=2.0)
    with pytest.raises(InputError, match="MTF takes one function, as one of modulus, effort_ratio; found"):
        MTF(modulus=lambda a: a, effort_ratio=lambda a: a)
    import math

    m = buffer()
    m.swap("damper", MR(math.exp))
    with pytest.raises(ModelError, match=r"damper: its equations cannot be written as formulas"):
        m.compile()
