"""Elements: sources, storage, resistors, two-ports, fields, detectors and signal parts.

Efforts and flows are those of the bond; power counts as positive in the direction of its half arrow. The law
of a passive element holds for power flowing into it: ``junction >> I(mass=2)``. An arrow drawn out of the
element reverses the sign of its flow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from bondloop.bondgraph.laws import Law, check_number, check_plain, checked_coefficient, checked_size
from bondloop.bondgraph.parts import Part
from bondloop.errors import InputError, ModelError, unknown_name

__all__ = [
    "GY", "MC", "MGY", "MR", "MTF", "SS", "TF", "C", "CField", "De", "Df", "Element", "Function", "I",
    "IField", "Input", "Integrator", "MSe", "MSf", "R", "RField", "Se", "Sf",
]  # fmt: skip


class Element(Part):
    """Base of all elements that hold a law."""

    signals = 0
    """Least number of signal bonds it needs."""


class _OnePort(Element):
    """A one-port with a linear coefficient or a law."""

    coefficients: ClassVar[Mapping[str, str]]
    """Accepted coefficients, with how each enters: ``mul`` or ``div``."""
    positive: ClassVar[bool] = False
    state_word: ClassVar[str] = ""

    law: Law | None = None
    coefficient: tuple[str, Any, str] | None = None
    start: Any = 0.0

    def __init__(
        self,
        law: Callable[..., Any] | None = None,
        inverse: Callable[..., Any] | str | None = None,
        *,
        initial: float | str | Sequence[float] = 0.0,
        size: int | None = None,
        **coefficients: Any,
    ) -> None:
        self._bonds = []
        kind = type(self).__name__
        if law is None and inverse is None:
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
            self.law = Law(law, inverse, coefficients, kind)
        self.size = checked_size(size, kind)
        self._set_initial(initial, kind)

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

    Which is which follows from the causality, unless ``imposes`` says so.

    Parameters
    ----------
    imposes
        ``"effort"``, ``"flow"`` or None.
    """

    def __init__(self, imposes: str | None = None, *, size: int | None = None) -> None:
        super().__init__()
        if imposes not in (None, "effort", "flow"):
            raise InputError(f"SS(imposes): expected 'effort', 'flow' or None; found {imposes!r}")
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
    parameters
        Named parameters of the law, with values.
    """

    signals = 1
    state_word: ClassVar[str] = "displacement"

    def __init__(self, law: Callable[..., Any], *, initial: float | str = 0.0, **parameters: Any) -> None:
        super().__init__()
        if not callable(law):
            raise InputError(f"MC: expected a law as a function; found {law!r}")
        self.modulation = law
        self.parameters = {name: check_number(v, f"MC({name})") for name, v in parameters.items()}
        self.start = check_number(initial, "MC(initial)")


class _TwoPort(Element):
    """A power-conserving two-port: the bond drawn to it is its input, the one drawn from it its output."""

    word: ClassVar[str] = ""
    size = None

    def __init__(self, coefficient: Any = None, *, size: int | None = None, **given: Any) -> None:
        super().__init__()
        kind = type(self).__name__
        for key in given:
            if key != self.word:
                raise InputError(unknown_name("parameter", key, [self.word], where=kind))
        value = given.get(self.word, coefficient)
        if value is None:
            raise InputError(f"{kind} needs its {self.word}, such as {kind}({self.word}=2)")
        self.coefficient = check_number(value, f"{kind}({self.word})")
        if self.coefficient == 0.0:
            raise InputError(f"{kind}({self.word}=0) transmits nothing; leave the element out instead")
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


class _Field(Element):
    """An N-port element with a matrix; its ports are ``field[0]``, ``field[1]``, ..."""

    word: ClassVar[str] = ""
    symmetric: ClassVar[bool] = True
    state_word: ClassVar[str] = ""

    def __init__(self, matrix: Any = None, *, initial: Sequence[float] | None = None, **given: Any) -> None:
        super().__init__()
        kind = type(self).__name__
        for key in given:
            if key != self.word:
                raise InputError(unknown_name("parameter", key, [self.word], where=kind))
        matrix = given.get(self.word, matrix)
        if matrix is None:
            raise InputError(f"{kind} needs its {self.word} matrix")
        self.matrix = matrix if hasattr(matrix, "tocsr") else _matrix(matrix)
        n, m = self.matrix.shape
        if n != m or n < 1:
            raise InputError(f"{kind}({self.word}): expected a square matrix; found shape {(n, m)}")
        self.size = int(n)
        self._check(kind)
        self.start = (
            [0.0] * self.size if initial is None else [check_number(v, f"{kind}(initial)") for v in initial]
        )
        if len(self.start) != self.size:
            raise InputError(f"{kind}(initial): expected {self.size} values; found {len(self.start)}")

    def entries(self) -> list[list[tuple[int, Any]]]:
        """Non-zero entries by row: (column, value)."""
        if hasattr(self.matrix, "tocsr"):
            m = self.matrix.tocsr()
            return [
                [(int(j), float(v)) for j, v in zip(m.indices[a:b], m.data[a:b], strict=True) if v]
                for a, b in zip(m.indptr[:-1], m.indptr[1:], strict=True)
            ]
        return [
            [(j, self.matrix[i, j]) for j in range(self.size or 0) if self.matrix[i, j] != 0]
            for i in range(self.size or 0)
        ]

    def _check(self, kind: str) -> None:
        if self.symmetric and hasattr(self.matrix, "free_symbols") and self.matrix != self.matrix.T:
            raise InputError(
                f"{kind}({self.word}): the matrix is not symmetric; "
                "a storage field that conserves energy needs a symmetric matrix"
            )
        numeric = not hasattr(self.matrix, "free_symbols")
        if numeric and not np.all(
            np.isfinite(self.matrix.data if hasattr(self.matrix, "tocsr") else self.matrix)
        ):
            raise InputError(f"{kind}({self.word}): the matrix has entries that are not finite")
        if numeric and self.symmetric:
            difference = abs(self.matrix - self.matrix.T)
            largest = difference.max()
            if largest > 1e-9 * abs(self.matrix).max():
                raise InputError(
                    f"{kind}({self.word}): the matrix is not symmetric (entries differ by {largest:.3g}); "
                    "a storage field that conserves energy needs a symmetric matrix"
                )


def _matrix(given: Any) -> Any:
    if hasattr(given, "free_symbols"):
        if given.free_symbols:
            return given
        given = given.tolist()
    try:
        rows = [list(r) for r in given]
    except TypeError:
        raise InputError(f"expected a square matrix, as rows of numbers; found {given!r}") from None
    if any(getattr(v, "free_symbols", None) for row in rows for v in row):
        import sympy as sp

        return sp.Matrix(rows)
    try:
        return np.atleast_2d(np.asarray(rows, dtype=float))
    except (TypeError, ValueError):
        raise InputError("expected a matrix of numbers or SymPy expressions") from None


class IField(_Field):
    """Inertia field: momentum = mass @ flow, with a symmetric mass matrix. Its states are the flows.

    Flows are kept as states because then mass @ d(flow)/dt = effort holds as it stands: the mass matrix goes
    into E and is never inverted, so that a sparse one stays sparse.
    """

    word: ClassVar[str] = "mass"
    state_word: ClassVar[str] = "flow"

    def _check(self, kind: str) -> None:
        super()._check(kind)
        if hasattr(self.matrix, "tocsr"):
            diagonal = self.matrix.diagonal()
            if diagonal.min() <= 0:  # all that can be said at little cost; a singular one shows when solved
                raise InputError(
                    f"{kind}(mass): the matrix is not positive definite (diagonal entry "
                    f"{int(diagonal.argmin())} is {diagonal.min():.3g}); every degree of freedom needs a mass"
                )
        elif not hasattr(self.matrix, "free_symbols"):
            smallest = float(np.linalg.eigvalsh(self.matrix).min())
            if smallest <= 0:
                raise InputError(
                    f"{kind}(mass): the matrix is not positive definite (smallest eigenvalue "
                    f"{smallest:.3g}); check for a degree of freedom without mass"
                )


class CField(_Field):
    """Compliance field: effort = stiffness @ displacement, with a symmetric stiffness matrix."""

    word: ClassVar[str] = "stiffness"
    state_word: ClassVar[str] = "displacement"


class RField(_Field):
    """Resistor field: effort = resistance @ flow."""

    word: ClassVar[str] = "resistance"
    symmetric: ClassVar[bool] = False

    def __init__(self, matrix: Any = None, **given: Any) -> None:
        if "initial" in given:
            raise InputError("RField stores nothing, so it has no initial value")
        super().__init__(matrix, **given)


class _SignalPart(Part):
    is_signal = True


class Input(_SignalPart):
    """An input of the model as a signal: ``Input("x_d") >> MC(...)``."""

    symbol = "u"

    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self.input_name = name


class De(_SignalPart):
    """Effort detector: ``zero >> De()``. It is an output, and its signal can be bonded on."""


class Df(_SignalPart):
    """Flow detector: ``one >> Df()``. It is an output, and its signal can be bonded on."""


class Integrator(_SignalPart):
    """Integral of a signal over time, a state: ``Df() >> Integrator()`` is a displacement or an angle."""

    symbol = "∫"
    state_word: ClassVar[str] = "value"

    def __init__(self, initial: float | str = 0.0) -> None:
        super().__init__()
        self.start = check_plain(initial, "Integrator(initial)")


class Function(_SignalPart):
    """A signal computed from signals, in the order in which they are bonded to it."""

    symbol = "ƒ"

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        if not callable(function):
            raise ModelError(f"Function: expected a function of SymPy expressions; found {function!r}")
        self.function = function
