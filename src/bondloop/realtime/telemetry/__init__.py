"""The telemetry of a loop: its segment of shared memory, the ring of samples, what is read from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.lazy_names import lazy_names

if TYPE_CHECKING:
    from bondloop.realtime.telemetry.event_log import EventLog
    from bondloop.realtime.telemetry.ring import Histogram, Ring, Status, bin_edges
    from bondloop.realtime.telemetry.segment import PREFIX, Segment, is_alive, need_linux
    from bondloop.realtime.telemetry.snapshot import Event, ShownChannel, ShownParameter, Snapshot

__all__ = [
    "PREFIX",
    "Event",
    "EventLog",
    "Histogram",
    "Ring",
    "Segment",
    "ShownChannel",
    "ShownParameter",
    "Snapshot",
    "Status",
    "bin_edges",
    "is_alive",
    "need_linux",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Event": "snapshot",
        "EventLog": "event_log",
        "Histogram": "ring",
        "PREFIX": "segment",
        "Ring": "ring",
        "Segment": "segment",
        "ShownChannel": "snapshot",
        "ShownParameter": "snapshot",
        "Snapshot": "snapshot",
        "Status": "ring",
        "bin_edges": "ring",
        "is_alive": "segment",
        "need_linux": "segment",
    },
)
