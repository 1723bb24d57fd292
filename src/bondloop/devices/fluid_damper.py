"""A fluid viscous damper with its brace: OpenSees' ViscousDamper."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.data.described import Parameter
from bondloop.devices.device import STIFFNESS, Device
from bondloop.math import sign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.program.traced import Value

__all__ = ["FluidViscousDamper"]


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
