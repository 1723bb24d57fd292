"""Packets for one's own program: what they hold, lost and repeated ones, hostile ones, and RemoteRig."""

import math
import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest
from column_on_rig import column_test
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.interop import Answer, RehearsedRig, RemoteRig, RigFaultError, step_by_step
from bondloop.interop.protocol import Kind, PlainSession, Reply, Request, State
from bondloop.interop.server import Server

numbers = st.floats(allow_nan=False)
answers = st.integers(0, 4).flatmap(
    lambda n: st.builds(Answer, st.tuples(*[numbers] * n), st.tuples(*[numbers] * n), numbers)
)


@given(st.integers(0, 2**32 - 1), st.sampled_from(State), answers, st.text(max_size=50))
def test_a_reply_is_read_as_it_was_written(sequence: int, state: State, answer: Answer, text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    reply = Reply(sequence, state, answer, text)
    assert Reply.read(reply.pack()) == reply


@given(st.integers(0, 2**32 - 1), st.sampled_from(Kind), st.lists(numbers, max_size=4), st.none() | numbers)
def test_a_request_is_read_as_it_was_written(
    sequence: int, kind: Kind, values: list[float], seconds: float | None
) -> None:
    request = Request(sequence, kind, tuple(values), seconds)
    assert Request.read(request.pack()) == request


def test_the_packet_is_the_documented_one() -> None:
    """docs/opensees.md has this layout, for programs in other languages."""
    packet = struct.pack("<4s4Idd", b"BLX1", 1, 1, 1, 0, math.nan, 0.005)
    assert Request(1, Kind.MOVE, (0.005,)).pack() == packet


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=80)
    | st.binary(max_size=80).map(lambda b: b"BLX1" + b)
    | st.floats().filter(lambda x: not abs(x) <= 0.02).map(lambda x: Request(1, Kind.MOVE, (x,)).pack())
    | st.lists(st.floats(), min_size=2, max_size=9).map(lambda x: Request(1, Kind.MOVE, tuple(x)).pack())
)
def test_hostile_packets_are_refused_in_a_sentence_and_move_nothing(rig: RehearsedRig, packet: bytes) -> None:
    said: list[str] = []
    session = PlainSession(rig, said.append)
    reply = Reply.read(session.take(packet))
    if not session.ended and reply.state is not State.DONE:
        assert reply.state is State.REFUSED
        assert reply.text
        assert said == [f"refused: {reply.text}"]
    assert rig._runner.count == 0


def test_a_program_of_ones_own_moves_the_rig(rig: RehearsedRig, serve: Callable[..., Any]) -> None:
    with serve(rig, protocol="plain") as running:
        with RemoteRig(f"udp://127.0.0.1:{running.port}") as remote:
            assert (remote.count, remote.name) == (1, "column")
            assert remote.move_to([0.001]).force[0] == pytest.approx(2000, rel=1e-3)
            with pytest.raises(InputError, match=r"the rig refuses: .*±0.02 m"):
                remote.move_to([0.5])
            early, late = (remote.move_to([0.002], seconds=0.01) for _ in range(2))
            assert late.time - early.time == pytest.approx(0.01)
        assert running.wait().startswith("the rig was moved 3 times")


def test_a_request_that_comes_twice_moves_it_once(rig: RehearsedRig) -> None:
    session = PlainSession(rig, lambda _: None)
    packet = Request(1, Kind.MOVE, (0.001,), 0.01).pack()
    first, ticks = session.take(packet), rig._runner.count
    assert session.take(packet) == first
    assert rig._runner.count == ticks


def test_a_packet_that_comes_late_moves_nothing(rig: RehearsedRig) -> None:
    session = PlainSession(rig, lambda _: None)
    late, newer = (Request(n, Kind.MOVE, (x,), 0.01).pack() for n, x in ((0, 0.005), (1, 0.0)))
    for packet in (late, newer):
        assert Reply.read(session.take(packet)).state is State.DONE
    ticks = rig._runner.count
    reply = Reply.read(session.take(late))
    assert (reply.state, reply.sequence) == (State.REFUSED, 0)
    assert "comes late" in reply.text
    other = Request(1, Kind.MOVE, (0.004,), 0.01).pack()  # the last sequence, and another place
    assert Reply.read(session.take(other)).state is State.REFUSED
    assert Reply.read(session.take(Request(0, Kind.END).pack())).state is State.REFUSED
    assert not session.ended
    assert rig._runner.count == ticks
    assert rig.moves == 2


def test_a_refused_request_that_comes_twice_is_refused_in_the_same_words(rig: RehearsedRig) -> None:
    session = PlainSession(rig, lambda _: None)
    packet = Request(4, Kind.MOVE, (0.5,)).pack()
    first = session.take(packet)
    assert "may move by" in Reply.read(first).text
    assert session.take(packet) == first


def test_what_was_refused_is_no_trouble_any_more_after_a_good_move(rig: RehearsedRig) -> None:
    session = PlainSession(rig, lambda _: None)
    session.take(Request(1, Kind.MOVE, (math.nan,)).pack())
    assert "no number" in session.trouble
    session.take(Request(2, Kind.MOVE, (0.001,)).pack())
    assert session.trouble == ""


@pytest.mark.parametrize("idle", [math.nan, 0.0, -1.0])
def test_a_silence_that_never_ends_is_refused(rig: RehearsedRig, idle: float) -> None:
    with pytest.raises(InputError, match=r"seconds of silence above 0|idle: expected a finite number"):
        Server(rig, idle=idle)


def test_an_unknown_kind_is_answered_with_its_own_sequence(rig: RehearsedRig) -> None:
    packet = struct.pack("<4s4Id", b"BLX1", 9, 7, 0, 0, math.nan)
    reply = Reply.read(PlainSession(rig, lambda _: None).take(packet))
    assert (reply.sequence, reply.state) == (9, State.REFUSED)
    assert "kind 7" in reply.text


def test_a_fault_is_raised_where_the_program_is(serve: Callable[..., Any]) -> None:
    with RehearsedRig(column_test(force=5e3)) as rig, serve(rig, protocol="plain") as running:
        remote = RemoteRig(f"udp://127.0.0.1:{running.port}")
        with pytest.raises(RigFaultError, match="the measured force went beyond its limit"):
            step_by_step(lambda force: [force[0] / 2e6 + 0.001], remote, [0.0], 10)
        remote.close()
        assert "the measured force" in running.wait()


def test_a_second_program_is_told_that_the_rig_is_taken(rig: RehearsedRig, serve: Callable[..., Any]) -> None:
    with serve(rig, protocol="plain") as running, RemoteRig(f"udp://127.0.0.1:{running.port}") as remote:
        with pytest.raises(InputError, match=r"the rig refuses: the rig is moved by 127\.0\.0\.1:"):
            RemoteRig(f"udp://127.0.0.1:{running.port}")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.settimeout(60)
            other.sendto(Request(77, Kind.MOVE, (0.01,)).pack(), ("127.0.0.1", running.port))
            reply = Reply.read(other.recv(65536))
        assert (reply.sequence, reply.state) == (77, State.REFUSED)
        assert remote.move_to([0.001]).force[0] == pytest.approx(2000, rel=1e-3)
        assert rig.moves == 1


def test_what_is_no_greeting_keeps_nobody_away(rig: RehearsedRig, serve: Callable[..., Any]) -> None:
    with serve(rig, protocol="plain") as running:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.sendto(b"hello", ("127.0.0.1", running.port))
        with RemoteRig(f"udp://127.0.0.1:{running.port}") as remote:
            assert remote.move_to([0.001]).force[0] == pytest.approx(2000, rel=1e-3)


@pytest.mark.parametrize(
    "address", ["", "tcp://127.0.0.1:1", "udp://127.0.0.1", "udp://127.0.0.1:x", "udp://h:0"]
)
def test_addresses_that_are_none_are_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"expected udp://HOST:PORT"):
        RemoteRig(address)
