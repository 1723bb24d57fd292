"""Blocks of a tick: parts with named states and parameters and one pure step, written as statements.

Imperfections of a rig, compensators, switches and trips are blocks. Whoever builds a tick gives each a
`Context` (where it stands) and receives `Applied` (its statements, its value, what it keeps and what is worth
recording).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from bondloop.display import brief
from bondloop.program.expr import Expr, Var
from bondloop.program.schedule import Assign
from bondloop.program.tick import Channel, Step, is_trivial

__all__ = ["Applied", "Context", "at_interface", "named"]


@dataclass(frozen=True)
class Context:
    """Where a block stands; given by whoever builds the tick.

    Attributes
    ----------
    name
        A unique prefix for the names of variables, such as ``"rig.force[0]"``.
    count
        Variable of the number of the tick, from 0.
    period
        Seconds between executions.
    seed, stream
        Of the noise. The seed is a variable where it can be changed without another tick; a stream is below
        65536, another one for every part. A part that draws several times (a chain) takes further streams,
        each 65536 after the one before it.
    velocity
        How fast a block's input changes, where that is known besides the input itself.
    common
        The stream that this part shares with its like at the other interfaces.
    """

    name: str
    count: Var
    period: float
    seed: int | Var = 0
    stream: int = 0
    velocity: Expr | None = None
    common: int = 0


@dataclass(frozen=True)
class Applied:
    """A block as statements: execute ``steps`` in order, then ``value`` is its output.

    Attributes
    ----------
    steps
        Statements; updates of states stand among them.
    value
        An expression of what the steps compute; evaluate it after them.
    states
        Variables that keep their value from tick to tick, with initial values.
    parameters
        Constants that can be changed while the tick runs (a switch's set point), with their values.
    channels
        What is worth recording besides the value. A state named here stands for its value at the beginning of
        the tick.
    adapted
        Variables that the block adapts as it runs: coefficients, gains, estimates. The loop is linear only
        as long as they keep still.
    """

    steps: list[Step]
    value: Expr
    states: dict[Var, float] = field(default_factory=dict)
    parameters: dict[Var, float] = field(default_factory=dict)
    channels: tuple[Channel, ...] = ()
    adapted: tuple[Var, ...] = ()

    __repr__ = brief


def at_interface(applied: Applied, interface: int) -> Applied:
    """Return a block whose channels say at which interface it stands, unless they say so themselves."""
    channels = (
        c if c.meaning.interface is not None else replace(c, meaning=replace(c.meaning, interface=interface))
        for c in applied.channels
    )
    return replace(applied, channels=tuple(channels))


def named(value: Expr, context: Context, word: str) -> tuple[list[Step], Expr]:
    """Name an expression that is used more than once, so that it is computed once."""
    if is_trivial(value):
        return [], value
    variable = Var(f"{context.name}.{word}")
    return [Assign(variable, value)], variable
