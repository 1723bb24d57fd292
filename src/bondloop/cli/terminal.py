"""The pre-flight list at the terminal: what is observed is waited for, people confirm the rest."""

from __future__ import annotations

import contextlib
import getpass
import os
import select
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

import click

from bondloop.errors import InputError
from bondloop.realtime import FOLDER, Request, opened, request

if TYPE_CHECKING:
    from bondloop.realtime import Item, Preflight


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


operator_option = click.option("--operator", help="Who starts the test; the user's name if left out.")
confirm_option = click.option(
    "--confirm",
    multiple=True,
    help="Item of a machine's pre-flight list that is confirmed, by its beginning; repeatable.",
)

PATIENCE = 600.0
"""Seconds in which the list must be complete."""


class TerminalList:
    """Asks for what is missing in a pre-flight list; called again and again, it never waits.

    Parameters
    ----------
    operator
        Who confirms.
    confirmed
        Beginnings of the items that were confirmed on the command line.
    answers
        Where answers are typed; None where nobody is there to answer.
    """

    def __init__(self, operator: str, confirmed: Sequence[str] = (), answers: TextIO | None = None) -> None:
        self._operator, self._confirmed, self._answers = operator, list(confirmed), answers
        self._said: set[str] = set()
        self._question = ""  # that waits for its answer
        self._until = time.monotonic() + PATIENCE

    def __call__(self, preflight: Preflight) -> bool:
        """Return whether a list is complete.

        Parameters
        ----------
        preflight
            The list, which has just looked.
        """
        preflight.check_shown(f"{self._operator}, at the terminal")
        self._confirm_given(preflight)
        items = preflight.items()
        missing = [item for item in items if item.missing]
        asked = [item for item in missing if item.kind != "observed"]
        if asked and self._answers is None:
            texts = "".join(f"\n  {item.text}" for item in asked)
            raise InputError(
                f"the pre-flight list is not complete: confirm {len(asked)} items at a terminal, or by "
                f"--confirm with the beginning of each:{texts}"
            )
        for item in items:
            if item.kind == "observed" and bool(item.missing) != (item.text in self._said):
                self._said ^= {item.text}
                self._say(
                    f"still to do: {item.missing}" if item.missing else f"done: {item.text}: {item.evidence}"
                )
        if asked:
            self._ask(preflight, asked[0], len(items) - len(missing) + 1, len(items))
        if missing and time.monotonic() > self._until:
            raise InputError(
                f"the pre-flight list was not complete within {PATIENCE:g} s: {missing[0].text}: "
                f"{missing[0].missing}"
            )
        return not missing

    def _confirm_given(self, preflight: Preflight) -> None:
        """Confirm what the command line has confirmed, once."""
        for begin in self._confirmed:
            found = [i for i in preflight.items() if i.text.casefold().startswith(begin.casefold())]
            if len(found) != 1:
                texts = "".join(f"\n  {item.text}" for item in preflight.items() if item.kind != "observed")
                raise InputError(f"--confirm: expected the beginning of one item; found {begin!r} of:{texts}")
            preflight.tick(found[0].text, True, self._operator)
        self._confirmed.clear()

    def _say(self, words: str) -> None:
        lines = ("", words, self._question) if self._question else (words, "")  # never into a question
        print(*lines, sep="\n", end="", file=sys.stderr, flush=True)

    def _ask(self, preflight: Preflight, item: Item, number: int, count: int) -> None:
        assert self._answers is not None
        if item.text not in self._said:
            self._said.add(item.text)
            _forget_typed(self._answers)
            self._question = f"[{number}/{count}] {item.text}? [y/n] "
            print(self._question, end="", file=sys.stderr, flush=True)
        if not select.select([self._answers], [], [], 0)[0]:
            return
        self._question = ""
        if self._answers.readline().strip().casefold() not in ("y", "yes"):
            raise InputError(f"not confirmed, so nothing was started: {item.text}")
        preflight.tick(item.text, True, self._operator)


def user_name() -> str:
    """Return the name of this process's user; empty where the system knows none."""
    with contextlib.suppress(OSError, KeyError):
        return getpass.getuser()
    return ""


def _forget_typed(answers: TextIO) -> None:
    """Drop what was typed or pasted before a question was there: it answers another."""
    if answers.isatty():
        import termios  # not on Windows, which runs no loop

        termios.tcflush(answers, termios.TCIFLUSH)
