"""What the server makes of a loop's telemetry: of which run, of which tick, and what was late."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from two_halves import until

from bondloop.dashboard.attached import Attached
from bondloop.dashboard.events import EventLog
from bondloop.realtime import Console

sys.path.insert(0, str(Path(__file__).parent))
from many_actuators import odd_loop

pytestmark = pytest.mark.realtime


@pytest.fixture(scope="module")
def watched():
    """A loop with an actuator that follows, started, and what watches it."""
    with odd_loop(1, "") as loop, Console.attach(loop.name) as console:
        yield loop, Attached(console, EventLog())


def seen(attached, fits):
    """Look until something is so."""

    def look():
        attached.look()
        return fits(attached.snapshot)

    until(look)


def newest(attached):
    """The newest sample, by the names of the channels."""
    end = attached.history.end
    row = attached.history.read(end - 1, end, range(len(attached.channels)))[0]
    return {c.name: float(x) for c, x in zip(attached.channels, row, strict=True)}


def bars(attached):
    return {b["title"]: (b["now"], b["most"]) for b in attached.status()["bars"]}


def test_a_run_ends_and_another_begins(watched):
    """Estimates, bars and curves show nothing of another run, and nothing that was not computed."""
    _, attached = watched
    console = attached.console

    def follows():
        attached.look()
        attached.estimate()
        return bool(attached.estimates.latest) and attached.estimates.latest[0]["error"] is not None

    until(follows)
    assert np.isfinite(list(newest(attached).values())).all()
    before = bars(attached)
    assert console.retreat().wait(60)
    seen(attached, lambda s: s.state == "safe")
    assert attached.estimates.latest, "what the run was like is still shown"
    assert bars(attached)["force"][1] >= before["force"][1] > 0
    assert {name for name, x in newest(attached).items() if np.isfinite(x)} == {"command"}
    assert bars(attached)["stroke"][0] is None, "the place of the last tick is not where the rig is now"
    assert console.reset().wait(60)
    seen(attached, lambda s: s.run == 2)
    assert attached.estimates.latest == []
    assert {most for _, most in bars(attached).values()} == {0.0}
    attached.estimate()
    assert attached.estimates.latest == [], "of a run without a tick there is nothing to estimate"
    assert [s["words"] for s in attached.status()["starting"]] == ["Start couples the halves at once"]
    assert console.arm().wait(60)
    assert console.start().wait(60)
    until(follows)
    assert attached.history.time(attached.history.end) < attached.snapshot.time + 1.0
    assert attached.status()["starting"] == []


def test_deadlines_that_were_missed_stand_in_the_log(watched):
    """A loop that is stopped for fifty of its periods has missed most of them."""
    loop, attached = watched
    seen(attached, lambda s: s.state == "active")
    pid = int(loop.segment.header["loop_pid"][0])
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.05)
    os.kill(pid, signal.SIGCONT)

    def told(_):
        texts = [e["text"] for e in attached._log.since(0) if e["kind"] == "warning"]
        counts = [re.match(r"([\d,]+) deadlines missed", text) for text in texts]
        return any(found and int(found[1].replace(",", "")) >= 40 for found in counts)

    seen(attached, told)
