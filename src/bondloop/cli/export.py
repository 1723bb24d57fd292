"""`bondloop export c`: a test as a folder of C for another machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bondloop.cli.answers import AsJson, print_json
from bondloop.cli.source import short_name
from bondloop.cli.tests import Setting, TestSource, find_test

__all__ = ["export"]

export = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Write a test as code for another target."
)


@export.callback()
def _kinds() -> None:
    """Write a test as code for another target."""


@export.command("c")
def c(
    source: TestSource,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write; made if there is none.")],
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", help="Length of tabulated signals; the test's own if left out."),
    ] = None,
    settings: Setting = None,
    as_json: AsJson = False,
) -> None:
    """Write a folder of C that builds with one `make`: executive, tick, drivers, rig."""
    from bondloop.realtime.export import export_c

    test, module = find_test(source, settings or [])
    length = seconds if seconds is not None else float(getattr(module, "SECONDS", 10.0))
    files = export_c(test, folder, seconds=length)
    if as_json:
        print_json({"test": short_name(source), "folder": str(folder), "files": [str(f) for f in files]})
        return
    print(f"wrote {len(files)} files to {folder}; build them with: make -C {folder}")
