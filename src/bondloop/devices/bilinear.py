"""Bilinear hysteresis with kinematic and isotropic hardening."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.device import FORCE, STIFFNESS, Device
from bondloop.engine.data import Parameter
from bondloop.math import maximum, sign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


class Bilinear(Device):
    """A spring that yields, and hardens after it: OpenSees' ``Steel01`` where the hardening is kinematic.

    One-dimensional plasticity with the closed return map of Simo and Hughes (1998), section 1.4: exact for
    the displacements of the samples. With the trial force k (x - x_p), the back force q and the growth r of
    the yield force, the excess over the yield force, e = |k (x - x_p) - q| - (F_y + r), flows back by

        x_p⁺ = x_p ± (1 - b) e/k,    q⁺ = q ± (1 - s) b e,    r⁺ = r + s b e.

    Parameters
    ----------
    stiffness
        k before it yields, N/m (N m/rad about an axis).
    yield_force
        F_y, N (N m).
    hardening
        b: stiffness after yielding as a share of that before.
    isotropic
        s: share of the hardening that is isotropic; 0 for kinematic hardening alone.

    Examples
    --------
    >>> from bondloop.devices import Bilinear, Imposed
    >>> brace = Bilinear(stiffness="2 kN/mm", yield_force="10 kN", hardening=0.1)
    >>> brace.at_states().force(Imposed(0.01))
    11000.0
    """

    source = "Simo and Hughes (1998), Computational Inelasticity, section 1.4"
    mass_is = "none"

    stiffness: Parameter = Parameter(2e6, above=0, unit=STIFFNESS)
    yield_force: Parameter = Parameter(1e4, above=0, unit=FORCE)
    hardening: Parameter = Parameter(0.05, least=0, most=1, unit="1")
    isotropic: Parameter = Parameter(0.0, least=0, most=1, unit="1")
    states: ClassVar[Mapping[str, float]] = {"plastic": 0.0, "back": 0.0, "growth": 0.0}
    units: ClassVar[Mapping[str, str]] = {"plastic": "m", "back": "N", "growth": "N"}

    @property
    def stroke(self) -> float:
        """Four times the displacement at which it yields."""
        return 4 * self.yield_force / self.stiffness

    def _excess(self, motion: Imposed) -> tuple[Value, Value]:
        """Return how far the trial force is beyond the yield force, and in which sense."""
        ahead = self.stiffness * (motion.displacement - self.plastic) - self.back
        return maximum(abs(ahead) - (self.yield_force + self.growth), 0.0), sign(ahead)

    def memory(self, motion: Imposed) -> Mapping[str, Value]:
        """Return plastic displacement, back force and growth after a way without a turn."""
        excess, sense = self._excess(motion)
        return {
            "plastic": self.plastic + sense * ((1 - self.hardening) * excess / self.stiffness),
            "back": self.back + sense * ((1 - self.isotropic) * self.hardening * excess),
            "growth": self.growth + self.isotropic * self.hardening * excess,
        }

    def force(self, motion: Imposed) -> Value:
        """Return the trial force, less what flows."""
        excess, sense = self._excess(motion)
        return self.stiffness * (motion.displacement - self.plastic) - sense * ((1 - self.hardening) * excess)
