"""Whether a command moves anything: the gate of what adapts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bondloop.control.bounded import clipped
from bondloop.program.block import Applied
from bondloop.program.expr import Const, Expr, Op, Var
from bondloop.program.schedule import Assign
from bondloop.program.tick import Update

if TYPE_CHECKING:
    from bondloop.program.block import Context
    from bondloop.program.tick import Step

__all__ = ["motion_gate"]

MEMORY = 1.0
"""Time in s over which a motion is looked at: a slow one's turning points are no rest."""

FAINT = 0.1
"""Share of a compensator's threshold below which a command stands still: below the threshold adaptation
fades, here it ends."""


def motion_gate(stride: Expr, threshold: float, context: Context) -> tuple[Applied, Var]:
    """Say whether the command moves enough to learn from it: the rms of its stride is large enough.

    The *command* decides, not what is measured. At rest a sensor's noise is all there is to see, and its
    derivatives are large; it would be taken for a motion that the command did not cause, and coefficients
    would sink to explain it. A command that stands still says nothing of a delay either, however far from
    zero it stands, so it is the distance that counts by which it moves within the longest delay.

    Parameters
    ----------
    stride
        The filtered command's rate times the longest delay, in m.
    threshold
        The compensator's own, in m.
    context
        Names and period.

    Returns
    -------
    applied, moving
        ``moving`` is 1 where there is motion, else 0.
    """
    kept = math.exp(-context.period / MEMORY)
    power, now = Var(f"{context.name}.stride_power"), Var(f"{context.name}.stride")
    moving = Var(f"{context.name}.moving")
    mean = clipped(kept * power + (1 - kept) * now * now, 0, 1e300, power)
    steps: list[Step] = [
        Assign(now, stride),
        Update(((power, mean),)),
        Assign(moving, Op("gt", (power, Const((FAINT * threshold) ** 2)))),
    ]
    return Applied(steps, moving, {power: 0.0}), moving
