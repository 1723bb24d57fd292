"""The pre-flight list of a machine, which is played over UDP by another thread and stands where it is put."""

import json
import os
import pty
import select
import threading
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from test_emergency_stop import PRESSED, TELLS, Clocked
from test_start import LIMITS
from two_halves import until
from wire import ACCEPT, BYE, COMMAND, HELLO, MEASURED, pack, unpack

from bondloop.cli.terminal import TerminalList
from bondloop.errors import InputError
from bondloop.files import read_channels_text
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime import Console
from bondloop.realtime.policy import PreflightPolicy, SessionPolicy
from bondloop.realtime.preflight import AT_REST, CHECK, ITEMS, RECORD, SELF_TEST, STOP, Item
from bondloop.realtime.programs.interface import measured_names
from bondloop.realtime.session import prepare
from bondloop.rehearsal import Run
from bondloop.report import write_report
from bondloop.safety import Interlock

soon = partial(until, seconds=15.0)
SEEN = (STOP, AT_REST, CHECK, RECORD, SELF_TEST)
PLACE = "measured.displacement[1]"


class Rig(Clocked):
    """A rig on the loop's clock that stands at `place`, and tells of its emergency stop where it `tells`.

    It answers the newest packet alone: on a busy machine it would fall ever further behind.
    """

    def __init__(self, names, tells=True):
        super().__init__()
        self.names, self.tells, self.place, self.commanded = names, tells, float, 0

    def run(self):
        sent = 0
        while True:
            data, peer = self.socket.recvfrom(2048)
            packet = unpack(data)
            while packet["kind"] not in (HELLO, BYE) and select.select([self.socket], [], [], 0)[0]:
                packet = unpack(self.socket.recv(2048))
            if packet["kind"] == BYE:
                return
            self.commanded += packet["kind"] == COMMAND
            word = (TELLS | (PRESSED if self.pressed else 0)) if self.tells else 0
            values = [self.place() if name == PLACE else 0.0 for name in self.names]
            if packet["kind"] == HELLO:
                reply = pack(ACCEPT, packet["session"], word, 0, values)
            else:
                sent += 1
                reply = pack(MEASURED, packet["session"], sent, packet["sequence"], values, word)
            self.socket.sendto(reply, peer)


@pytest.fixture(scope="module")
def test():
    limits = replace(LIMITS, tracking_error="12 mm")  # this rig stands still
    interlock = Interlock(limits, stale=10**6, release=0.01, retreat=0.05)
    return gawthrop_two_actuators.test().replaced(gap=60.0, interlock=interlock)


@pytest.fixture
def session(test, tmp_path):
    """Return a function that runs a session beside what `act(console, rig)` does, and returns the run."""

    def run(act, tells=True, **more):
        options = {"approach": 0.02, "timeout": 20.0, "supervisor": 60.0, "arm": act is not None}
        rig = Rig(measured_names(test.computer_tick), tells)
        made = prepare(
            test, 0.1, link=rig.link, options=options | more.pop("options", {}), **more.pop("made", {})
        )
        made = replace(
            made, options=replace(made.options, stale=10**6, overrun="count", overrun_limit=0)
        )  # the rig may be as slow as it is
        failed = []

        def operate(segment):
            try:
                with Console.attach(segment) as console:
                    act(console, rig)
            except BaseException as error:  # noqa: BLE001 - the test's own thread raises it
                failed.append(error)
            finally:
                with Console.attach(segment) as console:
                    console.stop()

        threads = []

        def started(segment):
            if act is not None:
                threads.append(threading.Thread(target=operate, args=[segment]))
                threads[-1].start()

        with rig:
            run = made.run(record=tmp_path / "run.h5", started=started, **more)
            for thread in threads:
                thread.join(60)
        if failed:
            raise failed[0]
        return run, rig

    return run


def item(preflight, text):
    preflight.look()
    return next(i for i in preflight.items() if i.text.startswith(text))


def press_and_release(rig, preflight):
    rig.pressed = True
    soon(lambda: "is pressed" in item(preflight, STOP).missing)
    rig.pressed = False
    soon(lambda: not item(preflight, STOP).missing)


def complete(rig, preflight, who="ada"):
    press_and_release(rig, preflight)
    preflight.check_shown(who)
    for text in ITEMS:
        preflight.tick(text, True, who)
    soon(lambda: preflight.look() or not preflight.missing)


def ticks(console):
    """Wait for ticks of the test."""
    soon(lambda: console.snapshot().step > 0 or console.snapshot().state == "safe")
    shown = console.snapshot()
    assert shown.step > 0, (shown.state, shown.words, shown.cause_value, shown.cause_channel)


def test_what_was_observed_and_who_confirmed_what_is_in_the_run_file(session, tmp_path):
    seen = {}

    def act(console, rig):
        preflight = console.preflight
        before = item(preflight, STOP)
        assert (
            before.missing == "press the emergency stop at the rig and release it; the loop has not seen it"
        )
        for text in SEEN:
            with pytest.raises(InputError, match="cannot be ticked by hand"):
                preflight.tick(text, True, "ada")
        with pytest.raises(InputError, match="expected an item of the pre-flight list"):
            preflight.tick("another", True, "ada")
        for give in (console.arm, console.start):
            with pytest.raises(
                InputError, match=r"not complete: The emergency stop .*the loop has not seen it .and"
            ):
                give("ada")
        complete(rig, preflight)
        preflight.tick(ITEMS[0], False, "ada")
        with pytest.raises(InputError, match=f"not complete: {ITEMS[0]}: to be confirmed"):
            console.arm("ada")
        preflight.tick(ITEMS[0], True, "bob")
        rig.pressed = True
        soon(lambda: item(preflight, STOP).missing)
        with pytest.raises(InputError, match="is pressed; release it"):
            console.arm("ada")
        rig.pressed = False
        soon(lambda: not item(preflight, STOP).missing)
        seen["stop"] = item(preflight, STOP)
        assert console.arm("ada").wait(60)
        assert console.start("carl").wait(60)
        ticks(console)

    run, _ = session(act)
    assert run.operator == "carl"
    assert Run.load(tmp_path / "run.h5").preflight == run.preflight
    texts = [i["text"] for i in run.preflight]
    assert texts == [*SEEN, *ITEMS]
    by = {i["text"]: (i["kind"], i["by"]) for i in run.preflight}
    assert by[STOP] == by[AT_REST] == ("observed", "the loop")
    assert by[CHECK] == ("observed", "ada")
    assert by[RECORD] == ("observed", "the supervisor")
    assert by[SELF_TEST] == ("observed", "the loop")
    assert run.self_test.startswith("passed, ")
    assert f"{run.record.attributes['self_test']['cases']} cases" in run.self_test
    assert by[ITEMS[0]] == ("confirmed", "bob")
    assert by[ITEMS[5]] == ("confirmed", "ada")
    stop = next(i for i in run.preflight if i["text"] == STOP)
    assert stop["evidence"] == seen["stop"].evidence
    assert stop["evidence"].endswith(f"released at {stop['at'][11:23]} UTC")
    assert all(i["at"] for i in run.preflight)


def test_a_stop_that_is_not_reported_becomes_a_confirmation_that_states_so(session):
    text = f"{STOP} (the link does not report the emergency stop)"

    def act(console, _):
        preflight = console.preflight
        preflight.check_shown("ada")
        for name in ITEMS:
            preflight.tick(name, True, "ada")
        soon(lambda: preflight.look() or len(preflight.missing) == 1)
        with pytest.raises(InputError, match=r"link does not report the emergency stop.: to be confirmed"):
            console.arm("ada")
        preflight.tick(text, True, "ada")
        assert console.arm("ada").wait(60)
        assert console.start("ada").wait(60)
        ticks(console)

    run, _ = session(act, tells=False)
    found = next(i for i in run.preflight if i["text"].startswith(STOP))
    assert (found["text"], found["kind"], found["by"]) == (text, "confirmed", "ada")


def test_a_reset_clears_it(session):
    def act(console, rig):
        complete(rig, console.preflight)
        assert console.arm("ada").wait(60)
        assert console.start("ada").wait(60)
        ticks(console)
        rig.pressed = True
        soon(lambda: console.snapshot().state == "safe")
        rig.pressed = False
        soon(lambda: "stopped" not in flags(console))
        assert console.reset("ada").wait(60)
        soon(lambda: console.snapshot().state == "inactive")
        preflight = console.preflight
        assert "has not seen it" in item(preflight, STOP).missing, "it was pressed before the reset"
        assert all(item(preflight, text).missing for text in ITEMS)
        assert "read the check" in item(preflight, CHECK).missing
        with pytest.raises(InputError, match="not complete"):
            console.arm("ada")
        complete(rig, preflight, "bob")
        assert console.arm("bob").wait(60)
        assert console.start("bob").wait(60)
        ticks(console)

    run, _ = session(act)
    assert run.record.attributes["run"] == 2
    assert run.operator == "bob"
    first, second = (Run.load(f) for f in run.record.attributes["files"])
    assert [r.operator for r in (first, second)] == ["ada", "bob"]
    confirmed = [{i["by"] for i in r.preflight if i["kind"] == "confirmed"} for r in (first, second)]
    assert confirmed == [{"ada"}, {"bob"}]
    times = [next(i["evidence"] for i in r.preflight if i["text"] == STOP) for r in (first, second)]
    assert times[0] != times[1]


def flags(console):
    from bondloop.realtime.protocol import FLAGS

    rows = console.rows(since=max(console.written - 1, 0))
    return [word for word, bit in FLAGS.items() if len(rows) and rows["flags"][-1] & bit]


AMPLITUDE = 0.005 * 25e-3
"""Of a standard deviation of 0.5 % of the limit of 25 mm."""


@pytest.mark.parametrize(
    ("size", "rests"), [(0.8, True), (1.2, False), (-1.2, False)], ids=["below", "above", "below zero"]
)
def test_a_rig_that_moves_is_not_at_rest(session, size, rests):
    """A slow sinusoid whose standard deviation is on either side of 0.5 % of the limit."""

    def act(console, rig):
        preflight = console.preflight
        soon(lambda: not item(preflight, AT_REST).missing)
        begin = time.monotonic()
        size_at = size * AMPLITUDE * np.sqrt(2)
        rig.place = lambda: size_at * np.sin(2 * np.pi * 4.0 * (time.monotonic() - begin))
        if rests:
            end = time.monotonic() + 3
            while time.monotonic() < end:
                assert not item(preflight, AT_REST).missing
                time.sleep(0.05)
            return
        soon(lambda: "at rest: measured.displacement[1] varied" in item(preflight, AT_REST).missing)
        with pytest.raises(InputError, match="not complete"):
            console.arm("ada")
        rig.place = lambda: 0.0
        soon(lambda: not item(preflight, AT_REST).missing)

    session(act)


def test_what_a_session_calls_rest_holds_for_every_console(session):
    """A sinusoid that is small enough for the package's policy is not for this laboratory's."""

    def act(console, rig):
        begin = time.monotonic()
        rig.place = lambda: 0.8 * AMPLITUDE * np.sqrt(2) * np.sin(8 * np.pi * (time.monotonic() - begin))
        soon(lambda: "at rest: measured.displacement[1] varied" in item(console.preflight, AT_REST).missing)
        rig.place = lambda: 0.0
        soon(lambda: not item(console.preflight, AT_REST).missing)

    session(act, made={"policy": SessionPolicy(preflight=PreflightPolicy(share=0.002))})


def press_when_it_waits(rig, waits):
    """Press the emergency stop and release it, once `waits` is set."""

    def act():
        waits.wait(60)
        for rig.pressed in (True, False):
            time.sleep(0.3)

    thread = threading.Thread(target=act)
    thread.start()
    return thread


OPTIONS = {"approach": 0.02, "timeout": 20.0, "supervisor": 60.0}
FAST = {"stale": 10**6, "overrun": "count", "overrun_limit": 0}
LAB = ["The oil is warm", "The crane is parked"]


def channels(test):
    """Return the channels of a laboratory that has a list of its own."""
    units = {"command": "m", "force": "N", "displacement": "m", "velocity": "m/s"}
    names = ["command[0]", "command[1]", *measured_names(test.computer_tick)]
    text = ""
    for place, name in enumerate(names):
        unit = next(u for word, u in units.items() if word in name)
        way = "output" if name.startswith("command") else "input"
        text += f'[[channel]]\nname = "{name}"\ndirection = "{way}"\nunit = "{unit}"\n'
        text += f'channel = {place}\ngain = "1000 {unit}/V"\n'
    return read_channels_text(f"{text}[preflight]\nitems = {json.dumps(LAB)}\n")


def test_the_list_of_the_laboratory_at_the_terminal(test, tmp_path, capsys):
    """Who starts without a console confirms by the beginnings of items; the stop is waited for."""
    rig = Rig(measured_names(test.computer_tick))
    made = prepare(test, 0.1, link=rig.link, options=OPTIONS, channels=channels(test))
    made = replace(made, options=replace(made.options, **FAST))
    waits = threading.Event()
    asked = TerminalList("dora", ["the OIL", "The crane"])

    def is_complete(preflight):
        waits.set()
        return asked(preflight)

    with rig:
        thread = press_when_it_waits(rig, waits)
        run = made.run(record=tmp_path / "run.h5", preflight=is_complete, operator="dora")
        thread.join(60)
    said = capsys.readouterr().err
    assert "still to do: press the emergency stop at the rig and release it" in said
    assert f"\ndone: {STOP}: pressed at " in said
    assert run.operator == "dora"
    texts = [i["text"] for i in run.preflight]
    assert texts == [*SEEN, *LAB]
    assert {i["by"] for i in run.preflight if i["kind"] == "confirmed"} == {"dora"}
    assert next(i["by"] for i in run.preflight if i["text"] == CHECK) == "dora, at the terminal"
    assert run.record.description["channels"]["preflight"] == LAB
    page = write_report(tmp_path / "run.h5", check=False)
    for words in (
        "Operator: dora.",
        "Self-test of the safety layer at the start: passed, ",
        STOP,
        "pressed at ",
        *LAB,
        "the supervisor",
    ):
        assert words in page, words
    assert "There was" not in page


def test_who_is_not_there_to_confirm_is_refused_and_nothing_moves(test, tmp_path):
    made = prepare(test, 0.1, link="udp://127.0.0.1:9", options=OPTIONS)
    for given, words in (
        ([], "confirm 6 items at a terminal, or by --confirm"),
        (["The"], "expected the beginning of one item; found 'The'"),
        ([STOP], "cannot be ticked by hand"),
    ):
        rig = Rig(measured_names(test.computer_tick))
        told = replace(made, options=replace(made.options, link=rig.link, stale=10**6))
        with rig, pytest.raises(InputError, match=words):
            told.run(record=tmp_path / "run.h5", preflight=TerminalList("dora", given), operator="dora")
        assert rig.commanded == 0


@pytest.mark.parametrize("answer", ["y\n", "YES\n", "n\n", "\n"])
def test_an_answer_at_the_terminal(answer, capsys):
    """One item after the other, each once; anything but yes refuses; what is observed has its own lines."""

    class Listed:
        def __init__(self):
            self.given, self.moves = {}, False

        def check_shown(self, who):
            self.shown = who

        def items(self):
            return [
                Item(t, by=self.given.get(t, ""), missing="" if t in self.given else "confirm") for t in LAB
            ] + [Item(AT_REST, "observed", missing="wait" if self.moves else "", evidence="still")]

        def tick(self, text, _, who):
            self.given[text] = who

    listed = Listed()
    master, slave = os.openpty()
    with os.fdopen(slave) as answers:
        asked = TerminalList("emil", (), answers)
        for _ in range(3):
            assert not asked(listed), "nothing was typed yet"
        question = f"[2/3] {LAB[0]}? [y/n] "
        assert capsys.readouterr().err == question
        for listed.moves, words in ((True, "still to do: wait"), (False, f"done: {AT_REST}: still")):
            asked(listed)
            asked(listed)
            assert capsys.readouterr().err == f"\n{words}\n{question}"
        os.write(master, answer.encode())
        if answer.strip().casefold() not in ("y", "yes"):
            with pytest.raises(InputError, match=f"not confirmed, so nothing was started: {LAB[0]}"):
                asked(listed)
            assert listed.given == {}
        else:
            assert not asked(listed)
            assert listed.given == {LAB[0]: "emil"}
            assert not asked(listed)
            os.write(master, answer.encode())
            asked(listed)
            assert asked(listed)
            assert listed.given == dict.fromkeys(LAB, "emil")
    os.close(master)


def test_a_test_that_a_program_starts_has_no_list_and_the_report_says_so(test, tmp_path):
    rig = Rig(measured_names(test.computer_tick))
    made = prepare(test, 0.1, link=rig.link, options=OPTIONS)
    with rig:
        run = replace(made, options=replace(made.options, **FAST)).run(
            record=tmp_path / "run.h5", operator="x"
        )
    assert (run.operator, run.preflight) == ("x", [])
    assert "nobody confirmed anything" in write_report(tmp_path / "run.h5", check=False)
    rehearsed = write_report(test.run(0.05), check=False)
    assert "nobody confirmed" not in rehearsed
    assert "There was none: this was a rehearsal" in rehearsed


def test_what_was_typed_before_a_question_does_not_answer_it(session):
    ours, theirs = pty.openpty()

    def act(console, _):
        with os.fdopen(theirs, encoding="utf-8") as answers:
            terminal = TerminalList("ada", answers=answers)
            preflight = console.preflight

            def confirmed():
                preflight.look()
                assert not terminal(preflight)
                return [i.text for i in preflight.items() if i.kind == "confirmed" and i.by]

            os.write(ours, b"y\ny\ny\n")  # pasted, or meant for another program
            for _ in range(5):
                assert confirmed() == []
            os.write(ours, b"y\n")
            soon(lambda: confirmed() == [ITEMS[0]])
            confirmed()  # asks for the next
            os.write(ours, b"n\n")
            with pytest.raises(InputError, match="not confirmed, so nothing was started"):
                soon(lambda: not confirmed())

    session(act)
    os.close(ours)
