"""The check before a test: it is built, linearised as it runs, rehearsed many times, and judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from bondloop.check.dry_run import DryRun, dry_run
from bondloop.check.ensemble import Ensemble, ensemble
from bondloop.check.finding import LEVELS, UNBUILT, Finding
from bondloop.check.held_command import held_command_notes
from bondloop.check.linear.instants import Instant, instants
from bondloop.check.linear.lags import away_from_origin, closed_loop, lags, structure, unstable
from bondloop.check.linear.linear_run import linear_run
from bondloop.check.linear.margins import Margins, Place, margins
from bondloop.check.linear.passivity import passivity_notes
from bondloop.check.linear.running_loop import RunningLoop, coupled
from bondloop.check.open_switch import uncoupled
from bondloop.check.policy import DEFAULT, CheckPolicy
from bondloop.check.prediction_notes import prediction_notes
from bondloop.check.reference import against_exact, chattering
from bondloop.check.rules import accepted, findings, rule_named
from bondloop.display import brief, folded, notebook, paragraph, preformatted, table, with_progress
from bondloop.engine.data import POSITIVE
from bondloop.engine.ir import statements
from bondloop.errors import BondloopError, InputError, ModelError
from bondloop.rehearsal import ExactReference, steps_of
from bondloop.rigs import MEASURED
from bondloop.substructure import Assumptions, check_assumptions

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from bondloop.check.ensemble import Twin
    from bondloop.check.finding import Level
    from bondloop.check.linear.lags import Lag
    from bondloop.check.linear.loop_curves import Curves
    from bondloop.check.suggestions.suggestion import Suggestion, SuggestionPolicy
    from bondloop.engine.analysis.spectrum import OneStep
    from bondloop.hybrid import Checkable, HybridTest
    from bondloop.results.assess import Chatter


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
    instants
        The same at instants of the dry run, of a loop that is not linear or adapts: each with its own growth.
    ensemble
        Many rehearsals, disturbed and with errors of the plant; None where there are none.
    reference
        What the complete structure does, computed independently of the test's scheme and rate.
    off
        By channel, how far the dry run is off that reference, or off the test's own: rms over rms.
    chatter
        By force, what of its power lies above the band of the motion.
    refined
        What was made finer, for the rehearsal alone, since the emulation of the rig was too coarse.
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
    adapts
        Whether the controller changes as it runs.
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
    instants: tuple[Instant, ...] = ()
    ensemble: Ensemble | None = None
    reference: ExactReference = field(default_factory=ExactReference)
    off: Mapping[str, float] = field(default_factory=dict)
    chatter: Mapping[str, Chatter] = field(default_factory=dict)
    refined: str = ""
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
    adapts: bool = False
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
        """One step where the test starts, where it can be linearised there, and one at each instant."""
        return [s for s in (self.step, *(i.step for i in self.instants)) if s is not None]

    @property
    def linear(self) -> bool:
        """Whether the loop is linear, so that its eigenvalues decide."""
        return self.step is not None and self.step.linear and not self.adapts

    @property
    def twins(self) -> tuple[Twin, ...]:
        """What became of small disturbances."""
        if self.ensemble is not None and self.ensemble:
            return self.ensemble.twins
        return () if self.dry_run is None else self.dry_run.twins

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
        from bondloop.check.suggestions.suggestion_search import suggestion

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
        if seconds < 10 * test.period:
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


def checked_hybrid(
    test: HybridTest, seconds: float, policy: CheckPolicy = DEFAULT, *, tunable: HybridTest | None = None
) -> Check:
    """Analyse a hybrid test that can be built.

    Parameters
    ----------
    test
        The test, with nothing that can be set while it runs.
    seconds
        Length of the run that the check is for.
    policy
        The limits in force.
    tunable
        The same test with what can be set; the test itself unless given.
    """
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
        adapts=bool(loop.adapted), policy=policy, name=test.name,
    )  # fmt: skip
    finer = _finer(test, step, policy)
    if finer is not None:
        answer = checked_hybrid(finer, seconds, policy, tunable=_with_rig_of(tunable, finer))
        words = f"{finer.rig.substeps} instead of {test.rig.substeps} substeps of the emulated rig"
        return replace(answer, refined=answer.refined or words).judged(test)
    so_far = _explained(rehearsed(so_far, test, loop, seconds, tunable), closed)
    so_far = _measured(so_far, loop)
    so_far = replace(so_far, open_switch=uncoupled(test, seconds, so_far.dry_run)).judged(test)
    return _held(so_far, test)


def _with_rig_of(tunable: HybridTest | None, finer: HybridTest) -> HybridTest | None:
    return None if tunable is None else tunable.replaced(rig=finer.rig)


def _finer(
    test: HybridTest, step: OneStep | None, policy: CheckPolicy, *, times: int = 8
) -> HybridTest | None:
    """Return a test whose rig is emulated in finer steps, where that alone makes it stable; None otherwise.

    A rig in the laboratory has no steps: that its emulation is too coarse is an error of the rehearsal.
    """
    if step is None or step.spectral_radius <= policy.coarse:
        return None
    finer = test.replaced(rig=replace(test.rig, substeps=times * test.rig.substeps))
    try:
        calmer = RunningLoop(coupled(finer)).at().spectral_radius <= policy.coarse
    except BondloopError:
        return None
    return finer if calmer else None


def _dry_only(
    test: HybridTest, seconds: float, notes: list[str], opaque: Mapping[str, str], policy: CheckPolicy
) -> Check:
    """Rehearse a test of which a part cannot be looked into."""
    try:
        ran, _ = dry_run(test, seconds)
    except BondloopError:
        raise
    except Exception as error:
        words = " and ".join(opaque.values())
        raise ModelError(f"{words} fails in the dry run: {type(error).__name__}: {error}") from error
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

    Of a loop that is not linear they are those of tangents: where it starts, and at its least stable instant.
    Every margin is the smaller of the two; responses are of the one that stands less error of an actuator, or
    of an unstable one.
    """
    if so_far.step is None:
        return so_far
    places = [Place(loop, so_far.step, where="as it starts" if so_far.instants else "")]
    if so_far.instants:
        worst = max(so_far.instants, key=lambda i: i.step.growth)
        if worst.step.growth > so_far.step.growth:
            places.append(Place(loop, worst.step, worst.point, f"as at t = {worst.time:.3g} s"))
    if not places[-1].step.stable:
        return replace(so_far, curves=places[-1].curves)
    delicate = min(places, key=lambda p: p.model_error.value)
    return replace(so_far, curves=delicate.curves, margins=margins(places))


def rehearsed(
    so_far: Check,
    test: Checkable,
    loop: RunningLoop,
    seconds: float,
    tunable: Checkable | None = None,
    *,
    heavy: int = 15_000,
) -> Check:
    """Add the dry run, the exact reference, the instants of a loop that is not linear, and the ensemble.

    Parameters
    ----------
    so_far
        With one step where the test starts.
    test, loop
        The test, and the loop that is analysed.
    seconds
        Length of the run that the check is for.
    tunable
        The test with what can be set while it runs.
    heavy
        Statements of a linear tick beyond which a compiler needs more than some seconds.
    """
    if so_far.linear and loop.stands_for(test) and statements(test.tick.steps) > heavy:
        return replace(so_far, dry_run=linear_run(loop, seconds))
    size = statements(test.tick.steps)
    ran, rehearsal = dry_run(test, seconds, instants=0 if so_far.linear else min(9, max(2, 2000 // size)))
    so_far = replace(so_far, dry_run=ran)
    if not so_far.linear:
        so_far = replace(so_far, instants=instants(loop, ran.points))
    unstable_ = so_far.linear and so_far.step is not None and not so_far.step.stable
    if unstable_ or not ran.completed or ran.tripped is not None:
        return so_far  # that is clear
    reference, off = against_exact(test, ran, rehearsal)
    chatter = chattering(test, ran, rehearsal, reference)
    so_far = replace(so_far, reference=reference, off=off, chatter=chatter)
    try:
        return replace(so_far, ensemble=ensemble(tunable or test, ran, so_far.policy, linear=so_far.linear))
    except BondloopError as error:
        return replace(so_far, notes=(*so_far.notes, f"there is no ensemble of rehearsals: {error}"))


def _explained(so_far: Check, test: HybridTest, *, large: int = 600) -> Check:
    """Add poles without sampling, lags, and what the structure itself does: where they can be had.

    Parameters
    ----------
    so_far
        With its steps.
    test
        The test.
    large
        States beyond which a loop is not explained so.
    """
    if len(test.tick.states) > large:
        return so_far
    try:
        if not all(s.stable for s in so_far.steps):
            whole, linear = structure(test)
            so_far = replace(so_far, own=tuple(unstable(whole.poles())), unbounded=linear)
        if _has_other_parts(test):
            return so_far
        poles = tuple(complex(p) for p in closed_loop(test).poles())
        moving = away_from_origin(poles)
        # Not the slow pole of an actuator's integral.
        swinging = [p for p in moving if abs(p.imag) > abs(p.real)]
        worst = max(swinging or moving, key=lambda s: s.real)
        return replace(so_far, poles=poles, lags=lags(test, test.transfers, worst))
    except BondloopError:
        return so_far


def _has_other_parts(test: HybridTest) -> bool:
    """Whether the loop has parts that poles without sampling do not show, or is none."""
    controller = test.controller
    sampled = controller.sampled or controller.adapts or bool(test.design.channels)
    return sampled or not test.feedback or bool(test.rig.coupler) or bool(test.restoring_force)


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
