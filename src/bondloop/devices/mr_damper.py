"""A magneto-rheological damper: the modified Bouc-Wen model, with the current's own dynamics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Self

from bondloop.devices.device import DAMPING, FORCE, LENGTH, STIFFNESS, VELOCITY, Device
from bondloop.engine.data import Parameter
from bondloop.math import sign, tanh
from bondloop.units import multiplied

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.bondgraph.elements import MassIs
    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


CURRENT = ("A", "V")
"""Of the coil, or the voltage that drives it."""


def _a_unit(units: tuple[str, ...]) -> tuple[str, ...]:
    """Return units over those of the current."""
    return tuple(multiplied(unit, current, -1) for current in CURRENT for unit in units)


class MRDamper(Device):
    """A damper whose fluid stiffens in the field of a coil (Spencer and Dyke 1997).

    A hysteretic element z and a dashpot c₀ stand side by side; a dashpot c₁ carries both, with y between::

        (c₀ + c₁) y' = F_y z + c₀ x' + F_t tanh(x'/v_t) + k₀ (x - y)
        z' = (x' - y')/d (1 - |z|ⁿ (β + (1 - β) sign((x' - y') z)))
        force = c₁ y' + k₁ (x - x₀) + m x''

    z runs from -1 to 1. In the letters of Spencer and Dyke, where it runs up to z_u = (A/(β + γ))^(1/n), F_y
    is α z_u, d is z_u/A, and β stands for β/(β + γ); see `spencer_dyke`. F_t is the share of the force that
    thins with the speed, as the fluid does, and m is what moves with the rod (both as in Yang et al. 2002,
    with a law of thinning that is a tanh); 0 for neither. The mass hangs on the rod by a dashpot whose time
    constant is ``mass_lag``, so that a velocity is all that need be imposed.

    F_y, c₀, c₁ and F_t grow with the field, which the current i makes and which saturates: each is
    a + b φ with φ = i_s tanh(i/i_s). The field follows the current that is set with the time constant
    ``current_lag``. To set the current by a signal, make the element with
    ``element(driven=["current"])``.

    Parameters
    ----------
    current
        Set in the coil, A (or V, where the parameters per ampere are meant per volt).
    saturation_current
        i_s: beyond it the field hardly grows, A.
    yield_force, yield_force_per_ampere
        F_y of the hysteretic element, N.
    yield_displacement
        d, m.
    beta, exponent
        β and n: how it yields.
    damping, damping_per_ampere
        c₀, N s/m.
    pre_yield_damping, pre_yield_damping_per_ampere
        c₁, N s/m.
    thinning_force, thinning_force_per_ampere, thinning_velocity
        F_t in N, and v_t in m/s over which it grows.
    stiffness, rest_position
        k₁ of the accumulator in N/m, and x₀ in m at which it is slack.
    parallel_stiffness
        k₀, N/m.
    moving_mass, mass_lag
        m in kg, and the time constant in s by which it follows.
    current_lag
        1/η, s.

    References
    ----------
    Spencer, B. F., Dyke, S. J., Sain, M. K., Carlson, J. D. (1997). Phenomenological model for
    magnetorheological dampers. J. Eng. Mech. 123(3), 230-238. doi:10.1061/(ASCE)0733-9399(1997)123:3(230)
    Yang, G., Spencer, B. F., Carlson, J. D., Sain, M. K. (2002). Large-scale MR fluid dampers: modeling and
    dynamic performance considerations. Eng. Struct. 24(3), 309-323. doi:10.1016/S0141-0296(01)00097-9

    Examples
    --------
    >>> damper = MRDamper(current="0.5 A")
    >>> print(f"{damper.field(0.5):.3f} A of 0.5 A, {damper.field(5):.2f} A of 5 A")
    0.490 A of 0.5 A, 1.97 A of 5 A
    """

    source = "Spencer, Dyke, Sain and Carlson (1997), J. Eng. Mech. 123(3)"

    current: Parameter = Parameter(0.0, least=0, unit=CURRENT)
    saturation_current: Parameter = Parameter(2.0, above=0, unit=CURRENT)
    yield_force: Parameter = Parameter(50.0, least=0, unit=FORCE)
    yield_force_per_ampere: Parameter = Parameter(700.0, least=0, unit=_a_unit(FORCE))
    yield_displacement: Parameter = Parameter(3e-4, above=0, unit=LENGTH)
    beta: Parameter = Parameter(0.0, least=0, most=0.5, unit="1")
    exponent: Parameter = Parameter(1.5, least=1, unit="1")
    damping: Parameter = Parameter(500.0, least=0, unit=DAMPING)
    damping_per_ampere: Parameter = Parameter(4000.0, least=0, unit=_a_unit(DAMPING))
    pre_yield_damping: Parameter = Parameter(1e4, above=0, unit=DAMPING)
    pre_yield_damping_per_ampere: Parameter = Parameter(8e4, least=0, unit=_a_unit(DAMPING))
    thinning_force: Parameter = Parameter(100.0, least=0, unit=FORCE)
    thinning_force_per_ampere: Parameter = Parameter(500.0, least=0, unit=_a_unit(FORCE))
    thinning_velocity: Parameter = Parameter(0.025, above=0, unit=VELOCITY)
    stiffness: Parameter = Parameter(1000.0, least=0, unit=STIFFNESS)
    rest_position: Parameter = Parameter(0.0, unit=LENGTH)
    parallel_stiffness: Parameter = Parameter(0.0, least=0, unit=STIFFNESS)
    moving_mass: Parameter = Parameter(0.0, least=0, unit=("kg", "kg m^2"))
    mass_lag: Parameter = Parameter(2e-3, above=0, unit="s")
    current_lag: Parameter = Parameter(5e-3, above=0, unit="s")

    not_fitted: ClassVar[tuple[str, ...]] = ("mass_lag",)
    units: ClassVar[Mapping[str, str]] = {"between": "m", "dragged": "m/s", "coil_current": "A"}

    @property
    def mass_is(self) -> MassIs:  # type: ignore[override]
        """How its mass goes with moving ground: the rod's is moved, and the cylinder stands."""
        return "standing" if self.moving_mass else "none"

    @property
    def states(self) -> Mapping[str, float]:  # type: ignore[override]
        """Its states: it has stood at its current for a while."""
        return {"between": 0.0, "z": 0.0, "dragged": 0.0, "coil_current": self.current}

    @property
    def stroke(self) -> float:
        """A displacement at which it shows what it does, m: of the pictures."""
        return 0.02

    @classmethod
    def spencer_dyke(cls) -> Self:
        """Return the 3 kN prototype of Spencer and Dyke (1997), Table 2; what counts per ampere is per volt.

        >>> damper = MRDamper.spencer_dyke()
        >>> print(f"{damper.yield_force:.1f} N after {1e6 * damper.yield_displacement:.1f} µm")
        90.1 N after 21.4 µm
        """
        beta = gamma = 363e4  # 1/m²
        slope, exponent = 301.0, 2.0
        ultimate = (slope / (beta + gamma)) ** (1 / exponent)
        return cls(
            saturation_current=1e6,
            yield_force=14000 * ultimate,
            yield_force_per_ampere=69500 * ultimate,
            yield_displacement=ultimate / slope,
            beta=beta / (beta + gamma),
            exponent=exponent,
            damping=2100.0,
            damping_per_ampere=350.0,
            pre_yield_damping=28300.0,
            pre_yield_damping_per_ampere=295.0,
            thinning_force=0.0,
            thinning_force_per_ampere=0.0,
            stiffness=500.0,
            rest_position=0.143,
            parallel_stiffness=4690.0,
            current_lag=1 / 190,
        )

    def field(self, current: float) -> float:
        """Return φ, the current that would make the same field if nothing saturated, A."""
        return self.saturation_current * math.tanh(current / self.saturation_current)

    def _grown(self, least: Value, per_ampere: Value) -> Value:
        """Return what grows with the field."""
        field = self.saturation_current * tanh(self.coil_current / self.saturation_current)
        return least + per_ampere * field

    def _velocity_between(self, motion: Imposed) -> tuple[Value, Value]:
        """Return y' and c₁."""
        c0 = self._grown(self.damping, self.damping_per_ampere)
        c1 = self._grown(self.pre_yield_damping, self.pre_yield_damping_per_ampere)
        thinning = self._grown(self.thinning_force, self.thinning_force_per_ampere)
        force = (
            self._grown(self.yield_force, self.yield_force_per_ampere) * self.z
            + c0 * motion.velocity
            + thinning * tanh(motion.velocity / self.thinning_velocity)
            + self.parallel_stiffness * (motion.displacement - self.between)
        )
        return force / (c0 + c1), c1

    def rates(self, motion: Imposed) -> Mapping[str, Value]:
        """Return how y, z, the dragged mass's velocity and the current in the coil change."""
        between, _ = self._velocity_between(motion)
        slip = motion.velocity - between
        bend = abs(self.z) ** self.exponent * (self.beta + (1 - self.beta) * sign(slip * self.z))
        return {
            "between": between,
            "z": slip / self.yield_displacement * (1 - bend),
            "dragged": (motion.velocity - self.dragged) / self.mass_lag,
            "coil_current": (self.current - self.coil_current) / self.current_lag,
        }

    def force(self, motion: Imposed) -> Value:
        """Return what the dashpot c₁, the accumulator and the mass ask for."""
        between, c1 = self._velocity_between(motion)
        inertia = self.moving_mass * (motion.velocity - self.dragged) / self.mass_lag
        return c1 * between + self.stiffness * (motion.displacement - self.rest_position) + inertia
