"""A transfer system given by matrices, in coordinates in which it can be inverted storage by storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import SolveError
from bondloop.program.system import system_from_matrices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.program.statespace import StateSpace
    from bondloop.program.system import System

__all__ = ["normal_form"]

NEGLIGIBLE = 1e-10
"""Markov parameters below this fraction of the size of their factors count as zero."""


def normal_form(space: StateSpace, command: int = 0) -> System:
    """Return the same input-output behaviour with the output and its rates as states.

    With the relative degree r of the channel from the command, the states are z_k = c A^k x for k < r, a
    chain of integrators at whose end the command enters, and further ones that the command does not move at
    once: the zero dynamics (Byrnes-Isidori form; Isidori 1995, section 4.1). Any other coordinates hide the
    relative degree in sums that cancel.

    Parameters
    ----------
    space
        One output; inputs (command, load).
    command
        Column of the command.
    """
    s = space.explicit()
    A, B, C, D = (np.asarray(M.toarray(), dtype=float) for M in (s.A, s.B, s.C, s.D))
    if D[0, command] != 0.0:
        return _system(A, B, C, D, list(s.states), s)
    n, b = len(A), B[:, command]
    rows = [C[0]]
    while abs(rows[-1] @ b) <= NEGLIGIBLE * np.linalg.norm(rows[-1]) * np.linalg.norm(b):
        if len(rows) >= n:
            raise SolveError(
                "the transfer system cannot be inverted: no causal path leads from its command "
                f"'{s.inputs[command]}' to its velocity '{s.outputs[0]}'"
            )
        rows.append(rows[-1] @ A)
    r = len(rows)
    # Rows that annihilate b and complete the chain: the complement of b and of the chain's first r - 1.
    spanned = np.column_stack([b, *rows[:-1]])
    rest = (
        np.linalg.svd(spanned, full_matrices=True)[0][:, spanned.shape[1] :].T if n > r else np.zeros((0, n))
    )
    T = np.vstack([*rows, rest])
    inverse = np.linalg.inv(T)
    A, B, C = T @ A @ inverse, T @ B, C @ inverse
    A[: r - 1], C[:] = np.eye(r - 1, n, k=1), np.eye(1, n)
    B[: r - 1, command] = 0.0
    B[r:, command] = 0.0
    B[np.abs(B) <= NEGLIGIBLE * np.abs(B).max(axis=0, initial=0.0)] = 0.0
    names = [f"output_rate[{k}]" for k in range(r)] + [f"zero_dynamics[{k}]" for k in range(n - r)]
    return _system(A, B, C, D, names, s)


def _system(
    A: NDArray[np.float64],
    B: NDArray[np.float64],
    C: NDArray[np.float64],
    D: NDArray[np.float64],
    states: list[str],
    space: StateSpace,
) -> System:
    return system_from_matrices(
        A, B, C, D, states=states, inputs=list(space.inputs), outputs=list(space.outputs), name="transfer"
    )
