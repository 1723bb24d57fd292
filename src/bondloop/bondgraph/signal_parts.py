"""Signal parts: detectors, inputs, integrators and functions of signals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from bondloop.bondgraph.formulas import checked_parameters
from bondloop.bondgraph.laws import check_plain
from bondloop.bondgraph.parts import Remembering
from bondloop.errors import InputError, ModelError
from bondloop.units import quantity

if TYPE_CHECKING:
    from bondloop.data.ranges import Range

__all__ = ["De", "Df", "Function", "Input", "Integrator"]


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


class Integrator(_SignalPart):
    """Integral of a signal over time, a state: ``Df() >> Integrator()`` is a displacement or an angle.

    Parameters
    ----------
    initial
        Its value at the beginning.
    """

    symbol = "∫"
    state_word: ClassVar[str] = "value"

    def __init__(self, initial: float | str = 0.0) -> None:
        super().__init__()
        self.start = check_plain(initial, "Integrator(initial)")
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
