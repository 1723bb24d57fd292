"""`bondloop check`: may this test be run? Before anything moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from bondloop.cli.answers import AsJson, print_json
from bondloop.cli.source import short_name
from bondloop.cli.tests import Setting, TestSource, find_test
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.hybrid import Check

__all__ = ["check"]


def check(source: TestSource, settings: Setting = None, as_json: AsJson = False) -> None:
    """Check a test's assumptions and its loop's stability, with reasons; exit with 1 if it should not run."""
    test, _ = find_test(source, settings or [])
    if not hasattr(test, "check"):
        raise InputError(f"{short_name(source)} is a plain simulation: it has no rig and no loop to check")
    found = test.check()
    if as_json:
        name = short_name(source)
        # A sampled test's stability describes itself; the check of a hybrid test is spelt out here.
        own = getattr(found, "to_dict", None)
        print_json({"test": name, **own()} if own is not None else _answer(name, found))
    else:
        print(found)
    if not found.passed:
        raise typer.Exit(1)


def _answer(name: str, found: Check) -> dict[str, Any]:
    return {
        "test": name,
        "passed": found.passed,
        "assumptions": [
            {"number": a.number, "title": a.title, "holds": a.holds, "reason": a.reason}
            for a in found.assumptions.items
        ],
        "poles": [[p.real, p.imag] for p in found.poles],
        "lags": [
            {
                "interface": lag.interface,
                "lag": lag.seconds,
                "stiffness": lag.stiffness,
                "damping": lag.damping,
                "structure_damping": lag.structure,
            }
            for lag in found.lags
        ],
        "problems": list(found.problems),
        "notes": list(found.notes),
    }
