"""OpenSees' protocol, spoken by a Python client: sessions, sizes, hostile packets; over UDP and TCP."""

import json
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from column_on_rig import column_test
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.interop import RehearsedRig
from bondloop.interop.generic_client import Action, GenericClientSession, Sizes
from bondloop.interop.protocol import MOST_DATA

GOOD = (1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 256)
"""What OpenSees sends for one degree of freedom."""
TRIAL, COMMIT, FORCE, STIFFNESS, DIE = 3, 5, 10, 12, 99


def vector(action: float, displacement: float = 0.0, size: int = 256) -> bytes:
    """Return a vector of the client's: action, d, v, a, t, and zeros."""
    return struct.pack(f"<{size}d", action, displacement, *[0.0] * (size - 2))


class Client:
    """What OpenSees' element does, in Python."""

    def __init__(self, port: int, transport: str) -> None:
        kind = socket.SOCK_STREAM if transport == "tcp" else socket.SOCK_DGRAM
        self.socket = socket.socket(socket.AF_INET, kind)
        self.socket.settimeout(60)
        self.socket.connect(("127.0.0.1", port))
        if transport == "udp":
            self.socket.send(b"a")
            assert self.socket.recv(1) == b"b"
        self.socket.send(struct.pack("<11i", *GOOD))

    def send(self, action: float, displacement: float = 0.0) -> None:
        """Send a vector."""
        self.socket.send(vector(action, displacement))

    def ask(self, action: float) -> float:
        """Send a vector, and return the first number of the answer."""
        self.send(action)
        answer = b""
        while len(answer) < 2048:
            answer += self.socket.recv(2048)
        return float(struct.unpack_from("<d", answer)[0])

    def force_at(self, displacement: float) -> float:
        """Return the force at a displacement."""
        self.send(TRIAL, displacement)
        return self.ask(FORCE)


@contextmanager
def client(port: int, transport: str = "udp") -> Iterator[Client]:
    made = Client(port, transport)
    with made.socket:
        yield made


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_client_moves_the_rig_and_ends_the_test(
    rig: RehearsedRig, serve: Callable[..., Any], transport: str
) -> None:
    with serve(rig, transport=transport) as running, client(running.port, transport) as other:
        assert other.ask(STIFFNESS) == pytest.approx(2e6, rel=1e-6)
        assert other.force_at(0.001) == pytest.approx(2000, rel=1e-3)
        other.send(COMMIT)
        assert other.force_at(-0.002) == pytest.approx(-4000, rel=1e-3)
        assert other.ask(Action.GET_MASS) == other.ask(Action.GET_DAMPING) == 0.0
        assert other.ask(Action.GET_DISPLACEMENT) == pytest.approx(-0.002, abs=1e-7)
        other.send(DIE)
        assert running.wait() == "the rig was moved 2 times"


def test_a_fault_is_told_on_both_sides(serve: Callable[..., Any]) -> None:
    with RehearsedRig(column_test(force=5e3)) as rig, serve(rig) as running, client(running.port) as other:
        assert other.force_at(0.002) == pytest.approx(4000, rel=1e-3)
        assert np.isnan(other.force_at(0.004))
        assert np.isnan(other.force_at(0.0))  # it answers on, so that no client waits for ever
        status = ask_status(running.port)
        assert "the measured force went beyond its limit" in status["message"]
        assert status["fault"] is True
        assert any("fault: the measured force" in line for line in running.said)


def ask_status(port: int) -> dict[str, Any]:
    """Ask a rig how it is, from another socket than the one that moves it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.settimeout(60)
        other.sendto(b"status", ("127.0.0.1", port))
        answer: dict[str, Any] = json.loads(other.recv(65536))
        return answer


@pytest.mark.parametrize(
    "refused", [vector(TRIAL, 0.002)[:-8], vector(float("nan"), 0.002), vector(TRIAL, 0.5), vector(6.0)]
)
def test_after_what_was_refused_there_is_no_force_until_a_good_trial(
    rig: RehearsedRig, refused: bytes
) -> None:
    session = GenericClientSession(rig, struct.pack("<11i", *GOOD), lambda _: None)

    def ask(action: float) -> float:
        answer = session.take(vector(action))
        assert answer is not None
        return float(np.frombuffer(answer)[0])

    session.take(vector(TRIAL, 0.001))
    assert ask(FORCE) == pytest.approx(2000, rel=1e-3)
    session.take(refused)
    session.take(vector(COMMIT))
    assert np.isnan([ask(FORCE), ask(Action.GET_DISPLACEMENT), ask(FORCE)]).all()
    assert session.trouble
    session.take(vector(TRIAL, 0.001))  # where the rig stands already
    assert ask(FORCE) == pytest.approx(2000, rel=1e-3)
    assert not session.trouble
    session.take(vector(TRIAL, 0.003))
    session.take(refused)  # before the trial was made
    assert np.isnan(ask(FORCE))


def test_a_second_program_is_refused(rig: RehearsedRig, serve: Callable[..., Any]) -> None:
    with serve(rig) as running, client(running.port) as first:
        assert first.force_at(0.001) == pytest.approx(2000, rel=1e-3)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            for packet in (b"a", struct.pack("<11i", *GOOD), vector(TRIAL, 0.01), vector(FORCE)):
                other.sendto(packet, ("127.0.0.1", running.port))
        assert ask_status(running.port)["moves"] == 1
        assert first.ask(FORCE) == pytest.approx(2000, rel=1e-3)
        assert any("is refused: the rig is moved by" in line for line in running.said)


def still(rig: RehearsedRig) -> bool:
    """Whether a rig was never moved."""
    return rig._runner.count == 0


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=11, max_size=11) | st.permutations(GOOD))
def test_sizes_that_do_not_fit_move_nothing(rig: RehearsedRig, numbers: list[int]) -> None:
    said: list[str] = []
    session = GenericClientSession(rig, struct.pack("<11i", *numbers), said.append)
    if session.trouble:
        assert len(said) == 1
        if 2 <= session.sizes.data <= MOST_DATA:
            assert session.take(vector(TRIAL, 0.001, session.sizes.data)) is None
            answer = session.take(vector(FORCE, 0.0, session.sizes.data))
            assert answer is not None
            assert np.isnan(np.frombuffer(answer)).all()
        assert still(rig)
    else:
        assert (session.sizes.control[0], session.sizes.measured[3]) == (1, 1)
        assert session.sizes.data >= 1 + sum(session.sizes.control)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=64)
    | st.binary(min_size=2040, max_size=2056)
    | st.floats().filter(lambda x: x not in {float(a) for a in Action}).map(vector)
    | st.floats().filter(lambda x: not abs(x) <= 0.02).map(lambda x: vector(TRIAL, x))
)
def test_hostile_vectors_move_nothing(rig: RehearsedRig, packet: bytes) -> None:
    said: list[str] = []
    session = GenericClientSession(rig, struct.pack("<11i", *GOOD), said.append)
    if len(packet) == 2048 and struct.unpack_from("<d", packet)[0] in {float(a) for a in Action} - {TRIAL}:
        return  # drawn bytes that are a vector after all
    assert session.take(packet) is None
    assert said
    assert "the rig stays where it is" in said[-1]
    answer = session.take(vector(FORCE))
    assert answer is not None
    assert np.isnan(np.frombuffer(answer)[0])
    assert still(rig)


@settings(max_examples=60)
@given(st.binary(max_size=200).filter(lambda b: len(b) != 44))
def test_sizes_of_another_length_are_refused(packet: bytes) -> None:
    with pytest.raises(InputError, match="eleven integers"):
        Sizes.read(packet)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.binary(max_size=80).filter(lambda b: b.strip() != b"status"), max_size=8))
def test_a_server_survives_what_strangers_send(
    rig: RehearsedRig, serve: Callable[..., Any], packets: list[bytes]
) -> None:
    with serve(rig) as running:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for packet in packets:
                stranger.sendto(packet, ("127.0.0.1", running.port))
        assert ask_status(running.port)["moves"] == 0
        assert still(rig)


def test_over_tcp_sizes_that_cannot_be_believed_end_the_connection(
    rig: RehearsedRig, serve: Callable[..., Any]
) -> None:
    with serve(rig, transport="tcp") as running:
        with socket.create_connection(("127.0.0.1", running.port), timeout=60) as hostile:
            hostile.sendall(struct.pack("<11i", *GOOD[:10], 2**31 - 1) + b"x" * 100)
            assert hostile.recv(100) == b""
        with client(running.port, "tcp") as other:
            assert other.force_at(0.001) == pytest.approx(2000, rel=1e-3)
            other.send(DIE)
        running.wait()


def test_over_tcp_a_client_that_goes_ends_the_test(rig: RehearsedRig, serve: Callable[..., Any]) -> None:
    with serve(rig, transport="tcp") as running:
        with client(running.port, "tcp") as other:
            assert other.force_at(0.001) == pytest.approx(2000, rel=1e-3)
        running.wait()
        assert any("has gone without a word" in line for line in running.said)


def test_over_tcp_a_client_that_dies_with_a_reset_leaves_no_session(
    rig: RehearsedRig, serve: Callable[..., Any]
) -> None:
    with serve(rig, transport="tcp") as running:
        with client(running.port, "tcp") as other:
            assert other.force_at(0.001) == pytest.approx(2000, rel=1e-3)
            other.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert running.wait() == "the rig was moved 1 time"
        assert any("has gone without a word" in line for line in running.said)
    with (
        serve(rig, transport="tcp") as running,
        client(running.port, "tcp") as other,
    ):  # and the next is clean
        assert other.force_at(0.002) == pytest.approx(4000, rel=1e-3)


def test_over_tcp_a_silent_connection_keeps_nobody_waiting_for_ever(
    rig: RehearsedRig, serve: Callable[..., Any]
) -> None:
    with (
        serve(rig, transport="tcp", greeting=0.3) as running,
        socket.create_connection(("127.0.0.1", running.port), timeout=60) as silent,
        client(running.port, "tcp") as other,
    ):
        assert other.force_at(0.001) == pytest.approx(2000, rel=1e-3)
        assert silent.recv(1) == b""
        assert any("said no sizes within 0.3 s" in line for line in running.said)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"protocol": "opc-ua"}, "expected the protocol"),
        ({"protocol": "plain", "transport": "tcp"}, "over UDP"),
        ({"port": 99999}, "cannot listen"),
        ({"host": "256.1.1.1"}, "cannot listen"),
    ],
)
def test_where_it_cannot_listen_is_said(
    rig: RehearsedRig, serve: Callable[..., Any], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words), serve(rig, **options):
        pass


@pytest.mark.parametrize("action", [Action.GET_VELOCITY, Action.GET_ACCELERATION, Action.GET_TIME])
def test_what_the_rig_does_not_tell_is_answered_and_keeps_the_force(
    rig: RehearsedRig, action: Action
) -> None:
    """A client that asks for it waits for an answer; what was measured stays."""
    said: list[str] = []
    session = GenericClientSession(rig, struct.pack("<11i", *GOOD), said.append)
    session.take(vector(TRIAL, 0.001))
    force = session.take(vector(FORCE))
    answer = session.take(vector(action))
    assert answer is not None
    assert np.isnan(np.frombuffer(answer, "<f8")[0])
    assert said == [f"refused: the rig tells no {action.name[4:].lower()}"]
    assert session.take(vector(FORCE)) == force
    assert rig.moves == 1


def test_over_tcp_a_second_program_is_sent_away_at_once(rig: RehearsedRig, serve: Callable[..., Any]) -> None:
    with serve(rig, transport="tcp") as running, client(running.server.port, "tcp") as first:
        force = first.force_at(0.001)
        with socket.create_connection(("127.0.0.1", running.server.port), timeout=60) as second:
            assert second.recv(1) == b""
        assert first.force_at(0.001) == force
        first.send(DIE)
        running.wait()
