"""The laboratory's channels in a TOML file: read with all faults at once, each with its line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bondloop.engine.data import FAILED, Place, Reader, checked_format, parsed, raise_faults, text_of
from bondloop.errors import BondloopError, InputError
from bondloop.files.channel_checks import (
    check_channel,
    check_feedback,
    check_lines,
    check_nidaqmx,
    check_zeroings,
    plain_place,
    word_fault,
)
from bondloop.files.channel_entries import FILE, plain_unit
from bondloop.files.packet_entries import read_packet
from bondloop.realtime.channels import (
    Calibration,
    Channels,
    ControllerFault,
    LabChannel,
    Zeroing,
    faults_against,
    type_range,
)
from bondloop.units import quantity, unit_in

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest


def read_channels(path: str | Path, test: HybridTest | None = None) -> Channels:
    """Return the laboratory's channels of a TOML file.

    Parameters
    ----------
    path
        The file.
    test
        A test whose signals must have channels that fit.

    Raises
    ------
    InputError
        With all faults of the file, each with its line.
    """
    return read_channels_text(channels_text(path), str(path), test)


def channels_text(path: str | Path) -> str:
    """Return the text of a channels file.

    Parameters
    ----------
    path
        The file.
    """
    return text_of(path, 2**22)


def read_channels_text(text: str, name: str = "the text", test: HybridTest | None = None) -> Channels:
    """Return the laboratory's channels of a text.

    Parameters
    ----------
    text
        TOML.
    name
        What messages call it.
    test
        A test whose signals must have channels that fit.

    Examples
    --------
    >>> lab = read_channels_text('''
    ... [[channel]]
    ... name = "command"
    ... direction = "output"
    ... unit = "mm"
    ... channel = 0
    ... gain = "5 mm/V"
    ... range = ["-10 V", "10 V"]
    ... ''')
    >>> lab["command"].raw_of(0.02), lab["command"].reach
    (4.0, (-0.05, 0.05))
    """
    try:
        document = parsed(text)
        checked_format(document)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    reader = Reader()
    file = _FileReader(reader)
    lab = file.read(document, text)
    if test is not None:
        for channel, words in faults_against(lab, test, None if FAILED in file.unread else file.unread):
            reader.fault(file.places.get(channel, ()), words)
    raise_faults(name, text, reader.faults)
    return lab


class _FileReader:
    """Reads a document, entry by entry."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.places: dict[str, Place] = {}
        self.unread: set[Any] = set()  # names of channels that are there, but wrong; FAILED: of some without

    def read(self, document: Mapping[str, object], text: str) -> Channels:
        entries = FILE.read(self.reader, document)
        rows = _rows(entries, "channel")
        placed = [(place, c) for place, row in rows if (c := self._channel(row, place)) is not None]
        channels = [c for _, c in placed]
        self._duplicates(rows)
        lines, listed, packet = (_table(entries, word) for word in ("lines", "preflight", "packet"))
        items = listed.get("items", FAILED)
        found = [(p, f) for p, row in _rows(entries, "fault") if (f := self._fault(row, p))]
        faults = [f for _, f in found]
        zeroings = [
            (place, Zeroing(**{**row, "undo": row.get("undo", False)}))
            for place, row in _rows(entries, "zeroing")
            if len([v for v in row.values() if v is not FAILED]) >= 5
        ]
        check_feedback(self.reader, placed, rows)
        sound = {k: v for k, v in lines.items() if v is not FAILED}
        check_lines(self.reader, sound, found, packets="packet" in entries)
        if str(entries.get("link")).strip().lower().startswith("nidaqmx:"):
            check_nidaqmx(self.reader, rows, sound, found)
        check_zeroings(self.reader, zeroings, rows)
        layout = read_packet(self.reader, packet, placed, faults)
        self.places = {c.name: place for place, c in placed}
        self.unread = {row.get("name", FAILED) for _, row in rows} - self.places.keys()
        if not channels and not self.reader.faults:
            self.reader.fault((), "expected a [[channel]] at least; found none")
        return Channels(
            tuple(channels),
            link=entries.get("link", ""),
            faults=tuple(faults),
            packet=layout,
            zeroings=tuple(z for _, z in zeroings),
            preflight=() if items is FAILED else tuple(items),
            text=text,
            **{word: str(lines.get(word, "")) for word in ("stop", "beat", "enable")},
        )

    def _duplicates(self, rows: Sequence[tuple[Place, Mapping[str, object]]]) -> None:
        """Names are there once; so are physical channels, each way."""
        names: dict[object, Place] = {}
        places: dict[tuple[bool, str], Place] = {}
        for place, row in rows:
            if isinstance(row.get("name"), str) and names.setdefault(row["name"], place) != place:
                self.reader.fault(
                    (*place, "name"), f"the name '{row['name']}' stands there twice; found it before"
                )
            way = row.get("direction") == "output"
            if (
                row.get("channel", FAILED) is not FAILED
                and places.setdefault((way, plain_place(str(row["channel"]))), place) != place
            ):
                kind = "output" if way else "input"
                self.reader.fault(
                    (*place, "channel"), f"{kind} {row['channel']} stands there twice; one signal each"
                )

    def _channel(self, row: dict[str, Any], place: Place) -> LabChannel | None:
        """Return a channel; None where too much is wrong with it."""
        needed = [row.get(word, FAILED) for word in ("name", "direction", "unit", "channel")]
        if any(value is FAILED for value in (*needed, *row.values())):
            return None
        before = len(self.reader.faults)
        is_output = row["direction"] == "output"
        unit, raw = plain_unit(row["unit"]), plain_unit(row.get("raw", "V" if "type" not in row else "1"))
        inside = _Numbers(self.reader, place, row)
        calibration = self._calibration(row, place, unit, raw)
        ends = type_range(row["type"]) if "type" in row else (-math.inf, math.inf)
        low, high = inside.pair("range", raw, ends)
        if calibration is not None and calibration.points:
            low, high = max(low, calibration.points[0]), min(high, calibration.points[-1])
            if not low < high:
                self.reader.fault((*place, "range"), "expected one within the raw values of the table")
        least, most = inside.pair("limits", unit, (-math.inf, math.inf))
        values = {
            "zero": inside.number("zero", unit),
            "filter": inside.number("filter", "Hz", least=0.0),
            "rate": inside.number("rate", f"({unit})/s" if unit else "1/s", least=0.0, more=True),
            "rest": inside.number("rest", unit),
        }
        for word in ("limits", "rate", "rest", "feedback") if not is_output else ("filter",):
            if word in row:
                kind = "an output" if not is_output else "an input"
                self.reader.fault((*place, word), f"only {kind} has this entry")
        if calibration is None or len(self.reader.faults) > before:
            return None
        made = LabChannel(
            row["name"], row["direction"], unit, raw, str(row["channel"]), calibration, row.get("type", ""),
            low=low, high=high, least=least, most=most, feedback=row.get("feedback", ""),
            note=row.get("note", ""), **values,
        )  # fmt: skip
        return made if check_channel(self.reader, made, place) else None

    def _calibration(self, row: dict[str, Any], place: Place, unit: str, raw: str) -> Calibration | None:
        ways = [word for word in ("gain", "polynomial", "table") if word in row]
        if len(ways) != 1 or ("offset" in row and ways != ["gain"]):
            found = ", ".join(word for word in ("gain", "offset", "polynomial", "table") if word in row)
            words = "expected one of gain (with an offset or without), polynomial or table; found "
            self.reader.fault(place, words + (found or "none"))
            return None
        inside = _Numbers(self.reader, place, row)
        per, one = f"({unit or '1'})/({raw})" if raw else unit, _si_factor(unit)
        before = len(self.reader.faults)
        values: list[float]
        points: list[float] = []
        if ways == ["gain"]:
            values = [inside.number("offset", unit), inside.number("gain", per if unit else f"1/({raw})")]
        elif ways == ["polynomial"]:
            values = [c * one / _si_factor(raw) ** k for k, c in enumerate(inside.numbers("polynomial"))]
        else:
            pairs = inside.pairs("table")
            points, values = [p * _si_factor(raw) for p, _ in pairs], [v * one for _, v in pairs]
        if len(self.reader.faults) > before:
            return None
        try:
            return Calibration(tuple(values), tuple(points))
        except BondloopError as error:
            self.reader.fault((*place, ways[0]), str(error))
            return None

    def _fault(self, row: dict[str, Any], place: Place) -> ControllerFault | None:
        if any(row.get(word, FAILED) is FAILED for word in ("channel", "words")) or FAILED in row.values():
            return None
        if "type" in row and row["type"].startswith("float"):
            self.reader.fault((*place, "type"), "a word of faults is of a whole type; found " + row["type"])
            return None
        if (
            not 1 <= row.get("code", 1) <= 10_000
            or not 0 <= row.get("bit", 0) <= 31
            or row.get("active", 1) not in (0, 1)
        ):
            self.reader.fault(place, "expected a code from 1 to 10,000, a bit from 0 to 31, active 0 or 1")
            return None
        words = word_fault(row)
        if words:
            self.reader.fault(place, words)
            return None
        if "type" not in row:  # a line is a word of one bit
            row = {**row, "bit": 0}
        if len(row["words"].encode()) > 100:
            self.reader.fault((*place, "words"), "at most 100 bytes")
            return None
        return ControllerFault(**{**row, "channel": str(row["channel"])})


def _rows(entries: Mapping[str, Any], key: str) -> list[tuple[Place, dict[str, Any]]]:
    """Return the tables of a list, with their places, but for those that are none."""
    rows = entries.get(key, [])
    return [] if rows is FAILED else [((key, i), row) for i, row in enumerate(rows) if row is not FAILED]


def _table(entries: Mapping[str, Any], key: str) -> dict[str, Any]:
    table: Any = entries.get(key, FAILED)
    return {} if table is FAILED else table


def _si_factor(unit: str) -> float:
    return quantity(f"1 {unit}") if unit else 1.0


def _in_si(value: object, unit: str) -> float:
    """Return a number in SI units; a plain one is in `unit`, a text may say its own."""
    if isinstance(value, str):
        return quantity(value, unit or "1") if unit_in(value) else quantity(f"{value} {unit}")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"expected a number, or a text with a unit; found {value!r:.40}")
    return quantity(f"{float(value)!r} {unit}")


class _Numbers:
    """Numbers of one channel: plain ones are in its own units, texts say theirs."""

    def __init__(self, reader: Reader, place: Place, row: Mapping[str, Any]) -> None:
        self.reader, self.place, self.row = reader, place, row

    def one(self, value: object, unit: str, place: Place) -> float:
        try:
            return _in_si(value, unit)
        except (InputError, OverflowError) as error:
            self.reader.fault(place, str(error))
            return 0.0

    def number(self, word: str, unit: str, least: float = -math.inf, *, more: bool = False) -> float:
        if word not in self.row:
            return 0.0
        value = self.one(self.row[word], unit, (*self.place, word))
        if value < least or (more and value == least):
            wanted = f"more than {least:g}" if more else f"{least:g} or more"
            self.reader.fault((*self.place, word), f"expected {wanted}; found {self.row[word]}")
        return value

    def pair(self, word: str, unit: str, otherwise: tuple[float, float]) -> tuple[float, float]:
        if word not in self.row:
            return otherwise
        value = self.row[word]
        if not isinstance(value, list) or len(value) != 2:
            self.reader.fault((*self.place, word), "expected a list of two numbers, the lesser one first")
            return otherwise
        before = len(self.reader.faults)
        low, high = (self.one(v, unit, (*self.place, word, i)) for i, v in enumerate(value))
        if len(self.reader.faults) > before:
            return otherwise
        if not low < high:
            words = f"expected the lesser one first; found {value[0]} and {value[1]}"
            self.reader.fault((*self.place, word), words)
            return otherwise
        return low, high

    def numbers(self, word: str) -> list[float]:
        value = self.row[word]
        if not isinstance(value, list):
            self.reader.fault((*self.place, word), "expected a list of numbers")
            return []
        return [self.one(v, "", (*self.place, word, i)) for i, v in enumerate(value)]

    def pairs(self, word: str) -> list[tuple[float, float]]:
        value = self.row[word]
        if not isinstance(value, list) or any(not isinstance(p, list) or len(p) != 2 for p in value):
            self.reader.fault((*self.place, word), "expected a list of points, [raw value, value] each")
            return []
        where = (*self.place, word)
        return [
            (self.one(a, "", (*where, i, 0)), self.one(b, "", (*where, i, 1)))
            for i, (a, b) in enumerate(value)
        ]


def channels_schema() -> dict[str, Any]:
    """Return the schema of channels files (JSON Schema, draft 2020-12).

    >>> channels_schema()["title"]
    'bondloop channels'
    """
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "bondloop channels"}
    return {**FILE.schema, **head}
