"""Elements that switch: ideal switch, ideal diode, stop with restitution, clutch.

Each imposes the flow of its bond in mode 0 (none: it is open, blocks, sticks) and its effort otherwise (none,
or what a sliding clutch can carry). They differ in the rule by which the mode changes; see
:mod:`bondloop.engine.ir.switching`. Flow and effort count into the element, as for a resistor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bondloop.bondgraph.domain import units_of
from bondloop.bondgraph.elements.laws import check_number, check_plain
from bondloop.bondgraph.parts import Element, Reading, reading
from bondloop.engine.data import FINITE, NOT_NEGATIVE, Range
from bondloop.errors import InputError, unknown_name
from bondloop.units import unit_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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
