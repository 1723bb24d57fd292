"""Linear filters in discrete time, as statements of a tick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.control.demand_history import weighted
from bondloop.program.block import Applied, named
from bondloop.program.expr import Expr, Var
from bondloop.program.schedule import Assign
from bondloop.program.tick import Step, Update

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.program.block import Context

__all__ = ["DiscreteFilter"]


@dataclass(frozen=True)
class DiscreteFilter:
    """z(k+1) = F z(k) + G u(k), y(k) = C z(k) + H u(k), with one input and any number of outputs.

    Attributes
    ----------
    F, G, C, H
        Matrices; G and H have one column.
    """

    F: NDArray[np.float64]
    G: NDArray[np.float64]
    C: NDArray[np.float64]
    H: NDArray[np.float64]

    def response(self, frequency: ArrayLike, period: float) -> NDArray[np.complex128]:
        """Return the frequency response at frequencies in Hz, outputs last."""
        z = np.exp(2j * np.pi * np.asarray(frequency, dtype=float) * period)[..., None, None]
        G = np.broadcast_to(self.G, (*z.shape[:-2], *self.G.shape))
        y = self.C @ np.linalg.solve(z * np.eye(len(self.F)) - self.F, G) + self.H
        return np.asarray(y[..., 0], dtype=complex)

    def apply(self, value: Expr, context: Context, word: str) -> tuple[Applied, list[Expr]]:
        """Return statements (their value is the first output) and all outputs at this sample."""
        steps, u = named(value, context, f"{word}.input")
        n = len(self.F)
        z = [Var(f"{context.name}.{word}.state[{i}]") for i in range(n)]
        outputs: list[Expr] = []
        more: list[Step] = []
        for i in range(len(self.C)):
            y = Var(f"{context.name}.{word}[{i}]")
            more.append(Assign(y, weighted([*self.C[i], self.H[i, 0]], [*z, u])))
            outputs.append(y)
        following = tuple((z[i], weighted([*self.F[i], self.G[i, 0]], [*z, u])) for i in range(n))
        if following:
            more.append(Update(following))
        return Applied([*steps, *more], outputs[0], dict.fromkeys(z, 0.0)), outputs
