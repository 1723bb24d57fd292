"""Connections of the server: each must get on, and of too many the one that got on least is dropped.

Whoever connects and sends nothing, or sends byte by byte, would else hold a place for as long as he likes:
during the handshake of TLS, in the head or the body of a request, between two requests, and behind a
WebSocket that he does not read. A newcomer is never refused, so that nobody can lock the operator out.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any, ClassVar, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

if TYPE_CHECKING:
    from asyncio import BaseTransport, Transport


GET_ON = 3.0
"""Seconds for the handshake of TLS, for a request to be complete, and until the next."""
MOST = 200
"""Connections at a time that have not become a WebSocket."""
CLOSING = 2.0
"""Seconds that the other end of a WebSocket has to close it, too."""


class Connection(H11Protocol):
    """A connection that is dropped where it does not get on; parameters as uvicorn gives them.

    Attributes
    ----------
    context
        For TLS; None without. uvicorn's own TLS begins before a protocol knows of its connection, and leaves
        it a minute.
    all
        The connections of this server, those first that have waited for the longest.
    """

    context: ClassVar[ssl.SSLContext | None] = None
    all: ClassVar[dict[Connection, None]] = {}

    _raw: Transport | None = None
    _timer: asyncio.TimerHandle | None = None
    _early = b""
    _made = False

    def connection_made(self, transport: BaseTransport) -> None:
        """Make room for it, and agree on TLS first where that is wanted."""
        self._raw = cast("Transport", transport)
        if len(self.all) >= MOST:
            next((c for c in self.all if not c.answering), next(iter(self.all))).drop()
        self._wait()
        if self.context is None:
            self._make(self._raw)
        else:
            self._raw.pause_reading()
            self._securing = self.loop.create_task(self._secure(self._raw, self.context))

    def _make(self, transport: Transport) -> None:
        self._made = True
        super().connection_made(transport)

    async def _secure(self, raw: Transport, context: ssl.SSLContext) -> None:
        try:
            secure = await self.loop.start_tls(
                raw, self, context, server_side=True,
                ssl_handshake_timeout=GET_ON, ssl_shutdown_timeout=CLOSING,
            )  # fmt: skip
        except (OSError, ValueError):  # errors of TLS and of time among them
            self.drop()
            return
        if secure is None or raw.is_closing():  # lost in the midst of it
            self.drop()
            return
        self._make(secure)
        if self._early:
            self.data_received(self._early)

    @property
    def answering(self) -> bool:
        """Whether a whole request has come, which is being answered."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not (cycle.more_body or cycle.response_complete)

    def _wait(self) -> None:
        """Begin to wait for a request, unless that has begun."""
        if self._timer is None:
            self.all.pop(self, None)
            self.all[self] = None
            self._timer = self.loop.call_later(GET_ON, self.drop)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def data_received(self, data: bytes) -> None:
        """Take in what has come; it counts only once a request is complete."""
        if not self._made:  # of TLS, before `_secure` goes on
            self._early += data
            return
        super().data_received(data)
        if self not in self.connections:  # it has become a WebSocket, or is lost
            self._leave()
        elif self.answering:
            self._stop_waiting()
        else:
            self._wait()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self.answering and self in self.all:
            self._wait()

    def shutdown(self) -> None:
        """End it, as the server ends."""
        if self._made:
            super().shutdown()
        else:
            self.drop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._leave()
        if self._made:
            super().connection_lost(exc)

    def _leave(self) -> None:
        self._stop_waiting()
        self.all.pop(self, None)

    def drop(self) -> None:
        """End it at once, without waiting for the other end."""
        self._leave()
        if self._raw is not None:
            self._raw.abort()


def connections(context: ssl.SSLContext | None) -> type[Connection]:
    """Return the kind of connection of one server.

    Parameters
    ----------
    context
        For TLS; None without.
    """
    return type("Connection", (Connection,), {"context": context, "all": {}})


class Socket(WebSocketsSansIOProtocol):
    """A WebSocket that ends when it is closed, though the other end reads nothing any more."""

    def keepalive_timeout(self) -> None:
        """End it: what is still to be sent would never be."""
        super().keepalive_timeout()
        self.transport.abort()

    async def send(self, message: Any) -> None:
        """Send; after a close the other end has `CLOSING` seconds."""
        await super().send(message)
        if message["type"] == "websocket.close":
            self.loop.call_later(CLOSING, self.transport.abort)
