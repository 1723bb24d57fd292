"""Symbolic readings: improper transfer functions, large loops, the descriptor form, LaTeX names."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from bondloop.bondgraph import MTF, C, CField, Df, I, Model, One, R, Se, Sf, SignalIntegrator, Zero
from bondloop.engine.analysis.symbolic import latex_names
from bondloop.errors import SolveError

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
size = st.floats(0.2, 5.0)


def driven_chain(masses, dampers, springs):
    """A chain whose first mass is moved by a source: the source's force needs the rate of the motion."""
    model = Model("driven")
    model.table = Sf("r")
    model.v = [One() for _ in masses]
    model.table >> model.v[0]
    for i, (v, m, c) in enumerate(zip(model.v, masses, dampers, strict=True)):
        v >> [I(mass=m), R(damping=c)]
        if i:
            between = Zero()
            model.v[i - 1] >> between >> v
            between >> C(stiffness=springs[i - 1])
    return model.compile(outputs=["table.effort", f"v[{len(masses) - 1}].flow"])


def dynamic_stiffness(s, masses, dampers, springs):
    """M s + C + K / s, assembled by hand."""
    n = len(masses)
    K = np.zeros((n, n))
    for i, k in enumerate(springs):
        K[i : i + 2, i : i + 2] += k * np.array([[1, -1], [-1, 1]])
    return np.diag(masses) * s + np.diag(dampers) + K / s, K


@settings(max_examples=15, deadline=None)
@given(st.data(), st.integers(1, 3))
def test_improper_transfer_functions_and_their_poles(data, n):
    masses, dampers = (data.draw(st.lists(size, min_size=n, max_size=n)) for _ in range(2))
    springs = data.draw(st.lists(size, min_size=n - 1, max_size=n - 1))
    system = driven_chain(masses, dampers, springs)
    space, s = system.numeric(), sp.Symbol("s")
    w = np.array([0.13, 0.9, 7.0])

    def force(w):  # of the source: the free masses condensed
        Z, _ = dynamic_stiffness(1j * w, masses, dampers, springs)
        rest = Z[0, 1:] @ np.linalg.solve(Z[1:, 1:], Z[1:, 0]) if n > 1 else 0.0
        return Z[0, 0] - rest

    expected = np.array([force(x) for x in w])
    assert space.frequency_response(w)[:, 0, 0] == pytest.approx(expected, rel=1e-9)
    symbolic = system.transfer_function("table.effort", "r").subs(system.parameters)
    assert [complex(symbolic.subs(s, 1j * x)) for x in w] == pytest.approx(expected, rel=1e-9)
    numerator, denominator = space.transfer_function("table.effort", "r")
    assert len(numerator) == len(denominator) + 1
    assert np.polyval(numerator, 1j * w) / np.polyval(denominator, 1j * w) == pytest.approx(
        expected, rel=1e-7
    )
    assert np.polydiv(numerator, denominator)[0] == pytest.approx([masses[0], dampers[0]], rel=1e-6)
    # The poles are those of the free masses, with the first one held; an output does not move them.
    _, K = dynamic_stiffness(1.0, masses, dampers, springs)
    E = linalg.block_diag(np.eye(n - 1), np.diag(masses[1:])) if n > 1 else np.zeros((0, 0))
    A = np.block([[np.zeros((n - 1, n - 1)), np.eye(n - 1)], [-K[1:, 1:], -np.diag(dampers[1:])]])
    poles = linalg.eigvals(A, E) if n > 1 else np.zeros(0)
    assert len(system.poles()) == len(poles)
    for pole in poles:
        assert np.abs(system.poles() - pole).min() < 1e-6 * (1 + abs(pole))
    for zero in space.zeros("table.effort", "r"):
        Z, _ = dynamic_stiffness(zero, masses, dampers, springs)
        terms = np.diag(masses) * abs(zero) + np.diag(dampers) + np.abs(K) / abs(zero)
        assert abs(np.linalg.det(Z)) < 1e-6 * np.prod(terms.sum(axis=1))


def test_polynomial_part_and_strictly_proper_rest():
    m, c, k, s = sp.symbols("m c k s")
    model = Model("one")
    model.table, model.v = Sf("r"), One()
    model.table >> model.v >> [I(mass=m), R(damping=c), C(stiffness=k)]
    system = model.compile(outputs=["table.effort"])
    g = system.transfer_function("table.effort", "r")
    assert g == m * s + c + k / s  # by hand: the force that moves mass, damper and spring
    with pytest.raises(SolveError, match=r"no proper state space"):
        model.let(m=1, c=1, k=1).compile(outputs=["table.effort"]).to_scipy()


def test_zeros_where_two_inputs_act_through_their_rates():
    # y1 = s u1 + u2, y2 = u1 + x with dx/dt = -x + u2: det [[s, 1], [1, 1/(s+1)]] = (s - (s + 1))/(s + 1),
    # without zeros; with y2 = 2 u1 + x: s - 2 (s + 1) = 0 at s = -2.
    from bondloop.engine.ir.statespace import transmission_zeros

    A, B = np.array([[-1.0]]), np.array([[0.0, 1.0]])
    for gain, zeros in ((1.0, []), (2.0, [-2.0])):
        D, H = np.array([[0.0, 1.0], [gain, 0.0]]), np.array([[1.0, 0.0], [0.0, 0.0]])
        assert transmission_zeros(A, B, np.array([[0.0], [1.0]]), D, H) == pytest.approx(zeros)


def ladder(n, values=None):
    """n loops of two resistors each, a capacitor at the end: the unknowns of one algebraic loop."""
    model = Model("ladder")
    model.source = Se("u")
    model.one, model.zero = [One() for _ in range(n)], [Zero() for _ in range(n)]
    left = model.source
    for i in range(n):
        a, b = (sp.Symbol(f"r{i}"), sp.Symbol(f"g{i}")) if values is None else values[i]
        left >> model.one[i] >> model.zero[i] >> R(resistance=b)
        model.one[i] >> R(resistance=a)
        left = model.zero[i]
    left >> C(capacitance=1.0)
    return model


def assert_equations_hold(system, x, u, form):
    """Every equation holds for what the evaluator computes, which never sees SymPy."""
    rates = dict(zip((f"d/dt {s}" for s in system.states), range(len(system.states)), strict=True))
    known = list(system.definitions)
    p = list(system.values().values())
    extra = [0.3] * len(system.input_rates)
    numbers = dict(zip((v.name for v in known), system.function(known)(x, u, extra, p), strict=True))
    numbers |= dict(zip(system.states, x, strict=True)) | dict(zip(system.inputs, u, strict=True))
    numbers |= system.parameters | dict.fromkeys((v.name for v in system.input_rates.values()), 0.3)
    slopes = system.rates(x, u, extra, p)
    numbers |= {name: slopes[i] for name, i in rates.items()}
    numbers |= dict(
        zip(system.outputs, system.function(list(system.output_exprs.values()))(x, u, extra, p), strict=True)
    )
    equations = system.equations(form)
    for left, right in equations.sides:  # names of entries of E come last
        if isinstance(left, str) and left.startswith("E["):
            numbers[left] = value(right, numbers)
    for left, right in equations.sides:
        terms = [] if left == "0" else [(sp.Integer(1), left)] if isinstance(left, str) else left
        parts = [value(c, numbers) * numbers[name] for c, name in terms]
        size = sum(map(abs, parts)) + sum(abs(value(t, numbers)) for t in sp.Add.make_args(right))
        assert sum(parts) == pytest.approx(value(right, numbers), abs=1e-9 * (size + 1e-30))


def value(expression, numbers):
    return float(sp.sympify(expression).subs({s: numbers[s.name] for s in expression.free_symbols}))


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(size, size), min_size=2, max_size=7), size, size)
def test_equations_of_loops_hold(values, q, u):
    system = ladder(len(values), values).compile(outputs=["one[0].flow"])
    assert_equations_hold(system, [q], [u], "state")
    # Against a dense solution: node voltages by conductances, the last one held by the capacitor.
    n = len(values)
    G = np.zeros((n, n))
    for i, (a, b) in enumerate(values):
        G[i, i] += 1 / a + 1 / b
        if i + 1 < n:
            G[i, i] += 1 / values[i + 1][0]
            G[i, i + 1] -= 1 / values[i + 1][0]
            G[i + 1, i] -= 1 / values[i + 1][0]
    right = np.zeros(n)
    right[0] = u / values[0][0]
    volts = np.append(np.linalg.solve(G[:-1, :-1], right[:-1] - G[:-1, -1] * q), q)
    current = (u - volts[0]) / values[0][0]
    goals = list(system.output_exprs.values())
    assert system.function(goals)([q], [u], [], list(system.values().values())) == pytest.approx([current])


def test_equations_of_large_loops_are_as_long_as_the_program():
    texts = [str(ladder(n).compile(outputs=["one[0].flow"]).equations()) for n in (10, 20)]
    lines = [text.splitlines() for text in texts]
    assert len(lines[1]) < 2.2 * len(lines[0])
    assert max(len(line) for line in lines[1] if not line.startswith("#")) < 120


def test_matrices_in_letters_of_a_large_loop_are_refused_at_once():
    """Four unknowns are solved, seventeen would be 1e11 terms; their numbers are there all the same."""
    few = (
        ladder(5).let(**{f"{a}{i}": 1.0 + i for a in "rg" for i in range(5)}).compile(outputs=["one[0].flow"])
    )
    solved = np.array(few.A.subs(few.parameters), dtype=float)
    np.testing.assert_allclose(solved, few.numeric().A.toarray(), rtol=1e-12)
    values = {f"{a}{i}": 1.0 + i for a in "rg" for i in range(18)}
    system = ladder(18).let(**values).compile(outputs=["one[0].flow"])
    for matrix in "ABCD":
        with pytest.raises(SolveError, match=r"17 unknowns.*numeric\(\) gives A, B, C and D"):
            getattr(system, matrix)
    assert system.numeric().A.shape == (1, 1)
    # One node after the other from the source: conductance to the left, seen from the capacitor.
    seen = 0.0
    for i in range(18):
        seen = 1 / ((1.0 + i) + (1 / seen if seen else 0.0)) + 1 / (1.0 + i)
    assert system.numeric().A.toarray() == pytest.approx(-seen)


def test_a_transfer_function_through_a_large_loop():
    system = (
        ladder(5).let(**{f"{a}{i}": 1.0 + i for a in "rg" for i in range(5)}).compile(outputs=["one[0].flow"])
    )
    g = system.transfer_function("one[0].flow", "u").subs(system.parameters)
    w = np.array([0.01, 0.3, 4.0])
    expected = system.frequency_response(w)[:, 0, 0]
    assert [complex(g.subs(sp.Symbol("s"), 1j * x)) for x in w] == pytest.approx(expected, rel=1e-9)


def pendulum():
    """A bob that moves along x only, on a lever that turns: its momentum depends on the lever's."""
    model = Model("pendulum")
    model.w, model.x, model.rate, model.angle = One(), One(), Df(), SignalIntegrator(initial=1.0)
    model.lever = MTF(lambda a: 0.7 * sp.cos(a))
    model.w >> model.rate >> model.angle >> model.lever
    model.w >> [I(inertia=0.2), model.lever]
    model.lever >> model.x >> [I(mass=1.5), R(damping=0.3)]
    model.push = Se("F")
    model.push >> model.x
    return model


angle = st.floats(-3.0, 3.0)


@settings(max_examples=8, deadline=None)
@given(st.tuples(angle, angle), st.tuples(angle, angle, angle, angle), angle)
def test_the_descriptor_form_holds_for_the_rates(one, two, force):
    from double_pendulum import model

    simple, double = pendulum().compile(), model().compile()
    assert_equations_hold(simple, list(one), [force], "state")
    for system, x, u in ((simple, one, [force]), (double, two, [-9.81, -force])):
        assert_equations_hold(system, list(x), u, "descriptor")
        form = system.symbolic.descriptor
        names = dict(zip((*system.states, *system.inputs), (*x, *u), strict=True)) | system.parameters
        E, f = (np.array(sp.Matrix(M).subs(names), dtype=float) for M in (form.E, form.f))
        rates = system.rates(list(x), u, [], list(system.values().values()))
        assert np.linalg.solve(E, f)[:, 0] == pytest.approx(rates, rel=1e-9, abs=1e-9)


def test_the_double_pendulum_fits_on_a_page():
    from double_pendulum import model

    equations = model().compile().equations()
    assert len(str(equations)) < 3000
    assert [left for left, _ in equations.rows][1] == "d/dt rod1.angle.value"  # solved rates go to the right


word = st.from_regex(r"[a-z][a-z0-9_]{0,3}(\[[0-9]\])?", fullmatch=True)
path = st.builds(lambda parts, last: ".".join([*parts, last]), st.lists(word, max_size=3), word) | st.builds(
    lambda owner, last: f"{owner}.{last}",
    word,
    st.sampled_from(["stiffness", "k", "mass", "m", "value", "state", "flow", "f"]),
)


@settings(max_examples=20, deadline=None)
@given(st.sets(path, max_size=8))
def test_latex_names_are_distinct_typeset_and_without_dots(paths):
    from matplotlib.mathtext import MathTextParser

    names = latex_names(sorted(paths | {f"d/dt {p}" for p in paths}))
    assert len(set(names.values())) == len(names)
    assert not any("." in name for name in names.values())
    parser = MathTextParser("path")
    for name in names.values():
        parser.parse(f"${name}$")


def test_latex_of_special_names():
    names = latex_names(["a>>b.effort", "100 %", "spring.k", "spring.stiffness", "a.b", "a,b"])
    assert names["a>>b.effort"] == r"e_{\mathrm{a\to b}}"
    assert names["100 %"] == r"\mathrm{100\ \%}"
    assert names["spring.k"] != names["spring.stiffness"]
    assert re.fullmatch(r"[^.]*", "".join(names.values()))
    latex = pendulum().compile().equations().latex()
    assert r"\dot{p}_{\mathrm{I}} &= " in latex


K = sp.Symbol("k", positive=True)


@pytest.mark.parametrize(
    "coenergy",
    [
        lambda a, b: 0.37 * a**2 / 2 + 0.11 * a * b + 0.23 * b**2,
        lambda a, b: K * a**2 / 2 + 0.11 * a * b + 0.23 * b**2,
        lambda a, b: K * a**2 / 2 + 0.11 * K**2 * a * b + sp.sqrt(K) * b**2,  # a root beside its square
    ],
)
def test_decimals_are_printed_as_decimals(coenergy):
    model = Model("field")
    model.i, model.j, model.c = One(), One(), CField(coenergy=coenergy)
    Se("u") >> model.i >> [R(resistance=2.0), model.c[0]]
    model.j >> [I(mass=1.3), model.c[1]]
    system = model.let(k=0.7).compile(outputs=["c.a.effort"])
    whole = sp.Matrix([system.transfer_function("c.a.effort", "u"), *system.A])
    texts = [str(system.equations()), *(str(e) for e in whole)]
    assert max(len(n) for text in texts for n in re.findall(r"\d+", text)) <= 16
    # The same numbers as the program: A entry by entry, the transfer function at one frequency.
    values = {"k": 0.7, "R.resistance": 2.0, "I.mass": 1.3}
    numbers = {s: values[s.name] for s in whole.free_symbols if s.name in values}
    A = np.array(sp.Matrix(3, 3, list(whole)[1:]).subs(numbers), dtype=float)
    np.testing.assert_allclose(A, system.numeric().A.toarray(), rtol=1e-12, atol=1e-13)
    at = complex(whole[0].subs({**numbers, sp.Symbol("s"): 0.8j}))
    assert at == pytest.approx(system.frequency_response([0.8])[0, 0, 0], rel=1e-11)


def test_decimals_are_printed_as_decimals_beside_laws_that_are_not_linear():
    model = Model("field")
    model.i, model.j = One(), One()
    model.c = CField(coenergy=lambda a, b: 0.37 * a**2 / 2 + 0.11 * a * b + 0.23 * b**2)
    Se("u") >> model.i >> [R(resistance=2.0), model.c[0]]
    model.j >> [I(mass=1.3), model.c[1], R(law=lambda f: f + f**3)]
    text = str(model.compile().equations())
    assert max(len(n) for n in re.findall(r"\d+", text)) <= 16
    assert "**3" in text
