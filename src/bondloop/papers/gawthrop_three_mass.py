"""The three-mass chain of Gawthrop, Wallace and Wagg 2005, section 4: complete ("desired") and substructured.

Three masses hang in a row from a moving wall, each on a spring from its left neighbour and each with a damper
to ground. The wall's velocity ``r`` is the input. The third spring is a double well, ``force = -d + d**3``:
its stiffness is negative about the middle, and the response is chaotic.

The test cuts off the third mass. A second-order transfer system carries it, and a virtual junction, derived
from the transfer system's bond graph, makes the whole behave as the complete chain: exactly, up to the
transfer system's initial motion.

References
----------
Gawthrop, P. J., Wallace, M. I., Wagg, D. J. (2005). Bond-graph based substructuring of dynamical systems.
Earthquake Engineering and Structural Dynamics 34(6), 687-703. doi:10.1002/eqe.450
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph import Model, One, Port, Zero, bond
from bondloop.bondgraph.elements import SS, C, De, I, Input, MSe, R, Se, Sf
from bondloop.engine.data import describable
from bondloop.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from bondloop.hybrid import HybridTest
    from bondloop.rehearsal import Run


CUT = "m2.right >> m3.left"
"""Where the chain is cut: the third mass with its spring is the physical half."""

SECONDS = 50.0
"""Length of the paper's figure 7."""

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


@describable("model", "gawthrop-three-mass")
def model(spring: str = "double-well") -> Model:
    """Return the chain with the numbers of figure 7.

    Parameters
    ----------
    spring
        The third one: ``double-well`` (the paper's) or ``hardening``.

    Examples
    --------
    >>> print(model().compile(outputs=["m3.v.flow"]).equations().rows[5][1])
    m3.C.displacement**3 - m3.C.displacement - m3.I.momentum*m3.R.damping/m3.I.mass
    """
    return _chain(VALUES, _spring(spring))


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


def _spring(kind: str) -> C:
    """Return the third spring: ``double-well`` as in the paper, or ``hardening``, not chaotic."""
    if kind == "double-well":
        return C(law=lambda d: -d + d**3)
    if kind == "hardening":
        return C(law=lambda d: d + d**3)
    raise InputError(f"spring must be 'double-well' or 'hardening'; found {kind!r}")


def test(
    spring: str = "double-well",
    velocity: float = 0.01,
    rate: float = 1000.0,
    coupling: str = "continuous",
    m_t: float = 1.0,
    c_t: float = 1.0,
    k_t: float = 1.0,
) -> HybridTest:
    """Return the substructured test of section 4, with the complete chain beside it.

    Parameters
    ----------
    spring
        ``double-well`` (the paper's) or ``hardening``.
    velocity
        Initial velocity of the transfer system in m/s; the paper has 0.01. With zero the two agree exactly.
    rate
        Steps a second.
    coupling
        ``continuous`` as in the paper's simulation, or ``sampled`` as in a laboratory.
    m_t, c_t, k_t
        Mass, damping and stiffness of the transfer system, in kg, N s/m and N/m.
    """
    from bondloop.control import VirtualJunction
    from bondloop.hybrid import HybridTest
    from bondloop.rigs import Emulated
    from bondloop.signals import Sine
    from bondloop.transfer import MassSpringDamper

    chain = model(spring)
    numerical, physical = chain.cut(CUT)
    actuator = MassSpringDamper(m_t, c_t, k_t, velocity=velocity)
    return HybridTest(
        numerical,
        rig=Emulated(physical, actuator),
        controller=VirtualJunction(MassSpringDamper(m_t, c_t, k_t)),
        excitation={"r": Sine(amplitude=-0.5, frequency=1 / (2 * math.pi))},
        rate=rate,
        coupling=coupling,
        reference=(chain, ["m3.v.flow"]),
        record=["rig.specimen.m3.v.flow"],
        name="gawthrop_three_mass",
    )


def findings(run: Run) -> dict[str, float]:
    """Compare the velocity of the third mass, substructured and desired (figure 7a)."""
    error = np.abs(run["rig.specimen.m3.v.flow"] - run["reference.m3.v.flow"])
    first = run.time <= 20.0
    return {
        "peak_error_first_20_s": float(error[first].max()),
        "peak_error": float(error.max()),
        "peak_desired_velocity": float(np.abs(run["reference.m3.v.flow"]).max()),
    }


def figures(run: Run, folder: Path) -> list[Path]:
    """Draw figure 7: the velocity of the third mass, desired and substructured, and the command."""
    from bondloop.results.figures import time_histories

    path = folder / "figure_7.png"
    groups = {
        "velocity of the third mass": {
            "desired: the complete chain": "reference.m3.v.flow",
            "actual: substructured": "rig.specimen.m3.v.flow",
        },
        "force on the transfer system": {"command": "command"},
    }
    time_histories(run.record, groups, path=path)
    return [path]


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
