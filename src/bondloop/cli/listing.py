"""`bondloop list`: the ready-made models and tests."""

from __future__ import annotations

from bondloop import papers
from bondloop.cli.answers import AsJson, print_json

__all__ = ["list_entries"]


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
