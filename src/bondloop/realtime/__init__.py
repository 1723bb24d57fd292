"""The loop on a clock: the executive in C, links to rigs, telemetry, and the processes that run them.

The names are imported when they are first used: building a loop needs the compiler, reading one does not.

>>> from bondloop import realtime
>>> realtime.LoopOptions(steps=200).steps
200
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "Console",
    "LoopOptions",
    "LoopProcess",
    "MachinePolicy",
    "Mailbox",
    "PreflightPolicy",
    "RecorderPolicy",
    "RigOptions",
    "RigProcess",
    "Ring",
    "SessionPolicy",
    "export_c",
    "run_realtime",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
