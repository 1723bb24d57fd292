"""Data over other variables: every field of a dataclass, whatever it holds, so that none is forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from bondloop.engine.ir.expr import Expr, Var, substitute
from bondloop.engine.ir.matrices import MatrixRow

PATHS = {"paths": True}
"""Metadata of a field whose texts are paths of the model, so that they change where the model is renamed."""

_RATE = re.compile(r"d\d*/dt\d* ")

T = TypeVar("T")


class Renaming:
    """Puts a prefix before every path: ``rig.`` before ``m3.v.flow``.

    Parameters
    ----------
    prefix
        Goes before each.
    variables
        Those that get another name. Any other is none of the model's own and stays as it is.
    """

    def __init__(self, prefix: str, variables: Iterable[Var]) -> None:
        self.prefix = prefix
        self._table: dict[Var, Expr] = {v: Var(self._name(v.name), v.range, v.quantity) for v in variables}
        self._vectors: dict[int, tuple[Expr, ...]] = {}  # the rows of a product share one

    def _name(self, name: str) -> str:
        """Return a variable's name with the prefix: that of a rate stays one."""
        rate = _RATE.match(name)
        return self.prefix + name if rate is None else f"{rate[0]}{self.prefix}{name[rate.end() :]}"

    def expression(self, expr: Expr) -> Expr:
        """Return an expression over the new variables."""
        if isinstance(expr, MatrixRow):
            if id(expr.args) not in self._vectors:
                self._vectors[id(expr.args)] = tuple(substitute(a, self._table) for a in expr.args)
            return expr.with_args(self._vectors[id(expr.args)])
        return substitute(expr, self._table)

    def of(self, value: T, *, paths: bool = False) -> T:
        """Return data over the new variables.

        Parameters
        ----------
        value
            A dataclass, table, row, expression, variable, text or number.
        paths
            Whether texts are paths; of a dataclass each field says so by its metadata, `PATHS`.
        """
        return self._of(value, paths)  # type: ignore[no-any-return]

    def _of(self, value: Any, paths: bool) -> Any:
        if isinstance(value, str):
            return self._name(value) if paths else value
        if isinstance(value, Expr):
            return self._table.get(value, value) if isinstance(value, Var) else self.expression(value)
        if isinstance(value, Mapping):
            return {self._of(k, paths): self._of(v, paths) for k, v in value.items()}
        if isinstance(value, (tuple, list)):
            return tuple(self._of(v, paths) for v in value)
        if is_dataclass(value) and not isinstance(value, type):
            own = {f.name: self._of(getattr(value, f.name), "paths" in f.metadata) for f in fields(value)}
            return replace(value, **own)
        if value is None or isinstance(value, (bool, int, float)) or callable(value):
            return value
        raise TypeError(f"expected variables, expressions, texts or numbers; found {type(value).__name__}")
