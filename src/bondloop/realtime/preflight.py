"""The pre-flight list of a machine: what the telemetry shows ticks itself, the rest is confirmed by people.

What can be observed cannot be ticked by hand, and unticks itself where it ceases to hold. Where nothing can
observe it, it becomes a confirmation that states so. The list begins anew with every run of the loop:
somebody may have been at the rig.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.ir import Role
from bondloop.errors import InputError
from bondloop.realtime.policy import PreflightPolicy
from bondloop.realtime.protocol import FLAGS
from bondloop.realtime.ring import EventLog, Ring
from bondloop.realtime.segment import read_words, write_words
from bondloop.realtime.stop_requests import STATES
from bondloop.rehearsal import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.realtime.segment import Segment


ITEMS = (
    "Nobody is within the rig's reach, and the area is closed off",
    "The specimen is mounted, its bolts are tight, its stroke is free",
    "Sensors were read inactive: values, units and signs are right",
    "The limits are those of this rig and this specimen",
    "The safe position is one in which rig and specimen can rest",
    "The rig's own watchdog is on",
)
"""What people confirm, where the laboratory keeps no list of its own in its channels file."""

OBSERVED, CONFIRMED = "observed", "confirmed"
"""Kinds of items."""

NAME = 64
"""Characters of a name that are kept."""

STOP = "The emergency stop was pressed and released at the rig"
AT_REST = "The rig is at rest"
CHECK = "The check has passed, and its verdict was shown to the operator"
RECORD = "The record goes to a disk with room"
SELF_TEST = "The safety layer has passed its self-test at this start"

_LIMITS = {"displacement": "displacement", "flow": "velocity"}
"""Kinds of measured motion, and the limits that they have."""


@dataclass(frozen=True)
class Item:
    """An item of the list.

    Attributes
    ----------
    text
        What must hold.
    kind
        ``"observed"`` or ``"confirmed"``.
    by
        Who or what saw it; empty while it is missing.
    at
        When, in UTC, as ISO 8601.
    evidence
        What was observed.
    missing
        What to do; empty where the item holds.
    """

    text: str
    kind: str = CONFIRMED
    by: str = ""
    at: str = ""
    evidence: str = ""
    missing: str = ""


def _session_policy(session: Mapping[str, Any]) -> PreflightPolicy:
    """Return when a session takes the rig to be at rest, from what it wrote for others to read."""
    return PreflightPolicy(**session.get("rest", {}))


class Preflight:
    """The list of a loop, with what its telemetry has shown so far.

    `look` must be called more often than the ring of the telemetry comes round, some seconds.

    Parameters
    ----------
    segment
        Of the telemetry, attached; writable for `record`.
    policy
        When the rig is at rest; that of the loop's session, unless given.

    Notes
    -----
    By default the rig is at rest where over a second no measured displacement varies, and no measured
    velocity is, by more than 0.5 % of its limit (or three times its own noise, up to 5 % of its limit), as a
    standard deviation.
    """

    def __init__(self, segment: Segment, policy: PreflightPolicy | None = None) -> None:
        self._given = policy
        self._policy = policy or _session_policy(read_words(segment, "session_words"))
        self.segment, self.ring = segment, Ring(segment)
        self._log, self._lock = EventLog(segment), threading.RLock()
        ring, self._attached = self.ring, time.time()
        limits = segment.metadata.get("limits", {})
        motions = [
            (i, m.kind) for i, m in enumerate(ring.meanings) if m.role is Role.MEASURED and m.kind in _LIMITS
        ]
        self._motions = [(i, kind, limits.get(_LIMITS[kind])) for i, kind in motions]
        self._begin(int(segment.header["run"][0]), -1)

    def _begin(self, run: int, since: int) -> None:
        """Forget all: a run has begun, with a cycle of the executive."""
        self._run, self._since = run, since
        self._confirmed: dict[str, tuple[str, float]] = {}
        self._shown: tuple[str, float] | None = None
        self._is_pressed, self._pressed, self._released = False, 0, 0
        self._rows: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []

    @property
    def needed(self) -> bool:
        """Whether the rig is a machine: a model needs no list."""
        return not int(self.segment.header["emulated"][0])

    # ------------------------------------------------------------- observing

    def look(self) -> None:
        """Take in what the loop has written since the last look."""
        with self._lock:
            watches = self.needed and self.ring.state in ("unconfigured", "inactive")
            blocks = list(self.ring.blocks(self._policy.block)) if watches else []
            if not watches:  # what comes before the next reset counts for nothing
                self.ring.cursor = self.ring.written
            resets = [e.cycle for e in self._log.events() if e.kind == "reset" and not e.refused]
            run = int(self.segment.header["run"][0])
            if resets or run != self._run:
                self._begin(run, max([self._since, *resets]))
            for block in blocks:
                self._take(block[block["cycle"] > self._since])

    def _take(self, rows: NDArray[np.void]) -> None:
        if not len(rows):
            return
        pressed = (rows["flags"] & FLAGS["stopped"]) != 0
        for at in np.flatnonzero(np.diff(np.concatenate([[self._is_pressed], pressed]))):
            when = int(rows["time_ns"][at])
            self._pressed, self._released = (when, 0) if pressed[at] else (self._pressed, when)
        self._is_pressed = bool(pressed[-1])
        fresh = (rows["flags"] & FLAGS["fresh"]) != 0
        fresh &= rows["state"] == STATES.index("inactive")
        if fresh.any():
            values = rows["channels"][np.ix_(fresh, [i for i, _, _ in self._motions])]
            self._rows.append((rows["time_ns"][fresh], values))
        self._rows = [r for r in self._rows if r[0][-1] >= rows["time_ns"][-1] - 1e9 * self._policy.rest]

    def _since_epoch(self, monotonic_ns: int) -> float:
        return 1e-9 * (monotonic_ns + self.ring.realtime_offset_ns)

    def _stop(self) -> Item:
        if not int(self.segment.header["tells_stop"][0]):
            return Item(f"{STOP} (the link does not report the emergency stop)")
        if self._is_pressed:
            return Item(STOP, OBSERVED, missing="the emergency stop is pressed; release it at the rig")
        if not self._released:
            missing = "press the emergency stop at the rig and release it; the loop has not seen it"
            return Item(STOP, OBSERVED, missing=missing)
        times = [in_utc(self._since_epoch(t)) for t in (self._pressed, self._released)]
        pressed, released = (t[11:23] for t in times)
        return Item(STOP, OBSERVED, "the loop", times[1], f"pressed at {pressed}, released at {released} UTC")

    def _rest(self) -> Item:
        if not self._motions:
            return Item(f"{AT_REST} (nothing measures its motion)")
        newest = max((int(r[0][-1]) for r in self._rows), default=0)
        times = np.concatenate([np.zeros(0, np.int64), *(r[0] for r in self._rows)])
        chosen = times > newest - 1e9 * self._policy.rest
        if chosen.sum() < self._policy.samples or times[-1] - times[0] < 0.9e9 * self._policy.rest:
            missing = (
                f"wait until the rig was measured for {self._policy.rest:g} s while the loop is inactive"
            )
            return Item(AT_REST, OBSERVED, missing=missing)
        if time.monotonic_ns() - newest > 1e9 * self._policy.rest:
            return Item(AT_REST, OBSERVED, missing="the rig does not answer; look at its link")
        values = np.concatenate([r[1] for r in self._rows])[chosen]
        words = [self._motion(values[:, n], *about) for n, about in enumerate(self._motions)]
        moving = [text for moves, _, text in words if moves]
        if moving:
            return Item(AT_REST, OBSERVED, missing=f"wait until the rig is at rest: {moving[0]}")
        worst = max(words, key=lambda w: w[1])[2]
        return Item(AT_REST, OBSERVED, "the loop", in_utc(self._since_epoch(newest)), worst)

    def _motion(
        self, values: NDArray[np.float64], channel: int, kind: str, limit: float | None
    ) -> tuple[bool, float, str]:
        """Return whether a measured value moves, the share of what it may, and both in words."""
        name, unit = self.ring.names[channel], self.ring.units[channel]
        with np.errstate(all="ignore"):
            noise = float(np.sqrt(0.5 * np.mean(np.diff(values) ** 2)))
            size = float(
                np.std(values) if kind == "displacement" or limit is None else np.sqrt(np.mean(values**2))
            )
        allowed = self._policy.noise * noise
        if limit is not None:
            allowed = max(self._policy.share * limit, min(allowed, 10 * self._policy.share * limit))
        moves = not size <= allowed  # nor is what is no number at rest
        share = f", {100 * size / limit:.2g} % of the limit" if limit else ""
        text = f"{name} varied by {shown(float(f'{size:.2g}'), unit)} in {self._policy.rest:g} s{share}"
        return moves, size / allowed if allowed else 0.0, text

    def _check(self, session: Mapping[str, Any]) -> Item:
        check = session.get("check")
        if not isinstance(check, dict):
            return Item(
                "The check was read, and its warnings are understood (nothing reports it to the loop)"
            )
        verdict = str(check.get("verdict", ""))
        if check.get("passed") is not True:
            return Item(f"The check has NOT passed, and the test is run all the same: {verdict}")
        if self._shown is None:
            return Item(
                CHECK, OBSERVED, missing=f"read the check's verdict on the page, under Prepare: {verdict}"
            )
        who, at = self._shown
        return Item(CHECK, OBSERVED, who, in_utc(at), verdict)

    def _record(self, session: Mapping[str, Any]) -> Item:
        record = session.get("record")
        if not isinstance(record, dict):
            return Item(f"{RECORD} (nothing reports it to the loop)")
        words = bytes(self.segment.header["recording_words"][0]).decode("utf-8", "ignore")
        free, needed = int(record.get("free", 0)), int(record.get("needed", 0))
        room = f"{free / 1e9:.3g} GB free for {needed / 1e9:.2g} GB"
        if words or free < needed:
            return Item(RECORD, OBSERVED, missing=words or f"make room on the disk: {room}")
        at = in_utc(float(record.get("at", 0.0)))
        return Item(RECORD, OBSERVED, "the supervisor", at, f"{record.get('file')}, {room}")

    def _self_test(self) -> Item:
        found = self.ring.self_test
        if not found:
            return Item(f"{SELF_TEST} (the loop reports none)")
        if found.get("passed") is not True:
            missing = f"it has failed: {found.get('words')}; build the loop anew"
            return Item(SELF_TEST, OBSERVED, missing=missing)
        return Item(SELF_TEST, OBSERVED, "the loop", in_utc(self._attached), f"{found.get('cases')} cases")

    # ------------------------------------------------------------- the list

    def items(self) -> list[Item]:
        """Return all items as they are now: those that are observed first."""
        with self._lock:
            session = read_words(self.segment, "session_words")
            self._policy = self._given or _session_policy(session)
            observed = [self._stop(), self._rest(), self._check(session), self._record(session)]
            observed.append(self._self_test())
            listed = [*observed, *(Item(str(text)) for text in session.get("items") or ITEMS)]
            return [item if item.kind == OBSERVED else self._with_name(item) for item in listed]

    def _with_name(self, item: Item) -> Item:
        if item.text not in self._confirmed:
            return Item(item.text, missing="to be confirmed by the operator")
        who, at = self._confirmed[item.text]
        return Item(item.text, CONFIRMED, who, in_utc(at))

    @property
    def missing(self) -> list[Item]:
        """Items that do not hold."""
        return [item for item in self.items() if item.missing]

    def tick(self, text: object, ticked: object, who: str) -> str:
        """Confirm an item, or take that back; return it in words.

        Parameters
        ----------
        text
            Of the item.
        ticked
            Whether it is confirmed.
        who
            Who does it.
        """
        with self._lock:
            item = next((i for i in self.items() if i.text == text), None)
            if item is None or not isinstance(ticked, bool):
                raise InputError(
                    f"expected an item of the pre-flight list and whether it is ticked; found {text!r:.80}"
                )
            if item.kind == OBSERVED:
                raise InputError(
                    f"this is observed, and cannot be ticked by hand: {item.missing or item.evidence}"
                )
            if ticked:
                self._confirmed[item.text] = (who[:NAME], time.time())
            else:
                self._confirmed.pop(item.text, None)
            return f"{'ticked' if ticked else 'no longer ticked'}: {item.text}"

    def check_shown(self, who: str) -> None:
        """Note that somebody was shown the check's verdict.

        Parameters
        ----------
        who
            To whom.
        """
        with self._lock:
            self._shown = self._shown or (who[:NAME], time.time())

    def expect_complete(self) -> None:
        """Refuse a machine while items are missing."""
        self.look()
        missing = self.missing if self.needed else []
        if missing:
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            first = missing[0]
            raise InputError(f"the pre-flight list is not complete: {first.text}: {first.missing}{more}")

    def record(self, who: str, *, confirmed: bool = True) -> None:
        """Write who arms or starts, and the list with its evidence, into the segment, for the run file.

        Parameters
        ----------
        who
            Arms or starts.
        confirmed
            Whether there was a list at all: a model needs none, and a program of one's own may have had none.
        """
        with self._lock:
            listed = [asdict(item) for item in self.items()] if confirmed and self.needed else []
            for item in listed:
                del item["missing"]
            words = {"run": int(self.segment.header["run"][0]), "operator": who[:NAME], "items": listed}
            write_words(self.segment, "preflight_words", words)

    def describe(self) -> Sequence[Mapping[str, str]]:
        """Return it as it goes to the browser."""
        return [asdict(item) for item in self.items()]


def in_utc(seconds: float) -> str:
    """Write a time since the epoch in UTC, as ISO 8601.

    >>> in_utc(1.75e9 + 0.25)
    '2025-06-15T15:06:40.250+00:00'
    """
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="milliseconds")
