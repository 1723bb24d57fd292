"""`bondloop check`: may this test be run? Before anything moves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bondloop.cli.output import AsJson, print_json
from bondloop.cli.quantities import TIME
from bondloop.cli.settings import Setting, TestSource, find_test, own_length
from bondloop.cli.source import short_name
from bondloop.display import at_work
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.check import Check


def check(
    source: TestSource,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", parser=TIME, help="Length of the test; the test's own if left out."),
    ] = None,
    settings: Setting = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Draw the check into this file: .png, .svg or .pdf.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a test before anything moves: stability, dry run, margins; exit with 1 if it should not run."""
    if figure is not None and figure.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError(f"--figure: expected a file that ends in .png, .svg or .pdf; found {figure}")
    test, module = find_test(source, settings or [])
    length = own_length(test, module, seconds)
    with at_work("checking", as_json):
        answer = _checked(test, length, source)
    if figure is not None:
        answer.plot(figure)
    if as_json:
        files = {} if figure is None else {"figure": str(figure)}
        print_json({"test": short_name(source), **answer.to_dict(), **files})
    else:
        print(answer)
        if figure is not None:
            print(f"wrote {figure}")
    if not answer.passed:
        raise typer.Exit(1)


def _checked(test: object, seconds: float | None, source: str) -> Check:
    """Check a test of either kind."""
    from bondloop.hybrid import HybridTest, PseudoDynamicTest

    if isinstance(test, (HybridTest, PseudoDynamicTest)):
        return test.check(seconds)
    raise InputError(
        f"{short_name(source)} is a simulation: it has no rig and no loop to check; `bondloop run` runs it"
    )
