"""A tick comes back from JSON as it was: the same code is written from it. Damaged data are refused."""

import copy
import itertools
import json
import math

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bondloop.engine.codegen import write_c
from bondloop.engine.data.ranges import Range
from bondloop.engine.ir import tick_json
from bondloop.engine.ir.causal_order import schedule
from bondloop.engine.ir.expr import COMPARISONS, FUNCTIONS, Const, Op, Var, function, select
from bondloop.engine.ir.quantity import Quantity
from bondloop.engine.ir.statement import Assign, Loop
from bondloop.engine.ir.tick import Channel, Delay, Product, Repeat, Tick, Update
from bondloop.engine.ir.tick_json import dump_tick, load_tick
from bondloop.errors import InputError

OPERANDS = {"add": 3, "and": 2, "or": 2, "select": 3, "normal": 3, "uniform": 3}
OPERANDS |= dict.fromkeys(["mul", "div", "pow", "atan2", "fmin", "fmax", *COMPARISONS], 2)
OPERATIONS = {name: OPERANDS.get(name, 1) for name in [*OPERANDS, "neg", "not", *FUNCTIONS]}
TIME, COUNT = Var("t"), Var("k")
X, V, K, R = Var("m.x"), Var("m.v"), Var("spring θ.k"), Var("wall.r")


def tick_of(*steps, channels=(), **changes):
    whole = {
        "name": "demo",
        "period": 0.1 + 0.2,
        "time": TIME,
        "count": COUNT,
        "inputs": (R,),
        "states": {X: 0.1, V: -0.0},
        "parameters": {K: 1e-310},
        "steps": steps,
        "channels": (Channel("m.x", X, "m"), *channels),
        "bounds": {"m.x": 2.5},
    }
    return Tick(**whole | changes)


def again(tick):
    return load_tick(json.loads(json.dumps(dump_tick(tick), allow_nan=False)))


def same(tick):
    loaded = again(tick)
    assert write_c(loaded) == write_c(tick)
    assert dump_tick(loaded) == dump_tick(tick)
    return loaded


def every_kind(matrix):
    y, z, late = Var("y"), Var("z"), Var("late")
    a, b = Var("twice"), Var("twice")
    (loop,) = schedule({y: z * z - R, z: Op("sin", (y,)) + V}, [y, z])
    (line,) = schedule({a: K * X - 0.25 * a}, [a])
    assert isinstance(loop, Loop)
    assert isinstance(line, Loop)
    targets = tuple(Var(f"p[{i}]") for i in range(matrix.shape[0]))
    sources = tuple([X, V * 2, Const(3.0), *[R] * matrix.shape[1]][: matrix.shape[1]])
    inner = (Delay(late, y + Const(math.inf), 3, math.nan), Update(((X, V), (V, X - late))))
    turn, turn_within = Var("i"), Var("i")
    return tick_of(
        loop,
        line,
        Assign(b, a + function("sign", y)),
        Product(targets, matrix, sources),
        Repeat(4, turn, (Repeat(2, turn_within, inner), Assign(Var("unused"), turn_within))),
        channels=(Channel("b", select(b > 0, b, -a)), Channel("p", targets[0] if targets else TIME, "kN·m")),
        bounds={"b": math.inf, "m.x": 3},
    )


MATRICES = [
    np.array([[1.0, -0.0, 0.1], [math.nan, -math.inf, 1 / 3]]),
    np.arange(6).reshape(3, 2),
    np.zeros((0, 2)),
    np.zeros((2, 0)),
    np.asfortranarray(np.random.default_rng(1).standard_normal((9, 8))),
    *(
        getattr(scipy.sparse, f"{form}_{kind}")(np.diag(np.arange(0.0, 60.0)))
        for form in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
        for kind in ("array", "matrix")
    ),
]


@pytest.mark.parametrize("matrix", MATRICES, ids=lambda m: f"{type(m).__name__}-{m.shape}")
def test_every_kind_of_statement(matrix):
    tick = every_kind(matrix)
    loaded = same(tick)
    assert [type(s) for s in loaded.steps] == [type(s) for s in tick.steps]
    found = loaded.steps[3].matrix
    assert type(found) is type(matrix)
    assert found.shape == matrix.shape
    dense = [m.toarray() if scipy.sparse.issparse(m) else m for m in (found, matrix)]
    np.testing.assert_array_equal(*dense)
    assert np.array_equal(*map(np.signbit, dense))


def test_variables_stay_themselves():
    loaded = same(every_kind(np.eye(2)))
    x = next(iter(loaded.states))
    outer = loaded.steps[4]
    inner = outer.body[0]
    assert loaded.channels[0].value is x
    assert inner.body[1].pairs[0][0] is x
    assert inner.counter is not outer.counter
    assert inner.counter.name == outer.counter.name
    assert outer.body[1].expr is inner.counter
    assert loaded.steps[1].tears[0] is not loaded.steps[2].target  # both are called 'twice'


def test_variables_keep_ranges_and_what_they_measure():
    ranges = [
        None,
        Range(),
        Range(least=0.5, most=2),
        Range(above=-1, below=3, nonzero=True, units=("m", "1")),
    ]
    quantities = [None, Quantity("stiffness", "N/m"), Quantity("force", "N", "effort"), Quantity("gain")]
    variables = [Var(f"v{i}", r, q) for i, (r, q) in enumerate(itertools.product(ranges, quantities))]
    data = dump_tick(tick_of(parameters=dict.fromkeys(variables, 1.0)))
    table = again(tick_of(parameters=dict.fromkeys(variables, 1.0))).parameters
    assert [(v.name, v.range, v.quantity) for v in table] == [
        (v.name, v.range, v.quantity) for v in variables
    ]
    assert "v0" in data["variables"]  # nothing is known of it: a name alone, as in files written before
    assert dump_tick(load_tick(data)) == data


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (["x"], "be a name, or a name and an object"),
        (["x", 3], "be a name, or a name and an object"),
        ([3, {}], r"variables\[0\] must be a text"),
        (["x", {"rnge": {}}], "unknown field 'rnge'"),
        (["x", {"range": 3}], r"variables\[0\]\.range must be an object with bounds"),
        (["x", {"range": {"least": "a"}}], r"variables\[0\]\.range\.least must be a number"),
        (["x", {"range": {"nonzero": 1}}], r"nonzero must be true or false"),
        (["x", {"range": {"units": "m"}}], r"units must be a list"),
        (["x", {"range": {"least": 0, "units": ["\n"]}}], "control characters"),
        (["x", {"quantity": "force", "kind": "effrt"}], "unknown kind of quantity 'effrt'"),
        (["x", {"quantity": "*/\n"}], "control characters"),
    ],
)
def test_damaged_entries_of_variables_are_refused(data, entry, message):
    data["variables"][0] = entry
    with pytest.raises(InputError, match=message):
        load_tick(data)


def test_fields_come_back():
    tick = every_kind(np.eye(2))
    loaded = again(tick)
    assert (loaded.name, loaded.period, loaded.bounds) == ("demo", 0.1 + 0.2, {"b": math.inf, "m.x": 3})
    assert [(v.name, x, math.copysign(1, x)) for v, x in loaded.states.items()] == [
        ("m.x", 0.1, 1),
        ("m.v", 0.0, -1),
    ]
    assert [(v.name, x) for v, x in loaded.parameters.items()] == [("spring θ.k", 1e-310)]
    assert [(c.name, c.unit) for c in loaded.channels] == [("m.x", "m"), ("b", ""), ("p", "kN·m")]
    assert (loaded.time.name, loaded.count.name, loaded.inputs[0].name) == ("t", "k", "wall.r")
    (delay,) = loaded.delays
    assert delay.length == 3
    assert math.isnan(delay.initial)
    first, second = loaded.steps[:2]
    assert (first.linear, first.iterations) == (tick.steps[0].linear, tick.steps[0].iterations) == (False, 80)
    assert (second.linear, second.iterations) == (True, 1)


def test_optional_fields_may_be_left_out():
    data = dump_tick(tick_of(Delay(Var("late"), X, 2)))
    del data["tick"]["bounds"], data["tick"]["channels"][0]["unit"], data["tick"]["steps"][0]["initial"]
    loaded = load_tick(data)
    assert (loaded.bounds, loaded.channels[0].unit, loaded.delays[0].initial) == ({}, "", 0.0)


def test_numpy_numbers_become_plain():
    tick = tick_of(
        Delay(Var("late"), X, np.int64(2), np.float64(0.1)),
        states={X: np.float64(0.1), V: np.int32(2)},
        period=1,
    )
    loaded = again(tick)
    assert [type(x) for x in loaded.states.values()] == [float, int]
    assert type(loaded.period) is int
    assert loaded.delays[0].initial == 0.1


NUMBERS = st.one_of(st.sampled_from([math.inf, -math.inf, math.nan, -0.0, 5e-324]), st.floats())
EXPRESSIONS = st.recursive(
    st.one_of(st.sampled_from([X, V, K, R, TIME, COUNT]), NUMBERS.map(Const)),
    lambda inner: st.sampled_from(sorted(OPERATIONS)).flatmap(
        lambda name: st.tuples(*[inner] * OPERATIONS[name]).map(lambda args: Op(name, args))
    ),
    max_leaves=25,
)
MANY = settings(deadline=None, suppress_health_check=list(HealthCheck))


@MANY
@given(
    expr=EXPRESSIONS,
    other=EXPRESSIONS,
    entries=st.lists(st.floats(), min_size=4, max_size=4),
    initial=st.floats(allow_nan=False, allow_infinity=False),
)
def test_random_ticks(expr, other, entries, initial):
    a, late, p, q = Var("a"), Var("a"), Var("p"), Var("q")
    steps = (
        Assign(a, expr),
        Delay(late, other, 2, initial),
        Repeat(
            3,
            Var("i"),
            (Product((p, q), np.reshape(entries, (2, 2)), (expr, late)), Update(((X, other), (V, X)))),
        ),
        Loop((Var("y"),), (Assign(Var("b"), expr),), (other,), (), ((expr,),), False, 12),
    )
    same(tick_of(*steps, channels=(Channel("c", other),), states={X: initial, V: 0.0}))


def test_the_number_of_operands_is_that_of_the_function():
    for name, evaluated in FUNCTIONS.items():
        evaluated(*[0.5] * OPERATIONS[name])
    for name, n in OPERATIONS.items():
        same(tick_of(Assign(Var("a"), Op(name, (X,) * n))))
    assert set(OPERATIONS) == set(tick_json._OPERANDS)


@pytest.fixture
def data():
    return dump_tick(every_kind(scipy.sparse.csr_array(np.eye(2))))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format"], "other", "no tick"),
        (["version"], 2, "version 2"),
        (["version"], True, "version True"),
        (["surplus"], 2, "unknown field 'surplus'"),
        (["variables"], None, "variables must be a list"),
        (["variables", 0], 3, r"variables\[0\] must be a text"),
        (["variables", 0], "*\\\r/ evil()", "control characters"),
        (["variables", 0], "x" * 2000, "at most 1000"),
        (["tick"], [], "object with the fields of a Tick"),
        (["tick", "perod"], 1.0, "unknown field 'perod' of tick; did you mean 'period'"),
        (["tick", "period"], "fast", "tick.period must be a number"),
        (["tick", "period"], True, "tick.period must be a number"),
        (["tick", "period"], -(10**4000), "tick.period must be a number"),
        (["tick", "time"], 999, "tick.time must be the index"),
        (["tick", "time"], -1, "tick.time must be the index"),
        (["tick", "time"], True, "tick.time must be the index"),
        (["tick", "time"], 1.0, "tick.time must be the index"),
        (["tick", "states", 0], [1], r"tick.states\[0\] must have 2 entries"),
        (["tick", "bounds", 0], ["none", 1.0], "'none', which is not a channel"),
        (["tick", "bounds", 0], ["m.x", 1.0], "twice"),
        (["tick", "channels", 0, "value"], ["system", 1.0], "unknown operation 'system'"),
        (["tick", "channels", 0, "value"], ["__import__", "os"], "unknown operation"),
        (["tick", "channels", 0, "value"], ["sin"], "'sin' of 0 operands; expected 1"),
        (["tick", "channels", 0, "value"], ["add"], "at least 1"),
        (["tick", "channels", 0, "value"], ["and", 1.0], "at least 2"),
        (["tick", "channels", 0, "value"], ["fmin", 1.0], "expected 2"),
        (["tick", "channels", 0, "value"], ["select", 1.0, 2.0], "expected 3"),
        (["tick", "channels", 0, "value"], [], "where an operation is"),
        (["tick", "channels", 0, "value"], [1.0], "where an operation is"),
        (["tick", "channels", 0, "value"], {"w": 0}, "where a variable is"),
        (["tick", "channels", 0, "value"], {"v": "0"}, "index"),
        (["tick", "channels", 0, "value"], "1.0", "must be a number"),
        (["tick", "channels", 0, "value"], None, "must be a number"),
        (["tick", "steps"], {}, "tick.steps must be a list"),
        (["tick", "steps", 0], 3, "a statement with its kind"),
        (["tick", "steps", 0, "kind"], "Tick", "unknown kind of statement 'Tick'"),
        (["tick", "steps", 0, "kind"], [], "a statement with its kind"),
        (["tick", "steps", 0, "linear"], 1, r"tick.steps\[0\].linear must be true or false"),
        (["tick", "steps", 0, "jacobian"], [[]], "does not fit"),
        (["tick", "steps", 0, "tears"], [], "does not fit"),
        (["tick", "steps", 2, "expr"], {"v": 15}, "inconsistent: twice needs unused"),
        (["tick", "steps", 3, "matrix"], 3, "must be a matrix"),
        (["tick", "steps", 3, "matrix", "shape"], [2], "must have the shape"),
        (
            ["tick", "steps", 3, "matrix", "shape"],
            [2, 10**6],
            "must have the shape of 2 targets and 2 sources",
        ),
        (["tick", "steps", 3, "matrix", "rows"], [0], "as many as the values"),
        (["tick", "steps", 3, "matrix", "rows"], [0, 2], "indices below 2"),
        (["tick", "steps", 3, "matrix", "sparse"], "load_npz", "unknown kind of sparse matrix"),
        (["tick", "steps", 3, "matrix", "values"], [1, "x"], "must be a number"),
        (["tick", "steps", 3, "matrix"], {"shape": [2, 2], "values": [1.0]}, "must be 4 numbers"),
        (["tick", "steps", 4, "count"], 10**12, "whole number from 0 to"),
        (["tick", "steps", 4, "count"], 2.0, "whole number from 0 to"),
        (["tick", "steps", 4, "body", 0, "body", 0, "length"], -1, "whole number from 0 to"),
        (["tick", "steps", 4, "body", 0, "body", 0, "length"], 0, "at least one step"),
    ],
)
def test_damaged_data_are_refused(data, path, value, message):
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(InputError, match=message):
        load_tick(data)


@pytest.mark.parametrize("data", [None, [], "tick", 3, {}])
def test_other_data_are_refused(data):
    with pytest.raises(InputError, match="no tick"):
        load_tick(data)


@pytest.mark.parametrize("field", ["name", "states", "steps"])
def test_missing_fields_are_named(data, field):
    del data["tick"][field]
    with pytest.raises(InputError, match=f"tick lacks {field}"):
        load_tick(data)


def test_depth_is_bounded(data):
    deep, nested, expr = 0.0, [], X
    for _ in range(300):
        expr = Op("neg", (expr,))
    for _ in range(100_000):
        deep = ["neg", deep]
        nested = [{"kind": "Repeat", "count": 1, "counter": 0, "body": nested}]
    changed = copy.deepcopy(data)
    changed["tick"]["channels"][0]["value"] = deep
    with pytest.raises(InputError, match="more than 64 deep"):
        load_tick(changed)
    data["tick"]["steps"] = nested
    with pytest.raises(InputError, match="more than 24 deep"):
        load_tick(data)
    with pytest.raises(InputError, match="more than 64 deep"):
        dump_tick(tick_of(Assign(Var("a"), expr)))


def test_the_deepest_comes_back():
    expr = X
    for _ in range(tick_json.DEEPEST_EXPRESSION):
        expr = Op("neg", (expr,))
    step = Assign(Var("a"), expr)
    for _ in range(tick_json.DEEPEST_STATEMENT - 2):
        step = Repeat(1, Var("i"), (step,))
    tick = tick_of(step)
    assert dump_tick(again(tick)) == dump_tick(tick)


def test_what_cannot_be_loaded_is_not_written():
    for tick, message in [
        (tick_of(Assign(Var("a"), Op("gamma", (X,)))), "unknown operation 'gamma'"),
        (tick_of(Assign(Var("a\n"), X)), "control characters"),
        (tick_of(Product((Var("a"),), np.array([[1j]]), (X,))), "real numbers"),
        (tick_of(Delay(Var("a"), X, 10**9)), "whole number"),
    ]:
        with pytest.raises(InputError, match=message):
            dump_tick(tick)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["v", "kind"]), inner)
    ),
    max_leaves=6,
)


@MANY
@given(choices=st.lists(st.integers(0, 30), min_size=1, max_size=7), value=JSON)
def test_any_damage_is_an_input_error_or_harmless(choices, value):
    data = dump_tick(every_kind(np.eye(2)))
    place, path = data["tick"], []
    for choice in choices:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        if not keys:
            break
        path = (place, keys[choice % len(keys)])
        place = place[path[1]]
        if not isinstance(place, (dict, list)):
            break
    path[0][path[1]] = value
    try:
        loaded = load_tick(data)
    except InputError:
        return
    assert isinstance(loaded, Tick)
