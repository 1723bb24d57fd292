"""What is made of a loop's telemetry: of which run, of which tick, and what was late."""

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
from bondloop.dashboard.presence import EventLog
from bondloop.dashboard.samples import Samples
from bondloop.realtime import Console
from bondloop.realtime.segment import Segment

sys.path.insert(0, str(Path(__file__).parent))
from many_actuators import odd_loop

pytestmark = pytest.mark.realtime


@pytest.fixture(scope="module")
def watched():
    """A loop with an actuator that follows, started, and what watches it."""
    with (
        odd_loop(1, "") as loop,
        Console.attach(loop.name) as console,
        Console(Segment(loop.name)) as reading,
    ):
        yield loop, Attached(console, EventLog()), Samples(reading)


def newest(samples):
    """The newest sample, by the names of the channels."""
    end = samples.history.end
    row = samples.history.read(end - 1, end, range(len(samples.channels)))[0]
    return {c.name: float(x) for c, x in zip(samples.channels, row, strict=True)}


def bars(samples):
    return {b["title"]: (b["now"], b["most"]) for b in samples.gauges()["bars"]}


def test_a_run_ends_and_another_begins(watched):
    """Estimates, bars and curves show nothing of another run, and nothing that was not computed."""
    _, attached, samples = watched
    console = attached.console

    def seen(fits):
        def look():
            samples.look()
            attached.look()
            return fits(attached.snapshot)

        until(look)

    def follows(_):
        samples.estimate()
        return bool(samples.estimates.latest) and samples.estimates.latest[0]["error"] is not None

    seen(follows)
    assert np.isfinite(list(newest(samples).values())).all()
    before = bars(samples)
    assert console.retreat().wait(60)
    seen(lambda s: s.state == "safe")
    samples.look()
    assert samples.estimates.latest, "what the run was like is still shown"
    assert bars(samples)["force"][1] >= before["force"][1] > 0
    assert {name for name, x in newest(samples).items() if np.isfinite(x)} == {"command"}
    assert bars(samples)["stroke"][0] is None, "the place of the last tick is not where the rig is now"
    attached.take(samples.gauges())
    assert attached.status()["bars"]
    assert console.reset().wait(60)
    seen(lambda s: s.run == 2)
    assert attached.status()["bars"] == [], "what was found in another run is not shown"
    samples.look()
    assert samples.estimates.latest == []
    assert {most for _, most in bars(samples).values()} == {0.0}
    samples.estimate()
    assert samples.estimates.latest == [], "of a run without a tick there is nothing to estimate"
    assert [s["words"] for s in attached.status()["starting"]] == ["Start couples the halves at once"]
    assert console.arm().wait(60)
    assert console.start().wait(60)
    seen(follows)
    assert samples.history.time(samples.history.end) < attached.snapshot.time + 1.0
    assert attached.status()["starting"] == []


def test_deadlines_that_were_missed_stand_in_the_log(watched):
    """A loop that is stopped for fifty of its periods has missed most of them."""
    loop, attached, _ = watched

    def seen(fits):
        until(lambda: attached.look() or fits(attached.snapshot))

    seen(lambda s: s.state == "active")
    pid = int(loop.segment.header["loop_pid"][0])
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.05)
    os.kill(pid, signal.SIGCONT)

    def told(_):
        texts = [e["text"] for e in attached._log.since(0) if e["kind"] == "warning"]
        counts = [re.match(r"([\d,]+) deadlines missed", text) for text in texts]
        return any(found and int(found[1].replace(",", "")) >= 40 for found in counts)

    seen(told)
