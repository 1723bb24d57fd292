"""Hybrid tests drawn in physical words, sensible ones and silly ones.

`draw(seed)` is always the same test for a seed. It first draws what the test is meant to be, then designs it
by rules of mechanics, never by asking the check:

- nearly half *well*: the residual lag τ takes at most a twentieth of the damping of any mode, noise is small,
  limits and actuator have room;
- about 20 % *border*: a lag that takes 0.4 to 1.3 of the damping, a limit at 0.95 to 1.15 of the peak, a gain
  that is wrong by 8 to 20 %;
- the others *bad*: one of `FAULTS`.

The rule of the lag: a specimen of the dynamic stiffness Z(ω) whose force comes late by τ has the damping
Im(Z e^(-iωτ))/ω instead of Im(Z)/ω; a spring k has -k sin(ωτ)/ω. `taken` is the largest share of a mode's
damping that is lost so; above 1 the loop is unstable. Specimens are made stronger or weaker until it is what
was drawn. What a test is meant to be is no verdict: `plain_physics.judge` gives that.

Seeds 0 to 999 are for calibration: anyone may look at them. 9000 to 9039 were looked at when generator and
judge were written. 10000 to 10299 are the first published set, 20000 to 20299 the second, which confirms what
was mended after the first. Nobody looks at the published sets before the code that they judge is final.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # for plain_physics.py

from plain_physics import Excitation, Motion, Specimen, Structure, reference

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, Se, Sf, Zero

SHARES = {"well": 0.46, "bad": 0.34, "border": 0.2}
FAULTS = (
    "lag", "limits", "knowledge", "slow", "stroke", "gain", "noise", "hot", "euler", "backlash", "late",
)  # fmt: skip
"""What makes a bad test bad: lag on a stiff specimen, tight limits, a wrong model of the actuator, one that
is too slow or too short, a wrong sensor, noise, a controller that is pushed too far, a coarse integration,
play, latency."""

PLAIN = ("Direct", "LeadCompensation", "PolynomialPrediction", "InverseModel", "OuterLoop", "SmithPredictor",
         "FeedforwardLQG", "LoopShaping", "SlidingMode", "Scheduled", "VirtualJunction", "LoadFeedforward",
         "ObservedVirtualJunction")  # fmt: skip
ADAPTIVE = ("AdaptivePrediction", "AdaptiveTimeSeries", "AdaptiveModelBased", "ConditionalTimeSeries",
            "RecursiveFir", "TwoStageAdaptive", "AdaptiveRemainder", "AdaptiveVirtualJunction",
            "SensitivityVirtualJunction", "MCS", "DiscreteMCS")  # fmt: skip
SEVERAL = ("PerActuator", "CoupledInverse", "AdaptiveCoupledInverse")
JUNCTIONS = ("VirtualJunction", "ObservedVirtualJunction", "AdaptiveVirtualJunction",
             "SensitivityVirtualJunction", "LoadFeedforward", "MCS", "DiscreteMCS")  # fmt: skip
"""Those that are drawn with an actuator of mass, spring and damper."""

KINDS = {"spring": 0.17, "carried": 0.1, "power": 0.1, "coulomb": 0.09, "bouc_wen": 0.12, "bilinear": 0.08,
         "hardening": 0.08, "softening": 0.07, "stop": 0.08, "play": 0.03, "maxwell": 0.04,
         "mr": 0.06}  # fmt: skip


@dataclass(frozen=True)
class Actuator:
    """A position-controlled actuator: ``"first"`` or ``"second"`` order, or a mass on its servo ``"spring"``.

    Parameters
    ----------
    kind
        Of its law.
    lag
        For slow motions, s: the time constant, or 2ζ/ω.
    damping
        ζ of those of second order.
    stiffness
        Of the servo spring, N/m: with it the load moves the actuator.
    """

    kind: str
    lag: float
    damping: float = 0.7
    stiffness: float = 0.0

    @property
    def omega(self) -> float:
        """Its fastest pole, 1/s."""
        return 1 / self.lag if self.kind == "first" else 2 * self.damping / self.lag

    def process(self, delay: float = 0.0) -> Any:
        """Return it as a process model, unloaded."""
        if self.kind == "first":
            return bl.transfer.first_order(1.0, self.lag, delay)
        return bl.transfer.second_order(1.0, self.omega / (2 * math.pi), self.damping, delay)

    def transfer(self) -> Any:
        """Return it as a transfer system."""
        if self.kind == "spring":
            k = self.stiffness
            return bl.transfer.MassSpringDamper(k / self.omega**2, k * self.lag, k, drive="position")
        return self.process().actuator()

    def lagging(self, factor: float) -> Actuator:
        """Return it slower or faster; its damping ratio stays, but of one with a mass its dashpot changes."""
        if self.kind == "spring":
            return replace(self, lag=factor * self.lag, damping=factor * self.damping)
        return replace(self, lag=factor * self.lag)


@dataclass(frozen=True)
class Plant:
    """Errors of the plant, all at once, about what the test was designed for.

    Parameters
    ----------
    stiffness, mass, damping
        Factors of the specimens.
    lag, gain
        Factors of the actuators.
    late
        Latency in samples more than said.
    force_gain, motion_gain
        Factors of the sensors.
    """

    stiffness: float = 1.0
    mass: float = 1.0
    damping: float = 1.0
    lag: float = 1.0
    gain: float = 1.0
    late: float = 0.0
    force_gain: float = 1.0
    motion_gain: float = 1.0

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Plant:
        """Draw one: 10 % of specimen and lag, 2 % of gains, half a sample."""
        u = rng.uniform(-1, 1, 8)
        return cls(
            1 + 0.1 * u[0], 1 + 0.1 * u[1], 1 + 0.1 * u[2], 1 + 0.1 * u[3], 1 + 0.02 * u[4], 0.5 * u[5],
            1 + 0.02 * u[6], 1 + 0.02 * u[7],
        )  # fmt: skip


@dataclass(frozen=True)
class Control:
    """A controller: its family, and what it is designed from.

    Parameters
    ----------
    family
        Its name in `bondloop.control`.
    believed
        The actuators as the designer believes them to be.
    latency
        Believed, with what the sensors make late, s.
    ahead
        Samples by which it leads besides, for the hold.
    u
        Uniform random numbers from which its settings are made.
    hot
        Whether it is pushed beyond what a careful engineer would set.
    frequency, stroke
        Of the motion, Hz and m.
    """

    family: str
    believed: tuple[Actuator, ...]
    latency: float
    ahead: float
    u: tuple[float, ...]
    hot: bool
    frequency: float
    stroke: float


@dataclass(frozen=True)
class Drawn:
    """A drawn test; see `plain_physics` for what its parts are."""

    seed: int
    intent: str
    fault: str
    structure: Structure
    excitation: Excitation
    actuators: tuple[Actuator, ...]
    control: Control
    rate: float
    scheme: str = "RK4"
    latency: float = 0.0
    sensors: Mapping[str, tuple[tuple[str, tuple[Any, ...]], ...]] = field(default_factory=dict)
    drive: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)
    interlocked: bool = False
    extrapolated: bool = False
    taken: float = 0.0

    @property
    def seconds(self) -> float:
        """Length of the run."""
        return self.excitation.seconds

    @property
    def capacity(self) -> tuple[Mapping[str, float], ...]:
        """What each actuator can do: the drive's stroke and speed."""
        words = {"Saturation": "displacement", "RateLimit": "velocity"}
        has = {words[kind]: values[0] for kind, values in self.drive if kind in words}
        return (has,) * len(self.actuators)

    @property
    def force_noise(self) -> tuple[float, ...]:
        """Rms white noise of the force sensors, N."""
        return (self._noise("force"),) * len(self.actuators)

    @property
    def motion_noise(self) -> bool:
        """Whether the sensors of motion are noisy."""
        return bool(self._noise("displacement") or self._noise("velocity"))

    def _noise(self, word: str) -> float:
        square = 0.0
        for kind, values in self.sensors.get(word, ()):
            if kind == "WhiteNoise":
                square += values[0] ** 2
        return math.sqrt(square)

    @cached_property
    def truth(self) -> Motion:
        """The exact motion of the interfaces at the ticks."""
        count = round(self.seconds * self.rate) + 1
        return reference(self.structure, self.excitation, np.arange(count) / self.rate)

    def words(self) -> str:
        """Return the test in a line."""
        s, e, a = self.structure, self.excitation, self.actuators[0]
        kinds = "+".join(p.kind for p in s.specimens)
        fault = f"/{self.fault}" if self.fault else ""
        noise = f", noise {self.force_noise[0]:.2g} N" if self.force_noise[0] else ""
        return (
            f"{self.intent}{fault}: {len(s.masses)} masses, {s.frequencies[0]:.2g} Hz, {kinds}, {a.kind} "
            f"{1e3 * a.lag:.2g} ms + {1e3 * self.latency:.2g} ms, {self.control.family}, {e.kind}, "
            f"{self.rate:g} Hz, {self.scheme}, {self.seconds:.3g} s, lag takes {self.taken:.2g}{noise}"
            f"{'' if s.coupled else ', no feedback'}"
        )

    def test(
        self,
        *,
        excitation: Excitation | None = None,
        limited: bool = True,
        plant: Plant | None = None,
        feedback: bool | None = None,
        pushed: tuple[Mapping[int, float], float] | None = None,
        silent: bool = False,
    ) -> bl.HybridTest:
        """Return the hybrid test.

        Parameters
        ----------
        excitation
            In the place of its own.
        limited
            Whether with limits and interlock.
        plant
            Errors of the plant.
        feedback
            In the place of its own.
        pushed
            White noise on the masses at the interfaces, rms in N by interface, and for how many seconds.
        silent
            Whether without the noise of the sensors.
        """
        plant = plant or Plant()
        e = excitation or self.excitation
        driven = {}
        if e.amplitude:
            times, values = e.table()
            beyond = "hold"
            driven["wall" if e.on < 0 else f"push{e.on}"] = bl.signals.Table(times, values, beyond=beyond)
        if pushed is not None:
            rng = np.random.default_rng(self.seed)
            for i, rms in pushed[0].items():
                n = math.ceil(pushed[1] * self.rate) + 2
                noise = bl.signals.Table(np.arange(n) / self.rate, rms * rng.standard_normal(n), "hold")
                driven[f"push{self.structure.places[i]}"] = noise
        specimens = [s.scaled(plant.stiffness, plant.mass, plant.damping) for s in self.structure.specimens]
        numerical, physical = cut(self.structure, specimens)
        integrator = {
            "RK4": bl.integrate.RK4(), "ForwardEuler": bl.integrate.ForwardEuler(),
            "NewmarkAverage": bl.integrate.NewmarkAverage(), "Exact": bl.integrate.Exact(),
        }[self.scheme]  # fmt: skip
        limits = bl.safety.Limits(**self.limits) if limited and self.limits else None
        interlock = bl.safety.Interlock(limits) if limits and self.interlocked else None
        own = self.structure.coupled if feedback is None else feedback
        return bl.HybridTest(
            numerical,
            rig=self._rig(physical, plant, silent),
            controller=controller(self.control, 1 / self.rate),
            excitation=driven,
            rate=self.rate,
            integrator=integrator,
            limits=None if interlock else limits,
            interlock=interlock,
            extrapolation=bl.hybrid.Extrapolation() if self.extrapolated and own else None,
            feedback=own,
            name=f"drawn_{self.seed}",
        )

    def _rig(self, physical: Model, plant: Plant, silent: bool) -> Any:
        transfers = [a.lagging(plant.lag).transfer() for a in self.actuators]
        if self.control.family in ("CoupledInverse", "AdaptiveCoupledInverse"):
            transfers = [coupled([a.lagging(plant.lag) for a in self.actuators])]
        gains = {"force": plant.force_gain, "displacement": plant.motion_gain, "velocity": plant.motion_gain}
        sensors = {}
        for word, gain in gains.items():
            given = [p for p in self.sensors.get(word, ()) if not (silent and p[0] == "WhiteNoise")]
            parts = [imperfection(*part) for part in given]
            if gain != 1.0:
                parts.append(bl.rigs.GainError(gain - 1))
            if parts:
                sensors[word] = bl.rigs.Sensor(tuple(parts))
        drive = [imperfection(*part) for part in self.drive]
        if plant.gain != 1.0:
            drive.insert(0, bl.rigs.GainError(plant.gain - 1))
        fastest = max(a.omega for a in self.actuators)
        substeps = max(4, math.ceil(fastest / self.rate / 0.5))
        latency = max(self.latency + plant.late / self.rate, 0.0)
        return bl.rigs.Emulated(
            physical, transfers if len(transfers) > 1 else transfers[0], sensors=sensors,
            drive=tuple(drive), latency=latency, substeps=substeps, seed=self.seed,
        )  # fmt: skip


def imperfection(kind: str, values: tuple[Any, ...]) -> Any:
    """Return an imperfection by its name."""
    return getattr(bl.rigs, kind)(*values)


def coupled(actuators: Any) -> Any:
    """Return two actuators that move each other's ends a little."""
    a, b = (x.process() for x in actuators)
    cross = [bl.transfer.Process([0.05 * x for x in p.numerator], p.denominator) for p in (a, b)]
    return bl.transfer.ProcessMatrix(((a, cross[0]), (cross[1], b))).actuator()


# ------------------------------------------------------------------------------------------ the bond graph


def cut(structure: Structure, specimens: Any) -> tuple[Model, Model]:
    """Return the halves of the structure, with its specimens on the rig."""
    whole = Model("structure")
    whole.wall = Sf("wall")
    previous: Any = whole.wall
    for i, (m, k, c) in enumerate(zip(structure.masses, structure.springs, structure.dashpots, strict=True)):
        link, apart, v = Zero(), One(), One()
        setattr(whole, f"link{i}", link)
        setattr(whole, f"apart{i}", apart)
        setattr(whole, f"v{i}", v)
        previous >> link >> v
        link >> apart >> [C(stiffness=k), R(damping=c)]
        v >> I(mass=m)
        push = Se(f"push{i}")
        setattr(whole, f"source{i}", push)
        push >> v
        previous = v
    bonds = []
    for j, (place, s) in enumerate(zip(structure.places, specimens, strict=True)):
        part = specimen_model(s)
        setattr(whole, f"specimen{j}", part)
        getattr(whole, f"v{place}") >> part.end
        bonds.append(f"v{place} >> specimen{j}.end")
    return whole.cut(*bonds)


def specimen_model(s: Specimen) -> Model:
    """Return a specimen as a bond graph with a port ``end``."""
    p, part = dict(s.values), Model("specimen")
    part.end, part.v = Port(), One()
    part.end >> part.v
    devices = bl.devices
    if s.kind == "carried":
        part.hung = devices.TunedMass(p["mass"], p["stiffness"], p["damping"]).element()
        part.v >> part.hung
        return part
    beside = {"stiffness": C, "damping": R}
    law: Any = None
    if s.kind == "power":
        law = devices.PowerDamper(p["coefficient"], p["exponent"], p["width"]).element()
    elif s.kind == "coulomb":
        law = bl.rigs.coulomb(p["friction"], p["width"])
    elif s.kind == "bouc_wen":
        values = (p.pop("stiffness"), p["yield_displacement"], p["post_yield"], p["exponent"])
        law = devices.BoucWen(*values).element()
    elif s.kind == "bilinear":
        law = devices.Bilinear(p.pop("stiffness"), p["yield_force"], p["hardening"]).element()
    elif s.kind == "hardening":
        law = bl.rigs.cubic_spring(p.pop("stiffness"), p["cubic"])
    elif s.kind == "softening":
        law = bl.rigs.preloaded_spring(p.pop("stiffness"), p["preload"], p["width"])
    elif s.kind == "stop":
        law = devices.Gap(p["contact"], p["gap"], 1e15, 0.0).element()
    elif s.kind == "play":
        law = bl.rigs.dead_zone_spring(p.pop("stiffness"), p["gap"])
    elif s.kind == "maxwell":
        law = devices.Maxwell(p.pop("stiffness"), p.pop("damping")).element()
    elif s.kind == "mr":
        law = devices.MRDamper(
            current=0.0, yield_force=p["mr_force"], yield_displacement=p["yield_displacement"], beta=0.5,
            exponent=p["exponent"], damping=p.pop("damping"), pre_yield_damping=p["pre_yield_damping"],
            thinning_force=0.0, stiffness=p["accumulator"],
        ).element()  # fmt: skip
    if law is not None:
        part.law = law
        part.v >> part.law
    for word, kind in beside.items():
        if p.get(word) or (law is None and word == "stiffness"):
            element = kind(**{word: p.get(word, 0.0)})
            setattr(part, word, element)
            part.v >> element
    return part


# ---------------------------------------------------------------------------------------------- controllers


def controller(given: Control, h: float) -> Any:
    """Return the controller that a designer with these beliefs would take."""
    c, name = bl.control, given.family
    if name == "Direct":
        return c.Direct()
    if name in ("VirtualJunction", "ObservedVirtualJunction"):
        models = [a.transfer() for a in given.believed]
        return getattr(c, name)(models if len(models) > 1 else models[0])
    if name in ("AdaptiveVirtualJunction", "SensitivityVirtualJunction"):
        model = given.believed[0].transfer()
        noise = (
            {"noise": 0.02 * given.believed[0].stiffness * given.stroke}
            if name[0] == "A"
            else {"noise": 0.02 * given.stroke}
        )
        return getattr(c, name)(model, ["damper.damping"], latency=round(given.latency / h) * h, **noise)
    if name in ("MCS", "DiscreteMCS"):
        speed = (3.0 if given.hot else 0.06) * 10 ** (given.u[0] - 0.5)
        alpha = speed / (0.1 * given.stroke**2 * 2 * math.pi * given.frequency)
        return getattr(c, name)(
            alpha, alpha * (0.01 + 0.03 * given.u[1]), error_filter="reference", initial_gains=[0, 0, 1]
        )
    if name == "PerActuator":
        families = ("LeadCompensation", "InverseModel", "AdaptiveTimeSeries")
        parts = [
            replace(given, family=families[int(2.999 * given.u[i])], believed=(a,))
            for i, a in enumerate(given.believed)
        ]
        return c.PerActuator(tuple(_compensator(part, h) for part in parts))
    if name in ("CoupledInverse", "AdaptiveCoupledInverse"):
        return getattr(c, name)(
            coupled(given.believed), bandwidth=max(3 * given.frequency, 1.0), delay=given.latency
        )
    return _compensator(given, h)


def _prediction(delay: float, h: float, order: int, u: float) -> Any:
    """Return a polynomial prediction over a history of half to four times the delay."""
    count = max(round((0.5 + 3.5 * u) * delay / h), order + 3, 6)
    return bl.control.PolynomialPrediction(delay, order=order, span=count * h, points=min(count, 24) + 1)


def _inverse(given: Control, h: float) -> Any:
    process = given.believed[0].process()
    if not given.latency:
        return bl.control.InverseModel(process, ahead=given.ahead)
    delay = given.latency + given.ahead * h
    return bl.control.InverseModel(process, _prediction(delay, h, 2, given.u[1]))


def _compensator(given: Control, h: float) -> Any:  # noqa: C901, PLR0911 - one a family
    c, name, u, hot = bl.control, given.family, given.u, given.hot
    a = given.believed[0]
    late = a.lag + given.latency + given.ahead * h
    longest = max(2.5 * late, 0.03)
    corner = min(max(5 * given.frequency, 5.0), 0.2 / h)
    quiet = 0.03 * given.stroke
    if name == "LeadCompensation":
        return c.LeadCompensation(late, 3 + (15 if hot else 5) * u[0])
    if name == "PolynomialPrediction":
        return _prediction(late, h, (4 if hot else 1) + int(2.999 * u[0]), u[1])
    if name == "InverseModel":
        return _inverse(given, h)
    if name in ("OuterLoop", "SmithPredictor"):
        gain = (4 + 8 * u[0]) if hot else 0.5 + u[0]
        lag = a.lag if name[0] == "S" else late
        loop = c.OuterLoop(gain, integral=gain / lag, lead=lag / max(gain, 1), lag=lag / max(gain, 1) / 20)
        if name == "OuterLoop":
            return loop
        delay = max(given.latency, h)
        return c.SmithPredictor(a.process(delay), loop, _prediction(delay + given.ahead * h, h, 2, u[1]))
    if name == "FeedforwardLQG":
        effort = 10 ** (-3 + u[0]) if hot else 10 ** (-1 + u[0])
        return c.FeedforwardLQG(
            a.process(given.latency), _inverse(given, h), effort=effort, disturbance=0.2 * given.stroke,
            corner=given.frequency, noise=1e-3 * given.stroke,
        )  # fmt: skip
    if name == "LoopShaping":
        bandwidth = (0.8 if hot else 0.05 + 0.1 * u[0]) / (2 * math.pi * late) * 2
        shaped = c.LoopShaping.for_bandwidth(a.process(given.latency), bandwidth)
        return replace(shaped, feedforward=_inverse(given, h))
    if name == "SlidingMode":
        wide = (3.0 if hot else 0.5 + 0.5 * u[0]) / (2 * math.pi * late)
        return c.SlidingMode(
            a.process(), bandwidth=wide, reaching=3 * given.stroke * given.frequency, ahead=given.ahead
        )
    if name == "Scheduled":
        parts = (c.LeadCompensation(late, 4), c.LeadCompensation(late * (0.9 + 0.2 * u[0]), 6))
        return c.Scheduled(parts, (0.2 * given.stroke, given.stroke))
    if name == "LoadFeedforward":
        return c.LoadFeedforward(
            c.LeadCompensation(late, 5), give=1 / a.stiffness, give_rate=0.0, cutoff=corner
        )
    if name == "AdaptivePrediction":
        first = _prediction(late, h, 1 + int(2.999 * u[0]), u[1])
        return c.AdaptivePrediction(
            late, first.order, first.span, first.points, largest_delay=longest, threshold=quiet,
            delay_step=0.9 if hot else 0.25, gain_step=0.9 if hot else 0.25, ahead=given.ahead,
        )  # fmt: skip
    if name in ("AdaptiveTimeSeries", "AdaptiveModelBased", "ConditionalTimeSeries"):
        more = {"AdaptiveTimeSeries": {"window": 0.1 if hot else max(1.0, 2 / given.frequency)},
                "AdaptiveModelBased": {"rate": 200.0 if hot else 5.0 + 20 * u[2]},
                "ConditionalTimeSeries": {"memory": 0.2 if hot else 4.0}}[name]  # fmt: skip
        return getattr(c, name)(
            late, 1 + int(1.999 * u[0]), longest, filter_frequency=corner, threshold=quiet,
            slew=20.0 if hot else 1.0, ahead=given.ahead, **more,
        )  # fmt: skip
    if name == "RecursiveFir":
        return c.RecursiveFir(
            2 + int(2.999 * u[0]), filter_frequency=corner, threshold=quiet, largest_delay=max(longest, 0.1),
            ahead=given.ahead, process=a.process(given.latency),
            covariance=10 ** (6 if hot else 1) / given.stroke**2,
        )  # fmt: skip
    if name == "TwoStageAdaptive":
        share = 0.3 + 0.3 * u[0]
        return c.TwoStageAdaptive(
            2 + int(1.999 * u[1]), filter_frequency=corner, threshold=quiet, largest_delay=max(longest, 0.1),
            ahead=given.ahead, process=a.process(given.latency), covariance=10 / given.stroke**2,
            prediction=_prediction(share * late, h, 2, u[2]),
        )  # fmt: skip
    if name == "AdaptiveRemainder":
        learns = (c.AdaptiveTimeSeries, c.AdaptiveModelBased)[u[0] > 0.5]
        return c.AdaptiveRemainder(
            _inverse(given, h),
            learns(order=1 + int(1.999 * u[1]), filter_frequency=corner, threshold=quiet,
                   largest_delay=0.5 * late + 2 * h),
        )  # fmt: skip
    raise KeyError(name)


# -------------------------------------------------------------------------------------------------- drawing


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw evenly on a scale of factors."""
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


def _one_of(rng: np.random.Generator, shares: Mapping[str, float]) -> str:
    p = np.array(list(shares.values()))
    return str(rng.choice(list(shares), p=p / p.sum()))


def draw(seed: int) -> Drawn:
    """Return the test of a seed."""
    rng = np.random.default_rng(seed)
    intent = _one_of(rng, SHARES)
    fault = str(rng.choice(FAULTS)) if intent == "bad" else ""
    if intent == "border":
        fault = str(rng.choice(["lag", "lag", "limits", "gain"]))
    n = int(rng.choice([1, 2, 3, 4], p=[0.35, 0.3, 0.2, 0.15]))
    f1 = _between(rng, 0.1, 30.0 if n == 1 else 10.0)
    zeta = _between(rng, 0.005 if intent != "well" else 0.01, 0.1)
    structure = _chain(rng, n, f1, zeta)
    pairs = n > 1 and rng.random() < 0.2
    places = tuple(sorted(rng.choice(n, 2, replace=False).tolist())) if pairs else (n - 1,)
    if not pairs and rng.random() < 0.3:
        places = (int(rng.integers(n)),)
    coupled_back = bool(rng.random() > 0.05)
    structure = replace(structure, places=places, specimens=(), coupled=coupled_back)
    omega = 2 * math.pi * f1
    stroke = min(_between(rng, 3e-4, 0.06), 10 / omega**2)
    rate = _rate(rng, structure, intent, fault)
    h = 1 / rate
    family = _family(rng, pairs, fault)
    seconds = float(np.clip(rng.uniform(10, 25) / f1, 8.0 if family in ADAPTIVE else 3.0, 200.0))
    seconds = round(min(seconds, 120_000 / rate) * rate) / rate
    specimens = tuple(_specimen(rng, structure, p, omega, stroke) for p in places)
    structure = replace(structure, specimens=specimens)
    actuators, control, latency, residual, sensors, extrapolated = _transfer(
        rng, structure, intent, fault, family, h, f1, stroke
    )
    goal = {"well": rng.uniform(0.005, 0.05), "border": rng.uniform(0.1, 0.4), "bad": rng.uniform(0.02, 0.3)}[
        intent
    ]
    if fault == "lag":
        goal = rng.uniform(0.4, 1.3) if intent == "border" else rng.uniform(1.8, 6.0)
    structure, took = _strengthened(structure, omega, stroke, residual, goal)
    excitation = _excitation(rng, structure, f1, seconds, stroke)
    scheme = _scheme(rng, structure, h, zeta, fault, family)
    strongest = max(abs(s.dynamic_stiffness(omega, stroke)) for s in structure.specimens)
    actuators, believed = (
        tuple(_stiff(a, strongest, u) for a, u in zip(some, control.u, strict=False))
        for some in (actuators, control.believed)
    )
    control = replace(control, believed=believed)
    bare = Drawn(
        seed, intent, fault, structure, excitation, actuators, control, rate, scheme, latency, sensors,
        extrapolated=extrapolated and scheme == "RK4" and coupled_back, taken=took,
    )  # fmt: skip
    return _equipped(rng, bare)


def _chain(rng: np.random.Generator, n: int, f1: float, zeta: float) -> Structure:
    """Draw masses, springs and dashpots, with a first frequency and a damping ratio of it."""
    m = _between(rng, 1.0, 3e4) * rng.uniform(0.5, 1.5, n)
    k = rng.uniform(0.5, 1.5, n) * m.mean()
    raw = Structure(tuple(m), tuple(k), tuple(0.0 for _ in k), (), ())
    k = k * (f1 / raw.frequencies[0]) ** 2
    c = k * 2 * zeta / (2 * math.pi * f1)
    return Structure(tuple(m.tolist()), tuple(k.tolist()), tuple(c.tolist()), (), ())


def _rate(rng: np.random.Generator, structure: Structure, intent: str, fault: str) -> float:
    """Draw a rate that a laboratory has; at least 30 samples a period, more where it should go well."""
    rates = np.array([200, 256, 500, 512, 1000, 1024, 2000, 2048, 4000.0])
    first, last = structure.frequencies[[0, -1]]
    least = max(30 * first, 8 * last) if intent != "well" else max(150 * first, 15 * last)
    if fault == "euler":
        least = 10 * last
    fit = rates[(rates >= least) & (rates <= max(6000 * first, 1000))]
    return float(rng.choice(fit)) if len(fit) else 4000.0


def _family(rng: np.random.Generator, pairs: bool, fault: str) -> str:
    if pairs:
        several = ("Direct", "LeadCompensation", "InverseModel", "VirtualJunction", *SEVERAL, *SEVERAL)
        return str(rng.choice(several))
    if fault == "lag":
        return str(rng.choice(["Direct", "Direct", "LeadCompensation", "InverseModel", "AdaptiveTimeSeries"]))
    if fault in ("knowledge", "hot"):
        return str(rng.choice([f for f in (*PLAIN, *ADAPTIVE) if f != "Direct"]))
    return str(rng.choice((*PLAIN, *ADAPTIVE, "Direct", "InverseModel")))


def _specimen(
    rng: np.random.Generator, structure: Structure, place: int, omega: float, stroke: float
) -> Specimen:
    """Draw a specimen whose force is about that of the chain's own stiffness; it is scaled afterwards."""
    kind, A = _one_of(rng, KINDS), stroke
    k = structure.stiffness_at(place)
    light = k / omega * _between(rng, 1e-3, 0.05)
    u = rng.uniform(0, 1, 4)
    values: dict[str, float]
    if kind == "spring":
        values = {"stiffness": k, "damping": light}
    elif kind == "carried":
        m, tuned = structure.masses[place], omega * (0.5 + u[0])
        values = {"stiffness": m * tuned**2, "damping": 2 * (0.02 + 0.2 * u[1]) * m * tuned, "mass": m}
    elif kind == "power":
        exponent = 1.0 if u[0] < 0.4 else 0.3 + 0.7 * u[1]
        width = 0.03 * A * omega
        values = {"coefficient": k * A / (A * omega) ** exponent, "exponent": exponent, "width": width,
                  "stiffness": 0.0 if u[2] < 0.5 else 0.3 * k}  # fmt: skip
    elif kind == "coulomb":
        values = {"friction": 0.4 * k * A, "width": (0.02 + 0.1 * u[0]) * A * omega, "stiffness": k * u[1]}
    elif kind == "bouc_wen":
        rubs = u[0] < 0.3
        values = {"stiffness": (8 if rubs else 1) * k,
                  "yield_displacement": (0.04 if rubs else 0.1 + 0.5 * u[1]) * A,
                  "post_yield": 0.0 if rubs else 0.02 + 0.3 * u[2], "exponent": 1 + 2 * u[3]}  # fmt: skip
    elif kind == "bilinear":
        values = {"stiffness": k, "yield_force": k * A * (0.2 + 0.5 * u[0]), "hardening": 0.01 + 0.2 * u[1]}
    elif kind == "hardening":
        values = {"stiffness": k, "cubic": k * _between(rng, 0.3, 3) / A**2, "damping": light}
    elif kind == "softening":
        w = (0.2 + 0.4 * u[0]) * A
        values = {"preload": k * w, "width": w, "stiffness": (0.1 + 0.4 * u[1]) * k, "damping": light}
    elif kind == "stop":
        values = {"contact": k * (1 + 9 * u[0]), "gap": (0.3 + 0.6 * u[1]) * A, "stiffness": 0.2 * k,
                  "damping": light}  # fmt: skip
    elif kind == "play":
        values = {"stiffness": k, "gap": (0.2 + 0.6 * u[0]) * A, "damping": light}
    elif kind == "maxwell":
        values = {"stiffness": k, "damping": k / omega * _between(rng, 0.2, 5)}
    else:
        c0 = 0.1 * k / omega
        values = {"mr_force": 0.4 * k * A, "yield_displacement": 0.03 * A, "exponent": 1.5, "damping": c0,
                  "pre_yield_damping": 20 * c0, "accumulator": 0.1 * k}  # fmt: skip
    return Specimen(kind, {name: float(value) for name, value in values.items()})


def _transfer(
    rng: np.random.Generator,
    structure: Structure,
    intent: str,
    fault: str,
    family: str,
    h: float,
    f1: float,
    stroke: float,
) -> tuple[tuple[Actuator, ...], Control, float, float, dict[str, Any], bool]:
    """Draw actuators, what is believed of them, and return by what the force is late in the end."""
    count = len(structure.places)
    kind = "spring" if family in JUNCTIONS else str(rng.choice(["first", "second", "second", "spring"]))
    if family in ("CoupledInverse", "AdaptiveCoupledInverse"):
        kind = "second"
    shortest = max(1e-3, 0.5 * h)
    lags = [_between(rng, shortest, 0.03) for _ in range(count)]
    if family == "Direct" and intent == "well":
        lags = [_between(rng, shortest, max(0.004, 2 * shortest)) for _ in lags]
    dashpots = any(s.kind in ("power", "maxwell", "mr", "coulomb") for s in structure.specimens)
    if dashpots and intent == "well":  # a first-order piston jumps within a sample, and a dashpot feels that
        kind = "second" if kind == "first" else kind
        lags = [max(lag, 2 * h) for lag in lags]
    damping = rng.uniform(0.5, 1.0)
    actuators = tuple(Actuator(kind, lag, damping) for lag in lags)
    latency = 0.0 if rng.random() < 0.35 else float(rng.uniform(0, 3.5) * h)
    if fault == "late":
        latency = min(_between(rng, 0.03, 0.3) / f1, 0.2)
    error = rng.normal(0, 0.03 if intent == "well" else 0.08)
    if fault == "knowledge":
        error = float(rng.choice([-0.8, 0.7, 1.5, 3.0]))
    sensors: dict[str, list[tuple[str, tuple[Any, ...]]]] = {"force": []}
    late = 0.0
    if rng.random() < 0.2:
        corner = min(max(20 * f1, _between(rng, 0.05, 0.4) / h), 0.45 / h)
        sensors["force"].append(("LowPass", (corner,)))
        late += 1 / (2 * math.pi * corner)
    if rng.random() < 0.12:
        sensors["force"].append(("PureDelay", (h,)))
        late += h
    believed = tuple(replace(a, lag=a.lag * (1 + error)) for a in actuators)
    extrapolated = bool(rng.random() < 0.1)
    ahead = float(rng.uniform(0.4, 1.2)) + (late / h if rng.random() < 0.7 else 0.0)
    ahead = min(ahead, 10.0)
    whole = max(lags) + latency + h + late
    if family == "Direct":
        residual = whole
    else:
        known = latency * (1 + 0.5 * error) if fault != "late" else 0.0
        made_up = max(a.lag for a in believed) + known + ahead * h
        residual = abs(whole - made_up) + 0.1 * h
    control = Control(
        family, believed, 0.0 if fault == "late" else latency * (1 + 0.5 * error), ahead,
        tuple(rng.uniform(0, 1, 4).tolist()), fault == "hot", f1, stroke,
    )  # fmt: skip
    return (
        actuators,
        control,
        latency,
        residual,
        {n: tuple(p) for n, p in sensors.items() if p},
        extrapolated,
    )


def _stiff(a: Actuator, load: float, u: float) -> Actuator:
    """Return an actuator whose servo spring is 20 to 300 times as stiff as what it carries."""
    return replace(a, stiffness=20 * 15**u * load) if a.kind == "spring" else a


def _strengthened(
    structure: Structure, omega: float, stroke: float, residual: float, goal: float
) -> tuple[Structure, float]:
    """Scale the specimens until the lag takes the drawn share of the damping; from 1 % to 4 times."""
    frequencies = 2 * math.pi * structure.frequencies
    Z = [
        [s.dynamic_stiffness(w, stroke if j == 0 else 0.2 * stroke) for j, w in enumerate(frequencies)]
        for s in structure.specimens
    ]
    # At rest friction is a dashpot, the steeper the smaller the motion: at a fiftieth of the stroke.
    for s, z in zip(structure.specimens, Z, strict=True):
        z.append(s.dynamic_stiffness(omega, 0.02 * stroke))
    low, high = math.log(0.01), math.log(4.0)
    for _ in range(24):
        middle = (low + high) / 2
        if taken(structure, Z, math.exp(middle), residual) > goal:
            high = middle
        else:
            low = middle
    factor = math.exp(low)
    scaled = tuple(s.scaled(factor, factor, factor) for s in structure.specimens)
    return replace(structure, specimens=scaled), taken(structure, Z, factor, residual)


def taken(structure: Structure, Z: Any, factor: float, late: float) -> float:
    """Return the largest share of a mode's damping that a late force takes away.

    Parameters
    ----------
    structure
        The chain; its specimens are in ``Z``, their dynamic stiffness by place and by mode.
    Z, factor
        The specimens are so many times as strong.
    late
        By which their forces come late, s.
    """
    M, D, K = structure.matrices
    for i, p in enumerate(structure.places):
        K[p, p] += max(factor * Z[i][0].real, 0.0)
    values, shapes = np.linalg.eig(np.linalg.solve(M, K))
    worst = 0.0
    for j, at in enumerate(np.argsort(values.real)):
        w, phi = math.sqrt(values.real[at]), shapes[:, at].real
        own, lost = float(phi @ D @ phi), 0.0
        for i, p in enumerate(structure.places):
            z = factor * Z[i][j]
            own += phi[p] ** 2 * max(z.imag, 0.0) / w
            lost -= phi[p] ** 2 * ((z * np.exp(-1j * w * late)).imag - z.imag) / w
        worst = max(worst, lost / own)
    # A late dashpot c acts as a negative mass -c τ, which must stay small beside the mass.
    for i, p in enumerate(structure.places):
        heavy = factor / (2 * math.pi * structure.frequencies[0]) * late / structure.masses[p]
        worst = max(worst, heavy * max(Z[i][0].imag, 0.0), 0.2 * heavy * max(Z[i][-1].imag, 0.0))
    return worst


def _excitation(
    rng: np.random.Generator, structure: Structure, f1: float, seconds: float, stroke: float
) -> Excitation:
    """Draw an excitation, and scale it until the interface moves by the stroke."""
    kind = _one_of(rng, {"noise": 0.4, "sine": 0.2, "sweep": 0.15, "pulse": 0.15, "step": 0.1})
    n = len(structure.masses)
    on = -1 if kind in ("noise", "sine", "sweep") and rng.random() < 0.6 else int(rng.integers(n))
    waves: tuple[tuple[float, float, float], ...] = ()
    values: dict[str, float] = {}
    if kind == "noise":
        f = np.exp(rng.uniform(math.log(0.3), math.log(4.0), 24)) * f1
        # Kanai and Tajimi's ground at 1.5 f1, as a displacement where it is the wall that moves.
        r = f / (1.5 * f1)
        a = np.sqrt((1 + 1.44 * r**2) / ((1 - r**2) ** 2 + 1.44 * r**2)) / (f / f1) ** (2 if on < 0 else 0)
        a = a / np.sqrt(np.sum(a**2) / 2) / 3
        waves = tuple(
            zip(a.tolist(), (2 * math.pi * f).tolist(), rng.uniform(0, 6.283, 24).tolist(), strict=True)
        )
    elif kind == "sine":
        values = {"frequency": f1 * _between(rng, 0.3, 1.6)}
    elif kind == "sweep":
        ends = sorted([f1 * _between(rng, 0.2, 0.8), f1 * _between(rng, 1.2, 3.0)])
        values = {"first": ends[0], "last": ends[1]}
    else:
        values = {"start": 0.5 / f1, "width": _between(rng, 0.1, 1.0) / f1}
    whole = Excitation(kind, on, 1.0, seconds, values, waves)
    # A first run of about the stroke, with the amplitude guessed; then once more from what came of it.
    amplitude = stroke * (1.0 if on < 0 else structure.stiffness_at(on))
    for _ in range(2):
        trial = replace(whole, amplitude=amplitude, seconds=seconds)
        times = np.linspace(0, seconds, max(int(seconds * f1 * 16), 200))
        motion = reference(structure, trial, times, relative=1e-3, absolute=1e-4 * stroke)
        peak = max(motion.peak("displacement", i) for i in range(len(structure.places)))
        amplitude *= float(np.clip(stroke / max(peak, 1e-3 * stroke), 0.05, 20.0))
    return replace(whole, amplitude=amplitude)


def _scheme(
    rng: np.random.Generator, structure: Structure, h: float, zeta: float, fault: str, family: str
) -> str:
    if fault == "euler":
        return "ForwardEuler"
    scheme = _one_of(rng, {"RK4": 0.7, "Exact": 0.1, "NewmarkAverage": 0.12, "ForwardEuler": 0.08})
    w = 2 * math.pi * structure.frequencies
    if scheme == "ForwardEuler" and w[0] * h > 0.1 * 2 * zeta:  # it takes the damping ω² h/2
        scheme = "RK4"
    return "RK4" if family in JUNCTIONS and scheme != "NewmarkAverage" else scheme


def _equipped(rng: np.random.Generator, drawn: Drawn) -> Drawn:
    """Add noise, converters, limits and the actuator's reach, in proportion to the exact motion."""
    truth, well, fault = drawn.truth, drawn.intent == "well", drawn.fault
    number = len(drawn.structure.places)
    x, v, force = (
        max(truth.peak(w, i) for i in range(number)) for w in ("displacement", "velocity", "force")
    )
    force = max(force, 1e-3 * drawn.structure.stiffness_at(drawn.structure.places[0]) * x)
    sensors = {word: list(parts) for word, parts in drawn.sensors.items()}
    cell = sensors.setdefault("force", [])
    if rng.random() < 0.3 and fault != "gain":
        cell.append(("GainError", (float(rng.normal(0, 0.01)),)))
    if fault == "gain":
        wrong = float(rng.choice([-0.9, -0.6, 0.6, 1.5, -2.0]))
        if drawn.intent == "border":
            wrong = float(rng.choice([-1, 1]) * rng.uniform(0.08, 0.2))
        cell.append(("GainError", (wrong,)))
    if rng.random() < 0.5 or fault == "noise":
        most = 0.01 if well else 0.05
        rms = _between(rng, min(1e-6, 1e-4 * force), most * force)
        if fault == "noise":
            rms = force * _between(rng, 0.1, 1.0)
        cell.append(("WhiteNoise", (rms,)))
        if rng.random() < 0.5:
            scale = (0.01 if fault == "noise" else 0.001) * x
            sensors["displacement"] = [("WhiteNoise", (_between(rng, 1e-4 * scale, scale),))]
    if rng.random() < 0.25:
        bits = int(rng.choice([12, 16]) if well else rng.choice([8, 10, 12, 16]))
        cell.append(("Quantisation", (bits, force * rng.uniform(2, 6))))
    drive: list[tuple[str, tuple[Any, ...]]] = []
    if fault == "slow" or rng.random() < 0.2:
        drive.append(
            ("RateLimit", (v * (rng.uniform(0.2, 0.7) if fault == "slow" else rng.uniform(1.6, 5)),))
        )
    if fault == "stroke" or rng.random() < 0.25:
        share = rng.uniform(0.3, 0.85) if fault == "stroke" else rng.uniform(1.6, 5)
        drive.append(("Saturation", (x * share,)))
    if fault == "backlash" or rng.random() < 0.1:
        share = rng.uniform(0.3, 1.5) if fault == "backlash" else _between(rng, 1e-4, 0.01 if well else 0.05)
        drive.append(("Backlash", (x * share,)))
    limits: dict[str, float] = {}
    room = {"displacement": x, "force": force, "velocity": v}
    for word, share in (("displacement", 0.85), ("force", 0.7), ("velocity", 0.2)):
        if rng.random() < share:
            limits[word] = room[word] * float(rng.uniform(1.5, 4))
    if fault == "limits":
        word = str(rng.choice(["displacement", "force", "velocity"]))
        tight = rng.uniform(0.95, 1.15) if drawn.intent == "border" else _between(rng, 0.1, 0.85)
        limits[word] = room[word] * tight
    return replace(
        drawn,
        sensors={n: tuple(p) for n, p in sensors.items() if p},
        drive=tuple(drive),
        limits=limits,
        interlocked=bool(rng.random() < 0.07),
    )
