"""Steel after Giuffré, Menegotto and Pinto: OpenSees' Steel02."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.device import FORCE, STIFFNESS, Device
from bondloop.engine.data import Parameter
from bondloop.math import maximum, minimum, where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


class GiuffreMenegottoPinto(Device):
    """Steel with a smooth knee and the Bauschinger effect: OpenSees' ``Steel02``.

    From the last turn (x_r, F_r) the force runs along a curve towards the asymptotes, which meet at
    (x_0, F_0): with x* = (x - x_r)/(x_0 - x_r),

        F = F_r + (F_0 - F_r) (b x* + (1 - b) x*/(1 + |x*|^R)^(1/R)),    R = R_0 (1 - c_1 ξ/(c_2 + ξ)),

    where ξ is the largest plastic displacement before, in yield displacements. With isotropic hardening
    (Filippou, Popov and Bertero 1983) the asymptotes move apart as the range of displacements grows. What is
    remembered are the last turn, the asymptotes and the range: exact for the displacements of the samples.

    Parameters
    ----------
    stiffness
        At first, N/m.
    yield_force
        F_y, N.
    hardening
        b: stiffness after yielding as a share of that before, below 1.
    curvature, curvature_loss, curvature_range
        R_0, c_1 and c_2; 10 to 20, 0.925 and 0.15 are usual.
    compression_shift, compression_range, tension_shift, tension_range
        a_1 to a_4 of OpenSees: the isotropic hardening, none for shifts of 0.

    Examples
    --------
    >>> from bondloop.devices import GiuffreMenegottoPinto
    >>> bar = GiuffreMenegottoPinto(stiffness=2e6, yield_force=1e4, hardening=0.01)
    >>> bar.respond([0.0, 0.005, 0.02, 0.015], rate=100, backend="numpy").round(1).tolist()
    [0.0, 9662.8, 10300.0, 1003.9]
    """

    source = "Menegotto and Pinto (1973), IABSE; Filippou, Popov and Bertero (1983), report UCB/EERC-83/19"
    mass_is = "none"

    stiffness: Parameter = Parameter(2e6, above=0, unit=STIFFNESS)
    yield_force: Parameter = Parameter(1e4, above=0, unit=FORCE)
    hardening: Parameter = Parameter(0.02, least=0, most=0.99, unit="1")
    curvature: Parameter = Parameter(20.0, least=1, most=100, unit="1")
    curvature_loss: Parameter = Parameter(0.925, least=0, most=0.999, unit="1")
    curvature_range: Parameter = Parameter(0.15, above=0, unit="1")
    compression_shift: Parameter = Parameter(0.0, least=0, unit="1")
    compression_range: Parameter = Parameter(1.0, above=0, unit="1")
    tension_shift: Parameter = Parameter(0.0, least=0, unit="1")
    tension_range: Parameter = Parameter(1.0, above=0, unit="1")
    states: ClassVar[Mapping[str, float]] = {
        "last": 0.0, "sense": 0.0, "turn": 0.0, "turn_force": 0.0, "knee": 0.0, "knee_force": 0.0,
        "largest": 0.0, "smallest": 0.0, "goal": 0.0,
    }  # fmt: skip
    units: ClassVar[Mapping[str, str]] = {
        "last": "m", "turn": "m", "turn_force": "N", "knee": "m", "knee_force": "N", "largest": "m",
        "smallest": "m", "goal": "m",
    }  # fmt: skip

    @property
    def stroke(self) -> float:
        """Six times the displacement at which it yields."""
        return 6 * self.yield_force / self.stiffness

    def memory(self, motion: Imposed) -> Mapping[str, Value]:
        """Return the last turn, the knee of the asymptotes and the range, after a way without a turn."""
        k, fy, b = self.stiffness, self.yield_force, self.hardening
        x, first = motion.displacement, fy / k
        up, down = x > self.last, x < self.last
        begins = self.sense == 0
        turns_up, turns_down = (self.sense < 0) & up, (self.sense > 0) & down
        turns = turns_up | turns_down
        largest = where(begins, first, where(turns_down, maximum(self.largest, self.last), self.largest))
        smallest = where(begins, -first, where(turns_up, minimum(self.smallest, self.last), self.smallest))
        here = self._curve(self.last)
        turn = where(turns, self.last, self.turn)
        turn_force = where(turns, here, self.turn_force)
        spread = maximum((largest - smallest) / (2 * first), 1.0)  # it is never less, but for rounding
        shift_up = 1 + self.tension_shift * (spread / self.tension_range) ** 0.8
        shift_down = 1 + self.compression_shift * (spread / self.compression_range) ** 0.8
        shift = where(turns_up, shift_up, -shift_down)
        knee = ((1 - b) * fy * shift - turn_force + k * turn) / ((1 - b) * k)
        knee_force = fy * shift + b * k * (knee - first * shift)
        way = where(up, 1.0, where(down, -1.0, self.sense))
        starts = begins & (up | down)
        return {
            "last": x,
            "sense": way,
            "turn": turn,
            "turn_force": turn_force,
            "knee": where(turns, knee, where(starts, way * first, self.knee)),
            "knee_force": where(turns, knee_force, where(starts, way * fy, self.knee_force)),
            "largest": where(begins & (way == 0), 0.0, largest),
            "smallest": where(begins & (way == 0), 0.0, smallest),
            "goal": where(
                turns_up, largest, where(turns_down, smallest, where(starts, way * first, self.goal))
            ),
        }

    def _curve(self, x: Value) -> Value:
        """Return the force on the branch that is remembered; before the first step on the one from rest."""
        b, first = self.hardening, self.yield_force / self.stiffness
        rests = self.sense == 0  # the curve from rest is odd: which way it will go does not matter
        knee = where(rests, first, self.knee)
        knee_force = where(rests, self.yield_force, self.knee_force)
        apart = knee - self.turn
        way = (x - self.turn) / where(apart == 0, 1.0, apart)
        plastic = abs(where(rests, first, self.goal) - knee) / first
        R = self.curvature * (1 - self.curvature_loss * plastic / (self.curvature_range + plastic))
        far = where(way == 0, 1.0, abs(way))  # 0^R is 0, but has no slope by R
        bent = way / (1 + where(way == 0, 0.0, far**R)) ** (1 / R)
        return self.turn_force + (knee_force - self.turn_force) * (b * way + (1 - b) * bent)

    def force(self, motion: Imposed) -> Value:
        """Return the force on the branch that the displacement is on."""
        after = self.running({}, self.memory(motion))
        return after._curve(motion.displacement)
