"""Keys of the packets over UDP: drawn, read from a file, handed to loop and rig."""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path

from bondloop.errors import InputError

NAME = "BONDLOOP_KEY"
"""The variable by which a process gets its key: unlike its arguments, other users cannot read it."""


def fresh_key() -> str:
    """Return a key that nobody else has: 128 bits as 32 hexadecimal digits.

    >>> len(fresh_key()), fresh_key() == fresh_key()
    (32, False)
    """
    return secrets.token_hex(16)


def read_key(path: str | Path) -> str:
    """Return the key in a file, which must be the user's and closed to all others.

    Parameters
    ----------
    path
        A file with 32 hexadecimal digits: ``(umask 077; openssl rand -hex 16 > key)``.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe must not keep us waiting
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    with os.fdopen(number, "rb") as file:
        about = os.fstat(number)
        if not stat.S_ISREG(about.st_mode):
            raise InputError(f"{path} is no regular file; a key is a file with 32 hexadecimal digits")
        if about.st_uid != os.geteuid() or about.st_mode & 0o077:
            raise InputError(
                f"{path} can be read by others, so it holds no secret; chmod 600 it, and draw a new key"
            )
        text = file.read(64).decode(errors="replace").strip().lower()
    if not re.fullmatch("[0-9a-f]{32}", text):
        raise InputError(
            f"{path} is no key; expected 32 hexadecimal digits, as `openssl rand -hex 16` draws them"
        )
    return text


def with_key(key: str) -> dict[str, str]:
    """Return the environment of a process that is to have a key; without one, whatever this process has."""
    rest = {name: value for name, value in os.environ.items() if name != NAME}
    return {**rest, NAME: key} if key else rest
