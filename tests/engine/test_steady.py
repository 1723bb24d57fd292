"""Steady states: what is conserved keeps its value, and of several rests the motion chooses."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from bondloop.bondgraph import C, I, Model, One, R, Se, Zero
from bondloop.engine.analysis.rest import null, state_units
from bondloop.engine.analysis.steady import fastest_growth, left_open
from bondloop.errors import SolveError, StabilityWarning


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


@pytest.mark.by_day(2)
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


@pytest.mark.by_day(15)
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


@pytest.mark.parametrize("damping", [pytest.param(0.05, marks=pytest.mark.nightly), 0.3, 2.0])
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
    with pytest.raises(SolveError, match=r"C\.displacement keeps changing"):
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


@pytest.mark.parametrize("first", range(0, 60, 30))
def test_a_steady_state_that_the_motion_leaves_says_so(first):
    # Some resistors are negative. C^-1/2 G C^-1/2 is symmetric and has the same eigenvalues as the motion: it
    # grows where one is negative. Whatever is said, rates vanish in what is returned.
    said = 0
    for seed in range(first, first + 30):
        rng = np.random.default_rng([seed, 97])
        n = int(rng.integers(2, 6))
        capacity, conductance = 10 ** rng.uniform(-2, 2, n), rng.choice([-0.6, 1.0], (n, n))
        model = Model("network")
        model.node = [Zero() for _ in range(n)]
        G = np.zeros((n, n))
        for i, node in enumerate(model.node):
            node >> [C(capacitance=float(capacity[i]), initial=float(rng.normal())), R(resistance=1.0)]
            G[i, i] += 1.0
            for j in range(i):
                join = One()
                model.node[j] >> join >> node
                join >> R(resistance=1 / float(conductance[i, j]))
                G[[i, j, i, j], [i, j, j, i]] += conductance[i, j] * np.array([1, 1, -1, -1])
        least = float(np.linalg.eigvalsh(G / np.sqrt(np.outer(capacity, capacity))).min())
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            rest = model.compile().steady_state()
        assert [w.category for w in told] == [StabilityWarning] * (least < 0), seed
        assert np.abs(list(rest.values())).max() < 1e-12  # all is grounded: nothing is left at rest
        said += least < 0
        assert not told or f"{-1 / least:.3g} s" in str(told[0].message)
        assert not told or told[0].filename == __file__
    assert 3 < said < 27


def test_growth_is_told_from_rounding():
    # Oscillators and rows of integrators do not grow, whatever units they are counted in.
    rng = np.random.default_rng(3)
    for _ in range(200):
        n = int(rng.integers(1, 5))
        blocks = [np.diag(np.ones(n - 1), 1), np.array([[0.0, 1.0], [-(10 ** rng.uniform(-4, 8)), 0.0]])]
        A = np.zeros((n + 2, n + 2))
        A[:n, :n], A[n:, n:] = blocks
        order, unit = rng.permutation(n + 2), 10 ** rng.uniform(-4, 4, n + 2)
        A = (A * unit / unit[:, None])[np.ix_(order, order)]
        assert fastest_growth(A) == 0.0
        slow = 10 ** rng.uniform(-4, 1)
        A[order.argmin(), order.argmin()] = (
            slow  # the first integrator's place, fed by none: a mode of its own
        )
        assert fastest_growth(A) == pytest.approx(slow, rel=1e-6)


def test_a_limit_cycle_around_the_only_steady_state():
    model = Model("van der Pol")
    model.v = One()
    model.v >> [I(mass=1.0), C(stiffness=2.0), R(law=lambda f: f**3 - f)]
    with pytest.warns(StabilityWarning, match=r"unstable: what is near it moves away, e times as far in 2 s"):
        rest = model.compile().steady_state(initial={"I.momentum": 0.3})
    assert max(map(abs, rest.values())) < 1e-12


def test_what_nothing_touches_keeps_its_value():
    # A null space with rounding in the place of zeros made a mass that coasts change its momentum.
    A = np.array([[1e-3, 2e5, 0.0], [3e-3, 6e5, 0.0], [0.0, 0.0, 0.0]])
    assert sorted(np.count_nonzero(null(A.T), axis=0).tolist()) == [1, 2]


# ------------------------------------------------------------------ whether there are others


def test_what_nothing_grounds_is_left_open():
    """Each part of the network that nothing grounds keeps its charge: counted as a graph, by hand."""
    several = 0
    for seed in range(60):
        model, capacity, _, edges, _, grounded = network(seed)
        part = list(range(len(capacity)))
        for _ in part:  # parts of the graph: the smallest number that joins them
            for a, b in edges:
                part[a] = part[b] = min(part[a], part[b])
        loose = sorted(set(part) - {part[i] for i in grounded})
        rest = model.compile().steady_state()
        assert rest.freedom == len(loose), seed
        assert rest.free == tuple(f"c[{i}].displacement" for i, p in enumerate(part) if p in loose), seed
        assert rest.unique == (not loose)
        assert bool(rest.remark) == bool(loose)
        several += len(loose) > 1
    assert several > 5


def test_a_state_is_open_where_its_column_follows_from_others():
    """The definition by ranks: without the column of a free state A has the same rank. Matrices drawn."""
    rng = np.random.default_rng(15)
    for _ in range(200):
        n, lost = int(rng.integers(2, 8)), int(rng.integers(0, 3))
        A = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6)
        for _ in range(min(lost, n - 1)):
            A[:, rng.integers(0, n)] = A[:, rng.integers(0, n)] * rng.choice([0.0, 1.0, -2.0])
        rank = np.linalg.matrix_rank(A, tol=1e-9)
        expected = [i for i in range(n) if np.linalg.matrix_rank(np.delete(A, i, 1), tol=1e-9) == rank]
        units = 10 ** rng.uniform(-6, 6, n)  # of the states: what is open does not depend on them
        which, freedom = left_open(state_units(units[:, None] * A / units)[1])
        assert (which.tolist(), freedom) == (expected, n - rank)


def test_of_many_states_too():
    """A chain of 200 masses on springs: held it has one rest, loose its place is open, as of a rigid body."""
    for held, freedom in ((True, 0), (False, 1)):
        chain = Model("chain")
        n = 200
        chain.v = [One() for _ in range(n)]
        chain.x = [C(stiffness=0.0) if not held else C(stiffness=1.0)]
        chain.v[0] >> chain.x[0]
        chain.m = [I(mass=1.0) for _ in range(n)]
        chain.d = [R(damping=1.0) for _ in range(n)]
        chain.k = [C(stiffness=1.0) for _ in range(n - 1)]
        chain.f = [Zero() for _ in range(n - 1)]
        for v, m, d in zip(chain.v, chain.m, chain.d, strict=True):
            v >> [m, d]
        for i, (f, k) in enumerate(zip(chain.f, chain.k, strict=True)):
            chain.v[i] >> f >> chain.v[i + 1]
            f >> k
        rest = chain.compile().steady_state()
        assert rest.freedom == freedom
        assert rest.free == (() if held else ("x[0].displacement",))


def test_the_beam_of_da_silva_has_ten_freedoms_of_self_stress():
    """24 states where 14 would do (the field form); the suspension's spring is no part of the self-stress."""
    from bondloop.papers import dasilva_beam

    network_form, field = (dasilva_beam.model(form).compile() for form in ("network", "field"))
    rest = network_form.steady_state({"beam.F": 10.0})
    assert (rest.freedom, rest.unique) == (10, False)
    assert all(name.startswith("beam.spring") for name in rest.free)
    assert "in 10 independent ways" in rest.remark
    assert field.steady_state({"beam.F": 10.0}).unique
