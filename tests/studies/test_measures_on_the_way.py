"""Measures on the way are those of the whole history, wherever the tests run."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bondloop as bl
from bondloop import results
from bondloop.engine.codegen import Runner
from bondloop.engine.codegen.batch import Batch
from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.ir.expr import Var, evaluate, function, variables
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Tick, Update
from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators, wagg_three_mass
from bondloop.results.assess import normalised_energy_error
from bondloop.studies.grid_study import _wobble
from bondloop.studies.rehearsals import Rehearsals
from bondloop.studies.tick_measures import Measure, measuring, named_measure, written_expression

BACKENDS = ["lanes", "one by one"] if compiler() else ["one by one"]
PERIOD = 0.01
DRAWN = settings(deadline=None, max_examples=6, suppress_health_check=list(HealthCheck))
x, y, f = Var("x"), Var("y"), Var("f")

MEASURES = {
    "rms": Measure("rms", y - x, over=x),
    "growth": Measure("growth", y),
    "delay": Measure("delay", y, along=x),
    "work": Measure("work", f, along=y - x),
    "energy": Measure("work", f, along=y - x, over=Measure("exchange", f, along=x)),
    "exchange": Measure("exchange", f, along=x + y),
    "largest": Measure("largest", f * x),
    "smallest": Measure("smallest", function("fabs", y) - 2.0),
    "peak": Measure("peak", f),
    "mean": Measure("mean", x * x),
    "last": Measure("last", y),
    "first": Measure("first", y > 0.5),
}


def two_signals(w=3.0, second=7.0, late=0.05, rate=0.1, noise=0.0):
    """Return a tick of a motion and of another that follows it late and grows; a force of both."""
    t, amplitude, tau = Var("t"), Var("amplitude"), Var("tau")
    growth, state, x_now, y_now = Var("rate"), Var("state"), Var("x_now"), Var("y_now")

    def motion(at):
        return function("sin", w * at) + 0.3 * function("sin", second * at)

    steps = (
        Assign(x_now, motion(t) + 0.2),
        Assign(y_now, amplitude * function("exp", growth * t) * motion(t - tau) + noise * state),
        Update(((state, 0.9 * state + function("sin", 50.0 * t)),)),
    )
    channels = (
        Channel("x", x_now),
        Channel("y", y_now),
        Channel("f", 3.0 * y_now + state),
    )
    parameters = {amplitude: 1.0, tau: late, growth: rate}
    return Tick("two", PERIOD, t, Var("k"), (), {state: 0.1}, parameters, steps, channels, {"y": 6.0})


def of_history(run, steps):
    """Return the measures of a run, each as its definition says, from its whole history."""
    x, y, f = (run.channels[n] for n in "xyf")
    middle = [(v[1:] + v[:-1]) / 2 for v in (x, y)]
    v = np.diff(x) / PERIOD
    basis = np.column_stack([np.ones(len(v)), middle[0], v])
    _, a, b = np.linalg.lstsq(basis, middle[1], rcond=None)[0]
    w = v.std() / middle[0].std()
    quarters = ((steps // 4, steps // 2), (3 * steps // 4, steps))
    growth = np.inf
    if run.finished:
        early, late = (_wobble(y[i:j, None], run.time[i:j])[0] for i, j in quarters)
        growth = np.log(late / early) / (run.time[-1] / 2)
    return {
        "rms": np.sqrt(np.mean((y - x) ** 2) / np.mean(x**2)),
        "growth": growth,
        "delay": np.arctan2(-b * w, a) / (2 / PERIOD * np.arctan(w * PERIOD / 2)),
        "work": results.work(f, y - x)[-1],
        "energy": normalised_energy_error(f, x, y),
        "exchange": np.abs((f[1:] + f[:-1]) / 2 * np.diff(x + y)).sum(),
        "largest": (f * x).max(),
        "smallest": (np.abs(y) - 2).min(),
        "peak": np.abs(f).max(),
        "mean": np.mean(x * x),
        "last": y[-1],
        "first": run.time[np.argmax(y > 0.5)] if (y > 0.5).any() else np.nan,
    }


@pytest.mark.parametrize("backend", BACKENDS)
@DRAWN
@given(
    w=st.floats(1.0, 9.0), second=st.floats(11.0, 20.0), noise=st.floats(0.0, 0.2),
    steps=st.integers(40, 700), seed=st.integers(0, 99),
)  # fmt: skip
def test_they_are_those_of_the_whole_history(backend, w, second, noise, steps, seed):
    tick = two_signals(w, second, noise=noise)
    random = np.random.default_rng(seed)
    tests = 5
    values = np.column_stack([
        random.uniform(0.5, 2, tests), random.uniform(-0.1, 0.1, tests), random.uniform(-0.4, 0.6, tests)
    ])  # fmt: skip
    test = SimpleNamespace(tick=tick, period=PERIOD, tables={}, seconds=(steps - 1) * PERIOD)
    found = Rehearsals(test, ["amplitude", "tau", "rate"], MEASURES, backend=backend).run(values)
    for i, row in enumerate(values):
        run = Runner(tick, "c" if compiler() else "numpy").run(
            steps, parameters=dict(zip(["amplitude", "tau", "rate"], row, strict=True))
        )
        for name, value in of_history(run, steps).items():
            scale = 1e-9 if name in ("delay", "growth", "work", "energy") else 0
            expected = pytest.approx(value, rel=1e-8, abs=scale, nan_ok=True)
            assert found.measured[name][i] == expected, name


@pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")
def test_in_lanes_they_are_the_same_to_the_last_bit():
    whole = measuring(two_signals(noise=0.1), MEASURES, 300)
    values = np.linspace(0.5, 3.0, 11)[:, None]
    lanes, single = (
        Batch(whole.tick, ["amplitude"], b, wanted=whole.states).run(values, 300)
        for b in ("lanes", "one by one")
    )
    np.testing.assert_array_equal(lanes.states, single.states)


@pytest.mark.parametrize("late", [-0.3, -0.02, 0.004, 0.05, 0.4])
def test_the_delay_of_a_sine_is_exact(late):
    """A whole number of periods, so that the mean is none; half a period is 0.5 s."""
    t, w = np.arange(1001) * PERIOD, 2 * np.pi
    time, a = Var("t"), Var("a")
    one, other = function("sin", w * time), 0.7 * function("sin", w * (time - late))
    tick = Tick(
        "sines", PERIOD, time, Var("k"), (), {}, {a: 1.0}, (),
        (Channel("x", one * a), Channel("y", other)),
    )  # fmt: skip
    test = SimpleNamespace(tick=tick, period=PERIOD, tables={}, seconds=10.0)
    found = Rehearsals(test, ["a"], {"delay": MEASURES["delay"]}).run(np.array([[1.0], [2.0]]))
    assert found.measured["delay"] == pytest.approx([late, late], abs=1e-9)
    by_correlation = results.delay(np.sin(w * t), np.sin(w * (t - late)), PERIOD)
    assert found.measured["delay"][0] == pytest.approx(by_correlation, abs=2e-4)


def test_a_signal_that_stands_still_has_no_delay():
    t, a = Var("t"), Var("a")
    tick = Tick(
        "still", PERIOD, t, Var("k"), (), {}, {a: 1.0}, (), (Channel("x", a * 3.1), Channel("y", t)),
    )  # fmt: skip
    test = SimpleNamespace(tick=tick, period=PERIOD, tables={}, seconds=1.0)
    found = Rehearsals(test, ["a"], {"delay": MEASURES["delay"], "growth": Measure("growth", x)})
    outcome = found.run(np.array([[1.0], [0.0]]))
    assert np.isnan(outcome.measured["delay"]).all()
    assert outcome.measured["growth"].tolist() == [pytest.approx(0.0, abs=1e-6), -np.inf]


def test_named_ones_are_those_of_a_run():
    test = wagg_three_mass.test()
    names = ("error", "delay", "energy", "reference_error", "growth", "peak:force * 2 - command")
    found = Rehearsals(test, ["rig.transfer.mass.mass"], names, 8.0).run(np.array([[1.1]]))
    run = test.with_values({"rig.transfer.mass.mass": 1.1}).run(8.0)
    own = run.metrics[0]
    assert found.measured["error"] == pytest.approx(own["normalised_rms_error"], rel=1e-9)
    assert found.measured["energy"] == pytest.approx(own["normalised_energy_error"], rel=1e-9)
    # By regression and by correlation: one definition each, near each other where the motion is smooth.
    assert found.measured["delay"] == pytest.approx(own["delay"], abs=5e-3)
    known, true = run["desired.velocity"], run["reference.velocity"]
    expected = np.sqrt(np.mean((known - true) ** 2) / np.mean(true**2))
    assert found.measured["reference_error"] == pytest.approx(expected, rel=1e-9)
    both = np.abs(2 * run["force"] - run["command"]).max()
    assert found.measured["peak:force * 2 - command"] == pytest.approx(both, rel=1e-12)


def test_the_nearest_limit():
    test = gawthrop_two_actuators.test()  # 25 mm of stroke, 500 N
    found = Rehearsals(test, ["excitation.scale"], ["limit"], 2.0).run(np.array([[1.0], [3.0]]))
    run = test.run(2.0)
    expected = max(
        *(np.abs(run[f"actual.displacement[{i}]"]).max() / 0.025 for i in (0, 1)),
        *(np.abs(run[f"force[{i}]"]).max() / 500 for i in (0, 1)),
    )
    assert found.measured["limit"][0] == pytest.approx(expected, rel=1e-12)
    assert 0 < found.measured["limit"][0] < found.measured["limit"][1]
    guarded = test.replaced(
        interlock=bl.safety.Interlock(limits=bl.safety.Limits(displacement=0.005, force=200, command=0.02))
    )
    found = Rehearsals(guarded, ["excitation.scale"], ["limit", "trip"], 2.0).run(np.array([[1.0], [20.0]]))
    run = guarded.run(2.0)
    force = [np.abs(run[f"measured.force[{i}]"]).max() / 200 for i in (0, 1)]
    command = [np.abs(run[f"command[{i}]"]).max() / 0.02 for i in (0, 1)]
    moved = [np.abs(run[f"actual.displacement[{i}]"]).max() / 0.005 for i in (0, 1)]
    assert found.measured["limit"][0] == pytest.approx(max(*force, *command, *moved), rel=1e-12)
    assert found.measured["trip"].tolist() == [0.0, 1.0]  # and it reached its limit
    assert found.measured["limit"][1] >= 1
    with pytest.raises(InputError, match="no limits to come near to"):
        named_measure("limit", wagg_three_mass.test().tick)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("force[0] -", "no expression of its channels"),
        ("force[3]", r"unknown channel 'force\[3\]'"),
        ("sin(force[0], 2)", "sin takes 1; found 2"),
        ("normal(force[0])", "unknown function 'normal'"),
        ("__import__('os')", "unknown function '__import__'"),
        ("force[0] if r1 else r2", "not arithmetic"),
        ("[r1]", "not arithmetic"),
        ("'r1'", "not arithmetic"),
        ("sqrt(0 - 1)", "no expression of its channels"),
        ("1/0", "no expression of its channels"),
    ],
)
def test_what_is_no_expression_is_told(text, words):
    with pytest.raises(InputError, match=words):
        written_expression(text, gawthrop_two_actuators.test().tick)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Measure("delay", x), "two signals"),
        (lambda: Measure("rms", x, along=y), "one signal"),
        (lambda: Measure("rms", "x"), "expected an expression"),
        (lambda: Measure("median", x), "unknown kind of measure"),
        (lambda: measuring(two_signals(), {"g": Measure("growth", x)}), "at least 16 samples"),
        (lambda: named_measure("delay:x", two_signals()), "delay:ONE ~ OTHER"),
        (lambda: named_measure("energy", two_signals()), "no desired displacement"),
        (lambda: named_measure("reference_error", two_signals()), "no reference"),
    ],
)
def test_what_is_no_measure_is_told(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_expressions_are_those_of_python():
    tick = two_signals()
    found = written_expression("max(abs(x), 2*y**2) - (x + -y)/4 >= f", tick)
    for a, b, c in np.random.default_rng(1).normal(size=(20, 3)):
        expected = float(max(abs(a), 2 * b**2) - (a + -b) / 4 >= c)
        assert evaluate(found, {v: {"x": a, "y": b, "f": c}[v.name] for v in variables(found)}) == expected
