"""Run files for the browser: another process reads them, the server passes requests and answers on."""

from __future__ import annotations

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from bondloop.dashboard.frames import PLANE, STRIP
from bondloop.errors import InputError
from bondloop.readers import Reader, UnreadableError

if TYPE_CHECKING:
    from starlette.requests import Request

    from bondloop.dashboard.settings import Settings


RATE = 5e6
"""Bytes a second of a run file that are gone through at the least: well packed it holds many more."""
WAITING = 32
"""Requests that wait for the reader at most."""
REMEMBERED = 100
"""Files that ended their reader and are not read again before they change."""


class Replay:
    """Serves run files of one folder, and the one that the command line named.

    Parameters
    ----------
    settings
        Of the server.
    """

    def __init__(self, settings: Settings) -> None:
        self._folder, self._named = settings.runs, settings.run
        self._reader = Reader(nice=5)
        self._thread = ThreadPoolExecutor(1, "replay")
        self._waiting = 0
        self._known: dict[str, Path] = {}
        self._unreadable: dict[Path, tuple[tuple[int, int], str]] = {}

    def close(self) -> None:
        """End the process that reads."""
        self._reader.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _read(self, work: str, path: Path, **words: object) -> tuple[dict[str, Any], bytearray]:
        if self._waiting >= WAITING:
            raise InputError("too many requests wait for run files; try again")
        about = path.stat() if path.exists() else None
        state = (about.st_mtime_ns, about.st_size) if about else (0, 0)
        known, text = self._unreadable.get(path, (None, ""))
        if known == state:
            raise InputError(text)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._thread,
                lambda: self._reader.ask(
                    f"bondloop.dashboard.replay.run_files:{work}", path, ["h5py"], rate=RATE, **words
                ),
            )
        except UnreadableError as error:
            self._unreadable[path] = state, str(error)
            for old in list(self._unreadable)[:-REMEMBERED]:
                del self._unreadable[old]
            raise
        finally:
            self._waiting -= 1

    def routes(self) -> list[BaseRoute]:
        """Return what it serves."""
        return [
            Route("/api/runs", self._list),
            Route("/api/run", self._describe),
            Route("/api/stretch", self._stretch),
        ]

    async def _files(self) -> tuple[list[dict[str, object]], str]:
        """Return the run files there are, and by which name the browser knows the one that was named."""
        runs: list[dict[str, object]] = []
        if self._folder.is_dir():
            runs = (await self._read("listing", self._folder))[0]["runs"]
        named = {str(run["name"]): run for run in runs}
        known, label = {name: self._folder / name for name in named}, ""
        if self._named is not None and self._named.is_file():
            own, folder, about = self._named.resolve(), self._folder.resolve(), self._named.stat()
            if own.is_relative_to(folder):
                label = own.relative_to(folder).as_posix()
            else:
                label = self._named.name if self._named.name not in named else str(self._named.absolute())
            known[label] = self._named
            row = {"name": label, "changed": about.st_mtime, "bytes": about.st_size}
            runs = [row, *(run for run in runs if run["name"] != label)]  # at the head, and once
        self._known = known
        return runs, label

    async def _list(self, _: Request) -> Response:
        runs, named = await self._files()
        return JSONResponse({"runs": runs, "named": named})

    async def _path(self, request: Request) -> Path:
        name = request.query_params.get("name", "")
        if name not in self._known:  # listing a large folder takes a while: not for every stretch
            await self._files()
        path = self._known.get(name)
        if path is None:
            raise InputError(f"there is no run {name!r:.80}")
        return path

    async def _describe(self, request: Request) -> Response:
        about, _ = await self._read("describe", await self._path(request))
        return JSONResponse({"name": request.query_params["name"], **about})

    async def _stretch(self, request: Request) -> Response:
        path = await self._path(request)
        asked = request.query_params
        try:
            numbers = [int(n) for n in asked.get("channels", "").split(",")]
            begin, end, pixels = float(asked["from"]), float(asked["to"]), int(asked["pixels"])
        except (KeyError, ValueError):
            raise InputError("expected channels, from, to and pixels") from None
        sound = math.isfinite(begin) and math.isfinite(end) and begin <= end and 0 < pixels <= 4000
        if not sound or not 0 < len(numbers) <= 32:
            raise InputError("expected up to 32 channels of the run, from before to, and 1 to 4000 pixels")
        kind = PLANE if asked.get("kind") == "plane" else STRIP
        _, frame = await self._read(
            "stretch", path, kind=kind, numbers=numbers, begin=begin, end=end, pixels=pixels
        )
        return Response(bytes(frame), media_type="application/octet-stream")
