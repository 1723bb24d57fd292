"""Who is there, and who may command: one operator at a time, and as many viewers as there is room for."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field


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

    Parameters
    ----------
    kept
        How many; older ones are forgotten.

    Examples
    --------
    >>> log = EventLog()
    >>> log.add("role", "ada is the operator", who="ada").number
    1
    >>> [event["text"] for event in log.since(0)]
    ['ada is the operator']
    """

    def __init__(self, kept: int = 1000) -> None:
        self._events: deque[Event] = deque(maxlen=kept)
        self._texts: deque[str] = deque(maxlen=kept)
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


@dataclass
class Presence:
    """The people at the page.

    A person is known by the badge that the browser made for itself and tells nobody but the server, so that a
    reload gives the role back to who had it.

    Parameters
    ----------
    clock
        Seconds that only increase.
    grace
        Seconds for which the role waits for an operator whose connection broke: a reload, a lost network.

    Attributes
    ----------
    operator
        Badge of the operator; empty where there is none.
    operators
        Badges of the newest who had the role, the operator's last.
    absent
        Since when no operator has been there; None while there is one.

    Examples
    --------
    >>> presence = Presence()
    >>> presence.come("badge-a", "ada"), presence.come("badge-b", "bob")
    ('ada', 'bob')
    >>> presence.take("badge-a"), presence.take("badge-b"), presence.operator_name
    (True, False, 'ada')
    """

    clock: Callable[[], float] = time.monotonic
    grace: float = 5.0
    operator: str = ""
    absent: float | None = None
    operators: deque[str] = field(default_factory=lambda: deque(maxlen=8))
    _names: dict[str, str] = field(default_factory=dict)
    _there: dict[str, int] = field(default_factory=dict)
    _gone_at: float | None = None

    def __post_init__(self) -> None:
        self.absent = self.clock()

    @property
    def operator_name(self) -> str:
        """Name of the operator; empty where there is none."""
        return self._names.get(self.operator, "")

    @property
    def waiting(self) -> bool:
        """Whether the operator's connection is broken, and the role waits for it."""
        return self._gone_at is not None

    @property
    def viewers(self) -> int:
        """How many are there without the role."""
        return sum(badge != self.operator for badge, count in self._there.items() if count)

    def come(self, badge: str, name: str) -> str:
        """Note that a browser has come; return the name by which it goes.

        Parameters
        ----------
        badge
            Secret of the browser.
        name
            That it wishes.
        """
        self._there[badge] = self._there.get(badge, 0) + 1
        self._names[badge] = name
        if badge == self.operator:
            self._gone_at = self.absent = None
        return name

    def rename(self, badge: str, name: str) -> None:
        """Let somebody who is there go by another name."""
        if badge in self._there:
            self._names[badge] = name

    def go(self, badge: str) -> None:
        """Note that a connection has ended."""
        self._there[badge] = self._there.get(badge, 1) - 1
        if self._there[badge] <= 0:
            del self._there[badge]
            if badge == self.operator:
                self._gone_at = self.absent = self.clock()
            else:
                self._names.pop(badge, None)

    def take(self, badge: str) -> bool:
        """Make somebody the operator, if nobody is; return whether he is now."""
        if not self.operator and badge in self._there:
            self.operator, self._gone_at, self.absent = badge, None, None
            if badge in self.operators:
                self.operators.remove(badge)
            self.operators.append(badge)
        return self.operator == badge

    def give_back(self, badge: str) -> bool:
        """Take the role from who has it, at his wish; return whether he had it."""
        if not self.operator or badge != self.operator:
            return False
        self.operator, self._gone_at, self.absent = "", None, self.clock()
        return True

    def look(self) -> str:
        """Release the role of an operator who has been gone too long; return his name then, else nothing."""
        if self._gone_at is None or self.clock() - self._gone_at < self.grace:
            return ""
        name = self.operator_name
        self._names.pop(self.operator, None)
        self.operator, self._gone_at = "", None
        return name or "the operator"
