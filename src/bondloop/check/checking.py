"""The check before a test: it is built, linearised as it runs, rehearsed dry and disturbed, and judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from bondloop.check.disturbance import disturbed
from bondloop.check.dry_run import DryRun, dry_run
from bondloop.check.finding import LEVELS, UNBUILT, Finding
from bondloop.check.free_motion import AfterRun, sensible_knock
from bondloop.check.held_command import held_command_notes
from bondloop.check.hysteresis import elastic_slopes, turning_points
from bondloop.check.lags import away_from_origin, closed_loop, lags, structure, unstable
from bondloop.check.linear_run import HEAVY, linear_run
from bondloop.check.margins import Margins, Place, margins
from bondloop.check.open_switch import uncoupled
from bondloop.check.passivity import passivity_notes
from bondloop.check.policy import DEFAULT, CheckPolicy
from bondloop.check.prediction_notes import prediction_notes
from bondloop.check.regimes import Regime, other_modes, regimes
from bondloop.check.repeated_run import repetitions
from bondloop.check.rules import accepted, findings, rule_named
from bondloop.check.running_loop import RunningLoop, coupled
from bondloop.display import brief, folded, notebook, paragraph, preformatted, table, with_progress
from bondloop.engine.data import POSITIVE
from bondloop.engine.ir import statements
from bondloop.errors import BondloopError, InputError
from bondloop.rehearsal import Rehearsal, steps_of
from bondloop.rigs import MEASURED
from bondloop.substructure import Assumptions, check_assumptions

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from bondloop.check.finding import Level
    from bondloop.check.lags import Lag
    from bondloop.check.loop_curves import Curves
    from bondloop.check.suggestion import Suggestion, SuggestionPolicy
    from bondloop.engine.analysis.spectrum import OneStep
    from bondloop.hybrid import Checkable, HybridTest


INSTANTS = 9
"""Instants of the dry run at which a loop that is not linear is linearised, besides the extreme ones."""

SHORTEST = 10
"""Samples below which a check says nothing."""

LARGE = 600
"""States beyond which the loop is not explained by its poles without sampling."""

LONG = 50_000
"""Ticks of a test that is long enough by itself to show whether a controller holds what it has learnt."""

GENTLE, SLIGHT = 0.05, 0.001
"""Share of the knock for a controller that adapts; and for gains that are products of measured motions (MCS),
which take a blow a thousand times harder than the structure does."""

ASIDE = (0.06, 1.5, -1.5)
"""Knocks that come by the excitation instead of the interfaces, and leave the test to rest elsewhere, as it
would if it ended at another instant: what is at rest here may not be beside a step of a converter, or where a
specimen is stiffer."""

ROUGH = 0.05
"""Difference between a measured force and the force, against the force, from which a converter is coarse."""

OTHER = 1.2
"""Size of a second knock, from the other side, against the first."""

VERDICTS: dict[Level, str] = {
    "run": "Run it", "care": "Run it with care", "vain": "It can be run, but is not worth running",
    "stop": "Do not run this test on a rig",
}  # fmt: skip


@dataclass(frozen=True)
class Check:
    """Whether this cut, this actuator and this controller may be run, with reasons.

    Attributes
    ----------
    findings
        All that speaks for or against it, in words with a level each; the worst decides.
    assumptions
        The five assumptions of Gawthrop 2005; None where the test could not be built.
    step
        One step of the test as it will run, sampling, hold and latency included, linearised where it starts.
    regimes
        The same in each regime of a loop that is not linear, the least stable first.
    unvisited
        The same in those modes of parts that switch (stops, clutches) that the dry run did not visit.
    dry_run
        The rehearsal of the whole test; None where it could not be built.
    margins
        Distances from the borders of stability; None where the loop is not stable.
    curves
        Open loop and tracking over frequency; None where the coupling is continuous.
    poles, lags, own
        Poles of the loop without sampling in rad/s, the effect of each transfer system's lag, and unstable
        poles that the structure has in one piece: they explain. Empty where they do not apply.
    unbounded
        Whether the structure is linear, so that nothing in it bounds what its unstable poles do.
    inverts
        Whether the controller inverts the actuator, so that the assumptions matter.
    notes
        What is worth knowing and speaks neither for nor against.
    seconds
        Length of the run that it is for.
    stepped
        Whether the rig waits for each step of the scheme: a pseudo-dynamic test.
    fault
        Why the test cannot be built; empty where it can.
    opaque
        Parts without equations, ``"controller"``, ``"numerical"`` or ``"physical"``, with what each is.
    open_switch
        How the test leaves its limits with the force switch open; empty where it does not.
    policy
        The limits in force.
    acceptances
        Reasons for which the laboratory accepts what rules find, by their names.
    name
        Of the test.
    test
        What was checked: `suggest` changes it. It is no part of the outcome.
    """

    findings: tuple[Finding, ...] = ()
    assumptions: Assumptions | None = None
    step: OneStep | None = None
    regimes: tuple[Regime, ...] = ()
    unvisited: tuple[Regime, ...] = ()
    dry_run: DryRun | None = None
    margins: Margins | None = None
    curves: Curves | None = None
    poles: tuple[complex, ...] = ()
    lags: tuple[Lag, ...] = ()
    own: tuple[complex, ...] = ()
    unbounded: bool = False
    notes: tuple[str, ...] = ()
    inverts: bool = False
    seconds: float = 0.0
    stepped: bool = False
    fault: str = ""
    opaque: Mapping[str, str] = field(default_factory=dict)
    open_switch: str = ""
    policy: CheckPolicy = DEFAULT
    acceptances: Mapping[str, str] = field(default_factory=dict)
    name: str = field(default="test", compare=False)
    test: Checkable | None = field(default=None, compare=False, repr=False)

    __repr__ = brief

    @property
    def steps(self) -> list[OneStep]:
        """One step where the test starts, where it can be linearised there, and one in each regime."""
        return [s for s in (self.step, *(r.step for r in self.regimes)) if s is not None]

    @cached_property
    def level(self) -> Level:
        """``"run"``, ``"care"``, ``"vain"`` or ``"stop"``: the worst of what nobody has accepted."""
        return max((f.level for f in self.findings if f.open), key=LEVELS.index, default="run")

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against running, and the result would be worth it; see `level` for care."""
        return self.level in ("run", "care")

    @property
    def limited(self) -> bool:
        """Whether less excitation would help: all that speaks against the test is a limit in its way."""
        return all(rule_named(f.rule).limit for f in self.findings if f.open and f.level == "stop")

    @property
    def built(self) -> bool:
        """Whether the test could be built; what could not can be run by nobody, whatever they force."""
        return all(f.rule != UNBUILT for f in self.findings)

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that speaks against running, in words."""
        return tuple(f.text for f in self.findings if f.open and f.level in ("stop", "vain"))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is near, or not as one would wish, in words."""
        return tuple(f.text for f in self.findings if f.open and f.level == "care")

    @property
    def verdict(self) -> str:
        """The outcome in one sentence."""
        why = "; ".join(dict.fromkeys(f.short for f in self.findings if f.open and f.level == self.level))
        rules = ", ".join(dict.fromkeys(f.rule for f in self.findings if not f.open))
        verdict = f"{VERDICTS[self.level]}: {why}" if why else VERDICTS[self.level]
        return f"{verdict} (accepted: {rules})." if rules else f"{verdict}."

    def judged(self, test: Checkable) -> Check:
        """Return it with what the rules find in its evidence.

        Parameters
        ----------
        test
            The test.
        """
        return replace(self, findings=findings(self, test, self.policy)).accepting(self.acceptances)

    def accepting(self, reasons: Mapping[str, str]) -> Check:
        """Return it with findings accepted: they stay in the list and no longer decide.

        Parameters
        ----------
        reasons
            Why each is accepted, by the name of its rule: ``{"BL302": "delay measured on the rig"}``.
        """
        found = accepted(self.findings, reasons)
        return replace(self, findings=found, acceptances={**self.acceptances, **reasons})

    def __str__(self) -> str:
        from bondloop.check.check_text import check_text

        return check_text(self)

    def _repr_html_(self) -> str:
        words = {"stop": "speaks against it", "vain": "worth nothing", "care": "care", "run": "fine"}
        rows = [
            (f.rule, words[f.level] if f.open else f"accepted: {f.accepted}", f.text) for f in self.findings
        ]
        return notebook(
            f"Check of {self.name}",
            [
                paragraph(self.verdict), table(("rule", "", ""), rows) if rows else "",
                folded("All of it", preformatted(str(self))),
            ],
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        from bondloop.check.check_text import check_dict

        return check_dict(self)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw open loop with margins, predicted tracking, eigenvalues of one step and dry run.

        Parameters
        ----------
        path
            Where to save the figure, if anywhere.
        """
        from bondloop.check.check_figure import draw_check

        return draw_check(self, path)

    def suggest(self, policy: SuggestionPolicy | None = None) -> Suggestion:
        """Search for a change of the test with which it may be run, among what a laboratory can do.

        Parameters
        ----------
        policy
            How far the search goes; `SuggestionPolicy` as it is unless given.

        Examples
        --------
        >>> from bondloop.papers import gawthrop_two_actuators
        >>> answer = gawthrop_two_actuators.test(controller="direct").check(2)
        >>> answer.passed, answer.suggest().proposed.kind
        (False, 'compensator')
        """
        from bondloop.check.suggestion_search import suggestion

        checking = partial(check, accept=self.acceptances, policy=self.policy)
        return suggestion(self, checking, policy)


@with_progress("checking the test")
def check(
    test: Checkable,
    seconds: float | str | None = None,
    *,
    accept: Mapping[str, str] | None = None,
    policy: CheckPolicy = DEFAULT,
) -> Check:
    """Analyse a test before anything moves.

    Parameters
    ----------
    test
        The test.
    seconds
        The length of the run it is meant for, or text, ``"2 min"``: that of the excitation where none is
        given, or 10 s.
    accept
        Findings that the laboratory accepts: reasons by the names of rules, ``{"BL302": "measured"}``.
    policy
        The limits in force.
    """
    accepted((), accept or {})  # refused before anything is computed
    if seconds is not None:
        seconds = POSITIVE.check(seconds, "seconds", "s")
        if seconds < SHORTEST * test.period:
            raise InputError(
                f"a check of {seconds:g} s sees {seconds / test.period:.2g} samples, which is "
                "nothing; give it the "
                "length of the run it is meant for"
            )
    try:
        _ = test.tick  # what cannot be built cannot run
    except BondloopError as error:
        return _unbuilt(test, str(error))
    except Exception as error:  # noqa: BLE001 - a law of the user's may raise anything
        return _unbuilt(test, f"{type(error).__name__}: {error}")
    steps_of(seconds or test.length, test.period)
    try:
        answer = test.analysed(seconds or test.length, policy=policy)
    except BondloopError as error:
        return _unbuilt(test, str(error))
    return replace(answer.accepting(accept or {}), test=test)


def _unbuilt(test: Checkable, why: str) -> Check:
    """Return the check of a test that cannot even be built."""
    return Check(fault=why, name=test.name, test=test).judged(test)


def checked_hybrid(test: HybridTest, seconds: float, policy: CheckPolicy = DEFAULT) -> Check:
    """Analyse a hybrid test that can be built."""
    notes = [*_still_sensors(test), *passivity_notes(test), *prediction_notes(test)]
    opaque = _opaque(test)
    if opaque:
        return _dry_only(test, seconds, notes, opaque, policy)
    closed = coupled(test)
    if closed.switches is not None:
        notes.append("the loop is analysed with both switches closed")
    loop = RunningLoop(closed)
    if not test.feedback:
        notes.append("the measured force is not fed back; there is no loop to be unstable")
    step: OneStep | None = None
    try:
        step = loop.at()
        _ = step.spectrum
    except BondloopError as error:
        notes.append(f"the loop cannot be linearised where it starts ({error}); the dry run alone decides")
        step = None
    inverts = test.controller.inverts
    so_far = Check(
        assumptions=_assumptions(test), step=step, notes=tuple(notes), inverts=inverts, seconds=seconds,
        policy=policy, name=test.name,
    )  # fmt: skip
    so_far = _explained(rehearsed(so_far, test, loop, seconds), closed)
    so_far = _measured(so_far, loop)
    so_far = replace(so_far, open_switch=uncoupled(test, seconds, so_far.dry_run)).judged(test)
    return _held(so_far, test)


def _dry_only(
    test: HybridTest, seconds: float, notes: list[str], opaque: Mapping[str, str], policy: CheckPolicy
) -> Check:
    """Rehearse a test of which a part cannot be looked into."""
    ran, _ = dry_run(test, seconds)
    so_far = Check(
        dry_run=ran, assumptions=_assumptions(test), notes=tuple(notes), seconds=seconds, opaque=opaque,
        open_switch=uncoupled(test, seconds, ran), policy=policy, name=test.name,
    )  # fmt: skip
    return _held(so_far.judged(test), test)


def _held(so_far: Check, test: HybridTest) -> Check:
    """Add what the hold of the command does to a damper; a loop that rattles jumps for other reasons."""
    notes = held_command_notes(test, so_far.dry_run) if so_far.level != "stop" else []
    return replace(so_far, notes=(*so_far.notes, *notes))


def _opaque(test: HybridTest) -> dict[str, str]:
    """Return the parts of a test that can be rehearsed, and nothing else, with what each is."""
    parts = {"controller": test.controller, "numerical": test.numerical, "physical": test.rig.physical}
    return {word: name for word, part in parts.items() if (name := getattr(part, "opaque", ""))}


def _measured(so_far: Check, loop: RunningLoop) -> Check:
    """Add responses and margins.

    Of a loop that is not linear, responses are those of its most delicate regime: of one that is unstable, or
    else of the one that stands the least error of an actuator. The slowest to come to rest may be far from
    any border. Every margin is the smallest that it has in any regime.
    """
    if so_far.step is None:
        return so_far
    places = [Place(loop, so_far.step, where="as it starts" if so_far.regimes else "")]
    places += [Place(loop, r.step, r.point, r.words or f"as at t = {r.time:.3g} s") for r in so_far.regimes]
    loose = [p for p in places if not p.step.stable]
    if loose:
        worst = max(loose, key=lambda p: p.step.growth)
        return replace(so_far, curves=worst.curves)
    delicate = min(places, key=lambda p: p.model_error.value)
    return replace(so_far, curves=delicate.curves, margins=margins(places))


def rehearsed(so_far: Check, test: Checkable, loop: RunningLoop, seconds: float) -> Check:
    """Add the dry run with its knocks and, for a loop that is not linear, its regimes and free motion.

    Parameters
    ----------
    so_far
        With one step where the test starts.
    test, loop
        The test, and the loop that is analysed.
    seconds
        Length of the run that the check is for.
    """
    step = so_far.step
    linear = step is not None and step.linear and not loop.adapted
    if linear and loop.stands_for(test) and statements(test.tick.steps) > HEAVY:
        return replace(so_far, dry_run=linear_run(loop, seconds))
    ran, rehearsal = dry_run(test, seconds, instants=0 if linear else INSTANTS)
    if step is not None and ran.completed and loop.closed:
        ran = replace(ran, disturbances=disturbed(test, rehearsal, ran.peak, loop.knock(step)))
    if linear:
        return replace(so_far, dry_run=ran)
    elastic = {} if step is None else elastic_slopes(loop, step)
    if elastic and ran.completed:
        ran = replace(ran, points=(*ran.points, *turning_points(rehearsal, ran, list(elastic))))
    seen = regimes(loop, ran.points, elastic)
    so_far = replace(so_far, regimes=seen, unvisited=other_modes(loop, seen, elastic))
    if ran.completed and ran.tripped is None:
        ran = _let_go(ran, so_far, test, loop, rehearsal)
    return replace(so_far, dry_run=ran)


def _let_go(ran: DryRun, so_far: Check, test: Checkable, loop: RunningLoop, rehearsal: Rehearsal) -> DryRun:
    """Add what becomes of motions as large as the test's own, for a loop that is not linear."""
    step = so_far.step
    push = {} if step is None else loop.knock(step)
    after = AfterRun(test, rehearsal, push, so_far.steps)
    share = SLIGHT if test.has_adaptive_gains else GENTLE if loop.adapted else 1.0
    aim = share * sensible_knock(test, ran.peak)
    free = after.free_motion(aim)
    if not (loop.adapted or free.ended or free.grew or free.lasts):  # what one knock spares, another may not
        other = after.free_motion(-OTHER * aim)
        if not other.ended or other.rose:
            free = max(free, other, key=lambda f: (f.grew, f.lasts, f.last))
    if not loop.adapted and step is not None and step.resting:
        # Where one regime is in force, nothing bends and converters show the force, it is the same elsewhere.
        bends = len(so_far.regimes) > 1 or any("smooth" in kinds for kinds in step.bends.values())
        bends = bends or any(error > ROUGH for error in ran.sensed.values())
        for part in ASIDE if bends else ASIDE[:1]:
            if free.ended or free.grew or free.lasts:
                break
            aside = after.free_motion(part * aim, loop.shove(step))
            if not aside.ended or aside.rose:
                free = max(free, aside, key=lambda f: (f.grew, f.lasts, f.last))
    if free.ended and not free.rose:  # a limit in the way of the knock says nothing of growth: a small one
        free = after.free_motion(0.1 * aim)
    if free.ended and not free.rose:  # what nothing holds may drift out of its limits: once more without them
        unbounded = test.unlimited()
        free = AfterRun(unbounded, Rehearsal(unbounded, rehearsal.steps), push, so_far.steps).free_motion(aim)
    if not loop.adapted or rehearsal.steps > LONG:
        return replace(ran, free=free)
    again = repetitions(test, rehearsal, loop.adapted, in_step_too=not all(s.stable for s in so_far.steps))
    return replace(ran, free=free, repetitions=again.levels, given_up=again.given_up, diverged=again.diverged)


def _explained(so_far: Check, test: HybridTest) -> Check:
    """Add poles without sampling, lags, and what the structure itself does: where they can be had."""
    controller, small = test.controller, len(test.tick.states) <= LARGE
    try:
        if small and not all(s.stable for s in so_far.steps):
            whole, linear = structure(test)
            so_far = replace(so_far, own=tuple(unstable(whole.poles())), unbounded=linear)
        sampled = controller.sampled or controller.adapts or test.design.channels
        if sampled or not test.feedback or not small or test.rig.coupler or test.restoring_force:
            return so_far
        poles = tuple(complex(p) for p in closed_loop(test).poles())
        moving = away_from_origin(poles)
        swinging = [
            p for p in moving if abs(p.imag) > abs(p.real)
        ]  # not the slow pole of an actuator's integral
        worst = max(swinging or moving, key=lambda s: s.real)
        return replace(so_far, poles=poles, lags=lags(test, test.transfers, worst))
    except BondloopError:
        return so_far


def _assumptions(test: HybridTest) -> Assumptions | None:
    """Return the five assumptions of Gawthrop 2005 on a test's transfer systems."""
    if _opaque(test).keys() - {"controller"}:
        return None  # they are about equations
    try:
        return check_assumptions(test.numerical, test.rig.physical, test.transfers)
    except BondloopError:
        return None  # an actuator of a form that the method does not speak of


def _still_sensors(test: HybridTest) -> list[str]:
    """Say so where an interlock would take the rest of a sensor without noise for a fault."""
    if test.interlock is None or test.interlock.stale is None:
        return []
    still = [w for w in MEASURED if not (w in test.rig.sensors and test.rig.sensors[w].streams)]
    if not still:
        return []
    words = (
        f"the interlock trips when a value repeats {test.interlock.stale} times, and the emulated sensors of "
        f"{' and '.join(still)} have no noise, so they repeat at rest; give them some"
    )
    return [words]
