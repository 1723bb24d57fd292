"""The least squares problem of a specimen's law: parameters, and what they make of measured motions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph.parts import name_or_kind
from bondloop.devices import OdeSpecimen
from bondloop.devices.ode_specimen import OdeElement
from bondloop.errors import InputError, SolveError, unknown_name
from bondloop.identify.data import Data
from bondloop.identify.least_squares import Minimum, minimise
from bondloop.identify.specimen_data import SpecimenRecord, specimen_records
from bondloop.identify.specimen_run import Moved, SpecimenRun
from bondloop.identify.tolerances import DIFFERENCE, FINE_STEPS, ROUGH_STEPS, START_FACTOR, WIDEST_FACTOR
from bondloop.rigs import mounted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Free", "Measured", "MovedSpecimen", "SpecimenProblem"]

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
