"""Systems from matrices and from python-control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.program.expr import Const, Expr, Var
from bondloop.program.kinds import describable, family_word
from bondloop.program.matrix_rows import ConstantMatrix, MatrixRow
from bondloop.program.quantity import Quantity

if TYPE_CHECKING:
    from scipy import sparse

    from bondloop.program.statespace import StateSpace
    from bondloop.program.system import System

    Pair: TypeAlias = tuple[sparse.csr_array[np.float64], sparse.csr_array[np.float64]]

ENTRIES = 64
"""Most entries of matrices that become parameters of their own."""

__all__ = ["system_from_control", "system_from_matrices", "system_from_state_space"]


family_word("System", "system")


@describable("system", "from_matrices")
def system_from_matrices(  # noqa: PLR0913 - four matrices, and what they mean
    A: Any,
    B: Any,
    C: Any,
    D: Any,
    *,
    states: list[str] | None = None,
    inputs: list[str] | None = None,
    outputs: list[str] | None = None,
    units: Mapping[str, str] | None = None,
    name: str = "system",
) -> System:
    """Return a system from dense or sparse matrices.

    Every entry that is not zero becomes a parameter ``A[i,j]``, unless there are many: more than `ENTRIES`
    stay as they are, products of matrices.

    Parameters
    ----------
    A, B, C, D
        Matrices of dx/dt = A x + B u, y = C x + D u.
    states, inputs, outputs
        Names; x[0], u[0], y[0] and so on where none are given.
    units
        SI units by name, of those that have one: ``{"tip.velocity": "m/s"}``; for records and figures.
    name
        Of the system.
    """
    from scipy import sparse

    from bondloop.program.system import System

    A, B, C, D = (sparse.csr_array(M if hasattr(M, "tocsr") else np.atleast_2d(M)) for M in (A, B, C, D))
    n, m, k = A.shape[0], B.shape[1], C.shape[0]
    if A.shape != (n, n) or B.shape[0] != n or C.shape[1] != n or D.shape != (k, m):
        raise InputError(
            f"{name}: the shapes A {A.shape}, B {B.shape}, C {C.shape}, D {D.shape} do not fit together"
        )
    y = outputs or [f"y[{i}]" for i in range(k)]
    known = [*(states or [f"x[{i}]" for i in range(n)]), *(inputs or [f"u[{i}]" for i in range(m)])]
    for word in units or {}:
        if word not in (*known, *y):
            raise InputError(unknown_name("variable", word, (*known, *y), where=f"units of {name}"))
    measured = {word: Quantity(word, unit) for word, unit in (units or {}).items()}
    variables = [Var(word, quantity=measured.get(word)) for word in known]
    x, u = variables[:n], variables[n:]
    parameters: dict[Var, float | None] = {}

    def rows(
        left: sparse.csr_array[np.float64],
        left_name: str,
        right: sparse.csr_array[np.float64],
        right_name: str,
    ) -> list[Expr]:
        result = []
        for i in range(left.shape[0]):
            total: Expr = Const(0.0)
            for matrix, letter, columns in ((left, left_name, x), (right, right_name, u)):
                for j in range(matrix.indptr[i], matrix.indptr[i + 1]):
                    column, value = int(matrix.indices[j]), float(matrix.data[j])
                    if value:
                        p = Var(f"{letter}[{i},{column}]")
                        parameters[p] = value
                        total = total + p * columns[column]
            result.append(total)
        return result

    if A.nnz + B.nnz + C.nnz + D.nnz > ENTRIES:
        return _of_products(name, ((A, B), (C, D)), x, u, y, measured)
    rates, outs = rows(A, "A", B, "B"), rows(C, "C", D, "D")
    changes, results = dict(zip(x, rates, strict=True)), dict(zip(y, outs, strict=True))
    return System(name, changes, u, results, parameters, {}, quantities=measured)


def _of_products(
    name: str,
    blocks: tuple[Pair, Pair],
    x: list[Var],
    u: list[Var],
    y: list[str],
    measured: Mapping[str, Quantity],
) -> System:
    """Return the system whose rates and outputs are the rows of two products."""
    from scipy import sparse

    from bondloop.program.system import System

    rates = [Var(f"{v.name}.rate") for v in x]
    outputs = [Var(f"{path}.value") for path in y]
    definitions: dict[Var, Expr] = {}
    for letters, targets, pair in (("A, B", rates, blocks[0]), ("C, D", outputs, blocks[1])):
        matrix = ConstantMatrix(sparse.csr_array(sparse.hstack(pair)), f"[{letters}]")
        definitions.update({v: MatrixRow(matrix, i, (*x, *u)) for i, v in enumerate(targets)})
    changes, results = dict(zip(x, rates, strict=True)), dict(zip(y, outputs, strict=True))
    return System(name, changes, u, results, {}, definitions, quantities=measured)


def system_from_state_space(space: StateSpace, name: str = "system") -> System:
    """Return a system from a named state space."""
    s = space.explicit()
    return system_from_matrices(
        s.A, s.B, s.C, s.D, states=list(s.states), inputs=list(s.inputs), outputs=list(s.outputs), name=name
    )


def system_from_control(plant: Any, name: str | None = None) -> System:
    """Return a system from a continuous-time python-control object, keeping its names."""
    try:
        import control
    except ImportError:
        raise InputError(
            "from_control() needs the package 'control': pip install bondloop[control]"
        ) from None
    space = plant if isinstance(plant, control.StateSpace) else control.ss(plant)
    if space.dt not in (0, None):
        raise InputError(f"expected a continuous-time system (dt = 0), found dt = {space.dt}")
    paths = getattr(plant, "path_names", {})  # what to_control() had to rename
    inputs, outputs = (
        [paths.get(n, n) for n in labels] for labels in (space.input_labels, space.output_labels)
    )
    return system_from_matrices(
        space.A, space.B, space.C, space.D, states=list(space.state_labels), inputs=inputs, outputs=outputs,
        name=name or space.name or "system",
    )  # fmt: skip
