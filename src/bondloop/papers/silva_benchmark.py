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

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.papers.silva_plant import (
    CASES,
    CONTROLLERS,
    DATA,
    STIFFNESS,
    Plant,
    Servo,
    actuator,
    matrices,
    model,
)
from bondloop.results.assess import correlation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bondloop.hybrid import HybridTest
    from bondloop.rehearsal import Run
    from bondloop.signals import Signal


__all__ = [
    "CASES",
    "CHANNELS",
    "CONTROLLERS",
    "NOISY",
    "NUMBERS",
    "RATE",
    "SECONDS",
    "STIFFNESS",
    "WITHOUT_NOISE",
    "Plant",
    "Servo",
    "actuator",
    "criteria",
    "criteria_of",
    "figures",
    "findings",
    "ground",
    "lag",
    "matrices",
    "model",
    "peak_share",
    "rms_share",
    "test",
]


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
    from bondloop.rigs import Emulated, Sensor
    from bondloop.rigs.imperfections import Noise, PureDelay, Quantisation
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
