"""A rig on the clock: targets go into the mailbox of a running loop, forces come out of its telemetry."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.interop.following_rig import Channels, FollowingRig
from bondloop.realtime import EventLog, Mailbox, Ring
from bondloop.safety import cause_words

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest


SERVED = "bondloop serve"
"""Who stops the loop, in its log."""


class ClockedRig(FollowingRig):
    """A loop in real time, moved from outside.

    Parameters
    ----------
    test
        The test that the loop runs, a `HybridTest` with an `ExternalHalf`.
    telemetry
        Name of the loop's telemetry, which `RealtimeSession.run` gives to its ``companion``.

    Attributes
    ----------
    ended_it
        Whether the loop was still active when its rig was closed: nobody else has ended it.

    Examples
    --------
    >>> import bondloop as bl
    >>> from bondloop.devices import GiuffreMenegottoPinto
    >>> from bondloop.rigs import Emulated, mounted
    >>> from bondloop.substructure import ExternalHalf
    >>> servo = bl.transfer.MassSpringDamper(m=50, c=1.1e5, k=5e7, drive="position")
    >>> test = bl.HybridTest(
    ...     ExternalHalf(stroke="20 mm", speed="50 mm/s"),
    ...     rig=Emulated(mounted(GiuffreMenegottoPinto()), servo),
    ...     controller=bl.control.Direct(),
    ...     excitation={},
    ...     rate="1 kHz",
    ...     gap="5 s",
    ... )
    >>> from bondloop.realtime.session import prepare
    >>> made, forces = prepare(test, 1.0, open_end=True), []
    >>> def companion(telemetry):  # called while the loop runs; when it returns, the loop is stopped
    ...     with ClockedRig(made.test, telemetry) as rig:
    ...         forces.append(rig.move_to([0.001]).force[0])
    >>> run = made.run(companion=companion)
    >>> print(f"{forces[0]:.0e} N")
    2e+03 N
    """

    def __init__(self, test: HybridTest, telemetry: str) -> None:
        super().__init__(test)
        self._ring = Ring.attach(telemetry, from_now=True)
        self._mailbox = Mailbox.attach(telemetry)
        self._log = EventLog(self._mailbox.segment)
        self._log.cursor = self._log.written
        self._given: dict[str, float] = {}
        self.ended_it = False

    @property
    def over(self) -> bool:
        """Whether the loop has ended."""
        return self._ring.state == "finalized"

    def _advance(self, targets: Mapping[str, float], seconds: float) -> tuple[Channels, float]:
        try:
            self._set(targets)
        except InputError as error:
            self._watch(str(error))
            return {}, math.nan
        self._ring.read()  # what was recorded before the targets were known
        wanted = max(1, math.ceil(seconds / self.test.period - 1e-9))
        rows: list[np.ndarray] = []
        count, heard = 0, time.monotonic()
        while count < wanted:
            block = self._ring.read()
            block = block[block["step"] >= 0]
            if len(block):
                rows.append(block)
                count += len(block)
                heard = time.monotonic()
            if self._ring.state != "active" or time.monotonic() - heard > self.policy.silence:
                self._watch("the loop executes no tick any more")
                return {}, math.nan
            if count < wanted:
                time.sleep(self.policy.look)
        table = np.concatenate(rows)[:wanted]
        values = table["channels"]
        channels = {name: values[:, i] for i, name in enumerate(self._ring.names)}
        return channels, float(table["step"][-1]) * self.test.period

    def _leave(self) -> None:
        self._mailbox.stop(SERVED)

    def _set(self, targets: Mapping[str, float]) -> None:
        """Send what has changed, and wait until the loop says that it has obeyed."""
        changed = {name: x for name, x in targets.items() if self._given.get(name) != x}
        if not changed:
            return
        last = self._mailbox.set_all(changed, self.led_by or SERVED)
        first, refused = last - len(changed) + 1, ""
        until = time.monotonic() + self.policy.silence
        answered = False
        while not answered:
            if time.monotonic() > until or self._ring.state in ("safe", "finalized"):
                raise InputError("the loop takes no commands any more")
            for event in self._log.events():
                answered = answered or event.mail >= last
                if first <= event.mail <= last and event.refused:
                    refused = refused or f"the loop refuses {event.name} = {event.value:g}: {event.refused}"
            if not answered:
                time.sleep(self.policy.look)
        if refused:
            raise InputError(refused)
        self._given |= changed

    def _watch(self, why: str) -> None:
        """Wait until the loop has brought the rig to rest, and note why it did."""
        until = (
            time.monotonic()
            + self.policy.silence
            + float(getattr(self.test.interlock, "retreat", 1.0))
            + 60.0
        )
        asked = self._mailbox.requests("stop")[0] or self._ring.status().counts["stops"]
        while self._ring.state in ("active", "retreat") and time.monotonic() < until:
            if self._ring.state == "active":
                self._mailbox.stop(SERVED)
            time.sleep(0.01)
        status = self._ring.status()
        if status.cause:
            when = max(status.cause_step, 0) * self.test.period
            why = f"{cause_words(status.cause)} at t = {when:.4g} s"
        elif asked:  # before this did
            why = "the operator stopped the test"
        self._fail(f"{why}; the rig was brought to its safe position")

    def close(self) -> None:
        """Stop the loop, which brings the rig to rest, and let go of it."""
        if self._ring.state == "active":
            self.ended_it = True
        if self._ring.state != "finalized":
            self._mailbox.stop(SERVED)
        self._mailbox.close()
        self._ring.close()
