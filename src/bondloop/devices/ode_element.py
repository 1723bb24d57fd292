"""A law with states of its own as an element of a bond graph: its formulas stay expressions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph import Multiport
from bondloop.bondgraph.parts import Element
from bondloop.bondgraph.relations import PortSymbols, Relations, StateSymbols
from bondloop.devices.ode_specimen import Imposed
from bondloop.errors import ModelError, unknown_name
from bondloop.program.expr import Const, Expr, Var
from bondloop.program.kinds import describable
from bondloop.program.law import entries, formulas
from bondloop.program.same_twice import same_twice
from bondloop.program.traced import Traced, Value, array_of, operations_of
from bondloop.program.written import called, one_number

if TYPE_CHECKING:
    from bondloop.devices.device import Device
    from bondloop.devices.ode_specimen import OdeSpecimen

__all__ = ["SYMBOLS", "changes", "finite_formulas", "ode_element"]

WORDS = {"rates": "rate", "memory": "value"}
"""What the methods that say how states change return, in words."""

SYMBOLS = {"rates": "rate", "memory": "renewal"}
"""The same as symbols of a state in the relations."""


@describable("part")
def ode_element(law: OdeSpecimen | Device, driven: Sequence[str] = ()) -> Multiport:
    """Return a specimen as a part of a bond graph; it is described by the specimen.

    Parameters
    ----------
    law
        The specimen.
    driven
        Names of parameters that signals set instead, bonded to it in this order after those that it reads.
    """
    return _OdeElement(law, driven)


class _OdeElement(Multiport):
    """The bond-graph element of a specimen."""

    def __init__(self, law: OdeSpecimen, driven: Sequence[str]) -> None:  # noqa: PLR0915 - one by one
        import sympy as sp

        Element.__init__(self)
        kind = type(law).__name__
        self.law = law
        if type(law.interfaces) is not int or law.interfaces < 1:
            raise ModelError(
                f"{kind}.interfaces: expected a whole number from 1 on; found {law.interfaces!r}"
            )
        several = law.interfaces > 1
        names = [f"end_{i}" for i in range(law.interfaces)] if several else ["end"]
        ranges = law.parameter_ranges()
        for name in driven:
            if name not in ranges:
                raise ModelError(f"{kind}(driven): {unknown_name('parameter', name, ranges)}")
        values = {n: x for n, x in law.parameter_values().items() if n not in driven}
        read = (*law.inputs, *driven)
        self.keep_parameters(kind, dict.fromkeys(values), values, {n: ranges[n] for n in values})
        self.name_ports(names)
        ports = [PortSymbols.named(n) for n in names]
        symbols: dict[Var, Any] = {}
        parameters = {}
        for name, symbol in self.parameter_symbols.items():
            symbols[parameter := Var(name)] = symbol
            parameters[name] = Traced(parameter)
        traced, variables = entries("", law.initial_states())
        states = {}
        for known in variables.values():
            for variable, _ in known:
                states[variable] = StateSymbols.named(variable.name)
                symbols[variable] = states[variable].value
        inputs = {name: Var(name) for name in read}
        self.signals, self.input_symbols = len(inputs), [sp.Dummy(name, real=True) for name in inputs]
        symbols.update(zip(inputs.values(), self.input_symbols, strict=True))
        motions = []
        for word, which in (("displacement", "displacement"), ("velocity", "flow")):
            moved = [Var(f"{n}.{word}") for n in names]
            symbols.update({v: getattr(p, which) for v, p in zip(moved, ports, strict=True)})
            motions.append(array_of([Traced(v) for v in moved]) if several else Traced(moved[0]))
        signals = {name: Traced(v) for name, v in inputs.items()}
        copy, motion = law.running(parameters, traced, **signals), Imposed(*motions)
        force = called(copy.force, f"{kind}.force", motion)
        forces = formulas(force if several else one_number(force, f"{kind}.force"), f"{kind}.force")
        if len(forces) != len(ports):
            raise ModelError(
                f"{kind}.force: expected {len(ports)} forces, one for each interface; found {len(forces)}"
            )
        changed = changes(copy, motion, variables, kind)
        _trace_again(law, read, forces, [e for _, _, written in changed for e in written])
        formula_of_symbol = dict(zip([p.effort for p in ports], forces, strict=True))
        for state, word, written in changed:
            for (variable, _), formula in zip(variables[state], written, strict=True):
                formula_of_symbol[getattr(states[variable], word)] = formula
        equations = {}
        expressions: dict[Any, Expr] = {}
        finite = finite_formulas(list(formula_of_symbol.values()), kind)
        for left, formula in zip(formula_of_symbol, finite, strict=True):
            parts = (formula, *(a for op in operations_of([formula])[0] for a in op.args))
            used = dict.fromkeys(symbols[v] for v in parts if isinstance(v, Var))
            # The relations need to know what a formula reads, and no more: it stays an expression.
            equations[left] = sp.Function(f"formula_{len(expressions)}", real=True)(*used)
            expressions[equations[left]] = formula
        self.written, self.written_symbols = expressions, symbols
        for name in law.units:
            if name not in variables:
                raise ModelError(f"{kind}.units: {unknown_name('state', name, variables)}")
        units = {v.name: unit for name, unit in law.units.items() for v, _ in variables[name]}
        self.__dict__["units"] = units  # of this law, where other elements have them of their class
        self.__dict__["inputs"] = read
        self.relations = Relations(ports, list(states.values()), equations, range(len(ports)), kind)
        self.starts = {states[v].value: x for known in variables.values() for v, x in known}


def _trace_again(law: OdeSpecimen, read: Sequence[str], forces: list[Expr], rates: list[Expr]) -> None:
    """Trace a specimen with other variables of the same names: what it keeps elsewhere is refused."""
    kind, several = type(law).__name__, law.interfaces > 1
    parameters = {name: Var(name) for name in law.parameter_values() if name not in read}
    traced, variables = entries("", law.initial_states())
    names = [f"end_{i}" for i in range(law.interfaces)] if several else ["end"]
    moved = [[Var(f"{n}.{word}") for n in names] for word in ("displacement", "velocity")]
    motion = Imposed(*(array_of([Traced(v) for v in m]) if several else Traced(m[0]) for m in moved))
    inputs = {name: Var(name) for name in read}
    signals = {name: Traced(v) for name, v in inputs.items()}
    copy = law.running({n: Traced(p) for n, p in parameters.items()}, traced, **signals)
    states = [v for pairs in variables.values() for v, _ in pairs]
    known = {*parameters.values(), *inputs.values(), *moved[0], *moved[1], *states}
    same_twice(forces, formulas(copy.force(motion), f"{kind}.force"), known, f"{kind}.force")
    again = [e for _, _, written in changes(copy, motion, variables, kind) for e in written]
    same_twice(rates, again, known, f"{kind}.rates")


def changes(
    law: OdeSpecimen, motion: Imposed, variables: Mapping[str, Sequence[Any]], kind: str
) -> list[tuple[str, str, list[Expr]]]:
    """Return by which formula each state changes: as a rate, or as a memory that is renewed."""
    by_word: dict[str, Mapping[str, Value]] = {}
    for word, method in (("rates", law.rates), ("memory", law.memory)):
        by_word[word] = named = called(method, f"{kind}.{word}", motion)
        if not isinstance(named, Mapping):
            raise ModelError(f'{kind}.{word}: expected {{"state": {WORDS[word]}, ...}}; found {named!r:.60}')
        for name in named:
            if name not in variables:
                raise ModelError(f"{kind}.{word}: {unknown_name('state', name, variables)}")
    result = []
    for name, known in variables.items():
        words = [word for word, named in by_word.items() if name in named]
        if not words:
            raise ModelError(f"{kind}.rates: the rate of the state '{name}' is missing")
        if len(words) > 1:
            raise ModelError(
                f"{kind}: the state '{name}' has a rate and is in memory too; a state changes all the time, "
                "or is renewed at every step, not both"
            )
        what = f"{kind}.{words[0]}['{name}']"
        written = formulas(by_word[words[0]][name], what)
        if len(written) != len(known):
            raise ModelError(f"{what}: expected {len(known)} {WORDS[words[0]]}s; found {len(written)}")
        result.append((name, SYMBOLS[words[0]], written))
    return result


def finite_formulas(written: Sequence[Expr], kind: str) -> list[Expr]:
    """Return formulas without bounds that are none: the smaller of x and infinity is x; refuse other such."""
    order, _ = operations_of(written)
    plain: dict[int, Expr] = {}
    for op in order:
        args = tuple(plain.get(id(a), a) for a in op.args)
        bound = {"fmin": math.inf, "fmax": -math.inf}.get(op.name)
        others = [a for a in args if not (isinstance(a, Const) and a.value == bound)]
        if len(others) == 1 < len(args):
            plain[id(op)] = others[0]
            continue
        plain[id(op)] = op if all(a is b for a, b in zip(args, op.args, strict=True)) else op.with_args(args)
    result = [plain.get(id(e), e) for e in written]
    for x in (*result, *(a for op in operations_of(result)[0] for a in op.args)):
        if isinstance(x, Const) and not math.isfinite(x.value):
            raise ModelError(f"{kind}: its formulas hold the number {x.value:g}; write finite numbers")
    return result
