"""An inerter with the flexibility and friction of its screw."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.device import DAMPING, FORCE, STIFFNESS, VELOCITY, Device
from bondloop.engine.data import Parameter
from bondloop.math import tanh

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


class Inerter(Device):
    """A flywheel that is driven by a screw, so that the force goes with the acceleration (Smith 2002).

    The screw's flexibility lies between the end and the flywheel: elongation u' = v - w, inertance times w'
    = k u + c u' - friction, and the force is k u + c u'. An ideal inerter is ``I(mass=b)`` on the relative
    velocity.

    Parameters
    ----------
    inertance
        b, kg: (2 π/pitch)² times the flywheel's inertia.
    stiffness, damping
        k and c of the screw and its mounting, N/m and N s/m.
    friction, width
        Dry friction of the screw in N, and the velocity over which it changes sign in m/s.

    Examples
    --------
    >>> from bondloop.devices import Imposed, Inerter
    >>> Inerter(inertance=500, stiffness=1e6, damping=0).at_states(elongation=1e-3).rates(Imposed())
    {'elongation': 0.0, 'speed': 2.0}
    """

    source = "Smith (2002), IEEE Trans. Autom. Control 47; Papageorgiou, Houghton and Smith (2009)"
    mass_is = "none"

    inertance: Parameter = Parameter(500.0, above=0, unit=("kg", "kg m^2"))
    stiffness: Parameter = Parameter(1e6, above=0, unit=STIFFNESS)
    damping: Parameter = Parameter(2e3, least=0, unit=DAMPING)
    friction: Parameter = Parameter(0.0, least=0, unit=FORCE)
    width: Parameter = Parameter(1e-3, above=0, unit=VELOCITY)
    states: ClassVar[Mapping[str, float]] = {"elongation": 0.0, "speed": 0.0}
    units: ClassVar[Mapping[str, str]] = {"elongation": "m", "speed": "m/s"}

    def rates(self, motion: Imposed) -> Mapping[str, Value]:
        """Return how the screw is drawn out and the flywheel sped up."""
        rubs = self.friction * tanh(self.speed / self.width)
        return {
            "elongation": motion.velocity - self.speed,
            "speed": (self.force(motion) - rubs) / self.inertance,
        }

    def force(self, motion: Imposed) -> Value:
        """Return the force of the screw."""
        return self.stiffness * self.elongation + self.damping * (motion.velocity - self.speed)
