"""A wire-rope isolator."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.device import Device
from bondloop.engine.data import Parameter
from bondloop.math import exp, sign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


class WireRope(Device):
    """Strands that rub on each other, soft, then hard; pushed not as when pulled (Ni et al. 1999).

    force = exp(c x) (k_1 x + k_2 x |x| + k_3 x³ + z),  z' = v (a - |z|ⁿ (γ + β sign(v z))).

    In roll and shear a wire rope is symmetric, c = 0; pulled and pushed along its axis it is not.

    Parameters
    ----------
    linear, quadratic, cubic
        k_1, k_2 and k_3 in N/m, N/m², N/m³.
    asymmetry
        c, 1/m.
    rubbing_stiffness
        a, N/m: of z before the strands slip.
    strength
        N: where z ends; with n, it gives γ + β = a/strengthⁿ.
    exponent
        n.
    unloading
        β/(γ + β), from 0.5 to 1: how full the loop is.

    Examples
    --------
    >>> from bondloop.devices import Imposed, WireRope
    >>> WireRope(linear=2e4, cubic=0, quadratic=0).at_states(z=100.0).force(Imposed(0.01))
    300.0
    """

    source = "Ni, Ko, Wong and Zhan (1999), J. Eng. Mech. 125; Demetriades et al. (1993)"
    mass_is = "none"

    linear: Parameter = Parameter(2e4, least=0, unit="N/m")
    quadratic: Parameter = Parameter(0.0, unit="N/m^2")
    cubic: Parameter = Parameter(4e7, least=0, unit="N/m^3")
    asymmetry: Parameter = Parameter(0.0, unit="1/m")
    rubbing_stiffness: Parameter = Parameter(2e5, above=0, unit="N/m")
    strength: Parameter = Parameter(300.0, above=0, unit="N")
    exponent: Parameter = Parameter(1.0, least=1, most=50, unit="1")
    unloading: Parameter = Parameter(0.7, least=0.5, most=1, unit="1")
    states: ClassVar[Mapping[str, float]] = {"z": 0.0}
    units: ClassVar[Mapping[str, str]] = {"z": "N"}

    @property
    def stroke(self) -> float:
        """Twenty times the displacement at which the strands slip."""
        return 20 * self.strength / self.rubbing_stiffness

    def rates(self, motion: Imposed) -> Mapping[str, Value]:
        """Return how the force of the rubbing changes."""
        v, z = motion.velocity, self.z
        bend = abs(z / self.strength) ** self.exponent
        shape = (1 - self.unloading) + self.unloading * sign(v * z)
        return {"z": v * self.rubbing_stiffness * (1 - bend * shape)}

    def force(self, motion: Imposed) -> Value:
        """Return the forces of strands and rubbing."""
        x = motion.displacement
        elastic = x * (self.linear + self.quadratic * abs(x) + self.cubic * x * x)
        return exp(self.asymmetry * x) * (elastic + self.z)
