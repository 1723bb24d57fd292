"""`bondloop study`: a test over a grid of options and parameters; table, heat maps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bondloop.cli.answers import AsJson, print_json
from bondloop.cli.progress import progress_bar
from bondloop.cli.source import short_name
from bondloop.cli.tests import Setting, TestSource, find_test, length_of

if TYPE_CHECKING:
    from bondloop.studies import Case

__all__ = ["study"]


def study(  # noqa: PLR0913, PLR0917 - each is one option of the verb
    source: TestSource,
    vary: Annotated[
        list[str],
        typer.Option(
            "--vary",
            metavar="NAME=VALUES",
            help="What to vary: 1..12 (whole numbers), 0..1/5 (five numbers), or a,b,c; up to three times.",
        ),
    ],
    measure: Annotated[
        str,
        typer.Option("--measure", help="What to measure, separated by commas; or anything the test finds."),
    ] = "stable,error",
    settings: Setting = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Length of each run; the test's own if left out.")
    ] = None,
    backend: Annotated[
        str, typer.Option("--backend", help="c, numpy, or auto: C where a compiler is found.")
    ] = "auto",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for figure and table; out/NAME if left out."),
    ] = None,
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw the heat maps.")] = True,
    as_json: AsJson = False,
) -> None:
    """Vary options or parameters of a test and measure stability, accuracy, or anything the test finds."""
    from bondloop.studies import Case, axis_from, heat_maps
    from bondloop.studies import study as over_the_grid

    axes = [axis_from(text) for text in vary]
    wanted = [name.strip() for name in measure.split(",") if name.strip()]

    def make(values: Mapping[str, str]) -> Case:
        own = [f"{name}={value}" for name, value in values.items()]
        test, module = find_test(source, [*(settings or []), *own])
        length = length_of(test, module, seconds)
        return Case(test, length, getattr(module, "findings", None), backend)

    # A file of the user's is run anew for every case, in its own folder: one at a time.
    jobs = 1 if source.endswith((".py", ".toml")) else min(os.cpu_count() or 1, 8)
    found = over_the_grid(make, axes, wanted, jobs=jobs, progress=progress_bar(as_json))
    folder = out or Path("out") / short_name(source)
    folder.mkdir(parents=True, exist_ok=True)
    files = [found.save(folder / "study.csv")]
    if figures:
        heat_maps(found, path=folder / "study.png")
        files.append(folder / "study.png")
    if as_json:
        print_json(
            {
                "test": short_name(source),
                "varied": {a.name: list(a.numbers or a.values) for a in axes},
                "cells": found.cells,
                "files": [str(f) for f in files],
            }
        )
        return
    print(found)
    for f in files:
        print(f"wrote {f}")
