"""Giving commands to the loop and waiting for their confirmation; a trip waits behind nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bondloop.dashboard.commands import given
from bondloop.errors import InputError
from bondloop.realtime.stop_requests import REQUESTS

if TYPE_CHECKING:
    from bondloop.realtime import Console

__all__ = ["OLD", "Hands"]

CONFIRM = 5.0
"""Seconds that the loop has to confirm a command."""
OLD = 5.0
"""Seconds after which nobody should act on what a page has shown: a network stalled, a laptop slept."""


class Hands:
    """Gives commands in threads, for the mailbox may be another's for a moment; trips need no mailbox."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(4, "command")

    async def give(self, console: Console, message: Mapping[str, object], who: str) -> str:
        """Give a command and wait until the loop has confirmed it; return it in words.

        Parameters
        ----------
        console
            Of the loop.
        message
            From the browser.
        who
            For the loop's own log.
        """
        word = message.get("do")
        if word not in REQUESTS and is_old(message.get("seen"), time.monotonic()):
            raise InputError(
                f"{word!s:.40} came more than {OLD:g} s after what the page had shown, so it was not passed "
                "on: look at the page again, then ask again"
            )
        if word in REQUESTS:
            ticket = given(console, message, who)
        else:
            turn = asyncio.get_running_loop()
            ticket = await turn.run_in_executor(self._threads, given, console, message, who)
        until = time.monotonic() + CONFIRM
        while not ticket.done:
            if time.monotonic() > until:
                then = "; press the emergency stop" if word in REQUESTS else ""
                raise InputError(f"the loop has not confirmed: {ticket.words}{then}")
            await asyncio.sleep(0.002)
        if ticket.refused:  # the loop's own log tells of it, as of what it has obeyed
            raise InputError(ticket.refused)
        return ticket.words

    def retreat(self, console: Console, who: str) -> None:
        """Bring the rig to rest, without waiting for it."""
        console.retreat(who)

    def close(self) -> None:
        """Give no more."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def is_old(seen: Any, now: float) -> bool:
    """Whether what a browser showed when its user acted is too old to act on, by the server's own clock.

    A program need not say what it saw.

    Examples
    --------
    >>> is_old(100.0, 101.0), is_old(100.0, 130.0), is_old(None, 130.0)
    (False, True, False)
    """
    known = isinstance(seen, int | float) and not isinstance(seen, bool)
    return known and not now - seen < OLD
