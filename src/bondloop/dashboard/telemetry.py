"""The process that keeps a loop's samples, as the server sees it: whom it serves first, and its limits."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bondloop.readers import Worker

if TYPE_CHECKING:
    from bondloop.dashboard.history import Curves, Sent


NICE = 10
"""By how much the loop and the server go first."""
MEMORY = 2 << 30
"""Address space of the process."""
PROCESSOR = 5
"""Seconds of the processor that a request may take: each does a small part of what a browser asks for."""
PATIENCE = 5.0
"""Seconds by the clock beyond these, after which the process is killed; the next request starts another."""
STARTING = 120.0
"""The same for its first request, for which it imports: on a busy machine it is the last in turn."""
ROOM = "bondloop.dashboard.samples"


class Telemetry:
    """Asks the process for gauges and frames, one at a time: gauges first, then the operator's frames."""

    def __init__(self) -> None:
        self._worker = Worker(NICE, MEMORY)
        self._thread = ThreadPoolExecutor(1, "telemetry")
        self._number = itertools.count()
        self._waiting: list[tuple[int, int, asyncio.Future[Any], str, dict[str, object]]] = []
        self._serving: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """Number of the process; None while there is none."""
        return self._worker.pid

    async def gauges(self, segment: str, era: int) -> dict[str, Any]:
        """Return `Samples.gauges` of a loop.

        Parameters
        ----------
        segment, era
            Of the loop.
        """
        answer, _, _ = await self._ask(0, "gauges", segment=segment, era=era)
        return answer

    async def frame(
        self, segment: str, era: int, number: int, plots: list[tuple[Curves, Sent]], *, first: bool
    ) -> tuple[list[Sent], bytearray, float]:
        """Return how far the first of some plots are sent with this frame, the frame, and its cost in s.

        Parameters
        ----------
        segment, era
            Of the loop.
        number
            Of the frame.
        plots
            What is wanted, and how far it has been sent.
        first
            Whether it goes before others that wait: the operator's.
        """
        wanted = [(c.plot, c.kind, c.channels, c.window, c.pixels) for c, _ in plots]
        words = {"number": number, "plots": wanted, "sent": [sent for _, sent in plots]}
        answer, body, cost = await self._ask(1 if first else 2, "frame", segment=segment, era=era, **words)
        return [(begin, origin) for begin, origin in answer["sent"]], body, cost

    async def _ask(self, rank: int, work: str, **words: object) -> tuple[dict[str, Any], bytearray, float]:
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (rank, next(self._number), future, work, words))
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve())
        answer: tuple[dict[str, Any], bytearray, float] = await future
        return answer

    async def _serve(self) -> None:
        turn = asyncio.get_running_loop()
        while self._waiting:
            _, _, future, work, words = heapq.heappop(self._waiting)
            if future.done():  # who asked has gone
                continue
            began = time.monotonic()
            try:
                answer, body = await turn.run_in_executor(self._thread, self._call, work, words)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is who asked that hears of it
                if not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result((answer, body, time.monotonic() - began))

    def _call(self, work: str, words: dict[str, object]) -> tuple[dict[str, Any], bytearray]:
        patience = STARTING if self._worker.pid is None else PATIENCE
        return self._worker.call(f"{ROOM}:{work}", words, [ROOM], limit=PROCESSOR, patience=patience)

    def close(self) -> None:
        """End the process."""
        self._worker.close()
        self._thread.shutdown(wait=False, cancel_futures=True)
