"""The members of an ensemble: what each of its rehearsals has otherwise than the test as it is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from bondloop.check.ensemble.disturbed_rig import inserted
from bondloop.engine.analysis.spectrum import within
from bondloop.rehearsal import HOLD, SCALE, SWITCHES, allowed
from bondloop.rigs import SEED
from bondloop.safety import LIMITS

if TYPE_CHECKING:
    from bondloop.check.policy import CheckPolicy
    from bondloop.engine.ir import Tick, Var

Kind = Literal["nominal", "quiet", "impulse", "excitation", "plant", "tunable", "margin"]
"""What a member is for: the test as it is; without excitation and with the force loop open, so that noise
alone moves it; with a small impulse; with another size of the excitation; with errors of the plant; with
tunable parameters at their bounds; with one thing off by a margin that a test should have."""


@dataclass(frozen=True)
class Member:
    """One rehearsal of an ensemble.

    Attributes
    ----------
    kind
        What it is for.
    words
        What is otherwise.
    values
        Parameters and first states that differ, by name.
    at
        When an impulse comes, in s.
    factor
        Of the excitation.
    """

    kind: Kind
    words: str
    values: Mapping[str, float] = field(default_factory=dict)
    at: float = 0.0
    factor: float = 1.0


@dataclass(frozen=True)
class Run:
    """What is known of the run that an ensemble is made of.

    Attributes
    ----------
    steps, period
        Its ticks, and seconds between them.
    calls
        How often its sensors are read in a tick.
    force
        Largest force of each interface, in N.
    frequency
        Mean frequency of its motion, in Hz.
    """

    steps: int
    period: float
    calls: int
    force: tuple[float, ...]
    frequency: float


class Drawing:
    """Draws the members of an ensemble.

    Parameters
    ----------
    tick
        Of the test with parts that can disturb it.
    run, policy
        The run, and the limits in force.
    states
        Typical sizes of states, for tests whose forces cannot be disturbed.
    seed
        Of the draws.
    """

    def __init__(
        self, tick: Tick, run: Run, policy: CheckPolicy, states: Mapping[str, float], seed: int = 0
    ) -> None:
        self.tick, self.run, self.policy, self.sizes = tick, run, policy, states
        self.own: dict[str, float] = {v.name: float(x) for v, x in tick.parameters.items()}
        self._states = {v.name for v in tick.states}
        self._random = np.random.default_rng(seed)
        self.specimen, self.actuator = self._plant("rig.specimen"), self._plant("rig")
        self.actuator = [v for v in self.actuator if v not in self.specimen]

    def _plant(self, part: str) -> list[Var]:
        """Return the parameters of a part that can be off by some share."""
        fixed = self.tick.worked_in | {SEED}
        return [
            v
            for v, x in self.tick.parameters.items()
            if x and within(v.name, part) and v.name not in fixed and ".ensemble." not in v.name
        ]

    @property
    def columns(self) -> list[str]:
        """Names of all that may differ from member to member."""
        names = [n for n in self.own if ".ensemble." in n or n == SCALE]
        names += [n for n in self._ramped(SCALE) if n not in names]
        for name in self._tunables():
            names += [n for n in self._ramped(name) if n not in names]
        names += [v.name for v in (*self.specimen, *self.actuator) if v.name not in names]
        if not inserted(list(self.own), "impulse"):
            names += [n for n in self.sizes if n not in names]
        return names

    def default(self, name: str) -> float:
        """Return the value of a column in the test as it is."""
        if name in self.own:
            return self.own[name]
        return float(next(x for v, x in self.tick.states.items() if v.name == name))

    def row(self, member: Member) -> list[float]:
        """Return the values of a member in all columns."""
        return [member.values.get(name, self.default(name)) for name in self.columns]

    # ---------------------------------------------------------------- kinds

    def nominal(self) -> Member:
        """Return the test as it is."""
        return Member("nominal", "the test as it is")

    def quiet(self) -> Member:
        """Return the test without excitation, with the force loop open."""
        closed = dict.fromkeys(inserted(list(self.own), "closed"), 0.0)
        return Member("quiet", "noise alone", {**self.scaled(0.0), **closed}, factor=0.0)

    def impulses(self, count: int) -> Iterator[Member]:
        """Yield twins of the test as it is, each with a small impulse at an instant of its own."""
        names = inserted(list(self.own), "impulse")
        for i in range(count):
            sign = 1.0 if i % 2 else -1.0
            if not names:
                values = {
                    n: self.default(n) + sign * self.policy.impulse * x * self._random.choice((-1.0, 1.0))
                    for n, x in self.sizes.items()
                }
                yield Member("impulse", "a small disturbance of its first state", values)
                continue
            which = i // 2 % len(names)
            start = int(self._random.uniform(0.02, 0.6) * self.run.steps)
            width = max(1, round(0.25 / (self.run.frequency * self.run.period)))
            stem = names[which].removesuffix("impulse")
            force = self.run.force[which % len(self.run.force)]
            values = {
                f"{stem}impulse": sign * self.policy.impulse * force,
                f"{stem}first": float(self.run.calls * start),
                f"{stem}last": float(self.run.calls * (start + width)),
            }
            yield Member("impulse", "a small impulse", values, at=start * self.run.period)

    def excitations(self, factors: Sequence[float]) -> Iterator[Member]:
        """Yield the test with other sizes of its excitation."""
        for factor in factors:
            yield Member(
                "excitation", f"{factor:.3g} times the excitation", self.scaled(factor), factor=factor
            )

    def plants(self, count: int) -> Iterator[Member]:
        """Yield the test with errors of everything at once: specimen, actuator, sensors, delay and noise."""
        for _ in range(count):
            values: dict[str, float] = {}
            for parameters, error in (
                (self.specimen, self.policy.specimen_error), (self.actuator, self.policy.actuator_error),
            ):  # fmt: skip
                values |= self._off(parameters, error)
            for name in inserted(list(self.own), "gain"):
                values[name] = 1 + self.policy.sensor_error * self._random.uniform(-1, 1)
            early, spread = np.sort(self._random.uniform(-1, 1, 2)) * self.policy.latency_error
            values |= dict.fromkeys(inserted(list(self.own), "late"), early)
            values |= dict.fromkeys(inserted(list(self.own), "jitter"), spread - early)
            if SEED in self.own:
                values[SEED] = float(self._random.integers(2**31))
            yield Member("plant", "errors of the plant", values)

    def _off(self, parameters: Sequence[Var], error: float) -> dict[str, float]:
        """Return parameters off by at most a share of their values, each by its own.

        Coefficients of an identified process mean nothing by themselves: all of them by the same share change
        its speed, as the temperature of its oil does.
        """
        values: dict[str, float] = {}
        factors: dict[str, float] = {}
        for v in parameters:
            whose = v.name if v.quantity is not None else v.name.rpartition(".")[0]
            if whose not in factors:
                factors[whose] = 1 + error * self._random.uniform(-1, 1)
            value = self.own[v.name] * factors[whose]
            if v.range is None or value in v.range:
                values[v.name] = value
        return values

    def tunables(self, most: int) -> Iterator[Member]:
        """Yield the test with its tunable parameters at their bounds: each alone, then corners of all."""
        ends = {name: self._ends(name) for name in self._tunables()}
        alone = [
            (f"{name} at {end:.4g}", dict.fromkeys(self._ramped(name), end))
            for name, pair in ends.items()
            for end in pair
        ]
        corners = []
        if len(ends) > 1:
            every = list(itertools.islice(itertools.product(*ends.values()), 4096))
            for i in self._random.permutation(len(every))[:most]:
                together = dict(zip(ends, every[i], strict=True))
                words = ", ".join(f"{n} at {x:.4g}" for n, x in together.items())
                corners.append((words, {k: x for n, x in together.items() for k in self._ramped(n)}))
        for words, values in [*alone, *corners][:most]:
            yield Member("tunable", words, values)

    def margins(self) -> Iterator[Member]:
        """Yield the test with one thing off by the margin that it should have."""
        late = inserted(list(self.own), "late")
        if late:
            samples = max(self.policy.delay_samples, self.policy.delay_margin / self.run.period)
            for part in (0.5, 1.0):
                words = f"{1e3 * part * samples * self.run.period:.3g} ms more delay"
                yield Member("margin", words, dict.fromkeys(late, part * samples))
        gains = inserted(list(self.own), "gain")
        for factor in (self.policy.gain_margin, 1 / self.policy.gain_margin) if gains else ():
            yield Member(
                "margin", f"a measured force {factor:.3g} times as large", dict.fromkeys(gains, factor)
            )

    # ---------------------------------------------------------------- parameters

    def scaled(self, factor: float) -> dict[str, float]:
        """Return what multiplies the excitation by a factor."""
        if SCALE not in self.own:
            return {}
        value = factor * self.own[SCALE]
        return dict.fromkeys(self._ramped(SCALE), value)

    def _ramped(self, name: str) -> list[str]:
        """Return a parameter, and the state by which the tick moves towards it, if there is one."""
        both = [name] if name in self.own else []
        return [*both, *([f"{name}.now"] if f"{name}.now" in self._states else [])]

    def _tunables(self) -> list[str]:
        by_name = {v.name: v for v in self.tick.parameters}
        found = []
        for name in self.tick.tunable or ():
            if name in by_name and name not in (HOLD, *SWITCHES, *LIMITS):
                low, high = allowed(self.tick, by_name[name])
                if low < high and all(np.isfinite((low, high))):
                    found.append(name)
        return found

    def _ends(self, name: str) -> tuple[float, float]:
        return allowed(self.tick, next(v for v in self.tick.parameters if v.name == name))
