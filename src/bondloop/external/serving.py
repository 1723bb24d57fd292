"""A rig that other programs move, from the first packet to the run file: rehearsed, or on the clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bondloop.external.clocked_rig import ClockedRig
from bondloop.external.following_rig import external_half
from bondloop.external.rehearsed_rig import RehearsedRig
from bondloop.external.server import Server
from bondloop.hybrid.run import Run
from bondloop.realtime.interrupts import interrupts
from bondloop.realtime.recorder import free_path
from bondloop.realtime.summary import STOPPED
from bondloop.records.hdf5 import amend_run

if TYPE_CHECKING:
    from bondloop.external.following_rig import FollowingRig
    from bondloop.hybrid import HybridTest
    from bondloop.realtime.console.preflight import Preflight
    from bondloop.realtime.summary import Live

__all__ = ["Serving", "serve_on_the_clock", "serve_rehearsed"]

CHECKED = 2.0
"""Seconds for which the check rehearses a test that has no length of its own."""


@dataclass(frozen=True)
class Serving:
    """Where a rig is offered, and who is told.

    Parameters
    ----------
    protocol, host, port, transport, idle
        As of `bondloop.external.Server`.
    say
        Called with a sentence whenever something happens or is refused.
    stop
        Asked some ten times a second; True ends it.

    Examples
    --------
    Offered to nobody, as ``stop`` ends it at once:

    >>> import bondloop as bl
    >>> from bondloop.external import RehearsedRig
    >>> servo = bl.transfer.MassSpringDamper(50, 1e4, 1e6, drive="position")
    >>> spring = bl.devices.KelvinVoigt(1e3, 10.0)
    >>> test = bl.HybridTest(
    ...     bl.substructure.ExternalHalf(stroke="20 mm", speed="50 mm/s", frequency="20 Hz"),
    ...     rig=bl.rigs.Emulated(bl.rigs.mounted(spring), servo),
    ...     controller=bl.control.Direct(),
    ...     excitation={},
    ...     rate="1 kHz",
    ...     name="spring",
    ... )
    >>> with RehearsedRig(test) as rig:
    ...     Serving(say=print, stop=lambda: True).offer(rig)
    spring: generic-client at udp://127.0.0.1:...: listening
    spring: no program came
    'no program came'
    """

    protocol: str = "generic-client"
    host: str = "127.0.0.1"
    port: int = 0
    transport: Literal["udp", "tcp"] = "udp"
    idle: float = 600.0
    say: Callable[[str], None] = lambda _: None
    stop: Callable[[], bool] = field(default=lambda: False)

    def offer(self, rig: FollowingRig) -> str:
        """Offer a rig until a program is done with it; return how it ended, in words."""
        with Server(
            rig, protocol=self.protocol, host=self.host, port=self.port, transport=self.transport,
            idle=self.idle, say=self.say,
        ) as server:  # fmt: skip
            self.say(
                f"{rig.test.name}: {self.protocol} at {self.transport}://{self.host}:{server.port}: listening"
            )
            if server.open_to_others:
                self.say(
                    f"WARNING: other machines reach {self.host}, and the packets have no key: whoever "
                    "reaches this port can move the rig, within stroke, speed, limits and interlock"
                )
            told: list[str] = []

            def over() -> bool:
                """Whether to go: who has the rig is told of its end first, for nobody it is not waited."""
                if rig.over and server.taken and not told:
                    told.append(
                        f"the loop has ended; {rig.led_by} is told so when it asks next, Ctrl-C goes now"
                    )
                    self.say(told[0])
                return self.stop() or (rig.over and not server.taken)

            ended = server.serve(over)
        self.say(f"{rig.test.name}: {ended}")
        return ended


def serve_rehearsed(
    test: HybridTest, serving: Serving, record: str | Path | None = None
) -> tuple[Run | None, str]:
    """Let another program move the emulated rig of a test, without a clock.

    Parameters
    ----------
    test
        A `HybridTest` with an `ExternalHalf`.
    serving
        Where, and how.
    record
        Run file to write, with a number added to its name if it exists.

    Returns
    -------
    The run, if it was recorded, and the rig's fault in words, if there was one.
    """
    rig = RehearsedRig(test, record=None if record is None else free_path(Path(record)))
    try:
        serving.offer(rig)
    finally:
        run = rig.close()
    return run, rig.fault


def serve_on_the_clock(
    test: HybridTest,
    serving: Serving,
    record: str | Path | None = None,
    live: Callable[[Live], None] | None = None,
    preflight: Callable[[Preflight], bool] | None = None,
    operator: str = "",
    **prepared: Any,
) -> tuple[Run, str]:
    """Let another program move a rig in real time; the check passes first, and a machine has limits.

    Parameters
    ----------
    test, serving, record
        As for `serve_rehearsed`.
    live
        Called ten times a second with how the loop is doing.
    preflight, operator
        As for `bondloop.realtime.run_realtime`.
    **prepared
        Link, emulated, options and all else, as for `bondloop.realtime.session.prepare`.

    Returns
    -------
    The run, and the rig's fault in words, if there was one.
    """
    from bondloop.realtime.session import prepare

    external_half(test)
    made = prepare(test, CHECKED, open_end=True, **prepared)
    rigs: list[ClockedRig] = []

    def beside(telemetry: str) -> None:
        with ClockedRig(made.test, telemetry) as rig:
            rigs.append(rig)
            replace(serving, stop=lambda: serving.stop() or bool(asked)).offer(rig)

    with interrupts() as asked:  # also when the loop has ended, and a program has not
        run = made.run(
            record=record, live=live, beside=beside, further=asked, preflight=preflight, operator=operator
        )
    if not rigs:  # ended before it was started
        return run, ""
    return _with_what_served(run, rigs[0]), rigs[0].fault


def _with_what_served(run: Run, rig: ClockedRig) -> Run:
    """Add to a run and its files who has moved the rig; what its fault was, the loop itself may not know."""
    more = rig.served
    if rig.fault and run.completed:
        more |= {"status": "stopped", "message": rig.fault, "cause_words": rig.fault}
    elif run.record.attributes.get("cause_words") == STOPPED and rig.ended_it:
        more |= {"cause_words": "no program moved the rig any more"}
    for file in run.record.attributes["files"]:
        amend_run(file, more)
    return Run(replace(run.record, attributes={**run.record.attributes, **more}))
