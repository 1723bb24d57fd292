"""What processes tell each other through the telemetry segment: JSON behind its checksum.

The supervisor writes ``session_words``: check, record, the list of the laboratory. Who arms writes
``preflight_words``: what was confirmed. There is no lock, so that nobody can be held up: a reader that
meets a text while it is written finds a wrong checksum, and looks again; at last it has nothing.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from bondloop.errors import InputError
from bondloop.realtime.layout import WORDS

if TYPE_CHECKING:
    from bondloop.realtime.shared import Segment

__all__ = ["read_words", "write_words"]

Field = Literal["session_words", "preflight_words"]

_HEAD = 8
"""Bytes of the checksum, in hexadecimal digits."""
_LOOKS = 3
"""Times to look at a text that is being written: that takes some microseconds, every few seconds."""


def write_words(segment: Segment, field: Field, data: Mapping[str, object]) -> None:
    """Write data into a segment, replacing what is there.

    Parameters
    ----------
    segment
        Attached as writable.
    field
        Whose words.
    data
        Anything that JSON can say, without numbers that are not finite.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    if _HEAD + len(text) > WORDS:
        raise InputError(f"{field}: expected at most {WORDS - _HEAD:,} bytes; found {len(text):,}")
    segment.header[field][0] = b"%08x" % zlib.crc32(text) + text


def read_words(segment: Segment, field: Field) -> dict[str, Any]:
    """Return the data of a segment; empty where there is none, or it is being written.

    Parameters
    ----------
    segment
        Attached.
    field
        Whose words.
    """
    for _ in range(_LOOKS):
        found = bytes(segment.header[field][0])
        head, text = found[:_HEAD], found[_HEAD:]
        if b"%08x" % zlib.crc32(text) == head:
            break
    else:
        return {}
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
