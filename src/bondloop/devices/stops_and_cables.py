"""What acts in one sense only: hooks, gaps and cables; and bars in large displacements."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.device import FORCE, LENGTH, STIFFNESS, Device
from bondloop.devices.ode_specimen import Imposed as Motion
from bondloop.devices.ode_specimen import OdeSpecimen
from bondloop.engine.data import Parameter
from bondloop.engine.laws import array_of
from bondloop.errors import InputError
from bondloop.math import maximum, minimum, sqrt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


class LargeBar(OdeSpecimen):
    """A bar in large displacements (corotational), or a cable, which bears no compression.

    With the span s from one end to the other, at first and moved by d, and the unstrained length L₀,

        N = EA (|s + d| - L₀)/L₀,    F = N (s + d)/|s + d|.

    It is moved at two or three interfaces, the components of d = u_b - u_a: `bondloop.structures.attach_bar`
    puts it between two nodes. The elongation is engineering strain, as OpenSees' ``corotTruss`` has it.

    Parameters
    ----------
    stiffness
        EA, N.
    length
        L₀, unstrained, m.
    span_x, span_y, span_z
        Components of s, m.
    dimensions
        2 in the plane, 3 in space.
    tension_only
        Whether it goes slack when it is pushed.

    Examples
    --------
    >>> import numpy as np
    >>> from bondloop.devices import Imposed, LargeBar
    >>> cable = LargeBar(stiffness=1000.0, length=4.0, span_x=4.0, tension_only=True)
    >>> cable.force(Imposed(np.array([0.0, 3.0]))).tolist()  # now 5 m long: 250 N along (4, 3)
    [200.0, 150.0]
    >>> cable.force(Imposed(np.array([-1.0, 0.0]))).tolist()
    [0.0, 0.0]
    """

    mass_is = "none"

    stiffness: Parameter = Parameter(1e6, above=0, unit=FORCE[0])
    length: Parameter = Parameter(1.0, above=0, unit=LENGTH[0])
    span_x: Parameter = Parameter(1.0, unit=LENGTH[0])
    span_y: Parameter = Parameter(0.0, unit=LENGTH[0])
    span_z: Parameter = Parameter(0.0, unit=LENGTH[0])
    dimensions: int = 2
    tension_only: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dimensions not in (2, 3):
            raise InputError(f"LargeBar(dimensions): expected 2 or 3; found {self.dimensions}")
        if self.dimensions == 2 and self.span_z != 0:
            raise InputError(f"LargeBar: with 2 dimensions span_z is 0; found {self.span_z:g} m")
        if self.span_x == self.span_y == self.span_z == 0:
            raise InputError("LargeBar: its ends are at one place; give span_x, span_y, span_z in m")

    @property
    def interfaces(self) -> int:  # type: ignore[override]
        """One for each component of its motion."""
        return self.dimensions

    def force(self, motion: Imposed) -> Value:
        """Return the components of its force."""
        spans = (self.span_x, self.span_y, self.span_z)[: self.dimensions]
        now = [s + motion.displacement[i] for i, s in enumerate(spans)]
        long = sqrt(sum(x * x for x in now))
        tension = self.stiffness * (long - self.length) / self.length
        if self.tension_only:
            tension = maximum(tension, 0.0)
        return array_of([tension * x / long for x in now])


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
