"""`bondloop report`: runs as one page of HTML, to be mailed and printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bondloop.cli.output import AsJson, print_json
from bondloop.display import at_work
from bondloop.errors import InputError


def report(
    files: Annotated[
        list[Path], typer.Argument(metavar="RUN.h5...", help="Run files; several are set side by side.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The page to write; report.html beside the first file if left out."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Check the test anew, with its figure and margins.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Write a report: what was tested, might it be run, how it went, how to repeat it, what to cite."""
    from bondloop.report import write_report

    for file in files:
        if not file.is_file():
            raise InputError(f"{file}: there is no such file; `bondloop run` and `realtime` write run files")
    path = out or files[0].with_name("report.html")
    with at_work("writing the report", as_json):
        write_report(files, path, check=check)
    if as_json:
        print_json({"runs": [str(f) for f in files], "file": str(path)})
    else:
        print(f"wrote {path}; print it from a browser for a PDF")
