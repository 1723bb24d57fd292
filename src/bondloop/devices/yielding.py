"""Springs and braces that yield: hysteresis along lines and curves, with kinematic or isotropic hardening."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.devices.device import FORCE, STIFFNESS, Device
from bondloop.engine.data import Parameter, number
from bondloop.errors import InputError
from bondloop.math import clip, maximum, minimum, sign, where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


class Bilinear(Device):
    """A spring that yields, and hardens after it: OpenSees' ``Steel01`` where the hardening is kinematic.

    One-dimensional plasticity with the closed return map of Simo and Hughes (1998), section 1.4: exact for
    the displacements of the samples. With the trial force k (x - x_p), the back force q and the growth r of
    the yield force, the excess over the yield force, e = |k (x - x_p) - q| - (F_y + r), flows back by

        x_p⁺ = x_p ± (1 - b) e/k,    q⁺ = q ± (1 - s) b e,    r⁺ = r + s b e.

    Parameters
    ----------
    stiffness
        k before it yields, N/m (N m/rad about an axis).
    yield_force
        F_y, N (N m).
    hardening
        b: stiffness after yielding as a share of that before.
    isotropic
        s: share of the hardening that is isotropic; 0 for kinematic hardening alone.

    Examples
    --------
    >>> from bondloop.devices import Bilinear, Imposed
    >>> brace = Bilinear(stiffness="2 kN/mm", yield_force="10 kN", hardening=0.1)
    >>> brace.at_states().force(Imposed(0.01))
    11000.0
    """

    source = "Simo and Hughes (1998), Computational Inelasticity, section 1.4"
    mass_is = "none"

    stiffness: Parameter = Parameter(2e6, above=0, unit=STIFFNESS)
    yield_force: Parameter = Parameter(1e4, above=0, unit=FORCE)
    hardening: Parameter = Parameter(0.05, least=0, most=1, unit="1")
    isotropic: Parameter = Parameter(0.0, least=0, most=1, unit="1")
    states: ClassVar[Mapping[str, float]] = {"plastic": 0.0, "back": 0.0, "growth": 0.0}
    units: ClassVar[Mapping[str, str]] = {"plastic": "m", "back": "N", "growth": "N"}

    @property
    def stroke(self) -> float:
        """Four times the displacement at which it yields."""
        return 4 * self.yield_force / self.stiffness

    def _excess(self, motion: Imposed) -> tuple[Value, Value]:
        """Return how far the trial force is beyond the yield force, and in which sense."""
        ahead = self.stiffness * (motion.displacement - self.plastic) - self.back
        return maximum(abs(ahead) - (self.yield_force + self.growth), 0.0), sign(ahead)

    def memory(self, motion: Imposed) -> Mapping[str, Value]:
        """Return plastic displacement, back force and growth after a way without a turn."""
        excess, sense = self._excess(motion)
        return {
            "plastic": self.plastic + sense * ((1 - self.hardening) * excess / self.stiffness),
            "back": self.back + sense * ((1 - self.isotropic) * self.hardening * excess),
            "growth": self.growth + self.isotropic * self.hardening * excess,
        }

    def force(self, motion: Imposed) -> Value:
        """Return the trial force, less what flows."""
        excess, sense = self._excess(motion)
        return self.stiffness * (motion.displacement - self.plastic) - sense * ((1 - self.hardening) * excess)


class Multilinear(Device):
    """A spring that yields along straight lines through some points: OpenSees' ``MultiLinear``.

    Kinematic hardening is Iwan's (1967): as many perfectly plastic springs side by side as there are points,
    so that branches are twice the first curve and loops close (Masing). Isotropic hardening is
    plasticity with a yield force R(α) along the plastic way α, R the least of some straight lines. Both
    remember plastic displacements, and are exact for the displacements of the samples.

    Parameters
    ----------
    displacements
        Of the points, in m, from the first yield on; they increase.
    forces
        Of the points, in N; stiffness decreases from one to the next, and none is negative. Beyond the last
        point the last stiffness stays, so end with a level piece for perfect plasticity.
    hardening
        ``"kinematic"`` or ``"isotropic"``.

    Examples
    --------
    >>> from bondloop.devices import Multilinear
    >>> steel = Multilinear(("5 mm", "10 mm", "30 mm"), ("10 kN", "14 kN", "16 kN"))
    >>> steel.respond([0, 0.005, 0.010, 0.020, 0.010], 100, backend="numpy").round(6).tolist()
    [0.0, 10000.0, 14000.0, 15000.0, -5000.0]
    """

    source = "Iwan (1967), J. Appl. Mech. 34; Masing (1926)"
    mass_is = "none"

    displacements: tuple[float | str, ...] = (0.005, 0.01, 0.03)
    forces: tuple[float | str, ...] = (10e3, 14e3, 16e3)
    hardening: str = "kinematic"
    units: ClassVar[Mapping[str, str]] = {"plastic": "m"}

    def __post_init__(self) -> None:
        """Check the points."""
        super().__post_init__()
        for word, unit in (("displacements", ("m", "rad")), ("forces", ("N", "N m"))):
            values = tuple(number(x, f"Multilinear({word})", *unit) for x in getattr(self, word))
            self.__dict__[word] = values
        x, f = np.array([0.0, *self.displacements]), np.array([0.0, *self.forces])
        if len(x) != len(f) or len(x) < 3:
            raise InputError(
                "Multilinear: expected as many forces as displacements, two or more; found "
                f"{len(f) - 1} forces and {len(x) - 1} displacements"
            )
        if (np.diff(x) <= 0).any():
            raise InputError(f"Multilinear(displacements): expected them to increase from 0; found {x[1:]}")
        slopes = np.diff(f) / np.diff(x)
        if slopes[-1] < 0 or (np.diff(slopes) >= 0).any() or slopes[0] <= 0:
            raise InputError(
                "Multilinear(forces): expected a stiffness that decreases from point to point and is not "
                f"negative; found {', '.join(f'{s:g}' for s in slopes)} N/m"
            )
        if self.hardening not in ("kinematic", "isotropic"):
            raise InputError(
                f"Multilinear(hardening): expected 'kinematic' or 'isotropic'; found {self.hardening!r}"
            )

    @property
    def states(self) -> Mapping[str, float | tuple[float, ...]]:  # type: ignore[override]
        """The plastic displacement of every spring; with isotropic hardening of the one, and its way."""
        if self.hardening == "isotropic":
            return {"plastic": 0.0, "way": 0.0}
        return {"plastic": (0.0,) * len(self._springs()[0])}

    @property
    def stroke(self) -> float:
        """The last displacement."""
        return float(self.displacements[-1])

    def _slopes(self) -> NDArray[np.float64]:
        return np.asarray(np.diff([0.0, *self.forces]) / np.diff([0.0, *self.displacements]))

    def _springs(self) -> tuple[list[float], list[float], float]:
        """Return stiffness and yield displacement of springs side by side, and the stiffness that stays."""
        slopes = self._slopes()
        # Beyond the last point the last slope stays, so the last point is where nothing yields any more.
        return list(slopes[:-1] - slopes[1:]), list(map(float, self.displacements[:-1])), float(slopes[-1])

    def _excess(self, motion: Imposed) -> tuple[Value, Value]:
        """Return by how much the plastic displacement grows, and in which sense (isotropic)."""
        slopes, k = self._slopes(), self._slopes()[0]
        trial = k * (motion.displacement - self.plastic)
        grows: Value = 0.0
        for x, f, slope in zip(self.displacements, self.forces, slopes[1:], strict=False):
            # On this line force = f + slope (x - x_i), so along the plastic way it rises by h = k s/(k - s).
            h = k * slope / (k - slope)
            level = f - h * (x - f / k)
            grows = maximum(grows, (abs(trial) - level - h * self.way) / (k + h))
        return grows, sign(trial)

    def memory(self, motion: Imposed) -> Mapping[str, Value]:
        """Return the plastic displacements after a way without a turn."""
        x = motion.displacement
        if self.hardening == "isotropic":
            grows, sense = self._excess(motion)
            return {"plastic": self.plastic + sense * grows, "way": self.way + grows}
        _, free, _ = self._springs()
        return {"plastic": [clip(p, x - d, x + d) for p, d in zip(self.plastic, free, strict=True)]}

    def force(self, motion: Imposed) -> Value:
        """Return the force of all springs."""
        x = motion.displacement
        if self.hardening == "isotropic":
            grows, sense = self._excess(motion)
            return self._slopes()[0] * (x - self.plastic - sense * grows)
        stiffness, free, stays = self._springs()
        total: Value = stays * x
        for p, k, d in zip(self.plastic, stiffness, free, strict=True):
            total = total + k * clip(x - p, -d, d)
        return total


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
        "last": 0.0, "sense": 0.0, "count": 0.0, "first": 0.0, "turns": (0.0,) * 16,
        "turn_forces": (0.0,) * 16,
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
        x, depth = motion.displacement, len(self.turns)
        way = sign(x - self.last)
        turns = (way * self.sense < 0) & (self.count < depth)
        count = where(turns, self.count + 1, self.count)
        first = where(turns & (count == 1), self.sense, self.first)
        here = self._branch(self.last)
        added = [turns & (count == i + 1) for i in range(depth)]
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
        for i in range(len(self.turns)):
            turn = where(self.count == i + 1, self.turns[i], turn)
            turn_force = where(self.count == i + 1, self.turn_forces[i], turn_force)
        scale = where(self.count > 0, 2.0, 1.0)
        away = (x - turn) / scale * self.stiffness / self.yield_force
        s = where(away == 0, 1.0, abs(away))  # powers of 0 have no slope
        y = minimum(s, (s / a) ** (1 / n))
        for _ in range(9):  # from above on a convex curve: to rounding, whatever the exponent
            rises = a * y ** (n - 1)
            y = y - (y + rises * y - s) / (1 + n * rises)
        bent = where(away == 0, away, sign(away) * y)  # elastic where the branch begins
        return turn_force + scale * self.yield_force * bent

    def force(self, motion: Imposed) -> Value:
        """Return the force on the branch that the displacement is on."""
        return self.running({}, self.memory(motion))._branch(motion.displacement)


class BucklingRestrainedBrace(Device):
    """A steel core that yields in tension and, a little later, in compression, where it cannot buckle.

    Plasticity with kinematic hardening, and isotropic hardening up to a bound; in compression the core rubs
    on its casing, so all of the yield force is larger there, by a factor. The return map is closed: with
    the trial force f = k (x - x_p) - q and the sense s of it, φ = 1 or the factor, α the plastic way,

        Δ = max(0, (|f| - φ (F_y + h α))/(k + H + φ h), (|f| - φ (F_y + r))/(k + H)),
        x_p⁺ = x_p + s Δ,  q⁺ = q + s H Δ,  α⁺ = α + Δ.

    Parameters
    ----------
    stiffness
        k, N/m.
    yield_force
        F_y in tension, N.
    compression_factor
        φ in compression; 1.05 to 1.15 in tests, at most 1.5 by AISC 341.
    kinematic
        H as a share of k.
    isotropic
        h as a share of k: how the yield force grows at first.
    growth
        r as a share of F_y: by how much it grows at most.

    Examples
    --------
    >>> from bondloop.devices import BucklingRestrainedBrace
    >>> brace = BucklingRestrainedBrace(kinematic=0, isotropic=0, growth=0, compression_factor=1.1)
    >>> brace.respond([0.0, 0.02, 0.0, -0.02], 100, backend="numpy").round(3).tolist()
    [0.0, 500000.0, -550000.0, -550000.0]
    """

    source = "Black, Makris and Aiken (2004), J. Struct. Eng. 130; Simo and Hughes (1998), section 1.4"
    mass_is = "none"

    stiffness: Parameter = Parameter(2e8, above=0, unit="N/m")
    yield_force: Parameter = Parameter(5e5, above=0, unit="N")
    compression_factor: Parameter = Parameter(1.1, least=1, most=1.5, unit="1")
    kinematic: Parameter = Parameter(0.01, least=0, most=0.5, unit="1")
    isotropic: Parameter = Parameter(0.005, least=0, most=0.5, unit="1")
    growth: Parameter = Parameter(0.4, least=0, unit="1")
    states: ClassVar[Mapping[str, float]] = {"plastic": 0.0, "back": 0.0, "way": 0.0}
    units: ClassVar[Mapping[str, str]] = {"plastic": "m", "back": "N", "way": "m"}

    @property
    def stroke(self) -> float:
        """Ten times the displacement at which it yields."""
        return 10 * self.yield_force / self.stiffness

    def _flow(self, motion: Imposed) -> tuple[Value, Value]:
        """Return the plastic way to come, and its sense."""
        k, fy = self.stiffness, self.yield_force
        H, h = self.kinematic * k, self.isotropic * k
        ahead = k * (motion.displacement - self.plastic) - self.back
        factor = where(ahead < 0, self.compression_factor, 1.0)
        growing = (abs(ahead) - factor * (fy + h * self.way)) / (k + H + factor * h)
        grown = (abs(ahead) - factor * (fy + self.growth * fy)) / (k + H)
        return maximum(0.0, maximum(growing, grown)), sign(ahead)

    def memory(self, motion: Imposed) -> Mapping[str, Value]:
        """Return plastic displacement, back force and plastic way after a way without a turn."""
        flow, sense = self._flow(motion)
        return {
            "plastic": self.plastic + sense * flow,
            "back": self.back + sense * (self.kinematic * self.stiffness * flow),
            "way": self.way + flow,
        }

    def force(self, motion: Imposed) -> Value:
        """Return the force after what flows."""
        flow, sense = self._flow(motion)
        return self.stiffness * (motion.displacement - self.plastic - sense * flow)


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
