"""Laws of specimens, fitted to how they were moved and by which force, and ranked by what they did not see.

The error of the simulated force is least, each record weighed by the rms of its own force, over whole cycles
after the first. Derivatives are differences of runs: a law may jump, switch and remember.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import as_text, brief, with_progress
from bondloop.errors import BondloopError, InputError, SolveError, unknown_name
from bondloop.identify.least_squares import (
    Estimate,
    check_residuals,
    covariance,
    effective_samples,
    estimates,
    freedom,
    minimise,
)
from bondloop.identify.models.specimen_problem import Free, Measured, MovedSpecimen, SpecimenProblem
from bondloop.identify.policy import POLICY, IdentificationPolicy
from bondloop.identify.process.process_fit import information
from bondloop.identify.tolerances import FITTED_STARTS, ROUGH_STEPS, SAMPLES_OF_WHITENESS, STARTS_OF_SPECIMEN

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bondloop.devices import OdeElement, OdeSpecimen
    from bondloop.identify.least_squares import Minimum
    from bondloop.identify.models.specimen_problem import SpecimenRecord

    Array = NDArray[np.float64]
    from bondloop.identify.data import Data
    from bondloop.identify.models.specimen_problem import Free


Groups = Mapping[str, Sequence[str]] | None


@dataclass(frozen=True)
class Validation:
    """Errors on measurements that were left out of the fit.

    Attributes
    ----------
    errors
        For each group that was left out, by its name: the error on each of its records, as a part of the
        force's rms.
    fitted
        The greatest error on the records that were fitted to meanwhile, for each group.
    """

    errors: dict[str, dict[str, float]]
    fitted: dict[str, float]

    __repr__ = brief
    _repr_html_ = as_text

    @property
    def error(self) -> float:
        """Rms of all errors on what was left out."""
        every = [e for group in self.errors.values() for e in group.values()]
        return float(np.sqrt(np.mean(np.square(every))))

    @property
    def worst(self) -> float:
        """The greatest of them."""
        return max(e for group in self.errors.values() for e in group.values())

    def __str__(self) -> str:
        lines = [f"{'left out':<18}{'record':<24}{'error':>8}{'worst fitted':>14}"]
        for group, errors in self.errors.items():
            for i, (name, e) in enumerate(errors.items()):
                last = f"{100 * self.fitted[group]:>12.1f} %" if i == 0 else ""
                lines.append(f"{group if i == 0 else '':<18}{name:<24}{100 * e:>6.1f} %{last}")
        return "\n".join(lines)


@with_progress("fitting without each part of the data")
def leave_out(
    element: OdeSpecimen | SpecimenFit,
    data: Mapping[str, Data],
    groups: Groups = None,
    free: Free = None,
    *,
    displacement: str = "displacement",
    force: str = "force",
    scouts: int = STARTS_OF_SPECIMEN,
) -> Validation:
    """Fit a law to some of the measurements and judge it by the others, group after group.

    Parameters
    ----------
    element
        The law, or its fit to all measurements, from which the search then begins.
    data
        Measurements by name.
    groups
        Names of the measurements that are left out together, by a name for them: all of one current, of one
        motion. Each measurement by itself unless given.
    free, displacement, force, scouts
        As for `fit_specimen`; from a fit to all measurements no scouts are sent.

    Examples
    --------
    >>> from bondloop.devices import OdeSpecimen
    >>> from bondloop.identify import Data
    >>> class Spring(OdeSpecimen):
    ...     stiffness: float = 1.0
    ...
    ...     def force(self, motion):
    ...         return self.stiffness * motion.displacement
    >>> x = {a: a * np.sin(np.arange(300) / 10) for a in (1.0, 2.0)}
    >>> units = {"displacement": "m", "force": "N"}
    >>> data = {
    ...     f"{a:g} m": Data.from_arrays({"displacement": x[a], "force": 5 * x[a]}, rate=100, units=units)
    ...     for a in x
    ... }
    >>> bool(leave_out(Spring(), data).worst < 1e-6)
    True
    """
    if len(data) < 2 or not isinstance(data, Mapping):
        raise InputError("to leave measurements out, give several by name: {'name': data, ...}")
    groups = {name: [name] for name in data} if groups is None else groups
    if isinstance(element, SpecimenFit):
        law, scouts = element.specimen, 0
        if free is None:  # what had an effect, within the bounds that it had
            bounds = element.bounds
            free = {n: bounds[n] for n in element.parameters} if bounds else list(element.parameters)
    else:
        law = element
    errors, fitted = {}, {}
    for group, names in groups.items():
        for name in names:
            if name not in data:
                raise InputError(unknown_name("measurement", name, data, where=f"group '{group}'"))
        rest = {name: d for name, d in data.items() if name not in names}
        if not rest or not names:
            raise InputError(f"group '{group}' leaves nothing to {'fit to' if names else 'judge by'}")
        fit = fit_specimen(law, rest, free, displacement=displacement, force=force, scouts=scouts)
        errors[group] = fit.errors_of({name: data[name] for name in names}, displacement, force)
        fitted[group] = max(fit.errors.values())
    return Validation(errors, fitted)


@dataclass(frozen=True)
class SpecimenRanking:
    """Fitted laws, the best first.

    Attributes
    ----------
    fits
        The fits by name.
    validations
        What they make of measurements that were left out, by name; empty where there is one measurement.
    recommended
        Name of the law to take.
    reasons
        Why, in sentences.
    failed
        Laws that could not be fitted, with the reason.
    """

    fits: dict[str, SpecimenFit]
    validations: dict[str, Validation]
    recommended: str
    reasons: tuple[str, ...]
    failed: dict[str, str]

    __repr__ = brief
    _repr_html_ = as_text

    def table(self) -> str:
        """Return the ranking as text; Schwarz's criterion is the difference to the least."""
        criteria = _criteria(self.fits)
        lines = [
            f"{'law':<22}{'parameters':>11}{'error':>9}{'worst':>9}{'left out':>10}{'worst':>9}{'BIC':>11}"
        ]
        for name, fit in self.fits.items():
            v = self.validations.get(name)
            out = "" if v is None else f"{100 * v.error:>8.1f} %{100 * v.worst:>7.1f} %"
            mark = "*" if name == self.recommended else " "
            lines.append(
                f"{mark}{name:<21}{len(fit.parameters):>11}{100 * fit.error:>7.1f} %"
                f"{100 * max(fit.errors.values()):>7.1f} %{out:>19}{criteria[name]:>+11.1f}"
            )
        return "\n".join(line.rstrip() for line in lines)

    def __str__(self) -> str:
        failed = [f"{name} could not be fitted: {why}" for name, why in self.failed.items()]
        return "\n".join([self.table(), "", *self.reasons, *failed])


@with_progress("ranking specimens")
def rank_specimens(
    elements: Mapping[str, OdeSpecimen] | Sequence[OdeSpecimen],
    data: Data | Mapping[str, Data],
    groups: Groups = None,
    free: Mapping[str, Free] | None = None,
    *,
    displacement: str = "displacement",
    force: str = "force",
    policy: IdentificationPolicy = POLICY,
) -> SpecimenRanking:
    """Fit several laws to the same measurements and rank them by what they make of those left out.

    Parameters
    ----------
    elements
        The laws, by name or in a row.
    data
        Measurements by name. With a single one nothing can be left out, and Schwarz's criterion ranks, with
        the number of samples that the coloured errors of the best law are worth.
    groups
        What is left out together, as for `leave_out`.
    free
        Parameters to fit, by the law's name; all of a law that is not named here.
    displacement, force
        Names of the channels.
    policy
        Thresholds of judgement.

    Examples
    --------
    >>> from bondloop.devices import OdeSpecimen
    >>> from bondloop.identify import Data
    >>> class Spring(OdeSpecimen):
    ...     stiffness: float = 1.0
    ...
    ...     def force(self, motion):
    ...         return self.stiffness * motion.displacement
    >>> class Dashpot(OdeSpecimen):
    ...     damping: float = 1.0
    ...
    ...     def force(self, motion):
    ...         return self.damping * motion.velocity
    >>> t = np.arange(300) / 100
    >>> channels = {"displacement": np.sin(10 * t), "force": 5 * np.sin(10 * t) + 0.1 * np.cos(10 * t)}
    >>> data = Data.from_arrays(channels, rate=100, units={"displacement": "m", "force": "N"})
    >>> rank_specimens([Spring(), Dashpot()], data).recommended
    'Spring'
    """
    if not isinstance(elements, Mapping):
        elements = _named(elements)
    if not elements:
        raise InputError("no laws to rank; give some, [Bilinear(), MRDamper()]")
    fits, validations, failed = {}, {}, {}
    for name, law in elements.items():
        try:
            fits[name] = fit_specimen(
                law, data, (free or {}).get(name), displacement=displacement, force=force
            )
            if isinstance(data, Mapping) and len(data) > 1:
                validations[name] = leave_out(
                    fits[name], data, groups, displacement=displacement, force=force
                )
        except BondloopError as error:
            fits.pop(name, None)
            failed[name] = str(error)
    if not fits:
        raise InputError("no law could be fitted: " + "; ".join(f"{n}: {why}" for n, why in failed.items()))
    return _ranked(fits, validations, failed, policy)


def _named(elements: Sequence[OdeSpecimen]) -> dict[str, OdeSpecimen]:
    named: dict[str, OdeSpecimen] = {}
    for law in elements:
        kind = type(law).__name__
        number = sum(1 for other in named.values() if type(other).__name__ == kind)
        named[kind if not number else f"{kind} {number + 1}"] = law
    return named


def _criteria(fits: Mapping[str, SpecimenFit]) -> dict[str, float]:
    """Return Schwarz's criterion of each, less the least of them."""
    effective = min(fits.values(), key=lambda f: f.cost).effective
    every = {n: information(f.cost, f.samples, len(f.parameters), effective)[1] for n, f in fits.items()}
    least = min(every.values())
    return {name: x - least for name, x in every.items()}


def _ranked(
    fits: dict[str, SpecimenFit],
    validations: dict[str, Validation],
    failed: dict[str, str],
    policy: IdentificationPolicy,
) -> SpecimenRanking:
    criteria = _criteria(fits)
    if validations:
        measure = {name: v.error for name, v in validations.items()}
        order = sorted(fits, key=measure.__getitem__)
        best = order[0]
        close = [n for n in order if measure[n] <= policy.close_specimen * measure[best]]
        chosen = min(close, key=lambda n: len(fits[n].parameters))
        told = f"{best} has the least error on measurements that were left out, "
        reasons = [f"{told}{100 * measure[best]:.1f} % of the force's rms."]
        if chosen != best:
            reasons.append(
                f"{chosen} with {len(fits[chosen].parameters)} instead of {len(fits[best].parameters)} "
                f"parameters comes to {100 * measure[chosen]:.1f} %: take {chosen}."
            )
    else:
        order = sorted(fits, key=criteria.__getitem__)
        chosen = order[0]
        reasons = [
            f"{chosen} has the least criterion; nothing was left out to judge by: measure another motion."
        ]
    return SpecimenRanking(
        {n: fits[n] for n in order}, {n: validations[n] for n in order if n in validations}, chosen,
        tuple(reasons), failed,
    )  # fmt: skip


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
    bounds
        The bounds that were given, by parameter.
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
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)

    __repr__ = brief
    _repr_html_ = as_text

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
        known = MovedSpecimen(self.specimen, data, displacement, force)
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
        known = MovedSpecimen(self.specimen, data, displacement, force)
        return {r.name: r.error(f) for r, f in zip(known.records, known.forces(), strict=True)}

    def figure(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the loops, measured and fitted: force over displacement, and over velocity.

        Parameters
        ----------
        path
            Where to save it as well, ``"loops.png"``; None: it is only returned.
        """
        from bondloop.results.figures import measured_loops

        return measured_loops(self.records, self.predicted, self.errors, path=path)

    def to_dict(self) -> dict[str, Any]:
        """Return the fit as a dictionary that fits into JSON."""
        return {
            "specimen": self.specimen.describe(),
            "parameters": {name: asdict(e) for name, e in self.parameters.items()},
            "errors": dict(self.errors),
            "error": self.error,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [f"{type(self.specimen).__name__}: rms error {100 * self.error:.1f} % of the force's rms"]
        lines += [f"  {name:<28} {100 * e:5.1f} %" for name, e in self.errors.items()]
        lines += [f"  {name:<28} {e}" for name, e in self.parameters.items()]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


@with_progress("fitting a specimen")
def fit_specimen(
    element: OdeSpecimen | OdeElement,
    data: Measured,
    free: Free = None,
    *,
    displacement: str = "displacement",
    force: str = "force",
    scouts: int = STARTS_OF_SPECIMEN,
    policy: IdentificationPolicy = POLICY,
) -> SpecimenFit:
    """Fit the parameters of a specimen's law to measured displacements and forces.

    Parameters
    ----------
    element
        The law, or the element of a bond graph that was made of it; its values are where the search begins,
        and those that are not free stay.
    data
        A measurement, or several by name or in a row, each with a displacement and a force. A channel with
        the name of a parameter or input of the law (``current``) says what that was.
    free
        Names of the parameters to fit, or their bounds by name; all that no channel sets, unless given.
    displacement, force
        Names of the channels, positive in the same direction: a force that pulls lengthens.
    scouts
        Starts that are looked at besides the law's own values; the best two are fitted from, and the next
        ones as long as the fit is poor and a part of the law has no effect in it.
    policy
        Thresholds of judgement.

    Examples
    --------
    >>> from bondloop.devices import OdeSpecimen
    >>> from bondloop.identify import Data
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
    problem = SpecimenProblem(MovedSpecimen(element, data, displacement, force), free)
    starts = [problem.own, *problem.spread(scouts)]
    best: Minimum | None = None
    for number, theta in enumerate(problem.best(starts, len(starts))):
        if number >= FITTED_STARTS and best is not None and not _stuck(problem, best, policy):
            break
        minimum = problem.minimum(theta)
        if minimum is not None and (best is None or minimum.cost < best.cost):
            best = minimum
    if best is None:
        raise SolveError(
            f"{type(element).__name__} could not be moved as the specimen was with any of the values that "
            "were tried: its force is not finite; begin nearer to what it is like, or give bounds"
        )
    while problem.run.refine(problem.values(best.theta), ROUGH_STEPS):
        again = minimise(problem.evaluate, best.theta, problem.low, problem.high)
        if again is None:
            break
        best = again
    return _result(problem, best, policy)


def _stuck(problem: SpecimenProblem, best: Minimum, policy: IdentificationPolicy) -> bool:
    """Whether a poor fit leaves a part of its law out: an elastic brace does not say when it yields."""
    return bool(
        best.cost > policy.poor_error**2 * len(problem.records) and not np.any(best.jacobian, axis=1).all()
    )


def _result(problem: SpecimenProblem, best: Minimum, policy: IdentificationPolicy) -> SpecimenFit:
    """Return what was found, judged on all samples."""
    still = ~np.any(best.jacobian, axis=1)
    values = problem.values(_kept(problem, best, still))
    law = replace(problem.known.law, **dict(zip(problem.names, values.tolist(), strict=True)))
    known = problem.known.carrying(law)
    forces = known.forces()
    J = best.jacobian / np.where(problem.logarithmic, values, 1.0)[:, None]
    white = _white(problem.records, best.residual)
    spread = covariance(J, best.residual, white=white, free=~(best.at_bound | still))
    left = freedom(best.residual, len(problem.names), white=white)
    ranges = law.parameter_ranges()
    units = {name: (*ranges[name].units, "")[0] for name in problem.names}
    units = {name: "" if unit == "1" else unit for name, unit in units.items()}
    named = dict(zip(problem.names, values.tolist(), strict=True))
    moving = [n for n, s in zip(problem.names, still, strict=True) if not s]
    parameters = {
        n: e for n, e in estimates(named, units, spread, left, best.at_bound).items() if n in moving
    }
    kept = np.flatnonzero(~still)
    notes = [note for record in known.records for note in record.notes]
    errors = {r.name: r.error(f) for r, f in zip(known.records, forces, strict=True)}
    notes += [
        note for r in known.records if errors[r.name] > policy.poor_error for note in _offsets(r, policy)
    ]
    notes += _doubts(problem, parameters, best, [n for n in problem.names if n not in moving])
    notes += [
        f"{name}: each measurement says what it was, and the fitted law has {getattr(law, name):g}; "
        f"replace(fit.specimen, {name}=...) of dataclasses sets another"
        for name in dict.fromkeys(name for record in known.records for name in record.driven)
        if name in ranges
    ]
    return SpecimenFit(
        specimen=law,
        parameters=parameters,
        covariance=spread[np.ix_(kept, kept)],
        records=tuple(known.records),
        predicted=dict(zip(known.names, forces, strict=True)),
        errors=errors,
        cost=best.cost,
        samples=best.residual.size,
        effective=effective_samples(best.residual),
        notes=tuple(notes),
        bounds=problem.bounds,
    )


def _kept(problem: SpecimenProblem, best: Minimum, still: NDArray[np.bool_]) -> Array:
    """Return the coordinates that were found, those without effect as they were, if they have none there."""
    theta = np.where(still, problem.own, best.theta)
    again = problem.errors(theta[None]) if still.any() else best.residual[None]
    return theta if again is not None and float(again[0] @ again[0]) <= 1.000001 * best.cost else best.theta


def _white(records: Sequence[SpecimenRecord], residual: Array) -> bool:
    """Whether what is left over is white in every record, each long enough to tell."""
    ends = np.cumsum([0, *(r.judged.stop - r.judged.start for r in records)])
    return all(
        b - a >= SAMPLES_OF_WHITENESS and check_residuals(residual[a:b], r.displacement[r.judged]).white
        for r, (a, b) in zip(records, pairwise(ends), strict=True)
    )


def _doubts(
    problem: SpecimenProblem, parameters: Mapping[str, Estimate], best: Minimum, still: Sequence[str]
) -> list[str]:
    notes = [problem.held(name, best.theta) for name, e in parameters.items() if e.at_bound]
    if still:
        names = ", ".join(still)
        notes.append(f"{names}: without effect on these measurements, and kept as they were")
    vague = [n for n, e in parameters.items() if not e.at_bound and e.deviation > abs(e.value)]
    if vague:
        notes.append(f"{', '.join(vague)}: hardly determined by these measurements")
    if not best.converged:
        notes.append("the fit did not settle; its parameters are uncertain")
    return notes


def _offsets(record: SpecimenRecord, policy: IdentificationPolicy) -> list[str]:
    """Return a sentence for each channel whose mean is far from zero beside its amplitude."""
    notes = []
    for word, channel, unit in (("displacement", record.displacement, "m"), ("force", record.force, "N")):
        values = channel[record.judged]
        mean, amplitude = float(np.mean(values)), float(np.ptp(values)) / 2
        if abs(mean) > policy.offset * amplitude:
            notes.append(
                f"{record.name}: the mean of the {word} is {mean:.3g} {unit} beside an amplitude of "
                f"{amplitude:.3g} {unit}; take it off if it is the sensor's, else fit a law that has it"
            )
    return notes
