"""Keys at the terminal that bring the rig to rest while a test runs."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import threading
import tty
from collections.abc import Iterator

from bondloop.realtime.stop_requests import FOLDER, Request, opened, request

__all__ = ["KEYS", "stop_keys"]

KEYS: dict[bytes, Request] = {b" ": "trip", b"t": "trip", b"r": "retreat", b"s": "stop"}
"""By the letter; the space bar is the one that is found without looking."""


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
    if source < 0 or not os.isatty(source) or os.tcgetpgrp(source) != os.getpgrp():
        yield False
        return
    with opened(FOLDER / loop, writable=True) as segment:
        before = termios.tcgetattr(source)
        ears, mouth = os.pipe()
        thread = threading.Thread(
            target=_listen, args=(source, ears, segment.fileno()), name="keys", daemon=True
        )
        tty.setcbreak(source, termios.TCSANOW)  # key by key, and Ctrl-C as ever
        thread.start()
        try:
            yield True
        finally:
            os.write(mouth, b".")
            thread.join()
            termios.tcsetattr(source, termios.TCSANOW, before)
            os.close(ears)
            os.close(mouth)


def _standard_input() -> int:
    try:
        return sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # there is none, or it is closed
        return -1


def _listen(source: int, ears: int, segment: int) -> None:
    while True:
        ready, _, _ = select.select([source, ears], [], [])
        if ears in ready:
            return
        pressed = os.read(source, 64)
        if not pressed:
            return
        for key in pressed.lower():
            kind = KEYS.get(bytes([key]))
            if kind is not None:
                request(segment, kind, "a key at the terminal")
