"""Text files of other programs."""

from __future__ import annotations

from pathlib import Path

from bondloop.containers import expect_file
from bondloop.errors import InputError

__all__ = ["read_source"]

LARGEST = 500_000_000
"""Bytes of a text that is read."""


def read_source(path: Path, kind: str) -> str:
    """Return the text of a file, or say why there is none; bytes that are no text become question marks.

    Parameters
    ----------
    path
        Of the file.
    kind
        What it is, for the message.
    """
    try:
        expect_file(path, LARGEST)
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot read {path} as {kind}: {getattr(error, 'strerror', '') or error}"
        ) from error
