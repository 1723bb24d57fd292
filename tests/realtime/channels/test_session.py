"""Channels in a whole run: auxiliary ones are recorded, the file is kept; and the bench without a test."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from packet_peer import Layout, Peer
from two_halves import until

from bondloop.errors import InputError
from bondloop.files import read_channels, read_channels_text
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime.channels.bench import Bench, Stroke, expect_within, stroke_of
from bondloop.realtime.channels.sheet import sheet_html, sheet_text
from bondloop.realtime.channels.wiring import signal_units
from bondloop.realtime.programs.build import driver_file, loop_program
from bondloop.realtime.session import prepare
from bondloop.realtime.summary import watch_measured
from bondloop.rehearsal import Run
from bondloop.safety.causes import Cause


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Tests share the machine: whoever is held up is not missed."""
    own = Bench._options

    def patient(bench, url, stroke):
        return own(replace(bench, patience=60.0), url, stroke)

    monkeypatch.setattr(Bench, "_options", patient)


PATIENT = {"stale": 60_000, "timeout": 60.0, "supervisor": 60.0}

HEAD = """
[[channel]]
name = "{name}"
direction = "{direction}"
unit = "{unit}"
channel = {at}
type = "float64"
gain = 1
"""
TAIL = """
[packet.send]
bytes = {send}
fields = [{{is = "enable", at = {at}, type = "uint8"}}]

[packet.receive]
bytes = {receive}
"""


def file_of(test):
    """Return a channels file for all signals of a test, doubles one after the other, and the two layouts."""
    commands, measured = signal_units(test.computer_tick)
    ways = [(n, "output", u, 8 * i) for i, (n, u) in enumerate(commands.items())]
    ways += [(n, "input", u, 8 * i) for i, (n, u) in enumerate(measured.items())]
    ways.append(("oil", "auxiliary", "bar", 8 * len(measured)))
    rows = (HEAD.format(name=n, direction=d, unit=u or "1", at=at) for n, d, u, at in ways)
    send, receive = 8 * len(commands) + 1, 8 * len(measured) + 8
    takes = Layout(send, {"command": (0, "float64"), "enable": (send - 1, "uint8")})
    gives = Layout(receive, {"first": (0, "float64"), "oil": (receive - 8, "float64")})
    return "".join(rows) + TAIL.format(send=send, at=send - 1, receive=receive), takes, gives


def test_a_run_keeps_its_channels_and_what_is_recorded_beside_the_loop(tmp_path):
    test = gawthrop_two_actuators.test().replaced(gap=60.0)
    text, takes, gives = file_of(test)
    lab = read_channels_text(text, test=test)

    def answer(_, number):
        return gives.pack({"oil": float(number)})

    with Peer(takes, answer) as peer:
        # Machines need limits, which is tried elsewhere: the loop of a machine, in the session of a model.
        made = prepare(test, 0.05, link="none://", channels=lab, options={"retreat": 0.02})
        made = replace(
            made,
            loop=loop_program(made.test, loopback=False, drivers=[driver_file("packet")], channels=lab),
            options=replace(made.options, link=peer.link, machine=True, **PATIENT),
        )
        run = made.run(record=tmp_path / "run.h5")
    assert run.completed, run.verdict
    kept = Run.load(tmp_path / "run.h5")
    assert kept.record.units["aux.oil"] == "Pa"
    oil = kept["aux.oil"] / 1e5
    assert (np.diff(oil) >= 0).all()
    assert (oil == np.rint(oil)).all()
    assert oil[-1] > 10
    assert kept.record.description["channels"]["text"] == text
    assert read_channels_text(kept.record.description["channels"]["text"]) == lab


def test_the_words_of_a_fault_are_in_the_run_file(tmp_path):
    test = gawthrop_two_actuators.test().replaced(gap=60.0)
    text, takes, gives = file_of(test)
    fault = '[[fault]]\nchannel = {}\ntype = "uint8"\nbit = 0\ncode = 4\nwords = "the drive is too hot"\n'
    at = gives.size
    text = fault.format(at) + text.replace(f"bytes = {at}\n", f"bytes = {at + 1}\n")
    lab = read_channels_text(text, test=test)
    gives = Layout(at + 1, {**gives.fields, "fault": (at, "uint8")})
    with Peer(takes, lambda found, _: gives.pack({"fault": found["enable"] & 1})) as peer:
        made = prepare(test, 60.0, link="none://", channels=lab, options={"retreat": 0.02})
        made = replace(
            made,
            loop=loop_program(made.test, loopback=False, drivers=[driver_file("packet")], channels=lab),
            options=replace(made.options, link=peer.link, machine=True, **PATIENT),
        )
        made.run(record=tmp_path / "run.h5")
    kept = Run.load(tmp_path / "run.h5").record.attributes
    assert kept["message"].startswith(
        "the rig's controller reported a fault: the drive is too hot (fault 4) at t ="
    )
    assert (kept["cause"], kept["fault_words"]) == (Cause.CONTROLLER_FAULT, "the drive is too hot")


def test_looking_at_a_test_through_its_channels():
    test = gawthrop_two_actuators.test()
    text, takes, gives = file_of(test)
    shown = []
    with Peer(takes, lambda *_: gives.pack({"first": 2.5, "oil": 3.0})) as peer:
        made = prepare(test, 1.0, link=peer.link, channels=read_channels_text(text), inactive=True)
        status = watch_measured(made, shown.append, 1.2)
    assert status.cause == 0
    assert shown[-1]["aux.oil"] == (3e5, "Pa")
    assert next(iter(shown[-1].values()))[0] == 2.5
    assert not any(p["enable"] for p in peer.heard)


BENCH = """
[[channel]]
name = "command"
direction = "output"
unit = "mm"
channel = 0
type = "float64"
gain = 1
limits = [-20, 20]
rate = "20 mm/s"
rest = 1
{feedback}

[[channel]]
name = "place"
direction = "input"
unit = "mm"
channel = 0
type = "float64"
gain = 1
offset = 0.25

[[channel]]
name = "other"
direction = "output"
unit = "mm"
channel = 9
type = "float64"
gain = 2
rest = 8

[[fault]]
channel = 8
type = "uint8"
bit = 1
code = 9
words = "the drive is too hot"

[packet.send]
bytes = 18
fields = [{{is = "enable", at = 8, type = "uint8"}}]

[packet.receive]
bytes = 9
"""
TAKES = Layout(18, {"command": (0, "float64"), "enable": (8, "uint8"), "other": (9, "float64")})
GIVES = Layout(9, {"place": (0, "float64"), "faults": (8, "uint8")})


class Drive:
    """Follows its command at once while it is enabled; begins at 3 mm."""

    def __init__(self, hot_after=math.inf):
        self.place, self.enabled, self.hot_after = 3.0, 0, hot_after

    def __call__(self, found, _):
        if found["enable"] & 1:
            self.place, self.enabled = found["command"], self.enabled + 1
        return GIVES.pack({"place": self.place - 0.25, "faults": 2 * (self.enabled > self.hot_after)})


def bench(peer, feedback=""):
    return Bench(read_channels_text(BENCH.format(feedback=feedback)), peer.link, rate=200.0, timeout=60.0)


def moved(peer):
    return np.array([p["command"] for p in peer.heard if p["enable"] & 1])


@pytest.mark.parametrize("feedback", ["", 'feedback = "place"'])
def test_an_output_is_exercised_along_raised_cosines(feedback):
    """From where it stands, or from rest; never beyond the goal, never faster than its rate."""
    with Peer(TAKES, Drive()) as peer:
        lab = bench(peer, feedback)
        status = lab.exercise(stroke_of(lab.lab["command"], 0.006, hold=0.1), lambda *_: None)
    assert status.cause == 0
    commands = moved(peer)
    assert commands.max() == pytest.approx(6.0)
    assert commands.min() == pytest.approx(1.0)
    assert commands[0] == pytest.approx(3.0 if feedback else 1.0, abs=1e-3)
    assert commands[-1] == pytest.approx(1.0)
    assert np.abs(np.diff(commands)).max() * 200.0 <= 20.0 * 1.001
    assert peer.heard[-1]["enable"] == 0
    assert {p["other"] for p in peer.heard} == {4.0}, "the other output is at rest: 8 mm at 2 mm each"


def test_a_fault_stops_it_and_is_said():
    with Peer(TAKES, Drive(hot_after=40)) as peer:
        lab = bench(peer)
        slow = Stroke(lab.lab["command"], 0.02, way=60.0, hold=0.0)
        status = lab.exercise(slow, lambda *_: None)
    assert (status.cause, status.fault_words) == (Cause.CONTROLLER_FAULT, "the drive is too hot")
    assert moved(peer).max() < 20.0
    assert moved(peer)[-1] == pytest.approx(1.0), "led back to rest"


@pytest.mark.parametrize(
    ("change", "to", "words"),
    [
        (("", ""), 0.021, "may go from -20 mm to 20 mm; found 21 mm"),
        (('rate = "20 mm/s"', ""), 0.01, "only where its file says how far and how fast"),
        (("limits = [-20, 20]", ""), 0.01, "only where its file says how far and how fast"),
        (("", ""), math.nan, "may go from"),
    ],
)
def test_nothing_moves_beyond_what_is_stated(change, to, words):
    lab = read_channels_text(BENCH.format(feedback="").replace(*change))
    with pytest.raises(InputError, match=words):
        stroke_of(lab["command"], to)


def test_a_bench_needs_a_link_with_channels():
    lab = read_channels_text(BENCH.format(feedback=""))
    for link, words in (("", "no link"), ("udp://127.0.0.1:1", "has no channels to look at")):
        with pytest.raises(InputError, match=words):
            Bench(lab, link).read("place", 3)
    with pytest.raises(InputError, match="is an output"):
        Bench(lab, "packet://127.0.0.1:1").read("command", 3)


def call(bondloop_app, *words):
    from click.testing import CliRunner

    return CliRunner().invoke(bondloop_app, [str(w) for w in words])


def test_the_command_line_from_the_check_to_the_first_slow_motion(tmp_path):
    from bondloop.cli.main import app

    file = tmp_path / "lab.toml"
    file.write_text(BENCH.format(feedback='feedback = "place"'))
    with Peer(TAKES, Drive()) as peer:
        where = ("--link", peer.link, "--rate", 200)
        assert "2 outputs, 1 input" in call(app, "channels", "check", file).stdout
        seen = call(app, "channels", "show", file, *where, "--seconds", 1, "--json")
        assert json.loads(seen.stdout)["values"]["place"] == pytest.approx(3e-3)
        assert "place +3 mm" in call(app, "channels", "show", file, *where, "--seconds", 1).stdout
        told = call(
            app,
            "channels",
            "zero",
            file,
            "place",
            *where,
            "--samples",
            20,
            "--operator",
            "Ada",
            "--to",
            "1 mm",
        )
        assert "zero of place: 0 -> 2 mm" in told.stdout
        assert read_channels(file)["place"].zero == pytest.approx(2e-3)
        back = call(app, "channels", "zero", file, "place", "--undo", "--operator", "Ada")
        assert "2 -> 0 mm" in back.stdout
        asked = call(app, "channels", "exercise", file, "command", "--to", "4 mm", *where)
        assert "nothing was moved" in asked.output
        assert not len(moved(peer))
        done = call(
            app, "channels", "exercise", file, "command", "--to", "4", "--hold", 0, "--yes", *where, "--json"
        )
        assert json.loads(done.stdout)["cause"] == 0
    assert moved(peer).max() == pytest.approx(4.0)
    assert "zero of place: 0 -> 2" in sheet_text(read_channels(file))


def test_ctrl_c_leads_an_exercised_output_to_rest():
    import os
    import signal

    with Peer(TAKES, Drive()) as peer:
        lab = bench(peer)

        def show(command, _):
            if command > 0.0012:
                os.kill(os.getpid(), signal.SIGINT)

        status = lab.exercise(Stroke(lab.lab["command"], 0.02, way=15.0, hold=60.0), show)
    assert status.cause == 0
    assert status.counts["stops"] >= 1
    assert 1.2 < moved(peer).max() < 20.0
    assert moved(peer)[-1] == pytest.approx(1.0)


def test_a_sheet_says_all_that_the_file_says_and_escapes_it():
    text = BENCH.format(feedback='note = "<b>left</b> & right"').replace(
        "gain = 1\nlimits", "polynomial = [0, 1]\nlimits"
    )
    lab = read_channels_text(text)
    plain, page = sheet_text(lab), sheet_html(lab)
    for word in ("command", "place", "0.25 mm + (1 mm) raw", "-20..20 mm", "fault 9: the drive is too hot"):
        assert word in plain
        assert word in page
    for word in ("20 mm/s", "1 mm", "rest", "feedback"):
        assert word in page
    table = sheet_text(
        read_channels_text(text.replace("gain = 1\noffset = 0.25", "table = [[-9, -8], [9, 8.5]]"))
    )
    assert "table: -9 → -8, 9 → 8.5" in table
    assert "<b>left</b>" not in page
    assert "&lt;b&gt;left" in page


@pytest.mark.parametrize(("stands", "shown"), [(25.0, "25 mm"), (-20.5, "-20.5 mm")])
def test_nothing_is_enabled_where_an_output_stands_beyond_its_limits(stands, shown):
    """It would jump to the nearest command that may be given: the limits are ±20 mm."""
    drive = Drive()
    drive.place = stands
    with Peer(TAKES, drive) as peer:
        lab = bench(peer, 'feedback = "place"')
        with pytest.raises(InputError) as refused:
            lab.exercise(stroke_of(lab.lab["command"], 0.006), lambda *_: None)
    assert f"command stands at {shown}; it may be at -20 to 20: move it back by hand" in str(refused.value)
    assert {p["enable"] for p in peer.heard} == {0}


def test_an_output_that_is_pushed_beyond_its_limits_before_the_start_is_not_enabled():
    """Within them when the link opens, beyond them in the cycle that would command first."""
    drive = Drive()
    with Peer(TAKES, drive) as peer:
        lab = bench(peer, 'feedback = "place"')
        stroke = stroke_of(lab.lab["command"], 0.006)
        with lab._started(stroke) as loop:
            drive.place = 25.0
            heard = len(peer.heard)
            until(lambda: len(peer.heard) > heard + 20)
            loop.mailbox.start()
            assert loop.wait(60) == 3
            status = loop.status()
    assert status.cause == Cause.CONTROLLER_FAULT
    assert "command stands at 25 mm" in status.fault_words
    assert {p["enable"] for p in peer.heard} == {0}


def test_before_the_first_command_an_output_is_held_where_it_stands():
    """Not at rest, 1 mm: a drive that is enabled by someone else would jump there."""
    with Peer(TAKES, Drive()) as peer:
        lab = bench(peer, 'feedback = "place"')
        lab.exercise(stroke_of(lab.lab["command"], 0.006, hold=0.0), lambda *_: None)
    before = [
        p["command"] for p in peer.heard[: next(i for i, p in enumerate(peer.heard) if p["enable"] & 1)]
    ]
    assert before[1:] == pytest.approx([3.0] * (len(before) - 1))


def test_no_zero_is_set_where_an_auxiliary_channel_shows_the_end_of_its_range():
    """Beyond its range it shows that end; the mean of that is no zero. A field cannot be beyond its type."""
    head = '[[channel]]\nname = "oil"\ndirection = "auxiliary"\nunit = "bar"\nchannel = 3\n'
    oil = read_channels_text(f'{head}gain = "50 bar/V"\nrange = ["0 V", "10 V"]\n')["oil"]
    expect_within(oil, np.array([1e4, 2e4]))
    with pytest.raises(
        InputError, match="'oil' was at the end of its range, 0 bar to 500 bar, in 1 of 2 samples"
    ):
        expect_within(oil, np.array([0.0, 1e4]))
    counted = read_channels_text(f'{head}gain = 0.1\ntype = "uint16"\n')["oil"]
    expect_within(counted, np.zeros(3))
