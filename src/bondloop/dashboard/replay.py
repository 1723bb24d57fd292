"""Run files for the browser: which there are, what is in them, and stretches of their channels as frames."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from bondloop.dashboard.bars import Bars
from bondloop.dashboard.estimates import pairs_of
from bondloop.dashboard.frames import PLANE, STRIP, packed
from bondloop.dashboard.plain import plain
from bondloop.dashboard.run_events import events_of
from bondloop.dashboard.run_table import RunTable
from bondloop.errors import InputError

if TYPE_CHECKING:
    from starlette.requests import Request

    from bondloop.dashboard.settings import Settings

__all__ = ["Replay"]

T = TypeVar("T")

OPEN = 3
"""Files that are held at a time: two that are compared, and the next."""
LISTED = 500
"""Files that are listed at most, the newest first."""
READERS = 2
"""Threads that read files; their own, so that no command of an operator waits behind a large file."""


class _Run:
    """A run file, and what is told of it."""

    def __init__(self, path: Path, changed: int) -> None:
        self.changed = changed
        self.table = table = RunTable(path)
        attributes, described = table.head.attributes, table.head.description.get("realtime")
        emulated = described.get("emulated", True) if isinstance(described, dict) else True
        about = {
            "channels": [vars(c) for c in table.channels],
            "pairs": pairs_of(table.channels),
            "loops": Bars(table.channels).loops,
            "seconds": float(table.time[-1]) if len(table) else 0.0,
            "first": float(table.time[0]) if len(table) else 0.0,
            "samples": len(table),
            "status": attributes.get("status", ""),
            "message": attributes.get("message", ""),
            "created": attributes.get("created", ""),
            "emulated": bool(emulated),
            "events": events_of(path, table.time, table.changes, attributes),
        }
        self.about: dict[str, object] = plain(about)


class Replay:
    """Serves run files of one folder, and the one that the command line named.

    Parameters
    ----------
    settings
        Of the server.
    """

    def __init__(self, settings: Settings) -> None:
        self._folder, self._named = settings.runs, settings.run
        self._open: OrderedDict[Path, _Run] = OrderedDict()
        self._lock = asyncio.Lock()
        self._readers = ThreadPoolExecutor(READERS, "replay")
        self._known: dict[str, Path] = {}

    async def _read(self, work: Callable[..., T], *words: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, work, *words)

    def routes(self) -> list[BaseRoute]:
        """Return what it serves."""
        return [
            Route("/api/runs", self._list),
            Route("/api/run", self._describe),
            Route("/api/stretch", self._stretch),
        ]

    def files(self) -> dict[str, Path]:
        """Return the run files there are, by the names under which the browser knows them."""
        there: list[tuple[float, Path]] = []
        if self._folder.is_dir():
            for path in (p for end in ("*.h5", "*.hdf5") for p in self._folder.rglob(end)):
                with contextlib.suppress(OSError):  # gone meanwhile, or not for us
                    if path.is_file():
                        there.append((path.stat().st_mtime, path))
        there.sort(reverse=True)
        named = {p.relative_to(self._folder).as_posix(): p for _, p in there[:LISTED]}
        if self._named is None:
            return named
        own, folder = self._named.resolve(), self._folder.resolve()
        if own.is_relative_to(folder):
            label = own.relative_to(folder).as_posix()
        else:
            label = self._named.name if self._named.name not in named else str(self._named.absolute())
        return {label: self._named} | named | {label: self._named}  # at the head, and once

    async def _list(self, _: Request) -> Response:
        files = self._known = await self._read(self.files)
        rows = []
        for name, path in files.items():
            with contextlib.suppress(OSError):
                about = path.stat()
                rows.append({"name": name, "changed": about.st_mtime, "bytes": about.st_size})
        named = next((n for n, p in files.items() if self._named is not None and p is self._named), "")
        return JSONResponse({"runs": rows, "named": named})

    async def _run(self, request: Request, *, newest: bool) -> _Run:
        """Return a run; `newest`: one that is being written as it is now, not as when it was opened."""
        name = request.query_params.get("name", "")
        if name not in self._known:  # listing a large folder takes a while: not for every stretch
            self._known = await self._read(self.files)
        path = self._known.get(name)
        if path is None:
            raise InputError(f"there is no run {name!r:.80}")
        async with self._lock:
            known = self._open.get(path)
            try:
                changed = path.stat().st_mtime_ns
            except OSError as error:
                raise InputError(f"{name}: {error.strerror}") from None
            if known is None or (newest and known.changed != changed):
                self._open.pop(path, None)  # before the next is read: both need not fit
                known = self._open[path] = await self._read(_Run, path, changed)
                while len(self._open) > OPEN:
                    self._open.popitem(last=False)
            self._open.move_to_end(path)
        return known

    async def _describe(self, request: Request) -> Response:
        run = await self._run(request, newest=True)
        return JSONResponse({"name": request.query_params["name"], **run.about})

    async def _stretch(self, request: Request) -> Response:
        table = (await self._run(request, newest=False)).table
        asked = request.query_params
        try:
            numbers = [int(n) for n in asked.get("channels", "").split(",")]
            begin, end, pixels = float(asked["from"]), float(asked["to"]), int(asked["pixels"])
        except (KeyError, ValueError):
            raise InputError("expected channels, from, to and pixels") from None
        sound = math.isfinite(begin) and math.isfinite(end) and begin <= end and 0 < pixels <= 4000
        if not sound or not 0 < len(numbers) <= 32 or not all(0 <= n < len(table.channels) for n in numbers):
            raise InputError("expected up to 32 channels of the run, from before to, and 1 to 4000 pixels")
        kind = PLANE if asked.get("kind") == "plane" else STRIP
        block = await self._read(table.stretch, kind, numbers, begin, end, pixels)
        return Response(packed(0, [block]), media_type="application/octet-stream")
