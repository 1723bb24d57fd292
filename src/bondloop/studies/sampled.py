"""What was measured of many tests: probabilities, quantiles, histories of chosen ones, files and tables."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from bondloop.display import brief, notebook, paragraph, table
from bondloop.errors import InputError, unknown_name
from bondloop.results.records import replacing
from bondloop.studies.tick_measures import TRIP
from bondloop.studies.uncertainty import built

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from bondloop.hybrid import HybridTest, PseudoDynamicTest, Simulation
    from bondloop.rehearsal import Run
    from bondloop.studies.distributions import Correlated, Distribution

    Scalar = TypeVar("Scalar", bound=np.generic)
    Kept = TypeVar("Kept", HybridTest, PseudoDynamicTest, Simulation)
    Make = Callable[[Mapping[str, float]], Kept]


NUMBER, STOPPED, STOPPED_BY = "test", "stopped", "stopped_by"


NO_PYARROW = "Parquet needs pyarrow ('pip install pyarrow')"


def has_parquet() -> bool:
    """Return whether pyarrow is installed."""
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def write_csv(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns as CSV.

    Parameters
    ----------
    path
        Of the file.
    columns
        By name, all of one length.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(c.tolist() for c in columns.values()), strict=True))


CHOICE = "worst 3, best, 50 %, 95 %"
"""Which tests are chosen unless said otherwise."""


def choices(which: str) -> list[tuple[str, float]]:
    """Return the words of a choice, each with its number.

    Parameters
    ----------
    which
        As of `Sampled.choose`.

    Examples
    --------
    >>> choices("worst 3, best, 95 %")
    [('worst', 3.0), ('best', 1.0), ('%', 95.0)]
    """
    found = []
    for part in str(which).split(","):
        plain = " ".join(part.split())
        share = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", plain)
        word = re.fullmatch(r"(worst|best|every)(?: (\d+))?", plain)
        if share is not None and float(share[1]) <= 100:
            found.append(("%", float(share[1])))
        elif word is not None and int(word[2] or 1) > 0 and plain != "every":
            found.append((word[1], float(word[2] or 1)))
        else:
            raise InputError(f"expected a choice such as 'worst 3, best, 95 %, every 100'; found {plain!r}")
    return found


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

    def choose(self, measure: str, which: str = CHOICE, most: int = 1000) -> dict[str, int]:
        """Return the numbers of chosen tests, by name.

        Parameters
        ----------
        measure
            By which they are ranked.
        which
            Any of ``worst``, ``worst 3``, ``best 2``, quantiles such as ``95 %``, and ``every 1000``, with
            commas between them. A quantile of a time is of the tests in which it happened, as `quantile`.
        most
            Tests that may be chosen: their whole histories are kept in memory.
        """
        ranked, n = self.worst_first(measure).tolist(), len(self)
        # Smaller values first: of a time those in which it happened, the earliest being the worst.
        among = ranked[::-1]
        if measure in self.times:
            happened = ~np.isnan(self[measure])
            among = [i for i in ranked if happened[i]]
        names: dict[str, int] = {}
        for word, count in choices(which):
            if word == "%":
                # As `quantile`: the first that no smaller share lies below.
                if among:
                    names[f"{count:g} %"] = among[math.ceil(count / 100 * (len(among) - 1) - 1e-9)]
                continue
            numbers = range(0, n, int(count)) if word == "every" else range(min(int(count), n))
            if len(numbers) > most:
                raise InputError(f"'{which}' chooses {len(numbers):,} tests; at most {most:,} are recorded")
            for i in numbers:
                if word == "every":
                    names[f"test {i}"] = i
                else:
                    names[f"{word} {i + 1}"] = ranked[i if word == "worst" else n - 1 - i]
        return names

    def histories(
        self, test: Kept, measure: str, which: str = CHOICE, make: Make[Kept] | None = None
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
        chosen = self.choose(measure, which)
        return {name: self.history(test, number, make) for name, number in chosen.items()}

    def history(self, test: Kept, number: int, make: Make[Kept] | None = None) -> Run:
        """Rehearse the test with a ``number`` once more.

        Parameters
        ----------
        test, make
            As of `histories`.
        number
            Of the test, from 0.
        """
        if math.isnan(self.length):
            raise InputError("these tests do not say how long they were; sample them anew")
        row = self.row(number)
        base = built(test, make, {n: row.pop(n) for n in self.rebuilt})
        try:
            return base.with_values(row).run(self.length)
        except InputError:  # a state that begins otherwise: it is of the tick alone
            return base.prepare().run(row, self.length)

    def to_pandas(self) -> pd.DataFrame:
        """Return all tests as a table of pandas: drawn values, measures and whether it stopped."""
        try:
            import pandas as pd
        except ImportError:
            raise InputError(
                "to_pandas() needs pandas ('pip install pandas'); columns() are arrays without it"
            ) from None
        return pd.DataFrame(self.columns())

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
            if target.suffix == ".parquet":
                import pyarrow as pa
                from pyarrow import parquet

                parquet.write_table(pa.table(self.columns()), scratch)
            else:
                write_csv(scratch, self.columns())
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
            shown = ", ".join(f"{self.quantile(name, q / 100):.3g} ({q:g} %)" for q in (5, 50, 95, 99))
            lines.append(f"{name}: {shown}" if np.isfinite(values).any() else f"{name}: none")
        lines.append(f"stopped: {self.probability()}")
        lines += [f"  by {cause}: {count:,}" for cause, count in self.causes.items()]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)
