"""An expression evaluated for many values at once, with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.program.expr import Const, Expr, Op, Var, apply

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["evaluate_array"]

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "exp": np.exp, "log": np.log,
    "sqrt": np.sqrt, "cbrt": np.cbrt, "fabs": np.abs, "floor": np.floor, "sign": np.sign, "fmin": np.minimum,
    "fmax": np.maximum, "pow": np.power, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal, "and": np.logical_and, "or": np.logical_or,
    "not": np.logical_not, "select": np.where,
}  # fmt: skip


def evaluate_array(expr: Expr, values: Mapping[Var, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Evaluate an expression for arrays of values of its variables.

    >>> x = Var("x")
    >>> evaluate_array(2 * x + 1, {x: np.array([1.0, 2.0])})
    array([3., 5.])
    """

    def walk(e: Expr) -> Any:
        if isinstance(e, Var):
            return values[e]
        if isinstance(e, Const):
            return e.value
        assert isinstance(e, Op)
        args = [walk(a) for a in e.args]
        return _FUNCTIONS[e.name](*args) if e.name in _FUNCTIONS else apply(e.name, args)

    with np.errstate(all="ignore"):  # both branches of a select are evaluated; the one not taken may overflow
        result = walk(expr)
    shape = np.broadcast_shapes(*(v.shape for v in values.values()))
    return np.array(np.broadcast_to(np.asarray(result, dtype=float), shape))
