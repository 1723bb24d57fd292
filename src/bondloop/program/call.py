"""Calls in a tick of what is no formula: a Python function, or the C that runs somebody else's model."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from bondloop.program.expr import Expr, Op

if TYPE_CHECKING:
    from bondloop.program.tick import Tick

__all__ = ["Call", "calls"]


class Call(Op):
    """What a function of numbers returns: no formula, so it can be executed and nothing else.

    Parameters
    ----------
    label
        A name of its own in the tick, as an identifier.
    function
        Called at every execution, with numbers; returns a number. Its ``__qualname__`` is for messages.
    args
        Its arguments.
    source
        C that defines a function of the label's name with the same result; empty where there is none, and the
        tick runs in Python alone.
    """

    __slots__ = ("function", "label", "source")

    def __init__(
        self, label: str, function: Callable[..., float], args: tuple[Expr, ...], source: str = ""
    ) -> None:
        super().__init__("call", args)
        self.label, self.function, self.source = label, function, source

    @property
    def identity(self) -> Hashable:
        """What tells it from other operations on the same operands."""
        return ("call", self.label)

    def with_args(self, args: tuple[Expr, ...]) -> Call:
        """Return the same call with other arguments."""
        return Call(self.label, self.function, args, self.source)


def calls(tick: Tick, *, in_python: bool = False) -> dict[str, Callable[..., float]]:
    """Return the functions whose results a tick takes as they are, by label.

    Parameters
    ----------
    tick
        The tick.
    in_python
        Only those that there is no C of.
    """
    from bondloop.program.tick import every  # which knows of expressions, and so of this

    found = [e for s in every(tick.steps) for e in s.expressions if isinstance(e, Call)]
    return {e.label: e.function for e in found if not (in_python and e.source)}
