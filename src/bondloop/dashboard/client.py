"""One browser: what it asks for, and one frame at a time for it, always of the newest.

The browser says which frame it has drawn; only then is the next one made, from what has come meanwhile. So a
slow browser gets fewer frames, never older ones, and nothing queues up anywhere. Frames are made in another
process. After each there is a pause in proportion to what it cost: all viewers together take at most half of
that process, and the operator another half.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING

from starlette.websockets import WebSocket, WebSocketDisconnect

from bondloop.dashboard.access import Allowance, shown_name
from bondloop.dashboard.frames import NOTHING, PLANE, STRIP, Curves, Sent
from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from bondloop.dashboard.hub import Hub

FRAME, ACKNOWLEDGE, RETRY = 0.02, 2.0, 1.0
"""Seconds between frames at least; after which one is sent though the last was not drawn, for a tab in the
background; until a frame that failed is asked for again."""
RATE, BURST = 120.0, 240
"""Messages a second, and at once: more than drawn frames and a pressed key make."""
PLOTS, CHANNELS, PIXELS, WINDOW = 40, 32, 4000, 120.0
"""Plots, channels of a plot, pixels across, and seconds, that a browser can ask for."""


class Closed(IntEnum):
    """Codes with which a WebSocket is closed: flooding, not let in, a binary message, no place for it."""

    MISUSED = 1003
    REFUSED = 4003
    HURRIED = 4008
    FULL = 4013


class Client:
    """A browser that is connected.

    Parameters
    ----------
    socket
        Its WebSocket, accepted.
    hub
        What all share.
    """

    def __init__(self, socket: WebSocket, hub: Hub) -> None:
        self.socket, self.hub, self.policy = socket, hub, hub.settings.policy
        self.badge, self.name, self._told_name = "", "", False
        self._plots: list[tuple[Curves, Sent]] = []
        self._era = self._seen = self._timings = -1
        self._frame = 0
        self._renaming = Allowance(0.2, 5)
        self._drawn = asyncio.Event()
        self._drawn.set()
        self._busy: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Talk until it goes."""
        allowance = Allowance(RATE, BURST)
        sending = [asyncio.create_task(part()) for part in (self._send, self._draw)]
        late = asyncio.get_running_loop().call_later(self.policy.hello, self._expect_hello)
        try:
            while True:
                message = await self.socket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                text = message.get("text")
                if text is None:
                    await self.socket.close(Closed.MISUSED, "only text is expected")
                    return
                if not allowance.take():
                    await self.socket.close(Closed.HURRIED, "too many messages")
                    return
                await self._hear(text)
        except WebSocketDisconnect:
            pass
        finally:
            late.cancel()
            for part in sending:
                part.cancel()
            # Whatever has ended them: who goes leaves the presence, or the operator's role would stay taken.
            for error in await asyncio.gather(*sending, return_exceptions=True):
                if isinstance(error, Exception) and not isinstance(error, WebSocketDisconnect | RuntimeError):
                    self.hub.complain(f"{type(error).__name__}: {error}")
            # What was heard is done, though nobody waits for the answer: a trip may be the last word of a
            # browser that is closed, or come together with the end of a connection that had stalled.
            if self._busy:
                await asyncio.wait(self._busy)
            if self.badge:
                self.hub.presence.go(self.badge)
                self.hub.refresh()

    def _expect_hello(self) -> None:
        if not self.badge:
            self.dismiss(f"no hello in {self.policy.hello:g} s")

    def dismiss(self, why: str) -> None:
        """Close the connection.

        Parameters
        ----------
        why
            In words, for who looks at the page.
        """
        self.hub.go(self)
        self._closing = asyncio.create_task(self._close(why))

    async def _close(self, why: str) -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await self.socket.close(Closed.FULL, why)

    # ------------------------------------------------------------- hearing

    async def _hear(self, text: str) -> None:
        number: object = None
        try:
            message = _message(text)
            number = message.get("id")
            if "got" in message:
                if message["got"] == self._frame:
                    self._drawn.set()
            elif "hello" in message:
                await self._hello(message)
            elif "rename" in message:
                self._rename(message["rename"])
            elif "plots" in message:
                self._plots = [(c, NOTHING) for c in _plots(message["plots"], self._channels())]
            elif "do" in message:
                task = asyncio.create_task(self._do(message, number))
                self._busy.add(task)
                task.add_done_callback(self._busy.discard)
            else:
                raise InputError("expected hello, rename, plots, got or do")
        except BondloopError as error:
            await self._answer(number, error=str(error))

    def _channels(self) -> int:
        attached = self.hub.attached
        return 0 if attached is None else len(attached.channels)

    async def _hello(self, message: Mapping[str, object]) -> None:
        badge, name = message["hello"], message.get("name", "")
        if not isinstance(badge, str) or not 16 <= len(badge) <= 64 or not isinstance(name, str):
            raise InputError("hello: expected a badge of 16 to 64 characters, and a name")
        if self.badge:
            raise InputError("hello was said already")
        if why := self.hub.place(badge):
            for text in (self.hub.loop, self.hub.status):  # so that the page knows the way to the stop
                await self.socket.send_text(text)
            await self._close(why)
            return
        self.badge, self.name = badge, shown_name(name, badge)
        self.hub.presence.come(badge, self.name)
        self.hub.refresh()

    def _rename(self, name: object) -> None:
        if not isinstance(name, str) or not self.badge:
            raise InputError("rename: expected a name, after hello")
        if not self._renaming.take():
            raise InputError("rename: too many names; wait a little")
        before, self.name = self.name, shown_name(name, self.badge)
        if self.name != before:
            self.hub.presence.rename(self.badge, self.name)
            self.hub.log.add("role", f"{before} is now {self.name}", who=self.name)
            self._told_name = False
            self.hub.refresh()

    async def _do(self, message: Mapping[str, object], number: object) -> None:
        try:
            if not self.badge:
                raise InputError("say hello first")
            await self._answer(number, done=await self.hub.obey(message, self.badge, self.name))
        except BondloopError as error:
            await self._answer(number, error=str(error))

    async def _answer(self, number: object, **said: str) -> None:
        known = number if isinstance(number, int) else None
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await self.socket.send_text(json.dumps({"type": "answer", "id": known, **said}))

    # ------------------------------------------------------------- sending

    async def _listening(self) -> None:
        """Wait until the browser has drawn what it was sent, but not for ever."""
        if not self._drawn.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._drawn.wait(), ACKNOWLEDGE)

    async def _send(self) -> None:
        status = ""
        while True:
            await self._listening()
            hub = self.hub
            if self.badge:
                if hub.era != self._era:
                    self._era, self._plots = hub.era, []
                    await self.socket.send_text(hub.loop)
                    self._told_name = False
                if not self._told_name:
                    self._told_name = True
                    await self.socket.send_text(json.dumps({"type": "you", "name": self.name}))
                if hub.status is not status:
                    status = hub.status
                    await self.socket.send_text(status)
                if hub.log.count > self._seen:
                    events, self._seen = hub.log.text(max(self._seen, 0)), hub.log.count
                    await self.socket.send_text(events)
                if hub.timings > self._timings:
                    self._timings = hub.timings
                    await self.socket.send_text(hub.timing)
            await asyncio.sleep(FRAME)

    async def _draw(self) -> None:
        while True:
            await self._listening()
            pause = 0.0
            attached = self.hub.attached
            if attached is not None and self._plots and self._era == self.hub.era:
                try:
                    pause = await self._send_frame(attached.console.name)
                except (BondloopError, OSError) as error:  # of the system: no process can be started
                    pause = RETRY
                    if attached.snapshot.alive:
                        self.hub.complain(f"the samples of the loop: {error}")
            await asyncio.sleep(max(FRAME, pause))

    async def _send_frame(self, segment: str) -> float:
        """Send what is new of some plots; return for how long there is no other frame then."""
        plots, first = self._plots, self.badge == self.hub.presence.operator
        sent, frame, cost = await self.hub.telemetry.frame(
            segment, self._era, self._frame + 1, plots, first=first
        )
        if self._plots is plots:  # it has not asked for others meanwhile
            reached = [(curves, after) for (curves, _), after in zip(plots, sent, strict=False)]
            self._plots = plots[len(sent) :] + reached  # those that had to wait come first
            if frame:
                self._frame += 1
                self._drawn.clear()
                await self.socket.send_bytes(bytes(frame))
        return cost if first else 2 * cost * len(self.hub.clients)


def _message(text: str) -> dict[str, object]:
    """Return a message; an `InputError` where it is none."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("expected a message in JSON") from None
    if not isinstance(message, dict):
        raise InputError(f"expected a JSON object; found a {type(message).__name__}")
    return message


def _plots(wanted: object, channels: int) -> list[Curves]:
    """Return the plots that a browser asks for, each within bounds."""
    if not isinstance(wanted, list) or len(wanted) > PLOTS:
        raise InputError(f"plots: expected a list of at most {PLOTS}")
    plots = []
    for plot in wanted:
        if not isinstance(plot, dict):
            raise InputError("plots: expected objects with plot, kind, channels, window and pixels")
        numbers = plot.get("channels")
        if (
            not isinstance(numbers, list)
            or len(numbers) > CHANNELS
            or not all(_is_count(n, channels) for n in numbers)
        ):
            raise InputError(f"channels: expected at most {CHANNELS} numbers of channels below {channels}")
        window, pixels, number = plot.get("window"), plot.get("pixels"), plot.get("plot")
        if isinstance(window, bool) or not isinstance(window, int | float) or not 0.01 <= window <= WINDOW:
            raise InputError(f"window: expected 0.01 to {WINDOW:g} seconds")
        if not _is_count(pixels, PIXELS + 1) or not pixels or not _is_count(number, 65536):
            raise InputError(f"expected 1 to {PIXELS} pixels, and a number of the plot")
        kind = PLANE if plot.get("kind") == "plane" else STRIP
        assert isinstance(number, int)
        assert isinstance(pixels, int)
        plots.append(Curves(number, kind, tuple(numbers), float(window), pixels))
    return plots


def _is_count(value: object, below: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below
