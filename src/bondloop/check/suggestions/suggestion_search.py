"""The search for a change that makes a refused test pass: on linear loops, then the best few in full."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from bondloop.check.linear.loop_curves import curves_of
from bondloop.check.linear.running_loop import RunningLoop, coupled
from bondloop.check.linear.stepped_loop import SteppedLoop
from bondloop.check.suggestions.suggested_changes import (
    actuator_lag,
    compensators,
    compliant_specimen,
    filters,
    finer_emulation,
    hybrid_rates,
    less_excitation,
    shorter_steps,
)
from bondloop.check.suggestions.suggestion import Attempt, Suggestion, SuggestionPolicy
from bondloop.errors import BondloopError, InputError
from bondloop.rehearsal import steps_of

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.suggestions.suggested_changes import Change
    from bondloop.engine.analysis.spectrum import OneStep
    from bondloop.hybrid import Checkable, HybridTest, PseudoDynamicTest

    Checking = Callable[[Checkable, float], Check]


def _is_stepped(test: Checkable) -> TypeGuard[PseudoDynamicTest]:
    return hasattr(test, "scheme")


def _is_hybrid(test: Checkable) -> TypeGuard[HybridTest]:
    return hasattr(test, "controller")


def suggestion(
    refused: Check,
    checking: Checking,
    policy: SuggestionPolicy | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Suggestion:
    """Return what would make a test pass, among what a laboratory can do.

    Every change is first judged on its linear loop; of those that are stable there, the best few of each kind
    are checked in full, the mildest kind first, until one passes without care.

    Parameters
    ----------
    refused
        The check of the test as it is.
    checking
        The function that checks a changed test.
    policy
        How far to go.
    clock
        Where the time is read, in s.
    """
    if refused.test is None:
        raise InputError("this check does not hold its test; take the check that test.check() returns")
    search = _Search(refused, refused.test, checking, policy or SuggestionPolicy(), clock)
    if not refused.built:
        return search.answer(None, f"Nothing can be suggested: {'; '.join(refused.problems)}.")
    opaque = refused.test.controller.opaque if _is_hybrid(refused.test) else ""
    if opaque:
        words = (
            f"Nothing can be suggested while the controller is a Python function ({opaque}): write it as a "
            "bondloop.control.ControlLaw."
        )
        return search.answer(None, words)
    if refused.level == "run":
        return search.answer(None, "Nothing needs to be changed: the test may be run.")
    return search.run()


class _Search:
    def __init__(
        self,
        refused: Check,
        test: Checkable,
        checking: Checking,
        policy: SuggestionPolicy,
        clock: Callable[[], float],
    ) -> None:
        self.refused, self.test, self.checking, self.policy = refused, test, checking, policy
        self.clock, self.began = clock, clock()
        self.longest = 0.0  # seconds of a check
        self.untried = 0
        self.coarse: Attempt | None = None
        self.attempts: list[Attempt] = []

    @property
    def spent(self) -> float:
        """Seconds since the search began."""
        return self.clock() - self.began

    @property
    def _steady(self) -> bool:
        """Whether the test as it is was stable wherever it was linearised."""
        return all(step.stable for step in self.refused.steps)

    def run(self) -> Suggestion:
        """Try the changes, and say which to take."""
        if not self._steady:
            fine = self._finer()
            if fine is not None and self._good(fine):
                words = (
                    f"The emulation is too coarse, not the test: with {fine.words} the check says: "
                    f"{fine.verdict} Rehearse with these; the laboratory need change nothing."
                )
                return self.answer(None, words)
        screened = list(self._screened())
        done: list[Attempt] = []
        left = list(self._queue(screened))
        while left and not (done and self._clear(done[-1])):
            if self.spent + self.longest > self.policy.budget and (done or self.spent > self.policy.budget):
                self.untried += len(left)
                break
            attempt = left.pop(0)
            done.append(self._checked(attempt))
        checked = {a.words for a in done}
        waiting = {a.words for a in left}
        rest = [a for a in screened if a.words not in checked]
        self.attempts += [*done, *(self._left(a, a.words in waiting, done) for a in rest)]
        proposed = self._chosen(done)
        return self.answer(proposed, " ".join(self._reasons(proposed, done)))

    def answer(self, proposed: Attempt | None, reason: str) -> Suggestion:
        """Return the suggestion, with what was tried."""
        return Suggestion(
            proposed, reason, tuple(self.attempts), self.untried, self.spent, self.refused.verdict,
            self.refused.name,
        )  # fmt: skip

    # ------------------------------------------------------------ the emulation

    def _finer(self) -> Attempt | None:
        """Try a finer emulation; where it alone is stable, all else is tried with it."""
        radius = max(step.spectral_radius for step in self.refused.steps)
        for change in finer_emulation(self.test, self.policy):
            attempt = self._on_the_loop(change)
            calmer = attempt.stable and not (self.refused.step is None or self.refused.step.stable)
            if attempt.test is None or not (calmer or radius > self.policy.coarse):
                continue
            attempt = self._checked(attempt)
            self.attempts.append(attempt)
            if calmer and not attempt.passed:
                self.coarse, self.test = attempt, attempt.test or self.test
            return attempt
        return None

    # ------------------------------------------------------------ linear loops

    def _changes(self) -> Iterator[Change]:
        """Yield what can be tried, the mildest kind first."""
        refused, test, policy = self.refused, self.test, self.policy
        grows = not self._steady
        if not grows:
            yield from less_excitation(test, policy)
        if _is_hybrid(test):
            frequency = max(refused.steps, key=lambda s: s.growth).frequency if refused.steps else 0.0
            yield from compensators(test, self._lag(test), policy)
            if grows:
                yield from filters(test, frequency, policy)
            if not refused.own:  # no rate holds a structure that is unstable by itself
                yield from hybrid_rates(test, policy)
        elif _is_stepped(test):
            yield from shorter_steps(test, policy)
        if grows:
            yield from compliant_specimen(test, policy)
        if grows and (refused.step is None or refused.step.stable):
            yield from less_excitation(test, policy)

    def _lag(self, test: HybridTest) -> float:
        if self.refused.step is None:
            return 0.0
        try:
            loop = RunningLoop(coupled(test))
            return actuator_lag(loop, loop.at())
        except (BondloopError, np.linalg.LinAlgError):
            return 0.0

    def _screened(self) -> Iterator[Attempt]:
        """Yield every change with what its linear loop says, as far as the time allows."""
        for change in self._changes():
            if self.spent > self.policy.screening * self.policy.budget:
                self.untried += 1
            else:
                yield self._on_the_loop(change)

    def _on_the_loop(self, change: Change) -> Attempt:
        attempt = Attempt(change.kind, change.words)
        try:
            test = self.test.replaced(**change.arguments)
            attempt = replace(attempt, test=test)
            if self.refused.step is None:
                return attempt
            loop: Any = SteppedLoop(test) if _is_stepped(test) else RunningLoop(coupled(test))  # type: ignore[arg-type]
            step: OneStep = loop.at()
            curves = loop.curves(step) if _is_stepped(test) else curves_of(loop, step)
            size = 0.0 if curves is None else float(curves.complementary.max(initial=0.0))
            attempt = replace(
                attempt, stable=step.stable, margin=1 / size if size and step.stable else math.nan
            )
            if step.stable and _is_hybrid(test):
                attempt = replace(attempt, tracking=self._tracking(loop, step))
        except (BondloopError, np.linalg.LinAlgError) as error:
            return replace(attempt, test=None, note=f"not possible: {error}")
        return attempt

    def _tracking(self, loop: RunningLoop, step: OneStep) -> float:
        """Return the tracking error of a linear loop: over the lines of the excitation that carry most."""
        n = min(steps_of(self.refused.seconds, step.period), 2**self.policy.doublings)
        driven = [i for i, name in enumerate(step.probes) if name not in (*loop.forces, *loop.commands)]
        if not driven or n < 2:
            return math.nan
        signals = loop.signals(step, np.arange(n) * step.period)[:, driven]
        lines = np.fft.rfft(signals - signals.mean(axis=0), axis=0)
        most = np.sort(np.argsort(np.sum(np.abs(lines) ** 2, axis=1))[-self.policy.band :])
        most = most[most > 0]
        f = np.fft.rfftfreq(n, step.period)[most]
        probes = [step.probes[i] for i in driven]
        moved = [
            np.einsum("ijk,ik->ij", step.response(f, names, probes), lines[most])
            for names in (loop.desired, loop.actual)
        ]
        size = np.sum(np.abs(moved[0]) ** 2, axis=0)
        off = np.sum(np.abs(moved[1] - moved[0]) ** 2, axis=0)
        return float(np.sqrt(np.max(off[size > 0] / size[size > 0], initial=0.0))) if size.any() else math.nan

    # ------------------------------------------------------------ checks in full

    def _queue(self, screened: Sequence[Attempt]) -> Iterator[Attempt]:
        """Yield what is worth a check, the mildest kind first, of compensators the best of each class."""
        for kind in dict.fromkeys(a.kind for a in screened):
            able = [a for a in screened if a.kind == kind and a.test is not None and a.stable is not False]
            if kind in ("excitation", "rate"):  # few, and each one milder than the next
                yield from able
            elif kind == "compensator":
                best: dict[type, Attempt] = {}
                for attempt in sorted(able, key=self._order):
                    best.setdefault(type(getattr(attempt.test, "controller", None)), attempt)
                yield from list(best.values())[: self.policy.checked]
            else:
                yield from able[: self.policy.checked]

    def _order(self, attempt: Attempt) -> tuple[bool, float]:
        """Order compensators: those with which the rig follows first, then by what the loop stands."""
        margin = attempt.margin if math.isfinite(attempt.margin) else 0.0
        return not attempt.tracking <= self.policy.followed, -margin

    def _checked(self, attempt: Attempt) -> Attempt:
        began = self.clock()
        assert attempt.test is not None
        try:
            answer = self.checking(attempt.test, self.refused.seconds)
        except BondloopError as error:
            return replace(attempt, note=f"not possible: {error}")
        self.longest = max(self.longest, self.clock() - began)
        ran, margins = answer.dry_run, answer.margins
        errors = [e for e in ran.error if math.isfinite(e)] if ran is not None else []
        delay = margins.delay.value if margins is not None and margins.delay is not None else math.nan
        return replace(
            attempt, level=answer.level, verdict=answer.verdict, delay=delay,
            tracking=max(errors, default=attempt.tracking),
        )  # fmt: skip

    def _good(self, attempt: Attempt) -> bool:
        """Whether a change helps: it passes, and without care where the test as it is passes with care."""
        # Less excitation may only hide what is unstable, such as a contact that then stays open.
        strict = attempt.kind == "excitation" and not self._steady
        return attempt.level == "run" or (attempt.level == "care" and not strict and not self.refused.passed)

    def _clear(self, attempt: Attempt) -> bool:
        return self._good(attempt) and attempt.level == "run"

    def _follows(self, attempt: Attempt) -> bool:
        return attempt.tracking <= self.policy.followed

    def _chosen(self, done: Sequence[Attempt]) -> Attempt | None:
        """Return the first that passes without care; else the first with which the rig follows."""
        good = [a for a in done if self._good(a)]
        clear = [a for a in good if self._clear(a)]
        return next(iter([*clear, *(a for a in good if self._follows(a)), *good]), None)

    # ------------------------------------------------------------ words

    def _left(self, attempt: Attempt, waiting: bool, done: Sequence[Attempt]) -> Attempt:
        """Return a change that was not checked, with the reason."""
        if attempt.note or attempt.stable is False:
            return attempt
        if waiting and done and self._clear(done[-1]):
            return replace(attempt, note="not checked: the proposed change is milder")
        if waiting:
            return replace(attempt, note="not checked: the budget was spent")
        return replace(attempt, note="not checked: others of its kind do better on the linear loop")

    def _counted(self, done: Sequence[Attempt]) -> str:
        """Say how many changes were tried, and how many of them do not help."""
        unstable = sum(a.stable is False for a in self.attempts)
        refused = sum(a.level is not None and not self._good(a) for a in done)
        words = [f"{unstable} leave the linear loop unstable"] if unstable else []
        words += [f"{refused} of {len(done)} that were checked in full do not help"] if refused else []
        count = len(self.attempts)
        return f"Of {count} changes {' and '.join(words)}." if words else f"{count} changes were tried."

    def _reasons(self, proposed: Attempt | None, done: Sequence[Attempt]) -> Iterator[str]:
        if self.coarse is not None:
            yield f"The emulation is too coarse: all changes were tried with {self.coarse.words}."
        if proposed is None:
            yield f"No change was found that makes {self.refused.name} pass."
        else:
            yield f"Take {proposed.words}: {proposed.verdict}"
            milder = next((a for a in done if self._good(a) and self._follows(a)), proposed)
            if milder is not proposed and proposed.level == "run":
                yield f"With care this would do too: {milder.words}."
        yield self._counted(done)
        if self.untried:
            yield (
                f"The budget of {self.policy.budget:g} s ended the search before {self.untried} more; "
                "allow more with SuggestionPolicy(budget=...)."
            )
        if proposed is not None and proposed.kind == "specimen":
            yield "It is then another structure: what is tested is the specimen with its mount."
