"""The four-mass system of Bayer, Dorka and Füllekrug 2000: a payload on a table, a rocket in the computer.

A chain ground-k1-m1-k2-m2-k3-m3-k4-m4. Masses 1 and 2 are the structure, in the computer; masses 3 and 4 are
the sub-structure, on a shaking table that follows mass 2. Damping is Rayleigh's on absolute velocities, with
the same constants in both, which reproduces the damping ratios of Table 2.

The paper shows its base excitation only as a figure: a transient of a stage separation with some 19 Hz in it.
Chosen here is the base displacement of `StageSeparation`: a short push as the stages part, and a 19 Hz
vibration that dies away. Its acceleration stays below 11 m/s², and it excites the first two modes and the 19
Hz motion about equally, as in the paper's Figure 2.

A test is judged by the heights of the peaks in the force's spectrum. The paper's Figure 2 has three of them:
the first two modes of the combined system, and the motion that the base imposes at 19 Hz. Their heights are
those of the Fourier transform of a transient that begins and ends at rest, so the transform is interpolated
by adding zeros: on the lines of a 4 s record, 0.25 Hz apart, a peak of 0.3 Hz width would lose up to a third
of its height, and more or less of it as its frequency moves.

References
----------
Bayer, V., Dorka, U. E., Füllekrug, U. (2000). A new algorithm for real-time sub-structure pseudo-dynamic
tests. 12th World Conference on Earthquake Engineering, Auckland.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import Model, One, Port, Zero
from bondloop.bondgraph.elements import C, I, R, Sf
from bondloop.engine.data import Parameter, Whole, describable
from bondloop.engine.ir import Const, Expr, function
from bondloop.signals import Signal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.hybrid import PseudoDynamicTest
    from bondloop.rehearsal import Run
    from bondloop.structures import Matrices


PEAKS: dict[str, tuple[float, float]] = {
    "first_mode": (6.0, 8.5), "second_mode": (14.0, 17.3), "rigid_body": (18.2, 20.5)
}  # fmt: skip
"""Where each peak of Figure 2 is looked for, Hz."""

FINER = 16
"""Lines of the spectrum for every one that the record has by itself."""


@dataclass(frozen=True)
class Peak:
    """The highest line within a range of frequencies.

    Attributes
    ----------
    frequency
        In Hz.
    height
        In the unit of the signal, as `bayer_substep.spectrum` counts it.
    """

    frequency: float
    height: float


def peaks(values: NDArray[np.float64], sample_period: float) -> dict[str, Peak]:
    """Return the peaks of `PEAKS` in the spectrum of a transient.

    Examples
    --------
    A decaying sine of 1 N has the height 2/(T · 2 · rate) over T seconds: here 2/(8 · 4) N.

    >>> t = np.arange(0, 8, 0.001)
    >>> peak = peaks(np.exp(-2 * t) * np.sin(2 * np.pi * 15.8 * t), 0.001)["second_mode"]
    >>> print(f"{peak.frequency:.2f} Hz, {peak.height:.4f} N")
    15.80 Hz, 0.0625 N
    """
    count = FINER * values.size
    lines = np.abs(np.fft.rfft(values, count)) * 2 / values.size
    frequencies = np.arange(lines.size) / (count * sample_period)
    highest = {}
    for name, (low, high) in PEAKS.items():
        (inside,) = np.nonzero((frequencies >= low) & (frequencies <= high))
        if not inside.size:  # sampled too slowly, or a moment long
            highest[name] = Peak(float("nan"), float("nan"))
            continue
        top = inside[np.argmax(lines[inside])]
        highest[name] = Peak(float(frequencies[top]), float(lines[top]))
    return highest


def peak_errors(
    measured: NDArray[np.float64], exact: NDArray[np.float64], sample_period: float
) -> dict[str, float]:
    """Return the relative errors of the heights of the measured force's peaks.

    >>> force = np.sin(2 * np.pi * 7 * np.arange(0, 4, 0.004))
    >>> round(peak_errors(0.9 * force, force, 0.004)["first_mode"], 3)
    -0.1
    """
    ours, theirs = peaks(measured, sample_period), peaks(exact, sample_period)
    return {name: ours[name].height / theirs[name].height - 1 for name in PEAKS}


# ruff: noqa: RUF009 - the defaults of a signal's parameters are descriptors, one for a class


SECONDS = 4.0

MASSES = (18.137, 3.735, 4.915, 0.516)
STIFFNESSES = (65467.0, 59188.0, 136179.0, 23086.0)
"""Table 1: kg, N/m."""
RAYLEIGH = (1.266, 2.68e-4)
"""Of C = alpha M + beta K, in 1/s and s."""

TABLE_2 = {
    "combined system": ((7.14, 15.71, 34.19, 44.57), (2.01, 1.97, 3.17, 3.98)),
    "structure": ((8.55, 22.42), (1.90, 2.34)),
    "sub-structure": ((24.04, 37.10), (2.44, 3.39)),
}
"""The paper's Table 2: frequencies in Hz, damping ratios in %."""


@dataclass(frozen=True)
class StageSeparation(Signal):
    """Base displacement as two rocket stages part: a push, and a vibration that dies away.

    vibration (1 - e^(-t/rise))² e^(-t/decay) sin(2π frequency t) + push (x e^(1-x))³ with x = t/push_time;
    of order 1 and 2 its velocity and acceleration.

    >>> base = StageSeparation()
    >>> round(1e3 * base(0.04), 3), round(base.derivative().derivative()(0.02), 2)  # mm, m/s²
    (0.091, -9.04)
    """

    vibration: Parameter = Parameter(0.7e-3, unit="m")
    frequency: Parameter = Parameter(19.0, above=0, unit="Hz")
    rise: Parameter = Parameter(0.01, above=0, unit="s")
    decay: Parameter = Parameter(0.4, above=0, unit="s")
    push: Parameter = Parameter(0.7e-3, unit="m")
    push_time: Parameter = Parameter(0.04, above=0, unit="s")
    order: Whole = Whole(0, least=0, most=2)

    @property
    def smoothness(self) -> float:
        """What is left of three: it begins as t³."""
        return 3 - self.order

    def derivative(self) -> Signal:
        """Return the velocity of the displacement, the acceleration of the velocity."""
        return replace(self, order=self.order + 1) if self.order < 2 else super().derivative()

    def expression(self, t: Expr) -> Expr:
        """Return the signal as an expression: sums of decaying sines, and a polynomial times e^(-3x)."""
        since = function("fmax", t, 0.0)
        omega = 2 * math.pi * self.frequency
        sine, cosine = function("sin", omega * since), function("cos", omega * since)
        total: Expr = Const(0.0)
        for part, times in ((1.0, 0), (-2.0, 1), (1.0, 2)):  # (1 - e)² = 1 - 2e + e²
            rate = 1 / self.decay + times / self.rise
            turned = part * self.vibration * complex(-rate, omega) ** self.order
            total = total + function("exp", -rate * since) * (turned.real * sine + turned.imag * cosine)
        x = since / self.push_time
        polynomial = (x * x * x, 3 * x * x - 3 * x * x * x, 6 * x - 18 * x * x + 9 * x * x * x)[self.order]
        return total + (self.push / self.push_time**self.order) * (polynomial * function("exp", 3 - 3 * x))


def matrices(first: int = 1, last: int = 4) -> Matrices:
    """M, C, K of masses ``first`` to ``last``, the spring below the first one fixed at its foot."""
    from bondloop.structures import Matrices, ShearBuilding

    masses, stiffnesses = MASSES[first - 1 : last], STIFFNESSES[first - 1 : last]
    whole = ShearBuilding(masses, stiffnesses, rayleigh=RAYLEIGH).assemble()
    return Matrices(whole.M, whole.C, whole.K, tuple(f"m{i}" for i in range(first, last + 1)))


def structure() -> Matrices:
    """Masses 1 and 2 on the ground: the numerical half."""
    return matrices(1, 2)


def payload() -> Matrices:
    """Masses 3 and 4 on the table, whose own motion ``table`` is the interface and has no mass."""
    from bondloop.structures import Matrices

    own = matrices(3, 4)
    grown = []
    for X, k in ((own.M, 0.0), (own.C, RAYLEIGH[1] * STIFFNESSES[2]), (own.K, STIFFNESSES[2])):
        whole = np.zeros((3, 3))
        whole[1:, 1:] = X.toarray()
        whole[0, 0], whole[0, 1], whole[1, 0] = k, -k, -k
        grown.append(whole)
    M, C, K = grown
    return Matrices(M, C, K, ("table", "m3", "m4"))


def table_2() -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Natural frequencies in Hz and damping ratios in %, as in the paper's Table 2, from Table 1.

    All agree with the printed values to half a unit of their last digit, and the combined system's second
    mode (15.705 Hz, 1.964 %, printed as 15.71 and 1.97) to 0.51 and 0.63 of one.

    >>> frequencies, ratios = table_2()["structure"]
    >>> frequencies.round(2).tolist(), ratios.round(2).tolist()
    ([8.55, 22.42], [1.9, 2.34])
    """
    from bondloop.structures import modes

    alpha, beta = RAYLEIGH
    found = {}
    for name, (first, last) in {
        "combined system": (1, 4),
        "structure": (1, 2),
        "sub-structure": (3, 4),
    }.items():
        omega = modes(matrices(first, last), last - first + 1).omega
        found[name] = (omega / (2 * np.pi), 100 * (alpha / omega + beta * omega) / 2)
    return found


class Mass(Model):
    """A mass on a spring and a damper from its left port, with a damper to ground."""

    def __init__(self, m: float, k: float) -> None:
        alpha, beta = RAYLEIGH
        self.left, self.right = Port(), Port()
        self.force, self.stretch, self.v = Zero(), One(), One()
        self.left >> self.force >> self.v >> self.right
        self.force >> self.stretch >> [C(stiffness=k), R(damping=beta * k)]
        self.mass, self.ground = I(mass=m), R(damping=alpha * m)
        self.v >> [self.mass, self.ground]


@describable("model", "bayer-substep")
def model() -> Model:
    """Return the combined four-mass system as a bond graph; its input is the velocity of the base."""
    chain = Model("bayer_four_mass")
    chain.base = Sf("base")
    chain.m1, chain.m2, chain.m3, chain.m4 = (Mass(m, k) for m, k in zip(MASSES, STIFFNESSES, strict=True))
    chain.base >> chain.m1.left
    chain.m1.right >> chain.m2.left
    chain.m2.right >> chain.m3.left
    chain.m3.right >> chain.m4.left
    return chain


def test(  # noqa: PLR0913, PLR0917 - the paper varies them all
    sub_steps: int = 9,
    time_step: float = 0.004,
    overshoot: float = 0.0,
    P: float = 0.0,
    I: float = 0.0,
    D: float = 0.0,
    alpha: float = 0.25,
    delta: float = 0.5,
    reference: bool = True,
    delay: float = 0.0,
) -> PseudoDynamicTest:
    """Return the test: masses 1 and 2 in the computer, 3 and 4 on the table.

    Parameters
    ----------
    sub_steps
        k in every time step.
    time_step
        Δt in seconds.
    overshoot
        Of the table's acceleration, as a fraction; negative for undershoot.
    P, I, D
        Error-force compensation; P = -1 is the paper's.
    alpha, delta
        Newmark's constants.
    reference
        Run the combined system beside it, for the exact coupling force.
    delay
        Of the table's motion after its command, in seconds; the paper says at least 1 ms for hydraulics.
    """
    from bondloop.hybrid import PseudoDynamicTest
    from bondloop.integrate import SubStep
    from bondloop.rigs import ShakingTable, Specimen

    base = StageSeparation()
    k1 = STIFFNESSES[0]
    return PseudoDynamicTest(
        structure(),
        scheme=SubStep(sub_steps, alpha, delta, P, I, D),
        rig=ShakingTable(Specimen.from_matrices(payload(), "table"), overshoot=overshoot, delay=delay),
        interface="m2",
        excitation={
            "base.displacement": (base, {"m1": k1}),
            "base.velocity": (base.derivative(), {"m1": RAYLEIGH[1] * k1}),
            "base.acceleration": (base.derivative().derivative(), {}),
        },
        time_step=time_step,
        reference=reference,
        name="bayer_substep",
    )


def spectrum(
    values: NDArray[np.float64], sample_period: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return frequencies [Hz] and amplitudes of a transient, without a window: it begins and ends at rest."""
    lines = np.abs(np.fft.rfft(values)) * 2 / values.size
    return np.arange(lines.size) / (values.size * sample_period), lines


def findings(run: Run) -> dict[str, float]:
    """Compare the coupling force with the exact one; stability is that of the tick that ran.

    ``rms_error`` is relative to the rms of the exact coupling force; ``dominant_frequency`` and
    ``error_frequency`` are those of the highest line of the measured force and of its error, in Hz. The peak
    errors are the paper's measure: how much too high the three peaks of the force's spectrum are.
    """
    from bondloop.engine.analysis.spectrum import one_step
    from bondloop.engine.ir import load_tick

    step = one_step(load_tick(run.record.description["repeat"]["tick"]))
    measured = run["force"]
    exact = run["reference.force"] if "reference.force" in run.record else np.full_like(measured, np.nan)
    error = measured - exact
    scale = float(np.sqrt(np.mean(exact**2))) or float("nan")
    period = float(run.time[1] - run.time[0])

    def highest(values: NDArray[np.float64]) -> float:
        f, lines = spectrum(values, period)
        return float(f[1:][np.argmax(lines[1:])]) if len(f) > 1 else float("nan")

    return {
        "stable": step.stable,
        "spectral_radius": step.spectral_radius,
        "rms_error": float(np.sqrt(np.mean(error**2))) / scale,
        "peak_coupling_force": float(np.abs(measured).max()),
        "dominant_frequency": highest(measured),
        "error_frequency": highest(error),
        **{f"{name}_peak_error": x for name, x in peak_errors(measured, exact, period).items()},
    }


def figures(run: Run, folder: Path) -> list[Path]:
    """Draw the transient, and the measured coupling force over the exact one."""
    from bondloop.results.figures import ACTUAL, DESIRED, dress, finish, heading, legend, page

    figure = page(3.45)
    above, below = figure.subplots(2, 1, sharex=True)
    above.plot(run.time, run["base.acceleration"], **DESIRED)
    dress(above, "", "acceleration [m/s²]")
    heading(above, "Transient of the base")
    if "reference.force" in run.record:
        below.plot(run.time, run["reference.force"], label="exact", **DESIRED)
    below.plot(run.time, run["force"], label="measured", **ACTUAL)
    below.set_xlim(0, float(run.time[-1]))
    dress(below, "time [s]", "force [N]")
    heading(below, "Coupling force", lines_below=1)
    legend(below)
    path = folder / "coupling_force.png"
    finish(figure, path)
    return [path]
