"""`bondloop list`: the ready-made models and tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from bondloop import papers
from bondloop.cli.output import AsJson, print_json


def list_entries(as_json: AsJson = False) -> None:
    """List the papers' models and tests, ready to use by name."""
    found = papers.entries()
    if as_json:
        print_json([{"name": entry.name, "kind": entry.kind, "summary": entry.summary} for entry in found])
        return
    width = max(len(entry.name) for entry in found)
    kinds = max(len(entry.kind) for entry in found)
    for entry in found:
        print(f"{entry.name:<{width}}  {entry.kind:<{kinds}}  {entry.summary}")


def schema(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write it into this file.")] = None,
    channels: Annotated[bool, typer.Option("--channels", help="That of channels files instead.")] = False,
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
