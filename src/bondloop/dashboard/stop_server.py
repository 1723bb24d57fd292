"""The stop of the operator's page: a process of its own that knows nothing but trip, retreat and stop.

It listens on a port of its own and gives requests to the loops of this machine by
`bondloop.realtime.stop_requests`. It draws no frame, reads no file, runs no check, and imports nothing beyond
the standard library. So it answers when the page's server computes, hangs, is frozen or is dead, and it ends
when that server has gone and no loop is left to stop. Everybody who may see the page may stop.

A request is ``POST /trip``, ``/retreat`` or ``/stop`` with ``{"loop": NAME, "name": WHO, "badge": SECRET}``,
or without any of them. Where the loop that is named does not run, every loop gets the request.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import select
import socket
import ssl
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any

from bondloop.dashboard.access import Access, listening, shown_name
from bondloop.errors import InputError
from bondloop.realtime import REQUESTS, Request, Requests, living_loops

if TYPE_CHECKING:
    from bondloop.dashboard.server import Settings

HEAD_BYTES, BODY_BYTES = 8192, 1024
"""Of a request."""
CONNECTIONS, OPEN_FILES = 1000, 4096
"""Requests that may be incomplete at a time: one more, and the oldest is dropped; and open files."""
ARRIVAL, CONFIRM = 2.0, 2.0
"""Seconds within which a request must have come, and that a loop has to confirm."""
LOOK, ORPHANED_LOOK = 0.002, 1.0
"""Seconds between looks at loops that have not confirmed, and for any loop once the page has gone."""
READY = 20.0
"""Seconds that the process may take to listen."""


@dataclass(frozen=True)
class _Answer:
    status: str
    data: Mapping[str, object]
    headers: tuple[str, ...] = ()

    def written(self) -> bytes:
        body = json.dumps(self.data).encode()
        head = (
            f"HTTP/1.1 {self.status}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "Connection: close",
            "Cache-Control: no-store",
            "X-Content-Type-Options: nosniff",
            "Content-Security-Policy: default-src 'none'",
            "Vary: Origin",
            *self.headers,
        )
        return "\r\n".join((*head, "", "")).encode() + body


class StopServer:
    """Answers requests to trip, retreat and stop.

    Parameters
    ----------
    access
        Whom it lets in.
    only
        The one loop that it may stop; empty: all of this user's.
    """

    def __init__(self, access: Access, only: str = "") -> None:
        self.access, self.only = access, only
        self._arriving: dict[object, asyncio.StreamWriter] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection, which then ends.

        Parameters
        ----------
        reader, writer
            The connection.
        """
        mark = object()
        self._arriving[mark] = writer
        if len(self._arriving) > CONNECTIONS:  # those that hold a place without a word make room
            self._arriving.pop(next(iter(self._arriving))).transport.abort()
        try:
            with contextlib.suppress(OSError, EOFError, TimeoutError, ValueError, asyncio.LimitOverrunError):
                async with asyncio.timeout(ARRIVAL):
                    method, path, headers = _parsed(await reader.readuntil(b"\r\n\r\n"))
                    length = int(headers.get("content-length", "0"))
                    body = await reader.readexactly(length) if 0 < length <= BODY_BYTES else b""
                self._arriving.pop(mark, None)
                answer = await self._answer(method, path, headers, body if length == len(body) else None)
                writer.write(answer.written())
        finally:
            self._arriving.pop(mark, None)
            writer.close()

    async def _answer(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> _Answer:
        why = self.access.stranger(headers, acts=method != "GET")
        if why is not None:
            return _Answer("403 Forbidden", {"error": why.words})
        # From here on the origin, where there is one, is that of a page of ours.
        origin = headers.get("origin")
        shared: tuple[str, ...] = ()
        if origin is not None:
            shared = (f"Access-Control-Allow-Origin: {origin}", "Access-Control-Allow-Credentials: true")
        if method == "OPTIONS":
            allowed = "Access-Control-Allow-Headers: authorization, content-type"
            return _Answer("200 OK", {}, (*shared, "Access-Control-Allow-Methods: GET, POST", allowed))
        unknown = self.access.unknown(headers, _cookies(headers.get("cookie", "")))
        if unknown is not None:
            return _Answer("401 Unauthorized", {"error": unknown.words}, shared)
        if method == "GET":
            return _Answer("200 OK", {"loops": self._loops("")}, shared)
        kind = next((kind for kind in REQUESTS if path == f"/{kind}"), None)
        if method != "POST" or kind is None:
            return _Answer(
                "404 Not Found", {"error": f"expected POST to one of {', '.join(REQUESTS)}"}, shared
            )
        return _Answer("200 OK", await self._request(kind, body), shared)

    def _loops(self, wanted: str) -> list[str]:
        living = [loop for loop in living_loops() if self.only in ("", loop)]
        return [wanted] if wanted in living else living

    async def _request(self, kind: Request, body: bytes | None) -> dict[str, object]:
        """Give it, though the body makes no sense: whoever is let in wants the rig at rest."""
        said: object = None
        with contextlib.suppress(ValueError, RecursionError):
            said = json.loads(body or b"{}")
        loop, name, badge = (
            str(said.get(word, "")) if isinstance(said, dict) else "" for word in ("loop", "name", "badge")
        )
        given = Requests(self._loops(loop), kind, shown_name(name, badge))
        until = asyncio.get_running_loop().time() + CONFIRM
        while not given.look() and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(LOOK)
        return {"request": kind, "loops": [vars(r) for r in given.close()]}


def _parsed(head: bytes) -> tuple[str, str, dict[str, str]]:
    """Return method, path and headers of a request; a `ValueError` where it is none."""
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, path, _ = first.split(" ")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name.lower() in headers:
            raise ValueError(line)
        headers[name.lower()] = value.strip()
    return method, path.partition("?")[0], headers


def _cookies(text: str) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(text).items()}
    except CookieError:
        return {}


# --------------------------------------------------------------------------- the process


class StopProcess:
    """The stop server as a child of the page's server, which it outlives while loops run.

    Parameters
    ----------
    settings
        Of the page's server.
    page_port
        Where that listens.

    Attributes
    ----------
    port
        Where the stop listens.
    """

    def __init__(self, settings: Settings, page_port: int) -> None:
        self._given = {
            "host": settings.host,
            "port": settings.stop_port if settings.stop_port is not None else page_port + 1,
            "page_port": page_port,
            "token": settings.token,
            "certificate": None if settings.certificate is None else str(settings.certificate.resolve()),
            "key": None if settings.key is None else str(settings.key.resolve()),
            "only": settings.segment,
        }
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bondloop.dashboard.stop_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C at the terminal ends the page, not the stop
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(self._given).encode() + b"\n")
        self._process.stdin.flush()
        there = select.select([self._process.stdout], [], [], READY)[0]
        line = self._process.stdout.readline().split() if there else []
        self._process.stdout.close()
        if len(line) != 2:
            raise InputError("the page's stop, a process of its own, did not start; see what it wrote above")
        self.port = self._given["port"] = int(line[1])

    def keep(self) -> bool:
        """Start it again where it has ended; return whether that was needed."""
        if self._process.poll() is None:
            return False
        self.close()
        self._start()
        return True

    def close(self) -> None:
        """Let it go: it ends by itself, when no loop runs any more."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()


def _listening(given: Mapping[str, Any], ending: contextlib.ExitStack) -> socket.socket:
    """Listen as the page does: at the port that is wanted, or at any where another keeps it."""
    try:
        return ending.enter_context(listening(given["host"], given["port"]))
    except (InputError, OverflowError):  # the next after the last port is none
        return ending.enter_context(listening(given["host"], 0))


async def _main() -> None:
    given = json.loads(sys.stdin.buffer.readline())
    tls = None
    if given["certificate"]:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(given["certificate"], given["key"], lambda: "")
    stop = StopServer(
        Access(given["host"], 0, given["token"], tls is not None, given["page_port"]), given["only"]
    )
    about: dict[str, Any] = {"ssl": tls, "limit": HEAD_BYTES, "backlog": 256}
    if tls is not None:
        about["ssl_handshake_timeout"] = about["ssl_shutdown_timeout"] = ARRIVAL
    with contextlib.ExitStack() as ending:
        listener = _listening(given, ending)
        port = listener.getsockname()[1]
        stop.access = Access(given["host"], port, given["token"], tls is not None, given["page_port"])
        _server = await asyncio.start_server(stop.serve, sock=listener, **about)
        sys.stdout.write(f"ready {port}\n")
        sys.stdout.flush()
        await _orphaned()
        while stop._loops(""):
            await asyncio.sleep(ORPHANED_LOOK)


async def _orphaned() -> None:
    """Wait until nobody holds the other end of standard input any more."""
    gone = asyncio.Event()
    turn = asyncio.get_running_loop()
    turn.add_reader(0, gone.set)  # nothing more is written: it is readable at its end
    await gone.wait()
    turn.remove_reader(0)


def _run() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE,
        (OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most), most),
    )
    with contextlib.suppress(OSError):
        os.nice(-5)  # where that is allowed
    asyncio.run(_main())


if __name__ == "__main__":
    _run()
