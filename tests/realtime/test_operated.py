"""A session with an operator: armed and steered from a console, and rehearsed afterwards to the last bit."""

import threading

import numpy as np
import pytest
from two_halves import until

from bondloop.hybrid import Tunable
from bondloop.papers import dubois_damper, gawthrop_two_actuators
from bondloop.realtime import Console, run_realtime
from bondloop.results import Record, read_events
from bondloop.safety import Cause, Limits

SCALE, HOLD, DAMPING = "excitation.scale", "excitation.hold", "numerical.outer1.R.damping"


@pytest.fixture(scope="module")
def test():
    tunable = {SCALE: Tunable(0, 1.2, rate=4.0), DAMPING: Tunable(2, 20, rate=50)}
    return gawthrop_two_actuators.test().replaced(tunable=tunable, gap=60.0)


def steered(act):
    """Return what a session calls with the name of its segment, and the thread in which it is steered."""
    threads = []

    def started(segment):
        def operate():
            with Console.attach(segment) as console:
                act(console)

        threads.append(threading.Thread(target=operate))
        threads[-1].start()

    return started, threads


def test_what_was_set_in_the_loop_can_be_rehearsed_to_the_last_bit(test, tmp_path):
    """The events of the run file say at which ticks; a rehearsal that sets the same there is the same."""
    wanted = [
        {SCALE: 0.5, DAMPING: 12.0}, {DAMPING: 3.0}, {HOLD: 1.0}, {SCALE: 1.2}, {HOLD: 0.0}, {DAMPING: 20.0},
    ]  # fmt: skip

    def act(console):
        console.arm("ada")
        console.set(wanted[0], "ada")
        console.start("ada")
        for values in wanted[1:] * 3:
            console.set(values, "bob").wait(60)  # as many as come before the last tick

    started, threads = steered(act)
    run = run_realtime(
        test, 20.0, lock_step=True, arm=True, started=started, record=tmp_path / "run.h5", force=True,
        supervisor=60.0,
    )  # fmt: skip
    threads[0].join()
    assert run.completed
    assert (run.operator, run.preflight) == ("ada", []), "a model needs no list"
    events = read_events(tmp_path / "run.h5")
    sets = {}
    for kind, step, name, value, refused in zip(
        *(events[word] for word in ("kind", "step", "name", "value", "refused")), strict=True
    ):
        if kind == "set" and step < len(run.time):  # later ones hold for no tick
            assert refused == ""
            sets.setdefault(int(step), {})[str(name)] = float(value)
    assert sets[0].keys() >= {SCALE, DAMPING}
    rehearsed = test.run(20.0, sets=sets)
    for name in ("command[0]", "command[1]", SCALE, DAMPING, "desired.displacement[0]", "measured.force[1]"):
        assert np.array_equal(run[name], rehearsed[name]), name
    assert not np.array_equal(run["command[0]"], test.run(20.0)["command[0]"])


def test_a_run_without_an_end_is_ended_by_its_operator(test, tmp_path):
    def act(console):
        until(lambda: console.snapshot().step > 200)
        console.stop("ada").wait(60)

    started, threads = steered(act)
    run = run_realtime(test, None, started=started, record=tmp_path / "run.h5", supervisor=60.0)
    threads[0].join()
    assert run.completed
    assert len(run.time) > 200
    assert run.record.attributes["cause_words"] == "the operator stopped it"


def test_the_value_and_the_limit_of_a_trip_and_a_second_run(tmp_path):
    """A limit that is tightened trips; after the reset it is as at the beginning, in a file of its own."""
    limits = Limits(displacement=0.01, force=20000.0, command=0.02)
    interlock = dubois_damper.test().interlock
    assert interlock.limits == limits
    test = dubois_damper.test().replaced(
        gap=60.0, tunable={"interlock.limits.displacement": Tunable(least=1e-9, rate=100.0)}
    )
    shown = []

    def act(console):
        console.arm().wait(60)
        begin = console.start_words()
        assert [(s.words, s.couples) for s in begin] == [("follows its schedule", True)] * 2
        assert console.ramp_out(who="ada").wait(60)
        assert {(s.words, s.couples) for s in console.start_words()} == {("stays out until ramped in", False)}
        assert console.ramp_in(who="ada").wait(60)
        assert console.start().wait(60)
        until(lambda: console.snapshot().step > 20)
        assert console.set({"interlock.limits.displacement": 1e-9}, "ada").wait(60)
        until(lambda: console.snapshot().state == "safe")
        shown.append(console.snapshot())
        assert console.ramp_out().wait(60)
        assert console.reset().wait(60)
        assert console.start_words() == begin, "a reset puts the targets back"
        shown.append({p.name: p.value for p in console.parameters}["interlock.limits.displacement"])
        assert not console.start().wait(60)  # not armed
        console.arm().wait(60)
        assert console.start().wait(60)
        until(lambda: console.snapshot().step > 20)
        assert console.span(0.5).wait(60)
        assert console.hold().wait(60)
        assert console.retreat().wait(60)
        until(lambda: console.snapshot().state == "safe")
        console.stop().wait(60)

    started, threads = steered(act)
    run = run_realtime(
        test, None, arm=True, started=started, record=tmp_path / "run.h5", force=True, supervisor=60.0
    )
    threads[0].join()
    tripped, limit = shown
    assert tripped.cause == Cause.DISPLACEMENT
    assert tripped.cause_channel == "measured.displacement"
    assert abs(tripped.cause_value) > tripped.cause_limit == 1e-9
    assert limit == 0.01
    files = [tmp_path / "run.h5", tmp_path / "run-2.h5"]
    assert [str(f) for f in files] == run.record.attributes["files"]
    first, second = (Record.load(f) for f in files)
    assert (first.attributes["cause"], second.attributes["cause"]) == (Cause.DISPLACEMENT, 0)
    assert np.array_equal(run.time, second.time)
    assert run.time[0] == 0.0
