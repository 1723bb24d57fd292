"""Whether the excitation did anything in the time that was run, and whether its samples show it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import BondloopError
from bondloop.results.assess import Finding, Grade
from bondloop.signals import Signal, signal_from

if TYPE_CHECKING:
    from bondloop.results.records import Record


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
