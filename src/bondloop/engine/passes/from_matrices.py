"""Systems from matrices and from python-control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bondloop.engine.ir import (
    Const,
    ConstantMatrix,
    Expr,
    Interface,
    MatrixRow,
    Program,
    Quantity,
    SystemData,
    Var,
)
from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from scipy import sparse

    from bondloop.engine.ir import StateSpace

    Pair: TypeAlias = tuple[sparse.csr_array[np.float64], sparse.csr_array[np.float64]]

ENTRIES = 64
"""Most entries of matrices that become parameters of their own."""


def matrix_system(  # noqa: PLR0913 - four matrices, and what they mean
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
) -> SystemData:
    """Return a system from matrices; arguments as of `bondloop.engine.system.system_from_matrices`."""
    from scipy import sparse

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
    return SystemData(name, Interface(changes, u, results, parameters, quantities=measured))


def _of_products(
    name: str,
    blocks: tuple[Pair, Pair],
    x: list[Var],
    u: list[Var],
    y: list[str],
    measured: Mapping[str, Quantity],
) -> SystemData:
    """Return the system whose rates and outputs are the rows of two products."""
    from scipy import sparse

    rates = [Var(f"{v.name}.rate") for v in x]
    outputs = [Var(f"{path}.value") for path in y]
    definitions: dict[Var, Expr] = {}
    for letters, targets, pair in (("A, B", rates, blocks[0]), ("C, D", outputs, blocks[1])):
        matrix = ConstantMatrix(sparse.csr_array(sparse.hstack(pair)), f"[{letters}]")
        definitions.update({v: MatrixRow(matrix, i, (*x, *u)) for i, v in enumerate(targets)})
    changes, results = dict(zip(x, rates, strict=True)), dict(zip(y, outputs, strict=True))
    return SystemData(name, Interface(changes, u, results, quantities=measured), Program(definitions))


def space_system(space: StateSpace, name: str = "system") -> SystemData:
    """Return the system of a named state space.

    Parameters
    ----------
    space
        Its matrices, in continuous time.
    name
        Of the system.
    """
    s = space.explicit()
    return matrix_system(
        s.A, s.B, s.C, s.D, states=list(s.states), inputs=list(s.inputs), outputs=list(s.outputs), name=name
    )


def control_system(plant: Any, name: str | None = None) -> SystemData:
    """Return the system of a continuous-time python-control object, with its names.

    Parameters
    ----------
    plant
        A ``StateSpace`` or ``TransferFunction``. One with a sample period is refused.
    name
        Of the system; by default the plant's own.
    """
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
    return matrix_system(
        space.A, space.B, space.C, space.D, states=list(space.state_labels), inputs=inputs, outputs=outputs,
        name=name or space.name or "system",
    )  # fmt: skip
