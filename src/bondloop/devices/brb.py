"""A buckling-restrained brace."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.device import Device
from bondloop.engine.data import Parameter
from bondloop.math import maximum, sign, where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


class BucklingRestrainedBrace(Device):
    """A steel core that yields in tension and, a little later, in compression, where it cannot buckle.

    Plasticity with kinematic hardening, and isotropic hardening up to a bound; in compression the core rubs
    on its casing, so all of the yield force is larger there, by a factor. The return map is closed: with
    the trial force f = k (x - x_p) - q and the sense s of it, φ = 1 or the factor, α the plastic way,

        Δ = max(0, (|f| - φ (F_y + h α))/(k + H + φ h), (|f| - φ (F_y + r))/(k + H)),
        x_p⁺ = x_p + s Δ,  q⁺ = q + s H Δ,  α⁺ = α + Δ.

    Parameters
    ----------
    stiffness
        k, N/m.
    yield_force
        F_y in tension, N.
    compression_factor
        φ in compression; 1.05 to 1.15 in tests, at most 1.5 by AISC 341.
    kinematic
        H as a share of k.
    isotropic
        h as a share of k: how the yield force grows at first.
    growth
        r as a share of F_y: by how much it grows at most.

    Examples
    --------
    >>> from bondloop.devices import BucklingRestrainedBrace
    >>> brace = BucklingRestrainedBrace(kinematic=0, isotropic=0, growth=0, compression_factor=1.1)
    >>> brace.respond([0.0, 0.02, 0.0, -0.02], 100, backend="numpy").round(3).tolist()
    [0.0, 500000.0, -550000.0, -550000.0]
    """

    source = "Black, Makris and Aiken (2004), J. Struct. Eng. 130; Simo and Hughes (1998), section 1.4"
    mass_is = "none"

    stiffness: Parameter = Parameter(2e8, above=0, unit="N/m")
    yield_force: Parameter = Parameter(5e5, above=0, unit="N")
    compression_factor: Parameter = Parameter(1.1, least=1, most=1.5, unit="1")
    kinematic: Parameter = Parameter(0.01, least=0, most=0.5, unit="1")
    isotropic: Parameter = Parameter(0.005, least=0, most=0.5, unit="1")
    growth: Parameter = Parameter(0.4, least=0, unit="1")
    states: ClassVar[Mapping[str, float]] = {"plastic": 0.0, "back": 0.0, "way": 0.0}
    units: ClassVar[Mapping[str, str]] = {"plastic": "m", "back": "N", "way": "m"}

    @property
    def stroke(self) -> float:
        """Ten times the displacement at which it yields."""
        return 10 * self.yield_force / self.stiffness

    def _flow(self, motion: Imposed) -> tuple[Value, Value]:
        """Return the plastic way to come, and its sense."""
        k, fy = self.stiffness, self.yield_force
        H, h = self.kinematic * k, self.isotropic * k
        ahead = k * (motion.displacement - self.plastic) - self.back
        factor = where(ahead < 0, self.compression_factor, 1.0)
        growing = (abs(ahead) - factor * (fy + h * self.way)) / (k + H + factor * h)
        grown = (abs(ahead) - factor * (fy + self.growth * fy)) / (k + H)
        return maximum(0.0, maximum(growing, grown)), sign(ahead)

    def memory(self, motion: Imposed) -> Mapping[str, Value]:
        """Return plastic displacement, back force and plastic way after a way without a turn."""
        flow, sense = self._flow(motion)
        return {
            "plastic": self.plastic + sense * flow,
            "back": self.back + sense * (self.kinematic * self.stiffness * flow),
            "way": self.way + flow,
        }

    def force(self, motion: Imposed) -> Value:
        """Return the force after what flows."""
        flow, sense = self._flow(motion)
        return self.stiffness * (motion.displacement - self.plastic - sense * flow)
