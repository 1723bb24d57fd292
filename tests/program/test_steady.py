"""Steady states: what is conserved keeps its value, and of several rests the motion chooses."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from bondloop.bondgraph import C, I, Model, One, R, Se, Zero
from bondloop.errors import SolveError


def network(seed, *, law=None):
    """Return capacitors joined by resistors, in one or more parts that nothing grounds, and its numbers."""
    rng = np.random.default_rng([seed, 41])
    n = int(rng.integers(2, 7))
    capacity = 10 ** rng.uniform(-3, 3, n)
    charge = rng.normal(size=n) * capacity
    edges = [(int(rng.integers(0, i)), i) for i in range(1, n) if rng.random() < 0.8]
    edges += [(int(a), int(b)) for a, b in rng.integers(0, n, (2, 2)) if a != b]
    resistance = 10 ** rng.uniform(-1, 1, len(edges))
    grounded = [i for i in range(n) if rng.random() < 0.15]
    model = Model("network")
    model.node = [Zero() for _ in range(n)]
    model.c = [C(capacitance=x, initial=float(q)) for x, q in zip(capacity, charge, strict=True)]
    model.join = [One() for _ in edges]
    model.r = [R(resistance=x) if law is None else R(law=law(x)) for x in resistance]
    for node, c in zip(model.node, model.c, strict=True):
        node >> c
    for (a, b), join, r in zip(edges, model.join, model.r, strict=True):
        model.node[a] >> join >> model.node[b]
        join >> r
    model.earth = [R(resistance=1.0) for _ in grounded]
    for i, r in zip(grounded, model.earth, strict=True):
        model.node[i] >> r
    return model, capacity, charge, edges, resistance, grounded


@pytest.mark.parametrize("first", range(0, 800, 100))
def test_charges_that_nothing_grounds_are_kept(first):
    # Assembled by hand: dq/dt = -G C^-1 q with G the conductances; followed to its end by matrix exponential.
    for seed in range(first, first + 100):
        model, capacity, charge, edges, resistance, grounded = network(seed)
        G = np.zeros((len(capacity), len(capacity)))
        for (a, b), r in zip(edges, resistance, strict=True):
            G[[a, b, a, b], [a, b, b, a]] += np.array([1, 1, -1, -1]) / r
        for i in grounded:
            G[i, i] += 1.0
        A = -G / capacity
        rates = np.abs(np.linalg.eigvals(A))
        slow = rates[rates > 1e-9 * rates.max()].min(initial=1.0)
        end = expm(A * 40 / slow) @ charge
        found = model.compile().steady_state()
        got = [found[f"c[{i}].displacement"] for i in range(len(capacity))]
        assert got == pytest.approx(end.tolist(), rel=1e-8, abs=1e-8 * np.abs(charge).max()), seed


@pytest.mark.parametrize("seed", range(40))
def test_the_same_through_resistors_that_are_not_linear(seed):
    # The end does not depend on the resistors: equal voltage in each part, its charge kept.
    model, capacity, charge, edges, _, grounded = network(seed, law=lambda x: lambda f: x * (f + f**3))
    groups = {i: {i} for i in range(len(capacity))}
    for a, b in edges:
        both = groups[a] | groups[b]
        groups.update(dict.fromkeys(both, both))
    found = model.compile().steady_state()
    for i, c in enumerate(capacity):
        part = sorted(groups[i])
        volts = 0.0 if set(part) & set(grounded) else charge[part].sum() / capacity[part].sum()
        size = np.abs(charge[part]).max() / c
        assert found[f"c[{i}].displacement"] / c == pytest.approx(volts, rel=1e-8, abs=1e-8 * size), seed


def test_springs_side_by_side_share_a_force():
    model = Model("pair")
    model.F, model.v = Se(effort=10.0), One()
    model.a, model.b = C(stiffness=1.0), C(stiffness=3.0)
    model.F >> model.v >> [I(mass=1.0), R(damping=1.0), model.a, model.b]
    rest = model.compile().steady_state()
    assert (rest["a.displacement"], rest["b.displacement"]) == pytest.approx((2.5, 2.5), rel=1e-12)
    # One that was stretched before keeps its lead: a = b + 1 with a + 3 b = 10.
    rest = model.compile().steady_state(initial={"a.displacement": 1.0})
    assert (rest["a.displacement"], rest["b.displacement"]) == pytest.approx((3.25, 2.25), rel=1e-12)


def double_well(damping):
    model = Model("double well")
    model.v = One()
    model.v >> [I(mass=1.0), R(damping=damping), C(law=lambda q: q**3 - q)]
    return model.compile()


@pytest.mark.parametrize("damping", [0.05, 0.3, 2.0])
def test_of_two_wells_the_motion_chooses(damping):
    system = double_well(damping)
    for start in np.linspace(-2.3, 2.4, 9):
        # The same motion by another solver, from the equation of motion.
        span = (0.0, 400.0 / damping)
        there = solve_ivp(
            lambda _, x: [x[1], x[0] - x[0] ** 3 - damping * x[1]], span, [start, 0.0], rtol=1e-9, atol=1e-12
        )
        rest = system.steady_state(initial={"C.displacement": start})
        assert rest["C.displacement"] == pytest.approx(np.sign(there.y[0, -1]), rel=1e-9), start


def test_what_cannot_be_known_is_said():
    with pytest.raises(SolveError, match=r"several steady states \(C.displacement = .*cannot be known"):
        double_well(0.0).steady_state(initial={"C.displacement": 2.0})


def test_a_body_that_coasts_does_not_rest():
    model = Model("sledge")
    model.v = One()
    model.v >> [I(mass=2.0), C(stiffness=0.0)]
    system = model.compile()
    with pytest.raises(SolveError, match=r"C\.displacement keep changing"):
        system.steady_state(initial={"I.momentum": 1.0})
    assert system.steady_state(initial={"C.displacement": 3.0})["C.displacement"] == pytest.approx(3.0)


def test_operating_points_have_one_meaning():
    # A mass on a hardening spring under its own weight: k + 3 a q^2 at the start, F = m g = 30 given by Se.
    model = Model("weight")
    model.g, model.v = Se(effort=30.0), One()
    model.spring = C(law=lambda q: 10.0 * q + q**3, initial=2.0)
    model.g >> model.v >> [I(mass=1.0), model.spring]
    system = model.compile(outputs=["v.flow"])
    stiffness = 10.0 + 3 * 2.0**2
    assert np.abs(system.poles()) == pytest.approx(np.sqrt([stiffness, stiffness]))
    assert (
        system.linearise().A.toarray().tolist() == system.linearise([2.0, 0.0], [30.0]).A.toarray().tolist()
    )
    assert system.linearise({"spring.displacement": 0.0}).A.toarray().min() == pytest.approx(-10.0)
