"""Elements of one port: sources, storages, resistors, and what switches.

Efforts and flows are those of the bond; power counts as positive in the direction of its half arrow. The law
of a passive element holds for power flowing into it: ``junction >> I(mass=2)``. An arrow drawn out of the
element reverses the sign of its flow.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

import numpy as np

from bondloop.bondgraph.domain import Domain, domain_from, initial_units, units_of
from bondloop.bondgraph.elements.laws import (
    Law,
    check_number,
    check_plain,
    checked_coefficient,
    checked_ranges,
    checked_size,
)
from bondloop.bondgraph.parts import Element, Reading, reading
from bondloop.engine.data import FINITE, NOT_NEGATIVE, NOT_ZERO, POSITIVE, Range
from bondloop.errors import InputError, unknown_name
from bondloop.units import unit_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Switching(Element):
    """Base of the elements that switch."""

    size = 1
    words: ClassVar[Mapping[int, str]]
    """The modes by number, in words. In mode 0 the flow is imposed, otherwise the effort."""
    start_mode: ClassVar[int] = 0
    """The mode before the first look at the rules."""
    ranges: ClassVar[Mapping[str, Range]] = {}
    """Its parameters, with what they may be."""

    def __init__(self, **parameters: Any) -> None:
        super().__init__()
        kind = type(self).__name__
        for name in parameters:
            if name not in self.ranges:
                raise InputError(unknown_name("argument", name, self.ranges, where=kind))
        self.parameters = {
            name: check_number(value, f"{kind}({name})", self.ranges[name], units=self.ranges[name].units)
            for name, value in parameters.items()
        }
        self.stated = {name: unit_in(value) for name, value in parameters.items() if isinstance(value, str)}

    def mode_number(self, mode: int | str) -> int:
        """Return a mode, given by word or number, as a number."""
        for number, word in self.words.items():
            if mode in (number, word) and not isinstance(mode, bool):
                return number
        known = ", ".join(f"'{word}'" for word in self.words.values())
        raise InputError(f"{self.path} ({type(self).__name__}): expected a mode, {known}; found {mode!r}")


class Switch(Switching):
    """Ideal switch: no effort while closed, no flow while open; what closes it comes from outside.

    Bonded to a 1-junction it is a series switch, or a controlled 1-junction: open, the junction has no flow.
    Bonded to a 0-junction it is a short circuit, or a controlled 0-junction: closed, it has no effort.

    Parameters
    ----------
    name
        Of the input that closes it. Without one, bond a signal to it.
    threshold
        It is closed while input or signal are above this.

    Examples
    --------
    >>> from bondloop.bondgraph import C, Model, One, R, Se, Switch
    >>> m = Model("charging")
    >>> m.loop, m.key = One(), Switch("key")
    >>> _ = Se(effort=10) >> m.loop >> [m.key, R(resistance=2), C(capacitance=0.5)]
    >>> run = m.compile().simulate(3, {"key": lambda t: t >= 1})
    >>> print(f"{run['C.effort'][-1]:.4f}")  # 10 (1 - exp(-2))
    8.6466
    """

    words: ClassVar[Mapping[int, str]] = {0: "open", 1: "closed"}
    ranges: ClassVar[Mapping[str, Range]] = {"threshold": FINITE}

    def __init__(self, name: str | None = None, *, threshold: Any = 0.5) -> None:
        super().__init__(threshold=threshold)
        given: object = name
        if given is not None and not (isinstance(given, str) and given):
            raise InputError(f"Switch: expected an input's name as text; found {name!r}")
        self.input_name = name
        self.signals = 0 if name is not None else 1


class Diode(Switching):
    """Ideal diode or check valve: conducts flow into it without effort, and blocks it the other way.

    It opens when the flow would become negative and closes when the effort would become positive. A forward
    voltage is an ``Se`` in series, an on-resistance an ``R``.

    Parameters
    ----------
    **parameters
        None: it has none.
    """

    words: ClassVar[Mapping[int, str]] = {0: "off", 1: "on"}


class Stop(Switching):
    """Stop with restitution: nothing until its displacement has used up the gap, then no further.

    ``flow`` into it closes the gap; its effort, which is never negative, holds against it. A blow returns the
    flow with the opposite sign, times the restitution (Newton's law); a rebound too short to be seen is none,
    and then the stop holds until it is pulled.

    Parameters
    ----------
    gap
        Displacement at which it is met.
    restitution
        From 0 (it stays) to 1 (it loses nothing).
    initial
        Displacement at the start.

    Examples
    --------
    >>> from bondloop.bondgraph import I, Model, One, Se, Stop
    >>> m = Model("ball")  # falls from 1 m, downwards is positive
    >>> m.v, m.floor = One(), Stop(gap=1, restitution=0.5)
    >>> _ = Se(effort=9.81 * 2) >> m.v >> [I(mass=2), m.floor]
    >>> run = m.compile().simulate(2)
    >>> print(f"{run.events[0].time:.5f} s")  # sqrt(2 / 9.81)
    0.45152 s
    """

    words: ClassVar[Mapping[int, str]] = {0: "closed", 1: "free"}
    start_mode: ClassVar[int] = 1
    ranges: ClassVar[Mapping[str, Range]] = {
        "gap": FINITE & Range(units=units_of("displacement")),
        "restitution": Range(least=0, most=1, units=("1",)),
    }
    state_word: ClassVar[str] = "displacement"

    def __init__(self, gap: Any = 0.0, restitution: Any = 0.0, *, initial: float | str = 0.0) -> None:
        super().__init__(gap=gap, restitution=restitution)
        self.start = check_plain(initial, "Stop(initial)", units=units_of("displacement"))
        within = self.parameters["gap"]
        if isinstance(within, float) and self.start > within:
            raise InputError(
                f"Stop(gap={within:g}): it would start {self.start - within:g} beyond the gap, at a "
                f"displacement of {self.start:g}; give a larger gap, or a lower displacement with initial=..."
            )

    @property
    def displacement(self) -> Reading:
        """How far it has come, as a signal: ``stop.displacement >> damper``."""
        return reading(self, "displacement")


class Clutch(Switching):
    """Clutch, brake or dry friction: sticks up to its capacity, and slides with it.

    Bonded to a 0-junction between two shafts it is a clutch, to a 1-junction a brake or a friction to ground.

    Parameters
    ----------
    capacity
        Largest effort that it carries: a number, or a function of signals that are bonded to it. Where that
        is negative it carries nothing.

    Examples
    --------
    >>> from bondloop.bondgraph import Clutch, I, Model, One
    >>> m = Model("slider")  # 2 kg at 3 m/s on dry friction of 4 N
    >>> m.v, m.friction = One(), Clutch(capacity=4)
    >>> _ = m.v >> [I(mass=2, initial=6), m.friction]
    >>> run = m.compile().simulate(4)
    >>> [(event.path, event.mode, round(event.time, 6)) for event in run.events]
    [('friction', 'stuck', 1.5)]
    """

    words: ClassVar[Mapping[int, str]] = {0: "stuck", 1: "sliding", -1: "sliding back"}
    ranges: ClassVar[Mapping[str, Range]] = {"capacity": NOT_NEGATIVE & Range(units=units_of("effort"))}

    def __init__(self, capacity: Any) -> None:
        if isinstance(capacity, str) and not any(letter.isdigit() for letter in capacity):
            raise InputError(
                "Clutch(capacity): expected a number, a text with a unit such as '4 N', or a function of the "
                f"signals that are bonded to it, such as lambda p: 0.3 * p; found {capacity!r}"
            )
        self.modulation: Callable[..., Any] | None = capacity if callable(capacity) else None
        self.signals = 1 if callable(capacity) else 0
        super().__init__(**({} if callable(capacity) else {"capacity": capacity}))


@cache
def _own_range(name: str, positive: bool, divides: bool) -> Range | None:
    """Return which numbers a coefficient of a linear element may be, and what it measures."""
    own = POSITIVE if positive else NOT_ZERO if divides else FINITE
    whole = own & Range(units=units_of(name))
    return None if whole == FINITE else whole


def _several(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a coefficient is one for each component; NumPy's single numbers are arrays too."""
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


class OnePort(Element):
    """A one-port with a linear coefficient or a law."""

    coefficients: ClassVar[Mapping[str, str]]
    """Accepted coefficients, with how each enters: ``mul`` or ``div``."""
    positive: ClassVar[bool] = False
    state_word: ClassVar[str] = ""

    law: Law | None = None
    coefficient: tuple[str, Any, str] | None = None
    start: Any = 0.0
    ranges: Mapping[str, Range] = {}

    def __init__(
        self,
        law: Callable[..., Any] | None = None,
        inverse: Callable[..., Any] | str | None = None,
        *,
        initial: float | str | Sequence[float] = 0.0,
        size: int | None = None,
        ranges: Mapping[str, Range] | None = None,
        domain: Domain | str | None = None,
        **coefficients: Any,
    ) -> None:
        self._bonds = []
        kind = type(self).__name__
        if domain is not None:
            self.domain = domain_from(domain, f"{kind}(domain)")
        if law is None and inverse is None:
            if ranges is not None:
                self.ranges = checked_ranges(ranges, coefficients, kind)
                for name, value in coefficients.items():
                    for one in value if _several(value) else [value]:
                        check_number(one, f"{kind}({name})", self.ranges.get(name))
            if len(coefficients) == 1:
                ((name, value),) = coefficients.items()
                if type(value) is float and name in self.coefficients and value > 0.0 and value < 1e300:
                    self.coefficient = (name, value, self.coefficients[name])
                    if size is not None:
                        self.size = checked_size(size, kind)
                    if not isinstance(initial, float) or initial != 0.0:
                        self._set_initial(initial, kind, coefficients)
                    return
                if _several(value) and name in self.coefficients:
                    values = [
                        checked_coefficient(kind, {name: v}, self.coefficients, self.positive)[1]
                        for v in value
                    ]
                    self.coefficient = (name, values, self.coefficients[name])
                    if not values:
                        raise InputError(f"{kind}({name}): expected at least one value; found none")
                    size = len(values) if size is None else size
                    if size != len(values):
                        raise InputError(f"{kind}({name}): {len(values)} values for size {size}")
                    self.size = checked_size(size, kind)
                    self._keep_texts({name: next((v for v in value if isinstance(v, str)), None)})
                    self._set_initial(initial, kind, coefficients)
                    return
            self.coefficient = checked_coefficient(kind, coefficients, self.coefficients, self.positive)
            self._keep_texts(coefficients)
        else:
            self.law = Law(law, inverse, coefficients, kind, ranges)
        self.size = checked_size(size, kind)
        self._set_initial(initial, kind, coefficients)

    def range_of(self, name: str) -> Range | None:
        """Return which numbers the parameter ``name`` may be: as given, within what the element allows."""
        if self.law is not None:
            return self.law.ranges.get(name)
        own = _own_range(name, self.positive, self.coefficients[name] == "div")
        given = self.ranges.get(name)
        return own if given is None else given if own is None else own & given

    def _keep_texts(self, given: Mapping[str, object]) -> None:
        """Keep what was given as text: its unit tells the domain."""
        texts = {word: value for word, value in given.items() if isinstance(value, str)}
        if texts:
            self.texts = {**self.texts, **texts}

    def _set_initial(self, initial: object, kind: str, coefficients: Mapping[str, object]) -> None:
        units = initial_units(self.state_word, {} if self.law else coefficients)
        if _several(initial):
            self.start = [check_plain(v, f"{kind}(initial)", units=units) for v in initial]
            if len(self.start) != (self.size or 1):
                raise InputError(
                    f"{kind}(initial): {len(self.start)} values for size {self.size or 1}; "
                    "give size=..., or one value for each component"
                )
        else:
            self.start = check_plain(initial, f"{kind}(initial)", units=units)
        self._keep_texts({self.state_word: initial} if self.state_word else {})
        if self.start != 0.0 and not self.state_word:
            raise InputError(f"{kind} stores nothing, so it has no initial value")


class I(OnePort):
    """Inertia: flow = momentum / mass, or flow = law(momentum).

    Parameters
    ----------
    law, inverse
        Functions of SymPy expressions: flow of momentum, and momentum of flow.
    initial
        Initial momentum.
    ranges
        Which numbers the parameters of a law may be, ``{"width": Range(above=0)}``; any finite one where
        none is given. A narrower range than the element's own may be given for a coefficient too.
    domain
        Domain of its bond, ``"electric"`` or a `Domain`; coefficients and neighbours tell it if not given.
    mass, inertia, inductance, inertance
        The coefficient; one of them, positive.
    size
        Number of equal or listed components, for a vector bond.
    """

    coefficients: ClassVar[Mapping[str, str]] = {
        "mass": "div",
        "inertia": "div",
        "inductance": "div",
        "inertance": "div",
    }
    positive: ClassVar[bool] = True
    state_word: ClassVar[str] = "momentum"

    @property
    def momentum(self) -> Reading:
        """Its momentum as a signal: ``mass.momentum >> damper``."""
        return reading(self, "momentum")


class C(OnePort):
    """Compliance: effort = stiffness * displacement, or effort = law(displacement).

    Parameters
    ----------
    law, inverse
        Functions of SymPy expressions: effort of displacement, and displacement of effort.
    initial
        Initial displacement.
    ranges, domain
        Which numbers the parameters may be, and the domain, as for `I`.
    stiffness, compliance, capacitance
        The coefficient; one of them. A stiffness may be negative.
    size
        Number of equal or listed components, for a vector bond.
    """

    coefficients: ClassVar[Mapping[str, str]] = {
        "stiffness": "mul",
        "compliance": "div",
        "capacitance": "div",
    }
    state_word: ClassVar[str] = "displacement"

    @property
    def displacement(self) -> Reading:
        """Its displacement as a signal: ``spring.displacement >> damper``."""
        return reading(self, "displacement")


class R(OnePort):
    """Resistor: effort = resistance * flow, or effort = law(flow).

    Parameters
    ----------
    law, inverse
        Functions of SymPy expressions: effort of flow, and flow of effort. Either may be given alone.
    ranges, domain
        Which numbers the parameters may be, and the domain, as for `I`.
    damping, resistance, conductance
        The coefficient; one of them.
    size
        Number of equal or listed components, for a vector bond.
    initial
        A resistor stores nothing: zero.
    """

    coefficients: ClassVar[Mapping[str, str]] = {"damping": "mul", "resistance": "mul", "conductance": "div"}


class RS(R):
    """Resistor with a thermal port: what it takes leaves it as heat.

    ``v >> brake >> disc``: the bond drawn to it is that of a resistor, with the same laws and coefficients;
    the one drawn from it carries the heat, whatever its temperature (the effort there) is. Its variables are
    ``brake.effort``, ``brake.flow``; ``brake.heat.effort``, ``brake.heat.flow``.

    Parameters
    ----------
    law, inverse, ranges, damping, resistance, conductance
        As for `R`; a coefficient must be positive, for heat does not turn back into work.
    gives
        What flows out of the thermal port. ``"entropy"``: power / temperature, in W/K, so that effort times
        flow is the power there too (temperature in kelvin). ``"heat"``: the power itself, in W; effort times
        flow is then no power, as in the thermal networks of engineers.

    Examples
    --------
    >>> from bondloop.bondgraph import RS, C, I, Model, One, Zero
    >>> m = Model("brake")
    >>> m.v, m.brake, m.disc = One(), RS(damping=2.0, gives="heat"), Zero()
    >>> _ = m.v >> I(mass=4.0, initial=12.0)
    >>> _ = m.v >> m.brake >> m.disc >> C(capacitance=5.0)
    >>> run = m.compile().simulate(50)
    >>> print(f"{run['disc.effort'][-1]:.3f} K warmer")  # 4 kg at 3 m/s: 18 J in 5 J/K
    3.600 K warmer
    """

    positive: ClassVar[bool] = True
    _sides = (1, 1)

    def __init__(
        self,
        law: Callable[..., Any] | None = None,
        inverse: Callable[..., Any] | str | None = None,
        *,
        gives: str | None = None,
        ranges: Mapping[str, Range] | None = None,
        **coefficients: Any,
    ) -> None:
        for name in ("initial", "size"):
            if name in coefficients:
                raise InputError(unknown_name("parameter", name, [*self.coefficients, "gives"], where="RS"))
        if gives not in ("entropy", "heat"):
            raise InputError(
                f"RS(gives): expected 'entropy' (power / temperature) or 'heat' (the power); found {gives!r}"
            )
        super().__init__(law, inverse, ranges=ranges, **coefficients)
        self.gives = gives


class Source(Element):
    """A source: an input by name, a fixed zero, or a constant given by symbols."""

    word: ClassVar[str] = ""

    def __init__(
        self,
        name: str | None = None,
        *,
        size: int | None = None,
        domain: Domain | str | None = None,
        **value: Any,
    ) -> None:
        super().__init__()
        if domain is not None:
            self.domain = domain_from(domain, f"{type(self).__name__}(domain)")
        self.texts = {word: text for word, text in value.items() if isinstance(text, str)}
        for key in value:
            if key != self.word:
                raise InputError(unknown_name("parameter", key, [self.word], where=type(self).__name__))
        self.input_name = name
        kind = type(self).__name__
        given: object = name
        if given is not None and not (isinstance(given, str) and given):
            raise InputError(
                f"{kind}: expected an input's name as text; found {name!r} (a value is {self.word}=...)"
            )
        self.value = (
            check_number(value[self.word], f"{kind}({self.word})", units=units_of(self.word))
            if value
            else None
        )
        self.size = checked_size(size, kind)


class Se(Source):
    """Source of effort. ``Se("F")`` is an input named F; ``Se(effort=10)`` an input with that default.

    Parameters
    ----------
    name
        Of the input; None: that of the attribute it is assigned to.
    size
        Number of components of its bond, for a vector bond.
    effort
        The input's default.
    domain
        Domain of its bond, ``Se("V", domain="electric")``, where no neighbour tells it.
    """

    word: ClassVar[str] = "effort"


class Sf(Source):
    """Source of flow. ``Sf("r")`` is an input named r; ``Sf(flow=0)`` a fixed wall.

    Parameters
    ----------
    name
        Of the input; None: that of the attribute it is assigned to.
    size
        Number of components of its bond, for a vector bond.
    flow
        The input's default.
    domain
        Domain of its bond, where no neighbour tells it.
    """

    word: ClassVar[str] = "flow"


class SS(Element):
    """Source-sensor: imposes the one variable of its bond (an input), senses the other (an output).

    Which is which follows from the causality, unless ``imposes`` says so. Two that are bicausal (Gawthrop
    1995) make a model its own inverse: one imposes both variables of its bond, ``SS("both")``, the other
    imposes neither and senses both, ``SS("neither")``; as many of these as of those.

    Parameters
    ----------
    imposes
        ``"effort"``, ``"flow"``, ``"both"``, ``"neither"`` or None.
    size
        Number of components of its bond, for a vector bond.
    domain
        Domain of its bond; found from its neighbour if not given.
    """

    def __init__(
        self, imposes: str | None = None, *, size: int | None = None, domain: Domain | str | None = None
    ) -> None:
        super().__init__()
        if domain is not None:
            self.domain = domain_from(domain, "SS(domain)")
        if imposes not in (None, "effort", "flow", "both", "neither"):
            raise InputError(
                f"SS(imposes): expected 'effort', 'flow', 'both', 'neither' or None; found {imposes!r}"
            )
        self.imposes = imposes
        self.size = checked_size(size, "SS")
