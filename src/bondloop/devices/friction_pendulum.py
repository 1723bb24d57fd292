"""A friction pendulum bearing: one concave surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.data.described import Parameter
from bondloop.devices.device import Device
from bondloop.math import clip, exp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.program.traced import Value

__all__ = ["FrictionPendulum"]


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
