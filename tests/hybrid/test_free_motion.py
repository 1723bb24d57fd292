"""Free motions after a run: each is followed as if it were the only one."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for small_pair.py

from small_pair import halves

from bondloop import rigs
from bondloop.bondgraph import R
from bondloop.check.free_motion import GONE, LITTLE, QUIET, AfterRun, FreeMotion
from bondloop.check.running_loop import RunningLoop
from bondloop.control import Direct
from bondloop.engine.codegen import tolerances
from bondloop.hybrid import HybridTest
from bondloop.rehearsal.rehearsal import OFTEN, Rehearsal
from bondloop.rigs import WhiteNoise
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper


def after_run(sensors=None, steps=None, latency=0.0):
    """Return a small test at the end of its run of two seconds, and what linear analysis knows of it."""
    numerical, physical = halves("free", {"r": R(damping=5.0)}, damping=60.0)
    actuator = MassSpringDamper(m=2, c=150, k=15e3, drive="position")
    rig = rigs.Emulated(physical, actuator, sensors=sensors or {}, latency=latency)
    test = HybridTest(
        numerical, rig=rig, controller=Direct(), excitation={"v_wall": Sine(0.01, 4.0)}, rate=1000
    )
    loop = RunningLoop(test)
    step = loop.at()
    return AfterRun(test, Rehearsal(test, 2001), loop.knock(step), [step] if steps is None else steps)


def ticks_of(after):
    """Count the ticks that are run from now on."""
    run, counted = after.rehearsal.runner.run, []
    after.rehearsal.runner.run = lambda steps, *rest: counted.append(steps) or run(steps, *rest)
    return counted


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_one_knock_after_the_other_is_as_one_alone(noise):
    sensors = {"force": rigs.Sensor(WhiteNoise(noise), unit="N")} if noise else None
    together, alone = after_run(sensors), after_run(sensors)
    first, second = together.free_motion(1e-3), together.free_motion(-2e-3)
    assert alone.free_motion(-2e-3).levels.tolist() == second.levels.tolist()
    assert first.levels.tolist() != second.levels.tolist()
    again = together.free_motion(1e-3)
    assert (again.levels.tolist(), again.raw.tolist()) == (first.levels.tolist(), first.raw.tolist())


def test_the_run_without_a_knock_is_run_once():
    after = after_run({"force": rigs.Sensor(WhiteNoise(0.02), unit="N")})
    counted = ticks_of(after)
    lengths = []
    for aim in (1e-3, -1e-3, 1.1e-3):  # the same one would be known altogether
        counted.clear()
        after.free_motion(aim)
        lengths.append(sum(n for n in counted if n >= LITTLE // 2))
    assert lengths[1] == lengths[2]
    assert lengths[0] >= 1.9 * lengths[1]


def test_ticks_that_were_just_run_are_not_run_again():
    after = after_run({"force": rigs.Sensor(WhiteNoise(0.02), unit="N")})
    runner, counted = after.rehearsal.runner, ticks_of(after)

    def on(change=0.0):
        runner.restore(after.there, {next(iter(runner.state)): change})
        result = after.rehearsal.on(50, QUIET)
        return result.channels["actual.velocity"].tolist(), runner.snapshot().state.tolist()

    first = on()
    assert on() == first
    assert counted == [50]
    assert on(1e-9) != first
    assert counted == [50, 50]


def test_a_rehearsal_goes_back_to_any_tick_as_if_run_from_its_start():
    test = after_run().test
    kept, plain = Rehearsal(test, 2001), Rehearsal(test, 2001)
    counted = []
    kept.run_and_keep(2001)
    run = kept.runner.run
    kept.runner.run = lambda steps, *rest: counted.append(steps) or run(steps, *rest)
    for k in (1, OFTEN - 1, OFTEN, 1900, 700):
        assert kept.to(k)
        assert plain.to(k)
        assert kept.runner.snapshot().state.tolist() == plain.runner.snapshot().state.tolist()
    assert sum(counted) < 5 * OFTEN


def test_of_slow_ticks_no_more_is_kept_than_of_fast_ones(monkeypatch):
    rehearsal = Rehearsal(after_run().test, 2001)
    # As if every tick took that long.
    monkeypatch.setattr(tolerances, "CHUNK_SECONDS", 1e-9)
    rehearsal.run_and_keep(2001)
    rehearsal.keep()
    assert [s.count for s in rehearsal._kept] == [0, OFTEN, 2 * OFTEN, 3 * OFTEN, 2001]


def test_long_stretches_are_not_held(monkeypatch):
    after = after_run()
    monkeypatch.setattr("bondloop.rehearsal.rehearsal.SHORT", 10 * len(after.test.tick.channels))
    counted = ticks_of(after)
    for n in (10, 10, 11, 11):
        after.rehearsal.runner.restore(after.there)
        after.rehearsal.on(n, QUIET)
    assert counted == [10, 11, 11]


@pytest.mark.parametrize(
    ("level", "expected", "adapts", "lasts"),
    [
        (0.3, -1.0, False, False),
        (0.45, -1.0, False, True),
        (0.3, -1.0, True, True),
        (0.15, -1.0, True, False),
        (0.3, np.nan, False, True),  # unstable somewhere
        (0.15, np.nan, False, False),
    ],
)
def test_how_much_may_go_on(level, expected, adapts, lasts):
    motion = FreeMotion(np.full(80, level), np.full(80, level), 60.0, "", expected, adapts=adapts)
    assert motion.lasts == lasts
    assert motion.stays


def test_what_is_gone_is_not_followed_on_where_nothing_can_bring_it_back():
    stable, unknown = after_run(), after_run(steps=[])
    soon, later = stable.free_motion(1e-3), unknown.free_motion(1e-3)
    assert soon.last < GONE
    assert soon.seconds < 0.5 * later.seconds
    assert later.last < GONE


def test_what_is_still_in_a_delay_line_is_not_gone():
    # Beside the run without the knock nothing is seen of it until the rig has felt it.
    sensors = {"force": rigs.Sensor(WhiteNoise(1e-6), unit="N")}
    late = after_run(sensors, latency=4.0).free_motion(1e-3)
    assert late.seconds > 4.0
