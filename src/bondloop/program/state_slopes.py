"""Slopes of the rates of a system by its states, at a point and in a mode, for those who integrate it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bondloop.program.expr import Const, Expr, Var, variables
from bondloop.program.linear import linearised, numeric
from bondloop.program.mode_merge import folded
from bondloop.program.solving import factorised

if TYPE_CHECKING:
    import numpy as np
    from scipy import sparse

    from bondloop.program.statespace import StateSpace
    from bondloop.program.switching_functions import Key
    from bondloop.program.system_data import SystemData

__all__ = ["mode_slopes", "slopes"]


def slopes(
    system: SystemData, x: Sequence[float], u: Sequence[float], values: Mapping[str, float] | None
) -> sparse.csr_array[np.float64]:
    """Return the slopes of the rates at a point, as a sparse matrix."""
    return _explicit(
        numeric(system, values) if system.is_linear else linearised(system, list(x), list(u), values)
    )


def mode_slopes(
    system: SystemData, modes: Key, x: Sequence[float], u: Sequence[float], values: Mapping[str, float]
) -> sparse.csr_array[np.float64]:
    """Return the same in one mode of a system that switches; those of modes are zero.

    Storages that follow from others are states here, as they are for a solver.
    """
    from scipy.sparse import csr_array

    rules = [rule for part in system.switching for rule in part.rules]
    constants: dict[Var, Expr] = {r.mode: Const(m) for r, m in zip(rules, modes, strict=True)}
    places = [i for i, v in enumerate(system.state_vars) if v not in constants]
    rates = {system.state_vars[i]: folded(system.rate_exprs[i], constants) for i in places}
    definitions: dict[Var, Expr] = {}
    work = [v for e in rates.values() for v in variables(e)]
    while work:
        v = work.pop()
        if v in system.definitions and v not in definitions:
            definitions[v] = folded(system.definitions[v], constants)
            work += variables(definitions[v])
    used = {v for e in (*rates.values(), *definitions.values()) for v in variables(e)}
    mode = system.replaced(
        states=rates,
        outputs={},
        definitions=definitions,
        tears=[v for v in system.tears if v in definitions],
        initial={},
        dots={v: dot for v, dot in system.dots.items() if v in rates and dot in used},
        input_rates={v: rate for v, rate in system.input_rates.items() if rate in used},
        lookup=None,
        switching=(),
    )
    A = slopes(mode, [x[i] for i in places], u, values).tocoo()
    n = len(system.state_vars)
    rows, columns = ([places[k] for k in part] for part in (A.row.tolist(), A.col.tolist()))
    return csr_array((A.data, (rows, columns)), shape=(n, n))


def _explicit(space: StateSpace) -> sparse.csr_array[np.float64]:
    from scipy.sparse import csr_array, eye_array

    if (space.E - eye_array(space.E.shape[0])).nnz == 0:
        return csr_array(space.A)
    return csr_array(factorised(space.E)(space.A))
