"""Contents that follow from their own rates: the equations between the two, turned round.

A source whose flow depends on the effort of the masses that it moves makes their momenta functions of their
own rates. Then a momentum is a state, and its rate is what the equations must be solved for. Where two masses
move together only one of them is: the speed follows from its momentum, and the other momentum from the speed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.errors import SolveError
from bondloop.program.generic_point import GenericPoint
from bondloop.program.turning import path_between, turn_round

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.program.expr import Expr, Var

__all__ = ["solved_for_rate"]


def solved_for_rate(
    content: Var,
    rate: Var,
    law: Expr,
    definitions: Mapping[Var, Expr],
    start: Mapping[Var, float],
    parameters: Mapping[Var, float | None],
) -> dict[Var, Expr]:
    """Return a program in which a content is given and its rate is assigned; empty where there is none.

    >>> from bondloop.program.expr import Var
    >>> p, rate, v, F = Var("p"), Var("d/dt p"), Var("v"), Var("F")
    >>> turned = solved_for_rate(p, rate, 2 * v, {v: F - 3 * rate}, {F: 0.0}, {})
    >>> [f"{w.name} = {e}" for w, e in turned.items()]
    ['v = p/2', 'd/dt p = (-(v - F))/3']
    """
    turned = dict(definitions)
    point = GenericPoint({**start, content: 0.0}, parameters, 1)
    point.extend(turned)
    try:
        path = path_between(law, rate, turned, [point])
    except SolveError:
        return {}
    turn_round(path, content, law, turned, parameters)
    return turned
