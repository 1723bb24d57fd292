"""What there is to say of a run, measure by measure, from its record alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from bondloop.engine.ir import Meaning, Role
from bondloop.errors import BondloopError, InputError
from bondloop.rehearsal.against_reference import (
    RATES,
    Comparison,
    chatter_finding,
    coupled_by_force,
    measured_force_finding,
)
from bondloop.rehearsal.rehearsal import POWER
from bondloop.results.assess import (
    FEWEST,
    SCALES,
    Finding,
    Grade,
    delay,
    energy_error,
    finite_part,
    frequency_evaluation_index,
    graded,
    mean_period,
    normalised_energy_error,
    normalised_rms_error,
    peak_amplitude_error,
    percent,
    vibration,
    work,
)
from bondloop.rigs import MEASURED, Bias, Chain, GainError, Quantisation, Saturation, Sensor, WhiteNoise
from bondloop.signals import Signal, signal_from

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.results.records import Record

    Samples = NDArray[np.float64]
    from bondloop.rigs import Imperfection


HARDLY = 0.01
"""Share of its peak below which an excitation hardly moves: a response to it says nothing of the rest."""
MOST_SAMPLES = 200_000


def excitation_findings(record: Record) -> Iterator[Finding]:
    """Yield a finding for each excitation that is too fast for its samples, and one where all come too late.

    Late is an excitation that has its strong part after the end of the run.

    Parameters
    ----------
    record
        The whole run, with the description of its test.
    """
    if not len(record):
        return
    end, quiet = float(record.time[-1]), []
    rate = record.description.get("rate")
    if isinstance(rate, float) and rate > 0:
        for name, signal in _signals(record.description):
            text = None if signal is None else undersampled(signal, 1 / rate)
            if text is not None:
                words = f"The excitation '{name}' {text}."
                yield Finding("excitation's sampling", float("nan"), Grade.NOT_AT_ALL, words)
    for name, signal in _signals(record.description):
        silence = None if signal is None else _silence(signal, end)
        if silence is None:
            return
        quiet.append((name, *silence))
    if quiet:
        name, share, begin, first, last = max(quiet, key=lambda one: one[1])
        words = (
            f"The excitation '{name}' hardly moved in the {end:.4g} s of the run, up to {100 * share:.2g} % "
            f"of its peak: its strong part is from {first:.3g} to {last:.3g} s; run longer, or let it begin "
            f"earlier with {_earlier(begin, first, last, end)}."
        )
        yield Finding("excitation", share, Grade.NOT_AT_ALL, words)


def undersampled(signal: Signal, period: float) -> str | None:
    """Return what is wrong with samples of a signal; None where they show its frequencies.

    >>> from bondloop.signals import Sine
    >>> undersampled(Sine(1, frequency=4), 0.125)
    'goes up to 4 Hz, and samples every 0.125 s show it as a slower one; take a step shorter than 0.125 s'
    >>> undersampled(Sine(1, frequency=4), 0.1249)
    """
    highest = signal.highest_frequency
    if highest is None or 2 * highest * period * (1 + 1e-12) < 1:
        return None
    return (
        f"goes up to {highest:.4g} Hz, and samples every {period:.4g} s show it as a slower one; "
        f"take a step shorter than {0.5 / highest:.4g} s"
    )


def _earlier(begin: float, first: float, last: float, end: float) -> str:
    """Return how to shift a signal so that its strong part comes early in a run, and what that leaves out.

    >>> _earlier(10.4, 12.0, 20.0, 15.0), _earlier(10.4, 19.0, 25.0, 9.0)
    (".shifted('-10 s')", ".shifted('-19 s')")
    >>> _earlier(4.2, 9.37, 33.0, 4.0)
    ".shifted('-9 s'), and run 24 s to see all of it"
    """
    shift = float(math.floor(begin))
    if first - shift > end / 2:  # a long quiet beginning: leave it out
        tenths = 10 ** math.ceil(
            -math.log10(end / 4)
        )  # so fine that what is rounded off is a part of the run
        shift = math.floor(first * tenths) / tenths
    rest = math.ceil(round(10 * (last - shift), 6)) / 10
    more = f", and run {rest:.4g} s to see all of it" if rest > end else ""
    return f".shifted('-{shift:.6g} s'){more}"


def _signals(description: Mapping[str, object]) -> Iterator[tuple[str, Signal | None]]:
    """Yield the signals of a test; None for one that its description does not tell completely."""
    for part in ("ground", "excitation"):
        entries = description.get(part)
        for name, entry in (entries if isinstance(entries, Mapping) else {}).items():
            try:
                signal = signal_from(entry) if isinstance(entry, Mapping) else None
            except BondloopError:  # written in Python, or of a file that is not here
                signal = None
            yield str(name), signal


def _silence(signal: Signal, end: float) -> tuple[float, float, float, float] | None:
    """Return the share of its peak that a signal reaches until an end, when it begins, and its strong part.

    None where it moves until then, or goes on for ever.
    """
    duration = signal.duration
    if not end < duration < math.inf:
        return None
    times = np.linspace(0.0, duration, min(MOST_SAMPLES, max(2, math.ceil(duration / 0.005))))
    size = np.abs(signal(times))
    peak = size.max()
    share = float(size[times <= end].max() / peak) if peak > 0 else 1.0
    if share >= HARDLY:
        return None
    grown = np.cumsum(size**2)
    first, last = np.interp([0.05, 0.95], grown / grown[-1], times)
    begin = times[np.argmax(size >= HARDLY * peak)]
    return share, float(begin), float(first), float(last)


def structure_findings(
    record: Record, pairs: Sequence[tuple[str, str]], whole: Record, against: Comparison | None = None
) -> Iterator[Finding]:
    """Yield the errors of motion and force against the references, and the energy of the transfer systems.

    The share of false energy says by how much the damping is wrong, and so how far the response may be off:
    in resonance by as much, elsewhere by less. Where a reference tells how far it is off, that counts.
    """
    exact = () if against is None else against.findings
    motions = [f for f in exact if f.measure == "reference error"]
    force = next((f for f in exact if f.measure == "force error"), None)
    errors = reference_errors(record)
    if force is not None:  # what the test's own reference says of a force at an interface is said already
        at_interfaces = [
            n for n in errors if _is_force(record.meanings[n]) and errors[n] <= 1.01 * force.value
        ]
        errors = {name: error for name, error in errors.items() if name not in at_interfaces}
    if errors:
        worst = max(errors, key=lambda name: errors[name])
        motions.append(_off_reference(worst, record.meanings[worst], errors[worst], len(pairs) > 1))
    if motions:
        # Two references of one structure differ by rounding: the test's own is the one that its user knows.
        yield max(reversed(motions), key=lambda f: f.value if f is motions[-1] else f.value / 1.01)
    if force is not None:
        yield force
    share = _supplied_share(record, pairs, whole)
    if share is not None:
        yield _supplied(share, len(pairs) > 1, compared=bool(motions))


def _is_force(meaning: Meaning) -> bool:
    return meaning.interface is not None and meaning.kind == "effort"


def reference_errors(record: Record) -> dict[str, float]:
    """Return the normalised rms errors of all that can be compared with the reference, by channel.

    Each is the worse of two: of the whole signal, and without its mean and drift.
    """
    record = coupled_by_force(record)
    errors: dict[str, float] = {}
    for name in record:
        ours = record.meanings[name].counterpart
        if ours not in record:
            continue
        (x, y), _ = finite_part(record, (name, ours))
        if x.size < FEWEST:
            continue
        both = [normalised_rms_error(x, y)]
        moving = vibration(mean_period(record), x, y, rates=RATES.get(record.units[name], 1))
        if moving is not None:
            both.append(normalised_rms_error(*moving.signals))
        if not math.isnan(both[0]):
            errors[ours] = max(both)
    return errors


def _off_reference(channel: str, meaning: Meaning, error: float, several: bool) -> Finding:
    what = f"'{channel}'"
    if meaning.interface is not None:
        where = f"interface {meaning.interface + 1}" if several else "the interface"
        what = f"The {'force' if meaning.kind == 'effort' else 'motion'} at {where}"
    bad = SCALES["reference error"].grade(error) >= Grade.POORLY
    effect = ": another structure was tested than was meant" if bad else ""
    return graded(
        "reference error",
        error,
        f"{what} was {percent(error)} (rms) off the reference, the complete structure computed beside the "
        f"test{effect}.",
    )


def _supplied_share(record: Record, pairs: Sequence[tuple[str, str]], whole: Record) -> float | None:
    """Return the energy of the transfer systems over what the excitation supplied; None where unknown."""
    if POWER not in record or not pairs:
        return None
    total = 0.0
    for desired, actual in pairs:
        force = record.at_interface(actual, Role.ACTUAL, "effort")
        if force is None:
            return None
        (x, y, f), _ = finite_part(record, (desired, actual, force))
        if x.size < FEWEST:
            return None
        energy = float(energy_error(f, x, y)[-1])
        # Of several, which way the bonds point is not in the record: their sizes add up.
        total += abs(energy) if len(pairs) > 1 else energy * sense(whole, actual)
    until = whole.between(-math.inf, float(record.time[-1]))
    (power,), _ = finite_part(until, (POWER,))
    if power.size < FEWEST:
        return None
    # The most that had been supplied at any time: what was dissipated and held, also where some came back.
    supplied = float(work(power, until.time[: power.size]).max())
    if supplied > 0:
        return total / supplied
    return math.inf if total > 0 and np.any(power) else None


def _supplied(share: float, several: bool, *, compared: bool) -> Finding:
    who = "The transfer systems" if several else "The transfer system"
    did, effect = energy_words(0.0 if several else share)
    words = f"{who} {did} {percent(abs(share))} as much energy as the excitation supplied, {effect}"
    if math.isinf(share):
        words = f"{who} put in all of the energy, for the excitation supplied none, as negative damping would"
    if compared:
        return Finding("supplied energy", share, None, f"{words}.")
    more = f"{words}; a reference would tell how far that changed the response."
    return graded("supplied energy", share, more)


def energy_words(energy: float) -> tuple[str, str]:
    """Return what was done and what it acts like; zero where the direction is not known."""
    if energy > 0:
        return "put in", "as negative damping would"
    if energy < 0:
        return "took out", "as additional damping would"
    return "put in or took out", "as false damping would"


def sense(whole: Record, actual: str) -> int:
    """Return +1 where force times velocity is the power into the specimen, -1 where it is that out of it.

    Which way the cut bond points is not in a record, but a specimen at rest has nothing to give: up to any
    time, work has gone into it. 0 where there is no force.

    Examples
    --------
    >>> from bondloop.results import Record
    >>> x = np.sin(np.linspace(0, 20, 500))
    >>> kinds = {n: Meaning(Role.ACTUAL, kind=k) for n, k in (("x", "displacement"), ("f", "effort"))}
    >>> sense(Record(np.arange(500.0), {"x": x, "f": -3 * x}, meanings=kinds), "x")
    -1
    """
    force = whole.at_interface(actual, Role.ACTUAL, "effort")
    if force is None:
        return 0
    (f, y), _ = finite_part(whole, (force, actual))
    return int(np.sign(work(f, y).sum())) if f.size else 0


def span(imperfections: tuple[Imperfection, ...], *, noise: float = 3.0) -> tuple[float, float]:
    """Return the least and the greatest reading after a chain of imperfections; infinite without a limit.

    Parameters
    ----------
    imperfections
        In the order in which the signal passes them.
    noise
        How often noise behind a limit takes its rms off both ends: readings that near to one may be at it.

    Examples
    --------
    >>> span((Saturation(100.0), Bias(4.0), GainError("50 %")))
    (-144.0, 156.0)
    """
    low, high = -math.inf, math.inf
    for part in imperfections:
        if isinstance(part, (Sensor, Chain)):
            inner = span(part.imperfections if isinstance(part, Sensor) else part.parts, noise=noise)
            low, high = max(low, inner[0]), min(high, inner[1])
        elif isinstance(part, Quantisation):
            low, high = max(low, -part.range), min(high, part.range - part.resolution)
        elif isinstance(part, Saturation):
            assert isinstance(part.low, float)
            low, high = max(low, part.low), min(high, part.high)
        elif isinstance(part, Bias):
            low, high = low + part.offset, high + part.offset
        elif isinstance(part, GainError):
            low, high = sorted(((1 + part.error) * low, (1 + part.error) * high))
        elif isinstance(part, WhiteNoise):
            low, high = low + noise * part.rms, high - noise * part.rms
    return (low, high) if low < high else (-math.inf, math.inf)


def saturated_share(readings: NDArray[np.float64], sensor: Mapping[str, object]) -> float:
    """Return the share of readings at an end of the range of a sensor, given by its description.

    Examples
    --------
    >>> sensor = Sensor((Saturation(2.0),)).describe()
    >>> saturated_share(np.array([0.0, 1.0, 2.0, -2.0]), sensor)
    0.5
    """
    try:
        low, high = span(Sensor.from_description(sensor).imperfections)
    except InputError:  # a sensor of someone's own, whose range is not known
        return 0.0
    if readings.size == 0:
        return 0.0
    return float(np.mean(at_an_end(readings, low, high)))


def at_an_end(readings: NDArray[np.float64], low: float, high: float) -> NDArray[np.bool_]:
    """Return which readings are at an end of a range, but for rounding.

    Examples
    --------
    >>> at_an_end(np.array([0.0, 2.0, -2.0]), -2.0, 2.0).tolist()
    [False, True, True]
    """
    near = 1e-9 * (high - low) if math.isfinite(high - low) else 0.0
    return np.asarray((readings >= high - near) | (readings <= low + near))


def run_findings(
    record: Record,
    pairs: Sequence[tuple[str, str]],
    whole: Record | None = None,
    against: Comparison | None = None,
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
    against
        What it looks like against its exact reference; None where nothing is known of one.
    """
    whole = record if whole is None else whole
    if len(record) >= FEWEST:
        for i, (desired, actual) in enumerate(pairs):
            who = f"Transfer system {i + 1}" if len(pairs) > 1 else "The transfer system"
            senses = [] if len(pairs) > 1 else [sense(whole, actual)]
            yield from _following(record, desired, actual, who, *senses)
        if record.description.get("feedback", True):
            yield from structure_findings(record, pairs, whole, against)
        yield from _forces(record, against)
        yield from _sensors(record)
    if pairs and against is not None and against.missing:
        words = f"Motion and force were not compared with an exact reference: {against.missing.rstrip('.')}."
        yield Finding("exact reference", math.nan, None, words)
    yield from excitation_findings(whole)
    yield from _timing(record)
    yield from check_findings(whole)


def _forces(record: Record, against: Comparison | None) -> Iterator[Finding]:
    """Judge what the force sensors make of the force, and what of it is chatter."""
    measured = measured_force_finding(record)
    if measured is not None:
        yield measured
    known = [f for f in (() if against is None else against.findings) if f.measure == "chatter"]
    if known:
        yield from known
        return
    found = chatter_finding(record)
    if found is not None:
        yield found


ADVICE = {
    "stop": "advises against this run",
    "vain": "says that this run is not worth making",
    "care": "asks for care",
}
"""What a check says by its level, from the worst on."""


def check_findings(record: Record) -> Iterator[Finding]:
    """Yield what the check before a run had left open: all in one finding, then each in full.

    What a check advises against is no better than poor, however well it ran.

    Parameters
    ----------
    record
        The whole run.
    """
    check = record.attributes.get("check")
    listed = check.get("findings") if isinstance(check, dict) else None
    entries = [f for f in listed if isinstance(f, dict)] if isinstance(listed, list) else []
    left = [f for f in entries if not f.get("accepted") and f.get("level") in ADVICE]
    left.sort(key=lambda f: list(ADVICE).index(f["level"]))
    if left:
        level = left[0]["level"]
        shorts = "; ".join(f"{f.get('short') or f.get('text', '')} ({f.get('rule', '')})" for f in left)
        grade = None if level == "care" else Grade.POORLY
        yield Finding("check", math.nan, grade, f"The check {ADVICE[level]}: {shorts}.")
    elif record.attributes.get("check_passed") is False:
        yield Finding("check", math.nan, Grade.POORLY, "The check had not passed, and the test was run.")
    for f in left:
        words = f"Found by the check ({f.get('rule', '')}): {str(f.get('text', '')).rstrip('.')}."
        yield Finding("finding of the check", math.nan, None, words)


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
