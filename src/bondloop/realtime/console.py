"""The console of a running loop: all that who watches and steers a test needs, from any process.

It attaches to the loop's telemetry segment, reads it, and writes commands into its mailbox. Nothing here can
hold the loop up; a console that is killed leaves nothing behind.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bondloop.errors import InputError
from bondloop.realtime.mailbox import CommandReceipt, Mailbox
from bondloop.realtime.preflight import Preflight
from bondloop.realtime.ring import EventLog, Ring, Status
from bondloop.realtime.segment import Segment, is_alive
from bondloop.realtime.snapshot import (
    Event,
    ShownChannel,
    ShownParameter,
    Snapshot,
    cause_unit,
    passed_limit,
    tripped_channel,
)
from bondloop.realtime.stop_requests import REQUESTS, Request, living_loops
from bondloop.safety import (
    DISPLACEMENT_TARGET,
    FORCE_TARGET,
    LIMITS,
    Cause,
    Starting,
    limit_name,
    start_words,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


SPAN, HOLD = "excitation.scale", "excitation.hold"
"""The parameters that multiply the excitation, and let it fade out."""
SWITCHES = {"displacement": DISPLACEMENT_TARGET, "force": FORCE_TARGET}
"""The parameters that ramp the halves in and out."""
OF_THE_TICK = frozenset(
    {
        *(Cause.DISPLACEMENT, Cause.VELOCITY, Cause.FORCE, Cause.COMMAND),
        *(Cause.TRACKING_ERROR, Cause.POWER, Cause.NOT_A_NUMBER, Cause.COMMAND_RATE),
    }
)
"""Causes that the tick's own interlock finds; the executive finds some of them too."""
FAULTS = (Cause.CONTROLLER_FAULT,)
"""Causes of which the rig's controller has something to say."""
DRAINED = 1.0
"""Seconds that arming waits until the loop has taken the commands before it."""
WAITING = ("unconfigured", "inactive")
"""States in which nothing has been started yet."""
KEPT = 4096
"""Commands whose outcomes are kept."""
NO_SPAN = (
    "this test's excitation cannot be changed while it runs: declare it, "
    "HybridTest(..., tunable={'excitation.scale': Tunable(least=0, most=1, rate=0.5)})"
)


class Console:
    """Watches and steers a running loop.

    Parameters
    ----------
    segment
        Of the loop's telemetry, attached as writable.

    Attributes
    ----------
    preflight
        The list without which a machine is neither armed nor started.

    Examples
    --------
    >>> Console.attach("bondloop-none")
    Traceback (most recent call last):
    bondloop.errors.InputError: there is no telemetry segment 'bondloop-none'; found ...: start the loop first
    """

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.mailbox = Mailbox(segment)
        self.preflight = Preflight(segment)
        self._newest = Ring(segment)
        self._rows = Ring(segment)
        self._log, self._answers = EventLog(segment), EventLog(segment)
        self._outcomes: dict[int, str] = {}
        self._refusals: dict[str, str] = {}
        self._tripped: tuple[int, int, tuple[float | None, float | None, str]] = (0, 0, (None, None, ""))
        self.period = float(segment.metadata.get("period", self._rows.period))

    def __repr__(self) -> str:
        return f"<Console of {self.name}>"

    @classmethod
    def attach(cls, segment: str) -> Console:
        """Attach to a running loop by the name of its telemetry segment.

        Parameters
        ----------
        segment
            As `bondloop realtime` prints it, or one of `Console.segments()`.
        """
        return cls(Segment(segment, writable=True))

    @staticmethod
    def segments() -> list[str]:
        """Return the names of the loops that live on this machine."""
        return living_loops()

    # ---------------------------------------------------------------- looking

    @property
    def name(self) -> str:
        """Name of the segment."""
        return self.segment.name

    @property
    def metadata(self) -> dict[str, Any]:
        """What the loop says of itself."""
        return self.segment.metadata

    @property
    def channels(self) -> list[ShownChannel]:
        """The channels of the telemetry, in the order of its rows."""
        bounds = self.metadata.get("bounds", {})
        return [
            ShownChannel(
                name,
                unit,
                meaning.role.value,
                meaning.kind,
                meaning.quantity,
                meaning.interface,
                meaning.counterpart,
                bounds.get(name),
            )
            for name, unit, meaning in zip(
                self._rows.names, self._rows.units, self._rows.meanings, strict=True
            )
        ]

    @property
    def parameters(self) -> list[ShownParameter]:
        """The parameters of the tick, with what they are now."""
        header = self.segment.header[0]
        at, count = int(header["parameters_at"]), int(header["parameters"])
        values = np.frombuffer(self.segment.memory, "<f8", count, at).tolist()
        abouts = self.metadata["about_parameters"]
        return [
            ShownParameter(name, value, **about)
            for name, value, about in zip(self.mailbox.parameters, values, abouts, strict=True)
        ]

    def start_words(self) -> tuple[Starting, ...]:
        """Return what a start would do to each switch, with the targets as they are now.

        Say it before the start: a switch that is open while the loop is inactive closes at once then, unless
        it was ramped out.
        """
        values = {p.name: p.value for p in self.parameters}
        targets = {name: values[path] for name, path in SWITCHES.items() if path in values}
        facts = self.metadata.get("switches", {})
        return start_words({name: facts.get(name) for name in targets}, targets)

    def snapshot(self) -> Snapshot:
        """Return how the loop is doing, with the newest row of its telemetry."""
        status = self._newest.status()
        self._newest.cursor = max(0, self._newest.written - 1)
        rows = self._newest.read()
        header, now = self.segment.header[0], time.monotonic_ns()
        value, limit, channel = self._details(status) if status.cause else (None, None, "")
        units = dict(zip(self._newest.names, self._newest.units, strict=True))

        def since(word: str) -> float | None:
            beat = int(header[word])
            return 1e-9 * (now - beat) if beat else None

        return Snapshot(
            state=status.state,
            step=status.steps - 1,
            time=max(status.steps - 1, 0) * self.period,
            run=status.run,
            armed=bool(header["armed"]),
            cause=status.cause,
            cause_step=status.cause_step,
            cause_value=value,
            cause_limit=limit,
            cause_channel=channel,
            cause_unit=cause_unit(status.cause, units[channel]) if channel in units else "",
            missed=status.counts["missed"],
            late=status.counts["overruns"],
            counts=status.counts,
            link=status.link,
            heartbeat=since("heartbeat_ns") or 0.0,
            supervisor=since("supervisor_ns"),
            operator=since("operator_ns"),
            alive=is_alive(self.segment),
            emulated=bool(header["emulated"]),
            fault=status.fault_words if status.cause in FAULTS else "",
            recording=status.recording_words,
            channels=self._named(rows["channels"][-1]) if len(rows) else {},
            wake=status.wake,
            busy=status.busy,
            exchange=status.exchange,
        )

    def _named(self, row: NDArray[np.float64]) -> dict[str, float]:
        return dict(zip(self._newest.names, row.tolist(), strict=True))

    def _details(self, status: Status) -> tuple[float | None, float | None, str]:
        """Return what passed which limit, and where; looked for once a trip."""
        run, cause, known = self._tripped
        if (run, cause) == (status.run, status.cause):
            return known
        names = self._newest.names
        rows, limits = self._rows_around(status.cause_step), self.metadata.get("limits", {})
        own = limits.get(limit_name(status.cause))
        if status.cause not in OF_THE_TICK:
            known = (status.cause_value, own, "")
        elif status.cause_value != status.cause:  # the executive itself found a value beyond its bound
            limit, name = tripped_channel(status.cause, status.cause_detail, names, self.metadata)
            known = (status.cause_value, limit, name)
        elif len(rows):
            known = passed_limit(
                status.cause, {**limits, **self._limits()}, names, self._newest.meanings, rows["channels"][0]
            )
        else:
            known = (None, own, "")
        self._tripped = (status.run, status.cause, known)
        return known

    def _limits(self) -> dict[str, float]:
        """Return limits that were tightened while the test ran, by the name of the cause."""
        return {LIMITS[p.name].replace("_", " "): p.value for p in self.parameters if p.name in LIMITS}

    def _rows_around(self, step: int) -> NDArray[np.void]:
        """Return the row of a tick of this run, if the ring still has it."""
        ring = self._newest
        ring.cursor = max(0, ring.written - ring.slots + 1)
        block = ring.read()
        return block[np.flatnonzero(block["step"] == step)[-1:]]

    def events(self) -> list[Event]:
        """Return what the loop has logged since the last call; at first, all that it still has."""
        return self._log.events()

    def rows(self, since: int | None = None, most: int | None = None) -> NDArray[np.void]:
        """Return rows of the telemetry, as `Ring.read` does.

        Parameters
        ----------
        since
            Index of the first that is wanted (``cursor`` is the next); by default those after the last call.
        most
            Return no more than so many.
        """
        if since is not None:
            self._rows.cursor = since
        return self._rows.read(most)

    @property
    def cursor(self) -> int:
        """Index of the row that `rows` returns next."""
        return self._rows.cursor

    @property
    def lost(self) -> int:
        """Rows that were overwritten before `rows` came to them."""
        return self._rows.lost

    @property
    def written(self) -> int:
        """Rows written so far."""
        return self._rows.written

    def beat_page(self, attached: bool = True) -> None:
        """Say that a page shows this loop and that its server turns; see ``page_loss`` of `HybridTest`.

        Parameters
        ----------
        attached
            False: it lets go of the loop, and its silence means nothing from here on.
        """
        self.segment.header["page_ns"][0] = time.monotonic_ns() if attached else 0

    def beat(self) -> None:
        """Say that an operator is there; see `LoopOptions.operator_loss`."""
        self.segment.header["operator_ns"][0] = time.monotonic_ns()

    # ---------------------------------------------------------------- steering

    def arm(self, who: str = "") -> CommandReceipt:
        """Let the next start be obeyed, where the loop asks for that (`LoopOptions.arm`).

        A machine is refused while items of its pre-flight list are missing.

        Parameters
        ----------
        who
            For the log; at most 32 bytes of it are kept.
        """
        self._expect_preflight(who)
        return self._sent("arm", self.mailbox.arm(who))

    def start(self, who: str = "") -> CommandReceipt:
        """Make the loop active; a machine as in `arm`.

        Parameters
        ----------
        who
            For the log; at most 32 bytes of it are kept.
        """
        self._expect_preflight(who)
        return self._sent("start", self.mailbox.start(who))

    def _expect_preflight(self, who: str) -> None:
        end = time.monotonic() + DRAINED
        given = int(self.segment.header["mail_given"][0])  # a reset among it begins the list anew
        while self.preflight.needed and not self.mailbox.taken(given) and time.monotonic() < end:
            time.sleep(0.001)
        if self._rows.state in WAITING or not self.mailbox.taken(given):  # else the loop itself refuses it
            self.preflight.expect_complete()
            self.preflight.record(who)

    def hold(self, who: str = "") -> CommandReceipt:
        """Let the excitation fade out, at the rate of its span; the halves stay coupled, time goes on.

        Parameters
        ----------
        who
            For the log; at most 32 bytes of it are kept.
        """
        return self.set({self._held: 1.0}, who)

    def resume(self, who: str = "") -> CommandReceipt:
        """Let the excitation come back to its span after a hold.

        Parameters
        ----------
        who
            For the log; at most 32 bytes of it are kept.
        """
        return self.set({self._held: 0.0}, who)

    @property
    def _held(self) -> str:
        if HOLD not in self.mailbox.parameters:
            raise InputError(NO_SPAN)
        return HOLD

    def ramp_in(self, *switches: str, who: str = "") -> CommandReceipt:
        """Ramp switches in: ``"displacement"``, ``"force"``; both unless named.

        Parameters
        ----------
        *switches
            Which of the two; none: both.
        who
            For the log; at most 32 bytes of it are kept.
        """
        return self._ramp(1.0, switches, who)

    def ramp_out(self, *switches: str, who: str = "") -> CommandReceipt:
        """Ramp switches out, as `ramp_in`.

        Parameters
        ----------
        *switches
            Which of the two; none: both.
        who
            For the log; at most 32 bytes of it are kept.
        """
        return self._ramp(0.0, switches, who)

    def _ramp(self, target: float, switches: tuple[str, ...], who: str) -> CommandReceipt:
        for name in switches:
            if name not in SWITCHES:
                raise InputError(f"there is no switch '{name}'; expected {' or '.join(SWITCHES)}")
        wanted = [SWITCHES[name] for name in switches or SWITCHES]
        known = self.mailbox.parameters
        if not all(name in known for name in wanted):
            raise InputError("this test has no switches to ramp: HybridTest(..., switches=Switches(...))")
        return self.set(dict.fromkeys(wanted, target), who=who)

    def span(self, factor: float, who: str = "") -> CommandReceipt:
        """Multiply the excitation by a factor, within what the test allows.

        Parameters
        ----------
        factor
            1 for the excitation as it is described.
        who
            For the log; at most 32 bytes of it are kept.
        """
        if HOLD not in self.mailbox.parameters:
            raise InputError(NO_SPAN)
        return self.set({SPAN: factor}, who)

    def retreat(self, who: str = "") -> CommandReceipt:
        """Bring the rig to its safe position and stay there, without a trip; a reset leaves it.

        Parameters
        ----------
        who
            For the log; at most 32 bytes of it are kept.
        """
        return self._requested("retreat", self.mailbox.retreat(who))

    def stop(self, who: str = "") -> CommandReceipt:
        """End the test: to the safe position, then the loop ends. It needs no mailbox.

        Parameters
        ----------
        who
            For the log; at most 32 bytes of it are kept.
        """
        return self._requested("stop", self.mailbox.stop(who))

    def trip(self, who: str = "") -> CommandReceipt:
        """Trip: bring the rig to its safe state, with the operator as the cause. It needs no mailbox.

        Parameters
        ----------
        who
            For the log; at most 32 bytes of it are kept.
        """
        return self._requested("trip", self.mailbox.trip(who=who))

    def reset(self, who: str = "") -> CommandReceipt:
        """Leave the safe state: the loop is inactive again, as at the beginning.

        Parameters
        ----------
        who
            For the log; at most 32 bytes of it are kept.
        """
        return self._sent("reset", self.mailbox.reset(who))

    def set(self, values: Mapping[str, float], who: str = "") -> CommandReceipt:
        """Change parameters of the tick, all of them in one tick or none.

        Parameters
        ----------
        values
            By name.
        who
            For the log; at most 32 bytes of it.
        """
        number = self.mailbox.set_all(values, who)
        shown = ", ".join(f"{name} = {float(value):g}" for name, value in values.items())
        return self._sent(f"set {shown}", number)

    def _sent(self, words: str, number: int) -> CommandReceipt:
        return CommandReceipt(words, lambda: self._outcome(number), number)

    def _requested(self, kind: Request, count: int) -> CommandReceipt:
        """Return a receipt of what needs no mailbox; a loop that has ended moves nothing any more."""

        def outcome() -> str | None:
            if self.mailbox.requests(kind)[1] >= count:
                self._read_answers()
                return self._refusals.get(kind, "")
            return "" if self._ended() else None

        return CommandReceipt(kind, outcome)

    def _ended(self) -> bool:
        return self._rows.state == "finalized" or not is_alive(self.segment)

    def _read_answers(self) -> None:
        for event in self._answers.events():
            if event.mail:
                words = f"{event.name}: {event.refused}" if event.name and event.refused else event.refused
                self._outcomes[event.mail] = words
            elif event.kind in REQUESTS:
                self._refusals[event.kind] = event.refused
        for old in list(self._outcomes)[:-KEPT]:
            del self._outcomes[old]

    def _outcome(self, number: int) -> str | None:
        """Return what the log says of a command: None for nothing yet, empty where it was obeyed."""
        ended = self._ended()  # before the log is read
        self._read_answers()
        if number in self._outcomes:
            return self._outcomes[number]
        if any(known > number for known in self._outcomes):
            return "the loop left it out, or its log has forgotten it"
        return "the loop has ended" if ended else None

    # ---------------------------------------------------------------- end

    def close(self) -> None:
        """Detach; the loop goes on."""
        for ring in (self._newest, self._rows, self.preflight.ring):
            ring.release()
        self.segment.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
