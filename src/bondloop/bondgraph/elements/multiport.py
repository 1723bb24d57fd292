"""Elements of one's own: ports, parameters and equations in a class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from bondloop.bondgraph.domain import Domain, domain_from
from bondloop.bondgraph.elements.laws import check_number, check_plain, checked_ranges, formula_of
from bondloop.bondgraph.elements.relations import PortSymbols, Relations, StateSymbols
from bondloop.bondgraph.parts import Element, Terminal
from bondloop.errors import InputError, ModelError, unknown_name
from bondloop.units import known_unit

if TYPE_CHECKING:
    from bondloop.engine.data import Range
    from bondloop.engine.ir import Expr, Var


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
