"""A judge of hybrid tests that knows nothing but mechanics.

It imports nothing of the package. The complete structure is a chain of masses on springs and dashpots, from a
wall on, with specimens between some of its masses and the ground. Its equations of motion, the laws of the
specimens and the excitations are written down here from their published formulas and are integrated by SciPy.
A hybrid test is judged by what its recorded channels show beside that:

- *limits*: the motion or the force left the limits of the test, it was not finite, or the actuator was asked
  for a stroke or a speed that it has not;
- *off*: the rms of (actual - reference) over the rms of the reference, of motion or force, the worse one;
- *sustained*: vibration that is left a long time after the input was held, as a share of that of the run.

`JudgePolicy` holds every number on which a judgement depends, with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import solve_continuous_lyapunov

Array = NDArray[np.float64]
Law = Callable[[float, float, Any], tuple[float, tuple[float, ...]]]
"""Of displacement, velocity and states: the force that moves the specimen, and the rates of the states."""


# ------------------------------------------------------------------------------------------------- specimens


@dataclass(frozen=True)
class Specimen:
    """A specimen between a mass of the structure and the ground.

    Parameters
    ----------
    kind
        One of `LAWS`.
    values
        Its parameters by name, in SI.
    """

    kind: str
    values: Mapping[str, float]

    @property
    def states(self) -> int:
        """How many states its law has."""
        return LAWS[self.kind][1]

    @cached_property
    def law(self) -> Law:
        """Its force and the rates of its states."""
        return LAWS[self.kind][0](**self.values)

    def scaled(self, stiffness: float = 1.0, mass: float = 1.0, damping: float = 1.0) -> Specimen:
        """Return it with another stiffness (with the forces of yielding and friction), mass and damping."""
        factors = {**dict.fromkeys(STIFF, stiffness), **dict.fromkeys(HEAVY, mass)}
        factors |= dict.fromkeys(VISCOUS, damping)
        return replace(self, values={n: x * factors.get(n, 1.0) for n, x in self.values.items()})

    def dynamic_stiffness(self, omega: float, amplitude: float) -> complex:
        """Return force over displacement of the first harmonic at an amplitude (describing function)."""
        period, count = 2 * math.pi / omega, 256
        times = np.linspace(0.0, 3 * period, 3 * count + 1)
        x, v = amplitude * np.sin(omega * times), amplitude * omega * np.cos(omega * times)
        if self.kind == "carried":  # linear, and slow to settle
            k, c, m = (self.values[n] for n in ("stiffness", "damping", "mass"))
            link = k + 1j * omega * c
            return -m * omega**2 * link / (link - m * omega**2)
        force = self.driven(times, x, v)[-count - 1 : -1]
        phase = np.exp(-1j * omega * times[-count - 1 : -1])
        return complex(2j * np.mean(force * phase) / amplitude)

    def driven(self, times: Array, x: Array, v: Array) -> Array:
        """Return its force where its motion is given, by small steps of its own states."""
        z, force = np.zeros(self.states), np.empty_like(times)
        for i in range(len(times)):
            force[i], rates = self.law(x[i], v[i], z)
            if i + 1 == len(times) or not self.states:
                continue
            parts = 8
            h = (times[i + 1] - times[i]) / parts
            for j in range(parts):
                a, b = (j / parts, (j + 0.5) / parts)
                rates = self.law(x[i] + a * (x[i + 1] - x[i]), v[i] + a * (v[i + 1] - v[i]), z)[1]
                middle = z + 0.5 * h * np.array(rates)
                rates = self.law(x[i] + b * (x[i + 1] - x[i]), v[i] + b * (v[i + 1] - v[i]), middle)[1]
                z = z + h * np.array(rates)
        return force


STIFF = (
    "stiffness", "cubic", "preload", "contact", "friction", "yield_force", "mr_force", "accumulator",
)  # fmt: skip
HEAVY = ("mass",)
VISCOUS = ("damping", "coefficient", "pre_yield_damping")


def _spring(stiffness: float, damping: float = 0.0) -> Law:
    """Voigt: k x + c v."""
    return lambda x, v, _: (stiffness * x + damping * v, ())


def _carried(stiffness: float, damping: float, mass: float) -> Law:
    """A mass on spring and dashpot, carried by the interface: m y'' = k (x - y) + c (x' - y')."""

    def law(x: float, v: float, z: Any) -> tuple[float, tuple[float, ...]]:
        force = stiffness * (x - z[0]) + damping * (v - z[1])
        return force, (z[1], force / mass)

    return law


def _power(coefficient: float, exponent: float, width: float, stiffness: float) -> Law:
    """c v (v² + w²)^((α - 1)/2), a power of the velocity that is linear below w; and k x."""
    return lambda x, v, _: (
        coefficient * v * (v * v + width * width) ** ((exponent - 1) / 2) + stiffness * x,
        (),
    )


def _coulomb(friction: float, width: float, stiffness: float) -> Law:
    """F tanh(v/w) + k x."""
    return lambda x, v, _: (friction * math.tanh(v / width) + stiffness * x, ())


def _bouc_wen(stiffness: float, yield_displacement: float, post_yield: float, exponent: float) -> Law:
    """Wen (1976): a k x + (1 - a) k z, z' = v (1 - |z/d|ⁿ (1 + sign(v z))/2)."""

    def law(x: float, v: float, z: Any) -> tuple[float, tuple[float, ...]]:
        bend = abs(z[0] / yield_displacement) ** exponent if v * z[0] > 0 else 0.0
        return stiffness * (post_yield * x + (1 - post_yield) * z[0]), (v * (1 - bend),)

    return law


def _bilinear(stiffness: float, yield_force: float, hardening: float) -> Law:
    """Prager: b k x + (1 - b) k z, z elastic and perfectly plastic at F_y/k."""
    yields = yield_force / stiffness

    def law(x: float, v: float, z: Any) -> tuple[float, tuple[float, ...]]:
        e = min(max(z[0], -yields), yields)
        flows = abs(z[0]) >= yields and z[0] * v > 0
        return stiffness * (hardening * x + (1 - hardening) * e), (0.0 if flows else v,)

    return law


def _hardening(stiffness: float, cubic: float, damping: float) -> Law:
    """Duffing: k x + k₃ x³ + c v."""
    return lambda x, v, _: (stiffness * x + cubic * x * x * x + damping * v, ())


def _softening(preload: float, width: float, stiffness: float, damping: float) -> Law:
    """P tanh(x/w) + k x + c v: stiff at first, then soft."""
    return lambda x, v, _: (preload * math.tanh(x / width) + stiffness * x + damping * v, ())


def _stop(contact: float, gap: float, stiffness: float, damping: float) -> Law:
    """A one-sided stop at -g beside a spring and a dashpot: min(0, k_c (x + g)) + k x + c v."""
    return lambda x, v, _: (min(0.0, contact * (x + gap)) + stiffness * x + damping * v, ())


def _play(stiffness: float, gap: float, damping: float) -> Law:
    """A spring with play: no force within g/2 on either side."""
    return lambda x, v, _: (
        stiffness * (max(x - gap / 2, 0.0) + min(x + gap / 2, 0.0)) + damping * v,
        (),
    )


def _maxwell(stiffness: float, damping: float) -> Law:
    """A spring and a dashpot in series: F = k u, u' = v - k u/c."""
    return lambda _, v, z: (stiffness * z[0], (v - stiffness * z[0] / damping,))


def _mr(
    mr_force: float,
    yield_displacement: float,
    exponent: float,
    damping: float,
    pre_yield_damping: float,
    accumulator: float,
) -> Law:
    """Spencer and Dyke (1997) at a constant current, without k₀.

    (c₀ + c₁) y' = F_y z + c₀ x',  z' = (x' - y')/d (1 - |z|ⁿ (1 + sign((x' - y') z))/2),  F = c₁ y' + k₁ x.
    """

    def law(x: float, v: float, z: Any) -> tuple[float, tuple[float, ...]]:
        between = (mr_force * z[0] + damping * v) / (damping + pre_yield_damping)
        slip = v - between
        bend = abs(z[0]) ** exponent if slip * z[0] > 0 else 0.0
        return pre_yield_damping * between + accumulator * x, (slip / yield_displacement * (1 - bend),)

    return law


LAWS: Mapping[str, tuple[Callable[..., Law], int]] = {
    "spring": (_spring, 0), "carried": (_carried, 2), "power": (_power, 0), "coulomb": (_coulomb, 0),
    "bouc_wen": (_bouc_wen, 1), "bilinear": (_bilinear, 1), "hardening": (_hardening, 0),
    "softening": (_softening, 0), "stop": (_stop, 0), "play": (_play, 0), "maxwell": (_maxwell, 1),
    "mr": (_mr, 1),
}  # fmt: skip


# ------------------------------------------------------------------------------------------------ excitation


@dataclass(frozen=True)
class Excitation:
    """What drives the structure: the wall's motion, or a force on a mass.

    Parameters
    ----------
    kind
        ``"noise"`` (an earthquake of cosines), ``"sine"``, ``"sweep"``, ``"pulse"``, ``"step"``.
    on
        -1 for the wall, whose velocity is given to the test; else the mass that is pushed.
    amplitude
        Largest displacement of the wall in m, about; or force in N.
    seconds
        Length of the run.
    values
        By kind: ``frequency``; ``first`` and ``last``; ``start`` and ``width``.
    waves
        Of the noise: weights, angular frequencies, phases.
    held_at, release
        The instant after which the wall stands and forces die away, in s, and the time that this takes.
    """

    kind: str
    on: int
    amplitude: float
    seconds: float
    values: Mapping[str, float] = field(default_factory=dict)
    waves: tuple[tuple[float, float, float], ...] = ()
    held_at: float = math.inf
    release: float = 0.1

    @property
    def strong_end(self) -> float:
        """When the strong part ends."""
        ends = {"noise": 0.8, "pulse": 1.0, "sine": 1.0, "sweep": 1.0, "step": 1.0}
        if self.kind == "pulse":
            return min(self.values["start"] + 3 * self.values["width"], self.seconds)
        return ends[self.kind] * self.seconds

    @property
    def highest_frequency(self) -> float:
        """The highest frequency in it, Hz, about."""
        if self.kind == "noise":
            return max(w for _, w, _ in self.waves) / (2 * math.pi)
        if self.kind == "sweep":
            return max(self.values["first"], self.values["last"])
        return self.values["frequency"] if self.kind == "sine" else 2 / self.values["width"]

    def held(self, at: float, release: float) -> Excitation:
        """Return it with the input held: displacements stay, forces go to zero."""
        return replace(self, held_at=at, release=release)

    def scaled(self, factor: float) -> Excitation:
        """Return it larger or smaller."""
        return replace(self, amplitude=factor * self.amplitude)

    @cached_property
    def _arrays(self) -> tuple[Array, Array, Array]:
        a, w, p = np.array(self.waves).T
        return a, w, p

    def _envelope(self, t: float) -> tuple[float, float]:
        """Up within 15 % of the run, down to a fifth of it after 80 %; with its rate."""
        u, T = t / self.seconds, self.seconds
        if u < 0.15:
            s = math.pi * u / 0.15
            return (1 - math.cos(s)) / 2, math.sin(s) * math.pi / (0.3 * T)
        if u <= 0.8:
            return 1.0, 0.0
        e = math.exp(-(((u - 0.8) / 0.158) ** 2))
        return e, -2 * (u - 0.8) / 0.158**2 / T * e

    def shape(self, t: float) -> tuple[float, float]:
        """Return the wave without its amplitude, and its rate."""
        p = self.values
        if self.kind == "noise":
            a, w, phase = self._arrays
            angle = w * t + phase
            s, rate = float(a @ np.cos(angle)), float(-(a * w) @ np.sin(angle))
            e, slope = self._envelope(t)
            return e * s, e * rate + slope * s
        if self.kind in ("sine", "sweep"):
            first, last = (p["frequency"],) * 2 if self.kind == "sine" else (p["first"], p["last"])
            growth = (last - first) / self.seconds
            angle, speed = (
                2 * math.pi * (first * t + growth * t * t / 2),
                2 * math.pi * (first + growth * t),
            )
            ends = 2.0 / first
            e, slope = 1.0, 0.0
            if t < ends:
                e, slope = (
                    (1 - math.cos(math.pi * t / ends)) / 2,
                    math.sin(math.pi * t / ends) * math.pi / (2 * ends),
                )
            return e * math.sin(angle), slope * math.sin(angle) + e * speed * math.cos(angle)
        u = (t - p["start"]) / p["width"]
        if self.kind == "pulse":
            if not 0 < u < 1:
                return 0.0, 0.0
            return (1 - math.cos(2 * math.pi * u)) / 2, math.sin(2 * math.pi * u) * math.pi / p["width"]
        if u <= 0:
            return 0.0, 0.0
        if u >= 1:
            return 1.0, 0.0
        return (1 - math.cos(math.pi * u)) / 2, math.sin(math.pi * u) * math.pi / (2 * p["width"])

    def __call__(self, t: float) -> float:
        """Return the wall's velocity, or the force."""
        if t <= self.held_at:
            return self.amplitude * self.shape(t)[self.on < 0]
        if self.on < 0 or t >= self.held_at + self.release:
            return 0.0
        dies = (1 + math.cos(math.pi * (t - self.held_at) / self.release)) / 2
        return self.amplitude * self.shape(self.held_at)[0] * dies

    def table(self) -> tuple[Array, Array]:
        """Return times and values so dense that straight lines between them are off by less than 0.1 %.

        A hundred points a period of the highest frequency: (2π/100)²/8 = 0.05 %.
        """
        last = min(self.seconds, self.held_at)
        count = max(math.ceil(100 * self.highest_frequency * last), 200)
        times = np.linspace(0.0, last, count + 1)
        if math.isfinite(self.held_at):
            tail = self.held_at + np.linspace(1e-3, 1.0, 60) * self.release
            times = np.concatenate([times[times <= self.held_at], tail])
        return times, np.array([self(float(t)) for t in times])


# ------------------------------------------------------------------------------------------------- structure


@dataclass(frozen=True)
class Structure:
    """The complete structure: wall - spring and dashpot - mass - spring and dashpot - mass ...

    Parameters
    ----------
    masses, springs, dashpots
        Of each storey, from the wall on; kg, N/m, N s/m.
    places
        Masses to which the specimens are attached; the other end of each stands on the ground.
    specimens
        One for each place.
    coupled
        False where the forces of the specimens do not act on the masses: a trial without feedback.
    """

    masses: tuple[float, ...]
    springs: tuple[float, ...]
    dashpots: tuple[float, ...]
    places: tuple[int, ...]
    specimens: tuple[Specimen, ...]
    coupled: bool = True

    @cached_property
    def matrices(self) -> tuple[Array, Array, Array]:
        """M, C and K of the chain without specimens."""
        n = len(self.masses)
        C, K = np.zeros((n, n)), np.zeros((n, n))
        for i in range(n):
            link = np.zeros(n)
            link[i] = 1.0
            if i:
                link[i - 1] = -1.0
            K += self.springs[i] * np.outer(link, link)
            C += self.dashpots[i] * np.outer(link, link)
        return np.diag(self.masses), C, K

    @cached_property
    def frequencies(self) -> Array:
        """Natural frequencies of the chain without specimens, Hz."""
        M, _, K = self.matrices
        squares = np.linalg.eigvals(np.linalg.solve(M, K)).real
        return np.sort(np.sqrt(squares)) / (2 * math.pi)

    def stiffness_at(self, place: int) -> float:
        """Return the static stiffness of the chain at a mass, N/m."""
        return 1.0 / float(np.linalg.inv(self.matrices[2])[place, place])

    def rates(self, excitation: Callable[[float], float], on: int) -> Callable[[float, Array], Array]:
        """Return dy/dt = f(t, y), y = (displacements, velocities, wall, states of the specimens)."""
        n = len(self.masses)
        M, C, K = self.matrices
        size = 2 * n + 1
        A, B = np.zeros((size, size)), np.zeros(size)
        A[:n, n : 2 * n] = np.eye(n)
        A[n : 2 * n, :n], A[n : 2 * n, n : 2 * n] = -np.linalg.solve(M, K), -np.linalg.solve(M, C)
        A[n, 2 * n] = self.springs[0] / self.masses[0]
        if on < 0:
            B[n], B[2 * n] = self.dashpots[0] / self.masses[0], 1.0
        else:
            B[n + on] = 1.0 / self.masses[on]
        offsets, at = [], size
        for s in self.specimens:
            offsets.append(at)
            at += s.states
        parts = [
            (p, self.masses[p], s.law, o, o + s.states)
            for p, s, o in zip(self.places, self.specimens, offsets, strict=True)
        ]
        coupled = self.coupled

        def f(t: float, y: Array) -> Array:
            out = np.empty(at)
            out[:size] = A @ y[:size] + B * excitation(t)
            for p, m, law, first, last in parts:
                force, rates = law(float(y[p]), float(y[n + p]), y[first:last].tolist())
                if coupled:
                    out[n + p] -= force / m
                if rates:
                    out[first:last] = rates
            return out

        return f

    def size(self) -> int:
        """Return how many states the equations have."""
        return 2 * len(self.masses) + 1 + sum(s.states for s in self.specimens)

    def linear(self, amplitude: float = 1e-7) -> Array:
        """Return the matrix of the equations at rest, the wall's place left out, by central differences."""
        f, size = self.rates(lambda _: 0.0, -1), self.size()
        J = np.empty((size, size))
        for j in range(size):
            y = np.zeros(size)
            y[j] = amplitude
            J[:, j] = (f(0.0, y) - f(0.0, -y)) / (2 * amplitude)
        wall = 2 * len(self.masses)
        return np.delete(np.delete(J, wall, 0), wall, 1)

    def slowest_decay(self) -> float:
        """Return the least decay rate among the vibrations at rest, 1/s."""
        poles = np.linalg.eigvals(self.linear())
        swings = poles[np.abs(poles.imag) > 0.3 * np.abs(poles)]
        if not len(swings):
            return float(2 * math.pi * self.frequencies[0])
        return float(max(-swings.real.max(), 0.0))

    def noise_level(self, noises: Mapping[int, float], period: float) -> tuple[Array, Array]:
        """Return rms velocities and forces at the interfaces that white force noise alone makes.

        A noise of the rms s that is held over the period h has the intensity s² h: a Lyapunov equation. The
        larger of what the structure with its specimens, and the chain alone, would do.
        """
        n = len(self.masses)
        best = np.zeros(len(self.places)), np.zeros(len(self.places))
        free = replace(self, coupled=False)
        for one in (self, free):
            A = one.linear()[: 2 * n, : 2 * n]
            if np.linalg.eigvals(A).real.max() >= 0:
                continue
            Q = np.zeros((2 * n, 2 * n))
            for i, rms in noises.items():
                p = n + self.places[i]
                Q[p, p] += rms**2 * period / self.masses[self.places[i]] ** 2
            P = solve_continuous_lyapunov(A, -Q)
            for i, (p, s) in enumerate(zip(self.places, self.specimens, strict=True)):
                speed, away = math.sqrt(max(P[n + p, n + p], 0.0)), math.sqrt(max(P[p, p], 0.0))
                omega = speed / away if away else 1.0
                force = abs(s.dynamic_stiffness(omega, math.sqrt(2) * away)) * away if away else 0.0
                best[0][i], best[1][i] = max(best[0][i], speed), max(best[1][i], force)
        return best


@dataclass(frozen=True)
class Motion:
    """Of the interfaces of the complete structure; a row for each."""

    times: Array
    displacement: Array
    velocity: Array
    force: Array

    def peak(self, word: str, i: int) -> float:
        """Return the largest magnitude of a quantity at an interface."""
        return float(np.abs(getattr(self, word)[i]).max())


def reference(
    structure: Structure, excitation: Excitation, times: Array, relative: float = 1e-6, absolute: float = 0.0
) -> Motion:
    """Integrate the complete structure, and return the motion of its interfaces at some times.

    By LSODA, which follows stiff laws as well, and by RK45 where a law has a corner in its state. Steps are
    no longer than a twentieth of the fastest period that drives it, so that no pulse is stepped over.
    """
    f = structure.rates(excitation, excitation.on)
    n = len(structure.masses)
    scale = absolute or 1e-7 * _length_scale(structure, excitation)
    omega = 2 * math.pi * structure.frequencies[0]
    tolerance = np.full(structure.size(), scale)
    tolerance[n : 2 * n] = scale * omega
    at = 2 * n + 1
    for s in structure.specimens:
        if s.kind == "carried":
            tolerance[at + 1] = scale * omega
        if s.kind == "mr":
            tolerance[at] = 1e-6
        at += s.states
    longest = 1 / (20 * max(excitation.highest_frequency, structure.frequencies[0]))
    # An implicit step has no solution where z' jumps with z itself, as it does in ideal plasticity.
    jumps = any(s.kind == "bilinear" for s in structure.specimens)
    found = solve_ivp(
        f, (0.0, float(times[-1])), np.zeros(structure.size()), "RK45" if jumps else "LSODA", times,
        rtol=relative, atol=tolerance, max_step=longest,
    )  # fmt: skip
    if not found.success:
        raise ArithmeticError(found.message)
    x = np.array([found.y[p] for p in structure.places])
    v = np.array([found.y[n + p] for p in structure.places])
    forces, at = [], 2 * n + 1
    for i, s in enumerate(structure.specimens):
        z = found.y[at : at + s.states].T.tolist()
        law = s.law
        forces.append([law(a, b, c)[0] for a, b, c in zip(x[i].tolist(), v[i].tolist(), z, strict=True)])
        at += s.states
    return Motion(times, x, v, np.array(forces))


def _length_scale(structure: Structure, excitation: Excitation) -> float:
    if excitation.on < 0:
        return excitation.amplitude
    return excitation.amplitude / structure.stiffness_at(excitation.on)


# --------------------------------------------------------------------------------------------------- judging


@dataclass(frozen=True)
class JudgePolicy:
    """Numbers on which a judgement depends.

    Attributes
    ----------
    well_off, bad_off
        Relative rms errors: 10 % is what laboratories call a good test, 30 % one that shows another
        structure.
    rests, sustains
        Vibration left, as a share of that of the run: 2 % is what a display would not show, 5 % what an
        operator would see.
    decays
        A vibration is not sustained where its rms of the last quarter of the time after the input was held is
        below this share of that of the second quarter: it comes to rest, if late, as a structure of little
        damping does by itself.
    stays, longer
        One that is dying away, or falls below ``stays`` between the same quarters, is looked at for so many
        times as long before it is judged: a loop with a tenth of its damping left comes to rest, only later.
    grows, grown
        One that grows by this factor in that time is sustained even where it is still small, from a
        thousandth of that of the run on.
    by_itself
        A vibration of which less than this share is left when the sensors' noise is taken away is made by the
        noise.
    above_noise
        Such a vibration is a fault of the loop where it is beyond this factor of what the same noise makes
        with the force loop open: the resonance of a loop that has lost 15/16 of its damping makes so much.
    periods, runs, decay
        The time after the input is held: so many periods of the slowest mode, at least so many runs, or so
        many time constants of the slowest decay, whichever is longest; 6.9 leave a thousandth.
    most_ticks
        Where that time is cut short, for cost.
    asked
        Share of the run during which the actuator may be asked for more than it has. Below it is a peak or
        two, which shows in *off* if it matters.
    floor
        A force is small where its rms is below this share of that which the chain's own stiffness would make
        of the motion; errors of it count over that: a specimen that is never touched has no relative error.
    """

    well_off: float = 0.10
    bad_off: float = 0.30
    rests: float = 0.02
    sustains: float = 0.05
    decays: float = 0.7
    stays: float = 0.97
    longer: float = 5.0
    grows: float = 1.5
    grown: float = 1e-3
    by_itself: float = 0.5
    above_noise: float = 4.0
    periods: float = 50.0
    runs: float = 3.0
    decay: float = 6.9
    most_ticks: int = 400_000
    asked: float = 0.005
    floor: float = 0.01


@dataclass(frozen=True)
class Outcome:
    """What became of a test.

    Attributes
    ----------
    limits
        Whether it left its limits.
    off
        Relative rms distance from the exact structure; infinite where it diverged.
    sustained
        Vibration left at the end, over that of the run; infinite where it grew without bound.
    evidence
        What was seen, in a line.
    """

    limits: bool
    off: float
    sustained: float
    evidence: str
    policy: JudgePolicy = JudgePolicy()

    @property
    def faults(self) -> tuple[str, ...]:
        """Return the kinds in which it is bad."""
        bad = {
            "limits": self.limits,
            "sustained": self.sustained >= self.policy.sustains,
            "off": self.off > self.policy.bad_off,
        }
        return tuple(kind for kind, is_so in bad.items() if is_so)

    @property
    def verdict(self) -> str:
        """``"well"``, ``"bad"`` or ``"between"``."""
        if self.faults:
            return "bad"
        rests = self.sustained < self.policy.rests
        return "well" if rests and self.off <= self.policy.well_off else "between"


class Judged(Protocol):
    """What the judge needs of a drawn test."""

    structure: Structure
    excitation: Excitation
    rate: float
    limits: Mapping[str, float]
    capacity: tuple[Mapping[str, float], ...]
    force_noise: tuple[float, ...]
    motion_noise: bool

    def test(self, **changes: Any) -> Any:
        """Return the hybrid test; see `drawn_loops.Drawn.test`."""


def channel(run: Any, name: str, i: int, count: int) -> Array:
    """Return a channel of an interface."""
    return np.asarray(run[f"{name}[{i}]" if count > 1 else name])


def judge(
    drawn: Judged, policy: JudgePolicy | None = None, *, plant: Any = None, known: Motion | None = None
) -> Outcome:
    """Judge a drawn test by runs of it and by mechanics.

    Parameters
    ----------
    drawn
        The test.
    policy
        Numbers; the defaults are those of the published tables.
    plant
        Errors of the plant (`drawn_loops.Plant`): then only limits and sustained motion are judged.
    known
        The reference at the ticks of the run, where it is known already.
    """
    policy = policy or JudgePolicy()
    excitation = drawn.excitation
    hold = excitation.strong_end
    slowest = float(drawn.structure.frequencies[0])
    after = max(policy.periods / slowest, policy.runs * excitation.seconds)
    after = max(after, min(policy.decay / max(drawn.structure.slowest_decay(), 1e-9), 4 * after))
    after = min(after, max(policy.most_ticks / drawn.rate - hold, 5 / slowest))
    held = excitation.held(hold, 0.5 / slowest)

    def left_alone(seconds: float, *, silent: bool = False) -> Any:
        return drawn.test(excitation=held, limited=False, plant=plant, silent=silent).run(hold + seconds)

    long = left_alone(after)
    if hold < excitation.seconds - 1e-9:
        short = drawn.test(excitation=excitation, limited=False, plant=plant).run(excitation.seconds)
    else:
        short = long
    count = round(excitation.seconds * drawn.rate) + 1
    left, words = _limits(drawn, short, count, policy)
    off = 0.0
    if plant is None:
        off, more = _off(drawn, short, count, policy, known)
        words += more

    seconds = [after, min(policy.longer * after, max(policy.most_ticks / drawn.rate, after))]
    for one in seconds:
        run = long if one == after else left_alone(one)
        sustained, more, doubt = _sustained(
            drawn, run, partial(left_alone, one, silent=True), hold, policy, plant
        )
        if not doubt:
            break
    words += more
    return Outcome(left, off, sustained, "; ".join(words), policy)


def _limits(drawn: Judged, run: Any, count: int, policy: JudgePolicy) -> tuple[bool, list[str]]:
    words: list[str] = []
    number = len(drawn.structure.places)
    if len(run.time) < count:
        words.append(f"diverged at {run.time[-1]:.3g} s")
    names = {"displacement": "actual.displacement", "velocity": "actual.velocity", "force": "force"}
    names["command"] = "command"
    for word, limit in drawn.limits.items():
        for i in range(number):
            peak = float(np.abs(channel(run, names[word], i, number)[:count]).max())
            if not peak <= limit:
                words.append(f"{word} {peak:.3g} beyond {limit:.3g}")
    for i, has in enumerate(drawn.capacity):
        for word, most in has.items():
            asked = np.abs(channel(run, f"desired.{word}", i, number)[:count])
            share = float(np.mean(~(asked <= most)))
            if share > policy.asked:
                words.append(f"asked for more {word} than {most:.3g} during {100 * share:.1f} %")
    return bool(words), words


def rms(x: Array) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(x**2))) if x.size else 0.0


def _off(
    drawn: Judged, run: Any, count: int, policy: JudgePolicy, known: Motion | None
) -> tuple[float, list[str]]:
    if len(run.time) < count:
        return math.inf, []
    truth = known or reference(drawn.structure, drawn.excitation, np.arange(count) / drawn.rate)
    number, worst, words = len(drawn.structure.places), 0.0, []
    for i, place in enumerate(drawn.structure.places):
        x, force = (channel(run, n, i, number)[:count] for n in ("actual.displacement", "force"))
        moved = rms(truth.displacement[i])
        felt = max(rms(truth.force[i]), policy.floor * drawn.structure.stiffness_at(place) * moved)
        pairs = (("motion", x - truth.displacement[i], moved), ("force", force - truth.force[i], felt))
        for word, error, scale in pairs:
            share = rms(error) / scale if scale else 0.0
            words.append(f"{word} off {100 * share:.2g} %")
            worst = max(worst, share) if math.isfinite(share) else math.inf
    return worst, words


def _sustained(
    drawn: Judged, run: Any, silent: Callable[[], Any], hold: float, policy: JudgePolicy, plant: Any
) -> tuple[float, list[str], bool]:
    """Return the vibration that is left, in words too, and whether it is too early to tell."""
    number, time = len(drawn.structure.places), np.asarray(run.time)
    if run.record.attributes.get("status") == "stopped":
        return math.inf, [f"held input: diverged at {time[-1]:.3g} s"], False
    begin, total = round(hold * drawn.rate), len(time)
    window = (total - begin) // 4
    end, middle = slice(total - window, total), slice(total - 3 * window, total - 2 * window)
    worst, words, doubt = 0.0, [], False
    without: Any = None
    baseline: tuple[Array, Array] | None = None
    noisy = any(drawn.force_noise) or drawn.motion_noise
    for i, place in enumerate(drawn.structure.places):
        v, force = (channel(run, n, i, number) for n in ("actual.velocity", "force"))
        x = channel(run, "actual.displacement", i, number)[: begin + 1]
        least = policy.floor * drawn.structure.stiffness_at(place) * rms(x)
        for j, (word, y, floor) in enumerate((("velocity", v, 0.0), ("force", force, least))):
            own, last, before = (level(y[part]) for part in (slice(0, begin + 1), end, middle))
            share = last / max(own, floor) if max(own, floor) else 0.0
            growing = last > policy.grows * before and share > policy.grown
            if not (share >= policy.rests or growing):
                worst = max(worst, share)
                continue
            if noisy:
                without = without or silent()
                name = "actual.velocity" if word == "velocity" else "force"
                alone = channel(without, name, i, number)
                if len(alone) == total and level(alone[end]) < policy.by_itself * last:
                    baseline = baseline or _noise(drawn, plant)
                    noise = float(baseline[j][i])
                    if last < policy.above_noise * noise:
                        words.append(
                            f"{word} {100 * share:.2g} % is noise, {last / noise:.2g} of that open loop"
                        )
                        continue
                    words.append(f"the loop amplifies noise {last / noise if noise else math.inf:.2g} times")
            if last < policy.decays * before and not growing:
                words.append(f"{word} still {100 * share:.2g} % but dying away")
                worst, doubt = max(worst, min(share, 0.99 * policy.rests)), True
                continue
            doubt = doubt or last < policy.stays * before
            desired = channel(run, "desired.velocity", i, number)[end]
            power = -float(np.mean(force[end] * desired))  # into the chain
            words.append(f"{word} goes on at {100 * share:.2g} %, the rig puts in {power:.2g} W")
            worst = max(worst, share, policy.sustains if growing else 0.0)
    return worst, words, doubt


def level(y: Array) -> float:
    """Return the rms about a straight line: neither an offset nor a creep is vibration."""
    if y.size < 3:
        return 0.0
    t = np.linspace(-1.0, 1.0, y.size)
    slope = float(t @ y) / float(t @ t)
    return rms(y - y.mean() - slope * t)


def _noise(drawn: Judged, plant: Any) -> tuple[Array, Array]:
    """Return rms velocity and force that the noise makes with the force loop open.

    The force noise is put on the chain as a force, drawn here, while the measured force is left out: the
    compensator, the actuator and the specimen then see what noise they would, but nothing comes back. The
    structure's own answer by the Lyapunov equation is the least that is taken.
    """
    count = len(drawn.structure.places)
    forces = {i: s for i, s in enumerate(drawn.force_noise) if s}
    speed, force = drawn.structure.noise_level(forces, 1 / drawn.rate)
    seconds = min(20 / float(drawn.structure.frequencies[0]), 60_000 / drawn.rate)
    quiet = drawn.excitation.scaled(0.0)
    run = drawn.test(
        excitation=quiet, limited=False, plant=plant, feedback=False, pushed=(forces, seconds)
    ).run(seconds)
    half = len(run.time) // 3
    for i in range(count):
        speed[i] = max(speed[i], level(channel(run, "actual.velocity", i, count)[half:]))
        force[i] = max(force[i], level(channel(run, "force", i, count)[half:]))
    return speed, force
