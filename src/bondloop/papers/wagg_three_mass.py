"""The three-mass chain of Wagg and Stoten 2001 with an MCS controller.

The same chain as Gawthrop 2005's, here with the adaptive controller that needs no model of the transfer
system. The reference model is the numerical half; the transfer system must follow the second mass of the
complete chain.

The adaptive law is not printed in the paper; the standard MCS law is used, with weights alpha = 100 and
beta = 10, a settling time of 0.01 s and Runge-Kutta steps of 1 ms (caption of figure 5). That makes
C_e = [400, 1], with which the error dynamics of this numerical half are not passive, and the gains burst:
``examples/papers/wagg_theory.py``. With ``error_filter="reference"`` they are, and do not.

References
----------
Wagg, D. J., Stoten, D. P. (2001). Substructuring of dynamical systems via the adaptive minimal control
synthesis algorithm. Earthquake Engineering and Structural Dynamics 30(6), 865-877. doi:10.1002/eqe.44
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bondloop.bondgraph import Model
from bondloop.bondgraph.elements import C, Df, Sf, SignalIntegrator
from bondloop.engine.data import describable
from bondloop.errors import InputError, unknown_name
from bondloop.papers.gawthrop_three_mass import CUT, SPRINGS, VALUES, Mass

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest
    from bondloop.rehearsal import Run


SECONDS = 60.0
"""Length over which the errors are stated."""

AMPLITUDE = 0.5
"""Support motion in m: r(t) = 0.5 cos t, so at the start the first spring is stretched by 0.5."""


@describable("model", "wagg-three-mass")
def model(displacement: bool = False, spring: str = "double-well") -> Model:
    """Return the complete chain.

    Parameters
    ----------
    displacement
        Whether the displacement of the second mass, ``m2.displacement``, is among its variables.
    spring
        The third one: ``double-well``, -δ + δ³, as the caption of figure 5 has it, or ``hardening``, δ + δ³,
        as the text has.
    """
    if spring not in SPRINGS:
        raise InputError(unknown_name("spring", spring, SPRINGS))
    chain = Model("wagg_three_mass")
    chain.wall = Sf("r")
    chain.m1 = Mass(VALUES["m1"], VALUES["c1"], C(stiffness=VALUES["k1"], initial=AMPLITUDE))
    chain.m2 = Mass(VALUES["m2"], VALUES["c2"], C(stiffness=VALUES["k2"]))
    chain.m3 = Mass(VALUES["m3"], VALUES["c3"], C(law=SPRINGS[spring]))
    chain.wall >> chain.m1.left
    chain.m1.right >> chain.m2.left
    chain.m2.right >> chain.m3.left
    if displacement:
        chain.m2.speed, chain.m2.displacement = Df(), SignalIntegrator()
        chain.m2.v >> chain.m2.speed >> chain.m2.displacement
    return chain


def test(
    alpha: float = 100.0,
    beta: float = 10.0,
    settling_time: float = 0.01,
    rate: float = 1000.0,
    coupling: str = "continuous",
    controller: str = "mcs",
    error_filter: str | Sequence[float] = "settling",
    spring: str = "double-well",
) -> HybridTest:
    """Return the numerical example of the paper.

    Parameters
    ----------
    alpha, beta, settling_time
        Weights and settling time of the MCS controller.
    rate
        Steps a second.
    coupling
        ``continuous`` as in the paper's simulation, or ``sampled``.
    controller
        ``mcs``, ``discrete`` (the same as a difference equation) or ``direct``.
    error_filter
        C_e of the controller, as `bondloop.control.MCS` takes it.
    spring
        The third one, see `model`.
    """
    from bondloop.control import MCS, Direct, DiscreteMCS
    from bondloop.hybrid import HybridTest
    from bondloop.rigs import Emulated
    from bondloop.signals import Sine
    from bondloop.transfer import MassSpringDamper

    numerical, physical = model(spring=spring).cut(CUT)
    support = Sine(AMPLITUDE, 1 / (2 * math.pi), phase=math.pi / 2)
    kinds = {"mcs": MCS, "discrete": DiscreteMCS}
    if controller not in (*kinds, "direct"):
        raise InputError(f"controller must be mcs, discrete or direct; found {controller!r}")
    control = (
        kinds[controller](alpha, beta, settling_time, reference=support, error_filter=error_filter)
        if controller in kinds
        else Direct()
    )
    return HybridTest(
        numerical,
        rig=Emulated(physical, MassSpringDamper(1.0, 1.0, 1.0)),
        controller=control,
        excitation={"r": support.derivative()},
        rate=rate,
        coupling=coupling,
        reference=(model(displacement=True, spring=spring), ["m2.displacement"]),
        name="wagg_three_mass",
    )


def findings(run: Run) -> dict[str, float]:
    """Transfer system against the complete system's second mass (figure 5), and the largest gains."""
    import numpy as np

    from bondloop.engine.ir import Role
    from bondloop.results.assess import normalised_rms_error

    found = {
        "normalised_rms_error_to_complete": normalised_rms_error(
            run["reference.m2.displacement"], run["actual.displacement"]
        ),
    }
    for name in run.record.channels_of(Role.GAIN):
        found[f"largest_{name.removeprefix('controller.')}"] = float(np.abs(run[name]).max())
    return found
