"""Transformers and gyrators: they pass on all the power they receive."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bondloop.bondgraph.elements.laws import (
    Formula,
    check_number,
    checked_ranges,
    checked_size,
    is_matrix,
    modulation_of,
)
from bondloop.bondgraph.elements.signals import Modulated
from bondloop.bondgraph.parts import Element
from bondloop.engine.data import NOT_ZERO, Range
from bondloop.errors import InputError, ModelError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class TwoPort(Element):
    """A power-conserving two-port: the bond drawn to it is its input, the one drawn from it its output."""

    forms: ClassVar[Mapping[str, str]]
    """Words for its coefficient, with how it enters: ``mul`` or ``div``."""

    def __init__(
        self,
        coefficient: Any = None,
        *,
        size: int | None = None,
        ranges: Mapping[str, Range] | None = None,
        **given: Any,
    ) -> None:
        super().__init__()
        kind, words = type(self).__name__, list(self.forms)
        for key in given:
            if key not in self.forms:
                raise InputError(unknown_name("parameter", key, words, where=kind))
        if len(given) + (coefficient is not None) > 1:
            first = [] if coefficient is None else ["a first argument"]
            raise InputError(f"{kind} takes one of {', '.join(words)}; found {', '.join([*first, *given])}")
        self.word = next(iter(given), words[0])
        value = given.get(self.word, coefficient)
        if value is None:
            raise InputError(f"{kind} needs its {self.word}, such as {kind}({self.word}=2)")
        self.range = NOT_ZERO & checked_ranges(ranges, [self.word], kind).get(self.word, NOT_ZERO)
        self.size = checked_size(size, kind)
        self._set(value, kind, ranged=ranges is not None)

    def _set(self, value: Any, kind: str, *, ranged: bool) -> None:  # noqa: ARG002 - a matrix has no range
        self.coefficient = check_number(value, f"{kind}({self.word})")
        if isinstance(value, str):
            self.texts = {self.word: value}
        if self.coefficient == 0.0:
            raise InputError(f"{kind}({self.word}=0) transmits nothing; leave the element out instead")
        check_number(value, f"{kind}({self.word})", self.range)

    @property
    def form(self) -> str:
        """How the coefficient enters: ``mul`` or ``div``."""
        return self.forms[self.word]


class MatrixTransformer:
    """What transformers with a matrix have in common, modulated or not."""

    forms: ClassVar[Mapping[str, str]] = {"modulus": "mul", "effort_ratio": "div"}
    path: str
    form: str

    def _accepts(self, index: int | None) -> None:
        shape = self._sides  # type: ignore[attr-defined]
        if shape is None:
            super()._accepts(index)  # type: ignore[misc]
        elif index is not None and not 0 <= index < max(shape):
            raise ModelError(
                f"{self.path} has no port [{index}]; it takes {shape[0]} bonds and gives {shape[1]}"
            )


class TF(MatrixTransformer, TwoPort):
    """Transformer: flow_out = modulus * flow_in, effort_in = modulus * effort_out.

    With a matrix it joins several bonds: flow_out = modulus @ flow_in, effort_in = modulus.T @ effort_out,
    one row for each bond drawn from it and one column for each bond drawn to it. ``arm[i]`` is its i-th input
    where a bond is drawn to it, its i-th output where one is drawn from it; a vector bond is all of a side.

    Parameters
    ----------
    modulus
        A number, a SymPy expression, or a matrix of them: flow_out / flow_in.
    effort_ratio
        The same the other way round, effort_out / effort_in: effort_out = effort_ratio * effort_in, flow_in =
        effort_ratio * flow_out; for a matrix flow_in = effort_ratio.T @ flow_out. Give one of the two.
    size
        Number of components of a transformer with one modulus for a vector bond.
    ranges
        Which numbers the modulus may be, ``{"modulus": Range(above=0)}``; any but zero where none is given.
    coefficient
        The modulus, as first argument.

    Examples
    --------
    >>> from bondloop.bondgraph import I, Model, One, R, Se, TF
    >>> m = Model("body")  # a rigid body in the plane: its far corner moves with vx - b w, vy + a w
    >>> m.v, m.corner = One(size=3), One(size=2)
    >>> _ = m.v >> I(mass=[2.0, 2.0, 0.5])
    >>> _ = m.v >> TF([[1, 0, -0.3], [0, 1, 0.4]]) >> m.corner >> R(damping=[1.0, 1.0])
    >>> m.compile(outputs=["corner[0].flow"]).numeric().C.toarray()
    array([[ 0.5,  0. , -0.6]])
    """

    matrix: Any = None

    def _set(self, value: Any, kind: str, *, ranged: bool) -> None:
        if not is_matrix(value):
            super()._set(value, kind, ranged=ranged)
            return
        if ranged or self.size is not None:
            raise InputError(f"{kind}({self.word}): a matrix has a size of its own, and no range")
        self.matrix = _matrix(value, f"{kind}({self.word})")
        rows, columns = self.matrix.shape
        self._sides = (columns, rows)

    def formula(self) -> Formula:
        """Return the matrix, as a formula of no signals."""
        import sympy as sp

        return Formula((), {}, sp.Matrix(self.matrix))


def _matrix(value: Any, where: str) -> Any:
    """Return rows of numbers or of SymPy expressions, each checked, as an array of objects."""
    rows = value.toarray() if hasattr(value, "tocsr") else value
    rows = rows.tolist() if hasattr(rows, "tolist") else list(rows)
    if not rows or not all(isinstance(row, (list, tuple)) and row for row in rows):
        raise InputError(f"{where}: expected a number, or a matrix as rows of numbers; found {value!r}")
    if len({len(row) for row in rows}) != 1:
        raise InputError(f"{where}: the rows of the matrix differ in length: {[len(row) for row in rows]}")
    entries = [
        [check_number(v, f"{where}[{i},{j}]") for j, v in enumerate(row)] for i, row in enumerate(rows)
    ]
    if all(v == 0.0 for row in entries for v in row):
        raise InputError(
            f"{where}: all entries are zero, so it transmits nothing; leave the element out instead"
        )
    matrix = np.empty((len(entries), len(entries[0])), dtype=object)
    matrix[:] = entries
    return matrix


class GY(TwoPort):
    """Gyrator: effort_in = ratio * flow_out, effort_out = ratio * flow_in.

    ``GY(admittance=g)`` is the same the other way round: flow_out = g * effort_in, flow_in = g * effort_out.

    Parameters
    ----------
    coefficient, ratio, admittance
        A number or a SymPy expression; one of them, the first is the ratio.
    size
        Number of components, for vector bonds.
    ranges
        Which numbers the ratio may be, as for `TF`.
    """

    forms: ClassVar[Mapping[str, str]] = {"ratio": "mul", "admittance": "div"}


class MTF(MatrixTransformer, Modulated):
    """Transformer whose modulus is a function of signals: ``MTF(lambda angle, r: r * cos(angle), r=0.2)``.

    A function that returns rows makes a matrix transformer, as for `TF`; ``MTF(effort_ratio=...)`` gives the
    modulus the other way round.

    Parameters
    ----------
    function, modulus, effort_ratio
        Of SymPy expressions: one argument per signal, in the order in which they are bonded to it, then the
        parameters. None copies the only signal.
    ranges
        Which numbers the parameters may be; any finite one where none is given.
    **parameters
        Named parameters of the function, with values.
    """

    @cached_property
    def _sides(self) -> tuple[int, int] | None:  # type: ignore[override]
        """Numbers of inputs and outputs where the function returns a matrix."""
        if self.modulation is None:
            return None
        value = self.formula().value
        return (value.shape[1], value.shape[0]) if is_matrix(value) else None

    def formula(self) -> Formula:
        """Return what the function gives for symbols."""
        function: Callable[..., Any] | None = self.modulation
        assert function is not None
        return modulation_of(function, self.parameters, self.path)


class MGY(Modulated):
    """Gyrator whose ratio is a function of signals; ``MGY(admittance=...)`` gives it the other way round.

    Parameters
    ----------
    function, ratio, admittance
        Of SymPy expressions: one argument per signal, in the order in which they are bonded to it, then the
        parameters. None copies the only signal.
    ranges
        Which numbers the parameters may be; any finite one where none is given.
    **parameters
        Named parameters of the function, with values.

    Examples
    --------
    >>> from bondloop.bondgraph import I, Input, Model, MGY, One, R, Se
    >>> m = Model("motor")  # its torque constant is the field, an input
    >>> m.field, m.motor, m.i, m.w = Input("k"), MGY(), One(), One()
    >>> _ = Se(effort=12.0) >> m.i >> m.motor >> m.w >> [I(inertia=0.1), R(damping=0.5)]
    >>> _ = m.i >> R(resistance=2.0)
    >>> _ = m.field >> m.motor
    >>> run = m.compile().simulate(20, {"k": 1.5})
    >>> print(f"{run['w.flow'][-1]:.4f}")  # 12 k / (2 * 0.5 + k^2)
    5.5385
    """

    forms: ClassVar[Mapping[str, str]] = {"ratio": "mul", "admittance": "div"}
