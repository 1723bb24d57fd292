"""The least-squares problem of a specimen's law: its measurements, runs, parameters and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import name_or_kind
from bondloop.devices import OdeElement, OdeSpecimen
from bondloop.engine.codegen import Runner
from bondloop.engine.ir import Assign, Channel, Const, Expr, Tick, Var, identifier, substitute
from bondloop.errors import InputError, SolveError, unknown_name
from bondloop.identify.data import Data
from bondloop.identify.least_squares import Minimum, minimise
from bondloop.identify.tolerances import (
    DIFFERENCE,
    DIVERGED,
    FINE_STEPS,
    RK4_STAGES,
    ROUGH_STEPS,
    START_FACTOR,
    THINNED_ERROR,
    THINNED_FEWEST,
    THINNING,
    WIDEST_FACTOR,
)
from bondloop.integrate import RK4
from bondloop.rigs import mounted
from bondloop.units import is_of_kind, quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine import System

    Array = NDArray[np.float64]

DRIFT = 0.03
"""Change of a sensor's mean from the first cycle to the last, as a part of the rms, that is reported."""
RETURNED_WORK = 0.02
"""Part of what a rigid-plastic loop dissipates: a specimen that gives more back is moved by itself."""


@dataclass(frozen=True, eq=False)
class SpecimenRecord:
    """One measurement of a specimen, in SI.

    Attributes
    ----------
    name
        What it is called.
    displacement, force
        Samples in m and N, shape (n,).
    driven
        Samples of what else was set, by name: a current.
    period
        Seconds between samples.
    judged
        Which samples a model is judged by: whole cycles after the first.
    notes
        What is doubtful, in sentences.
    """

    name: str
    displacement: Array
    force: Array
    driven: Mapping[str, Array]
    period: float
    judged: slice
    notes: tuple[str, ...] = ()

    def error(self, predicted: Array) -> float:
        """Return the rms error of a predicted force as a part of the force's rms, over what is judged."""
        force = self.force[self.judged]
        return float(np.sqrt(np.mean((predicted[self.judged] - force) ** 2) / np.mean(force**2)))

    @property
    def last_cycle(self) -> slice:
        """The last whole cycle, or all that is judged where there is none."""
        bounds = [i for i in whole_cycles(self.displacement) if i <= self.judged.stop]
        return slice(bounds[-2], bounds[-1] + 1) if len(bounds) > 2 else self.judged

    def thinned(self) -> SpecimenRecord:
        """Return it with as few samples as show the same curves."""
        chosen, n = 1, self.force.size
        rows = (self.displacement, self.force, *(x for x in self.driven.values() if np.ptp(x) > 0))
        for factor in THINNING:
            if n // factor < THINNED_FEWEST or any(_departure(x, factor) > THINNED_ERROR for x in rows):
                break
            chosen = factor
        first, last = -(-self.judged.start // chosen), -(-self.judged.stop // chosen)
        driven = {name: x[::chosen] for name, x in self.driven.items()}
        return SpecimenRecord(
            self.name, self.displacement[::chosen], self.force[::chosen], driven,
            self.period * chosen, slice(first, last), self.notes,
        )  # fmt: skip


def specimen_records(
    data: Data | Mapping[str, Data] | Sequence[Data],
    names: Sequence[str],
    displacement: str = "displacement",
    force: str = "force",
) -> list[SpecimenRecord]:
    """Return measurements as they are fitted: in SI, with the samples that count, and with what is doubtful.

    Parameters
    ----------
    data
        One measurement or several, by name or in a row.
    names
        Of the parameters and inputs of the specimen: a channel that is called so was set during the test.
    displacement, force
        Names of the channels.
    """
    if isinstance(data, Data):
        data = [data]
    if not isinstance(data, Mapping):
        several = list(data)
        data = {}
        for i, one in enumerate(several):
            name = getattr(one, "source", "the data")
            data[f"record {i + 1}" if name == "the data" or name in data else name] = one
    if not data:
        raise InputError("no measurements to fit to; give Data with the channels displacement and force")
    for name, one in data.items():
        if not isinstance(one, Data):
            raise InputError(f"{name}: expected Data, as read_data returns it; found {type(one).__name__}")
    return [_record(name, one, names, displacement, force) for name, one in data.items()]


def _record(name: str, data: Data, names: Sequence[str], displacement: str, force: str) -> SpecimenRecord:
    notes = [f"{name}: {warning}" for warning in data.warnings]
    x = _in_si(data, displacement, "m", name, notes)
    F = _in_si(data, force, "N", name, notes)
    driven = {c: _in_si(data, c, "", name, notes) for c in data if c in names}
    for channel, values in ((displacement, x), (force, F), *driven.items()):
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise InputError(
                f"{name}: {channel} is {values[bad[0]]} at sample {bad[0]}; leave such samples out, "
                "data.between(start, end)"
            )
    if x.size < 16:
        raise InputError(f"{name}: too few samples to fit a specimen to; found {x.size}, expected 16 or more")
    for channel, values in ((displacement, x), (force, F)):
        if np.ptp(values) == 0:
            raise InputError(f"{name}: {channel} is constant ({values[0]:g}); is the sensor connected?")
    bounds = whole_cycles(x)
    # A sensor that drifts by as much as it is moved has hardly a cycle left about the middle of its range.
    notes += _drifts(name, {displacement: x, force: F}, max(bounds, whole_cycles(_levelled(x)), key=len))
    judged = slice(bounds[1], bounds[-1]) if len(bounds) > 2 else slice(0, x.size)
    notes += _turned_round(name, x[judged], F[judged], len(bounds) - 2)
    return SpecimenRecord(name, x, F, driven, data.sample_period, judged, tuple(notes))


def _in_si(data: Data, channel: str, unit: str, name: str, notes: list[str]) -> Array:
    """Return a channel in SI; one without a unit is taken to be in SI already, and a note says so."""
    values, own = data[channel], data.units[channel]
    if own:
        text = f"1 {own}"
        if unit and not is_of_kind(text, unit):
            raise InputError(f"{name}: {channel} is in {own}; expected {unit}, or another unit of its kind")
        return np.asarray(values * quantity(text))
    if unit:
        doubt = ""
        if unit == "m" and np.ptp(values) > 1:
            doubt = f", though it moves by {np.ptp(values):g}: are these millimetres?"
        notes.append(f"{name}: {channel} has no unit, and is taken to be in {unit}{doubt}")
    return np.asarray(values)


def whole_cycles(displacement: Array) -> list[int]:
    """Return where cycles begin, the end of the last one included: upward passages of the middle.

    A passage counts once the motion has been a fifth of its amplitude away on both sides, so that noise makes
    no cycles.

    Parameters
    ----------
    displacement
        Samples, shape (n,).

    Examples
    --------
    >>> whole_cycles(np.sin(2 * np.pi * np.arange(350) / 100))
    [0, 100, 200, 300]
    """
    x = displacement - (displacement.max() + displacement.min()) / 2
    far = 0.2 * np.abs(x).max()
    begins: list[int] = []
    armed, last = True, 0
    for i in (np.flatnonzero((np.sign(x[1:]) > np.sign(x[:-1])) & (x[1:] > 0)) + 1).tolist():
        if begins:
            between = x[last:i]
            armed = between.size > 0 and between.max() > far and between.min() < -far
        if armed:
            begins.append(i if abs(x[i]) < abs(x[i - 1]) else i - 1)
            last = i
    return begins


def _levelled(values: Array) -> Array:
    """Return samples less the straight line that is nearest to them."""
    steps = np.arange(values.size) - (values.size - 1) / 2
    return np.asarray(values - values.mean() - (steps @ values) / (steps @ steps) * steps)


def _drifts(name: str, channels: Mapping[str, Array], bounds: Sequence[int]) -> list[str]:
    """Return notes on channels whose mean over a cycle wanders."""
    if len(bounds) < 4:
        return []
    notes = []
    for channel, values in channels.items():
        means = np.array([values[a:b].mean() for a, b in pairwise(bounds[1:])])
        rms = float(np.sqrt(np.mean((values - values.mean()) ** 2)))
        steps = np.arange(means.size) - (means.size - 1) / 2
        slope = float(steps @ means / max(steps @ steps, 1.0))
        wander = slope * (means.size - 1)
        scatter = float(np.std(means - means.mean() - slope * steps))
        if abs(wander) > max(DRIFT * rms, 3 * scatter):
            notes.append(
                f"{name}: {channel} drifts: its mean over a cycle wanders by {100 * wander / rms:+.1f} % of "
                "its rms from the first cycle to the last; zero the sensor again, or leave the record out"
            )
    return notes


def _turned_round(name: str, x: Array, F: Array, cycles: int) -> list[str]:
    """Return a note where the specimen would do work on the machine, cycle after cycle."""
    if cycles < 1:
        return []
    work = float(np.trapezoid(F, x)) / cycles
    # A rigid-plastic loop with this force and stroke has the work 2 F ptp(x).
    if work >= -RETURNED_WORK * 2 * float(np.sqrt(np.mean(F**2))) * float(np.ptp(x)):
        return []
    question = "is the sign of the force, or of the displacement, turned round?"
    return [f"{name}: the specimen gives {-work:.3g} J a cycle to the machine; {question}"]


def _departure(values: Array, factor: int) -> float:
    """Return how far a spline through some of the samples is off, as a part of the rms."""
    from scipy.interpolate import CubicSpline

    at = np.arange(0, values.size, factor)
    inside = np.arange(at[-1] + 1)
    curve = CubicSpline(at, values[at])(inside)
    return float(np.sqrt(np.mean((curve - values[inside]) ** 2)) / np.std(values))


Measured = Data | Mapping[str, Data] | Sequence[Data]
Free = Sequence[str] | Mapping[str, tuple[float, float]] | None


class MovedSpecimen:
    """A law and its measurements."""

    def __init__(
        self,
        law: OdeSpecimen | OdeElement,
        data: Measured,
        displacement: str = "displacement",
        force: str = "force",
    ) -> None:
        if isinstance(law, OdeElement):
            law = law.law
        if not isinstance(law, OdeSpecimen):
            raise InputError(f"expected a device or an OdeSpecimen to fit; found {type(law).__name__}")
        if law.interfaces != 1:
            raise InputError(
                f"{type(law).__name__} is moved at {law.interfaces} interfaces; a law with one can be fitted"
            )
        self.law, model = law, law.model()
        self.system = mounted(law).compile()
        self.path = {name: f"{name_or_kind(model)}.{name}" for name in law.parameter_values()}
        self.inputs = {name: name for name in law.inputs}
        self.records = specimen_records(data, [*self.path, *law.inputs], displacement, force)
        self.names = [r.name for r in self.records]
        for record in self.records:
            for name in law.inputs:
                if name not in record.driven:
                    raise InputError(
                        f"{record.name}: {type(law).__name__} reads {name}, and no channel says what it was"
                    )

    def carrying(self, law: OdeSpecimen) -> MovedSpecimen:
        """Return the same measurements with another law of the same kind."""
        other = copy(self)
        other.law, other.system = law, mounted(law).compile()
        return other

    @property
    def driven(self) -> set[str]:
        """Names of parameters and inputs that the measurements set."""
        return {name for record in self.records for name in record.driven}

    def moved(self, record: SpecimenRecord) -> Moved:
        """Return a record as it is run: by paths, from where it began."""
        first = {n: float(x[0]) for n, x in record.driven.items() if n in self.path}
        model = name_or_kind(self.law.model())
        started = replace(self.law, **first).initial_states() if first else {}
        start = {f"{model}.{n}": x for n, x in started.items() if isinstance(x, float)}
        driven = {{**self.path, **self.inputs}[n]: x for n, x in record.driven.items()}
        return Moved(record.displacement, record.force, driven, record.period, start)

    def forces(self) -> list[Array]:
        """Return the force of the law as it is, for each record."""
        run = SpecimenRun(self.system, [self.moved(r) for r in self.records], [])
        nothing = np.zeros(0)
        run.refine(nothing, FINE_STEPS)
        forces = run(nothing[None])
        if forces is None:
            raise SolveError(
                f"{type(self.law).__name__} does not stay finite when it is moved as measured; are "
                "displacement and velocity within what its parameters are meant for?"
            )
        return [force[0] for force in forces]


class SpecimenProblem:
    """Least squares: coordinates are logarithms of positive parameters, and the others as they are."""

    def __init__(self, known: MovedSpecimen, free: Free) -> None:
        self.known, law = known, known.law
        names = _free_names(known, free)
        ranges, own = law.parameter_ranges(), law.parameter_values()
        self.bounds = dict(free) if isinstance(free, Mapping) else {}
        low, high, self.own_limits = [], [], []
        for name in names:
            r = ranges[name]
            least = max(x for x in (r.least, r.above, -np.inf) if x is not None)
            most = min(x for x in (r.most, r.below, np.inf) if x is not None)
            a, b = self.bounds.get(name, (least, most))
            if not (a < b and least <= a and b <= most):
                raise InputError(
                    f"expected bounds of {name} from {least:g} to {most:g}; found {a:g} to {b:g}"
                )
            low.append(a)
            high.append(b)
            self.own_limits.append((least, most))
        value = np.clip([own[name] for name in names], low, high)
        # A parameter that cannot be negative and is not zero is looked for by its logarithm.
        self.logarithmic = (np.array(low) >= 0) & (value > 0)
        self.names, self.own = names, self._coordinates(value)
        self.low, self.high = self._coordinates(np.array(low)), self._coordinates(np.array(high))
        reach = np.log(WIDEST_FACTOR)
        told = np.array([name in self.bounds for name in names])
        # Zero and infinity are infinitely far by their logarithm, whoever gave them.
        cut = self.logarithmic & ~(told & np.isfinite(self.low))
        self.low = np.where(cut, np.maximum(self.low, self.own - reach), self.low)
        cut = self.logarithmic & ~(told & np.isfinite(self.high))
        self.high = np.where(cut, np.minimum(self.high, self.own + reach), self.high)
        self.records = [r.thinned() for r in known.records]
        paths = [known.path[name] for name in names]
        self.run = SpecimenRun(known.system, [known.moved(r) for r in self.records], paths)
        counts = [r.judged.stop - r.judged.start for r in self.records]
        self.weight = [
            1 / np.sqrt(np.mean(r.force[r.judged] ** 2) * n)
            for r, n in zip(self.records, counts, strict=True)
        ]
        self.nudge = np.full(len(names), DIFFERENCE)

    def _coordinates(self, values: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.logarithmic, np.log(np.where(self.logarithmic, values, 1.0)), values)

    def values(self, theta: Array) -> Array:
        """Return parameters from coordinates, one set or a row for each."""
        with np.errstate(over="ignore"):
            return np.where(self.logarithmic, np.exp(np.where(self.logarithmic, theta, 0.0)), theta)

    def held(self, name: str, theta: Array) -> str:
        """Return what it says that a parameter is at its bound.

        Parameters
        ----------
        name
            Of the parameter.
        theta
            The coordinates that were found.
        """
        i = self.names.index(name)
        value = float(self.values(theta)[i])
        if value == 0:
            return f"{name} ran into its bound, 0: the data do not ask for it"
        upper = bool(theta[i] >= self.high[i])
        which, ask = ("upper", "more") if upper else ("lower", "less")
        own = np.isclose(value, self.own_limits[i][upper], rtol=1e-9, atol=0.0)
        what = " than the law has" if own else "; widen it, or begin nearer"
        return f"{name} ran into its {which} bound, {value:g}: the data ask for {ask}{what}"

    def spread(self, count: int) -> list[Array]:
        """Return starts spread evenly about the law's own values (Halton's sequence)."""
        from scipy.stats import qmc

        if count < 1:
            return []
        points = 2 * qmc.Halton(len(self.names), scramble=False).random(count + 1)[1:] - 1
        moved = self.own + np.where(self.logarithmic, np.log(START_FACTOR) * points, 0.0)
        return list(np.clip(moved, self.low, self.high))

    def best(self, starts: list[Array], count: int) -> list[Array]:
        """Return the starts with the least errors."""
        self.run.refine(self.values(starts[0]), ROUGH_STEPS)
        costs = []
        for theta in starts:
            found = self.errors(theta[None])
            costs.append(np.inf if found is None else float(found[0] @ found[0]))
        order = [i for i in np.argsort(costs, kind="stable") if np.isfinite(costs[i])]
        return [starts[i] for i in order[:count]]

    def errors(self, rows: Array) -> Array | None:
        """Return the weighted errors (rows, samples) of all records together; None where there are none."""
        values = self.values(rows)
        try:  # what a law asks of several parameters together is not among their bounds
            replace(self.known.law, **dict(zip(self.names, values[0].tolist(), strict=True)))
        except InputError:
            return None
        forces = self.run(values)
        if forces is None:
            return None
        return np.concatenate(
            [
                (f[:, r.judged] - r.force[r.judged]) * w
                for f, r, w in zip(forces, self.records, self.weight, strict=True)
            ],
            axis=1,
        )

    def evaluate(self, theta: Array) -> tuple[Array, Array] | None:
        """Return errors and their derivatives with respect to the coordinates, by differences."""
        away = np.where(theta + self.nudge > self.high, -self.nudge, self.nudge)
        found = self.errors(np.vstack([theta, theta + np.diag(away)]))
        if found is None:
            return None
        return found[0], (found[1:] - found[0]) / away[:, None]

    def minimum(self, theta: Array) -> Minimum | None:
        """Fit from a start."""
        self.run.refine(self.values(theta), ROUGH_STEPS)
        self._choose_nudges(theta)
        return minimise(self.evaluate, theta, self.low, self.high)

    def _choose_nudges(self, theta: Array) -> None:
        """Choose by how much to change parameters that have no scale of their own, as they begin at zero."""
        base = self.errors(theta[None])
        for i in np.flatnonzero(~self.logarithmic):
            step = DIFFERENCE * max(abs(theta[i]), 1e-6)
            for _ in range(12):
                moved = theta.copy()
                moved[i] += step if theta[i] + step <= self.high[i] else -step
                found = self.errors(moved[None])
                if base is None or found is None:
                    break
                change = float(np.sqrt(np.sum((found - base) ** 2) / len(self.records)))
                if change == 0:
                    step *= 1e3
                elif not 0.1 * DIFFERENCE < change < 10 * DIFFERENCE:
                    step *= min(1e6, DIFFERENCE / change)
                else:
                    break
            self.nudge[i] = min(step, 1e6)


def _free_names(known: MovedSpecimen, free: Free) -> list[str]:
    kind, driven = type(known.law).__name__, known.driven
    if free is None:
        aside = getattr(known.law, "not_fitted", ())
        names = [name for name in known.path if name not in driven and name not in aside]
    elif isinstance(free, str):
        raise InputError(f'free: expected names or bounds, ["{free}"]; found a text')
    else:
        names = list(free)
    for name in names:
        if name not in known.path:
            raise InputError(unknown_name("parameter", name, known.path, where=kind))
        if name in driven:
            raise InputError(f"{name} is a channel of the data, so it is known; leave it out of free")
    if not names:
        raise InputError(f"{kind}: no parameter is free; name some, free=[...]")
    return names


FLOW, EFFORT = "interface.flow", "interface.effort"


@dataclass(frozen=True, eq=False)
class Moved:
    """How a specimen was moved, and by which force.

    Attributes
    ----------
    displacement, force
        Samples in m and N, shape (n,).
    driven
        Samples of parameters or inputs that were set while it was moved, by path.
    period
        Seconds between samples.
    start
        States at the first sample that differ from the specimen's own, by path.
    """

    displacement: Array
    force: Array
    driven: Mapping[str, Array]
    period: float
    start: Mapping[str, float] = field(default_factory=dict)


class SpecimenRun:
    """Called with rows of values of the free parameters, returns the force for each row and each record.

    Between samples the displacement is a cubic spline. Its velocity is quadratic, so that a Runge-Kutta step
    integrates it without an error: the specimen is where it was measured at every sample.

    Parameters
    ----------
    system
        The specimen as a system that takes the velocity of its interface and gives the force.
    records
        How it was moved.
    paths
        Of the free parameters.
    substeps
        Runge-Kutta steps in a sample period, of each record; 1 unless given.
    """

    def __init__(
        self,
        system: System,
        records: Sequence[Moved],
        paths: Sequence[str],
        substeps: Sequence[int] | None = None,
    ) -> None:
        self.system, self.records, self.paths = system, tuple(records), tuple(paths)
        self.substeps = [1] * len(records) if substeps is None else list(substeps)
        self.values = {v.name: x for v, x in system.values().items()}
        self._follows = _displacements(system)
        self._changing = sorted(
            {p for r in records for p, x in r.driven.items() if p in system.inputs or np.ptp(x) > 0}
        )
        self._runners: dict[float, Runner] = {}
        self._tables: dict[tuple[int, int], Array] = {}

    def __call__(self, rows: Array) -> list[Array] | None:
        """Return the forces (rows, samples) of each record; None where one of them runs away."""
        forces = []
        for i in range(len(self.records)):
            force = self.of_record(i, rows)
            if force is None:
                return None
            forces.append(force)
        return forces

    def of_record(self, number: int, rows: Array) -> Array | None:
        """Return the forces (rows, samples) of one record; None where they run away."""
        record, count = self.records[number], self.substeps[number]
        runner = self._runner(record.period / count)
        if (number, count) not in self._tables:
            self._tables[number, count] = _table(record, self._changing, self.values, count)
        table, tick = self._tables[number, count], runner.tick
        own = {**self.values, **{path: float(x[0]) for path, x in record.driven.items()}}
        defaults = [own[v.name] for v in tick.parameters] or [0.0]
        parameters = np.tile(defaults, (len(rows), 1))
        places = [v.name for v in tick.parameters]
        parameters[:, [places.index(path) for path in self.paths]] = rows
        state = np.tile(self._start(tick, record), (len(rows), 1))
        found = np.empty((len(rows), record.displacement.size, 1))
        ends = runner.batch(len(table), table[None], state, parameters, found, every=count)
        # A step too long for a law lets its force grow without end: what is so far off has no value.
        if np.any(ends.code) or not np.all(np.abs(found) < DIVERGED * np.max(np.abs(record.force))):
            return None
        return found[:, :, 0]

    def _runner(self, step: float) -> Runner:
        key = float(f"{step:.9g}")  # 0.005 and 0.05/10 are one step, and are compiled once
        if key not in self._runners:
            self._runners[key] = Runner(_tick(self.system, key, self._changing, self.values))
        return self._runners[key]

    def refine(self, values: Array, tolerance: float, most: int = 64) -> bool:
        """Double the steps of records until the force no longer changes; return whether any were doubled.

        Parameters
        ----------
        values
            Of the free parameters.
        tolerance
            Change of the force that counts as none, as a part of its rms.
        most
            Steps in a sample period, at most.
        """
        doubled = False
        for i in range(len(self.records)):
            last = self.of_record(i, values[None])
            while self.substeps[i] < most:
                self.substeps[i] *= 2
                finer = self.of_record(i, values[None])
                if last is not None and finer is not None:
                    change = float(np.sqrt(np.mean((finer - last) ** 2)))
                    if change <= tolerance * float(np.sqrt(np.mean(finer**2))):
                        self.substeps[i] //= 2
                        break
                last, doubled = finer, True
        return doubled

    def _start(self, tick: Tick, record: Moved) -> list[float]:
        """Return the states at the first sample: as built, but displaced as the specimen was."""
        own = {v.name: x for v, x in tick.states.items()}
        own.update(record.start)
        own.update(dict.fromkeys(self._follows, float(record.displacement[0])))
        return list(own.values())


def _displacements(system: System) -> list[str]:
    """Return the states that are the displacement of the interface: their rate is its velocity, always."""
    rng = np.random.default_rng(0)
    alike = np.ones(len(system.states), dtype=bool)
    values = list(system.values().values())
    for _ in range(4):
        x, u = 1e-3 * rng.normal(size=len(system.states)), rng.normal(size=len(system.inputs))
        flow = float(u[system.inputs.index(FLOW)])
        alike &= np.asarray(system.rates(x.tolist(), u.tolist(), (), values)) == flow
    return [name for name, is_one in zip(system.states, alike, strict=True) if is_one]


def _table(record: Moved, changing: Sequence[str], values: Mapping[str, float], substeps: int) -> Array:
    """Return a row for every step: velocities, then parameters that change, at each stage."""
    from scipy.interpolate import CubicSpline

    n = record.displacement.size
    time = record.period * np.arange(float(n))
    begins = record.period / substeps * np.arange(float((n - 1) * substeps + 1))
    stages = [np.minimum(begins + f * record.period / substeps, time[-1]) for f in RK4_STAGES]
    velocity = CubicSpline(time, record.displacement).derivative()
    columns = [velocity(t) for t in stages]
    for path in changing:
        samples = np.broadcast_to(record.driven.get(path, np.array(values.get(path, 0.0))), n)
        columns += [np.interp(t, time, samples) for t in stages]
    return np.ascontiguousarray(np.column_stack(columns))


def _tick(system: System, step: float, changing: Sequence[str], values: Mapping[str, float]) -> Tick:
    """Return one Runge-Kutta step, the force recorded at its beginning."""
    by_name = {v.name: v for v in (*system.input_vars, *system.parameters_by_var)}
    driven = {name: [Var(f"{name}@{f:g}") for f in RK4_STAGES] for name in (FLOW, *changing)}

    def at(fraction: float) -> dict[Var, Expr]:
        given: dict[Var, Expr] = {u: Const(system.input_defaults.get(u.name, 0.0)) for u in system.input_vars}
        given.update({by_name[name]: columns[RK4_STAGES.index(fraction)] for name, columns in driven.items()})
        return given

    goal = system.expression(EFFORT)
    stepped = RK4().discretise(system, step, at, [goal])
    force = Var("force")
    return Tick(
        name=identifier(system.name, "specimen_"),
        period=step,
        time=Var("t"),
        count=Var("k"),
        inputs=tuple(v for columns in driven.values() for v in columns),
        states={x: system.initial_by_var.get(x, 0.0) for x in system.state_vars},
        parameters={v: values[v.name] for v in system.parameters_by_var},
        steps=(*stepped.first, Assign(force, substitute(goal, stepped.table)), *stepped.rest),
        channels=(Channel("force", force),),
    )
