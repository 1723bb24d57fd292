"""What there is to say of a run, measure by measure, from its record alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from bondloop.engine.ir import Role
from bondloop.errors import InputError
from bondloop.rehearsal.excitation_findings import excitation_findings
from bondloop.rehearsal.sensor_range import saturated_share
from bondloop.rehearsal.structure_findings import energy_words, sense, structure_findings
from bondloop.results.assess import (
    FEWEST,
    SCALES,
    Finding,
    Grade,
    delay,
    finite_part,
    frequency_evaluation_index,
    graded,
    mean_period,
    normalised_energy_error,
    normalised_rms_error,
    peak_amplitude_error,
    percent,
    vibration,
)
from bondloop.rigs import MEASURED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.results.records import Record

    Samples = NDArray[np.float64]


def run_findings(
    record: Record, pairs: Sequence[tuple[str, str]], whole: Record | None = None
) -> Iterator[Finding]:
    """Yield what there is to say of the part of a run in which the rig was to follow.

    Parameters
    ----------
    record
        That part.
    pairs
        Names of the desired and the actual displacement of every interface.
    whole
        The whole run, which begins at rest; that part, if not given.
    """
    whole = record if whole is None else whole
    if len(record) >= FEWEST:
        for i, (desired, actual) in enumerate(pairs):
            who = f"Transfer system {i + 1}" if len(pairs) > 1 else "The transfer system"
            senses = [] if len(pairs) > 1 else [sense(whole, actual)]
            yield from _following(record, desired, actual, who, *senses)
        if record.description.get("feedback", True):
            yield from structure_findings(record, pairs, whole)
        yield from _sensors(record)
    yield from excitation_findings(whole)
    yield from _timing(record)


def _following(record: Record, desired: str, actual: str, who: str, direction: int = 0) -> Iterator[Finding]:
    """Judge one transfer system: the error, the delay, the amplitude, the energy."""
    force = record.at_interface(actual, Role.ACTUAL, "effort")
    names = [name for name in (desired, actual, force) if name is not None]
    (x, y, *f), until = finite_part(record, names)
    if until is not None:
        words = (
            f"At t = {until:.4g} s a value of {_inner(who)} was no longer a finite number; the run is "
            "measured up to there."
        )
        yield Finding("finite values", until, Grade.NOT_AT_ALL, words)
    if x.size < FEWEST:
        return
    whole = normalised_rms_error(x, y)
    if math.isnan(whole):
        words = f"{who} had nothing to follow: the numerical half did not move."
        yield Finding("tracking error", math.nan, None, words)
        return
    period = mean_period(record)
    moving = vibration(period, x, y, *f)
    yield _tracking(x, y, period, who, None if moving is None else (moving.signals, moving.drift))
    if moving is not None:
        yield from _shape(moving.signals[0], moving.signals[1], period, who)
    else:
        yield _amplitude(peak_amplitude_error(x, y), who, "peak")
    if f and record.description.get("feedback", True):
        errors = [normalised_energy_error(f[0], x, y)]
        if moving is not None:
            errors.append(normalised_energy_error(moving.signals[2], moving.signals[0], moving.signals[1]))
        errors = [e for e in errors if not math.isnan(e)]
        if errors:
            yield _interface_energy(max(errors, key=abs), direction, who)


def _tracking(
    x: Samples, y: Samples, period: float, who: str, moving: tuple[tuple[Samples, ...], float] | None
) -> Finding:
    """Judge the rms error: of the whole motion, or without its drift where that is a worse grade."""
    scale = SCALES["tracking error"]
    error, late, drift = normalised_rms_error(x, y), _delay(x, y, period), ""
    if moving is not None:
        (x, y, *_), slow = moving
        without = normalised_rms_error(x, y)
        if scale.grade(without) > scale.grade(error):
            drift = (
                f", of the vibration; beside the drift or offset beneath it, {slow:.2g} times as large, the "
                f"error would look like {percent(error)}"
            )
            error, late = without, frequency_evaluation_index(x, y, period).delay
    grade = scale.grade(error)
    lag = "" if math.isnan(late) else f", delay {1e3 * late:.2g} ms"
    effect = "; the force that came back belongs to another motion" if grade >= Grade.POORLY else ""
    return graded(
        "tracking error",
        error,
        f"{who} followed the numerical half {grade.words}: normalised rms error {percent(error)}{lag}{drift}"
        f"{effect}.",
        f"{who} followed the numerical half with a normalised rms error of {percent(error)}{lag}{drift}.",
    )


def _shape(x: Samples, y: Samples, period: float, who: str) -> Iterator[Finding]:
    """Judge delay and amplitude of the vibration."""
    index = frequency_evaluation_index(x, y, period)
    if math.isnan(index.frequency):
        return
    share = index.delay * index.frequency
    side, effect = ("behind", "negative damping") if share > 0 else ("ahead", "additional damping")
    yield graded(
        "delay",
        share,
        f"{who} was {1e3 * abs(index.delay):.2g} ms {side}, {percent(abs(share))} of a period at "
        f"{index.frequency:.2g} Hz; on a spring that acts as {effect}.",
    )
    whole, peak = index.amplitude - 1.0, peak_amplitude_error(x, y)
    yield _amplitude(peak, who, "peak") if abs(peak) > abs(whole) else _amplitude(whole, who, "whole")


def _amplitude(error: float, who: str, part: Literal["peak", "whole"]) -> Finding:
    size = "large" if error > 0 else "small"
    lead = "The peak of the motion" if part == "peak" else "The motion"
    words = f"{lead} of {_inner(who)} was {percent(abs(error))} too {size}, and with it the measured force."
    return graded("amplitude error", error, words)


def _interface_energy(error: float, direction: int, who: str) -> Finding:
    did, effect = energy_words(error * direction)
    return graded(
        "interface energy",
        error,
        f"{who} {did} {percent(abs(error))} of the energy that the halves exchanged there, {effect}.",
    )


def _sensors(record: Record) -> Iterator[Finding]:
    rig = record.description.get("rig")
    sensors = rig.get("sensors") if isinstance(rig, dict) else None
    for word, sensor in (sensors or {}).items():
        names = record.channels_of(Role.MEASURED, kind=MEASURED[word])
        shares = [saturated_share(record[n], sensor) for n in names]
        if shares:
            words = f"The {word} sensor stayed within its range."
            if max(shares) > 0:
                share = percent(max(shares))
                words = (
                    f"The {word} sensor was at the end of its range in {share} of the samples: "
                    "what lay beyond was not measured."
                )
            yield graded("saturated readings", max(shares), words)


def _timing(record: Record) -> Iterator[Finding]:
    """Judge a run in real time by its clock; one in lock-step has none."""
    attributes = record.attributes
    timing, steps = attributes.get("timing"), int(attributes.get("steps") or 0)
    if not isinstance(timing, dict) or not steps or attributes.get("lock_step"):
        return
    held = int(timing.get("held", 0))
    late = max(int(timing.get(word, 0)) for word in ("late", "missed", "held"))
    words = f"{late:,} of {steps:,} deadlines were missed"
    if not late:
        yield graded("late ticks", 0.0, f"None of {steps:,} deadlines was missed.")
    elif not held and _steps_with_the_loop(record.description):
        grade = min(SCALES["late ticks"].grade(late / steps), Grade.WELL)
        words += ": it was not on time. The rig took its steps with the loop, so that the numbers are those "
        yield Finding("late ticks", late / steps, grade, f"{words}of a rehearsal without a clock.")
    else:
        words += ": meanwhile the rig went on with old commands."
        yield graded("late ticks", late / steps, words)
    old = int(timing.get("stale", 0)) + int(timing.get("refused", 0))
    words = f"{old:,} of {steps:,} ticks had no new measurement: the force fed back was an older one."
    yield graded("old measurements", old / steps, words if old else "Every tick had a new measurement.")


def _steps_with_the_loop(description: Mapping[str, object]) -> bool:
    """Return whether the rig was one in the loop's own process: it stands still where no command comes."""
    settings = description.get("realtime")
    link = settings.get("link") if isinstance(settings, Mapping) else None
    return str(link).partition("://")[0] in ("fmu", "loopback")


def _delay(x: Samples, y: Samples, period: float) -> float:
    """Return by how much a motion is late, NaN where no lag within half a period of it fits.

    A sine that grows or fades correlates best with itself many periods later.
    """
    frequency = frequency_evaluation_index(x, y, period).frequency
    longest = max(0.5 / frequency, 4 * period) if frequency > 0 else None
    try:
        return delay(x, y, period, longest)
    except InputError:  # the best fit lies at the end of the range: no delay explains the difference
        return math.nan


def _inner(who: str) -> str:
    return who[:1].lower() + who[1:]
