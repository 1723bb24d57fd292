"""A test to operate: two masses, one on a stiff rig, which no pause of a busy machine ends."""

from bondloop.bondgraph import C, Model, Sf
from bondloop.control import Direct
from bondloop.engine.ir.tick import Tunable
from bondloop.hybrid import HybridTest, Switches
from bondloop.papers.gawthrop_three_mass import Mass
from bondloop.rigs import Emulated
from bondloop.safety import Interlock, Limits, PowerTrip, RampedSwitch
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper

SECONDS = 600.0


def test():
    """Return it: the switches follow the operator alone, and its limits are wide."""
    m = Model("chain")
    m.wall, m.m1, m.m2 = Sf("r"), Mass(5.0, 8.0, C(stiffness=400.0)), Mass(0.5, 6.0, C(stiffness=30.0))
    m.wall >> m.m1.left
    m.m1.right >> m.m2.left
    numerical, physical = m.cut("m1.right >> m2.left")
    switch = RampedSwitch(1.0, ramp="500 ms", initial=0.0)
    return HybridTest(
        numerical,
        rig=Emulated(physical, MassSpringDamper(1.0, 600.0, 9e4, drive="position")),
        controller=Direct(),
        excitation={"r": Sine(0.1, 2.0)},
        rate=1000,
        name="operated_chain",
        switches=Switches(displacement=switch, force=switch, simulated=physical),
        interlock=Interlock(
            Limits(displacement="1 m", force="1 MN", command="1 m", tracking_error="1 m", warning="80 %"),
            power=PowerTrip("1 MW"),
            retreat=0.5,
        ),
        gap="60 s",
        tunable={
            "excitation.scale": Tunable(least=0, most=1, rate=1.0, description="span of the wall's motion")
        },
    )
