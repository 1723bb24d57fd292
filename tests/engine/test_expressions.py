"""Expressions: every reading of one expression gives the same number."""

import math

import pytest
import sympy as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from bondloop.engine.ir.causal_order import derivative, partials
from bondloop.engine.ir.evaluation import evaluator
from bondloop.engine.ir.expr import Const, Op, Var, evaluate, function, select, substitute, variables
from bondloop.engine.passes.sympy_bridge import Symbols, from_sympy, to_sympy
from bondloop.errors import InputError, ModelError, SolveError

X, Y = Var("x"), Var("y")


def trees():
    leaves = st.one_of(st.sampled_from([X, Y]), st.floats(-3, 3).map(lambda v: Const(round(v, 2))))
    unary = st.sampled_from(["sin", "cos", "tanh", "exp", "fabs", "atan", "sinh", "asinh", "cbrt"])

    def extend(inner):
        return st.one_of(
            st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
            st.tuples(inner, inner).map(lambda p: p[0] - p[1]),
            st.tuples(inner, inner).map(lambda p: p[0] * p[1]),
            st.tuples(inner, inner).map(lambda p: p[0] / (2 + p[1] * p[1])),
            st.tuples(inner, st.integers(2, 3)).map(lambda p: p[0] ** p[1]),
            inner.map(lambda e: -e),
            st.tuples(unary, inner).map(lambda p: function(*p)),
            st.tuples(inner, inner, inner).map(
                lambda p: select(p[0] > 0.1, p[1], p[2]) if variables(p[0]) else p[1]
            ),
            st.tuples(inner, inner).map(lambda p: function("fmax", *p)),
        )

    return st.recursive(leaves, extend, max_leaves=8)


def value(tree, x, y):
    try:
        result = evaluate(tree, {X: x, Y: y})
    except (OverflowError, ValueError):
        assume(False)
    assume(abs(result) < 1e6)
    return result


@given(trees(), st.floats(-2, 2), st.floats(-2, 2))
def test_python_source_and_evaluation_agree(tree, x, y):
    expected = value(tree, x, y)
    assert evaluator([], [[X, Y]], [tree])([x, y]) == pytest.approx([expected], rel=1e-13, abs=1e-13)


@given(trees(), st.floats(-2, 2), st.floats(-2, 2))
def test_sympy_and_back(tree, x, y):
    expected = value(tree, x, y)
    symbols = Symbols()
    shown = to_sympy(tree, symbols)
    back = from_sympy(shown, {symbols(X): X, symbols(Y): Y}.__getitem__)
    assert value(back, x, y) == pytest.approx(expected, rel=1e-6, abs=1e-7)


@given(trees(), st.floats(-2, 2), st.floats(-2, 2))
def test_derivatives_against_finite_differences(tree, x, y):
    h = 1e-5
    slopes = [(value(tree, x + d, y) - value(tree, x - d, y)) / (2 * d) for d in (h, h / 2)]
    # Where two step sizes disagree the point lies at a kink (or a wild spot), where no slope exists.
    assume(abs(slopes[0] - slopes[1]) <= 1e-5 * (1 + abs(slopes[1])))
    # A kink exactly at the point looks the same from any distance; only its two sides differ.
    sides = [(value(tree, x + d, y) - value(tree, x, y)) / d for d in (h, -h)]
    assume(abs(sides[0] - sides[1]) <= 1e-2 * (1 + abs(slopes[1])))
    assume(abs(value(tree, x + h, y) - value(tree, x - h, y)) < 1)
    d = derivative(tree, X)
    try:
        found = evaluate(d, {X: x, Y: y})
    except (ZeroDivisionError, ValueError, OverflowError):
        assume(False)
    assert found == pytest.approx(slopes[1], rel=1e-3, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("sqrt", 4.0, 0.25),
        ("log", 4.0, 0.25),
        ("asin", 0.6, 1 / 0.8),
        ("acos", 0.6, -1 / 0.8),
        ("atanh", 0.5, 4 / 3),
        ("tan", 0.0, 1.0),
        ("cosh", 0.0, 0.0),
        ("cbrt", 8.0, 1 / 12),
        ("asinh", 0.75, 0.8),
        ("floor", 1.5, 0.0),
        ("sign", 3.0, 0.0),
    ],
)
def test_derivatives_of_functions_in_closed_form(name, x, expected):
    assert evaluate(derivative(function(name, X), X), {X: x}) == pytest.approx(expected, abs=1e-15)


def test_derivatives_with_two_operands():
    d = partials(function("atan2", Y, X))
    assert evaluate(d[Y], {X: 3.0, Y: 4.0}) == pytest.approx(3 / 25)
    assert evaluate(d[X], {X: 3.0, Y: 4.0}) == pytest.approx(-4 / 25)
    d = partials(X**Y)
    assert evaluate(d[X], {X: 2.0, Y: 3.0}) == pytest.approx(12)
    assert evaluate(d[Y], {X: 2.0, Y: 3.0}) == pytest.approx(8 * math.log(2))
    d = partials(function("fmin", X, Y))
    assert (evaluate(d[X], {X: 1.0, Y: 2.0}), evaluate(d[Y], {X: 1.0, Y: 2.0})) == (1.0, 0.0)


def test_logic_and_comparison():
    inside = Op("and", (X > -1, X < 1))
    tree = select(Op("or", (inside, Op("not", (X < 5,)))), 1, 0)
    assert [evaluate(tree, {X: x}) for x in (-2.0, 0.0, 3.0, 5.0)] == [0.0, 1.0, 0.0, 1.0]
    assert [evaluator([], [[X]], [tree])([x])[0] for x in (-2.0, 0.0, 3.0, 5.0)] == [0.0, 1.0, 0.0, 1.0]


def test_an_expression_has_no_truth_value():
    with pytest.raises(TypeError, match=r"'\(x > 1\)' is known only when the program runs; use select"):
        bool(X > 1)


def test_text_keeps_the_meaning_of_brackets():
    tree = (X - (Y - 1)) / (X * (Y / X)) - (-X) ** 2
    assert str(tree) == "(x - (y - 1))/(x*(y/x)) - (-x)**2"


def test_substitution():
    assert evaluate(substitute(X * X + Y, {X: Y + 1}), {Y: 2.0}) == 11.0


def test_a_failing_assignment_is_named():
    from bondloop.engine.ir.statement import Assign

    target = Var("valve.flow")
    f = evaluator([Assign(target, function("sqrt", X))], [[X]], [target])
    assert f([4.0]) == [2.0]
    with pytest.raises(SolveError, match=r"valve\.flow = sqrt\(x\) cannot be computed here"):
        f([-4.0])


@pytest.mark.parametrize("bad", [sp.oo, sp.nan, sp.I, sp.zoo])
def test_numbers_that_are_not_finite_reals(bad):
    with pytest.raises(InputError, match=r"spot: the law contains .* not a finite real number"):
        from_sympy(bad, lambda _: X, "spot")


def test_functions_that_cannot_be_written_as_code():
    with pytest.raises(
        InputError, match=r"spot: the law uses 'besselj', which bondloop cannot write as code"
    ):
        from_sympy(sp.besselj(0, sp.Symbol("x")), lambda _: X, "spot")


def test_heaviside_and_real_cube_roots():
    x = sp.Symbol("x", real=True)
    step = from_sympy(sp.Heaviside(x), lambda _: X)
    assert [evaluate(step, {X: v}) for v in (-1.0, 0.0, 1.0)] == [0.0, 0.5, 1.0]
    root = from_sympy(sp.cbrt(x), lambda _: X)
    assert evaluate(root, {X: -8.0}) == -2.0
    assert float(to_sympy(root, Symbols()).subs(sp.Symbol("x"), -8)) == pytest.approx(-2.0)


@pytest.mark.parametrize(("x", "y"), [(1.0, 0.0), (6.0, 0.0), (0.0, -1.0), (0.0, 1.0)])
def test_a_condition_that_chooses_between_conditions(x, y):
    import sympy as sp

    symbols = Symbols()
    a, b = symbols(X), symbols(Y)
    law = sp.Piecewise((1, sp.ITE(a > 0.1, a < 5, b < -0.1)), (2, True))
    back = from_sympy(law, {a: X, b: Y}.__getitem__)
    assert evaluate(back, {X: x, Y: y}) == float(law.subs({a: x, b: y}))


def test_sums_of_any_length_and_infinite_numbers_are_written():
    terms = [Const(0.1 * i) * X for i in range(1, 4000)]
    (value,) = evaluator([], [[X]], [Op("add", tuple(terms))])([0.3])
    assert value == evaluate(Op("add", tuple(terms)), {X: 0.3})  # left to right, to the last bit
    assert evaluator([], [[X]], [function("fmin", X, math.inf), X + -math.inf])([0.3]) == [0.3, -math.inf]


@pytest.mark.parametrize("name", ["and", "or", "not"])
@pytest.mark.parametrize("x", [0.0, 2.0])
def test_truth_is_one_or_zero_in_every_reading(name, x):
    expr = Op(name, (X,) if name == "not" else (X, Const(3.0), Y))
    (value,) = evaluator([], [[X, Y]], [expr])([x, 5.0])
    assert value == evaluate(expr, {X: x, Y: 5.0}) == {"and": bool(x), "or": 1, "not": not x}[name]


def test_a_function_that_there_is_not_is_refused_at_once():
    with pytest.raises(ModelError, match=r"unknown function 'max'.*fmax"):
        function("max", Var("x"), 1.0)
