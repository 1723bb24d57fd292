"""Setting a channel's zero in its file: the old value, the time and the operator are kept in it."""

from __future__ import annotations

import datetime as dt
import re
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bondloop.errors import InputError
from bondloop.files.channels_file import channels_text, read_channels_text
from bondloop.realtime.channels import Channels, Zeroing
from bondloop.units import quantity


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
