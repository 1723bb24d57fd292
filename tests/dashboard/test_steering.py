"""Commands through the server: confirmed by the loop, from the operator alone; servers die, loops go on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from talk import LIMIT, talking

from bondloop.realtime.segment import write_words
from conftest import Near, Server

pytestmark = pytest.mark.realtime


def test_what_is_done_was_confirmed_by_the_loop(server, loop):
    with talking(server) as talk:
        assert "done" in talk.ask("take")
        assert "error" in talk.ask("start"), "not armed"
        assert "done" in talk.ask("arm")
        assert loop.segment.header["armed"][0] == 1
        assert "done" in talk.ask("start")
        talk.state("active")
        before = talk.status["loop"]["parameters"]["stiffness"]
        assert before == 400.0  # two_halves.PARAMETERS
        assert "done" in talk.ask("set", values={"stiffness": 350.0})
        talk.until(lambda _: talk.status["loop"]["parameters"]["stiffness"] == 350.0)
        assert "done" in talk.ask("trip")
        assert loop.status().cause == 9
        talk.state("safe")
        assert talk.status["loop"]["cause_words"] == "tripped by hand"
        assert "error" in talk.ask("start"), "a trip demands a reset"
        assert "done" in talk.ask("reset")
        talk.state("inactive")
        assert "done" in talk.ask("stop")
        loop.wait(60)
        texts = [event["text"] for event in talk.events]
        assert any("stiffness: 400 -> 350" in text for text in texts)
        assert any(event["kind"] == "trip" for event in talk.events)


NONSENSE = [
    {"do": "explode"},
    {"do": "set", "values": {"no.such.parameter": 1.0}},
    {"do": "set", "values": {"stiffness": "soft"}},
    {"do": "set", "values": {}},
    {"do": "set", "values": {f"p{i}": 1.0 for i in range(100)}},
    {"do": "span", "factor": None},
    {"do": "ramp_in", "switches": ["sideways"]},
    {"do": "ramp_in", "switches": 5},
    {"do": "tick", "item": 99, "ticked": True},
    {"do": "rehearse"},
]


def test_commands_that_make_no_sense_are_refused_in_words(server, loop):
    with talking(server) as talk:
        talk.ask("take")
        for message in NONSENSE:
            assert len(talk.ask(**message)["error"]) > 10, message
    assert loop.status().state == "inactive"


def test_a_viewer_sees_the_same_and_cannot_command(server, loop):
    with talking(server, name="ada") as operator, talking(server, name="bob") as viewer:
        operator.ask("take")
        for command in ("arm", "start", "reset", "hold", "take"):
            assert "operator" in viewer.ask(command)["error"]
        assert loop.status().counts["mails"] == 0
        operator.ask("arm")
        operator.ask("start")
        viewer.state("active")
        assert viewer.status["presence"]["operator"].startswith("ada")
        operator.ask("give_back")
        assert "done" in viewer.ask("take")
        assert "error" in operator.ask("set", values={"stiffness": 350.0})
        assert "done" in viewer.ask("set", values={"stiffness": 350.0})


@pytest.mark.parametrize(
    ("word", "cause", "states"),
    [("trip", 9, {"retreat", "safe"}), ("retreat", 0, {"retreat", "safe"}), ("stop", 0, {"finalized"})],
)
def test_a_viewer_brings_the_rig_to_rest(server, loop, word, cause, states):
    """Everybody may stop, one may start; who it was stands in the log."""
    with talking(server, name="ada") as operator, talking(server, name="bob") as viewer:
        for command in ("take", "arm", "start"):
            assert "done" in operator.ask(command)
        viewer.state("active")
        assert "done" in viewer.ask(word)
        viewer.until(lambda _: viewer.status["loop"]["state"] in states)
        assert loop.status().cause == cause
        viewer.until(lambda _: any(e["who"].startswith("bob") and word in e["text"] for e in viewer.events))


def test_who_comes_back_has_his_role_still(server, loop):
    with talking(server) as talk:
        talk.ask("take")
        badge = talk.badge
    with talking(server, badge=badge) as again:
        assert "done" in again.ask("arm")
    assert loop.running


@pytest.mark.parametrize("server", [{"grace": 0.2}], indirect=True)
def test_the_operator_is_released_when_he_stays_away(server):
    with talking(server, name="ada") as talk:
        talk.ask("take")
    with talking(server, name="bob") as other:
        other.until(lambda _: other.status.get("presence", {}).get("operator") == "")
        assert "done" in other.ask("take")


def test_without_an_operator_the_rig_retreats_where_that_is_wanted(loop, tmp_path):
    words = ("--segment", loop.name, "--runs", tmp_path, "--no-operator", "1,retreat")
    with Server(*words) as server:
        with talking(server) as talk:
            talk.ask("take")
            talk.ask("arm")
            talk.ask("start")
            talk.state("active")
        with talking(server, name="a viewer is no operator") as viewer:
            viewer.state("safe")
    assert loop.status().cause == 0, "a retreat is no trip"


def test_a_server_that_is_killed_and_comes_back_finds_its_loop(loop, tmp_path):
    server = Server("--segment", loop.name, "--runs", tmp_path)
    with talking(server) as talk:
        badge = talk.badge
        talk.ask("take")
        talk.ask("arm")
        talk.ask("start")
        talk.state("active")
    server.kill()
    written = loop.ring.written
    while loop.ring.written < written + 200:
        time.sleep(0.01)
    assert loop.status().state == "active"
    with Near(segment=loop.name, runs=tmp_path) as again, talking(again, badge=badge) as talk:
        talk.state("active")
        talk.until(
            lambda _: any(event["text"].startswith("start") for event in talk.events)
        )  # the loop's own log
        assert "error" in talk.ask("reset"), "roles do not outlive a server"
        talk.ask("take")
        assert "done" in talk.ask("trip")


def test_browsers_that_come_and_go_do_not_disturb_the_loop(server, loop):
    with talking(server) as talk:
        talk.ask("take")
        talk.ask("arm")
        talk.ask("start")
        talk.state("active")
        for _ in range(10):
            with talking(server):
                pass
        assert loop.status().state == "active"
        assert loop.status().cause == 0


def test_what_was_asked_on_an_old_picture_is_not_passed_on(server, loop):
    """A network that stalled, a laptop that slept: a start that comes late is refused, a trip never."""
    with talking(server) as talk:
        talk.until(lambda _: talk.status.get("at"))
        old = talk.status["at"] - 60.0
        talk.ask("take")
        assert "look at the page again" in talk.ask("arm", seen=old)["error"]
        assert loop.status().counts["mails"] == 0
        for word in ("arm", "start"):
            talk.until(lambda m: isinstance(m, dict) and m.get("type") == "status")
            assert "done" in talk.ask(word, seen=talk.status["at"])
        assert "done" in talk.ask("trip", seen=old)
        talk.state("safe")
    assert loop.status().cause == 9


HOLDER = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_trip_comes_through_though_another_process_keeps_the_mailbox(server, loop):
    with talking(server) as talk:
        for word in ("take", "arm", "start"):
            assert "done" in talk.ask(word)
        talk.state("active")
        path = f"/dev/shm/{loop.name}"
        words = [sys.executable, "-c", HOLDER, path]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout.readline() == "held\n"
            assert "locked" in talk.ask("set", values={"stiffness": 350.0})["error"]
            assert talk.ask("trip")["done"] == "trip"
            talk.until(lambda _: talk.status["loop"]["state"] in ("retreat", "safe"))
            assert loop.status().cause == 9
            holder.stdin.close()


def test_a_trip_waits_behind_no_other_command(server, loop):
    """Sets that wait for a mailbox that another keeps take all the commands but one."""
    with talking(server) as talk:
        for word in ("take", "arm", "start"):
            talk.ask(word)
        words = [sys.executable, "-c", HOLDER, f"/dev/shm/{loop.name}"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            holder.stdout.readline()
            for number in range(20):
                talk.say(do="set", id=100 + number, values={"stiffness": 350.0})
            answers = []
            talk.number = 500
            talk.say(do="trip", id=501)
            talk.until(
                lambda m: (
                    isinstance(m, dict)
                    and m.get("type") == "answer"
                    and not answers.append(m)
                    and m["id"] == 501
                )
            )
            assert len(answers) < 20, "it came before the last of those that were asked for first"
            assert "done" in answers[-1]
            holder.stdin.close()


def test_people_go_by_their_names(server):
    with talking(server, name="") as talk, talking(server) as other:
        talk.ask("take")
        other.until(lambda _: other.status.get("presence", {}).get("operator", "").startswith("browser ("))
        talk.say(rename="Ada <b>\u202e" + "x" * 500)
        other.until(lambda _: other.status["presence"]["operator"].startswith("Ada <b>x"))
        assert len(other.status["presence"]["operator"].encode()) <= 32, "as the loop's log keeps it"
        talk.say(rename=["no", "name"], id=3)
        assert "error" in talk.until(
            lambda m: isinstance(m, dict) and m.get("type") == "answer" and m["id"] == 3
        )


def test_what_is_wrong_with_the_record_is_told(server, loop):
    with talking(server) as talk:
        loop.segment.header["recording_words"][0] = b"the disk is full; nothing more is recorded"
        talk.until(lambda _: "disk is full" in ((talk.status.get("loop") or {}).get("recording") or ""))
        talk.until(lambda _: any("the disk is full" in e["text"] for e in talk.events))
        loop.segment.header["recording_words"][0] = b""
        talk.until(lambda _: any("goes on" in e["text"] for e in talk.events))


def test_a_loop_that_dies_is_told_with_what_to_do(server, loop):
    with talking(server) as talk:
        for word in ("take", "arm", "start"):
            talk.ask(word)
        talk.state("active")
        os.kill(int(loop.segment.header["loop_pid"][0]), signal.SIGKILL)
        talk.state("dead")
        assert "emergency stop" in talk.status["loop"]["silence"]
        talk.until(lambda _: any("has died" in e["text"] for e in talk.events))
        assert "no loop" in talk.ask("trip")["error"]
        time.sleep(1.2)  # its supervisor still holds its memory: the next searches find it there
        assert "no loop" in talk.ask("trip")["error"]
        assert sum("has died" in e["text"] for e in talk.events) == 1


def test_a_rig_that_is_no_model_is_armed_after_the_list_and_after_each_reset_anew(server, loop):
    with talking(server) as talk:
        talk.ask("take")
        loop.segment.header["emulated"][0] = 0  # as a machine says of itself
        loop.segment.header["tells_stop"][0] = 0  # and nobody presses the stop of this one
        talk.until(lambda _: (talk.status.get("loop") or {}).get("emulated") is False)
        for word in ("arm", "start"):
            assert "pre-flight" in talk.ask(word)["error"]
        assert loop.status().counts["mails"] == 0
        # As a supervisor writes them: the check is observed then, and shown by the page alone.
        write_words(
            loop.segment, "session_words", {"check": {"passed": True, "verdict": "Run it"}, "items": ["A"]}
        )
        talk.until(lambda _: talk.status["preflight"][2]["missing"].endswith("under Prepare: Run it"))
        check = talk.status["preflight"][2]["text"]
        assert "cannot be ticked by hand" in talk.ask("tick", item=check, ticked=True)["error"]
        with talking(server, name="bob") as viewer:
            assert "only the operator" in viewer.ask("shown")["error"]
        assert "done" in talk.ask("shown")
        talk.until(lambda _: talk.status["preflight"][2]["evidence"] == "Run it")
        by = talk.status["preflight"][2]["by"]
        assert by.startswith("tester (")
        assert by.endswith("), on the page")
        texts = [item["text"] for item in talk.status["preflight"] if item["kind"] == "confirmed"]
        assert texts[-1] == "A"
        assert texts[0].endswith("(the link does not report the emergency stop)")
        for wrong in ("no item of it", 0, None, ["a"]):
            assert "expected an item" in talk.ask("tick", item=wrong, ticked=True)["error"]
        for text in texts:
            assert "done" in talk.ask("tick", item=text, ticked=True)
        assert "done" in talk.ask("tick", item=texts[-1], ticked=False)
        assert texts[-1] in talk.ask("arm")["error"]
        assert "done" in talk.ask("tick", item=texts[-1], ticked=True)
        for word in ("arm", "start", "trip"):
            assert "done" in talk.ask(word)
        talk.state("safe")
        assert "done" in talk.ask("reset")
        talk.until(
            lambda _: not any(i["by"] for i in talk.status["preflight"] if i["text"] in (check, *texts))
        )
        assert "pre-flight" in talk.ask("arm")["error"]


def test_a_trip_that_comes_together_with_the_end_of_its_connection_is_obeyed(server, loop):
    """The last word of a browser that is closed, or of a connection that had stalled: both in one packet."""
    with talking(server) as talk:
        assert "done" in talk.ask("take")
        assert "done" in talk.ask("arm")
        assert "done" in talk.ask("start")
        talk.state("active")
        connection = talk.socket
        with connection.protocol_mutex:
            connection.protocol.send_text(b'{"do": "trip", "id": 99}')
            connection.protocol.send_close(1001)
            connection.socket.sendall(b"".join(connection.protocol.data_to_send()))
        end = time.monotonic() + LIMIT
        while loop.status().cause != 9:
            assert time.monotonic() < end, "the trip was not obeyed"
            time.sleep(0.01)
    loop.mailbox.stop()
    loop.wait(60)
