"""What became of a run in real time, for its record and for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.realtime.layout import FLAGS
from bondloop.safety.causes import Cause, cause_words, limit_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.realtime.ring import Status

__all__ = [
    "PERCENTS",
    "STOPPED",
    "duration",
    "moving",
    "outcome",
    "summary_lines",
    "timing",
    "warnings_of",
]

PERCENTS = (50.0, 99.0, 99.9, 100.0)
"""Percentiles that are told; the last is the most."""

STOPPED = "the operator stopped it"
"""An operator's stop is no trip and has no number among the causes."""

_CLOCKED = {"wake": "wake-up latency", "busy": "cycle time", "exchange": "of which in the link"}


def outcome(status: Status, period: float, wanted: int, *, alive: bool = True) -> dict[str, Any]:
    """Return the attributes that a run's record gets from its loop.

    Parameters
    ----------
    status
        The loop's last.
    period
        Seconds between ticks.
    wanted
        Ticks that were asked for; 0: until stopped.
    alive
        Whether the loop could still go on.

    Notes
    -----
    ``counts`` and ``link_counts`` are those of the executive since it began, also of cycles without a tick.
    """
    steps = status.steps
    if status.cause:
        when = f"at t = {max(status.cause_step, 0) * period:.4g} s"
        how_long = f" ({status.cause_value:.3g} s)" if status.cause == Cause.STOOD_STILL else ""
        told = f": {status.fault_words} (fault {status.cause_detail})" if status.fault_words else ""
        state, message = "stopped", f"{cause_words(status.cause)}{told}{how_long} {when}"
    elif status.state != "finalized" and not alive:
        state, message = "stopped", f"the loop's process died after {steps} ticks"
    elif status.state != "finalized":
        state, message = "recording", "the run was still going on when this was written"
    elif wanted and steps < wanted:
        who = STOPPED if status.counts["stops"] else "it was ended"
        state, message = "stopped", f"{who} after {steps} of {wanted} ticks"
    else:
        state, message = "completed", ""
    return {
        "status": state,
        "message": message,
        "steps": steps,
        "cause": status.cause,
        "cause_words": STOPPED if status.counts["stops"] and not status.cause else cause_words(status.cause),
        "fault_words": status.fault_words,
        "cause_step": status.cause_step,
        "cause_detail": status.cause_detail,
        "cause_value": status.cause_value if math.isfinite(status.cause_value) else str(status.cause_value),
        "counts": status.counts,
        "link_counts": status.link,
    }


def warnings_of(values: NDArray[np.float64]) -> dict[str, int]:
    """Return in how many ticks there was a warning, by the name of the limit.

    Parameters
    ----------
    values
        Of the channel `~bondloop.safety.channel_names.WARNING`.

    Examples
    --------
    >>> warnings_of(np.array([0.0, 3.0, 3.0, 17.0]))
    {'force': 2, 'command rate': 1}
    """
    codes, counts = np.unique(values[values != 0], return_counts=True)
    return {limit_name(code): int(n) for code, n in zip(codes, counts, strict=True)}


def moving(before: Status, after: Status) -> dict[str, int]:
    """Return how the executive kept its time while it moved the rig, approach and retreat included.

    By its own counts: the record may have lost ticks, and has none of the approach.

    Parameters
    ----------
    before, after
        As the loop began to move, and when it had ended.

    Returns
    -------
    dict
        ``cycles``, ``late`` and ``missed``, as in `timing`.
    """
    words = {"cycles": "cycles", "late": "overruns", "missed": "missed"}
    return {word: after.counts[count] - before.counts[count] for word, count in words.items()}


def timing(cycles: Mapping[str, NDArray[Any]], period: float) -> dict[str, Any]:
    """Return how the ticks of a run kept their time.

    Parameters
    ----------
    cycles
        From `bondloop.records.hdf5.read_cycles`.
    period
        Seconds between ticks.

    Returns
    -------
    dict
        ``late``: ticks that ended after their deadline; ``missed``: deadlines that passed without a tick;
        ``held``, ``refused``: ticks whose command was held, whose measured values were not believed;
        ``stale``: ticks without a new measurement; ``percentiles`` of the durations in s.

    Examples
    --------
    >>> zero = np.zeros(4, dtype=int)
    >>> wake = np.array([5, 5, 2_100, 6]) * 1000
    >>> cycles = {"wake_ns": wake, "busy_ns": zero, "exchange_ns": zero, "flags": np.array([1, 1, 2, 1])}
    >>> found = timing(cycles, 1e-3)
    >>> found["late"], found["missed"], found["stale"], found["percentiles"]["wake"]["most"]
    (1, 2, 1, 0.0021)
    """
    flags = cycles["flags"]

    def flagged(word: str) -> int:
        return int(((flags & FLAGS[word]) != 0).sum())

    percentiles: dict[str, dict[str, float]] = {}
    for word in _CLOCKED:
        values = cycles[f"{word}_ns"]
        if values.size:
            found = 1e-9 * np.percentile(values, PERCENTS, method="higher")
            names = [f"{p:g}" for p in PERCENTS[:-1]] + ["most"]
            percentiles[word] = {n: float(f"{x:.9g}") for n, x in zip(names, found, strict=True)}
    return {
        "late": flagged("overrun"),
        "missed": int((np.maximum(cycles["wake_ns"], 0) // max(round(1e9 * period), 1)).sum()),
        "held": flagged("held"),
        "refused": flagged("refused"),
        "stale": int(flags.size) - flagged("fresh"),
        "percentiles": percentiles,
    }


def summary_lines(attributes: Mapping[str, Any]) -> list[str]:
    r"""Return what people want to know of a run's timing, from its record's attributes.

    Examples
    --------
    >>> wake = {"50": 5e-5, "99": 7e-5, "99.9": 1e-4, "most": 2.5e-3}
    >>> found = {"late": 0, "missed": 0, "held": 0, "refused": 0, "stale": 2, "percentiles": {"wake": wake}}
    >>> print("\n".join(summary_lines({"steps": 1001, "timing": found})))
    1,001 ticks: none late, no deadline missed
    ticks without a new measurement: 2
                             50 %    99 %  99.9 %    most
    wake-up latency         50 µs   70 µs  100 µs  2.5 ms
    """
    found, link = attributes.get("timing") or {}, attributes.get("link_counts") or {}
    steps = f"{attributes['steps']:,} ticks"
    near = attributes.get("warnings") or {}
    warned = [f"WARNING: near the limit of {name} in {count:,} ticks" for name, count in near.items()]
    if attributes.get("lock_step"):
        return [f"{steps} in lock-step, without a clock", *warned, *_packets(link)]
    if not found:
        return [steps]
    moved = attributes.get("moving") or {}
    # The record knows nothing of ticks that it lost; the executive does not call missed what it made good.
    late, missed = (max(found[word], moved.get(word, 0)) for word in ("late", "missed"))
    deadlines = f"{missed:,} deadlines" if missed > 1 else "a deadline" if missed else "no deadline"
    of = f" of {moved['cycles']:,} cycles, approach and retreat included" if moved else ""
    lines = [f"{steps}: {f'{late:,}' if late else 'none'} late, {deadlines} missed{of}"]
    lines += [
        f"{meaning}: {found[word]:,}"
        for word, meaning in (
            ("held", "ticks whose command came too late and was held"),
            ("refused", "ticks whose measurement was not believed"),
            ("stale", "ticks without a new measurement"),
        )
        if found[word]
    ]
    return [*lines, *warned, *_packets(link), *_table(found["percentiles"])]


def _packets(link: Mapping[str, int]) -> list[str]:
    words = ("lost", "duplicated", "reordered", "corrupted", "foreign")
    troubles = [f"{link[word]:,} {word}" for word in words if link.get(word)]
    return [f"packets: {', '.join(troubles)}, of {link['received']:,} received"] if troubles else []


def _table(percentiles: Mapping[str, Mapping[str, float]]) -> list[str]:
    rows = {_CLOCKED[word]: found for word, found in percentiles.items() if found}
    if not rows:
        return []
    heads = [f"{p:g} %" for p in PERCENTS[:-1]] + ["most"]
    lines = [f"{'':21}" + "".join(f"{h:>8}" for h in heads)]
    for name, found in rows.items():
        lines.append(f"{name:21}" + "".join(f"{duration(v):>8}" for v in found.values()))
    return lines


def duration(seconds: float) -> str:
    """Write a duration with a unit that suits it.

    >>> duration(4.2e-8), duration(5.31e-5), duration(0.0123), duration(float("nan"))
    ('42 ns', '53 µs', '12 ms', '-')
    """
    if math.isnan(seconds):
        return "-"
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(seconds) >= 0.9995 * size:
            return f"{seconds / size:.2g} {unit}" if seconds / size < 99.5 else f"{seconds / size:.0f} {unit}"
    return f"{1e9 * seconds:.0f} ns"
