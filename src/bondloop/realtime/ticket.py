"""A command that was given to a loop, until the loop itself says what became of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from bondloop.errors import InputError

__all__ = ["Ticket"]

_LOOK = 0.002
"""Seconds between looks while waiting."""


class Ticket:
    """What became of a command.

    Parameters
    ----------
    words
        The command in words.
    outcome
        Returns None while the loop has not handled it, an empty text once it has obeyed, else why not.
    number
        Of the command in the mailbox; 0 where it needs none.

    Examples
    --------
    >>> ticket = Ticket("start", lambda: "the loop is active already", 7)
    >>> ticket.done, ticket.refused
    (True, 'the loop is active already')
    """

    def __init__(self, words: str, outcome: Callable[[], str | None], number: int = 0) -> None:
        self.words, self.number = words, number
        self._ask, self._known = outcome, None  # type: Callable[[], str | None], str | None

    def __repr__(self) -> str:
        said = "waits" if not self.done else self.refused or "obeyed"
        return f"<Ticket {self.number}: {self.words}: {said}>"

    def _outcome(self) -> str | None:
        if self._known is None:
            self._known = self._ask()
        return self._known

    @property
    def done(self) -> bool:
        """Whether the loop has handled the command, one way or the other."""
        return self._outcome() is not None

    @property
    def refused(self) -> str:
        """Why the loop did not obey; empty where it did, or has not come to it."""
        return self._outcome() or ""

    def wait(self, timeout: float = 1.0) -> bool:
        """Wait until the loop has handled the command; return whether it has obeyed.

        Parameters
        ----------
        timeout
            Seconds after which the wait is over.

        Raises
        ------
        InputError
            The loop has not answered.
        """
        until = time.monotonic() + timeout
        while not self.done:
            if time.monotonic() > until:
                raise InputError(f"the loop has not answered to {self.words} within {timeout:g} s")
            time.sleep(_LOOK)
        return not self.refused
