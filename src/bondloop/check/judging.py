"""What the check's findings mean: for each a level and a sentence with its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from bondloop.check.actuator_findings import asked_of_actuators, too_small
from bondloop.check.finding import Finding, multiple, percent
from bondloop.rehearsal import undersampled
from bondloop.safety import cause_words

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.dry_run import DryRun
    from bondloop.check.finding import Level
    from bondloop.check.margins import Border, Margins
    from bondloop.hybrid import Checkable


USED = 0.8
"""Share of a limit from which it is near: noise, another specimen or a warm day take the rest."""

OFF, LOST = 0.1, 0.5
"""Predicted tracking errors from which the result is in doubt although the loop is stable, and from which
it is worth nothing; those of a run's verdict (`results.assess`)."""

RISING = 1.1
"""Growth of the largest displacement from one quarter of the dry run to the next that is a trend."""

SETTLING = 0.8
"""Share of a quarter's growth below which the next one's tells that the motion settles."""

GAIN, MODEL = 1.25, 0.1
"""Margins of gain and of the actuator's model below which care is needed: load cells are calibrated to some
per cent, actuators are identified to some more."""

NOTHING, JITTER = 0.002, 1e-5
"""Shares of force, stiffness or mass, and extra delay in s, below which a linear loop has no margin at all:
nobody knows a specimen or a load cell so well, and no computer is so punctual. Of a loop that is not linear
margins are those of tangents, and its motion decides."""

SAMPLES, DELAY = 2.0, 2e-3
"""Extra delay, in samples and in s, below which care is needed: one is soon lost in a driver or a filter."""


def judged(
    check: Check, test: Checkable, seconds: float, stability: Iterable[Finding]
) -> tuple[Finding, ...]:
    """Return the findings of a check, the worst first.

    Parameters
    ----------
    check
        All but its findings.
    test
        The test as the loop is analysed.
    seconds
        Length of the run that the check is for.
    stability
        What there is to say of the loop's stability.
    """
    findings = [
        *stability,
        *_dry(check, test),
        *_length(test, seconds),
        *_sampled(test),
        *_rising(check, test),
        *_method(check),
        *_near(check, test),
        *(Finding("care", text, short) for text, short in test.ground_cares),
    ]
    order = {"stop": 0, "care": 1, "run": 2}
    return tuple(sorted(findings, key=lambda f: order[f.level]))


def _method(check: Check) -> list[Finding]:
    """Assumptions of one method ask for care only in a test that uses that method."""
    if check.assumptions is None or not check.inverts:
        return []
    return [
        Finding(
            "care",
            f"assumption {a.number} of the virtual junction does not hold: {a.reason}",
            f"assumption {a.number} of the method does not hold",
        )
        for a in check.assumptions.items
        if not a.holds
    ]


# -------------------------------------------------------------------- the dry run


def _length(test: Checkable, seconds: float) -> list[Finding]:
    """Say so where the check is for less than the whole excitation."""
    last = max([test.last_event, *(s.cycle for s in test.signals)])
    if last <= 1.01 * seconds:
        return []
    text = f"the check is for {seconds:g} s, and there is news in the excitation until {last:g} s"
    return [Finding("care", text, text)]


def _sampled(test: Checkable) -> list[Finding]:
    """Say so where an excitation is too fast for the steps of the test: it would run with another one."""
    texts = [text for s in test.signals if (text := undersampled(s, test.period)) is not None]
    short = "the excitation is too fast for its samples"
    return [Finding("care", f"the excitation {text}", short, vain=True) for text in texts]


def _rising(check: Check, test: Checkable) -> list[Finding]:
    """Say so where an excitation without an end moves the rig ever farther, or has not swung it up yet."""
    ran = check.dry_run
    if ran is None or not ran.completed or all(math.isfinite(s.duration) for s in test.signals):
        return []
    quarters = [part.max(axis=0) for part in np.array_split(ran.windows, 4)]
    rises = (quarters[3] > RISING * quarters[2]) & (quarters[2] > RISING * quarters[1])
    if not rises.any():
        return []
    first, second, third = np.diff(quarters, axis=0)
    settles = np.all((third < SETTLING * second)[rises] & (second < SETTLING * first)[rises])
    words = "motion still grows, less and less" if settles else "rig moves ever farther"
    text = (
        f"the {words}: {1e3 * quarters[3][rises].max():.3g} mm at the end of the "
        f"{ran.seconds:g} s that were checked; in a longer run it may come to its limits: check it for longer"
    )
    return [Finding("care", text, "its motion still grows" if settles else "it moves ever farther")]


def _dry(check: Check, test: Checkable) -> list[Finding]:
    """Judge the dry run: whether it went to its end, what it used, how well the rig followed."""
    ran = check.dry_run
    assert ran is not None
    findings = []
    if not ran.completed:
        findings.append(
            Finding("stop", f"the dry run stopped: {ran.message}", "the dry run stopped", limit=True)
        )
    if ran.tripped is not None:
        when, cause = ran.tripped
        words = f"the interlock trips in the dry run at t = {when:.4g} s: {cause_words(cause)}"
        findings.append(Finding("stop", words, "the interlock trips", limit=True))
    if ran.completed:
        findings += asked_of_actuators(ran, test)
        for name, share in ran.usage.items():
            if share > USED and ran.bounds[name] != test.capacities.get(name):
                words = f"the dry run uses {100 * share:.0f} % of the limit of '{name}'"
                findings.append(Finding("care", words, f"{name} uses {100 * share:.0f} % of its limit"))
    for name, share in ran.saturated.items():
        words = f"'{name}' is at the end of its sensor's range for {percent(share)} of the dry run"
        findings.append(Finding("care", words, f"{name} saturates"))
    for i, error in enumerate(ran.error if ran.completed else ()):
        if error > OFF:
            size = percent(error)
            words = (
                f"interface {i + 1}: the rig follows the numerical half with an error of {size} in the dry "
                "run; the structure that is tested is not the one that is meant"
            )
            findings.append(Finding("care", words, f"tracking error of {size}", vain=error > LOST))
    return [
        *findings,
        *too_small(check, test),
        *(_untrue(ran, parts=bool(check.own)) if ran.completed else []),
    ]


def _untrue(ran: DryRun, *, parts: bool) -> list[Finding]:
    """Say where the dry run is not of the structure that is meant, by its reference or by a wrong sensor.

    A structure that is unstable in one piece, too, `parts` from its reference by the smallest difference:
    that is no fault of the loop.
    """
    findings = []
    for name, error in ran.sensed.items():
        if error > LOST:
            words = (
                f"'{name}' differs from the force by {percent(error)} (rms) in the dry run: whatever the "
                "specimen does, the numerical half hardly feels it; see to its sensor's gain and filter"
            )
            findings.append(Finding("care", words, f"{name} does not show the force", vain=True))
    worst = max(ran.off_reference, key=lambda name: ran.off_reference[name], default=None)
    if worst is not None and ran.off_reference[worst] > OFF:
        size = percent(ran.off_reference[worst])
        words = (
            f"in the dry run '{worst}' is {size} (rms) off the test's own reference, the complete structure; "
            "stable or not, this loop tests another one"
        )
        if parts:
            words = (
                f"in the dry run '{worst}' is {size} (rms) off the test's own reference; the structure is "
                "unstable by itself, so that any two runs of it part: compare the beginnings, or statistics"
            )
        vain = ran.off_reference[worst] > LOST and not parts
        findings.append(Finding("care", words, f"{size} off the reference", vain=vain))
    return findings


# -------------------------------------------------------------------- margins


def _near(check: Check, test: Checkable) -> list[Finding]:
    """Judge what is left to the borders of stability."""
    m = check.margins
    if m is None or check.step is None:
        return []
    if m.delay is None and m.gain is None and test.feedback:
        return [
            Finding("care", f"how far it is from the border is not known: {m.left_out}", "unknown margins")
        ]
    findings = []
    linear = check.step.linear and not check.regimes
    d = m.delay
    if d is not None and d.found and d.value < max(SAMPLES * test.period, DELAY):
        text = (
            f"{1e3 * d.value:.3g} ms of extra delay ({d.value / test.period:.2g} samples) would make the "
            f"loop unstable at {d.frequency:.3g} Hz"
        )
        short = f"only {1e3 * d.value:.3g} ms of delay to spare"
        findings.append(Finding("stop" if linear and d.value < JITTER else "care", text, short))
    for factor in (m.gain, m.least_gain):
        if factor is not None and factor.found and 1 / GAIN < factor.value < GAIN:
            text = (
                f"a measured force {100 * abs(factor.value - 1):.2g} % too "
                f"{'large' if factor.value > 1 else 'small'} would make the loop unstable at "
                f"{factor.frequency:.3g} Hz"
            )
            which = "gain margin" if factor.value > 1 else "least gain"
            findings.append(Finding(_left(factor, linear), text, f"{which} of {multiple(factor.value)}"))
    if m.model_error is not None and m.model_error.found and m.model_error.value < MODEL:
        text = (
            f"an actuator that answers {100 * m.model_error.value:.2g} % differently at "
            f"{m.model_error.frequency:.3g} Hz could make the loop unstable"
        )
        short = f"the actuator may differ by {100 * m.model_error.value:.2g} % only"
        findings.append(Finding("care", text, short))
    return findings + _specimen(m, linear)


def _specimen(m: Margins, linear: bool) -> list[Finding]:
    findings = []
    for factor, what, how in ((m.stiffer, "stiff", "stiffness"), (m.lighter, "heavy", "mass")):
        if factor is not None and factor.found and 1 / GAIN < factor.value < GAIN:
            text = (
                f"a specimen {multiple(factor.value)} times as {what} would make the loop unstable at "
                f"{factor.frequency:.3g} Hz"
            )
            short = f"{how} of the specimen within {100 * abs(factor.value - 1):.2g} %"
            findings.append(Finding(_left(factor, linear), text, short))
    return findings


def _left(factor: Border, linear: bool) -> Level:
    """Return how serious it is that a factor has this margin, which is small."""
    return "stop" if linear and abs(factor.value - 1) < NOTHING else "care"
