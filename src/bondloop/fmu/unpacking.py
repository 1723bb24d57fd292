"""Unpacking an FMU: a zip of somebody else's, so every entry is looked at before it is written."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from bondloop.engine.codegen import cache_folder, private
from bondloop.errors import InputError

MOST_BYTES = 1 << 30
"""Of all files of an FMU, unpacked."""

MOST_FILES = 20_000

_PART = 1 << 20


def unpacked(path: Path) -> Path:
    """Return the folder of an FMU's files, kept by content beside what was compiled.

    Parameters
    ----------
    path
        Of the FMU. Entries that would be written elsewhere, links, and what is larger than `MOST_BYTES` are
        refused.
    """
    if not path.is_file():
        raise InputError(f"there is no FMU {path}")
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:32]
        place = private(cache_folder()) / "fmu" / digest
        if place.is_dir():
            return place
        place.parent.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="unpacking-", dir=place.parent) as scratch:
            made = Path(scratch) / "fmu"
            made.mkdir()
            with zipfile.ZipFile(path) as archive:
                _unpack(archive, made, path.name)
            try:
                made.rename(place)
            except OSError:
                if not place.is_dir():  # unless another process was faster
                    raise
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError) as error:
        raise InputError(f"{path.name}: it is no zip that can be read: {error}") from None
    except OSError as error:
        raise InputError(f"{path.name}: it cannot be unpacked: {error.strerror or error}") from None
    return place


def _unpack(archive: zipfile.ZipFile, folder: Path, name: str) -> None:
    entries = archive.infolist()
    if len(entries) > MOST_FILES:
        raise InputError(f"{name}: it has {len(entries):,} files; at most {MOST_FILES:,} are unpacked")
    left = MOST_BYTES
    for entry in entries:
        target = _place(entry, folder, name)
        if entry.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, target.open("xb") as file:
            while part := source.read(_PART):  # what the entry says of its size is not believed
                left -= len(part)
                if left < 0:
                    raise InputError(
                        f"{name}: its files are larger than {MOST_BYTES >> 20:,} MB; it is refused"
                    )
                file.write(part)


def _place(entry: zipfile.ZipInfo, folder: Path, name: str) -> Path:
    """Return where an entry goes; refuse what leads out of the folder, and what is no plain file."""
    said = entry.orig_filename
    parts = PurePosixPath(said).parts
    bad = not parts or said.startswith("/") or "\\" in said or "\0" in said or ".." in parts
    if bad or re.match(r"[A-Za-z]:", said):
        raise InputError(f"{name}: the entry {said!r:.80} does not lie in the FMU; it is refused")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise InputError(f"{name}: the entry {said!r:.80} is a link or a device; it is refused")
    target = folder.joinpath(*parts)
    if os.path.commonpath([folder, target]) != str(folder) or target.exists() != target.is_dir():
        raise InputError(f"{name}: the entry {said!r:.80} is there twice; it is refused")
    return target
