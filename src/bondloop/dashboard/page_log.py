"""The log of what happened: states, trips, commands, who took and gave back what."""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import asdict, dataclass

KEPT = 1000
"""Events that are kept; older ones are forgotten."""


@dataclass(frozen=True)
class Event:
    """One thing that happened.

    Attributes
    ----------
    number
        Counted from 1.
    at
        Seconds since 1970.
    kind
        ``"state"``, ``"trip"``, ``"command"``, ``"set"``, ``"role"``, ``"warning"`` or ``"server"``.
    text
        In words.
    who
        Whose doing it was; empty where nobody's.
    test_time
        Seconds of the test; None where there is no loop.
    """

    number: int
    at: float
    kind: str
    text: str
    who: str = ""
    test_time: float | None = None


class EventLog:
    """The newest events.

    Examples
    --------
    >>> log = EventLog()
    >>> log.add("role", "ada is the operator", who="ada").number
    1
    >>> [event["text"] for event in log.since(0)]
    ['ada is the operator']
    """

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=KEPT)
        self._texts: deque[str] = deque(maxlen=KEPT)
        self.count = 0

    def add(
        self, kind: str, text: str, *, who: str = "", test_time: float | None = None, at: float | None = None
    ) -> Event:
        """Add an event.

        Parameters
        ----------
        kind, text, who, test_time, at
            As in `Event`; at: now, unless given.
        """
        self.count += 1
        event = Event(self.count, time.time() if at is None else at, kind, text, who, test_time)
        self._events.append(event)
        self._texts.append(json.dumps(asdict(event)))
        return event

    def since(self, number: int) -> list[dict[str, object]]:
        """Return the events after one, oldest first, as they go to the browser."""
        return [asdict(e) for e in self._events if e.number > number]

    def text(self, number: int) -> str:
        """Return them as the message for browsers; each event was put into words once, for all of them."""
        news = list(self._texts)[-(self.count - number) :] if number < self.count else []
        return f'{{"type": "events", "events": [{", ".join(news)}]}}'
