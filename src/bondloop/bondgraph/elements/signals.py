"""Signal parts: detectors, inputs, integrators and functions of signals.

Elements with a coefficient or law that depends on signals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bondloop.bondgraph.domain import units_of
from bondloop.bondgraph.elements.laws import check_number, check_plain, checked_parameters
from bondloop.bondgraph.parts import Element, Reading, Remembering, reading
from bondloop.errors import InputError, ModelError
from bondloop.units import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bondloop.engine.data import Range


def checked_unit(unit: str | None, what: str) -> str | None:
    """Return a unit that can be read, or None."""
    if unit is None or unit == "":
        return unit
    try:
        factor = quantity(f"1 {unit}")
    except (InputError, TypeError) as error:
        raise InputError(f"{what}: {error}") from None
    if abs(factor - 1.0) > 1e-12:
        raise InputError(f"{what}: expected a unit of the SI without a factor; found {unit!r}")
    return unit


class _SignalPart(Remembering):
    is_signal = True

    def __init__(self) -> None:  # so that detectors take nothing: what remembers takes anything
        super().__init__()


class Input(_SignalPart):
    """An input of the model as a signal: ``Input("x_d", unit="m") >> MC(...)``.

    Parameters
    ----------
    name
        Of the input; None: that of the attribute it is assigned to.
    unit
        What it measures, as an SI unit; None where that is not known.

    Examples
    --------
    >>> from bondloop.bondgraph import I, Input, Model, MSe, One
    >>> m = Model("pushed")
    >>> m.demand, m.push, m.v = Input("u"), MSe(lambda u, gain: gain * u, gain=5.0), One()
    >>> _ = m.demand >> m.push >> m.v >> I(mass=2.0)
    >>> m.compile().inputs
    ('u',)
    """

    symbol = "u"

    def __init__(self, name: str | None = None, *, unit: str | None = None) -> None:
        super().__init__()
        self.input_name = name
        self.unit = checked_unit(unit, "Input(unit)")


class De(_SignalPart):
    """Effort detector: ``zero >> De()``. It is an output, and its signal can be bonded on.

    Examples
    --------
    >>> from bondloop.bondgraph import C, De, Model, R, Sf, Zero
    >>> m = Model("tank")
    >>> m.inflow, m.p, m.gauge = Sf("q"), Zero(), De()
    >>> _ = m.inflow >> m.p >> [C(capacitance=2.0), R(conductance=0.5)]
    >>> _ = m.p >> m.gauge
    >>> m.compile().outputs
    ('gauge',)
    """


class Df(_SignalPart):
    """Flow detector: ``one >> Df()``. It is an output, and its signal can be bonded on."""


class SignalIntegrator(_SignalPart):
    """Integral of a signal over time, a state: ``Df() >> SignalIntegrator()`` is a displacement or an angle.

    Parameters
    ----------
    initial
        Its value at the beginning.
    """

    symbol = "∫"
    state_word: ClassVar[str] = "value"

    def __init__(self, initial: float | str = 0.0) -> None:
        super().__init__()
        self.start = check_plain(initial, "SignalIntegrator(initial)")
        if isinstance(initial, str):
            self.texts = {self.state_word: initial}


class Function(_SignalPart):
    """A signal computed from signals: ``Function(lambda error, gain: gain * error, gain=30)``.

    Parameters
    ----------
    function
        Of SymPy expressions: one argument per signal, in the order in which they are bonded to it, then the
        parameters.
    ranges
        Which numbers the parameters may be; any finite one where none is given.
    unit
        What it gives, as an SI unit; None where that is not known.
    **parameters
        Named parameters of the function, with values; parameters of the model, under the part's path.

    Examples
    --------
    >>> from bondloop.bondgraph import Df, Function, I, Model, MSe, One, R
    >>> m = Model("governed")
    >>> m.v, m.speed = One(), Df()
    >>> m.law, m.drive = Function(lambda v, gain: gain * (3 - v), gain=30), MSe()
    >>> _ = m.v >> m.speed >> m.law >> m.drive >> m.v >> [I(mass=2.0), R(damping=10.0)]
    >>> run = m.compile().simulate(2)
    >>> print(f"{run['v.flow'][-1]:.4f}")  # 30 * 3 / (30 + 10)
    2.2500
    """

    symbol = "ƒ"

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        ranges: Mapping[str, Range] | None = None,
        unit: str | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__()
        self.unit = checked_unit(unit, "Function(unit)")
        if not callable(function):
            raise ModelError(f"Function: expected a function of SymPy expressions; found {function!r}")
        self.function = function
        self.parameters, self.ranges = checked_parameters("Function", function, parameters, ranges)


class Modulated(Element):
    """Base of elements whose coefficient is a function of signals and named parameters.

    Parameters
    ----------
    function
        Of SymPy expressions: one argument per signal, in the order in which they are bonded to it, then the
        parameters. The first of the words below where none is named; None copies the only signal.
    ranges
        Which numbers the parameters may be; any finite one where none is given.
    **parameters
        Named parameters of the function, with values; parameters of the model, under the part's path.
    """

    signals = 1
    forms: ClassVar[Mapping[str, str]]
    """Words under which the function may be given, with how its value enters: ``mul`` or ``div``."""

    def __init__(
        self,
        function: Callable[..., Any] | None = None,
        *,
        ranges: Mapping[str, Range] | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__()
        kind = type(self).__name__
        words = [word for word in self.forms if word in parameters]
        if len(words) > (function is None):
            raise InputError(
                f"{kind} takes one function, as one of {', '.join(self.forms)}; found {', '.join(words)}"
                + ("" if function is None else " beside the first argument")
            )
        self.word = words[0] if words else next(iter(self.forms))
        if words:
            function = parameters.pop(self.word)
        if function is not None and not callable(function):
            raise InputError(
                f"{kind}({self.word}): expected a function of its signals; "
                f"found {function!r} (without a signal use {kind[1:]})"
            )
        self.modulation = function
        self.parameters, self.ranges = checked_parameters(kind, function, parameters, ranges)

    @property
    def form(self) -> str:
        """How the function's value enters: ``mul`` or ``div``."""
        return self.forms[self.word]


class MSe(Modulated):
    """Source of effort given by signals.

    ``MSe()`` copies its signal, ``MSe(lambda a, k: k * a, k=2)`` computes.

    Parameters
    ----------
    function, effort
        Of SymPy expressions: one argument per signal, in the order in which they are bonded to it, then the
        parameters. None copies the only signal.
    ranges
        Which numbers the parameters may be; any finite one where none is given.
    **parameters
        Named parameters of the function, with values.

    Examples
    --------
    >>> from bondloop.bondgraph import I, Input, Model, MSe, One
    >>> m = Model("pushed")
    >>> m.demand, m.push, m.v = Input("u"), MSe(lambda u, gain: gain * u, gain=5.0), One()
    >>> _ = m.demand >> m.push >> m.v >> I(mass=2.0)
    >>> m.compile(outputs=["v.flow"]).transfer_function("v.flow", "u").subs("push.gain", 5)
    5/(I.mass*s)
    """

    forms: ClassVar[Mapping[str, str]] = {"effort": "mul"}


class MSf(Modulated):
    """Source of flow given by signals.

    Parameters
    ----------
    function, flow
        Of SymPy expressions: one argument per signal, in the order in which they are bonded to it, then the
        parameters. None copies the only signal.
    ranges
        Which numbers the parameters may be; any finite one where none is given.
    **parameters
        Named parameters of the function, with values.

    Examples
    --------
    >>> from bondloop.bondgraph import C, Input, Model, MSf, Zero
    >>> m = Model("pump")
    >>> m.valve, m.pump, m.p = Input("opening"), MSf(lambda u, most: most * u, most=0.2), Zero()
    >>> _ = m.valve >> m.pump >> m.p >> C(capacitance=4.0)
    >>> run = m.compile().simulate(10, {"opening": 0.5})
    >>> print(f"{run['p.effort'][-1]:.3f}")  # 0.5 * 0.2 * 10 / 4
    0.250
    """

    forms: ClassVar[Mapping[str, str]] = {"flow": "mul"}


class MR(Modulated):
    """Resistor whose coefficient is a function of signals: effort = resistance(signals) * flow.

    ``MR(conductance=...)`` is one with flow = conductance(signals) * effort.

    Parameters
    ----------
    function, resistance, damping, conductance
        Of SymPy expressions: one argument per signal, in the order in which they are bonded to it, then the
        parameters. None copies the only signal.
    ranges
        Which numbers the parameters may be; any finite one where none is given.
    **parameters
        Named parameters of the function, with values.
    """

    forms: ClassVar[Mapping[str, str]] = {"resistance": "mul", "damping": "mul", "conductance": "div"}


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
        self.parameters, self.ranges = checked_parameters("MC", law, parameters, ranges)
        self.start = check_number(initial, "MC(initial)", units=units_of("displacement"))

    @property
    def displacement(self) -> Reading:
        """Its displacement as a signal."""
        return reading(self, "displacement")
