"""Many rehearsals with values drawn from distributions: probabilities, quantiles, what matters most."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.program.ranges import checked_value
from bondloop.program.tick_json import dump_tick
from bondloop.studies.distributions import Distribution, distribution
from bondloop.studies.named_measures import TRIP
from bondloop.studies.rehearsals import Rehearsals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.program.tick import Tick
    from bondloop.studies.on_the_way import Measure

__all__ = ["Probability", "Sampled", "sample"]

Method = Literal["sobol", "latin", "random"]
METHODS = ("sobol", "latin", "random")
SEED = "rig.seed"
MOST = 2**30
"""Tests at most: as many as a Sobol sequence has points."""


class Probability(NamedTuple):
    """A probability with its interval of confidence.

    Attributes
    ----------
    value
        Share of the tests.
    low, high
        Between which the probability lies with 95 % confidence (Clopper and Pearson 1934).

    Examples
    --------
    >>> print(Probability(0.1, 0.0333, 0.2181))
    10.000% (95 % confidence: 3.330% to 21.810%)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3%} (95 % confidence: {self.low:.3%} to {self.high:.3%})"


@dataclass(frozen=True)
class Sampled:
    """What was measured of many tests.

    Attributes
    ----------
    distributions
        What was varied, by name.
    values
        Drawn, (tests, names).
    measured
        An array for each measure; of a test that stopped, up to there.
    stopped
        Whether a test was stopped: it left its limits, its interlock tripped, it became NaN or failed.
    causes
        Why, by what stopped them: how many tests.
    backend, seconds
        Where the tests ran, and for how long.
    """

    distributions: Mapping[str, Distribution]
    values: NDArray[np.float64]
    measured: Mapping[str, NDArray[np.float64]]
    stopped: NDArray[np.bool_]
    causes: Mapping[str, int]
    backend: str
    seconds: float

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """Return a measure, or the drawn values of a parameter."""
        names = list(self.distributions)
        if name in names:
            return self.values[:, names.index(name)]
        if name not in self.measured:
            raise InputError(unknown_name("measure", name, [*self.measured, *names]))
        return self.measured[name]

    def quantile(self, measure: str, share: float) -> float:
        """Return the value below which a share of the tests lies; a test that stopped counts as the worst."""
        if not 0 <= share <= 1:
            raise InputError(f"expected a share from 0 to 1; found {share}")
        values = self._ranked(measure)
        return float(np.quantile(values, share, method="higher")) if len(values) else math.nan

    def _ranked(self, measure: str) -> NDArray[np.float64]:
        """Return a measure in which a test that stopped is the worst; of when it did, those that did."""
        values = self[measure]
        if measure in TRIP:
            return values[~np.isnan(values)]
        return np.where(self.stopped | np.isnan(values), np.inf, values)

    def probability(self, event: NDArray[np.bool_] | None = None) -> Probability:
        """Return how probable an event is.

        Parameters
        ----------
        event
            Whether it happened, for each test: ``found["error"] > 0.05``; that it was stopped, unless given.
        """
        from scipy.special import betaincinv

        happened = self.stopped if event is None else np.asarray(event)
        if happened.shape != (len(self),) or happened.dtype != bool:
            raise InputError(f"expected yes or no for each of {len(self)} tests; found {happened.shape}")
        k, n = int(happened.sum()), len(self)
        low = float(betaincinv(k, n - k + 1, 0.025)) if k else 0.0
        high = float(betaincinv(k + 1, n - k, 0.975)) if k < n else 1.0
        return Probability(k / n, low, high)

    def worst(self, measure: str, count: int = 5) -> list[dict[str, float]]:
        """Return the values of the tests with the largest measure, for `HybridTest.with_values`."""
        if count < 1:
            raise InputError(f"expected a number of tests from 1 up; found {count}")
        values = self[measure]
        if measure == "trip_time":  # the earlier the worse
            values = np.where(np.isnan(values), np.inf, values)
            order = np.argsort(values, kind="stable")[:count]
        else:
            values = np.where(self.stopped | np.isnan(values), np.inf, values)
            order = np.argsort(-values, kind="stable")[:count]
        return [dict(zip(self.distributions, self.values[i].tolist(), strict=True)) for i in order]

    def save(self, path: str | Path) -> Path:
        """Save every test as a row of a CSV file, or of a Parquet file where pyarrow is installed."""
        target = Path(path)
        columns: dict[str, NDArray[Any]] = {n: self.values[:, i] for i, n in enumerate(self.distributions)}
        columns |= {**self.measured, "stopped": self.stopped}
        if target.suffix == ".parquet":
            try:
                import pyarrow as pa
                from pyarrow import parquet
            except ImportError:
                raise InputError(
                    f"{target.name}: Parquet needs pyarrow ('pip install pyarrow'); a CSV file needs nothing"
                ) from None
            parquet.write_table(pa.table(columns), target)
            return target
        with target.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*(c.tolist() for c in columns.values()), strict=True))
        return target

    def __str__(self) -> str:
        n = len(self)
        lines = [f"{n:,} tests in {self.seconds:.3g} s ({self.backend})"]
        for name, values in self.measured.items():
            if name == "trip":
                continue  # the probability says it
            shown = ", ".join(f"{q:g} % {self.quantile(name, q / 100):.3g}" for q in (5, 50, 95, 99))
            lines.append(f"{name}: {shown}" if np.isfinite(values).any() else f"{name}: none")
        lines.append(f"stopped: {self.probability()}")
        lines += [f"  by {cause}: {count:,}" for cause, count in self.causes.items()]
        return "\n".join(lines)


def sample(  # noqa: PLR0913 - each is one choice of the user's
    test: Any,
    distributions: Mapping[str, Distribution | str],
    samples: float,
    measures: Sequence[str] | Mapping[str, Measure] = ("error",),
    *,
    seconds: float | None = None,
    method: Method = "sobol",
    seed: int = 0,
    backend: str = "auto",
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Sampled:
    """Rehearse a test many times with values drawn from distributions.

    Parameters
    ----------
    test
        A `HybridTest`, or anything else that has a tick.
    distributions
        By the path of a parameter, or of a state that begins otherwise.
    samples
        How many tests.
    measures
        Names: ``error`` (rms error of the first transfer system, over the rms of what it should follow),
        ``trip`` and ``trip_time``, ``peak:CHANNEL``, ``rms:CHANNEL``, ``mean:``, ``largest:``, ``smallest:``,
        ``last:`` and ``first:`` (time at which it is not zero); or measures by name.
    seconds
        Length of each; the test's own unless given.
    method
        ``"sobol"``: a scrambled Sobol sequence, the most even; ``"latin"``: a Latin hypercube; ``"random"``.
    seed
        Of what is drawn: the same seed gives the same tests.
    backend, jobs
        See `bondloop.compile.batch.Batch`.
    progress
        Called with the tests done and the tests wanted.

    Examples
    --------
    >>> from bondloop.papers import wagg_three_mass
    >>> found = sample(wagg_three_mass.test(), {"rig.transfer.mass.mass": "normal(1, 5%)"}, 64, seconds=2)
    >>> len(found), found.probability().value, 0 < found.quantile("error", 0.5) < 1
    (64, 0.0, True)
    """
    count = _whole(samples, "samples", 1)
    _whole(seed, "seed", 0)
    if isinstance(measures, str):
        raise InputError(f"measures: expected several names, such as ['error']; found the text {measures!r}")
    tick = test.tick
    drawn = _distributions(distributions, test, tick)
    taken = [n for n in measures if n in drawn or n == "stopped"]
    if taken:
        raise InputError(f"a measure is called '{taken[0]}', which is the name of something else; rename it")
    rehearsals = Rehearsals(test, list(drawn), measures, seconds, backend)
    shares = _shares(len(drawn), count, method, seed)
    values = np.column_stack([d.at(u) for d, u in zip(drawn.values(), shares, strict=True)])
    _check(tick, drawn, values)
    found = rehearsals.run(values, jobs=jobs, progress=progress)
    return Sampled(
        drawn, values, found.measured, found.stopped, rehearsals.causes(found),
        rehearsals.batch.backend, found.seconds,
    )  # fmt: skip


def _whole(value: Any, what: str, least: int) -> int:
    good = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not good or not least <= value <= MOST or value % 1:
        raise InputError(f"{what}: expected a whole number from {least} to {MOST:,}; found {value!r}")
    return int(value)


def _distributions(given: Mapping[str, Distribution | str], test: Any, tick: Tick) -> dict[str, Distribution]:
    """Return what is varied; refuse what the test's tick does not hold as a value."""
    by_name = {v.name: v for v in tick.parameters}
    states = [v.name for v in tick.states]
    drawn: dict[str, Distribution] = {}
    for name, what in given.items():
        if name not in by_name and name not in states:
            raise InputError(
                f"{unknown_name('parameter', name, [*by_name, *states], tick.name)}; what decides how a test "
                "is built, such as a latency, is not drawn: vary it over a grid (study without --samples)"
            )
        known = by_name[name].range if name in by_name else None
        if isinstance(what, str):
            drawn[name] = distribution(what, *(known.units if known else ()))
        elif isinstance(what, Distribution):
            drawn[name] = what
        else:
            raise InputError(f"{name}: expected a distribution, such as 'normal(1, 5%)'; found {what!r}")
        if name == SEED and drawn[name].kind != "whole":
            raise InputError(f"{SEED}: seeds are whole numbers, whole(1, 1000); found {drawn[name]}")
        if name in by_name:
            _expect_a_value(test, tick, name, drawn[name])
    if not drawn:
        raise InputError("nothing is varied; give at least one distribution")
    return drawn


def _expect_a_value(test: Any, tick: Tick, name: str, what: Distribution) -> None:
    """Refuse a parameter that is worked into the tick when the test is built: into a matrix, a first state.

    The test is built with another value: nothing but that value may differ.
    """
    if not hasattr(test, "with_values") or name == SEED:
        return
    other = float(what.at(np.array([0.25]))[0])
    try:
        changed = test.with_values({name: other}).tick
    except (
        InputError
    ):  # of the tick alone, such as a switch's set point; or a forbidden value, which is told later
        return
    plain = {v.name: x for v, x in tick.parameters.items()}
    found = {v.name: x for v, x in changed.parameters.items()}
    same = {n for n in plain if plain[n] == found.get(n)} | {name}
    if same != set(plain) or _structure(tick) != _structure(changed):
        raise InputError(
            f"{name} is worked into matrices or first states when the test is built, so that it cannot be "
            "drawn: vary it over a grid (study without --samples), or take an integrator that keeps it, RK4"
        )


def _structure(tick: Tick) -> str:
    """Return all of a tick but the values of its parameters, as text."""
    return json.dumps(
        dump_tick(replace(tick, parameters=dict.fromkeys(tick.parameters, 0.0))), sort_keys=True
    )


def _shares(dimensions: int, count: int, method: str, seed: int) -> NDArray[np.float64]:
    """Return points of the unit cube, (dimensions, tests)."""
    from scipy.stats import qmc

    if method not in METHODS:
        raise InputError(unknown_name("method", method, METHODS))
    if method == "random":
        return np.random.default_rng(seed).random((count, dimensions)).T
    random = np.random.default_rng(seed)
    if method == "latin":
        points = qmc.LatinHypercube(dimensions, seed=random).random(count)
    else:
        # The sequence is even in powers of two; of the next power the first so many are taken.
        points = qmc.Sobol(dimensions, seed=random).random_base2(max(0, math.ceil(math.log2(count))))[:count]
    return np.clip(points.T, 2.0**-54, 1 - 2.0**-53)


def _check(tick: Any, drawn: Mapping[str, Distribution], values: NDArray[np.float64]) -> None:
    """Refuse values that a parameter must not have."""
    by_name = {v.name: v for v in tick.parameters}
    for i, (name, d) in enumerate(drawn.items()):
        v = by_name.get(name)
        if v is None or v.range is None:
            continue
        for value in (values[:, i].min(), values[:, i].max()):
            try:
                checked_value(v, float(value))
            except InputError as error:
                raise InputError(
                    f"{name}: {d} reaches {value:.6g}. {error}; cut it off, truncated({d}, LOW, HIGH)"
                ) from None
