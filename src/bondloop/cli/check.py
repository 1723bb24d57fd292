"""`bondloop check`: may this test be run? Before anything moves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bondloop.cli.answers import AsJson, print_json
from bondloop.cli.progress import at_work
from bondloop.cli.source import short_name
from bondloop.cli.tests import Setting, TestSource, find_test
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.hybrid import Check, Stability

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
    if figure is not None and figure.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError(f"--figure: expected a file that ends in .png, .svg or .pdf; found {figure}")
    test, module = find_test(source, settings or [])
    length = seconds if seconds is not None else getattr(module, "SECONDS", None)
    with at_work("checking", as_json):
        answer = _checked(test, length, source)
    drawn = figure is not None and hasattr(answer, "plot")
    if figure is not None and drawn:
        answer.plot(figure)  # type: ignore[union-attr]
    if as_json:
        files = {"figure": str(figure)} if drawn else {}
        print_json({"test": short_name(source), **answer.to_dict(), **files})
    else:
        print(answer)
        if drawn:
            print(f"wrote {figure}")
    if figure is not None and not drawn:
        raise InputError(
            f"{short_name(source)}: a pseudo-dynamic test's check has no figure; nothing was drawn"
        )
    if not answer.passed:
        raise typer.Exit(1)


def _checked(test: object, seconds: float | None, source: str) -> Check | Stability:
    """Check a test of either kind; only one that runs in real time has a length."""
    from bondloop.hybrid import HybridTest, PseudoDynamicTest

    if isinstance(test, HybridTest):
        return test.check(seconds)
    if isinstance(test, PseudoDynamicTest):
        return test.check()
    raise InputError(f"{short_name(source)} is a plain simulation: it has no rig and no loop to check")
