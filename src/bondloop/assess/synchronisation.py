"""The synchronisation errors of Gawthrop 2005."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.assess.samples import same_length

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["SynchronisationErrors", "synchronisation_errors"]


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
