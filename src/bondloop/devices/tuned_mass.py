"""A tuned mass damper."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING, ClassVar

from bondloop.data.described import Parameter
from bondloop.data.ranges import POSITIVE
from bondloop.devices.device import DAMPING, STIFFNESS, Device

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.program.traced import Value

__all__ = ["TunedMass"]


class TunedMass(Device):
    """A mass on a spring and a dashpot, carried by what its end moves with (Den Hartog 1956).

    With the mass at y, m y'' = k (x - y) + c (x' - y'), and that is the force.

    Parameters
    ----------
    mass
        m, kg.
    stiffness
        k, N/m.
    damping
        c, N s/m.

    Examples
    --------
    >>> from bondloop.devices import TunedMass
    >>> damper = TunedMass.tuned(mass=100, frequency=1.5, ratio=0.02)
    >>> round(damper.stiffness), round(damper.damping)
    (8538, 158)
    """

    source = "Den Hartog (1956), Mechanical Vibrations, section 3.3"
    mass_is = "carried"

    mass: Parameter = Parameter(100.0, above=0, unit="kg")
    stiffness: Parameter = Parameter(4e3, least=0, unit=STIFFNESS)
    damping: Parameter = Parameter(100.0, least=0, unit=DAMPING)
    states: ClassVar[Mapping[str, float]] = {"position": 0.0, "speed": 0.0}
    units: ClassVar[Mapping[str, str]] = {"position": "m", "speed": "m/s"}

    @classmethod
    def tuned(cls, mass: float | str, frequency: float | str, ratio: float | str) -> TunedMass:
        """Return the damper that is best for an undamped structure under a harmonic force (Den Hartog 1956).

        Parameters
        ----------
        mass
            Of the damper, kg.
        frequency
            Of the structure without it, Hz.
        ratio
            Mass of the damper over that of the structure.
        """
        m = POSITIVE.check(mass, "TunedMass.tuned(mass)", "kg")
        natural = 2 * pi * POSITIVE.check(frequency, "TunedMass.tuned(frequency)", "Hz")
        mu = POSITIVE.check(ratio, "TunedMass.tuned(ratio)", "1")
        omega = natural / (1 + mu)
        damping = 2 * m * natural * (3 * mu / (8 * (1 + mu) ** 3)) ** 0.5
        return cls(m, m * omega**2, damping)

    def rates(self, motion: Imposed) -> Mapping[str, Value]:
        """Return how the mass moves."""
        return {"position": self.speed, "speed": self.force(motion) / self.mass}

    def force(self, motion: Imposed) -> Value:
        """Return the force of spring and dashpot."""
        apart, speed = motion.displacement - self.position, motion.velocity - self.speed
        return self.stiffness * apart + self.damping * speed
