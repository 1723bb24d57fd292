"""Ramberg and Osgood's curve, with Masing's branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.device import FORCE, STIFFNESS, Device
from bondloop.engine.data import Parameter
from bondloop.math import minimum, sign, where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


ITERATIONS = 9
"""Newton steps from above on a convex curve, from at most twice its root: to rounding for every exponent."""
DEPTH = 16
"""Turns that are remembered, each within the one before: eight loops within loops."""


class RambergOsgood(Device):
    """A curve without a knee, and branches twice as large after a turn.

    The first curve is x = F/k + a (F_y/k) (|F|/F_y)ⁿ sign F.

    From the last turn (x_r, F_r) on, (x - x_r)/2 is that curve of (F - F_r)/2 (Masing 1926). A loop that
    closes is forgotten, and the way goes on along the branch, or the first curve, that it had left. Without
    that rule (Jennings 1964) every small turn, such as noise makes, would begin an elastic branch anew, and
    the force would grow beyond the first curve. Sixteen turns are remembered, each within the one before;
    what turns in a loop within eight others goes back along its branch. The force is found by a fixed
    number of Newton steps: exact for the displacements of the samples.

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

    source = "Ramberg and Osgood (1943), NACA TN 902; Masing (1926); Jennings (1964), J. Eng. Mech. 90"
    mass_is = "none"

    stiffness: Parameter = Parameter(2e6, above=0, unit=STIFFNESS)
    yield_force: Parameter = Parameter(1e4, above=0, unit=FORCE)
    offset: Parameter = Parameter(1.0, above=0, unit="1")
    exponent: Parameter = Parameter(8.0, least=1, most=100, unit="1")
    states: ClassVar[Mapping[str, float | tuple[float, ...]]] = {
        "last": 0.0, "sense": 0.0, "count": 0.0, "first": 0.0, "turns": (0.0,) * DEPTH,
        "turn_forces": (0.0,) * DEPTH,
    }  # fmt: skip
    units: ClassVar[Mapping[str, str]] = {"last": "m", "turns": "m", "turn_forces": "N"}

    @property
    def stroke(self) -> float:
        """Six times F_y/k."""
        return 6 * self.yield_force / self.stiffness

    def memory(self, motion: Imposed) -> Mapping[str, Value]:
        """Return the turns that still count after a way without one.

        Turns are nested, upper and lower ones by turns: ``first`` is the sense of the way to the outermost,
        and ``count`` how many there are. A way that passes a turn ahead of it closes the loop that began
        there; one that passes the mirror image of the outermost is on the first curve again.
        """
        x = motion.displacement
        way = sign(x - self.last)
        turns = (way * self.sense < 0) & (self.count < DEPTH)
        count = where(turns, self.count + 1, self.count)
        first = where(turns & (count == 1), self.sense, self.first)
        here = self._branch(self.last)
        added = [turns & (count == i + 1) for i in range(DEPTH)]
        places = [where(new, self.last, t) for new, t in zip(added, self.turns, strict=True)]
        forces = [where(new, here, f) for new, f in zip(added, self.turn_forces, strict=True)]
        left = where((first * way < 0) & (way * x >= abs(places[0])), 0.0, count)
        for i, place in enumerate(places):
            ahead = first * way * (1 if i % 2 == 0 else -1) > 0
            passed = ahead & (count > i) & (way * (x - place) >= 0)
            left = minimum(left, where(passed, float(i), count))
        return {
            "last": x,
            "sense": where(way == 0, self.sense, way),
            "count": left,
            "first": first,
            "turns": places,
            "turn_forces": forces,
        }

    def _branch(self, x: Value) -> Value:
        """Return the force on the branch that is remembered: the root of y + a yⁿ = s, y = F/F_y."""
        a, n = self.offset, self.exponent
        turn: Value = 0.0
        turn_force: Value = 0.0
        for i in range(DEPTH):
            turn = where(self.count == i + 1, self.turns[i], turn)
            turn_force = where(self.count == i + 1, self.turn_forces[i], turn_force)
        scale = where(self.count > 0, 2.0, 1.0)
        away = (x - turn) / scale * self.stiffness / self.yield_force
        s = where(away == 0, 1.0, abs(away))  # powers of 0 have no slope
        y = minimum(s, (s / a) ** (1 / n))
        for _ in range(ITERATIONS):
            rises = a * y ** (n - 1)
            y = y - (y + rises * y - s) / (1 + n * rises)
        bent = where(away == 0, away, sign(away) * y)  # elastic where the branch begins
        return turn_force + scale * self.yield_force * bent

    def force(self, motion: Imposed) -> Value:
        """Return the force on the branch that the displacement is on."""
        return self.running({}, self.memory(motion))._branch(motion.displacement)
