"""What is going on, for people at a terminal and in a notebook.

Whatever may take over two seconds is decorated with `with_progress`. After a second a line appears: what is
being done, and how much of it where that is known. In a terminal it is on stderr and vanishes in the end; in
a notebook it stays as a line that says how long it took. Where nobody looks (a pipe, a file) nothing is shown
and nothing is spent.
"""

from __future__ import annotations

import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from html import escape
from typing import Any, ParamSpec, Protocol, TypeVar

SHOWN_AFTER, LOOK_INTERVAL, RATE_AFTER = 1.0, 0.25, 0.5
"""Seconds after which progress is shown, between two looks at it, and after which a rate is shown."""

BAR_LETTERS = 40
"""Letters of a bar of progress."""

Progress = Callable[[int, int], None]
"""Called with how much is done, of how much."""

P = ParamSpec("P")
R = TypeVar("R")


_shown = threading.Lock()
"""Held while something is shown: what it calls in turn, in whatever thread, is part of it."""


class Screen(Protocol):
    """Where it is shown: one line that changes."""

    def show(self, words: str, share: float | None) -> None:
        """Show words, and a bar where the share that is done is known."""

    def close(self, words: str) -> None:
        """End with these words."""


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


class Terminal:
    """The line of a terminal, on stderr; it is wiped in the end."""

    def show(self, words: str, share: float | None) -> None:
        """Write over what was there."""
        bar = ""
        if share is not None:
            full = int(BAR_LETTERS * share)
            bar = f"[{'#' * full}{'.' * (BAR_LETTERS - full)}] {100 * share:3.0f} %  "
        _write(f"\r\x1b[K{bar}{words}")

    def close(self, _words: str) -> None:
        """Wipe it."""
        _write("\r\x1b[K")


class Notebook:
    """A line of a notebook's output; it stays, and says in the end how long it took."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, words: str, share: float | None) -> None:
        """Show a bar and words in the place of what was there."""
        value = "" if share is None else f' value="{share:.4f}"'
        self._put(words, f"<progress{value}></progress> {escape(words)}")

    def close(self, words: str) -> None:
        """Leave the words without a bar."""
        self._put(words, f"<small>{escape(words)}</small>")

    def _put(self, words: str, html: str) -> None:
        bundle = {"text/plain": words, "text/html": html}
        if self._handle is None:
            from IPython import display

            show: Any = display.display  # it has no types
            self._handle = show(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def find_screen() -> Screen | None:
    """Return where somebody looks; None where nobody does."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return Notebook()
    return Terminal() if sys.stderr is not None and sys.stderr.isatty() else None


@contextmanager
def at_work(words: str, quiet: bool = False, screen: Screen | None = None) -> Iterator[Progress | None]:
    """Show what is being done while it is done; give what to call with how much is done.

    Parameters
    ----------
    words
        What is being done: "checking the test".
    quiet
        Show nothing, nor of what is called in turn.
    screen
        Where; by default where somebody looks.

    Examples
    --------
    >>> with at_work("counting") as tell:  # nobody looks
    ...     print(tell)
    None
    """
    if not _shown.acquire(blocking=False):  # part of something that is shown, or hushed, already
        yield None
        return
    try:
        screen = None if quiet else screen or find_screen()
        if screen is None:
            yield None
            return
        line = Line(words, screen)
        line.start()
        try:
            yield line.tell
        finally:
            line.finish()
    finally:
        _shown.release()


class Line(threading.Thread):
    """The line that is shown, from a thread of its own, so that what works need not think of it.

    Parameters
    ----------
    words
        What is being done.
    screen
        Where it is shown.
    """

    def __init__(self, words: str, screen: Screen) -> None:
        super().__init__(daemon=True, name="bondloop progress")
        self._words, self._screen = words, screen
        self._over = threading.Event()
        self._state: tuple[int, int] | None = None
        self._pace = Pace()
        self._began = time.monotonic()

    def tell(self, done: int, whole: int) -> None:
        """Note how much is done."""
        self._state = done, whole

    def run(self) -> None:
        """Show it, once it has taken a while, until it is over."""
        if self._over.wait(SHOWN_AFTER):
            return
        while True:
            now, state = time.monotonic(), self._state
            if state is None or not state[1]:
                self._screen.show(f"{self._words} ... {_span(now - self._began)}", None)
            else:
                pace = self._pace.words(*state, now)
                self._screen.show(f"{self._words}{pace}", min(1.0, max(0.0, state[0] / state[1])))
            if self._over.wait(LOOK_INTERVAL):
                break
        self._screen.close(f"{self._words}: {_span(time.monotonic() - self._began)}")

    def finish(self) -> None:
        """End it, and wait until the line is gone."""
        self._over.set()
        self.join()


def silent(done: int, whole: int) -> None:
    """Say nothing: as `progress` of a call that is to show nothing.

    Parameters
    ----------
    done, whole
        How much is done, and of how much.
    """


def with_progress(words: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function show that it is at work, where somebody looks.

    A function that takes `progress` is given what to call, unless its caller gives something else: then that
    is called and nothing is shown.

    Parameters
    ----------
    words
        What it does: "checking the test".

    Examples
    --------
    >>> @with_progress("adding")
    ... def add(numbers, *, progress=None):
    ...     for done, _ in enumerate(numbers, 1):
    ...         if progress is not None:
    ...             progress(done, len(numbers))
    ...     return sum(numbers)
    >>> add([1, 2]), add([3, 4], progress=lambda done, whole: print(done, "of", whole))
    1 of 2
    2 of 2
    (3, 7)
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        takes = "progress" in inspect.signature(function).parameters

        @wraps(function)
        def told(*arguments: P.args, **options: P.kwargs) -> R:
            given = options.get("progress") is not None
            with at_work(words, quiet=given) as tell:
                if takes and not given:
                    options["progress"] = tell
                return function(*arguments, **options)

        return told

    return decorate


class Pace:
    """How fast something goes, and how long it will take.

    Examples
    --------
    >>> pace = Pace()
    >>> pace.words(100, 1000, 0.0), pace.words(400, 1000, 2.0), pace.words(1000, 1000, 6.0)
    ('', '  150/s, 4 s left', '  150/s')
    """

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None

    def words(self, done: int, whole: int, now: float) -> str:
        """Return rate and time left; nothing until they can be told.

        Parameters
        ----------
        done, whole
            How many are done, of how many. Those of the first call may have been done before.
        now
            In seconds.
        """
        if self._first is None:
            self._first = done, now
        before, began = self._first
        if done <= before or now - began < RATE_AFTER:
            return ""
        rate = (done - before) / (now - began)
        pace = f"  {rate:,.0f}/s" if rate >= 10 else f"  {rate:.2g}/s"
        return pace if done >= whole else f"{pace}, {_span((whole - done) / rate)} left"


def _span(seconds: float) -> str:
    """Write a time.

    >>> _span(4.2), _span(400), _span(40_000)
    ('4 s', '6:40 min', '11:06 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02d} h"
