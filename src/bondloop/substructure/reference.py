"""The part of the numerical half that an adaptive controller follows (Wagg 2001, eqs. 7 to 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.substructure.half import NumericalHalf


@dataclass(frozen=True)
class ReferenceModel:
    """The interface motion x_m, displacements then velocities, with all other coordinates held at rest.

    Attributes
    ----------
    A
        A_m = H14, 2n x 2n: ``dx_m/dt = A_m x_m + ...`` (Wagg 2001, eqs. 7 and 9).
    B
        B_e = [0, I]^T, 2n x n: what changes the velocities (eq. 11).

    Examples
    --------
    >>> from bondloop.papers import wagg_three_mass
    >>> from bondloop.substructure import numerical_half
    >>> half = numerical_half(wagg_three_mass.model().cut("m2.right >> m3.left")[0])
    >>> reference_model(half).A.tolist()  # -k2/m2, -c2/m2
    [[0.0, 1.0], [-1.0, -0.1]]
    """

    A: NDArray[np.float64]
    B: NDArray[np.float64]

    __repr__ = brief


def reference_model(half: NumericalHalf) -> ReferenceModel:
    """Return A_m and B_e of a numerical half, linearised where it starts.

    A_m depends on which coordinates the others are; as in the paper they are motions of masses. So a unit of
    interface velocity is a momentum of the interface's mass alone, and a unit of interface displacement
    stretches every spring by as much as that velocity does in a unit of time.

    Parameters
    ----------
    half
        Its interface velocities must be those of masses of their own, one each.
    """
    flows = {f"interface[{i}]": flow for i, flow in enumerate(half.flows)}
    space = half.system.replaced(outputs=flows).linearise().explicit()
    A, C = space.A, np.asarray(space.C.toarray())
    n, count = C.shape
    stretches = np.array(
        [v.quantity is not None and v.quantity.kind == "displacement" for v in half.system.state_vars]
    )
    if len(stretches) != count:  # what switches may leave out states in a mode
        raise ModelError("the reference model of a half whose states change with its mode is not known")
    V = np.zeros((count, n))  # column i: unit velocity at interface i
    for i, row in enumerate(C):
        (moved,) = np.nonzero(row)
        if len(moved) != 1 or stretches[moved[0]] or np.any(np.delete(C, i, axis=0)[:, moved[0]]):
            words = ", ".join(space.states[j] for j in moved[:4]) or "no state"
            raise ModelError(
                f"the velocity of interface {i + 1} depends on {words}: the reference model of Wagg 2001 is "
                "known where it is the velocity of one mass, its own"
            )
        V[moved[0], i] = 1 / row[moved[0]]
    rates = np.asarray(A @ V)
    X = np.where(stretches[:, None], rates, 0.0)  # column i: unit displacement at interface i
    identity, none = np.eye(n), np.zeros((n, n))
    A_m = np.block([[none, identity], [C @ (A @ X), C @ rates]])
    if not np.isfinite(A_m).all():
        raise ModelError(
            "the reference model has no numbers where the numerical half starts: a law has none there"
        )
    return ReferenceModel(A_m, np.vstack([none, identity]))
