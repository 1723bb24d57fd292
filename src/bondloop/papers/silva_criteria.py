"""The nine criteria of the field's benchmark (Silva et al. 2020), by name.

The published table and the paper's text number J5 to J7 differently, so they are named; the numbers are those
of the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.assess.delay import correlation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.hybrid import Run

__all__ = ["NUMBERS", "criteria", "lag"]

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
    desired = run["desired.displacement"]
    whole = [run[f"reference.stiffness[{i}].displacement"] for i in range(3)]
    floors = {i: run[f"numerical.stiffness[{i}].displacement"] for i in (1, 2)}
    found: dict[str, float] = {}
    for suffix, channel in (("", "measured.displacement"), ("_without_noise", "actual.displacement")):
        moved = run[channel]
        values = [
            1e3 * lag(moved, desired, run.record.sample_period),
            _rms(moved, desired), _peak(moved, desired), _rms(moved, whole[0]), _peak(moved, whole[0]),
            _rms(floors[1], whole[1]), _rms(floors[2], whole[2]),
            _peak(floors[1], whole[1]), _peak(floors[2], whole[2]),
        ]  # fmt: skip
        names = [n for n in NUMBERS if not suffix or n.startswith(("delay", "tracking", "floor_1"))]
        found |= {
            f"{name}{suffix}": value for name, value in zip(NUMBERS, values, strict=True) if name in names
        }
    return found


def _rms(x: NDArray[np.float64], of: NDArray[np.float64]) -> float:
    return _percent(np.std(x - of), np.std(of))


def _peak(x: NDArray[np.float64], of: NDArray[np.float64]) -> float:
    return _percent(np.abs(x - of).max(), np.abs(of).max())


def _percent(part: Any, whole: Any) -> float:
    """Return a share in per cent; of nothing it is not a number."""
    return float(100 * part / whole) if whole else float("nan")
