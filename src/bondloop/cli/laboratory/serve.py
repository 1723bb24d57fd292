"""`bondloop serve`: let another program, such as OpenSees, move a test's rig."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bondloop.cli.laboratory.preflight import Confirmed, Operator, TerminalList, user_name
from bondloop.cli.laboratory.realtime import run_file
from bondloop.cli.output import AsJson, print_json
from bondloop.cli.quantities import TIME, WHOLE
from bondloop.cli.settings import Setting, TestSource, find_test
from bondloop.cli.source import short_name


def serve(  # noqa: PLR0913, PLR0917 - an argument an option
    source: TestSource,
    protocol: Annotated[
        str,
        typer.Option("--protocol", help="generic-client: OpenSees' element; plain: one's own program."),
    ] = "generic-client",
    port: Annotated[
        int, typer.Option("--port", parser=WHOLE, help="Where to listen; 0: any that is free.")
    ] = 8090,
    host: Annotated[
        str,
        typer.Option("--host", help="Address to listen at; others than this machine reach it by another."),
    ] = "127.0.0.1",
    tcp: Annotated[bool, typer.Option("--tcp/--udp", help="How OpenSees connects.")] = False,
    clock: Annotated[
        bool, typer.Option("--clock", help="In real time, with the emulated rig in a process of its own.")
    ] = False,
    link: Annotated[
        str | None,
        typer.Option(
            "--link", help="In real time, with the rig at udp://HOST:PORT, shm://NAME, loopback://."
        ),
    ] = None,
    emulated: Annotated[
        bool | None,
        typer.Option("--emulated/--machine", help="What is at the link, as for `realtime`."),
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option("--key-file", help="File with the key of the link's packets over UDP.")
    ] = None,
    priority: Annotated[
        int,
        typer.Option("--priority", parser=WHOLE, help="Real-time priority (SCHED_FIFO), 1 to 99; 0: none."),
    ] = 0,
    cpu: Annotated[
        int | None, typer.Option("--cpu", parser=WHOLE, help="Processor that the loop keeps to.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Run although the check has not passed.")] = False,
    idle: Annotated[
        float, typer.Option("--idle", parser=TIME, help="Seconds of silence after which the test is ended.")
    ] = 600.0,
    settings: Setting = None,
    operator: Operator = None,
    confirm: Confirmed = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for the run file, or the run file (.h5); out/NAME."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let another program move the rig of a test with an external numerical half, and record it.

    Without --clock or --link it is rehearsed: the emulated rig moves as far as each step needs, without a
    clock. One program has the rig; when it is done, the test ends. Ctrl-C ends it too. Exits with 1 when the
    rig had a fault.
    """
    from bondloop.interop import Serving, serve_on_the_clock, serve_rehearsed
    from bondloop.realtime import interrupts, read_key

    name = short_name(source)
    test, _ = find_test(source, settings or [])
    path = run_file(out or Path("out") / name, "serve.h5")

    def say(sentence: str) -> None:
        print(sentence, file=sys.stderr if as_json else sys.stdout, flush=True)

    def serving(asked: Sequence[int] = ()) -> Serving:
        return Serving(protocol, host, port, "tcp" if tcp else "udp", idle, say, lambda: bool(asked))

    if clock or link is not None:
        who = operator or user_name()
        options: dict[str, object] = {"priority": priority, "cpu": cpu}
        if key_file is not None:
            options["key"] = read_key(key_file)
        run, fault = serve_on_the_clock(
            test, serving(), path, link=link or f"shm://{name}-{os.getpid()}", start_rig=link is None,
            emulated=emulated, force=force, options=options, operator=who,
            preflight=TerminalList(who, confirm or [], sys.stdin if sys.stdin.isatty() else None),
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
        raise typer.Exit(1)
