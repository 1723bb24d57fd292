"""`bondloop benchmark`: all controllers through the field's benchmark; tables, figure."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from bondloop.cli.output import AsJson, print_json
from bondloop.cli.quantities import COUNT, PART, WHOLE
from bondloop.display import silent
from bondloop.errors import InputError


def benchmark(  # noqa: PLR0913, PLR0917 - each is one option of the verb
    controllers: Annotated[
        str, typer.Option("--controllers", metavar="NAME,NAME", help="Which; all if left out.")
    ] = "",
    cases: Annotated[str, typer.Option("--cases", metavar="1,4", help="Which of the four.")] = "1,2,3,4",
    plants: Annotated[
        int,
        typer.Option("--plants", parser=WHOLE, help="Plants that differ from the nominal one, in each case."),
    ] = 20,
    seeds: Annotated[
        int, typer.Option("--seeds", parser=WHOLE, help="Draws of the noise on the nominal plant.")
    ] = 3,
    record: Annotated[
        str,
        typer.Option("--record", metavar="FILE", help="Ground motion: .AT2, .mat or two columns; El Centro."),
    ] = "",
    scale: Annotated[float, typer.Option("--scale", parser=PART, help="What it is multiplied by.")] = 0.4,
    jobs: Annotated[
        int | None, typer.Option("--jobs", parser=COUNT, help="Runs at a time; one a core if left out.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for tables and figure.")] = Path(
        "out/benchmark"
    ),
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw the figure.")] = True,
    as_json: AsJson = False,
) -> None:
    """Run controllers through the field's benchmark (Silva 2020): criteria, goals, plants that differ."""
    from bondloop.papers import CONTROLLERS, compare, figure, markdown, missed, save_csv, trials

    comparison = compare(
        _listed(controllers) or list(CONTROLLERS),
        [_case(text) for text in _listed(cases)],
        trials(seeds, plants),
        record=record,
        scale=scale,
        jobs=jobs or os.cpu_count() or 1,
        progress=silent if as_json else None,
    )
    out.mkdir(parents=True, exist_ok=True)
    text = markdown(comparison)
    (out / "benchmark.md").write_text(text, encoding="utf-8")
    files = [out / "benchmark.md", save_csv(comparison, out / "benchmark.csv")]
    if figures:
        figure(comparison, path=out / "benchmark.png")
        files.append(out / "benchmark.png")
    if as_json:
        verdicts = {
            name: {
                str(case): {
                    "nominal": missed(comparison, name, case, nominal=True),
                    "plants": missed(comparison, name, case, nominal=False),
                }
                for case in comparison.cases
            }
            for name in comparison.controllers
        }
        print_json(
            {
                "missed": verdicts,
                "floors": {str(case): floor for case, floor in comparison.floors.items()},
                "runs": len(comparison.outcomes),
                "stopped": sum(o.stopped is not None for o in comparison.outcomes),
                "files": [str(f) for f in files],
            }
        )
        return
    print(text)
    for f in files:
        print(f"wrote {f}")


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _case(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"--cases takes numbers from 1 to 4 with commas between; found {text!r}")
    return int(text)
