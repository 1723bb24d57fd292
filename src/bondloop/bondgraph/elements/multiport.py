"""Elements of one's own: ports, parameters and equations in a class; and how their equations can be solved.

A port has four variables: effort, flow, displacement (the integral of the flow) and momentum (the integral of
the effort). Each port brings one equation, written as ``variable: formula``. From the causality follows for
which variables the equations are to be solved, one for each port. That is a matching of equations and
unknowns. A port whose flow stands in no equation may still give it, as the rate of its displacement: then the
displacement is an unknown instead, and no state of its own. That is derivative causality, and it need not be
told apart from the rest.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from bondloop.bondgraph.domain import Domain, domain_from
from bondloop.bondgraph.elements.laws import check_number, check_plain, checked_ranges, formula_of
from bondloop.bondgraph.parts import Element, Terminal
from bondloop.errors import InputError, ModelError, unknown_name
from bondloop.units import known_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bondloop.engine.data import Range
    from bondloop.engine.ir import Expr, Var


EXPLICIT, LINEAR, BENT = range(3)
"""How an equation is solved for a variable: as it stands, by a division, by an inverse or by iteration."""


@dataclass(frozen=True)
class PortSymbols:
    """The variables of one port, as SymPy symbols; power counts as positive into the element.

    Attributes
    ----------
    name
        The port's name.
    effort, flow, displacement, momentum : sympy.Symbol
        Its variables; the displacement is the integral of the flow, the momentum that of the effort.
    """

    name: str
    effort: Any
    flow: Any
    displacement: Any
    momentum: Any

    @classmethod
    def named(cls, name: str) -> PortSymbols:
        """Return new symbols for a port."""
        import sympy as sp

        words = ("effort", "flow", "displacement", "momentum")
        return cls(name, *(sp.Dummy(f"{name}.{word}", real=True) for word in words))

    def __iter__(self) -> Any:
        return iter((self.effort, self.flow, self.displacement, self.momentum))


@dataclass(frozen=True)
class StateSymbols:
    """A state of an element besides what its ports store, as SymPy symbols.

    Attributes
    ----------
    name
        Its name.
    value, rate, renewal : sympy.Symbol
        The state, its rate of change, and what it becomes at the beginning of the next step; one of the last
        two stands on the left of an equation, and nowhere else.
    """

    name: str
    value: Any
    rate: Any
    renewal: Any

    @classmethod
    def named(cls, name: str) -> StateSymbols:
        """Return new symbols for a state."""
        import sympy as sp

        words = (name, f"d/dt {name}", f"next {name}")
        return cls(name, *(sp.Dummy(word, real=True) for word in words))


@dataclass(frozen=True)
class Solution:
    """Which equation gives which variable, in one causality.

    Attributes
    ----------
    equations
        For every unknown the number of its equation.
    dependent
        Ports whose displacement or momentum follows from the rest, by the symbol of what is stored.
    """

    equations: Mapping[Any, int]
    dependent: Mapping[int, Any]


class Relations:
    """The equations of an N-port.

    Parameters
    ----------
    ports, states
        Its ports and further states.
    equations
        Formula of one variable of each port, of the rate of each state, and of quantities to be read by name.
    fixed
        Ports whose causality must be as the equations are written, by number.
    kind
        For messages.
    listed
        Most ports for which the causalities that can be solved are listed beforehand.
    """

    def __init__(
        self,
        ports: Sequence[PortSymbols],
        states: Sequence[StateSymbols],
        equations: Mapping[Any, Any],
        fixed: Iterable[int] = (),
        kind: str = "",
        listed: int = 6,
    ) -> None:
        self.listed = listed
        self.ports, self.states, self.fixed, self.kind = tuple(ports), tuple(states), frozenset(fixed), kind
        owner = {symbol: i for i, port in enumerate(ports) for symbol in port}
        self.rates: dict[str, Any] = {}
        self.memories: dict[str, Any] = {}
        self.quantities: dict[str, Any] = {}
        self.left = self._sort(equations, owner)
        self.right = [equations[left] for left in self.left]
        self.variables = {*owner, *(s.value for s in states)}
        moving = (*self.rates.values(), *self.memories.values())
        used = {*self.left, *(s for f in (*self.right, *moving) for s in f.free_symbols)}
        self.stored = [[s for s in (p.displacement, p.momentum) if s in used] for p in ports]
        rates = {state.rate for state in states}
        if any(rates & f.free_symbols for f in (*self.right, *moving, *self.quantities.values())):
            raise ModelError(
                f"{kind}: the rate of a state stands on the right of an equation; write out its formula"
            )
        self._used = used
        self._ways: dict[tuple[int, Any], int | None] = {}
        self._solutions: dict[tuple[bool, ...], Solution | None] = {}

    def _sort(self, equations: Mapping[Any, Any], owner: Mapping[Any, int]) -> list[Any]:
        """Return for every port what its equation is written for; keep those of states and quantities."""
        kind, ports = self.kind, self.ports
        rates = {state.rate: state for state in self.states}
        renewals = {state.renewal: state for state in self.states}
        written: dict[int, Any] = {}
        for left, formula in equations.items():
            if isinstance(left, str):
                self.quantities[left] = formula
            elif left in rates:
                self.rates[rates[left].name] = formula
            elif left in renewals:
                self.memories[renewals[left].name] = formula
            elif left not in owner:
                raise ModelError(
                    f"{kind}: an equation is written for {left!r}; expected a variable of a port "
                    "(port.effort, .flow, .displacement, .momentum), the rate of a state (state.rate) or a "
                    "text that names a quantity to be read"
                )
            elif (first := written.setdefault(owner[left], left)) is not left:
                name = ports[owner[left]].name
                raise ModelError(f"{kind}: port {name} has two equations, for {first} and {left}")
        for i, port in enumerate(ports):
            if i not in written:
                raise ModelError(
                    f"{kind}: no equation for port {port.name}; write one for {port.name}.effort or "
                    f"{port.name}.flow, or for the momentum or displacement that it stores"
                )
        for state in self.states:
            if state.name not in self.rates and state.name not in self.memories:
                raise ModelError(
                    f"{kind}: no equation for the rate of {state.name}; give {state.name}.rate: ..."
                )
        return [written[i] for i in range(len(ports))]

    # ---------------------------------------------------------------- causality

    def prefers_effort(self, port: int) -> bool:
        """Whether a port gives its effort where the equations are taken as written."""
        return self.left[port] in (self.ports[port].effort, self.ports[port].displacement)

    def holds(self, port: int, word: str) -> bool:
        """Whether a port keeps its ``"displacement"`` or ``"momentum"``."""
        return getattr(self.ports[port], word) in self.stored[port]

    def storage(self, port: int) -> str:
        """Return ``"C"`` or ``"I"`` for a port that stores and can give its other variable only as a rate."""
        p = self.ports[port]
        if self.prefers_effort(port):
            return "C" if p.displacement in self._used and p.flow not in self._used else ""
        return "I" if p.momentum in self._used and p.effort not in self._used else ""

    @cached_property
    def causalities(self) -> tuple[tuple[bool, ...], ...] | None:
        """Which ports may give the effort together; None where all may, or where there are too many ports."""
        count = len(self.ports)
        if count > self.listed:
            return None
        every = list(itertools.product((True, False), repeat=count))
        possible = tuple(
            gives
            for gives in every
            if all(gives[i] == self.prefers_effort(i) for i in self.fixed)
            and self._matched(dict(enumerate(self.unknowns(gives))), {}, self._occurs) is not None
        )
        return None if len(possible) == len(every) else possible

    def forced(self, known: Mapping[int, bool]) -> dict[int, bool] | None:
        """Return which other ports must give the effort, or the flow, where some do; None if none can."""
        possible = [c for c in self.causalities or () if all(c[i] == gives for i, gives in known.items())]
        if not possible:
            return None
        free = [i for i in range(len(self.ports)) if i not in known]
        return {i: possible[0][i] for i in free if len({c[i] for c in possible}) == 1}

    def unknowns(self, gives_effort: Sequence[bool]) -> list[Any]:
        """Return what each port has to give."""
        return [p.effort if e else p.flow for p, e in zip(self.ports, gives_effort, strict=True)]

    def solution(self, gives_effort: Sequence[bool]) -> Solution | None:
        """Return which equation is solved for what; None where there is no way."""
        key = tuple(gives_effort)
        if key not in self._solutions:
            self._solutions[key] = self._matched(dict(enumerate(self.unknowns(key))), {}, self.way)
        return self._solutions[key]

    def _matched(
        self, unknowns: dict[int, Any], dependent: dict[int, Any], way: Callable[[int, Any], int | None]
    ) -> Solution | None:
        """Match unknowns with equations; where one is left over, a port's store may take its place."""
        chosen: dict[int, int] = {}  # the port whose unknown it gives, by equation
        for worst in (EXPLICIT, LINEAR, BENT):  # what needs no iteration first
            for port in unknowns:
                seen: set[int] = set()
                if port in chosen.values() or self._augmented(port, unknowns, chosen, seen, way, worst):
                    continue
                if worst < BENT:
                    continue
                # The unknowns of these ports share too few equations: one must come from elsewhere.
                for crowded in (port, *(chosen[e] for e in seen)):
                    store = self._store_of(crowded, unknowns[crowded])
                    if store is not None:
                        better = self._matched(
                            {**unknowns, crowded: store}, {**dependent, crowded: store}, way
                        )
                        if better is not None:
                            return better
                return None
        return Solution({unknowns[port]: e for e, port in chosen.items()}, dependent)

    def _store_of(self, port: int, unknown: Any) -> Any:
        """Return what a port stores whose rate is the unknown."""
        p = self.ports[port]
        store = {p.flow: p.displacement, p.effort: p.momentum}.get(unknown)
        return store if store in self.stored[port] else None

    def _augmented(
        self,
        port: int,
        unknowns: Mapping[int, Any],
        chosen: dict[int, int],
        seen: set[int],
        way: Callable[[int, Any], int | None],
        worst: int,
    ) -> bool:
        """Find an equation for a port's unknown, others making room for it (Kuhn's search)."""
        for equation in range(len(self.ports)):
            if equation in seen:
                continue
            how = way(equation, unknowns[port])
            if how is None or how > worst:
                continue
            seen.add(equation)
            if equation not in chosen or self._augmented(
                chosen[equation], unknowns, chosen, seen, way, worst
            ):
                chosen[equation] = port
                return True
        return False

    def _occurs(self, equation: int, unknown: Any) -> int | None:
        """Return whether an equation holds a variable: enough to tell which causalities are possible."""
        there = unknown == self.left[equation] or unknown in self.right[equation].free_symbols
        return EXPLICIT if there else None

    # ---------------------------------------------------------------- equations

    def way(self, equation: int, unknown: Any) -> int | None:
        """Return how an equation is solved for a variable; None where it does not hold it."""
        key = (equation, unknown)
        if key not in self._ways:
            self._ways[key] = self._way(equation, unknown)
        return self._ways[key]

    def _way(self, equation: int, unknown: Any) -> int | None:
        left, right = self.left[equation], self.right[equation]
        if unknown not in right.free_symbols:
            return EXPLICIT if unknown == left else None
        import sympy as sp

        if self.jumps(equation, unknown):
            return BENT
        slope = self.slope(equation, unknown)
        if sp.expand(slope) == 0:
            return None
        return BENT if unknown in slope.free_symbols else LINEAR

    def slope(self, equation: int, unknown: Any) -> Any:
        """Return the derivative of ``right - left`` with respect to a variable, beside jumps."""
        import sympy as sp

        slope = (self.right[equation] - self.left[equation]).diff(unknown)
        return slope.replace(sp.DiracDelta, lambda *_: sp.Integer(0))

    def jumps(self, equation: int, unknown: Any) -> bool:
        """Whether an equation jumps somewhere along a variable; x**2*sign(x) does not."""
        import sympy as sp

        slope, size = self.right[equation].diff(unknown), sp.Dummy("size")
        for delta in slope.atoms(sp.DiracDelta):
            where = delta.args[0]
            first = where.diff(unknown)
            if first == 0 or unknown in first.free_symbols:
                return True
            place = -where.subs(unknown, 0) / first
            if sp.simplify(slope.subs(delta, size).diff(size).subs(unknown, place)) != 0:
                return True
        return False

    def divided(self, equation: int, unknown: Any) -> Any:
        """Return the formula of a variable in which an equation is linear."""
        import sympy as sp

        rest = (self.left[equation] - self.right[equation]).subs(unknown, 0)
        return sp.factor_terms(rest / self.slope(equation, unknown))


MassIs = Literal["none", "carried", "standing"]
"""How an element's mass goes with moving ground: it has none, hangs on its ports, or stands there too."""


class Multiport(Element):
    """An element with named ports whose equations are written down; derive a class to make one.

    ``equations`` takes the ports, then the states, then the signals, in the order of the class's lists, then
    the parameters, and returns one equation for each port as ``variable: formula``. A port has the variables
    ``effort``, ``flow``, ``displacement`` and ``momentum`` (integrals of flow and effort: use one and it is
    kept as a state), and power counts as positive into the element. A state has a ``value`` and a ``rate``.
    A text on the left names a quantity that can be read.

    The causality is derived: a port gives what stands on the left of its equation where it may choose, and
    the equations are solved for the other variable where it may not. ``fixed`` names ports that may not.

    Parameters
    ----------
    initial
        What ports and states hold at the start, by name.
    ranges
        Which numbers the parameters may be; any finite one where none is given.
    **parameters
        Values of the parameters; those that have a default in ``equations`` may be left out.

    Examples
    --------
    A motor whose constant falls with the current:

    >>> from bondloop.bondgraph import I, Model, Multiport, One, R, Se
    >>> class Motor(Multiport):
    ...     '''Electric motor with saturation.'''
    ...
    ...     ports = ("coil", "shaft")
    ...
    ...     def equations(self, coil, shaft, constant, limit=5.0):
    ...         k = constant / (1 + (coil.flow / limit) ** 2)
    ...         return {coil.effort: k * shaft.flow, shaft.effort: -k * coil.flow}
    >>> m = Model("drive")
    >>> m.i, m.w, m.motor = One(), One(), Motor(constant=0.1)
    >>> _ = Se("V") >> m.i >> [R(resistance=1), m.motor.coil, I(inductance=0.01)]
    >>> _ = m.w >> [m.motor.shaft, I(inertia=1e-3)]
    >>> m.compile().states
    ('I.momentum', 'I2.momentum')
    """

    ports: ClassVar[Sequence[str]] = ()
    """Names of the ports."""
    states: ClassVar[Sequence[str]] = ()
    """Names of states besides what the ports store."""
    inputs: ClassVar[Sequence[str]] = ()
    """Names of signals that are bonded to it, in that order."""
    fixed: ClassVar[Sequence[str]] = ()
    """Ports whose causality must be as the equations are written."""

    mass_is: MassIs | None = None
    """How its mass goes with moving ground, for tests with ``ground=``; None: not said."""

    domains: ClassVar[Mapping[str, Domain | str]] = {}
    """Domains of the ports by name, ``{"coil": "electric"}``; of others their neighbours tell it."""

    units: ClassVar[Mapping[str, str]] = {}
    """Units of its states and of what can be read of it by name, ``{"opening": "m"}``."""

    port_names: tuple[str, ...] = ()
    """Names of the ports; empty where they have numbers only."""
    parameters: Mapping[str, Any] = {}
    ranges: Mapping[str, Range] = {}
    input_symbols: Sequence[Any] = ()
    parameter_symbols: Mapping[str, Any] = {}
    starts: Mapping[Any, float] = {}
    """What is held at the start, by the symbol of a store or state."""
    written: Mapping[Any, Expr] = {}
    """Formulas that are expressions of the program already, by what stands for them in the relations."""
    written_symbols: Mapping[Var, Any] = {}
    """What the variables of those expressions are, as symbols of the relations."""

    def __init__(
        self,
        *,
        initial: Mapping[str, float | str] | None = None,
        ranges: Mapping[str, Range] | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__()
        cls, kind = type(self), type(self).__name__
        self._check_class(kind)
        arguments = [*cls.ports, *cls.states, *cls.inputs]
        self._take_parameters(self.equations, arguments, parameters, ranges)
        self.name_ports(cls.ports)
        self.signals = len(cls.inputs)
        import sympy as sp

        ports = [PortSymbols.named(name) for name in cls.ports]
        states = [StateSymbols.named(name) for name in cls.states]
        self.input_symbols = [sp.Dummy(name, real=True) for name in cls.inputs]
        formulas = formula_of(
            self.equations, [*ports, *states, *self.input_symbols], self.parameter_symbols, kind
        )
        fixed = [list(cls.ports).index(name) for name in cls.fixed]
        if not isinstance(formulas, Mapping):
            raise ModelError(
                f"{kind}.equations: expected equations as {{variable: formula, ...}}; found {formulas}"
            )
        self.relations = Relations(ports, states, formulas, fixed, kind)
        self.take_initial(initial)

    def equations(self, *_variables: Any, **_parameters: Any) -> Mapping[Any, Any]:
        """Return one equation for each port and for the rate of each state, as ``variable: formula``.

        Parameters
        ----------
        *_variables
            One for each port, in their order; a class names them in its own signature.
        **_parameters
            The symbols of its parameters, by name.
        """
        raise ModelError(f"{type(self).__name__}: write its method equations(self, <ports>, <parameters>)")

    def _check_class(self, kind: str) -> None:
        cls = type(self)
        for word in ("ports", "states", "inputs", "fixed"):
            names = getattr(cls, word)
            if isinstance(names, str) or not all(isinstance(n, str) for n in names):
                raise ModelError(f'{kind}.{word}: expected names such as ("shaft", "fluid"); found {names!r}')
        if not cls.ports:
            raise ModelError(f'{kind} has no ports; name them in the class: ports = ("shaft", "fluid")')
        for name in cls.domains:
            if name not in cls.ports:
                raise ModelError(unknown_name("port", name, cls.ports, where=f"{kind}.domains"))
        for name, unit in cls.units.items():
            known_unit(unit, f"{kind}.units['{name}']")
        for name in cls.fixed:
            if name not in cls.ports:
                raise ModelError(unknown_name("port", name, cls.ports, where=f"{kind}.fixed"))

    def _take_parameters(
        self,
        function: Callable[..., Any],
        arguments: Sequence[str],
        given: Mapping[str, Any],
        ranges: Mapping[str, Range] | None,
    ) -> None:
        """Keep the values of a function's parameters: what follows its first arguments."""
        kind = type(self).__name__
        signature = list(inspect.signature(function).parameters.values())
        plain = [p for p in signature if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        if [p.name for p in plain[: len(arguments)]] != list(arguments):
            raise ModelError(
                f"{kind}.equations: expected the arguments {', '.join(arguments)}, then the parameters; "
                f"found {', '.join(p.name for p in plain)}"
            )
        wanted = {p.name: p.default for p in plain[len(arguments) :]}
        self.keep_parameters(kind, wanted, given, ranges)

    def keep_parameters(
        self,
        kind: str,
        wanted: Mapping[str, Any],
        given: Mapping[str, Any],
        ranges: Mapping[str, Range] | None,
    ) -> None:
        """Keep the values of parameters by name, those given or their defaults.

        Parameters
        ----------
        kind
            Name of the class, for messages.
        wanted
            Names with defaults; ``inspect.Parameter.empty`` where there is none, and a value must be
            given.
        given
            Values by name, numbers or texts with a unit; a name that is not wanted is refused.
        ranges
            Which numbers each may be, by name; None for any.
        """
        import sympy as sp

        for name in given:
            if name not in wanted:
                raise InputError(unknown_name("parameter", name, wanted, where=kind))
        values = {}
        self.ranges = checked_ranges(ranges, wanted, kind)
        for name, default in wanted.items():
            value = given.get(name, default)
            if value is inspect.Parameter.empty:
                raise InputError(f"{kind}: its parameter '{name}' has no value; give {name}=...")
            values[name] = check_number(value, f"{kind}({name})", self.ranges.get(name))
        self.parameters = values
        self.parameter_symbols = {name: sp.Dummy(name, real=True) for name in values}

    # ---------------------------------------------------------------- ports by name

    def name_ports(self, names: Iterable[str]) -> None:
        """Name the ports; a name that the class uses itself is refused.

        Parameters
        ----------
        names
            In their order: identifiers without a leading underscore, each once.
        """
        names = tuple(names)
        for name in names:
            if hasattr(type(self), name) or not name.isidentifier() or name.startswith("_"):
                raise ModelError(
                    f"{type(self).__name__}: a port cannot be called '{name}'; choose another name"
                )
        if len(set(names)) != len(names):
            raise ModelError(f"{type(self).__name__}: two ports have the same name among {', '.join(names)}")
        self.port_names, self.size = names, len(names)

    def __getattr__(self, name: str) -> Terminal:
        """Return a port by its name."""
        names = self.__dict__.get("port_names", ())
        if name in names:
            return Terminal(self, names.index(name))
        raise AttributeError(
            f"{type(self).__name__} has no port or attribute '{name}'; "
            f"ports: {', '.join(names) or 'by number'}"
        )

    def domain_of_port(self, index: int) -> Domain | None:
        """Return the domain that the class states for the port ``index``, from 0; None for none."""
        if not self.domains or not self.port_names:
            return None
        return domain_from(self.domains.get(self.port_names[index]), f"{type(self).__name__}.domains")

    def component_path(self, path: str, index: int) -> str:
        """Return the path of one port."""
        return f"{path}.{self.port_names[index]}" if self.port_names else super().component_path(path, index)

    # ---------------------------------------------------------------- start

    def take_initial(self, initial: Mapping[str, Any] | Sequence[Any] | None) -> None:
        """Keep what ports and states hold at the start: by name, or one number for each port.

        Parameters
        ----------
        initial
            Numbers in SI by the name of a port, a store or a state, or one for each port in order; what
            is left out, or None, starts as the class says.
        """
        kind, relations = type(self).__name__, self.relations
        assert relations is not None
        places: dict[str, Any] = {s.name: s.value for s in relations.states}
        for port, stored in zip(relations.ports, relations.stored, strict=True):
            places.update({str(s.name): s for s in stored})
            if len(stored) == 1:
                places[port.name] = stored[0]
        if initial is None:
            return
        if not isinstance(initial, Mapping):
            numbers = list(initial)
            if len(numbers) != len(relations.ports):
                raise InputError(
                    f"{kind}(initial): expected {len(relations.ports)} values; found {len(numbers)}"
                )
            initial = {port.name: v for port, v in zip(relations.ports, numbers, strict=True)}
        starts: dict[Any, float] = {}
        for name, value in initial.items():
            if name not in places:
                raise InputError(unknown_name("store", name, places, where=f"{kind}(initial)"))
            starts[places[name]] = check_plain(value, f"{kind}(initial)")
        self.starts = starts
