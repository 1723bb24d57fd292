"""The loop on a clock: the executive in C, links to rigs, telemetry, and the processes that run them.

The names are imported when they are first used: building a loop needs the compiler, reading one does not.

>>> from bondloop import realtime
>>> realtime.LoopOptions(steps=200).steps
200
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bondloop.realtime.console import Console
    from bondloop.realtime.export import export_c
    from bondloop.realtime.mailbox import Mailbox
    from bondloop.realtime.options import LoopOptions, RigOptions
    from bondloop.realtime.process import LoopProcess, RigProcess
    from bondloop.realtime.ring import Ring
    from bondloop.realtime.session import run_realtime

__all__ = [
    "Console",
    "LoopOptions",
    "LoopProcess",
    "Mailbox",
    "RigOptions",
    "RigProcess",
    "Ring",
    "export_c",
    "run_realtime",
]

# The module of each name. A name added here goes into __all__ and into the TYPE_CHECKING block above.
_LAZY = {
    "Console": "console",
    "LoopOptions": "options",
    "LoopProcess": "process",
    "Mailbox": "mailbox",
    "RigOptions": "options",
    "RigProcess": "process",
    "Ring": "ring",
    "export_c": "export",
    "run_realtime": "session",
}


def __getattr__(name: str) -> object:
    """Import what `name` stands for (PEP 562)."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=None)
    found: object = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Show the lazy names before they are imported."""
    return sorted({*globals(), *_LAZY})
