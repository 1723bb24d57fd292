"""The console against the executive's state machine, without a clock: a model knows what it must do."""

import math
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from two_halves import LoopOptions, make_computer, make_rig, until

from bondloop.engine.data.ranges import Range
from bondloop.engine.ir.expr import Var
from bondloop.errors import InputError
from bondloop.hybrid import Tunable
from bondloop.realtime import Console, LoopProcess, Ring
from bondloop.realtime.programs.build import build_pair
from bondloop.realtime.protocol import EVENTS, MAIL, MAIL_KEY, MAILS, REFUSALS
from bondloop.realtime.recorder import Recorder
from bondloop.realtime.ring import EventLog
from bondloop.realtime.stop_requests import REQUESTS
from bondloop.results import Record, read_events
from bondloop.safety import Cause

BEGIN = {"stiffness": 400.0, "gain": 1.0, "ratio": 2.0, "fixed": 7.0}
BOUNDS = {"stiffness": (50.0, 500.0), "gain": (-1.0, 1.0), "ratio": (-math.inf, math.inf)}
NAMES = list(BEGIN)
NO_SENSE, NO_COMMAND, NOT_NOW, NO_PARAMETER, NOT_FINITE, OUT, FIXED, ANOTHER, NOT_ARMED = range(1, 10)


@pytest.fixture(scope="module")
def loop_program():
    more = {Var("gain"): 1.0, Var("ratio", range=Range(nonzero=True)): 2.0, Var("fixed"): 7.0}
    spring = Tunable(50, 500, description="of the spring")
    tunable = {"stiffness": spring, "gain": Tunable(-1, 1), "ratio": Tunable()}
    return build_pair(replace(make_computer(parameters=more), tunable=tunable), make_rig()).loop


@pytest.fixture
def start(loop_program, table):
    """Start a loop in lock-step that rests in its safe state after a trip."""

    def started(**options):
        chosen = {"link": "loopback://", "lock_step": True, "start": False, "hold": True, "retreat": 0.01}
        return LoopProcess(loop_program, LoopOptions(**{**chosen, **options}), table)

    return started


class Model:
    """What the executive must do, in a few lines."""

    def __init__(self, arm):
        self.arm, self.state, self.cause, self.run = arm, "inactive", 0, 1
        self.armed, self.values = not arm, dict(BEGIN)

    def obey(self, kind):
        """Return the number of the refusal, 0 for none."""
        state = self.state
        if kind == "arm":
            self.armed |= state == "inactive"
            return 0 if state == "inactive" else NOT_NOW
        if kind == "start":
            if state != "inactive" or not self.armed:
                return NOT_NOW if state != "inactive" else NOT_ARMED
            self.state = "active"
        elif kind == "retreat":
            if state != "active":
                return NOT_NOW
            self.state = "safe"
        elif kind == "trip":
            self.cause, self.state = self.cause or int(Cause.OPERATOR), "safe"
        elif kind == "reset":
            if state != "safe":
                return NOT_NOW
            self.__dict__.update(vars(Model(self.arm)), run=self.run + 1)
        return 0

    def set(self, batch):
        """Return the refusals of each value of a batch: all are set, or none is."""
        own = [self._unfit(i, x) for i, x in batch]
        if not any(own):
            self.values.update({NAMES[i]: x for i, x in batch})
        return [bad or (ANOTHER if any(own) else 0) for bad in own]

    def _unfit(self, index, value):
        if index >= len(NAMES):
            return NO_PARAMETER
        name = NAMES[index]
        if name not in BOUNDS:
            return FIXED
        if not math.isfinite(value):
            return NOT_FINITE
        least, most = BOUNDS[name]
        return OUT if not least <= value <= most or (name == "ratio" and value == 0) else 0


VALUES = st.one_of(
    st.floats(-2, 600), st.sampled_from([0.0, 50.0, 500.0, math.nan, math.inf, -math.inf, 1e308, -0.0])
)
BATCH = st.lists(st.tuples(st.sampled_from([0, 1, 2, 0, 1, 2, 3, 4, 2**31]), VALUES), min_size=1, max_size=16)
GOOD = st.tuples(st.floats(50, 500), st.floats(-1, 1)).map(lambda pair: list(enumerate(pair)))
WORDS = st.sampled_from(["arm", "start", "retreat", "trip", "reset"])
COMMANDS = st.lists(st.one_of(WORDS, WORDS, GOOD, BATCH), min_size=4, max_size=16)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(arm=st.booleans(), commands=COMMANDS)
def test_whatever_is_asked_for_a_model_knows_what_becomes_of_it(start, arm, commands):
    """States, causes, parameters and refusals; values go past the checks in Python, as a stranger's would."""
    model = Model(arm)
    with start(arm=arm) as loop, Console.attach(loop.name) as console:
        log = EventLog(console.segment)
        log.parameters = [str(i) for i in range(2**8)]
        for command in commands:
            if isinstance(command, str):
                expected = [model.obey(command)]
                receipt = getattr(console, command)("ada")
            else:
                expected = model.set(command)
                receipt = console._sent(
                    "set", console.mailbox._send_all([(3, i, x) for i, x in command], "ada")
                )
            obeyed = receipt.wait(60)
            assert obeyed == (not any(expected)), (command, receipt)
            until(lambda: console.snapshot().state == model.state)
            events = [e for e in log.events() if e.mail or e.kind in REQUESTS]
            assert [e.refused for e in events] == [REFUSALS[n] for n in expected]
            assert {e.who for e in events} == {"ada"}
            shown = console.snapshot()
            assert (shown.cause, shown.run, shown.armed) == (model.cause, model.run, model.armed)
            assert {p.name: p.value for p in console.parameters} == model.values
        loop.mailbox.stop()
        assert loop.wait(60) == (3 if model.cause else 0)


def test_what_the_console_shows(start):
    with start() as loop, Console.attach(loop.name) as console:
        assert loop.name in Console.segments()
        by_name = {p.name: p for p in console.parameters}
        assert (by_name["stiffness"].least, by_name["stiffness"].most) == (50.0, 500.0)
        assert by_name["stiffness"].description == "of the spring"
        assert (by_name["ratio"].least, by_name["ratio"].tunable, by_name["fixed"].tunable) == (
            None,
            True,
            False,
        )
        assert [(c.name, c.unit, c.role) for c in console.channels][1] == ("command", "m", "command")
        assert console.snapshot().emulated
        assert console.start("ada").wait(60)
        until(lambda: console.snapshot().step > 50)
        rows = console.rows()
        assert (np.diff(rows["cycle"]) == 1).all()
        assert console.snapshot().channels.keys() == {"x", "command", "measured.force"}
        receipt = console.stop("bob")
        assert receipt.wait(60)
        loop.wait(60)
        # Only now: a loop without a clock overwrites its ring while somebody looks the other way.
        assert len(console.rows(since=console.written - 3, most=2)) == 2
        events = console.events()
        assert [e.who for e in events if e.kind == "stop"] == ["bob"]
        assert [e.name for e in events if e.kind == "state"][-1] == "finalized"
    assert loop.name not in Console.segments()


def test_what_python_refuses_never_reaches_the_loop(start):
    with start() as loop, Console.attach(loop.name) as console:
        for values, words in (
            ({"stifness": 100.0}, "did you mean 'stiffness'"),
            ({"stiffness": 501.0}, "at most 500"),
            ({"stiffness": math.nan}, "finite"),
            ({"ratio": 0.0}, "other than 0"),
            ({}, "from 1 to 16"),
        ):
            with pytest.raises(InputError, match=words):
                console.set(values)
        with pytest.raises(InputError, match="no switches"):
            console.ramp_in()
        with pytest.raises(InputError, match="no switch 'torque'"):
            console.ramp_out("torque")
        for ask in (console.hold, console.resume, lambda: console.span(0.5)):
            with pytest.raises(InputError, match="tunable="):
                ask()
        assert int(loop.segment.header["mail_given"][0]) == 0


@pytest.mark.parametrize("kind", [0, 2, 6, 9, 100, 2**32 - 1])
def test_kinds_that_there_are_none_of(start, kind):
    with start() as loop, Console.attach(loop.name) as console:
        receipt = console._sent("nonsense", loop.mailbox._send(kind, 0, 1.0))
        assert not receipt.wait(60)
        assert receipt.refused == REFUSALS[NO_COMMAND]


def test_a_batch_that_is_broken_sets_nothing(start):
    """Its numbers do not count down, it holds something else, or says that more follow than can."""
    with start() as loop, Console.attach(loop.name) as console:
        header = loop.segment.header
        for kinds, more in (
            ([3, 3], [1, 1]),
            ([3, 4], [1, 0]),
            ([3], [16]),
            ([4, 3], [1, 0]),
            ([3], [2**63]),
        ):
            first = int(header["mail_given"][0])
            entries = np.zeros(len(kinds), MAIL)
            for i, (kind, count) in enumerate(zip(kinds, more, strict=True)):
                entries[i] = (first + 1 + i, kind, 0, 100.0, count, b"", 0)
            words = entries.view("<u8").reshape(len(kinds), -1)
            entries["check"] = np.bitwise_xor.reduce(words, axis=1) ^ np.uint64(MAIL_KEY)
            for i, entry in enumerate(entries):
                header["mail"][0, (first + i) % MAILS] = entry
            header["mail_given"][0] = first + len(kinds)
            last = first + len(kinds)
            until(lambda last=last: loop.mailbox.taken(last))
        # What follows a broken batch is a command of its own.
        assert console.set({"gain": 0.25}).wait(60)
        assert console.snapshot().state == "inactive"
        events = [e for e in EventLog(console.segment).events() if e.mail]
        assert [e.refused == "" for e in events] == [
            False,
            False,
            False,
            False,
            False,
            False,
            True,
            False,
            True,
        ]


def test_a_flood_is_heard_four_commands_a_tick_and_forgotten_in_order(start):
    """Whoever floods the mailbox lets the log turn over; nothing else suffers, and the last word counts."""
    with start() as loop, Console.attach(loop.name) as console:
        console.start()
        for i in range(3 * EVENTS):
            loop.mailbox._send(3, i % 7, float(i % 601), "flood")
        last = console.set({"stiffness": 123.0}, "ada")
        assert last.wait(60)
        assert console.parameters[0].value == 123.0
        assert console.snapshot().state == "active"
        log = EventLog(console.segment)
        events = log.events()
        assert log.lost > 0
        assert events[-1].who == "ada"
        assert [e.number for e in events] == list(range(events[0].number, events[-1].number + 1))
        assert console.stop().wait(60)


def test_no_operator_for_too_long(start):
    with start(operator_loss=0.2) as loop, Console.attach(loop.name) as console:
        beating = threading.Event()
        assert console.start().wait(60)
        heart = threading.Thread(target=lambda: [console.beat() or beating.wait(0.01) for _ in range(3)])
        heart.start()
        heart.join()
        until(lambda: console.snapshot().state == "safe")
        shown = console.snapshot()
        assert shown.cause == Cause.OPERATOR_LOST
        assert shown.words == "no operator was there for longer than the run allows"
        assert shown.cause_value > 0.2
        assert console.reset().wait(60)
    with start(operator_loss=3600.0) as loop, Console.attach(loop.name) as console:
        console.beat()
        assert console.start().wait(60)
        until(lambda: console.snapshot().step > 1000)
        assert console.snapshot().operator < 3600
        assert console.snapshot().state == "active"


def test_each_run_has_a_file_of_its_own_with_its_events(start, tmp_path):
    """Set, trip or retreat, reset, again: what was set is in the file of its run, and steps begin at 0."""
    on_the_clock = {"lock_step": False, "slots": 200_000}  # so that nothing is overwritten before it is read
    with start(**on_the_clock) as loop, Console.attach(loop.name) as console:
        recorder = Recorder(Ring.attach(loop.name), tmp_path / "run.h5")
        for i in range(3):
            assert console.start("ada").wait(60)
            assert console.set({"stiffness": 300.0 + i, "gain": 0.5}, "bob").wait(60)
            assert not console._sent("", loop.mailbox._send(3, 0, 1e9, "eve")).wait(60)
            until(lambda: console.snapshot().step > 20)
            assert (console.trip if i == 1 else console.retreat)("ada").wait(60)
            until(lambda: console.snapshot().state == "safe")
            assert console.reset("ada").wait(60)
            assert {p.name: p.value for p in console.parameters} == BEGIN
        console.stop("ada").wait(60)
        loop.wait(60)
        recorder.run(threading.Event())
        recorder.ring.close()
    files = [tmp_path / name for name in ("run.h5", "run-2.h5", "run-3.h5")]
    assert sorted(tmp_path.iterdir()) == sorted(files)
    for i, path in enumerate(files):
        record, events = Record.load(path), read_events(path)
        assert record.attributes["run"] == i + 1
        assert record.attributes["cause"] == (Cause.OPERATOR if i == 1 else 0)
        assert record.attributes["samples_lost"] == record.attributes["events_missing"] == 0
        assert record.time[0] == 0.0
        mine = events["kind"] == "set"
        assert events["who"][mine].tolist() == ["bob", "bob", "eve"]
        assert events["name"][mine].tolist() == ["stiffness", "gain", "stiffness"]
        assert events["before"][mine].tolist() == [400.0, 1.0, 300.0 + i]
        assert events["value"][mine].tolist() == [300.0 + i, 0.5, 1e9]
        assert events["refused"][mine].tolist() == ["", "", REFUSALS[OUT]]
        at = events["step"][mine]
        assert at[0] == at[1]  # one tick
        assert np.allclose(events["time"][mine], at * 1e-3)
        assert [n for n, k in zip(events["name"], events["kind"], strict=True) if k == "state"][-1] == (
            "finalized" if i == 2 else "safe"
        )


def test_a_command_to_a_loop_that_has_ended(start):
    with start() as loop, Console.attach(loop.name) as console:
        console.stop().wait(60)
        loop.wait(60)
        receipt = console.start()
        assert not receipt.wait(60)
        assert receipt.refused == "the loop has ended"
        assert not console.snapshot().alive


@pytest.mark.parametrize("way", ["trip", "retreat"])
def test_a_stop_during_a_retreat_is_obeyed_at_its_end(start, way):
    """Where the loop rests after a trip it had been counted, confirmed, and forgotten."""
    options = {"lock_step": False, "retreat": 0.3, "start": True}
    with start(**options) as loop, Console.attach(loop.name) as console:
        until(lambda: console.snapshot().step > 5)
        assert getattr(console, way)().wait(60)
        assert console.stop().wait(60)
        assert not console.reset().wait(60), "it ends: there is no other run"
        loop.wait(60)
        assert console.snapshot().state == "finalized"
