"""`bondloop list`, `equations`, `draw`, `schema`: ready-made models and tests, and what a model shows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from bondloop import papers
from bondloop.cli.options import PATH, json_option, model_argument
from bondloop.cli.output import print_json
from bondloop.cli.settings import find_model, short_name
from bondloop.errors import InputError

SUFFIXES = (".svg", ".png")


@click.command("draw")
@model_argument
@click.option(
    "--out", "-o", type=PATH, help="The file to write, .svg or .png; the model's name with .svg if left out."
)
@click.option(
    "--fold/--no-fold", default=None, help="Draw sub-models as boxes; by default those of a large model."
)
@click.option("--unfold", multiple=True, help="The path of a sub-model to show from inside.")
@click.option("--loops", help="The path of a device: draw its loops of force over displacement instead.")
@json_option
def draw(
    source: str,
    out: Path | None,
    fold: bool | None,
    unfold: tuple[str, ...],
    loops: str | None,
    as_json: bool,
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


@click.command("equations")
@model_argument
@click.option("--latex", is_flag=True, help="Write the equations as LaTeX.")
@click.option("--causal", is_flag=True, help="Show every assignment in causal order, not only the states.")
@json_option
def equations(
    source: str,
    latex: bool,
    causal: bool,
    as_json: bool,
) -> None:
    """Derive and print a model's equations.

    What had to be solved on the way (derivative causality, algebraic loops) is noted on stderr.
    """
    system = find_model(source).compile()
    form = "causal" if causal else "state"
    found = system.equations(form=form)
    if as_json:
        answer: dict[str, object] = {
            "model": short_name(source),
            "form": form,
            "states": list(system.states),
            "inputs": list(system.inputs),
            "outputs": list(system.outputs),
            "equations": [{"left": str(left), "right": str(right)} for left, right in found.rows],
            "notes": [str(note) for note in system.notes],
        }
        if latex:
            answer["latex"] = found.latex()
        print_json(answer)
        return
    print(found.latex() if latex else found)
    for note in system.notes:
        print(f"note: {note}", file=sys.stderr)


@click.command("list")
@json_option
def list_entries(
    as_json: bool,
) -> None:
    """List the papers' models and tests, ready to use by name."""
    found = papers.entries()
    if as_json:
        print_json([{"name": entry.name, "kind": entry.kind, "summary": entry.summary} for entry in found])
        return
    width = max(len(entry.name) for entry in found)
    kinds = max(len(entry.kind) for entry in found)
    for entry in found:
        print(f"{entry.name:<{width}}  {entry.kind:<{kinds}}  {entry.summary}")


@click.command("schema")
@click.option("--out", "-o", type=PATH, help="Write it into this file.")
@click.option("--channels", is_flag=True, help="That of channels files instead.")
def schema(
    out: Path | None,
    channels: bool,
) -> None:
    """Print the JSON Schema of test files, with which editors complete and check them."""
    from bondloop.files import channels_schema
    from bondloop.files import schema as of_test_files

    found = channels_schema() if channels else of_test_files()
    if out is None:
        print_json(found)
    else:
        out.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"wrote {out}")
