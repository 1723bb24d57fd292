"""`bondloop schema`: the JSON Schema of test files, for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from bondloop.cli.answers import print_json

__all__ = ["schema"]


def schema(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write it into this file.")] = None,
    channels: Annotated[bool, typer.Option("--channels", help="That of channels files instead.")] = False,
) -> None:
    """Print the JSON Schema of test files, with which editors complete and check them."""
    from bondloop.description import channels_schema
    from bondloop.description import schema as of_test_files

    found = channels_schema() if channels else of_test_files()
    if out is None:
        print_json(found)
    else:
        out.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"wrote {out}")
