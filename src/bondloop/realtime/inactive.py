"""Looking at what a rig's sensors show, before anything moves."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.realtime.interruption import interrupts
from bondloop.realtime.telemetry.protocol import FLAGS

if TYPE_CHECKING:
    from bondloop.realtime.session import Prepared
    from bondloop.realtime.telemetry.ring import Ring, Status


LOOK = 0.5
"""Seconds between looks."""

Measured = Mapping[str, tuple[float, str]]
"""Values with their units, by name."""


def watch_measured(made: Prepared, show: Callable[[Measured], None], seconds: float | None = None) -> Status:
    """Open the link of a test and stay inactive: the sensors are read, nothing is commanded or recorded.

    It ends at Ctrl-C, after `seconds`, or when the loop ends by itself because something is wrong: then the
    status says the cause.

    Parameters
    ----------
    made
        The test, from `bondloop.realtime.session.prepare`; on the clock, since in lock-step nothing is read.
    show
        Called about twice a second with the newest measured values in SI units and their units, by name.
    seconds
        How long to watch; until Ctrl-C if not given.
    """
    # Nothing moves: a machine that is held up for a moment is no reason to stop.
    patience = max(made.options.stale, round(made.options.timeout / made.test.period))
    patient = replace(made, options=replace(made.options, stale=patience))
    with contextlib.ExitStack() as stack, interrupts() as asked:
        loop = patient.start(stack)
        end = time.monotonic() + (float("inf") if seconds is None else seconds)
        while loop.running and not asked and (left := end - time.monotonic()) > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                loop.wait(min(LOOK, left))
            found = newest_measured(loop.ring)
            if found:
                show(found)
        loop.stop()
        loop.wait()
        return loop.status()


def newest_measured(ring: Ring) -> Measured:
    """Return the newest values of what a loop measures and records under that name; empty if nothing came.

    While the emergency stop at the rig is pressed, that is among them.
    """
    ring.cursor = max(ring.cursor, ring.written - 1)
    rows = ring.read()
    if not len(rows):
        return {}
    known = dict(zip(ring.names, zip(rows["channels"][-1].tolist(), ring.units, strict=True), strict=True))
    shown = {name: known[name] for name in ring.metadata["measured"] if name in known}
    if int(rows["flags"][-1]) & FLAGS["stopped"]:
        shown["emergency stop"] = (1.0, "pressed")
    if int(rows["flags"][-1]) & FLAGS["fault"]:
        shown["controller"] = (1.0, "fault")
    return shown


def measured_line(measured: Measured) -> str:
    """Return the values on one line.

    >>> measured_line({"measured.force": (-12.25, "N"), "measured.displacement": (0.0005, "m")})
    'force -12.25 N   displacement +0.0005 m'
    """
    return "   ".join(
        f"{name.removeprefix('measured.')} {value:+.5g} {unit}".rstrip()
        for name, (value, unit) in measured.items()
    )
