"""Starting the server: a socket, the application on it, and the address to open."""

from __future__ import annotations

import contextlib
import ssl
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from bondloop.dashboard.access import listening
from bondloop.errors import InputError

if TYPE_CHECKING:
    import uvicorn

    from bondloop.dashboard.settings import Settings
    from bondloop.dashboard.stop_server import StopProcess


def serve(settings: Settings, tell: Callable[[str], None] = print) -> None:
    """Serve the operator's page until Ctrl-C.

    Parameters
    ----------
    settings
        Where, to whom and what.
    tell
        Called with the address of the page, once it can be opened.
    """
    _need_packages()
    from bondloop.dashboard.app import need_uplot

    need_uplot()
    _context(settings)
    with contextlib.ExitStack() as ending:
        listener = ending.enter_context(listening(settings.host, settings.port))
        port = int(listener.getsockname()[1])
        stop = _stop(settings, port)
        if stop is not None:
            ending.callback(stop.close)
        server = server_of(settings, port, stop)
        scheme = "http" if settings.certificate is None else "https"
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        mark = "#token=..." if settings.token else ""
        tell(
            f"the operator's page is at {scheme}://{host}:{port}/{mark}; Ctrl-C ends it, not the test"
            + ("" if stop is None else f". Its stop listens at port {stop.port}")
        )
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


def _stop(settings: Settings, port: int) -> StopProcess | None:
    """Start the page's stop; on a system that runs no loop there is nothing to stop."""
    if sys.platform != "linux":
        return None
    from bondloop.dashboard.stop_server import StopProcess

    return StopProcess(settings, port)


def _need_packages() -> None:
    try:
        import uvicorn  # noqa: F401 - here only to see whether it is there
        import websockets  # noqa: F401 - uvicorn takes it
    except ImportError as error:
        raise InputError(
            f"the operator's page needs {error.name}: pip install 'bondloop[dashboard]'"
        ) from error


def server_of(settings: Settings, port: int, stop: StopProcess | None = None) -> uvicorn.Server:
    """Return the server, to be run on a socket that listens; `should_exit` ends it.

    Parameters
    ----------
    settings
        Where, to whom and what.
    port
        On which it will listen.
    stop
        The page's stop; None: its buttons go by the server alone.
    """
    import uvicorn

    from bondloop.dashboard.app import application
    from bondloop.dashboard.client import LONGEST
    from bondloop.dashboard.connections import Socket, connections

    config = uvicorn.Config(
        application(settings, port, stop),
        http=connections(_context(settings)),
        ws=Socket,
        ws_max_size=LONGEST,
        ws_ping_interval=5.0,
        ws_ping_timeout=10.0,
        ws_per_message_deflate=False,  # frames are noise, and loopback is not slow
        h11_max_incomplete_event_size=16384,
        timeout_graceful_shutdown=2,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
    )
    return uvicorn.Server(config)


def _context(settings: Settings) -> ssl.SSLContext | None:
    """Return what TLS needs; refuse files that are no certificate and its key before anything is served."""
    if settings.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # A key with a password would make the server wait for somebody to type it.
        context.load_cert_chain(settings.certificate, settings.key, lambda: "")
    except (ssl.SSLError, OSError, ValueError) as error:
        raise InputError(
            f"--tls-cert {settings.certificate} and --tls-key {settings.key}: expected a certificate and its "
            f"key without a password, as PEM files ({error})"
        ) from None
    return context
