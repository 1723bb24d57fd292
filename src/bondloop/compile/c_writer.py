"""A tick as C99: readable, static memory only, nothing beyond ``math.h``."""

from __future__ import annotations

import math
import textwrap

from bondloop.compile.c_body import CBody
from bondloop.compile.c_helpers import helpers
from bondloop.compile.plan import BEYOND, NOT_A_NUMBER, SINGULAR, UNCONVERGED, Plan
from bondloop.program.tick import Tick

__all__ = ["write_c"]

_INLINED = 3000
"""Statements up to which a tick is compiled into the run loop itself, so that its states stay in registers."""


def write_c(tick: Tick) -> str:
    """Write a tick as a C99 source file.

    The file exports, all with the tick's name in front: ``NAME_run`` (many ticks, recorded and checked),
    ``NAME_tick_once`` (one, for a real-time loop) and ``NAME_counts`` (the sizes of the arrays: state, inputs,
    parameters, channels). Every assignment is one named temporary.

    Parameters
    ----------
    tick
        What to write.

    Examples
    --------
    >>> from bondloop.program.expr import Var
    >>> from bondloop.program.tick import Channel, Tick, Update
    >>> x, a = Var("m.x"), Var("m.a")
    >>> steps = (Update(((x, a * x),)),)
    >>> tick = Tick("decay", 0.1, Var("t"), Var("k"), (), {x: 1.0}, {a: 0.5}, steps, (Channel("m.x", x),))
    >>> print([line for line in write_c(tick).splitlines() if "p->m_a" in line][0].strip())
    s->m_x = p->m_a*s->m_x;
    """
    plan = Plan(tick)
    body = CBody(plan)
    lines = body.write()
    noise = "#include <stdint.h>\n" if body.text.used & {"uniform", "normal"} else ""
    text = "\n".join(
        [
            _comment(plan),
            f"#include <math.h>\n{noise}",
            _EXPORT,
            _STATUS,
            _structures(plan),
            "\n".join(body.tables),
            helpers(body.text.used, tick.name),
            _tick(plan, lines),
            _outside(plan),
            _RUN,
            _ONCE,
        ]
    )
    if not plan.lines:
        text = text.replace("LINES_PARAMETER", "").replace("LINES_ARGUMENT", "")
    parts = {
        "LINES_PARAMETER": "NAME_lines *lines, ",
        "LINES_ARGUMENT": "(NAME_lines *)(state + SCALARS), ",
        "INLINE": "NAME_INLINE" if len(lines) <= _INLINED else "static",
        "SCALARS": str(plan.scalars),
        "N_SIZE": str(plan.size),
        "N_INPUTS": str(len(tick.inputs)),
        "N_PARAMETERS": str(max(1, len(plan.parameters))),
        "N_CHANNELS": str(len(tick.channels)),
        "N_ROW": str(max(1, len(tick.channels))),
    }
    for word, value in parts.items():
        text = text.replace(word, value)
    return text.replace("NAME_", f"{tick.name}_")
