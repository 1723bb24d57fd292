"""Ground motion and prescribed displacement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.errors import InputError, unknown_name
from bondloop.structures.elements.base import DOFS, Array

if TYPE_CHECKING:
    from bondloop.structures.matrices import Matrices

__all__ = ["Prescribed", "rigid_motion"]


def rigid_motion(xyz: Array, codes: Array, direction: str) -> Array:
    """Return the unit rigid motion of degrees of freedom given as 6 · node + dof, shape (n,).

    >>> rigid_motion(np.array([[0.0, 2.0, 0.0]]), np.array([0, 1, 5]), "rz").tolist()
    [-2.0, 0.0, 1.0]
    """
    if direction not in DOFS:
        raise InputError(unknown_name("direction", direction, DOFS))
    d = DOFS.index(direction)
    motion = np.zeros((len(xyz), 6))
    motion[:, d] = 1.0
    if d >= 3:
        motion[:, :3] = np.cross(np.eye(3)[d - 3], xyz)
    return np.asarray(motion.ravel()[codes])


@dataclass(frozen=True)
class Prescribed:
    """A structure with some motions imposed.

    M ü + C u̇ + K u = f - M_a ẍ_a - C_a ẋ_a - K_a x_a (du Bois 2010, eq. 15)

    Attributes
    ----------
    matrices
        The remaining degrees of freedom.
    dofs
        Names of the k imposed ones.
    M_a, C_a, K_a
        Their columns, shape (n, k).
    M_aa, C_aa, K_aa
        Their own entries, shape (k, k), for the force that the motion needs.

    Examples
    --------
    A mass on a spring of 10 N/m, whose foot is moved by 0.1 m:

    >>> from bondloop.structures import Matrices
    >>> K = [[10.0, -10.0], [-10.0, 10.0]]
    >>> moved = Prescribed.of(Matrices(np.eye(2), None, K, ("foot.ux", "mass.ux")), ["foot.ux"])
    >>> moved.matrices.dofs, moved.force(0.0, 0.0, 0.1).tolist()
    (('mass.ux',), [1.0])
    """

    matrices: Matrices
    dofs: tuple[str, ...]
    M_a: Array
    C_a: Array
    K_a: Array
    M_aa: Array
    C_aa: Array
    K_aa: Array

    __repr__ = brief

    @classmethod
    def of(cls, whole: Matrices, dofs: Sequence[str]) -> Prescribed:
        """Split the matrices ``whole`` into ``dofs``, which are imposed, and those that remain."""
        a = whole.indices(dofs)
        rest = [i for i in range(len(whole)) if i not in set(a)]
        columns = [part[rest][:, a].toarray() for part in (whole.M, whole.C, whole.K)]
        own = [part[a][:, a].toarray() for part in (whole.M, whole.C, whole.K)]
        return cls(whole.sub([whole.dofs[i] for i in rest]), tuple(dofs), *columns, *own)

    def force(self, acceleration: Array, velocity: Array, displacement: Array) -> Array:
        """Force on the remaining degrees of freedom, (n,) or (n, times), from motions (k,) or (k, times).

        Parameters
        ----------
        acceleration, velocity, displacement
            Of the imposed degrees of freedom, in their order, in SI units.
        """
        x, v, a = (np.atleast_1d(np.asarray(q, dtype=float)) for q in (displacement, velocity, acceleration))
        return np.asarray(-(self.M_a @ a + self.C_a @ v + self.K_a @ x))
