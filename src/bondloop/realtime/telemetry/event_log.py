"""Reading the loop's log of commands, states and causes, without the loop noticing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.realtime.stop_requests import STATES
from bondloop.realtime.telemetry.protocol import EVENT, EVENT_KINDS, EVENTS, NOT_MAILED, REFUSALS
from bondloop.realtime.telemetry.segment import Segment, fence
from bondloop.realtime.telemetry.snapshot import Event
from bondloop.safety import cause_words

if TYPE_CHECKING:
    from numpy.typing import NDArray


class EventLog:
    """A reader of the log, with a cursor of its own.

    Parameters
    ----------
    segment
        The loop's telemetry segment, attached.

    Attributes
    ----------
    cursor
        Index of the event that is read next.
    lost
        Events that were overwritten before this reader came to them.
    """

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.cursor = self.lost = 0
        self.parameters: list[str] = segment.metadata["parameters"]

    @property
    def written(self) -> int:
        """Events logged so far."""
        return int(self.segment.header["events_written"][0])

    def read(self) -> NDArray[np.void]:
        """Return the events since the last call, oldest first, as a structured array; see ``segment.h``."""
        written = self.written
        fence()
        begin = max(self.cursor, written - EVENTS + 1)
        numbers = np.arange(begin, written)
        copied = np.zeros(len(numbers), EVENT)
        copied[:] = self.segment.header["events"][0][numbers % EVENTS]
        fence()
        whole = copied["sequence"] == (numbers + 1).astype(np.uint64)
        whole &= numbers >= self.written - EVENTS + 1  # the loop may have come round meanwhile
        self.lost += begin - self.cursor + int((~whole).sum())
        self.cursor = written
        events: NDArray[np.void] = copied[whole]
        return events

    def events(self) -> list[Event]:
        """Return the events since the last call, in words."""
        return [named(row, self.parameters) for row in self.read()]


def named(row: np.void, parameters: list[str]) -> Event:
    """Return an event of the log in words.

    Parameters
    ----------
    row
        Of `EventLog.read`.
    parameters
        Names of the tick's parameters, in their order.
    """
    kind, index, refused = int(row["kind"]), int(row["index"]), int(row["refused"])
    name, mailed = "", int(row["mail"]) > 0
    if kind == 3:
        name = parameters[index] if index < len(parameters) else f"parameter {index}"
    elif kind == 100 and not mailed:
        state = int(row["value"])
        name = STATES[state] if 0 <= state < len(STATES) else f"state {state}"
    elif kind == 101 and not mailed:
        name = cause_words(index)
    return Event(
        number=int(row["sequence"]),
        kind=f"command {kind}" if mailed and kind in NOT_MAILED else EVENT_KINDS.get(kind, f"command {kind}"),
        run=int(row["run"]),
        step=int(row["step"]),
        time_ns=int(row["time_ns"]),
        name=name,
        before=float(row["before"]),
        value=float(row["value"]),
        who=bytes(row["who"]).decode(errors="replace"),
        refused=REFUSALS[refused] if refused < len(REFUSALS) else f"refused for reason {refused}",
        mail=int(row["mail"]),
        index=index,
        cycle=int(row["cycle"]),
    )
