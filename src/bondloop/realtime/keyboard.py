"""Keys at the terminal that bring the rig to rest while a test runs."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator

from bondloop.realtime.stop_requests import FOLDER, Request, opened, request

KEYS: dict[bytes, Request] = {b" ": "trip", b"t": "trip", b"r": "retreat", b"s": "stop"}
"""By the letter; the space bar is the one that is found without looking."""
BACKGROUND_LOOK = 0.1
"""Seconds between looks whether the process has come back to the foreground."""


@contextlib.contextmanager
def stop_keys(loop: str, file: int | None = None) -> Iterator[bool]:
    """Heed the keys of a terminal while a loop runs; whether there is a terminal.

    A thread of its own reads them and gives the requests itself; nothing that draws or records is in its way.

    Parameters
    ----------
    loop
        Name of its telemetry segment.
    file
        Of the terminal; standard input unless given.
    """
    source = _standard_input() if file is None else file
    # In the background keys are another program's.
    if source < 0 or not os.isatty(source) or not _in_front(source):
        yield False
        return
    with opened(FOLDER / loop, writable=True) as segment:
        before = termios.tcgetattr(source)
        ended, end = os.pipe()
        thread = threading.Thread(
            target=_read_keys, args=(source, ended, segment.fileno()), name="keys", daemon=True
        )
        tty.setcbreak(source, termios.TCSANOW)  # key by key, and Ctrl-C as ever
        thread.start()
        try:
            yield True
        finally:
            os.write(end, b".")
            thread.join()
            if _in_front(source):  # else the terminal is the shell's, which has restored it
                with contextlib.suppress(termios.error):  # it was closed just now
                    termios.tcsetattr(source, termios.TCSANOW, before)
            os.close(ended)
            os.close(end)


def _standard_input() -> int:
    try:
        return sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # there is none, or it is closed
        return -1


def _in_front(source: int) -> bool:
    """Whether this process is in the foreground of a terminal that is still there."""
    try:
        return os.tcgetpgrp(source) == os.getpgrp()
    except OSError:  # it was closed
        return False


def _read_keys(source: int, ended: int, segment: int) -> None:
    # Reading in the background (Ctrl-Z, bg) would stop this whole process, and the heartbeat with it.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTIN])
    in_background = False
    while True:
        ready, _, _ = select.select(
            [ended] if in_background else [source, ended], [], [], BACKGROUND_LOOK if in_background else None
        )
        if ended in ready:
            return
        in_background = not _in_front(source)
        if in_background or source not in ready:
            continue
        try:
            pressed = os.read(source, 64)
        except OSError:  # it went to the background, or was closed
            in_background = True
            continue
        if not pressed:
            return
        for key in pressed.lower():
            kind = KEYS.get(bytes([key]))
            if kind is not None:
                request(segment, kind, "a key at the terminal")
