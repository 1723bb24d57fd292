"""Entries that a channels file may have: what each is, for the reader and for the JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bondloop.errors import InputError, unknown_name
from bondloop.realtime.channels.packet import ROLES, TYPES
from bondloop.units import known_unit

if TYPE_CHECKING:
    from bondloop.data.restoring import Place, Reader

__all__ = [
    "CHANNEL",
    "FAULT",
    "FIELD",
    "FILE",
    "LINES",
    "PACKET",
    "PREFLIGHT",
    "SIDE",
    "ZEROING",
    "Entries",
    "Entry",
]

MOST_TEXTS, LONGEST_TEXT = 40, 200
"""Texts of a list, and bytes of each."""

_SCHEMAS: dict[str, dict[str, object]] = {
    "text": {"type": "string"},
    "unit": {"type": "string"},
    "whole": {"type": "integer"},
    "yes": {"type": "boolean"},
    "place": {"type": ["integer", "string"]},
    "float": {"type": "number"},
    "number": {"type": ["number", "string"], "pattern": r"^\s*[-+]?\.?\d"},
    "pair": {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": ["number", "string"]}},
    "list": {"type": "array", "items": {"type": "number"}},
    "points": {"type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2}},
    "texts": {"type": "array", "minItems": 1, "maxItems": MOST_TEXTS, "items": {"type": "string"}},
    "table": {"type": "object"},
    "tables": {"type": "array", "items": {"type": "object"}},
}
_KINDS: dict[str, type | tuple[type, ...]] = {
    "text": str, "unit": str, "whole": int, "yes": bool, "table": dict, "place": (int, str),
    "float": (int, float),
}  # fmt: skip
_WORDS = {
    "text": "a text", "unit": "a unit as text", "whole": "a whole number", "yes": "true or false",
    "table": "a table", "place": "a whole number or a text", "float": "a number",
}  # fmt: skip


HIGHEST_PLACE = 65_535
"""Number of a channel, a line or a byte."""


def _is_no_place(value: int | str) -> bool:
    text = str(value).strip()
    whole = text.removeprefix("-").removeprefix("+")
    if whole.isascii() and whole.isdigit():
        return text.startswith("-") or len(whole) > 6 or int(whole) > HIGHEST_PLACE
    return len(text) > 200 or not text.isprintable()


def _no_texts(value: object) -> str:
    """Return what is wrong with a list of texts; nothing where it is one."""
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_TEXTS:
        return f"expected a list of 1 to {MOST_TEXTS} texts; found {value!r:.40}"
    for number, text in enumerate(value, 1):
        if not isinstance(text, str) or not text.strip() or not text.isprintable():
            return f"expected texts of a line each; item {number} is {text!r:.40}"
        if len(text.encode(errors="replace")) > LONGEST_TEXT:
            return f"expected texts of at most {LONGEST_TEXT} bytes; item {number} has {len(text.encode())}"
        if text in value[: number - 1]:
            return f"item {number} stands there twice: {text!r:.60}"
    return ""


@dataclass(frozen=True)
class Entry:
    """One entry: its kind, what it is in words, its choices, and whether it must be there."""

    kind: str
    words: str
    choices: tuple[str, ...] = ()
    needed: bool = False


@dataclass(frozen=True)
class Entries:
    """The entries of a table."""

    known: Mapping[str, Entry]

    def read(self, reader: Reader, table: object, place: Place) -> dict[str, Any]:
        """Return what a table has, `FAILED` for what is wrong; numbers are left to who knows units."""
        if not isinstance(table, Mapping):
            reader.fault(place, "expected a table")
            return {}
        for name in table:
            if name not in self.known:
                reader.fault((*place, name), unknown_name("entry", name, list(self.known)))
        for name, entry in self.known.items():
            if entry.needed and name not in table:
                reader.fault(place, f"expected an entry {name}: {entry.words}")
        return {n: self._value(reader, table[n], e, (*place, n)) for n, e in self.known.items() if n in table}

    @staticmethod
    def _value(reader: Reader, value: Any, entry: Entry, place: Place) -> Any:
        kind = _KINDS.get(entry.kind)
        if kind is not None and (
            not isinstance(value, kind) or (isinstance(value, bool) and entry.kind != "yes")
        ):
            return reader.fault(place, f"expected {_WORDS[entry.kind]}; found {value!r:.40}")
        if entry.choices and value not in entry.choices:
            return reader.fault(place, f"expected {', '.join(entry.choices)}; found {value!r:.40}")
        if (
            entry.kind in ("text", "place")
            and isinstance(value, str)
            and (not value.strip() or "\0" in value)
        ):
            return reader.fault(place, "expected some words; found none")
        if entry.kind == "texts" and (words := _no_texts(value)):
            return reader.fault(place, words)
        if entry.kind == "place" and _is_no_place(value):
            words = f"expected a number from 0 to {HIGHEST_PLACE:,}, or the driver's own words; found {value}"
            return reader.fault(place, f"{words:.120}")
        if entry.kind == "unit":
            try:
                return "" if value == "1" else known_unit(value, "the unit")
            except InputError as error:
                return reader.fault(place, str(error))
        return value

    def schema(self) -> dict[str, Any]:
        """Return the table's JSON Schema."""
        properties = {
            name: {
                **_SCHEMAS[e.kind],
                **({"enum": list(e.choices)} if e.choices else {}),
                "description": e.words,
            }
            for name, e in self.known.items()
        }
        needed = [name for name, e in self.known.items() if e.needed]
        return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


_TYPE = Entry("text", "Type of the field, in packets and process images.", tuple(TYPES))
CHANNEL = Entries(
    {
        "name": Entry("text", "The signal, as the test has it; any name for an auxiliary one.", needed=True),
        "direction": Entry(
            "text", "output: a command; input: a sensor of the loop; auxiliary: recorded, not in the loop.",
            ("output", "input", "auxiliary"), needed=True,
        ),
        "unit": Entry("unit", "Of the value; plain numbers of this table are in it.", needed=True),
        "raw": Entry("unit", "Of what the converter gives or takes; V, or 1 where there is a type."),
        "channel": Entry("place", "Physical channel, in the driver's words.", needed=True),
        "type": _TYPE,
        "gain": Entry("number", "Units per raw unit: value = offset + gain raw."),
        "offset": Entry("number", "Value at a raw value of 0."),
        "polynomial": Entry("list", "Coefficients, that of the power 0 first: value = c0 + c1 raw + ..."),
        "table": Entry("points", "Points [raw, value], the raw ones rising; straight lines between."),
        "range": Entry("pair", "Raw values that are believed, or may be given."),
        "zero": Entry("number", "Subtracted from the calibrated value."),
        "filter": Entry("number", "Inputs: cut-off frequency of a low-pass filter of first order."),
        "limits": Entry("pair", "Outputs: commands that may be given, by whatever program."),
        "rate": Entry("number", "Outputs: largest change a second when it is exercised."),
        "rest": Entry("number", "Outputs: where it is when nothing is commanded."),
        "feedback": Entry("text", "Outputs: the input that shows where it stands."),
        "note": Entry("text", "For people."),
    }
)  # fmt: skip
LINES = Entries(
    {
        "stop": Entry("place", "Digital input, high while the emergency stop is not pressed."),
        "beat": Entry("place", "Digital output that toggles while the rig is enabled."),
        "enable": Entry("place", "Digital output, high while the rig is enabled."),
    }
)
FAULT = Entries(
    {
        "channel": Entry("place", "Digital line, or byte of the packet.", needed=True),
        "words": Entry("text", "What it means.", needed=True),
        "code": Entry("whole", "Its number, 1 to 10000; 1 if left out."),
        "type": _TYPE,
        "bit": Entry("whole", "Bit of the word; left out: any that is not 0, and the word is the code."),
        "active": Entry("whole", "Level that is the fault, 1 or 0; 1 if left out."),
        "unpowered": Entry("yes", "The rig has no power then: commands follow it, as at an emergency stop."),
    }
)
FIELD = Entries(
    {
        "is": Entry("text", "What the field is.", ROLES, needed=True),
        "at": Entry("whole", "Byte at which it begins, from 0.", needed=True),
        "type": Entry("text", "Its type.", tuple(TYPES), needed=True),
        "value": Entry("float", "Of a constant."),
    }
)
SIDE = Entries(
    {
        "bytes": Entry("whole", "Length of a packet.", needed=True),
        "fields": Entry("tables", "What is in it beside the channels."),
    }
)
PACKET = Entries(
    {
        "byte_order": Entry("text", "Of all fields; little if left out.", ("little", "big")),
        "send": Entry("table", "Packets to the controller.", needed=True),
        "receive": Entry("table", "Packets from the controller.", needed=True),
    }
)
ZEROING = Entries(
    {
        "channel": Entry("text", "Name of the channel.", needed=True),
        "before": Entry("float", "Its zero before, in its unit.", needed=True),
        "after": Entry("float", "Its zero after.", needed=True),
        "time": Entry("text", "When.", needed=True),
        "operator": Entry("text", "Who.", needed=True),
        "undo": Entry("yes", "Whether it takes back the one before it."),
    }
)
PREFLIGHT = Entries(
    {"items": Entry("texts", "What people confirm before the rig is armed, in their order.", needed=True)}
)
FILE = Entries(
    {
        "format": Entry("whole", "Of the file; 1 if left out."),
        "link": Entry("text", "Where the channels are: comedi:///dev/comedi0, packet://HOST:PORT."),
        "channel": Entry("tables", "The channels."),
        "lines": Entry("table", "Emergency stop and enable."),
        "fault": Entry("tables", "What the controller tells of itself."),
        "packet": Entry("table", "What packets look like."),
        "preflight": Entry("table", "What people confirm before the rig is armed."),
        "zeroing": Entry("tables", "Zeros that were set; written by bondloop channels zero."),
    }
)
