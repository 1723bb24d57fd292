"""A rig closer to that of Gawthrop, Wallace and Wagg 2005: what the text names and its model leaves out.

The paper's loop without virtual junction is bounded (figure 13 a, c), where its linear model is not, and with
it a residual is left at 3/5 Hz and in sweeps (figures 14 and 15), where the linear model leaves less. This
module asks which effect could do that: dry friction of the ball screws, friction of the middle mass's
bearings, the rotors' inertia, the compliance of screw and belt, the actuators' top speed. Each is built into
the drives; they are identified in their position loops without load, as in section 5.1, and the test of
section 5.2 is run with the models that come out.

References
----------
Gawthrop, P. J., Wallace, M. I., Wagg, D. J. (2005). Bond-graph based substructuring of dynamical systems.
Earthquake Engineering and Structural Dynamics 34(6), 687-703. doi:10.1002/eqe.450
"""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from bondloop.control import Parameter, VirtualJunction
from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators as two
from bondloop.papers.gawthrop_identification import PERIOD, ScrewDrive, identify, position_loop
from bondloop.program.block import Applied, Context

if TYPE_CHECKING:
    from bondloop.control import Controller, Measured
    from bondloop.hybrid import HybridTest
    from bondloop.papers.gawthrop_identification import Identified
    from bondloop.program.expr import Expr

__all__ = ["SPEED", "JunctionInLoop", "Rig"]

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
