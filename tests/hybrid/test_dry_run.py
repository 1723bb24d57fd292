"""The dry run: the compiled one is the run itself, and the one by a linear step is its twin."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for drawn_tests.py

from drawn_tests import Choices, build, nonlinearity, recipe

from bondloop.check.linear.linear_run import linear_run
from bondloop.check.linear.running_loop import RunningLoop
from bondloop.errors import BondloopError
from bondloop.signals import Constant, Sine, Step, Table

TICKS = 400


def drawn(seed):
    """Return a linear test without noise, switches and interlock; None where the draw is another."""
    rng = np.random.default_rng([seed, 5])
    r = recipe(Choices(lambda most: int(rng.integers(most + 1))))
    r.update(switches=False, interlock=False)
    if nonlinearity(r) != "none" or "noise" in r["sensors"] or r["displacement sensor"] != "ideal":
        return None
    try:
        test = build(r)
        _ = test.tick
    except BondloopError:
        return None
    return test


def some(count):
    tests, seed = [], 0
    while len(tests) < count:
        test = drawn(seed)
        if test is not None:
            tests.append((seed, test))
        seed += 1
    return tests


def signals(test, kind):
    """Return the test with another excitation: as drawn, a constant, a table with an offset, a formula."""
    if kind == "as drawn" or not test.excitation:
        return test
    name = next(iter(test.excitation))
    size = float(np.abs(test.excitation[name](np.linspace(0, TICKS * test.period, 50))).max()) or 1.0
    times = np.arange(TICKS + 5) * test.period
    made = {
        "constant": Constant(0.3 * size),
        "offset table": Table(times, 0.2 * size + size * np.sin(40 * times)),
        "formula": Step(0.2 * size, at=20 * test.period) + Sine(0.3 * size, 3.0),
    }[kind]
    return test.replaced(excitation=dict.fromkeys(test.excitation, made))


@pytest.mark.parametrize("kind", ["as drawn", "constant", "offset table", "formula"])
def test_the_step_carried_on_is_the_compiled_run(kind):
    """Delays of sensors and rig, biases, holds, tables: the twin has the run's peaks to 1e-9."""
    seen = 0
    for seed, test in some(6):
        changed = signals(test, kind).replaced(limits=None)
        seconds = TICKS * test.period
        twin = linear_run(RunningLoop(changed), seconds)
        run = changed.run(seconds)
        if not (run.completed and twin.completed):
            continue  # a loop so unstable that it left all numbers
        seen += 1
        for name, peak in twin.peaks.items():
            if name in run.record:
                real = float(np.abs(run[name]).max())
                assert peak == pytest.approx(real, rel=1e-9, abs=1e-15), f"case {seed}: {name}"
    assert seen >= 3


def test_both_stop_at_the_same_limit_and_time():
    from bondloop.safety import Limits

    seed, test = next((s, t) for s, t in some(20) if t.excitation and t.run(TICKS * t.period).completed)
    seconds = TICKS * test.period
    peak = float(np.abs(test.run(seconds)["force"]).max())
    tight = test.replaced(limits=Limits(force=0.5 * peak))
    twin, run = linear_run(RunningLoop(tight), seconds), tight.run(seconds)
    assert not run.completed
    assert not twin.completed, f"case {seed}"
    assert "force" in twin.message
    assert twin.seconds == pytest.approx(len(run.record.time) * test.period)


def test_the_checks_dry_run_is_the_run():
    for seed, test in some(3):
        seconds = TICKS * test.period
        found, run = test.check(seconds).dry_run, test.run(seconds)
        assert found.completed == run.completed, f"case {seed}"
        for name, peak in found.peaks.items():
            if name in run.record:
                assert peak == float(np.abs(run[name]).max()), f"case {seed}: {name}"
