"""Guards of measured values: nothing but numbers goes into the computer."""

from __future__ import annotations

from dataclasses import dataclass

from bondloop.display import brief
from bondloop.engine.ir import Assign, Const, Expr, Step, Update, Var, function, select
from bondloop.engine.passes import Applied, Context
from bondloop.safety.base import equal, finite, no


@dataclass(frozen=True)
class Guarded:
    """A guarded value, and what was wrong with it.

    Attributes
    ----------
    applied
        The statements; the value is the measured one, or the last good one.
    bad
        Whether the measured value was infinite or NaN at this tick.
    frozen
        Whether it has stayed the same, to the last bit, for too long.

    Examples
    --------
    >>> from bondloop.safety import Interlock
    >>> guarded = Interlock(stale=3).guard(Var("F"), Context("force", Var("k"), 1e-3))
    >>> guarded.value, str(guarded.frozen)
    (<Var force.guarded>, '(force.repeated >= 3)')
    """

    applied: Applied
    bad: Expr
    frozen: Expr

    __repr__ = brief

    @property
    def value(self) -> Expr:
        """The guarded value."""
        return self.applied.value


def guard(value: Expr, stale: int | None, context: Context) -> Guarded:
    """Replace infinities and NaN by the last good value (0 before there was one), and count repeats.

    Parameters
    ----------
    value
        The measured value.
    stale
        A value that repeats the one before it so many times in a row is frozen; None asks for no such check.
    context
        Names.
    """
    last, seen, bad = (Var(f"{context.name}.{w}") for w in ("good", "guarded", "bad"))
    raw = Var(f"{context.name}.raw")
    steps: list[Step] = [
        Assign(raw, value),
        Assign(bad, no(finite(raw))),
        Assign(seen, select(bad, last, raw)),
    ]
    states = {last: 0.0}
    frozen: Expr = Const(0.0)
    pairs: list[tuple[Var, Expr]] = [(last, seen)]
    if stale is not None:
        repeats, now = Var(f"{context.name}.repeats"), Var(f"{context.name}.repeated")
        again = function("fmin", repeats + 1, stale)
        steps.append(Assign(now, select(equal(seen, last), again, 0.0)))
        # One less than none: the first sample repeats nothing, even if it is 0.
        states[repeats] = -1.0
        pairs.append((repeats, now))
        frozen = now >= stale
    steps.append(Update(tuple(pairs)))
    return Guarded(Applied(steps, seen, states), bad, frozen)
