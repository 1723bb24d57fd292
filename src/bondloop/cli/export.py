"""`bondloop export`: a test as a folder of C for another machine, or as a TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bondloop.cli.output import AsJson, print_json
from bondloop.cli.settings import TIME, WHOLE, Setting, TestSource, find_test, length_of, short_name
from bondloop.display import at_work
from bondloop.errors import InputError

export = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Write a test as code for another target, or as a file to change.",
)


@export.callback()
def _kinds() -> None:
    """Write a test as code for another target, or as a file to change."""


@export.command("c")
def c(
    source: TestSource,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write; made if there is none.")],
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", parser=TIME, help="Length of tabulated signals; the test's own if left out."
        ),
    ] = None,
    settings: Setting = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write it although the check has not passed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a folder of C that builds with one `make`: executive, tick, drivers, rig; after a check."""
    from bondloop.realtime.programs import export_c

    test, module = find_test(source, settings or [])
    length = length_of(test, module, seconds)
    with at_work("checking", as_json):
        answer = test.check(length) if hasattr(test, "check") and hasattr(test, "computer_tick") else None
    if answer is not None and not answer.passed and not force:
        forced = ", --force writes it all the same" if answer.built else ""
        raise InputError(
            f"the check has not passed, so nothing was written: {'; '.join(answer.problems)}; "
            f"`bondloop check` tells more{forced}"
        )
    files = export_c(test, folder, seconds=length)
    if as_json:
        print_json({"test": short_name(source), "folder": str(folder), "files": [str(f) for f in files]})
        return
    if answer is not None:
        print(f"the check says: {answer.verdict}")
    print(f"wrote {len(files)} files to {folder}; build them with: make -C {folder}")


@export.command("fmu")
def fmu(
    source: TestSource,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE.fmu", help="File to write; named after the test if left out."
        ),
    ] = None,
    half: Annotated[
        str, typer.Option("--half", metavar="whole|computer|rig", help="What of the test to write.")
    ] = "whole",
    version: Annotated[
        int, typer.Option("--version", parser=WHOLE, metavar="3|2", help="Version of FMI.")
    ] = 3,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", parser=TIME, help="Length of tabulated signals; the test's own if left out."
        ),
    ] = None,
    sources_only: Annotated[
        bool, typer.Option("--sources-only", help="Leave out the binary for this platform.")
    ] = False,
    settings: Setting = None,
    as_json: AsJson = False,
) -> None:
    """Write a test, its computer or its rig as an FMU for co-simulation (FMI 3.0 or 2.0)."""
    test, module = find_test(source, settings or [])
    length = length_of(test, module, seconds)
    path = output or Path(f"{short_name(source)}{'' if half == 'whole' else f'-{half}'}.fmu")
    with at_work("building", as_json):
        test.write_fmu(path, half=half, version=version, seconds=length, binary=not sources_only)
    if as_json:
        print_json({"test": short_name(source), "file": str(path), "half": half, "version": version})
    else:
        print(f"wrote {path}: FMI {version}.0, co-simulation in steps of {test.period:g} s")


@export.command("toml")
def toml(
    source: TestSource,
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="File to write.")],
    settings: Setting = None,
    as_json: AsJson = False,
) -> None:
    """Write a test as a TOML file, to be changed, checked and run."""
    from bondloop.files import to_toml

    test, module = find_test(source, settings or [])
    to_toml(test, file, seconds=getattr(module, "SECONDS", None))
    if as_json:
        print_json({"test": short_name(source), "file": str(file)})
    else:
        print(f"wrote {file}")
