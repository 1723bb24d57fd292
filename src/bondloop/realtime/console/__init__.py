"""The console of a running loop: commands, what became of them, the pre-flight list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.lazy_names import lazy_names

if TYPE_CHECKING:
    from bondloop.realtime.console.console import Console
    from bondloop.realtime.console.mailbox import Mailbox, Ticket
    from bondloop.realtime.console.preflight import Item, Preflight

__all__ = ["Console", "Item", "Mailbox", "Preflight", "Ticket"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Console": "console",
        "Item": "preflight",
        "Mailbox": "mailbox",
        "Preflight": "preflight",
        "Ticket": "mailbox",
    },
)
