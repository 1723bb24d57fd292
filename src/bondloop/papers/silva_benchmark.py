"""The field's benchmark for controllers of real-time hybrid tests (Silva et al. 2020).

A frame of three floors under an earthquake. The first floor's frame stands on the rig, moved by a
servo-hydraulic actuator whose delay of 25 ms makes the loop unstable; the rest is in the computer. Four
cases differ in mass and damping of the frame; twenty or more plants a case differ from the nominal one.

The published table and the paper's text number the criteria J5 to J7 differently, so they are named; the
numbers are those of the table. El Centro 1940 is here; any other record is a file.

References
----------
Silva, C. E., Gomez, D., Maghareh, A., Dyke, S. J., Spencer, B. F. (2020). Benchmark control problem for
real-time hybrid simulation. Mechanical Systems and Signal Processing 135, 106381.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop import control
from bondloop.bondgraph import Model, One, Port
from bondloop.bondgraph.elements import C, CField, I, Input, MSe, Multiport, R, RField
from bondloop.engine.data import describable, number
from bondloop.errors import InputError, unknown_name
from bondloop.results.assess import correlation
from bondloop.transfer import MassSpringDamper, Process

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bondloop.control import Controller
    from bondloop.hybrid import HybridTest
    from bondloop.rehearsal import Run
    from bondloop.signals import Signal


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


DELAY = "25 ms"
"""Of the nominal plant, for slow motions."""

SAMPLE = 1 / 4096
"""Seconds."""

AHEAD = 1.4
"""Samples by which the motion must lead: the force comes one late, and is held for another half. (The hold of
the command is identified with the plant.) A little less costs the floors nothing and spares J2 a part."""

CORNER = 8570.397339444286
"""Of the sample controller's lead, rad/s."""

STIFF = 1e10
"""N/m: a spring beside which the specimen is nothing, so that a model moves as the loaded plant does."""


@dataclass(frozen=True)
class Entry:
    """A controller of the benchmark.

    Parameters
    ----------
    make
        Returns it, with its setting.
    about
        What it is, in a few words.
    adapts
        Whether it is one of those that the goals ask for.
    extrapolated
        Whether the measured force, one sample late, is carried on over the step, not held: it need not lead.
    """

    make: Callable[[], Controller]
    about: str
    adapts: bool = False
    extrapolated: bool = False

    def __post_init__(self) -> None:
        if self.extrapolated:
            object.__setattr__(self, "about", f"{self.about}; the force carried on")


def _early(samples: float, order: int = 5) -> list[float]:
    """Return the nominal plant's inverse, some samples ahead, as a series: a₀ + a₁ s + ... of e^(τs)/G(s)."""
    process, tau = Plant().process(), samples * SAMPLE
    inverse = [a / process.numerator[0] for a in reversed(process.denominator)]
    return [
        sum(inverse[i] * tau ** (k - i) / math.factorial(k - i) for i in range(k + 1))
        for k in range(order + 1)
    ]


def _inverse(samples: float) -> Controller:
    return control.InverseModel(Process((1.0,), tuple(reversed(_early(samples)))))


def _position(samples: float = 0.0) -> MassSpringDamper:
    """Return the loaded plant as a mass on a spring and a damper, whose far end is the command."""
    gain, lag, bend = _early(samples, 2)
    return MassSpringDamper(STIFF * bend / gain, STIFF * lag / gain, STIFF, drive="position")


def _servo_alone() -> MassSpringDamper:
    """Return the servo without a specimen, its oil incompressible: what is left of it gives way to a load."""
    plant = Plant()
    stiffness = A1B0 / (plant.b2 * plant.a3)
    mass, damping = (stiffness * A2 * b / A1B0 for b in (plant.b1, plant.b2))
    return MassSpringDamper(mass, damping, stiffness, drive="position")


def _load_feedforward() -> Controller:
    """Return what knows the servo but not the specimen.

    Of (s² + β1 s + β2)((s + a3) F + a2 s x) = a1β0 (gain u - x) the terms of F up to the first rate.
    """
    plant, whole = Plant(), A1B0 * GAIN
    servo = Process((GAIN,), (A2 / A1B0, A2 * plant.b1 / A1B0, A2 * plant.b2 / A1B0, 1.0))
    give, give_rate = plant.a3 * plant.b2 / whole, (plant.b2 + plant.a3 * plant.b1) / whole
    return control.LoadFeedforward(control.InverseModel(servo), give, give_rate, cutoff=20.0)


def _mcs(kind: type[control.MCS]) -> Controller:
    return kind(alpha=10.0, beta=1.0, settling_time=0.1, initial_gains=(-0.5, 0.015, 1.5))


def _slow(poles: int) -> Process:
    """Return a simpler model of the nominal plant: its slowest poles, with its static gain."""
    whole = Plant().process()
    below = np.poly(whole.poles()[:poles]).real
    return Process((float(whole.gain),), tuple((below / below[-1]).tolist()))


def _smith() -> Controller:
    plant, slow = Plant().process(), _slow(1)
    delay = plant.denominator[-2] - slow.denominator[-2]  # what all other poles come to for slow motions
    # The loop cancels the slow pole, and leaves one twice as quick, which the lead cancels.
    lag = slow.denominator[-2]
    loop = control.OuterLoop(2.0, 2.0 / lag, lead=lag / (2.0 * slow.gain), lag="0.2 ms")
    ahead = control.PolynomialPrediction(delay + 2 * SAMPLE, order=2, span="20 ms", points=16)
    return control.SmithPredictor(replace(slow, delay=delay), loop, ahead)


CONTROLLERS: dict[str, Entry] = {
    "none": Entry(control.Direct, "the desired displacement itself"),
    "sample": Entry(
        lambda: control.OuterLoop(2.0, 95.0, lead=50.83163360273612 / CORNER, lag=1 / CORNER),
        "the paper's own: PI and a lead",
    ),
    "lead": Entry(lambda: control.LeadCompensation(DELAY, ratio=20.0), "a lead of first order"),
    "prediction": Entry(
        lambda: control.PolynomialPrediction(DELAY, order=2, span=0.02, points=10), "a parabola, 25 ms ahead"
    ),
    "adaptive-prediction": Entry(
        lambda: control.AdaptivePrediction(order=2, span="20 ms", ahead=AHEAD, process=Plant().process()),
        "the same, delay and gain adapted",
        adapts=True,
    ),
    "inverse": Entry(lambda: _inverse(0.0), "the nominal plant's inverse, five poles"),
    "inverse-early": Entry(lambda: _inverse(2.0), "the same, two samples ahead"),
    "load-feedforward": Entry(_load_feedforward, "the servo's inverse, and what the load takes away"),
    "virtual-junction": Entry(
        lambda: control.VirtualJunction(_position(1.0)), "two poles inverted, rates from the frame itself"
    ),
    "adaptive-junction": Entry(
        lambda: control.AdaptiveVirtualJunction(_position(), ("mass.mass", "damper.damping"), noise=1e5),
        "the same, poles by least squares",
        adapts=True,
    ),
    "sensitivity-junction": Entry(
        lambda: control.SensitivityVirtualJunction(_position(), ("mass.mass", "damper.damping")),
        "the same, poles by the model's sensitivity",
        adapts=True,
    ),
    "observed-junction": Entry(
        lambda: control.ObservedVirtualJunction(_servo_alone(), bandwidth=20.0),
        "the force from an observer in place of the load cell",
    ),
    "mcs": Entry(lambda: _mcs(control.MCS), "minimal control synthesis, from gains that hold", adapts=True),
    "discrete-mcs": Entry(lambda: _mcs(control.DiscreteMCS), "the same, from sample to sample", adapts=True),
    "sliding": Entry(
        # The hold is no part of its model.
        lambda: control.SlidingMode(_slow(3), bandwidth="25 Hz", ahead=2.0), "sliding mode, three poles"
    ),
    "smith": Entry(_smith, "Smith predictor around PI and lead"),
    "lqg": Entry(
        lambda: control.FeedforwardLQG(
            Plant().process(), effort=0.03, disturbance="1 mm", corner="2 Hz", noise="20 um"
        ),
        "the inverse, and feedback by LQG",
        extrapolated=True,
    ),
    "hinf": Entry(
        lambda: control.LoopShaping.for_bandwidth(Plant().process(), "24 Hz"),
        "the inverse, and feedback by H∞ loop shaping",
        extrapolated=True,
    ),
    "ats-early": Entry(
        lambda: control.AdaptiveTimeSeries(process=Plant().process(), order=3, window=0.5, ahead=AHEAD),
        "adaptive time series, 1.4 samples ahead",
        adapts=True,
    ),
    "amb-early": Entry(
        lambda: control.AdaptiveModelBased(process=Plant().process(), order=3, rate=40.0, ahead=AHEAD),
        "adaptive model-based, 1.4 samples ahead",
        adapts=True,
    ),
    "ats": Entry(
        lambda: control.AdaptiveTimeSeries(process=Plant().process(), order=3, window=0.5),
        "adaptive time series",
        adapts=True,
        extrapolated=True,
    ),
    "amb": Entry(
        lambda: control.AdaptiveModelBased(process=Plant().process(), order=3, rate=40.0),
        "adaptive model-based",
        adapts=True,
        extrapolated=True,
    ),
    "cats": Entry(
        lambda: control.ConditionalTimeSeries(process=Plant().process(), order=3),
        "time series under conditions",
        adapts=True,
        extrapolated=True,
    ),
    "fir": Entry(
        lambda: control.RecursiveFir(process=Plant().process()),
        "four taps by recursive least squares",
        adapts=True,
        extrapolated=True,
    ),
    "two-stage": Entry(
        lambda: control.TwoStageAdaptive(
            process=Plant().process(),
            prediction=control.PolynomialPrediction("5 ms", order=3, span="5 ms", points=8),
        ),
        "a prediction, and taps for the rest",
        adapts=True,
        extrapolated=True,
    ),
    "remainder": Entry(
        lambda: control.AdaptiveRemainder(
            control.InverseModel(Plant().process(), ahead=0.5),
            control.AdaptiveTimeSeries(largest_delay="20 ms"),
        ),
        "the inverse, and an adaptive remainder",
        adapts=True,
        extrapolated=True,
    ),
}  # fmt: skip
"""Controllers by name."""


NUMBERS = {
    "delay_ms": "J1",
    "tracking_rms_percent": "J2",
    "tracking_peak_percent": "J3",
    "floor_1_rms_percent": "J4",
    "floor_1_peak_percent": "J5",
    "floor_2_rms_percent": "J6",
    "floor_3_rms_percent": "J7",
    "floor_2_peak_percent": "J8",
    "floor_3_peak_percent": "J9",
}
"""The table's number of each criterion."""

NOISY = tuple(NUMBERS)[:5]
"""Those that the noise of the sensor enters; each has a twin without it."""

WITHOUT_NOISE = "_without_noise"
"""End of a twin's name."""

CHANNELS = (
    "desired.displacement", "measured.displacement", "actual.displacement",
    *(f"reference.stiffness[{i}].displacement" for i in range(3)),
    *(f"numerical.stiffness[{i}].displacement" for i in (1, 2)),
)  # fmt: skip
"""What the criteria are made from."""

LONGEST = 0.1
"""Lags up to this are looked at, s."""


def lag(late: NDArray[np.float64], early: NDArray[np.float64], period: float) -> float:
    """Return by how much one signal follows another, s: where their correlation is largest, whole samples.

    As the benchmark has it; `bondloop.results.delay` also looks between samples, and among equal peaks.

    Parameters
    ----------
    late, early
        Two signals of one length.
    period
        Seconds between samples.

    Examples
    --------
    >>> x = np.random.default_rng(1).normal(size=2000)
    >>> round(lag(x[90:1900], x[100:1910], 0.001), 6), lag(x, x, 0.001)
    (0.01, 0.0)
    """
    reach = min(round(LONGEST / period), len(late) // 4)
    rho = correlation(early, late, reach)
    return float((np.nanargmax(rho) - reach) * period) if np.isfinite(rho).any() else float("nan")


def criteria(run: Run) -> dict[str, float]:
    """Return the criteria of a run of the benchmark: as measured, and without the sensor's noise.

    Parameters
    ----------
    run
        Of ``silva_benchmark.test(...)``.
    """
    return criteria_of(run.record.channels, run.record.sample_period)


def criteria_of(channels: Mapping[str, NDArray[np.float64]], period: float) -> dict[str, float]:
    """Return the criteria of what was recorded.

    Parameters
    ----------
    channels
        By name, see `CHANNELS`.
    period
        Seconds between samples.
    """
    copies = {name: np.ascontiguousarray(channels[name]) for name in CHANNELS}
    desired = copies["desired.displacement"]
    whole = [copies[f"reference.stiffness[{i}].displacement"] for i in range(3)]
    floors = {i: copies[f"numerical.stiffness[{i}].displacement"] for i in (1, 2)}
    others = [
        rms_share(floors[1], whole[1]), rms_share(floors[2], whole[2]),
        peak_share(floors[1], whole[1]), peak_share(floors[2], whole[2]),
    ]  # fmt: skip
    values: dict[str, float] = {}
    for suffix, channel in (("", "measured.displacement"), (WITHOUT_NOISE, "actual.displacement")):
        moved = copies[channel]
        first = [
            1e3 * lag(moved, desired, period),
            rms_share(moved, desired), peak_share(moved, desired),
            rms_share(moved, whole[0]), peak_share(moved, whole[0]),
        ]  # fmt: skip
        names = [f"{name}{suffix}" for name in (NUMBERS if not suffix else NOISY)]
        values |= dict(zip(names, first + ([] if suffix else others), strict=True))
    return values


def rms_share(x: NDArray[np.float64], of: NDArray[np.float64]) -> float:
    """Return the rms of a difference, its mean taken off, over that of the signal, in per cent."""
    return _percent(np.std(x - of), np.std(of))


def peak_share(x: NDArray[np.float64], of: NDArray[np.float64]) -> float:
    """Return the peak of a difference over that of the signal, in per cent."""
    return _percent(np.abs(x - of).max(), np.abs(of).max())


def _percent(part: Any, whole: Any) -> float:
    """Return a share in per cent; of nothing it is not a number."""
    return float(100 * part / whole) if whole else float("nan")


RATE, SECONDS = 4096.0, 41.0
"""Samples a second, and how long El Centro lasts with what comes after it, s; other records have lengths of
their own."""

DISPLACEMENT_NOISE, FORCE_NOISE = 16e-6, 2.18
"""Rms of the sensors' noise, m and N."""

FORCE, STROKE, VELOCITY = 8900.0, 0.007, 0.3
"""What the rig can do: N, m, m/s. Beyond it a run stops. (The paper's converter also clips at 3.8 of its
units, which no command within the stroke comes near.)"""


def ground(record: str = "", scale: float = 0.4) -> Signal:
    """Return a ground acceleration in m/s².

    Parameters
    ----------
    record
        A file of any kind that `bondloop.results.read_ground_motion` reads. El Centro 1940, north-south,
        unless given.
    scale
        What it is multiplied by; the benchmark takes 40 % of El Centro.
    """
    from bondloop.results.motions import read_ground_motion
    from bondloop.signals import Table

    if not isinstance(record, (str, Path)):
        raise InputError(f"record must be the path of a file; found {record!r}")
    path = Path(record) if record else DATA / "elcentro.csv"
    motion = read_ground_motion(path)
    return scale * Table(motion.time, motion.values, beyond="zero")


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
    from bondloop.rigs import Emulated, PureDelay, Quantisation, Sensor, WhiteNoise
    from bondloop.safety import Limits

    if controller not in tuple(CONTROLLERS):
        raise InputError(unknown_name("controller", str(controller), CONTROLLERS))
    if not isinstance(noise, bool):
        raise InputError(f"noise must be true or false; found {noise!r}")
    chosen = Plant.numbered(plant)
    numerical, physical = model(case, chosen.stiffness).cut("floors[0] >> specimen")
    late = PureDelay(1 / RATE)
    sensors = {
        "displacement": Sensor((WhiteNoise(DISPLACEMENT_NOISE),) if noise else (), unit="m"),
        "force": Sensor((WhiteNoise(FORCE_NOISE), late) if noise else (late,), unit="N"),
    }
    motion = ground(record, scale)
    made = HybridTest(
        numerical,
        rig=Emulated(
            physical, actuator(chosen.a3, chosen.b1, chosen.b2), substeps=2, sensors=sensors,
            drive=(Quantisation(21, range=4.0),), seed=seed,
        ),
        controller=CONTROLLERS[controller].make(),
        excitation={"ground": motion},
        rate=RATE,
        reference=(model(case), [f"stiffness[{i}].displacement" for i in range(3)]),
        limits=Limits(displacement=STROKE, velocity=VELOCITY, force=FORCE),
        extrapolation=Extrapolation(late=1, points=4) if CONTROLLERS[controller].extrapolated else None,
        record=[f"numerical.stiffness[{i}].displacement" for i in (1, 2)],
        name=f"silva_benchmark_{case}",
    )  # fmt: skip
    if record:
        made.seconds = motion.duration
    return made


def findings(run: Run) -> dict[str, float]:
    """Return the nine criteria by name, and their twins without the sensors' noise."""
    return criteria(run)


def figures(run: Run, folder: Path) -> list[Path]:
    """Draw floor 1 as desired, measured and in the whole frame, and floor 3 in both."""
    from bondloop.results.figures import time_histories

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
