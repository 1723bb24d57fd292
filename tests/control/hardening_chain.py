"""The three-mass chain with a hardening spring, the third mass on a rig: for virtual junctions."""

import math

from bondloop.bondgraph import C
from bondloop.hybrid import HybridTest
from bondloop.papers import gawthrop_three_mass as three
from bondloop.rigs import Emulated
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper

__all__ = ["CHOSEN", "TRUE", "a_test"]

TRUE = (1.0, 8.0, 400.0)
CHOSEN = ("damper.damping", "spring.stiffness")


def a_test(controller, actuator=None, **options):
    chain = three._chain(three.VALUES, C(law=lambda d: d + d**3))
    numerical, physical = chain.cut(three.CUT)
    return HybridTest(
        numerical,
        rig=Emulated(physical, actuator or MassSpringDamper(*TRUE, drive="position"), **options),
        controller=controller,
        excitation={"r": Sine(-0.5, 1 / (2 * math.pi))},
        rate=1000,
        reference=(chain, ["m3.v.flow"]),
        record=["rig.specimen.m3.v.flow"],
    )
