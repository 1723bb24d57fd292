"""Figures 1 to 3 of Gawthrop, Wallace and Wagg 2005 as bond graphs: halves and virtual junction.

They compile to equations (6) to (10); `gawthrop_figures` draws them.
"""

from __future__ import annotations

from typing import Any

from bondloop.bondgraph import Model, One, Port, Zero, bond
from bondloop.bondgraph.elements import SS, C, De, I, Input, MSe, R, Se, Sf
from bondloop.papers.gawthrop_three_mass import VALUES, Mass

__all__ = ["TRANSFER", "augmented_numerical", "augmented_physical", "substructured", "virtual_junction"]

TRANSFER = {"m_t": 1.0, "c_t": 1.0, "k_t": 1.0}
"""kg, N s/m, N/m (figure 7)."""


class InvertedTransfer(Model):
    """The transfer system of figure 5 whose command is found: mass, damper, spring, and a force in demand.

    Parameters
    ----------
    m, c, k
        Mass, damping and stiffness.
    """

    def __init__(self, m: Any, c: Any, k: Any) -> None:
        self.out, self.T, self.v = Port(), SS("neither"), One()
        self.mass, self.damper, self.spring = I(mass=m), R(damping=c), C(stiffness=k)
        self.T >> self.v >> [self.mass, self.damper, self.spring, self.out]


def virtual_junction(values: dict[str, Any] | None = None) -> Model:
    """Return the virtual junction of the example (figure 3): F_P and v_N in at N, F_T out at T.

    Parameters
    ----------
    values
        m_t, c_t and k_t, numbers or symbols; those of figure 7 where none are given.

    Examples
    --------
    >>> for row in virtual_junction().compile().equations().rows[:2]:  # equation (6)
    ...     print(*row, sep=" = ")
    d/dt tra.spring.displacement = N.flow
    tra.T.effort = N.effort + N.flow*tra.damper.damping + ...
    """
    values = values or TRANSFER
    junction = Model("virtual junction")
    junction.N, junction.tra = SS("both"), InvertedTransfer(*(values[n] for n in TRANSFER))
    bond(junction.tra.out, junction.N)
    return junction


def augmented_numerical(values: dict[str, Any] | None = None) -> Model:
    """Return the augmented numerical half (figure 2 a): the masses 1 and 2, and the virtual junction.

    Inputs are the wall's velocity ``r`` and the measured force ``F_P``; the output is ``tra.T.effort``. The
    inputs of ``equal`` are zero: the difference of the velocities, and the force of the comparison.

    Parameters
    ----------
    values
        Of both, numbers or symbols; those of figure 7 where none are given.

    Examples
    --------
    >>> augmented_numerical().compile().states
    ('m1.C.displacement', 'm1.I.momentum', 'm2.C.displacement', 'm2.I.momentum', 'tra.spring.displacement')
    """
    values = values or {**VALUES, **TRANSFER}
    half = Model("augmented numerical half")
    half.wall = Sf("r")
    half.m1, half.m2 = (Mass(values[f"m{i}"], values[f"c{i}"], C(stiffness=values[f"k{i}"])) for i in (1, 2))
    half.tra = InvertedTransfer(*(values[n] for n in TRANSFER))
    half.F_P, half.on_N, half.on_T = Input("F_P", unit="N"), MSe(), MSe()
    half.v_N, half.v_T, half.compared, half.equal = One(), One(), Zero(), SS("both")
    half.wall >> half.m1.left
    half.m1.right >> half.m2.left
    half.m2.right >> half.v_N >> half.on_N
    half.tra.out >> half.v_T >> half.on_T
    half.F_P >> half.on_N
    half.F_P >> half.on_T
    half.v_N >> half.compared >> half.v_T
    half.compared >> half.equal
    return half


def augmented_physical() -> Model:
    """Return the augmented physical half (figure 2 b): mass 3 on the transfer system, its force measured."""
    half = Model("augmented physical half")
    half.F_T, half.v, half.F_P, half.between = Se("F_T"), One(), De(), Zero()
    half.mass, half.damper, half.spring = (
        I(mass=TRANSFER["m_t"]), R(damping=TRANSFER["c_t"]), C(stiffness=TRANSFER["k_t"]),
    )  # fmt: skip
    half.m3 = Mass(VALUES["m3"], VALUES["c3"], C(law=lambda d: -d + d**3))
    half.F_T >> half.v >> [half.mass, half.damper, half.spring]
    half.v >> half.between >> half.m3.left
    half.between >> half.F_P
    return half


def substructured() -> Model:
    """Return the chain as figure 1 (a) has it: a numerical and a physical sub-model, and one bond between."""

    class Numerical(Model):
        def __init__(self) -> None:
            self.port, self.wall = Port(), Sf("r")
            self.m1, self.m2 = (Mass(VALUES[f"m{i}"], VALUES[f"c{i}"], C(stiffness=1.0)) for i in (1, 2))
            self.wall >> self.m1.left
            self.m1.right >> self.m2.left
            self.m2.right >> self.port

    whole = Model("substructured")
    whole.Num, whole.Phy = Numerical(), Mass(VALUES["m3"], VALUES["c3"], C(law=lambda d: -d + d**3))
    bond(whole.Num.port, whole.Phy.left)
    return whole
