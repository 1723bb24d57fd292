"""Percentiles, ratios and histograms of durations, as text."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bondloop.realtime.ring import Histogram, bin_edges

PERCENTS = (50.0, 99.0, 99.9)


@dataclass(frozen=True)
class Durations:
    """Durations in ns, counted in the executive's bins so that all are treated alike.

    Attributes
    ----------
    bins
        Counts; 16 to an octave.
    most
        The longest; exact.
    """

    bins: NDArray[Any]
    most: float

    @classmethod
    def of(cls, samples: NDArray[Any]) -> Self:
        """Count samples."""
        edges = bin_edges()
        at = np.clip(np.searchsorted(edges, samples, side="right") - 1, 0, len(edges) - 1)
        return cls(np.bincount(at, minlength=len(edges)), float(np.max(samples)))

    @classmethod
    def counted(cls, histogram: Histogram) -> Self:
        """Take what the executive counted."""
        return cls(histogram.bins.astype(np.int64), float(histogram.most))

    @classmethod
    def together(cls, parts: Sequence[Self]) -> Self:
        """Merge several."""
        return cls(np.sum([p.bins for p in parts], axis=0), max(p.most for p in parts))

    @property
    def count(self) -> int:
        """How many."""
        return int(self.bins.sum())

    def percentile(self, percent: float) -> float:
        """Return a percentile in ns, interpolated within its bin."""
        edges = bin_edges()
        total = np.cumsum(self.bins)
        wanted = percent / 100 * total[-1]
        i = int(np.searchsorted(total, wanted))
        before = total[i] - self.bins[i]
        upper = edges[i + 1] if i + 1 < len(edges) else 2 * edges[i]
        return float(min(edges[i] + (wanted - before) / self.bins[i] * (upper - edges[i]), self.most))


def short(ns: float) -> str:
    """Write a duration with the unit that suits it.

    >>> short(83.0), short(1234.0), short(2.5e6)
    ('83 ns', '1.23 µs', '2.50 ms')
    """
    if ns < 999.5:
        return f"{ns:.0f} ns"
    for size, unit in ((1e3, "µs"), (1e6, "ms"), (1e9, "s")):
        if ns < 999.5 * size:
            return f"{ns / size:.{2 if ns < 99.5 * size else 0}f} {unit}"
    return f"{ns / 1e9:.0f} s"


def head(*first: str) -> None:
    """Print the head of a table of percentiles."""
    names = [*first, *(f"{p:g} %" for p in PERCENTS), "max"]
    print("| " + " | ".join(names) + " |")
    print("|" + "---|" * len(first) + "---:|" * (len(PERCENTS) + 1))


def row(durations: Durations, *first: str) -> None:
    """Print the percentiles of one set of durations."""
    found = [short(durations.percentile(p)) for p in PERCENTS]
    print("| " + " | ".join([*first, *found, short(durations.most)]) + " |")


def ratios(ours: Sequence[Durations], theirs: Sequence[Durations], percent: float) -> tuple[float, float]:
    """Return the ratio of the percentiles of all, and the median of those of the pairs."""
    whole = Durations.together(ours).percentile(percent) / Durations.together(theirs).percentile(percent)
    pairs = [a.percentile(percent) / b.percentile(percent) for a, b in zip(ours, theirs, strict=True)]
    return whole, statistics.median(pairs)


def histogram(sets: Mapping[str, Durations], width: int = 36, rows: int = 16) -> None:
    """Print one histogram beside the other: logarithmic bins, shares of each set in per cent.

    Parameters
    ----------
    sets
        Durations by name.
    width
        Characters of the longest bar.
    rows
        Bins at most; what lies below or above is in the first and last.
    """
    edges = bin_edges()
    low = min(d.percentile(0.1) for d in sets.values())
    high = max(d.percentile(99.9) for d in sets.values())
    per = next(n for n in (1, 2, 4, 8, 16, 32, 64) if np.log2(high / low) * 16 / n <= rows - 1)
    first = int(np.searchsorted(edges, low, side="right") - 1) // per * per
    last = int(np.searchsorted(edges, high, side="right") - 1) // per * per
    starts = range(first, last + 1, per)
    print("\n```text")
    for name, durations in sets.items():
        share = [100 * durations.bins[s : s + per].sum() / durations.count for s in starts]
        share[0] += 100 * durations.bins[:first].sum() / durations.count
        share[-1] += 100 * durations.bins[last + per :].sum() / durations.count
        print(f"{name} ({durations.count:,})")
        for s, part in zip(starts, share, strict=True):
            bar = "#" * round(width * part / max(share))
            print(f"  {short(edges[s]):>8} {part:7.3f} % {bar}".rstrip())
    print("```\n")
