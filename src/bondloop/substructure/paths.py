"""Shortest causal paths: how many storages lie between an input and an output."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from bondloop.program.expr import Expr, Var, variables

if TYPE_CHECKING:
    from bondloop.program.system import System

__all__ = ["CausalPath", "shortest_causal_path"]


@dataclass(frozen=True)
class CausalPath:
    """A causal path: the variables along it, and the storages (integrations) passed.

    Attributes
    ----------
    variables
        Names from the input to the output.
    storages
        Names of the states on the way; their number is the length sigma of the path.

    Examples
    --------
    >>> from bondloop.bondgraph import C, I, Model, One, Se
    >>> from bondloop.substructure import shortest_causal_path
    >>> m = Model("oscillator")
    >>> m.force, m.v = Se("F"), One()
    >>> _ = m.force >> m.v >> [I(mass=1.0), C(stiffness=4.0)]
    >>> system = m.compile(outputs=["C.effort"])
    >>> shortest_causal_path(system, system.input_vars[0], system.output_exprs["C.effort"]).storages
    ('I.momentum', 'C.displacement')
    """

    variables: tuple[str, ...]
    storages: tuple[str, ...]

    @property
    def length(self) -> int:
        """Number of integrations on the path."""
        return len(self.storages)

    def __str__(self) -> str:
        return " -> ".join(self.variables) + f"  (length {self.length})"


def shortest_causal_path(system: System, source: Var, goal: Expr) -> CausalPath | None:
    """Return the path with the fewest storages from an input to an output; None if there is none.

    A step from what an assignment uses to what it assigns costs nothing; a step from a rate to its state
    costs one integration.

    Parameters
    ----------
    system
        The compiled model.
    source
        An input of it.
    goal
        An output.
    """
    users: dict[Var, list[Var]] = {}
    for target, expr in system.definitions.items():
        for v in variables(expr):
            users.setdefault(v, []).append(target)
    fed: dict[Var, list[Var]] = {}
    for state, rate in zip(system.state_vars, system.rate_exprs, strict=True):
        for v in variables(rate):
            fed.setdefault(v, []).append(state)
    ends = set(variables(goal))
    before: dict[Var, Var | None] = {source: None}
    cost = {source: 0}
    queue = deque([source])
    best: Var | None = None
    while queue:
        v = queue.popleft()
        if v in ends:
            best = v
            break
        for following, price in [*((u, 0) for u in users.get(v, ())), *((s, 1) for s in fed.get(v, ()))]:
            total = cost[v] + price
            if following not in cost or total < cost[following]:
                cost[following] = total
                before[following] = v
                (queue.appendleft if price == 0 else queue.append)(following)
    if best is None:
        return None
    trail = []
    v_: Var | None = best
    while v_ is not None:
        trail.append(v_)
        v_ = before[v_]
    trail.reverse()
    storages = [b.name for a, b in pairwise(trail) if b in system.state_vars and b in fed.get(a, ())]
    return CausalPath(tuple(v.name for v in trail), tuple(storages))
