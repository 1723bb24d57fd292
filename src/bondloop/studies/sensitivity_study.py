"""Which uncertainty matters: Sobol's indices, from tests that share all but one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bondloop.display import brief, notebook, paragraph, table, with_progress
from bondloop.errors import InputError
from bondloop.studies.distributions import unit_points, whole_number
from bondloop.studies.rehearsals import Rehearsals
from bondloop.studies.uncertainty import Uncertainty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from bondloop.studies.distributions import Correlated, Distribution
    from bondloop.studies.rehearsals import Tested
    from bondloop.studies.tick_measures import Measure


class Index(NamedTuple):
    """An index of sensitivity with its interval of 95 % confidence.

    Attributes
    ----------
    value
        The index.
    low, high
        Between which it lies.

    Examples
    --------
    >>> print(Index(0.314, 0.28, 0.35))
    0.314 (0.280 to 0.350)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True)
class Sensitivity:
    """What each uncertainty contributes to the variance of each measure.

    Attributes
    ----------
    first
        By measure, by path: the share of the variance that goes if this were known, others as they are.
    total
        By measure, by path: the share that is left if all others were known: its own and what it does
        together with others.
    tests, left_out
        How many tests were run, and how many sets of them count for nothing, for a measure was not finite.
    """

    first: Mapping[str, Mapping[str, Index]]
    total: Mapping[str, Mapping[str, Index]]
    tests: int
    left_out: Mapping[str, int]

    __repr__ = brief

    def _repr_html_(self) -> str:
        parts = []
        for measure, first in self.first.items():
            total = self.total[measure]
            order = sorted(first, key=lambda path: -total[path].value)
            parts += [paragraph(f"{measure}: share of its variance (95 % confidence)")]
            parts.append(
                table(("", "first order", "total"), [(p, str(first[p]), str(total[p])) for p in order])
            )
        return notebook(f"Sensitivity, {self.tests:,} tests", parts)

    def __str__(self) -> str:
        lines = [f"{self.tests:,} tests"]
        for measure, first in self.first.items():
            wide = max(map(len, first))
            lines.append(f"{measure}: share of its variance, first order and total (95 % confidence)")
            order = sorted(first, key=lambda path: -self.total[measure][path].value)
            lines += [f"  {path:<{wide}}  {first[path]}  {self.total[measure][path]}" for path in order]
            if self.left_out[measure]:
                lines.append(f"  {self.left_out[measure]:,} sets of tests were left out: not finite")
        return "\n".join(lines)


@with_progress("rehearsing")
def sensitivity(  # noqa: PLR0913 - as `sample`
    test: Tested,
    distributions: Mapping[str, Distribution | Correlated | str],
    samples: float,
    measures: Sequence[str] | Mapping[str, Measure] = ("error",),
    *,
    seconds: float | str | None = None,
    seed: int = 0,
    backend: str = "auto",
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    resampled: int = 200,
) -> Sensitivity:
    """Return Sobol's indices of sensitivity, first order and total.

    Two sets of tests are drawn, and for each uncertainty the first set once more with its values from the
    second: ``samples`` times (uncertainties + 2) tests. The estimators are those of Saltelli et al. (2010),
    as in `scipy.stats.sobol_indices`. Parameters that are drawn together are one uncertainty. A test that
    stopped counts with what was measured until then: to see what trips tests, measure ``trip``.

    Parameters
    ----------
    test, distributions, measures, seconds, seed, backend, jobs, progress
        As of `sample`.
    samples
        Tests of one set: a power of two.
    resampled
        How often sets of tests are drawn anew from those at hand, for the intervals (Efron's bootstrap).

    References
    ----------
    Saltelli et al. (2010), Variance based sensitivity analysis of model output, Comput. Phys. Commun. 181,
    doi:10.1016/j.cpc.2009.09.018.

    Examples
    --------
    >>> from bondloop.papers import wagg_three_mass
    >>> varied = {"rig.transfer.mass.mass": "normal(1, 5%)", "numerical.m1.I.mass": "normal(1, 5%)"}
    >>> found = sensitivity(wagg_three_mass.test(), varied, 64, seconds=2)
    >>> found.tests, max(found.total["error"], key=lambda path: found.total["error"][path].value)
    (256, 'numerical.m1.I.mass')
    """
    count = whole_number(samples, "samples", 2)
    if count & (count - 1):
        raise InputError(f"samples: expected a power of two, such as 1024; found {count}")
    drawn = Uncertainty(distributions, test)
    places = drawn.dimensions()
    rehearsals = Rehearsals(test, list(drawn.owners), measures, seconds, backend)
    points = unit_points(2 * drawn.size, count, "sobol", seed)
    a, b = points[: drawn.size], points[drawn.size :]
    sets = [a, b]
    for place in places.values():
        mixed = a.copy()
        mixed[place] = b[place]
        sets.append(mixed)
    outcome = rehearsals.run(drawn.at(np.concatenate(sets, axis=1)), jobs=jobs, progress=progress)
    first: dict[str, dict[str, Index]] = {}
    total: dict[str, dict[str, Index]] = {}
    left: dict[str, int] = {}
    for name, values in outcome.measured.items():
        rows = values.reshape(len(sets), count)
        good = np.isfinite(rows).all(axis=0)
        left[name] = int(count - good.sum())
        both = _indices(rows[:, good], seed, resampled)
        first[name], total[name] = (dict(zip(places, one, strict=True)) for one in both)
    return Sensitivity(first, total, count * len(sets), left)


def _indices(rows: NDArray[np.float64], seed: int, resampled: int) -> tuple[list[Index], list[Index]]:
    """Return first and total indices with their intervals, from f(A), f(B) and f(A with one of B)."""
    n, count = rows.shape[1], len(rows) - 2
    if n < 2:
        nothing = [Index(math.nan, math.nan, math.nan)] * count
        return nothing, nothing
    first, total = _estimates(rows)
    random = np.random.default_rng(seed)
    drawn = [_estimates(rows[:, random.integers(0, n, n)]) for _ in range(resampled)]
    found = []
    for i, value in enumerate((first, total)):
        low, high = np.quantile([d[i] for d in drawn], [0.025, 0.975], axis=0)
        found.append([Index(*map(float, row)) for row in zip(value, low, high, strict=True)])
    return found[0], found[1]


def _estimates(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the estimators of Saltelli et al. (2010), table 2, (b) and (f); nothing varies a constant."""
    rows = rows - rows[:2].mean()
    a, b, mixed = rows[0], rows[1], rows[2:]
    variance = rows[:2].var()
    if not variance > 0:
        return np.zeros(len(mixed)), np.zeros(len(mixed))
    return (b * (mixed - a)).mean(axis=1) / variance, ((a - mixed) ** 2).mean(axis=1) / 2 / variance
