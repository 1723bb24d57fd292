"""Transformers with a matrix: any causality that the rank allows, against one assembled without causality."""

import random
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from bondloop.bondgraph import MTF, TF, C, I, Model, One, R, Sf
from bondloop.engine.codegen import compiler
from bondloop.errors import CausalityError, InputError, ModelError
from bondloop.hybrid.simulation import Simulation

sys.path.insert(0, str(Path(__file__).parent))
import drawn_kinds as kinds
from agreement import AGREED, PROVED, judged
from drawn_graphs import Graph

NO_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]
"""A seed makes the whole graph: a smaller seed is no simpler graph."""


def random_matrix(rng, rows, columns, whole):
    """Small whole numbers, so that dependent rows are common, or any numbers; many zeros."""
    values = [0.0, 0.0, 1.0, 1.0, -1.0, 2.0] if whole else [0.0, 0.0, 1.0, 1.0, -1.0, -1.0]
    matrix = [
        [rng.choice(values) * (1 if whole else rng.uniform(0.2, 2)) for _ in range(columns)]
        for _ in range(rows)
    ]
    if whole and rows > 1 and rng.random() < 0.3:
        matrix[0] = [2 * v for v in matrix[-1]]
    if not any(v for row in matrix for v in row):
        matrix[0][0] = 1.0 if whole else 1.3
    return matrix


def random_graph(rng):
    """A matrix transformer between junctions that carry elements.

    Sometimes the junctions are joined in rings beside it; then its numbers are such that no ring cancels, for
    causality knows the rank of a matrix but not the gain of a ring.
    """
    graph = Graph()
    rows, columns, whole = rng.randint(1, 4), rng.randint(1, 4), rng.random() < 0.6
    matrix = random_matrix(rng, rows, columns, whole)
    arm = graph.add(kinds.MatrixTransformer(matrix, effort_ratio=rng.random() < 0.5))
    junctions = [graph.add(kinds.Junction(zero=rng.random() < 0.5)) for _ in range(rows + columns)]
    for k, junction in enumerate(junctions):
        graph.bond(*((junction, (arm, k)) if k < columns else ((arm, k), junction)))
    for _ in range(0 if whole else rng.choice([0, 1, 2])):
        one, other = rng.sample(junctions, 2)
        if rng.random() < 0.5:
            graph.bond(one, other)
        else:
            lever = graph.add(kinds.Transformer(rng.uniform(0.3, 3)))
            graph.bond(one, (lever, 0))
            graph.bond((lever, 1), other)
    for k, junction in enumerate(junctions):
        a, b, c, d = (rng.uniform(0.4, 3) for _ in range(4))
        choice = [kinds.Inertia(a), kinds.Compliance(b), kinds.Resistor(c), kinds.Resistor(d)]
        for element in rng.sample(choice, rng.choice([0, 1, 1, 2])):
            graph.bond(junction, graph.add(element))
        if rng.random() < 0.3:
            graph.bond(graph.add(kinds.Source(rng.random() < 0.5, f"u{k}")), junction)
    return graph


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, phases=NO_SHRINKING, deadline=None)
def test_drawn_graphs_agree_with_an_assembly_without_causality(seed):
    verdict = judged(random_graph(random.Random(seed)))
    assert verdict.outcome in (AGREED, PROVED), verdict
    assert verdict.power < 1e-9


def test_drawn_graphs_are_of_all_kinds():
    outcomes = [judged(random_graph(random.Random(seed))).outcome for seed in range(60)]
    assert outcomes.count(AGREED) >= 30
    assert outcomes.count(PROVED) >= 5


@pytest.mark.parametrize(
    ("matrix", "flows_from"),
    [
        (
            [[1, 0, -0.3], [0, 1, 0.4]],
            "in",
        ),  # two rows, three columns: both masses outside may give their flow
        ([[1, 0, -0.3], [0, 1, 0.4]], "out"),
        ([[1, 1], [1, 1]], "out"),  # rank one: one of two masses must follow the other
        ([[1], [2], [3]], "out"),
    ],
)
def test_as_many_storages_are_independent_as_the_rank_allows(matrix, flows_from):
    N = np.array(matrix, dtype=float)
    model = Model("ranked")
    model.a, model.b, model.arm = One(size=N.shape[1]), One(size=N.shape[0]), TF(matrix)
    model.a >> model.arm >> model.b
    mass, damping = (model.a, model.b) if flows_from == "in" else (model.b, model.a)
    mass >> I(mass=[2.0] * mass.size)
    damping >> R(damping=[1.0] * damping.size)
    system = model.compile()
    expected = N.shape[1] if flows_from == "in" else np.linalg.matrix_rank(N)
    assert len(system.states) == expected
    assert len(system.states) + len(system.dependent) == mass.size


def test_a_rigid_body_in_the_plane_on_springs():
    # Lagrange by hand: M q'' + J.T C J q' + J.T K J q = 0 with the corners' displacements J q.
    J = np.array([[1, 0, -0.3], [0, 1, 0.4], [1, 0, -0.3], [0, 1, -0.4]])
    M, K, D = np.diag([2.0, 2.0, 0.2]), np.diag([50.0, 80.0, 50.0, 90.0]), np.diag([0.4, 0.5, 0.6, 0.7])
    model = Model("body")
    model.v, model.corners = One(size=3), One(size=4)
    model.v >> I(mass=np.diag(M).tolist())
    model.v >> TF(J) >> model.corners
    model.corners >> [C(stiffness=np.diag(K).tolist()), R(damping=np.diag(D).tolist())]
    zero, one = np.zeros((3, 3)), np.eye(3)
    A = np.block([[zero, one], [-np.linalg.solve(M, J.T @ K @ J), -np.linalg.solve(M, J.T @ D @ J)]])
    poles = np.sort_complex(model.compile().poles())
    # Four springs on three motions: one combination of their lengths is kept, a pole at zero.
    assert np.abs(poles).min() < 1e-9
    ours = poles[np.abs(poles) > 1e-6]
    assert ours == pytest.approx(np.sort_complex(np.linalg.eigvals(A)), rel=1e-9)


def turning(rest):
    """Velocities in a turning frame, turned into those of the ground, where masses and a wind are."""
    model = Model("turning")
    model.w, model.body, model.ground = One(), One(size=2), One(size=2)
    model.angle = C(stiffness=3.0, initial=0.4)
    model.w >> [model.angle, I(inertia=1.0, initial=9.0)]
    model.turn = MTF(lambda a: [[sp.cos(a), -sp.sin(a)], [sp.sin(a), sp.cos(a)]])
    model.angle.displacement >> model.turn
    model.body >> model.turn >> model.ground
    model.body >> R(damping=[1.0, 2.5])
    model.ground >> I(mass=[2.0, 3.0], initial=rest)
    return model


def test_a_modulated_matrix_passes_where_single_entries_are_zero():
    # m dv/dt = -T(a) D T(a).T v with a(t) of a free oscillator; where a passes 90 degrees the cosine is zero.
    run = turning([1.0, -2.0]).compile().simulate(2, times=np.linspace(0, 2, 41), rtol=1e-11, atol=1e-12)
    w, damping, mass = np.sqrt(3.0), np.diag([1.0, 2.5]), np.array([2.0, 3.0])

    def rate(t, p):
        a = 0.4 * np.cos(w * t) + 9.0 / w * np.sin(w * t)
        T = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
        return -T @ damping @ T.T @ (p / mass)

    expected = solve_ivp(rate, (0, 2), [1.0, -2.0], t_eval=run.time, rtol=1e-11, atol=1e-12).y
    assert np.abs(run["angle.displacement"]).max() > np.pi / 2
    for k in range(2):
        assert run[f"ground[{k}].flow"] == pytest.approx(expected[k] / mass[k], abs=1e-9)


def test_power_is_conserved_in_a_modulated_matrix():
    run = turning([1.0, -2.0]).compile().simulate(0.2)
    into = sum(run[f"turn.in[{k}].effort"] * run[f"turn.in[{k}].flow"] for k in range(2))
    out = sum(run[f"turn.out[{k}].effort"] * run[f"turn.out[{k}].flow"] for k in range(2))
    assert np.abs(into).max() > 1e-2
    assert into == pytest.approx(out, abs=1e-12)


@pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")
def test_twins():
    system = turning([1.0, -2.0]).compile(outputs=["ground[0].flow", "ground[1].flow", "turn.out[0].effort"])
    simulation = Simulation({"s": system}, excitation={}, rate=100.0)
    python, c = (simulation.run(0.5, backend=backend) for backend in ("numpy", "c"))
    for name in system.outputs:
        assert c[f"s.{name}"] == pytest.approx(python[f"s.{name}"], rel=1e-11, abs=1e-12)


def test_letters_in_a_matrix_stay_letters():
    a = sp.Symbol("a", positive=True)
    model = Model("letters")
    model.v, model.w = One(size=2), One()
    model.v >> I(mass=[1.0, 2.0])
    model.v >> TF([[1, a]]) >> model.w >> R(damping=3.0)
    system = model.let(a=0.5).compile()
    assert system.numeric().A.toarray() == pytest.approx(np.array([[-3.0, -0.75], [-1.5, -0.375]]))
    assert system.numeric(values={"a": 2.0}).A.toarray()[0, 1] == pytest.approx(-3.0)
    assert sp.Symbol("a") in system.A.free_symbols


def test_matrices_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match=r"TF\(modulus\): the rows of the matrix differ in length: \[2, 1\]"):
        TF([[1, 2], [3]])
    with pytest.raises(InputError, match=r"TF\(modulus\): expected a number, or a matrix as rows of numbers"):
        TF([1, 2])
    with pytest.raises(InputError, match="all entries are zero, so it transmits nothing"):
        TF(np.zeros((2, 2)))
    with pytest.raises(InputError, match=r"TF\(modulus\)\[0,1\]: expected a finite number"):
        TF([[1, float("nan")]])
    with pytest.raises(InputError, match=r"TF\(effort_ratio\): a matrix has a size of its own"):
        TF(effort_ratio=[[1, 2]], size=2)
    model = Model("wrong")
    model.v, model.w, model.arm = One(size=3), One(size=2), TF([[1, 2, 3]])
    model.v >> model.arm >> model.w
    with pytest.raises(ModelError, match=r"bond arm >> w: sizes differ, 1 at arm and 2 at w"):
        model.compile()
    with pytest.raises(ModelError, match=r"arm has no port \[3\]; it takes 3 bonds and gives 1"):
        model.arm[3]
    model = Model("half")
    model.v, model.arm = One(), TF([[1, 2, 3]])
    model.v >> model.arm[0]
    model.v >> R(damping=1.0)
    with pytest.raises(ModelError, match=r"arm.in\[1\] \(TF\) is not bonded to anything"):
        model.compile()
    model.arm[2] >> model.v
    with pytest.raises(ModelError, match=r"arm gives 1 bonds; there is no \[2\] on that side"):
        model.compile()


def test_sources_that_the_rank_forbids_are_explained():
    model = Model("forbidden")
    model.a, model.b = One(size=2), One(size=2)
    model.a >> TF([[1, 1], [1, 1]]) >> model.b
    model.a >> R(damping=[1.0, 1.0])
    model.one, model.two = Sf("one"), Sf("two")
    model.one >> model.b[0]
    model.two >> model.b[1]
    with pytest.raises(
        CausalityError, match=r"then TF.out\[0\] >> b\[0\], then TF.out\[1\] >> b\[1\]\) and \(two"
    ):
        model.compile()
    model = Model("doubled")
    model.a, model.b, model.source = One(size=2), One(), Sf("u")
    model.a >> R(damping=[1.0, 1.0])
    model.arm = TF([[1, 1], [2, 2]])
    model.a >> model.arm
    model.arm[0] >> model.b
    model.arm[1] >> model.b
    model.source >> model.b
    with pytest.raises(
        CausalityError, match=r"flows at arm.out\[0\], arm.out\[1\] cannot all be imposed: .*source"
    ):
        model.compile()
