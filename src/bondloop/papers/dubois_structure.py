"""The numerical half of du Bois, Titurus and Lieven 2010: two masses (Figure 8), and how its base moves."""

# ruff: noqa: RUF009 - the defaults of a signal's parameters are descriptors, one for a class
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.data.described import Parameter
from bondloop.program.expr import Const, Expr, function
from bondloop.program.signals import Signal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.structures import Matrices

__all__ = ["STRUCTURE", "FadingSine", "Structure"]


@dataclass(frozen=True)
class Structure:
    """The numerical half (Figure 8): x0 -k1- m1 -k2- m2, a damper beside each spring, C = beta K.

    The paper prints none of its values. These give a hybrid system with both modes below 10 Hz, the second
    near 6.3 Hz, as section 4.5 says.
    """

    mass1: float = 20e3
    mass2: float = 20e3
    stiffness1: float = 8.3e6
    stiffness2: float = 12.5e6
    beta: float = 5e-4

    def matrices(self) -> Matrices:
        """Return mass, damping and stiffness matrices of the two free degrees of freedom (eqs. 10-11)."""
        from bondloop.structures import Matrices

        k1, k2 = self.stiffness1, self.stiffness2
        K = np.array([[k1 + k2, -k2], [-k2, k2]])
        M = np.diag([self.mass1, self.mass2])
        return Matrices(M, self.beta * K, K, ("mass1.ux", "mass2.ux"))

    def transfer(self, frequency: ArrayLike, damping: float, stiffness: float) -> NDArray[np.complex128]:
        """Return x2/x0 and x1/x0 with a linear damper c_d, k_d, shape (2, n) (eq. 24).

        Parameters
        ----------
        frequency
            In Hz, shape (n,).
        damping, stiffness
            c_d in N s/m and k_d in N/m of the damper; no damping for the structure by itself.
        """
        s = 2j * np.pi * np.asarray(frequency, dtype=float)
        m1, m2, k1, k2, b, cd, kd = (
            *(self.mass1, self.mass2, self.stiffness1, self.stiffness2, self.beta, damping, stiffness),
        )
        one, two, damper = k1 * (1 + b * s), k2 * (1 + b * s), cd * s + kd
        first = m1 * s**2 + one + two
        below = first * ((m2 * s**2 + two) * damper + cd * kd * s) - two**2 * damper
        x2 = one * two * damper / below
        return np.array([x2, (two * x2 + one) / first])

    def poles(self, damping: float, stiffness: float) -> NDArray[np.complex128]:
        """Return the five poles of the hybrid system in rad/s, slowest first: where eq. 24 is infinite."""
        m1, m2, k1, k2, b = self.mass1, self.mass2, self.stiffness1, self.stiffness2, self.beta
        two, damper = np.array([b * k2, k2]), np.array([damping, stiffness])
        first = np.array([m1, b * (k1 + k2), k1 + k2])
        inner: Any = np.polyadd(np.polymul([m2, b * k2, k2], damper), [damping * stiffness, 0.0])
        coupling: Any = np.polymul(np.polymul(two, two), damper)
        roots = np.asarray(np.roots(np.polysub(np.polymul(first, inner), coupling)), dtype=complex)
        return np.asarray(roots[np.lexsort((roots.imag, np.abs(roots)))])


STRUCTURE = Structure()


@dataclass(frozen=True)
class FadingSine(Signal):
    """The motion x0 of the base: amplitude (1 - e^(-t/rise))^4 sin(2 pi frequency t).

    A sine that began at once would shake the structure at its own frequencies for seconds: above them mass 2
    moves by a thousandth of the base.

    >>> base = FadingSine(0.001, 5.0)
    >>> round(1e3 * base(6.05), 6), round(1e3 * base(0.05), 6)  # mm
    (1.0, 0.000555)
    """

    amplitude: Parameter = Parameter()
    frequency: Parameter = Parameter(above=0, unit="Hz")
    rise: Parameter = Parameter(0.3, above=0, unit="s")

    def expression(self, t: Expr) -> Expr:
        """Return the displacement as an expression of the time."""
        risen = 1 - function("exp", t * Const(-1 / self.rise))
        wave = function("sin", Const(2 * np.pi * self.frequency) * t)
        return Const(self.amplitude) * risen * risen * risen * risen * wave
