"""Equations of elements whose ports are described by relations: solved for what the causality asks for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph.inverse import inverse_of
from bondloop.bondgraph.modulation import source_value
from bondloop.bondgraph.multiport import Multiport
from bondloop.bondgraph.relations import BENT, EXPLICIT, LINEAR, Relations, Solution
from bondloop.errors import CausalityError, ModelError
from bondloop.program.expr import Const, Expr, Op, Var, evaluate
from bondloop.program.sympy_bridge import from_sympy

if TYPE_CHECKING:
    from bondloop.bondgraph.derive import Derivation
    from bondloop.bondgraph.parts import Part

__all__ = ["relation_ports"]


def relation_ports(d: Derivation, part: Part) -> None:
    """Write down the equations of all ports of one element."""
    assert isinstance(part, Multiport)
    _Ports(d, part).write()


class _Ports:
    """One element in one causality."""

    def __init__(self, d: Derivation, part: Multiport) -> None:
        assert part.relations is not None
        self.d, self.part, self.path = d, part, d.flat.paths[part]
        self.relations: Relations = part.relations
        first = d.flat.first[part]
        self.nodes = [first + i for i in range(len(self.relations.ports))]
        self.bonds = [d.flat.incident[node][0] for node in self.nodes]
        gives = [d._gives_effort(bond, node) for bond, node in zip(self.bonds, self.nodes, strict=True)]
        self.solution = self._solution(gives)
        self.table = self._variables()

    def _solution(self, gives: list[bool]) -> Solution:
        solution = self.relations.solution(gives)
        if solution is None:
            wanted = ", ".join(u.name for u in self.relations.unknowns(gives))
            raise CausalityError(
                f"the equations of {self.path} ({self.part.symbol}) cannot be solved for {wanted}, which it "
                "has to give here; change what it is bonded to, or write equations that hold these variables"
            )
        return solution

    def _variables(self) -> dict[Any, Expr]:
        """Return what stands for each symbol of the relations."""
        d, part, relations = self.d, self.part, self.relations
        table: dict[Any, Expr] = {}
        for port, stored, node, bond in zip(
            relations.ports, relations.stored, self.nodes, self.bonds, strict=True
        ):
            table[port.effort], table[port.flow] = d.effort[bond], d._sided(bond, node)
            for symbol in stored:
                word = "displacement" if symbol == port.displacement else "momentum"
                table[symbol] = d.content(f"{d.flat.path[node]}.{word}")
        for state in relations.states:
            table[state.value] = Var(f"{self.path}.{state.name}")
        for name, symbol in part.parameter_symbols.items():
            table[symbol] = d._parameter(f"{self.path}.{name}", part.parameters[name], part.ranges.get(name))
        sources = d.flat.signals.get(part, [])
        if len(sources) != len(part.input_symbols):
            raise ModelError(
                f"{self.path} ({part.symbol}) takes {len(part.input_symbols)} signals "
                f"({', '.join(type(part).inputs)}); found {len(sources)}"
            )
        for symbol, signal in zip(part.input_symbols, sources, strict=True):
            table[symbol] = source_value(d, *signal)
        return table

    def read(self, formula: Any) -> Expr:
        """Return a formula of the relations as an expression of the program."""

        def variable(symbol: Any) -> Expr:
            known = self.table.get(symbol)
            return self.d._symbol(symbol) if known is None else known

        return from_sympy(formula, variable, self.path)

    # ---------------------------------------------------------------- assignments

    def write(self) -> None:
        d, relations = self.d, self.relations
        for unknown, equation in self.solution.equations.items():
            self._give(unknown, equation)
        for i, (port, stored) in enumerate(zip(relations.ports, relations.stored, strict=True)):
            for symbol in stored:
                var = self.table[symbol]
                assert isinstance(var, Var)
                rate = port.flow if symbol == port.displacement else port.effort
                if self.solution.dependent.get(i) == symbol:
                    d.rate_goals[var] = Var(f"d/dt {var.name}")
                    self._define(rate, d.rate_goals[var])
                else:
                    self._state(symbol, self.table[rate])
        for state in relations.states:
            self._state(state.value, self.read(relations.rates[state.name]))
        for name, formula in relations.quantities.items():
            d.quantities[f"{self.path}.{name}"] = self.read(formula)

    def _state(self, symbol: Any, rate: Expr) -> None:
        var = self.table[symbol]
        assert isinstance(var, Var)
        self.d.states[var] = rate
        start = self.part.starts.get(symbol, 0.0)
        if start:
            self.d.initial[var] = start

    def _define(self, symbol: Any, value: Expr) -> None:
        """Let a variable be an expression; the flow of an arrow drawn out of the element changes sign."""
        target = self.table[symbol]
        if isinstance(target, Op):
            assert target.name == "neg"
            target, value = target.args[0], -value
        self.d._define(target, value)

    def _give(self, unknown: Any, equation: int) -> None:
        relations = self.relations
        way = relations.way(equation, unknown)
        left, right = relations.left[equation], relations.right[equation]
        self._mark_bent(left - right)
        start = self.part.starts.get(unknown, 0.0)
        formula = None
        if way == EXPLICIT:
            formula = right
        elif way == LINEAR:
            formula = relations.divided(equation, unknown)
        elif way == BENT:
            formula = self._inverse(left, right, unknown)
        if formula is None:
            self._iterate(
                unknown, self.read(left) - self.read(right), relations.slope(equation, unknown), start
            )
            return
        if start:
            raise ModelError(
                f"{self.path}: {unknown.name} is in derivative causality: it follows from other storages, so "
                "it has no initial value of its own; set theirs instead"
            )
        self._define(unknown, self.read(formula))

    def _inverse(self, left: Any, right: Any, unknown: Any) -> Any:
        """Return the closed inverse of an equation in which the unknown stands with parameters only."""
        without, with_it = (left - right).as_independent(unknown, as_Add=True)
        if (with_it.free_symbols - {unknown}) - set(self.part.parameter_symbols.values()):
            return None
        import sympy as sp

        values = {s: self.part.parameters[name] for name, s in self.part.parameter_symbols.items()}
        effect = sp.Dummy("y", real=True)
        formula = inverse_of(with_it, unknown, effect, values)
        return None if formula is None else formula.subs(effect, -without)

    def _iterate(self, unknown: Any, residual: Expr, slope: Any, start: float) -> None:
        """Let Newton's method find a variable, from where it starts: it must make the residual zero.

        What is sought is the distance from the start, since a loop is begun at zero. The residual is divided
        by its slope, roughly, so that it is as large as the variable and nothing is lost when the two are
        added.
        """
        d, target = self.d, self.table[unknown]
        own = target if isinstance(target, Var) and not start else Var(f"{unknown_path(self, unknown)}.away")
        if own is not target:
            self._define(unknown, Const(start) + own)
        d.definitions[own] = own + residual / self._size(slope)
        d.bent.append(own)

    def _size(self, slope: Any) -> float:
        """Return the slope of an equation where the element starts, as a power of two; else at ones."""
        expr = self.read(slope)
        numbers = {v: value for v, value in self.d.parameters.items() if value is not None}
        for away in (0.0, 1.0):
            at = dict(numbers)
            for symbol in slope.free_symbols:
                var = self.table.get(symbol)
                if isinstance(var, Op):
                    var = var.args[0]
                if isinstance(var, Var) and var not in at:
                    at[var] = self.part.starts.get(symbol, 0.0) + away
            try:
                size = evaluate(expr, at)
            except (ArithmeticError, ValueError, KeyError):
                continue
            if math.isfinite(size) and size:
                return math.copysign(2.0 ** round(math.log2(abs(size))), size)
        return 1.0

    def _mark_bent(self, residual: Any) -> None:
        """Note which efforts and flows are best guessed in a loop: those that a bent equation takes."""
        import sympy as sp

        for port in self.relations.ports:
            for symbol in (port.effort, port.flow):
                if symbol in self.solution.equations or symbol not in residual.free_symbols:
                    continue
                if symbol in sp.diff(residual, symbol).free_symbols:
                    var = self.table[symbol]
                    var = var.args[0] if isinstance(var, Op) else var
                    if isinstance(var, Var):
                        self.d.bent.append(var)


def unknown_path(ports: _Ports, symbol: Any) -> str:
    """Return the path of a port's variable."""
    for port, node in zip(ports.relations.ports, ports.nodes, strict=True):
        if symbol in tuple(port):
            return f"{ports.d.flat.path[node]}.{symbol.name.rpartition('.')[2]}"
    raise AssertionError(symbol)
