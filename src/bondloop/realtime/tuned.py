"""What a loop says of the parameters of its tick."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bondloop.hybrid.tunables import allowed
from bondloop.program.tunable import Tunable

if TYPE_CHECKING:
    from bondloop.program.expr import Var
    from bondloop.program.tick import Tick

__all__ = ["about_parameter"]


def about_parameter(tick: Tick, parameter: Var) -> dict[str, object]:
    """Return what the telemetry's metadata says of a parameter, beside its name.

    Parameters
    ----------
    tick
        Of the loop.
    parameter
        One of its parameters.
    """
    least, most = allowed(tick, parameter)
    declared = (tick.tunable or {}).get(parameter.name, Tunable())
    channels = {c.name for c in tick.channels}
    entries = {
        "unit": parameter.unit,
        "tunable": least <= most,
        "least": least if math.isfinite(least) else None,
        "most": most if math.isfinite(most) else None,
        "rate": declared.rate,
        "description": declared.description,
        "channel": parameter.name if parameter.name in channels else "",
    }
    return {name: value for name, value in entries.items() if value not in (None, "")}
