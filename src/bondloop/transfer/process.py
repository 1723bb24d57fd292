"""Process models of a transfer system: a rational transfer function and a delay (du Bois 2010, eq. 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError
from bondloop.program.described import Described

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Process", "first_order", "second_order"]


@dataclass(frozen=True)
class Process(Described, family="process"):
    """G(s) = b(s)/a(s) exp(-s delay), from the command to the displacement of a transfer system.

    Parameters
    ----------
    numerator, denominator
        Coefficients of b and a, highest power of s first; scaled so that a(0) = 1 where it is not zero, and
        so that a begins with 1 otherwise.
    delay
        In seconds.

    Examples
    --------
    >>> G = second_order(gain=1.0, frequency=20.0, damping=0.7, delay=0.005)
    >>> abs(G.response([0.0])[0]).item(), G.order, G.delay
    (1.0, 2, 0.005)
    """

    numerator: tuple[float, ...]
    denominator: tuple[float, ...]
    delay: float = 0.0

    def __post_init__(self) -> None:
        b, a = _coefficients(self.numerator, "numerator"), _coefficients(self.denominator, "denominator")
        if len(b) > len(a):
            raise InputError(
                f"a process model must be proper: the numerator has degree {len(b) - 1}, the denominator "
                f"only {len(a) - 1}"
            )
        if not (np.isfinite(self.delay) and self.delay >= 0):
            raise InputError(f"the delay must be finite and not negative; found {self.delay} s")
        scale = a[-1] if a[-1] != 0 else a[0]
        object.__setattr__(self, "numerator", tuple(float(x / scale) for x in b))
        object.__setattr__(self, "denominator", tuple(float(x / scale) for x in a))
        object.__setattr__(self, "delay", float(self.delay))

    @property
    def order(self) -> int:
        """Degree of the denominator."""
        return len(self.denominator) - 1

    @property
    def gain(self) -> float:
        """Static gain: displacement per unit of command at rest."""
        return self.numerator[-1] / self.denominator[-1] if self.denominator[-1] else float("inf")

    def response(self, frequency: ArrayLike) -> NDArray[np.complex128]:
        """Frequency response at frequencies in Hz."""
        s = 2j * np.pi * np.asarray(frequency, dtype=float)
        value = np.polyval(self.numerator, s) / np.polyval(self.denominator, s) * np.exp(-s * self.delay)
        return np.asarray(value, dtype=complex)


def _coefficients(given: Sequence[float] | Any, what: str) -> NDArray[np.float64]:
    c = np.trim_zeros(np.atleast_1d(np.asarray(given, dtype=float)), "f")
    if c.ndim != 1 or not len(c) or not np.all(np.isfinite(c)):
        raise InputError(f"the {what} needs finite coefficients, not all zero; found {given!r:.60}")
    return c


def first_order(gain: float, time_constant: float, delay: float = 0.0) -> Process:
    """Return G1 or G1D of du Bois 2010: K e^(-s delay) / (time_constant s + 1).

    >>> first_order(1.0, 0.01).denominator
    (0.01, 1.0)
    """
    return Process((gain,), (time_constant, 1.0), delay)


def second_order(gain: float, frequency: float, damping: float, delay: float = 0.0) -> Process:
    """Return G2 or G2D of du Bois 2010, with a static gain.

    The paper writes K/(s^2 + 2 zeta w0 s + w0^2) and calls K the static gain; that holds for
    K w0^2 in the numerator, as here.

    Parameters
    ----------
    gain
        Static gain.
    frequency
        Undamped natural frequency in Hz.
    damping
        Damping ratio.
    delay
        In seconds.
    """
    w = 2 * np.pi * frequency
    return Process((gain,), (1 / w**2, 2 * damping / w, 1.0), delay)
