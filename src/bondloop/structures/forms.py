"""Structures as bond graphs: the network form of da Silva 1994 and the field form.

Both have one 1-junction per degree of freedom, ``model.tip.uy``, to which anything can be bonded, and both
obey M ü + C u̇ + K u = F. The network form has a spring from every degree of freedom to ground and one between
every coupled pair; the field form has one inertia, one compliance and one resistor field, and twice as many
states as degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bondloop.bondgraph import C, CField, I, IField, Input, Model, MSe, One, R, RField, Se, Zero, bond
from bondloop.errors import InputError, unknown_name
from bondloop.structures.matrices import Matrices

__all__ = ["StructureModel", "field_form", "network_form"]


class StructureModel(Model):
    """A structure as a bond graph; its degrees of freedom are 1-junctions ``node.dof``.

    Parameters
    ----------
    name
        Name of the model.
    dofs
        Names ``node.dof`` of the degrees of freedom.
    """

    def __init__(self, name: str, dofs: Iterable[str]) -> None:
        super().__init__(name)
        junctions = {dof: One() for dof in dofs}
        # Generalised coordinates of a reduced model are named mode[0], mode[1], ...: arrays without a node.
        for array in dict.fromkeys(dof.partition("[")[0] for dof in junctions if "." not in dof):
            setattr(self, array, [j for dof, j in junctions.items() if dof.partition("[")[0] == array])
        for dof in junctions:
            node, _, motion = dof.rpartition(".")
            if not node:
                continue
            holder = self._parts.get(node)
            if holder is None:
                holder = Model()
                self._add(node, holder)
                object.__setattr__(self, node, holder)
            setattr(holder, motion, junctions[dof])
        self._junctions = junctions

    @property
    def dofs(self) -> tuple[str, ...]:
        """Names of the degrees of freedom."""
        return tuple(self._junctions)

    def junction(self, dof: str) -> One:
        """Return the 1-junction of a degree of freedom."""
        found: One | None = self._junctions.get(dof)
        if found is None:
            raise InputError(
                unknown_name("degree of freedom", dof, self._junctions, where=self._name or "structure")
            )
        return found

    def apply_forces(self, forces: Mapping[str, str] | Iterable[str]) -> None:
        """Put force inputs on degrees of freedom: names, or a mapping to input names."""
        named = (
            dict(forces) if isinstance(forces, Mapping) else {d: f"F_{d.replace('.', '_')}" for d in forces}
        )
        for i, (dof, name) in enumerate(named.items()):
            source = Se(name)
            setattr(self, f"force_{i}", source)
            bond(source, self.junction(dof))

    def apply_pattern(self, pattern: Mapping[str, float], name: str) -> None:
        """Put one input on many degrees of freedom: forces in a fixed pattern, such as wind or -M r of the ground.

        Parameters
        ----------
        pattern
            Force per unit of the input, by degree of freedom.
        name
            Name of the input.
        """
        source = Input(name)
        setattr(self, f"{name}_input", source)
        for i, (dof, weight) in enumerate(pattern.items()):
            force = MSe(lambda s, weight=float(weight): weight * s)
            setattr(self, f"{name}_force_{i}", force)
            bond(source, force)
            bond(force, self.junction(dof))


def field_form(
    matrices: Matrices, name: str = "structure", forces: Mapping[str, str] | Iterable[str] = ()
) -> StructureModel:
    """Return the field form: I-, C- and R-fields on the 1-junctions, 2 n states.

    Parameters
    ----------
    matrices
        M, C, K with named degrees of freedom; every one needs mass.
    name
        Name of the model.
    forces
        Degrees of freedom on which a force acts, with input names if wished.
    """
    _check_mass(matrices)
    model = StructureModel(name, matrices.dofs)
    junctions = [model.junction(d) for d in matrices.dofs]
    for attribute, matrix, kind in (
        ("inertia", matrices.M, IField),
        ("stiffness", matrices.K, CField),
        ("damping", matrices.C, RField),
    ):
        rows = np.flatnonzero(np.diff(matrix.indptr)) if kind is not IField else np.arange(len(matrices))
        if not len(rows):
            continue
        field = kind(matrix[rows][:, rows].tocsr())
        setattr(model, attribute, field)
        for port, row in enumerate(rows):
            bond(junctions[row], field[port])
    model.apply_forces(forces)
    return model


def network_form(
    matrices: Matrices, name: str = "structure", forces: Mapping[str, str] | Iterable[str] = ()
) -> StructureModel:
    """Return the network form of da Silva 1994.

    Every degree of freedom i has a spring to ground, k_i = sum of K_ij over j, and every pair that the
    stiffness matrix couples has a spring -K_ij between them; dampers likewise. Coupling springs of beams are
    partly negative: that is right. A pair whose entry is stored but zero (contributions of two elements
    cancel) keeps its spring, as in the paper's figure 8. A mass matrix that is not diagonal is kept as a field.

    Parameters
    ----------
    matrices, name, forces
        As for :func:`field_form`.
    """
    _check_mass(matrices)
    model = StructureModel(name, matrices.dofs)
    junctions = [model.junction(d) for d in matrices.dofs]
    diagonal = matrices.M.diagonal()
    if abs(matrices.M - _diagonal(diagonal)).max() > 1e-12 * diagonal.max():
        model.inertia = IField(matrices.M)
        for i, j in enumerate(junctions):
            bond(j, model.inertia[i])
    else:
        model.inertia = [I(mass=float(m)) for m in diagonal]
        for j, part in zip(junctions, model.inertia, strict=True):
            bond(j, part)
    _network(model, junctions, matrices.K, "spring", lambda v: C(stiffness=v))
    if abs(matrices.C).sum() > 0:
        _network(model, junctions, matrices.C, "damper", lambda v: R(damping=v))
    model.apply_forces(forces)
    return model


def _network(model: StructureModel, junctions: list[One], matrix: Any, word: str, element: Any) -> None:
    ground = np.asarray(matrix.sum(axis=1)).ravel()
    scale = float(abs(matrix).max())
    to_ground = [element(float(v) if abs(v) > 1e-13 * scale else 0.0) for v in ground]
    setattr(model, f"{word}_to_ground", to_ground)
    for j, part in zip(junctions, to_ground, strict=True):
        bond(j, part)
    pairs = matrix.tocoo()
    chosen = sorted(
        (int(i), int(j), float(v)) for i, j, v in zip(*pairs.coords, pairs.data, strict=True) if i < j
    )
    if not chosen:
        return
    between = [element(-v if v else 0.0) for _, _, v in chosen]
    setattr(model, f"{word}_between", between)
    setattr(model, f"{word}_stretch", [Zero() for _ in chosen])
    for (i, j, _), part, stretch in zip(chosen, between, getattr(model, f"{word}_stretch"), strict=True):
        bond(junctions[i], stretch)
        bond(stretch, junctions[j])
        bond(stretch, part)


def _diagonal(values: Any) -> Any:
    from scipy import sparse

    return sparse.diags_array(values, format="csr")


def _check_mass(matrices: Matrices) -> None:
    bare = [d for d, m in zip(matrices.dofs, matrices.M.diagonal(), strict=True) if not m > 0]
    if bare:
        raise InputError(
            f"degrees of freedom without mass: {', '.join(bare[:6])}{' ...' if len(bare) > 6 else ''}; give them mass "
            "(consistent mass, a point mass), hold them, or reduce the structure (guyan) to those with mass"
        )
