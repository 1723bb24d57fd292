"""Equations as values: what an element, a junction or a signal contributes to those of the whole model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from bondloop.bondgraph.elements import one_ports, signals
from bondloop.bondgraph.passes.flat_graph import GY, ONE, SE, TF, ZERO
from bondloop.engine.ir import Expr, Var
from bondloop.engine.passes import from_sympy
from bondloop.errors import InputError, ModelError, SolveError

if TYPE_CHECKING:
    from bondloop.bondgraph.parts import Part
    from bondloop.bondgraph.passes.algebraic_loops import Choice
    from bondloop.bondgraph.passes.causality import CausalGraph
    from bondloop.bondgraph.passes.flat_graph import FlatGraph
    from bondloop.engine.data import Range
    from bondloop.engine.ir import Divisor, Quantity


Made = TypeVar("Made")


class SwitchingPort(NamedTuple):
    """An element that switches, in the equations of one mode.

    Attributes
    ----------
    effort, flow
        Into the element.
    mode, rebound
        Variables that the equations hold constant: its mode, and the flow that a stop imposes.
    terms
        What its rule reads besides.
    """

    effort: Expr
    flow: Expr
    mode: Var
    rebound: Var | None
    terms: tuple[Expr, ...]


class Equations(NamedTuple):
    """What is contributed to the equations of a model.

    Attributes
    ----------
    definitions
        Variables with what is assigned to them.
    states, initial
        States with their rates, and those that do not start at zero.
    parameters
        Parameters, and symbols of the model, with their values.
    inputs
        Inputs with their values where the user gives none, and the path of who takes them.
    rate_goals, dots
        Contents of storages in derivative causality, and states whose rates others need, with these rates.
    holds
        Nodes of storages with one port, and what they hold.
    bent, choices
        Unknowns at which loops are best cut, and laws that have another formula for loops.
    given
        Inputs with the variable that they give directly.
    imposed, sensed, sought
        Of source-sensors: what they impose besides their input, what they sense, and inputs to be found.
    divisors
        Moduli that are divided by.
    memories, quantities
        What laws remember with what it becomes, and what elements of one's own let be read by name.
    held, switching, unstarted
        Of elements that switch: variables that a mode holds constant, their ports, and storages whose
        initial value is not theirs in this mode.
    """

    definitions: tuple[tuple[Var, Expr], ...] = ()
    states: tuple[tuple[Var, Expr], ...] = ()
    initial: tuple[tuple[Var, float], ...] = ()
    parameters: tuple[tuple[Var, float | None], ...] = ()
    inputs: tuple[tuple[Var, float, str], ...] = ()
    rate_goals: tuple[tuple[Var, Var], ...] = ()
    dots: tuple[tuple[Var, Var], ...] = ()
    holds: tuple[tuple[int, Var], ...] = ()
    bent: tuple[Var, ...] = ()
    choices: tuple[Choice, ...] = ()
    given: tuple[tuple[Var, Var], ...] = ()
    imposed: tuple[tuple[str, Expr], ...] = ()
    sensed: tuple[tuple[str, Expr], ...] = ()
    sought: tuple[Var, ...] = ()
    divisors: tuple[Divisor, ...] = ()
    memories: tuple[tuple[Var, Expr], ...] = ()
    quantities: tuple[tuple[str, Expr], ...] = ()
    held: tuple[Var, ...] = ()
    switching: tuple[tuple[Part, SwitchingPort], ...] = ()
    unstarted: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True) if value)
        return f"Equations({', '.join(shown)})"


def joined(parts: Iterable[Equations]) -> Equations:
    """Return all that some equations contribute, in their order."""
    # Most elements leave most columns empty: without these it is twice as fast.
    columns: list[Any] = [
        tuple(chain.from_iterable(filter(None, column))) for column in zip(*parts, strict=True)
    ]
    return Equations(*columns)


class Variables:
    """The variables of a causal graph: a path, a bond or a symbol stands for the same variable everywhere.

    Parameters
    ----------
    graph
        The graph. The variables of its bonds and junctions are made at once, others when first read.

    Attributes
    ----------
    effort, flow
        Of every bond.
    common
        Of every junction, the variable that its bonds share; None for other nodes.
    contents
        What storages hold, as far as it was read, by path.
    symbols
        Symbols of the model that were read, by name.
    """

    def __init__(self, graph: CausalGraph) -> None:
        self.graph, self.flat = graph, graph.flat
        self.common: list[Var | None] = [None] * len(self.flat.kind)
        self.effort: list[Var] = []
        self.flow: list[Var] = []
        self.symbols: dict[str, Var] = {}
        self.contents: dict[str, Var] = {}
        self._signals: dict[Part, Expr] = {}
        self._made: dict[tuple[Callable[..., Any], Part], Any] = {}
        self._name_bonds()

    def gives_effort(self, bond: int, node: int) -> bool:
        """Whether the effort of a bond comes from a node."""
        return (self.graph.to_head[bond] > 0) == (self.flat.tail[bond] == node)

    def sided(self, bond: int, node: int) -> Expr:
        """Return the flow into an element."""
        f = self.flow[bond]
        return f if self.flat.head[bond] == node else -f

    def content(self, path: str) -> Var:
        """Return what a storage holds, by its path: a state, or in derivative causality what is assigned."""
        var = self.contents.get(path)
        if var is None:
            var = self.contents[path] = Var(path)
        return var

    def symbol(self, name: str) -> Var:
        """Return the variable of a symbol of the model."""
        var = self.symbols.get(name)
        if var is None:
            var = self.symbols[name] = Var(name)
        return var

    def signal(self, part: Part) -> Expr:
        """Return the value of a signal part."""
        value = self._signals.get(part)
        if value is None:
            value = self._signals[part] = self._signal(part)
        return value

    def once(self, make: Callable[[Variables, Part], Made], part: Part) -> Made:
        """Return what a function makes of a part; it is called once, so that its variables are the same."""
        key = (make, part)
        if key not in self._made:
            self._made[key] = make(self, part)
        made: Made = self._made[key]
        return made

    def junction(self, node: int) -> Var:
        """Return the variable that the bonds of a junction share; neighbours of the same kind share one."""
        known = self.common[node]
        if known is not None:
            return known
        chain_: dict[int, None] = {}
        flat = self.flat
        while self.common[node] is None:
            chain_[node] = None
            bond = self.graph.strong[node]
            other = flat.tail[bond] if flat.head[bond] == node else flat.head[bond]
            if other in chain_:
                zero = flat.kind[node] == ZERO
                names = ", ".join(f"{flat.path[n]}.{'effort' if zero else 'flow'}" for n in chain_)
                raise SolveError(
                    f"{names} depend on each other alone: these {0 if zero else 1}-junctions are joined in a "
                    "ring, and what circulates in it is undetermined; remove one of the bonds between them"
                )
            if flat.kind[other] != flat.kind[node]:
                word = ".effort" if flat.kind[node] == ZERO else ".flow"
                self.common[node] = Var(flat.path[node] + word)
                break
            node = other
        var = self.common[node]
        assert var is not None
        for n in chain_:
            self.common[n] = var
        return var

    def _name_bonds(self) -> None:
        flat, kinds = self.flat, self.flat.kind
        for t, h in zip(flat.tail, flat.head, strict=True):
            kt, kh = kinds[t], kinds[h]
            if kt == ZERO:
                e = self.junction(t)
            elif kh == ZERO:
                e = self.junction(h)
            else:
                e = Var(self._bond_name(t, h, kt, kh) + ".effort")
            if kt == ONE:
                f = self.junction(t)
            elif kh == ONE:
                f = self.junction(h)
            else:
                f = Var(self._bond_name(t, h, kt, kh) + ".flow")
            self.effort.append(e)
            self.flow.append(f)

    def _bond_name(self, t: int, h: int, kt: int, kh: int) -> str:
        """Name of a variable that belongs to one bond only: that of its element, else of the bond."""
        path = self.flat.path
        if kh >= SE:
            return path[h]
        if kt >= SE:
            return path[t]
        if kh in (TF, GY):
            return path[h] + ".in"
        if kt in (TF, GY):
            return path[t] + ".out"
        return f"{path[t]}>>{path[h]}"

    def _signal(self, part: Part) -> Expr:
        path = self.flat.paths[part]
        if isinstance(part, signals.Input):
            owner = path.rpartition(".")[0]
            return Var(path if part.input_name is None else (f"{owner}." if owner else "") + part.input_name)
        if isinstance(part, (signals.De, signals.Df)):
            source, index, _ = self.flat.signals[part][0]
            return self.junction(self.flat.first[source] + index)
        return Var(f"{path}.value")


class Draft:
    """Equations of one element while they are written: they are its `equations`.

    Parameters
    ----------
    variables
        Those of the graph that it stands in.
    """

    def __init__(self, variables: Variables) -> None:
        self.v = variables
        self.definitions: list[tuple[Var, Expr]] = []
        self.states: list[tuple[Var, Expr]] = []
        self.initial: list[tuple[Var, float]] = []
        self.parameters: list[tuple[Var, float | None]] = []
        self.inputs: list[tuple[Var, float, str]] = []
        self.rate_goals: list[tuple[Var, Var]] = []
        self.dots: list[tuple[Var, Var]] = []
        self.bent: list[Var] = []
        self.divisors: list[Divisor] = []
        self.memories: list[tuple[Var, Expr]] = []
        self.quantities: list[tuple[str, Expr]] = []
        self.unstarted: list[str] = []

    def equations(self) -> Equations:
        """Return what was written."""
        written: dict[str, Any] = {name: tuple(x) for name, x in vars(self).items() if name != "v" and x}
        return Equations(**written)

    def include(self, equations: Equations) -> None:
        """Add what something that this element reads contributes."""
        for name, items in zip(equations._fields, equations, strict=True):
            if items:
                getattr(self, name).extend(items)

    def define(self, target: Expr, expr: Expr) -> None:
        """Let a variable be an expression."""
        assert isinstance(target, Var)
        self.definitions.append((target, expr))

    def parameter(
        self, name: str, value: Any, within: Range | None = None, quantity: Quantity | None = None
    ) -> Expr:
        """Return a coefficient: a parameter where it is a number, else an expression of symbols."""
        if type(value) is float:
            var = Var(name, within, quantity)
            self.parameters.append((var, value))
            return var
        expression = from_sympy(value, self.symbol, name)
        if within is not None and isinstance(expression, Var):  # a symbol alone: it obeys all who use it
            expression.range = within if expression.range is None else expression.range & within
            number = self.v.flat.symbol_values.get(expression.name)
            if number is not None and number not in expression.range:
                raise InputError(f"{name}: expected {expression.range}; found {expression.name} = {number:g}")
        return expression

    def symbol(self, symbol: Any) -> Var:
        """Return the variable of a symbol in a coefficient or a formula."""
        var = self.v.symbol(symbol.name)
        self.parameters.append((var, self.v.flat.symbol_values.get(symbol.name)))
        return var

    def start(self, node: int, state: Var) -> None:
        """Note where a storage starts."""
        self.initial.extend(start_of(self.v, node, state))

    def no_start(self, node: int) -> None:
        """Refuse an initial value of a storage in derivative causality."""
        self.unstarted.extend(refused_start(self.v, node))


def start_of(v: Variables, node: int, state: Var) -> tuple[tuple[Var, float], ...]:
    """Return a state with its initial value, unless it starts at zero."""
    start = v.flat.part[node].start  # type: ignore[attr-defined]
    if start == 0.0:
        return ()
    value = start[v.flat.component[node]] if isinstance(start, list) else start
    return ((state, value),) if value != 0.0 else ()


def refused_start(v: Variables, node: int) -> tuple[str, ...]:
    """Refuse an initial value in derivative causality; return the storage's path where modes may differ."""
    flat = v.flat
    start = flat.part[node].start  # type: ignore[attr-defined]
    if start[flat.component[node]] if isinstance(start, list) else start:
        if any(isinstance(part, one_ports.Switching) for part in flat.first):  # in another mode, perhaps
            return (flat.path[node],)
        raise ModelError(
            f"{flat.path[node]} is in derivative causality: its content follows from other "
            "storages, so it has no initial value of its own; set theirs instead"
        )
    return ()


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
