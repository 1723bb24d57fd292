"""Loop and rig in two processes give the rehearsal's numbers to the last bit, over every link."""

import numpy as np
import pytest
from two_halves import LoopOptions, make_rig, make_whole

from bondloop.engine.codegen import Runner
from bondloop.realtime import LoopProcess, RigOptions, RigProcess
from bondloop.realtime.programs.build import build_pair

STEPS = 1500


def lock_step(programs, table, link, steps=STEPS, **more):
    options = LoopOptions(link=link, lock_step=True, steps=steps, retreat=0.05, timeout=20.0, **more)
    with LoopProcess(programs.loop, options, table) as loop:
        assert loop.wait(60) == 0, loop.messages
        rows = loop.ring.read()
        assert loop.ring.lost == 0
        return rows, loop.ring.names, loop.status()


@pytest.fixture(scope="module")
def rehearsed():
    inputs = np.sin(0.02 * np.arange(STEPS))[:, None]
    return Runner(make_whole(), backend="c").run(STEPS, inputs)


@pytest.mark.parametrize("scheme", ["loopback", "shm", "udp"])
def test_equals_the_rehearsal(programs, table, rehearsed, shm, scheme):
    if scheme == "loopback":
        rows, names, _ = lock_step(programs, table, "loopback://")
    else:
        own = shm if scheme == "shm" else "udp://127.0.0.1:0"
        with RigProcess(programs.rig, RigOptions(link=own, timeout=20.0)) as rig:
            rows, names, status = lock_step(programs, table, rig.link)
        assert status.link["age"] == 0
    active = rows[rows["state"] == 2]
    assert active["step"].tolist() == list(range(STEPS))
    for i, name in enumerate(names):
        assert active["channels"][:, i].tolist() == rehearsed.channels[name].tolist(), name


def test_a_rig_serves_one_loop_after_the_other_from_the_beginning(programs, table, rehearsed, shm):
    with RigProcess(programs.rig, RigOptions(link=shm, timeout=20.0)) as rig:
        for _ in range(2):
            rows, names, _ = lock_step(programs, table, rig.link, steps=100)
            force = rows["channels"][:100, names.index("measured.force")]
            assert force.tolist() == rehearsed.channels["measured.force"][:100].tolist()


def test_the_end_is_at_rest(programs, table):
    """After its last tick the loop leads the command to the safe value by a raised cosine, 50 cycles long."""
    rows, names, status = lock_step(programs, table, "loopback://", steps=100)
    command = rows["channels"][:, names.index("command")]
    end = command[99]
    ramp = command[100:149]
    expected = end * 0.5 * (1 + np.cos(np.pi * np.arange(1, 50) / 50))
    np.testing.assert_allclose(ramp, expected, rtol=1e-14)
    assert command[149:].tolist() == [0.0] * (len(command) - 149)
    assert (status.state, status.cause) == ("finalized", 0)
    assert (rows["flags"][100:150] & 8 == 8).all()  # the executive's own commands


def test_a_rig_of_a_higher_rate_advances_several_ticks_per_command(table):
    """Half the rig's period: in lock-step it executes two ticks per command, as the rig in the loop does."""
    from two_halves import make_computer

    fast = build_pair(make_computer("computer_slow"), make_rig("specimen_fast", period=0.5e-3))
    inside, names, _ = lock_step(fast, table, "loopback://", steps=200)
    with RigProcess(fast.rig, RigOptions(link="udp://127.0.0.1:0", timeout=20.0)) as rig:
        outside, _, _ = lock_step(fast, table, rig.link, steps=200)
    assert inside["channels"].tolist() == outside["channels"].tolist()
    # The rig's lag of 0.3 a tick acts twice: from 0.01 with no command for the delay's three ticks to 0.0049.
    force = inside["channels"][1, names.index("measured.force")]
    place = 0.01 * 0.7**2
    assert force == pytest.approx(30 * place + 5 * place**2, rel=1e-12)
