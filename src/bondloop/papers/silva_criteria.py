"""The nine criteria of the field's benchmark (Silva et al. 2020), by name.

The published table and the paper's text number J5 to J7 differently, so they are named; the numbers are those
of the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.assess.delay import correlation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bondloop.hybrid import Run

__all__ = [
    "CHANNELS", "NOISY", "NUMBERS", "WITHOUT_NOISE", "criteria", "criteria_of", "lag", "peak_share",
    "rms_share",
]  # fmt: skip

NUMBERS = {
    "delay_ms": "J1",
    "tracking_rms_percent": "J2",
    "tracking_peak_percent": "J3",
    "floor_1_rms_percent": "J4",
    "floor_1_peak_percent": "J5",
    "floor_2_rms_percent": "J6",
    "floor_3_rms_percent": "J7",
    "floor_2_peak_percent": "J8",
    "floor_3_peak_percent": "J9",
}
"""The table's number of each criterion."""

NOISY = tuple(NUMBERS)[:5]
"""Those that the noise of the sensor enters; each has a twin without it."""

WITHOUT_NOISE = "_without_noise"
"""End of a twin's name."""

CHANNELS = (
    "desired.displacement", "measured.displacement", "actual.displacement",
    *(f"reference.stiffness[{i}].displacement" for i in range(3)),
    *(f"numerical.stiffness[{i}].displacement" for i in (1, 2)),
)  # fmt: skip
"""What the criteria are made from."""

LONGEST = 0.1
"""Lags up to this are looked at, s."""


def lag(late: NDArray[np.float64], early: NDArray[np.float64], period: float) -> float:
    """Return by how much one signal follows another, s: where their correlation is largest, whole samples.

    As the benchmark has it; `bondloop.assess.delay` also looks between samples, and among equal peaks.

    Parameters
    ----------
    late, early
        Two signals of one length.
    period
        Seconds between samples.

    Examples
    --------
    >>> x = np.random.default_rng(1).normal(size=2000)
    >>> round(lag(x[90:1900], x[100:1910], 0.001), 6), lag(x, x, 0.001)
    (0.01, 0.0)
    """
    reach = min(round(LONGEST / period), len(late) // 4)
    rho = correlation(early, late, reach)
    return float((np.nanargmax(rho) - reach) * period) if np.isfinite(rho).any() else float("nan")


def criteria(run: Run) -> dict[str, float]:
    """Return the criteria of a run of the benchmark: as measured, and without the sensor's noise.

    Parameters
    ----------
    run
        Of ``silva_benchmark.test(...)``.
    """
    return criteria_of(run.record.channels, run.record.sample_period)


def criteria_of(channels: Mapping[str, NDArray[np.float64]], period: float) -> dict[str, float]:
    """Return the criteria of what was recorded.

    Parameters
    ----------
    channels
        By name, see `CHANNELS`.
    period
        Seconds between samples.
    """
    copies = {name: np.ascontiguousarray(channels[name]) for name in CHANNELS}
    desired = copies["desired.displacement"]
    whole = [copies[f"reference.stiffness[{i}].displacement"] for i in range(3)]
    floors = {i: copies[f"numerical.stiffness[{i}].displacement"] for i in (1, 2)}
    others = [
        rms_share(floors[1], whole[1]), rms_share(floors[2], whole[2]),
        peak_share(floors[1], whole[1]), peak_share(floors[2], whole[2]),
    ]  # fmt: skip
    values: dict[str, float] = {}
    for suffix, channel in (("", "measured.displacement"), (WITHOUT_NOISE, "actual.displacement")):
        moved = copies[channel]
        first = [
            1e3 * lag(moved, desired, period),
            rms_share(moved, desired), peak_share(moved, desired),
            rms_share(moved, whole[0]), peak_share(moved, whole[0]),
        ]  # fmt: skip
        names = [f"{name}{suffix}" for name in (NUMBERS if not suffix else NOISY)]
        values |= dict(zip(names, first + ([] if suffix else others), strict=True))
    return values


def rms_share(x: NDArray[np.float64], of: NDArray[np.float64]) -> float:
    """Return the rms of a difference, its mean taken off, over that of the signal, in per cent."""
    return _percent(np.std(x - of), np.std(of))


def peak_share(x: NDArray[np.float64], of: NDArray[np.float64]) -> float:
    """Return the peak of a difference over that of the signal, in per cent."""
    return _percent(np.abs(x - of).max(), np.abs(of).max())


def _percent(part: Any, whole: Any) -> float:
    """Return a share in per cent; of nothing it is not a number."""
    return float(100 * part / whole) if whole else float("nan")
