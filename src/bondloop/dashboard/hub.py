"""The server's middle: the loop that it watches, the people at the page, and what goes between them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bondloop.dashboard.attached import Attached, LoopCommands
from bondloop.dashboard.preparation import Rehearsal
from bondloop.dashboard.presence import EventLog, Presence
from bondloop.dashboard.samples import Telemetry
from bondloop.errors import InputError
from bondloop.realtime import PREFIX, REQUESTS, Console, is_alive

if TYPE_CHECKING:
    from bondloop.dashboard.client import Client
    from bondloop.dashboard.server import Settings
    from bondloop.dashboard.stop_server import StopProcess

LOOK, STATUS, TIMING, GAUGES, SEARCH = 0.02, 0.1, 1.0, 0.1, 0.5
"""Seconds between looks at the loop, statuses, histograms, gauges, and searches for a loop."""

NO_LOOP = '{"type": "loop"}'
"""Said to browsers while there is no loop."""
MOVING = ("active",)
"""States in which an operator must be there."""


class Hub:
    """What all browsers share.

    Parameters
    ----------
    settings
        Of the server.
    stop
        Of the page, where it has one.

    Attributes
    ----------
    attached
        The loop; None while there is none.
    era
        Counted up when another loop is attached.
    clients
        The browsers, in the order in which they came.
    status, loop, timing
        The newest messages for browsers, as JSON text.
    """

    def __init__(self, settings: Settings, stop: StopProcess | None = None) -> None:
        self.settings, self.stop, self.policy = settings, stop, settings.policy
        self.log, self.presence = EventLog(), Presence(grace=self.policy.grace)
        self.commands = LoopCommands(self.policy)
        self.telemetry = Telemetry(self.policy)
        self.clients: list[Client] = []
        self.attached: Attached | None = None
        self.rehearsal: Rehearsal | None = None
        self.era = self.timings = 0
        self.status, self.loop, self.timing = "{}", NO_LOOP, "{}"
        self._told_end = self._acted = False
        self._trouble, self._run = "", 1
        self._due = dict.fromkeys(("status", "timing", "search"), 0.0)
        self._compose()

    async def run(self) -> None:
        """Watch the loop and who is there until cancelled."""
        self.log.add("server", "the server has started")
        beside = [asyncio.create_task(part()) for part in (self._gauge, self._keep_stop)]
        try:
            while True:
                try:
                    self._turn()
                except Exception as error:  # noqa: BLE001 - whatever fails once, the page goes on and TRIP is heard
                    self.complain(f"{type(error).__name__}: {error}")
                await asyncio.sleep(LOOK)
        finally:
            for part in beside:
                part.cancel()

    async def _gauge(self) -> None:
        """Ask again and again how near the limits are and how well the rig follows."""
        while True:
            attached, era = self.attached, self.era
            if attached is not None:
                try:
                    gauges = await self.telemetry.gauges(attached.console.name, era)
                    if era == self.era:
                        attached.take(gauges)
                except Exception as error:  # noqa: BLE001 - as above: without gauges, curves and commands go on
                    if attached.snapshot.alive:
                        self.complain(f"the samples of the loop: {error}")
                    await asyncio.sleep(SEARCH)
            await asyncio.sleep(GAUGES)

    async def _keep_stop(self) -> None:
        """Start the page's stop again where it has ended; in a thread, for a start may take its time."""
        while self.stop is not None:
            try:
                if await asyncio.to_thread(self.stop.keep):
                    self.log.add("server", "the page's stop had ended; it was started again")
            except Exception as error:  # noqa: BLE001 - as above
                self.complain(f"the page's stop does not start: {error}")
            await asyncio.sleep(SEARCH)

    def complain(self, text: str) -> None:
        """Note a trouble of the server's own, once.

        Parameters
        ----------
        text
            What it is.
        """
        if text != self._trouble:
            self._trouble = text
            self.log.add("server", f"trouble of the server: {text}")

    def _turn(self) -> None:
        if name := self.presence.look():
            self.log.add("role", f"{name} has gone; nobody is the operator", who=name)
        if self._is_due("search", SEARCH):
            self._search()
        self._mind_rehearsal()
        if self.attached is not None:
            self.attached.console.beat_page()
            self.attached.look()
            self._mind_run(self.attached)
            if self.presence.operator and not self.presence.waiting:
                self.attached.console.beat()
            self._mind_absence(self.attached)
            if self._is_due("timing", TIMING):
                self.timing, self.timings = json.dumps(self.attached.timing()), self.timings + 1
        if self._is_due("status", STATUS):
            self._compose()

    def _is_due(self, what: str, every: float) -> bool:
        now = time.monotonic()
        if now < self._due[what]:
            return False
        self._due[what] = now + every
        return True

    def refresh(self) -> None:
        """Let the status be composed anew at the next turn, however often that is wished until then."""
        self._due["status"] = 0.0

    def _compose(self) -> None:
        presence = self.presence
        subject = self.settings.subject
        if self.attached is not None:
            self.attached.console.preflight.look()
        message = {
            "type": "status",
            "at": time.monotonic(),
            "loop": None if self.attached is None else self.attached.status(),
            "presence": {
                "operator": presence.operator_name,
                "waiting": presence.waiting,
                "viewers": presence.viewers,
            },
            "rehearsal": None if self.rehearsal is None else self.rehearsal.describe(),
            "subject": None if subject is None else {"name": subject.name, "seconds": subject.seconds},
            "stop_port": None if self.stop is None else self.stop.port,
            "absence": vars(self.settings.absence),
            "preflight": [] if self.attached is None else self.attached.console.preflight.describe(),
        }
        self.status = json.dumps(message)

    # ------------------------------------------------------------- the loop

    def _search(self) -> None:
        """Attach to a loop that lives, where none is watched or the one that is has ended."""
        if self.attached is not None and self.attached.snapshot.alive:
            return
        if self.attached is not None and not self._told_end:
            self._told_end = True
            died = self.attached.snapshot.state != "finalized"
            self.log.add(
                "trip" if died else "server",
                f"the loop of {self.attached.name} has {'died' if died else 'ended'}",
            )
        wanted, subject = self.settings.segment, self.settings.subject
        for segment in Console.segments():
            if not self._is_wanted(segment):
                continue
            with contextlib.suppress(InputError):  # it ended meanwhile, or is not ready: the next look tells
                console = Console.attach(segment)
                fits = wanted or subject is None or console.metadata.get("name") == subject.loop
                if fits and is_alive(console.segment):  # one that died is listed while its supervisor ends
                    self.attach(console)
                    return
                console.close()

    def _is_wanted(self, segment: str) -> bool:
        """Whether a loop may be watched: the one that was named, or that of the rehearsal that runs."""
        if self.settings.segment:
            return segment == self.settings.segment
        return self.rehearsal is None or segment.startswith(f"{PREFIX}{self.rehearsal.process.pid}-")

    def attach(self, console: Console) -> None:
        """Watch a loop.

        Parameters
        ----------
        console
            Attached to it.
        """
        self.detach()
        self.attached = Attached(console, self.log)
        self.era += 1
        self._told_end = self._acted = False
        self._run = self.attached.snapshot.run
        self.loop = json.dumps(self.attached.describe())
        self.log.add("server", f"attached to the loop of {self.attached.name} ({console.name})")
        self.refresh()

    def detach(self) -> None:
        """Let go of the loop, which goes on."""
        if self.attached is not None:
            self.attached.console.beat_page(attached=False)
            self.attached.close()
            self.attached = None
            self.era += 1
            self.loop = NO_LOOP

    def _mind_run(self, attached: Attached) -> None:
        """Note that the pre-flight list begins anew after a reset: somebody may have been at the rig."""
        if attached.snapshot.run != self._run:
            self._run = attached.snapshot.run
            if not attached.snapshot.emulated:
                self.log.add("server", "another run: the pre-flight list begins anew")

    def _mind_absence(self, attached: Attached) -> None:
        """Bring the rig to rest when no operator has been there for too long, where that is wanted."""
        absence, since = self.settings.absence, self.presence.absent
        if attached.snapshot.state not in MOVING or since is None:
            self._acted = False
            return
        if absence.then == "nothing" or self._acted or time.monotonic() - since < absence.seconds:
            return
        self._acted = True
        text = f"no operator for {absence.seconds:g} s: {absence.then}"
        self.log.add("command", text, who="server", test_time=attached.snapshot.time)
        self.commands.retreat(attached.console, "server")

    def _mind_rehearsal(self) -> None:
        if self.rehearsal is not None and not self.rehearsal.running:
            self.log.add("server", f"the rehearsal has ended: {self.rehearsal.last_words()}")
            self.rehearsal = None

    def close(self) -> None:
        """Let go of everything; loops and rehearsals go on."""
        self.commands.close()
        self.telemetry.close()
        self.detach()

    # ------------------------------------------------------------- places

    def place(self, badge: str) -> str:
        """Return why there is no place for one more browser; nothing where there is one.

        Some places are kept for who is the operator, or was: they get in however many viewers there are.

        Parameters
        ----------
        badge
            Of the browser.
        """
        kept = badge in self.presence.operators
        others = [c for c in self.clients if c.badge and (c.badge in self.presence.operators) == kept]
        if len(others) < (self.policy.operators if kept else self.policy.viewers):
            return ""
        if badge != self.presence.operator:
            return f"all {self.policy.viewers} viewers' places are taken: ask somebody to close the page"
        min(others, key=lambda c: c.badge == badge).dismiss("the operator came back and needed this place")
        return ""

    def come(self, client: Client) -> None:
        """Count a browser in; of too many that have said nothing yet the one that came first is dismissed.

        Parameters
        ----------
        client
            That was accepted.
        """
        silent = [c for c in self.clients if not c.badge]
        if len(silent) >= self.policy.nameless:
            silent[0].dismiss("too many browsers came and said nothing")
        self.clients.append(client)

    def go(self, client: Client) -> None:
        """Count a browser out, if it has not been already.

        Parameters
        ----------
        client
            That goes.
        """
        if client in self.clients:
            self.clients.remove(client)

    # ------------------------------------------------------------- commands

    async def obey(self, message: Mapping[str, object], badge: str, who: str) -> str:
        """Do what somebody asks for and wait until it is confirmed; return what was done, in words.

        To bring the rig to rest is free to all; everything else is the operator's.

        Parameters
        ----------
        message
            From the browser.
        badge, who
            Whose.
        """
        word = message.get("do")
        if word == "take":
            return self._take(badge, who)
        if word == "give_back":
            if not self.presence.give_back(badge):
                raise InputError("only the operator can give the role back")
            self.log.add("role", f"{who} has given the operator's role back", who=who)
            self.refresh()
            return "given back"
        if badge != self.presence.operator and word not in REQUESTS:
            raise InputError(
                "only the operator commands, though all may stop, retreat and trip; take the operator's role "
                "first"
            )
        if word == "tick":
            text = self._living().console.preflight.tick(message.get("item"), message.get("ticked"), who)
            self.log.add("command", text, who=who)
            self.refresh()
            return text
        if word == "shown":  # the page has shown the check's verdict
            self._living().console.preflight.check_shown(f"{who}, on the page")
            return "noted"
        if word == "rehearse":
            return self._rehearse(message, who)
        return await self._command(message, who)

    def _take(self, badge: str, who: str) -> str:
        if not self.presence.take(badge):
            raise InputError(
                f"{self.presence.operator_name} is the operator; ask for the role to be given back"
            )
        self.log.add("role", f"{who} has taken the operator's role", who=who)
        self.refresh()
        return "taken"

    def _rehearse(self, message: Mapping[str, object], who: str) -> str:
        subject, seconds = self.settings.subject, message.get("seconds")
        if subject is None:
            raise InputError("no test was given to rehearse: `bondloop dashboard TEST`")
        if seconds is not None and (
            isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= 86400
        ):
            raise InputError(
                f"seconds: expected a length up to a day, or 0 for no end; found {seconds!r:.40}"
            )
        alive = self.attached is not None and self.attached.snapshot.alive
        if (self.rehearsal is not None and self.rehearsal.running) or alive:
            raise InputError("a loop is running already; stop it first")
        record = self.settings.runs / subject.name / "rehearsal.h5"
        self.rehearsal = Rehearsal(subject, None if seconds is None else float(seconds), record)
        self.log.add("command", f"rehearsal of {subject.name} started: checking and building", who=who)
        self.refresh()
        return "the rehearsal is being checked and built"

    def _living(self) -> Attached:
        if self.attached is None or not self.attached.snapshot.alive:
            raise InputError("there is no loop to command; start a rehearsal, or `bondloop realtime`")
        return self.attached

    async def _command(self, message: Mapping[str, object], who: str) -> str:
        attached = self._living()
        done = await self.commands.give(attached.console, message, who)
        self.refresh()
        return done
