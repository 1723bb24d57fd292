"""Hysteresis that degrades and pinches: Baber and Noori."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.data.described import Parameter
from bondloop.devices.bouc_wen import BoucWen
from bondloop.math import exp, sign

if TYPE_CHECKING:
    from bondloop.devices.ode_specimen import Imposed
    from bondloop.program.traced import Value

__all__ = ["BaberNoori"]


class BaberNoori(BoucWen):
    """Bouc and Wen's hysteresis with pinching (Baber and Noori 1985, as Foliente 1995 writes it).

    The rate of z is multiplied by h = 1 - ζ_1 exp(-(z sign(v)/d - q z_u)²/ζ_2²), with

        ζ_1 = ζ_s (1 - exp(-p e)),  ζ_2 = (ψ + δ_ψ e)(λ + ζ_1),  z_u = (1/(ν (β + γ)))^(1/n),

    where e is the dissipated energy: slip grows with it. Lengths are shares of the yield displacement d. It
    is OpenSees' ``BWBN``, which measures them in its own units.

    Parameters
    ----------
    stiffness, yield_displacement, post_yield, exponent, gamma, beta
        As for `BoucWen`.
    amplitude_loss, strength_loss, stiffness_loss
        As for `BoucWen`.
    slip
        ζ_s: how much of the stiffness is lost in the pinch, below 1.
    slip_rate
        p: how fast the pinch develops, 1/J.
    slip_level
        q: at what share of the largest z it stands.
    spread
        ψ: how wide it is.
    spread_rate
        δ_ψ: how fast it widens, 1/J.
    coupling
        λ: how the width follows the depth.

    Examples
    --------
    >>> from bondloop.devices import BaberNoori, Imposed
    >>> wall = BaberNoori(slip=0.9, slip_rate=0.01)
    >>> worn = wall.at_states(energy=1000.0)
    >>> round(worn.rates(Imposed(velocity=0.1))["z"], 4)  # 0.1 m/s, were it not for the pinch
    0.0149
    """

    source = "Baber and Noori (1985), J. Eng. Mech. 111; Foliente (1995), J. Struct. Eng. 121"
    mass_is = "none"

    strength_loss: Parameter = Parameter(2e-4, least=0, unit="1/J")
    stiffness_loss: Parameter = Parameter(5e-4, least=0, unit="1/J")
    slip: Parameter = Parameter(0.9, least=0, most=0.999, unit="1")
    slip_rate: Parameter = Parameter(5e-3, least=0, unit="1/J")
    slip_level: Parameter = Parameter(0.2, least=0, most=1, unit="1")
    spread: Parameter = Parameter(0.3, above=0, unit="1")
    spread_rate: Parameter = Parameter(1e-5, least=0, unit="1/J")
    coupling: Parameter = Parameter(0.5, above=0, unit="1")

    def narrowed(self, motion: Imposed) -> Value:
        """Return by what the rate of z is multiplied: less where it is pinched."""
        e = self.energy
        depth = self.slip * (1 - exp(-self.slip_rate * e))
        width = (self.spread + self.spread_rate * e) * (self.coupling + depth)
        away = self.z * sign(motion.velocity) / self.yield_displacement - self.slip_level * self.end()
        return 1 - depth * exp(-((away / width) ** 2))
