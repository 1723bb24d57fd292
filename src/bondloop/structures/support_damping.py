"""Damping of a whole structure whose supports move."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.structures.factor import factor
from bondloop.structures.modally_damped import damping_product

if TYPE_CHECKING:
    from bondloop.structures.ground_motion import Prescribed
    from bondloop.structures.matrices import Matrices

__all__ = ["damped_supports"]


def damped_supports(
    moved: Prescribed, rest: Matrices, alpha: float, beta: float, damping: str, *, modal: bool
) -> Prescribed:
    """Return a structure with imposed motions whose damping acts on what is relative to them.

    With C_w the damping of the whole that acts on ż = u̇ - ι ẋ, and K ι = -K_a, its force is C_w u̇ - C_w ι ẋ:
    columns -C_w ι join those of the elements, and ιᵀ C_w ι their own entries. For βK that is βK_a, as ever.

    Parameters
    ----------
    moved
        The structure, damped by its elements alone.
    rest
        Its remaining degrees of freedom with all damping.
    alpha, beta
        Rayleigh's.
    damping
        ``"relative"``, or ``"absolute"`` for αM that acts on all of the velocity.
    modal
        Whether modes are damped.
    """
    C_a, C_aa = moved.C_a + beta * moved.K_a, moved.C_aa + beta * moved.K_aa
    if damping == "absolute":
        C_a, C_aa = C_a + alpha * moved.M_a, C_aa + alpha * moved.M_aa
    spread = alpha if damping == "relative" else 0.0
    if spread or modal:
        try:
            iota = -np.asarray(factor(moved.matrices.K)(moved.K_a))
        except RuntimeError:
            iota = np.full_like(moved.K_a, np.nan)
        if not np.all(np.isfinite(iota)):
            raise InputError(
                "the structure does not follow the imposed motions by itself (it is a mechanism), so that "
                "damping relative to them has no meaning; leave out modal damping and take damping='absolute'"
            )
        # What is neither the elements' nor βK: αM where it is relative, and the modes'.
        elements = moved.matrices.C @ iota + beta * (moved.matrices.K @ iota)
        acting = damping_product(rest, iota) - elements - (alpha - spread) * (moved.matrices.M @ iota)
        C_a, C_aa = C_a - acting, C_aa + iota.T @ acting
    return replace(moved, matrices=rest, C_a=C_a, C_aa=C_aa)
