"""The three-mass chain of Gawthrop, Wallace and Wagg 2005, section 4: the complete ("desired") system.

Three masses hang in a row from a moving wall, each on a spring from its left neighbour and each with a damper
to ground. The wall's velocity ``r`` is the input. The third spring is a double well, ``force = -d + d**3``:
its stiffness is negative about the middle, and the response is chaotic.

References
----------
Gawthrop, P. J., Wallace, M. I., Wagg, D. J. (2005). Bond-graph based substructuring of dynamical systems.
Earthquake Engineering and Structural Dynamics 34(6), 687-703. doi:10.1002/eqe.450
"""

from __future__ import annotations

import math
from typing import Any

from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero

__all__ = ["VALUES", "Mass", "excitation", "model", "symbolic_model"]

VALUES = {"m1": 1.0, "m2": 1.0, "m3": 1.0, "c1": 0.1, "c2": 0.1, "c3": 0.1, "k1": 1.0, "k2": 1.0}
"""Masses in kg, dampings in N s/m, stiffnesses in N/m (Gawthrop 2005, figure 7)."""


class Mass(Model):
    """A mass with a damper to ground, hung on a spring from its left port (Gawthrop 2005, figure 6).

    Parameters
    ----------
    m
        Mass in kg.
    c
        Damping to ground in N s/m.
    spring
        The spring between the left port and the mass.
    """

    def __init__(self, m: Any, c: Any, spring: C) -> None:
        self.left, self.right = Port(), Port()
        self.spring_side, self.v = Zero(), One()
        self.left >> self.spring_side >> self.v >> self.right
        self.spring_side >> spring
        self.v >> [I(mass=m), R(damping=c)]


def excitation(t: float) -> float:
    """Velocity of the wall at time t, in m/s: ``-0.5 sin t``."""
    return -0.5 * math.sin(t)


def model() -> Model:
    """Return the chain with the numbers of figure 7 and its double-well spring.

    Examples
    --------
    >>> print(model().compile(outputs=["m3.v.flow"]).equations().rows[5][1])
    m3.C.displacement**3 - m3.C.displacement - m3.I.momentum*m3.R.damping/m3.I.mass
    """
    return _chain(VALUES, C(law=lambda d: -d + d**3))


def symbolic_model() -> Model:
    """Return the chain with SymPy symbols m1 ... k3 and a linear third spring.

    Examples
    --------
    >>> symbolic_model().compile().A[3, :]
    Matrix([[0, 0, k2, -c2/m2, -k3, 0]])
    """
    import sympy as sp

    return _chain({name: sp.Symbol(name) for name in VALUES}, C(stiffness=sp.Symbol("k3")))


def _chain(values: dict[str, Any], third_spring: C) -> Model:
    chain = Model("three_mass")
    chain.wall = Sf("r")
    chain.m1 = Mass(values["m1"], values["c1"], C(stiffness=values["k1"]))
    chain.m2 = Mass(values["m2"], values["c2"], C(stiffness=values["k2"]))
    chain.m3 = Mass(values["m3"], values["c3"], third_spring)
    chain.wall >> chain.m1.left
    chain.m1.right >> chain.m2.left
    chain.m2.right >> chain.m3.left
    return chain
