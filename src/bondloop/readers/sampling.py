"""When the samples of a file were taken: a column of times, a rate, or the clock beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.readers.text_cells import ambiguous, heading, normalised_unit, unit_or_text, without_signs
from bondloop.units import quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.readers.measured import Measurements

SAME_RATE = 0.01
"""Relative difference of two statements of a rate that is taken for rounding: of 0.0083 s and 120 Hz it is
0.4 %."""

_TIME = re.compile(
    r"(time|times|t|(?:elapsed|running|total|test)[ _]time|x_value)"
    r"(?:[ _]*[\[(]?(s|sec|seconds|ms|us|µs)[\])]?)?",
    re.IGNORECASE,
)
_RATES = (
    "fs", "rate", "sample_rate", "sampling_rate", "samplerate", "sampling_frequency", "sample_frequency",
    "scan_rate", "data_rate",
)  # fmt: skip
_PERIODS = (
    "dt", "ts", "sample_period", "sampling_period", "sample_time", "sampletime", "tsample", "wf_increment",
    "delta_x", "sampling_interval", "sample_interval", "interval",
)  # fmt: skip
_PER_SECOND = re.compile(r"([kKM]?)(?:(?:[Ss]a?|[Ss]amples?)/s(?:ec)?|SPS|sps)")
"""Samples a second, as makers of recorders write them."""


class NoTimeError(InputError):
    """A file does not say when its samples were taken."""


@dataclass(frozen=True)
class Sampling:
    """When samples were taken.

    Attributes
    ----------
    name
        Of the channel that holds the time, which is none of the signals; None where there is none.
    stamps
        Times [s]; None where only a rate is known.
    rate
        Samples a second; None where the stamps tell.
    notes
        What is noteworthy, in sentences.
    """

    name: str | None = None
    stamps: NDArray[np.float64] | None = None
    rate: float | None = None
    notes: tuple[str, ...] = ()


def is_time_name(name: str) -> bool:
    """Whether a column is called as that of the time is.

    Parameters
    ----------
    name
        Of the column.

    Examples
    --------
    >>> is_time_name("Elapsed Time"), is_time_name("t_ms"), is_time_name("Force")
    (True, True, False)
    """
    return _TIME.fullmatch(name) is not None


def increases_in_seconds(found: Measurements, name: str) -> bool:
    """Whether a column can be the time, whatever it is called.

    Parameters
    ----------
    found
        What the file holds.
    name
        Of the column.
    """
    values = found.channels[name]
    seconds = normalised_unit(found.units[name]) in ("s", "ms", "us", "µs")
    return seconds and values.size > 2 and bool((np.diff(values) > 0).all())


def stated(key: str, value: str) -> tuple[str, float] | None:
    """Return the name of a number and the number, if a line of a head states one; in Hz, or in s.

    ``1,000`` may be one or a thousand: as a rate or a period it is refused, as anything else no number. So
    is a unit that is not known.

    Parameters
    ----------
    key, value
        What stands before and after the colon.

    Examples
    --------
    >>> stated("Sampling Rate (kHz)", "2"), stated("Interval", "5 ms"), stated("Operator", "A. B.")
    (('sampling_rate', 2000.0), ('interval', 0.005), None)
    >>> stated("Sampling Rate", "10,000.0 Hz"), stated("Samples", "1,000")
    (('sampling_rate', 10000.0), None)
    >>> stated("Scan Rate", "2 kS/s")
    ('scan_rate', 2000.0)
    >>> stated("Sampling Rate", "1,000 Hz")
    Traceback (most recent call last):
    bondloop.errors.InputError: 'Sampling Rate' is '1,000': one, or a thousand? give the rate (rate=...)
    """
    name, unit = heading(key)
    word = re.sub(r"[\s_-]+", "_", name.strip().lower())
    match = re.fullmatch(r"\s*([-+]?[\d.,]+(?:[eE][-+]?\d+)?)\s*(\S*?)\s*", value.split("\t", maxsplit=1)[0])
    if match is None:
        return None
    sampled = word in _RATES or word in _PERIODS
    said = match[2] or unit
    if word in _RATES and (samples := _PER_SECOND.fullmatch(said)):
        said = f"{samples[1].replace('K', 'k')}Hz"
    meant = normalised_unit(said) if said else ""
    if meant is None and sampled:
        kind = "Hz or S/s" if word in _RATES else "s"
        raise InputError(f"{name.strip()!r} is in {said:.20}; expected {kind}; give the rate (rate=...)")
    unit = meant or unit
    if "," in match[1] and ambiguous(match[1]):
        if not sampled:
            return None
        raise InputError(f"{name.strip()!r} is {match[1]!r}: one, or a thousand? give the rate (rate=...)")
    try:
        number = float(without_signs(match[1]) if "," in match[1] else match[1])
        if sampled:
            number = quantity(f"{number!r} {unit}", "Hz" if word in _RATES else "s")
    except (ValueError, InputError):
        return None
    return word, number


def sampling_of(
    found: Measurements, wanted: str | None = None, *, rate_given: bool = False, compared: bool = True
) -> Sampling:
    """Return when the samples of a file were taken.

    A column called time counts first, then a column in seconds that increases, then a rate that the file
    states, then the clock. What a stated rate says against a column is noted, or refused; see `rate_notes`.

    Parameters
    ----------
    found
        What the file holds.
    wanted
        The channel of the times; unless given, one called ``time`` or ``t`` or the like.
    rate_given
        Whether somebody says the rate, so that none is looked for.
    compared
        Whether a column is compared with the rate that the file states.

    Examples
    --------
    >>> from bondloop.readers import Measurements
    >>> found = Measurements("a.csv", "text", {"t": np.array([0.0, 2.0])}, {"t": "ms"})
    >>> sampling_of(found).stamps.tolist()
    [0.0, 0.002]
    """
    name = _time_column(found, wanted)
    compared = compared and not rate_given
    if name is not None:
        stamps = found.channels[name] * _factor(name, found.units[name])
        return Sampling(name, stamps, None, rate_notes(found, name, stamps) if compared else ())
    if rate_given:
        return Sampling()
    looks = _looks_like_time(found)
    rate = _stated_rate(found.numbers, found.source)
    if looks is not None:
        note = f"'{looks}' was taken for the time, as it is in seconds and increases"
        stamps = found.channels[looks] * _factor(looks, found.units[looks])
        more = rate_notes(found, looks, stamps) if compared else ()
        return Sampling(looks, stamps, None, (note, *more))
    if rate is not None:
        return Sampling(None, None, rate, _clock_notes(found, rate))
    if found.clock is not None:
        note = "the clock times of its rows were taken for the time"
        return Sampling(None, found.clock, None, (note,))
    raise NoTimeError(
        f"{found.source}: no time among {_listed(found.channels)}; name the channel that holds it "
        "(time='...'), or give the sample rate (rate=1000)"
    )


def rate_notes(
    found: Measurements, name: str, stamps: NDArray[np.float64], *, unit_given: bool = False
) -> tuple[str, ...]:
    """Return what a rate that the file states says against a column of times.

    Parameters
    ----------
    found
        What the file holds.
    name
        Of the column.
    stamps
        Its times [s].
    unit_given
        Whether somebody says its unit. Where nobody does, not even the file, a difference is refused.
    """
    rates = _stated_rates(found.numbers)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is told by others
        steps = np.diff(stamps)
    steps = steps[np.isfinite(steps)]
    step = float(np.median(steps)) if steps.size else 0.0
    if not rates or step <= 0 or any(abs(step * rate - 1) <= SAME_RATE for rate in rates.values()):
        return ()
    words = f"the file states {next(iter(rates.values())):g} Hz, but by '{name}' samples are {step:g} s apart"
    if unit_given or found.units[name] or unit_in_name(name):
        return (f"{words}, which is used",)
    raise InputError(
        f"{found.source}: {words} if it is in s, and it has no unit: write it into its name, "
        f"'{name} [ms]', or say it (time_unit='ms' for an excitation, rate=... for data)"
    )


def _clock_notes(found: Measurements, rate: float) -> tuple[str, ...]:
    """Return what the clock beside the samples says against the rate."""
    clock = found.clock
    if clock is None or clock.size < 3:
        return ()
    steps = np.diff(clock)
    typical = (clock[-1] - clock[0]) / (clock.size - 1)
    worst = int(np.argmax(np.abs(steps - 1 / rate)))
    if steps[worst] > max(1.5 / rate, 1.5 * float(np.median(steps))) and typical * rate > 1 + SAME_RATE / 10:
        note = (
            f"the file states {rate:g} Hz, but by its clock {steps[worst]:g} s pass after sample "
            f"{worst + 1}: was recording paused there?"
        )
        return (note,)
    if abs(typical * rate - 1) > SAME_RATE:
        return (f"the file states {rate:g} Hz, but by its clock samples are {typical:.6g} s apart",)
    return ()


def _time_column(found: Measurements, wanted: str | None) -> str | None:
    if wanted is not None:
        if wanted not in found.channels:
            raise InputError(unknown_name("time channel", wanted, found.channels, where=found.source))
        return wanted
    named = [name for name in found.channels if _TIME.fullmatch(name.rsplit(".", 1)[-1])]
    exact = [name for name in named if name.lower() == "time"]
    _expect_one_clock(found, exact or named)
    return next(iter(exact or named), None)


def _expect_one_clock(found: Measurements, named: Sequence[str]) -> None:
    """Refuse times of several groups that differ: no channel is read by the clock of another group."""
    for name in named[1:]:
        alike = name.rsplit(".", 1)[-1] == named[0].rsplit(".", 1)[-1]
        if alike and not np.array_equal(found.channels[name], found.channels[named[0]], equal_nan=True):
            raise InputError(
                f"{found.source}: '{named[0]}' and '{name}' are different times; say whose channels you want "
                f"(time='{named[0]}'), or export the groups one by one"
            )


def _looks_like_time(found: Measurements) -> str | None:
    return next((name for name in found.channels if increases_in_seconds(found, name)), None)


def _factor(name: str, unit: str) -> float:
    """Return seconds per unit of a time column, from its unit or from its name (``t_ms``)."""
    said = unit or unit_in_name(name) or "s"
    try:
        return quantity(f"1 {unit_or_text(said) or 's'}", "s")
    except InputError as error:
        raise InputError(f"the unit of the time '{name}': {error}") from None


def unit_in_name(name: str) -> str:
    """Return the unit that the name of a time column ends in; nothing where there is none.

    Parameters
    ----------
    name
        Of the column.

    Examples
    --------
    >>> unit_in_name("t_ms"), unit_in_name("time")
    ('ms', '')
    """
    match = _TIME.fullmatch(name.rsplit(".", 1)[-1])
    return match[2].lower() if match and match[2] else ""


def _stated_rate(numbers: Mapping[str, float], source: str) -> float | None:
    """Return the rate that a file's single numbers state, if they state one."""
    rates = _stated_rates(numbers)
    if rates and max(rates.values()) > (1 + SAME_RATE) * min(rates.values()):
        words = ", ".join(f"{name} = {numbers[name]:g} ({rate:g} Hz)" for name, rate in rates.items())
        raise InputError(f"{source}: its rates do not agree: {words[:400]}; give the right one (rate=...)")
    return next(iter(rates.values()), None)


def _stated_rates(numbers: Mapping[str, float]) -> dict[str, float]:
    """Return every rate that single numbers state, by their names."""
    rates: dict[str, float] = {}
    for name, value in numbers.items():
        last = name.rsplit(".", 1)[-1].lower()
        if last in _RATES and 0 < value < np.inf:
            rates[name] = value
        if last in _PERIODS and 0 < value < np.inf:
            rates[name] = 1 / value
    return rates


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(list(names)[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
