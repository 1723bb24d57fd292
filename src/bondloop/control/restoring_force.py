"""Forces that are computed from the measured motion, where no load cell is in the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondloop.engine.data import Described
from bondloop.engine.ir import Const, Expr, Var, select
from bondloop.engine.passes import Applied, Context, Statements
from bondloop.errors import InputError


@dataclass(frozen=True)
class RestoringForce(Described, family="restoring_force", alone=True):
    """f = K q + C dq/dt + M d²q/dt², of the measured motion q of the interfaces.

    The derivatives are backward differences of the samples, one and two: (q_k - q_(k-1))/T, and its own
    difference. They pass the sensor's noise on, multiplied by C/T and M/T²; the check and the run show what
    that does. Before the first sample the motion counts as at rest.

    Parameters
    ----------
    stiffness, damping, mass
        Rows of numbers: a row for each force, a column for each interface, in SI units. Without rows a term
        is zero. The first rows are the forces at the interfaces, in the sense of the cut bonds; more rows are
        forces elsewhere.
    inputs
        Inputs of the numerical half that take the forces of the further rows, by name.

    Examples
    --------
    >>> RestoringForce(stiffness=((2.3e6, -8.6e5), (-8.6e5, 1.1e6)), damping=((350, 0), (0, 95))).rows
    2
    """

    stiffness: tuple[tuple[float, ...], ...]
    damping: tuple[tuple[float, ...], ...] = ()
    mass: tuple[tuple[float, ...], ...] = ()
    inputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        shapes = set()
        for word in ("stiffness", "damping", "mass"):
            given: Sequence[Sequence[float]] = getattr(self, word)
            try:
                matrix = np.array([[float(x) for x in row] for row in given])
            except (TypeError, ValueError):
                matrix = np.zeros(0)
            if (matrix.ndim != 2 and (word == "stiffness" or len(given))) or not np.isfinite(matrix).all():
                raise InputError(
                    f"RestoringForce({word}): expected rows of numbers, ((k11, k12), (k21, k22)); found "
                    f"{given!r:.60}"
                )
            if matrix.ndim == 2:
                shapes.add(matrix.shape)
            object.__setattr__(
                self, word, tuple(tuple(row) for row in matrix.tolist()) if matrix.size else ()
            )
        object.__setattr__(self, "inputs", tuple(self.inputs))
        if len(shapes) != 1:
            raise InputError(
                "RestoringForce: expected matrices of one shape; found "
                f"{', '.join(f'{a} by {b}' for a, b in sorted(shapes))}"
            )
        rows, columns = shapes.pop()
        if rows != columns + len(self.inputs):
            raise InputError(
                f"RestoringForce: expected {columns} rows for {columns} interfaces and one more for each of "
                f"{len(self.inputs)} inputs; found {rows}"
            )

    @property
    def rows(self) -> int:
        """How many forces it gives."""
        return len(self.stiffness)

    @property
    def columns(self) -> int:
        """Of how many interfaces it takes the motion."""
        return len(self.stiffness[0])

    def apply(self, motion: Sequence[Expr], context: Context) -> tuple[Applied, list[Var]]:
        """Return the statements of one sample, and the forces.

        Parameters
        ----------
        motion
            What is measured at the interfaces.
        context
            Names and period.
        """
        body = Statements(context.name)
        terms: list[tuple[tuple[tuple[float, ...], ...], list[Expr]]] = []
        values = [body.once(f"motion[{i}]", value) for i, value in enumerate(motion)]
        for order, matrix in enumerate((self.stiffness, self.damping, self.mass)):
            terms.append((matrix, values))
            if order == 2 or not (self.mass or (self.damping and order == 0)):
                break
            following: list[Expr] = []
            changes: dict[Var, Expr] = {}
            for i, value in enumerate(values):
                last = body.state(f"last[{order}][{i}]")
                # At the first sample there is no difference yet.
                before = select(context.count < 0.5, value, last) if order == 0 else last
                following.append(body.put(f"rate[{order}][{i}]", (value - before) / context.period))
                changes[last] = value
            body.update(changes)
            values = following
        forces: list[Var] = []
        for row in range(self.rows):
            total: Expr = Const(0.0)
            for matrix, signals in terms:
                for weight, signal in zip(matrix[row] if matrix else (), signals, strict=False):
                    total = total + Const(weight) * signal
            forces.append(body.put(f"force[{row}]", total))
        return body.applied(forces[0]), forces
