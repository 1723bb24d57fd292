"""A viscous damper with an exponent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.data.described import Parameter
from bondloop.devices.device import VELOCITY, Device

if TYPE_CHECKING:
    from bondloop.devices.ode_specimen import Imposed
    from bondloop.program.traced import Value

__all__ = ["PowerDamper"]


class PowerDamper(Device):
    """A viscous damper whose force is a power of its velocity: c |v|^α sign v.

    Below a small velocity w it is linear, as a slope without end could not be stepped: c v (v² +
    w²)^((α-1)/2), which differs from the power by less than (w/v)² of it.

    Parameters
    ----------
    coefficient
        c, N (s/m)^α: the force at 1 m/s.
    exponent
        α; 0.2 to 1 in buildings.
    width
        w, m/s.

    Examples
    --------
    >>> from bondloop.devices import Imposed, PowerDamper
    >>> round(PowerDamper(coefficient=2e4, exponent=0.5).force(Imposed(velocity=0.25)), 3)
    9999.96
    """

    source = "Constantinou and Symans (1993), Struct. Design Tall Build. 2"
    mass_is = "none"

    coefficient: Parameter = Parameter(2e4, above=0)
    exponent: Parameter = Parameter(0.5, above=0, most=3, unit="1")
    width: Parameter = Parameter(1e-3, above=0, unit=VELOCITY)

    def force(self, motion: Imposed) -> Value:
        """Return the force."""
        v = motion.velocity
        return self.coefficient * v * (v * v + self.width * self.width) ** ((self.exponent - 1) / 2)
