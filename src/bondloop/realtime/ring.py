"""Reading telemetry: every channel of every tick, without the loop noticing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bondloop.display import brief
from bondloop.engine.ir import Meaning
from bondloop.realtime.protocol import BINS, EVENT, EVENT_KINDS, EVENTS, NOT_MAILED, REFUSALS, slot_type
from bondloop.realtime.segment import Segment, fence
from bondloop.realtime.snapshot import Event
from bondloop.realtime.stop_requests import STATES
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


def bin_edges() -> NDArray[np.float64]:
    """Return the lower edges of a histogram's bins in ns: one each below 16 ns, then 16 to an octave.

    >>> edges = bin_edges()
    >>> edges[[0, 15, 16, 31, 32, 33, 48]].tolist()
    [0.0, 15.0, 16.0, 31.0, 32.0, 34.0, 64.0]
    """
    number = np.arange(BINS)
    octave = np.maximum(number // 16 - 1, 0)
    within = np.where(number < 16, number, 16 + number % 16)
    edges: NDArray[np.float64] = np.ldexp(within.astype(float), octave)
    return edges


@dataclass(frozen=True)
class Histogram:
    """Durations, counted in bins that grow with them.

    Attributes
    ----------
    count
        How many.
    mean, least, most
        In ns; exact.
    bins
        Counts; `bin_edges` has the edges.

    Examples
    --------
    >>> bins = np.zeros(len(bin_edges()) - 1, np.uint64)
    >>> bins[3] = 10
    >>> Histogram(count=10, mean=4.0, least=3, most=5, bins=bins).percentile(50) <= 5
    True
    """

    count: int
    mean: float
    least: int
    most: int
    bins: NDArray[np.uint64]

    def percentile(self, percent: float) -> float:
        """Return a duration in ns that this share of them does not exceed, to within 6 %."""
        if not self.count:
            return float("nan")
        total = np.cumsum(self.bins)
        number = int(np.searchsorted(total, percent / 100 * float(total[-1])))
        upper = bin_edges()[min(number + 1, len(self.bins) - 1)]
        return float(min(max(upper, self.least), self.most))


@dataclass(frozen=True)
class Status:
    """How the loop is doing.

    Attributes
    ----------
    state
        Of the lifecycle, one of `STATES`.
    cause
        Why it tripped, a number of `bondloop.safety.causes`; 0 if it did not.
    cause_cycle, cause_step
        When: the executive's cycle and the tick's number.
    cause_detail, cause_value
        Which measured value or channel, or the status bits of the tick; and the value found.
    run, steps
        Number of the run, 1 until the first reset, and how many ticks of it were executed.
    written
        Samples written so far.
    heartbeat_ns
        When the loop last wrote one, by CLOCK_MONOTONIC.
    fault_words
        What the rig's controller said of the fault that is the cause; empty if there is none.
    recording_words
        What the supervisor says is wrong with the record; empty while all is well, or nothing is recorded.
    counts, link
        Counters of the executive and of the link, by name.
    wake, busy, exchange
        Wake-up latency, working time of a cycle, and the part of it in the link.
    """

    state: str
    cause: int
    cause_cycle: int
    cause_step: int
    cause_detail: int
    cause_value: float
    run: int
    steps: int
    written: int
    heartbeat_ns: int
    counts: dict[str, int]
    link: dict[str, int]
    wake: Histogram
    busy: Histogram
    exchange: Histogram
    fault_words: str = ""
    recording_words: str = ""


class Ring:
    """A reader of telemetry, with a cursor of its own.

    Parameters
    ----------
    segment
        The loop's telemetry segment, attached.
    from_now
        Begin with the next sample, not with the oldest that the ring still has.

    Attributes
    ----------
    names, units, meanings
        Of the channels.
    lost
        Samples that were overwritten before this reader came to them.
    cursor
        Index of the sample that is read next.
    """

    __repr__ = brief

    def __init__(self, segment: Segment, *, from_now: bool = False) -> None:
        self.segment = segment
        header = segment.header[0]
        self.slots = int(header["slots"])
        self.period = int(header["period_ns"]) * 1e-9
        self.names: list[str] = [c["name"] for c in segment.metadata["channels"]]
        self.units: list[str] = [c["unit"] for c in segment.metadata["channels"]]
        self.meanings = [Meaning.from_description(c.get("meaning", {})) for c in segment.metadata["channels"]]
        self.realtime_offset_ns = int(header["realtime_offset_ns"])
        self.type = slot_type(int(header["channels"]), int(header["slot_bytes"]))
        self._slots: Any = np.frombuffer(segment.memory, self.type, self.slots, int(header["slots_at"]))
        self.cursor = self.written if from_now else 0
        self.lost = 0

    @classmethod
    def attach(cls, name: str, *, from_now: bool = False) -> Ring:
        """Attach to the telemetry of a running loop, at its oldest sample or at the next one.

        Parameters
        ----------
        name
            Of the telemetry, as the loop was given it.
        from_now
            Begin with the next sample, not with the oldest that the ring still has.
        """
        return cls(Segment(name), from_now=from_now)

    @property
    def metadata(self) -> dict[str, Any]:
        """What the loop says of itself: name, period, channels with units, commands, measured values."""
        return self.segment.metadata

    @property
    def self_test(self) -> dict[str, Any]:
        """What the loop's test of its own safety layer found: passed, cases, what was not tried, words."""
        words = bytes(self.segment.header["self_test_words"][0]).decode(errors="replace")
        try:
            found = json.loads(words or "{}")
            return {**found, "not_tried": found["not_tried"].split("; ")} if found else {}
        except (ValueError, TypeError, KeyError, AttributeError):  # cut off, or overwritten
            return {}

    @property
    def written(self) -> int:
        """Samples written so far."""
        return int(self.segment.header["written"][0])

    @property
    def state(self) -> str:
        """State of the loop's lifecycle."""
        return STATES[int(self.segment.header["state"][0])]

    def read(self, most: int | None = None) -> NDArray[np.void]:
        """Return the samples that came since the last call, oldest first, as a structured array.

        Fields: ``cycle``, ``step`` (-1 where no tick was executed), ``time_ns``, ``wake_ns``, ``busy_ns``,
        ``exchange_ns``, ``age``, ``state``, ``cause``, ``flags``, ``status``, and ``channels``, a row of all
        of them. What was overwritten before it could be read is added to `lost`.

        Parameters
        ----------
        most
            Return no more than so many.
        """
        written = self.written
        fence()
        begin = max(self.cursor, written - self.slots + 1)
        self.lost += begin - self.cursor
        end = written if most is None else min(written, begin + most)
        begin = min(begin, end)
        first, count = begin % self.slots, end - begin
        block = np.empty(count, self.type)
        before_wrap = min(count, self.slots - first)
        block[:before_wrap] = self._slots[first : first + before_wrap]
        block[before_wrap:] = self._slots[: count - before_wrap]
        fence()
        # The loop may have lapped the copy: what it could have touched meanwhile is left out.
        touched = min(max(0, self.written - self.slots + 1 - begin), count)
        self.lost += touched
        self.cursor = end
        block = block[touched:]
        whole = block["sequence"] == np.arange(begin + touched + 1, end + 1, dtype=np.uint64)
        if not whole.all():
            self.lost += int((~whole).sum())
            block = block[whole]
        return block

    def blocks(self, most: int) -> Iterator[NDArray[np.void]]:
        """Yield what is there in blocks of at most ``most`` samples."""
        while True:
            block = self.read(most)
            if not len(block):
                return
            yield block

    def status(self) -> Status:
        """Return how the loop is doing."""
        header = self.segment.header[0]

        def plain(part: Any) -> dict[str, int]:
            return {n: int(part[n]) for n in part.dtype.names if not n.startswith("spare")}

        def histogram(part: np.void) -> Histogram:
            count = int(part["count"])
            mean = int(part["sum"]) / count if count else float("nan")
            return Histogram(count, mean, int(part["least"]), int(part["most"]), part["bins"].copy())

        return Status(
            state=STATES[int(header["state"])],
            cause=int(header["cause"]),
            cause_cycle=int(header["cause_cycle"]),
            cause_step=int(header["cause_step"]),
            cause_detail=int(header["cause_detail"]),
            cause_value=float(header["cause_value"]),
            run=int(header["run"]),
            steps=int(header["step"]),
            written=int(header["written"]),
            heartbeat_ns=int(header["heartbeat_ns"]),
            counts=plain(header["counts"]),
            link=plain(header["link"]),
            wake=histogram(header["wake"]),
            busy=histogram(header["busy"]),
            exchange=histogram(header["exchange"]),
            fault_words=bytes(header["fault_words"]).decode("utf-8", "replace"),
            recording_words=bytes(header["recording_words"]).decode("utf-8", "ignore"),
        )

    def release(self) -> None:
        """Let go of the slots: whoever attached the segment can close it then."""
        self._slots = None

    def close(self) -> None:
        """Detach."""
        self.release()
        self.segment.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
