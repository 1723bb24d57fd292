"""The numerical-experimental example of Wagg and Stoten 2001 on an emulated two-mass rig with friction.

Two masses on a track, joined to each other and to the end stops by light springs. One is moved by a motor
and is the transfer system; the other is the specimen. Friction in the bearings is the nonlinearity, in the
transfer system as well as in the specimen. The numerical half is a chain of two such masses with viscous
damping.

Masses, springs, damping, sample rate and forcing are the paper's. It gives no friction force and no
controller weights: the friction is chosen to dissipate as much as the paper's equivalent viscous damper of
2.4 N s/m does at the peak velocity of the forcing, the weights so that the transfer system follows through
sticking without gains drifting away. With them C_e = [4, 1], whose ratio is below c/m = 2.4/0.515 = 4.66 1/s:
the error dynamics are strictly positive real (``examples/papers/wagg_theory.py``).

References
----------
Wagg, D. J., Stoten, D. P. (2001). Substructuring of dynamical systems via the adaptive minimal control
synthesis algorithm. Earthquake Engineering and Structural Dynamics 30(6), 865-877. doi:10.1002/eqe.44
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bondloop.bondgraph import Model, One, Port, Zero
from bondloop.bondgraph.elements import C, I, Sf
from bondloop.engine.data import describable, number
from bondloop.papers.gawthrop_three_mass import Mass

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest
    from bondloop.rehearsal import Run


MASS, STIFFNESS, DAMPING = 0.515, 2.43, 2.4
"""kg, N/m, N s/m (section "Numerical-experimental example")."""

FORCING, OMEGA = 0.1, 0.1
"""Support motion 0.1 cos(0.1 t) in m."""

FRICTION, WIDTH = 0.024, 0.002
"""Coulomb force in N, about 2.4 N s/m times the peak velocity 0.01 m/s, and the velocity at which it acts."""

PERIOD = 2 * math.pi / OMEGA
"""Of the forcing, in s."""

SECONDS = 150.0
"""A little more than two periods of the forcing."""


FREE = "rig.specimen.m3.stop.displacement"
"""Displacement of the free mass, x_c: how far the spring to its end stop is stretched."""


class Specimen(Model):
    """The free mass: springs to the transfer mass and to the end stop, and bearing friction."""

    def __init__(self, friction: float) -> None:
        from bondloop.rigs import coulomb

        self.left = Port()
        self.spring_side, self.v = Zero(), One()
        self.left >> self.spring_side >> self.v
        self.between = C(stiffness=STIFFNESS)
        self.spring_side >> self.between
        self.stop = C(stiffness=STIFFNESS)
        self.bearing = coulomb(friction, WIDTH)
        self.v >> [I(mass=MASS), self.stop, self.bearing]


@describable("model", "wagg-two-mass-rig")
def model(friction: float = FRICTION) -> Model:
    """Return the complete system: two numerical masses and the free mass of the rig."""
    chain = Model("wagg_two_mass")
    chain.wall = Sf("r")
    chain.m1 = Mass(MASS, DAMPING, C(stiffness=STIFFNESS, initial=FORCING))
    chain.m2 = Mass(MASS, DAMPING, C(stiffness=STIFFNESS))
    chain.m3 = Specimen(number(friction, "friction", "N"))
    chain.wall >> chain.m1.left
    chain.m1.right >> chain.m2.left
    chain.m2.right >> chain.m3.left
    return chain


def test(
    alpha: float = 1000.0,
    beta: float = 100.0,
    settling_time: float = 1.0,
    friction: float = FRICTION,
    dead_zone: float = 0.0,
    leakage: float = 0.0,
    rate: float = 512.0,
    noise: float = 0.0,
) -> HybridTest:
    """Return the test on the emulated rig.

    Parameters
    ----------
    alpha, beta, settling_time
        Weights and settling time of the MCS controller.
    friction
        Bearing friction of each mass in N.
    dead_zone, leakage
        Wind-up protection of the gains.
    rate
        Samples a second; the paper has 512.
    noise
        Noise of the displacement transducers in m (rms).
    """
    from bondloop.control import MCS
    from bondloop.hybrid import HybridTest
    from bondloop.rigs import Emulated, Sensor, WhiteNoise, coulomb
    from bondloop.signals import Sine
    from bondloop.transfer import MassSpringDamper

    numerical, physical = model(friction).cut("m2.right >> m3.left")
    # The motor's mass is held by one spring to its end stop; the one to the specimen belongs to the specimen.
    actuator = MassSpringDamper(MASS, 1e-3, STIFFNESS, friction=coulomb(friction, WIDTH))
    support = Sine(FORCING, OMEGA / (2 * math.pi), phase=math.pi / 2)
    return HybridTest(
        numerical,
        rig=Emulated(
            physical, actuator, sensors={"displacement": Sensor((WhiteNoise(noise),))} if noise else {}
        ),
        controller=MCS(alpha, beta, settling_time, reference=support, dead_zone=dead_zone, leakage=leakage),
        excitation={"r": support.derivative()},
        rate=rate,
        record=["rig.specimen.m3.v.flow", FREE],
        name="wagg_two_mass_rig",
    )


def findings(run: Run) -> dict[str, float]:
    """Tracking through friction, from the start and once the gains have settled; force, motions and gains."""
    import numpy as np

    from bondloop.engine.ir import Role
    from bondloop.results.assess import normalised_rms_error

    x, y = run["desired.displacement"], run["actual.displacement"]
    settled = run.time > PERIOD
    found = {"normalised_rms_error": normalised_rms_error(x, y)}
    if settled.sum() > 1:
        found["normalised_rms_error_after_one_period"] = normalised_rms_error(x[settled], y[settled])
    found["largest_force_N"] = float(np.abs(run["force"]).max())
    for word, motion in (("desired", x), ("free_mass", run[FREE])):
        found[f"largest_{word}_displacement_m"] = float(np.abs(motion).max())
    for name in run.record.channels_of(Role.GAIN):
        found[f"largest_{name.removeprefix('controller.')}"] = float(np.abs(run[name]).max())
    return found
