"""A law with states of its own as an element of a bond graph: its formulas stay expressions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph import Model, Multiport
from bondloop.bondgraph.parts import Element
from bondloop.bondgraph.relations import PortSymbols, Relations, StateSymbols
from bondloop.data.described import stated_units
from bondloop.data.kinds import describable
from bondloop.devices.ode_specimen import Imposed
from bondloop.errors import InputError, ModelError, unknown_name
from bondloop.program.expr import Const, Expr, Var
from bondloop.program.law import entries, formulas
from bondloop.program.same_twice import same_twice
from bondloop.program.traced import Traced, Value, array_of, operations_of
from bondloop.program.written import called, one_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bondloop.devices.device import Device
    from bondloop.devices.ode_specimen import OdeSpecimen

__all__ = ["SYMBOLS", "OdeElement", "changes", "device_at", "finite_formulas", "ode_element"]

WORDS = {"rates": "rate", "memory": "value"}
"""What the methods that say how states change return, in words."""

SYMBOLS = {"rates": "rate", "memory": "renewal"}
"""The same as symbols of a state in the relations."""


@describable("part")
def ode_element(law: OdeSpecimen | Device, driven: Sequence[str] = ()) -> OdeElement:
    """Return a specimen as a part of a bond graph; it is described by the specimen.

    Parameters
    ----------
    law
        The specimen.
    driven
        Names of parameters that signals set instead, bonded to it in this order after those that it reads.
    """
    return OdeElement(law, driven)


class OdeElement(Multiport):
    """The bond-graph element of a specimen."""

    def __init__(self, law: OdeSpecimen, driven: Sequence[str] = ()) -> None:
        Element.__init__(self)
        kind = type(law).__name__
        self.law = law
        self.mass_is = law.mass_is or (None if law.initial_states() else "none")
        if type(law.interfaces) is not int or law.interfaces < 1:
            raise ModelError(
                f"{kind}.interfaces: expected a whole number from 1 on; found {law.interfaces!r}"
            )
        ranges = law.parameter_ranges()
        for name in driven:
            if name not in ranges:
                raise ModelError(f"{kind}(driven): {unknown_name('parameter', name, ranges)}")
        self.__dict__["inputs"] = (*law.inputs, *driven)
        values = {n: x for n, x in law.parameter_values().items() if n not in driven}
        self.stated = stated_units(law)
        self.keep_parameters(kind, dict.fromkeys(values), values, {n: ranges[n] for n in values})
        self.name_ports([f"end_{i}" for i in range(law.interfaces)] if law.interfaces > 1 else ["end"])
        self._write(law, kind)

    def _write(self, law: OdeSpecimen, kind: str) -> None:
        """Trace the law, and keep its formulas."""
        import sympy as sp

        names, several = self.port_names, law.interfaces > 1
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
        inputs = {name: Var(name) for name in self.inputs}
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
        _trace_again(law, self.inputs, forces, [e for _, _, written in changed for e in written])
        by_symbol = dict(zip([p.effort for p in ports], forces, strict=True))
        for state, word, written in changed:
            for (variable, _), formula in zip(variables[state], written, strict=True):
                by_symbol[getattr(states[variable], word)] = formula
        self._keep(by_symbol, symbols, kind)
        for name in law.units:
            if name not in variables:
                raise ModelError(f"{kind}.units: {unknown_name('state', name, variables)}")
        units = {v.name: unit for name, unit in law.units.items() for v, _ in variables[name]}
        self.__dict__["units"] = units  # of this law, where other elements have them of their class
        equations = dict(zip(by_symbol, self.written, strict=True))
        self.relations = Relations(ports, list(states.values()), equations, range(len(ports)), kind)
        self.starts = {states[v].value: x for known in variables.values() for v, x in known}

    def _keep(self, by_symbol: Mapping[Any, Expr], symbols: Mapping[Var, Any], kind: str) -> None:
        """Keep formulas as expressions; the relations need to know what each reads, and no more."""
        import sympy as sp

        written: dict[Any, Expr] = {}
        for formula in finite_formulas(list(by_symbol.values()), kind):
            parts = (formula, *(a for op in operations_of([formula])[0] for a in op.args))
            read = dict.fromkeys(symbols[v] for v in parts if isinstance(v, Var))
            written[sp.Function(f"formula_{len(written)}", real=True)(*read)] = formula
        self.written, self.written_symbols = written, symbols

    def plot_loops(self, **options: Any) -> Figure:
        """Draw the loops of force over displacement of a device: see `Device.plot_loops`.

        Parameters
        ----------
        **options
            As for `Device.plot_loops`.
        """
        from bondloop.devices.device import Device

        if not isinstance(self.law, Device):
            raise InputError(f"{type(self.law).__name__} is no device: only devices know their strokes")
        return self.law.plot_loops(**options)


def device_at(model: Model, path: str) -> OdeElement:
    """Return the device at a path of a model, as an element.

    Parameters
    ----------
    model
        Where to look.
    path
        Of the device.
    """
    from bondloop.devices.device import Device

    part = model.find(path)
    if isinstance(part, OdeElement) and isinstance(part.law, Device):
        return part
    raise InputError(f"{path} is no device but a {type(part).__name__}; its loops cannot be drawn")


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
