"""The server over its own sockets, with friendly and with hostile ones at the other end."""

import contextlib
import json
import re
import sys
import time
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

sys.path.insert(0, str(Path(__file__).parent))
from talk import LIMIT, talking

from bondloop.dashboard.app import PAGE
from bondloop.dashboard.client import BURST
from bondloop.dashboard.server import MESSAGE_BYTES
from conftest import Near

pytestmark = pytest.mark.realtime


@pytest.fixture(scope="module")
def loopless(tmp_path_factory):
    """A server without a loop."""
    with Near(segment="bondloop-no-such-loop", runs=tmp_path_factory.mktemp("runs")) as served:
        yield served


@pytest.fixture
def web():
    """One client for all requests of a test: each that is made anew reads all certificates of the system."""
    with httpx.Client(verify=False) as client:
        yield client


def undisturbed(loop):
    """Nothing of what was tried has come to the loop."""
    status = loop.status()
    assert loop.running
    assert (status.state, status.cause, status.counts["mails"], status.counts["stops"]) == (
        "inactive",
        0,
        0,
        0,
    )


def closing(talk):
    """Hear until the server closes the connection; return its code."""
    try:
        while True:
            talk.hear()
    except ConnectionClosed as closed:
        return closed.rcvd.code


def test_the_page_is_served_with_a_strict_policy(loopless, web):
    answer = web.get(loopless.url)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-frame-options"] == "DENY"
    for name in re.findall(r'(?:src|href)="([\w./-]+)"', answer.text):
        assert web.get(f"{loopless.url}/{name}").status_code == 200, name


def test_the_page_asks_nobody_else():
    """No inline script or style, and no address but its own (an icon's name space is no request)."""
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", text)
    for path in [*PAGE.glob("*.js"), *PAGE.glob("*.css"), PAGE / "index.html"]:
        assert not re.search(r"https?://", path.read_text(encoding="utf-8")), path.name


HIDDEN = (
    "/app.py",
    "/../app.py",
    "/%2e%2e/app.py",
    "/vendor/..%2f..%2fapp.py",
    "/package.json",
    "//etc/passwd",
)


def test_nothing_else_is_served(loopless, web):
    assert {path: web.get(loopless.url + path).status_code for path in HIDDEN} == dict.fromkeys(HIDDEN, 404)


def test_strangers_are_refused_and_the_loop_does_not_notice(server, loop, web):
    own = {"Host": f"127.0.0.1:{server.port}"}
    assert web.get(server.url, headers={"Host": "rebound.example"}).status_code == 403
    assert web.post(f"{server.url}/api/check", headers=own).status_code == 403
    evil = {"Origin": "http://evil.example"}
    assert web.post(f"{server.url}/api/check", headers=evil).status_code == 403
    assert web.get(f"{server.url}/api/runs", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    for origin in ("http://evil.example", None, f"http://localhost:{server.port}"):
        with pytest.raises(InvalidStatus) as refused, connect(server.socket, origin=origin):
            pass
        assert refused.value.response.status_code == 403
    undisturbed(loop)


def test_a_link_on_another_page_leads_to_the_page_and_no_further(loopless, web):
    visit = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert web.get(loopless.url, headers=visit).status_code == 200
    assert web.get(f"{loopless.url}/api/runs", headers=visit).status_code == 403
    assert web.get(loopless.url, headers={**visit, "Host": "rebound.example"}).status_code == 403
    assert web.get(loopless.url, headers={**visit, "Sec-Fetch-Dest": "iframe"}).status_code == 403


def test_beyond_this_machine_the_token_is_demanded(loop, tmp_path, web):
    with Near(segment=loop.name, token="a-token-of-some-length", runs=tmp_path) as server:
        origin = {"Origin": server.url}
        assert web.get(server.url).status_code == 200, "the page itself holds no secret"
        assert web.get(f"{server.url}/api/runs").status_code == 401
        with pytest.raises(InvalidStatus), connect(server.socket, origin=server.url):
            pass
        login = f"{server.url}/api/login"
        assert web.post(login, content="wrong", headers=origin).status_code == 401
        assert web.post(login, content="x" * 5000, headers=origin).status_code == 413
        good = web.post(login, content="a-token-of-some-length", headers=origin)
        assert good.status_code == 200
        cookie = good.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert "a-token" not in cookie
        shown = {"Cookie": cookie.partition(";")[0]}
        assert web.get(f"{server.url}/api/runs", headers=shown).status_code == 200
        with connect(server.socket, origin=server.url, additional_headers=shown):
            pass
        codes = [web.post(login, content="wrong", headers=origin).status_code for _ in range(20)]
        assert 429 in codes, "guessing is slow"
    undisturbed(loop)


def test_a_huge_message_ends_the_connection(server, loop):
    with talking(server) as talk:
        talk.socket.send("x" * (MESSAGE_BYTES + 1))
        assert closing(talk) == 1009
    undisturbed(loop)


def test_a_flood_ends_the_connection(server, loop):
    with talking(server) as talk:
        talk.state("inactive")
        with contextlib.suppress(ConnectionClosed):
            for _ in range(10 * BURST):
                talk.say(do="arm", id=1)
        assert closing(talk) == 4008
    undisturbed(loop)


def test_a_binary_message_ends_the_connection(server, loop):
    with talking(server) as talk:
        talk.socket.send(b"\0\1\2")
        assert closing(talk) == 1003
    undisturbed(loop)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["do", "plots", "got", "hello", "id", "factor", "values", "switches", "channels", "window"]
            )
            | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(st.lists(JSON.map(json.dumps) | st.text(max_size=40), min_size=1, max_size=8))
def test_any_message_is_answered_or_refused(loopless, messages):
    """Whatever is said, the server is there afterwards, for this browser and for others."""
    with talking(loopless) as talk:
        for text in messages:
            talk.socket.send(text)
        answer = talk.ask("take")
        assert "done" in answer or "error" in answer
        talk.ask("give_back")


@pytest.mark.parametrize(
    "plots",
    [
        5,
        [5],
        [{}],
        [{"plot": 0, "channels": [99], "window": 1, "pixels": 10}],
        [{"plot": 0, "channels": [-1], "window": 1, "pixels": 10}],
        [{"plot": 0, "channels": [0], "window": 1e9, "pixels": 10}],
        [{"plot": 0, "channels": [0], "window": 1, "pixels": 0}],
        [{"plot": 0, "channels": [0], "window": 1, "pixels": 10**9}],
        [{"plot": 0, "channels": [0] * 1000, "window": 1, "pixels": 10}],
        [{"plot": 0, "channels": [0], "window": 1, "pixels": 10}] * 100,
    ],
)
def test_plots_beyond_bounds_are_refused(loopless, plots):
    with talking(loopless) as talk:
        talk.say(plots=plots, id=7)
        assert "error" in talk.until(lambda m: isinstance(m, dict) and m.get("type") == "answer")


def test_a_browser_that_does_not_draw_gets_one_frame_and_then_the_newest(server, loop):
    """One frame is on its way at a time; what comes after it holds all that was missed, as of then."""
    with talking(server) as talk:
        talk.until(lambda _: talk.loop.get("channels"))
        talk.say(plots=[{"plot": 0, "kind": "strip", "channels": [0], "window": 100, "pixels": 4000}])
        first, (block,) = _frame(talk)
        end = block.first + block.step * block.columns.shape[1]
        begun = loop.ring.written
        while loop.ring.written < begun + 500:
            time.sleep(0.01)
        talk.say(got=first)
        _, (later,) = _frame(talk)
        assert not later.restart
        assert later.first == pytest.approx(end, abs=1e-9), "nothing is left out, nothing comes twice"
        assert later.columns.shape[1] * later.step >= 0.3


def _frame(talk):
    """Hear a frame without saying so."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        message = talk.hear()
        if isinstance(message, tuple):
            return message
    raise AssertionError("no frame has come")
