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
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph import Model, One, Port, Zero
from bondloop.bondgraph.elements import C, I, R, Sf
from bondloop.engine.data import describable
from bondloop.errors import InputError, unknown_name

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


def double_well(d: Any) -> Any:
    """Return the force of the paper's spring, over its stretch."""
    return -d + d**3


def hardening(d: Any) -> Any:
    """Return the force of a spring with which nothing is chaotic."""
    return d + d**3


SPRINGS: Mapping[str, Callable[[Any], Any]] = {"double-well": double_well, "hardening": hardening}
"""Force of the third spring over its stretch, by name."""


def _spring(kind: str) -> C:
    """Return the third spring."""
    if kind not in SPRINGS:
        raise InputError(unknown_name("spring", kind, SPRINGS))
    return C(law=SPRINGS[kind])


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
