"""Refused tests that a check finds large: half a second of delay at 4 kHz, and sixteen late interfaces."""

from dataclasses import replace

from late_pair import pair

from bondloop.bondgraph import C, I, Model, One, Port, R, Se, Zero
from bondloop.control import Direct
from bondloop.hybrid import HybridTest
from bondloop.rigs import Emulated
from bondloop.safety import Limits
from bondloop.signals import Sine
from bondloop.transfer import first_order

__all__ = ["half_a_second", "many_interfaces"]


def half_a_second():
    """Return two masses, the second on a rig that is late by 2,000 samples of a quarter of a millisecond."""
    late = pair(reference=None, rate=4000)
    return late.replaced(rig=replace(late.rig, latency=0.5))


def many_interfaces(interfaces=16, time_constant=5e-3):
    """Return masses in a row on springs, each with a spring of its own on a rig of its own that lags."""
    whole = Model("row")
    whole.push = Se("push")
    names = [f"m{i}" for i in range(interfaces)]
    for i, name in enumerate(names):
        part, specimen = Model(), Model()
        part.v, part.right, part.mass, part.damper = One(), Port(), I(mass=100.0), R(damping=50.0)
        part.ground = C(stiffness=100e3)
        part.v >> [part.mass, part.damper, part.ground, part.right]
        specimen.left, specimen.v, specimen.spring = Port(), One(), C(stiffness=(20 + i) * 1e3)
        specimen.left >> specimen.v >> specimen.spring
        setattr(whole, name, part)
        setattr(whole, f"s{i}", specimen)
        part.right >> specimen.left
    whole.push >> whole.m0.v
    for i in range(interfaces - 1):
        between, spring = Zero(), C(stiffness=50e3)
        setattr(whole, f"between{i}", between)
        setattr(whole, f"spring{i}", spring)
        getattr(whole, names[i]).v >> between >> getattr(whole, names[i + 1]).v
        between >> spring
    numerical, physical = whole.cut(*(f"m{i}.right >> s{i}.left" for i in range(interfaces)))
    actuators = [first_order(1.0, time_constant).actuator() for _ in range(interfaces)]
    return HybridTest(
        numerical, rig=Emulated(physical, actuators), controller=Direct(),
        excitation={"push": Sine(200.0, 2.0)}, rate=1000, limits=Limits(displacement="50 mm"),
    )  # fmt: skip
