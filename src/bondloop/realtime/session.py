"""A hybrid test in real time, from the check to the record: who starts whom, and who waits for what."""

from __future__ import annotations

import contextlib
import platform
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bondloop.display import at_work
from bondloop.engine.data import checked_values, number
from bondloop.engine.ir import calls, dump_tick
from bondloop.errors import BondloopError, InputError, unknown_name
from bondloop.hybrid import PseudoDynamicTest, exact_reference_of
from bondloop.realtime.channels.wiring import refuse_misfits
from bondloop.realtime.machine_limits import (
    for_a_machine,
    machine_options,
    start_offset_words,
    trips_in_words,
    with_loop_options,
)
from bondloop.realtime.options import LoopOptions, RigOptions, fresh_key
from bondloop.realtime.policy import PreflightPolicy, SessionPolicy
from bondloop.realtime.preflight import Preflight
from bondloop.realtime.process import LoopProcess, RigProcess
from bondloop.realtime.programs.build import (
    LINKS,
    drivers_for,
    fmu_driver,
    loop_program,
    rig_program,
    signal_table,
)
from bondloop.realtime.programs.interface import measured_names
from bondloop.realtime.recorder_supervisor import Recorders, expect_room, last_run, merged_files
from bondloop.realtime.segment import need_linux, write_words
from bondloop.realtime.summary import Live, Watcher, moving, outcome, timing, warnings_of
from bondloop.realtime.supervision import LoopCompanion, interrupts, silence, silence_words
from bondloop.rehearsal import Run, kept_of_check, operated, origin, run_length, steps_of
from bondloop.safety import WARNING, Cause

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.check import Check
    from bondloop.hybrid import HybridTest
    from bondloop.realtime.channels.channel import Channels
    from bondloop.realtime.recorder_supervisor import Health
    from bondloop.realtime.ring import Status
    from bondloop.rehearsal import ExactReference


def run_realtime(  # noqa: PLR0913 - each is one decision
    test: HybridTest,
    seconds: float | str | None,
    *,
    link: str = "loopback://",
    rate: float | str | None = None,
    lock_step: bool = False,
    start_rig: bool = False,
    emulated: bool | None = None,
    record: str | Path | None = None,
    drivers: Sequence[str | Path] = (),
    libraries: Sequence[str] = (),
    channels: Channels | None = None,
    includes: Sequence[str | Path] = (),
    force: bool = False,
    live: Callable[[Live], None] | None = None,
    started: Callable[[str], None] | None = None,
    preflight: Callable[[Preflight], bool] | None = None,
    operator: str = "",
    policy: SessionPolicy | None = None,
    checking: Mapping[str, Any] | None = None,
    **options: Any,
) -> Run:
    """Run a test in real time.

    Nothing is started before the test's check has passed. Ctrl-C brings the rig to its safe state and ends
    the run, which is returned as far as it went.

    Parameters
    ----------
    test
        The test; its coupling must be sampled.
    seconds
        Length of the run, or text, ``"2 min"``; None: until it is stopped. Tabulated signals then keep their
        last values.
    link
        Where the rig is: ``udp://HOST:PORT``, ``shm://NAME``; ``fmu://rig.fmu``, an FMU in the same process;
        or ``loopback://``, the emulated rig in the same process.
    rate
        Samples a second, or text, ``"1 kHz"``, if not the test's own.
    lock_step
        Loop and rig wait for each other instead of following the clock; then the run equals the rehearsal.
    start_rig
        Play the emulated rig in a process of its own, at the other end of `link`.
    emulated
        Whether the rig is a model: True where the session plays it itself, and False, a machine, elsewhere,
        unless given. A rig that does not itself say that it is a model is not taken for one. A machine needs
        a test with limits, and is met gently (`bondloop.realtime.machine_limits`). False with a rig that the
        session plays rehearses just that.
    record
        Run file to write; with a number added to its name if it exists. Nothing is kept if not given.
    drivers, libraries
        C files of further links, ``link_x.c`` for ``x://...``, and the libraries that they need, by name.
    channels
        The laboratory's channels, from `bondloop.files.read_channels`; drivers take their calibration
        from them, auxiliary ones are recorded, and the run file keeps them.
    includes
        Folders of headers that the drivers need and the compiler does not know.
    force
        Run although the check did not pass.
    live
        Called ten times a second with how the loop is doing.
    started
        Called once with the name of the telemetry segment, for `Console.attach`.
    preflight
        Called ten times a second before a machine is started, with its pre-flight list; the start waits until
        it returns True. Without it a machine is started without a list, and its run file has none.
    operator
        Who starts it, for the run file; with the option ``arm`` it is who arms.
    policy
        What the session judges and waits by; as the package has it, unless given.
    checking
        What the check is asked: ``{"accept": {"BL302": "measured"}, "policy": CheckPolicy(...)}``.
    **options
        Further options of the loop, by name: ``priority``, ``cpu``, ``spin``, ``overrun``... (`LoopOptions`);
        times in s or as texts.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_two_actuators
    >>> run = run_realtime(gawthrop_two_actuators.test(), 0.1, lock_step=True)
    >>> run.completed, len(run.time)
    (True, 101)
    """
    with at_work("running in real time", quiet=live is not None):  # who asks for its state shows it
        made = prepare(
            test, seconds, link=link, rate=rate, lock_step=lock_step, start_rig=start_rig, emulated=emulated,
            drivers=drivers, libraries=libraries, channels=channels, includes=includes, force=force,
            options=options, policy=policy, checking=checking,
        )  # fmt: skip
        return made.run(record=record, live=live, started=started, preflight=preflight, operator=operator)


def prepare(  # noqa: PLR0913 - each is one decision
    test: HybridTest,
    seconds: float | str | None,
    *,
    link: str = "loopback://",
    rate: float | str | None = None,
    lock_step: bool = False,
    start_rig: bool = False,
    emulated: bool | None = None,
    drivers: Sequence[str | Path] = (),
    libraries: Sequence[str] = (),
    channels: Channels | None = None,
    includes: Sequence[str | Path] = (),
    force: bool = False,
    inactive: bool = False,
    open_end: bool = False,
    options: Mapping[str, Any] | None = None,
    policy: SessionPolicy | None = None,
    checking: Mapping[str, Any] | None = None,
) -> RealtimeSession:
    """Check and build all that a run needs, and start nothing; arguments as in `run_realtime`.

    With `inactive` only to look at what is measured: nothing moves, so neither check nor limits are needed.
    With `open_end` the run goes on until it is stopped; `seconds` is then the length of the check alone.
    """
    policy = policy or SessionPolicy()
    _refuse_without_rig(test)
    need_linux()  # before a check that may take long
    test = _at_rate(test, rate)
    seconds = None if seconds is None else run_length(seconds)
    length = test.length if seconds is None else seconds  # of what can be known beforehand
    steps = steps_of(length, test.period)
    scheme = link.partition("://")[0]
    if emulated is None:
        emulated = start_rig or scheme in ("loopback", "none", "fmu")
    more = _in_si(options or {})
    if more.get("arm"):
        test = operated(test)
        more.setdefault("hold", True)
    check = test.check(length, **(checking or {}))
    if not (force or inactive):
        _refuse_unchecked(check)
    if start_rig and scheme not in ("udp", "shm"):
        raise InputError(f"a rig in a process of its own is reached by udp:// or shm://; found {link}")
    if not inactive and not emulated:
        test = for_a_machine(test, length, check, link, more, policy.machine)
        more = machine_options(test, more)
    elif not inactive:
        test = _with_loop_options(test, more)
    _pace(more, test, scheme, policy, lock_step=lock_step, start_rig=start_rig, emulated=emulated)
    given = replace(
        _options(test, steps, link, lock_step, more, policy, endless=seconds is None or open_end),
        machine=not emulated or inactive,
        inactive=inactive,
    )
    if channels is not None and not inactive:
        refuse_misfits(channels, test)
    loop = _loop(test, link, drivers, libraries, channels, includes)
    rig = rig_program(test, lock_step=lock_step) if start_rig else None
    return RealtimeSession(
        test, seconds, given.steps, given, loop, rig, signal_table(test, steps), check.passed, check.verdict,
        emulated=emulated, inactive=inactive, channels=channels,
        policy=policy, check=check.to_dict(),
    )  # fmt: skip


def _at_rate(test: HybridTest, rate: float | str | None) -> HybridTest:
    """Return a test at another rate, where one is given."""
    wanted = test.rate if rate is None else number(rate, "rate", "Hz")
    return test if wanted == test.rate else test.replaced(rate=wanted)


def _loop(
    test: HybridTest,
    link: str,
    drivers: Sequence[str | Path],
    libraries: Sequence[str],
    channels: Channels | None,
    includes: Sequence[str | Path],
) -> Path:
    """Build the loop of a test, with what its link needs."""
    scheme = link.partition("://")[0]
    own, needed = drivers_for(scheme, [Path(d) for d in drivers], libraries)
    if scheme == "fmu":
        own = [*own, fmu_driver(test, link)]
    wired = channels if scheme not in LINKS else None  # those links carry SI units, and know no channels
    return loop_program(
        test, loopback=scheme == "loopback", drivers=own, libraries=needed, channels=wired,
        includes=[Path(i) for i in includes],
    )  # fmt: skip


def _refuse_without_rig(test: object) -> None:
    """Refuse what has no rig to be moved in real time."""
    if isinstance(test, PseudoDynamicTest):
        raise InputError(
            "a pseudo-dynamic test has a model of its rig, without an actuator; in real time its scheme "
            "moves a rig that `bondloop serve --protocol plain --clock` offers: "
            "bondloop.interop.run_pseudo_dynamic(test, seconds, RemoteRig('udp://...'))"
        )
    if not hasattr(test, "computer_tick"):
        raise InputError("a plain simulation has no rig, and nothing to run in real time; rehearse it")


def _refuse_unchecked(check: Check) -> None:
    """Refuse a test whose check has not passed."""
    if not check.passed:
        forced = ", force=True (--force) runs it all the same" if check.built else ""
        raise InputError(
            f"the check has not passed, so nothing was started: {'; '.join(check.problems)}; "
            f"`bondloop check` tells more{forced}"
        )


def _with_loop_options(test: HybridTest, more: Mapping[str, Any]) -> HybridTest:
    """Return a test whose interlock has the deadline and the retreat of the loop's options."""
    if test.interlock is None:
        return test
    told = with_loop_options(test.interlock, more)
    return test if told is test.interlock else test.replaced(interlock=told)


def _pace(
    more: dict[str, Any],
    test: HybridTest,
    scheme: str,
    policy: SessionPolicy,
    *,
    lock_step: bool,
    start_rig: bool,
    emulated: bool,
) -> None:
    """Add the options that say how loop and rig keep step, where they were not given."""
    if test.interlock is not None and test.interlock.deadline is not None:
        more.setdefault("overrun", "trip")
        more.setdefault("overrun_limit", test.interlock.deadline)
    if start_rig:
        more.setdefault("key", fresh_key())
    if scheme in ("udp", "shm") and not lock_step:
        # Half a step of an emulated rig behind it: what it measured at the beginning of the tick has come,
        # and the command is there before it needs one, as in the rehearsal.
        more.setdefault("phase", 0.5 * test.period / test.rig.substeps)
    if start_rig:
        # A model may answer late without harm: a rehearsal on a busy machine need not end for it.
        more.setdefault("stale", max(LoopOptions.stale, round(policy.patience / test.period)))
    if not lock_step and emulated and (start_rig or scheme in ("loopback", "fmu")):
        # The ticks that were missed, all at once, are a jump for the rig: right for a model, whose time is
        # the clock's too, and not for a machine. A burst of commands makes the measurement that answers the
        # last of them late by as many.
        stale = int(more.get("stale", LoopOptions.stale))
        more.setdefault("catch_up", min(round(policy.catch_up / test.period), stale // 2))


@dataclass(frozen=True)
class RealtimeSession:
    """A test that is checked and built, ready to be started.

    Attributes
    ----------
    test, seconds, steps
        What runs, how long, and in how many ticks; None and 0 where it runs until it is stopped.
    options
        Of the loop.
    loop, rig
        The executables; None where no rig is started.
    table
        Tabulated signals, one row a tick; None if there are none.
    passed, verdict
        Whether the check has passed, and what it said.
    emulated
        Whether the rig is a model.
    inactive
        Whether it is only for looking at what is measured.
    channels
        The laboratory's; None where no file was given.
    policy
        What it judges and waits by.
    check
        All that the check found.
    """

    test: HybridTest
    seconds: float | None
    steps: int
    options: LoopOptions
    loop: Path
    rig: Path | None
    table: NDArray[np.float64] | None
    passed: bool
    verdict: str = ""
    emulated: bool = True
    inactive: bool = False
    channels: Channels | None = None
    policy: SessionPolicy = field(default_factory=SessionPolicy)
    check: Mapping[str, Any] = field(default_factory=dict)

    def run(
        self,
        record: str | Path | None = None,
        live: Callable[[Live], None] | None = None,
        started: Callable[[str], None] | None = None,
        companion: Callable[[str], None] | None = None,
        further: list[int] | None = None,
        preflight: Callable[[Preflight], bool] | None = None,
        operator: str = "",
    ) -> Run:
        """Start everything, wait, and return what was recorded; arguments as in `run_realtime`.

        `companion` is called in a thread of its own once the loop was told to start, with the name of its
        telemetry; when it returns, or fails, the loop is stopped. Ctrl-C stops the loop; `further` gets those
        that follow, for who waits beside it.
        """
        if self.inactive:
            raise InputError("this was prepared for looking at what is measured, and may move nothing")
        with contextlib.ExitStack() as stack:
            if record is None:
                path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bondloop-"))) / "run.h5"
            else:
                path = Path(record)
                if not path.parent.is_dir():
                    raise InputError(f"cannot write {path}: there is no folder {path.parent}; make it first")
            expect_room(
                path.parent,
                round(_row_bytes(self.test) * self.policy.disk_room * self.test.rate)
                + self.policy.recorder.reserve,
            )
            loop = self.start(stack)
            words = _SessionWords(self, loop, path)
            words.write()
            recorders = self._recorded(loop, path, operator)
            stack.callback(recorders.close)
            stack.callback(loop.send, signal.SIGTERM)  # before anything else is waited for
            if started is not None:
                started(loop.name)
            helper = None if companion is None else LoopCompanion(companion, loop)
            start = (
                None
                if self.options.start or self.options.arm
                else _Start(loop, preflight, operator, self.policy.preflight)
            )
            run = self._watched(loop, recorders, live, helper, further, words, start, keep=record is not None)
            if helper is not None:
                helper.join()
            return run

    def _recorded(self, loop: LoopProcess, path: Path, operator: str) -> Recorders:
        """Start a recorder; where the loop has ended meanwhile, it is that which is told."""
        try:
            return Recorders(
                loop.name,
                path,
                self._about(loop.options.link, operator),
                self.options.cpu,
                self.policy.recorder,
            )
        except BondloopError as error:
            if loop.running:
                raise
            known = outcome(loop.status(), self.test.period, self.steps, alive=False)
            raise BondloopError(
                f"the loop ended while its recorder was started: {known['message'] or 'it was through'}"
            ) from error

    def start(self, stack: contextlib.ExitStack) -> LoopProcess:
        """Start the rig, if it is ours, and the loop, which waits inactive; the stack ends both."""
        link = self.options.link
        if self.rig is not None:
            rig = RigProcess(self.rig, self._rig_options(link))
            stack.callback(rig.close)
            link = rig.link
        loop = LoopProcess(self.loop, replace(self.options, link=link), self.table)
        stack.callback(loop.close)
        return loop

    def _rig_options(self, link: str) -> RigOptions:
        # It waits longer for the loop than the loop for it: the loop's own stop comes first.
        given = self.options
        paced = 0 if given.lock_step else given.priority
        return RigOptions(link=link, timeout=2 * given.timeout, priority=paced, key=given.key)

    def _watched(
        self,
        loop: LoopProcess,
        recorders: Recorders,
        live: Callable[[Live], None] | None,
        helper: LoopCompanion | None,
        further: list[int] | None,
        words: _SessionWords,
        start: _Start | None,
        *,
        keep: bool,
    ) -> Run:
        watcher = Watcher(loop.ring)
        began = time.monotonic()
        retreats, shown, page = False, None, _PageWatch(self.test.page_loss, self.policy.page_patience)
        assert loop.attendant is not None
        with interrupts(bell=loop.attendant.bell, further=further) as asked:
            before = loop.status()
            if start is not None and start.look():
                start = None
            if helper is not None and start is None:
                helper.start()
            while loop.running:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    loop.wait(self.policy.look)
                recorders.look_after()
                words.look()
                if start is not None and start.look():
                    before, start = loop.status(), None
                    if helper is not None:
                        helper.start()
                health = self._health(loop, recorders)
                loop.segment.header["recording_words"][0] = health.words.encode()[:128]
                if health.loss and self.test.record_loss == "retreat" and not retreats:
                    retreats = True
                    loop.mailbox.trip(Cause.RECORD_LOST)
                page.look(loop)
                if live is not None and start is None:
                    shown = replace(
                        watcher.look(),
                        recording=health.words,
                        trouble=silence_words(loop.silence) or page.words,
                    )
                    live(shown)
            if live is not None and shown is not None and shown.state != loop.ring.state:
                live(replace(watcher.look(), recording=shown.recording))  # it ended behind the last look
        if further is not None and not loop.status().counts["stops"]:
            further += asked  # the loop had ended by itself: it was for who waits beside it
        wall = time.monotonic() - began
        return self._run(loop, recorders, before, page.notes, wall, keep=keep)

    def _run(
        self,
        loop: LoopProcess,
        recorders: Recorders,
        before: Status,
        page_notes: Sequence[str],
        wall: float,
        *,
        keep: bool,
    ) -> Run:
        """Return what was recorded of a loop that has ended, with what became of it."""
        recorders.finish()
        files = last_run(recorders.files)
        known = outcome(loop.status(), self.test.period, self.steps, alive=False)
        if known["cause"] == Cause.START_POSITION:
            known["message"] = start_offset_words(
                self.test, known["cause_detail"], float(known["cause_value"])
            )
        merged, cycles = merged_files(files)
        if loop.status().run > 1:  # the loop knows no more of earlier runs: their files do
            known.update({name: merged.attributes[name] for name in known if name in merged.attributes})
        attributes = {
            **merged.attributes,
            **known,
            "timing": timing(cycles, self.test.period),
            "moving": moving(before, loop.status()),
            "warnings": warnings_of(merged[WARNING]) if WARNING in merged else {},
            "wall_seconds": wall,
            "notes": [
                *self.in_force,
                *page_notes,
                *(line for line in loop.messages.splitlines() if line.strip()),
            ],
            "recording": "; ".join(recorders.troubles),
            "samples_missing": known["steps"] - len(merged),
            "files": [str(p) for p in recorders.files] if keep else [],
        }
        return Run(replace(merged, attributes=attributes), self._reference)

    def _reference(self) -> ExactReference | str:
        """Return the exact reference of the run, or why there is none."""
        if not self.emulated:
            return "the rig was a machine, and what its specimen does is what the test is for"
        if self.rig is None and not self.options.link.startswith(("loopback://", "none://")):
            return "the rig was a model that another program played"
        if self.test.computer_tick.tunable:
            return "an operator may have changed parameters while the test ran"
        if self.seconds is None:
            return "the run was to go on until it was stopped"
        return exact_reference_of(self.test, {}, self.seconds)

    def _health(self, loop: LoopProcess, recorders: Recorders) -> Health:
        ring = loop.ring
        active = loop.running and ring.state != "finalized"
        return recorders.health(ring.written, ring.slots, paced=not self.options.lock_step, active=active)

    @property
    def in_force(self) -> list[str]:
        """What is in force on a machine, in words: what trips, and what is missing."""
        if self.emulated:
            return []
        open_to_all = self.options.link.startswith("udp://") and not self.options.key
        warning = ["the packets have no key: whoever reaches the rig's port can command it; see --key-file"]
        return [trips_in_words(self.test, self.options), *(warning if open_to_all else [])]

    def _repeat(self) -> dict[str, object]:
        """Return how to repeat what the loop computes of what it measures."""
        tick = self.test.computer_tick
        values = {v.name: self.options.parameters.get(v.name, x) for v, x in tick.parameters.items()}
        tick = replace(tick, parameters={v: values[v.name] for v in tick.parameters})
        if calls(tick):
            return {}
        tables = {name: s.describe() for name, s in self.test.tables.items()}
        measured = measured_names(tick)  # channels of the same names hold what was measured
        return {
            "repeat": {"tick": dump_tick(tick), "steps": self.steps, "tables": tables, "measured": measured}
        }

    def _about(self, link: str, operator: str = "") -> dict[str, object]:
        """Return what the recorder writes into the file beside the samples."""
        options = self.options
        return {
            "steps": self.steps,
            "description": {
                **self.test.about(),
                **self._repeat(),
                "seconds": self.seconds,
                "every": 1,
                "realtime": {
                    **{name: value for name, value in vars(options).items() if name != "key"},
                    "link": link,
                    "own_rig": self.rig is not None,
                    "record_loss": self.test.record_loss,
                    "page_loss": self.test.page_loss,
                    "emulated": self.emulated,
                },
                **({} if self.channels is None else {"channels": self.channels.describe()}),
            },
            "attributes": {
                "backend": "c",
                "backend_message": "",
                "lock_step": options.lock_step,
                "check_passed": self.passed,
                "check": kept_of_check(self.check),
                "operator": "" if options.arm else operator,
                "preflight": [],
                "seed": self.test.seed,
                "machine": f"{platform.node()} {platform.release()} {platform.machine()}",
                **origin(),
            },
        }


class _PageWatch:
    """Watches whether the server of an operator's page turns, and retreats where the test wants that."""

    def __init__(self, then: str, limit: float) -> None:
        self.words = ""
        self.notes: list[str] = []
        self._then, self._limit, self._retreats = then, limit, False

    def look(self, loop: LoopProcess) -> None:
        """Look once; what is found is noted when it begins, and where a loop was started in spite of it."""
        silent = silence(int(loop.segment.header["page_ns"][0]), 0, time.monotonic_ns(), self._limit)
        before = self._retreats
        self._retreats = retreats = bool(silent) and self._then == "retreat" and loop.ring.state == "active"
        if retreats:
            loop.mailbox.retreat("supervisor")
        if silent and (not self.words or (retreats and not before)):
            then = ", so the rig goes to its safe position and waits" if retreats else ""
            at = max(loop.status().steps - 1, 0) * loop.ring.period
            self.notes.append(f"the operator's page stood still at t = {at:.4g} s{then}")
        self.words = f"THE OPERATOR'S PAGE STANDS STILL ({silent:.1f} s)" if silent else ""


class _Start:
    """The start of a loop: at once, or as soon as the pre-flight list of its machine is complete."""

    def __init__(
        self,
        loop: LoopProcess,
        is_complete: Callable[[Preflight], bool] | None,
        operator: str,
        policy: PreflightPolicy,
    ) -> None:
        self._loop, self._is_complete, self._operator = loop, is_complete, operator
        self._preflight = Preflight(loop.segment, policy)

    def look(self) -> bool:
        """Start it if that may be; return whether it was started."""
        preflight, is_complete = self._preflight, self._is_complete
        if preflight.needed and is_complete is not None:
            preflight.look()
            if not is_complete(preflight):
                return False
        preflight.record(self._operator, confirmed=is_complete is not None)
        self._loop.mailbox.start()
        preflight.ring.release()
        return True


class _SessionWords:
    """What the supervisor writes for the pre-flight list, now and then while nothing moves."""

    def __init__(self, made: RealtimeSession, loop: LoopProcess, path: Path) -> None:
        self._loop, self._path, self._due = loop, path, 0.0
        self._every = made.policy.words_every
        self._words: dict[str, object] = {
            "check": {"passed": made.passed, "verdict": made.verdict[: made.policy.verdict]},
            "rest": asdict(made.policy.preflight),
        }
        if made.channels is not None and made.channels.preflight:
            self._words["items"] = list(made.channels.preflight)
        ticks = made.steps or round(made.policy.endless_disk_room * made.test.rate)
        self._needed = made.policy.recorder.reserve + _row_bytes(made.test) * ticks

    def look(self) -> None:
        """Write anew what may have changed."""
        if time.monotonic() >= self._due and self._loop.ring.state == "inactive":
            self.write()

    def write(self) -> None:
        """Write it."""
        self._due = time.monotonic() + self._every
        free = shutil.disk_usage(self._path.parent).free
        record = {"file": self._path.name, "free": free, "needed": self._needed, "at": time.time()}
        write_words(self._loop.segment, "session_words", {**self._words, "record": record})


def _row_bytes(test: HybridTest) -> int:
    """Return the bytes of a sample in the ring; in the file it has about as many."""
    return 64 + 8 * len(test.computer_tick.channels) + 63


def _in_si(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of the loop with times that are texts in s; refuse what is none, or not the caller's."""
    own = {"link", "steps", "lock_step", "start", "slots", "gap", "hot", "bare", "machine", "inactive"}
    known = sorted(set(LoopOptions.__dataclass_fields__) - own)
    if "gap" in given:
        raise InputError("gap is part of the test: HybridTest(..., gap=...), or --set gap=...")
    for name in given:
        if name not in known:
            raise InputError(unknown_name("option", name, known, where="the loop"))
    made = LoopOptions(**given)
    return {name: getattr(made, name) for name in given}


def _options(
    test: HybridTest,
    steps: int,
    link: str,
    lock_step: bool,
    given: dict[str, Any],
    policy: SessionPolicy,
    *,
    endless: bool = False,
) -> LoopOptions:
    if test.interlock is not None:
        given.setdefault("retreat", float(test.interlock.retreat))
    wanted = 0 if endless else steps
    made = LoopOptions(link=link, steps=wanted, lock_step=lock_step, gap=test.gap, **given)
    checked_values(test.computer_tick.parameters, made.parameters, "the loop")
    row_bytes = _row_bytes(test)
    if lock_step:
        # Faster than any recorder, so the ring takes it all, from the first tick on: the loop starts at once,
        # without rows of waiting.
        rows = steps + int(made.retreat * test.rate) + 64
        most = policy.backlog_bytes // row_bytes
        return replace(made, start=not made.arm, slots=max(8192, most if endless else min(rows, most)))
    rows = int(policy.backlog * test.rate)
    return replace(made, start=False, slots=max(8192, min(rows, policy.backlog_bytes // row_bytes)))
