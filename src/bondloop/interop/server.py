"""Sockets for a rig: one program at a time moves it, and everybody may ask how it is."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from bondloop.engine.data import instant
from bondloop.errors import InputError
from bondloop.interop.clocked_rig import ClockedRig
from bondloop.interop.following_rig import RehearsedRig, external_half
from bondloop.interop.generic_client import GenericClientSession
from bondloop.interop.protocol import DATAGRAM_BYTES, SIZES_BYTES, PlainSession, Request, refusal
from bondloop.realtime import STOPPED, free_path, interrupts
from bondloop.rehearsal import Run
from bondloop.results.records import amend_run

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest
    from bondloop.interop.following_rig import FollowingRig
    from bondloop.realtime import Live, Preflight


PROTOCOLS = ("generic-client", "plain")
"""What a server speaks: that of OpenSees' element, and the packets for one's own program."""


Address = tuple[str, int]


@dataclass(frozen=True)
class ServerPolicy:
    """How a server listens.

    Attributes
    ----------
    greeting
        Seconds within which a connection says its sizes: OpenSees does so at once, and others wait.
    look
        Seconds between looks at whether to go on.
    lines
        Sentences that are said of strangers; a flood of packets is no flood of lines.
    checked
        Seconds for which the check rehearses a test that has no length of its own.
    """

    greeting: float = 5.0
    look: float = 0.1
    lines: int = 200
    checked: float = 2.0


class Server:
    """Lets one program move a rig, over UDP or TCP.

    The first program that comes has the rig; packets of others are refused until it has ended. A datagram
    ``status`` from anybody is answered, on the UDP port, with a line of JSON: whether all is well, and else
    why not.

    Parameters
    ----------
    rig
        What is moved.
    protocol
        One of `PROTOCOLS`.
    host, port
        Where to listen; port 0 takes any that is free.
    transport
        ``"udp"`` or ``"tcp"``; the plain protocol has UDP alone.
    idle
        Seconds of silence after which a program is taken for dead, and the test is ended.
    greeting
        Seconds after which a TCP connection that has not said its sizes is closed.
    say
        Called with a sentence whenever something happens or is refused.

    Attributes
    ----------
    port
        On which it listens.
    open_to_others
        Whether other machines reach it: the packets have no key.

    Examples
    --------
    >>> import bondloop as bl
    >>> from bondloop.devices import GiuffreMenegottoPinto
    >>> from bondloop.rigs import Emulated, mounted
    >>> from bondloop.substructure import ExternalHalf
    >>> servo = bl.transfer.MassSpringDamper(m=50, c=1.1e5, k=5e7, drive="position")
    >>> test = bl.HybridTest(
    ...     ExternalHalf(stroke="20 mm", speed="50 mm/s"),
    ...     rig=Emulated(mounted(GiuffreMenegottoPinto()), servo),
    ...     controller=bl.control.Direct(),
    ...     excitation={},
    ...     rate="1 kHz",
    ... )
    >>> import threading
    >>> from bondloop.interop import RehearsedRig, RemoteRig
    >>> with RehearsedRig(test) as rig, Server(rig, protocol="plain") as server:
    ...     threading.Thread(target=server.serve).start()
    ...     with RemoteRig(f"udp://127.0.0.1:{server.port}") as remote:  # in another process, as a rule
    ...         force = remote.move_to([0.001]).force[0]
    >>> print(f"{force:.0e} N")
    2e+03 N
    """

    policy: ClassVar[ServerPolicy] = ServerPolicy()

    def __init__(
        self,
        rig: FollowingRig,
        *,
        protocol: str = "generic-client",
        host: str = "127.0.0.1",
        port: int = 0,
        transport: Literal["udp", "tcp"] = "udp",
        idle: float | str = 600.0,
        greeting: float | str = ServerPolicy.greeting,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        if protocol not in PROTOCOLS:
            raise InputError(f"expected the protocol {' or '.join(PROTOCOLS)}; found {protocol!r:.40}")
        if transport == "tcp" and protocol == "plain":
            raise InputError("the plain protocol is spoken over UDP; leave --tcp out")
        idle, greeting = instant(idle, "idle"), instant(greeting, "greeting")
        if not idle > 0:
            raise InputError(f"expected seconds of silence above 0 (--idle); found {idle:g}")
        self.rig, self.protocol, self._idle, self._tell = rig, protocol, idle, say
        self._greeting, rig.protocol = greeting, f"{protocol} over {transport.upper()}"
        self._session: GenericClientSession | PlainSession | None = None
        self._peer: Address | None = None
        self._lines = 0
        self._tcp: socket.socket | None = None
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._udp.bind((host, port))
            self.port = int(self._udp.getsockname()[1])
            self.open_to_others = not ipaddress.ip_address(self._udp.getsockname()[0]).is_loopback
            if transport == "tcp":
                self._tcp = socket.create_server((host, self.port))
        except (OSError, OverflowError) as error:
            self.close()
            why = getattr(error, "strerror", None) or error
            raise InputError(f"cannot listen at {host}:{port} ({transport}): {why}") from None

    def serve(self, stop: Callable[[], bool] = lambda: False) -> str:
        """Wait for a program, and let it move the rig until it is done; return how it ended, in words.

        Parameters
        ----------
        stop
            Asked some ten times a second; True ends it.
        """
        while not stop():
            if self._tcp is None:
                ready, _, _ = select.select([self._udp], [], [], self.policy.look)
                if ready:
                    self._datagram(move=True)
            else:
                ready, _, _ = select.select([self._udp, self._tcp], [], [], self.policy.look)
                if self._udp in ready:
                    self._datagram(move=False)
                if self._tcp in ready:
                    self._connection(stop)
            if self._over():
                break
        return self._ending()

    @property
    def taken(self) -> bool:
        """Whether a program has the rig."""
        return self._session is not None

    def _over(self) -> bool:
        if self._session is None:
            return False
        if not self._session.ended and time.monotonic() - self._heard > self._idle:
            self._say(f"nothing was heard for {self._idle:g} s; the test is ended")
            return True
        return self._session.ended

    def _ending(self) -> str:
        if self._session is None:
            return "no program came"
        count = self.rig.moves
        moved = f"the rig was moved {count} time{'s' if count != 1 else ''}"
        trouble = self.rig.fault or self._session.trouble
        return f"{moved}; {trouble}" if trouble else moved

    # ---------------------------------------------------------------- UDP

    def _datagram(self, *, move: bool) -> None:
        try:
            packet, peer = self._udp.recvfrom(DATAGRAM_BYTES)
        except OSError:  # an answer could not be delivered: nobody is there any more
            return
        if packet.strip() == b"status":
            self._send(json.dumps(self.status()).encode(), peer)
        elif not move:
            self._stranger(peer, "sent a datagram, and the rig is moved over TCP")
        elif self._session is not None and self._peer is not None and peer != self._peer:
            self._stranger(peer, f"is refused: {self._taken_by()}")
            if self.protocol == "plain" and Request.is_one(packet):
                self._send(refusal(packet, self.rig.count, self._taken_by()), peer)
        elif self.protocol == "plain":
            self._plain(packet, peer)
        else:
            self._generic(packet, peer)

    def _plain(self, packet: bytes, peer: Address) -> None:
        if self._session is None:
            if not Request.is_one(packet):
                self._stranger(peer, f"sent {len(packet)} bytes that are no request")
                return
            self._begin(PlainSession(self.rig, self._say), peer)
        assert isinstance(self._session, PlainSession)
        self._heard = time.monotonic()
        self._send(self._session.take(packet), peer)
        self._heard = time.monotonic()

    def _generic(self, packet: bytes, peer: Address) -> None:
        if packet == b"a" and self._session is None:
            self._peer = peer  # OpenSees' greeting; whoever greets and says no more keeps nobody away
            self._send(b"b", peer)
        elif self._peer != peer:
            self._stranger(peer, f"sent {len(packet)} bytes without a greeting")
        elif self._session is None:
            self._sizes(packet, peer)
        else:
            assert isinstance(self._session, GenericClientSession)
            answer = self._session.take(packet)
            self._heard = time.monotonic()
            if answer is not None:
                self._send(answer, peer)

    def _sizes(self, packet: bytes, peer: Address) -> None:
        try:
            self._begin(GenericClientSession(self.rig, packet, self._say), peer)
        except InputError as error:
            self._peer = None
            self._stranger(peer, f"is refused: {error}")

    def _begin(self, session: GenericClientSession | PlainSession, peer: Address) -> None:
        self._session, self._peer, self._heard = session, peer, time.monotonic()
        self.rig.led_by = _words(peer)
        self._say(f"{_words(peer)} has the rig")

    def _send(self, packet: bytes, peer: Address) -> None:
        with contextlib.suppress(OSError):
            self._udp.sendto(packet, peer)

    # ---------------------------------------------------------------- TCP

    def _connection(self, stop: Callable[[], bool]) -> None:
        assert self._tcp is not None
        with contextlib.suppress(OSError):
            connection, peer = self._tcp.accept()
            with connection, contextlib.suppress(OSError):  # one that dies with a reset is gone as others are
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.settimeout(self._idle)  # one that reads no answers is silent too
                self._converse(connection, peer, stop)
            self._gone(peer)

    def _turn_away(self) -> None:
        """Close the connection of a second program at once: it would wait for an answer that never comes."""
        assert self._tcp is not None
        with contextlib.suppress(OSError):
            connection, peer = self._tcp.accept()
            connection.close()
            self._stranger(peer, f"is refused: {self._taken_by()}")

    def _gone(self, peer: Address) -> None:
        """Whoever has moved the rig and has gone leaves no session behind."""
        if self._session is not None and not self._session.ended:
            self._say(f"{_words(peer)} has gone without a word")
            self._session.ended = True

    def _converse(self, connection: socket.socket, peer: Address, stop: Callable[[], bool]) -> None:
        """Speak with a client until it is done, goes away, or is silent for too long."""
        waiting = bytearray()
        self._heard = time.monotonic()
        while not stop() and not self._over():
            if self._session is None and time.monotonic() - self._heard > self._greeting:
                self._stranger(peer, f"said no sizes within {self._greeting:g} s; its connection is closed")
                break
            others = [] if self._session is None or self._tcp is None else [self._tcp]
            ready, _, _ = select.select([connection, self._udp, *others], [], [], self.policy.look)
            if self._udp in ready:
                self._datagram(move=False)
            if self._tcp in ready:
                self._turn_away()
            if connection not in ready:
                continue
            more = connection.recv(DATAGRAM_BYTES)
            if not more:
                break
            waiting += more
            if not self._vectors(connection, peer, waiting):
                break

    def _vectors(self, connection: socket.socket, peer: Address, waiting: bytearray) -> bool:
        """Take what is complete; False where the client cannot be spoken with."""
        if self._session is None:
            if len(waiting) < SIZES_BYTES:
                return True
            self._begin(GenericClientSession(self.rig, bytes(waiting[:SIZES_BYTES]), self._say), peer)
            del waiting[:SIZES_BYTES]
        session = self._session
        assert isinstance(session, GenericClientSession)
        size = session.vector_bytes
        if not size:
            self._session = self._peer = None  # what follows cannot be told apart: it goes, another may come
            return False
        while len(waiting) >= size and not session.ended:
            answer = session.take(bytes(waiting[:size]))
            del waiting[:size]
            self._heard = time.monotonic()
            if answer is not None:
                connection.sendall(answer)
        return True

    # ---------------------------------------------------------------- words

    def status(self) -> dict[str, object]:
        """Return how the rig is, as it is told to whoever asks."""
        session = self._session
        return {
            "test": self.rig.test.name,
            "ok": not self.rig.fault and (session is None or not session.trouble),
            "message": self.rig.fault or (session.trouble if session is not None else ""),
            "fault": bool(self.rig.fault),
            "moves": self.rig.moves,
        }

    def _taken_by(self) -> str:
        return f"the rig is moved by {self.rig.led_by}, and one program moves it at a time"

    def _stranger(self, peer: Address, what: str) -> None:
        if self._lines < self.policy.lines:
            self._lines += 1
            self._say(f"{_words(peer)} {what}")
            if self._lines == self.policy.lines:
                self._say("no more is said of strangers")

    def _say(self, sentence: str) -> None:
        self._tell(sentence)

    def close(self) -> None:
        """Close the sockets."""
        self._udp.close()
        if self._tcp is not None:
            self._tcp.close()

    def __repr__(self) -> str:
        return f"<Server of {self.rig.test.name!r}: {self.rig.protocol}, port {self.port}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _words(peer: Address) -> str:
    return f"{peer[0]}:{peer[1]}"


@dataclass(frozen=True)
class Serving:
    """Where a rig is offered, and who is told.

    Parameters
    ----------
    protocol, host, port, transport, idle
        As of `Server`.
    say
        Called with a sentence whenever something happens or is refused.
    stop
        Asked some ten times a second; True ends it.

    Examples
    --------
    Offered to nobody, as ``stop`` ends it at once:

    >>> import bondloop as bl
    >>> from bondloop.interop import RehearsedRig
    >>> servo = bl.transfer.MassSpringDamper(50, 1e4, 1e6, drive="position")
    >>> spring = bl.devices.KelvinVoigt(1e3, 10.0)
    >>> test = bl.HybridTest(
    ...     bl.substructure.ExternalHalf(stroke="20 mm", speed="50 mm/s", frequency="20 Hz"),
    ...     rig=bl.rigs.Emulated(bl.rigs.mounted(spring), servo),
    ...     controller=bl.control.Direct(),
    ...     excitation={},
    ...     rate="1 kHz",
    ...     name="spring",
    ... )
    >>> with RehearsedRig(test) as rig:
    ...     Serving(say=print, stop=lambda: True).offer(rig)
    spring: generic-client at udp://127.0.0.1:...: listening
    spring: no program came
    'no program came'
    """

    protocol: str = "generic-client"
    host: str = "127.0.0.1"
    port: int = 0
    transport: Literal["udp", "tcp"] = "udp"
    idle: float = 600.0
    say: Callable[[str], None] = lambda _: None
    stop: Callable[[], bool] = field(default=lambda: False)

    def offer(self, rig: FollowingRig) -> str:
        """Offer a rig until a program is done with it; return how it ended, in words."""
        with Server(
            rig, protocol=self.protocol, host=self.host, port=self.port, transport=self.transport,
            idle=self.idle, say=self.say,
        ) as server:  # fmt: skip
            self.say(
                f"{rig.test.name}: {self.protocol} at {self.transport}://{self.host}:{server.port}: listening"
            )
            if server.open_to_others:
                self.say(
                    f"WARNING: other machines reach {self.host}, and the packets have no key: whoever "
                    "reaches this port can move the rig, within stroke, speed, limits and interlock"
                )
            told: list[str] = []

            def over() -> bool:
                """Whether to go: who has the rig is told of its end first, for nobody it is not waited."""
                if rig.over and server.taken and not told:
                    told.append(
                        f"the loop has ended; {rig.led_by} is told so when it asks next, Ctrl-C goes now"
                    )
                    self.say(told[0])
                return self.stop() or (rig.over and not server.taken)

            ended = server.serve(over)
        self.say(f"{rig.test.name}: {ended}")
        return ended


def serve_rehearsed(
    test: HybridTest, serving: Serving, record: str | Path | None = None
) -> tuple[Run | None, str]:
    """Let another program move the emulated rig of a test, without a clock.

    Parameters
    ----------
    test
        A `HybridTest` with an `ExternalHalf`.
    serving
        Where, and how.
    record
        Run file to write, with a number added to its name if it exists.

    Returns
    -------
    The run, if it was recorded, and the rig's fault in words, if there was one.
    """
    rig = RehearsedRig(test, record=None if record is None else free_path(Path(record)))
    try:
        serving.offer(rig)
    finally:
        run = rig.close()
    return run, rig.fault


def serve_on_the_clock(
    test: HybridTest,
    serving: Serving,
    record: str | Path | None = None,
    live: Callable[[Live], None] | None = None,
    preflight: Callable[[Preflight], bool] | None = None,
    operator: str = "",
    **prepared: Any,
) -> tuple[Run, str]:
    """Let another program move a rig in real time; the check passes first, and a machine has limits.

    Parameters
    ----------
    test, serving, record
        As for `serve_rehearsed`.
    live
        Called ten times a second with how the loop is doing.
    preflight, operator
        As for `bondloop.realtime.run_realtime`.
    **prepared
        Link, emulated, options and all else, as for `bondloop.realtime.session.prepare`.

    Returns
    -------
    The run, and the rig's fault in words, if there was one.
    """
    from bondloop.realtime import prepare

    external_half(test)
    made = prepare(test, ServerPolicy.checked, open_end=True, **prepared)
    rigs: list[ClockedRig] = []

    def companion(telemetry: str) -> None:
        with ClockedRig(made.test, telemetry) as rig:
            rigs.append(rig)
            replace(serving, stop=lambda: serving.stop() or bool(asked)).offer(rig)

    with interrupts() as asked:  # also when the loop has ended, and a program has not
        run = made.run(
            record=record,
            live=live,
            companion=companion,
            further=asked,
            preflight=preflight,
            operator=operator,
        )
    if not rigs:  # ended before it was started
        return run, ""
    return _with_what_served(run, rigs[0]), rigs[0].fault


def _with_what_served(run: Run, rig: ClockedRig) -> Run:
    """Add to a run and its files who has moved the rig; what its fault was, the loop itself may not know."""
    more = rig.served
    if rig.fault and run.completed:
        more |= {"status": "stopped", "message": rig.fault, "cause_words": rig.fault}
    elif run.record.attributes.get("cause_words") == STOPPED and rig.ended_it:
        more |= {"cause_words": "no program moved the rig any more"}
    for file in run.record.attributes["files"]:
        amend_run(file, more)
    return Run(replace(run.record, attributes={**run.record.attributes, **more}))
