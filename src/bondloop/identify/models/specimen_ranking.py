"""Which law tells a specimen best: fits judged by measurements that they have not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import as_text, brief, telling
from bondloop.errors import BondloopError, InputError, unknown_name
from bondloop.identify.models.specimen_fit import SpecimenFit, fit_specimen
from bondloop.identify.policy import POLICY, IdentificationPolicy
from bondloop.identify.process.process_fit import information
from bondloop.identify.tolerances import STARTS_OF_SPECIMEN

if TYPE_CHECKING:
    from bondloop.devices import OdeSpecimen
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


@telling("fitting without each part of the data")
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


@telling("ranking specimens")
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
