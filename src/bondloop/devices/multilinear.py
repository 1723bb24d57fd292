"""Hysteresis along straight lines, with kinematic or isotropic hardening."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.devices.device import Device
from bondloop.engine.data import number
from bondloop.errors import InputError
from bondloop.math import clip, maximum, sign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


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
