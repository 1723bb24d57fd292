"""The table of a run file: one dataset with a column for each channel, and what the columns are beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bondloop.containers import LARGEST, dataset_checked, dataset_values, own_item
from bondloop.engine.ir import Meaning
from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import h5py
    from numpy.typing import NDArray

    from bondloop.results.records.record import Record

COMPRESSED_FROM = 65536
"""Samples from which a table is compressed, and rows of its chunks; below, half a megabyte a channel is not
worth the time."""

BLOCK_NUMBERS = 2**20
"""Numbers that are moved at once: a copy of the whole table is never made."""

MOST_COLUMNS, MOST_COLUMN_BYTES = 100_000, 2**26
"""Columns that are read, and bytes of all names, of all units or of all meanings."""


class Content(NamedTuple):
    """What a file says of a run; the fields of `Record`, not yet checked.

    Attributes
    ----------
    time, channels, units, description, attributes, meanings
        As of `Record`.
    """

    time: NDArray[np.float64]
    channels: Mapping[str, NDArray[np.float64]]
    units: Mapping[str, str]
    description: dict[str, Any]
    attributes: dict[str, Any]
    meanings: Mapping[str, Meaning]


Columns = tuple[dict[str, "NDArray[np.float64]"], dict[str, str], dict[str, Meaning]]
"""Numbers, units and meanings of channels, by name."""

EVENT_COLUMNS = {
    "time": "<f8", "time_ns": "<i8", "step": "<i8", "kind": "S16", "name": "S128", "before": "<f8",
    "value": "<f8", "who": "S32", "refused": "S96",
}  # fmt: skip
"""Of the table: seconds of the run and instant of the monotonic clock, the first tick for which it holds,
what happened to what, the value before and after, who did it, and why it was refused."""


def describe_columns(file: h5py.File, units: Mapping[str, str], meanings: Mapping[str, Meaning]) -> None:
    """Write names, units and meanings of the columns, in their order, as texts of one length.

    Parameters
    ----------
    file
        Open for writing.
    units
        Of all columns by name.
    meanings
        Of those of which something is known.
    """
    known = [json.dumps(meanings[name].describe()) if name in meanings else "" for name in units]
    for word, texts in (("names", list(units)), ("units", list(units.values())), ("meanings", known)):
        file[f"channel_{word}"] = fixed_texts(texts)


def fixed_texts(texts: Sequence[str]) -> NDArray[np.bytes_]:
    """Return texts for a dataset, all of the length of the longest.

    They lie in the dataset itself. Texts of any length lie in a heap beside it, through which the library
    searches for seconds where it is damaged.

    >>> fixed_texts(["m/s", "N"]).dtype.itemsize
    3
    """
    import h5py

    raw = [text.encode() for text in texts]
    return np.array(raw, dtype=h5py.string_dtype("utf-8", max([1, *map(len, raw)])))


def write_columns(file: h5py.File, record: Record) -> None:
    """Write the table of a finished run.

    Parameters
    ----------
    file
        Open for writing.
    record
        The run.
    """
    describe_columns(file, record.units, record.meanings)
    rows, columns = len(record), list(record.channels.values())
    shape = (rows, len(columns))
    if rows < COMPRESSED_FROM or not columns:
        table = file.create_dataset("channels", shape, "<f8")
        for some in _blocks(rows, len(columns)):
            table[some] = np.column_stack([values[some] for values in columns]) if columns else 0.0
        return
    # A chunk is a piece of one column: one channel is read alone, and like numbers compress best.
    table = file.create_dataset("channels", shape, "<f8", **options_for(rows, 1))
    for number, values in enumerate(columns):
        for first in range(0, rows, COMPRESSED_FROM):
            some = slice(first, first + COMPRESSED_FROM)
            table[some, number] = values[some]


def options_for(rows: int, *width: int) -> dict[str, object]:
    """Return how a dataset of so many rows is kept in the file of a finished run.

    Parameters
    ----------
    rows
        Of the dataset.
    *width
        Columns of a chunk, where it has columns.
    """
    if rows < COMPRESSED_FROM:
        return {}
    chunks = (COMPRESSED_FROM, *width)
    # gzip 1 with shuffle: smaller than lzf and about as fast; and MATLAB can read it, unlike lzf.
    return {"chunks": chunks, "shuffle": True, "compression": "gzip", "compression_opts": 1}


def _blocks(rows: int, width: int, multiple: int = 1) -> Iterator[slice]:
    step = max(1, BLOCK_NUMBERS // max(width, 1) // multiple) * multiple
    yield from (slice(first, min(first + step, rows)) for first in range(0, rows, step))


def read_columns(
    file: h5py.File,
    base: h5py.Group,
    closed: bool,
    size: int | None,
    wanted: Sequence[str] | None,
    faults: list[str],
    first: int = 0,
) -> Columns:
    """Return numbers, units and meanings of channels; what is wrong with them is added to the faults.

    Parameters
    ----------
    file, base
        An open run file, and the part of it that is read.
    closed
        Whether the table has no rows beyond those of time, as it may while it grows.
    size
        How many samples are read; None where that is not known.
    wanted
        Names; all if not given.
    faults
        To which is added.
    first
        Sample from which on they are read.
    """
    nothing: Columns = ({}, {}, {})
    before = len(faults)
    names, units, known = (_texts(file, f"channel_{w}", faults) for w in ("names", "units", "meanings"))
    table = own_item(base, "channels")
    faults += _table_faults(table, (len(names), len(units), len(known)), closed, size, first)
    place = {name: number for number, name in enumerate(names)}
    if len(place) < len(names):
        twice = next(name for number, name in enumerate(names) if place[name] != number)
        faults.append(f"the name '{twice}' stands twice in 'channel_names'")
    chosen = list(place) if wanted is None else list(dict.fromkeys(wanted))
    faults += [unknown_name("channel", name, place) for name in chosen if name not in place]
    if len(faults) > before or size is None:
        return nothing
    meanings: dict[str, Meaning] = {}
    for name in chosen:
        take_meaning(known[place[name]], name, meanings, faults)
    try:
        numbers = _numbers(table, first, size, [place[name] for name in chosen])
    except (OSError, InputError) as error:
        faults.append(f"dataset 'channels' cannot be read ({error})")
        return nothing
    return dict(zip(chosen, numbers.T, strict=True)), {n: units[place[n]] for n in chosen}, meanings


def _table_faults(
    table: object, counts: tuple[int, int, int], closed: bool, size: int | None, first: int
) -> list[str]:
    """Return what is wrong with the shape of a table of so many names, units and meanings."""
    import h5py

    if not isinstance(table, h5py.Dataset) or table.ndim != 2 or table.dtype.kind not in "fiu":
        what = f"{table.dtype} of shape {table.shape}" if isinstance(table, h5py.Dataset) else "missing"
        return [f"dataset 'channels' is {what}; a table of numbers is needed"]
    rows, columns = table.shape
    short = bool(size) and rows < first + (size or 0)
    if size is not None and counts[0] and (short or (closed and rows > size)):
        return [f"dataset 'channels' has {rows} samples; time has {first + size}"]
    if {columns} != set(counts):
        names, units, meanings = counts
        words = f"{names} names, {units} units and {meanings} meanings"
        return [f"dataset 'channels' has {columns} columns, but there are {words}"]
    return []


def _numbers(table: h5py.Dataset, begin: int, rows: int, places: Sequence[int]) -> NDArray[np.float64]:
    """Return some columns of a table, from a row on; of others as little is read as the chunks allow.

    They lie in memory as those of a rehearsal do, side by side: sums of numbers that lie otherwise can differ
    in the last digit, and what is said of a run should not depend on whether it has been in a file.
    """
    dataset_checked(table, LARGEST * max(table.shape[1], 1))
    numbers = np.empty((rows, len(places)))
    height, width = table.chunks or (1, table.shape[1])
    tiles: dict[int, list[int]] = {}
    for number, place in enumerate(places):
        tiles.setdefault(place // width, []).append(number)
    for tile in tiles.values():
        at = [places[number] for number in tile]
        first, last = min(at), max(at) + 1
        into, out_of = _slice(tile), _slice([place - first for place in at])
        for some in _blocks(rows, last - first, height):
            held = slice(begin + some.start, begin + some.stop)
            numbers[some, into] = table[held, first:last][:, out_of]
    return numbers


def _slice(numbers: list[int]) -> slice | list[int]:
    """Return numbers as a slice where they follow one another, which NumPy copies ten times faster."""
    first = numbers[0]
    whole = numbers == list(range(first, first + len(numbers)))
    return slice(first, first + len(numbers)) if whole else numbers


def _texts(file: h5py.File, name: str, faults: list[str]) -> list[str]:
    """Return a row of texts of one length."""
    import h5py

    dataset = own_item(file, name)
    if not isinstance(dataset, h5py.Dataset) or dataset.ndim != 1 or dataset.dtype.kind != "S":
        faults.append(f"no dataset '{name}', a row of texts")
        return []
    if dataset.size > MOST_COLUMNS or dataset.nbytes > MOST_COLUMN_BYTES:
        faults.append(
            f"dataset '{name}' claims {dataset.size:,} texts of {dataset.dtype.itemsize:,} bytes; at most "
            f"{MOST_COLUMNS:,}, and {MOST_COLUMN_BYTES:,} bytes, are read"
        )
        return []
    try:
        return [text.decode("utf-8", "replace") for text in dataset_values(dataset).tolist()]
    except (OSError, InputError) as error:
        faults.append(f"dataset '{name}' cannot be read ({error})")
        return []


def take_meaning(text: str | None, name: str, meanings: dict[str, Meaning], faults: list[str]) -> None:
    """Keep what a channel says of itself; those of older files say nothing.

    Parameters
    ----------
    text
        JSON; nothing or empty where nothing is known.
    name
        Of the channel.
    meanings, faults
        To which is added.
    """
    if not text:
        return
    try:
        meanings[name] = Meaning.from_description(json.loads(text))
    except (ValueError, TypeError, AttributeError, RecursionError, InputError) as error:
        faults.append(f"channel '{name}' has no readable 'meaning' ({error})")


def row_of_numbers(
    group: h5py.Group, name: str, rows: int | None, size: int | None, faults: list[str], first: int = 0
) -> NDArray[np.float64] | None:
    """Return a dataset of one dimension; None, and a fault more, where that cannot be.

    Parameters
    ----------
    group, name
        Where it is.
    rows
        How many numbers are complete; None where all are.
    size
        How many there must be; None where any number will do.
    faults
        To which is added.
    first
        Number of the first that is read.
    """
    import h5py

    dataset = own_item(group, name)
    if not isinstance(dataset, h5py.Dataset):
        faults.append(f"no dataset '{name}'")
        return None
    if dataset.ndim != 1 or dataset.dtype.kind not in "fiu":
        faults.append(
            f"dataset '{name}' is {dataset.dtype} of shape {dataset.shape}; a row of numbers is needed"
        )
        return None
    try:
        values = np.asarray(dataset_values(dataset, rows, first), dtype=np.float64)
    except (OSError, InputError) as error:
        faults.append(f"dataset '{name}' cannot be read ({error})")
        return None
    if size is not None and values.size != size:
        faults.append(f"dataset '{name}' has {values.size} samples; time has {size}")
        return None
    return values


def text_of(value: object) -> str | None:
    """Return what an attribute or a dataset says, if it is text.

    >>> text_of(b"m/s"), text_of("m/s"), text_of(3)
    ('m/s', 'm/s', None)
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else None
