"""One compensator, tried: its margin by the linear loop, its errors by rehearsals, as modelled and drawn."""

from __future__ import annotations

import math
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.check import Check, Place, RunningLoop, check, coupled
from bondloop.control import Compensator, Direct, Measured
from bondloop.display import brief
from bondloop.engine.analysis.spectrum import one_step, within
from bondloop.engine.codegen import Batch
from bondloop.engine.ir import (
    Assign,
    Channel,
    Const,
    Op,
    Tick,
    Update,
    Var,
    every,
    select,
    substitute,
    variables,
)
from bondloop.engine.passes import Context, without_numbers
from bondloop.errors import BondloopError
from bondloop.rehearsal import steps_of
from bondloop.rigs import SEED
from bondloop.safety import CAUSE, DISPLACEMENT_SWITCH, FORCE_SWITCH
from bondloop.signals import tabulated_inputs
from bondloop.substructure import indexed
from bondloop.tuning.policy import POLICY, TuningPolicy
from bondloop.tuning.task import PLAIN, open_loop_velocity, true_velocities
from bondloop.tuning.uncertain_rig import UncertainRig

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control import Candidate, Controller
    from bondloop.engine.codegen import BatchResult
    from bondloop.engine.ir import Expr
    from bondloop.hybrid import HybridTest


@dataclass(frozen=True)
class Trial:
    """What came of trying a compensator.

    Attributes
    ----------
    candidate
        Kind and settings.
    controller
        The compensator; None where it could not be made.
    error
        Rms error against the complete structure, the worst of what can be compared, as a share; the tracking
        error where there is nothing to compare with. Infinite where the run does not come to its end.
    tracking
        Rms error of the actual against the desired displacement, as a share.
    bound
        The largest error as modelled, whatever the noise: the error itself where the rig has none.
    drawn, stable
        How many rigs were drawn that differ from their model, and with how many of them the loop was stable.
    worst
        The largest error of those with which it was.
    margin
        The relative change of the actuator's response, of any phase, that makes the loop unstable: where the
        test starts, or the least that its check has found. 0 where it is not stable there.
    noise
        Rms of the command for white noise of rms 1 on the demand and on the measured displacement; NaN where
        the controller is no compensator.
    note
        Why it was given up, or what the check says; empty where there is nothing to say.
    check
        Its whole check, where it was among the last few.
    """

    candidate: Candidate
    controller: Controller | None = None
    error: float = math.inf
    tracking: float = math.inf
    bound: float = math.inf
    drawn: int = 0
    stable: int = 0
    worst: float = math.inf
    margin: float = 0.0
    noise: float = math.nan
    note: str = ""
    check: Check | None = None

    __repr__ = brief

    @property
    def ran(self) -> bool:
        """Whether the rehearsal came to its end."""
        return math.isfinite(self.error)

    @property
    def passed(self) -> bool | None:
        """Whether it passed the check; None where it was not checked, for others are better."""
        return None if self.check is None else self.check.passed

    def cost(self, policy: TuningPolicy) -> float:
        """Return the worst error with drawn rigs, with what noise of sensors makes of the command."""
        noise = 0.0 if math.isnan(self.noise) else policy.sensor_noise * self.noise
        return math.hypot(self.worst, min(noise, policy.noise_limit))

    def grade(self, policy: TuningPolicy) -> tuple[int, float]:
        """Return how good it is, the least first.

        0 and the cost, where it meets the target and stands whatever the rig may be off by; 1 and what it
        lacks of that; 2 and the error, where it does not meet the target.
        """
        if self.bound > policy.target:
            return 2, self.error
        lack = self.lack(policy)
        return (1, lack) if lack else (0, self.cost(policy))

    def lack(self, policy: TuningPolicy) -> float:
        """Return the share of drawn rigs with which it is not stable, and of the margin that it has not.

        Drawn rigs differ in few ways; an actuator may be off by as much at any frequency, with any phase. A
        loop that is not stable at rest has no such margin, and its motion decides alone.
        """
        unstable = 1 - self.stable / self.drawn if self.drawn else 0.0
        wanted = policy.errors.actuator_error
        return unstable + (1 - self.margin / wanted if 0 < self.margin < wanted else 0.0)

    def rank(self, policy: TuningPolicy) -> float:
        """Return its grade as one number."""
        level, value = self.grade(policy)
        return level + value / (1 + value) if math.isfinite(value) else math.inf

    @property
    def words(self) -> str:
        """Its settings, shortly."""
        words = [f"{n}={_shown(v)}" for n, v in self.candidate.values.items()]
        return ", ".join([*words, *(["force carried on"] if self.candidate.carried else [])])

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        return {
            "family": self.candidate.family.name, "settings": dict(self.candidate.values),
            "carried": self.candidate.carried,
            "error": self.error, "tracking": self.tracking, "drawn": self.drawn, "stable": self.stable,
            "worst": self.worst, "margin": self.margin, "noise": self.noise,
            "passed": self.passed, "note": self.note,
        }  # fmt: skip


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Bench:
    """Tries compensators on a test.

    Parameters
    ----------
    test
        With something to do.
    seconds
        Length of a rehearsal.
    carried
        The same test with its measured force carried on over the step; None where there is no such choice.
    policy
        How many rigs are drawn, how they may differ, and the steps of the complete structure.

    Attributes
    ----------
    velocity
        Of the interface that moves most, as it should be, at every sample.
    """

    def __init__(
        self,
        test: HybridTest,
        seconds: float,
        carried: HybridTest | None = None,
        policy: TuningPolicy = POLICY,
    ) -> None:
        self.test, self.seconds, self.policy = test, seconds, policy
        self._tests = {False: test} if carried is None else {False: test, True: carried}
        self.steps = steps_of(seconds, test.period)
        self._truth = {} if test.reference is not None else true_velocities(test, seconds, policy)
        known = list(self._truth.values()) or [open_loop_velocity(test, seconds)]
        self.velocity = max(known, key=lambda v: float(np.abs(v).max(initial=0.0)))
        tables = list(test.tables.values())
        inputs = tabulated_inputs(tables, self.steps, test.period) if tables else np.zeros((self.steps, 0))
        self._inputs = np.column_stack([inputs, *(true[: self.steps] for true in self._truth.values())])
        self._rigs: dict[bool, tuple[UncertainRig, set[str]]] = {}

    @property
    def ways(self) -> tuple[bool, ...]:
        """The ways that the force can take: held, and where there is a choice, carried on."""
        return tuple(self._tests)

    def with_choice(self, carried: HybridTest | None) -> Bench:
        """Return the bench with another test to choose, whose measured force is carried on."""
        other = copy(self)
        other._tests = self._tests if carried is None else {**self._tests, True: carried}
        return other

    def _uncertain(self, candidate: Candidate) -> tuple[UncertainRig, set[str]]:
        """Return the test whose rig may be off, and what the ticks of all controllers have in common.

        The latter keeps its numbers; those of the controllers become parameters, so that only the first tick
        of a form is compiled.
        """
        way = candidate.carried
        if way not in self._rigs:
            rig = UncertainRig(self._tests[way], candidate.task.process, self.policy.errors)
            self._rigs[way] = rig, _in_common(rig.test)
        return self._rigs[way]

    def tried(self, candidate: Candidate) -> Trial:
        """Return what comes of a candidate.

        Only a loop that is linear throughout and grows is dismissed unheard: what bends may stay bounded, and
        what adapts may leave where it is unstable.
        """
        trial = Trial(candidate)
        try:
            controller = candidate.controller()
            test = self._tests[candidate.carried].replaced(controller=controller)
            trial = replace(trial, controller=controller, noise=noise_gain(controller, test.period))
            loop = RunningLoop(coupled(test))
            with suppress(BondloopError):  # what cannot be linearised is rehearsed
                step = loop.at()
                if step.stable:
                    trial = replace(trial, margin=Place(loop, step).model_error.value)
                elif step.linear and not loop.adapted:
                    return replace(trial, note=f"unstable at {step.frequency:.3g} Hz")
            return self._rehearsed(trial, self.policy.lanes, seed=0, other_noise=False)
        except BondloopError as error:
            return replace(trial, note=str(error))

    def _rehearsed(self, trial: Trial, lanes: int, seed: int, *, other_noise: bool) -> Trial:
        """Return a trial with the errors of rehearsals: as modelled, with other noise, with drawn rigs.

        Noise that is the same in all lanes is computed once, which makes a search faster by far.
        """
        rig, fixed = self._uncertain(trial.candidate)
        test = rig.test.replaced(controller=trial.controller)
        measured = _Errors(test.tick, test.interfaces, list(self._truth))
        tick, first, numbers = without_numbers(measured.tick, fixed | measured.names)
        noisy = other_noise and any(v.name == SEED for v in tick.parameters)
        nominal = 1 + noisy * self.policy.repeats
        rows = np.vstack([np.tile(rig.as_modelled(), (nominal, 1)), rig.drawn(lanes - nominal, seed)])
        if noisy:
            own = next(x for v, x in tick.parameters.items() if v.name == SEED)
            rows = np.column_stack([rows, own + np.arange(lanes)])
        fixed_values = np.tile([*first.values(), *numbers.values()], (lanes, 1))
        batch = Batch(tick, [*first, *numbers, *rig.names(noisy=noisy)], wanted=measured.sums)
        result = batch.run(np.column_stack([fixed_values, rows]), self.steps, self._inputs, jobs=1)
        off, tracking = measured.read(result)
        good = (result.ends.code == 0) & (off < self.policy.lost)
        if not np.isfinite([off[0], tracking[0]]).all() or result.ends.code[0]:
            return replace(trial, note=measured.why(result, test.period))
        drawn = slice(nominal, None)
        return replace(
            trial,
            error=float(off[0]),
            tracking=float(tracking[0]),
            bound=float(np.max(off[:nominal])),
            drawn=lanes - nominal,
            stable=int(np.count_nonzero(good[drawn])),
            worst=float(np.max(off[drawn][good[drawn]], initial=off[0])),
        )

    def checked(self, trial: Trial) -> Trial:
        """Return a trial with its check, the least margin that it found, and the errors of fresh draws."""
        assert trial.controller is not None
        test = self._tests[trial.candidate.carried].replaced(controller=trial.controller)
        answer = check(test, policy=self.policy.errors)
        margin = trial.margin
        if answer.margins is not None and answer.margins.model_error is not None:
            margin = min(margin, answer.margins.model_error.value)
        if answer.passed:
            trial = self._unstable(
                self._rehearsed(trial, self.policy.promised, seed=1, other_noise=True), seed=1
            )
        return replace(trial, check=answer, note=answer.verdict, margin=margin)

    def _unstable(self, trial: Trial, seed: int) -> Trial:
        """Return a trial without the drawn rigs that make a linear loop grow, be it slowly."""
        rig, _ = self._uncertain(trial.candidate)
        loop = RunningLoop(coupled(rig.test.replaced(controller=trial.controller)))
        if loop.adapted or not loop.at().linear:
            return trial
        names = rig.names(noisy=False)
        draws = (dict(zip(names, row.tolist(), strict=True)) for row in rig.drawn(trial.drawn, seed))
        return replace(
            trial, stable=min(trial.stable, sum(loop.at(parameters=draw).stable for draw in draws))
        )


def _in_common(test: HybridTest) -> set[str]:
    """Return the names that the ticks of all controllers have in common."""
    plain = test.replaced(controller=PLAIN)
    names = {v.name for step in every(plain.tick.steps) for v in step.writes}
    names |= {v.name for v in plain.tick.states}
    names -= {v.name for v in plain.wiring.computer.commands}
    return {n for n in names if not within(n, "controller")}


class _Errors:
    """Sums that a tick keeps of its errors, while it is coupled.

    Parameters
    ----------
    tick
        Of the test.
    interfaces
        How many it has.
    truth
        Channels whose true values are further inputs of the tick.

    Attributes
    ----------
    tick
        With the sums among its states.
    names
        Of these states, and of what they are computed from.
    sums
        Of these states.
    """

    def __init__(self, tick: Tick, interfaces: int, truth: list[str]) -> None:
        channels = {c.name: c.value for c in tick.channels}
        inputs = {name: Var(f"truth[{i}]") for i, name in enumerate(truth)}
        words = ("desired.displacement", "actual.displacement")
        tracking = [
            (channels[d], channels[a]) for d, a in zip(*(indexed(w, interfaces) for w in words), strict=True)
        ]
        off: list[tuple[Expr, Expr]] = [(true, channels[name]) for name, true in inputs.items()]
        counterparts = ((c.value, c.meaning.counterpart) for c in tick.channels)
        off += [(value, channels[ours]) for value, ours in counterparts if ours in channels]
        self._pairs = [*tracking, *off]
        self._tracking = len(tracking)
        switches = [channels[n] for n in (DISPLACEMENT_SWITCH, FORCE_SWITCH) if n in channels]
        inside: Expr = Const(1.0)
        for switch in switches:
            inside = inside * Op("ge", (switch, Const(1.0)))
        terms: list[Expr] = [inside, Op("ne", (channels.get(CAUSE, Const(0.0)), Const(0.0)))]
        for wanted, actual in self._pairs:
            e = actual - wanted
            terms += [select(inside, term, Const(0.0)) for term in (wanted, wanted * wanted, e * e)]
        sums = [Var(f"error.sum[{i}]") for i in range(len(terms))]
        # A state in a channel stands for its value at the beginning of the tick.
        early: dict[Var, Expr] = {
            v: Var(f"error.{v.name}") for term in terms for v in variables(term) if v in tick.states
        }
        update = Update(tuple((s, s + substitute(term, early)) for s, term in zip(sums, terms, strict=True)))
        self.tick = replace(
            tick,
            inputs=(*tick.inputs, *inputs.values()),
            states={**tick.states, **dict.fromkeys(sums, 0.0)},
            steps=(
                *(Assign(copied, v) for v, copied in early.items() if isinstance(copied, Var)),
                *tick.steps,
                update,
            ),
        )
        self.sums = [v.name for v in sums]
        self.names = {*self.sums, *(f"error.{v.name}" for v in early)}

    def read(self, result: BatchResult) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the worst error against the truth, and that of tracking, of each lane; NaN where none is."""
        samples, tripped, *sums = (result[name] for name in self.sums)
        errors = []
        with np.errstate(all="ignore"):
            for wanted, square, off in zip(sums[::3], sums[1::3], sums[2::3], strict=True):
                size = np.sqrt(np.maximum(square / samples - (wanted / samples) ** 2, 0.0))
                errors.append(np.where(size > 1e-12, np.sqrt(off / samples) / size, np.nan))
            tracking = np.fmax.reduce(errors[: self._tracking])  # an interface that does not move has none
            off = np.fmax.reduce(errors[self._tracking :]) if len(errors) > self._tracking else tracking
        return np.where(tripped > 0, np.inf, off), tracking

    def why(self, result: BatchResult, period: float) -> str:
        """Return why the first lane came to nothing."""
        code, tick, channel = (int(column[0]) for column in result.ends)
        if not code:
            return "the interlock trips" if result[self.sums[1]][0] else "nothing moves"
        where = f"'{self.tick.channels[channel].name}'" if channel >= 0 else "an algebraic loop"
        return f"{where} leaves its bounds or diverges at {tick * period:.3g} s"


def noise_gain(controller: Controller, period: float, points: int = 200) -> float:
    """Return the rms of a command for white noise of rms 1 on the demand and on the measured displacement.

    What adapts is held at its first values. It is the root of the mean square gain up to half the sample
    rate (Parseval).

    Parameters
    ----------
    controller
        A compensator; of other controllers nothing can be said without their test, and NaN is returned.
    period
        Seconds between samples.
    points
        Frequencies, up to half the sample rate, at which the gain is taken.

    Examples
    --------
    >>> from bondloop.control import Direct, LeadCompensation
    >>> noise_gain(Direct(), 1e-3), 4.5 < noise_gain(LeadCompensation(0.01, ratio=5), 1e-3) < 5.0
    (1.0, True)
    """
    if isinstance(controller, Direct):
        return 1.0
    if not isinstance(controller, Compensator):
        return math.nan
    demand, motion, count = Var("demand"), Var("motion"), Var("k")
    try:
        applied = controller.compensate(
            demand, Measured(0.0, motion, 0.0), Context("controller", count, period)
        )
        tick = Tick(
            "compensator", period, Var("t"), count, (demand, motion), applied.states, applied.parameters,
            tuple(applied.steps), (Channel("command", applied.value),),
        )  # fmt: skip
        probes = {"demand": demand, "motion": motion}
        step = one_step(tick, probes=probes, outputs={"command": applied.value}, frozen=applied.adapted)
        f = (np.arange(points) + 0.5) / points / (2 * period)
        return float(np.sqrt(np.mean(np.sum(np.abs(step.response(f)[:, 0]) ** 2, axis=1))))
    except BondloopError:
        return math.nan
