"""The ensemble: some 64 rehearsals of a test, and what they say of it.

Growth is seen in twins: rehearsals with the same noise as the test as it is, and a small impulse. With V the
velocities and forces at the interfaces, each over its own rms in the run, the distance of a twin is

    d(t) = |V_twin(t) - V(t)| / sqrt(number of channels)

and the slope of its logarithm over time is an exponent of growth, one a twin. Twins with the same noise are
right for growth and wrong for presence: in two runs of one limit cycle the difference says nothing. So what
sustains itself is seen in the raw motion of every member after the excitation has been held, against the
run's own motion and against what the same noise does where the force loop is open.

References
----------
A. Wolf, J. B. Swift, H. L. Swinney, J. A. Vastano, Determining Lyapunov exponents from a time series,
Physica D 16, 1985, doi:10.1016/0167-2789(85)90011-9.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bondloop.check.ensemble.disturbed_rig import disturbable, inserted
from bondloop.check.ensemble.members import Drawing, Member, Run
from bondloop.check.ensemble.rehearsals import Rehearsals, Rehearsed, Sizes, level_of
from bondloop.check.ensemble.share import Share
from bondloop.display import brief
from bondloop.engine.ir import Role, Var

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bondloop.check.dry_run import DryRun
    from bondloop.check.ensemble.members import Kind
    from bondloop.check.policy import CheckPolicy
    from bondloop.hybrid import Checkable

    Samples = NDArray[np.float64]


class Twin(NamedTuple):
    """What became of a small impulse.

    Attributes
    ----------
    at
        When it came, in s.
    first, last
        Distance soon after it, and the largest later, against the run's own motion.
    when
        When that was, in s.
    end
        Median distance in the last quarter of the time after it.
    exponent
        Rate of growth in 1/s from soon after it to the end of the run.
    times, distances
        All of it, from when it came: instants in s, and distances.
    """

    at: float
    first: float
    last: float
    when: float
    end: float
    exponent: float
    times: Sequence[float] = ()
    distances: Sequence[float] = ()


@dataclass(frozen=True)
class Excitations:
    """How much excitation a test stands.

    Attributes
    ----------
    stands
        The largest factor up to which every one that was tried stands; 0 where none does.
    breaks
        The least factor above it that does not; infinite where all stand.
    why
        What breaks first; empty where nothing does.
    """

    stands: float
    breaks: float
    why: str


@dataclass(frozen=True)
class Ensemble:
    """Rehearsals of a test, and what became of each.

    Attributes
    ----------
    members
        What each has otherwise.
    ran
        What became of them.
    twins
        What became of small impulses.
    policy
        The limits in force.
    frequency
        Mean frequency of the run's motion, in Hz.
    rest
        Level of each member after the excitation has been held, against the run's own motion.
    sustained
        Whether that does not die away, and noise alone does not explain it.
    noise
        Level of what noise alone moves, with the force loop open; NaN where that could not be tried.
    beyond
        Why a member left its limits, asked too much of an actuator, or does not come to rest.
    halted
        Largest level of a motion that sustains itself where the excitation is held in full motion; 0 where
        none does.
    exponents
        Mean rate of growth of small disturbances in 1/s, and the ends of its interval of confidence.
    left_out
        Why there are fewer members than the policy has, or none; empty where there are as many.
    seconds
        How long it took.
    limited
        Channels that have a limit.
    """

    members: tuple[Member, ...] = ()
    ran: Rehearsed | None = field(default=None, repr=False)
    twins: tuple[Twin, ...] = ()
    policy: CheckPolicy | None = field(default=None, repr=False)
    frequency: float = math.nan
    rest: tuple[float, ...] = ()
    sustained: tuple[bool, ...] = ()
    noise: float = math.nan
    beyond: tuple[str, ...] = ()
    halted: float = 0.0
    left_out: str = ""
    seconds: float = 0.0
    limited: tuple[str, ...] = field(default=(), repr=False)

    __repr__ = brief

    def __bool__(self) -> bool:
        return bool(self.members)

    def of(self, *kinds: Kind) -> list[int]:
        """Return the numbers of the members of some kinds."""
        return [i for i, m in enumerate(self.members) if m.kind in kinds]

    def share(self, *kinds: Kind) -> Share:
        """Return how many of some kinds stand: within their limits, and at rest afterwards."""
        assert self.policy is not None
        numbers = self.of(*kinds)
        return Share(sum(not self.beyond[i] for i in numbers), len(numbers), self.policy.confidence)

    def fates(self, *kinds: Kind) -> list[tuple[Member, str]]:
        """Return the members of some kinds that do not stand, each with why."""
        return [(self.members[i], self.beyond[i]) for i in self.of(*kinds) if self.beyond[i]]

    @property
    def growing(self) -> list[Twin]:
        """The twins whose distance grows, if only for a while: an impact that comes a little later is one."""
        return [t for t in self.twins if self._grown(t, t.last)]

    @property
    def parted(self) -> list[Twin]:
        """The twins whose distance has grown, and stays."""
        return [t for t in self.twins if self._grown(t, t.end) or math.isinf(t.last)]

    def _grown(self, twin: Twin, distance: float) -> bool:
        assert self.policy is not None
        return distance > self.policy.growth and distance > self.policy.hidden * twin.first

    @property
    def exponents(self) -> tuple[float, float, float]:
        """Mean exponent of the twins, and the ends of its interval of confidence; NaN for fewer than two."""
        values = np.array([t.exponent for t in self.twins if math.isfinite(t.exponent)])
        if len(values) < 2:
            return math.nan, math.nan, math.nan
        from scipy.special import stdtrit

        assert self.policy is not None
        mean = float(values.mean())
        spread = float(values.std(ddof=1)) / math.sqrt(len(values))
        half = float(stdtrit(len(values) - 1, (1 + self.policy.confidence) / 2)) * spread
        return mean, mean - half, mean + half

    @property
    def excitations(self) -> Excitations:
        """How much excitation the test stands."""
        tried = sorted((self.members[i].factor, self.beyond[i]) for i in self.of("nominal", "excitation"))
        stands, larger = 0.0, [f for f in tried if f[0] >= 1]
        for factor, why in larger:
            if why:
                return Excitations(stands, factor, why)
            stands = factor
        return Excitations(stands, math.inf, "")

    def errors(self, *kinds: Kind) -> Samples:
        """Return rms errors of following and of measured forces of some kinds, (members, pairs)."""
        assert self.ran is not None
        return self.ran.errors[self.of(*kinds)]

    @property
    def nearest(self) -> tuple[str, float]:
        """The limit that is nearest in the test as it is, with the share of it that is used."""
        if self.ran is None or not self.ran.use.size:
            return "", 0.0
        use = self.ran.use[0]
        return self.limited[int(np.argmax(use))], float(use.max())


def ensemble(
    test: Checkable,
    ran: DryRun,
    policy: CheckPolicy,
    *,
    linear: bool = False,
    sizes: Sizes | None = None,
    most_seconds: float = 3.0,
    seed: int = 0,
) -> Ensemble:
    """Rehearse a test many times, disturbed and with errors of everything.

    Parameters
    ----------
    test
        The test.
    ran
        Its dry run, which has gone to its end.
    policy
        The limits in force.
    linear
        Whether the loop is linear, so that its eigenvalues say whether it comes to rest.
    sizes
        In how many parts it is looked at, and for how long.
    most_seconds
        About how long it may take; of a large test there are fewer members then.
    seed
        Of the draws.
    """
    return _Making(test, ran, policy, sizes or Sizes(), seed, linear=linear).made(most_seconds)


class _Making:
    """An ensemble while it is made."""

    def __init__(
        self, test: Checkable, ran: DryRun, policy: CheckPolicy, sizes: Sizes, seed: int, *, linear: bool
    ) -> None:
        self.linear = linear
        self.test, self.ran, self.policy, self.sizes = test, ran, policy, sizes
        steps = max(2, round(ran.seconds / test.period))
        samples = math.ceil(
            max(policy.delay_samples, policy.delay_margin / test.period, policy.latency_error)
        )
        self.samples = min(samples, 32) + 1
        changed = disturbable(test.held((steps - 1) * test.period), self.samples)
        force = tuple(ran.peaks[n] or 0.01 * ran.bounds.get(n, 0.0) for n in _forces(ran)) or (0.0,)
        run = Run(steps, test.period, _calls(test), force, ran.frequency)
        self.drawing = Drawing(changed.tick, run, policy, _sizes_of_states(ran, changed), seed)
        self.only_tables = all(s.expression(Var("t")) is None for s in test.signals)
        self.rehearsals = self._rehearsals(changed, steps)
        self.members: list[Member] = []
        self.found: Rehearsed | None = None
        self.own: Samples | None = None
        self.halted = 0.0

    def _rehearsals(self, changed: Checkable, steps: int) -> Rehearsals:
        """Return a test, changed, ready to be rehearsed for so many ticks."""
        ran = self.ran
        return Rehearsals(
            changed.tick, changed.tables, self.drawing.columns, ran.bounds, steps, ran.frequency,
            self.policy.observed, self.sizes,
        )  # fmt: skip

    def made(self, most_seconds: float) -> Ensemble:
        """Return it."""
        policy, draw = self.policy, self.drawing
        scales = [policy.excitation_margin, 1.5, 0.5] if draw.scaled(1.0) else []
        first = [draw.nominal(), draw.quiet(), *draw.impulses(4), *draw.excitations(scales)]
        first += list(draw.plants(max(self.sizes.first - len(first), 0)))
        self._rehearse(first)
        so_far = self._ensemble()
        each = self.rehearsals.seconds / len(first)
        bad = sum(bool(b) for b in so_far.beyond)
        if so_far.beyond[0] or bad > 0.5 * len(first):
            return so_far  # that is clear
        room = min(policy.ensemble - len(first), int(most_seconds / max(each, 1e-9)) - len(first))
        more = [*draw.margins(), *draw.tunables(room // 4)]
        if scales:
            more += draw.excitations([0.75, 1.1, 2.0, 3.0])
        more += draw.impulses(max((room - len(more)) // 4, 0))
        more += draw.plants(max(room - len(more), 0))
        left_out = ""
        if room < policy.ensemble - len(first):
            left_out = f"{policy.ensemble} rehearsals would take {each * policy.ensemble:.2g} s"
        if more[: max(room, 0)]:
            self._rehearse(more[: max(room, 0)])
        if scales:
            self._close_in()
            if not self.linear:
                self._halt()
        return replace(self._ensemble(), left_out=left_out)

    def _halt(self) -> None:
        """Hold the excitation where the motion is largest, and see whether the test comes to rest there.

        Where an excitation fades out, friction, play or a converter's step may hold what they would not hold
        elsewhere. Other sizes of the excitation end at other places.
        """
        far = (int(np.argmax(self.ran.windows.max(axis=1))) + 1) * self.ran.window
        steps = min(max(round(far / self.test.period), 16), self.rehearsals.steps)
        halted = disturbable(self.test.held((steps - 1) * self.test.period), self.samples)
        if self.only_tables:  # the same statements, with other rows
            rehearsals = self.rehearsals.held_otherwise(halted.tables, steps)
        else:
            rehearsals = self._rehearsals(halted, steps)
        factors = np.linspace(0.5, 1.2, 8).tolist()
        found = rehearsals.run(
            [self.drawing.row(m) for m in self.drawing.excitations(factors)],
            self.own,
            until=self.policy.sustained,
        )
        now, lasting = self._left(found)
        self.halted = float(np.max(now[lasting], initial=0.0))

    def _left(self, found: Rehearsed) -> tuple[Samples, NDArray[np.bool_]]:
        """Return what is left after each rehearsal, and whether it neither dies away nor is noise."""
        assert self.own is not None
        scale = np.where(self.own > 0, self.own, np.inf)
        now, before = (level_of(x, scale) for x in found.rest)
        noise = 0.0
        if inserted(list(self.drawing.own), "closed") and self.found is not None:
            noise = float(level_of(self.found.rest[0, 1:2], scale)[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            # Of a linear loop only what grows: what stays is forced, as by a drift.
            lasting = now > (1.02 if self.linear else self.sizes.steady) * before
        return now, lasting & (now > max(self.policy.sustained, 2 * noise))

    def _close_in(self) -> None:
        """Rehearse excitations between the largest that stands and the least that does not."""
        found = self._ensemble().excitations
        if found.why and found.stands >= 1:
            factors = np.geomspace(found.stands, found.breaks, 10)[1:-1]
            self._rehearse(list(self.drawing.excitations(factors.tolist())))

    def _rehearse(self, members: Sequence[Member]) -> None:
        ran = self.rehearsals.run([self.drawing.row(m) for m in members], self.own)
        if self.own is None:
            self.own = self._scale(ran.levels[0])
        self.members += members
        self.found = ran if self.found is None else self.found.joined(ran)

    def _scale(self, levels: Samples) -> Samples:
        """Return the sizes of the run's own motions; of a channel that hardly moves, a part of what it may.

        Desired and actual motion are measured by the larger: an actuator that has not yet learnt to follow
        has no motion of its own to be measured by.
        """
        moving, meanings = self.rehearsals.measured.moving, self.ran.meanings
        own = np.array(levels)
        for i, name in enumerate(moving):
            m = meanings[name]
            alike = [
                j for j, n in enumerate(moving)
                if meanings[n].kind == m.kind and meanings[n].interface == m.interface
            ]  # fmt: skip
            own[i] = max(levels[j] for j in alike)
            own[i] = max(own[i], 1e-3 * self._allowed(m.kind, m.interface))
        return np.where(np.isfinite(own), own, 0.0)

    def _allowed(self, kind: str, interface: int | None) -> float:
        """Return how large a velocity or a force may be by the limits; 0 where there are none."""
        limits: dict[str, float] = {}
        for name, bound in self.ran.bounds.items():
            m = self.ran.meanings.get(name)
            if m is not None and m.interface == interface and np.isfinite(bound):
                limits[m.kind] = min(bound, limits.get(m.kind, math.inf))
        if kind == "flow" and "flow" not in limits and "displacement" in limits:
            return limits["displacement"] * 2 * math.pi * self.ran.frequency
        return limits.get(kind, 0.0)

    # ---------------------------------------------------------------- what they say

    def _ensemble(self) -> Ensemble:
        found, members, policy = self.found, self.members, self.policy
        assert found is not None
        assert self.own is not None
        scale = np.where(self.own > 0, self.own, np.inf)
        now, sustained = self._left(found)
        noise = float(now[1]) if inserted(list(self.drawing.own), "closed") else math.nan
        beyond = [self._beyond(i, bool(sustained[i])) for i in range(len(members))]
        return Ensemble(
            tuple(members), found, tuple(self._twins(scale)), policy, self.ran.frequency,
            tuple(now.tolist()), tuple(sustained.tolist()), noise, tuple(beyond), self.halted,
            seconds=self.rehearsals.seconds, limited=self.rehearsals.measured.limited,
        )  # fmt: skip

    def _beyond(self, i: int, sustained: bool) -> str:
        """Say why a member does not stand; nothing where it does."""
        found = self.found
        assert found is not None
        if self.members[i].kind == "quiet":
            return ""
        if found.stopped[i] and not (
            self.linear and found.when[i] > self.rehearsals.steps * self.test.period
        ):
            return found.stopped[i]
        for name, share in zip(self.rehearsals.measured.limited, found.use[i], strict=True):
            if name in self.test.capacities and share > 1 + self.policy.actuator_error:
                return f"what the actuator can do ({name})"
        return "motion that sustains itself" if sustained else ""

    def _twins(self, scale: Samples) -> Iterable[Twin]:
        """Yield what became of each impulse."""
        found = self.found
        assert found is not None
        settle = min(0.75 / self.ran.frequency, 0.125 * self.ran.seconds)
        for i, member in enumerate(self.members):
            if member.kind != "impulse":
                continue
            with np.errstate(invalid="ignore", over="ignore"):
                apart = np.sqrt(
                    (((found.values[:, i] - found.values[:, 0]) / scale) ** 2).sum(axis=1)
                    / max(np.isfinite(scale).sum(), 1)
                )
            apart = np.where(np.isfinite(apart), apart, np.inf)
            if found.stopped[i] and not found.stopped[0]:
                apart = np.where(found.times >= found.when[i], np.inf, apart)
            after = np.flatnonzero(found.times > member.at)
            if len(after) < 4:
                continue
            soon = after[found.times[after] <= max(member.at + settle, found.times[after[1]])]
            later = after[len(soon) :]
            if not len(later):
                continue
            first = float(apart[soon].max())
            worst = later[int(np.argmax(apart[later]))]
            exponent = math.nan
            along = after[len(soon) - 1 :]
            logs = np.log(np.maximum(apart[along], 1e-12))
            if len(along) > 3 and np.isfinite(logs).all():
                exponent = float(np.polyfit(found.times[along], logs, 1)[0])
            yield Twin(
                member.at, first, float(apart[worst]), float(found.times[worst]),
                float(np.median(apart[later[-max(1, len(later) // 4) :]])), exponent,
                tuple(found.times[after].tolist()), tuple(apart[after].tolist()),
            )  # fmt: skip


def _forces(ran: DryRun) -> list[str]:
    return ran.channels_of(Role.ACTUAL, kind="effort")


def _calls(test: Checkable) -> int:
    """Return how often a test reads its sensors in a tick."""
    return int(getattr(getattr(test, "scheme", None), "calls", 1))


def _sizes_of_states(ran: DryRun, test: Checkable) -> Mapping[str, float]:
    """Return the rms of the states of the numerical half along the run, where they move."""
    if not ran.points:
        return {}
    names = [v.name for v in test.tick.states if v.name.startswith("numerical.")]
    rows = np.array([[p.states.get(n, 0.0) for n in names] for p in ran.points])
    rms = np.sqrt(np.mean(rows**2, axis=0))
    return {n: float(x) for n, x in zip(names, rms, strict=True) if x > 0 and np.isfinite(x)}
