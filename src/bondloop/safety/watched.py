"""What an interlock sees of an interface, and what it decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bondloop.display import brief
from bondloop.program.expr import Const, Expr, Var

if TYPE_CHECKING:
    from bondloop.program.block import Applied

__all__ = ["Watch", "Watched"]


@dataclass(frozen=True)
class Watched:
    """What the interlock sees of one interface, as expressions.

    Attributes
    ----------
    force, displacement, velocity
        Measured and guarded, in N, m, m/s.
    desired_displacement, desired_velocity
        Of the numerical half, in m, m/s.
    command
        As the controller wants it, before the displacement switch, in its own unit.
    bad, frozen
        Whether any of the measured values is not a number, or stale; from the guards.
    switch
        The displacement switch, from 0 to 1, moved by the latch (`Watch`): the rig is asked for
        safe + switch (command - safe), and to follow safe + switch (desired - safe). None where the test has
        no such switch; the interlock then moves one of its own.

    Examples
    --------
    >>> one = Watched(*(Var(name) for name in ("F", "x", "v", "z", "z_rate", "u")))
    >>> one.force, one.command, one.switch
    (<Var F>, <Var u>, None)
    """

    force: Expr
    displacement: Expr
    velocity: Expr
    desired_displacement: Expr
    desired_velocity: Expr
    command: Expr
    bad: Expr = field(default_factory=lambda: Const(0.0))
    frozen: Expr = field(default_factory=lambda: Const(0.0))
    switch: Expr | None = None


@dataclass(frozen=True)
class Watch:
    """What the interlock decided.

    Attributes
    ----------
    applied
        The statements, states, parameters and channels; the value is the cause at this tick.
    tripped
        The cause at this tick; not zero while the test is tripped.
    commands
        What the rig is to be given, one for each interface: the controller's command through the switch, or
        the way to the safe position.
    latch
        The state that keeps the cause. Before the interlock's statements it is the cause of the tick before:
        what the switches are given.

    Examples
    --------
    >>> from bondloop.program.block import Context
    >>> from bondloop.safety import Interlock, Limits
    >>> one = Watched(*(Var(name) for name in ("F", "x", "v", "z", "z_rate", "u")))
    >>> watch = Interlock(Limits(force="20 kN")).watch([one], Var("t"), Context("interlock", Var("k"), 1e-3))
    >>> watch.latch, watch.commands
    (<Var interlock.cause>, (<Var interlock.command>,))
    """

    applied: Applied
    tripped: Expr
    commands: tuple[Expr, ...]
    latch: Var

    __repr__ = brief
