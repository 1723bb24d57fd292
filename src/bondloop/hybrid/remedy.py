"""The smallest change that would make a refused test pass: candidates, tried out one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bondloop.errors import BondloopError
from bondloop.hybrid.running_loop import RunningLoop, coupled
from bondloop.hybrid.wiring import SCALE

if TYPE_CHECKING:
    from bondloop.hybrid.check import Check
    from bondloop.hybrid.test import HybridTest

__all__ = ["Change", "smallest_change"]

SMALLEST, LARGEST = 1e-4, 0.1
"""Seconds of prediction that are tried."""

PARTS = (0.8, 0.5, 0.2, 0.05)
"""Shares of the excitation that are tried where a limit is in the way."""


@dataclass(frozen=True)
class Change:
    """A change of a test with which it passes.

    Attributes
    ----------
    words
        What to change, with its number.
    test
        The changed test.
    """

    words: str
    test: HybridTest


def smallest_change(test: HybridTest, check: Check, seconds: float) -> Change | None:
    """Return the first of some changes, mildest first, with which the test passes; each is checked in full.

    Parameters
    ----------
    test, check
        The test, and why it is refused.
    seconds
        Length of the run it is meant for.
    """
    from bondloop.hybrid.check import check as checked

    loose = check.step is not None and not check.step.stable
    for words, changed in _candidates(test, loose):
        try:
            if loose and not RunningLoop(changed).at().stable:
                continue
            if checked(changed, seconds, suggest=False).passed:
                return Change(words, changed)
        except BondloopError:
            continue
    return None


def _candidates(test: HybridTest, loose: bool) -> Iterator[tuple[str, HybridTest]]:
    """Yield changes in words with the changed test: of the loop where it is loose, otherwise less motion."""
    if not loose:
        for part in PARTS if test.excitation else ():
            words = f"{100 * part:g} % of the excitation (excitation.scale={test.scale * part:g})"
            yield words, test.with_values({SCALE: test.scale * part})
        return
    if test.rig.latency:
        yield "no latency", test.replaced(rig=replace(test.rig, latency=0.0))
    yield from _predictions(test)
    yield from _inverse(test)
    for factor in (2, 4):
        yield f"{factor * test.rate:g} samples a second", test.replaced(rate=factor * test.rate)


def _predictions(test: HybridTest) -> Iterator[tuple[str, HybridTest]]:
    """Find the least prediction that makes the loop stable, then a little more than that."""
    from bondloop.control import Direct, PolynomialPrediction

    controller = test.controller
    if isinstance(controller, PolynomialPrediction) and not controller.adapts:
        start = controller
    elif isinstance(controller, Direct):
        span = max(0.01, 10 * test.period)
        start = PolynomialPrediction(0.0, order=2, span=span, points=min(10, round(span / test.period)))
    else:
        return

    def ahead(delay: float) -> HybridTest:
        return test.replaced(controller=replace(start, delay=delay))

    def stable(delay: float) -> bool:
        try:
            return RunningLoop(coupled(ahead(delay))).at().stable
        except BondloopError:
            return False

    delay = SMALLEST
    while delay <= LARGEST and not stable(delay):
        delay *= 1.25
    if delay > LARGEST:
        return
    for more in (1.0, 1.2, 1.5):
        yield f"{1e3 * more * delay:.3g} ms of prediction ({type(start).__name__})", ahead(more * delay)


def _inverse(test: HybridTest) -> Iterator[tuple[str, HybridTest]]:
    from bondloop.control import VirtualJunction

    if not test.controller.inverts:
        words = "a virtual junction with the actuator's model"
        yield words, test.replaced(controller=VirtualJunction(test.rig.actuators))
