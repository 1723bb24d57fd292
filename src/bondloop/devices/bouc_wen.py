"""Bouc and Wen's hysteresis, which may degrade, and pinch (Baber and Noori)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.device import LENGTH, STIFFNESS, Device
from bondloop.engine.data import Parameter
from bondloop.errors import InputError
from bondloop.math import exp, sign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.isolators import ElastomericBearing
    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


class BoucWen(Device):
    """Hysteresis of Bouc (1967) and Wen (1976), degrading as Baber and Wen (1981): OpenSees' ``BoucWen``.

    With the hysteretic displacement z and the energy e that it has dissipated,

        z' = v (A - ν |z/d|ⁿ (γ + β sign(v z)))/η,    e' = (1 - a) k z v,
        A = 1 - δ_A e,  ν = 1 + δ_ν e,  η = 1 + δ_η e,    force = a k x + (1 - a) k z,

    where d is the displacement at which it yields: for γ + β = 1, z ends at d.

    Parameters
    ----------
    stiffness
        k at first, N/m.
    yield_displacement
        d, m.
    post_yield
        a: stiffness after yielding as a share of that at first.
    exponent
        n: how sharp the knee is.
    gamma, beta
        Shape of the loop; their sum must be positive.
    amplitude_loss, strength_loss, stiffness_loss
        δ_A, δ_ν and δ_η, 1/J.

    Examples
    --------
    >>> from bondloop.devices import BoucWen, Imposed
    >>> bearing = BoucWen(stiffness="200 kN/m")
    >>> round(bearing.at_states(z=2.5e-3).force(Imposed(displacement=0.02)), 6)
    850.0
    """

    source = "Wen (1976), J. Eng. Mech. 102; Baber and Wen (1981), J. Eng. Mech. 107"
    mass_is = "none"

    stiffness: Parameter = Parameter(2e5, above=0, unit=STIFFNESS)
    yield_displacement: Parameter = Parameter(5e-3, above=0, unit=LENGTH)
    post_yield: Parameter = Parameter(0.1, least=0, most=1, unit="1")
    exponent: Parameter = Parameter(1.0, least=1, most=50, unit="1")
    gamma: Parameter = Parameter(0.5, unit="1")
    beta: Parameter = Parameter(0.5, above=0, unit="1")
    amplitude_loss: Parameter = Parameter(0.0, least=0, unit="1/J")
    strength_loss: Parameter = Parameter(0.0, least=0, unit="1/J")
    stiffness_loss: Parameter = Parameter(0.0, least=0, unit="1/J")
    states: ClassVar[Mapping[str, float]] = {"z": 0.0, "energy": 0.0}
    units: ClassVar[Mapping[str, str]] = {"z": "m", "energy": "J"}

    def __post_init__(self) -> None:
        """Refuse shapes that make energy, or soften without end."""
        super().__post_init__()
        check_shape(self)

    @property
    def stroke(self) -> float:
        """Four times the displacement at which it yields."""
        return 4 * self.yield_displacement

    def rates(self, motion: Imposed) -> Mapping[str, Value]:
        """Return the rates of the hysteretic displacement and of the energy."""
        v, z, e = motion.velocity, self.z, self.energy
        bend = abs(z / self.yield_displacement) ** self.exponent * (self.gamma + self.beta * sign(v * z))
        growth = 1 - self.amplitude_loss * e - (1 + self.strength_loss * e) * bend
        power = (1 - self.post_yield) * self.stiffness * z * v
        return {"z": self.narrowed(motion) * v * growth / (1 + self.stiffness_loss * e), "energy": power}

    def narrowed(self, motion: Imposed) -> Value:  # noqa: ARG002 - pinching is another law's affair
        """Return by what the rate of z is multiplied at a ``motion``: 1, as nothing is pinched."""
        return 1.0

    def end(self) -> Value:
        """Return where z ends as it is now, as a share of the yield displacement."""
        worn = 1 + self.strength_loss * self.energy
        return (1 / (worn * (self.beta + self.gamma))) ** (1 / self.exponent)

    def force(self, motion: Imposed) -> Value:
        """Return the elastic and the hysteretic force."""
        a = self.post_yield
        return self.stiffness * (a * motion.displacement + (1 - a) * self.z)


def check_shape(law: BoucWen | ElastomericBearing) -> None:
    """Refuse gamma and beta with which a loop makes energy: |gamma| may be at most beta."""
    if abs(law.gamma) > law.beta:
        raise InputError(
            f"{type(law).__name__}: expected gamma from -beta to beta, otherwise a loop gives back more "
            f"energy than it takes; found gamma = {law.gamma:g}, beta = {law.beta:g}"
        )
    if law.gamma + law.beta <= 0:
        raise InputError(
            f"{type(law).__name__}: expected gamma + beta above 0, otherwise it never yields; found "
            f"{law.gamma:g} + {law.beta:g}"
        )


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
