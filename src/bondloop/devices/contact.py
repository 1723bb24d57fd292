"""A hook: it pulls once its slack is used up, and may yield.

A gap: it pushes back once it has closed, and may yield.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.device import FORCE, LENGTH, STIFFNESS, Device
from bondloop.devices.ode_specimen import Imposed as Motion
from bondloop.engine.data import Parameter
from bondloop.math import maximum, minimum

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


class Hook(Device):
    """It pulls once its slack is used up, and what yields is slack from then on: OpenSees' ``ElasticPPGap``.

    A rod, a cable, a brace that buckles at once. With the plastic elongation p and y = x - gap,

        force = max(0, min(k (y - p), F_y + b k (y - F_y/k))),    p⁺ = max(p, y - force/k),

    which is that material with a positive gap and accumulated damage.

    Parameters
    ----------
    stiffness
        k, N/m.
    gap
        Slack, m; negative for a hook that is drawn already.
    yield_force
        F_y, N.
    hardening
        b: stiffness after yielding as a share of that before.

    Examples
    --------
    >>> from bondloop.devices import Hook
    >>> Hook(stiffness=1e6, gap="2 mm", yield_force="5 kN", hardening=0).respond(
    ...     [-0.01, 0.002, 0.005, 0.010, 0.007, 0.004], 100, backend="numpy"
    ... ).round(6).tolist()
    [0.0, 0.0, 3000.0, 5000.0, 2000.0, 0.0]
    """

    source = "OpenSees, ElasticPPGap"
    mass_is = "none"

    stiffness: Parameter = Parameter(1e6, above=0, unit=STIFFNESS)
    gap: Parameter = Parameter(2e-3, unit=LENGTH)
    yield_force: Parameter = Parameter(1e4, above=0, unit=FORCE)
    hardening: Parameter = Parameter(0.0, least=0, most=0.99, unit="1")
    states: ClassVar[Mapping[str, float]] = {"plastic": 0.0}
    units: ClassVar[Mapping[str, str]] = {"plastic": "m"}

    @property
    def stroke(self) -> float:
        """Gap and three yield displacements."""
        return abs(self.gap) + 3 * self.yield_force / self.stiffness

    def _pull(self, drawn: Value) -> Value:
        k, fy = self.stiffness, self.yield_force
        yields = fy + self.hardening * (k * drawn - fy)
        return maximum(0.0, minimum(k * (drawn - self.plastic), yields))

    def memory(self, motion: Imposed) -> Mapping[str, Value]:
        """Return the plastic elongation after a way without a turn."""
        drawn = motion.displacement - self.gap
        return {"plastic": maximum(self.plastic, drawn - self._pull(drawn) / self.stiffness)}

    def force(self, motion: Imposed) -> Value:
        """Return the pull."""
        return self._pull(motion.displacement - self.gap)


class Gap(Hook):
    """It pushes back once the gap has closed: a bumper, a pounding joint. A hook that is pushed.

    What yields opens the gap for good; see `Hook`.

    Parameters
    ----------
    stiffness, gap, yield_force, hardening
        As for `Hook`; the gap closes at a displacement of -gap.

    Examples
    --------
    >>> from bondloop.devices import Gap
    >>> Gap(stiffness=1e6, gap="2 mm").respond([0.01, -0.002, -0.005], 100, backend="numpy").tolist()
    [-0.0, -0.0, -3000.0]
    """

    def memory(self, motion: Imposed) -> Mapping[str, Value]:
        """Return the plastic shortening after a way without a turn."""
        return super().memory(Motion(-motion.displacement, -motion.velocity))

    def force(self, motion: Imposed) -> Value:
        """Return the push, which is negative."""
        return -super().force(Motion(-motion.displacement, -motion.velocity))
