"""`bondloop rig`: play a test's emulated rig in a process of its own."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Annotated

import typer

from bondloop.cli.output import AsJson
from bondloop.cli.quantities import RATE, WHOLE
from bondloop.cli.settings import Setting, TestSource, find_test
from bondloop.cli.source import short_name
from bondloop.errors import InputError


def rig(  # noqa: PLR0913, PLR0917 - an argument an option
    source: TestSource,
    link: Annotated[
        str, typer.Option("--link", help="Where to listen: udp://HOST:PORT (port 0: any) or shm://NAME.")
    ] = "udp://127.0.0.1:5005",
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            parser=RATE,
            help="Steps a second of the rig, a multiple of the test's; its own if left out.",
        ),
    ] = None,
    lock_step: Annotated[
        bool, typer.Option("--lock-step", help="Take the rehearsal's steps, for a loop in lock-step.")
    ] = False,
    priority: Annotated[
        int,
        typer.Option("--priority", parser=WHOLE, help="Real-time priority (SCHED_FIFO), 1 to 99; 0: none."),
    ] = 0,
    cpu: Annotated[
        int | None, typer.Option("--cpu", parser=WHOLE, help="Processor that the rig keeps to.")
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", help="File with the key of the packets over UDP, which the loop has too."),
    ] = None,
    settings: Setting = None,
    as_json: AsJson = False,
) -> None:
    """Play the emulated rig of a test until Ctrl-C; a line for every session.

    With --json each line is a JSON object.
    """
    from bondloop.realtime import RigOptions, RigProcess, interrupts, read_key
    from bondloop.realtime.programs import rig_program

    name = short_name(source)
    test, _ = find_test(source, settings or [])
    if not hasattr(test, "rig_tick"):
        raise InputError(f"{name} is a plain simulation: it has no rig to play")
    program = rig_program(test, lock_step=lock_step, rate=rate)
    key = "" if key_file is None else read_key(key_file)
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
        said = playing.said.strip().splitlines()
        raise InputError(said[-1] if said else f"the rig at {playing.link} ended by itself")


def _say(name: str, link: str, event: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"test": name, "link": link, "event": event}), flush=True)
    else:
        print(f"{name} at {link}: {event}", flush=True)
