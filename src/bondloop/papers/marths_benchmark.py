"""The multi-axial benchmark: two actuators on one coupler move a joint and turn it (Condori Uribe 2023).

A frame of three storeys under an earthquake. A bay of its first storey stands on the rig; two horizontal
actuators on a rigid coupler drive its joint 7, and each moves the other's end. No force is measured: it is
computed from the measured motion. The structure is in :mod:`bondloop.papers.marths_structure`, the criteria
in :mod:`bondloop.papers.marths_criteria`.

References
----------
Condori Uribe, J. W., et al. (2023). Experimental benchmark control problem for multi-axial real-time hybrid
simulation. Frontiers in Built Environment 9, 1270996.
Quiroz, M. E., Gálmez, C., Fermandois, G. A. (2024). Robust decentralized adaptive compensation for the
multi-axial real-time hybrid simulation benchmark. Frontiers in Built Environment 10, 1394952.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.data.kinds import describable
from bondloop.errors import InputError, unknown_name
from bondloop.papers.marths_structure import FORCE, FRAME, MOMENT, model, reference

if TYPE_CHECKING:
    from pathlib import Path

    from bondloop.control import Controller
    from bondloop.hybrid import HybridTest, Run
    from bondloop.program.system import System
    from bondloop.transfer import ProcessMatrix

__all__ = [
    "CONTROLLERS", "DRAWS", "NOISE", "PINS", "RATE", "SECONDS", "Plant", "actuators", "figures", "findings",
    "model", "test",
]  # fmt: skip

RATE, SECONDS = 1024.0, 41.18
"""Samples a second, and how long El Centro lasts, s."""

PINS = ((0.2667, 0.127), (0.2667, -0.127))
"""Pins of the actuators, m from the joint; rotations as the structure counts them (the code has θ = -u21)."""

NOISE = 1e-3 * (1.5e-7 * RATE) ** 0.5
"""Rms of the displacement sensors' noise, m; both read the same sequence."""

STROKE = 0.028
"""What 3.8 V of command are, m; no run comes near it."""

CUT = ("floor_1.ux >> specimen.end_0", "joint_7.rz >> specimen.end_1")
"""Where rig and computer part."""

DRAWS = (
    (0.5377, 1.8339, -2.2588, 0.8622, 0.3188, -1.3077, -0.4336, 0.3426, 3.5784),
    (2.7694, -1.3499, 3.0349, 0.7254, -0.0631, 0.7147, -0.2050, -0.1241, 1.4897),
    (1.4090, 1.4172, 0.6715, -1.2075, 0.7172, 1.6302, 0.4889, 1.0347, 0.7269),
    (-0.3034, 0.2939, -0.7873, 0.8884, -1.1471, -1.0689, -0.8095, -2.9443, 1.4384),
    (0.3252, -0.7549, 1.3703, -1.7115, -0.1022, -0.2414, 0.3192, 0.3129, -0.8649),
)
"""Plants 1 to 5: what a fresh session of the code draws, in the order of `Plant`."""

SPREAD = (0.055, 0.055, 0.06, 0.06, 0.05, 0.03, 0.03, 0.03, 0.03)
"""Standard deviations of the draws."""


@dataclass(frozen=True)
class Plant:
    """Zeros and poles of the two actuators with the frame on them, in Hz.

    Parameters
    ----------
    zero_1, zero_2, pole_1, pole_2
        Of the first column, what the first command does: both entries have them.
    frame
        Size of the frame's pole pair, which all entries have, over its nominal size.
    zero_12, pole_3, pole_4, zero_22
        Of the second column: the zero of each entry, and the poles of both.

    Examples
    --------
    >>> Plant().matrix().response([0.0])[0].real.round(4).tolist()
    [[0.8638, 0.1311], [0.1396, 0.9258]]
    """

    zero_1: float = -120.0
    zero_2: float = -90.0
    pole_1: float = -2.65
    pole_2: float = -40.0
    frame: float = 1.0
    zero_12: float = -3.0
    pole_3: float = -3.5
    pole_4: float = -18.5
    zero_22: float = -5.0

    @classmethod
    def numbered(cls, number: object) -> Plant:
        """Return a plant by number: 0 is nominal, 1 to 5 are `DRAWS`, every other is drawn, always alike."""
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 0:
            raise InputError(
                f"plant must be 0 (the nominal one) or a whole number above it; found {number!r}"
            )
        if number == 0:
            return cls()
        listed = number <= len(DRAWS)
        draws = DRAWS[number - 1] if listed else np.random.default_rng(int(number)).normal(size=len(SPREAD))
        nominal = vars(cls()).items()
        changed = zip(nominal, SPREAD, draws, strict=True)
        return cls(**{name: float(value * (1 + s * n)) for (name, value), s, n in changed})

    def matrix(self) -> ProcessMatrix:
        """Return displacements over commands; the static gains are those of the nominal plant."""
        from bondloop.transfer import Process, ProcessMatrix

        pair = [self.frame * (-50 + 63j), self.frame * (-50 - 63j)]
        columns = (
            ((self.zero_1, self.zero_2), (self.pole_1, self.pole_2), (self.zero_1, self.zero_2)),
            ((self.zero_12,), (self.pole_3, self.pole_4), (self.zero_22,)),
        )
        rows: list[list[Process]] = [[], []]
        for j, (above, poles, below) in enumerate(columns):
            a = np.poly(2 * np.pi * np.array([*poles, *pair])).real
            for i, zeros in enumerate((above, below)):
                b = np.atleast_1d(np.poly(2 * np.pi * np.array(zeros)))
                rows[i].append(
                    Process(tuple((STATIC[i][j] / b[-1] * b).tolist()), tuple((a / a[-1]).tolist()))
                )
        return ProcessMatrix(tuple(tuple(row) for row in rows))


def _static_gains() -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the static gains that follow from the code's gains, for s in rad/s."""

    def gain(k: float, zeros: tuple[float, ...], poles: tuple[complex, ...]) -> float:
        z, p = (-2 * np.pi * np.array(x) for x in (zeros, poles))
        return float((k * np.prod(z) / np.prod(p)).real)

    pair = (-50 + 63j, -50 - 63j)
    first, second = (-2.65, -40.0, *pair), (-3.5, -18.5, *pair)
    return (
        (gain(2165.2, (-120.0, -90.0), first), gain(4.5394e6, (-3.0,), second)),
        (gain(349.95, (-120.0, -90.0), first), gain(1.9238e7, (-5.0,), second)),
    )


STATIC = _static_gains()
"""Static gains of all plants, rows by displacement."""


@describable("system", "marths-actuators")
def actuators(plant: int = 0) -> System:
    """Return the two actuators with the frame on them, a coupled transfer system.

    Parameters
    ----------
    plant
        By number, see `Plant`.
    """
    return Plant.numbered(plant).matrix().actuator()


def _none() -> Controller:
    from bondloop.control import LeadCompensation

    return LeadCompensation(0.0)


def _time_series() -> Controller:
    from bondloop.control import AdaptiveTimeSeries, PerActuator

    return PerActuator(
        tuple(AdaptiveTimeSeries(delay, largest_delay=0.1) for delay in ("52.8 ms", "21.4 ms"))
    )


TAPS = (
    (5.41470353, 1.96280665, -1.50482526, -4.95776380),
    (6.05817263, 2.19981575, -1.67459763, -5.53849986),
)
"""First taps of the RLS-FIR of Quiroz et al. (2024), actuators 1 and 2."""

COVARIANCE = (
    ((83906.43, -45046.01, -27999.33, -10761.29), (-45046.01, 106712.78, -33590.12, -27999.86),
     (-27999.33, -33590.12, 106712.89, -45046.65), (-10761.29, -27999.86, -45046.65, 83907.60)),
    ((64773.01, -51448.24, -21629.93, 8337.19), (-51448.24, 104560.94, -31474.35, -21630.10),
     (-21629.93, -31474.35, 104561.23, -51448.71), (8337.19, -21630.10, -51448.71, 64773.65)),
)  # fmt: skip
"""Their first covariances as the code has them: found in 1/m², used on mm, which is what makes it adapt."""


def _taps() -> Controller:
    from bondloop.control import PerActuator, RecursiveFir

    return PerActuator(tuple(RecursiveFir(4, taps, 0.0) for taps in TAPS))


def _rls_fir() -> Controller:
    from bondloop.control import PerActuator, RecursiveFir

    return PerActuator(
        tuple(
            RecursiveFir(  # the code has no bounds
                4,
                taps,
                tuple(tuple(1e6 * x for x in row) for row in P),
                largest_delay=10.0,
                least_gain=0.01,
                largest_gain=100.0,
            )
            for taps, P in zip(TAPS, COVARIANCE, strict=True)
        )
    )


def _inverse() -> Controller:
    from bondloop.control import CoupledInverse, PerActuator

    H = Plant().matrix()
    return PerActuator(tuple(CoupledInverse(H.entries[i][i].actuator()) for i in range(2)))


def _coupled() -> Controller:
    from bondloop.control import CoupledInverse

    return CoupledInverse(actuators())


def _adaptive() -> Controller:
    from bondloop.control import AdaptiveCoupledInverse

    return AdaptiveCoupledInverse(actuators())


CONTROLLERS: Mapping[str, Callable[[], Controller]] = {
    "none": _none, "taps": _taps, "rls-fir": _rls_fir, "ats": _time_series, "inverse": _inverse,
    "coupled": _coupled, "adaptive-coupled": _adaptive,
}  # fmt: skip
"""Controllers by name, each with one setting for all plants; only the last two know of the coupling."""


def test(
    controller: str = "adaptive-coupled",
    plant: int = 0,
    noise: bool = True,
    record: str = "",
    scale: float = 0.4,
    seed: int = 1,
) -> HybridTest:
    """Return the hybrid test.

    Parameters
    ----------
    controller
        By name, one of `CONTROLLERS`.
    plant
        0 for the nominal one; every other number is one that differs, see `Plant`.
    noise
        Whether the sensors have any.
    record, scale
        The ground motion: see `bondloop.papers.silva_benchmark.ground`.
    seed
        Of the noise.
    """
    from bondloop.control import RestoringForce
    from bondloop.hybrid import HybridTest
    from bondloop.integrate import NewmarkAverage
    from bondloop.papers.silva_benchmark import ground
    from bondloop.rigs import Emulated, Noise, Sensor
    from bondloop.safety import Limits
    from bondloop.substructure import Pins

    if controller not in tuple(CONTROLLERS):
        raise InputError(unknown_name("controller", str(controller), CONTROLLERS))
    if not isinstance(noise, bool):
        raise InputError(f"noise must be true or false; found {noise!r}")
    numerical, physical = model().cut(*CUT)
    motion = ground(record, scale)
    sensor = Sensor((Noise(NOISE, common=True),) if noise else (), unit="m")
    made = HybridTest(
        numerical,
        rig=Emulated(
            physical, actuators(plant), coupler=Pins(PINS), seed=seed, sensors={"displacement": sensor},
        ),
        controller=CONTROLLERS[controller](),
        excitation={"ground": motion},
        rate=RATE,
        integrator=NewmarkAverage(newest=True),
        restoring_force=RestoringForce(**FORCE, inputs=(MOMENT,)),
        reference=(reference(), [f"stiffness[{i}].displacement" for i in (*FLOORS, FRAME[0], FRAME[2])]),
        limits=Limits(displacement=STROKE),
        record=[f"numerical.stiffness[{i}].displacement" for i in (FRAME[0], FRAME[2])],
        name="marths_benchmark",
    )  # fmt: skip
    if record:
        made.seconds = motion.duration
    return made


FLOORS = (25, 21, 12, 2)
"""Motion and rotation of floor 2, then of floor 3, counted from 0."""


def findings(run: Run) -> dict[str, float]:
    """Return the criteria by name, and their twins without the sensors' noise."""
    from bondloop.papers.marths_criteria import criteria

    return criteria(run)


def figures(run: Run, folder: Path) -> list[Path]:
    """Draw what the actuators should do and did, and floor 3 in the test and in the reference."""
    from bondloop.plots import time_histories

    path = folder / "marths_benchmark.png"
    groups = {
        f"actuator {i + 1}": {"desired": f"desired.displacement[{i}]", "actual": f"actual.displacement[{i}]"}
        for i in range(2)
    }
    groups["third floor"] = {
        "reference": f"reference.stiffness[{FLOORS[2]}].displacement",
        "hybrid test": f"numerical.stiffness[{FLOORS[2]}].displacement",
    }
    time_histories(run.record, groups, path=path)
    return [path]
