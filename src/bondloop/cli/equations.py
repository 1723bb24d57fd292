"""`bondloop equations`: what a model's bond graph says, as text, LaTeX or JSON."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from bondloop.cli.output import AsJson, print_json
from bondloop.cli.source import Source, find_model, short_name


def equations(
    source: Source,
    latex: Annotated[bool, typer.Option("--latex", help="Write the equations as LaTeX.")] = False,
    causal: Annotated[
        bool, typer.Option("--causal", help="Show every assignment in causal order, not only the states.")
    ] = False,
    as_json: AsJson = False,
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
