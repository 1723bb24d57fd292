"""The two-actuator experiment of Gawthrop, Wallace and Wagg 2005, section 5, on an emulated rig.

Three masses in a row between two moving walls. The middle mass with the springs on either side is the
physical half; two actuators, each a mass m_t driven through a spring k_t by a set point, move the springs'
outer ends. The outer masses with the springs to the walls are numerical. N = 2 interfaces, sampled at 1
kHz.

The paper states the parameters (figure 8, table I) but not where the dampers sit; here each is parallel to
its spring. Without a virtual junction the linear emulation is unstable: the actuators' lag acts as negative
damping. The paper's figures 13 (a) and (c) show bounded ellipses, so its rig had damping that the text does
not state; driving the actuators without feeding the forces back shows such ellipses.

References
----------
Gawthrop, P. J., Wallace, M. I., Wagg, D. J. (2005). Bond-graph based substructuring of dynamical systems.
Earthquake Engineering and Structural Dynamics 34(6), 687-703. doi:10.1002/eqe.450
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph import Model, One, Port, Zero
from bondloop.bondgraph.elements import C, I, R, Sf
from bondloop.engine.data import describable
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.control import Controller
    from bondloop.hybrid import HybridTest
    from bondloop.rehearsal import Run
    from bondloop.signals import Signal


CUTS = ("mn1.right >> link1.left", "link2.right >> mn2.left")
"""The two cut bonds; what lies between them is physical."""

MASS, DAMPING, STIFFNESS = 2.2, 6.0, 4750.0
"""kg, N s/m, N/m: all masses, dampers and springs of the structure (figure 8 and section 5)."""

TABLE_I = ((150.8, 13618.0), (200.8, 25902.0))
"""Damping and stiffness of the two actuators (table I), with m_t = 2.2 kg."""

STROKE, CAPACITY = 0.025, 500.0
"""m and N: half of the transducers' full scale of 50 mm; the actuators' largest force (section 5)."""

ADAPTED, NEWTONS = ("damper.damping", "spring.stiffness"), 0.1
"""What the adaptive virtual junctions identify, and the error in its equation of motion, in N."""

SECONDS = 10.0
"""Default length; the sweeps last 60 s."""


class Link(Model):
    """A spring and a damper side by side between two velocities."""

    def __init__(self, k: Any, c: Any) -> None:
        self.left, self.right = Port(), Port()
        self.force, self.stretch = Zero(), One()
        self.left >> self.force >> self.right
        self.force >> self.stretch >> [C(stiffness=k), R(damping=c)]


class PointMass(Model):
    """A mass between two ports."""

    def __init__(self, m: Any) -> None:
        self.left, self.right = Port(), Port()
        self.v = One()
        self.left >> self.v >> self.right
        self.v >> I(mass=m)


@describable("model", "gawthrop-two-actuators")
def model() -> Model:
    """Return the complete three-mass structure between two walls."""
    s = Model("two_actuators")
    s.wall1, s.wall2 = Sf("r1"), Sf("r2")
    s.outer1, s.link1, s.link2, s.outer2 = (Link(STIFFNESS, DAMPING) for _ in range(4))
    s.mn1, s.m3, s.mn2 = (PointMass(MASS) for _ in range(3))
    s.wall1 >> s.outer1.left
    s.outer1.right >> s.mn1.left
    s.mn1.right >> s.link1.left
    s.link1.right >> s.m3.left
    s.m3.right >> s.link2.left
    s.link2.right >> s.mn2.left
    s.mn2.right >> s.outer2.left
    s.outer2.right >> s.wall2
    return s


def excitations(case: str, amplitude: float) -> dict[str, Signal]:
    """Return the wall velocities of a case: ``5/5``, ``3/5`` (Hz) or ``sweep`` (1-5 and 3-4 Hz in 60 s)."""
    from bondloop.signals import Sine, Sweep

    left: Signal
    right: Signal
    if case == "sweep":
        left, right = Sweep(amplitude, 1.0, 5.0, 60.0), Sweep(amplitude, 3.0, 4.0, 60.0)
    elif case in ("5/5", "3/5"):
        f1, f2 = (float(f) for f in case.split("/"))
        left, right = Sine(amplitude, f1), Sine(-amplitude, f2)
    else:
        raise InputError(f"case must be '5/5', '3/5' or 'sweep'; found {case!r}")
    return {"r1": left.derivative(), "r2": right.derivative()}


def test(
    case: str = "5/5",
    controller: str = "virtual-junction",
    amplitude: float = 0.001,
    rate: float = 1000.0,
    latency_samples: int = 0,
    damping_error: float = 0.0,
    stiffness_error: float = 0.0,
    feedback: bool = True,
) -> HybridTest:
    """Return the test of section 5.2.

    Parameters
    ----------
    case
        ``5/5``, ``3/5`` or ``sweep``: the wall motions of figures 13, 14 and 15.
    controller
        ``virtual-junction`` or ``direct``; or ``adaptive`` or ``adaptive-sensitivities``, which identify c_t
        and k_t as the test runs (section 6), by least squares or by the sensitivity bond graph; or
        ``observed``, without load cells: the forces are those of virtual sensors (section 6).
    amplitude
        Wall displacement in m.
    rate
        Samples a second.
    latency_samples
        Samples by which the commands are late.
    damping_error, stiffness_error
        Relative errors of c_t and k_t in the virtual junction's model of both actuators.
    feedback
        Whether the measured forces are fed back.
    """
    from bondloop.control import (
        AdaptiveVirtualJunction,
        Direct,
        ObservedVirtualJunction,
        SensitivityVirtualJunction,
        VirtualJunction,
    )
    from bondloop.hybrid import HybridTest
    from bondloop.rigs import Emulated
    from bondloop.safety import Limits
    from bondloop.transfer import MassSpringDamper

    structure = model()
    numerical, physical = structure.cut(*CUTS)
    actuators = [MassSpringDamper(MASS, c, k, drive="position") for c, k in TABLE_I]
    models = [
        MassSpringDamper(MASS, c * (1 + damping_error), k * (1 + stiffness_error), drive="position")
        for c, k in TABLE_I
    ]
    controllers: dict[str, Callable[[], Controller]] = {
        "virtual-junction": lambda: VirtualJunction(models),
        "direct": Direct,
        "adaptive": lambda: AdaptiveVirtualJunction(models, ADAPTED, noise=NEWTONS),
        "adaptive-sensitivities": lambda: SensitivityVirtualJunction(models, ADAPTED),
        "observed": lambda: ObservedVirtualJunction(models),
    }
    if controller not in controllers:
        raise InputError(f"controller must be one of {', '.join(controllers)}; found {controller!r}")
    return HybridTest(
        numerical,
        rig=Emulated(physical, actuators, latency=latency_samples / rate),
        controller=controllers[controller](),
        excitation=excitations(case, amplitude),
        rate=rate,
        feedback=feedback,
        limits=Limits(displacement=STROKE, force=CAPACITY),
        reference=(structure, ["mn1.v.flow", "mn2.v.flow"]),
        name="gawthrop_two_actuators",
    )


def findings(run: Run) -> dict[str, float]:
    """Normalised rms errors of both actuators, after the first tenth of the run."""
    from bondloop.results.assess import normalised_rms_error

    settled = run.time >= 0.1 * run.time[-1] if len(run.time) else slice(None)
    return {
        f"normalised_rms_error_{i + 1}": normalised_rms_error(run[d][settled], run[a][settled])
        for i, (d, a) in enumerate(run.pairs)
    }
