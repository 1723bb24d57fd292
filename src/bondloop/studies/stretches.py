"""Which samples of a test a measure is of: until its interlock trips, and while something holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.program.expr import Const, Expr, Op, Var, select

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.compile.batch import BatchResult

__all__ = ["Stretch", "Stretches"]


@dataclass(frozen=True)
class Stretch:
    """Samples that are measured.

    Attributes
    ----------
    before
        How many were measured before this one.
    inside
        Whether this one is; None where all are.
    """

    before: Var
    inside: Expr | None = None

    def only(self, state: Var, update: Expr) -> Expr:
        """Return what a state becomes: it stays as it is where a sample is not measured."""
        return update if self.inside is None else select(self.inside, update, state)

    def samples(self, result: BatchResult, ran: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how many were measured of each test, of those that ran."""
        return ran if self.inside is None else np.asarray(result[self.before.name])


class Stretches:
    """The stretches of a tick's measures, each counted once.

    Parameters
    ----------
    count
        The tick's own number.
    cause
        Not zero from the tick on in which the interlock trips, which is the last that is measured: what comes
        then is the retreat. None where there is no interlock.

    Examples
    --------
    >>> whole = Stretches(Var("k"), None)
    >>> whole.of(None).inside is None, whole.updates
    (True, [])
    """

    def __init__(self, count: Var, cause: Expr | None) -> None:
        self._count, self._cause = count, cause
        self._known: list[tuple[Expr | None, Stretch]] = []
        self.updates: list[tuple[Var, Expr]] = []

    def of(self, during: Expr | None) -> Stretch:
        """Return the first stretch in which this is not zero; all until a trip, if not given."""
        for known, stretch in self._known:
            if known is during:
                return stretch
        stretch = self._new(during)
        self._known.append((during, stretch))
        return stretch

    def _new(self, during: Expr | None) -> Stretch:
        if during is None and self._cause is None:
            return Stretch(self._count)
        zero, number = Const(0.0), len(self._known)
        samples, over = Var(f"measured.samples[{number}]"), Var(f"measured.over[{number}]")
        inside: Expr = Op("eq", (over, zero))
        ends: list[Expr] = []
        if during is not None:
            inside = Op("and", (inside, Op("ne", (during, zero))))
            ends.append(Op("and", (samples > 0, Op("eq", (during, zero)))))
        if self._cause is not None:
            ends.append(Op("ne", (self._cause, zero)))
        end = ends[0] if len(ends) == 1 else Op("or", (ends[0], ends[1]))
        self.updates.append((samples, select(inside, samples + 1, samples)))
        self.updates.append((over, select(end, Const(1.0), over)))
        return Stretch(samples, inside)
