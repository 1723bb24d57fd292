"""Laws of specimens, fitted to how they were moved and by which force.

The error of the simulated force is least, each record weighed by the rms of its own force, over whole cycles
after the first. Derivatives are differences of runs: a law may jump, switch and remember.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.devices import OdeSpecimen
from bondloop.errors import InputError, SolveError, unknown_name
from bondloop.identify.confidence import Estimate, covariance, estimates, freedom
from bondloop.identify.data import Data
from bondloop.identify.least_squares import Minimum, minimise
from bondloop.identify.residuals import effective_samples
from bondloop.identify.specimen_data import SpecimenRecord, specimen_records
from bondloop.identify.specimen_run import Moved, SpecimenRun
from bondloop.rigs import mounted

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["SpecimenFit", "fit_specimen"]

Measured = Data | Mapping[str, Data] | Sequence[Data]
Free = Sequence[str] | Mapping[str, tuple[float, float]] | None

SCOUTS = 24
"""Starts that are looked at besides the law's own values."""
SPREAD = 10.0
"""By which factor the parameters of these starts differ from the law's own, at most."""
WIDEST = 1e4
"""By which factor a positive parameter may leave the law's own value, unless bounds say otherwise."""
FINE, ROUGH = 1e-3, 3e-3
"""Changes of the force, as a part of its rms, that shorter steps may make: at the end, and on the way."""
NUDGE = 1e-6
"""Of the forces' rms: what a parameter is changed by, for a derivative, changes them by about this much."""


@dataclass(frozen=True, eq=False)
class SpecimenFit:
    """A specimen's law, fitted to measurements.

    Attributes
    ----------
    specimen
        The law with the fitted values.
    parameters
        Each fitted parameter by name, with its confidence interval.
    covariance
        Of the parameters, in their order.
    records
        The measurements.
    predicted
        The force of the fitted law for each record, by name, shape (n,).
    errors
        Rms error of the force as a part of the force's rms, for each record by name, over whole cycles after
        the first.
    cost, samples, effective
        Sum of squared errors (each as a part of its record's rms), over how many samples, and how many
        independent ones these are worth.
    notes
        What is doubtful, in sentences.
    """

    specimen: OdeSpecimen
    parameters: dict[str, Estimate]
    covariance: Array
    records: tuple[SpecimenRecord, ...]
    predicted: dict[str, Array]
    errors: dict[str, float]
    cost: float
    samples: int
    effective: float
    notes: tuple[str, ...] = ()

    @property
    def error(self) -> float:
        """Rms of the errors of all records."""
        return float(np.sqrt(np.mean(np.square(list(self.errors.values())))))

    @property
    def values(self) -> dict[str, float]:
        """The fitted values by name."""
        return {name: e.value for name, e in self.parameters.items()}

    def predict(
        self, data: Measured, displacement: str = "displacement", force: str = "force"
    ) -> dict[str, Array]:
        """Return the force that the fitted law gives for the motions of other measurements, by name.

        Parameters
        ----------
        data, displacement, force
            As for `fit_specimen`.
        """
        known = _Known(self.specimen, data, displacement, force)
        return dict(zip(known.names, known.forces(), strict=True))

    def errors_of(
        self, data: Measured, displacement: str = "displacement", force: str = "force"
    ) -> dict[str, float]:
        """Return the rms errors on other measurements, as parts of the force's rms, by name.

        Parameters
        ----------
        data, displacement, force
            As for `fit_specimen`.
        """
        known = _Known(self.specimen, data, displacement, force)
        return {r.name: r.error(f) for r, f in zip(known.records, known.forces(), strict=True)}

    def figure(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the loops, measured and fitted: force over displacement, and over velocity."""
        from bondloop.plots.loops import measured_loops

        return measured_loops(self.records, self.predicted, self.errors, path=path)

    def __str__(self) -> str:
        lines = [f"{type(self.specimen).__name__}: rms error {100 * self.error:.1f} % of the force's rms"]
        lines += [f"  {name:<28} {100 * e:5.1f} %" for name, e in self.errors.items()]
        lines += [f"  {name:<28} {e}" for name, e in self.parameters.items()]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def fit_specimen(
    element: OdeSpecimen,
    data: Measured,
    free: Free = None,
    *,
    displacement: str = "displacement",
    force: str = "force",
    scouts: int = SCOUTS,
) -> SpecimenFit:
    """Fit the parameters of a specimen's law to measured displacements and forces.

    Parameters
    ----------
    element
        The law; its values are where the search begins, and those that are not free stay.
    data
        A measurement, or several by name or in a row, each with a displacement and a force. A channel with the
        name of a parameter or input of the law (``current``) says what that was.
    free
        Names of the parameters to fit, or their bounds by name; all that no channel sets, unless given.
    displacement, force
        Names of the channels, positive in the same direction: a force that pulls lengthens.
    scouts
        Starts that are looked at besides the law's own values; the best two are fitted from.

    Examples
    --------
    >>> from bondloop.devices import OdeSpecimen
    >>> class Dashpot(OdeSpecimen):
    ...     damping: float = 100.0
    ...     friction: float = 1.0
    ...
    ...     def force(self, motion):
    ...         from bondloop.math import sign
    ...
    ...         return self.damping * motion.velocity + self.friction * sign(motion.velocity)
    >>> t = np.arange(1500) / 500
    >>> v = 0.02 * 2 * np.pi * np.cos(2 * np.pi * t)
    >>> channels = {"displacement": 0.02 * np.sin(2 * np.pi * t), "force": 350 * v + 12 * np.sign(v)}
    >>> data = Data.from_arrays(channels, rate=500, units={"displacement": "m", "force": "N"})
    >>> fit = fit_specimen(Dashpot(), data)
    >>> {name: round(value, 1) for name, value in fit.values.items()}
    {'damping': 350.0, 'friction': 12.0}
    """
    problem = _Problem(_Known(element, data, displacement, force), free)
    starts = [problem.own, *problem.spread(scouts)]
    minima = [problem.minimum(theta) for theta in problem.best(starts, 2)]
    best = min((m for m in minima if m is not None), key=lambda m: m.cost, default=None)
    if best is None:
        raise SolveError(
            f"{type(element).__name__} could not be moved as the specimen was with any of the values that were "
            "tried: its force is not finite; begin nearer to what it is like, or give bounds of its parameters"
        )
    while problem.run.refine(problem.values(best.theta), ROUGH):
        again = minimise(problem.evaluate, best.theta, problem.low, problem.high)
        if again is None:
            break
        best = again
    return problem.result(best)


class _Known:
    """A law and its measurements."""

    def __init__(
        self, law: OdeSpecimen, data: Measured, displacement: str = "displacement", force: str = "force"
    ) -> None:
        if not isinstance(law, OdeSpecimen):
            raise InputError(f"expected a device or an OdeSpecimen to fit; found {type(law).__name__}")
        if law.interfaces != 1:
            raise InputError(
                f"{type(law).__name__} is moved at {law.interfaces} interfaces; a law with one can be fitted"
            )
        self.law, model = law, law.model()
        self.system = mounted(law).compile()
        self.path = {name: f"{model._name}.{name}" for name in law.parameter_values()}
        self.inputs = {name: name for name in law.inputs}
        self.records = specimen_records(data, [*self.path, *law.inputs], displacement, force)
        self.names = [r.name for r in self.records]
        for record in self.records:
            for name in law.inputs:
                if name not in record.driven:
                    raise InputError(
                        f"{record.name}: {type(law).__name__} reads {name}, and no channel says what it was"
                    )

    @property
    def driven(self) -> set[str]:
        """Names of parameters and inputs that the measurements set."""
        return {name for record in self.records for name in record.driven}

    def moved(self, record: SpecimenRecord) -> Moved:
        """Return a record as it is run: by paths, from where it began."""
        first = {n: float(x[0]) for n, x in record.driven.items() if n in self.path}
        model = self.law.model()._name
        started = replace(self.law, **first).initial_states() if first else {}
        start = {f"{model}.{n}": x for n, x in started.items() if isinstance(x, float)}
        driven = {{**self.path, **self.inputs}[n]: x for n, x in record.driven.items()}
        return Moved(record.displacement, record.force, driven, record.period, start)

    def forces(self) -> list[Array]:
        """Return the force of the law as it is, for each record."""
        run = SpecimenRun(self.system, [self.moved(r) for r in self.records], [])
        nothing = np.zeros(0)
        run.refine(nothing, FINE)
        forces = run(nothing[None])
        if forces is None:
            raise SolveError(
                f"{type(self.law).__name__} does not stay finite when it is moved as measured; are "
                "displacement and velocity within what its parameters are meant for?"
            )
        return [force[0] for force in forces]


class _Problem:
    """The least squares problem: coordinates are logarithms of positive parameters, and others as they are."""

    def __init__(self, known: _Known, free: Free) -> None:
        self.known, law = known, known.law
        names = _free_names(known, free)
        ranges, own = law.parameter_ranges(), law.parameter_values()
        bounds = dict(free) if isinstance(free, Mapping) else {}
        low, high = [], []
        for name in names:
            r = ranges[name]
            least = max(x for x in (r.least, r.above, -np.inf) if x is not None)
            most = np.inf if r.most is None else r.most
            a, b = bounds.get(name, (least, most))
            if not (a < b and least <= a and b <= most):
                raise InputError(
                    f"expected bounds of {name} from {least:g} to {most:g}; found {a:g} to {b:g}"
                )
            low.append(a)
            high.append(b)
        value = np.clip([own[name] for name in names], low, high)
        # A parameter that cannot be negative and is not zero is looked for by its logarithm.
        self.logarithmic = (np.array(low) >= 0) & (value > 0)
        self.names, self.own = names, self._coordinates(value)
        self.low, self.high = self._coordinates(np.array(low)), self._coordinates(np.array(high))
        reach = np.log(WIDEST)
        self.low = np.where(self.logarithmic, np.maximum(self.low, self.own - reach), self.low)
        self.high = np.where(self.logarithmic, np.minimum(self.high, self.own + reach), self.high)
        self.records = [r.thinned() for r in known.records]
        paths = [known.path[name] for name in names]
        self.run = SpecimenRun(known.system, [known.moved(r) for r in self.records], paths)
        counts = [r.judged.stop - r.judged.start for r in self.records]
        self.weight = [
            1 / np.sqrt(np.mean(r.force[r.judged] ** 2) * n)
            for r, n in zip(self.records, counts, strict=True)
        ]
        self.nudge = np.full(len(names), NUDGE)
        self.without_effect: list[str] = []

    def _coordinates(self, values: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.logarithmic, np.log(np.where(self.logarithmic, values, 1.0)), values)

    def values(self, theta: Array) -> Array:
        """Return parameters from coordinates, one set or a row for each."""
        with np.errstate(over="ignore"):
            return np.where(self.logarithmic, np.exp(np.where(self.logarithmic, theta, 0.0)), theta)

    def spread(self, count: int) -> list[Array]:
        """Return starts spread evenly about the law's own values (Halton's sequence)."""
        from scipy.stats import qmc

        if count < 1:
            return []
        points = 2 * qmc.Halton(len(self.names), scramble=False).random(count + 1)[1:] - 1
        moved = self.own + np.where(self.logarithmic, np.log(SPREAD) * points, 0.0)
        return list(np.clip(moved, self.low, self.high))

    def best(self, starts: list[Array], count: int) -> list[Array]:
        """Return the starts with the least errors."""
        self.run.refine(self.values(starts[0]), ROUGH)
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
        self.run.refine(self.values(theta), ROUGH)
        self._choose_nudges(theta)
        return minimise(self.evaluate, theta, self.low, self.high)

    def _choose_nudges(self, theta: Array) -> None:
        """Choose by how much to change parameters that have no scale of their own: those that begin at zero."""
        base = self.errors(theta[None])
        for i in np.flatnonzero(~self.logarithmic):
            step = NUDGE * max(abs(theta[i]), 1e-6)
            for _ in range(12):
                moved = theta.copy()
                moved[i] += step if theta[i] + step <= self.high[i] else -step
                found = self.errors(moved[None])
                if base is None or found is None:
                    break
                change = float(np.sqrt(np.sum((found - base) ** 2) / len(self.records)))
                if change == 0:
                    step *= 1e3
                elif not 0.1 * NUDGE < change < 10 * NUDGE:
                    step *= min(1e6, NUDGE / change)
                else:
                    break
            self.nudge[i] = min(step, 1e6)

    def result(self, best: Minimum) -> SpecimenFit:
        """Return what was found, judged on all samples."""
        values = self.values(best.theta)
        law = replace(self.known.law, **dict(zip(self.names, values.tolist(), strict=True)))
        known = self.known
        known.law = law
        known.system = mounted(law).compile()
        forces = known.forces()
        slope = np.where(self.logarithmic, values, 1.0)
        J = best.jacobian / slope[:, None]
        still = ~np.any(J, axis=1)
        spread = covariance(J, best.residual, white=False, free=~(best.at_bound | still))
        left = freedom(best.residual, len(self.names), white=False)
        ranges = law.parameter_ranges()
        units = {name: (*ranges[name].units, "")[0] for name in self.names}
        units = {name: "" if unit == "1" else unit for name, unit in units.items()}
        named = dict(zip(self.names, values.tolist(), strict=True))
        moving = [n for n, s in zip(self.names, still, strict=True) if not s]
        parameters = {
            n: e for n, e in estimates(named, units, spread, left, best.at_bound).items() if n in moving
        }
        kept = np.flatnonzero(~still)
        notes = [note for record in known.records for note in record.notes]
        notes += _doubts(parameters, best, [n for n in self.names if n not in moving])
        return SpecimenFit(
            specimen=law,
            parameters=parameters,
            covariance=spread[np.ix_(kept, kept)],
            records=tuple(known.records),
            predicted=dict(zip(known.names, forces, strict=True)),
            errors={r.name: r.error(f) for r, f in zip(known.records, forces, strict=True)},
            cost=best.cost,
            samples=best.residual.size,
            effective=effective_samples(best.residual),
            notes=tuple(notes),
        )


def _free_names(known: _Known, free: Free) -> list[str]:
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


def _doubts(parameters: Mapping[str, Estimate], best: Minimum, still: Sequence[str]) -> list[str]:
    notes = [
        f"{name} ran into its bound, {e.value:g}: the data do not ask for it"
        for name, e in parameters.items()
        if e.at_bound
    ]
    if still:
        names = ", ".join(still)
        notes.append(f"{names}: without effect on these measurements, and kept as they were")
    vague = [n for n, e in parameters.items() if not e.at_bound and e.deviation > abs(e.value)]
    if vague:
        notes.append(f"{', '.join(vague)}: hardly determined by these measurements")
    if not best.converged:
        notes.append("the fit did not settle; its parameters are uncertain")
    return notes
