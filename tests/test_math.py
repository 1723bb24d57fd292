"""The functions for laws of one's own, on numbers, arrays and traced values."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from bondloop import math
from bondloop.bondgraph import Df, Function, I, Model, MSe, One
from bondloop.engine.codegen import Runner
from bondloop.engine.ir.expr import Const, Var, evaluate
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.laws.traced import Traced, named_parts
from bondloop.engine.passes import from_sympy
from bondloop.errors import ModelError

ONE = [
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "exp", "log",
    "sqrt", "cbrt", "abs", "sign", "floor", "ceil",
]  # fmt: skip
TWO = ["atan2", "hypot", "minimum", "maximum", "power"]
NUMPY = {f"a{word}": f"arc{word}" for word in ("sin", "cos", "tan", "tan2", "sinh", "tanh")}
NUMPY |= {"minimum": "fmin", "maximum": "fmax"}
PLACES = [-1e300, -700.5, -2.0, -1.0, -0.5, -1e-300, 0.0, 1e-9, 0.25, 1.0, 1.5, 3.0, 710.0, 1e308]
NUMBERS = st.floats(-50, 50)


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number_are_numpys(name):
    with np.errstate(all="ignore"):
        expected = getattr(np, NUMPY.get(name, name))(np.array(PLACES))
    ours = [getattr(math, name)(x) for x in PLACES]
    assert all(type(x) is float for x in ours)
    np.testing.assert_allclose(ours, expected, rtol=1e-13)
    np.testing.assert_array_equal(getattr(math, name)(np.array(PLACES)), ours)
    np.testing.assert_array_equal(getattr(math, name)(PLACES), ours)


@pytest.mark.parametrize("name", TWO)
@given(x=NUMBERS, y=NUMBERS)
def test_functions_of_two_numbers_are_numpys(name, x, y):
    with np.errstate(all="ignore"):
        expected = getattr(np, NUMPY.get(name, name))(x, y)
    np.testing.assert_allclose(getattr(math, name)(x, y), expected, rtol=1e-12, atol=1e-150)
    np.testing.assert_allclose(getattr(math, name)([x], [y]), [expected], rtol=1e-12, atol=1e-150)


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_compiled_they_are_what_they_are_of_numbers(backend):
    """Every function at the same places in one tick; where it is no number or infinite, there too."""
    x = Var("x")
    values = {name: getattr(math, name)(Traced(x)) for name in ONE}
    values |= {name: getattr(math, name)(Traced(x), 1.5) for name in TWO}
    values["clip"] = math.clip(Traced(x), -1, 2)
    values["where"] = math.where((Traced(x) > 0) & (Traced(x) != 1.5), Traced(x), 7)
    values["not"] = math.logical_not(Traced(x)) + math.logical_or(Traced(x) > 1, Traced(x) < 0)
    names, expressions = list(values), [v.expr for v in values.values()]
    targets = [Var(f"v_{n}") for n in names]
    wild = [Var(f"nan_{n}") for n in names]
    # A channel that is no number ends a run: it is recorded whether it is one, and its value where it is.
    steps = [Assign(t, e) for t, e in zip(targets, expressions, strict=True)]
    steps += [
        Assign(w, math.where(Traced(t) == Traced(t), 0, 1).expr) for w, t in zip(wild, targets, strict=True)
    ]
    tame = [
        math.where((Traced(t) == Traced(t)) & (abs(Traced(t)) < 1e308), Traced(t), -1).expr for t in targets
    ]
    channels = [Channel(n, e) for n, e in zip(names, tame, strict=True)]
    channels += [Channel(f"nan {n}", w) for n, w in zip(names, wild, strict=True)]
    tick = Tick("functions", 0.1, Var("t"), Var("k"), (x,), {}, {}, tuple(steps), tuple(channels))
    result = Runner(tick, backend).run(len(PLACES), np.array(PLACES)[:, None])
    assert result.finished
    for name in names:
        plain = [_plain(name, p) for p in PLACES]
        np.testing.assert_array_equal(result.channels[f"nan {name}"], np.isnan(plain), err_msg=name)
        tame = [p if np.isfinite(p) and abs(p) < 1e308 else -1 for p in plain]
        np.testing.assert_allclose(result.channels[name], tame, rtol=1e-13, err_msg=name)


def _plain(name, x):
    special = {
        "clip": lambda: math.clip(x, -1, 2),
        "where": lambda: math.where((x > 0) & (x != 1.5), x, 7),
        "not": lambda: math.logical_not(x) + math.logical_or(x > 1, x < 0),
    }
    return special[name]() if name in special else getattr(math, name)(*((x,) if name in ONE else (x, 1.5)))


def test_arrays_and_numbers_go_together():
    np.testing.assert_array_equal(math.where(np.array([True, False]), 1.0, [5.0, 6.0]), [1.0, 6.0])
    np.testing.assert_array_equal(math.maximum([1, 5], 3), [3.0, 5.0])
    x = Traced(Var("x"))
    mixed = math.maximum([1.0, x], np.array([2.0, 3.0]))
    assert mixed[0] == 2.0
    assert isinstance(mixed[1], Traced)
    assert isinstance((np.float64(2.0) * x), Traced)
    assert isinstance((np.float64(2.0) < x), Traced)
    assert (np.array([1.0, 2.0]) * x).shape == (2,)
    assert ((np.array([1.0, 2.0]) * x) > 0.5).shape == (2,)


@given(a=NUMBERS, b=NUMBERS, c=st.floats(0.1, 5))
def test_operators_are_pythons(a, b, c):
    x, y, z = Var("x"), Var("y"), Var("z")
    law = lambda x, y, z: ((2 - x) * y / z + 3 / z - (-x + 1)) ** 2 + 2**z - abs(y) * (x < y) + (x >= y) * 1.5  # noqa: E731
    traced = law(Traced(x), Traced(y), Traced(z)).expr
    assert evaluate(traced, {x: a, y: b, z: c}) == pytest.approx(law(a, b, c), rel=1e-12, abs=1e-12)


def test_what_cannot_be_known_is_refused_in_words():
    x = Traced(Var("x"))
    for bad, words in (
        (lambda: x and 1, "logical_and"),
        (lambda: 1 if x == 0 else 2, "where"),
        (lambda: range(x), "type int"),
        (lambda: round(x), "round"),
        (lambda: ~x, "logical_not"),
        (lambda: math.where(x > 0, "fast", 1), "expected a number"),
    ):
        with pytest.raises(ModelError, match=words):
            bad()
    with pytest.raises(TypeError, match="one number"):
        list(x)
    with pytest.raises(TypeError):
        x + "fast"


def test_what_is_used_twice_is_computed_once():
    x = Traced(Var("x"))
    y = x
    for _ in range(40):
        y = y * y + 1  # written out, 2**40 operations
    steps, [value] = named_parts([y.expr], "part")
    assert len(steps) == 39
    values = {x.expr: 0.5}
    plain = 0.5
    for _ in range(3):
        plain = plain * plain + 1
    for s in steps[:3]:
        values[s.target] = evaluate(s.expr, values)
    assert values[steps[2].target] == plain
    assert not isinstance(value, Const)


@pytest.mark.parametrize("name", [n for n in ONE if n != "ceil"] + TWO)
def test_in_laws_of_elements_they_are_what_they_are_of_numbers(name):
    """Laws are given SymPy's symbols; what they give is compiled, and is evaluated here."""
    x = sp.Symbol("x")
    others = () if name in ONE else (1.5,)
    var = Var("x")
    law = from_sympy(getattr(math, name)(x, *others), lambda _: var)
    for place in (0.25, 0.5, 0.75):
        assert evaluate(law, {var: place}) == pytest.approx(getattr(math, name)(place, *others), rel=1e-12)


def test_a_law_of_an_element_is_limited_or_chosen():
    x, most = sp.symbols("x most")
    assert math.clip(x, -most, most).subs({x: 3.0, most: 2.0}) == 2.0
    law = math.where((x > 0) & (x < 2), 2 * x, -1.0)
    assert [law.subs(x, place) for place in (-1.0, 1.0, 3.0)] == [-1.0, 2.0, -1.0]


def test_a_bond_graph_takes_them():
    model = Model("limited")
    model.v, model.speed = One(), Df()
    model.law, model.drive = Function(lambda v, most: math.clip(-v, -most, most), most=0.5), MSe()
    model.v >> model.speed >> model.law >> model.drive >> model.v >> I(mass=1.0, initial=2.0)
    run = model.compile().simulate(1.0)
    assert run["v.flow"][-1] == pytest.approx(1.5, rel=1e-6)  # 2 - 0.5 t as long as the limit holds
