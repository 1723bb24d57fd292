"""A specimen of one's own: parameters and states named in a class, rates and force in Python."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from bondloop.bondgraph import Model, Multiport, Port, bond
from bondloop.bondgraph.parts import Element
from bondloop.bondgraph.relations import PortSymbols, Relations, StateSymbols
from bondloop.errors import ModelError, unknown_name
from bondloop.program.described import Described
from bondloop.program.expr import COMPARISONS, LOGIC, Const, Expr, Op, Var, select
from bondloop.program.kinds import describable
from bondloop.program.law import Law, entries, formulas
from bondloop.program.same_twice import same_twice
from bondloop.program.sympy_bridge import to_sympy
from bondloop.program.traced import Traced, Value, array_of, operations_of
from bondloop.program.written import Readings, called, one_number

__all__ = ["Imposed", "OdeSpecimen"]

LONGEST = 5000
"""Operations of one formula, with everything written out, beyond which it is no formula but a program."""


@dataclass(frozen=True)
class Imposed(Readings):
    """How a specimen is moved; arrays, one entry for each interface, for several.

    Attributes
    ----------
    displacement, velocity
        Of its interface, in m and m/s.
    """

    displacement: Value = 0.0
    velocity: Value = 0.0


class OdeSpecimen(Law, Described, family="ode"):
    """A specimen that is written down as an ordinary differential equation: derive a class from it.

    It is moved at its interface and answers with a force. A class derived from it is a frozen dataclass by
    itself, whose fields with the type ``float`` are its parameters. `rates` and `force` use Python's
    operators and the functions of `bondloop.math`, and read the states as attributes of ``self``.

    `bondloop.rigs.mounted` makes of it the physical half of a test; `element` a part of a bond graph, beside
    masses, springs and whatever else moves with it.

    Attributes
    ----------
    states
        Its states by name, with initial values.
    units
        SI units of the states that have one, by name.
    interfaces
        At how many places it is moved.

    Examples
    --------
    A spring and a dashpot in series (Maxwell); the state is the spring's elongation:

    >>> from bondloop.rigs import Imposed, OdeSpecimen, mounted
    >>> class Maxwell(OdeSpecimen):
    ...     '''A spring and a dashpot in series.'''
    ...
    ...     stiffness: float = 1000.0
    ...     damping: float = 50.0
    ...     states = {"elongation": 0.0}
    ...     units = {"elongation": "m"}
    ...
    ...     def rates(self, motion):
    ...         return {"elongation": motion.velocity - self.stiffness * self.elongation / self.damping}
    ...
    ...     def force(self, motion):
    ...         return self.stiffness * self.elongation
    >>> Maxwell().at_states(elongation=0.01).force(Imposed())
    10.0
    >>> mounted(Maxwell()).compile().parameters
    {'maxwell.stiffness': 1000.0, 'maxwell.damping': 50.0}
    """

    units: ClassVar[Mapping[str, str]] = {}
    interfaces: ClassVar[int] = 1
    _assigns: ClassVar[bool] = False

    def force(self, motion: Imposed) -> Value:  # noqa: ARG002 - what every specimen has to say
        """Return the force that moves it: a spring that is pulled out by x needs +k x.

        Parameters
        ----------
        motion
            How it is moved: ``displacement``, ``velocity``.
        """
        raise ModelError(f"{type(self).__name__}: write its method force(self, motion)")

    def rates(self, motion: Imposed) -> Mapping[str, Value]:  # noqa: ARG002 - without states there are none
        """Return the rate of change of each state, by name.

        Parameters
        ----------
        motion
            How it is moved: ``displacement``, ``velocity``.
        """
        return {}

    def at_states(self, **states: Any) -> Self:
        """Return a copy that stands at some states, whose ``rates`` and ``force`` take numbers."""
        return self.running({}, self.checked_states(states))

    def element(self) -> Multiport:
        """Return it as a part of a bond graph: a port that takes a velocity and gives a force."""
        return ode_element(self)

    def model(self) -> Model:
        """Return it as a model with the port ``end``, or ``end_0``, ``end_1``, ... for several interfaces."""
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__).lower()
        model, part = Model(name), self.element()
        setattr(model, name, part)
        for port in part.port_names:
            setattr(model, port, Port())
            bond(getattr(model, port), getattr(part, port) if self.interfaces > 1 else part)
        return model


@describable("part")
def ode_element(law: OdeSpecimen) -> Multiport:
    """Return a specimen as a part of a bond graph; it is described by the specimen.

    Parameters
    ----------
    law
        The specimen.
    """
    return _OdeElement(law)


class _OdeElement(Multiport):
    """The bond-graph element of a specimen."""

    def __init__(self, law: OdeSpecimen) -> None:
        Element.__init__(self)
        kind = type(law).__name__
        self.law = law
        if type(law.interfaces) is not int or law.interfaces < 1:
            raise ModelError(
                f"{kind}.interfaces: expected a whole number from 1 on; found {law.interfaces!r}"
            )
        several = law.interfaces > 1
        names = [f"end_{i}" for i in range(law.interfaces)] if several else ["end"]
        values = law.parameter_values()
        self.keep_parameters(kind, dict.fromkeys(values), values, law.parameter_ranges())
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
        motions = []
        for word, which in (("displacement", "displacement"), ("velocity", "flow")):
            moved = [Var(f"{n}.{word}") for n in names]
            symbols.update({v: getattr(p, which) for v, p in zip(moved, ports, strict=True)})
            motions.append(array_of([Traced(v) for v in moved]) if several else Traced(moved[0]))
        copy, motion = law.running(parameters, traced), Imposed(*motions)
        force = called(copy.force, f"{kind}.force", motion)
        forces = formulas(force if several else one_number(force, f"{kind}.force"), f"{kind}.force")
        if len(forces) != len(ports):
            raise ModelError(
                f"{kind}.force: expected {len(ports)} forces, one for each interface; found {len(forces)}"
            )
        equations = {p.effort: _formula(f, symbols, kind) for p, f in zip(ports, forces, strict=True)}
        rates = _rates(copy, motion, variables, kind)
        _trace_again(law, forces, [e for _, written in rates for e in written])
        for state, written in rates:
            for (variable, _), rate in zip(variables[state], written, strict=True):
                equations[states[variable].rate] = _formula(rate, symbols, kind)
        for name in law.units:
            if name not in variables:
                raise ModelError(f"{kind}.units: {unknown_name('state', name, variables)}")
        units = {v.name: unit for name, unit in law.units.items() for v, _ in variables[name]}
        self.__dict__["units"] = units  # of this law, where other elements have them of their class
        self.relations = Relations(ports, list(states.values()), equations, range(len(ports)), kind)
        self.starts = {states[v].value: x for known in variables.values() for v, x in known}


def _trace_again(law: OdeSpecimen, forces: list[Expr], rates: list[Expr]) -> None:
    """Trace a specimen with other variables of the same names: what it keeps elsewhere is refused."""
    kind, several = type(law).__name__, law.interfaces > 1
    parameters = {name: Var(name) for name in law.parameter_values()}
    traced, variables = entries("", law.initial_states())
    names = [f"end_{i}" for i in range(law.interfaces)] if several else ["end"]
    moved = [[Var(f"{n}.{word}") for n in names] for word in ("displacement", "velocity")]
    motion = Imposed(*(array_of([Traced(v) for v in m]) if several else Traced(m[0]) for m in moved))
    copy = law.running({n: Traced(p) for n, p in parameters.items()}, traced)
    states = [v for pairs in variables.values() for v, _ in pairs]
    known = {*parameters.values(), *moved[0], *moved[1], *states}
    same_twice(forces, formulas(copy.force(motion), f"{kind}.force"), known, f"{kind}.force")
    again = [e for _, written in _rates(copy, motion, variables, kind) for e in written]
    same_twice(rates, again, known, f"{kind}.rates")


def _rates(
    law: OdeSpecimen, motion: Imposed, variables: Mapping[str, Sequence[Any]], kind: str
) -> list[tuple[str, list[Expr]]]:
    rates = called(law.rates, f"{kind}.rates", motion)
    if not isinstance(rates, Mapping):
        raise ModelError(f'{kind}.rates: expected {{"state": rate, ...}}; found {rates!r:.60}')
    for name in rates:
        if name not in variables:
            raise ModelError(f"{kind}.rates: {unknown_name('state', name, variables)}")
    result = []
    for name, known in variables.items():
        if name not in rates:
            raise ModelError(f"{kind}.rates: the rate of the state '{name}' is missing")
        value = rates[name]
        written = formulas(value, f"{kind}.rates['{name}']")
        if len(written) != len(known):
            raise ModelError(f"{kind}.rates['{name}']: expected {len(known)} rates; found {len(written)}")
        result.append((name, written))
    return result


def _formula(expr: Expr, symbols: Mapping[Var, Any], kind: str) -> Any:
    operations, _ = operations_of([expr])
    lengths: dict[int, int] = {}
    for op in operations:
        lengths[id(op)] = 1 + sum(lengths.get(id(a), 0) for a in op.args)
    if lengths.get(id(expr), 0) > LONGEST:
        raise ModelError(
            f"{kind}: a formula of {lengths[id(expr)]:.3g} operations when all is written out; at most "
            f"{LONGEST}: make parts of it states, or several specimens of it"
        )
    formula = _numeric(expr)
    for x in (formula, *(a for op in operations_of([formula])[0] for a in op.args)):
        if isinstance(x, Const) and not math.isfinite(x.value):
            raise ModelError(f"{kind}: its formulas hold the number {x.value:g}; write finite numbers")
    return to_sympy(formula, symbols.__getitem__)


def _numeric(expr: Expr) -> Expr:
    """Return an expression with 1 or 0 where a condition is used as a number: SymPy's are none."""
    if not isinstance(expr, Op):
        return expr
    if expr.name in COMPARISONS or expr.name in LOGIC:
        return select(_condition(expr), 1, 0)
    args = list(expr.args)
    bound = {"fmin": math.inf, "fmax": -math.inf}.get(expr.name)  # the smaller of x and infinity is x
    others = [a for a in args if not (isinstance(a, Const) and a.value == bound)]
    if len(others) == 1 < len(args):
        return _numeric(others[0])
    first = _condition(args[0]) if expr.name == "select" else _numeric(args[0])
    return expr.with_args((first, *(_numeric(a) for a in args[1:])))


def _condition(expr: Expr) -> Expr:
    if isinstance(expr, Op) and expr.name in LOGIC:
        return expr.with_args(tuple(_condition(a) for a in expr.args))
    if isinstance(expr, Op) and expr.name in COMPARISONS:
        return expr.with_args(tuple(_numeric(a) for a in expr.args))
    return Op("ne", (_numeric(expr), Const(0.0)))
