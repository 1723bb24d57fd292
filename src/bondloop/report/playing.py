"""A page in which the reader runs the test: the very tick, in the browser, with sliders."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import with_progress
from bondloop.engine.codegen import Plan, write_wasm
from bondloop.engine.ir import Role
from bondloop.errors import InputError, unknown_name
from bondloop.rehearsal import run_length, steps_of
from bondloop.signals import tabulated_inputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir import Tick, Tunable
    from bondloop.hybrid import HybridTest


SCRIPTS = ("play_tick.js", "play.js", "play_controls.js")
"""The page's program, in the order in which its parts need each other."""

OFFERED = ("excitation.scale", "rig.transfer", "rig.latency", "controller", "rig.specimen", "numerical")
"""Beginnings of the paths of parameters, those first that a reader would like to move first."""


@with_progress("compiling for the browser")
def write_play(
    tests: HybridTest | Mapping[str, HybridTest],
    path: str | Path | None = None,
    *,
    seconds: float | str | None = None,
    sliders: Mapping[str, tuple[float, float] | None] | Sequence[str] = (),
    largest: int = 32 * 2**20,
) -> str:
    """Write a page of HTML in which a test runs in the browser, compiled to WebAssembly.

    Parameters
    ----------
    tests
        A test, or variants of one by the name under which the page offers them.
    path
        Where to write the page; it ends in ``.html``.
    seconds
        How long the test is, in s or as text, ``"2 min"``; its own length by default, or 20 s.
    sliders
        Parameters that the reader may move, by path, each with its least and its largest value, or with None;
        by default what the test declares as tunable, and some of the actuator and the controller.
    largest
        Bytes of the excitation's samples at most: a page is made to be mailed.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> write_play({})
    Traceback (most recent call last):
    bondloop.errors.InputError: no test to play; give one
    """
    target = None if path is None else Path(path)
    if target is not None and target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"cannot write a page to '{target.name}'; end the name in .html")
    variants = tests if isinstance(tests, Mapping) else {"": tests}
    if not variants:
        raise InputError("no test to play; give one")
    wanted = dict(sliders) if isinstance(sliders, Mapping) else dict.fromkeys(sliders)
    data = {name: _variant(test, seconds, wanted, largest) for name, test in variants.items()}
    page = _page(next(iter(variants.values())).tick.name, data)
    if target is not None:
        try:
            target.write_text(page, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{target} cannot be written: {error.strerror or error}") from None
    return page


def _variant(
    test: HybridTest,
    seconds: float | str | None,
    wanted: Mapping[str, tuple[float, float] | None],
    largest: int,
) -> dict[str, object]:
    """Return all that the page needs to know of a test."""
    tick, signals = test.tick, test.tables
    steps = steps_of(run_length(seconds or test.seconds or 20.0), test.period)
    if 16 * steps * max(1, len(signals)) > largest:
        raise InputError(f"{steps:,} steps of its excitation are too many for a page; give fewer seconds")
    inputs = tabulated_inputs(signals.values(), steps, tick.period) if signals else np.zeros(0)
    return {
        "wasm": base64.b64encode(write_wasm(tick)).decode(),
        "run": f"{tick.name}_run",
        "period": tick.period,
        "steps": steps,
        "inputs": len(tick.inputs),
        "table": _doubles(inputs),
        "state": _doubles(Plan(tick).initial()),
        "parameters": _parameters(tick, wanted),
        "channels": [
            {
                "name": c.name,
                "unit": c.unit,
                "role": c.meaning.role.value,
                "kind": c.meaning.kind,
                "interface": c.meaning.interface or 0,
                "bound": tick.bounds.get(c.name),
            }
            for c in tick.channels
        ],
        "pairs": _pairs(tick),
    }


def _pairs(tick: Tick) -> list[dict[str, int | None]]:
    """Return the places of desired and actual displacement, force and reference of every interface."""
    found = []
    places = {(c.meaning.role, c.meaning.kind, c.meaning.interface): i for i, c in enumerate(tick.channels)}
    for (role, kind, interface), i in places.items():
        if role is Role.DESIRED and kind == "displacement":
            actual = places.get((Role.ACTUAL, "displacement", interface))
            if actual is not None:
                force = places.get((Role.ACTUAL, "effort", interface))
                found.append({"desired": i, "actual": actual, "force": force})
    if not found:
        raise InputError(f"{tick.name} has no transfer system whose motion could be shown")
    return found


def _parameters(tick: Tick, wanted: Mapping[str, tuple[float, float] | None]) -> list[dict[str, object]]:
    """Return the parameters with their values, and those that have a slider with its ends."""
    names = [v.name for v in tick.parameters]
    for name in wanted:
        if name not in names:
            raise InputError(unknown_name("parameter", name, names, tick.name))
    declared = {name: _declared(how) for name, how in (tick.tunable or {}).items() if name in names}
    chosen = dict(wanted) or {**dict.fromkeys(_offered(names)), **declared}
    rows = []
    for variable, value in tick.parameters.items():
        row: dict[str, Any] = {"name": variable.name, "value": float(value or 0.0), "unit": variable.unit}
        if variable.name in chosen:
            row["ends"] = _ends(variable.name, row["value"], chosen[variable.name])
        rows.append(row)
    return rows


def _declared(how: Tunable) -> tuple[float, float] | None:
    """Return the ends that a test declares for a parameter, where there are two."""
    return (how.low, how.high) if math.isfinite(how.low) and math.isfinite(how.high) else None


def _offered(names: Sequence[str], most: int = 8) -> list[str]:
    """Return the parameters that a reader would like to move first.

    >>> _offered(["numerical.m.mass", "rig.transfer.c", "excitation.scale", "reference.m.mass"])
    ['excitation.scale', 'rig.transfer.c', 'numerical.m.mass']
    """
    ranked = [name for beginning in OFFERED for name in names if name.startswith(beginning)]
    return ranked[:most]


def _ends(name: str, value: float, ends: tuple[float, float] | None, around: float = 5.0) -> list[float]:
    """Return the least and the largest value of a slider: `around` times smaller and larger, unless given.

    >>> _ends("mass", 2.0, None), _ends("bias", 0.0, None), _ends("mass", 2.0, (1, 3))
    ([0.4, 10.0], [-1.0, 1.0], [1.0, 3.0])
    """
    if ends is not None:
        least, most = float(ends[0]), float(ends[1])
        if not least < most:
            raise InputError(f"slider '{name}': expected the smaller value first; found {least:g}, {most:g}")
        return [least, most]
    if value == 0.0:
        return [-1.0, 1.0]
    return sorted([value / around, value * around])


def _doubles(values: NDArray[np.float64]) -> str:
    """Return numbers as the page reads them: eight bytes each, the lowest first, in base 64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()


def _page(name: str, variants: Mapping[str, dict[str, object]]) -> str:
    parts = files(__package__)
    style, body = (parts.joinpath(f).read_text(encoding="utf-8") for f in ("play.css", "play.html"))
    script = "\n".join(parts.joinpath(f).read_text(encoding="utf-8") for f in SCRIPTS)
    # Within a script element only "</" could end it.
    data = json.dumps({"name": name, "variants": variants}, allow_nan=False).replace("<", "\\u003c")
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'wasm-unsafe-eval'"
    head = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(name)}: play</title>",
        f"<style>\n{style}</style>",
        "</head>",
    ]
    scripts = [f'<script type="application/json" id="data">{data}</script>', f"<script>\n{script}</script>"]
    return "\n".join([*head, "<body>", body, *scripts, "</body>", "</html>", ""])
