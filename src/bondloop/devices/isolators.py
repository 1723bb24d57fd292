"""Isolators: friction pendulums, rubber bearings and wire ropes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.bouc_wen import check_shape
from bondloop.devices.device import Device
from bondloop.engine.data import Parameter
from bondloop.errors import InputError
from bondloop.math import clip, exp, maximum, minimum, sign, where

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


class FrictionPendulum(Device):
    """A slider on a concave surface, with friction that depends on the velocity (Constantinou et al. 1990).

    force = W x/R + the force of friction, which sticks with a stiffness μ_slow W/d and slides at μ W, μ =
    μ_fast - (μ_fast - μ_slow) exp(-r |v|). Where it slides is remembered, exactly for the displacements of
    the samples; no smooth sign stands for friction.

    Parameters
    ----------
    weight
        W on it, N.
    radius
        R, effective, m.
    friction_fast, friction_slow
        Coefficients of friction at large velocities and near rest.
    rate
        r, s/m: at 1/r they differ from the fast one by 37 %.
    stick_displacement
        d, m: elastic displacement before it slides, under a millimetre.

    Examples
    --------
    >>> from bondloop.devices import FrictionPendulum
    >>> bearing = FrictionPendulum(weight="100 kN", radius=2.0, friction_fast=0.05, friction_slow=0.05)
    >>> bearing.respond([0.0, 0.1, 0.2, 0.0], 100, backend="numpy").round(6).tolist()
    [0.0, 10000.0, 15000.0, -5000.0]
    """

    source = "Constantinou, Mokha and Reinhorn (1990), J. Struct. Eng. 116; Zayas et al. (1990)"
    mass_is = "none"

    weight: Parameter = Parameter(1e6, above=0, unit="N")
    radius: Parameter = Parameter(2.0, above=0, unit="m")
    friction_fast: Parameter = Parameter(0.06, above=0, most=1, unit="1")
    friction_slow: Parameter = Parameter(0.03, above=0, most=1, unit="1")
    rate: Parameter = Parameter(50.0, least=0, unit="s/m")
    stick_displacement: Parameter = Parameter(5e-4, above=0, unit="m")
    states: ClassVar[Mapping[str, float]] = {"slip": 0.0}
    units: ClassVar[Mapping[str, str]] = {"slip": "m"}

    @property
    def stroke(self) -> float:
        """A tenth of the radius."""
        return self.radius / 10

    @property
    def pendulum_stiffness(self) -> float:
        """W/R, of the weight that it lifts, N/m."""
        return self.weight / self.radius

    def _free(self, motion: Imposed) -> Value:
        """Return the elastic displacement at which it slides."""
        slow, fast = self.friction_slow, self.friction_fast
        friction = fast - (fast - slow) * exp(-self.rate * abs(motion.velocity))
        return self.stick_displacement * friction / slow

    def memory(self, motion: Imposed) -> Mapping[str, Value]:
        """Return how far it has slid after a way without a turn."""
        x, free = motion.displacement, self._free(motion)
        return {"slip": clip(self.slip, x - free, x + free)}

    def force(self, motion: Imposed) -> Value:
        """Return the forces of pendulum and friction."""
        x, free = motion.displacement, self._free(motion)
        stiffness = self.friction_slow * self.weight / self.stick_displacement
        return self.weight * x / self.radius + stiffness * clip(x - self.slip, -free, free)


class TripleFrictionPendulum(Device):
    """Sliders within sliders, which act one after the other (Fenz and Constantinou 2008).

    Three pendulums in series carry the same force F: an inner one of the radius 2 R_i, and two outer ones
    of the radii R_1 - R_i and R_4 - R_i, whose displacements u end at stops. Each moves only where F - W
    u/R exceeds its friction, ±μ W. So u is a function of F that is made of straight lines, x = F/k + Σ u(F)
    is one too, and F follows from x exactly: the bearing remembers three displacements, whatever the step.

    The friction of all surfaces depends on the velocity of the whole bearing. Radii are effective ones, and
    stops are those of the paper's pendulums in series, not of the surfaces: an outer one's is its surface's
    own times (R - R_i)/R, the inner one's is what is then left of all four surfaces' together. Outer surfaces
    with 187.5 mm each and inner ones with 25 mm each, 425 mm in all, make outer stops of 150 mm and an inner
    one of 425 - 300 = 125 mm, the values that it has unless they are given.

    Parameters
    ----------
    weight
        W on it, N.
    inner_radius, lower_radius, upper_radius
        R_i of both inner surfaces, R_1 and R_4 of the outer ones, m; effective.
    inner_friction, lower_friction, upper_friction
        μ of them at large velocities; they increase in this order.
    slow_share
        Share of that friction that is left near rest.
    rate
        r, s/m: friction approaches its value as exp(-r |v|).
    inner_stop, lower_stop, upper_stop
        How far the pendulums in series go each way, m.
    stick_displacement
        Elastic displacement of the inner pendulum before it slides, m.

    Examples
    --------
    >>> from bondloop.devices import TripleFrictionPendulum
    >>> bearing = TripleFrictionPendulum(weight="1 MN", slow_share=1)
    >>> (bearing.respond([0.0, 0.02, 0.1, 0.2], 100, backend="numpy") / 1e6).round(4).tolist()
    [0.0, 0.0436, 0.0805, 0.1053]
    """

    source = "Fenz and Constantinou (2008), Earthq. Eng. Struct. Dyn. 37, two papers"
    mass_is = "none"

    weight: Parameter = Parameter(1e6, above=0, unit="N")
    inner_radius: Parameter = Parameter(0.4, above=0, unit="m")
    lower_radius: Parameter = Parameter(2.0, above=0, unit="m")
    upper_radius: Parameter = Parameter(2.0, above=0, unit="m")
    inner_friction: Parameter = Parameter(0.02, above=0, most=1, unit="1")
    lower_friction: Parameter = Parameter(0.05, above=0, most=1, unit="1")
    upper_friction: Parameter = Parameter(0.08, above=0, most=1, unit="1")
    slow_share: Parameter = Parameter(0.5, above=0, most=1, unit="1")
    rate: Parameter = Parameter(50.0, least=0, unit="s/m")
    inner_stop: Parameter = Parameter(0.125, above=0, unit="m")
    lower_stop: Parameter = Parameter(0.15, above=0, unit="m")
    upper_stop: Parameter = Parameter(0.15, above=0, unit="m")
    stick_displacement: Parameter = Parameter(5e-4, above=0, unit="m")
    states: ClassVar[Mapping[str, tuple[float, ...]]] = {"slips": (0.0, 0.0, 0.0)}
    units: ClassVar[Mapping[str, str]] = {"slips": "m"}

    def __post_init__(self) -> None:
        """Refuse radii and frictions in another order: the pendulums would act in another, too."""
        super().__post_init__()
        radii = (self.inner_radius, min(self.lower_radius, self.upper_radius))
        if radii[0] >= radii[1]:
            raise InputError(
                f"TripleFrictionPendulum: expected an inner_radius below the outer radii; found {radii[0]:g} "
                f"and {radii[1]:g} m"
            )
        frictions = (self.inner_friction, self.lower_friction, self.upper_friction)
        if sorted(frictions) != list(frictions):
            raise InputError(
                "TripleFrictionPendulum: expected inner_friction <= lower_friction <= upper_friction; found "
                f"{', '.join(f'{f:g}' for f in frictions)}; turn the bearing round if the lower is the larger"
            )

    @property
    def stroke(self) -> float:
        """All stops together."""
        return self.inner_stop + self.lower_stop + self.upper_stop

    @property
    def pendulum_stiffness(self) -> None:
        """None: how high the weight is depends on how each of its pendulums slid."""
        return

    def _pendulums(self, motion: Imposed) -> list[tuple[Value, Value, Value, Value]]:
        """Return displacement, stiffness, friction and stop of the three."""
        share = 1 - (1 - self.slow_share) * exp(-self.rate * abs(motion.velocity))
        inner, lower, upper = self.inner_radius, self.lower_radius, self.upper_radius
        radii = (2 * inner, lower - inner, upper - inner)
        frictions = (self.inner_friction, self.lower_friction, self.upper_friction)
        stops = (self.inner_stop, self.lower_stop, self.upper_stop)
        return [
            (u, self.weight / R, mu * share * self.weight, stop)
            for u, R, mu, stop in zip(self.slips, radii, frictions, stops, strict=True)
        ]

    def _elastic(self) -> Value:
        return self.inner_friction * self.slow_share * self.weight / self.stick_displacement

    def _solved(self, motion: Imposed) -> tuple[Value, list[Value]]:
        """Return the force, and the displacements of the pendulums at it."""
        x, k = motion.displacement, self._elastic()
        pendulums = self._pendulums(motion)

        def slips(force: Value) -> list[Value]:
            moved = []
            for u, stiffness, friction, stop in pendulums:
                ahead = force - stiffness * u
                beyond = maximum(ahead - friction, 0.0) + minimum(ahead + friction, 0.0)
                moved.append(clip(u + beyond / stiffness, -stop, stop))
            return moved

        def place(force: Value) -> Value:
            a, b, c = slips(force)
            return force / k + a + b + c

        # The force at which each line ends: friction overcome, and stop met, in both senses.
        corners = []
        for u, stiffness, friction, stop in pendulums:
            corners += [stiffness * u + friction, stiffness * u - friction]
            corners += [stiffness * stop + friction, -stiffness * stop - friction]
        places = [place(f) for f in corners]
        far = 1e30
        below, below_at, above, above_at = -far, 0.0, far, 0.0
        for f, at in zip(corners, places, strict=True):
            under, nearest = at <= x, f > below
            here = under & nearest
            below, below_at = where(here, f, below), where(here, at, below_at)
            over, nearest = at > x, f < above
            here = over & nearest
            above, above_at = where(here, f, above), where(here, at, above_at)
        between = (above - below) / where(above_at > below_at, above_at - below_at, 1.0)
        inside = below + (x - below_at) * between
        force = where(
            below <= -far, above + (x - above_at) * k, where(above >= far, below + (x - below_at) * k, inside)
        )
        return force, slips(force)

    def memory(self, motion: Imposed) -> Mapping[str, Value]:
        """Return the displacements of the pendulums after a way without a turn."""
        return {"slips": self._solved(motion)[1]}

    def force(self, motion: Imposed) -> Value:
        """Return the force that all three carry."""
        return self._solved(motion)[0]
