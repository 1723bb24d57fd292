"""Ramberg and Osgood's curve, with Masing's branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.device import FORCE, STIFFNESS, Device
from bondloop.math import minimum, sign, where
from bondloop.program.described import Parameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.program.traced import Value

__all__ = ["RambergOsgood"]


ITERATIONS = 9
"""Newton steps from above on a convex curve, from at most twice its root: to rounding for every exponent."""


class RambergOsgood(Device):
    """A curve without a knee, and branches twice as large after a turn.

    The first curve is x = F/k + a (F_y/k) (|F|/F_y)ⁿ sign F.

    From the last turn (x_r, F_r) on, (x - x_r)/2 is that curve of (F - F_r)/2 (Masing 1926). Only the last
    turn is remembered, a small loop within a large one closes, but
    the way on from it is its own. The force is found by a fixed number of Newton steps: exact for the
    displacements of the samples.

    Parameters
    ----------
    stiffness
        k at first, N/m.
    yield_force
        F_y, N: where the plastic part of the displacement is a F_y/k.
    offset
        a, such as 0.002/(F_y/(E A)) for the 0.2 % offset, or 3/7.
    exponent
        n, above 1.

    Examples
    --------
    >>> from bondloop.devices import RambergOsgood
    >>> bar = RambergOsgood(stiffness=2e6, yield_force=1e4, offset=1.0, exponent=10)
    >>> bar.respond([0.0, 0.01, 0.02], 100, backend="numpy").round(6).tolist()  # 2 F_y/k at F_y
    [0.0, 10000.0, 11118.888874]
    """

    source = "Ramberg and Osgood (1943), NACA TN 902; Masing (1926)"
    mass_is = "none"

    stiffness: Parameter = Parameter(2e6, above=0, unit=STIFFNESS)
    yield_force: Parameter = Parameter(1e4, above=0, unit=FORCE)
    offset: Parameter = Parameter(1.0, above=0, unit="1")
    exponent: Parameter = Parameter(8.0, least=1, most=100, unit="1")
    states: ClassVar[Mapping[str, float]] = {
        "last": 0.0, "sense": 0.0, "turn": 0.0, "turn_force": 0.0, "scale": 1.0,
    }  # fmt: skip
    units: ClassVar[Mapping[str, str]] = {"last": "m", "turn": "m", "turn_force": "N"}

    @property
    def stroke(self) -> float:
        """Six times F_y/k."""
        return 6 * self.yield_force / self.stiffness

    def memory(self, motion: Imposed) -> Mapping[str, Value]:
        """Return the last turn after a way without one."""
        x = motion.displacement
        way = sign(x - self.last)
        turns = way * self.sense < 0
        return {
            "last": x,
            "sense": where(way == 0, self.sense, way),
            "turn": where(turns, self.last, self.turn),
            "turn_force": where(turns, self._branch(self.last), self.turn_force),
            "scale": where(turns, 2.0, self.scale),
        }

    def _branch(self, x: Value) -> Value:
        """Return the force on the branch that is remembered: the root of y + a yⁿ = s, y = F/F_y."""
        a, n = self.offset, self.exponent
        away = (x - self.turn) / self.scale * self.stiffness / self.yield_force
        s = where(away == 0, 1.0, abs(away))  # powers of 0 have no slope
        y = minimum(s, (s / a) ** (1 / n))
        for _ in range(ITERATIONS):
            rises = a * y ** (n - 1)
            y = y - (y + rises * y - s) / (1 + n * rises)
        bent = where(away == 0, away, sign(away) * y)  # elastic where the branch begins
        return self.turn_force + self.scale * self.yield_force * bent

    def force(self, motion: Imposed) -> Value:
        """Return the force on the branch that the displacement is on."""
        return self.running({}, self.memory(motion))._branch(motion.displacement)
