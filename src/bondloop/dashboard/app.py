"""The routes of the server, and what every answer carries."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from bondloop.dashboard.access import COOKIE, Access, Allowance
from bondloop.dashboard.client import REFUSED, Client
from bondloop.dashboard.hub import Hub
from bondloop.dashboard.preparation import Preparing
from bondloop.dashboard.replay.routes import Replay
from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bondloop.dashboard.settings import Settings
    from bondloop.dashboard.stop_server import StopProcess


PAGE = Path(__file__).parent / "page"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
POLICY = (
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
            await self.app(scope, receive, _with_headers(send, self._policy(headers)))
        elif scope["type"] == "websocket":
            await WebSocket(scope, receive, send).close(REFUSED, why.words)
        else:
            answer = JSONResponse({"error": why.words}, why.status)
            await answer(scope, receive, _with_headers(send, POLICY))

    def _policy(self, headers: dict[str, str]) -> bytes:
        """Return what the page may load and reach: this server, and its stop under the same name."""
        if self.stop is None:
            return POLICY
        name = urlsplit(f"//{headers['host']}").netloc.removesuffix(f":{self.access.port}")
        scheme = "https" if self.access.secure else "http"
        return POLICY.replace(
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

    replay, preparing = Replay(settings), Preparing(settings)
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
