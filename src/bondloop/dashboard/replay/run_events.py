"""What happened in a recorded run: its beginning, commands, warnings, trip and end, with their times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from bondloop.results.records import read_events
from bondloop.safety import CAUSE, DISPLACEMENT_SWITCH, FORCE_SWITCH, WARNING, cause_words, limit_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.results.records import Record

    class RunEvent(TypedDict):
        """One event, as it goes to the browser; its time in s."""

        time: float
        kind: str
        text: str


MOST = 500
"""Events that are listed of one kind."""

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
            found += [(begin + int(i), float(values[i])) for i in edges[: MOST - len(found)]]
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
    for i in range(min(count, MOST)):
        row = {name: column[i] for name, column in table.items()}
        kind, name, who, refused = (str(row.get(word, "")) for word in ("kind", "name", "who", "refused"))
        if kind == "set":
            text = f"{name}: {row.get('before', np.nan):g} to {row.get('value', np.nan):g}"
        else:
            text = {"cause": f"trip: {name}", "state": f"the loop is {name}"}.get(kind, kind)
        text += (f" ({who})" if who else "") + (f": refused, {refused}" if refused else "")
        shown = {"set": "set", "state": "state", "cause": "trip"}.get(kind, "command")
        events.append(_event(float(row.get("time", 0.0)), shown, text))
    if count > MOST:
        events.append(_event(events[-1]["time"], "server", f"{count - MOST:,} more events are in the file"))
    return events
