"""Polynomials through a history of samples: the weights with which the samples enter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["backward_differences", "coefficient_matrix", "fit_weights"]


def coefficient_matrix(times: Sequence[float], order: int) -> tuple[NDArray[np.float64], float]:
    """Return the matrix that makes a polynomial's coefficients of samples, and the unit of its time.

    The least-squares polynomial through samples x(t_j) is ``sum_i a_i (t/scale)^i`` with ``a = matrix @ x``
    (du Bois 2010, eq. 2). Time is divided by the span of the samples before the pseudo-inverse: in seconds
    the columns of a sixth-order fit over 0.1 s differ by a factor of a million.

    Parameters
    ----------
    times
        Times of the samples in s.
    order
        Order of the polynomial; samples fewer than ``order + 1`` leave it undetermined.
    """
    t = np.asarray(times, dtype=float)
    scale = float(t.max() - t.min()) or 1.0
    powers = np.vander(t / scale, order + 1, increasing=True)
    return np.asarray(np.linalg.pinv(powers), dtype=float), scale


def fit_weights(times: Sequence[float], order: int, at: float, derivative: int = 0) -> NDArray[np.float64]:
    """Return the weights of samples in a derivative of their least-squares polynomial.

    Parameters
    ----------
    times
        Times of the samples in s.
    order
        Order of the polynomial.
    at
        Where it is evaluated, in s.
    derivative
        Which derivative; 0 for the value itself.

    Examples
    --------
    A straight line through two samples, carried on by one period:

    >>> fit_weights([0.0, -1.0], order=1, at=1.0).round(12).tolist()
    [2.0, -1.0]
    """
    matrix, scale = coefficient_matrix(times, order)
    row = [
        math.perm(i, derivative) * (at / scale) ** (i - derivative) if i >= derivative else 0.0
        for i in range(order + 1)
    ]
    return np.asarray(np.array(row) @ matrix / scale**derivative, dtype=float)


def backward_differences(derivative: int, points: int, period: float) -> NDArray[np.float64]:
    """Return the weights of the newest samples, newest first, in a derivative at the newest one.

    It is the derivative of the polynomial through them all. Of three samples it gives du Bois 2010, eqs. 5-8
    with the division by the period that the paper leaves out: (3 x0 - 4 x1 + x2)/(2 T) and
    (x0 - 2 x1 + x2)/T^2.

    Examples
    --------
    >>> backward_differences(1, 3, 0.5).round(9).tolist(), backward_differences(2, 3, 0.5).round(9).tolist()
    ([3.0, -4.0, 1.0], [4.0, -8.0, 4.0])
    """
    times = [-i * period for i in range(points)]
    return fit_weights(times, points - 1, 0.0, derivative)
