"""One rig, one loop: who else comes is refused, and who has died makes room."""

import signal
import threading
from dataclasses import replace

import pytest
from two_halves import LoopOptions, make_computer, make_rig, until

from bondloop.engine.ir.tick import Channel
from bondloop.errors import InputError
from bondloop.realtime import LoopProcess, RigOptions, RigProcess
from bondloop.realtime.programs.build import build_loop
from bondloop.realtime.segment import remove_dead_link
from bondloop.realtime.stop_requests import FOLDER, PREFIX


def link_of(scheme, shm):
    return shm if scheme == "shm" else "udp://127.0.0.1:0"


@pytest.mark.parametrize("scheme", ["shm", "udp"])
@pytest.mark.parametrize("lock_step", [False, True], ids=["clock", "lock-step"])
def test_a_second_loop_is_refused(programs, table, shm, scheme, lock_step):
    with RigProcess(programs.rig, RigOptions(link=link_of(scheme, shm), timeout=20.0)) as rig:
        options = LoopOptions(
            link=rig.link, retreat=0.005, lock_step=lock_step, start=False, stale=10**6, timeout=20.0
        )
        with LoopProcess(programs.loop, options, table) as first:
            with pytest.raises(InputError, match="in use by another loop"):
                LoopProcess(programs.loop, options, table)
            assert first.running
            first.mailbox.stop()
            assert first.wait(20) == 0
        with LoopProcess(programs.loop, options, table) as third:  # the first one has said goodbye
            third.mailbox.stop()
            assert third.wait(20) == 0


@pytest.mark.parametrize("scheme", ["shm", "udp"])
def test_who_comes_before_the_rig_has_read_a_goodbye_waits_for_it(programs, table, shm, scheme):
    with RigProcess(programs.rig, RigOptions(link=link_of(scheme, shm), timeout=20.0)) as rig:
        options = LoopOptions(link=rig.link, retreat=0.005, start=False, stale=10**6, timeout=20.0)
        with LoopProcess(programs.loop, options, table) as first:
            rig.send(signal.SIGSTOP)
            first.mailbox.stop()
            assert first.wait(20) == 0
        if scheme == "shm":  # over UDP the greeting of one who gives up would be the next that is read
            with pytest.raises(InputError, match="there but does not answer"):
                LoopProcess(programs.loop, replace(options, timeout=0.2), table)
        later = threading.Timer(0.5, rig.send, [signal.SIGCONT])
        later.start()
        with LoopProcess(programs.loop, options, table) as second:
            second.mailbox.stop()
            assert second.wait(20) == 0
        later.join()


@pytest.mark.parametrize("scheme", ["shm", "udp"])
def test_the_session_of_a_killed_loop_times_out(programs, table, shm, scheme):
    with RigProcess(programs.rig, RigOptions(link=link_of(scheme, shm), timeout=0.3)) as rig:
        options = LoopOptions(link=rig.link, retreat=0.005, stale=10**6, timeout=20.0)
        with LoopProcess(programs.loop, options, table) as first:
            until(lambda: first.ring.written > 5)
            first.send(signal.SIGKILL)
            first.wait()

        def gets_in():
            try:
                with LoopProcess(programs.loop, options, table) as second:
                    second.mailbox.stop()
                    return second.wait(20) == 0
            except InputError as error:
                refusals.append(str(error))
                return False

        refusals = []
        until(gets_in)
        assert all("in use by another loop" in text for text in refusals)


@pytest.mark.parametrize("scheme", ["shm", "udp"])
def test_other_signals_are_refused(programs, table, shm, scheme):
    """A loop with a second command cannot use the rig of one with a single command."""
    two = make_computer("computer_two", channels=_two_commands())
    with RigProcess(programs.rig, RigOptions(link=link_of(scheme, shm))) as rig:
        options = LoopOptions(link=rig.link, timeout=20.0)
        with pytest.raises(InputError, match="other signals"):
            LoopProcess(build_loop(two), options, table)


def _two_commands():
    from two_halves import CHANNELS, COMMAND, SENT

    return (
        *(c for c in CHANNELS if c.name != "command"),
        Channel("command[0]", COMMAND, "", SENT),
        Channel("command[1]", COMMAND, "", SENT),
    )


def test_two_rigs_at_one_name(programs, shm):
    with RigProcess(programs.rig, RigOptions(link=shm)) as first:
        with pytest.raises(InputError, match="another rig plays at"):
            RigProcess(programs.rig, RigOptions(link=shm))
        assert first.running


def test_a_killed_rig_leaves_its_name_free(programs, table, shm):
    with RigProcess(programs.rig, RigOptions(link=shm)) as dead:
        dead.send(signal.SIGKILL)
        dead.wait()
    with pytest.raises(InputError, match="no rig answers"):
        LoopProcess(programs.loop, LoopOptions(link=shm, timeout=0.02), table)
    with RigProcess(programs.rig, RigOptions(link=shm)):
        pass


def test_loopback_needs_the_rig_in_the_program(table):
    alone = build_loop(make_computer("computer_alone"))
    with pytest.raises(InputError, match="build the loop with its rig"):
        LoopProcess(alone, LoopOptions(link="loopback://"), table)


def test_periods_that_do_not_fit(table):
    odd = build_loop(make_computer("computer_odd"), rig=make_rig("specimen_odd", period=0.7e-3))
    with pytest.raises(InputError, match="no whole multiple"):
        LoopProcess(odd, LoopOptions(link="loopback://"), table)


def test_a_killed_rig_leaves_no_shared_memory(programs, shm):
    path = FOLDER / f"{PREFIX}link-{shm.removeprefix('shm://')}"
    with RigProcess(programs.rig, RigOptions(link=shm, timeout=20.0)) as rig:
        assert path.exists()
        remove_dead_link(rig.link)
        assert path.exists()  # it lives
        rig.send(signal.SIGKILL)
    assert not path.exists()
    remove_dead_link("shm://../no")  # and nothing else is touched
    remove_dead_link("udp://127.0.0.1:1")
