"""The table of a run file, read piece by piece: a run of a day need not fit into the server's memory."""

from __future__ import annotations

import contextlib
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from bondloop.dashboard.frames import PLANE, Bars, Block, packed, pairs_of, plain
from bondloop.errors import InputError
from bondloop.realtime import ShownChannel
from bondloop.results.records import read_events, read_run
from bondloop.safety import CAUSE, DISPLACEMENT_SWITCH, FORCE_SWITCH, WARNING, cause_words, limit_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.results.records import Record

    class RunEvent(TypedDict):
        """One event, as it goes to the browser; its time in s."""

        time: float
        kind: str
        text: str


OPEN_RUNS, LISTED_RUNS, LISTED_EVENTS = 3, 500, 500
"""Runs that are held at a time, files that are listed, and events of one kind, at most."""
PIECE, CACHE_BYTES = 65536, 1 << 27
"""Samples that are read at once, and memory for such pieces of a run."""
COARSE = 64
"""Samples in a cell of the coarse table, which holds the lowest and highest values of all of a run."""
FINE = 256_000
"""Samples up to which a stretch is read as it is; a pixel of a longer one is wider than a cell."""
PERIOD_SAMPLES = 1 << 20
"""Samples from which the period is found."""

_CODES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    (CAUSE, "trip", lambda code: f"trip: {cause_words(code)}"),
    (WARNING, "warning", lambda code: f"near the limit of {limit_name(code)}"),
)
_SWITCHES = {DISPLACEMENT_SWITCH: "displacement", FORCE_SWITCH: "force"}


class Changes:
    """Where the channels of causes, warnings and switches change, found while a run is gone through.

    Examples
    --------
    >>> from bondloop.results import Record
    >>> changes = Changes()
    >>> for begin, codes in ((0, [0.0, 0.0, 3.0]), (3, [3.0, 0.0])):
    ...     changes.look(Record(np.arange(len(codes)), {"interlock.cause": np.array(codes)}), begin)
    >>> changes.of("interlock.cause")
    [(2, 3.0), (4, 0.0)]
    """

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[int, float]]] = {}
        self._last: dict[str, float] = {}

    def look(self, part: Record, begin: int) -> None:
        """Look through the next piece of a run.

        Parameters
        ----------
        part
            The piece.
        begin
            Number of its first sample.
        """
        for name in (*(name for name, _, _ in _CODES), *_SWITCHES):
            if name not in part or not len(part):
                continue
            values = np.nan_to_num(part[name])
            if name in _SWITCHES:  # out, in, or between
                values = np.where(values <= 0, -1.0, np.where(values >= 1, 1.0, 0.5))
            found = self._found.setdefault(name, [])
            edges = np.flatnonzero(np.diff(values, prepend=self._last.get(name, 0.0)))
            found += [(begin + int(i), float(values[i])) for i in edges[: LISTED_EVENTS - len(found)]]
            self._last[name] = float(values[-1])

    def of(self, name: str) -> list[tuple[int, float]]:
        """Return the samples at which a channel changed, and to what."""
        return self._found.get(name, [])


def events_of(
    path: Path, time: NDArray[np.float64], changes: Changes, attributes: Mapping[str, object]
) -> list[RunEvent]:
    """Return the events of a run, in the order in which they happened.

    Parameters
    ----------
    path
        Of the run file.
    time
        Of its samples, in s.
    changes
        Of its channels.
    attributes
        What it says of itself.
    """
    if not len(time):
        return []
    logged = _logged(path)
    events = [_event(time[0], "state", "the record begins"), *logged]
    for name, kind, words in _CODES:
        if not (kind == "trip" and logged):
            events += [_event(time[i], kind, words(code)) for i, code in changes.of(name) if code]
    for name, what in _SWITCHES.items():
        ends = {-1.0: "out", 1.0: "in"}
        events += [
            _event(time[i], "state", f"{what} is {ends[place]}")
            for i, place in changes.of(name)
            if i and place in ends
        ]
    outcome = attributes.get("message") or attributes.get("status", "")
    events.append(_event(time[-1], "state", f"the record ends: {outcome}" if outcome else "the record ends"))
    return sorted(events, key=lambda e: float(e["time"]))


def _event(time: float, kind: str, text: str) -> RunEvent:
    return {"time": float(time), "kind": kind, "text": text}


def _logged(path: Path) -> list[RunEvent]:
    """Return what the loop itself has logged: commands with who gave them, states, causes."""
    table = read_events(path)
    count = min((len(column) for column in table.values()), default=0)
    events = []
    for i in range(min(count, LISTED_EVENTS)):
        row = {name: column[i] for name, column in table.items()}
        kind, name, who, refused = (str(row.get(word, "")) for word in ("kind", "name", "who", "refused"))
        if kind == "set":
            text = f"{name}: {row.get('before', np.nan):g} to {row.get('value', np.nan):g}"
        else:
            text = {"cause": f"trip: {name}", "state": f"the loop is {name}"}.get(kind, kind)
        text += (f" ({who})" if who else "") + (f": refused, {refused}" if refused else "")
        shown = {"set": "set", "state": "state", "cause": "trip"}.get(kind, "command")
        events.append(_event(float(row.get("time", 0.0)), shown, text))
    if count > LISTED_EVENTS:
        events.append(
            _event(events[-1]["time"], "server", f"{count - LISTED_EVENTS:,} more events are in the file")
        )
    return events


Answer = tuple[dict[str, object], Sequence["NDArray[Any]"]]


class _Run:
    """A run file, and what is told of it."""

    def __init__(self, path: Path, changed: int) -> None:
        self.changed = changed
        self.table = table = RunTable(path)
        attributes, described = table.head.attributes, table.head.description.get("realtime")
        emulated = described.get("emulated", True) if isinstance(described, dict) else True
        about = {
            "channels": [vars(c) for c in table.channels],
            "pairs": pairs_of(table.channels),
            "loops": Bars(table.channels).loops,
            "seconds": float(table.time[-1]) if len(table) else 0.0,
            "first": float(table.time[0]) if len(table) else 0.0,
            "samples": len(table),
            "status": attributes.get("status", ""),
            "message": attributes.get("message", ""),
            "created": attributes.get("created", ""),
            "emulated": bool(emulated),
            "events": events_of(path, table.time, table.changes, attributes),
        }
        self.about: dict[str, object] = plain(about)


_open: OrderedDict[Path, _Run] = OrderedDict()


def _run(path: Path, *, newest: bool) -> _Run:
    """Return a run; `newest`: one that is being written as it is now, not as when it was opened."""
    known = _open.get(path)
    changed = path.stat().st_mtime_ns
    if known is None or (newest and known.changed != changed):
        _open.pop(path, None)  # before the next is read: both need not fit
        while len(_open) >= OPEN_RUNS:
            _open.popitem(last=False)
        known = _open[path] = _Run(path, changed)
    _open.move_to_end(path)
    return known


def listing(path: Path) -> Answer:
    """Return the run files of a folder, the newest first.

    Parameters
    ----------
    path
        Of the folder.
    """
    there: list[tuple[float, int, str]] = []
    for file in (p for end in ("*.h5", "*.hdf5") for p in path.rglob(end)):
        with contextlib.suppress(OSError):  # gone meanwhile, or not for us
            if file.is_file():
                about = file.stat()
                there.append((about.st_mtime, about.st_size, file.relative_to(path).as_posix()))
    there.sort(reverse=True)
    return {
        "runs": [{"name": name, "changed": at, "bytes": size} for at, size, name in there[:LISTED_RUNS]]
    }, ()


def describe(path: Path) -> Answer:
    """Return what there is in a run file, as it is now.

    Parameters
    ----------
    path
        Of the file.
    """
    return _run(path, newest=True).about, ()


def stretch(path: Path, kind: int, numbers: list[int], begin: float, end: float, pixels: int) -> Answer:
    """Return a frame of channels of a run file from one time to another.

    Parameters
    ----------
    path
        Of the file.
    kind, numbers, begin, end, pixels
        As for `RunTable.stretch`.
    """
    table = _run(path, newest=False).table
    if not all(0 <= n < len(table.channels) for n in numbers):
        raise InputError(f"expected channels below {len(table.channels)}; found {numbers}")
    return {}, [np.frombuffer(packed(0, [table.stretch(kind, numbers, begin, end, pixels)]), np.uint8)]


class RunTable:
    """All channels of one run file.

    It is gone through once. The lowest and highest value of every few samples stay in memory, and as many
    pieces of the channels as there is room for; the others are read again when somebody looks at them.

    Parameters
    ----------
    path
        Of the file.

    Attributes
    ----------
    head
        What the file says of the run, without its numbers.
    channels
        As they are shown.
    time
        Of all samples, in s.
    period
        From sample to sample, in s, but for holes where some were lost.
    changes
        Where states, causes and switches changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head: Record = read_run(path, rows=(0, 0))
        self.time: NDArray[np.float64] = read_run(path, []).time
        self.period = _period(self.time)
        self.channels = [
            ShownChannel(n, self.head.units[n], m.role.value, m.kind, m.quantity, m.interface, m.counterpart)
            for n, m in self.head.meanings.items()
        ]
        self.changes = Changes()
        self._pieces: OrderedDict[tuple[int, int], NDArray[np.float32]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        pieces = range(-(-len(self.time) // PIECE))
        # Of a hole nothing is held, however long it is.
        cells = [_once(self._cell(number * PIECE, (number + 1) * PIECE)) for number in pieces]
        self._cells = _once(np.concatenate([np.empty(0, np.int64), *cells]))
        shape = (len(self.channels), 2, len(self._cells))
        self._coarse = np.full(shape, np.nan, np.float32)
        for number in pieces:
            self._go_through(number)

    def __len__(self) -> int:
        return len(self.time)

    def _slot(self, first: int, last: int, since: int = 0) -> NDArray[np.int64]:
        """Return how many periods samples come after another one: not their number where some were lost."""
        slots: NDArray[np.int64] = np.rint((self.time[first:last] - self.time[since]) / self.period).astype(
            np.int64
        )
        return slots

    def _cell(self, first: int, last: int) -> NDArray[np.int64]:
        return self._slot(first, last) // COARSE

    def _go_through(self, number: int) -> None:
        part = self._read(number, None)
        begin = number * PIECE
        self.changes.look(part, begin)
        columns = [_shown(part[c.name]) for c in self.channels]
        if not columns:
            return
        cells = self._cell(begin, begin + PIECE)
        first, end = np.searchsorted(self._cells, [cells[0], cells[-1] + 1])
        values = np.stack(columns)
        here = _reduced(values, values, np.searchsorted(self._cells, cells) - first, int(end - first))
        held = self._coarse[:, :, first:end]  # the first of them may have begun in the piece before
        np.fmin(held[:, 0], here[:, 0], out=held[:, 0])
        np.fmax(held[:, 1], here[:, 1], out=held[:, 1])
        for i, column in enumerate(columns):
            if self._bytes + column.nbytes <= CACHE_BYTES:
                self._keep((i, number), column)

    def _read(self, number: int, channels: list[str] | None) -> Record:
        """Return a piece of some channels; of a file that has become shorter meanwhile there is none."""
        rows = (number * PIECE, min((number + 1) * PIECE, len(self.time)))
        part = read_run(self.path, channels, rows=rows)
        if len(part) != rows[1] - rows[0]:
            raise InputError(f"{self.path.name} has changed since it was opened; look again")
        return part

    def _keep(self, key: tuple[int, int], column: NDArray[np.float32]) -> None:
        self._pieces[key] = column
        self._bytes += column.nbytes

    def read(self, numbers: Sequence[int], first: int, last: int) -> NDArray[np.float32]:
        """Return samples of some channels, shape (samples, channels).

        Parameters
        ----------
        numbers
            Of the channels.
        first, last
            Samples from the first to before the last.
        """
        with self._lock:
            values = np.empty((max(last - first, 0), len(numbers)), np.float32)
            for piece in range(first // PIECE, -(-last // PIECE)):
                begin = piece * PIECE
                some = slice(max(first, begin) - begin, min(last, begin + PIECE) - begin)
                into = slice(begin + some.start - first, begin + some.stop - first)
                for i, column in enumerate(self._piece(piece, numbers)):
                    values[into, i] = column[some]
            return values

    def _piece(self, piece: int, numbers: Sequence[int]) -> list[NDArray[np.float32]]:
        absent = [n for n in dict.fromkeys(numbers) if (n, piece) not in self._pieces]
        if absent:
            part = self._read(piece, [self.channels[n].name for n in absent])
            for n in absent:
                self._keep((n, piece), _shown(part[self.channels[n].name]))
        for n in numbers:
            self._pieces.move_to_end((n, piece))
        columns = [self._pieces[n, piece] for n in numbers]
        while self._bytes > CACHE_BYTES and len(self._pieces) > 1:
            self._bytes -= self._pieces.popitem(last=False)[1].nbytes
        return columns

    def stretch(self, kind: int, numbers: Sequence[int], begin: float, end: float, pixels: int) -> Block:
        """Return channels from one time to another, thinned to so many pixels.

        Parameters
        ----------
        kind
            `STRIP` or `PLANE`.
        numbers
            Of the channels.
        begin, end
            In s.
        pixels
            Columns of the block at most; of a plane, points.
        """
        first, last = (int(np.searchsorted(self.time, t)) for t in (begin, end))
        if last == len(self.time) - 1:  # the run's last sample, which may be why it ended, is at its end
            last += 1
        if kind == PLANE:
            first = max(first, last - FINE)  # of a stretch that is too long the newest
        if first >= last:
            nothing = np.empty((len(numbers) * (1 if kind == PLANE else 2), 0), np.float32)
            return Block(0, kind, begin, self.period, nothing, restart=True)
        at, periods = float(self.time[first]), int(self._slot(last - 1, last, first)[0]) + 1
        if kind == PLANE:
            width = math.ceil((last - first) / pixels)
            columns = self.read(numbers, first, last)[::width].T
            return Block(0, kind, at, width * self.period, columns, restart=True)
        width = math.ceil(periods / pixels)
        if last - first <= FINE:
            low = high = self.read(numbers, first, last).T
            into = self._slot(first, last, first) // width
        else:
            width = -(-width // COARSE)
            cells = [int(self._cell(i, i + 1)[0]) for i in (first, last - 1)]
            some = slice(*np.searchsorted(self._cells, [cells[0], cells[1] + 1]).tolist())
            low, high = self._coarse[numbers, 0, some], self._coarse[numbers, 1, some]
            into = (self._cells[some] - cells[0]) // width
            at, width = float(self.time[0]) + cells[0] * COARSE * self.period, width * COARSE
        columns = _reduced(low, high, into, int(into[-1]) + 1).reshape(2 * len(numbers), -1)
        return Block(0, kind, at, width * self.period, columns, restart=True)


def _shown(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return values as they go to the browser; a rig may show anything: what is too large is infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _period(time: NDArray[np.float64]) -> float:
    """Return the time from sample to sample; holes, where samples were lost, do not count.

    >>> _period(np.array([0.0, 0.25, 0.5, 5.0, 5.25, 5.5]))
    0.25
    """
    at = np.arange(0, len(time) - 1, -(-len(time) // PERIOD_SAMPLES) or 1)
    steps = time[at + 1] - time[at]
    return float(steps[steps <= 1.5 * np.median(steps)].mean()) if len(steps) else 1.0


def _once(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers that do not fall, each once."""
    return numbers[np.diff(numbers, prepend=-1) > 0]


def _reduced(
    low: NDArray[np.float32], high: NDArray[np.float32], into: NDArray[np.int64], count: int
) -> NDArray[np.float32]:
    """Return the lowest and the highest value of each column, shape (channels, 2, count).

    Parameters
    ----------
    low, high
        Shape (channels, samples).
    into
        Column of each sample, not falling. A column without any is NaN: a gap in the curve.
    count
        Columns.
    """
    both = np.full((len(low), 2, count), np.nan, np.float32)
    begins = np.flatnonzero(np.diff(into, prepend=-1))
    both[:, 0, into[begins]] = np.fmin.reduceat(low, begins, axis=1)
    both[:, 1, into[begins]] = np.fmax.reduceat(high, begins, axis=1)
    return both
