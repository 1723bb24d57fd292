"""What the verbs share in answering: JSON, and letters that a console lacks."""

from __future__ import annotations

import codecs
import io
import json
import math
import sys
import unicodedata


def print_json(answer: object) -> None:
    """Print `answer` as indented JSON on stdout.

    Examples
    --------
    >>> print_json({"force": "N"})
    {
      "force": "N"
    }
    """
    # Escapes where the console lacks letters: what is read must be what was meant.
    print(json.dumps(_finite(answer), indent=2, ensure_ascii=not all_letters(), allow_nan=False))


def _finite(value: object) -> object:
    """Return the value with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return value


PLAIN = {
    "\N{GREEK SMALL LETTER MU}": "u",
    "\N{GREEK CAPITAL LETTER OMEGA}": "ohm",
    "\N{GREEK SMALL LETTER PI}": "pi",
    "\N{DEGREE SIGN}": "deg",
    "\N{PLUS-MINUS SIGN}": "+/-",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{MIDDLE DOT}": "*",
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{RIGHTWARDS ARROW}": "->",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{SQUARE ROOT}": "sqrt",
    "\N{INFINITY}": "inf",
}
"""What is written where a letter cannot be; others lose their accents, or become a question mark."""


def plainly(error: UnicodeError) -> tuple[str, int]:
    """Replace what cannot be encoded: a handler of errors, as `codecs.register_error` wants it.

    Parameters
    ----------
    error
        Of the encoding.

    Returns
    -------
    tuple
        The text instead, and where to go on.

    Examples
    --------
    >>> codecs.register_error("plainly", plainly)
    >>> "3 µm, 5 m/s², 2 s⁻¹, ä".encode("ascii", "plainly").decode()
    '3 um, 5 m/s^2, 2 s^-1, a'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text, raised = "", False
    for char in error.object[error.start : error.end]:
        raises = unicodedata.decomposition(char).startswith("<super>")
        same = "".join(PLAIN.get(c, c) for c in unicodedata.normalize("NFKD", char))
        text += "^" * (raises and not raised) + (same.encode("ascii", "ignore").decode() or "?")
        raised = raises
    return text, error.end


def take_all_letters() -> None:
    """Let everything be printed on this console, whatever its encoding."""
    codecs.register_error("plainly", plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="plainly")


def all_letters() -> bool:
    """Return whether stdout can write every character, as its encoding is a Unicode one."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return codecs.lookup(encoding).name.startswith("utf")
