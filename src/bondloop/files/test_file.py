"""A test in a TOML file: read with all faults at once, written, and made again from a run's record."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bondloop import (
    papers,
    transfer,  # noqa: F401 - their kinds
)
from bondloop.display import brief
from bondloop.engine.data import (
    FAMILIES,
    POSITIVE,
    PYTHON,
    Kind,
    Place,
    Reader,
    checked_format,
    describable,
    import_all_kinds,
    is_words,
    parsed,
    path_of,
    raise_faults,
    register,
    text_of,
    toml_text,
    types_of,
    wanted,
)
from bondloop.errors import BondloopError, InputError, unknown_name
from bondloop.files.python_file import hidden, python_kind, source_of
from bondloop.hybrid import parameters_of_file, read_test
from bondloop.integrate import structural  # noqa: F401
from bondloop.rehearsal import run_length
from bondloop.results.motions import read_ground_motion
from bondloop.signals import Recorded, Table

if TYPE_CHECKING:
    from bondloop.hybrid import Rehearsable


FORMAT = 1
"""Of test files."""


@dataclass(frozen=True)
class TestFile:
    """What a file holds.

    Attributes
    ----------
    test
        The test.
    seconds
        How long it is to run; None where the file does not say.
    """

    __test__ = False  # it is not one of pytest's

    test: Rehearsable
    seconds: float | None = None

    __repr__ = brief


def load(path: str | Path) -> Rehearsable:
    """Return the test of a TOML file.

    Parameters
    ----------
    path
        The file. Paths in it are relative to its folder. Python runs only where an entry names a Python file,
        ``structure = {model = "chain.py:chain"}``.

    Raises
    ------
    InputError
        With all faults of the file, each with its line and its path in the file.
    """
    return read(path).test


def read(path: str | Path, changes: Mapping[str, str] | None = None) -> TestFile:
    """Return all that a TOML file holds: the test, and how long it is to run.

    Parameters
    ----------
    path
        The file.
    changes
        Entries to change, by their path in the file, as text: ``{"rig.latency": "2 ms"}``. A path that is
        none of the file's is one of a parameter of the test, ``"rig.transfer.damper.damping"``.
    """
    file = Path(path)
    return load_text(text_of(file), folder=file.parent, name=str(file), changes=changes)


def load_text(
    text: str,
    folder: str | Path = ".",
    name: str = "the text",
    changes: Mapping[str, str] | None = None,
) -> TestFile:
    """Return what the text of a file holds; paths in it are relative to a folder.

    Parameters
    ----------
    text
        TOML.
    folder
        What paths in it are relative to.
    name
        What messages call it.
    changes
        As for `read`.

    Examples
    --------
    >>> load_text('rate = "fast"')
    Traceback (most recent call last):
    bondloop.errors.FaultsError: the text: 3 faults: ...
    """
    try:
        document = parsed(text)
        checked_format(document, FORMAT)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    import_all_kinds()
    reader = Reader(folder=Path(folder))
    reader.find = _Finder(reader, Path(folder))
    for key, value in (changes or {}).items():
        _change(document, key, value)
    entries = dict(document)
    seconds = entries.pop("seconds", None)
    if seconds is not None:
        seconds = reader.attempt(("seconds",), lambda: POSITIVE.check(seconds, "", "s"))
    test = read_test(reader, entries)
    raise_faults(name, text, reader.faults, changes or ())
    test.seconds = seconds
    return TestFile(test, seconds)


def _change(document: dict[str, Any], path: str, text: str) -> None:
    """Change an entry of a document, or a parameter of its test."""
    try:
        value = parsed(f"x = {text}")["x"]
    except InputError:
        value = text
    if isinstance(value, (date, time)):
        value = text
    *tables, last = path.split(".")
    table: Any = document
    kind = FAMILIES["test"].get(str(document.get("test", "HybridTest")))
    fresh = False
    for key in tables:
        kind = None if kind is None else _only_kind(kind, key)
        if kind is not None and isinstance(table, dict):
            fresh = key not in table
            table.setdefault(key, {})  # limits.force, of a file without limits
        table = table.get(key) if isinstance(table, dict) else None
    known = isinstance(table, dict) and (
        last in table
        or not tables
        or _knows(table, last)
        or (kind is not None and (kind.alone or fresh or last in kind.parameters))
    )
    if known:
        table[last] = text if _wants_text(table, kind, last) and not isinstance(value, str) else value
    else:
        document.setdefault("values", {})[path] = text


def _only_kind(kind: Kind, name: str) -> Kind | None:
    """Return the one kind that a setting of a kind can be, and need not be named: limits, an interlock."""
    kinds = wanted(types_of(kind).get(name, Any)).kinds
    return kinds[0] if len(kinds) == 1 and isinstance(kinds[0], Kind) else None


def _knows(table: Mapping[str, object], name: str) -> bool:
    """Whether what a table describes takes a setting of this name."""
    return any(name in kind.parameters for kind in _described(table))


def _described(table: Mapping[str, object]) -> list[Kind]:
    """Return the kinds that a table names."""
    kinds = [FAMILIES[f].get(v) for f, v in table.items() if f in FAMILIES and isinstance(v, str)]
    return [kind for kind in kinds if kind is not None]


def _wants_text(table: Mapping[str, object], kind: Kind | None, name: str) -> bool:
    """Whether a setting is a text and nothing else, so that 12 is one too."""
    kinds = [*_described(table), *([] if kind is None else [kind])]
    wants = [wanted(types_of(k)[name]) for k in kinds if name in k.parameters]
    return any(want.scalars == {str} and not (want.anything or want.kinds) for want in wants)


class _Finder:
    """Looks for kinds in ready-made tests, which are imported when they are first asked for, and in files."""

    def __init__(self, reader: Reader, folder: Path) -> None:
        self.reader, self.folder = reader, folder

    def __call__(self, family: str, name: str, place: Place) -> Kind | None:
        if ".py:" in name:
            try:
                return python_kind(family, name, self.folder)
            except BondloopError as error:
                self.reader.fault(place, str(error))
                return None
        for entry in papers.entries():
            module = entry.load()
            if family == "test" and entry.name == name:
                return Kind("test", name, module.test)
        return FAMILIES[family].get(name)


# ---------------------------------------------------------------------- writing


def to_toml(test: Rehearsable, path: str | Path | None = None, *, seconds: float | str | None = None) -> str:
    """Return a test as the text of a TOML file, and write it if there is a path.

    Parameters
    ----------
    test
        The test.
    path
        Where to write it; Python files are named relative to its folder, or to the working folder.
    seconds
        How long it is to run, in s or as text, ``"2 min"``; by default what the file said that the test was
        read from, if it was.

    Raises
    ------
    InputError
        If parts of the test are Python objects that have no description; all of them are named.
    """
    folder = Path.cwd() if path is None else Path(path).resolve().parent
    description = test.describe()
    faults: list[str] = []
    document = _writable(description, (), folder, faults)
    if faults:
        remedy = (
            "write a function that makes this part in a Python file, and name it in the test file: "
            'structure = {model = "chain.py:chain"}'
        )
        words = [f"{test.arguments['name']} cannot be written to a file:", *faults, remedy]
        raise InputError("\n  ".join(words))
    length = test.seconds if seconds is None else run_length(seconds)
    if length is not None:
        document = {
            "test": document.pop("test"),
            "name": document.pop("name"),
            "seconds": length,
            **document,
        }
    text = toml_text({"format": FORMAT, **document})
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{test.arguments['name']!a} cannot be written to a file: {error.object[error.start]!a} is no "
            "character of a text"
        ) from None
    if path is not None:
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror or error}") from None
    return text


def _writable(value: object, place: Place, folder: Path, faults: list[str]) -> Any:
    """Return a description with files named relative to a folder; note what cannot be written."""
    if isinstance(value, list):
        return [_writable(item, (*place, i), folder, faults) for i, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    if is_words(value):
        faults.append(f"{path_of(place)}: it is {value[PYTHON]}")
        return {}
    entries = {key: _writable(v, (*place, key), folder, faults) for key, v in value.items()}
    head = next(iter(entries), "")
    if head in FAMILIES and isinstance(entries[head], str):
        try:
            entries[head] = _named(head, entries[head], folder)
        except InputError as error:
            faults.append(f"{path_of(place)}: {error}")
    return entries


def _named(family: str, name: str, folder: Path) -> str:
    """Return the name of a kind as a file can find it."""
    kind = FAMILIES[family].get(name)
    full = name if ".py:" in name or kind is None else source_of(kind) or name
    file, colon, word = full.rpartition(".py:")
    if not colon:
        return name
    if "<locals>" in word:
        raise hidden(word.rpartition(".")[2])
    return f"{Path(os.path.relpath(f'{file}.py', folder)).as_posix()}:{word}"


@describable("signal", "ground-motion", remembered=False)
def ground_motion(  # noqa: PLR0913, PLR0917 - what is in the file, what is taken of it, and how
    path: str | Path,
    motion: str = "acceleration",
    baseline: str = "none",
    corner: float | str = 0.1,
    scale: float = 1.0,
    peak: float | str | None = None,
    unit: str | None = None,
    channel: int | str | None = None,
    time_unit: str | None = None,
) -> Recorded:
    """Return a motion of the ground from a file: AT2, COSMOS, ESM, MATLAB or columns of text.

    Parameters
    ----------
    path
        The file.
    motion
        ``"acceleration"``, ``"velocity"`` or ``"displacement"``.
    baseline, corner
        How its baseline is corrected: ``"none"``, ``"constant"``, ``"linear"``, or ``"high-pass"`` with a
        corner in Hz.
    scale
        What it is multiplied by; or
    peak
        the peak acceleration to scale it to, in m/s² or as text.
    unit, channel, time_unit
        As for `bondloop.results.read_ground_motion`.
    """
    record = read_ground_motion(path, unit, channel=channel, time_unit=time_unit)
    record = record.corrected(baseline, corner).scaled(scale)
    record = record if peak is None else record.scaled(peak=peak)
    known = {
        "acceleration": record.acceleration,
        "velocity": record.velocity,
        "displacement": record.displacement,
    }
    if motion not in known:
        raise InputError(unknown_name("motion", motion, known))
    return known[motion]()


register(Kind("signal", "file", Table.from_file))


def recorded_test(description: Mapping[str, object]) -> Rehearsable:
    """Return the test that a run's record describes, with the values that were in force.

    No Python file is run, whatever the description names: a run file may be a stranger's.

    Parameters
    ----------
    description
        Of the record: ``run.record.description``.

    Raises
    ------
    InputError
        If it cannot be made from the description alone; what is missing is named.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_three_mass
    >>> test = gawthrop_three_mass.test()
    >>> recorded_test(test.run(0.1).record.description) == test
    True
    """
    import_all_kinds()
    for entry in papers.entries():  # what they are made of is known once they are loaded
        entry.load()
    reader = Reader(folder=Path())
    reader.find = _refusing_files(reader)
    kind = FAMILIES["test"].get(str(description.get("test", "HybridTest")))
    if kind is None:
        raise InputError(f"unknown kind of test {description.get('test')!r}")
    known = parameters_of_file(kind)
    entries = {k: v for k, v in description.items() if k in known or k in ("test", "structure", "cut")}
    test = read_test(reader, entries)
    reader.raise_faults()
    made: Rehearsable = _as_it_ran(test, description.get("parameters"))
    return made


def _refusing_files(reader: Reader) -> Callable[[str, str, Place], Kind | None]:
    def find(family: str, name: str, place: Place) -> Kind | None:
        if ".py:" in name:
            reader.fault(place, f"'{name}' is in a Python file, which is not run for a file of results")
            return None
        return FAMILIES[family].get(name)

    return find


def _as_it_ran(test: Any, values: object) -> Any:
    """Return the test with the values of its parameters that were in force, where they differ."""
    if not isinstance(values, Mapping):
        return test
    own = test.parameters
    other = {k: v for k, v in values.items() if k in own and v is not None and v != own[k]}
    if not other:
        return test
    try:
        return test.with_values(other)
    except (BondloopError, AttributeError) as error:
        raise InputError(f"its values cannot be set again: {error}") from None
