"""The tracking indicator of Mercan and Ricles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.assess.samples import same_length

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["tracking_indicator"]


def tracking_indicator(desired: ArrayLike, actual: ArrayLike) -> NDArray[np.float64]:
    """Return TI(t), the area enclosed so far in the synchronisation subspace.

    With x the desired and y the actual signal::

        A_{i+1}  = A_i  + ½ (x_{i+1} + x_i)(y_{i+1} − y_i)
        TA_{i+1} = TA_i + ½ (y_{i+1} + y_i)(x_{i+1} − x_i)
        TI = ½ (A − TA),   A_0 = TA_0 = 0

    A rising TI means that the actual motion lags (energy is put into the structure), a falling one that it
    leads; an amplitude error alone leaves it level. A sine of amplitude X that comes out with amplitude Y
    and phase lag φ encloses π X Y sin φ a period.

    Parameters
    ----------
    desired, actual
        Samples of both signals, of one unit and one length.

    Returns
    -------
    ndarray
        In the square of the signals' unit, shape (n,); the first is zero.

    References
    ----------
    Mercan and Ricles (2007), Stability and accuracy analysis of outer loop dynamics in real-time
    pseudodynamic testing of SDOF systems, EESD 36(11).

    Examples
    --------
    >>> t = np.linspace(0, 1, 2001)
    >>> x, y = np.sin(2 * np.pi * t), 0.5 * np.sin(2 * np.pi * t - 0.3)
    >>> round(float(tracking_indicator(x, y)[-1]) / (np.pi * 0.5 * float(np.sin(0.3))), 5)
    1.0
    """
    x, y = same_length(desired=desired, actual=actual)
    # ½ (ΔA − ΔTA) = ½ (x_i y_{i+1} − x_{i+1} y_i), the sector swept from the origin.
    sectors = 0.5 * (x[:-1] * y[1:] - x[1:] * y[:-1])
    return np.concatenate(([0.0], np.cumsum(sectors)))
