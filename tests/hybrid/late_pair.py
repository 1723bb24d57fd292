"""Two masses with a late rig between them, of which a compensator is asked much."""

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero
from bondloop.transfer import first_order

LATE = first_order(1.0, "5 ms", delay="9 ms")


class Mass(Model):
    def __init__(self, m, c, k):
        self.left, self.right = Port(), Port()
        self.force, self.v = Zero(), One()
        self.left >> self.force >> self.v >> self.right
        self.spring, self.mass, self.damper = C(stiffness=k), I(mass=m), R(damping=c)
        self.force >> self.spring
        self.v >> [self.mass, self.damper]


def pair(stiffness=10e3, **changes):
    """Two masses, the second on a rig that is late by 9 ms and lags by 5 ms: unstable by itself."""
    whole = Model("pair")
    whole.wall = Sf("v_wall")
    whole.a, whole.b = Mass(20, 120, 50e3), Mass(2, 12, stiffness)
    whole.wall >> whole.a.left
    whole.a.right >> whole.b.left
    numerical, physical = whole.cut("a.right >> b.left")
    motion = bl.signals.Sine("2 mm", 4.0) + bl.signals.Sine("1 mm", 1.5)
    arguments = {
        "rig": bl.rigs.Emulated(physical, first_order(1.0, "5 ms").actuator(), latency="9 ms"),
        "controller": bl.control.Direct(),
        "excitation": {"v_wall": motion.derivative()},
        "rate": 1000,
        "reference": whole,
    }
    return bl.HybridTest(numerical, **{**arguments, **changes})
