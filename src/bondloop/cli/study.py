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
    from bondloop.studies import Case, Sampled

__all__ = ["study"]

MOST_ROWS = 100_000
"""Tests up to which every one is written as a row."""


def study(  # noqa: PLR0913, PLR0917 - each is one option of the verb
    source: TestSource,
    vary: Annotated[
        list[str],
        typer.Option(
            "--vary",
            metavar="NAME=VALUES",
            help="What to vary: 1..12 (whole numbers), 0..1/5 (five numbers), or a,b,c; up to three times. "
            "With --samples a distribution: normal(15 kN/m, 5%), uniform(1, 2), lognormal(2, 10%), "
            "whole(1, 9), truncated(normal(1, 5%), 0.9, 1.1).",
        ),
    ],
    measure: Annotated[
        str,
        typer.Option(
            "--measure",
            help="What to measure, separated by commas; or anything the test finds. "
            "With --samples: error, trip, trip_time, peak:CHANNEL, rms:CHANNEL and the like.",
        ),
    ] = "",
    samples: Annotated[
        float | None,
        typer.Option("--samples", help="Draw so many tests from distributions, such as 1e6."),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", help="How they are drawn: sobol, latin or random.")
    ] = "sobol",
    seed: Annotated[int, typer.Option("--seed", help="Of what is drawn.")] = 0,
    settings: Setting = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Length of each run; the test's own if left out.")
    ] = None,
    backend: Annotated[
        str,
        typer.Option(
            "--backend",
            help="c, numpy, or auto: C where a compiler is found. "
            "With --samples: cuda, lanes, 'one by one', or auto: the first that can be had.",
        ),
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

    folder = out or Path("out") / short_name(source)
    wanted = [name.strip() for name in measure.split(",") if name.strip()]
    if samples is not None:
        drawn(
            source,
            vary,
            wanted or ["error"],
            settings,
            samples,
            seconds,
            (method, seed, backend),
            folder,
            figures,
            as_json,
        )
        return
    wanted = wanted or ["stable", "error"]
    axes = [axis_from(text) for text in vary]

    def make(values: Mapping[str, str]) -> Case:
        own = [f"{name}={value}" for name, value in values.items()]
        test, module = find_test(source, [*(settings or []), *own])
        length = length_of(test, module, seconds)
        return Case(test, length, getattr(module, "findings", None), backend)

    # A file of the user's is run anew for every case, in its own folder: one at a time.
    jobs = 1 if source.endswith((".py", ".toml")) else min(os.cpu_count() or 1, 8)
    found = over_the_grid(make, axes, wanted, jobs=jobs, progress=progress_bar(as_json))
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


def drawn(  # noqa: PLR0913, PLR0917 - as the verb
    source: str,
    vary: list[str],
    wanted: list[str],
    settings: list[str] | None,
    samples: float,
    seconds: float | None,
    how: tuple[str, int, str],
    folder: Path,
    figures: bool,
    as_json: bool,
) -> None:
    """Rehearse a test many times with values drawn from distributions."""
    from bondloop.errors import InputError
    from bondloop.studies import exceedance, sample
    from bondloop.studies.sampled_figure import differs

    distributions: dict[str, str] = {}
    for text in vary:
        name, equals, given = (part.strip() for part in text.partition("="))
        if not equals or not name or not given:
            raise InputError(
                f"--vary takes NAME=DISTRIBUTION, such as rig.mass=normal(2, 5%); found {text!r}"
            )
        if name in distributions:
            raise InputError(f"each thing is varied once; found {name} twice")
        distributions[name] = given
    test, module = find_test(source, settings or [])
    method, seed, backend = how
    found: Sampled = sample(
        test, distributions, samples, wanted, seconds=length_of(test, module, seconds),
        method=method, seed=seed, backend=backend, progress=progress_bar(as_json),  # type: ignore[arg-type]
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    files = [found.save(folder / "samples.csv")] if len(found) <= MOST_ROWS else []
    if figures and differs(found):
        exceedance(found, path=folder / "samples.png")
        files.append(folder / "samples.png")
    stopped = found.probability()
    if as_json:
        print_json(
            {
                "test": short_name(source), "samples": len(found), "seconds": found.seconds,
                "backend": found.backend, "stopped": stopped._asdict(),
                "causes": dict(found.causes),
                "quantiles": {
                    m: {q: found.quantile(m, q / 100) for q in (5, 50, 95, 99)} for m in found.measured
                },
                "worst": {m: found.worst(m, 3) for m in found.measured},
                "files": [str(f) for f in files],
            }
        )  # fmt: skip
        return
    print(found)
    for f in files:
        print(f"wrote {f}")
    if len(found) > MOST_ROWS:
        print(f"more than {MOST_ROWS:,} tests are not written as CSV; from Python, save them as Parquet")
