"""A specimen of one's own: parameters and states named in a class, rates and force in Python.

A law with states of its own as an element of a bond graph: its formulas stay expressions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from bondloop.bondgraph import Element, Model, Port, bond
from bondloop.bondgraph.elements import Input, Multiport, PortSymbols, Relations, StateSymbols
from bondloop.engine.data import Described, describable, stated_units
from bondloop.engine.ir import Const, Expr, Var
from bondloop.engine.laws import (
    Law,
    Readings,
    Traced,
    Value,
    array_of,
    called,
    entries,
    expect_same_formula,
    formulas,
    one_number,
    operations_of,
)
from bondloop.errors import InputError, ModelError, unknown_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bondloop.bondgraph.elements import MassIs
    from bondloop.engine.laws import Value


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

    `bondloop.rigs.mounting` makes of it the physical half of a test; `element` a part of a bond graph, beside
    masses, springs and whatever else moves with it.

    Attributes
    ----------
    states
        Its states by name, with initial values.
    units
        SI units of the states that have one, by name.
    interfaces
        At how many places it is moved.
    inputs
        Signals that it reads as attributes, by name with their units: ``{"current": "A"}``.
    mass_is
        How its mass goes with moving ground: ``"none"``, it has none, and stands on the ground with its other
        end; ``"carried"``, all of it hangs on its interface, as a tuned mass; ``"standing"``, it has mass and
        stands on the ground. None: not said, so that a test with ``ground=`` asks for it; a law without
        states has none.

    Examples
    --------
    A spring and a dashpot in series (Maxwell); the state is the spring's elongation:

    >>> from bondloop.rigs import mounted
    >>> from bondloop.devices import Imposed, OdeSpecimen
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
    inputs: ClassVar[Mapping[str, str]] = {}
    mass_is: ClassVar[MassIs | None] = None
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

    def memory(self, motion: Imposed) -> Mapping[str, Value]:  # noqa: ARG002 - most remember nothing
        """Return what each state that is a memory becomes at the beginning of a step, by name.

        Such a state has no rate: within a step it stays. What it becomes may depend on the displacement then
        and on the states, so that the force is the same before and after: ``force`` says where the law leads
        from what it remembers, on a way without a turn, and ``memory`` what is remembered there.

        Parameters
        ----------
        motion
            How it is moved: ``displacement``, ``velocity``.
        """
        return {}

    def at_states(self, **states: Value) -> Self:
        """Return a copy that stands at some states and inputs, whose formulas take numbers."""
        signals = {name: states.pop(name, 0.0) for name in self.inputs}
        return self.running({}, self.checked_states(states), **signals)

    def element(self, driven: Sequence[str] = ()) -> OdeElement:
        """Return it as a part of a bond graph: a port that takes a velocity and gives a force.

        Signals that it reads (``inputs``) are bonded to it in the order of their names.

        Parameters
        ----------
        driven
            Names of parameters that signals set instead, such as a current, bonded after those.
        """
        return ode_element(self, driven)

    def model(self) -> Model:
        """Return it as a model with the port ``end``, or ``end_0``, ``end_1``, ... for several interfaces.

        Signals that it reads are inputs of the model, by their names.
        """
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__).lower()
        model, part = Model(name), self.element()
        setattr(model, name, part)
        for port in part.port_names:
            setattr(model, port, Port())
            bond(getattr(model, port), getattr(part, port) if self.interfaces > 1 else part)
        for signal, unit in self.inputs.items():
            setattr(model, signal, Input(signal, unit=unit))
            bond(getattr(model, signal), part)
        return model


WORDS = {"rates": "rate", "memory": "value"}
"""What the methods that say how states change return, in words."""

SYMBOLS = {"rates": "rate", "memory": "renewal"}
"""The same as symbols of a state in the relations."""


@describable("part")
def ode_element(law: OdeSpecimen, driven: Sequence[str] = ()) -> OdeElement:
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

        ports = [PortSymbols.named(n) for n in self.port_names]
        symbols: dict[Var, Any] = {Var(name): symbol for name, symbol in self.parameter_symbols.items()}
        parameters = {v.name: Traced(v) for v in symbols}
        traced, variables = entries("", law.initial_states())
        states = {v: StateSymbols.named(v.name) for known in variables.values() for v, _ in known}
        symbols.update({v: state.value for v, state in states.items()})
        inputs = {name: Var(name) for name in self.inputs}
        self.signals, self.input_symbols = len(inputs), [sp.Dummy(name, real=True) for name in inputs]
        symbols.update(zip(inputs.values(), self.input_symbols, strict=True))
        moved, motion = _moved(law)
        for word, several in moved.items():
            symbols.update({v: getattr(p, word) for v, p in zip(several, ports, strict=True)})
        copy = law.running(parameters, traced, **{name: Traced(v) for name, v in inputs.items()})
        force = called(copy.force, f"{kind}.force", motion)
        if law.interfaces == 1:
            force = one_number(force, f"{kind}.force")
        forces = formulas(force, f"{kind}.force")
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
        self.__dict__["units"] = _units_of_states(law, variables)  # other elements have them of their class
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
        plot: Callable[..., Figure] | None = getattr(self.law, "plot_loops", None)
        if plot is None:
            raise InputError(f"{type(self.law).__name__} is no device: only devices know their strokes")
        figure: Figure = plot(**options)
        return figure


def _moved(law: OdeSpecimen) -> tuple[dict[str, list[Var]], Imposed]:
    """Return the variables by which a specimen is moved, as a port calls them, and the traced motion."""
    names = [f"end_{i}" for i in range(law.interfaces)] if law.interfaces > 1 else ["end"]
    words = {"displacement": "displacement", "flow": "velocity"}
    moved = {port: [Var(f"{n}.{word}") for n in names] for port, word in words.items()}
    traced = [[Traced(v) for v in several] for several in moved.values()]
    return moved, Imposed(*(array_of(t) if law.interfaces > 1 else t[0] for t in traced))


def _units_of_states(
    law: OdeSpecimen, variables: Mapping[str, Sequence[tuple[Var, float]]]
) -> dict[str, str]:
    for name in law.units:
        if name not in variables:
            raise ModelError(f"{type(law).__name__}.units: {unknown_name('state', name, variables)}")
    return {v.name: unit for name, unit in law.units.items() for v, _ in variables[name]}


def _trace_again(law: OdeSpecimen, read: Sequence[str], forces: list[Expr], rates: list[Expr]) -> None:
    """Trace a specimen with other variables of the same names: what it keeps elsewhere is refused."""
    kind = type(law).__name__
    parameters = {name: Var(name) for name in law.parameter_values() if name not in read}
    traced, variables = entries("", law.initial_states())
    moved, motion = _moved(law)
    inputs = {name: Var(name) for name in read}
    signals = {name: Traced(v) for name, v in inputs.items()}
    copy = law.running({n: Traced(p) for n, p in parameters.items()}, traced, **signals)
    states = [v for pairs in variables.values() for v, _ in pairs]
    known = {*parameters.values(), *inputs.values(), *moved["displacement"], *moved["flow"], *states}
    expect_same_formula(forces, formulas(copy.force(motion), f"{kind}.force"), known, f"{kind}.force")
    again = [e for _, _, written in changes(copy, motion, variables, kind) for e in written]
    expect_same_formula(rates, again, known, f"{kind}.rates")


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
