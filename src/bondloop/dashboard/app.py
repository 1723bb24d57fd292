"""The routes of the server, and what every answer carries."""

from __future__ import annotations

import asyncio
import contextlib
import math
import ssl
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from bondloop.dashboard.access import COOKIE, Access, Allowance
from bondloop.dashboard.client import Client, Closed
from bondloop.dashboard.frames import PLANE, STRIP
from bondloop.dashboard.hub import Hub
from bondloop.dashboard.preparation import CheckService
from bondloop.errors import BondloopError, InputError
from bondloop.readers import Reader, UnreadableError

if TYPE_CHECKING:
    from asyncio import BaseTransport, Transport

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bondloop.dashboard.server import Settings
    from bondloop.dashboard.stop_server import StopProcess

PROGRESS, CLOSING = 3.0, 2.0
"""Seconds for a TLS handshake, for a request, and until the next; and seconds to close."""
CONNECTIONS = 200
"""At a time; beyond, the one that has waited longest gives way."""
RUN_RATE, RUN_REQUESTS, UNREADABLE = 5e6, 32, 100
"""Bytes a second at which run files are read at least, requests that wait for them, and files that ended
their reader and are not read again before they change."""


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
        if len(self.all) >= CONNECTIONS:
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
                ssl_handshake_timeout=PROGRESS, ssl_shutdown_timeout=CLOSING,
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
            self._timer = self.loop.call_later(PROGRESS, self.drop)

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
        """Send; after a close the other end has some seconds."""
        await super().send(message)
        if message["type"] == "websocket.close":
            self.loop.call_later(CLOSING, self.transport.abort)


class Replay:
    """Serves run files of one folder, and the one that the command line named.

    Parameters
    ----------
    settings
        Of the server.
    """

    def __init__(self, settings: Settings) -> None:
        self._folder, self._named = settings.runs, settings.run
        self._reader = Reader(nice=5)
        self._thread = ThreadPoolExecutor(1, "replay")
        self._waiting = 0
        self._known: dict[str, Path] = {}
        self._unreadable: dict[Path, tuple[tuple[int, int], str]] = {}

    def close(self) -> None:
        """End the process that reads."""
        self._reader.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _read(self, work: str, path: Path, **words: object) -> tuple[dict[str, Any], bytearray]:
        if self._waiting >= RUN_REQUESTS:
            raise InputError("too many requests wait for run files; try again")
        about = path.stat() if path.exists() else None
        state = (about.st_mtime_ns, about.st_size) if about else (0, 0)
        known, text = self._unreadable.get(path, (None, ""))
        if known == state:
            raise InputError(text)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._thread,
                lambda: self._reader.read(
                    f"bondloop.dashboard.replay:{work}", path, ["h5py"], rate=RUN_RATE, **words
                ),
            )
        except UnreadableError as error:
            self._unreadable[path] = state, str(error)
            for old in list(self._unreadable)[:-UNREADABLE]:
                del self._unreadable[old]
            raise
        finally:
            self._waiting -= 1

    def routes(self) -> list[BaseRoute]:
        """Return what it serves."""
        return [
            Route("/api/runs", self._list),
            Route("/api/run", self._describe),
            Route("/api/stretch", self._stretch),
        ]

    async def _files(self) -> tuple[list[dict[str, object]], str]:
        """Return the run files there are, and by which name the browser knows the one that was named."""
        runs: list[dict[str, object]] = []
        if self._folder.is_dir():
            runs = (await self._read("listing", self._folder))[0]["runs"]
        named = {str(run["name"]): run for run in runs}
        known, label = {name: self._folder / name for name in named}, ""
        if self._named is not None and self._named.is_file():
            own, folder, about = self._named.resolve(), self._folder.resolve(), self._named.stat()
            if own.is_relative_to(folder):
                label = own.relative_to(folder).as_posix()
            else:
                label = self._named.name if self._named.name not in named else str(self._named.absolute())
            known[label] = self._named
            row = {"name": label, "changed": about.st_mtime, "bytes": about.st_size}
            runs = [row, *(run for run in runs if run["name"] != label)]  # at the head, and once
        self._known = known
        return runs, label

    async def _list(self, _: Request) -> Response:
        runs, named = await self._files()
        return JSONResponse({"runs": runs, "named": named})

    async def _path(self, request: Request) -> Path:
        name = request.query_params.get("name", "")
        if name not in self._known:  # listing a large folder takes a while: not for every stretch
            await self._files()
        path = self._known.get(name)
        if path is None:
            raise InputError(f"there is no run {name!r:.80}")
        return path

    async def _describe(self, request: Request) -> Response:
        about, _ = await self._read("describe", await self._path(request))
        return JSONResponse({"name": request.query_params["name"], **about})

    async def _stretch(self, request: Request) -> Response:
        path = await self._path(request)
        asked = request.query_params
        try:
            numbers = [int(n) for n in asked.get("channels", "").split(",")]
            begin, end, pixels = float(asked["from"]), float(asked["to"]), int(asked["pixels"])
        except (KeyError, ValueError):
            raise InputError("expected channels, from, to and pixels") from None
        sound = math.isfinite(begin) and math.isfinite(end) and begin <= end and 0 < pixels <= 4000
        if not sound or not 0 < len(numbers) <= 32:
            raise InputError("expected up to 32 channels of the run, from before to, and 1 to 4000 pixels")
        kind = PLANE if asked.get("kind") == "plane" else STRIP
        _, frame = await self._read(
            "stretch", path, kind=kind, numbers=numbers, begin=begin, end=end, pixels=pixels
        )
        return Response(bytes(frame), media_type="application/octet-stream")


PAGE = Path(__file__).parent / "page"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
CONTENT_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
"""On every answer, beside the policy."""


def need_uplot() -> None:
    """Refuse to start without what the page draws with."""
    if not (PAGE / "vendor" / "uplot.js").is_file():
        raise InputError(
            "the page's plots are missing: this bondloop was built without npm. Install npm and build it "
            "again (`make page` in a checkout), or install a wheel that has them"
        )


class _Guarded:
    """Lets in what `Access` lets in, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, access: Access, stop: StopProcess | None) -> None:
        self.app, self.access, self.stop = app, access, stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        from starlette.requests import HTTPConnection

        asked = HTTPConnection(scope)
        headers = {k.lower(): v for k, v in asked.headers.items()}
        acts = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        why = self.access.stranger(headers, acts=acts)
        if why is not None and why.followed_link and _is_visit(scope, headers):
            why = None  # a link on another page may lead here: it only shows the page
        if why is None and scope["path"].startswith(("/api/", "/socket")) and scope["path"] != "/api/login":
            why = self.access.unknown(headers, asked.cookies)
        if why is None:
            await self.app(scope, receive, _with_headers(send, self._content_policy(headers)))
        elif scope["type"] == "websocket":
            await WebSocket(scope, receive, send).close(Closed.REFUSED, why.words)
        else:
            answer = JSONResponse({"error": why.words}, why.status)
            await answer(scope, receive, _with_headers(send, CONTENT_POLICY))

    def _content_policy(self, headers: dict[str, str]) -> bytes:
        """Return what the page may load and reach: this server, and its stop under the same name."""
        if self.stop is None:
            return CONTENT_POLICY
        name = urlsplit(f"//{headers['host']}").netloc.removesuffix(f":{self.access.port}")
        scheme = "https" if self.access.secure else "http"
        return CONTENT_POLICY.replace(
            b"connect-src 'self'", f"connect-src 'self' {scheme}://{name}:{self.stop.port}".encode()
        )


def _is_visit(scope: Scope, headers: dict[str, str]) -> bool:
    return (
        scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == "/"
        and headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    )  # fmt: skip


def _with_headers(send: Send, policy: bytes) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (b"content-security-policy", policy), *HEADERS]
        await send(message)

    return sent


def application(settings: Settings, port: int, stop: StopProcess | None = None) -> ASGIApp:
    """Return the server's application.

    Parameters
    ----------
    settings
        Of the server.
    port
        On which it listens.
    stop
        The page's stop, where it has one.
    """
    access = Access(settings.host, port, settings.token, settings.certificate is not None)
    hub = Hub(settings, stop)
    tries = Allowance(1.0, 10)

    async def page(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        path = PAGE / name
        files = {
            f: KINDS[f.suffix]
            for folder in (PAGE, PAGE / "vendor")
            for f in folder.glob("*.*")
            if f.suffix in KINDS
        }
        if path not in files:
            return PlainTextResponse("there is no such file", 404)
        return FileResponse(path, media_type=files[path])

    async def login(request: Request) -> Response:
        if not tries.take():
            return JSONResponse({"error": "too many tries; wait a little"}, 429)
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > 1024:
                return JSONResponse({"error": "a token is shorter"}, 413)
        if not access.is_token(body.decode(errors="replace").strip()):
            return JSONResponse({"error": "the token is wrong"}, 401)
        answer = JSONResponse({"ok": True})
        answer.set_cookie(
            COOKIE, access.pass_word, httponly=True, samesite="strict", secure=access.secure, path="/"
        )
        return answer

    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        client = Client(websocket, hub)
        hub.come(client)
        try:
            await client.serve()
        finally:
            hub.go(client)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        running = asyncio.create_task(hub.run())
        yield
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        hub.close()
        replay.close()

    async def refused(_: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, 400)

    async def failed(_: Request, error: Exception) -> Response:
        said = f"{type(error).__name__}: {error}"
        return JSONResponse({"error": f"the server could not do it ({said:.200})"}, 500)

    replay, preparing = Replay(settings), CheckService(settings)
    app = Starlette(
        routes=[
            Route("/", page),
            Route("/api/login", login, methods=["POST"]),
            *replay.routes(),
            *preparing.routes(),
            WebSocketRoute("/socket", socket),
            Route("/{name:path}", page),
        ],
        exception_handlers={BondloopError: refused, Exception: failed},
        lifespan=lifespan,
    )
    app.state.hub = hub
    return _Guarded(app, access, stop)
