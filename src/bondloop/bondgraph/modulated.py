"""Elements with a coefficient or law that depends on signals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from bondloop.bondgraph.coefficient_units import units_of
from bondloop.bondgraph.formulas import checked_parameters
from bondloop.bondgraph.laws import check_number
from bondloop.bondgraph.parts import Element, Reading, reading
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.data.ranges import Range

__all__ = ["MC", "MR", "MSe", "MSf", "Modulated"]


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
