"""From a bond graph with its causality assigned to a program of named assignments.

Every bond has an effort and a flow. At a 0-junction all bonds share one effort variable, at a 1-junction one
flow variable, so each junction contributes a single sum and each element a single law: the list of
assignments is as short as the graph.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph import elements as el
from bondloop.bondgraph.elements import linear
from bondloop.bondgraph.passes.bicausal import turned_round
from bondloop.bondgraph.passes.bound_storages import cancelled
from bondloop.bondgraph.passes.flatten import (
    GY,
    MATRIX,
    ONE,
    SE,
    SF,
    SS,
    TF,
    ZERO,
    C,
    Flat,
    I,
    R,
    floating,
)
from bondloop.bondgraph.passes.lookup import Outputs, variable_at, wanted
from bondloop.bondgraph.passes.loop_laws import Choice, use_total_laws
from bondloop.bondgraph.passes.measures import by_path, measure, of_parameter
from bondloop.bondgraph.passes.modulation import inverted, modulated, signal_value
from bondloop.bondgraph.passes.relation_laws import relation_ports
from bondloop.bondgraph.passes.storage_laws import compliance, inertia, resistor
from bondloop.bondgraph.passes.switching_ports import SwitchingPort, switching_port
from bondloop.bondgraph.passes.two_port_laws import heat_flow, matrix_port, two_port
from bondloop.errors import InputError, ModelError, SolveError
from bondloop.program.expr import Const, Expr, Op, Var
from bondloop.program.sympy_bridge import from_sympy
from bondloop.program.system import System
from bondloop.program.system_data import Annotations, Interface, Program, Storage, SwitchedModes
from bondloop.program.time_derivative import add_rates
from bondloop.program.tolerances import NEWTON_ITERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bondloop.bondgraph.graph import Graph
    from bondloop.bondgraph.parts import Part
    from bondloop.bondgraph.passes.causality import Causality
    from bondloop.data.ranges import Range
    from bondloop.program.quantity import Quantity
    from bondloop.program.switching_rules import HeldMode
    from bondloop.program.system_data import Divisor

__all__ = ["Derivation"]


class Derivation:
    """The equations of a flat graph with its causality, as they are collected."""

    def __init__(self, model: Graph, flat: Flat, causality: Causality) -> None:
        self.model, self.flat, self.causality = model, flat, causality
        self.definitions: dict[Var, Expr] = {}
        self.states: dict[Var, Expr] = {}
        self.initial: dict[Var, float] = {}
        self.inputs: dict[Var, float] = {}
        self.parameters: dict[Var, float | None] = {}
        self.sensed: dict[str, Expr] = {}
        self.given: dict[Var, Var] = {}  # inputs, with what they give directly
        self.imposed: dict[str, Expr] = {}  # what source-sensors impose besides their input
        self.sought: list[Var] = []  # inputs of source-sensors that impose neither
        self.rate_goals: dict[Var, Var] = {}
        self.dots: dict[Var, Var] = {}
        self.symbols: dict[str, Var] = {}
        self.symbol_values = flat.symbol_values
        self.common: list[Var | None] = [None] * len(flat.kind)
        self.effort: list[Expr] = []
        self.flow: list[Expr] = []
        self.signal_values: dict[Part, Expr] = {}
        self.entries: dict[Part, list[list[tuple[int, Expr]]]] = {}
        self.quantities: dict[str, Expr] = {}  # what elements of one's own let be read by name
        self.products: dict[Part, bool] = {}  # which fields were written down as products, all ports at once
        self.tears: list[Var] = []
        self.contents: dict[str, Var] = {}
        self.holds: dict[int, Var] = {}  # the same of one-ports, by node
        self.bent: list[Var] = []  # what laws that are not linear take: a loop is best guessed there
        self.choices: list[Choice] = []
        self.divisors: list[Divisor] = []
        self.input_names: dict[str, str] = {}
        self.input_rates: dict[Var, Var] = {}
        self.memories: dict[Var, Expr] = {}  # what laws remember, with what it becomes in the next step
        self.held: dict[Var, float] = {}  # modes of elements that switch: constant as long as they last
        self.switching_ports: dict[Part, SwitchingPort] = {}
        self.unstarted: list[str] = []  # storages with an initial value that is not theirs in this mode

    @cached_property
    def nodes_by_path(self) -> dict[str, int]:
        """Node of every path."""
        return {path: node for node, path in enumerate(self.flat.path)}

    def storage_of(self, state: Var) -> int | None:
        """Return the node of the storage that a state belongs to."""
        word = state.name.removesuffix(".state").rpartition(".")[0]
        return self.nodes_by_path.get(word)

    @cached_property
    def signals_by_path(self) -> dict[str, Part]:
        """Signal part of every path."""
        return {self.flat.paths[part]: part for part in self.flat.signals if part.is_signal}

    @cached_property
    def variables_by_name(self) -> dict[str, Var]:
        """Every variable of the finished program."""
        groups = (self.definitions, self.inputs, self.parameters, self.states)
        return {var.name: var for group in groups for var in group}

    # ---------------------------------------------------------------- the whole

    def system(self, outputs: Outputs, iterations: int | None) -> System:
        """Write the equations down and return them as a system."""
        self.write()
        return self.read(outputs, iterations)

    def write(self) -> None:
        """Write down the equations of all junctions and elements."""
        flat = self.flat
        self._bond_variables()
        for node, kind in enumerate(flat.kind):
            if kind <= ONE:
                self._junction(node, kind)
        for node, kind in enumerate(flat.kind):
            if kind > ONE and flat.part[node].relations is None:
                _LAWS[kind](self, node)
        for multiport in flat.multiports:
            if multiport.relations is not None:
                relation_ports(self, multiport)
        for node in self.causality.arbitrary:
            bond = flat.incident[node][0]
            out = self.effort[bond] if self._gives_effort(bond, node) else self.flow[bond]
            if isinstance(out, Var):
                self.tears.append(out)
        for part in flat.signals:
            if part.is_signal:
                signal_value(self, part)
        self.bent[:0] = use_total_laws(self.choices, self.definitions, self.parameters)
        if self.rate_goals:
            constant = {**self.parameters, **self.held}
            more, self.input_rates = add_rates(
                self.rate_goals,
                self.definitions,
                self.states,
                self.inputs,
                constant,
                self.dots,
                lambda: cancelled(self),
            )
            self.dots = {**self.dots, **more}
        self.tears = [*self.rate_goals.values(), *self.dots.values(), *self.bent, *self.tears]
        measure(self)
        self._check_names()

    def read(self, outputs: Outputs, iterations: int | None, held_modes: Sequence[HeldMode] = ()) -> System:
        """Return what is written as a system."""
        flat = self.flat
        system = System(
            self.model._name or "model",
            Interface(
                self.states,
                list(self.inputs),
                wanted(self, outputs),
                self.parameters,
                input_defaults=self.inputs,
                quantities=by_path(self),
            ),
            Program(
                self.definitions,
                self.tears,
                NEWTON_ITERATIONS if iterations is None else iterations,
                self.dots,
                self.input_rates,
            ),
            Storage(self.initial, self.memories),
            SwitchedModes(held=held_modes),
            Annotations(
                [flat.path[n] for n in self.causality.derivative if not self._is_state(n)],
                self._remarks(),
                self.divisors,
                lambda path: variable_at(self, path),
            ),
        )
        return turned_round(self, system) if self.imposed or self.sought else system

    def _is_state(self, node: int) -> bool:
        """Whether the content of a storage is a state all the same."""
        return any(v.name.startswith(self.flat.path[node] + ".") for v in self.states)

    def _remarks(self) -> list[str]:
        remarks = [f"port {path} is left open: a free end, no effort acts there" for path in self.flat.free]
        remarks += [
            f"{', '.join(paths)} {'have' if len(paths) > 1 else 'has'} no reference: join one to ground"
            for paths in floating(self.flat)
        ]
        missing = [v.name for v, value in self.parameters.items() if value is None]
        unused = [name for name in self.symbol_values if name not in self.symbols]
        if missing and unused:
            remarks.append(
                f"let() gives values to {', '.join(unused)}, which no coefficient uses; "
                f"without a value: {', '.join(missing)}"
            )
        return remarks

    def _check_names(self) -> None:
        """Names that the user chooses (of inputs and symbols) must not stand for two things."""
        chosen = {*self.symbols, *(var.name for var in self.inputs)}
        taken = {
            v.name: group[v] for group in (self.states, self.definitions) for v in group if v.name in chosen
        }
        for name in self.symbols:
            if name in self.input_names:
                raise ModelError(
                    f"the name '{name}' is used twice, for the input of {self.input_names[name]} and for a "
                    "symbol in a coefficient; rename one of them"
                )
            if name in taken:
                raise ModelError(f"the symbol '{name}' has the name of a variable of the model; rename it")
        for var in self.inputs:
            if taken.get(var.name, var) is not var:
                raise ModelError(f"the input '{var.name}' has the name of a variable of the model; rename it")

    # ---------------------------------------------------------------- variables

    def content(self, path: str) -> Var:
        """Return what a storage holds, by its path: a state, or in derivative causality what is assigned."""
        var = self.contents.get(path)
        if var is None:
            var = self.contents[path] = Var(path)
        return var

    def _gives_effort(self, bond: int, node: int) -> bool:
        return (self.causality.to_head[bond] > 0) == (self.flat.tail[bond] == node)

    def _common(self, node: int) -> Var:
        """Return the shared variable of a junction; neighbours of the same kind share one."""
        known = self.common[node]
        if known is not None:
            return known
        chain: dict[int, None] = {}
        flat = self.flat
        while self.common[node] is None:
            chain[node] = None
            bond = self.causality.strong[node]
            other = flat.tail[bond] if flat.head[bond] == node else flat.head[bond]
            if other in chain:
                zero = flat.kind[node] == ZERO
                names = ", ".join(f"{flat.path[n]}.{'effort' if zero else 'flow'}" for n in chain)
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
        for n in chain:
            self.common[n] = var
        return var

    def _bond_variables(self) -> None:
        flat, kinds = self.flat, self.flat.kind
        for t, h in zip(flat.tail, flat.head, strict=True):
            kt, kh = kinds[t], kinds[h]
            if kt == ZERO:
                e: Expr = self._common(t)
            elif kh == ZERO:
                e = self._common(h)
            else:
                e = Var(self._bond_name(t, h, kt, kh) + ".effort")
            if kt == ONE:
                f: Expr = self._common(t)
            elif kh == ONE:
                f = self._common(h)
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

    def _parameter(
        self, name: str, value: Any, within: Range | None = None, quantity: Quantity | None = None
    ) -> Expr:
        if type(value) is float:
            var = Var(name, within, quantity)
            self.parameters[var] = value
            return var
        expression = from_sympy(value, self._symbol, name)
        if within is not None and isinstance(expression, Var):  # a symbol alone: it obeys all who use it
            expression.range = within if expression.range is None else expression.range & within
            self._check_symbol(expression, name)
        return expression

    def _check_symbol(self, symbol: Var, name: str) -> None:
        value = self.parameters[symbol]
        if value is not None and symbol.range is not None and value not in symbol.range:
            raise InputError(f"{name}: expected {symbol.range}; found {symbol.name} = {value:g}")

    def _symbol(self, symbol: Any) -> Expr:
        name = symbol.name
        var = self.symbols.get(name)
        if var is None:
            var = self.symbols[name] = Var(name)
            self.parameters[var] = self.symbol_values.get(name)
        return var

    def _input(self, name: str, path: str, default: float = 0.0) -> Var:
        if name in self.input_names:
            raise ModelError(
                f"the input name '{name}' is used twice, by {self.input_names[name]} and {path}; "
                "give the sources different names, or bond both places to one source"
            )
        self.input_names[name] = path
        var = Var(name)
        self.inputs[var] = default
        return var

    # ---------------------------------------------------------------- junctions

    def _junction(self, node: int, kind: int) -> None:
        flat = self.flat
        strong = self.causality.strong[node]
        variables = self.flow if kind == ZERO else self.effort
        strong_in = flat.head[strong] == node
        terms: list[Expr] = []
        heads = flat.head
        for b in flat.incident[node]:
            if b != strong:
                v = variables[b]
                terms.append(Op("neg", (v,)) if (heads[b] == node) == strong_in else v)
        target = variables[strong]
        assert isinstance(target, Var)
        if not terms:
            self._define(target, Const(0.0))
        elif len(terms) == 1:
            self._define(target, terms[0])
        else:
            if type(terms[0]) is Op:  # a readable sum starts with a positive term
                terms.sort(key=lambda term: type(term) is Op)
            self._define(target, Op("add", tuple(terms)))

    def _define(self, target: Expr, expr: Expr) -> None:
        assert isinstance(target, Var)
        if target in self.definitions:
            raise ModelError(f"internal: {target.name} is defined twice")
        self.definitions[target] = expr

    # ---------------------------------------------------------------- one-ports

    def _source(self, node: int) -> None:
        flat, part = self.flat, self.flat.part[node]
        if isinstance(part, el.Switching):
            switching_port(self, node)
            return
        bond = flat.incident[node][0]
        target = self.effort[bond] if flat.kind[node] == SE else self.flow[bond]
        if isinstance(part, el.RS):
            self._define(target, heat_flow(self, part, bond))
            return
        if isinstance(part, (el.MSe, el.MSf)):
            self._define(target, modulated(self, part, part.modulation))
            return
        assert isinstance(part, el.Source)
        if part.value is not None and not isinstance(part.value, float):  # symbols: a constant of the model
            self._define(target, self._parameter(f"{flat.path[node]}.{part.word}", part.value))
            return
        if part.value == 0.0 and part.input_name is None:
            self._define(target, Const(0.0))
            return
        if part.input_name is None:
            name = flat.path[node]
        else:
            owner = flat.paths[part].rpartition(".")[0]
            suffix = flat.path[node][len(flat.paths[part]) :]
            name = (f"{owner}." if owner else "") + part.input_name + suffix
        default = part.value if part.value is not None else 0.0
        assert isinstance(target, Var)
        source = self._input(name, flat.path[node], default)
        self.given[source] = target
        self._define(target, source)

    def _source_sensor(self, node: int) -> None:
        flat = self.flat
        bond, path = flat.incident[node][0], flat.path[node]
        gives = self._gives_effort(bond, node)
        target, sensed = (
            (self.effort[bond], self.flow[bond]) if gives else (self.flow[bond], self.effort[bond])
        )
        name = f"{path}.{'effort' if gives else 'flow'}"
        assert isinstance(target, Var)
        if target.name == name:  # a variable of this bond alone is the input itself
            self.input_names[name] = path
            self.inputs[target] = 0.0
            source = target
        else:
            source = self._input(name, path)
            self.given[source] = target
            self._define(target, source)
        other = f"{path}.{'flow' if gives else 'effort'}"
        imposes = flat.part[node].imposes  # type: ignore[attr-defined]
        if imposes == "both":
            self.imposed[other] = sensed
            return
        if imposes == "neither":
            self.sought.append(source)
            self.sensed[name] = target
        self.sensed[other] = sensed

    def _sided(self, bond: int, node: int) -> Expr:
        """Flow into an element."""
        f = self.flow[bond]
        return f if self.flat.head[bond] == node else -f

    def _law(self, node: int) -> tuple[Callable[[Expr], Expr], Callable[[Expr, Var], Expr]]:
        """Return the law of a one-port and its inverse, as functions of expressions."""
        flat, part, path = self.flat, self.flat.part[node], self.flat.path[node]
        if isinstance(part, el.OnePort) and part.coefficient is not None:  # nearly all of a large model
            name, value, form = part.coefficient
            if isinstance(value, list):
                value = value[flat.component[node]]
            domain, within = flat.domain[flat.incident[node][0]], part.range_of(name)
            k = self._parameter(f"{path}.{name}", value, within, of_parameter(name, domain))
            inverse = "div" if form == "mul" else "mul"
            return lambda x: linear(form, k, x), lambda y, _: linear(inverse, k, y)
        if isinstance(part, el.MR):
            factor = modulated(self, part, part.modulation)
            if part.form == "mul":
                return lambda x: factor * x, lambda y, _: y / factor
            return lambda x: x / factor, lambda y, _: factor * y
        if isinstance(part, el.MC):
            return lambda x: modulated(self, part, part.modulation, x), inverted(self, part)
        assert isinstance(part, el.OnePort)
        law = part.law
        assert law is not None
        bond = flat.incident[node][0]
        domain = flat.domain[bond]
        parameters = {
            n: self._parameter(
                f"{path}.{n}", v, r := part.range_of(n), of_parameter(n, None, r, moved=domain)
            )
            for n, v in law.parameters.items()
        }
        bound = law.bound(path, parameters, self._symbol)
        # What the law is solved for where only its inverse is given; an inertia's law gives the flow.
        target = self.effort[bond] if flat.kind[node] != I and self._gives_effort(bond, node) else None
        unknown = target if isinstance(target, Var) else None
        return lambda x: bound.forward(x, unknown), bound.backward

    def _start(self, node: int, state: Var) -> None:
        start = self.flat.part[node].start  # type: ignore[attr-defined]
        value = start[self.flat.component[node]] if isinstance(start, list) else start
        if value != 0.0:
            self.initial[state] = value

    def _no_start(self, node: int) -> None:
        start = self.flat.part[node].start  # type: ignore[attr-defined]
        if start[self.flat.component[node]] if isinstance(start, list) else start:
            if any(isinstance(part, el.Switching) for part in self.flat.first):  # in another mode, perhaps
                self.unstarted.append(self.flat.path[node])
                return
            raise ModelError(
                f"{self.flat.path[node]} is in derivative causality: its content follows from other "
                "storages, so it has no initial value of its own; set theirs instead"
            )


_LAWS: dict[int, Callable[[Derivation, int], None]] = {
    TF: two_port,
    GY: two_port,
    SE: Derivation._source,
    SF: Derivation._source,
    SS: Derivation._source_sensor,
    I: inertia,
    C: compliance,
    R: resistor,
    MATRIX: matrix_port,
}
