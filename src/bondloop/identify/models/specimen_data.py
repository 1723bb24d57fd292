"""Measurements of a specimen, looked at before a law is fitted to them: units, cycles, drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.identify.data import Data
from bondloop.identify.policy import POLICY, IdentificationPolicy
from bondloop.identify.tolerances import THINNED_ERROR, THINNED_FEWEST, THINNING
from bondloop.units import is_of_kind, quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


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


def _drifts(
    name: str, channels: Mapping[str, Array], bounds: Sequence[int], policy: IdentificationPolicy = POLICY
) -> list[str]:
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
        if abs(wander) > max(policy.drift * rms, 3 * scatter):
            notes.append(
                f"{name}: {channel} drifts: its mean over a cycle wanders by {100 * wander / rms:+.1f} % of "
                "its rms from the first cycle to the last; zero the sensor again, or leave the record out"
            )
    return notes


def _turned_round(
    name: str, x: Array, F: Array, cycles: int, policy: IdentificationPolicy = POLICY
) -> list[str]:
    """Return a note where the specimen would do work on the machine, cycle after cycle."""
    if cycles < 1:
        return []
    work = float(np.trapezoid(F, x)) / cycles
    # A rigid-plastic loop with this force and stroke has the work 2 F ptp(x).
    if work >= -policy.returned_work * 2 * float(np.sqrt(np.mean(F**2))) * float(np.ptp(x)):
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
