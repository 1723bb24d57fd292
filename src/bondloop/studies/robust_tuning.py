"""Settings that are good for every rig that an uncertainty allows: the best in a quantile over them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import as_text, brief, with_progress
from bondloop.errors import InputError
from bondloop.studies.campaign import sample
from bondloop.studies.distributions import Distribution, unit_points, whole_number
from bondloop.studies.policy import POLICY, StudyPolicy
from bondloop.studies.rehearsals import Outcome, Rehearsals
from bondloop.studies.tick_measures import TRIP, limit_shares
from bondloop.studies.uncertainty import Uncertainty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from bondloop.hybrid import HybridTest
    from bondloop.studies.distributions import Correlated
    from bondloop.studies.sampled import Sampled


@dataclass(frozen=True)
class Setting:
    """A setting that was tried.

    Attributes
    ----------
    values
        By path.
    quantiles
        Of every measure over the uncertain rigs; infinite where so many tests stopped.
    stopped
        Share of the rigs with which the test was stopped.

    Examples
    --------
    >>> one = Setting({"controller.lead": 0.02}, {"error": 0.1, "limit": 0.5}, 0.0)
    >>> one.better(Setting({"controller.lead": 0.01}, {"error": 0.2, "limit": 0.5}, 0.0))
    True
    """

    values: Mapping[str, float]
    quantiles: Mapping[str, float]
    stopped: float

    def better(self, other: Setting) -> bool:
        """Whether it is better in something and worse in nothing than the ``other``."""
        pairs = [(self.stopped, other.stopped)]
        pairs += [(x, other.quantiles[m]) for m, x in self.quantiles.items()]
        return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


@dataclass(frozen=True)
class Tuned:
    """What a search over settings found.

    Attributes
    ----------
    test
        The test with the best settings.
    best, own
        The best setting, and the test's own; both over the rigs of the search.
    tried
        All that were tried.
    share
        Which quantile.
    before, after
        The test with its own settings and with the best ones, over other rigs than those of the search.
    interrupted
        Whether Ctrl-C ended the search: it is then the best so far.
    """

    test: HybridTest
    best: Setting
    own: Setting
    tried: Sequence[Setting]
    share: float
    before: Sampled
    after: Sampled
    interrupted: bool = False

    __repr__ = brief
    _repr_html_ = as_text

    @property
    def trade_off(self) -> list[Setting]:
        """Settings to which none is better in all measures, by the first one."""
        ran = [s for s in self.tried if all(map(math.isfinite, s.quantiles.values()))]
        first = next(iter(self.best.quantiles))
        ranked = sorted(ran, key=lambda s: (s.quantiles[first], s.stopped, *s.quantiles.values()))
        front: list[Setting] = []
        for one in ranked:  # what is better than another comes before it
            if not any(other.better(one) or other.quantiles == one.quantiles for other in front):
                front.append(one)
        return front

    def __str__(self) -> str:
        rigs = f"{self.share:.3g} quantile over the uncertain rigs"
        ended = "interrupted, " if self.interrupted else ""
        lines = [f"{ended}best of {len(self.tried)} settings in the {rigs}:"]
        lines += [f"  {n} = {x:.6g} (was {self.own.values[n]:.6g})" for n, x in self.best.values.items()]
        lines += [
            f"  {name}: {x:.4g} (was {_shown(self.own.quantiles[name])})"
            for name, x in self.best.quantiles.items()
        ]
        front = self.trade_off
        if len(front) > 1:
            rows = [[*self.best.quantiles, *self.best.values]]
            for i in np.unique(np.linspace(0, len(front) - 1, 6).astype(int)):
                numbers = [*front[i].quantiles.values(), *front[i].values.values()]
                rows.append([f"{x:.4g}" for x in numbers])
            wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
            lines.append(f"trade-off of {' and '.join(self.best.quantiles)}:")
            lines += ["  " + "  ".join(f"{x:>{w}}" for x, w in zip(row, wide, strict=True)) for row in rows]
        lines.append(f"of {len(self.after):,} other rigs stopped: {self.after.probability()}")
        lines.append(f"  before: {self.before.probability()}")
        return "\n".join(lines)


def _shown(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "stopped"


@with_progress("tuning over uncertain rigs")
def tune_over(  # noqa: PLR0913 - each is one choice of the user's
    test: HybridTest,
    settings: Mapping[str, tuple[float, float]],
    distributions: Mapping[str, Distribution | Correlated | str],
    *,
    measures: Sequence[str] | None = None,
    share: float = 0.95,
    samples: int = 128,
    generations: int = 12,
    seconds: float | str | None = None,
    seed: int = 0,
    backend: str = "auto",
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    policy: StudyPolicy = POLICY,
) -> Tuned:
    """Find settings of a test that are best in a quantile over uncertain rigs.

    `scipy.optimize.differential_evolution` tries a generation of settings at a time, each with the same rigs,
    all in one batch; a test that stops is worse than any that does not. The same seed finds the same
    settings.

    Parameters
    ----------
    test
        A `HybridTest`.
    settings
        Between which values each parameter is set, by path; a range of more than a factor of twenty is
        searched in decades.
    distributions
        What is uncertain, as of `sample`.
    measures
        What is to be small, the first above all; ``error``, and ``limit`` where the test has limits, unless
        given.
    share
        Which quantile.
    samples, generations
        Rigs with which each setting is tried, and how often a generation of settings is.
    seconds, seed, backend, jobs
        As of `sample`.
    progress
        Called with the tests done and the tests wanted.
    policy
        The size of a generation, and from where on a range is searched in decades.

    Examples
    --------
    >>> from bondloop.papers import wagg_three_mass
    >>> found = tune_over(
    ...     wagg_three_mass.test(), {"controller.alpha": (10.0, 1000.0), "controller.beta": (1.0, 100.0)},
    ...     {"rig.transfer.mass.mass": "normal(1, 5%)"}, samples=16, generations=3, seconds=2,
    ... )
    >>> found.best.quantiles["error"] < found.own.quantiles["error"]
    True
    """  # fmt: skip
    from scipy.optimize import Bounds, differential_evolution

    if not 0 < share < 1:
        raise InputError(f"share: expected a quantile between 0 and 1; found {share}")
    samples, generations = (
        whole_number(count, name, 1) for name, count in (("samples", samples), ("generations", generations))
    )
    wanted = list(measures) if measures is not None else _usual(test)
    if not wanted or set(wanted) & set(TRIP):
        raise InputError("measures: expected at least one, and no trip, for that always counts")
    ranges = {name: _Range(name, ends, policy.decades_from) for name, ends in settings.items()}
    Uncertainty({name: Distribution("uniform", r.low, r.high) for name, r in ranges.items()}, test).at(
        np.tile([0.0, 1.0], (len(ranges), 1))
    )
    drawn = Uncertainty(distributions, test)
    if taken := [name for name in ranges if name in drawn.owners]:
        raise InputError(f"{taken[0]} is either set or uncertain, not both")
    rehearsals = Rehearsals(test, [*ranges, *drawn.owners], wanted, seconds, backend)
    rigs = drawn.at(unit_points(drawn.size, samples, "sobol", seed))
    population = max(policy.population * len(ranges), 5)
    whole = (generations + 1) * population * samples
    tried: list[Setting] = []

    def measured(values: NDArray[np.float64]) -> list[Setting]:
        done = len(tried) * samples
        both = np.column_stack([np.repeat(values, samples, axis=0), np.tile(rigs, (len(values), 1))])
        tell = None if progress is None else (lambda d, _: progress(min(done + d, whole), whole))
        outcome = rehearsals.run(both, jobs=jobs, progress=tell)
        return [_setting(ranges, row, outcome, i, samples, share) for i, row in enumerate(values)]

    def objective(places: NDArray[np.float64], *_: object) -> Any:
        values = np.column_stack(
            [r.at(x) for r, x in zip(ranges.values(), np.atleast_2d(places), strict=True)]
        )
        found = measured(values)
        tried.extend(found)
        return np.array([_size(s, wanted[0]) for s in found])

    tick = {v.name: x for v, x in test.tick.parameters.items()}
    own = measured(np.array([[tick[name] for name in ranges]]))[0]
    start = np.array([[r.place(own.values[name]) for name, r in ranges.items()]])
    first = unit_points(len(ranges), population, "sobol", seed).T
    unit = Bounds(np.zeros(len(ranges)), np.ones(len(ranges)))
    interrupted = False
    try:
        differential_evolution(
            objective, unit, init=np.concatenate([start, first[1:]]), maxiter=generations, polish=False,
            tol=0.0, seed=np.random.default_rng(seed), vectorized=True, updating="deferred",
        )  # fmt: skip
    except KeyboardInterrupt:  # what was tried is kept; what was not even begun is not
        if not tried:
            raise
        interrupted = True
    best = min(tried, key=lambda s: _size(s, wanted[0]))
    tuned = test.with_values(dict(best.values))
    before, after = (
        sample(
            one, distributions, max(policy.compared, samples), wanted, seconds=seconds, seed=seed + 1,
            backend=backend, jobs=jobs, policy=policy,
        )
        for one in (test, tuned)
    )  # fmt: skip
    return Tuned(tuned, best, own, tried, share, before, after, interrupted)


def _usual(test: HybridTest) -> list[str]:
    limits = getattr(getattr(test, "interlock", None), "limits", None)
    return ["error", "limit"] if limit_shares(test.tick, limits) else ["error"]


def _setting(
    ranges: Mapping[str, _Range],
    row: NDArray[np.float64],
    outcome: Outcome,
    i: int,
    samples: int,
    share: float,
) -> Setting:
    part = slice(i * samples, (i + 1) * samples)
    stopped = outcome.stopped[part]
    quantiles = {}
    for name, values in outcome.measured.items():
        ranked = np.where(stopped | np.isnan(values[part]), np.inf, values[part])
        quantiles[name] = float(np.quantile(ranked, share, method="higher"))
    return Setting(dict(zip(ranges, row.tolist(), strict=True)), quantiles, float(stopped.mean()))


def _size(setting: Setting, measure: str) -> float:
    value = setting.quantiles[measure]
    # Beyond all measures, and the more rigs stopped the worse: so the search sees a way out.
    return value if math.isfinite(value) else 1e12 * (1 + setting.stopped)


class _Range:
    """Between which values a parameter is set."""

    def __init__(self, name: str, ends: tuple[float, float], decades_from: float) -> None:
        try:
            low, high = (float(x) for x in ends)
        except (TypeError, ValueError):
            raise InputError(f"{name}: expected two ends, such as (10, 1000); found {ends!r}") from None
        if not -math.inf < low < high < math.inf:
            raise InputError(
                f"{name}: expected the smaller end first, both finite; found {low:g} and {high:g}"
            )
        self.low, self.high, self.decades = low, high, low > 0 and high / low > decades_from

    def at(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at places from 0 to 1."""
        if self.decades:
            return np.clip(self.low * (self.high / self.low) ** place, self.low, self.high)
        return self.low + (self.high - self.low) * place

    def place(self, value: float) -> float:
        """Return where a value lies, the nearest end where it is beyond."""
        inside = min(max(value, self.low), self.high)
        if self.decades:
            return math.log(inside / self.low) / math.log(self.high / self.low)
        return (inside - self.low) / (self.high - self.low)
