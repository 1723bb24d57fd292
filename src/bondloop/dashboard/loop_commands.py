"""Giving commands to the loop and waiting for their confirmation; a trip waits behind nothing."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bondloop.errors import InputError
from bondloop.realtime import REQUESTS

if TYPE_CHECKING:
    from bondloop.realtime.console import Console, Ticket


MOST_VALUES = 16
"""Parameters that one command changes at most."""


def _number(message: Mapping[str, object], word: str) -> float:
    value = message.get(word)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{word}: expected a number; found {value!r:.40}")
    return float(value)


def _switches(message: Mapping[str, object]) -> list[str]:
    names = message.get("switches", [])
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names) or len(names) > 2:
        raise InputError(f"switches: expected a list of names; found {names!r:.40}")
    return names


def _values(message: Mapping[str, object]) -> dict[str, float]:
    values = message.get("values")
    if not isinstance(values, dict) or not 0 < len(values) <= MOST_VALUES:
        raise InputError(f"values: expected 1 to {MOST_VALUES} numbers by name; found {values!r:.40}")
    return {str(name): _number(values, name) for name in values}


COMMANDS: dict[str, Callable[[Console, Mapping[str, object], str], Ticket]] = {
    "arm": lambda console, _, who: console.arm(who),
    "start": lambda console, _, who: console.start(who),
    "hold": lambda console, _, who: console.hold(who),
    "resume": lambda console, _, who: console.resume(who),
    "ramp_in": lambda console, message, who: console.ramp_in(*_switches(message), who=who),
    "ramp_out": lambda console, message, who: console.ramp_out(*_switches(message), who=who),
    "span": lambda console, message, who: console.span(_number(message, "factor"), who),
    "retreat": lambda console, _, who: console.retreat(who),
    "stop": lambda console, _, who: console.stop(who),
    "trip": lambda console, _, who: console.trip(who),
    "reset": lambda console, _, who: console.reset(who),
    "set": lambda console, message, who: console.set(_values(message), who),
}
"""By name."""


def given(console: Console, message: Mapping[str, object], who: str) -> Ticket:
    """Give a command to the loop; an `InputError` where it makes no sense.

    Parameters
    ----------
    console
        Of the loop.
    message
        From the browser: ``{"do": "span", "factor": 0.5}``.
    who
        For the loop's own log.

    Examples
    --------
    >>> given(None, {"do": "explode"}, "ada")
    Traceback (most recent call last):
    bondloop.errors.InputError: there is no command 'explode'
    """
    word = message.get("do")
    if not isinstance(word, str) or word not in COMMANDS:
        raise InputError(f"there is no command {word!r:.40}")
    return COMMANDS[word](console, message, who)


CONFIRM = 5.0
"""Seconds that the loop has to confirm a command."""
OLD = 5.0
"""Seconds after which nobody should act on what a page has shown: a network stalled, a laptop slept."""


class LoopCommands:
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
