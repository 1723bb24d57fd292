"""Many rehearsals with values drawn from distributions: probabilities, quantiles, what matters most."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from bondloop.compile.batch import BATCHES
from bondloop.display import brief, telling
from bondloop.display.html import notebook, paragraph, table
from bondloop.errors import InputError, unknown_name
from bondloop.studies.campaign import Campaign
from bondloop.studies.histories import choose, histories
from bondloop.studies.named_measures import TRIP
from bondloop.studies.rehearsals import Rehearsals
from bondloop.studies.streamed import NO_PYARROW, NUMBER, RESERVED, STOPPED, STOPPED_BY, has_parquet
from bondloop.studies.tables import data_frame, data_set, replacing, write_csv, write_parquet
from bondloop.studies.uncertainty import Uncertainty

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from distributed import Client
    from numpy.typing import NDArray

    from bondloop.hybrid import HybridTest, PseudoDynamicTest, Run, Simulation
    from bondloop.studies.correlated import Correlated
    from bondloop.studies.distributions import Distribution
    from bondloop.studies.on_the_way import Measure
    from bondloop.studies.tested import Tested

    Scalar = TypeVar("Scalar", bound=np.generic)

__all__ = ["Probability", "Sampled", "sample"]

Method = Literal["sobol", "latin", "random"]
METHODS = ("sobol", "latin", "random")
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
    length
        Seconds of each test.
    notes
        What was picked, and why not otherwise; what a reader should know.
    rebuilt
        Names of what is varied and is not data of the tick.
    times
        Measures that are times of something bad, NaN where it did not happen: the earlier the worse.
    numbers
        Of the tests, where some are not there; all in their order, if None.
    stopped_by
        What stopped each test, in words, empty where nothing did; not known, if None.
    """

    distributions: Mapping[str, Distribution | Correlated]
    values: NDArray[np.float64]
    measured: Mapping[str, NDArray[np.float64]]
    stopped: NDArray[np.bool_]
    causes: Mapping[str, int]
    backend: str
    seconds: float
    length: float = math.nan
    notes: tuple[str, ...] = ()
    rebuilt: tuple[str, ...] = ()
    times: tuple[str, ...] = ("trip_time",)
    numbers: NDArray[np.int64] | None = None
    stopped_by: NDArray[np.object_] | None = None

    __repr__ = brief

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
        """Return the value below which a share of the tests lies; a test that stopped counts as the worst.

        Of a time (`times`) it is a share of the tests in which it happened.

        Parameters
        ----------
        measure
            Its name.
        share
            From 0 to 1: 0.95 for the value that 5 % exceed.
        """
        if not 0 <= share <= 1:
            raise InputError(f"expected a share from 0 to 1; found {share}")
        values = self._some(self[measure])
        if measure in self.times or measure in TRIP:
            values = values[~np.isnan(values)]
        else:
            values = np.where(self.stopped | np.isnan(values), np.inf, values)
        return float(np.quantile(values, share, method="higher")) if len(values) else math.nan

    def _some(self, values: NDArray[Scalar]) -> NDArray[Scalar]:
        if not len(self):
            raise InputError("no test was done: there is nothing to say of them")
        return values

    def probability(self, event: NDArray[np.bool_] | None = None) -> Probability:
        """Return how probable an event is.

        Parameters
        ----------
        event
            Whether it happened, for each test: ``found["error"] > 0.05``; that it was stopped, unless given.
        """
        from scipy.special import betaincinv

        happened = self._some(self.stopped) if event is None else np.asarray(event)
        if happened.shape != (len(self),) or happened.dtype != bool:
            raise InputError(f"expected yes or no for each of {len(self)} tests; found {happened.shape}")
        k, n = int(self._some(happened).sum()), len(self)
        low = float(betaincinv(k, n - k + 1, 0.025)) if k else 0.0
        high = float(betaincinv(k + 1, n - k, 0.975)) if k < n else 1.0
        return Probability(k / n, low, high)

    def worst(self, measure: str, count: int = 5) -> list[dict[str, float]]:
        """Return the values of the tests with the largest measure, for `HybridTest.with_values`.

        Parameters
        ----------
        measure
            Its name.
        count
            How many, 1 at least; fewer where there are fewer tests.
        """
        if count < 1:
            raise InputError(f"expected a number of tests from 1 up; found {count}")
        return [self.row(i) for i in self.worst_first(measure)[:count]]

    def row(self, number: int) -> dict[str, float]:
        """Return the drawn values of the test with this ``number``, from 0, by name."""
        return dict(zip(self.distributions, self.values[number].tolist(), strict=True))

    def worst_first(self, measure: str) -> NDArray[np.intp]:
        """Return the numbers of the tests, the worst first.

        Those that stopped are the worst, among each other by the measure, then by when they tripped, if that
        was measured. Of a time (`times`) the earliest is, and last come those in which it did not happen.

        Parameters
        ----------
        measure
            Its name.
        """
        values = self[measure]
        nowhere = np.isnan(values)
        if measure in self.times:
            return np.lexsort((~self.stopped, np.where(nowhere, np.inf, values)))
        when = self.measured.get("trip_time", np.zeros(len(self)))
        return np.lexsort((when, np.where(nowhere, np.inf, -values), ~(self.stopped | nowhere)))

    def choose(self, measure: str, which: str = "worst 3, best, 50 %, 95 %") -> dict[str, int]:
        """Return the numbers of chosen tests, by name.

        Parameters
        ----------
        measure
            By which they are ranked.
        which
            Any of ``worst``, ``worst 3``, ``best 2``, quantiles such as ``95 %``, and ``every 1000``.
        """
        return choose(self, measure, which)

    def histories(
        self,
        test: HybridTest | PseudoDynamicTest | Simulation,
        measure: str,
        which: str = "worst 3, best, 50 %, 95 %",
        make: Callable[[Mapping[str, float]], HybridTest | PseudoDynamicTest | Simulation] | None = None,
    ) -> dict[str, Run]:
        """Rehearse chosen tests once more and return their whole histories, by name.

        Parameters
        ----------
        test
            The test that was sampled.
        measure, which
            As of `choose`.
        make
            As of `sample`, if that was told.
        """
        return histories(self, test, self.choose(measure, which), make)

    def to_pandas(self) -> pd.DataFrame:
        """Return all tests as a table of pandas: drawn values, measures and whether it stopped."""
        return data_frame(self.columns())

    def to_xarray(self) -> xr.Dataset:
        """Return all tests as a data set of xarray, along ``test``."""
        return data_set(self.columns(), {name: str(d) for name, d in self.distributions.items()})

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return number, drawn values, measures and whether and by what a test stopped, by name."""
        n = len(self)
        drawn: dict[str, NDArray[Any]] = {n: self.values[:, i] for i, n in enumerate(self.distributions)}
        by = np.full(n, "", dtype=object) if self.stopped_by is None else self.stopped_by
        numbers = np.arange(n) if self.numbers is None else self.numbers
        return {NUMBER: numbers, **drawn, **self.measured, STOPPED: self.stopped, STOPPED_BY: by}

    def save(self, path: str | Path) -> Path:
        """Save every test as a row of a CSV file, or of a Parquet file where pyarrow is installed.

        What is there is replaced when all is written.

        Parameters
        ----------
        path
            Its ending says which: ``.parquet``, or any other for CSV; it is returned.
        """
        target = Path(path)
        if target.suffix == ".parquet" and not has_parquet():
            raise InputError(f"{target.name}: {NO_PYARROW}; a CSV file needs nothing")
        with replacing(target) as scratch:
            (write_parquet if target.suffix == ".parquet" else write_csv)(scratch, self.columns())
        return target

    def _repr_html_(self) -> str:
        if not len(self):
            return notebook("Sampled", [paragraph(str(self))])
        shares = (5, 50, 95, 99)
        rows = [
            (name, *(f"{self.quantile(name, q / 100):.3g}" for q in shares))
            for name, values in self.measured.items()
            if name != "trip" and np.isfinite(values).any()
        ]
        causes = [f"by {cause}: {count:,}" for cause, count in self.causes.items()]
        return notebook(
            f"{len(self):,} tests in {self.seconds:.3g} s ({self.backend})",
            [
                table(("measure", *(f"{q} %" for q in shares)), rows, ("", *["number"] * 4)),
                paragraph("; ".join([f"Stopped: {self.probability()}", *causes])),
                *(paragraph(f"Note: {note}") for note in self.notes),
            ],
        )

    def __str__(self) -> str:
        n = len(self)
        if not n:
            return "no test was done"
        lines = [f"{n:,} tests in {self.seconds:.3g} s ({self.backend})"]
        for name, values in self.measured.items():
            if name == "trip":
                continue  # the probability says it
            shown = ", ".join(f"{q:g} % {self.quantile(name, q / 100):.3g}" for q in (5, 50, 95, 99))
            lines.append(f"{name}: {shown}" if np.isfinite(values).any() else f"{name}: none")
        lines.append(f"stopped: {self.probability()}")
        lines += [f"  by {cause}: {count:,}" for cause, count in self.causes.items()]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)


@telling("rehearsing")
def sample(  # noqa: PLR0913 - each is one choice of the user's
    test: Tested,
    distributions: Mapping[str, Distribution | Correlated | str],
    samples: float,
    measures: Sequence[str] | Mapping[str, Measure] = ("error",),
    *,
    seconds: float | str | None = None,
    method: Method = "sobol",
    seed: int = 0,
    backend: str = "auto",
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    keep: str | Path | None = None,
    resume: bool = False,
    cluster: int | str | Client | None = None,
    make: Callable[[Mapping[str, float]], Tested] | None = None,
) -> Sampled:
    """Rehearse a test many times with values drawn from distributions.

    Parameters
    ----------
    test
        A `HybridTest`, or anything else that has a tick.
    distributions
        By the path of a parameter, or of a state that begins otherwise; what is drawn together (`Correlated`,
        `from_identified`) by the path under which its parameters are, ``"rig.transfer"``.
    samples
        How many tests.
    measures
        Names: ``error`` (rms error of the first transfer system, over the rms of what it should follow),
        ``trip`` and ``trip_time``, ``delay``, ``energy``, ``growth``, ``reference_error``, ``limit`` (the
        largest share of a limit that was reached), ``peak:EXPRESSION`` of channels, ``rms:``, ``mean:``,
        ``largest:``, ``smallest:``, ``last:`` and ``first:`` (time at which it is not zero); or measures by
        name.
    seconds
        Length of each, in s or as text, ``"2 min"``; the test's own unless given.
    method
        ``"sobol"``: a scrambled Sobol sequence, the most even; ``"latin"``: a Latin hypercube; ``"random"``.
    seed
        Of what is drawn: the same seed gives the same tests.
    backend, jobs
        See `bondloop.compile.batch.Batch`.
    progress
        Called with the tests done and the tests wanted.
    keep
        A Parquet file into which results go as they come. Whatever ends the study, they are kept.
    resume
        Go on with the study of that file, if it was interrupted.
    cluster
        Run on Dask: a number of worker processes on this machine, the address of a scheduler
        (``"tcp://host:8786"``), or a ``distributed.Client``.
    make
        Makes the test with other options, by name, where what is varied is no parameter of it: each test is
        then built anew.

    Raises
    ------
    Interrupted
        By Ctrl-C; it has the tests that are done.

    Examples
    --------
    >>> from bondloop.papers import wagg_three_mass
    >>> found = sample(wagg_three_mass.test(), {"rig.transfer.mass.mass": "normal(1, 5%)"}, 64, seconds=2)
    >>> len(found), found.probability().value, 0 < found.quantile("error", 0.5) < 1
    (64, 0.0, True)
    """
    count = whole_number(samples, "samples", 1)
    whole_number(seed, "seed", 0)
    if isinstance(measures, str):
        raise InputError(f"measures: expected several names, such as ['error']; found the text {measures!r}")
    if jobs is not None:
        whole_number(jobs, "jobs", 1)
    if backend not in BATCHES:
        raise InputError(unknown_name("backend", str(backend), BATCHES))
    if keep is not None and Path(keep).suffix != ".parquet":
        raise InputError(f"keep: results are kept in a Parquet file, samples.parquet; found {str(keep)!r}")
    drawn = Uncertainty(distributions, test, rebuild=True, make=make)
    expect_memory(count, drawn.size, len(measures))
    own = (*RESERVED, *TRIP) if isinstance(measures, Mapping) else RESERVED
    taken = [n for n in measures if n in drawn.owners or n in own]
    if taken:
        raise InputError(f"a measure is called '{taken[0]}', which is the name of something else; rename it")
    data = [name for name in drawn.owners if name not in drawn.rebuilt]
    rehearsals = Rehearsals(test, data, measures, seconds, backend)
    values = drawn.at(unit_points(drawn.size, count, method, seed))
    about = {"samples": count, "varied": drawn.words, "method": method, "seed": seed}
    return Campaign(rehearsals, drawn, values).run(
        about, jobs=jobs, progress=progress, keep=keep, resume=resume, cluster=cluster
    )


def whole_number(value: Any, what: str, least: int) -> int:
    good = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not good or not least <= value <= MOST or value % 1:
        raise InputError(f"{what}: expected a whole number from {least} to {MOST:,}; found {value!r}")
    return int(value)


def expect_memory(count: int, drawn: int, measures: int) -> None:
    """Refuse tests whose values and measures would not fit into this machine's memory."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # a system that does not say
        return
    # The points, of the next power of two, the same in order, what they stand for; measures, number, cause.
    need = 8 * count * (4 * drawn + measures + 3)
    if need > there:
        raise InputError(
            f"{count:,} tests need about {need / 1e9:,.0f} GB of memory for what is drawn and measured, and "
            f"this machine has {there / 1e9:,.0f} GB: draw fewer, or several studies with other seeds"
        )


def unit_points(dimensions: int, count: int, method: str, seed: int) -> NDArray[np.float64]:
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
