"""What an operator can ask for: checked here, carried out by the loop, and done when the loop says so."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.realtime import Console
    from bondloop.realtime.ticket import Ticket

__all__ = ["COMMANDS", "given"]

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
