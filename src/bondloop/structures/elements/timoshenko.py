"""Timoshenko beam in the plane: with shear and rotary inertia."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

from bondloop.structures.elements.base import Array, Number, column
from bondloop.structures.elements.beam import PlaneBending


@dataclass(frozen=True)
class Timoshenko(PlaneBending):
    """Timoshenko beam in the xy-plane, exact in statics and therefore free of shear locking.

    Parameters
    ----------
    a, b
        Names of the end nodes.
    E, G, A, I, rho
        Modulus and shear modulus in Pa, area in m², second moment of area in m⁴, density in kg/m³.
    kappa
        Shear factor: 5/6 for a rectangle.
    release_a, release_b
        ``("rz",)`` for a hinge at that end.
    beta
        Stiffness-proportional damping in s: its damping matrix is beta times its stiffness.

    References
    ----------
    Friedman and Kosmatka 1993, An improved two-node Timoshenko beam finite element, Comput. Struct. 47(3).

    Examples
    --------
    >>> from bondloop.structures import Structure
    >>> s = Structure("deep beam")
    >>> s.node("root", x=0)
    >>> s.node("tip", x=1)
    >>> s.add(Timoshenko("root", "tip", E=3.0, G=1.0, A=6.0, I=1.0, rho=1.0, kappa=0.5))
    'timoshenko[0]'
    >>> s.support("root")
    >>> compliance = __import__("numpy").linalg.inv(s.assemble().K.toarray())
    >>> round(float(compliance[0, 0]), 12)  # L³/3EI + L/κGA = 1/9 + 1/3
    0.444444444444
    """

    kind: ClassVar[str] = "timoshenko"

    G: Number = field(kw_only=True)
    kappa: Number = field(kw_only=True, default=5 / 6)

    @classmethod
    def shear(cls, elements: Sequence[Self]) -> tuple[Array, Array]:
        """κGA and ρI."""
        G, kappa, A, I, rho = (column(elements, name) for name in ("G", "kappa", "A", "I", "rho"))
        return kappa * G * A, rho * I
