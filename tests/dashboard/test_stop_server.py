"""The page's stop: a process that answers whatever becomes of the page's server."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from two_halves import until

sys.path.insert(0, str(Path(__file__).parent))
from talk import talking

from bondloop.dashboard.stop_server import _listening
from conftest import Server

pytestmark = [pytest.mark.realtime]
TOKEN = "a-token-of-a-laboratory"


def ask(server, path, body=None, *, method="POST", timeout=60, **headers):
    """Ask the stop as a page of the server does; return status and what it said."""
    link = http.client.HTTPConnection("127.0.0.1", server.stop_port, timeout=timeout)
    about = {"Origin": server.url, **{k.replace("_", "-"): v for k, v in headers.items()}}
    try:
        link.request(
            method,
            path,
            None if body is None else json.dumps(body),
            {k: v for k, v in about.items() if v is not None},
        )
        answer = link.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        link.close()


def stop_process(server):
    """Return the number of the stop's process."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"bondloop.dashboard.stop_server" in words and parent == server.process.pid:
            return int(folder.name)
    return None


@pytest.fixture
def moving(loop, tmp_path):
    """A server beside a loop that moves its rig."""
    loop.mailbox.arm()
    loop.mailbox.start()
    until(lambda: loop.ring.state == "active")
    with Server("--segment", loop.name, "--runs", tmp_path) as server:
        yield server


@pytest.mark.parametrize("fate", ["well", "frozen", "killed"])
@pytest.mark.parametrize(("kind", "state"), [("trip", "safe"), ("retreat", "safe"), ("stop", "finalized")])
def test_it_brings_the_rig_to_rest_whatever_becomes_of_the_server(moving, loop, fate, kind, state):
    if fate != "well":
        moving.process.send_signal(signal.SIGSTOP if fate == "frozen" else signal.SIGKILL)
    try:
        status, said = ask(moving, f"/{kind}", {"loop": loop.name, "name": "bob", "badge": "b" * 16})
        assert (status, said["request"]) == (200, kind)
        (answer,) = said["loops"]
        assert (answer["loop"], answer["confirmed"]) == (loop.name, True)
        until(lambda: loop.ring.state == state)
        assert loop.status().cause == (9 if kind == "trip" else 0)
    finally:
        moving.process.send_signal(signal.SIGCONT) if fate == "frozen" else None
        loop.stop()
        loop.wait(60)


def test_it_outlives_its_server_as_long_as_there_is_something_to_stop(moving, loop):
    number = stop_process(moving)
    moving.kill()
    assert ask(moving, "/", method="GET")[1] == {"loops": [loop.name]}
    loop.stop()
    loop.wait(60)
    until(lambda: not Path(f"/proc/{number}").exists())


def test_the_server_starts_it_again(moving, loop):
    before = stop_process(moving)
    os.kill(before, signal.SIGKILL)
    with talking(moving) as talk:
        talk.until(lambda _: any("it was started again" in e["text"] for e in talk.events))
        talk.until(lambda m: isinstance(m, dict) and m.get("type") == "status")
        moving.stop_port = talk.status["stop_port"]
    assert stop_process(moving) not in (None, before)
    assert ask(moving, "/stop", {})[1]["loops"][0]["confirmed"]
    loop.wait(60)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": None}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "https://127.0.0.1:{port}"}, 403),
        ({"Origin": "http://rebound.example:{port}"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "rebound.example:{stop}"}, 403),
        ({"Host": "127.0.0.1:{port}"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 200),
        ({"Host": "localhost:{stop}", "Origin": "http://localhost:{port}"}, 200),
        ({"Host": "localhost:{stop}"}, 403),
    ],
)
def test_what_another_page_tries_is_refused(moving, loop, headers, status):
    about = {
        name: value and value.format(port=moving.port, stop=moving.stop_port)
        for name, value in headers.items()
    }
    assert ask(moving, "/stop", {}, **about)[0] == status
    if status != 200:
        assert loop.ring.state == "active"
        loop.stop()
    loop.wait(60)


def test_a_token_is_demanded_where_the_page_demands_one(loop, tmp_path):
    with Server("--segment", loop.name, "--runs", tmp_path, "--token", TOKEN) as server:
        assert ask(server, "/stop", {})[0] == 401
        assert ask(server, "/stop", {}, Authorization="Bearer wrong-token-altogether")[0] == 401
        assert ask(server, "/", method="GET", Cookie="bondloop-dashboard=x; y")[0] == 401
        link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        link.request("POST", "/api/login", TOKEN, {"Origin": server.url})
        cookie = link.getresponse().headers["Set-Cookie"].partition(";")[0]
        link.close()
        assert loop.running
        assert ask(server, "/stop", {}, Cookie=cookie)[0] == 200  # a cookie knows no port
        loop.wait(60)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"{",
        b"[]",
        b'{"loop": {"a": 1}}',
        b'"' * 1000,
        b"[" * 1000,
        b'{"name": "\\u0000\\ud800"}',
        b'{"badge": "\\ud800"}',
        b"\xff" * 9,
    ],
)
def test_who_is_let_in_is_obeyed_whatever_the_body_says(moving, loop, said):
    link = http.client.HTTPConnection("127.0.0.1", moving.stop_port, timeout=60)
    link.request("POST", "/stop", said, {"Origin": moving.url})
    assert json.loads(link.getresponse().read())["loops"][0]["confirmed"]
    link.close()
    loop.wait(60)


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\r\n\r\n",
        b"GET /\r\n\r\n",
        b"POST /stop HTTP/1.1\r\nHost\r\n\r\n",
        b"POST /stop HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /stop HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /stop HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"A" * 100_000,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_nonsense_stops_nothing_and_harms_nobody(moving, loop, nonsense):
    with socket.create_connection(("127.0.0.1", moving.stop_port), 60) as stranger:
        try:
            stranger.sendall(nonsense)
            while stranger.recv(4096):
                pass
        except ConnectionError:
            pass
    assert loop.ring.state == "active"
    assert ask(moving, "/trip", {})[1]["loops"][0]["confirmed"]


def test_who_holds_connections_open_keeps_nobody_out(moving):
    held = [socket.create_connection(("127.0.0.1", moving.stop_port), 60) for _ in range(300)]
    try:
        for stranger in held[::2]:
            stranger.sendall(b"POST /stop HTTP/1.1\r\n")
        began = time.monotonic()
        assert ask(moving, "/trip", {})[1]["loops"][0]["confirmed"]
        assert time.monotonic() - began < 60
    finally:
        for stranger in held:
            stranger.close()


def test_the_command_line_needs_no_page(loop):
    words = [sys.executable, "-m", "bondloop", "stop"]
    lost = subprocess.run([*words, "bondloop-none"], capture_output=True, text=True, check=False)
    assert lost.returncode == 1
    assert "there is no such loop; running: " in lost.stdout
    both = subprocess.run([*words, "--trip", "--retreat"], capture_output=True, text=True, check=False)
    assert "exclude each other" in both.stderr
    done = subprocess.run([*words, loop.name], capture_output=True, text=True, check=True)
    assert f"stop {loop.name}: confirmed after " in done.stdout
    loop.wait(60)


@pytest.mark.parametrize(("host", "there"), [("127.0.0.1", ("127.0.0.1",)), ("::", ("127.0.0.1", "::1"))])
@pytest.mark.parametrize("port", [0, 65536])
def test_it_listens_where_the_page_does(host, there, port):
    """At any port where the page has the last; by both families of addresses where the page does."""
    with contextlib.ExitStack() as ending:
        try:
            with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
                pass
        except OSError:
            pytest.skip(f"this machine has no {host}")
        listener = _listening({"host": host, "port": port}, ending)
        for name in there:
            with socket.create_connection((name, listener.getsockname()[1]), 60):
                pass
