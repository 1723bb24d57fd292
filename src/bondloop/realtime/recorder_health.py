"""How the recording of a running test is doing, for the operator and for a test that demands a record."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Health", "News"]

LAGS = 0.5
"""Share of the ring that waits for the recorder from which on that is told; it looks four times a ring."""


@dataclass(frozen=True)
class Health:
    """How the recording is doing.

    Attributes
    ----------
    words
        What the operator should know; empty while all is well.
    lost
        Samples that no file will hold, as far as that is known already.
    over
        Whether nothing more is recorded.

    Examples
    --------
    >>> Health("the disk is full", 0, over=True).loss, Health("the recorder lags", 0).loss
    (True, False)
    """

    words: str = ""
    lost: int = 0
    over: bool = False

    @property
    def loss(self) -> bool:
        """Whether the record has a hole, or ends before the test does."""
        return self.over or self.lost > 0


class News:
    """What a recorder says of itself while it works: a line ``at CURSOR LOST BEFORE`` after every write.

    Parameters
    ----------
    lines
        Its standard output; listened to by a thread, until it ends.
    after
        The news of its predecessor, if it has one.

    Attributes
    ----------
    at
        Number of the sample that it will read next: all before it are in a file, or lost. None while it is
        not known: what came before the first recorder was ready is of no interest, for the test begins then.
    lost
        Samples lost so far, by it and those before it.
    files
        That it began after its first: a line ``file PATH`` for every run after a reset.

    Examples
    --------
    >>> first = News(["at 100 0 0", "at 180 20 0", "nonsense"])
    >>> first.wait()
    >>> second = News(["at 900 0 200"], first)  # the oldest that it found was number 200
    >>> second.wait()
    >>> (first.at, first.lost), (second.at, second.lost)
    ((180, 20), (900, 40))
    """

    def __init__(self, lines: Iterable[str] = (), after: News | None = None) -> None:
        self.at: int | None = None if after is None else after.at
        self.lost: int = 0 if after is None else after.lost
        self.files: list[str] = [] if after is None else after.files
        self._inherited = self.lost
        self._joined = self.at
        self._thread = threading.Thread(target=self._listen, args=(lines,), name="recorder", daemon=True)
        self._thread.start()

    def _listen(self, lines: Iterable[str]) -> None:
        try:
            for line in lines:
                word, *numbers = line.split() or [""]
                if word == "file" and numbers:
                    self.files.append(line.strip().removeprefix("file "))
                elif word == "at" and len(numbers) == 3:
                    at, lost, before = (int(n) for n in numbers)
                    # What the ring had overwritten before it came, and its predecessor had not read.
                    missed = 0 if self._joined is None else max(0, before - self._joined)
                    self.lost = self._inherited + lost + missed
                    self.at = at
        except ValueError:  # closed: the process was buried meanwhile
            return

    def wait(self) -> None:
        """Wait until there is no more."""
        self._thread.join()

    def health(self, written: int, slots: int, *, paced: bool) -> Health:
        """Return how a recorder that is alive is doing.

        Parameters
        ----------
        written
            Samples that the loop has written.
        slots
            How many of them the ring holds.
        paced
            Whether the loop follows a clock; without one it may be far ahead.

        Examples
        --------
        >>> news = News(["at 1000 0 0"])
        >>> news.wait()
        >>> news.health(1400, 1000, paced=True).words
        ''
        >>> news.health(1700, 1000, paced=True).words
        'the recorder lags by 700 ticks'
        >>> news.health(2300, 1000, paced=True).words
        'the recorder lags by 1,300 ticks; 300 are lost'
        """
        if self.at is None:
            self.at = written
        waiting = written - self.at
        lost = self.lost + max(0, waiting - slots)
        words = [f"the recorder lags by {waiting:,} ticks"] if paced and waiting > LAGS * slots else []
        words += [f"{lost:,} are lost" if words else f"{lost:,} ticks are not in the record"] if lost else []
        return Health("; ".join(words), lost)
