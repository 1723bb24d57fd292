"""A fluid viscous damper with its brace: OpenSees' ViscousDamper.

A viscous damper with an exponent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.device import STIFFNESS, VELOCITY, Device
from bondloop.engine.data import Parameter
from bondloop.math import sign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


class FluidViscousDamper(Device):
    """A dashpot whose force is a power of its velocity, on a spring (the oil, the brace): ``ViscousDamper``.

    The spring's elongation u goes as u' = v - (|k u|/c)^(1/α) sign u, so the dashpot's force is c |v_d|^α.
    The inverse of the power is smooth where α is at most 1: nothing needs to be rounded off.

    Parameters
    ----------
    stiffness
        k of the spring, N/m.
    coefficient
        c, N (s/m)^α: the force at 1 m/s.
    exponent
        α, from 0.1 to 1: the smaller, the stiffer the equation.

    Examples
    --------
    >>> from bondloop.devices import FluidViscousDamper, Imposed
    >>> damper = FluidViscousDamper(stiffness=1e7, coefficient=2e4, exponent=0.5)
    >>> damper.at_states(elongation=1e-3).rates(Imposed(velocity=0.25))  # it has settled at c √0.25
    {'elongation': 0.0}
    """

    source = "Constantinou and Symans (1993), Struct. Design Tall Build. 2; Akcelyan et al. (2018)"
    mass_is = "none"

    stiffness: Parameter = Parameter(1e7, above=0, unit=STIFFNESS)
    coefficient: Parameter = Parameter(2e4, above=0)
    exponent: Parameter = Parameter(0.5, least=0.1, most=1, unit="1")
    states: ClassVar[Mapping[str, float]] = {"elongation": 0.0}
    units: ClassVar[Mapping[str, str]] = {"elongation": "m"}

    def rates(self, motion: Imposed) -> Mapping[str, Value]:
        """Return how the spring is drawn out."""
        pull = self.stiffness * self.elongation
        flow = sign(pull) * (abs(pull) / self.coefficient) ** (1 / self.exponent)
        return {"elongation": motion.velocity - flow}

    def force(self, motion: Imposed) -> Value:  # noqa: ARG002 - it follows from the spring
        """Return the spring's force."""
        return self.stiffness * self.elongation


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
