"""Viewers, strangers and what they hold up: never the operator, and nobody's stop."""

import asyncio
import contextlib
import os
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidMessage
from websockets.sync.client import connect

sys.path.insert(0, str(Path(__file__).parent))
from talk import LIMIT, talking

from bondloop.dashboard import PagePolicy
from bondloop.dashboard.app import CONNECTIONS, PROGRESS
from conftest import Near, Server

pytestmark = pytest.mark.realtime

COUNT = 20
"""Commands that are timed."""
GREEDY = [
    {"plot": i, "kind": "strip", "channels": [0, 1, 2] * 8, "window": 120, "pixels": 4000} for i in range(30)
]
"""The most that a page may ask for, or nearly."""


def confirmed(talk):
    """Ask for a command twenty times; return how long the loop's answer took, in s."""
    spent = []
    for i in range(COUNT):
        began = time.perf_counter()
        assert "done" in talk.ask("set", values={"stiffness": 350.0 + i})
        spent.append(time.perf_counter() - began)
    return spent


@contextlib.contextmanager
def greedy(server, count):
    """Let viewers ask for everything anew after each frame; yield what counts the frames of each."""
    ending, frames = threading.Event(), [0] * count

    def ask(number):
        with talking(server, name="greedy") as talk:
            talk.until(lambda _: talk.loop.get("channels"))
            talk.say(plots=GREEDY)
            while not ending.is_set():
                with contextlib.suppress(TimeoutError):
                    if isinstance(message := talk.hear(0.1), tuple):
                        frames[number] += 1
                        talk.frames.clear()
                        talk.say(got=message[0])
                        talk.say(plots=GREEDY)

    viewers = [threading.Thread(target=ask, args=(i,)) for i in range(count)]
    for viewer in viewers:
        viewer.start()
    try:
        yield frames
    finally:
        ending.set()
        for viewer in viewers:
            viewer.join()


def until(fits):
    end = time.monotonic() + LIMIT
    while not fits():
        assert time.monotonic() < end, "it has not come"
        time.sleep(0.01)


def test_greedy_viewers_do_not_delay_a_command(loop, tmp_path):
    words = ("--segment", loop.name, "--runs", tmp_path)
    with Server(*words) as server, talking(server, name="ada") as talk:
        for word in ("take", "arm", "start"):
            assert "done" in talk.ask(word)
        until(lambda: loop.ring.written > 3000)
        talk.until(lambda _: talk.loop.get("channels"))
        talk.say(plots=[{"plot": 0, "kind": "strip", "channels": [0], "window": 10, "pixels": 500}])
        quiet = confirmed(talk)
        with greedy(server, 5) as frames:
            until(lambda: min(frames) >= 2)
            before, drawn = sum(frames), len(talk.frames)
            busy = confirmed(talk)
            until(lambda: sum(frames) > before)
            talk.until(lambda _: len(talk.frames) > drawn + 3)
        # It was 3.1 s for one viewer, 8 to 13 s for five. The median is not that of a machine that paused.
        assert statistics.median(busy) < statistics.median(quiet) + 0.2
        assert "done" in talk.ask("trip")


@pytest.mark.parametrize("server", [{"samples_patience": 1.0, "samples_processor": 2}], indirect=True)
def test_frames_that_never_come_hold_up_no_command(server):
    """The process that makes them is stopped: it is killed after a while, and another goes on."""
    with talking(server) as talk:
        for word in ("take", "arm", "start"):
            assert "done" in talk.ask(word)
        talk.until(lambda _: talk.loop.get("channels"))
        talk.say(plots=[{"plot": 0, "kind": "strip", "channels": [0], "window": 10, "pixels": 500}])
        talk.until(lambda m: isinstance(m, tuple))
        stuck = server.hub.telemetry.pid
        os.kill(stuck, signal.SIGSTOP)
        assert "done" in talk.ask("set", values={"stiffness": 350.0})
        talk.until(lambda _: talk.status["loop"]["parameters"]["stiffness"] == 350.0)
        until(lambda: talk.hear() and server.hub.telemetry.pid not in (stuck, None))
        for _ in range(3):
            talk.until(lambda m: isinstance(m, tuple))
        assert "done" in talk.ask("trip")


def half_open(server, count, words=b""):
    """Connect, say some words, and no more."""
    held = []
    for _ in range(count):
        held.append(socket.create_connection(("127.0.0.1", server.port), 10))
        held[-1].sendall(words)
    return held


def ended(held):
    """Whether the other end has closed a connection."""
    held.settimeout(0.05)
    try:
        while held.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


SILENCE = b""
HEAD = b"GET / HTTP/1.1\r\nHost: "
BODY = b"POST /api/login HTTP/1.1\r\nHost: {h}\r\nOrigin: http://{h}\r\nContent-Length: 40\r\n\r\nab"


@pytest.mark.parametrize("words", [SILENCE, HEAD, BODY], ids=["silence", "head", "body"])
def test_half_open_connections_do_not_lock_the_operator_out(server, words):
    words = words.replace(b"{h}", f"127.0.0.1:{server.port}".encode())
    held = half_open(server, 300, words)
    try:
        for path in ("", "/main.js", "/link.js"):
            assert httpx.get(server.url + path, verify=False).status_code == 200
        with talking(server) as talk:
            for word in ("take", "arm", "start", "trip"):
                assert "done" in talk.ask(word)
            # Those that are over the number are gone at once, all others after their time.
            assert sum(map(ended, held[: 300 - CONNECTIONS])) == 300 - CONNECTIONS
            until(lambda: talk.hear() and ended(held[-1]))
            until(lambda: all(map(ended, held)))
    finally:
        for each in held:
            each.close()


def test_who_sends_byte_by_byte_is_not_waited_for_and_a_long_answer_is(server, monkeypatch):
    async def listed(_):
        await asyncio.sleep(1.5 * PROGRESS)
        return [], ""

    monkeypatch.setattr("bondloop.dashboard.app.Replay._files", listed)
    answers = []
    asking = threading.Thread(
        target=lambda: answers.append(httpx.get(f"{server.url}/api/runs", verify=False, timeout=LIMIT))
    )
    asking.start()
    with socket.create_connection(("127.0.0.1", server.port), 10) as slow:
        began = time.monotonic()
        with contextlib.suppress(OSError):
            for byte in HEAD + b"x" * 1000:
                slow.sendall(bytes([byte]))
                time.sleep(0.05)
        assert 0.5 * PROGRESS < time.monotonic() - began < 0.05 * 1000
    asking.join()
    assert [answer.status_code for answer in answers] == [200]
    with httpx.Client(verify=False) as client:  # one connection for all
        assert [client.get(server.url).status_code for _ in range(5)] == [200] * 5


def agreed(reach):
    """Reach the server, again where a busy machine took longer to agree on TLS than it waits."""
    found = []

    def tried():
        with contextlib.suppress(OSError, InvalidMessage, httpx.TransportError):
            found.append(reach())
        return bool(found)

    until(tried)
    return found[0]


def test_who_does_not_agree_on_tls_is_not_waited_for(loop, tmp_path):
    certificate, key = (tmp_path / f"{name}.pem" for name in ("cert", "key"))
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", key, "-out", certificate, "-subj", "/CN=localhost", "-days", "2"]
    subprocess.run(words, check=True, capture_output=True)
    with Near(segment=loop.name, runs=tmp_path, certificate=certificate, key=key) as server:
        held = half_open(server, 300)
        try:
            url = server.url.replace("http", "https")
            assert agreed(lambda: httpx.get(url, verify=False)).status_code == 200
            trusted = ssl.create_default_context(cafile=certificate)
            trusted.check_hostname = False
            where = server.socket.replace("ws", "wss")
            limits = {"max_size": None, "max_queue": None}
            with agreed(lambda: connect(where, origin=url, ssl=trusted, **limits)) as websocket:
                from talk import Talk

                talk = Talk(websocket)
                for word in ("take", "arm", "start", "trip"):
                    assert "done" in talk.ask(word)
                until(lambda: talk.hear() and all(map(ended, held)))
        finally:
            for each in held:
                each.close()


def closing(talk):
    """Hear until the server closes the connection; return its code and reason."""
    try:
        while True:
            talk.hear()
    except ConnectionClosed as closed:
        return closed.rcvd.code, closed.rcvd.reason


def test_places_are_kept_for_who_is_the_operator_or_was(server):
    with contextlib.ExitStack() as held:
        with talking(server, name="ada") as ada:
            assert "done" in ada.ask("take")
            for number in range(PagePolicy.viewers):
                viewer = held.enter_context(talking(server, name=f"viewer {number}"))
                viewer.state("inactive")
            with talking(server, name="late") as late:
                code, reason = closing(late)
                assert code == 4013
                assert "viewers' places are taken" in reason
        with talking(server, name="ada", badge=ada.badge) as again:
            assert "done" in again.ask("arm")
            assert "done" in again.ask("give_back")
        with talking(server, name="ada", badge=ada.badge) as again:
            assert "done" in again.ask("take")
            assert "done" in again.ask("start")
            assert "done" in viewer.ask("trip")
            # However many pages of one's own are open, the next one gets in.
            own = [held.enter_context(talking(server, badge=ada.badge)) for _ in range(10)]
            own[-1].state("safe")
            assert "done" in own[-1].ask("reset")


@pytest.mark.parametrize("server", [{"hello": 2.0}], indirect=True)
def test_who_never_says_hello_takes_no_place(server):
    with contextlib.ExitStack() as held:
        mute = [
            held.enter_context(connect(server.socket, origin=server.url))
            for _ in range(PagePolicy.nameless + PagePolicy.viewers + 5)
        ]
        with talking(server) as talk:
            assert "done" in talk.ask("take")
            talk.until(lambda _: talk.status and talk.status["presence"]["viewers"] == 0)
            for websocket in (mute[0], mute[-1]):
                with pytest.raises(ConnectionClosed) as closed:
                    websocket.recv(LIMIT)
                assert closed.value.rcvd.code == 4013
            assert "done" in talk.ask("arm")
