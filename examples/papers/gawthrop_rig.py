"""A rig closer to that of Gawthrop, Wallace and Wagg 2005: what the text names and its model leaves out.

The paper's loop without virtual junction is bounded (figure 13 a, c), where its linear model is not, and with
it a residual is left at 3/5 Hz and in sweeps (figures 14 and 15), where the linear model leaves less. This
module asks which effect could do that: dry friction of the ball screws, friction of the middle mass's
bearings, the rotors' inertia, the compliance of screw and belt, the actuators' top speed. Each is built into
the drives; they are identified in their position loops without load, as in section 5.1, and the test of
section 5.2 is run with the models that come out.

A servomotor with its amplifier pushes the mass m_t through a ball screw; a digital controller of gain g
closes the position loop at 1 kHz, ``u = g (x_d - x)`` (equation 11). Without the specimen the loop is driven
by a sequence of set points; frequency-sampling filters make a step response of the record (figure 12), and
the sensitivity bond graph fits damping and stiffness of the plausible model of figure 11 to it (table I).

The paper does not state the actuator's own data. `table_drive` is the simplest drive that has the values of
table I at g = 1: a force in proportion to u, a mass and a damper.

References
----------
Gawthrop, P. J., Wallace, M. I., Wagg, D. J. (2005). Bond-graph based substructuring of dynamical systems.
Earthquake Engineering and Structural Dynamics 34(6), 687-703. doi:10.1002/eqe.450
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bondloop.bondgraph import Model, One, Port, Zero
from bondloop.bondgraph.elements import C, I, Input, MSe, R
from bondloop.control import OuterLoop, VirtualJunction
from bondloop.engine.data import Parameter
from bondloop.engine.passes import Applied, Context
from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators as two
from bondloop.papers.gawthrop_two_actuators import CAPACITY, MASS, TABLE_I
from bondloop.transfer import clipped, guide_friction

if TYPE_CHECKING:
    from bondloop.control import Controller, Measured
    from bondloop.engine.ir import Expr
    from bondloop.hybrid import HybridTest
    from bondloop.identify import Data, StepResponse
    from bondloop.identify.models import BondGraphFit
    from bondloop.signals import Signal


GAINS = (0.6, 0.8, 1.0)
"""Gains of the position loop in figure 12 (a)."""
PERIOD = 1e-3
"""s: the sample interval of equation (11)."""
SETTLING = 0.256
"""s in which a step response becomes flat."""
BRAKE = 2e3
"""N s/m by which a drive brakes beyond its top speed."""
FREE = {"damper.damping": (10.0, 2e3), "spring.stiffness": (1e3, 2e5)}
"""Parameters of figure 11 that are identified, with bounds in N s/m and N/m; the mass is known."""


def position_loop(gain: float = 1.0) -> OuterLoop:
    """Return the digital position loop, u = g (x_d - x) (equation 11).

    Parameters
    ----------
    gain
        g.
    """
    return OuterLoop(proportional=gain)


class ScrewDrive(Model):
    """A servomotor with amplifier and ball screw, seen from the mass that it pushes.

    The amplifier gives a force in proportion to its input u, up to the capacity. Where there is a rotor, the
    force acts on it, and screw and belt, a spring with a damper, push the carriage.

    Parameters
    ----------
    stiffness
        Force in N for one metre of u: with g = 1 the stiffness of the position loop.
    viscous, coulomb
        Friction in N s/m and N.
    mass
        Of the carriage, kg.
    rotor
        The rotor's inertia over the square of the travel for one radian, kg; 0 for a rigid drive without one.
    screw, screw_damping
        Stiffness and damping of screw and belt, N/m and N s/m.
    width
        Velocity over which the dry friction changes sign, m/s.
    capacity
        Largest force, N.
    top_speed
        m/s, beyond which the drive brakes; 0 for none.

    Examples
    --------
    >>> drive = ScrewDrive(13618.0, 157.6).compile()
    >>> drive.states
    ('mass.momentum',)
    """

    def __init__(  # noqa: PLR0913 - a drive has so many parts
        self,
        stiffness: float,
        viscous: float,
        coulomb: float = 0.0,
        *,
        mass: float = MASS,
        rotor: float = 0.0,
        screw: float = 1e6,
        screw_damping: float = 400.0,
        width: float = 1e-3,
        capacity: float = CAPACITY,
        top_speed: float = 0.0,
    ) -> None:
        super().__init__("screw_drive")
        self.command, self.push = Input("u", unit="m"), MSe(_force, stiffness=stiffness, capacity=capacity)
        self.v, self.out, self.mass = One(), Port(), I(mass=mass)
        self.guide = guide_friction(viscous, coulomb, width) if coulomb else R(damping=viscous)
        self.command >> self.push
        self.v >> [self.mass, self.out]
        if top_speed:
            self.limit = R(_brake, top_speed=top_speed, brake=BRAKE)
            self.v >> self.limit
        if not rotor:
            self.push >> self.v >> self.guide
            return
        # The friction of screw, nut and bearings is on the motor's side of what gives way.
        self.w, self.joint, self.stretch, self.rotor = One(), Zero(), One(), I(mass=rotor)
        self.push >> self.w >> [self.rotor, self.guide]
        self.w >> self.joint >> self.v
        self.joint >> self.stretch >> [C(stiffness=screw), R(damping=screw_damping)]


def _brake(flow: Any, top_speed: Any, brake: Any) -> Any:
    return brake * (flow - clipped(flow, top_speed))


def _force(u: Any, stiffness: Any, capacity: Any) -> Any:
    return clipped(stiffness * u, capacity)


def table_drive(number: int, mass: float = MASS) -> ScrewDrive:
    """Return the drive that, in its position loop with g = 1, behaves as table I says of actuator 1 or 2.

    A command that is held over a sample period h is late by h/2 in the mean; in a loop of stiffness k that
    takes k h/2 of the damping away, so the drive has so much more. Of the mass only the ratio to damping and
    stiffness shows without load: a larger one scales all three.

    Parameters
    ----------
    number
        1 or 2.
    mass
        The mass that moves, kg.

    Examples
    --------
    >>> table_drive(1).compile().parameters["guide.damping"]
    157.609
    """
    damping, stiffness = TABLE_I[number - 1]
    share = mass / MASS
    return ScrewDrive(share * stiffness, share * (damping + stiffness * PERIOD / 2), mass=mass)


def set_points(amplitude: float = 2e-3, seconds: float = 20.0, seed: int = 1) -> Signal:
    """Return a random sequence of two set points, each held for 20 ms or a multiple, from rest."""
    from bondloop.signals import Table

    hold = 0.02
    count = round(seconds / hold)
    levels = amplitude * np.random.default_rng(seed).choice([-1.0, 1.0], count)
    levels[:5] = 0.0
    return Table(hold * np.arange(count), levels, interpolation="hold")


def measure(drive: Model, gain: float, demand: Signal | None = None, seconds: float = 20.0) -> Data:
    """Drive an actuator in its position loop, with nothing attached, and record what its LVDT reads."""
    from bondloop.identify import Experiment
    from bondloop.rigs import LVDT, Emulated, nothing_mounted

    rig = Emulated(nothing_mounted(), drive, sensors={"displacement": LVDT()})
    return Experiment(rig, 1 / PERIOD, position_loop(gain)).run(demand or set_points(), seconds)


@dataclass(frozen=True, eq=False)
class Identified:
    """What the records say of an actuator.

    Attributes
    ----------
    steps
        Step responses by gain (figure 12 a).
    fit
        Damping and stiffness of figure 11, from the step response of the largest gain (table I, figure 12 b).
    """

    steps: dict[float, StepResponse]
    fit: BondGraphFit

    @property
    def damping(self) -> float:
        """c_t in N s/m."""
        return self.fit.values["damper.damping"]

    @property
    def stiffness(self) -> float:
        """k_t in N/m."""
        return self.fit.values["spring.stiffness"]


def identify(
    drive: Model, gains: tuple[float, ...] = GAINS, *, mass: float = MASS, amplitude: float = 2e-3
) -> Identified:
    """Identify a transfer system as section 5.1 does.

    Parameters
    ----------
    drive
        The actuator.
    gains
        Of the position loop; the model is fitted for the last one.
    mass
        What is taken for the moving mass, kg: the record does not tell it.
    amplitude
        Of the set points, m.
    """
    from bondloop.identify import step_response
    from bondloop.identify.models import fit_bond_graph
    from bondloop.transfer import MassSpringDamper

    demand = set_points(amplitude)
    steps = {}
    for gain in gains:
        data = measure(drive, gain, demand)
        steps[gain] = step_response(data["demand"], data["displacement"], PERIOD, settling=SETTLING)
    response = steps[gains[-1]].response
    fit = fit_bond_graph(
        MassSpringDamper(mass, 100.0, 1e4, drive="position"),
        {"x_d": np.ones(len(response))}, {"spring.displacement": response}, PERIOD, FREE,
    )  # fmt: skip
    return Identified(steps, fit)


# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class


SPEED = 0.64
"""m/s: the actuators' largest speed (section 5)."""


@dataclass(frozen=True, eq=False)
class JunctionInLoop(VirtualJunction):
    """A virtual junction whose command is the set point of the digital position loop of equation (11).

    Parameters
    ----------
    model
        Of the transfer systems, loop included.
    gain
        g of the loop.
    """

    sampled: ClassVar[bool] = True
    gain: Parameter = Parameter(1.0, above=0, unit="1")

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:  # noqa: ARG002
        """Return the input of the linear actuator, u = g (x_d - x)."""
        return Applied([], self.gain * (desired - measured.displacement))


@dataclass(frozen=True)
class Rig:
    """The two drives with the middle mass, and what the model of figure 11 leaves out of them.

    The drives are scaled so that without friction their step responses are those of table I, whatever moves.

    Parameters
    ----------
    friction
        Dry friction of each drive, N.
    bearing
        Dry friction of the middle mass's bearings, N.
    rotor
        Each rotor's inertia, seen as a mass, kg.
    screw
        Stiffness of screw and belt, N/m; it gives way only where there is a rotor behind it.
    top_speed
        Of the drives, m/s; 0 for none.

    Examples
    --------
    >>> Rig(friction=2.0).test("direct").controller
    OuterLoop(proportional=1.0, integral=0.0, derivative=0.0, lead=0.0, lag=0.0)
    """

    friction: float = 0.0
    bearing: float = 0.0
    rotor: float = 0.0
    screw: float = 1e6
    top_speed: float = 0.0

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if not value >= 0:
                raise InputError(f"Rig({f.name}): expected a number that is not negative; found {value!r}")

    def drives(self) -> list[ScrewDrive]:
        """Return the two drives."""
        share = (two.MASS + self.rotor) / two.MASS
        return [
            ScrewDrive(
                share * k, share * (c + k * PERIOD / 2), self.friction,
                rotor=self.rotor, screw=self.screw, top_speed=self.top_speed,
            )
            for c, k in two.TABLE_I
        ]  # fmt: skip

    @cached_property
    def identified(self) -> list[Identified]:
        """Both drives as section 5.1 identifies them: g = 1, no load, 2.2 kg taken for the mass."""
        return [identify(drive, (1.0,)) for drive in self.drives()]

    def test(
        self,
        controller: str = "virtual-junction",
        case: str = "5/5",
        *,
        amplitude: float = 1e-3,
        feedback: bool = True,
        numerical_damping: float = two.DAMPING,
    ) -> HybridTest:
        """Return the test of section 5.2 on this rig, with the models that were identified on it.

        Parameters
        ----------
        controller
            ``virtual-junction`` or ``direct``; the command goes through the position loop either way.
        case, amplitude, feedback
            As for `gawthrop_two_actuators.test`.
        numerical_damping
            Of the dampers between the numerical masses and the walls, N s/m.
        """
        from bondloop.hybrid import HybridTest
        from bondloop.rigs import Emulated, coulomb
        from bondloop.safety import Limits
        from bondloop.transfer import MassSpringDamper

        structure = two.model()
        if self.bearing:
            structure.bearing = coulomb(self.bearing)
            structure.m3.v >> structure.bearing
        numerical, physical = structure.cut(*two.CUTS)
        control: Controller
        if controller == "virtual-junction":
            control = JunctionInLoop([
                MassSpringDamper(two.MASS, found.damping, found.stiffness, drive="position")
                for found in self.identified
            ])  # fmt: skip
        elif controller == "direct":
            control = position_loop()
        else:
            raise InputError(f"controller must be 'virtual-junction' or 'direct'; found {controller!r}")
        test = HybridTest(
            numerical,
            rig=Emulated(physical, self.drives()),
            controller=control,
            excitation=two.excitations(case, amplitude),
            rate=1 / PERIOD,
            feedback=feedback,
            limits=Limits(displacement=two.STROKE, force=two.CAPACITY),
            name="gawthrop_rig",
        )
        links = {f"numerical.{link}.R.damping": numerical_damping for link in ("outer1", "outer2")}
        return test.with_values(links)
