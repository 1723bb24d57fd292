"""`bondloop doctor`: what works on this machine, and what to install for the rest."""

from __future__ import annotations

from typing import Annotated

import typer

from bondloop.cli.answers import AsJson, print_json
from bondloop.cli.health import Answer, answers
from bondloop.display import at_work

__all__ = ["doctor"]

MARKS = {"good": "ok   ", "care": "care ", "missing": "-    ", "bad": "BAD  "}


def doctor(
    as_json: AsJson = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 also where something is only not as good as can be.")
    ] = False,
) -> None:
    """Say what works on this machine: compiler, real time, graphics processor, optional packages.

    Exits with 1 when something that every test needs does not work.
    """
    with at_work("looking around", as_json):
        found = answers()
    if as_json:
        print_json([{"what": a.what, "state": a.state, "found": a.found, "remedy": a.remedy} for a in found])
    else:
        print(_text(found))
    worst = {a.state for a in found}
    if "bad" in worst or (strict and "care" in worst):
        raise typer.Exit(1)


def _text(found: list[Answer]) -> str:
    r"""Write the answers, a line each, what to do beneath.

    >>> print(_text([Answer("compiler", "bad", "none", "install gcc"), Answer("NumPy", "good", "2.1")]))
    BAD  compiler  none
                   install gcc
    ok   NumPy     2.1
    """
    width = max(len(a.what) for a in found)
    lines = []
    for a in found:
        lines.append(f"{MARKS[a.state]}{a.what:<{width}}  {a.found}")
        if a.remedy:
            lines.append(f"{'':{5 + width}}  {a.remedy}")
    return "\n".join(lines)
