"""What the verbs share in answering: the `--json` option and how JSON is printed."""

from __future__ import annotations

import json
import math
from typing import Annotated

import typer

from bondloop.cli.console import all_letters

__all__ = ["AsJson", "print_json"]

AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON, for machines.")]


def print_json(answer: object) -> None:
    """Print `answer` as indented JSON on stdout.

    Examples
    --------
    >>> print_json({"force": "N"})
    {
      "force": "N"
    }
    """
    # Escapes where the console lacks letters: what is read must be what was meant.
    print(json.dumps(_finite(answer), indent=2, ensure_ascii=not all_letters(), allow_nan=False))


def _finite(value: object) -> object:
    """Return the value with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return value
