"""The telemetry segment as NumPy types: the mirror of ``c/segment.h``, which says what every word means.

A test compares this with what the C compiler makes of the header.
"""

from __future__ import annotations

import numpy as np

VERSION = 6
BINS = 640
MAILS = 64
EVENTS = 1024
BATCH = 16
WHO = 32
WORDS = 32768
MAIL_KEY = 0x626F6E646C6F6F70

FLAGS = {
    "fresh": 1,
    "overrun": 2,
    "held": 4,
    "executive": 8,
    "refused": 16,
    "mail": 32,
    "silent": 64,
    "stopped": 128,
    "enabled": 256,
    "fault": 512,
}
"""Bits of the flags of a sample."""

REQUEST = np.dtype(
    [("count", "<u8"), ("cause", "<u8"), ("who", f"S{WHO}"), ("heard", "<u8"), ("refused", "<u8")]
)

MAIL = np.dtype(
    [
        *(("number", "<u8"), ("kind", "<u4"), ("index", "<u4"), ("value", "<f8")),
        *(("more", "<u8"), ("who", f"S{WHO}"), ("check", "<u8")),
    ],
    align=False,
)

EVENT = np.dtype(
    [
        *(("sequence", "<u8"), ("mail", "<u8"), ("time_ns", "<i8"), ("cycle", "<i8"), ("step", "<i8")),
        *(("kind", "<u4"), ("index", "<u4"), ("before", "<f8"), ("value", "<f8")),
        *(("refused", "<u4"), ("run", "<u4"), ("who", f"S{WHO}")),
    ]
)

EVENT_KINDS = {
    1: "start",
    2: "stop",
    3: "set",
    4: "trip",
    5: "reset",
    7: "arm",
    8: "retreat",
    100: "state",
    101: "cause",
}
"""What is logged, by number."""

NOT_MAILED = (2, 4, 8, 100, 101)
"""Kinds of events that no command has, so that none can pass for them in the log."""

REFUSALS = (
    "",
    "what lay in the mailbox was no command",
    "the loop knows no such command",
    "it makes no sense in the state that the loop is in",
    "the loop has no such parameter",
    "the value is not finite",
    "the value is out of bounds",
    "the test does not let this parameter be changed while it runs",
    "another value of the same command was refused",
    "the loop is not armed",
)
"""Why a command was not obeyed, by number."""

_HISTOGRAM = np.dtype(
    [("count", "<u8"), ("sum", "<i8"), ("least", "<i8"), ("most", "<i8"), ("bins", "<u8", (BINS,))]
)

_COUNTS = np.dtype(
    [
        (name, "<u8")
        for name in (
            *("cycles", "steps", "overruns", "missed", "held", "refused", "stale", "mails", "mails_refused"),
            *("fifo", "locked", "pinned", "stops", "spare1", "spare2", "spare3"),
        )
    ]
)

_LINK = np.dtype(
    [
        *(
            (name, "<u8")
            for name in (
                *("sent", "received", "lost", "duplicated", "reordered", "corrupted", "foreign", "late"),
            )
        ),
        ("age", "<i8"),
    ]
)

HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u8"),
        ("loop_pid", "<i8"),
        ("requests", REQUEST, (3,)),
        ("state", "<u8"),
        *(
            (name, "<u8")
            for name in (
                *("header_bytes", "metadata_at", "metadata_bytes"),
                *("slots_at", "slot_bytes", "slots", "channels"),
            )
        ),
        ("period_ns", "<i8"),
        ("realtime_offset_ns", "<i8"),
        ("lock_step", "<u8"),
        ("mails", "<u8"),
        ("parameters_at", "<u8"),
        ("parameters", "<u8"),
        ("written", "<u8"),
        ("heartbeat_ns", "<i8"),
        ("cause", "<u8"),
        ("cause_cycle", "<i8"),
        ("cause_step", "<i8"),
        ("cause_detail", "<u8"),
        ("cause_value", "<f8"),
        ("counts", _COUNTS),
        ("link", _LINK),
        ("mail_taken", "<u8"),
        *((name, "<u8") for name in ("events_written", "run", "armed")),
        ("step", "<i8"),
        ("emulated", "<u8"),
        ("tells_stop", "<u8"),
        ("wake", _HISTOGRAM),
        ("busy", _HISTOGRAM),
        ("exchange", _HISTOGRAM),
        ("spare2", "<u8", (4,)),
        ("supervisor_ns", "<i8"),
        ("mail_given", "<u8"),
        ("operator_ns", "<i8"),
        ("page_ns", "<i8"),
        ("mail", MAIL, (MAILS,)),
        ("events", EVENT, (EVENTS,)),
        ("fault_words", "S128"),
        ("recording_words", "S128"),
        ("self_test_words", "S2048"),
        ("session_words", f"S{WORDS}"),
        ("preflight_words", f"S{WORDS}"),
    ]
)


def slot_type(channels: int, slot_bytes: int | None = None) -> np.dtype[np.void]:
    """Return the type of one sample: what the executive says of the cycle, and all channels.

    Parameters
    ----------
    channels
        How many.
    slot_bytes
        Distance from one sample to the next, where that is more than the sample itself.

    Examples
    --------
    >>> slot_type(32).itemsize, slot_type(3, 128).itemsize
    (320, 128)
    """
    fields = [
        *(("sequence", "<u8"), ("cycle", "<i8"), ("step", "<i8"), ("time_ns", "<i8")),
        *(("wake_ns", "<i4"), ("busy_ns", "<i4"), ("exchange_ns", "<i4"), ("age", "<i4")),
        *(("state", "<i4"), ("cause", "<i4"), ("flags", "<u4"), ("status", "<u4")),
        ("channels", "<f8", (channels,)),
    ]
    packed = np.dtype(fields)
    spare = (slot_bytes or packed.itemsize) - packed.itemsize
    return np.dtype([*fields, ("spare", f"V{spare}")]) if spare else packed
