"""Whether equations that have to be turned round say what their unknowns are: no jumps, no turning back.

A law such as effort = flow**2 has two flows for one effort. Newton's method would find one of them, nobody
knows which. What a port stores is another matter: it has a start and changes continuously, so of several
branches it is on the one where it starts. Slopes are looked at where the element may be; a law counts as
turning back only if it does so whatever the variables that are not sought are, so nothing is refused for
values that never occur.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import ModelError, SolveError
from bondloop.program.evaluator import evaluator
from bondloop.program.expr import Expr, Var, evaluate, variables
from bondloop.program.solving import SingularError, solve_small

if TYPE_CHECKING:
    from bondloop.bondgraph.relation_ports import Ports

__all__ = ["check_rank", "check_single", "turns_back"]

OTHERS = (0.0, 0.4, -1.3, 2.1)
"""Distances from their start at which the variables that are not sought are held."""
POINTS = 240
"""Places of the unknowns that are tried for each of these: sizes from 1e-4 to 1e3, either sign."""
ENOUGH = 12
"""Places on either side of a fold: fewer may be rounding."""
TRIALS = 3
"""Points at which equations must be dependent to count as dependent everywhere."""


def turns_back(
    slopes: Sequence[Sequence[Expr]],
    unknowns: Sequence[Var],
    parameters: Mapping[Var, float | None],
    starts: Mapping[Var, float],
) -> bool:
    """Whether the determinant of the slopes has either sign: then several unknowns fulfil the same equations.

    >>> f, c = Var("f"), Var("c")
    >>> turns_back([[2 * c * f]], [f], {c: 3.0}, {}), turns_back([[c + 3 * f**2]], [f], {c: 3.0}, {})
    (True, False)
    """
    rng = np.random.default_rng(0)
    names = dict.fromkeys(v for row in slopes for s in row for v in variables(s))
    if not set(names).intersection(unknowns):
        return False
    places = 10.0 ** rng.uniform(-4, 3, (POINTS, len(unknowns))) * rng.choice(
        [-1.0, 1.0], (POINTS, len(unknowns))
    )
    slopes_at, size = evaluator((), [list(names)], [s for row in slopes for s in row]), len(slopes)
    folds = 0
    for away in OTHERS:
        at = {v: starts.get(v, 0.0) + away for v in names}
        at.update({v: 1.0 if number is None else number for v, number in parameters.items() if v in names})
        signs: list[float] = []
        for place in places.tolist():
            at.update((u, x) for u, x in zip(unknowns, place, strict=True) if u in names)
            try:
                matrix = np.array(slopes_at(list(at.values()))).reshape(size, size)
            except SolveError:
                continue
            if np.isfinite(matrix).all():
                signs.append(float(np.linalg.slogdet(matrix)[0]))
        if not any(signs):  # nothing can be said where all is zero
            continue
        if min(signs.count(1.0), signs.count(-1.0)) < ENOUGH:
            return False
        folds += 1
    return folds > 0


def check_single(ports: Ports, unknowns: list[Any], rows: list[int]) -> None:
    """Refuse equations that jump, or that more than one value of their unknowns fulfils."""
    relations = ports.relations
    words = " and ".join(ports.name(u) for u in unknowns)
    advice = (
        f"change what it is bonded to, so that {words} {'is' if len(unknowns) == 1 else 'are'} imposed (by a "
        "storage or a resistor beside it), or write the law"
    )
    for equation in rows:
        jumping = [u for u in unknowns if relations.jumps(equation, u)]
        if jumping:
            why = "it jumps, so no value gives an effect within the jump"
            if all(relations.slope(equation, u) == 0 for u in jumping):
                why = "it is flat, so many values give the same effect"
            raise ModelError(
                f"the law of {ports.path} ({ports.part.symbol}) for {relations.left[equation].name} cannot "
                f"be inverted for {words}: {why}; {advice} without a jump: tanh(x / width) in "
                "place of sign(x), with some slope left"
            )
    if any(u in stored for u in unknowns for stored in relations.stored):
        return
    slopes = [[ports.read(relations.slope(e, u)) for u in unknowns] for e in rows]
    if turns_back(slopes, ports.plain(unknowns), ports.d.parameters, ports.starts()):
        raise ModelError(
            f"the law of {ports.path} ({ports.part.symbol}) for "
            f"{' and '.join(relations.left[e].name for e in rows)} has no single inverse for {words}: it "
            f"turns back on itself, so several values fulfil it; {advice} so that it only rises, such as "
            "x*Abs(x) in place of x**2"
        )


def check_rank(ports: Ports, unknowns: list[Any], rows: list[int]) -> None:
    """Refuse equations that say too little about their unknowns, whatever variables and parameters are."""
    rng = np.random.default_rng(0)
    slopes = [[ports.read(ports.relations.slope(e, u)) for u in unknowns] for e in rows]
    names = dict.fromkeys(v for row in slopes for s in row for v in variables(s))
    for _ in range(TRIALS):
        at = {
            v: float(number * np.exp(rng.uniform(-0.3, 0.3)) if number else rng.uniform(0.2, 1.0))
            for v, number in ((v, ports.d.parameters.get(v)) for v in names)
        }
        try:
            solve_small([[evaluate(s, at) for s in row] for row in slopes], [1.0] * len(rows))
        except SingularError:
            continue
        except (ArithmeticError, ValueError):
            return
        return
    words = ", ".join(ports.name(u) for u in unknowns)
    raise ModelError(
        f"{ports.path} ({ports.part.symbol}) cannot give {words}: its equations for them depend on each "
        "other (the matrix of their slopes is singular, whatever the parameters are), so many values fulfil "
        "them; change what it is bonded to, so that one of them is imposed, or write equations that tell "
        "them apart"
    )
