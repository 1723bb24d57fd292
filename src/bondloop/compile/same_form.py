"""Ticks that differ in numbers only, as one tick with other parameters: they share one library.

A setting of a controller (a delay, a gain) is a number in its statements. Where many settings are tried, each
would be compiled anew, which takes far longer than a run. Here the numbers of chosen statements become
parameters, and initial values are given apart, so that the text of the C is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bondloop.compile.runner import Runner
from bondloop.program.expr import Const, Expr, Op, Var
from bondloop.program.schedule import Assign
from bondloop.program.tick import Delay, Product, Update, revised

if TYPE_CHECKING:
    from bondloop.program.tick import Step, Tick

__all__ = ["SameForm", "same_form"]

LITERAL = frozenset({"pow", "normal", "uniform"})
"""Operations whose numbers say what is computed: an exponent, the key of a stream of noise."""


@dataclass(frozen=True)
class SameForm:
    """A tick without its numbers, and the numbers.

    Attributes
    ----------
    tick
        The same for all ticks of this form.
    states, parameters
        Initial states and values, by name, with which it computes what the first tick does.
    """

    tick: Tick
    states: dict[str, float]
    parameters: dict[str, float]

    def runner(self, backend: str = "auto", *, quick: bool = False) -> Runner:
        """Return it ready to run; only the first of its form is compiled.

        Parameters
        ----------
        backend, quick
            As of `Runner`.
        """
        runner = Runner(self.tick, backend, quick=quick)
        runner.reset(self.states, self.parameters)
        return runner


def same_form(tick: Tick, fixed: Iterable[str]) -> SameForm:
    """Take the numbers out of a tick's statements.

    Parameters
    ----------
    tick
        What is to run.
    fixed
        Names of variables whose statements stay as they are: those that all ticks have in common.

    Examples
    --------
    >>> from bondloop.program.tick import Channel, Tick
    >>> def fading(share):
    ...     x = Var("x")
    ...     steps = (Update(((x, share * x),)),)
    ...     return Tick("fading", 0.1, Var("t"), Var("k"), (), {x: 1.0}, {}, steps, (Channel("x", x),))
    >>> half, third = (same_form(fading(share), ()) for share in (0.5, 1 / 3))
    >>> from bondloop.compile import write_c
    >>> write_c(half.tick) == write_c(third.tick)
    True
    >>> third.runner().run(3).channels["x"].round(3).tolist()
    [1.0, 0.333, 0.111]
    """
    known = frozenset(fixed)
    numbers: dict[Var, float] = {}

    def apart(expr: Expr) -> Expr:
        if isinstance(expr, Const):
            parameter = Var(f"number[{len(numbers)}]")
            numbers[parameter] = expr.value
            return parameter
        if isinstance(expr, Op) and expr.name not in LITERAL:
            return expr.with_args(tuple(apart(a) for a in expr.args))
        return expr

    def changed(step: Step) -> Step:
        if any(v.name in known for v in step.writes) and not isinstance(step, Update):
            return step
        if isinstance(step, Assign):
            return replace(step, expr=apart(step.expr))
        if isinstance(step, Delay):
            return replace(step, source=apart(step.source))
        if isinstance(step, Product):
            return replace(step, sources=tuple(apart(e) for e in step.sources))
        if isinstance(step, Update):
            return Update(tuple((v, e if v.name in known else apart(e)) for v, e in step.pairs))
        return step

    steps = revised(tick.steps, changed)
    channels = tuple(replace(c, value=apart(c.value)) for c in tick.channels)
    own = {v: x for v, x in tick.states.items() if v.name not in known}
    bare = replace(
        tick,
        steps=steps,
        channels=channels,
        states={v: 0.0 if v in own else x for v, x in tick.states.items()},
        parameters={**tick.parameters, **dict.fromkeys(numbers, 0.0)},
    )
    return SameForm(bare, {v.name: x for v, x in own.items()}, {v.name: x for v, x in numbers.items()})
