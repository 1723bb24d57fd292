"""Rates of inputs that an inverse has come to need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bondloop.errors import SolveError

if TYPE_CHECKING:
    from bondloop.program.expr import Expr, Var

__all__ = ["NeededRates"]


class NeededRates:
    """Rates of inputs that an inversion has come to need: one variable for each input, or a refusal."""

    def __init__(
        self,
        known: dict[Var, Var],
        unknowable: set[Var],
        inputs: set[Var],
        what: str,
        *,
        any_order: bool,
    ) -> None:
        self.known, self.unknowable, self.inputs, self.what = known, unknowable, inputs, what
        self.any_order = any_order

    def take(self, needed: Mapping[Var, Var], states: Sequence[Var], definitions: dict[Var, Expr]) -> None:
        """Take in the rates that the motions of storages need."""
        names = ", ".join(s.name for s in states)
        twice = [u for u, rate in self.known.items() if rate in needed]
        if twice and not self.any_order:
            raise SolveError(
                f"{self.what} cannot be followed: the motion of {names} would need the second rate "
                f"of {', '.join(u.name for u in twice)}; let it act through a storage of the numerical half"
            )
        allowed = {*self.inputs, *(self.known.values() if self.any_order else ())}
        bad = [u for u in needed if u in self.unknowable or u not in allowed]
        if bad:
            raise SolveError(
                f"{self.what} cannot be followed: the motion of {names} would need the rate of "
                f"{', '.join(u.name for u in bad)}, which acts on the motion after fewer storages than the "
                "command "
                "does (the shortest causal path of the numerical half, or of the load on the transfer "
                "system, is "
                "shorter than the command's; Gawthrop 2005, assumption 5)"
            )
        for u, rate in needed.items():
            if u in self.known:
                definitions[rate] = self.known[u]
            else:
                self.known[u] = rate
