"""Measured channels, and files of them: what identification works with."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import Parameter, instant, number
from bondloop.errors import BondloopError, InputError, unknown_name
from bondloop.identify.input_output import InputOutput, doubts, leading, sound_part
from bondloop.identify.time_grid import disagreement, find_grid
from bondloop.readers import read_measurements, sampling_of
from bondloop.units import is_of_kind, quantity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.readers import Measurements
    from bondloop.results.records import Record


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """Named channels, sampled together at one rate.

    Make one with `read_data`, `Data.from_arrays` or `Data.from_record`, which look at the time stamps.

    Parameters
    ----------
    channels
        Signals by name, each of shape (n,); NaN where a value is missing.
    sample_period
        Seconds between samples.
    units
        Unit of each channel as text; a channel without one is dimensionless.
    start
        Time of the first sample [s].
    source
        Where the data come from, for messages.
    warnings
        What is doubtful about the data, in sentences.

    Examples
    --------
    >>> t = np.arange(1000) * 1e-3
    >>> data = Data.from_arrays({"command": np.sin(30 * t), "position": np.sin(30 * t - 0.2)}, rate="1 kHz")
    >>> data
    <Data: 1000 samples at 1000 Hz: command, position>
    >>> pair = data.select(input="command", output="position")
    >>> pair.output[:2].round(3).tolist(), pair.warnings
    ([-0.199, -0.169], ())
    >>> data.select(input="comand", output="position")
    Traceback (most recent call last):
    bondloop.errors.InputError: unknown input channel 'comand' of the data; did you mean 'command'? ...
    """

    channels: Mapping[str, NDArray[np.float64]]
    sample_period: Parameter = Parameter(above=0, unit="s")
    units: Mapping[str, str] = field(default_factory=dict)
    start: Parameter = Parameter(0.0, unit="s")
    source: str = "the data"
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.channels:
            raise InputError(f"{self.source}: no channels; at least an input and an output are needed")
        channels = {name: _row(name, values, self.source) for name, values in self.channels.items()}
        _refuse_lengths(channels, self.source)
        for name in self.units:
            if name not in channels:
                raise InputError(unknown_name("channel", name, channels, where="units"))
        object.__setattr__(self, "channels", channels)
        object.__setattr__(self, "units", dict.fromkeys(channels, "") | dict(self.units))
        object.__setattr__(self, "warnings", tuple(self.warnings))

    @classmethod
    def from_arrays(
        cls,
        channels: Mapping[str, ArrayLike],
        *,
        time: ArrayLike | None = None,
        rate: float | str | None = None,
        sample_period: float | str | None = None,
        units: Mapping[str, str] | None = None,
        source: str = "the data",
    ) -> Data:
        """Return data from arrays and either their times [s], their rate [Hz] or their sample period [s].

        Time stamps are looked at: gaps, jitter, changing rates; see `time_grid.find_grid`. A rate or period
        that is given besides them takes their place, and a warning says when the two disagree.

        Parameters
        ----------
        channels
            Samples by name, all of one length.
        time
            Time stamps; they need not be even.
        rate, sample_period
            Of the samples, one of them at most; numbers in Hz or s, or texts with a unit.
        units
            By channel; none for those left out.
        source
            Where they come from, for messages.
        """
        rows = {name: _row(name, values, source) for name, values in channels.items()}
        given = _given_period(rate, sample_period, source)
        if time is None:
            if given is None:
                raise InputError(
                    f"{source}: give the times of the samples, their rate or their sample period"
                )
            return cls(rows, given, units or {}, source=source)
        stamps = _row("time", time, source)
        _refuse_lengths({"time": stamps} | rows, source)
        if given is not None:
            warnings = disagreement(stamps, given)
            start = float(stamps[0]) if stamps.size and np.isfinite(stamps[0]) else 0.0
            return cls(rows, given, units or {}, start, source, warnings)
        try:
            grid = find_grid(stamps)
        except InputError as error:
            raise InputError(f"{source}: {error}") from None
        rows = {name: values[grid.rows] for name, values in rows.items()}
        if grid.resample:
            even = grid.start + grid.sample_period * np.arange(float(stamps[grid.rows].size))
            rows = {name: _onto(even, stamps[grid.rows], values) for name, values in rows.items()}
        return cls(rows, grid.sample_period, units or {}, grid.start, source, grid.warnings)

    @classmethod
    def from_record(cls, record: Record) -> Data:
        """Return the channels of a record, or of a run's record, as data."""
        source = str(record.attributes.get("source", "the record"))
        return cls.from_arrays(record.channels, time=record.time, units=record.units, source=source)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        return self.channels[self._known(name, "channel")]

    def __contains__(self, name: object) -> bool:
        return name in self.channels

    def __iter__(self) -> Iterator[str]:
        return iter(self.channels)

    def __len__(self) -> int:
        return next(iter(self.channels.values())).size

    def __repr__(self) -> str:
        names = ", ".join(list(self.channels)[:6]) + (", ..." if len(self.channels) > 6 else "")
        return f"<Data: {len(self)} samples at {self.rate:g} Hz: {names}>"

    @property
    def rate(self) -> float:
        """Samples per second [Hz]."""
        return float(f"{1 / self.sample_period:.12g}")

    @property
    def time(self) -> NDArray[np.float64]:
        """Times of the samples [s]."""
        return self.start + self.sample_period * np.arange(float(len(self)))

    def between(self, start: float | str, end: float | str) -> Data:
        """Return the part with start <= time <= end; the arrays are views.

        Parameters
        ----------
        start, end
            In s, or texts, ``"50 ms"``; infinities are before and after all.
        """
        slack = 1e-6 * self.sample_period
        edges = [instant(start, "between(start)") - slack, instant(end, "between(end)") + slack]
        first, last = np.searchsorted(self.time, edges)
        channels = {name: values[first:last] for name, values in self.channels.items()}
        return replace(self, channels=channels, start=self.start + self.sample_period * int(first))

    def with_channel(self, name: str, values: ArrayLike, unit: str = "") -> Data:
        """Return the data with one more channel: samples, or a number that held all the time.

        Parameters
        ----------
        name
            Of the channel; one of that name is replaced.
        values
            Its samples, or one number.
        unit
            Of the values.

        Examples
        --------
        >>> data = Data.from_arrays({"force": [0.0, 1.0]}, rate=10).with_channel("current", 0.5, "A")
        >>> data["current"].tolist(), data.units["current"]
        ([0.5, 0.5], 'A')
        """
        samples = np.asarray(values, dtype=float)
        row = np.full(len(self), samples) if samples.ndim == 0 else samples
        return replace(self, channels={**self.channels, name: row}, units={**self.units, name: unit})

    def select(self, input: str, output: str) -> InputOutput:  # noqa: A002 - the word of the interface
        """Return one input and one output, fit for identification.

        Both are looked at: samples that are missing, signals that rest, are clipped, or are held over
        several samples, and an output that comes before its input. What makes identification impossible is
        refused; what makes it doubtful is among the ``warnings`` of the result. An output in another unit
        of the same kind as the input's, metres where that is in millimetres, is converted to the input's.

        Parameters
        ----------
        input, output
            Names of two different channels.
        """
        names = {
            "input": self._known(input, "input channel"),
            "output": self._known(output, "output channel"),
        }
        if input == output:
            known = ", ".join(self.channels)
            raise InputError(f"'{input}' is both input and output; name two channels of {known}")
        signals = {role: self.channels[name] for role, name in names.items()}
        first, last, warnings = sound_part(signals, names, self.sample_period, self.start)
        for role, name in names.items():
            warnings += doubts(role, name, self.units[name], signals[role][first:last])
        u, y = signals["input"][first:last], signals["output"][first:last]
        warnings += leading(u, y, self.sample_period, (input, output), self.units[output])
        unit = self.units[output]
        if (size := _conversion(unit, self.units[input])) != 1:
            y, was, unit = size * y, unit, self.units[input]
            warnings.append(f"output '{output}' is converted from {was} to {unit}, the unit of '{input}'")
        return InputOutput(
            u, y, self.sample_period,
            input, output, self.units[input], unit,
            self.start + self.sample_period * first, (*self.warnings, *warnings),
        )  # fmt: skip

    def _known(self, name: str, kind: str) -> str:
        if name not in self.channels:
            raise InputError(unknown_name(kind, str(name), self.channels, where=self.source))
        return name


def _conversion(unit: str, wanted: str) -> float:
    """Return how many of one unit another is; 1 where they do not measure the same, or are not known."""
    try:
        if not unit or not wanted or not is_of_kind(f"1 {unit}", wanted):
            return 1.0
        return quantity(f"1 {unit}") / quantity(f"1 {wanted}")
    except BondloopError:  # a file may have any text for a unit
        return 1.0


def _row(name: str, values: ArrayLike, source: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{source}: channel '{name}' is no array of real numbers ({error})") from None
    if array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim != 1:
        raise InputError(f"{source}: channel '{name}' has shape {array.shape}; one dimension is needed")
    view = array.view()
    view.flags.writeable = False
    return view


def _refuse_lengths(channels: Mapping[str, NDArray[np.float64]], source: str) -> None:
    sizes = {name: values.size for name, values in channels.items()}
    if len(set(sizes.values())) > 1:
        found = ", ".join(f"{name} {size}" for name, size in list(sizes.items())[:12])
        raise InputError(
            f"{source}: channels of different lengths: {found} samples; were they recorded at different "
            "rates? record all of them with one clock at one rate"
        )


def _given_period(rate: float | str | None, period: float | str | None, source: str) -> float | None:
    if rate is not None and period is not None:
        raise InputError(f"{source}: give the rate or the sample period, not both")
    if rate is None and period is None:
        return None
    if isinstance(rate, str) and not is_of_kind(rate, "Hz") and is_of_kind(rate, "s"):
        seconds = number(rate, "rate")
        hint = f"; a sample every {rate} is rate={1 / seconds:g}" if seconds > 0 else ""
        raise InputError(f"{source}: rate: expected a frequency in Hz; found a time, {rate!r}{hint}")
    value = number(period, "sample_period", "s") if rate is None else number(rate, "rate", "Hz")
    if value <= 0:
        raise InputError(f"{source}: the sample rate must be positive; found {value:g}")
    return 1 / value if rate is not None else value


def _onto(
    even: NDArray[np.float64], stamps: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a channel interpolated onto the even grid; holes stay holes."""
    from scipy.interpolate import CubicSpline

    sound = np.isfinite(values)
    if sound.sum() < 4:
        return values
    smooth = np.asarray(CubicSpline(stamps[sound], values[sound])(even), dtype=np.float64)
    return np.where(sound, smooth, np.nan)


def read_data(
    path: str | os.PathLike[str], *, time: str | None = None, rate: float | str | None = None
) -> Data:
    r"""Read measured signals from a file.

    Parameters
    ----------
    path
        A table of text (with a head, units in the names or in a row of their own, decimal commas), LVM, a
        MATLAB file (5 or 7.3; vectors, tables, structures), an HDF5 file (a run file or any other with
        one-dimensional datasets), a NumPy ``.npz``, TDMS, MDF or Parquet; see
        `bondloop.readers.read_measurements`.
    time
        Name of the channel that holds the time; unless given, one called ``time`` or ``t``, in the unit that
        its header states, seconds otherwise.
    rate
        Sample rate [Hz] of a file without time stamps, or with bad ones. A single number called ``fs``,
        ``rate``, ``dt`` or ``Ts`` in the file does as well, or a line of its head, ``Sampling Rate: 1000``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rig.csv")
    ...     _ = path.write_text(
    ...         "t [ms],u [mm],y [mm]\n" + "\n".join(f"{i},{i % 7},{i % 5}" for i in range(99))
    ...     )
    ...     data = read_data(path)
    >>> data, data.units["u"]
    (<Data: 99 samples at 1000 Hz: u, y>, 'mm')
    """
    return data_from(read_measurements(path), time, rate)


def data_from(found: Measurements, time: str | None = None, rate: float | str | None = None) -> Data:
    """Return data once it is settled when the samples were taken.

    Parameters
    ----------
    found
        What a file holds.
    time, rate
        As for `read_data`.
    """
    source = found.source
    if not found.channels:
        raise InputError(f"{source}: no columns of numbers in it; save the measured signals as vectors")
    sampling = sampling_of(found, time, rate_given=rate is not None)
    stamps, notes = sampling.stamps, (*found.notes, *sampling.notes)
    channels = {key: values for key, values in found.channels.items() if key != sampling.name}
    units = {key: found.units[key] for key in channels}
    if stamps is not None:
        # A MATLAB workspace has other vectors besides; a file whose signals all differ from time is at fault.
        fitting = {key: values for key, values in channels.items() if values.size == stamps.size}
        if fitting and len(fitting) < len(channels):
            others = ", ".join(f"'{key}' ({channels[key].size})" for key in channels if key not in fitting)
            note = (
                f"left out, for they have another length than the time ({stamps.size} samples): "
                f"{others}; signals of mixed rates must be recorded again at one rate"
            )
            notes = (*notes, note)
            channels, units = fitting, {key: units[key] for key in fitting}
    rate = sampling.rate if rate is None else rate
    data = Data.from_arrays(channels, time=stamps, rate=rate, units=units, source=source)
    return Data(data.channels, data.sample_period, data.units, data.start, source, notes + data.warnings)
