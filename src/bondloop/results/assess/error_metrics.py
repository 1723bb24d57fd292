"""The measures of one actuator's run, as named values with units; and the energy at its interface.

F is the force at the interface (of the specimen on the numerical half), positive so that F·v is the power
that flows from the numerical half into the specimen. What leaves the numerical half is ∫F v_N dt, what
arrives at the specimen is ∫F v_P dt; the difference comes from the actuator's supply. A lagging actuator on
a spring gives more than it takes: negative damping.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bondloop.display import notebook, paragraph, table
from bondloop.engine.data import POSITIVE
from bondloop.errors import InputError, unknown_name
from bondloop.results.assess.tolerances import LARGEST
from bondloop.results.assess.tracking import (
    delay,
    frequency_evaluation_index,
    maximum_error,
    normalised_peak_error,
    normalised_rms_error,
    peak_amplitude_error,
    ratio,
    same_length,
    tracking_indicator,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.results.records.record import Record


def work(force: ArrayLike, displacement: ArrayLike) -> NDArray[np.float64]:
    """Return ∫F dx [J] up to each sample, by the trapezoidal rule; over a closed loop, the loop's area.

    Parameters
    ----------
    force, displacement
        Samples in N and m.

    Examples
    --------
    >>> angle = np.linspace(0, 2 * np.pi, 4001)
    >>> round(float(work(3 * np.cos(angle), 2 * np.sin(angle))[-1]) / (np.pi * 3 * 2), 5)  # the ellipse π a b
    1.0
    """
    f, x = same_length(force=force, displacement=displacement)
    return np.concatenate(([0.0], np.cumsum(0.5 * (f[1:] + f[:-1]) * np.diff(x))))


def energy_error(
    force: ArrayLike,
    numerical: ArrayLike,
    physical: ArrayLike,
    sample_period: float | str | None = None,
) -> NDArray[np.float64]:
    """Return E(t) = ∫F (v_P − v_N) dt = ∫F d(x_P − x_N) [J] up to each sample, by the trapezoidal rule.

    Positive: the interface has put energy into the test (negative damping). It is the power form of the
    synchronisation error ṽ of Gawthrop 2005, eq. (2).

    Parameters
    ----------
    force
        At the interface in N, positive as this module takes it.
    numerical, physical
        Displacements of the numerical half and of the specimen in m; with a sample period, velocities in m/s.
    sample_period
        Of velocities, in s, or text: ``"1 ms"``; None: these are displacements.

    Examples
    --------
    >>> energy_error([2.0, 2.0, 2.0], [0.0, 0.5, 1.0], [0.0, 0.5, 1.5]).tolist()
    [0.0, 0.0, 1.0]
    >>> energy_error([2.0, 2.0, 2.0], [0.5, 0.5, 0.5], [1.0, 1.0, 1.0], 0.1).round(12).tolist()
    [0.0, 0.1, 0.2]
    """
    f, n, p = same_length(force=force, numerical=numerical, physical=physical)
    if sample_period is None:
        return work(f, p - n)
    return np.concatenate(([0.0], np.cumsum(_trapezoids(f * (p - n), sample_period))))


def normalised_energy_error(
    force: ArrayLike,
    numerical: ArrayLike,
    physical: ArrayLike,
    sample_period: float | str | None = None,
) -> float:
    """Return the energy error over the energy exchanged, ∫abs(F v_N) dt or ∫abs(F dx_N), at the end.

    NaN where nothing was exchanged. For a spring that is followed late by τ, at angular frequency ω, it is
    (π/2) sin ωτ.

    Parameters
    ----------
    force, numerical, physical, sample_period
        As for `energy_error`.

    Examples
    --------
    >>> normalised_energy_error([2.0, 2.0, 2.0], [0.0, 0.5, 1.0], [0.0, 0.5, 1.5])
    0.5
    >>> round(normalised_energy_error([2.0, 2.0], [0.8, 0.8], [1.0, 1.0], 0.1), 12)
    0.25
    """
    error = float(energy_error(force, numerical, physical, sample_period)[-1])
    f, n = same_length(force=force, numerical=numerical)
    if sample_period is None:
        return ratio(error, float(np.abs(0.5 * (f[1:] + f[:-1]) * np.diff(n)).sum()))
    return ratio(error, float(np.sum(_trapezoids(np.abs(f * n), sample_period))))


def _trapezoids(power: NDArray[np.float64], sample_period: float | str) -> NDArray[np.float64]:
    return 0.5 * (power[1:] + power[:-1]) * POSITIVE.check(sample_period, "sample_period", "s")


@dataclass(frozen=True)
class Metrics(Mapping[str, float]):
    """Named values with units; prints as a table.

    Attributes
    ----------
    desired, actual
        The channels compared.
    values_by_name
        The measures by name; NaN where one has no meaning (a delay of a constant signal).
    units
        Unit of each measure; empty for a pure ratio.
    notes
        What was left out or could not be measured, and why.

    Examples
    --------
    >>> found = Metrics("z", "x", {"normalised_rms_error": 0.0314, "delay": 0.002}, {"delay": "s"}, ())
    >>> print(found)
    x against z
      normalised rms error      3.14 %
      delay                        2 ms
    >>> found["delay"]
    0.002
    """

    desired: str
    actual: str
    values_by_name: dict[str, float]
    units: dict[str, str]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> float:
        if name not in self.values_by_name:
            raise InputError(unknown_name("measure", name, self.values_by_name))
        return self.values_by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self.values_by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def __str__(self) -> str:
        width = max((len(name) for name in self), default=0)
        lines = [f"{self.actual} against {self.desired}"]
        for name, value in self.items():
            number, unit = _shown(name, value, self.units.get(name, ""))
            lines.append(f"  {name.replace('_', ' '):<{width}}  {number:>8} {unit}".rstrip())
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])

    def _repr_html_(self) -> str:
        rows = [(name.replace("_", " "), self.in_words(name)) for name in self]
        notes = [paragraph(f"Note: {note}") for note in self.notes]
        return notebook(
            f"{self.actual} against {self.desired}", [table(("", ""), rows, ("", "number")), *notes]
        )

    def in_words(self, name: str) -> str:
        """Return the measure ``name`` with its unit, as it is printed.

        >>> Metrics("z", "x", {"delay": 0.002}, {"delay": "s"}).in_words("delay")
        '2 ms'
        """
        return " ".join(_shown(name, self[name], self.units.get(name, ""))).strip()

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can say; a measure without meaning is None."""
        return {
            "desired": self.desired,
            "actual": self.actual,
            "values": {name: value if math.isfinite(value) else None for name, value in self.items()},
            "units": {name: self.units.get(name, "") for name in self},
            "notes": list(self.notes),
        }


def metrics(
    record: Record,
    *,
    desired: str,
    actual: str,
    force: str | None = None,
    motion: Literal["displacement", "velocity"] | None = None,
) -> Metrics:
    """Return how well `actual` followed `desired` in a record.

    Parameters
    ----------
    record
        The run. If it diverged beyond 1e150 or into NaN, it is measured up to the first such value and a
        note says so.
    desired, actual
        Names of the channels of the numerical half's motion and of the specimen's.
    force
        Name of the channel of the interface force, positive so that force times velocity is the power into
        the specimen; without it there is no energy error.
    motion
        What the two channels are; unless given, a flow (by what the record says the channel is, or by a unit
        per second) means velocity, anything else displacement.

    Examples
    --------
    >>> from bondloop.results import Record
    >>> t = np.arange(2000) * 1e-3
    >>> signals = {
    ...     "z": np.sin(10 * np.pi * t),
    ...     "x": 0.95 * np.sin(10 * np.pi * (t - 0.004)),
    ...     "F": np.zeros(2000),
    ... }
    >>> run = Record(t, signals, {"z": "m", "x": "m", "F": "N"})
    >>> print(metrics(run, desired="z", actual="x"))
    x against z
      normalised rms error            13.2 %
      normalised peak error           13.2 %
      peak amplitude error              -5 %
      maximum error                    132 mm
      delay                              4 ms
      frequency index amplitude       0.95
      frequency index delay              4 ms
      equivalent frequency               5 Hz
      tracking indicator              3.74 m²
    """
    x, y = record[desired], record[actual]
    f = None if force is None else record[force]
    notes: list[str] = []
    signals = [signal for signal in (x, y, f) if signal is not None]
    finite = np.logical_and.reduce([np.abs(signal) < LARGEST for signal in signals])
    count = len(record) if finite.all() else int(np.argmin(finite))
    if count < len(record):
        notes.append(f"measured up to t = {record.time[max(count - 1, 0)]:g} s; beyond, values overflow")
    if count < 4:
        raise InputError(f"{actual} against {desired}: {count} finite samples; at least 4 are needed")
    x, y = x[:count], y[:count]
    period = record.between(float(record.time[0]), float(record.time[count - 1])).sample_period
    unit = record.units[desired]
    if record.units[actual] != unit:
        raise InputError(
            f"'{desired}' is in {unit or 'no unit'} and '{actual}' in {record.units[actual] or 'no unit'}; "
            "compare channels of one unit"
        )
    values = {
        "normalised_rms_error": normalised_rms_error(x, y),
        "normalised_peak_error": normalised_peak_error(x, y),
        "peak_amplitude_error": peak_amplitude_error(x, y),
        "maximum_error": maximum_error(x, y),
        "delay": _delay(x, y, period, notes),
    }
    index = frequency_evaluation_index(x, y, period)
    values |= {
        "frequency_index_amplitude": index.amplitude,
        "frequency_index_delay": index.delay,
        "equivalent_frequency": index.frequency,
        "tracking_indicator": float(tracking_indicator(x, y)[-1]),
    }
    units = {"maximum_error": unit, "delay": "s", "frequency_index_delay": "s", "equivalent_frequency": "Hz"}
    units["tracking_indicator"] = _squared(unit)
    if f is not None:
        if motion is None:
            kind = record.meanings[desired].kind
            motion = "velocity" if kind == "flow" or (not kind and unit.endswith("/s")) else "displacement"
        step = period if motion == "velocity" else None
        values["energy_error"] = float(energy_error(f[:count], x, y, step)[-1])
        values["normalised_energy_error"] = normalised_energy_error(f[:count], x, y, step)
        units["energy_error"] = "J"
    return Metrics(desired, actual, values, units, tuple(notes))


def _delay(x: NDArray[np.float64], y: NDArray[np.float64], period: float, notes: list[str]) -> float:
    try:
        return delay(x, y, period)
    except InputError as error:
        notes.append(str(error))
        return float("nan")


def _squared(unit: str) -> str:
    if not unit:
        return ""
    return f"{unit}^2" if unit.isalpha() else f"({unit})^2"


def _shown(name: str, value: float, unit: str) -> tuple[str, str]:
    """Return number and unit as read best: percent for errors, milli and micro for small quantities."""
    if not math.isfinite(value):
        return "undefined", ""
    if name.endswith("error") and not unit:
        return f"{100 * value:.3g}", "%"
    if unit in {"m", "s", "m/s", "J", "N"} and 0 < abs(value) < 1:
        milli = abs(value) >= 1e-4
        return f"{value * (1e3 if milli else 1e6):.3g}", ("m" if milli else "µ") + unit
    if unit == "m^2" and 0 < abs(value) < 1e-2:
        return f"{1e6 * value:.3g}", "mm²"
    return f"{value:.3g}", unit.replace("^2", "²")
