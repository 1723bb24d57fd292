"""The inverse of a process model for slow motions, as a series in derivatives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bondloop.errors import InputError
from bondloop.transfer.process import Process

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["expect_process", "inverse_series", "shifted"]


def expect_process(value: object, what: str) -> None:
    """Refuse what is no process model."""
    if not isinstance(value, Process):
        raise InputError(
            f"{what}: expected a process model, such as first_order(gain, time_constant); found "
            f"{type(value).__name__}"
        )


def inverse_series(process: Process, order: int, what: str) -> list[float]:
    """Return the first coefficients of 1/G(s) = a0 + a1 s + a2 s^2 ...

    With them a0 x + a1 dx/dt + a2 d2x/dt2 is the command under which G moves by x, the better the slower x
    is. For a pure delay they are those of e^(s delay).

    Parameters
    ----------
    process
        G, its delay included.
    order
        Of the last coefficient.
    what
        Whose process it is, for the error message.

    Examples
    --------
    >>> from bondloop.transfer import first_order
    >>> [round(a, 6) for a in inverse_series(first_order(0.5, 0.02, delay=0.01), 2, "process")]
    [2.0, 0.06, 0.0005]
    """
    a, b = process.denominator[::-1], process.numerator[::-1]
    if not (a[0] and b[0]):
        raise InputError(
            f"{what}: the process model has a {'zero' if a[0] else 'pole'} at 0, so no static gain to begin "
            "with; give one that follows a constant command"
        )
    quotient: list[float] = []
    for j in range(order + 1):  # long division, lowest power first
        rest = a[j] if j < len(a) else 0.0
        rest -= sum(b[i] * quotient[j - i] for i in range(1, min(j, len(b) - 1) + 1))
        quotient.append(rest / b[0])
    return shifted(quotient, process.delay)


def shifted(series: Sequence[float], time: float) -> list[float]:
    """Return the coefficients of e^(s time) times a series in s, as many as it has.

    >>> shifted([1.0, 0.0, 0.0], 0.1)
    [1.0, 0.1, 0.005000000000000001]
    """
    early = [time**j / math.factorial(j) for j in range(len(series))]
    return [sum(series[i] * early[j - i] for i in range(j + 1)) for j in range(len(series))]
