"""The field's benchmark for controllers of real-time hybrid tests (Silva et al. 2020).

A frame of three floors under an earthquake. The first floor's frame stands on the rig, moved by a
servo-hydraulic actuator whose delay of 25 ms makes the loop unstable; the rest is in the computer. Four
cases differ in mass and damping of the frame; twenty or more plants a case differ from the nominal one.

The criteria are in :mod:`bondloop.papers.silva_criteria`. El Centro 1940 is here; any other record is a file.

References
----------
Silva, C. E., Gomez, D., Maghareh, A., Dyke, S. J., Spencer, B. F. (2020). Benchmark control problem for
real-time hybrid simulation. Mechanical Systems and Signal Processing 135, 106381.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph import C, CField, I, Input, Model, MSe, Multiport, One, Port, R, RField
from bondloop.errors import InputError, unknown_name
from bondloop.program.kinds import describable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control import Controller
    from bondloop.hybrid import HybridTest, Run
    from bondloop.program.signals import Signal
    from bondloop.transfer import Process

__all__ = [
    "CASES", "CONTROLLERS", "RATE", "SECONDS", "Plant", "Servo", "actuator", "figures", "findings", "ground",
    "matrices", "model", "test",
]  # fmt: skip

CASES = (1, 2, 3, 4)
RATE, SECONDS = 4096.0, 41.0
"""Samples a second, and how long El Centro lasts with what comes after it, s; other records have lengths of
their own."""

MASS, STIFFNESS, DAMPING_RATIO = 29.13, 1.19e6, 0.0097
"""Of the frame on the rig: kg, N/m, and its share of critical damping."""

GAIN, A1B0, A2 = 1.0261, 2.1283e13, 4.2297e6
"""Of every plant's servo, in the letters of the paper; see `Servo`."""

DISPLACEMENT_NOISE, FORCE_NOISE = 16e-6, 2.18
"""Rms of the sensors' noise, m and N."""

FORCE, STROKE, VELOCITY = 8900.0, 0.007, 0.3
"""What the rig can do: N, m, m/s. Beyond it a run stops. (The paper's converter also clips at 3.8 of its
units, which no command within the stroke comes near.)"""

AHEAD = 1.5
"""Samples by which the motion must lead: the force comes one late, and is held. (The hold of the command is
identified with the plant.)"""

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
    def numbered(cls, number: Any) -> Plant:
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
    servo.command, servo.servo, servo.rod, servo.out = Input("u"), Servo(a3=a3, b1=b1, b2=b2), One(), Port()
    servo.command >> servo.servo
    servo.servo.rod >> servo.rod >> servo.out
    return servo


def ground(record: str = "", scale: float = 0.4) -> Signal:
    """Return a ground acceleration in m/s².

    Parameters
    ----------
    record
        A file: PEER's ``.AT2``, or two columns of text (time in s, acceleration in m/s²). El Centro 1940,
        north-south, unless given.
    scale
        What it is multiplied by; the benchmark takes 40 % of El Centro.
    """
    from bondloop.program.signals import Table
    from bondloop.records import read_at2, read_two_columns

    if not isinstance(record, (str, Path)):
        raise InputError(f"record must be the path of a file; found {record!r}")
    path = Path(record) if record else DATA / "elcentro.csv"
    motion = read_at2(path) if path.suffix.lower() == ".at2" else read_two_columns(path)
    return scale * Table(motion.time, motion.acceleration, beyond="zero")


def _none() -> Controller:
    from bondloop.control import Direct

    return Direct()


def _sample() -> Controller:
    from bondloop.control import OuterLoop

    return OuterLoop(2.0, 95.0, lead=50.83163360273612 / 8570.397339444286, lag=1 / 8570.397339444286)


def _inverse() -> Controller:
    from bondloop.control import InverseModel

    return InverseModel(Plant().process())


def _time_series() -> Controller:
    from bondloop.control import AdaptiveTimeSeries

    return AdaptiveTimeSeries("25 ms", order=3, ahead=AHEAD)


def _model_based() -> Controller:
    from bondloop.control import AdaptiveModelBased

    return AdaptiveModelBased("25 ms", order=3, ahead=AHEAD)


def _remainder() -> Controller:
    from bondloop.control import AdaptiveRemainder, AdaptiveTimeSeries, InverseModel

    return AdaptiveRemainder(
        InverseModel(Plant().process(), ahead=0.5), AdaptiveTimeSeries(largest_delay="20 ms")
    )


def _lqg() -> Controller:
    from bondloop.control import FeedforwardLQG

    return FeedforwardLQG(Plant().process(), effort=0.03, disturbance="1 mm", corner="2 Hz", noise="20 um")


def _loop_shaping() -> Controller:
    from bondloop.control import LoopShaping

    return LoopShaping.for_bandwidth(Plant().process(), "24 Hz")


CONTROLLERS: Mapping[str, Callable[[], Controller]] = {
    "none": _none, "sample": _sample, "inverse": _inverse, "ats": _time_series, "amb": _model_based,
    "remainder": _remainder, "lqg": _lqg, "hinf": _loop_shaping,
}  # fmt: skip
"""Controllers by name, each with one setting for all cases."""

EXTRAPOLATED = ("remainder", "lqg", "hinf")
"""Those with which the measured force, one sample late, is carried on over the step, not held; they need
not lead then."""


def test(
    case: int = 1,
    controller: str = "sample",
    record: str = "",
    scale: float = 0.4,
    plant: int = 0,
    noise: bool = True,
    seed: int = 1,
) -> HybridTest:
    """Return the hybrid test.

    Parameters
    ----------
    case
        1 to 4: mass and damping of the frame.
    controller
        By name, one of `CONTROLLERS`; ``sample`` is the paper's own.
    record, scale
        The ground motion, see `ground`.
    plant
        0 for the nominal one; every other number is one that differs, see `Plant`.
    noise
        Whether the sensors have any.
    seed
        Of the noise.
    """
    from bondloop.hybrid import Extrapolation, HybridTest
    from bondloop.rigs import Emulated, Noise, PureDelay, Quantisation, Sensor
    from bondloop.safety import Limits

    if controller not in tuple(CONTROLLERS):
        raise InputError(unknown_name("controller", str(controller), CONTROLLERS))
    if not isinstance(noise, bool):
        raise InputError(f"noise must be true or false; found {noise!r}")
    chosen = Plant.numbered(plant)
    numerical, physical = model(case, chosen.stiffness).cut("floors[0] >> specimen")
    late = PureDelay(1 / RATE)
    sensors = {
        "displacement": Sensor((Noise(DISPLACEMENT_NOISE),) if noise else (), unit="m"),
        "force": Sensor((Noise(FORCE_NOISE), late) if noise else (late,), unit="N"),
    }
    motion = ground(record, scale)
    made = HybridTest(
        numerical,
        rig=Emulated(
            physical, actuator(chosen.a3, chosen.b1, chosen.b2), substeps=8, sensors=sensors,
            drive=(Quantisation(21, range=4.0),), seed=seed,
        ),
        controller=CONTROLLERS[controller](),
        excitation={"ground": motion},
        rate=RATE,
        reference=(model(case), [f"stiffness[{i}].displacement" for i in range(3)]),
        limits=Limits(displacement=STROKE, velocity=VELOCITY, force=FORCE),
        extrapolation=Extrapolation(late=1, points=4) if controller in EXTRAPOLATED else None,
        record=[f"numerical.stiffness[{i}].displacement" for i in (1, 2)],
        name=f"silva_benchmark_{case}",
    )  # fmt: skip
    if record:
        made.seconds = motion.duration
    return made


def findings(run: Run) -> dict[str, float]:
    """Return the nine criteria by name, and their twins without the sensors' noise."""
    from bondloop.papers.silva_criteria import criteria

    return criteria(run)


def figures(run: Run, folder: Path) -> list[Path]:
    """Draw floor 1 as desired, measured and in the whole frame, and floor 3 in both."""
    from bondloop.plots import time_histories

    path = folder / "silva_benchmark.png"
    groups = {
        "first floor": {
            "desired": "desired.displacement",
            "actual": "actual.displacement",
            "whole frame": "reference.stiffness[0].displacement",
        },
        "third floor": {
            "whole frame": "reference.stiffness[2].displacement",
            "hybrid test": "numerical.stiffness[2].displacement",
        },
    }
    time_histories(run.record, groups, path=path)
    return [path]
