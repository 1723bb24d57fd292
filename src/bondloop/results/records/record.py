"""A run: time, channels with their units, and the full description of the test that made them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.data import ATOMS, instant, is_row
from bondloop.engine.ir import Meaning, Role, channels_of
from bondloop.errors import InputError, unknown_name
from bondloop.readers import refuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.results.records.columns import Content

EVEN_TIME = 0.01
"""How far, in sample periods, a time may stand from an even grid before a record has no one period. Times
of a recorder jitter by some microseconds of a millisecond; a missing sample is off by a whole period."""


class _OnDemand:
    """A mapping, or a function that gives one: it is made when it is first looked at.

    The description of a test takes longer than a short run of it, and few runs of a study are ever saved.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, record: object, owner: type | None = None) -> Any:
        if record is None:
            return dict  # the default of the field: an empty mapping
        value = record.__dict__[self.name]
        if callable(value):
            value = record.__dict__[self.name] = _plain(self.name, value())
        return value

    def __set__(
        self, record: object, value: Mapping[str, object] | Callable[[], Mapping[str, object]]
    ) -> None:
        record.__dict__[self.name] = value if callable(value) else _plain(self.name, value)


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """What one run left behind.

    Parameters
    ----------
    time
        Sample times [s], finite and increasing, shape (n,).
    channels
        Signals by path name, each of shape (n,). NaN and infinities are kept: a diverged run is a record too.
    units
        Unit of each channel as text (``"m/s"``); a channel without one is dimensionless.
    description
        The full description of the test, enough to run it again: anything JSON can say, or a function that
        returns it, called when it is first looked at. NumPy numbers and arrays become numbers and lists.
    attributes
        ``status`` (``"completed"``, ``"diverged"`` or ``"stopped"``), ``message``, ``seeds``, ``versions``,
        ``created`` (ISO time), ``backend``, ``wall_seconds`` and what else is known of the run; JSON as well.
    meanings
        What each channel is (role, kind, interface), as far as that is known.

    Notes
    -----
    Arrays are kept as read-only views: a record does not change after the run. Nothing is copied.

    As in a table of pandas, ``[]``, ``in`` and iteration go by the names of channels, and the length is the
    number of samples.

    Examples
    --------
    >>> time = np.arange(5) * 0.25
    >>> run = Record(time, {"m3.v.flow": np.sin(time)}, {"m3.v.flow": "m/s"})
    >>> run.sample_period, len(run), run.units["m3.v.flow"]
    (0.25, 5, 'm/s')
    >>> list(run), "m3.v.flow" in run
    (['m3.v.flow'], True)
    >>> run["m3.v.flo"]
    Traceback (most recent call last):
    bondloop.errors.InputError: unknown channel 'm3.v.flo' of the record; did you mean 'm3.v.flow'? ...
    >>> len(run.between(0.25, 0.75))
    3
    """

    time: NDArray[np.float64]
    channels: Mapping[str, NDArray[np.float64]]
    units: Mapping[str, str] = field(default_factory=dict)
    description: _OnDemand = _OnDemand()
    attributes: dict[str, Any] = field(default_factory=dict)
    meanings: Mapping[str, Meaning] = field(default_factory=dict)

    def __post_init__(self) -> None:
        faults: list[str] = []
        time = _samples("time", self.time, None, faults)
        if time is not None:
            if not np.isfinite(time).all():
                faults.append("time has values that are not finite")
            elif (back := time[1:] <= time[:-1]).any():
                at = int(np.argmax(back)) + 1
                faults.append(
                    f"time does not increase at sample {at} ({time[at - 1]:g} s, then {time[at]:g} s)"
                )
        size = None if time is None else time.size
        channels: dict[str, NDArray[np.float64]] = {}
        for name, values in self.channels.items():
            faults += _name_faults(name)
            array = _samples(f"channel '{name}'", values, size, faults)
            if array is not None:
                channels[name] = array
        units = dict.fromkeys(self.channels, "") | {name: str(unit) for name, unit in self.units.items()}
        for name, unit in units.items():
            if name not in self.channels:
                faults.append(unknown_name("channel", name, self.channels, where="units"))
            elif not _printable(unit) or "[" in unit or "]" in unit:
                faults.append(f"unit {unit!r} of channel '{name}' has brackets or unprintable characters")
        meanings = dict.fromkeys(self.channels, Meaning()) | dict(self.meanings)
        faults += [
            unknown_name("channel", name, self.channels, where="meanings")
            for name in meanings
            if name not in self.channels
        ]
        refuse("record", faults)
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "channels", channels)
        object.__setattr__(self, "units", units)
        object.__setattr__(self, "meanings", meanings)
        object.__setattr__(self, "attributes", _plain("attributes", self.attributes))

    def __getstate__(self) -> dict[str, object]:
        """Return everything as data, for another process."""
        return {**self.__dict__, "description": self.description}

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name not in self.channels:
            raise InputError(unknown_name("channel", name, self.channels, where="the record"))
        return self.channels[name]

    def __contains__(self, name: object) -> bool:
        return name in self.channels

    def __iter__(self) -> Iterator[str]:
        return iter(self.channels)

    def __len__(self) -> int:
        return self.time.size

    def __repr__(self) -> str:
        plural = "" if len(self.channels) == 1 else "s"
        span = f", {self.time[0]:g} to {self.time[-1]:g} s" if len(self) else ""
        status = self.attributes.get("status")
        ending = f", {status}" if status else ""
        return f"<Record: {len(self)} samples, {len(self.channels)} channel{plural}{span}{ending}>"

    @property
    def sample_period(self) -> float:
        """Seconds between samples; an `InputError` if there are fewer than two or they are uneven."""
        if len(self) < 2:
            raise InputError(f"a record of {len(self)} samples has no sample period; at least 2 are needed")
        period = float(self.time[-1] - self.time[0]) / (len(self) - 1)
        stray = np.abs(self.time - self.time[0] - period * np.arange(len(self)))
        if stray.max() > EVEN_TIME * period:
            at = int(np.argmax(stray))
            raise InputError(
                f"the samples are uneven: t = {self.time[at]:g} s stands {stray[at]:.3g} s off a grid of "
                f"{period:g} s; resample the record first"
            )
        return period

    def channels_of(self, *roles: Role, kind: str | None = None) -> list[str]:
        """Return the names of channels with one of some roles, and of a kind: ``"displacement"``.

        >>> x = np.zeros(3)
        >>> run = Record(x.cumsum() + [0, 1, 2], {"w": x}, meanings={"w": Meaning(Role.DESIRED, kind="flow")})
        >>> run.channels_of(Role.DESIRED, kind="flow"), run.channels_of(Role.ACTUAL)
        (['w'], [])
        """
        return channels_of(self.meanings, *roles, kind=kind)

    def at_interface(self, name: str, role: Role, kind: str) -> str | None:
        """Return the channel of another role or kind at the interface of a channel; None without one.

        Parameters
        ----------
        name
            Of the channel that tells the interface.
        role, kind
            What is looked for: ``Role.ACTUAL``, ``"flow"``.
        """
        interface = self.meanings[name].interface
        same = self.channels_of(role, kind=kind)
        return next((n for n in same if self.meanings[n].interface == interface), None)

    def between(self, start: float | str, end: float | str) -> Record:
        """Return the part with start <= time <= end; the arrays are views.

        Parameters
        ----------
        start, end
            Times on the record's own axis, in s or as texts, ``"50 ms"``; both are included. Infinities are
            before and after all, and nothing between them gives a record of no samples.
        """
        first = np.searchsorted(self.time, instant(start, "between(start)"), "left")
        last = np.searchsorted(self.time, instant(end, "between(end)"), "right")
        part = slice(int(first), int(last))
        channels = {name: values[part] for name, values in self.channels.items()}
        return replace(self, time=self.time[part], channels=channels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run as one file; an interrupted save leaves what stood at `path` as it was.

        Parameters
        ----------
        path
            Its ending says what is written: ``.csv``, ``.mat``, ``.parquet`` or ``.tdms`` (the last two need
            an extra), which hold time, channels and units; any other, such as ``.h5``, a run file, which
            holds everything.
        """
        from bondloop.results.records.export import writer_for

        writer_for(path)(self, path)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], channels: list[str] | None = None, *, isolated: bool = False
    ) -> Record:
        """Read a run file; a bad file reports all its faults at once.

        Parameters
        ----------
        path
            The file.
        channels
            Only these; all if not given.
        isolated
            Whether another process reads it, with bounded time and memory: for files from strangers, since
            some damaged ones make the HDF5 library crash or never end. It takes half a second more.
        """
        if not isolated:
            return read_run(path, channels)
        from bondloop.results.records.hdf5 import read_isolated

        return _record(path, read_isolated(path, channels))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write time and channels as text: one header line with names and units, every digit kept.

        Parameters
        ----------
        path
            Where to write it, replacing what is there.
        """
        from bondloop.results.records.export import write_csv

        write_csv(self, path)

    def to_mat(self, path: str | os.PathLike[str]) -> None:
        """Write a MATLAB file, with the table ``channel_names`` from MATLAB names to path names and units."""
        from bondloop.results.records.export import write_mat

        write_mat(self, path)

    def to_xarray(self) -> Any:
        """Return an ``xarray.Dataset`` over ``time``; needs ``pip install 'bondloop[xarray]'``."""
        from bondloop.results.records.export import to_dataset

        return to_dataset(self)


def read_run(
    path: str | os.PathLike[str],
    channels: list[str] | None = None,
    part: str = "/",
    rows: tuple[int, int] | None = None,
) -> Record:
    """Read a run file or a part of it; every fault of a bad one is in the one error.

    A file that is still being written, or whose writer was killed, is read as far as it is complete.

    Parameters
    ----------
    path
        The file.
    channels
        Only these; all if not given.
    part
        ``"/retreat"``: the cycles in which the executive, not the test's tick, commanded the rig.
    rows
        Only the samples from the first of these numbers to before the second, counted from 0: a long run need
        not fit into memory. All if not given.
    """
    from bondloop.results.records.hdf5 import read_content

    return _record(path, read_content(path, channels, part, rows))


def _record(path: str | os.PathLike[str], content: Content) -> Record:
    try:
        return Record(*content)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _samples(what: str, values: object, size: int | None, faults: list[str]) -> NDArray[np.float64] | None:
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "fiub":
            faults.append(f"{what} holds {given.dtype} values; real numbers are needed")
            return None
        array = np.asarray(given, dtype=np.float64).view()  # a column of a table stays one: no copy
    except (TypeError, ValueError) as error:
        faults.append(f"{what} is no array of numbers ({error})")
        return None
    if given.ndim != 1:
        faults.append(f"{what} has shape {given.shape}; one dimension is needed")
        return None
    if size is not None and array.size != size:
        faults.append(f"{what} has {array.size} samples; time has {size}")
        return None
    array.flags.writeable = False
    return array


def _name_faults(name: object) -> list[str]:
    if not isinstance(name, str):
        return [f"channel name {name!r} is no text"]
    if name in {"", ".", ".."} or name != name.strip() or "/" in name or not _printable(name):
        return [f"channel name {name!r} must be printable, without '/' and without space around it"]
    return []


def _printable(text: str) -> bool:
    return all(character.isprintable() for character in text)


def _plain(what: str, value: Mapping[str, object]) -> dict[str, Any]:
    """Return a deep copy as JSON would bring it back, so that a saved run equals the one in memory."""
    try:
        copy = _copied(value)
    except RecursionError:
        raise InputError(f"the {what} of a record holds itself, or is nested too deeply for JSON") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"the {what} of a record must be what JSON can say: {error}") from error
    if not isinstance(copy, dict):
        raise InputError(f"the {what} of a record must be a mapping; found {type(value).__name__}")
    return copy


def _copied(value: object) -> object:
    # Writing a long sampled signal as JSON and reading it takes tenths of a second: what JSON brings back as
    # it is, a row of plain numbers above all, is copied without it.
    if isinstance(value, dict) and {str}.issuperset(map(type, value)):
        return {key: _copied(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return list(value) if is_row(value) else [_copied(item) for item in value]
    return value if type(value) in ATOMS else json.loads(json.dumps(value, default=_numpy_plain))


def _numpy_plain(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} {value!r} is not JSON")
