"""Studies: a test over a grid of options and parameters."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import brief, notebook, paragraph, table, with_progress
from bondloop.engine.analysis.spectrum import OneStep, one_step, within
from bondloop.engine.codegen import Runner
from bondloop.engine.data import POSITIVE
from bondloop.errors import BondloopError, InputError, unknown_name
from bondloop.signals import tabulated_inputs
from bondloop.studies.tolerances import FREE_VIBRATION
from bondloop.units import dimension, quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.codegen import Result
    from bondloop.engine.ir import Tick
    from bondloop.hybrid import Rehearsable
    from bondloop.rehearsal import Run
    from bondloop.signals import Signal


@dataclass
class Case:
    """One test of a study; what is measured in it is computed when it is first asked for.

    Parameters
    ----------
    test
        A `HybridTest`, `PseudoDynamicTest` or `Simulation`.
    seconds
        Length of its runs.
    findings
        The test's own ``findings(run)``, if it has one.
    backend
        Where it runs.
    """

    test: Rehearsable
    seconds: float | str
    findings: Callable[[Run], dict[str, float]] | None = None
    backend: str = "auto"
    _run: Run | None = field(default=None, init=False, repr=False, compare=False)
    _found: dict[str, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    __repr__ = brief

    @cached_property
    def step(self) -> OneStep:
        """One step of its tick, from the derivatives of the tick's statements."""
        return one_step(self.test.tick)

    @cached_property
    def simulated(self) -> Simulated:
        """Stability by simulation."""
        return simulated_stability(
            self.test.tick,
            self.seconds,
            linear=self.step.linear,
            tables=self.test.tables,
            backend=self.backend,
        )

    @property
    def run(self) -> Run:
        """The test, run."""
        # Before Python 3.12 a cached property holds a lock: all cases would wait for one that compiles.
        if self._run is None:
            self._run = self.test.run(self.seconds, backend=self.backend)
        return self._run

    @property
    def found(self) -> dict[str, float]:
        """What the test itself finds in its run, and the measures of the first interface."""
        if not self._found:
            self._found = self._find()
        return self._found

    def _find(self) -> dict[str, float]:
        enough = len(self.run.time) > 3
        own = self.findings(self.run) if self.findings is not None and enough else {}
        metrics = self.run.metrics if enough else []
        return {**(dict(metrics[0].items()) if metrics else {}), **own}

    @property
    def stable(self) -> bool:
        """Stability: by the spectral radius where the tick is linear, otherwise by simulation."""
        return self.step.stable if self.step.linear else self.simulated.stable

    @property
    def error(self) -> float:
        """The test's ``rms_error``, or else the normalised rms error of the first transfer system."""
        for name in ("rms_error", "normalised_rms_error"):
            if name in self.found:
                return float(self.found[name])
        raise InputError(
            "'error' needs a test that finds an rms_error, or that has an interface to follow; "
            f"this one finds {', '.join(self.found) or 'nothing'}"
        )

    def measure(self, name: str) -> float | bool:
        """Return a measure by name: one of `MEASURES`, or anything that the test finds."""
        if name in MEASURES:
            return MEASURES[name](self)
        if name in self.found:
            value = self.found[name]
            return bool(value) if isinstance(value, (bool, np.bool_)) else float(value)
        raise InputError(unknown_name("measure", name, [*MEASURES, *self.found]))


MEASURES: dict[str, Callable[[Case], float | bool]] = {
    "stable": lambda c: c.stable,
    "stable_simulated": lambda c: c.simulated.stable,
    "error": lambda c: c.error,
    "spectral_radius": lambda c: c.step.spectral_radius,
    "growth": lambda c: c.step.growth,
    "frequency": lambda c: c.step.frequency,
    "linear": lambda c: c.step.linear,
    "completed": lambda c: c.run.completed,
}
"""Of any test. ``stable``, ``spectral_radius``, ``growth`` [1/s] and ``frequency`` [Hz] are of the tick's
one-step matrix, linearised at the start where the tick is not linear (``stable`` is then by simulation)."""


_NUMBER = r"^\s*[-+]?[\d.]+([eE][-+]?\d+)?"


@dataclass(frozen=True)
class Axis:
    """An option or parameter with the values it takes.

    Parameters
    ----------
    name
        An argument of the test's function, ``"sub_steps"``, or the path of a parameter, ``"scheme.P"``.
    values
        Texts as ``--set`` takes them: numbers, with units or without, or words.

    Examples
    --------
    >>> Axis("time_step", ("1 ms", "2 ms")).numbers
    (0.001, 0.002)
    """

    name: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        values = tuple(str(v) for v in self.values)
        object.__setattr__(self, "values", values)
        if not values:
            raise InputError(f"{self.name}: no values to vary over")
        if len(set(values)) < len(values):
            raise InputError(f"{self.name}: a value is given twice in {', '.join(values)}")
        if self.numbers is not None:
            _one_kind(self.name, values)

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The values as numbers; None where one is a word."""
        try:
            return tuple(quantity(v) for v in self.values)
        except InputError:
            return None


def axis_from(text: str) -> Axis:
    """Read ``name=1..12`` (whole numbers), ``name=0..1/5`` (five numbers, evenly spaced) or ``name=a,b,c``.

    Parameters
    ----------
    text
        As above. The unit of the last end is that of all values: ``name=0..4 mm/5``.

    Examples
    --------
    >>> axis_from("sub_steps=1..4").values
    ('1', '2', '3', '4')
    >>> axis_from("overshoot=-0.1..0.1/3").values
    ('-0.1', '0', '0.1')
    >>> axis_from("amplitude=500 um..1 mm/2").values
    ('0.5 mm', '1 mm')
    >>> axis_from("time_step=1 ms, 2 ms, 4 ms").values
    ('1 ms', '2 ms', '4 ms')
    """
    name, equals, given = (part.strip() for part in text.partition("="))
    if not equals or not name or not given:
        raise InputError(f"--vary takes NAME=VALUES, such as sub_steps=1..12 or P=0,-1; found {text!r}")
    if re.match(r"\w+\s*\(", given):
        raise InputError(f"{name}: {given} is a distribution; say how many tests to draw, --samples 1000")
    found = re.fullmatch(r"(?P<first>[^,]+?)\s*\.\.\s*(?P<last>[^,]+?)(?:\s*/\s*(?P<count>\d+))?", given)
    if found is None:
        values = [v.strip() for v in given.split(",")]
        if not all(values):
            raise InputError(f"{name}: a value is missing between the commas of {given!r}")
        return Axis(name, tuple(values))
    return Axis(name, tuple(_between(name, found["first"], found["last"], found["count"])))


def _one_kind(name: str, values: Sequence[str]) -> None:
    """Refuse units of different kinds; what a number without a unit measures, the test knows."""
    kinds = {kind: v for v in values if (kind := dimension(v)) is not None}
    if len(kinds) > 1:
        raise InputError(f"{name}: expected quantities of one kind; found {' and '.join(kinds.values())}")


def _between(name: str, first: str, last: str, count: str | None) -> Sequence[str]:
    """Return texts with the unit of the last end: what varies checks that it is one of its kind."""
    try:
        low, high = quantity(first), quantity(last)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    _one_kind(name, (first, last))
    if dimension(first) is not None and dimension(last) is None:
        raise InputError(f"{name}: expected the unit at the last end of {first}..{last}, or at both")
    unit = re.sub(_NUMBER, "", last).strip()
    scale = quantity(f"1 {unit}".strip())
    # Twelve digits: 0.3 mm over 1 mm is 0.3.
    high = float(f"{high / scale:.12g}")
    low = float(first) if dimension(first) is None else float(f"{low / scale:.12g}")
    return [f"{v} {unit}".strip() for v in _numbers(name, (low, high), (first, last), count)]


def _numbers(
    name: str, between: tuple[float, float], ends: tuple[str, str], count: str | None, most: int = 10_000
) -> Sequence[str]:
    (low, high), (first, last) = between, ends
    if high < low:
        raise InputError(f"{name}: expected the smaller end first; found {first}..{last}")
    if count is not None:
        if not 2 <= int(count) <= most:
            raise InputError(f"{name}: expected from 2 to {most} values; found {count}")
        return [f"{v:.12g}" for v in np.linspace(low, high, int(count))]
    if low % 1 or high % 1:
        raise InputError(
            f"{name}: {first}..{last} are not whole numbers; say how many values, {first}..{last}/11"
        )
    if high - low >= most:
        raise InputError(f"{name}: {first}..{last} are more than {most} values")
    return [str(v) for v in range(int(low), int(high) + 1)]


Make = Callable[[Mapping[str, str]], Case]


@dataclass(frozen=True)
class Study:
    """What was measured over a grid.

    Attributes
    ----------
    axes
        What was varied, in the order of the arrays' dimensions.
    measured
        An array for each measure; of bools where it says yes or no.
    """

    axes: tuple[Axis, ...]
    measured: dict[str, NDArray[Any]]

    __repr__ = brief

    def __getitem__(self, measure: str) -> NDArray[Any]:
        """Return the array of a measure."""
        return self.measured[measure]

    @property
    def cells(self) -> list[dict[str, float | str]]:
        """Every case as a dictionary of what was varied and what was measured."""
        found = []
        for place in itertools.product(*(range(len(a.values)) for a in self.axes)):
            cell: dict[str, float | str] = {}
            for axis, i in zip(self.axes, place, strict=True):
                cell[axis.name] = axis.numbers[i] if axis.numbers is not None else axis.values[i]
            cell.update({name: values[place].item() for name, values in self.measured.items()})
            found.append(cell)
        return found

    def panels(self) -> list[tuple[str, tuple[Any, ...]]]:
        """Two-dimensional parts by title: one for every combination of the third and later axes."""
        rest = self.axes[2:]
        found = []
        for place in itertools.product(*(range(len(a.values)) for a in rest)):
            title = ", ".join(f"{a.name} = {a.values[i]}" for a, i in zip(rest, place, strict=True))
            found.append((title, (..., *place) if place else (...,)))
        return found

    def __str__(self) -> str:
        return "\n\n".join(self._block(title, rows) for title, rows in self._tables())

    def _repr_html_(self) -> str:
        parts = []
        for title, (head, *rows) in self._tables():
            parts += [paragraph(title), table(head, rows, ["", *["number"] * (len(head) - 1)])]
        return notebook(f"Study over {', '.join(axis.name for axis in self.axes)}", parts)

    def _tables(self) -> Iterator[tuple[str, list[list[str]]]]:
        """Yield tables with their titles: the first axis across, the second one down."""
        for measure, values in self.measured.items():
            for title, place in self.panels():
                block = np.atleast_2d(values[place].T)
                yield measure + (f", {title}" if title else ""), self._lines(block)

    def _lines(self, rows: NDArray[Any]) -> list[list[str]]:
        first = self.axes[0]
        names = self.axes[1].values if len(self.axes) > 1 else ("",)
        corner = f"{self.axes[1].name} \\ {first.name}" if len(self.axes) > 1 else first.name
        lines = [[corner, *first.values]]
        return lines + [[name, *(shown(v) for v in row)] for name, row in zip(names, rows, strict=True)]

    @staticmethod
    def _block(title: str, lines: list[list[str]]) -> str:
        """Write a table."""
        widths = [max(len(line[j]) for line in lines) for j in range(len(lines[0]))]
        text = [
            "  ".join(
                c.ljust(w) if j == 0 else c.rjust(w)
                for j, (c, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        return "\n".join([title, *text])

    def save(self, path: str | Path) -> Path:
        """Save every case as a row of a CSV file.

        Parameters
        ----------
        path
            Where to write it, replacing what is there; it is returned.
        """
        target = Path(path)
        cells = self.cells
        with target.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(cells[0]))
            writer.writeheader()
            writer.writerows(cells)
        return target


def shown(value: float | np.bool_) -> str:
    """Write a measured value.

    >>> shown(np.bool_(True)), shown(0.14159), shown(1.0214), shown(3.2e7)
    ('yes', '0.142', '1.02', '3.2e+07')
    """
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "NO"
    return f"{float(value):.3g}"


@with_progress("rehearsing over the grid")
def study(
    make: Make,
    axes: Sequence[Axis],
    measures: Sequence[str],
    *,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Study:
    r"""Measure a test over a grid.

    Parameters
    ----------
    make
        Makes the case for given values, by name.
    axes
        What to vary, one to three.
    measures
        Names of measures: of `bondloop.studies.MEASURES`, or anything that the test finds.
    jobs
        Cases at a time, in threads: compilers and compiled runs wait for no one.
    progress
        Called with (cases done, cases in all).

    Examples
    --------
    >>> from bondloop.papers import bayer_substep
    >>> from bondloop.studies import Axis
    >>> def make(values):
    ...     return Case(bayer_substep.test(int(values["sub_steps"]), P=float(values["P"])), seconds=4.0)
    >>> print(study(make, [Axis("sub_steps", ("2", "9")), Axis("P", ("0", "-1"))], ["stable"]))
    stable
    P \ sub_steps    2    9
    0               NO  yes
    -1             yes  yes
    """
    if not 1 <= len(axes) <= 3:
        raise InputError(f"a study varies one, two or three things; found {len(axes)}")
    names = [a.name for a in axes]
    if len(set(names)) < len(names):
        raise InputError(f"each thing is varied once; found {', '.join(names)}")
    wanted = list(dict.fromkeys(measures))
    if not wanted:
        raise InputError("nothing to measure; name at least one measure, such as stable")
    grid = list(itertools.product(*(a.values for a in axes)))
    done = 0

    def case(values: Sequence[str]) -> list[float | bool]:
        nonlocal done
        chosen = dict(zip(names, values, strict=True))
        try:
            made = make(chosen)
            found = [made.measure(m) for m in wanted]
        except BondloopError as error:
            at = ", ".join(f"{k} = {v}" for k, v in chosen.items())
            raise type(error)(f"at {at}: {error}") from error
        done += 1
        if progress is not None:
            progress(done, len(grid))
        return found

    if jobs > 1:
        with ThreadPoolExecutor(jobs) as pool:
            results = list(pool.map(case, grid))
    else:
        results = [case(values) for values in grid]
    shape = tuple(len(a.values) for a in axes)
    measured = {m: np.array([r[i] for r in results]).reshape(shape) for i, m in enumerate(wanted)}
    return Study(tuple(axes), measured)


@dataclass(frozen=True)
class Simulated:
    """What a simulation says about stability.

    Attributes
    ----------
    stable
        Whether nothing grows.
    growth
        Rate in 1/s between the second and the last quarter of the run; infinite where it was stopped.
    """

    stable: bool
    growth: float

    __repr__ = brief


@with_progress("looking for the border of stability")
def simulated_stability(
    tick: Tick,
    seconds: float | str,
    *,
    linear: bool,
    tables: Mapping[str, Signal] | None = None,
    backend: str = "auto",
    runner: Runner | None = None,
    parameters: Mapping[str, float] | None = None,
    seed: int = 2000,
) -> Simulated:
    """Run a tick and see whether its motion grows.

    A linear tick is run twice, from its own start and from another one. The difference of the two is its free
    vibration, whatever the excitation, and its rms in the second and in the last quarter of the run are
    compared, in each channel without mean and trend: a drift of the rig is no vibration. A tick that is not
    linear is run once, and what it records is compared in the same way; growth by less than a factor of three
    is put down to the excitation. A run that leaves its bounds is unstable.

    Parameters
    ----------
    tick
        What runs.
    seconds
        For how long; slow growth needs long runs.
    linear
        Whether the tick is linear (`OneStep.linear`).
    tables
        Signals by name for the tick's inputs, in the order of its tables.
    backend, runner
        Where it runs; a runner that was made for this tick, to use it again.
    parameters
        Values by name instead of the tick's own.
    seed
        Of the other start.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var
    >>> from bondloop.engine.ir.tick import Channel, Tick, Update
    >>> x, v = Var("x"), Var("v")
    >>> swing = Update(((x, x + 0.1 * v), (v, v - 0.4 * x)))
    >>> tick = Tick("swing", 0.1, Var("t"), Var("k"), (), {x: 0.0, v: 1.0}, {}, (swing,), (Channel("x", x),))
    >>> found = simulated_stability(tick, 50, linear=True, backend="numpy")
    >>> found.stable, round(found.growth, 1)  # the eigenvalues say log(1.04)/2/0.1 = 0.196
    (False, 0.2)
    """
    steps = max(round(POSITIVE.check(seconds, "seconds", "s") / tick.period), 8)
    runner = runner or Runner(tick, backend)
    inputs = tabulated_inputs((tables or {}).values(), steps, tick.period) if tick.inputs else None
    runner.reset()
    first = runner.run(steps, inputs, parameters)
    if not first.finished:
        return Simulated(False, np.inf)
    own = _recorded(first)
    if not linear:
        growth = _growth(own, first.time, np.abs(own).max(axis=0))
        return Simulated(bool(growth * steps * tick.period / 2 < np.log(3)), growth)
    rng = np.random.default_rng(seed)
    reach = np.abs(own).max(initial=0.0) or 1.0
    runner.reset({n: x + 1e-3 * reach * rng.standard_normal() for n, x in _states(tick).items()})
    second = runner.run(steps, inputs, parameters)
    if not second.finished:
        return Simulated(False, np.inf)
    growth = _growth(_recorded(second) - own, first.time, np.abs(own).max(axis=0))
    return Simulated(growth <= 0, growth)


def _states(tick: Tick) -> dict[str, float]:
    return {v.name: x for v, x in tick.states.items() if not within(v.name, "reference")}


def _recorded(result: Result) -> NDArray[np.float64]:
    kept = [x for name, x in result.channels.items() if not within(name, "reference")]
    return np.column_stack(kept)


def _growth(values: NDArray[np.float64], time: NDArray[np.float64], size: NDArray[np.float64]) -> float:
    """Rate between the second and the last quarter, of the channel that grows most."""
    n = len(values)
    early, late = (_wobble(values[a:b], time[a:b]) for a, b in ((n // 4, n // 2), (3 * n // 4, n)))
    floor = FREE_VIBRATION * np.maximum(size, np.abs(values).max(axis=0))
    heard = late > floor
    if not heard.any():
        return -np.inf
    rates = np.log(late[heard] / np.maximum(early[heard], 1e-3 * floor[heard])) / (time[-1] / 2)
    return float(rates.max())


def _wobble(values: NDArray[np.float64], time: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rms of every column about its straight line."""
    basis = np.column_stack([np.ones_like(time), (time - time.mean()) / np.ptp(time)])
    rest = values - basis @ np.linalg.lstsq(basis, values, rcond=None)[0]
    return np.asarray(np.sqrt(np.mean(rest**2, axis=0)))
