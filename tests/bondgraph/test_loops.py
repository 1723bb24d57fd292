"""Algebraic loops: linear ones solved directly, nonlinear ones by a bounded Newton iteration."""

import math

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq, fsolve

from bondloop.bondgraph import GY, TF, C, I, Model, One, R, Se, Sf, Zero
from bondloop.errors import CausalityError, SolveError


def ladder(first, *shunts, source=None):
    """A source, a series resistor, and resistors in parallel behind it."""
    model = Model("ladder")
    model.V, model.a, model.b = source or Se("V"), One(), Zero()
    model.V >> model.a >> model.b
    model.a >> first
    model.b >> [*shunts]
    return model


def test_three_resistors():
    # i = V / (R1 + R2 R3 / (R2 + R3)) = V / (1 + 6/5) = 5/11 V.
    system = ladder(R(resistance=1.0), R(resistance=2.0), R(resistance=3.0)).compile(
        outputs=["a.flow", "b.effort"]
    )
    assert any(note.startswith("algebraic loop: R.effort (linear") for note in system.notes)
    assert system.numeric().D.toarray()[:, 0] == pytest.approx([5 / 11, 6 / 11], rel=1e-14)
    assert system.function(list(system.output_exprs.values()))(
        [], [11.0], [], [1.0, 2.0, 3.0]
    ) == pytest.approx([5, 6])


def test_three_resistors_symbolically():
    r1, r2, r3 = sp.symbols("r1 r2 r3")
    system = ladder(R(resistance=r1), R(resistance=r2), R(resistance=r3)).compile(outputs=["a.flow"])
    assert sp.simplify(system.D[0, 0] - 1 / (r1 + r2 * r3 / (r2 + r3))) == 0


def bridge(r1, r2, r3, r4, r5):
    """Wheatstone's bridge: r1-r3 and r2-r4 from the source to ground, r5 between the midpoints."""
    model = Model("bridge")
    model.V, model.top, model.left, model.right = Se("V"), Zero(), Zero(), Zero()
    model.V >> model.top
    for name, tail, head, r in (
        ("i1", model.top, model.left, r1),
        ("i2", model.top, model.right, r2),
        ("i5", model.left, model.right, r5),
    ):
        branch = One()
        setattr(model, name, branch)
        tail >> branch >> head
        branch >> (r if isinstance(r, R) else R(resistance=r))
    model.left >> (r3 if isinstance(r3, R) else R(resistance=r3))
    model.right >> (r4 if isinstance(r4, R) else R(resistance=r4))
    return model


def test_wheatstone_bridge():
    r1, r2, r3, r4, r5 = 1.0, 2.0, 3.0, 4.0, 5.0
    # Node analysis, independent of the graph: conductances times potentials = injected currents.
    G = np.array([[1 / r1 + 1 / r3 + 1 / r5, -1 / r5], [-1 / r5, 1 / r2 + 1 / r4 + 1 / r5]])
    left, right = np.linalg.solve(G, [1 / r1, 1 / r2])
    space = bridge(r1, r2, r3, r4, r5).compile(outputs=["left.effort", "right.effort", "i5.flow"]).numeric()
    assert space.D.toarray()[:, 0] == pytest.approx([left, right, (left - right) / r5], rel=1e-13)


def test_balanced_bridge_with_a_nonlinear_middle():
    # r1/r3 = r2/r4: no current in the middle whatever its law; what is left is rounding, not failure to
    # converge.
    middle = R(law=lambda f: f + f**3)
    system = bridge(1.1, 2.2, 3.3, 6.6, middle).compile(outputs=["i5.flow", "left.effort"])
    parameters = list(system.values().values())
    for volts in (1e-9, 0.7, 12.0, 4e5):
        current, left = system.function(list(system.output_exprs.values()))([], [volts], [], parameters)
        assert abs(current) < 1e-12 * volts
        assert left == pytest.approx(volts * 0.75, rel=1e-12)


@pytest.mark.parametrize("volts", [-30.0, -1.0, 1e-7, 0.5, 4.0, 100.0])
def test_nonlinear_loop_against_a_root_finder(volts):
    # V = i + b, with i = b + tanh(b): resistor 1 ohm in series; behind it 1 ohm beside a saturating element.
    shunt = R(inverse=sp.tanh, law=None)
    system = ladder(R(law=lambda f: f + f**3), R(resistance=1.0), shunt).compile(
        outputs=["b.effort"], iterations=30
    )
    assert any("nonlinear" in note for note in system.notes)

    def residual(b):
        i = b + math.tanh(b)
        return volts - i - i**3 - b

    expected = brentq(residual, -abs(volts), abs(volts), xtol=1e-300, rtol=1e-14)
    (b,) = system.function([system.output_exprs["b.effort"]])([], [volts], [], list(system.values().values()))
    assert b == pytest.approx(expected, rel=1e-9)


def test_two_coupled_nonlinear_loops():
    cubic = {"law": lambda f: f + 0.5 * f**3}
    model = bridge(R(**cubic), 2.0, R(**cubic), 4.0, R(**cubic))
    system = model.compile(outputs=["left.effort", "right.effort"], iterations=30)

    def flow(e):  # inverse of f + f^3/2 by a root finder
        return brentq(lambda f: f + 0.5 * f**3 - e, -abs(e) - 1, abs(e) + 1, xtol=1e-14)

    def node(z):
        left, right = z
        return [
            flow(3 - left) - flow(left) - flow(left - right),
            (3 - right) / 2 + flow(left - right) - right / 4,
        ]

    expected = fsolve(node, [1.0, 1.5], xtol=1e-13)
    found = system.function(list(system.output_exprs.values()))([], [3.0], [], list(system.values().values()))
    assert found == pytest.approx(expected, rel=1e-9)


def test_an_iteration_that_cannot_converge_says_so():
    # One Newton step is not enough for this cubic; the answer must be an error, never a wrong number.
    system = ladder(R(law=lambda f: f + f**3), R(resistance=1.0), R(resistance=2.0)).compile(
        outputs=["b.effort"], iterations=1
    )
    with pytest.raises(
        SolveError, match=r"through a.flow did not converge in 1 Newton steps; worst is a.flow.*more iter"
    ):
        system.function([system.output_exprs["b.effort"]])([], [30.0], [], list(system.values().values()))


def test_small_flows_are_solved_as_well_as_large_ones():
    # A leak of 1e-9 m3/s: an absolute tolerance would accept any guess.
    system = ladder(R(law=lambda f: 1e12 * f + 1e24 * f**3), R(resistance=1e12), R(resistance=1e12)).compile(
        outputs=["a.flow"], iterations=20
    )
    (q,) = system.function([system.output_exprs["a.flow"]])([], [1000.0], [], list(system.values().values()))
    assert 1e12 * q + 1e24 * q**3 + 0.5e12 * q == pytest.approx(1000.0, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_loops_of_any_scale_are_regular(scale):
    system = ladder(R(resistance=scale), R(resistance=2 * scale), R(resistance=3 * scale)).compile(
        outputs=["a.flow"]
    )
    assert system.numeric().D[0, 0] == pytest.approx(5 / 11 / scale, rel=1e-13)


def test_a_singular_loop_is_named_and_never_a_number():
    # -1 ohm in series with 2 and 2 ohm in parallel: no impedance at all, so no current satisfies V.
    system = ladder(R(resistance=-1.0), R(resistance=2.0), R(resistance=2.0)).compile(outputs=["a.flow"])
    with pytest.raises(SolveError, match=r"loop through R.effort .*singular"):
        system.numeric()
    with pytest.raises(SolveError, match=r"loop through R.effort .*singular"):
        system.function([system.output_exprs["a.flow"]])([], [1.0], [], list(system.values().values()))
    q = sp.Symbol("q")
    symbolic = ladder(R(resistance=-q), R(resistance=2 * q), R(resistance=2 * q)).compile(outputs=["a.flow"])
    with pytest.raises(SolveError, match=r"R.effort .*singular"):
        _ = symbolic.D


def transformer_ring(modulus):
    model = Model("ring")
    model.v, model.w = One(), One()
    model.v >> TF(modulus=modulus) >> model.w
    model.w >> TF(modulus=0.5) >> model.v
    model.v >> [I(mass=1.0), R(damping=1.0)]
    model.w >> R(damping=1.0)
    return model


def test_a_ring_of_transformers_that_locks():
    # v = 0.5 * 3 * v has the one solution v = 0: the mass is held, and takes no part.
    system = transformer_ring(3.0).compile(outputs=["v.flow", "w.flow"])
    assert system.states == ()
    assert system.function(list(system.output_exprs.values()))(
        [], [], [], list(system.values().values())
    ) == [0, 0]


def test_a_ring_of_transformers_that_leaves_its_flow_open_is_refused_by_name():
    # v = 0.5 * 2 * v: any v will do.
    system = transformer_ring(2.0).compile(outputs=["v.flow"])
    with pytest.raises(SolveError, match=r"[vw].flow.*singular"):
        system.numeric()


@pytest.mark.parametrize("kind", [Zero, One])
def test_rings_of_equal_junctions_are_refused_by_name(kind):
    model = Model("ring")
    model.a, model.b = kind(), kind()
    model.a >> model.b
    model.a >> model.b
    model.b >> R(resistance=1.0)
    with pytest.raises((SolveError, CausalityError), match=r"\bb\b"):
        model.compile(outputs=["R.flow"])


def test_junctions_without_elements_in_a_ring():
    # 0 and 1 alternating, closed on itself: nothing determines the circulating power.
    model = Model("empty_ring")
    model.a, model.b, model.c, model.d = Zero(), One(), Zero(), One()
    model.a >> model.b >> model.c >> model.d >> model.a
    with pytest.raises((SolveError, CausalityError), match=r"[abcd]\."):
        model.compile(outputs=["a.effort"]).numeric()


def test_a_ring_whose_integral_causality_shows_no_conflict_one_bond_ahead():
    # Two parallel ways round a ring: the choice for one storage may have to be taken back. All must agree
    # with the mesh equations: two equal branches of a mass and a damper between a force and ground.
    model = Model("two_ways")
    model.F, model.in_, model.out = Se("F"), Zero(), Zero()
    model.F >> model.in_
    for i in (1, 2):
        branch = One()
        setattr(model, f"v{i}", branch)
        model.in_ >> branch >> model.out
        branch >> [I(mass=float(i)), R(damping=1.0)]
    model.out >> R(damping=2.0)
    w = 0.8
    z = 1 / (1 / (1j * w + 1) + 1 / (2j * w + 1)) + 2
    space = model.compile(outputs=["F.flow"]).numeric()
    assert space.frequency_response([w])[0, 0, 0] == pytest.approx(1 / z, rel=1e-12)


def test_gyrator_chain():
    # Three gyrators between a source and a resistor: e = r1 f1', alternating: Z = r1^2 r3^2 / (r2^2 R)
    # inverted thrice.
    model = Model("gyrators")
    model.V = Se("V")
    model.V >> GY(ratio=2.0) >> GY(ratio=3.0) >> GY(ratio=5.0) >> R(resistance=7.0)
    # Z_in = r1^2 / (r2^2 / (r3^2 / R)) = 4 * 25 / (9 * 7)
    assert model.compile(outputs=["V.flow"]).numeric().D[0, 0] == pytest.approx(9 * 7 / (4 * 25), rel=1e-14)


def test_resistors_on_reversed_arrows():
    # An arrow drawn out of the resistor turns the sign of its flow, not its nature: it still dissipates.
    forward, backward = Model("forward"), Model("backward")
    for model in (forward, backward):
        model.v, model.m, model.r, model.k = One(), I(mass=2.0), R(damping=3.0), C(stiffness=5.0)
        model.v >> model.m
        for element in (model.r, model.k):
            if model is forward:
                model.v >> element
            else:
                element >> model.v
    a, b = (m.compile().numeric() for m in (forward, backward))
    assert a.poles() == pytest.approx(b.poles())
    assert a.poles() == pytest.approx(np.roots([2, 3, 5])[np.argsort(np.roots([2, 3, 5]).imag)])


def test_single_bond_junctions():
    # A 0-junction with one bond lets no flow through; a 1-junction with one bond takes no effort.
    model = Model("stubs")
    model.F, model.v, model.stub, model.end = Se("F"), One(), Zero(), One()
    model.F >> model.v >> [I(mass=2.0), model.end]
    model.F2, model.v2 = Se("F2"), One()
    model.F2 >> model.v2 >> [R(damping=1.0), model.stub]
    space = model.compile(outputs=["v.flow", "v2.flow", "stub.effort"]).numeric()
    response = space.frequency_response([1.0])[0]
    assert response[0, 0] == pytest.approx(1 / 2j)
    assert response[1, 1] == 0
    assert response[2, 1] == pytest.approx(1)


def test_two_sources_on_one_resistor_without_junction():
    model = Model("direct")
    model.V = Se("V")
    model.V >> R(resistance=4.0)
    assert model.compile(outputs=["R.flow"]).numeric().D[0, 0] == 0.25
    model = Model("current")
    model.J = Sf("J")
    model.J >> R(resistance=4.0)
    assert model.compile(outputs=["R.effort"]).numeric().D[0, 0] == 4.0
