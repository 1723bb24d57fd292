"""What a channels file must not say, though each entry of it is sound by itself."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bondloop.files.channel_entries import plain_unit
from bondloop.realtime.channels import factor_of, shown_number, size_of
from bondloop.units import is_of_kind

if TYPE_CHECKING:
    from bondloop.engine.data import Place, Reader
    from bondloop.realtime.channels import ControllerFault, LabChannel, Zeroing


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
