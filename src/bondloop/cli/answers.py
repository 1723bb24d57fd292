"""What the verbs share in answering: the `--json` option and how JSON is printed."""

from __future__ import annotations

import json
from typing import Annotated

import typer

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
    print(json.dumps(answer, indent=2, ensure_ascii=False))
