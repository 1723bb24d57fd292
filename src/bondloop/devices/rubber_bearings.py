"""An elastomeric bearing that stiffens.

A lead-rubber bearing whose lead core heats up and softens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.bouc_wen import check_shape
from bondloop.devices.device import Device
from bondloop.engine.data import Parameter
from bondloop.errors import InputError
from bondloop.math import exp, sign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


class ElastomericBearing(Device):
    """High-damping rubber that stiffens: OpenSees' ``elastomericBearingBoucWen`` along an axis.

    force = q z + k_2 x + k_3 |x|^μ sign x,  d z' = v (1 - |z|ⁿ (γ + β sign(v z))),  d = q/(k_1 - k_2).

    Parameters
    ----------
    initial_stiffness
        k_1, N/m; above the rubber's.
    strength
        q, N: characteristic strength.
    rubber_stiffness
        k_2, N/m.
    stiffening
        k_3, N/m^μ.
    power
        μ of the stiffening, above 1.
    exponent, beta, gamma
        Shape of the loop.

    Examples
    --------
    >>> from bondloop.devices import ElastomericBearing, Imposed
    >>> ElastomericBearing(strength="20 kN", stiffening=0).at_states(z=1.0).force(Imposed(0.1)) / 1000
    120.0
    """

    source = "Schellenberg, elastomericBearingBoucWen of OpenSees; Park, Wen and Ang (1986)"
    mass_is = "none"

    initial_stiffness: Parameter = Parameter(8e6, above=0, unit="N/m")
    strength: Parameter = Parameter(20e3, above=0, unit="N")
    rubber_stiffness: Parameter = Parameter(1e6, least=0, unit="N/m")
    stiffening: Parameter = Parameter(2e7, least=0)
    power: Parameter = Parameter(3.0, least=1, most=9, unit="1")
    exponent: Parameter = Parameter(1.0, least=1, most=50, unit="1")
    beta: Parameter = Parameter(0.5, above=0, unit="1")
    gamma: Parameter = Parameter(0.5, unit="1")
    states: ClassVar[Mapping[str, float]] = {"z": 0.0}

    def __post_init__(self) -> None:
        """Refuse a bearing that yields before it moves, and loops that make energy."""
        super().__post_init__()
        if self.initial_stiffness <= self.rubber_stiffness:
            raise InputError(
                "ElastomericBearing: expected an initial_stiffness above the rubber_stiffness; found "
                f"{self.initial_stiffness:g} and {self.rubber_stiffness:g} N/m"
            )
        check_shape(self)

    @property
    def stroke(self) -> float:
        """Sixty times the displacement at which it yields."""
        return 60 * self.strength / (self.initial_stiffness - self.rubber_stiffness)

    def rates(self, motion: Imposed) -> Mapping[str, Value]:
        """Return how the share of the strength changes."""
        v, z = motion.velocity, self.z
        bend = abs(z) ** self.exponent * (self.gamma + self.beta * sign(v * z))
        return {"z": v * ((self.initial_stiffness - self.rubber_stiffness) / self.strength) * (1 - bend)}

    def force(self, motion: Imposed) -> Value:
        """Return the forces of hysteresis, rubber and stiffening."""
        x = motion.displacement
        return (
            self.strength * self.z
            + self.rubber_stiffness * x
            + self.stiffening * sign(x) * abs(x) ** self.power
        )


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
