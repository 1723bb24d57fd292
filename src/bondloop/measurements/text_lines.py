"""The lines of a text file in whatever encoding it was written."""

from __future__ import annotations

import os
from pathlib import Path

from bondloop.containers import expect_file
from bondloop.errors import InputError

__all__ = ["decoded", "read_text"]

LARGEST = 2**30
"""Bytes of a text file that are read."""
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def read_text(path: str | os.PathLike[str], *, strict: bool = True, most: float = LARGEST) -> str:
    """Return the text of a file, or say why there is none.

    Parameters
    ----------
    path
        Of the file: UTF-8 or UTF-16 with or without a mark, UTF-32 with one, or Windows-1252.
    strict
        Whether bytes that are no text are refused; otherwise they become question marks.
    most
        Bytes that it may have.
    """
    try:
        expect_file(Path(path), most)
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', '') or error}") from error
    return decoded(raw, str(path), strict=strict)


def decoded(raw: bytes, where: str, *, strict: bool = True) -> str:
    r"""Return bytes as text.

    Parameters
    ----------
    raw
        The bytes.
    where
        The file, for the message.
    strict
        As for `read_text`.

    Examples
    --------
    >>> decoded("Weg [µm]".encode("utf-16"), ""), decoded("Weg [µm]".encode("cp1252"), "")
    ('Weg [µm]', 'Weg [µm]')
    >>> decoded(b"\x89PNG\x00\x00", "a.csv")
    Traceback (most recent call last):
    bondloop.errors.InputError: a.csv is no text in UTF-8, UTF-16 or Windows-1252 ...
    """
    encoding = next((name for mark, name in _MARKS if raw.startswith(mark)), "")
    head = raw[:400]
    if not encoding and len(head) > 3:
        # Without a mark, text of two bytes a character has a zero in every other one.
        odd, even = head[1::2].count(0) / len(head[1::2]), head[::2].count(0) / len(head[::2])
        encoding = "utf-16-le" if odd > 0.7 > even else "utf-16-be" if even > 0.7 > odd else ""
    for name in (encoding,) if encoding else ("utf-8", "cp1252"):
        try:
            text = raw.decode(name)
        except UnicodeDecodeError:
            continue
        if "\x00" not in text:
            return text
    if not strict:
        return raw.decode("utf-8-sig", errors="replace")
    zero = raw.find(b"\x00")
    found = f"byte {zero} is zero" if zero >= 0 and not encoding.startswith("utf-16") else "it is damaged"
    raise InputError(f"{where} is no text in UTF-8, UTF-16 or Windows-1252 ({found})")
