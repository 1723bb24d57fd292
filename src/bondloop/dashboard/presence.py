"""Who is there, and who may command: one operator at a time, and as many viewers as there is room for."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

GRACE = 5.0
"""Seconds for which the role waits for an operator whose connection broke: a reload, a lost network."""


@dataclass
class Presence:
    """The people at the page.

    A person is known by the badge that the browser made for itself and tells nobody but the server, so that a
    reload gives the role back to who had it.

    Parameters
    ----------
    clock
        Seconds that only increase.

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
        if self._gone_at is None or self.clock() - self._gone_at < GRACE:
            return ""
        name = self.operator_name
        self._names.pop(self.operator, None)
        self.operator, self._gone_at = "", None
        return name or "the operator"
