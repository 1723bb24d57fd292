"""Envelopes of earthquakes: how strong the shaking is, between 0 and 1, over time."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import Described, Parameter, number
from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Envelope(Described, family="envelope"):
    """Base of the envelopes."""

    __repr__ = brief

    @abstractmethod
    def __call__(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the strength at times from 0 on."""


@dataclass(frozen=True)
class Flat(Envelope):
    """No envelope: stationary shaking.

    Examples
    --------
    >>> Flat()(np.array([0.0, 9.0])).tolist()
    [1.0, 1.0]
    """

    def __call__(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ones."""
        return np.ones_like(t)


@dataclass(frozen=True)
class Trapezoid(Envelope):
    """Linear rise, plateau, linear fall to zero at the end.

    Parameters
    ----------
    rise
        Seconds until the plateau begins.
    plateau
        Time at which the plateau ends.
    end
        Time at which the shaking has died away.

    Examples
    --------
    >>> Trapezoid(rise=2, plateau=8, end=10)(np.array([0.0, 1.0, 5.0, 9.0, 11.0])).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    rise: Parameter = Parameter(above=0, unit="s")
    plateau: Parameter = Parameter(above=0, unit="s")
    end: Parameter = Parameter(above=0, unit="s")

    def __post_init__(self) -> None:
        if not self.rise <= self.plateau < self.end:
            raise InputError(
                "Trapezoid: expected rise <= plateau < end; "
                f"found {self.rise:g}, {self.plateau:g}, {self.end:g} s"
            )

    def __call__(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the strength."""
        return np.interp(t, [0.0, self.rise, self.plateau, self.end], [0.0, 1.0, 1.0, 0.0])


@dataclass(frozen=True)
class Jennings(Envelope):
    """Quadratic rise, plateau, exponential decay (Jennings, Housner and Tsai 1968).

    Parameters
    ----------
    rise
        Seconds until the plateau begins.
    plateau
        Time at which it ends.
    decay
        Rate of decay after it, 1/s.

    Examples
    --------
    >>> Jennings(rise=4, plateau=15, decay=0.1)(np.array([2.0, 10.0, 25.0])).round(4).tolist()
    [0.25, 1.0, 0.3679]
    """

    rise: Parameter = Parameter(above=0, unit="s")
    plateau: Parameter = Parameter(above=0, unit="s")
    decay: Parameter = Parameter(above=0, unit="1/s")

    def __post_init__(self) -> None:
        if self.plateau < self.rise:
            raise InputError(f"Jennings: expected rise <= plateau; found {self.rise:g}, {self.plateau:g} s")

    @classmethod
    def over(cls, duration: float | str) -> Jennings:
        """Return one that fills a duration: up within 15 % of it, flat until 50 %, down to 5 % at its end."""
        seconds = number(duration, "Jennings.over(duration)", "s")
        return cls(0.15 * seconds, 0.5 * seconds, math.log(20) / (0.5 * seconds))

    def __call__(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the strength."""
        result: NDArray[np.float64] = np.minimum(t / self.rise, 1.0) ** 2
        return result * np.exp(-self.decay * np.maximum(t - self.plateau, 0.0))


@dataclass(frozen=True)
class Gamma(Envelope):
    """Gamma function: ((t/peak) exp(1 - t/peak))^shape, 1 at the peak (Saragoni and Hart 1974).

    Parameters
    ----------
    peak
        When it is 1, in s.
    shape
        The larger, the narrower.

    Examples
    --------
    >>> Gamma(peak=3, shape=2)(np.array([0.0, 3.0])).tolist()
    [0.0, 1.0]
    """

    peak: Parameter = Parameter(above=0, unit="s")
    shape: Parameter = Parameter(2.0, above=0, unit="1")

    def __call__(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the strength."""
        x = np.maximum(t / self.peak, 0.0)
        result: NDArray[np.float64] = (x * np.exp(1 - x)) ** self.shape
        return result
