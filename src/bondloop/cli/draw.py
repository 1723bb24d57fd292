"""`bondloop draw`: a model's bond graph, or the loops of a device in it, as SVG or PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bondloop.cli.output import AsJson, print_json
from bondloop.cli.source import Source, find_model, short_name
from bondloop.errors import InputError

SUFFIXES = (".svg", ".png")


def draw(
    source: Source,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The file to write, .svg or .png; the model's name with .svg if left out."
        ),
    ] = None,
    fold: Annotated[
        bool | None,
        typer.Option("--fold/--no-fold", help="Draw sub-models as boxes; by default those of a large model."),
    ] = None,
    unfold: Annotated[
        list[str] | None, typer.Option("--unfold", help="The path of a sub-model to show from inside.")
    ] = None,
    loops: Annotated[
        str | None,
        typer.Option(
            "--loops", help="The path of a device: draw its loops of force over displacement instead."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw a model's bond graph to a file, or the loops of a device in it."""
    path = out or Path(f"{loops or short_name(source)}.svg")
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"cannot draw to '{path}': the file must end in {' or '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise InputError(f"cannot draw to '{path}': there is no folder '{path.parent}'")
    model = find_model(source)
    if loops is None:
        model.draw(path, fold=fold, unfold=unfold or ())
    else:
        from bondloop.devices import device_at

        device_at(model, loops).plot_loops(path=path)
    if as_json:
        print_json({"model": short_name(source), "file": str(path)})
    else:
        print(f"wrote {path}")
