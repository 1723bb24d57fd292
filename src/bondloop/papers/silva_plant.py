"""Frame, servo and specimen of the field's benchmark (Silva et al. 2020), and the plants that differ."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph import C, CField, I, Input, Model, MSe, Multiport, One, Port, R, RField
from bondloop.data.kinds import describable
from bondloop.data.ranges import number
from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.transfer import Process

__all__ = [
    "A1B0",
    "A2",
    "CASES",
    "DATA",
    "GAIN",
    "STIFFNESS",
    "Plant",
    "Servo",
    "actuator",
    "matrices",
    "model",
]

CASES = (1, 2, 3, 4)

MASS, STIFFNESS, DAMPING_RATIO = 29.13, 1.19e6, 0.0097
"""Of the frame on the rig: kg, N/m, and its share of critical damping."""

GAIN, A1B0, A2 = 1.0261, 2.1283e13, 4.2297e6
"""Of every plant's servo, in the letters of the paper; see `Servo`."""

DATA = Path(__file__).parent / "silva"


class Servo(Multiport):
    """Servo-valve and cylinder, linear: q̈ + β1 q̇ + β2 q = a1β0 (gain u - x), ḟ = q - a2 ẋ - a3 f.

    It pushes with f. The rod's bond goes into it, so its flow is minus the rod's velocity.
    """

    ports, states, inputs = ("rod",), ("q", "rise", "f"), ("command",)

    def equations(  # noqa: D102, PLR0913, PLR0917 - as every multiport; letters of the paper
        self, rod: Any, q: Any, rise: Any, f: Any, command: Any,
        gain: Any = GAIN, stiff: Any = A1B0, a2: Any = A2, a3: Any = 3.3, b1: Any = 425.0, b2: Any = 9.9976e4,
    ) -> dict[Any, Any]:  # fmt: skip
        return {
            rod.effort: f.value,
            q.rate: rise.value,
            rise.rate: stiff * (gain * command + rod.displacement) - b1 * rise.value - b2 * q.value,
            f.rate: q.value + a2 * rod.flow - a3 * f.value,
        }


@dataclass(frozen=True)
class Plant:
    """What differs from plant to plant: servo-valve and oil, and the stiffness of the frame on the rig.

    Parameters
    ----------
    a3, b1, b2
        Of the servo, see `Servo`.
    stiffness
        Of the frame on the rig, N/m.

    Examples
    --------
    >>> Plant.numbered(0) == Plant(), Plant.numbered(7) == Plant.numbered(7)
    (True, True)
    """

    a3: float = 3.3
    b1: float = 425.0
    b2: float = 9.9976e4
    stiffness: float = STIFFNESS

    @classmethod
    def numbered(cls, number: object) -> Plant:
        """Return a plant by number: 0 is the nominal one, every other is drawn, the same each time.

        a3, β1, β2 and the stiffness are independent and normal, with standard deviations 1.3, 3.3, 3.3e3 and
        5e4, as the benchmark has it.
        """
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 0:
            raise InputError(
                f"plant must be 0 (the nominal one) or a whole number above it; found {number!r}"
            )
        if not number:
            return cls()
        random = np.random.default_rng(int(number))
        while True:
            a3, b1, b2, k = random.normal(size=4).tolist()
            if 3.3 + 1.3 * a3 > 0:  # oil does not leak upwards: one draw in 180 would have it so
                return cls(3.3 + 1.3 * a3, 425.0 + 3.3 * b1, 9.9976e4 + 3.3e3 * b2, STIFFNESS + 5e4 * k)

    @property
    def damping(self) -> float:
        """Of the frame on the rig, N s/m."""
        return float(2 * DAMPING_RATIO * (self.stiffness * MASS) ** 0.5)

    def process(self) -> Process:
        """Return displacement over command: five poles, no zero.

        From the equations of `Servo` with m ẍ + c ẋ + k x = f.
        """
        from bondloop.transfer import Process

        oil = np.polyadd(np.polymul([1.0, self.a3], [MASS, self.damping, self.stiffness]), [A2, 0.0])
        whole = np.polyadd(np.polymul([1.0, self.b1, self.b2], oil), [A1B0])
        return Process((float(GAIN * A1B0 / whole[-1]),), tuple((whole / whole[-1]).tolist()))


@cache
def matrices(case: int) -> tuple[NDArray[np.float64], ...]:
    """Return M, C and K of the whole frame in a case, kg, N s/m, N/m."""
    cases = json.loads((DATA / "cases.json").read_text(encoding="utf-8"))
    if case not in CASES or isinstance(case, bool):
        raise InputError(f"case must be 1, 2, 3 or 4; found {case!r}")
    return tuple(np.array(cases[str(int(case))][letter]) for letter in "MCK")


@describable("model", "silva-frame")
def model(case: int = 1, stiffness: float = STIFFNESS) -> Model:
    """Return the whole frame; what stands on the rig is its part ``specimen``.

    Parameters
    ----------
    case
        1 to 4.
    stiffness
        Of the part on the rig, N/m. What it has, the rest has not: the whole frame is always the same.
    """
    M, D, K = matrices(case)
    first = np.diag([1.0, 0.0, 0.0])
    stiffness = number(stiffness, "stiffness", "N/m")
    damping = Plant(stiffness=stiffness).damping
    frame = Model("frame")
    frame.stiffness, frame.damping = CField(K - stiffness * first), RField(D - damping * first)
    frame.ground, frame.floors = Input("ground", unit="m/s^2"), [One() for _ in range(3)]
    # The ground's load acts with the whole mass of a floor, that on the rig too.
    frame.loads = [MSe(lambda a, m=M[i, i]: -m * a) for i in range(3)]
    for i, (load, floor) in enumerate(zip(frame.loads, frame.floors, strict=True)):
        frame.ground >> load >> floor
        floor >> [I(mass=M[i, i] - MASS * first[i, i]), frame.stiffness[i], frame.damping[i]]
    frame.specimen = One()
    frame.specimen >> [I(mass=MASS), C(stiffness=stiffness), R(damping=damping)]
    frame.floors[0] >> frame.specimen
    return frame


@describable("model", "silva-servo")
def actuator(a3: float = 3.3, b1: float = 425.0, b2: float = 9.9976e4) -> Model:
    """Return the servo-hydraulic actuator; its command is a displacement in m."""
    servo = Model("servo")
    a3, b1, b2 = number(a3, "a3", "1/s"), number(b1, "b1", "1/s"), number(b2, "b2", "1/s^2")
    servo.command, servo.servo, servo.rod, servo.out = Input("u"), Servo(a3=a3, b1=b1, b2=b2), One(), Port()
    servo.command >> servo.servo
    servo.servo.rod >> servo.rod >> servo.out
    return servo
