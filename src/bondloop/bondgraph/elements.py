"""Elements: sources, storage, resistors, two-ports, fields, detectors and signal parts.

Efforts and flows are those of the bond; power counts as positive in the direction of its half arrow. The law
of a passive element holds for power flowing into it: ``junction >> I(mass=2)``. An arrow drawn out of the
element reverses the sign of its flow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from bondloop.bondgraph.field_elements import CField, Field, IField, RField
from bondloop.bondgraph.laws import (
    Law,
    check_number,
    check_plain,
    checked_coefficient,
    checked_ranges,
    checked_size,
)
from bondloop.bondgraph.multiport import Multiport
from bondloop.bondgraph.parts import Element
from bondloop.bondgraph.potentials import ICField
from bondloop.bondgraph.signal_parts import De, Df, Function, Input, Integrator
from bondloop.errors import InputError, unknown_name
from bondloop.program.ranges import NOT_ZERO, POSITIVE, Range

__all__ = [
    "GY",
    "MC",
    "MGY",
    "MR",
    "MTF",
    "SS",
    "TF",
    "C",
    "CField",
    "De",
    "Df",
    "Element",
    "Field",
    "Function",
    "I",
    "ICField",
    "IField",
    "Input",
    "Integrator",
    "MSe",
    "MSf",
    "Multiport",
    "R",
    "RField",
    "Se",
    "Sf",
]  # fmt: skip


class _OnePort(Element):
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
        **coefficients: Any,
    ) -> None:
        self._bonds = []
        kind = type(self).__name__
        if law is None and inverse is None:
            if ranges is not None:
                self.ranges = checked_ranges(ranges, coefficients, kind)
                for name, value in coefficients.items():
                    for one in value if isinstance(value, (list, tuple, np.ndarray)) else [value]:
                        check_number(one, f"{kind}({name})", self.ranges.get(name))
            if len(coefficients) == 1:
                ((name, value),) = coefficients.items()
                if type(value) is float and name in self.coefficients and value > 0.0 and value < 1e300:
                    self.coefficient = (name, value, self.coefficients[name])
                    if size is not None:
                        self.size = checked_size(size, kind)
                    if not isinstance(initial, float) or initial != 0.0:
                        self._set_initial(initial, kind)
                    return
                if isinstance(value, (list, tuple, np.ndarray)) and name in self.coefficients:
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
                    self._set_initial(initial, kind)
                    return
            self.coefficient = checked_coefficient(kind, coefficients, self.coefficients, self.positive)
        else:
            self.law = Law(law, inverse, coefficients, kind, ranges)
        self.size = checked_size(size, kind)
        self._set_initial(initial, kind)

    def range_of(self, name: str) -> Range | None:
        """Return which numbers a parameter may be: as given, within what the kind of element allows."""
        if self.law is not None:
            return self.law.ranges.get(name)
        own = POSITIVE if self.positive else NOT_ZERO if self.coefficients[name] == "div" else None
        given = self.ranges.get(name)
        return own if given is None else given if own is None else own & given

    def _set_initial(self, initial: Any, kind: str) -> None:
        if isinstance(initial, (list, tuple, np.ndarray)):
            self.start = [check_plain(v, f"{kind}(initial)") for v in initial]
            if len(self.start) != (self.size or 1):
                raise InputError(
                    f"{kind}(initial): {len(self.start)} values for size {self.size or 1}; "
                    "give size=..., or one value for each component"
                )
        else:
            self.start = check_plain(initial, f"{kind}(initial)")
        if self.start != 0.0 and not self.state_word:
            raise InputError(f"{kind} stores nothing, so it has no initial value")


class I(_OnePort):
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
    mass, inertia, inductance, inertance
        The coefficient; one of them, positive.
    """

    coefficients: ClassVar[Mapping[str, str]] = {
        "mass": "div",
        "inertia": "div",
        "inductance": "div",
        "inertance": "div",
    }
    positive: ClassVar[bool] = True
    state_word: ClassVar[str] = "momentum"


class C(_OnePort):
    """Compliance: effort = stiffness * displacement, or effort = law(displacement).

    Parameters
    ----------
    law, inverse
        Functions of SymPy expressions: effort of displacement, and displacement of effort.
    initial
        Initial displacement.
    ranges
        Which numbers the parameters may be, as for `I`.
    stiffness, compliance, capacitance
        The coefficient; one of them. A stiffness may be negative.
    """

    coefficients: ClassVar[Mapping[str, str]] = {
        "stiffness": "mul",
        "compliance": "div",
        "capacitance": "div",
    }
    state_word: ClassVar[str] = "displacement"


class R(_OnePort):
    """Resistor: effort = resistance * flow, or effort = law(flow).

    Parameters
    ----------
    law, inverse
        Functions of SymPy expressions: effort of flow, and flow of effort. Either may be given alone.
    ranges
        Which numbers the parameters may be, as for `I`.
    damping, resistance, conductance
        The coefficient; one of them.
    """

    coefficients: ClassVar[Mapping[str, str]] = {"damping": "mul", "resistance": "mul", "conductance": "div"}


class _Source(Element):
    """A source: an input by name, a fixed zero, or a constant given by symbols."""

    word: ClassVar[str] = ""

    def __init__(self, name: str | None = None, *, size: int | None = None, **value: Any) -> None:
        super().__init__()
        for key in value:
            if key != self.word:
                raise InputError(unknown_name("parameter", key, [self.word], where=type(self).__name__))
        self.input_name = name
        kind = type(self).__name__
        given: Any = name
        if given is not None and not (isinstance(given, str) and given):
            raise InputError(
                f"{kind}: expected an input's name as text; found {name!r} (a value is {self.word}=...)"
            )
        self.value = check_number(value[self.word], f"{kind}({self.word})") if value else None
        self.size = checked_size(size, kind)


class Se(_Source):
    """Source of effort. ``Se("F")`` is an input named F; ``Se(effort=10)`` an input with that default."""

    word: ClassVar[str] = "effort"


class Sf(_Source):
    """Source of flow. ``Sf("r")`` is an input named r; ``Sf(flow=0)`` a fixed wall."""

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
    """

    def __init__(self, imposes: str | None = None, *, size: int | None = None) -> None:
        super().__init__()
        if imposes not in (None, "effort", "flow", "both", "neither"):
            raise InputError(
                f"SS(imposes): expected 'effort', 'flow', 'both', 'neither' or None; found {imposes!r}"
            )
        self.imposes = imposes
        self.size = checked_size(size, "SS")


def _modulation(kind: str, word: str, value: Any) -> Callable[..., Any] | None:
    if value is not None and not callable(value):
        raise InputError(
            f"{kind}({word}): expected a function of its signals; "
            f"found {value!r} (without a signal use {kind[1:]})"
        )
    function: Callable[..., Any] | None = value
    return function


class _ModulatedSource(Element):
    word: ClassVar[str] = ""
    signals = 1

    def __init__(self, modulation: Callable[..., Any] | None = None) -> None:
        super().__init__()
        self.modulation = _modulation(type(self).__name__, self.word, modulation)


class MSe(_ModulatedSource):
    """Source of effort given by signals; ``MSe()`` copies its signal, ``MSe(lambda a: 2 * a)`` computes."""

    word: ClassVar[str] = "effort"


class MSf(_ModulatedSource):
    """Source of flow given by signals."""

    word: ClassVar[str] = "flow"


class MR(Element):
    """Resistor whose coefficient is a function of signals: effort = resistance(signals) * flow."""

    signals = 1

    def __init__(self, resistance: Callable[..., Any] | None = None) -> None:
        super().__init__()
        self.modulation = _modulation("MR", "resistance", resistance)


class MC(Element):
    """Compliance whose law takes signals too: effort = law(displacement, signals..., parameters...).

    ``MC(lambda q, x_d, k: k * (q - x_d), k=4750)`` is a spring whose far end is moved by the signal x_d.

    Parameters
    ----------
    law
        Function of SymPy expressions: the displacement, then one argument per signal, then the parameters.
    initial
        Initial displacement.
    ranges
        Which numbers the parameters may be; any finite one where none is given.
    parameters
        Named parameters of the law, with values.
    """

    signals = 1
    state_word: ClassVar[str] = "displacement"

    def __init__(
        self,
        law: Callable[..., Any],
        *,
        initial: float | str = 0.0,
        ranges: Mapping[str, Range] | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__()
        if not callable(law):
            raise InputError(f"MC: expected a law as a function; found {law!r}")
        self.modulation = law
        self.ranges = checked_ranges(ranges, parameters, "MC")
        self.parameters = {
            name: check_number(v, f"MC({name})", self.ranges.get(name)) for name, v in parameters.items()
        }
        self.start = check_number(initial, "MC(initial)")


class _TwoPort(Element):
    """A power-conserving two-port: the bond drawn to it is its input, the one drawn from it its output."""

    word: ClassVar[str] = ""
    size = None

    def __init__(
        self,
        coefficient: Any = None,
        *,
        size: int | None = None,
        ranges: Mapping[str, Range] | None = None,
        **given: Any,
    ) -> None:
        super().__init__()
        kind = type(self).__name__
        self.range = NOT_ZERO & checked_ranges(ranges, [self.word], kind).get(self.word, NOT_ZERO)
        for key in given:
            if key != self.word:
                raise InputError(unknown_name("parameter", key, [self.word], where=kind))
        value = given.get(self.word, coefficient)
        if value is None:
            raise InputError(f"{kind} needs its {self.word}, such as {kind}({self.word}=2)")
        self.coefficient = check_number(value, f"{kind}({self.word})")
        if self.coefficient == 0.0:
            raise InputError(f"{kind}({self.word}=0) transmits nothing; leave the element out instead")
        check_number(value, f"{kind}({self.word})", self.range)
        self.size = checked_size(size, kind)


class TF(_TwoPort):
    """Transformer: effort_in = modulus * effort_out, flow_out = modulus * flow_in."""

    word: ClassVar[str] = "modulus"


class GY(_TwoPort):
    """Gyrator: effort_in = ratio * flow_out, effort_out = ratio * flow_in."""

    word: ClassVar[str] = "ratio"


class _ModulatedTwoPort(Element):
    word: ClassVar[str] = ""
    signals = 1

    def __init__(self, modulation: Callable[..., Any] | None = None) -> None:
        super().__init__()
        self.modulation = _modulation(type(self).__name__, self.word, modulation)


class MTF(_ModulatedTwoPort):
    """Transformer whose modulus is a function of signals: ``MTF(lambda angle: cos(angle))``."""

    word: ClassVar[str] = "modulus"


class MGY(_ModulatedTwoPort):
    """Gyrator whose ratio is a function of signals."""

    word: ClassVar[str] = "ratio"
