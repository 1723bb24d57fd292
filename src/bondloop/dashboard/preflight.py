"""The list that is ticked before a rig that is no model may be armed."""

from __future__ import annotations

from typing import Any

from bondloop.errors import InputError

__all__ = ["ITEMS", "Preflight"]

ITEMS = (
    "The emergency stop was pressed and released, and the rig said so",
    "Nobody is within the rig's reach, and the area is closed off",
    "The specimen is mounted, its bolts are tight, its stroke is free",
    "Sensors were read inactive: values, units and signs are right",
    "The limits are those of this rig and this specimen",
    "The safe position is one in which rig and specimen can rest",
    "The check was read, and its warnings are understood",
    "The record goes to a disk with room, and the rig's own watchdog is on",
)
"""What is looked at before anything moves."""


class Preflight:
    """Which items are ticked, and by whom; another loop begins with none.

    Examples
    --------
    >>> list_ = Preflight()
    >>> list_.tick(0, True, "ada")
    'ticked: The emergency stop was pressed and released, and the rig said so'
    >>> len(list_.missing) == len(ITEMS) - 1
    True
    """

    def __init__(self) -> None:
        self._by: dict[int, str] = {}

    @property
    def missing(self) -> list[str]:
        """Items that are not ticked."""
        return [text for i, text in enumerate(ITEMS) if i not in self._by]

    def tick(self, item: Any, ticked: object, who: str) -> str:
        """Tick an item, or take the tick away; return that in words.

        Parameters
        ----------
        item
            Its number.
        ticked
            Whether it is.
        who
            Who did it.
        """
        known = isinstance(item, int) and not isinstance(item, bool) and 0 <= item < len(ITEMS)
        if not known or not isinstance(ticked, bool):
            raise InputError(f"expected an item from 0 to {len(ITEMS) - 1} and whether it is ticked")
        if ticked:
            self._by[item] = who
        else:
            self._by.pop(item, None)
        return f"{'ticked' if ticked else 'no longer ticked'}: {ITEMS[item]}"

    def clear(self) -> None:
        """Take all ticks away."""
        self._by.clear()

    def describe(self) -> list[dict[str, str | None]]:
        """Return it as it goes to the browser."""
        return [{"text": text, "by": self._by.get(i)} for i, text in enumerate(ITEMS)]
