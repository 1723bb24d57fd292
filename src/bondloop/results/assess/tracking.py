"""How far a motion is from the one it should follow: errors, synchronisation and the tracking indicator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.results.assess.samples import ratio, same_length

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def rms(values: ArrayLike) -> float:
    """Return the root of the mean square, without overflow for values near the largest float.

    Parameters
    ----------
    values
        Samples, in any unit.

    Examples
    --------
    >>> rms([3.0, -4.0, 0.0, 0.0])
    2.5
    """
    (array,) = same_length(values=values)
    scale = float(np.abs(array).max())
    if scale == 0 or not np.isfinite(scale):
        return scale
    return scale * float(np.sqrt(np.mean(np.square(array / scale))))


def normalised_rms_error(desired: ArrayLike, actual: ArrayLike) -> float:
    """Return rms(actual − desired) / rms(desired).

    For a sine of angular frequency ω that lags by τ it is 2 sin(ωτ/2); for one scaled by g it is abs(g − 1).
    NaN where the desired signal is zero throughout.

    Parameters
    ----------
    desired, actual
        Samples of both signals, of one unit and one length.

    Examples
    --------
    >>> round(normalised_rms_error([1.0, -1.0], [1.1, -1.1]), 12)
    0.1
    """
    x, y = same_length(desired=desired, actual=actual)
    return ratio(rms(y - x), rms(x))


def maximum_error(desired: ArrayLike, actual: ArrayLike) -> float:
    """Return max abs(actual − desired), the maximum tracking error, in the unit of the signals.

    Parameters
    ----------
    desired, actual
        Samples of both signals, of one unit and one length.

    Examples
    --------
    >>> maximum_error([0.0, 1.0], [0.0, 0.75])
    0.25
    """
    x, y = same_length(desired=desired, actual=actual)
    return float(np.abs(y - x).max())


def normalised_peak_error(desired: ArrayLike, actual: ArrayLike) -> float:
    """Return max abs(actual − desired) / max abs(desired); NaN where the desired signal is zero throughout.

    Parameters
    ----------
    desired, actual
        Samples of both signals, of one unit and one length.

    Examples
    --------
    >>> normalised_peak_error([0.0, 2.0], [0.5, 2.0])
    0.25
    """
    x, y = same_length(desired=desired, actual=actual)
    return ratio(float(np.abs(y - x).max()), float(np.abs(x).max()))


def peak_amplitude_error(desired: ArrayLike, actual: ArrayLike) -> float:
    """Return max abs(actual) / max abs(desired) − 1: how far the greatest excursion is over- or undershot.

    A delay alone leaves it at zero.

    Parameters
    ----------
    desired, actual
        Samples of both signals, of one unit and one length.

    Examples
    --------
    >>> peak_amplitude_error([0.0, 2.0, 0.0], [0.0, 0.0, 2.5])
    0.25
    """
    x, y = same_length(desired=desired, actual=actual)
    return ratio(float(np.abs(y).max()), float(np.abs(x).max())) - 1.0


@dataclass(frozen=True, eq=False)
class SynchronisationErrors:
    """What is left of the interface equations F_P = F_N and v_P = v_N.

    Attributes
    ----------
    force
        F̃ [N], shape (n,).
    velocity
        ṽ [m/s], shape (n,).
    """

    force: NDArray[np.float64]
    velocity: NDArray[np.float64]


def synchronisation_errors(
    physical_force: ArrayLike,
    numerical_force: ArrayLike,
    physical_velocity: ArrayLike,
    numerical_velocity: ArrayLike,
) -> SynchronisationErrors:
    """Return F̃ = F_P − F_N and ṽ = v_P − v_N at one interface bond.

    Exact synchronisation is F̃ = ṽ = 0.

    Parameters
    ----------
    physical_force, numerical_force
        F_P and F_N in N.
    physical_velocity, numerical_velocity
        v_P and v_N in m/s.

    References
    ----------
    Gawthrop, Wallace and Wagg (2005), eqs. (2) and (3).

    Examples
    --------
    >>> errors = synchronisation_errors([3.0, 1.0], [2.0, 1.0], [0.5, 0.5], [0.5, 0.75])
    >>> errors.force.tolist(), errors.velocity.tolist()
    ([1.0, 0.0], [0.0, -0.25])
    """
    force_p, force_n, velocity_p, velocity_n = same_length(
        physical_force=physical_force,
        numerical_force=numerical_force,
        physical_velocity=physical_velocity,
        numerical_velocity=numerical_velocity,
    )
    return SynchronisationErrors(force_p - force_n, velocity_p - velocity_n)


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
