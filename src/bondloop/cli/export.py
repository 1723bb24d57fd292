"""`bondloop export`: a test as a folder of C for another machine, or as a TOML file."""

from __future__ import annotations

from pathlib import Path

import click

from bondloop.cli.options import PATH, TIME, WHOLE, json_option, set_option, test_argument
from bondloop.cli.output import print_json
from bondloop.cli.settings import find_test, length_of, short_name
from bondloop.display import at_work
from bondloop.errors import InputError


@click.group("export", no_args_is_help=True)
def export() -> None:
    """Write a test as code for another target, or as a file to change."""


@export.command("c")
@test_argument
@click.argument("folder", type=PATH, metavar="DIR", help="Folder to write; made if there is none.")
@click.option("--seconds", type=TIME, help="Length of tabulated signals; the test's own if left out.")
@set_option
@click.option("--force", is_flag=True, help="Write it although the check has not passed.")
@json_option
def c(
    source: str,
    folder: Path,
    seconds: float | None,
    settings: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Write a folder of C that builds with one `make`: executive, tick, drivers, rig; after a check."""
    from bondloop.realtime.programs import export_c

    test, module = find_test(source, settings)
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
@test_argument
@click.option(
    "-o", "--output", type=PATH, metavar="FILE.fmu", help="File to write; named after the test if left out."
)
@click.option("--half", default="whole", metavar="whole|computer|rig", help="What of the test to write.")
@click.option("--version", type=WHOLE, default=3, metavar="3|2", help="Version of FMI.")
@click.option("--seconds", type=TIME, help="Length of tabulated signals; the test's own if left out.")
@click.option("--sources-only", is_flag=True, help="Leave out the binary for this platform.")
@set_option
@json_option
def fmu(
    source: str,
    output: Path | None,
    half: str,
    version: int,
    seconds: float | None,
    sources_only: bool,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write a test, its computer or its rig as an FMU for co-simulation (FMI 3.0 or 2.0)."""
    test, module = find_test(source, settings)
    length = length_of(test, module, seconds)
    path = output or Path(f"{short_name(source)}{'' if half == 'whole' else f'-{half}'}.fmu")
    with at_work("building", as_json):
        test.write_fmu(path, half=half, version=version, seconds=length, binary=not sources_only)
    if as_json:
        print_json({"test": short_name(source), "file": str(path), "half": half, "version": version})
    else:
        print(f"wrote {path}: FMI {version}.0, co-simulation in steps of {test.period:g} s")


@export.command("toml")
@test_argument
@click.argument("file", type=PATH, metavar="FILE.toml", help="File to write.")
@set_option
@json_option
def toml(
    source: str,
    file: Path,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write a test as a TOML file, to be changed, checked and run."""
    from bondloop.files import to_toml

    test, module = find_test(source, settings)
    to_toml(test, file, seconds=getattr(module, "SECONDS", None))
    if as_json:
        print_json({"test": short_name(source), "file": str(file)})
    else:
        print(f"wrote {file}")
