"""`bondloop realtime`, `rig`, `serve`: run a test on the clock, play its rig, or let a program lead it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bondloop.cli.options import (
    MICROSECONDS,
    PATH,
    RATE,
    TIME,
    WHOLE,
    C,
    accept_option,
    checking,
    cpu_option,
    driver_option,
    emulated_option,
    figures_option,
    force_option,
    include_option,
    json_option,
    key_option,
    library_option,
    limits_option,
    priority_option,
    seconds_option,
    set_option,
    test_argument,
)
from bondloop.cli.output import print_json
from bondloop.cli.settings import find_test, length_of, short_name
from bondloop.cli.terminal import TerminalList, confirm_option, operator_option, user_name
from bondloop.display import at_work
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest
    from bondloop.realtime import Live, Preflight, RealtimeSession
    from bondloop.rehearsal import Run


@click.command("rig")
@test_argument
@click.option(
    "--link",
    default="udp://127.0.0.1:5005",
    help="Where to listen: udp://HOST:PORT (port 0: any) or shm://NAME.",
)
@click.option(
    "--rate", type=RATE, help="Steps a second of the rig, a multiple of the test's; its own if left out."
)
@click.option("--lock-step", is_flag=True, help="Take the rehearsal's steps, for a loop in lock-step.")
@priority_option
@cpu_option
@key_option
@set_option
@json_option
def rig(  # noqa: PLR0913, PLR0917 - an argument an option
    source: str,
    link: str,
    rate: float | None,
    lock_step: bool,
    priority: int,
    cpu: int | None,
    key: str,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Play the emulated rig of a test until Ctrl-C; a line for every session.

    With --json each line is a JSON object.
    """
    from bondloop.realtime import RigOptions, RigProcess, interrupts
    from bondloop.realtime.programs import rig_program

    name = short_name(source)
    test, _ = find_test(source, settings)
    if not hasattr(test, "rig_tick"):
        raise InputError(f"{name} is a plain simulation: it has no rig to play")
    program = rig_program(test, lock_step=lock_step, rate=rate)
    with (
        RigProcess(program, RigOptions(link=link, priority=priority, cpu=cpu, key=key)) as playing,
        # Whatever ends this process ends the rig, and with that its lines.
        interrupts(lambda: playing.send(signal.SIGTERM)) as asked,
    ):
        _say(name, playing.link, "listening", as_json)
        assert playing.process.stdout is not None
        for line in playing.process.stdout:
            _say(name, playing.link, line.strip(), as_json)
    if not asked:
        said = playing.messages.strip().splitlines()
        raise InputError(said[-1] if said else f"the rig at {playing.link} ended by itself")


def _say(name: str, link: str, event: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"test": name, "link": link, "event": event}), flush=True)
    else:
        print(f"{name} at {link}: {event}", flush=True)


@click.command("serve")
@test_argument
@click.option(
    "--protocol",
    default="generic-client",
    help="generic-client: OpenSees' element; plain: one's own program.",
)
@click.option("--port", type=WHOLE, default=8090, help="Where to listen; 0: any that is free.")
@click.option(
    "--host", default="127.0.0.1", help="Address to listen at; others than this machine reach it by another."
)
@click.option("--tcp/--udp", default=False, help="How OpenSees connects.")
@click.option("--clock", is_flag=True, help="In real time, with the emulated rig in a process of its own.")
@click.option("--link", help="In real time, with the rig at udp://HOST:PORT, shm://NAME, loopback://.")
@emulated_option
@key_option
@priority_option
@cpu_option
@force_option
@click.option("--idle", type=TIME, default=600.0, help="Seconds of silence after which the test is ended.")
@set_option
@operator_option
@confirm_option
@click.option("--out", "-o", type=PATH, help="Folder for the run file, or the run file (.h5); out/NAME.")
@json_option
def serve(  # noqa: PLR0913, PLR0917 - an argument an option
    source: str,
    protocol: str,
    port: int,
    host: str,
    tcp: bool,
    clock: bool,
    link: str | None,
    emulated: bool | None,
    key: str,
    priority: int,
    cpu: int | None,
    force: bool,
    idle: float,
    settings: tuple[str, ...],
    operator: str | None,
    confirm: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Let another program move the rig of a test with an external numerical half, and record it.

    Without --clock or --link it is rehearsed: the emulated rig moves as far as each step needs, without a
    clock. One program has the rig; when it is done, the test ends. Ctrl-C ends it too. Exits with 1 when the
    rig had a fault.
    """
    from bondloop.interop import Serving, serve_on_the_clock, serve_rehearsed
    from bondloop.realtime import interrupts

    name = short_name(source)
    test, _ = find_test(source, settings)
    path = run_file(out or Path("out") / name, "serve.h5")

    def say(sentence: str) -> None:
        print(sentence, file=sys.stderr if as_json else sys.stdout, flush=True)

    def serving(asked: Sequence[int] = ()) -> Serving:
        return Serving(protocol, host, port, "tcp" if tcp else "udp", idle, say, lambda: bool(asked))

    if clock or link is not None:
        who = operator or user_name()
        options: dict[str, object] = {"priority": priority, "cpu": cpu, **({"key": key} if key else {})}
        run, fault = serve_on_the_clock(
            test, serving(), path, link=link or f"shm://{name}-{os.getpid()}", start_rig=link is None,
            emulated=emulated, force=force, options=options, operator=who,
            preflight=TerminalList(who, confirm, sys.stdin if sys.stdin.isatty() else None),
        )  # fmt: skip
    else:
        with interrupts() as asked:
            made, fault = serve_rehearsed(test, serving(asked), path)
        assert made is not None
        run = made
    files = list(run.record.attributes["files"])
    seconds = float(run.time[-1]) if len(run.time) else 0.0
    if as_json:
        print_json({"test": name, "fault": fault, "seconds": seconds, "files": files})
    else:
        print(f"{seconds:.4g} s of the rig's motion were recorded")
        for file in files:
            print(f"wrote {file}")
    if fault:
        raise SystemExit(1)


def loop_options(verb: C) -> C:
    """Add the options of a loop, by the names that `LoopOptions` has for them."""
    for option in reversed(
        (
            click.option(
                "--arm",
                is_flag=True,
                help="Wait for an operator, who arms, starts and steers the test from a console.",
            ),
            click.option(
                "--operator-loss",
                type=TIME,
                help="Seconds without an operator's console after which it retreats.",
            ),
            priority_option,
            cpu_option,
            click.option(
                "--awake", is_flag=True, help="Keep all processors awake: fewer late ticks, more heat."
            ),
            click.option("--spin", type=MICROSECONDS, help="Microseconds to stay awake before each tick."),
            key_option,
            click.option(
                "--overrun", help="What a late tick does: count, hold or trip; on a machine it trips."
            ),
            click.option(
                "--deadline",
                "overrun_limit",
                type=WHOLE,
                help="Late ticks in a row that trip; the interlock's if left out.",
            ),
            click.option(
                "--stale", type=WHOLE, help="Ticks without a new measurement after which the link is lost."
            ),
            click.option(
                "--approach", type=TIME, help="Seconds of the way to the first command of a machine."
            ),
            click.option(
                "--retreat",
                type=TIME,
                help="Seconds of the way to the safe position; the interlock's if left out, 1 if none.",
            ),
        )
    ):
        verb = option(verb)
    return verb


@click.command("realtime")
@test_argument
@seconds_option
@click.option("--forever", is_flag=True, help="Run until it is stopped, by Ctrl-C or from a console.")
@click.option("--rate", type=RATE, help="Samples a second; the test's own if left out.")
@click.option(
    "--link",
    default="",
    show_default=False,
    help="Where the rig is: udp://HOST:PORT, shm://NAME, fmu://FILE (an FMU) or loopback:// (the "
    "emulated one), both in the same process. Left out: an emulated rig in a process of its own, "
    "over shared memory.",
)
@click.option("--rig/--no-rig", default=None, help="Play the emulated rig at the other end of the link.")
@click.option("--lock-step", is_flag=True, help="Loop and rig wait for each other, without a clock.")
@emulated_option
@driver_option
@library_option
@include_option
@force_option
@accept_option
@limits_option
@loop_options
@click.option("--channels", type=PATH, help="Channels file of the laboratory: calibrations, and the link.")
@set_option
@operator_option
@confirm_option
@click.option(
    "--out", "-o", type=PATH, help="Folder for run file and figures, or the run file (.h5); out/NAME."
)
@figures_option
@click.option("--dry", is_flag=True, help="Check and build everything; start nothing.")
@click.option(
    "--inactive",
    is_flag=True,
    help="Open the link and show what is measured, until Ctrl-C or for --seconds; command nothing.",
)
@json_option
def realtime(  # noqa: PLR0913 - an argument an option
    *,
    source: str,
    seconds: float | None,
    forever: bool,
    rate: float | None,
    link: str,
    rig: bool | None,
    lock_step: bool,
    emulated: bool | None,
    drivers: tuple[Path, ...],
    libraries: tuple[str, ...],
    includes: tuple[Path, ...],
    force: bool,
    accept: tuple[str, ...],
    limits: Path | None,
    channels: Path | None,
    settings: tuple[str, ...],
    operator: str | None,
    confirm: tuple[str, ...],
    out: Path | None,
    figures: bool,
    dry: bool,
    inactive: bool,
    as_json: bool,
    **loop: Any,
) -> None:
    """Run a test in real time, after its check has passed.

    Ctrl-C or s at the terminal stops it, r retreats, space or t trips; so does `bondloop stop` at any other.
    What was recorded is kept. Exits with 1 when the run had to be stopped, or its record is not complete.
    With --inactive nothing is commanded or recorded: the measured values are shown, for checking sensors and
    signs before anything moves.
    """
    from bondloop.files import read_channels
    from bondloop.realtime import prepare

    name = short_name(source)
    test, module = find_test(source, settings)
    lab = None if channels is None else read_channels(channels, None if inactive else test)
    if not link and lab is not None and not rig:
        link = lab.link
    own_rig = not link if rig is None else rig
    _refuse_contradictions(forever, seconds, inactive, lock_step)
    with at_work("checking and building", as_json):
        made = prepare(
            test,
            None if forever else length_of(test, module, seconds),
            link=link or (f"shm://{name}-{os.getpid()}" if own_rig else "loopback://"),
            rate=rate,
            lock_step=lock_step,
            start_rig=own_rig,
            emulated=emulated,
            drivers=drivers,
            libraries=libraries,
            channels=lab,
            includes=includes,
            force=force,
            checking=checking(source, accept, limits),
            inactive=inactive,
            options=_given(loop),
        )
    if not as_json and not inactive:
        _report_left_out(made.test)
    if dry:
        _print_dry_run(name, made, as_json)
        return
    if inactive:
        _watch(name, made, seconds, as_json)
        return
    path = run_file(out or Path("out") / name, "realtime.h5")
    run = _run(made, path, operator or user_name(), confirm, as_json)
    if sys.stderr.isatty() and not as_json:
        print(file=sys.stderr)
    files = [Path(f) for f in run.record.attributes["files"]]
    files += _figures(run, files) if figures and len(run.time) > 3 else []
    _answer(name, run, files, as_json)
    if not run.completed or run.record.attributes["samples_missing"]:
        raise SystemExit(1)


def _refuse_contradictions(forever: bool, seconds: float | None, inactive: bool, lock_step: bool) -> None:
    if forever and (seconds is not None or inactive):
        raise InputError("--forever runs until it is stopped; leave --seconds and --inactive out")
    if inactive and lock_step:
        raise InputError("--inactive shows what is measured on the clock; leave --lock-step out")


def _given(loop: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the loop that were given; a deadline trips unless another thing is wanted."""
    given = {name: value for name, value in loop.items() if value not in (None, "")}
    if "spin" in given:
        given["spin"] *= 1e-6
    if "overrun_limit" in given:
        given.setdefault("overrun", "trip")
    return given


def _run(made: RealtimeSession, path: Path, who: str, confirmed: Sequence[str], as_json: bool) -> Run:
    """Run it, with the pre-flight list and the keys at this terminal."""
    terminal = TerminalList(who, confirmed, sys.stdin if sys.stdin.isatty() else None)
    with contextlib.ExitStack() as keys:

        def is_complete(preflight: Preflight) -> bool:
            complete = terminal(preflight)
            if complete and not as_json:
                _heed_keys(preflight.segment.name, keys)  # not before: the answers are typed there
            return complete

        return made.run(
            record=path, live=_live_line(as_json), started=None if as_json else _start_notice(made, keys),
            operator=who, preflight=is_complete,
        )  # fmt: skip


def _report_left_out(test: HybridTest) -> None:
    """Say what the test wants recorded of the inside of the rig: a loop knows what is measured alone."""
    known = {channel.name for channel in test.computer_tick.channels}
    names = [name for name in test.record if name.startswith("rig.") and name not in known]
    if names:
        print(
            f"not recorded, for a loop does not know the inside of its rig: {', '.join(names)}",
            file=sys.stderr,
            flush=True,
        )


def _start_notice(made: RealtimeSession, keys: contextlib.ExitStack) -> Callable[[str], None]:
    """Return a function that says how to attach to the loop and to stop it, and what Start will do."""

    def tell(segment: str) -> None:
        from bondloop.realtime import Console

        answers = not (made.emulated or made.options.arm or made.options.start)
        if answers:
            with Console.attach(segment) as console:
                answers = console.preflight.needed
        if not answers:  # else they are typed where the keys are
            _heed_keys(segment, keys)
        print(f"attach to it: bondloop dashboard --segment {segment}", file=sys.stderr)
        if not made.emulated:  # what the list has of it
            print(f"the check: {made.verdict}", file=sys.stderr)
            for line in made.in_force:
                print(line, file=sys.stderr)
        if made.options.arm:
            with Console.attach(segment) as console:
                words = "; ".join(map(str, console.start_words()))
            print(f"what Start will do: {words}", file=sys.stderr)
        sys.stderr.flush()

    return tell


def _heed_keys(segment: str, keys: contextlib.ExitStack) -> None:
    """Heed the keys that bring the rig to rest, where there is a terminal."""
    from bondloop.cli.terminal import stop_keys

    if keys.enter_context(stop_keys(segment)):
        print("keys: space or t trips, r retreats, s or Ctrl-C stops", file=sys.stderr, flush=True)


def run_file(out: Path, name: str) -> Path:
    """Return the run file that --out means, a folder or the file itself, and make its folder."""
    path = out if out.suffix in (".h5", ".hdf5") else out / name
    if path.is_dir() or path.parent.is_file():
        raise InputError(f"--out: expected a folder, or a run file that ends in .h5; found {out}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: the folder {path.parent} cannot be made: {error.strerror}") from None
    return path


def _live_line(quiet: bool) -> Callable[[Live], None]:
    """Return a function that rewrites a line on stderr; without a terminal it tells of trouble alone."""
    if quiet or not sys.stderr.isatty():
        return _trouble_reporter()

    def show(live: Live) -> None:
        print(f"\r\x1b[K{live}", end="", file=sys.stderr, flush=True)

    return show


def _trouble_reporter() -> Callable[[Live], None]:
    """Return a function that says what is wrong with loop or recording, a line for each kind of trouble."""
    told: set[str] = set()

    def tell(live: Live) -> None:
        for who, words in (("loop", live.trouble), ("recording", live.recording)):
            kind = re.sub(r"[\d,]+", "", words)  # numbers grow: one line, not one for each number
            if kind not in told and words:
                print(f"{who}: {words} (t = {live.time:.2f} s)", file=sys.stderr, flush=True)
            told.add(kind)

    return tell


def _watch(name: str, made: RealtimeSession, seconds: float | None, as_json: bool) -> None:
    from bondloop.realtime import Measured, measured_line, watch_measured
    from bondloop.safety import cause_words

    newest: dict[str, float] = {}
    live = sys.stderr.isatty() and not as_json

    def show(measured: Measured) -> None:
        newest.update({word: value for word, (value, _) in measured.items()})
        if live:
            print(f"\r\x1b[K{measured_line(measured)}", end="", file=sys.stderr, flush=True)
        elif not as_json:
            print(measured_line(measured), flush=True)

    status = watch_measured(made, show, seconds)
    if live:
        print(file=sys.stderr)
    if as_json:
        print_json(
            {
                "test": name,
                "measured": newest,
                "commands_sent": status.link["sent"],
                "cause": status.cause,
                "cause_words": cause_words(status.cause),
            }
        )
    elif status.cause:
        print(f"stopped: {cause_words(status.cause)}; nothing was commanded")
    if status.cause:
        raise SystemExit(1)


def _figures(run: Run, files: list[Path]) -> list[Path]:
    from bondloop.realtime import last_run, merged_files
    from bondloop.results.figures import latencies

    drawn = []
    base = files[0]
    if run.pairs:
        drawn.append(base.with_name(f"{base.stem}-overview.png"))
        run.plot.overview(path=drawn[-1])
    if not run.record.attributes["lock_step"]:
        _, cycles = merged_files(last_run(files))
        drawn.append(base.with_name(f"{base.stem}-latency.png"))
        latencies(1e-9 * cycles["wake_ns"], 1e-9 * cycles["busy_ns"], _period(run), path=drawn[-1])
    return drawn


def _answer(name: str, run: Run, files: list[Path], as_json: bool) -> None:
    from bondloop.realtime import summary_lines

    attributes = run.record.attributes
    measures = run.metrics if len(run.time) > 3 else []
    if as_json:
        keys = (
            *(
                "message",
                "steps",
                "cause",
                "cause_words",
                "cause_step",
                "timing",
                "moving",
                "counts",
                "link_counts",
            ),
            *("samples_missing", "recording", "notes", "warnings", "wall_seconds"),
        )
        print_json(
            {
                "test": name,
                "completed": run.completed,
                "verdict": run.verdict,
                **{k: attributes.get(k) for k in keys},
                "metrics": [m.to_dict() for m in measures],
                "files": [str(f) for f in files],
            }
        )
        return
    described: dict[str, object] = run.record.description["realtime"]
    simulated = float(run.time[-1]) if len(run.time) else 0.0
    print(f"{simulated:g} s at {1 / _period(run):,.6g} Hz over {described['link']}")
    for line in (*attributes["notes"], *summary_lines(attributes)):
        print(line)
    if attributes["recording"]:
        print(attributes["recording"])
    if attributes["samples_missing"]:
        print(f"{attributes['samples_missing']:,} of {attributes['steps']:,} ticks are missing in the record")
    for m in measures:
        print(m)
    print(run.verdict)
    for f in files:
        print(f"wrote {f}")


def _period(run: Run) -> float:
    return 1.0 / float(run.record.description["rate"])


def _print_dry_run(name: str, made: RealtimeSession, as_json: bool) -> None:
    options = made.options
    if as_json:
        print_json(
            {
                "test": name,
                "passed": made.passed,
                "steps": made.steps,
                "rate": made.test.rate,
                "link": options.link,
                "loop": str(made.loop),
                "rig": None if made.rig is None else str(made.rig),
                "arguments": options.arguments(),
            }
        )
        return
    print(f"the check has {'passed' if made.passed else 'NOT passed'}: {made.verdict}")
    ticks = f"{made.steps:,} ticks" if made.steps else "ticks without end"
    print(f"{ticks} at {made.test.rate:,.6g} Hz over {options.link}; built, nothing started")
    print(f"loop {made.loop}")
    if made.rig is not None:
        print(f"rig  {made.rig}")
