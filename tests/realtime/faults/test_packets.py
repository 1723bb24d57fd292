"""Packets that are lost, repeated, reordered, spoilt or late, by a proxy between loop and rig."""

import re

import numpy as np
import pytest
from fault_proxy import PacketFaults
from fault_rules import (
    PERIOD,
    STALE,
    STATED,
    channel,
    ended,
    ended_safely,
    flagged,
    lost_by_the_clock,
    ran_on,
)
from wire import ACCEPT, COMMAND, HELLO, MEASURED, pack

STEPS = 650
WINDOW = {"begin": 40, "end": 350}
"""Harm is over well before the run is, so that all of it has been counted at the end."""


PATIENT = 10_000
"""Ticks of patience where the loop is to run on: a busy machine may hold rig and proxy up for seconds."""


def run(bench, *packet_faults, code=0, steps=STEPS, **options):
    if code == 0:
        options = {"stale": PATIENT, **options}
    rig = bench.rig("udp")
    proxy = bench.proxy(rig, *packet_faults)
    loop = bench.loop(proxy.link, steps=steps, **options)
    return rig, proxy, *ended(loop, code)


def heard_by(rig):
    """What the rig says of the session: commands that came, and those that were lost."""
    assert rig.process.stdout.readline() == f"a loop came: real time, period {PERIOD:g} s\n"
    return [int(n) for n in re.findall(r"\d+", rig.process.stdout.readline())]


def numbered(packet):
    """The measurement replaced by its own number, so that it can be seen which one was used."""
    number = packet["sequence"]
    return pack(MEASURED, packet["session"], number, packet["echo"], [1e-6 * number], stamp=packet["stamp"])


def used(ring, rows):
    """Numbers of the measurements that the ticks used; 0: that of the handshake, 0.3 N."""
    numbers = np.rint(1e6 * channel(ring, rows, "measured.force")).astype(int)
    return np.where(numbers > 100_000, 0, numbers)


@pytest.mark.parametrize("share", [0.01, 0.5], ids=["1 %", "50 %"])
def test_dropped(bench, share):
    """The rule: only a gap of more than `stale` ticks trips, and half the packets leave none."""
    fault = f"{share:.0%} of the packets dropped, each way".replace("%", " %")
    assert STATED[fault].cause is None
    up, down = (PacketFaults(kind, drop=share, seed=7, **WINDOW) for kind in (COMMAND, MEASURED))
    rig, _, ring, rows, status = run(bench, up, down)
    ran_on(ring, rows, status, STEPS)
    assert status.link["lost"] == down.did["drop"] > 0
    assert heard_by(rig) == [status.link["sent"] - up.did["drop"], up.did["drop"]]
    assert up.did["drop"] > 0
    assert rows["age"].max() <= PATIENT


def test_half_of_them_dropped_with_little_patience(bench):
    fault, stale = "50 % of the packets dropped, stale = 2", 2
    harm = [PacketFaults(kind, drop=0.5, seed=3, begin=40) for kind in (COMMAND, MEASURED)]
    *_, ring, rows, status = run(bench, *harm, code=3, stale=stale)
    at = ended_safely(ring, rows, status, fault)
    lost_by_the_clock(rows, at, status, stale)


@pytest.mark.parametrize("kind", [COMMAND, MEASURED], ids=["commands", "measurements"])
def test_all_dropped(bench, kind):
    """Where no command arrives measurements still come, but they answer ever older commands."""
    fault = "all packets dropped"
    *_, ring, rows, status = run(bench, PacketFaults(kind, drop=1.0, begin=60), code=3, steps=0)
    at = ended_safely(ring, rows, status, fault)
    lost_by_the_clock(rows, at, status, STALE)
    assert flagged(rows[at - 10 : at], "fresh").any() == (kind == COMMAND)


def test_duplicated(bench):
    assert STATED["packets duplicated"].cause is None
    up, down = (PacketFaults(kind, duplicate=0.5, seed=5, **WINDOW) for kind in (COMMAND, MEASURED))
    down.rewrite = numbered
    rig, _, ring, rows, status = run(bench, up, down)
    ran_on(ring, rows, status, STEPS)
    assert status.link["duplicated"] == down.did["duplicate"] > 100
    assert status.link["lost"] == status.link["reordered"] == 0
    assert heard_by(rig) == [status.link["sent"], 0]
    assert (np.diff(used(ring, rows)) >= 0).all()


def test_reordered(bench):
    """One that comes after its successors is counted and not used: the numbers used never fall."""
    assert STATED["packets reordered"].cause is None
    up, down = (PacketFaults(kind, swap=0.3, seed=6, **WINDOW) for kind in (COMMAND, MEASURED))
    down.rewrite = numbered
    rig, _, ring, rows, status = run(bench, up, down)
    ran_on(ring, rows, status, STEPS)
    assert status.link["reordered"] == down.did["swap"] > 50
    assert status.link["lost"] == status.link["duplicated"] == 0
    assert heard_by(rig) == [status.link["sent"], 0]
    assert (np.diff(used(ring, rows)) >= 0).all()


def test_corrupted(bench):
    """A flipped bit, anywhere in a packet, is found; every value used is one that the rig measured."""
    assert STATED["packets corrupted"].cause is None
    up, down = (PacketFaults(kind, corrupt=0.3, seed=8, **WINDOW) for kind in (COMMAND, MEASURED))
    rig, proxy, ring, rows, status = run(bench, up, down)
    ran_on(ring, rows, status, STEPS)
    assert status.link["corrupted"] == down.did["corrupt"] > 50
    assert status.link["lost"] == down.did["corrupt"]
    assert heard_by(rig) == [status.link["sent"] - up.did["corrupt"], up.did["corrupt"]]
    assert set(channel(ring, rows, "measured.force")) <= {p["values"][0] for p in proxy.measured}


def test_all_corrupted(bench):
    fault = "all packets corrupted"
    *_, ring, rows, status = run(bench, PacketFaults(MEASURED, corrupt=1.0, begin=60), code=3, steps=0)
    at = ended_safely(ring, rows, status, fault)
    lost_by_the_clock(rows, at, status, STALE)
    assert status.link["corrupted"] > 0.5 * STALE


def test_late(bench):
    """By 8 ticks, as a slow network would: counted, and every tick says how old its measurement is."""
    assert STATED["packets late by 8 ticks"].cause is None
    *_, ring, rows, status = run(bench, PacketFaults(MEASURED, begin=40, delay=lambda _: 8 * PERIOD))
    ran_on(ring, rows, status, STEPS)
    # By the clock, since the cycle whose command it answers: a loop that is held up counts fewer.
    at = np.arange(100, len(rows))
    waited = rows["time_ns"][at] - rows["time_ns"][at - 1 - rows["age"][at]]
    assert np.median(waited) >= 8e9 * PERIOD
    assert status.link["late"] >= 0.5 * STEPS
    assert status.link["lost"] <= 10  # those under way at the end


def test_later_and_later(bench):
    """Every packet comes half a tick later than the one before: there is news all the time, but it is old."""
    fault, stale = "packets later and later", 60
    delay = PacketFaults(MEASURED, begin=40, delay=lambda number: (number - 40) * 0.5 * PERIOD)
    *_, ring, rows, status = run(bench, delay, code=3, steps=0, stale=stale)
    at = ended_safely(ring, rows, status, fault)
    lost_by_the_clock(rows, at, status, stale)
    assert flagged(rows[at - stale : at], "fresh").any()  # how often, is the proxy's machine's business


def test_a_handshake_over_a_bad_line(bench):
    """Greetings, answers and the first measurements are lost: the first are repeated until one comes through.

    The last are not; the first ticks have the measurement that came with the answer.
    """
    harm = [PacketFaults(kind, drop=0.5, seed=1) for kind in (HELLO, ACCEPT)]
    harm.append(PacketFaults(MEASURED, drop=1.0, end=60))
    rig, proxy, ring, rows, status = run(bench, *harm, steps=100)
    ran_on(ring, rows, status, 100)
    assert all(h.did["drop"] > 0 for h in harm)
    assert heard_by(rig) == [status.link["sent"], 0]
    answers = {p["values"][0] for p in proxy.measured if p["kind"] == ACCEPT}
    force = channel(ring, rows, "measured.force")
    assert set(force[:5]) <= answers
    assert set(force) - answers  # how often fresh ones come, is the proxy's machine's business
