"""A straight bar or cable that may turn by any angle: its force follows its axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.devices.device import FORCE, LENGTH
from bondloop.devices.ode_specimen import OdeSpecimen
from bondloop.engine.data import Parameter
from bondloop.engine.laws import array_of
from bondloop.errors import InputError
from bondloop.math import maximum, sqrt

if TYPE_CHECKING:
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
