"""The multi-axial benchmark: two actuators on one coupler move a joint and turn it (Condori Uribe 2023).

A frame of three storeys under an earthquake. A bay of its first storey stands on the rig; two horizontal
actuators on a rigid coupler drive its joint 7, and each moves the other's end. No force is measured: it is
computed from the measured motion.

Numbers are those of the public code (Quiroz, Gálmez and Fermandois 2024); `papers/marths` holds its matrices.
The numerical part is the reference less an "ideal frame", and that is not what stands on the rig: the parts
do not add up to the reference. So a run is also compared with the *emulated* structure, numerical part and
specimen without any actuator between them.

J7 to J10 compare with a reference that the parts do not add up to, so no compensator brings them below a
floor of 6 to 10 %. Their twins that end in ``_emulated`` compare with the structure that the parts do make.

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
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop import control
from bondloop.bondgraph import Model, bond
from bondloop.bondgraph.elements import CField, I, RField, Se
from bondloop.devices import Imposed, OdeSpecimen
from bondloop.engine.data import describable
from bondloop.errors import InputError, unknown_name
from bondloop.papers.silva_benchmark import lag, peak_share, rms_share
from bondloop.structures import StructureModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control import Controller
    from bondloop.engine import System
    from bondloop.engine.laws import Value
    from bondloop.hybrid import HybridTest
    from bondloop.rehearsal import Run
    from bondloop.transfer import ProcessMatrix

    Array = NDArray[np.float64]


DATA = Path(__file__).parent / "marths"

VERTICAL = {5: 1, 6: 28, 7: 20, 8: 16, 9: 12, 10: 6, 11: 25, 12: 23, 13: 8, 14: 15, 15: 9, 16: 4}
ROTATION = {
    2: 19, 3: 18, 5: 2, 6: 29, 7: 21, 8: 17, 9: 11, 10: 5, 11: 24, 12: 22, 13: 7, 14: 14, 15: 10, 16: 3,
}  # fmt: skip
FLOOR = {1: 27, 2: 26, 3: 13}
"""Degrees of freedom by joint and by floor, counted from 1 as in the files."""

DAMPING = (1.2473724, 5.5985399e-4)
"""Rayleigh's coefficients of the reference, 1/s and s."""

FRAME = (26, 28, 20)
"""Of the ideal frame, counted from 0: floor 1, the rotations of joints 6 and 7."""

IDEAL_MASS, IDEAL_INERTIA = 902.527, 17.86506
"""kg and kg m²; the inertia enters the damping only."""

MOMENT = "moment_6"
"""Input of the moment at joint 6, which no actuator drives."""

FORCE = {
    "stiffness": ((2324116.67, -861232.488), (-861232.488, 1085953.953), (0.0, 0.0)),
    "damping": ((352.07463, -33.78606), (-53.55614, 95.01069), (-30.03228, 10.38847)),
    "mass": ((8.45399, 0.0), (0.0, 0.89044), (-0.84450, 0.17441)),
}
"""Force, moment at joint 7 and moment on joint 6 of the frame on the rig, per motion of joint 7.

In the structure's own coordinates, (x, rotation 21): the code turns the other way round, θ = -u21. The last
row acts on joint 6, the others on the frame.
"""


def _names() -> tuple[str, ...]:
    names = [""] * 29
    for joint, i in VERTICAL.items():
        names[i - 1] = f"joint_{joint}.uy"
    for joint, i in ROTATION.items():
        names[i - 1] = f"joint_{joint}.rz"
    for floor, i in FLOOR.items():
        names[i - 1] = f"floor_{floor}.ux"
    return tuple(names)


DOFS = _names()
"""Names of the 29 degrees of freedom, in the order of the files."""


@cache
def reference_matrices() -> tuple[Array, Array, Array]:
    """Return M, C and K of the reference, SI."""
    M, K = (np.loadtxt(DATA / f"R_{letter}.csv", delimiter=",") for letter in "MK")
    return M, DAMPING[0] * M + DAMPING[1] * K, K


def ideal_frame() -> tuple[Array, Array, Array]:
    """Return M, C and K that are taken off the reference, in the order of `FRAME`.

    The sign of the beam's coupling, -b, is the code's own.
    """
    E, L, L_b, inch = 200e9, 0.635, 0.762, 0.0254
    c, b = 3 * E * 2.52 * inch**4 / L, 2 * E * 0.6132 * inch**4 / L_b
    K = np.array([[2 * c / L**2, -c / L, -c / L], [-c / L, c + 2 * b, -b], [-c / L, -b, c + 2 * b]])
    M = np.diag([IDEAL_MASS, IDEAL_INERTIA, IDEAL_INERTIA])
    omega = np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real)
    first, third = omega.min(), omega.max()
    # Rayleigh, 5 % at both.
    beta = 0.1 / (first + third)
    C = beta * first * third * M + beta * K
    return np.diag([IDEAL_MASS, 0.0, 0.0]), C, K


@cache
def numerical_matrices() -> tuple[Array, Array, Array]:
    """Return M, C and K of the numerical part."""
    found = []
    for whole, part in zip(reference_matrices(), ideal_frame(), strict=True):
        less = whole.copy()
        less[np.ix_(FRAME, FRAME)] -= part
        found.append(less)
    return found[0], found[1], found[2]


def emulated(acceleration: Array, period: float) -> Array:
    """Return all displacements of the emulated structure, shape (samples, 29), by the same Newmark.

    Parameters
    ----------
    acceleration
        Of the ground, m/s², a sample each.
    period
        Seconds between samples.
    """
    M, C, K = (X.copy() for X in numerical_matrices())
    load = -(M @ _ground())
    driven = [FRAME[0], FRAME[2]]
    for X, word in ((K, "stiffness"), (C, "damping"), (M, "mass")):
        rows = np.array(FORCE[word])
        X[np.ix_(driven, driven)] += rows[:2]
        X[FRAME[1], driven] -= rows[2]
    S = np.linalg.inv(K + 2 / period * C + 4 / period**2 * M)
    by_u, by_v, by_a, by_g = (
        S @ (4 / period**2 * M + 2 / period * C),
        S @ (4 / period * M + C),
        S @ M,
        S @ load,
    )
    u, v, a = np.zeros((3, len(M)))
    result = np.empty((len(acceleration), len(M)))
    for k, g in enumerate(acceleration):
        new = by_u @ u + by_v @ v + by_a @ a + by_g * g
        u, v, a = new, 2 / period * (new - u) - v, 4 / period**2 * (new - u) - 4 / period * v - a
        result[k] = u
    return result


def _ground() -> Array:
    iota = np.zeros(29)
    iota[[i - 1 for i in FLOOR.values()]] = 1.0
    return iota


class MarthsFrame(OdeSpecimen):
    """The middle bay of floor 1 on the rig, without its mass: force and moment that move joint 7."""

    interfaces = 2
    stiffness: float = FORCE["stiffness"][0][0]
    cross_stiffness: float = FORCE["stiffness"][0][1]
    rotational_stiffness: float = FORCE["stiffness"][1][1]
    damping: float = FORCE["damping"][0][0]
    rotational_damping: float = FORCE["damping"][1][1]

    def force(self, motion: Imposed) -> Value:
        """Return force and moment."""
        (x, turn), (v, rate) = motion.displacement, motion.velocity
        return [
            self.stiffness * x + self.cross_stiffness * turn + self.damping * v,
            self.cross_stiffness * x + self.rotational_stiffness * turn + self.rotational_damping * rate,
        ]


def _structure(name: str, matrices: tuple[Array, Array, Array]) -> StructureModel:
    """Return M, C and K as a bond graph; rotations have no mass, so their dampers give their velocities."""
    M, C, K = matrices
    structure = StructureModel(name, DOFS)
    structure.stiffness, structure.damping = CField(K), RField(C)
    heavy = [i for i in range(len(DOFS)) if M[i, i]]
    structure.mass = [I(mass=float(M[i, i])) for i in heavy]
    for i, dof in enumerate(DOFS):
        bond(structure.junction(dof), structure.stiffness[i])
        bond(structure.junction(dof), structure.damping[i])
    for i, mass in zip(heavy, structure.mass, strict=True):
        bond(structure.junction(DOFS[i]), mass)
    pattern = {dof: -float(x) for dof, x in zip(DOFS, M @ _ground(), strict=True)}
    structure.apply_pattern(pattern, "ground", unit="m/s^2")
    return structure


@describable("model", "marths-reference")
def reference() -> Model:
    """Return the reference: the whole frame of the files."""
    return _structure("reference", reference_matrices())


@describable("model", "marths-frame")
def model() -> Model:
    """Return the numerical part with the frame on the rig, its part ``specimen``; cut where they join."""
    whole = _structure("frame", numerical_matrices())
    setattr(whole, MOMENT, Se(MOMENT))
    bond(getattr(whole, MOMENT), whole.junction("joint_6.rz"))
    whole.specimen = MarthsFrame().element()
    bond(whole.junction("floor_1.ux"), whole.specimen.end_0)
    bond(whole.junction("joint_7.rz"), whole.specimen.end_1)
    return whole


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


def _per_actuator(*members: control.Compensator) -> Controller:
    return control.PerActuator(members)


def _rls_fir(taps: tuple[float, ...], covariance: tuple[tuple[float, ...], ...]) -> control.RecursiveFir:
    micro = tuple(tuple(1e6 * x for x in row) for row in covariance)
    # The code has no bounds.
    return control.RecursiveFir(4, taps, micro, largest_delay=10.0, least_gain=0.01, largest_gain=100.0)


def _inverse(actuator: int) -> control.Compensator:
    return control.CoupledInverse(Plant().matrix().entries[actuator][actuator].actuator())


CONTROLLERS: Mapping[str, Callable[[], Controller]] = {
    "none": lambda: control.LeadCompensation(0.0),
    "taps": lambda: _per_actuator(*(control.RecursiveFir(4, taps, 0.0) for taps in TAPS)),
    "rls-fir": lambda: _per_actuator(*map(_rls_fir, TAPS, COVARIANCE)),
    "ats": lambda: _per_actuator(
        *(control.AdaptiveTimeSeries(delay, largest_delay=0.1) for delay in ("52.8 ms", "21.4 ms"))
    ),
    "inverse": lambda: _per_actuator(_inverse(0), _inverse(1)),
    "coupled": lambda: control.CoupledInverse(actuators()),
    "adaptive-coupled": lambda: control.AdaptiveCoupledInverse(actuators()),
}
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
    from bondloop.hybrid import HybridTest
    from bondloop.integrate import NewmarkAverage
    from bondloop.papers.silva_benchmark import ground
    from bondloop.rigs import Emulated, Sensor, WhiteNoise
    from bondloop.safety import Limits
    from bondloop.substructure import Pins

    if controller not in tuple(CONTROLLERS):
        raise InputError(unknown_name("controller", str(controller), CONTROLLERS))
    if not isinstance(noise, bool):
        raise InputError(f"noise must be true or false; found {noise!r}")
    numerical, physical = model().cut(*CUT)
    motion = ground(record, scale)
    sensor = Sensor((WhiteNoise(NOISE, common=True),) if noise else (), unit="m")
    made = HybridTest(
        numerical,
        rig=Emulated(
            physical, actuators(plant), coupler=Pins(PINS), seed=seed, sensors={"displacement": sensor},
        ),
        controller=CONTROLLERS[controller](),
        excitation={"ground": motion},
        rate=RATE,
        integrator=NewmarkAverage(newest=True),
        restoring_force=control.RestoringForce(**FORCE, inputs=(MOMENT,)),
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
    return criteria(run)


def figures(run: Run, folder: Path) -> list[Path]:
    """Draw what the actuators should do and did, and floor 3 in the test and in the reference."""
    from bondloop.results.figures import time_histories

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


FLOOR_WORDS = ("floor_2", "floor_2_rotation", "floor_3", "floor_3_rotation")

NUMBERS = {
    **{f"delay_{i}_ms": "J1" for i in (1, 2)},
    **{f"tracking_{i}_rms_percent": "J2" for i in (1, 2)},
    **{f"tracking_{i}_peak_percent": "J3" for i in (1, 2)},
    **{f"frame_{word}_rms_percent": "J5" for word in ("motion", "rotation")},
    **{f"frame_{word}_peak_percent": "J6" for word in ("motion", "rotation")},
    **{f"joint_{word}_rms_percent": "J7" for word in ("motion", "rotation")},
    **{f"{word}_rms_percent": "J8" for word in FLOOR_WORDS},
    **{f"joint_{word}_peak_percent": "J9" for word in ("motion", "rotation")},
    **{f"{word}_peak_percent": "J10" for word in FLOOR_WORDS},
}
"""The paper's number of each criterion. (J4 is J1 again in the public code.)"""


def pose(strokes: Array) -> Array:
    """Return motion and rotation of the joint from the strokes of both actuators, shape (2, samples).

    Two pins above each other: the strokes differ by twice the height times the sine of the rotation.

    Examples
    --------
    >>> pose(np.array([[0.001], [0.001]])).round(6).tolist()
    [[0.001], [0.0]]
    """
    (arm, height), _ = PINS
    turn = np.arcsin((strokes[1] - strokes[0]) / (2 * height))
    return np.array([strokes.mean(axis=0) - arm * (np.cos(turn) - 1), turn])


def criteria(run: Run) -> dict[str, float]:
    """Return the criteria of a run of the benchmark.

    Parameters
    ----------
    run
        Of ``marths_benchmark.test(...)``.
    """
    period = run.record.sample_period
    joint = (FRAME[0], FRAME[2])
    target = [run[f"desired.displacement[{i}]"] for i in range(2)]
    numerical = {i: run[f"numerical.stiffness[{i}].displacement"] for i in (*joint, *FLOORS)}
    whole = {i: run[f"reference.stiffness[{i}].displacement"] for i in (*joint, *FLOORS)}
    made = emulated(run["ground"], period)
    result: dict[str, float] = {}
    for suffix, word in (("", "measured"), ("_without_noise", "actual")):
        strokes = np.array([run[f"{word}.displacement[{i}]"] for i in range(2)])
        frame = pose(strokes)
        values: dict[str, float] = {}
        for i, (moved, wanted) in enumerate(zip(strokes, target, strict=True), start=1):
            values[f"delay_{i}_ms"] = 1e3 * lag(moved, wanted, period)
            values[f"tracking_{i}_rms_percent"] = rms_share(moved, wanted)
            values[f"tracking_{i}_peak_percent"] = peak_share(moved, wanted)
        for name, moved, i in zip(("motion", "rotation"), frame, joint, strict=True):
            values[f"frame_{name}_rms_percent"] = rms_share(moved, numerical[i])
            values[f"frame_{name}_peak_percent"] = peak_share(moved, numerical[i])
            values[f"joint_{name}_rms_percent"] = rms_share(moved, whole[i])
            values[f"joint_{name}_peak_percent"] = peak_share(moved, whole[i])
            values[f"joint_{name}_rms_percent_emulated"] = rms_share(moved, made[:, i])
        result |= {f"{name}{suffix}": value for name, value in values.items()}
    for name, i in zip(FLOOR_WORDS, FLOORS, strict=True):
        result[f"{name}_rms_percent"] = rms_share(numerical[i], whole[i])
        result[f"{name}_peak_percent"] = peak_share(numerical[i], whole[i])
        result[f"{name}_rms_percent_emulated"] = rms_share(numerical[i], made[:, i])
    return result
