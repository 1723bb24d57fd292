"""What protects an adaptation: bounds of its parameters, and the gate of a command that moves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bondloop.engine.ir import Assign, Const, Expr, Op, Update, Var, as_expr, select
from bondloop.engine.passes import Applied

if TYPE_CHECKING:
    from bondloop.engine.ir import Number, Step
    from bondloop.engine.passes import Context


def clipped(value: Expr, least: Expr | Number, most: Expr | Number, otherwise: Expr | Number) -> Expr:
    """Return a value within bounds; ``otherwise`` where it is not a number.

    A comparison with NaN is false, so the order of the questions decides what NaN becomes.

    >>> from bondloop.engine.ir.expr import Var, evaluate
    >>> x = Var("x")
    >>> [evaluate(clipped(x, 0, 1, 0.5), {x: v}) for v in (-2.0, 0.3, 7.0, float("nan"))]
    [0.0, 0.3, 1.0, 0.5]
    """
    lower, upper = as_expr(least), as_expr(most)
    return select(
        value >= lower, select(value <= upper, value, upper), select(value < lower, lower, otherwise)
    )


def moved(parameter: Expr, target: Expr, least: Expr | Number, most: Expr | Number, step: float) -> Expr:
    """Return a parameter moved towards a target by at most a step, and kept within bounds."""
    wanted = clipped(target, least, most, parameter)
    up, down = parameter + step, parameter - step
    near = select(wanted > up, up, select(wanted < down, down, wanted))
    return clipped(near, least, most, least)


def motion_gate(
    stride: Expr, threshold: float, context: Context, *, memory: float = 1.0, share: float = 0.1
) -> tuple[Applied, Var]:
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
    memory
        Time in s over which a motion is looked at: a slow one's turning points are no rest.
    share
        Of the threshold, below which the command stands still: below the threshold adaptation fades, here it
        ends.

    Returns
    -------
    applied, moving
        ``moving`` is 1 where there is motion, else 0.
    """
    kept = math.exp(-context.period / memory)
    power, now = Var(f"{context.name}.stride_power"), Var(f"{context.name}.stride")
    moving = Var(f"{context.name}.moving")
    mean = clipped(kept * power + (1 - kept) * now * now, 0, 1e300, power)
    steps: list[Step] = [
        Assign(now, stride),
        Update(((power, mean),)),
        Assign(moving, Op("gt", (power, Const((share * threshold) ** 2)))),
    ]
    return Applied(steps, moving, {power: 0.0}), moving
