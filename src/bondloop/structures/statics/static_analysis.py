"""Displacements under loads that stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.structures.dofs import force_on, forces_in_a_row
from bondloop.structures.factor import factor
from bondloop.structures.forms.structure_model import StructureModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bondloop.structures.elements.base import Array, Number
    from bondloop.structures.matrices import Matrices


def static(matrices: Matrices | StructureModel, force: Mapping[str, Number] | ArrayLike) -> Array:
    """Return the displacements K⁻¹ f under a load, or under several at once.

    Parameters
    ----------
    matrices
        The model, which must be supported; or a structure in either form, with the devices that are attached
        to it, whose loads are brought on in steps (see `pushover`).
    force
        Forces by degree of freedom, or all n of them, or several loads as columns, shape (n, loads).

    Examples
    --------
    >>> from bondloop.structures import ShearBuilding
    >>> m = ShearBuilding([1.0, 1.0], [100.0, 50.0]).assemble()
    >>> static(m, {"floor[2].ux": 10.0}).round(12).tolist()
    [0.1, 0.3]
    """
    model = matrices if isinstance(matrices, StructureModel) else None
    if isinstance(matrices, StructureModel):
        if matrices.matrices is None:
            raise InputError("static: the model was not made of matrices; use field_form or network_form")
        matrices = matrices.matrices
    if isinstance(force, Mapping):
        f = np.zeros(len(matrices))
        f[matrices.indices(force)] = [force_on(dof, x, "static") for dof, x in force.items()]
    else:
        f = forces_in_a_row(force, "static")
    if f.ndim not in (1, 2) or f.shape[0] != len(matrices):
        raise InputError(f"static: {len(matrices)} degrees of freedom; found loads of shape {f.shape}")
    if not np.isfinite(f).all():
        raise InputError("static: the load has entries that are not finite")
    if model is not None:
        from bondloop.structures.statics.pushover_analysis import loaded

        columns = f.reshape(len(matrices), -1)
        return np.stack([loaded(model, load) for load in columns.T], axis=1).reshape(f.shape)
    try:
        u = np.asarray(factor(matrices.K)(f))
    except RuntimeError:
        u = np.full_like(f, np.nan)
    if not np.isfinite(u).all():
        raise InputError(
            "static: the stiffness is singular; support the structure so that it cannot move freely"
        )
    return u
