"""Calls of Python functions in a tick: for rehearsals in Python, and for nothing else."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from bondloop.program.expr import Expr, Op

if TYPE_CHECKING:
    from bondloop.program.tick import Tick

__all__ = ["Call", "calls"]


class Call(Op):
    """What a Python function of numbers returns: no formula, so nothing else can be made of it.

    Parameters
    ----------
    label
        A name of its own in the tick, as an identifier.
    function
        Called at every execution, with numbers; returns a number. Its ``__qualname__`` is for messages.
    args
        Its arguments.
    """

    __slots__ = ("function", "label")

    def __init__(self, label: str, function: Callable[..., float], args: tuple[Expr, ...]) -> None:
        super().__init__("call", args)
        self.label, self.function = label, function

    @property
    def identity(self) -> Hashable:
        """What tells it from other operations on the same operands."""
        return ("call", self.label)

    def with_args(self, args: tuple[Expr, ...]) -> Call:
        """Return the same call with other arguments."""
        return Call(self.label, self.function, args)


def calls(tick: Tick) -> dict[str, Callable[..., float]]:
    """Return the Python functions whose results a tick takes as they are, by label."""
    return {e.label: e.function for s in tick.steps for e in s.expressions if isinstance(e, Call)}
