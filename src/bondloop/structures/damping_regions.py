"""Rayleigh damping of parts of a structure: of some elements, or of all but some."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from bondloop.program.described import Described, Parameter
from bondloop.structures.assembly import element_blocks, summed
from bondloop.structures.element_loads import chosen

if TYPE_CHECKING:
    from bondloop.structures.assembly import Assembly
    from bondloop.structures.matrices import Sparse
    from bondloop.structures.structure import Structure

__all__ = ["RayleighRegion", "region_sum", "with_regions"]


@dataclass(frozen=True)
class RayleighRegion(Described, family="rayleigh-region", alone=True):
    """Damping of some elements in proportion to their masses and stiffnesses, C = Σ (α M_e + β K_e).

    Parameters
    ----------
    elements
        Names of elements, or names that several share; none for all.
    alpha, beta
        In 1/s and s.
    without
        Elements that are left out: isolators, dampers, whose damping is their own.

    Examples
    --------
    >>> RayleighRegion(("column",), 0.1, 0.002).describe()["elements"]
    ['column']
    """

    elements: tuple[str, ...]
    alpha: Parameter = Parameter(unit="1/s")
    beta: Parameter = Parameter(unit="s")
    without: tuple[str, ...] = ()


def region_sum(
    structure: Structure, regions: list[RayleighRegion], assembly: Assembly, part: Literal["M", "lumped", "K"]
) -> Sparse:
    """Return Σ β K_e, or Σ α M_e, over the elements of regions, of all degrees of freedom, shape (n, n).

    Parameters
    ----------
    structure
        The structure.
    regions
        They add up.
    assembly
        Its degrees of freedom.
    part
        Which matrices of the elements.
    """
    groups = element_blocks(structure)
    number = np.full(6 * len(structure.nodes), -1)
    number[assembly.codes] = np.arange(len(assembly.codes))
    total: Sparse = 0 * assembly.C
    for region in regions:
        coefficient = region.beta if part == "K" else region.alpha
        if not coefficient:
            continue
        names = set(chosen(structure, region.elements)) if region.elements else set(structure.elements)
        names -= set(chosen(structure, region.without))
        kept = []
        for members, codes, blocks in groups:
            which = np.array([name in names for name in members])
            if which.any():
                some = type(blocks)(*(block[which] for block in blocks))
                kept.append(([n for n in members if n in names], codes[which], some))
        total = total + coefficient * summed(kept, part, number, len(assembly.codes))
    return total


def with_regions(structure: Structure, regions: list[RayleighRegion], assembly: Assembly) -> Assembly:
    """Return an assembly whose elements are damped by βK of their regions, as by a ``beta=`` of their own.

    Parameters
    ----------
    structure, regions, assembly
        As for `region_sum`.
    """
    if not regions:
        return assembly
    return replace(assembly, C=assembly.C + region_sum(structure, regions, assembly, "K"))
