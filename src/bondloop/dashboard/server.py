"""Starting the server: a socket, the application on it, and the address to open."""

from __future__ import annotations

import contextlib
import ssl
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bondloop.dashboard.access import listening
from bondloop.engine.data import number
from bondloop.errors import InputError

if TYPE_CHECKING:
    import uvicorn

    from bondloop.dashboard.stop_server import StopProcess

MESSAGE_BYTES = 8192
"""Of a browser's message, at most."""


@dataclass(frozen=True)
class Absence:
    """What happens when no operator is there while the loop moves the rig.

    Parameters
    ----------
    seconds
        After which it happens.
    then
        ``"retreat"`` or ``"nothing"``.

    Examples
    --------
    >>> Absence.parsed("30,retreat") == Absence.parsed("0.5 min,retreat")
    True
    >>> Absence.parsed("soon")
    Traceback (most recent call last):
    bondloop.errors.InputError: --no-operator: expected SECONDS,retreat or SECONDS,nothing; found 'soon'
    """

    seconds: float = 0.0
    then: str = "nothing"

    @classmethod
    def parsed(cls, text: str) -> Absence:
        """Return what a ``text`` of the form ``SECONDS,retreat`` or ``SECONDS,nothing`` stands for."""
        length, _, then = text.partition(",")
        try:
            seconds = number(length.strip(), "--no-operator", "s")
        except InputError:
            seconds = -1.0
        if not 0 < seconds < 86400 or then.strip() not in ("retreat", "nothing"):
            raise InputError(
                f"--no-operator: expected SECONDS,retreat or SECONDS,nothing; found {text!r:.40}"
            )
        return cls(seconds, then.strip())


@dataclass(frozen=True)
class Subject:
    """The test that the page prepares and rehearses.

    Parameters
    ----------
    source
        As the command line names it.
    words
        Its settings, as further words of a command line: ``--set``, ``rig.latency=2 ms``.
    name
        In short.
    loop
        The name that its loops give themselves; the server attaches to no others.
    seconds
        Its own length.
    channels
        Its channels sheet: a dictionary for each.
    rehearsal
        Further words of `bondloop realtime` for rehearsals.

    Examples
    --------
    >>> Subject("mytest.py", ("--set", "rig.latency=2 ms"), "mytest").words
    ('--set', 'rig.latency=2 ms')
    """

    source: str
    words: tuple[str, ...] = ()
    name: str = ""
    loop: str = ""
    seconds: float | None = None
    channels: Sequence[Mapping[str, object]] = ()
    rehearsal: tuple[str, ...] = ()


@dataclass(frozen=True)
class PagePolicy:
    """Whom the page has room for, how long it waits, and what it may compute.

    Times are in s, memory is in bytes. What protects the rig is not among them.

    Parameters
    ----------
    viewers, operators, nameless
        Browsers at a time: viewers; of who is the operator or was; such as have not given a name yet.
    hello
        Time in which a browser must give its user's name.
    grace
        Time for which the role waits for an operator whose connection broke.
    confirm, old
        Time that the loop has to confirm a command, and after which a page's state is too old to act upon.
    samples_processor, samples_patience
        Time of the processor for one frame, and by the clock beyond that, before the process that makes
        frames is replaced.
    check_processor, check_memory
        Time of the processor, and memory, for a check that the page asks for.

    Examples
    --------
    >>> Settings(policy=PagePolicy(viewers=8)).policy.viewers
    8
    """

    viewers: int = 32
    operators: int = 8
    nameless: int = 32
    hello: float = 5.0
    grace: float = 5.0
    confirm: float = 5.0
    old: float = 5.0
    samples_processor: int = 5
    samples_patience: float = 5.0
    check_processor: int = 1800
    check_memory: int = 8 << 30


@dataclass(frozen=True)
class Settings:
    """Where the server listens, whom it lets in, and what it shows.

    Parameters
    ----------
    host, port
        Where it listens; port 0: any that is free.
    stop_port
        Where its stop listens, a process of its own; the next port unless given, another where that is taken.
    token
        Demanded from everybody, where it is not empty.
    certificate, key
        Files for TLS.
    segment
        The loop to attach to; empty: whichever is there.
    subject
        The test that is prepared here; None where there is none.
    runs
        Folder whose run files can be replayed, and into which rehearsals are recorded.
    run
        A run file to show at once.
    absence
        What happens when no operator is there.
    policy
        What the server allows, and how long it waits.

    Examples
    --------
    >>> Settings(port=0).host
    '127.0.0.1'
    """

    host: str = "127.0.0.1"
    port: int = 8750
    stop_port: int | None = None
    token: str = field(default="", repr=False)
    certificate: Path | None = None
    key: Path | None = None
    segment: str = ""
    subject: Subject | None = None
    runs: Path = Path("out")
    run: Path | None = None
    absence: Absence = Absence()
    policy: PagePolicy = PagePolicy()

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise InputError("--tls-cert and --tls-key belong together; give both or none")


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

    from bondloop.dashboard.app import Socket, application, connections

    config = uvicorn.Config(
        application(settings, port, stop),
        http=connections(_context(settings)),
        ws=Socket,
        ws_max_size=MESSAGE_BYTES,
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
