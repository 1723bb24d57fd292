"""The smallest change that would make a refused test pass: candidates, tried out one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from bondloop.check.judging_stability import COARSE
from bondloop.check.running_loop import RunningLoop, coupled
from bondloop.errors import BondloopError
from bondloop.rehearsal import SCALE

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.control import PolynomialPrediction
    from bondloop.hybrid import Checkable, HybridTest


SMALLEST, LARGEST = 1e-4, 0.1
"""Seconds of prediction that are tried."""

SPANS = ((0.02, 12), (0.01, 10))
"""Spans in s, with points, of predictions that are tried: the longer one passes less noise on."""

FOLLOWS = 0.1
"""Tracking error up to which a change is worth having."""

TRIES = 8
"""Changes that are checked in full at most."""

PARTS = (0.8, 0.5, 0.3, 0.2, 0.1, 0.05)
"""Shares of the excitation that are tried where a limit is in the way."""


@dataclass(frozen=True)
class Change:
    """A change of a test with which it passes.

    Attributes
    ----------
    words
        What to change, with its number; and what less would do if one takes care.
    test
        The changed test.
    verdict
        Of its check.
    """

    words: str
    test: Checkable
    verdict: str

    def beside(self, milder: Change | None) -> Change:
        """Return it with words that also name one that is milder and asks for care."""
        return self if milder is None else replace(self, words=f"{self.words}, or with care {milder.words}")


def smallest_change(
    test: HybridTest, check: Check, seconds: float, check_again: Callable[..., Check]
) -> Change | None:
    """Return the mildest change with which nothing speaks against the test any more; each is checked in full.

    Where there is always something near, the mildest with which the rig follows (it is named beside the other
    where both are found); and where it never does, the mildest with which the test passes, if its result says
    anything.

    Parameters
    ----------
    test, check
        The test, and why it is refused.
    seconds
        Length of the run it is meant for.
    check_again
        The function that checks a changed test.
    """
    limited = check.limited
    # A contact that is unstable leaves its limits too; less excitation would only keep it open.
    loose = not all(step.stable for step in check.steps)
    candidates = _steadier(test, check) if loose or not limited else iter(())
    if limited:
        candidates = chain(candidates, _less(test))
    follows: Change | None = None
    passes: Change | None = None
    tried = 0
    for words, changes in candidates:
        try:  # a change may not even be possible: an actuator that cannot be inverted
            changed = test.replaced(**changes)
            if not limited and not RunningLoop(coupled(changed)).at().stable:
                continue
            tried += 1
            answer = check_again(changed, seconds, suggest=False, policy=check.policy)
        except BondloopError:
            continue
        if answer.passed:  # a test that tells nothing is no remedy
            change = Change(words, changed, answer.verdict)
            assert answer.dry_run is not None
            if answer.level == "run":
                return change.beside(follows)
            if all(not e > FOLLOWS for e in answer.dry_run.error):
                follows = follows or change
            passes = passes or change
        if tried >= TRIES:
            break
    return follows or passes


def _less(test: HybridTest) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield less excitation: for a test that only asks too much."""
    for part in PARTS if test.excitation else ():
        words = f"{100 * part:g} % of the excitation (excitation.scale={test.scale * part:g})"
        yield words, {"values": {**test.overrides, SCALE: test.scale * part}}


def _steadier(test: HybridTest, check: Check) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield changes of the loop: for a test that is unstable, or whose motion does not fade."""
    if any(s.spectral_radius > COARSE for s in check.steps):
        substeps = 4 * test.rig.substeps
        yield f"{substeps} substeps of the emulated rig", {"rig": replace(test.rig, substeps=substeps)}
    yield from _predictions(test)
    yield from _inverse(test)
    for factor in () if check.own else (2, 4):  # no rate holds a structure that is unstable by itself
        yield f"{factor * test.rate:g} samples a second", {"rate": factor * test.rate}
    if test.rig.latency:
        words = f"a rig without its latency of {1e3 * test.rig.latency:.3g} ms"
        yield words, {"rig": replace(test.rig, latency=0.0)}


def _predictions(test: HybridTest) -> Iterator[tuple[str, dict[str, object]]]:
    """Find the least prediction that makes the loop stable, then a little more than that."""
    from bondloop.control import Direct, PolynomialPrediction

    if not isinstance(test.controller, (Direct, PolynomialPrediction)):
        return
    for span, points in SPANS:
        span = max(span, points * test.period)  # noqa: PLW2901 - points on different samples
        start = PolynomialPrediction(0.0, order=2, span=span, points=points)
        delay = _least(test, start)
        if delay is None:
            continue
        for more in (1.0, 1.3):
            settings = f"order=2, span={span:g}, points={points}"
            words = f"{1e3 * more * delay:.3g} ms of prediction (PolynomialPrediction, {settings})"
            yield words, {"controller": replace(start, delay=more * delay)}


def _least(test: HybridTest, start: PolynomialPrediction) -> float | None:
    """Return the least prediction in s that makes the loop stable."""
    delay = SMALLEST
    while delay <= LARGEST:
        try:
            ahead = test.replaced(controller=replace(start, delay=delay))
            if RunningLoop(coupled(ahead)).at().stable:
                return delay
        except BondloopError:
            return None
        delay *= 1.25
    return None


def _inverse(test: HybridTest) -> Iterator[tuple[str, dict[str, object]]]:
    from bondloop.control import VirtualJunction

    if not test.controller.inverts:
        words = "a virtual junction with the actuator's model"
        yield words, {"controller": VirtualJunction(test.rig.actuators)}
