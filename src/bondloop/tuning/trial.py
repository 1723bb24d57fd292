"""One compensator, tried: its margin by the linear loop, its error by a rehearsal."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.check import Check, Place, RunningLoop, check, coupled
from bondloop.control import Compensator, Direct, Measured
from bondloop.display import brief
from bondloop.engine.analysis.spectrum import one_step, within
from bondloop.engine.codegen import Runner
from bondloop.engine.ir import Channel, Tick, Var, every
from bondloop.engine.passes import Context, without_numbers
from bondloop.errors import BondloopError
from bondloop.rehearsal import Rehearsal, steps_of, trip, why_stopped
from bondloop.safety import DISPLACEMENT_SWITCH, FORCE_SWITCH
from bondloop.substructure import indexed
from bondloop.tuning.policy import POLICY, TuningPolicy
from bondloop.tuning.task import PLAIN, open_loop_velocity, true_velocities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control import Candidate, Controller
    from bondloop.engine.codegen import Result
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
    margin
        The relative change of the actuator's response, of any phase, that makes the loop unstable: where the
        test starts, or the least that its check has found.
    noise
        Rms of the command for white noise of rms 1 on the demand and on the measured displacement; NaN where
        the controller is no compensator.
    note
        Why it was given up, or what the check says; empty where there is nothing to say.
    check
        Its whole check, where it was among the last few.
    whole
        Whether it was rehearsed at full length; otherwise its errors are those of a shorter run.
    """

    candidate: Candidate
    controller: Controller | None = None
    error: float = math.inf
    tracking: float = math.inf
    margin: float = 0.0
    noise: float = math.nan
    note: str = ""
    check: Check | None = None
    whole: bool = True

    __repr__ = brief

    @property
    def ran(self) -> bool:
        """Whether the rehearsal came to its end."""
        return math.isfinite(self.error)

    @property
    def passed(self) -> bool | None:
        """Whether it passed the check; None where it was not checked, for others are better."""
        return None if self.check is None else self.check.passed

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
            "error": self.error, "tracking": self.tracking, "margin": self.margin, "noise": self.noise,
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
        With which steps the complete structure is computed.

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
        self.test, self.seconds, self._carried, self.policy = test, seconds, carried, policy
        # What all ticks have in common keeps its numbers; those of the controllers become parameters.
        self._fixed = {way: _in_common(self.held_or_carried(way)) for way in self.ways}
        self._truth = {} if test.reference is not None else true_velocities(test, seconds, policy)
        known = list(self._truth.values()) or [open_loop_velocity(test, seconds)]
        self.velocity = max(known, key=lambda v: float(np.abs(v).max(initial=0.0)))

    @property
    def ways(self) -> tuple[bool, ...]:
        """The ways that the force can take: held, and where there is a choice, carried on."""
        return (False,) if self._carried is None else (False, True)

    def with_choice(self, carried: HybridTest | None) -> Bench:
        """Return the bench with another test to choose, whose measured force is carried on."""
        if carried is None:
            return self
        other = copy(self)
        other._carried = carried
        other._fixed = {**self._fixed, True: _in_common(carried)}
        return other

    def held_or_carried(self, carried: bool) -> HybridTest:
        """Return the test with its force held, or carried on."""
        return self._carried if carried and self._carried is not None else self.test

    def tried(self, candidate: Candidate) -> Trial:
        """Return what comes of a candidate: dismissed where the loop is unstable, rehearsed otherwise."""
        trial = Trial(candidate)
        try:
            controller = candidate.controller()
            test = self.held_or_carried(candidate.carried).replaced(controller=controller)
            trial = replace(trial, controller=controller, noise=noise_gain(controller, test.period))
            loop = RunningLoop(coupled(test))
            step = loop.at()
            if not step.stable:
                return replace(trial, note=f"unstable at {step.frequency:.3g} Hz")
            trial = replace(trial, margin=Place(loop, step).model_error.value)
            steps = steps_of(self.seconds, test.period)
            tick, *numbers = without_numbers(test.tick, self._fixed[candidate.carried])
            runner = Runner(tick, quick=True)  # only the first of a form is compiled
            runner.reset(*numbers)
            result = Rehearsal(test, steps, runner).run(steps)
        except BondloopError as error:
            return replace(trial, note=str(error))
        if not result.finished:
            return replace(trial, note=why_stopped(test.tick, result, test.remedies))
        if trip(result.time, result.channels) is not None:
            return replace(trial, note="the interlock trips")
        off, tracking = self._errors(test, result)
        if not (math.isfinite(off) and math.isfinite(tracking)):
            return replace(trial, note="nothing moves")
        return replace(trial, error=off, tracking=tracking)

    def _errors(self, test: HybridTest, result: Result) -> tuple[float, float]:
        """Return the worst error against the complete structure, and the worst of tracking."""
        channels = result.channels
        switches = [channels[n] for n in (DISPLACEMENT_SWITCH, FORCE_SWITCH) if n in channels]
        coupled = np.all([s >= 1 for s in switches], axis=0) if switches else slice(None)

        def relative(wanted: NDArray[np.float64], is_: NDArray[np.float64], nothing: float = 1e-12) -> float:
            wanted, is_ = wanted[coupled], is_[coupled]
            size = float(np.std(wanted)) if len(wanted) else 0.0
            return float(np.sqrt(np.mean((is_ - wanted) ** 2))) / size if size > nothing else math.nan

        words = ("desired.displacement", "actual.displacement")
        pairs = zip(*(indexed(w, test.interfaces) for w in words), strict=True)
        tracking = max((relative(channels[d], channels[a]) for d, a in pairs), default=math.nan)
        truths = [(channels[name], true) for name, true in self._truth.items()]
        counterparts = ((c.name, c.meaning.counterpart) for c in test.tick.channels)
        truths += [(channels[o], channels[r]) for r, o in counterparts if o in channels]
        return max((relative(true, ours) for ours, true in truths), default=tracking), tracking

    def checked(self, trial: Trial) -> Trial:
        """Return a trial with its check, and the least margin that it found."""
        assert trial.controller is not None
        test = self.held_or_carried(trial.candidate.carried)
        answer = check(test.replaced(controller=trial.controller))
        margin = trial.margin
        if answer.margins is not None and answer.margins.model_error is not None:
            margin = min(margin, answer.margins.model_error.value)
        return replace(trial, check=answer, note=answer.verdict, margin=margin)


def _in_common(test: HybridTest) -> set[str]:
    """Return the names that the ticks of all controllers have in common."""
    plain = test.replaced(controller=PLAIN)
    names = {v.name for step in every(plain.tick.steps) for v in step.writes}
    names |= {v.name for v in plain.tick.states}
    names -= {v.name for v in plain.wiring.computer.commands}
    return {n for n in names if not within(n, "controller")}


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
