"""The laboratory's channels in a TOML file: read with all faults at once, checked, and zeros set in it."""

from __future__ import annotations

import datetime as dt
import math
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bondloop.engine.data import FAILED, Place, Reader, checked_format, parsed, raise_faults, text_of
from bondloop.errors import BondloopError, InputError
from bondloop.files.channel_entries import FILE, plain_unit, read_packet
from bondloop.realtime.channels import (
    Calibration,
    Channels,
    ControllerFault,
    LabChannel,
    Zeroing,
    factor_of,
    faults_against,
    shown_number,
    size_of,
    type_range,
)
from bondloop.units import is_of_kind, quantity, unit_in

if TYPE_CHECKING:
    from bondloop.engine.data import Place
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
        per, one = f"({unit or '1'})/({raw})" if raw else unit, factor_of(unit)
        before = len(self.reader.faults)
        values: list[float]
        points: list[float] = []
        if ways == ["gain"]:
            values = [inside.number("offset", unit), inside.number("gain", per if unit else f"1/({raw})")]
        elif ways == ["polynomial"]:
            values = [c * one / factor_of(raw) ** k for k, c in enumerate(inside.numbers("polynomial"))]
        else:
            pairs = inside.pairs("table")
            points, values = [p * factor_of(raw) for p, _ in pairs], [v * one for _, v in pairs]
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


_NI_LINE = re.compile(r".+/line\d+", re.IGNORECASE | re.ASCII)


def check_channel(reader: Reader, c: LabChannel, place: Place) -> bool:
    """Note where a calibration does not go one way, or numbers cannot be; True if all is well."""
    before = len(reader.faults)
    if not _goes_one_way(reader, c, place):
        return False
    if c.direction == "output":
        _check_output(reader, c, place)
    if len(reader.faults) == before and not _resolves(c):
        words = "gain, offset and zero leave no number for what is read or given: too small, or too large"
        reader.fault(place, words)
    return len(reader.faults) == before


def _goes_one_way(reader: Reader, c: LabChannel, place: Place) -> bool:
    straight = c.calibration.points or len(c.calibration.values) <= 2
    if not straight and not (math.isfinite(c.low) and math.isfinite(c.high)):
        reader.fault(place, "a polynomial needs a range: between which raw values does it hold?")
        return False
    turn = c.calibration.turn(c.low, c.high)
    if turn is None:
        return True
    raw = factor_of(c.raw)
    if c.calibration.points:
        first, then = (c.calibration.values[c.calibration.points.index(p)] for p in turn)
        where = (
            f"from the raw value {turn[0] / raw:g} to {turn[1] / raw:g} it goes from "
            f"{shown_number(first, c.unit)} to {shown_number(then, c.unit)}"
        )
    else:
        where = f"it turns, or stands, at the raw value {shown_number(turn[0], c.raw)}"
    words = f"the calibration must rise, or fall, through all of its range: {where}"
    word = "table" if c.calibration.points else "gain" if c.calibration.is_linear else "polynomial"
    reader.fault((*place, word), words)
    return False


def _check_output(reader: Reader, c: LabChannel, place: Place) -> None:
    if math.isnan(c.raw_of(c.rest)):
        words = f"rest, {shown_number(c.rest, c.unit)}, is beyond limits or range"
        reader.fault((*place, "rest"), words)
        return
    raw = factor_of(c.raw)
    for word, end in (("lower", c.least), ("upper", c.most)):
        if math.isfinite(end) and math.isnan(c.raw_of(end)):
            span = f"{c.low / raw:g} to {shown_number(c.high, c.raw)}"
            words = f"the {word} limit needs a raw value beyond the range, {span}"
            reader.fault((*place, "limits"), words)
            return


def _resolves(c: LabChannel) -> bool:
    """Whether different values have different raw ones, and all of them are finite."""
    if c.direction == "output":
        wide = math.isfinite(c.least) and math.isfinite(c.most)
        ends = (c.least, c.most) if wide else (c.rest, c.rest + factor_of(c.unit))
        found = [c.raw_of(x) for x in ends]
        found = [x for x in found if wide or not math.isnan(x)]  # a unit more may be beyond the range
    else:
        found = [c.value(min(max(raw, c.low), c.high)) for raw in (c.low, c.high, 0.0, 1.0) if _is_usual(raw)]
    return all(map(math.isfinite, found)) and (len(found) < 2 or len(set(found)) > 1)


def _is_usual(raw: float) -> bool:
    return abs(raw) < 1e30


def check_feedback(
    reader: Reader,
    placed: Sequence[tuple[Place, LabChannel]],
    rows: Sequence[tuple[Place, Mapping[str, object]]],
) -> None:
    """Note feedbacks that are no input, or show something of another kind than the output."""
    read = {row.get("name"): row.get("unit") for _, row in rows if row.get("direction") != "output"}
    for place, c in placed:
        if c.feedback and c.feedback not in read:
            reader.fault((*place, "feedback"), f"no input is called '{c.feedback}'")
        elif c.feedback and isinstance(unit := read[c.feedback], str) and not _same_kind(c.unit, unit):
            words = f"'{c.feedback}' is in {unit or '1'}, and cannot show where an output in {c.unit} stands"
            reader.fault((*place, "feedback"), words)


def _same_kind(one: str, other: str) -> bool:
    one, other = plain_unit(one), plain_unit(other)
    return is_of_kind(f"1 {one}", other) if one and other else one == other


def check_lines(
    reader: Reader,
    lines: Mapping[str, object],
    faults: Sequence[tuple[Place, ControllerFault]],
    *,
    packets: bool,
) -> None:
    """Note lines that have two meanings, and lines where there are packets: nobody would read those."""
    for word in lines if packets else ():
        field = {"stop": "stop", "beat": "enable", "enable": "enable"}[word]
        way = "receive" if word == "stop" else "send"
        words = (
            f'a controller of packets has no lines: expected a field of packet.{way}, {{is = "{field}", ...}}'
        )
        reader.fault(("lines", word), words)
    taken: dict[tuple[str, str], str] = {}
    said = [
        (("lines", word), str(at), word)
        for word in ("stop", "beat", "enable")
        if (at := lines.get(word)) is not None
    ]
    places: list[tuple[Place, str, str]] = [*said]
    for place, f in faults:
        at = f.channel if not f.type else f"{f.channel} {f.type}, bit {'any' if f.bit is None else f.bit}"
        places.append(((*place, "channel"), at, f"the fault '{f.words}'"))
    for where, line, what in places:
        # The bus has an image each way; lines of boards are there once.
        way = "out" if ":" in line and what in ("beat", "enable") else ""
        first = taken.setdefault((way, plain_place(line)), what)
        if first != what:
            reader.fault(where, f"line {line} is {first} already: each needs a line of its own")


def check_nidaqmx(
    reader: Reader,
    rows: Sequence[tuple[Place, Mapping[str, object]]],
    lines: Mapping[str, object],
    faults: Sequence[tuple[Place, ControllerFault]],
) -> None:
    """Note what NI-DAQmx takes for several channels or lines: all behind it would be read as another."""
    for place, row in rows:
        at = row.get("channel")
        if isinstance(at, str) and (":" in at or "," in at):
            words = f"expected one channel of the board, such as Dev1/ai0; found {at:.60}, which is several"
            reader.fault((*place, "channel"), words)
    places: list[tuple[Place, object]] = [(("lines", word), at) for word, at in lines.items()]
    places += [((*place, "channel"), f.channel) for place, f in faults]
    for where, at in places:
        if not _NI_LINE.fullmatch(str(at)) or ":" in str(at) or "," in str(at):
            reader.fault(where, f"expected one line of the board, such as Dev1/port0/line3; found {at!s:.60}")


def plain_place(line: str) -> str:
    """Return a channel or a line as it is compared: 00 is 0."""
    text = line.strip().lower()
    return str(int(text)) if text.isascii() and text.isdigit() else text


def word_fault(row: Mapping[str, Any]) -> str:
    """Return what a fault says of a word that cannot be: it would never be seen, or always."""
    bit = row.get("bit")
    if "type" not in row:
        return (
            "" if bit is None else "a bit is one of a word: say the word's type, or leave bit out of a line"
        )
    if bit is not None and bit >= 8 * size_of(row["type"]):
        return f"{row['type']} has the bits 0 to {8 * size_of(row['type']) - 1}; found {bit}"
    if bit is None and ("code" in row or row.get("active", 1) == 0):
        return (
            "without a bit any word but 0 is the fault, and its code; say a bit, or neither code nor active"
        )
    return ""


def check_zeroings(
    reader: Reader,
    zeroings: Sequence[tuple[Place, Zeroing]],
    rows: Sequence[tuple[Place, Mapping[str, object]]],
) -> None:
    """Note zeros of channels that are not there."""
    names = [row.get("name") for _, row in rows]
    for place, z in zeroings:
        if z.channel not in names:
            words = f"no channel is called '{z.channel}'; was it renamed? Then rename it here, too"
            reader.fault((*place, "channel"), words)


def zero_in_unit(lab: Channels, name: str) -> float:
    """Return the zero of a channel in the channel's own unit.

    Parameters
    ----------
    lab
        The channels.
    name
        Of the channel.
    """
    channel = lab[name]
    return channel.zero / (quantity(f"1 {channel.unit}") if channel.unit else 1.0)


def set_zero(
    path: str | Path,
    name: str,
    after: float,
    operator: str,
    *,
    undo: bool = False,
    now: dt.datetime | None = None,
) -> Zeroing:
    """Set the zero of a channel in its file, and note it there.

    Parameters
    ----------
    path
        The channels file; everything else in it stays as it is, comments too.
    name
        Of the channel.
    after
        Its new zero, in its unit.
    operator
        Who sets it.
    undo
        Whether that takes back the one before.
    now
        When; the clock's time if not given.
    """
    file = Path(path)
    text = channels_text(file)
    lab = read_channels_text(text, str(file))
    if not operator.strip():
        raise InputError("a zero is set by somebody: --operator NAME")
    lab[name]
    when = (now or dt.datetime.now().astimezone()).isoformat(timespec="seconds")
    note = Zeroing(name, zero_in_unit(lab, name), float(after), when, operator.strip(), undo)
    changed = _with_zero(text, note)
    found = read_channels_text(changed, str(file))
    if abs(zero_in_unit(found, name) - note.after) > 1e-9 * (1e-300 + abs(note.after)):
        raise InputError(f"{file}: the zero of '{name}' cannot be changed in place; write it by hand")
    _replace(file, changed)
    return note


def undo_zero(path: str | Path, name: str, operator: str) -> Zeroing:
    """Take back the last zero that was set and has not been taken back.

    Parameters
    ----------
    path
        The channels file.
    name
        Of the channel.
    operator
        Who takes it back.
    """
    lab = read_channels_text(channels_text(path), str(path))
    standing: list[Zeroing] = []
    for zeroing in lab.zeroings:
        if zeroing.channel != name:
            continue
        if not zeroing.undo:
            standing.append(zeroing)
        elif standing:
            standing.pop()
    if not standing:
        lab[name]
        raise InputError(f"no zero of '{name}' is noted in {path} that could be taken back")
    return set_zero(path, name, standing[-1].before, operator, undo=True)


def _with_zero(text: str, note: Zeroing) -> str:
    """Return the text of a channels file with another zero, which is noted at its end."""
    import tomlkit

    document: Any = tomlkit.parse(text)
    channel = next(row for row in document["channel"] if row["name"] == note.channel)
    channel["zero"] = note.after
    entry = tomlkit.table()
    for key, value in asdict(note).items():
        if key != "undo" or value:
            entry.add(key, value)
    rows = document.setdefault("zeroing", tomlkit.aot())
    rows.append(entry)
    written = tomlkit.dumps(document)
    head, header, tail = written.rpartition("[[zeroing]]")
    written = f"{head.rstrip()}\n\n{header}{tail}"
    return re.sub(r"\r?\n", "\r\n", written) if "\r\n" in text else written


def _replace(file: Path, text: str) -> None:
    """Write a file whole or not at all."""
    target = file.resolve()
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="", dir=target.parent, prefix=f".{target.name}-", delete=False
        ) as scratch:
            scratch.write(text)
        Path(scratch.name).chmod(target.stat().st_mode & 0o777)
        Path(scratch.name).replace(target)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror or error}") from None
