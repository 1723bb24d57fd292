"""The loop on a clock: the executive in C, links to rigs, telemetry, and the processes that run them."""

from __future__ import annotations

from bondloop.realtime.build import Programs, build_loop, build_pair, build_rig, loop_sources, rig_sources
from bondloop.realtime.layout import FLAGS, STATES
from bondloop.realtime.mailbox import Mailbox
from bondloop.realtime.process import LoopOptions, LoopProcess, RigOptions, RigProcess
from bondloop.realtime.ring import Histogram, Ring, Status
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
    "loop_sources",
    "rig_sources",
    "sweep",
]
