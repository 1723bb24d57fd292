"""Does what happens depend on the numbers of a graph without a jump? Judged by the graphs beside it.

A model is well posed if there is a solution, one, and if it changes little where the numbers do (Hadamard
1902). The last fails where numbers cancel in what decides how many states there are: 1 ohm beside -1 ohm in
series with a capacitor is a model without a state, and one beside it has a state that grows or decays as fast
as its numbers are near. The number of states is the degree of det(s E + A), the rank of its pencil: it is
counted here, with fifty digits, for the graph and for graphs beside it.
"""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # for tableau.py

from tableau import PROBES, Tableau, scales

NEAR = 1e-6
"""Relative change of the numbers of an element."""

DIGITS = 50
"""With which determinants are taken."""

FAR = 1e12
"""Poles (in 1/s, where motions take about a second) beyond this count as none: with numbers that cancel but
for rounding they are at 1e15 and more, and those that come from infinity with a change by `NEAR` near 1e6."""


def states_of_neighbours(graph: Any, point: tuple[Any, Any, Any], draws: int = 4) -> tuple[int, int, float]:
    """Count the states of a graph and of those beside it.

    Returns
    -------
    here, most, fastest
        The states of the graph, the most of a neighbour, and the size (a geometric mean) of the poles that
        its additional states have, in 1/s: the condition of the model is this over its own poles over `NEAR`.
    """
    rng = np.random.default_rng(0)
    here, leading = _degree(graph, point)
    most, fastest = here, 0.0
    for _ in range(draws):
        count, other = _degree(_shaken(graph, rng), point)
        if count > here:
            most, fastest = (
                max(most, count),
                max(fastest, float(abs(leading / other) ** (1 / (count - here)))),
            )
    return here, most, fastest


def fastest_pole(graph: Any, point: tuple[Any, Any, Any]) -> tuple[int, float]:
    """Return how many poles the tableau has below `FAR`, and about how fast the fastest is, in 1/s.

    Of det(s E + A) = c (s - p1) (s - p2) ..., at a probe no faster than most poles, over c.
    """
    import mpmath

    count, leading = _degree(graph, point)
    E, A, _ = Tableau(graph).slopes(*point)
    s = PROBES[0]
    with mpmath.workdps(DIGITS):
        whole = _determinant(mpmath.mpc(s) * E.astype(object) + A.astype(object))
        return count, float(abs(whole / leading) / abs(s) ** max(count - 1, 0)) if leading else 0.0


def is_singular(tableau: Tableau, point: tuple[Any, Any, Any]) -> bool:
    """Whether the pencil of a tableau is singular beyond any doubt of rounding: by its determinant."""
    import mpmath

    E, A, _ = tableau.slopes(*point)
    with mpmath.workdps(DIGITS):
        for s in PROBES:
            rows, columns = scales(s * E + A)
            M = (mpmath.mpc(s) * E.astype(object) + A.astype(object)) * rows[:, None] * columns
            if abs(_determinant(M)) > mpmath.mpf(10) ** (10 - DIGITS):
                return False
    return True


def _degree(graph: Any, point: tuple[Any, Any, Any]) -> tuple[int, Any]:
    """Return the degree of det(s E + A) below `FAR`, and its leading coefficient."""
    import mpmath

    E, A, _ = Tableau(graph).slopes(*point)
    with mpmath.workdps(DIGITS):
        far = mpmath.mpf(FAR)
        one, two = (_determinant(s * E.astype(object) + A.astype(object)) for s in (far, 2 * far))
        if not one:
            return -1, one
        degree = int(mpmath.nint(mpmath.log(abs(two / one), 2)))
        return degree, one / far**degree


def _determinant(M: Any) -> Any:
    """Return the determinant of a matrix of long numbers, by elimination; mpmath fails where it is 0."""
    M, result = M.copy(), 1
    for k in range(len(M)):
        best = k + int(np.argmax(np.abs(M[k:, k])))
        if M[best, k] == 0:
            return 0
        if best != k:
            M[[k, best]], result = M[[best, k]], -result
        result = result * M[k, k]
        rows = k + 1 + np.flatnonzero(M[k + 1 :, k] != 0)  # most entries are zero
        columns = k + 1 + np.flatnonzero(M[k, k + 1 :] != 0)
        M[np.ix_(rows, columns)] -= np.outer(M[rows, k] / M[k, k], M[k, columns])
    return result


def _shaken(graph: Any, rng: np.random.Generator) -> Any:
    """Return the graph with other numbers in its elements; symmetric matrices stay so, junctions as well."""
    nodes = []
    for kind in graph.nodes:
        changes: dict[str, Any] = {}
        for name in (f.name for f in fields(kind)):
            value = getattr(kind, name)
            if isinstance(value, float):
                changes[name] = value * (1 + NEAR * rng.uniform(-1, 1))
            elif name == "matrix":
                factor = rng.uniform(-1, 1, np.shape(value))
                if factor.shape[0] == factor.shape[1]:
                    factor = (factor + factor.T) / 2
                changes[name] = (np.asarray(value) * (1 + NEAR * factor)).tolist()
        nodes.append(replace(kind, **changes))
    return replace(graph, nodes=nodes)
