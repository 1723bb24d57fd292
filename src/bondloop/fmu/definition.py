"""``definition.c``: what the generic C of an FMU must know of its tick."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bondloop.engine.codegen import Plan
from bondloop.fmu.variables import Variable, legible

if TYPE_CHECKING:
    from bondloop.engine.ir import Tick


def definition_c(
    tick: Tick,
    variables: Sequence[Variable],
    token: str,
    rows: int,
    tables: int,
    tangent: Tick | None = None,
    *,
    period: float,
) -> str:
    """Write ``definition.c``.

    Parameters
    ----------
    tick
        The tick.
    variables
        Its variables.
    token
        Of the FMU.
    rows, tables
        How many ticks and how many inputs are tabulated.
    tangent
        The tick that computes directional derivatives, of model exchange.
    period
        Of a step; 0 in model exchange.
    """
    groups = {g: [v for v in variables if v.group == g] for g in ("input", "output", "parameter", "state")}
    numbers = {
        "initial": Plan(tick).initial().tolist(),
        "input_values": [v.start or 0.0 for v in groups["input"]],
        "parameter_values": [v.start or 0.0 for v in groups["parameter"]],
        "least": [v.least for v in groups["parameter"]],
        "most": [v.most for v in groups["parameter"]],
        "bound": [tick.bounds.get(c.name, math.inf) for c in tick.channels],
        "tangent_initial": [] if tangent is None else Plan(tangent).initial().tolist(),
    }
    names = {
        "input_names": groups["input"],
        "channel_names": groups["output"],
        "parameter_names": groups["parameter"],
    }
    signature = "(double *, const double *, const double *, double, double, double *)"
    ticks = [tick, *([] if tangent is None else [tangent])]
    lines = ["/* Written by bondloop; changes here are lost. */", "#include <math.h>", '#include "fmu.h"', ""]
    lines += [f"extern int {t.name}_tick_once{signature};" for t in ticks]
    for word, values in numbers.items():
        lines.append(f"static const double {word}[] = {{{', '.join(map(_double, values)) or '0.0'}}};")
    for word, found in names.items():
        quoted = ", ".join(_quoted(v.name) for v in found) or '""'
        lines.append(f"static const char *const {word}[] = {{{quoted}}};")
    fields = {
        "name": _quoted(tick.name),
        "token": _quoted(token),
        "period": _double(period),
        "tick_once": f"{tick.name}_tick_once",
        "size": len(numbers["initial"]),
        "states": len(groups["state"]),
        "tables": tables,
        "rows": rows,
        "inputs": len(groups["input"]),
        "parameters": len(groups["parameter"]),
        "channels": len(groups["output"]),
        "tangent_once": "NULL" if tangent is None else f"{tangent.name}_tick_once",
        "tangent_size": len(numbers["tangent_initial"]),
        **{word: word for word in (*numbers, *names)},
    }
    rest = "".join(f"    .{word} = {value},\n" for word, value in fields.items())
    return "\n".join([*lines, "", f"const bl_fmu bl_definition = {{\n{rest}}};", ""])


def _double(x: float) -> str:
    return repr(float(x)) if math.isfinite(x) else ("INFINITY" if x > 0 else "-INFINITY")


def _quoted(text: str) -> str:
    """Return a C string; what is not ASCII as octal digits of its UTF-8, which never run into a letter."""
    plain = legible(text).replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return '"' + "".join(c if c < "\x7f" else _octal(c) for c in plain) + '"'


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in character.encode())
