"""A friction pendulum bearing: one concave surface.

A triple friction pendulum bearing: four concave surfaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.device import Device
from bondloop.engine.data import Parameter
from bondloop.errors import InputError
from bondloop.math import clip, exp, maximum, minimum, where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


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
