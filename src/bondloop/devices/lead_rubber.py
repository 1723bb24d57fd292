"""A lead-rubber bearing whose lead core heats up and softens."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.data.described import Parameter
from bondloop.devices.device import Device
from bondloop.math import exp, sign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.program.traced import Value

__all__ = ["LeadRubberBearing"]


class LeadRubberBearing(Device):
    """Rubber with a core of lead, which yields, heats up and grows weaker (Kalpakidis et al. 2010).

    force = k x + c v + A σ(T) z,  d z' = v (1 - z² (1/2 + 1/2 sign(v z))),  σ = σ_0 exp(-E T),
    T' = σ(T) |v z|/(ρ h),

    with the share z of the yield stress that is used, and the rise of temperature T. Heat stays in the
    core, as it does for the minute of an earthquake: between motions it would flow off.

    Parameters
    ----------
    rubber_stiffness
        k: shear modulus times area over thickness of the rubber, N/m.
    rubber_damping
        c, N s/m.
    lead_area
        A of the core, m².
    yield_stress
        σ_0 of the lead when cold, Pa; 8 to 10 MPa.
    yield_displacement
        d, m.
    softening
        E, 1/K; 0.0069 by the measurements.
    heat_capacity
        ρ of the lead by volume, J/(m³ K); 1.45 MJ.
    lead_height
        h, m.

    Examples
    --------
    >>> from bondloop.devices import Imposed, LeadRubberBearing
    >>> bearing = LeadRubberBearing(lead_area="0.01 m^2", yield_stress="10 MPa")
    >>> bearing.at_states(z=1.0).force(Imposed()) / 1000
    100.0
    """

    source = "Kalpakidis, Constantinou and Whittaker (2010), Earthq. Eng. Struct. Dyn. 39"
    mass_is = "none"

    rubber_stiffness: Parameter = Parameter(1e6, above=0, unit="N/m")
    rubber_damping: Parameter = Parameter(5e3, least=0, unit="N s/m")
    lead_area: Parameter = Parameter(7.9e-3, above=0, unit="m^2")
    yield_stress: Parameter = Parameter(10e6, above=0, unit="Pa")
    yield_displacement: Parameter = Parameter(0.01, above=0, unit="m")
    softening: Parameter = Parameter(0.0069, least=0, unit="1/K")
    heat_capacity: Parameter = Parameter(1.45e6, above=0, unit="J/m^3/K")
    lead_height: Parameter = Parameter(0.25, above=0, unit="m")
    states: ClassVar[Mapping[str, float]] = {"z": 0.0, "temperature": 0.0}
    units: ClassVar[Mapping[str, str]] = {"temperature": "K"}

    @property
    def stroke(self) -> float:
        """Fifteen times the displacement at which it yields."""
        return 15 * self.yield_displacement

    def _stress(self) -> Value:
        return self.yield_stress * exp(-self.softening * self.temperature)

    def rates(self, motion: Imposed) -> Mapping[str, Value]:
        """Return how the share of the yield stress changes, and how the core heats up."""
        v, z = motion.velocity, self.z
        bend = z * z * (0.5 + 0.5 * sign(v * z))
        heat = self._stress() * abs(v * z) / (self.heat_capacity * self.lead_height)
        return {"z": v / self.yield_displacement * (1 - bend), "temperature": heat}

    def force(self, motion: Imposed) -> Value:
        """Return the forces of rubber and lead."""
        rubber = self.rubber_stiffness * motion.displacement + self.rubber_damping * motion.velocity
        return rubber + self.lead_area * self._stress() * self.z
