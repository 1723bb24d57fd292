"""The loop on a clock: the executive in C, links to rigs, telemetry, and the processes that run them.

The names are imported when they are first used: building a loop needs the compiler, reading one does not.

>>> from bondloop import realtime
>>> realtime.STATES[2]
'active'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bondloop.realtime.build import (
        Programs,
        build_loop,
        build_pair,
        build_rig,
        loop_sources,
        rig_sources,
    )
    from bondloop.realtime.export import export_c
    from bondloop.realtime.layout import FLAGS, STATES
    from bondloop.realtime.mailbox import Mailbox
    from bondloop.realtime.options import LoopOptions, RigOptions
    from bondloop.realtime.process import LoopProcess, RigProcess
    from bondloop.realtime.ring import Histogram, Ring, Status
    from bondloop.realtime.session import run_realtime
    from bondloop.realtime.shared import Segment, sweep

__all__ = [
    "FLAGS",
    "STATES",
    "Histogram",
    "LoopOptions",
    "LoopProcess",
    "Mailbox",
    "Programs",
    "RigOptions",
    "RigProcess",
    "Ring",
    "Segment",
    "Status",
    "build_loop",
    "build_pair",
    "build_rig",
    "export_c",
    "loop_sources",
    "rig_sources",
    "run_realtime",
    "sweep",
]

# The module of each name. A name added here goes into __all__ and into the TYPE_CHECKING block above.
_LAZY = {
    "FLAGS": "layout",
    "STATES": "layout",
    "Histogram": "ring",
    "LoopOptions": "options",
    "LoopProcess": "process",
    "Mailbox": "mailbox",
    "Programs": "build",
    "RigOptions": "options",
    "RigProcess": "process",
    "Ring": "ring",
    "Segment": "shared",
    "Status": "ring",
    "build_loop": "build",
    "build_pair": "build",
    "build_rig": "build",
    "export_c": "export",
    "loop_sources": "build",
    "rig_sources": "build",
    "run_realtime": "session",
    "sweep": "shared",
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
