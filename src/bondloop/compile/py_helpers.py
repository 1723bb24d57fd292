"""Functions that generated Python calls: C's, with C's results where Python would raise an exception."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bondloop.compile.plan import LANES, SINGULAR, UNCONVERGED, WORST, Sparse
from bondloop.program.expr import FUNCTIONS
from bondloop.program.expression_text import LARGEST_POWER, total
from bondloop.program.newton import LoopFunctions, Solution, newton, worst
from bondloop.program.philox import normal, uniform
from bondloop.program.solving import eliminate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.program.factored import Factored

__all__ = ["scope"]


def _sign(x: float) -> float:
    return float((x > 0.0) - (x < 0.0))


def _fmin(x: float, y: float) -> float:
    return x if x < y or y != y else y  # noqa: PLR0124 - NaN


def _fmax(x: float, y: float) -> float:
    return x if x > y or y != y else y  # noqa: PLR0124 - NaN


def _floor(x: float) -> float:
    return float(math.floor(x)) or x * 0.0  # keeps the sign of a zero


def _divide(x: float, y: float) -> float:
    return x / y


def _power(n: int) -> Callable[[float], float]:
    def product(x: float) -> float:
        result = x
        for _ in range(n - 1):
            result *= x
        return result

    return product


def _careful(function: Callable[..., float], name: str) -> Callable[..., float]:
    """Give the value that IEEE 754 and C99 give at poles and outside domains."""
    import numpy as np

    inverse = f"arc{name[1:]}" if name.startswith("a") else name
    ufunc = getattr(np, {"pow": "power", "div": "divide"}.get(name, inverse))

    def guarded(*args: float) -> float:
        try:
            return function(*args)
        except (ZeroDivisionError, ValueError, OverflowError):
            with np.errstate(all="ignore"):
                return float(ufunc(*args))

    return guarded


_PLAIN: dict[str, Callable[..., float]] = {
    "sign": _sign,
    "fmin": _fmin,
    "fmax": _fmax,
    "fabs": math.fabs,
    "normal": normal,
    "uniform": uniform,
    **{f"power{n}": _power(n) for n in range(2, LARGEST_POWER + 1)},
}
"""Functions that never raise an exception."""

_RAISING: dict[str, Callable[..., float]] = {
    **{name: getattr(math, name) for name in FUNCTIONS if name not in _PLAIN},
    "pow": math.pow,
    "floor": _floor,
    "div": _divide,
}


def _solve1(a: float, b: float, status: list[int]) -> float:
    if a == 0.0:
        status[0] |= SINGULAR
        return math.nan
    return b / a


def _solve(a: list[list[float]], b: list[float], status: list[int]) -> list[float]:
    """Eliminate with partial pivoting, in the order of the C helper."""
    change = eliminate(a, b)
    if change is None:
        status[0] |= SINGULAR
        return [math.nan] * len(b)
    return change


def _failed(solution: Solution, residual: Callable[..., list[float]], first: int, status: list[int]) -> float:
    """Note that a loop did not converge, and its worst tear; return what is left over of that."""
    left = residual(*solution.tears)
    number = worst(solution.tears, left)
    status[0] |= SINGULAR if solution.singular else UNCONVERGED
    if status[0] < WORST:
        status[0] += WORST * (first + 1 + number)
    return left[number]


def _dense(columns: NDArray[np.float64], x: Sequence[float]) -> list[float]:
    import numpy as np

    result = np.zeros(columns.shape[1])
    with np.errstate(all="ignore"):
        for column, value in zip(columns, x, strict=True):
            result += column * value
    values: list[float] = result.tolist()
    return values


def _dots(columns: NDArray[np.float64], x: Sequence[float]) -> list[float]:
    """Dot products in the partial sums of the C code."""
    import numpy as np

    m, n = columns.shape
    with np.errstate(all="ignore"):
        terms = np.zeros((-(-m // LANES) * LANES, n))
        terms[:m] = columns * np.asarray(x)[:, None]
        lanes = np.add.accumulate(terms.reshape(-1, LANES, n))[-1]
        values: list[float] = np.add.accumulate(lanes)[-1].tolist()
    return values


def _few(matrix: Sparse, x: Sequence[float]) -> list[float]:
    result = []
    for i in range(len(matrix.starts) - 1):
        total = 0.0
        for j in range(matrix.starts[i], matrix.starts[i + 1]):
            total += matrix.values[j] * x[matrix.columns[j]]
        result.append(total)
    return result


def _solution(inverse: Factored, x: Sequence[float]) -> list[float]:
    values: list[float] = (inverse @ x).tolist()
    return values


def scope() -> dict[str, object]:
    """Return the names that a generated function can use."""
    names: dict[str, object] = {"inf": math.inf, "nan": math.nan, "total": total}
    names |= {"newton": newton, "LoopFunctions": LoopFunctions, "failed": _failed}
    names |= {
        "solve1": _solve1,
        "solve": _solve,
        "dense": _dense,
        "dots": _dots,
        "few": _few,
        "solution": _solution,
    }
    for name, function in _PLAIN.items():
        names[name] = names[f"careful_{name}"] = function
    for name, function in _RAISING.items():
        names[name], names[f"careful_{name}"] = function, _careful(function, name)
    return names
