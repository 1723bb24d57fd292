"""An elastomeric bearing that stiffens."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.data.described import Parameter
from bondloop.devices.bouc_wen import check_shape
from bondloop.devices.device import Device
from bondloop.errors import InputError
from bondloop.math import sign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.program.traced import Value

__all__ = ["ElastomericBearing"]


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
