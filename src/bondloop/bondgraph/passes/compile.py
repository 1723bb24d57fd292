"""The way of a model: flatten, assign causality, derive the equations of one mode or of all."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from bondloop.bondgraph.elements.switching import Switching
from bondloop.bondgraph.passes.bound_storages import has_rings, independent
from bondloop.bondgraph.passes.causality import assign
from bondloop.bondgraph.passes.derivation import derive_equations, system_of
from bondloop.bondgraph.passes.flat_graph import flatten
from bondloop.bondgraph.passes.modes import derive_modes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bondloop.bondgraph.graph import Graph
    from bondloop.bondgraph.passes.equations import Derivation
    from bondloop.bondgraph.passes.lookup import Outputs
    from bondloop.engine import System


def compiled(
    model: Graph,
    outputs: Outputs,
    iterations: int | None,
    modes: Mapping[str, int | str] | None = None,
) -> System:
    """Flatten, assign causality, and write down the equations."""
    # A large model makes hundreds of thousands of small objects, none of them garbage: letting the collector
    # look through them again and again costs a third of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        flat = flatten(model)
        if modes is not None or any(isinstance(part, Switching) for part in flat.first):
            return derive_modes(flat, modes, outputs, iterations)

        def derived(followers: Sequence[int] = ()) -> tuple[Derivation, System]:
            equations = derive_equations(assign(flat, followers))
            return equations, system_of(equations, outputs, iterations)

        first = equations, system = derived()
        if equations.imposed or equations.sought or not has_rings(equations.graph):
            return system
        return independent(first, derived)
    finally:
        if collecting:
            gc.enable()
