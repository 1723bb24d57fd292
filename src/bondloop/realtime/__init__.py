"""The loop on a clock: the executive in C, links to rigs, telemetry, and the processes that run them.

The names are imported when they are first used: building a loop needs the compiler, reading one does not.

>>> from bondloop import realtime
>>> realtime.LoopOptions(steps=200).steps
200
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.lazy_names import lazy_names

if TYPE_CHECKING:
    from bondloop.realtime.console.console import Console
    from bondloop.realtime.console.mailbox import Mailbox
    from bondloop.realtime.options import LoopOptions, RigOptions
    from bondloop.realtime.policy import MachinePolicy, PreflightPolicy, SessionPolicy
    from bondloop.realtime.process import LoopProcess, RigProcess
    from bondloop.realtime.programs.export import export_c
    from bondloop.realtime.session import run_realtime
    from bondloop.realtime.telemetry.ring import Ring

__all__ = [
    "Console",
    "LoopOptions",
    "LoopProcess",
    "MachinePolicy",
    "Mailbox",
    "PreflightPolicy",
    "RigOptions",
    "RigProcess",
    "Ring",
    "SessionPolicy",
    "export_c",
    "run_realtime",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Console": "console.console",
        "LoopOptions": "options",
        "LoopProcess": "process",
        "MachinePolicy": "policy",
        "Mailbox": "console.mailbox",
        "PreflightPolicy": "policy",
        "RigOptions": "options",
        "RigProcess": "process",
        "Ring": "telemetry.ring",
        "SessionPolicy": "policy",
        "export_c": "programs.export",
        "run_realtime": "session",
    },
)
