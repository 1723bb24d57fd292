"""`bondloop check`: may this test be run? Before anything moves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bondloop.cli.answers import AsJson, print_json
from bondloop.cli.source import short_name
from bondloop.cli.tests import Setting, TestSource, find_test
from bondloop.errors import InputError

__all__ = ["check"]


def check(
    source: TestSource,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Length of the test; the test's own if left out.")
    ] = None,
    settings: Setting = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Draw the check into this file: .png, .svg or .pdf.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a test before anything moves: stability, dry run, margins; exit with 1 if it should not run."""
    test, module = find_test(source, settings or [])
    if not hasattr(test, "check"):
        raise InputError(f"{short_name(source)} is a plain simulation: it has no rig and no loop to check")
    from bondloop.hybrid import HybridTest

    if isinstance(test, HybridTest):
        length = seconds if seconds is not None else getattr(module, "SECONDS", None)
        found: Any = test.check(length)
    else:
        found = test.check()
    if figure is not None:
        if not hasattr(found, "plot"):
            raise InputError(f"{short_name(source)}: a pseudo-dynamic test's check has no figure")
        found.plot(figure)
    if as_json:
        files = {} if figure is None else {"figure": str(figure)}
        print_json({"test": short_name(source), **found.to_dict(), **files})
    else:
        print(found)
        if figure is not None:
            print(f"wrote {figure}")
    if not found.passed:
        raise typer.Exit(1)
