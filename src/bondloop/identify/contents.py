"""What is in a file of measurements: channels, units, rate, length, gaps, and what looks wrong."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import as_text, brief
from bondloop.engine.data import POSITIVE
from bondloop.errors import InputError
from bondloop.identify.input_output import FEW_LEVELS, clipping, constant, held, slow_rows, slowly_held
from bondloop.identify.time_grid import disagreement, find_grid
from bondloop.readers import read_measurements, sampling_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.readers import Measurements

FROZEN_HOLDS, FROZEN_RATIO = 50, 20
"""Samples in a row from which on a signal that otherwise moves stands still, and how many times longer that
must be than what is usual in the signal."""


@dataclass(frozen=True)
class ChannelContents:
    """One channel.

    Attributes
    ----------
    name, unit
        As the file has them.
    samples, missing
        How many there are, and how many of them are no finite numbers.
    least, greatest, mean, deviation
        Of the finite ones, in the unit of the file; NaN where there are none.
    doubts
        What looks wrong, in words.
    """

    name: str
    unit: str
    samples: int
    missing: int
    least: float
    greatest: float
    mean: float
    deviation: float
    doubts: tuple[str, ...]


@dataclass(frozen=True)
class Contents:
    """What is in a file.

    Attributes
    ----------
    source, kind
        The file, and what it is.
    channels
        One by one.
    samples, rate, start, end
        Of the time: how many, how many a second, first and last [s]; None where that is not known.
    time
        Where the time comes from, in words.
    notes
        Gaps and what else is noteworthy, in sentences.
    texts
        What the file says of itself.
    """

    source: str
    kind: str
    channels: tuple[ChannelContents, ...]
    samples: int | None
    rate: float | None
    start: float | None
    end: float | None
    time: str
    notes: tuple[str, ...]
    texts: dict[str, str]

    __repr__ = brief
    _repr_html_ = as_text

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary that fits into JSON."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.source}: {self.kind}", _sampled(self)]
        wide = max([7, *(len(c.name) for c in self.channels)])
        units = max([4, *(len(c.unit) for c in self.channels)])
        lines.append(f"  {'channel':<{wide}}  {'unit':<{units}}  {'least':>11} {'greatest':>11} {'mean':>11}")
        for c in self.channels:
            numbers = " ".join(f"{x:>11.4g}" for x in (c.least, c.greatest, c.mean))
            lines.append(f"  {c.name:<{wide}}  {c.unit or '-':<{units}}  {numbers}")
        lines += [f"suspicious: '{c.name}' {doubt}" for c in self.channels for doubt in c.doubts]
        lines += [f"note: {note}" for note in self.notes]
        said = [f"{key}: {value}" for key, value in self.texts.items() if len(value) <= 80]
        lines += [f"says: {'; '.join(said[:12])}"] if said else []
        return "\n".join(lines)


def read_contents(
    path: str | os.PathLike[str], time: str | None = None, rate: float | str | None = None
) -> Contents:
    r"""Tell what is in a file of measurements.

    Parameters
    ----------
    path
        Of the file; see `bondloop.readers.read_measurements`.
    time, rate
        As for `read_data`, where the file does not say it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "rig.csv"
    >>> rows = "\n".join(f"{i},{i % 7},3" for i in range(200))
    >>> _ = file.write_text("Time (ms),Command (mm),Force (kN)\n" + rows)
    >>> found = read_contents(file)
    >>> found.rate, [(c.name, c.unit, c.doubts) for c in found.channels]
    (1000.0, [('Command', 'mm', ()), ('Force', 'kN', ('rests at 3 kN throughout',))])
    """
    return contents_of(read_measurements(path), time, rate)


def contents_of(
    found: Measurements,
    time: str | None = None,
    rate: float | str | None = None,
    measured: Collection[str] | None = None,
) -> Contents:
    """Tell what measurements hold.

    Parameters
    ----------
    found
        What a file holds.
    time, rate
        As for `read_data`.
    measured
        The channels that a sensor made: what is computed may rest, turn and stand still as it likes, and only
        its missing samples are doubtful. All channels unless given.
    """
    every = None if rate is None else POSITIVE.check(rate, "rate", "Hz")
    notes = list(found.notes)
    name: str | None = None
    words, samples, start, end = "not known", None, None, None
    try:
        sampling = sampling_of(found, time, rate_given=rate is not None)
        name, every = sampling.name, every or sampling.rate
        notes += sampling.notes
        words = (
            f"'{name}'" if name else "the clock of its rows" if sampling.stamps is not None else "the rate"
        )
        if sampling.stamps is not None and sampling.stamps.size:
            samples = sampling.stamps.size
            start, end = float(sampling.stamps[0]), float(sampling.stamps[-1])
            if rate is not None and every and (said := disagreement(sampling.stamps, 1 / every)):
                notes += said
                words, end = "the rate given", start + (samples - 1) / every
            else:
                grid = find_grid(sampling.stamps)
                notes += grid.warnings
                every = every or float(f"{1 / grid.sample_period:.6g}")
    except InputError as error:
        notes.append(str(error))
    sizes = {values.size for key, values in found.channels.items() if key != name}
    if samples is None and len(sizes) == 1:
        samples = next(iter(sizes))
        if every:
            start, end = 0.0, (samples - 1) / every
    if len(sizes | ({samples} - {None})) > 1:
        counts = ", ".join(f"{key} {v.size:,}" for key, v in list(found.channels.items())[:12])
        notes.append(f"its channels have different lengths: {counts}")
    channels = tuple(
        _channel(key, found.units[key], values, measured is None or key in measured)
        for key, values in found.channels.items()
        if key != name
    )
    return Contents(
        found.source, found.kind, channels, samples, every, start, end, words, tuple(notes), dict(found.texts)
    )


def _sampled(found: Contents) -> str:
    count = "samples: not the same for all" if found.samples is None else f"{found.samples:,} samples"
    speed = "rate not known" if found.rate is None else f"{found.rate:g} a second"
    span = "" if found.start is None or found.end is None else f", {found.start:g} to {found.end:g} s"
    return f"{count}, {speed}{span}; time: {found.time}"


def _channel(name: str, unit: str, values: NDArray[np.float64], measured: bool) -> ChannelContents:
    sound = values[np.isfinite(values)]
    with np.errstate(over="ignore", invalid="ignore"):
        least, greatest, mean, deviation = (
            float(f(sound)) if sound.size else float("nan") for f in (np.min, np.max, np.mean, np.std)
        )
    missing = values.size - sound.size
    doubts = tuple(_doubts(unit, values, sound, measured))
    return ChannelContents(name, unit, values.size, missing, least, greatest, mean, deviation, doubts)


def _doubts(unit: str, values: NDArray[np.float64], sound: NDArray[np.float64], measured: bool) -> list[str]:
    """Return what looks wrong about one channel."""
    if not sound.size:
        return ["holds no numbers"]
    found = []
    stride = slow_rows(values)
    missing = values.size - sound.size
    if stride:
        found.append(f"has a value in one of {stride} rows only: it was recorded {stride} times slower")
    elif missing:
        gaps = np.flatnonzero(np.diff(np.concatenate(([True], np.isfinite(values))).astype(int)) < 0)
        found.append(f"is missing {missing:,} samples in {gaps.size:,} gap{'s' * (gaps.size != 1)}")
    if not measured:
        return found
    of_unit = f" {unit}" if unit else ""
    with np.errstate(over="ignore", invalid="ignore"):
        if constant(sound):
            return [*found, f"rests at {sound[0]:g}{of_unit} throughout"]
        clipped = clipping(sound)
    hold = held(sound)
    if clipped:
        extreme, run, part = clipped
        found.append(
            f"looks clipped: at {extreme:g}{of_unit} for up to {run:,} samples ({100 * part:.2g} % of all)"
        )
    elif (frozen := _frozen(sound, hold)) is not None:
        first, length = frozen
        found.append(
            f"looks frozen: at {sound[first]:g}{of_unit} for {length:,} samples from sample {first:,}"
        )
    if slowly_held(sound) > 1:
        found.append(
            f"changes only every {hold} samples: a command in steps, or recorded {hold} times slower and "
            "held?"
        )
    return found


def _frozen(values: NDArray[np.float64], hold: int) -> tuple[int, int] | None:
    """Return where a signal that otherwise moves stands still for long, and how long; None if it never does.

    >>> noise = np.random.default_rng(1).normal(size=1000)
    >>> _frozen(noise, 1), _frozen(np.concatenate((noise, np.full(300, noise[-1]))), 1)
    (None, (999, 301))
    """
    if np.unique(values).size < FEW_LEVELS:
        return None
    edges = np.concatenate(([0], np.flatnonzero(np.diff(values)) + 1, [values.size]))
    lengths = np.diff(edges)
    longest = int(np.argmax(lengths))
    usual = float(np.percentile(lengths, 95))
    if lengths[longest] < max(FROZEN_HOLDS * hold, FROZEN_RATIO * usual):
        return None
    return int(edges[longest]), int(lengths[longest])
