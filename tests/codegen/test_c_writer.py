"""The C source: readable, legal whatever the names, clean under strict warnings."""

import re
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from bondloop.engine.codegen import Runner, compiler, write_c
from bondloop.engine.ir.causal_order import schedule
from bondloop.engine.ir.expr import Const, Op, Var, function
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Delay, Product, Repeat, Tick, Update
from bondloop.errors import InputError, ModelError

BACKENDS = ["numpy", pytest.param("c", marks=pytest.mark.skipif(compiler() is None, reason="no C compiler"))]


def make(steps, states, channels, name="demo", inputs=(), parameters=None, bounds=None, clock=None):
    clock = clock or SimpleNamespace(t=Var("t"), k=Var("k"))
    recorded = tuple(c if isinstance(c, Channel) else Channel(c.name, c) for c in channels)
    return Tick(
        name, 0.1, clock.t, clock.k, inputs, states, parameters or {}, tuple(steps), recorded, bounds or {}
    )


def test_reads_like_the_model():
    p, m, v = Var("m2.p"), Var("m2.m"), Var("m2.v.flow")
    text = write_c(make([Assign(v, p / m), Update(((p, p - v),))], {p: 1.0}, [v], parameters={m: 2.0}))
    assert "const double m2_v_flow = s->m2_p/p->m2_m;" in text
    assert "s->m2_p = s->m2_p - m2_v_flow;" in text
    assert "malloc" not in text
    assert re.findall(r"#include <(.*)>", text) == ["math.h"]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc on this machine")
def test_is_clean_under_strict_warnings(tmp_path):
    x, y, z, d, r, turn = (Var(n) for n in ("x", "y", "z", "d", "r", "turn"))
    loop = schedule({y: x - 0.1 * z**3, z: y - 0.2 * z}, [y])
    noise = Assign(r, function("normal", Const(1), Const(0), x))
    update = Update(((x, x + d + function("sign", r) + function("fmin", x, turn)),))
    steps = [*loop, noise, Delay(d, y, 3), Repeat(2, turn, (update,))]
    (tmp_path / "demo.c").write_text(write_c(make(steps, {x: 1.0}, [x, y, r], bounds={"x": 9.0})))
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-O2", "-c"]
    subprocess.run(["gcc", *flags, "demo.c"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("backend", BACKENDS)
def test_any_path_makes_a_legal_name(backend):
    paths = [
        "double",
        "sin",
        "s",
        "x.y",
        "x_y",
        "x[1]",
        "a >> b",
        "2nd",
        "Ω",
        "d(a)/d(b)",
        "*/",
        "y0",
        "lambda",
        "NAN",
        "demo_run",
    ]
    states = {Var(n): float(i) for i, n in enumerate(paths)}
    steps = [Update(tuple((v, v + 1) for v in states))]
    result = Runner(make(steps, states, list(states)), backend).run(2)
    assert [result.channels[n].tolist() for n in paths] == [[i, i + 1] for i in range(len(paths))]


@pytest.mark.parametrize("backend", BACKENDS)
def test_updates_all_at_once_and_records_the_beginning(backend):
    x, y = Var("x"), Var("y")
    tick = make([Update(((x, y), (y, x)))], {x: 1.0, y: 2.0}, [x, Channel("sum", x + 10 * y)])
    result = Runner(tick, backend).run(3)
    assert result.channels["x"].tolist() == [1.0, 2.0, 1.0]
    assert result.channels["sum"].tolist() == [21.0, 12.0, 21.0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_delay_and_repetition(backend):
    d, fine, i, x = Var("d"), Var("fine"), Var("i"), Var("x")
    clock = SimpleNamespace(t=Var("t"), k=Var("k"))
    steps = [
        Delay(d, clock.k, 3, initial=-1.0),
        Repeat(4, i, (Assign(fine, x + i), Update(((x, x + 1),)))),
    ]
    tick = make(steps, {x: 0.0}, [d, fine, Channel("time", clock.t)], clock=clock)
    result = Runner(tick, backend).run(5)
    assert result.channels["d"].tolist() == [-1, -1, -1, 0, 1]
    assert result.channels["fine"].tolist() == [6, 10, 14, 18, 22]
    assert result.channels["time"].tolist() == result.time.tolist()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("density", [1.0, 0.1])
def test_products(backend, density):
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((15, 14)) * (rng.random((15, 14)) < density)
    states = [Var(f"x[{i}]") for i in range(14)]
    targets = tuple(Var(f"y[{i}]") for i in range(15))
    start = rng.standard_normal(14)
    tick = make([Product(targets, matrix, tuple(states))], dict(zip(states, start, strict=True)), targets)
    result = Runner(tick, backend).run(1)
    np.testing.assert_allclose([result.channels[v.name][0] for v in targets], matrix @ start, rtol=1e-13)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_loops_are_solved(backend, n):
    x = Var("x")
    y = [Var(f"y{i}") for i in range(n)]
    definitions = {v: x - v**3 / 2 + 0.3 * y[i - 1] for i, v in enumerate(y)}
    tick = make(schedule(definitions, y), {x: 1.5}, y)
    result = Runner(tick, backend).run(1)
    value = np.array([result.channels[v.name][0] for v in y])
    np.testing.assert_allclose(value, 1.5 - value**3 / 2 + 0.3 * np.roll(value, 1), rtol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loop_that_cannot_be_solved_stops_the_run(backend):
    x, y, z = Var("x"), Var("y"), Var("z")
    singular = make(schedule({y: y + x}, [y]), {x: 1.0}, [x])
    assert Runner(singular, backend).run(5).status == "singular loop"
    pair = make(schedule({y: x + z, z: y - x}, [y]), {x: 1.0}, [x])
    assert Runner(pair, backend).run(5).status == "singular loop"
    endless = make(schedule({y: y + y**2 + 1.0}, [y]), {x: 1.0}, [x])
    result = Runner(endless, backend).run(5)
    assert (result.status, result.steps) in [("loop not converged", 1), ("singular loop", 1)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_arithmetic_is_that_of_ieee_754(backend):
    x = Var("x")
    values = {
        "pole": 1 / x,
        "negative pole": -1 / x,
        "overflow": function("exp", 1e4 + x),
        "log": function("log", x),
        "power": Op("pow", (x, Const(-2.0))),
        "min": function("fmin", Op("sqrt", (x - 1,)), 3.0),
        "nan": Op("ne", (Op("sqrt", (x - 1,)), Op("sqrt", (x - 1,)))),
    }
    result = Runner(make([], {x: 0.0}, [Channel(n, e) for n, e in values.items()]), backend).run(1)
    inf = float("inf")
    assert [result.channels[n][0] for n in values] == [inf, -inf, inf, -inf, inf, 3.0, 1.0]


def test_refuses_what_it_cannot_name():
    x, y = Var("x"), Var("y")
    with pytest.raises(InputError, match="no C identifier"):
        write_c(make([], {x: 0.0}, [x], name="three mass"))
    with pytest.raises(ModelError, match="more than one state named x"):
        write_c(make([], {x: 0.0, Var("x"): 0.0}, []))
    with pytest.raises(ModelError, match="no operation"):
        write_c(make([Assign(y, Op("erf", (x,)))], {x: 0.0}, [y]))
