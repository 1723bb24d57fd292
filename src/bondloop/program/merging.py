"""Variables that are computed twice, or are copies of others, become one."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping

from bondloop.program.causal_order import components
from bondloop.program.expr import Const, Expr, Op, Var, substitute

__all__ = ["merged"]


def merged(definitions: Mapping[Var, Expr], kept: Container[Var]) -> tuple[dict[Var, Expr], dict[Var, Expr]]:
    """Return the definitions without repetitions, and what stands for each variable left out.

    Parameters
    ----------
    definitions
        A program.
    kept
        Variables that stay, whatever they are equal to.
    """
    same: dict[Var, Expr] = {}
    known: dict[Hashable, Var] = {}
    result: dict[Var, Expr] = {}
    for component in components(definitions, definitions):
        for v in component:
            expr = substitute(definitions[v], same)
            key = _key(expr)
            if v in kept or len(component) > 1:
                known.setdefault(key, v)
            elif isinstance(expr, Var):
                same[v] = expr
                continue
            elif key in known:
                same[v] = known[key]
                continue
            known.setdefault(key, v)
            result[v] = expr
    return {v: substitute(result[v], same) for v in definitions if v in result}, same


def _key(expr: Expr) -> Hashable:
    """Return what two expressions have in common exactly if they are the same."""
    if isinstance(expr, Op):
        return (expr.identity, *map(_key, expr.args))
    return expr.value if isinstance(expr, Const) else expr
