"""The way of a model: flatten, assign causality, derive the equations of one mode or of all."""

from __future__ import annotations

import gc
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.bondgraph.elements.one_ports import Switching as Element
from bondloop.bondgraph.passes.algebraic_loops import bound_states, has_rings, independent
from bondloop.bondgraph.passes.all_modes import RULES, AllModes
from bondloop.bondgraph.passes.causality import assign
from bondloop.bondgraph.passes.derivation import derive_equations, system_of
from bondloop.bondgraph.passes.flat_graph import SE, SF, SS, C, FlatGraph, I, flatten
from bondloop.engine import System
from bondloop.engine.ir import Const, Expr, HeldMode, Interface, Program, Var, loops
from bondloop.engine.passes import folded
from bondloop.errors import CausalityError, InputError, ModelError, SolveError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bondloop.bondgraph.graph import Graph
    from bondloop.bondgraph.passes.derivation import Outputs
    from bondloop.bondgraph.passes.equations import Derivation, SwitchingPort
    from bondloop.engine.ir import Bits, Rule


def _elements(flat: FlatGraph) -> list[Element]:
    return [part for part in flat.first if isinstance(part, Element)]


def _in_mode(flat: FlatGraph, bits: Bits) -> FlatGraph:
    """Return the graph with a source in place of every element that switches."""
    kind = list(flat.kind)
    for part, bit in zip(_elements(flat), bits, strict=True):
        kind[flat.first[part]] = SE if bit else SF
    return replace(flat, kind=kind)


def derive_modes(
    flat: FlatGraph,
    modes: Mapping[str, int | str] | None,
    outputs: Outputs,
    iterations: int | None,
) -> System:
    """Return the equations of a model that switches: in some modes, or in all of them as one system."""
    if modes is not None:
        return _mode_system(flat, modes, outputs, iterations)
    return _switching_system(flat, outputs, iterations)


def _mode_system(
    flat: FlatGraph,
    modes: Mapping[str, int | str],
    outputs: Outputs,
    iterations: int | None,
) -> System:
    """Return the equations in one mode, as an ordinary system.

    Parameters
    ----------
    flat
        What to derive.
    modes
        The mode of every element that switches, by path.
    outputs, iterations
        As for `Model.compile`.
    """
    elements = _elements(flat)
    paths = [flat.paths[part] for part in elements]
    for path in modes:
        if path not in paths:
            raise InputError(unknown_name("element that switches", path, paths, where=flat.title or ""))
    missing = [
        f"{p} ({', '.join(e.words.values())})" for p, e in zip(paths, elements, strict=True) if p not in modes
    ]
    if missing:
        raise InputError(
            f"modes: expected the mode of every element that switches; missing {'; '.join(missing)}"
        )
    numbers = [part.mode_number(modes[path]) for path, part in zip(paths, elements, strict=True)]
    graph = _in_mode(flat, tuple(int(n != 0) for n in numbers))
    d = _derived(graph)
    values: dict[Var, Expr] = {v: Const(0.0) for v in d.held}
    values.update({d.switching_ports[e].mode: Const(n) for e, n in zip(elements, numbers, strict=True)})
    d = replace(d, definitions={v: folded(e, values) for v, e in d.definitions.items()})
    held_modes = [
        HeldMode(_rule(part, path, d.switching_ports[part], values), number)
        for part, path, number in zip(elements, paths, numbers, strict=True)
    ]
    return system_of(d, outputs, iterations, held_modes)


def _rule(part: Element, path: str, port: SwitchingPort, values: Mapping[Var, Expr]) -> Rule:
    """Return the rule of an element in one mode, without impulses."""
    return RULES[type(part)](
        path=path,
        words=part.words,
        mode=port.mode,
        effort=folded(port.effort, values),
        flow=folded(port.flow, values),
        effort_impulse=Const(0.0),
        flow_impulse=Const(0.0),
        terms=tuple(folded(term, values) for term in port.terms),
    )


def _switching_system(flat: FlatGraph, outputs: Outputs, iterations: int | None, most: int = 10) -> System:
    """Return the equations in all modes as one system that switches; the modes are two to the elements."""
    elements = _elements(flat)
    if len(elements) > most:
        raise ModelError(
            f"{flat.title or 'the model'} has {len(elements)} elements that switch, so 2^{len(elements)} "
            f"modes; at most {most} are possible: divide the model, or take laws (R, C) for some of them"
        )
    derivations: dict[Bits, Derivation] = {}
    refused: dict[Bits, str] = {}
    failures: dict[Bits, ModelError] = {}
    start = tuple(int(e.start_mode != 0) for e in elements)
    # The mode in which it starts first: what source-sensors impose there, they impose in all.
    for bits in sorted(itertools.product((0, 1), repeat=len(elements)), key=lambda b: _apart(b, start)):
        graph = _in_mode(flat, bits)
        try:
            d = _derived(graph)
        except (CausalityError, SolveError) as error:
            refused[bits] = str(error)
        except ModelError as error:
            # A law that cannot be turned the way in which this mode asks for it.
            refused[bits], failures[bits] = str(error), error
        else:
            if d.imposed or d.sought:
                raise ModelError(
                    f"{', '.join([*d.imposed, *(v.name for v in d.sought)])}: an inverse can be had of one "
                    "mode only; compile the model with modes={...}"
                )
            if not derivations:
                flat = _with_strokes(flat, d)
            derivations[bits] = d
    if not derivations and start in failures:
        raise failures[start]
    if not derivations:
        raise CausalityError(
            f"{flat.title or 'the model'} has no causality in any mode; as it starts: {refused[start]}"
        )
    return AllModes(elements, derivations, refused).system(outputs, iterations)


def _apart(a: Bits, b: Bits) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True))


def _with_strokes(flat: FlatGraph, d: Derivation) -> FlatGraph:
    """Return the graph with the strokes of source-sensors imposed: their inputs are those of every mode."""
    stroke = list(flat.stroke)
    for node, kind in enumerate(flat.kind):
        if kind == SS:
            bond = flat.incident[node][0]
            stroke[bond] = "head" if d.graph.to_head[bond] > 0 else "tail"
    return replace(flat, stroke=stroke)


def _derived(graph: FlatGraph) -> Derivation:
    """Return the equations of one mode; storages that others bind by numbers follow them.

    Raises an error where the linear loops have no unique solution: sources at odds through others.
    """
    followers: list[int] = []
    causality = assign(graph)
    while True:
        d = derive_equations(causality)
        system = _plain_system(d)
        try:
            known = _solved(d, system)
        except SolveError:
            node = _bound(d, system, followers)
            if node is None:
                raise
        else:
            node = None if known else _bound(d, system, followers)
            if node is None:
                return d
        followers.append(node)
        causality = assign(graph, followers)


def _solved(d: Derivation, system: System) -> bool:
    """Solve the linear loops of a mode; return whether all that can be known of them is known then."""
    torn = loops(system.schedule(list(system.definitions)))
    if torn and not (system.is_linear and None not in d.parameters.values()):
        return False
    nothing = [[0.0] * len(group) for group in (d.states, d.inputs, d.input_rates)]
    system.function([tear for loop in torn for tear in loop.tears])(*nothing, list(d.parameters.values()))
    return True


def _bound(d: Derivation, system: System, followers: list[int]) -> int | None:
    """Return the storage that is to follow next, where one is bound by others; else None."""
    if d.imposed or d.sought or not has_rings(d.graph):
        return None
    nodes = [n for n in map(d.storage_of, bound_states(system)) if n is not None]
    storages = [n for n in nodes if d.flat.kind[n] in (C, I) and n not in d.graph.derivative]
    return next((n for n in storages if n not in followers), None)


def _plain_system(d: Derivation) -> System:
    """Return what is derived as a system, with all that a mode holds at zero."""
    values: dict[Var, Expr] = {v: Const(0.0) for v in d.held}
    return System(
        "mode",
        Interface(d.states, list(d.inputs), parameters=d.parameters),
        Program(
            {v: folded(e, values) for v, e in d.definitions.items()},
            d.tears,
            dots=d.dots,
            input_rates=d.input_rates,
        ),
    )


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
        if modes is not None or any(issubclass(kind, Element) for kind in set(map(type, flat.first))):
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
