"""The equations of a causal graph: what every element contributes, collected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bondloop.bondgraph.parts import Part
    from bondloop.bondgraph.passes.causality import CausalGraph
    from bondloop.bondgraph.passes.equations import SwitchingPort, Variables
    from bondloop.bondgraph.passes.flatten import FlatGraph
    from bondloop.program.expr import Expr, Var
    from bondloop.program.system_data import Divisor

__all__ = ["Derivation"]


@dataclass(frozen=True, repr=False)
class Derivation:
    """The equations of a causal graph.

    Attributes
    ----------
    variables
        The variables of the graph, by bond, junction, storage and signal.
    definitions
        The program: each assigned variable with its expression.
    states, initial, inputs, parameters
        Of the system.
    input_names
        Who takes each input, by its name.
    rate_goals, dots, input_rates
        Contents in derivative causality, states and inputs whose rates the program needs, with these rates.
    tears, bent
        Where loops are best cut, and which of these are taken by laws that are not linear.
    given
        Inputs with the variable that they give directly.
    imposed, sensed, sought
        What source-sensors impose besides their input, what they sense, and inputs that are to be found.
    holds
        What storages with one port hold, by node.
    divisors, memories, quantities
        Moduli that are divided by, what laws remember, and what elements let be read by name.
    held, switching_ports, unstarted
        What a mode holds constant, the ports of what switches, and storages that start in other modes only.
    """

    variables: Variables
    definitions: dict[Var, Expr]
    states: dict[Var, Expr]
    initial: dict[Var, float]
    inputs: dict[Var, float]
    input_names: Mapping[str, str]
    parameters: dict[Var, float | None]
    rate_goals: dict[Var, Var]
    dots: dict[Var, Var]
    input_rates: dict[Var, Var]
    tears: list[Var]
    bent: list[Var]
    given: Mapping[Var, Var]
    imposed: Mapping[str, Expr]
    sensed: Mapping[str, Expr]
    sought: list[Var]
    holds: Mapping[int, Var]
    divisors: list[Divisor]
    memories: Mapping[Var, Expr]
    quantities: Mapping[str, Expr]
    held: Mapping[Var, float]
    switching_ports: Mapping[Part, SwitchingPort]
    unstarted: list[str]

    def __repr__(self) -> str:
        return f"<Derivation: {len(self.states)} states, {len(self.definitions)} definitions>"

    def __str__(self) -> str:
        lines = [f"{v.name} = {e}" for v, e in self.definitions.items()]
        return "\n".join([*lines, *(f"d/dt {v.name} = {e}" for v, e in self.states.items())])

    @property
    def graph(self) -> CausalGraph:
        """The causal graph whose equations they are."""
        return self.variables.graph

    @property
    def flat(self) -> FlatGraph:
        """The flat graph."""
        return self.variables.flat

    @cached_property
    def nodes_by_path(self) -> dict[str, int]:
        """Node of every path."""
        return {path: node for node, path in enumerate(self.flat.path)}

    @cached_property
    def signals_by_path(self) -> dict[str, Part]:
        """Signal part of every path."""
        return {self.flat.paths[part]: part for part in self.flat.signals if part.is_signal}

    @cached_property
    def variables_by_name(self) -> dict[str, Var]:
        """Every variable of the program."""
        groups = (self.definitions, self.inputs, self.parameters, self.states)
        return {var.name: var for group in groups for var in group}

    def storage_of(self, state: Var) -> int | None:
        """Return the node of the storage that a state belongs to."""
        word = state.name.removesuffix(".state").rpartition(".")[0]
        return self.nodes_by_path.get(word)
