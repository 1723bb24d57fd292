"""What the check's findings mean: for each a level and a sentence with its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from bondloop.hybrid.dry_run import Disturbance
from bondloop.hybrid.lags import TINY, away_from_origin
from bondloop.safety import cause_words

if TYPE_CHECKING:
    from bondloop.hybrid.check import Check
    from bondloop.hybrid.margins import Margins
    from bondloop.hybrid.test import HybridTest
    from bondloop.program.one_step import OneStep

__all__ = ["Finding", "judged"]

Level = Literal["run", "care", "stop"]

BEYOND = 1.1
"""Share of what an actuator can do from which it cannot be done; a data sheet is not exact to the last tenth."""

USED = 0.8
"""Share of a limit from which it is near: noise, another specimen or a warm day take the rest."""

OFF = 0.1
"""Predicted tracking error from which the result is in doubt although the loop is stable."""

GAIN, MODEL = 1.25, 0.1
"""Margins of gain and of the actuator's model below which care is needed: load cells are calibrated to some per
cent, actuators are identified to some more."""

SAMPLES, DELAY = 2.0, 2e-3
"""Extra delay, in samples and in s, below which care is needed: one is soon lost in a driver or a filter."""

HIDDEN = 3.0
"""Ratio of a disturbance's last part to its first from which a linear loop has grown after all. Motions that beat
with one another do not come near it."""

ROUNDS = 5.0
"""Times that a motion must have gone round the loop in the dry run before its dying away says something."""

AGAIN = 5.0
"""How much larger than the one before a repetition that leaves its limits must be to count as growth."""

COARSE = 2.0
"""Growth in one sample from which it is the integration that is unstable, not the loop."""

HARMLESS = 0.05
"""What may be left of the run's own motion where the loop is unstable at rest, and something bounds it."""


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    Attributes
    ----------
    level
        ``"run"``: for the test, ``"care"``: near, ``"stop"``: against it.
    text
        In a sentence, with numbers.
    short
        In some words, for the verdict.
    """

    level: Level
    text: str
    short: str = ""


def judged(check: Check, test: HybridTest) -> tuple[Finding, ...]:
    """Return the findings of a check, the worst first."""
    found = [
        *_stability(check, test),
        *_dry(check),
        *_method(check, test),
        *_near(check, test),
    ]
    order = {"stop": 0, "care": 1, "run": 2}
    return tuple(sorted(found, key=lambda f: order[f.level]))


def _method(check: Check, test: HybridTest) -> list[Finding]:
    """Assumptions of one method speak against a test only if it uses that method, and only if it needs them."""
    if check.assumptions is None or not test.controller.inverts:
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


def _dry(check: Check) -> list[Finding]:
    ran = check.dry_run
    assert ran is not None
    found = []
    if not ran.completed:
        found.append(Finding("stop", f"the dry run stopped: {ran.message}", "the dry run stopped"))
    if ran.tripped is not None:
        when, cause = ran.tripped
        words = f"the interlock trips in the dry run at t = {when:.4g} s: {cause_words(cause)}"
        found.append(Finding("stop", words, "the interlock trips"))
    if ran.completed:
        for name, share in ran.usage.items():
            if share > 1:
                words = f"'{name}' needs {100 * share:.0f} % of what the actuator can do"
                level: Level = "stop" if share > BEYOND else "care"
                found.append(Finding(level, words, f"{name} is beyond the actuator"))
            elif share > USED:
                words = f"the dry run uses {100 * share:.0f} % of the limit of '{name}'"
                found.append(Finding("care", words, f"{name} uses {100 * share:.0f} % of its limit"))
    for name, share in ran.saturated.items():
        words = f"'{name}' is at the end of its sensor's range for {100 * share:.2g} % of the dry run"
        found.append(Finding("care", words, f"{name} saturates"))
    for i, error in enumerate(ran.error if ran.completed else ()):
        if error > OFF:
            words = (
                f"interface {i + 1}: the rig follows the numerical half only to {100 * error:.2g} % in the dry "
                "run; the structure that is tested is not the one that is meant"
            )
            found.append(Finding("care", words, f"tracking error of {100 * error:.2g} %"))
    return found


# -------------------------------------------------------------------- stability


def _stability(check: Check, test: HybridTest) -> list[Finding]:
    """Judge by eigenvalues where the loop is linear, by its motion where it is not."""
    step = check.step
    if step is not None and step.linear and not check.regimes:
        if not step.stable:
            return [Finding("stop", _unstable(check, test, step), "the loop is unstable")]
        return _hidden(check)
    return _moving(check, test)


def _hidden(check: Check) -> list[Finding]:
    """Growth that no eigenvalue shows: one too close to 1 to be told from a position that nothing returns."""
    assert check.dry_run is not None
    assert check.step is not None
    known = check.step.spectrum.outside is not None
    grown = [d for d in check.dry_run.disturbances if d.ratio > (HIDDEN if known else 1.0)]
    if not grown and not known:
        longest = max(check.step.step.delays, default=0) * check.step.period
        quiet = check.curves is not None and float(np.abs(check.curves.loci).max(initial=0.0)) < 1
        if not quiet and check.dry_run.seconds < ROUNDS * longest:
            text = (
                f"{check.step.spectrum.note} That is not enough to know, and a dry run of "
                f"{check.dry_run.seconds:.3g} s is too short to see what comes back after {longest:.3g} s; check it with "
                f"seconds={ROUNDS * longest:.3g}, reduce the model, or shorten the delay"
            )
            return [Finding("stop", text, "it cannot be analysed")]
        text = f"{check.step.spectrum.note} None of them grows, and a knock dies away in the dry run"
        return [Finding("care", text, "not all eigenvalues are known")]
    if not grown:
        return []
    return [Finding("stop", _grew(max(grown, key=lambda d: d.ratio)), "a disturbance grows")]


def _moving(check: Check, test: HybridTest) -> list[Finding]:
    step, ran = check.step, check.dry_run
    assert ran is not None
    loose = [r for r in check.regimes if not r.step.stable]
    starts_loose = step is not None and not step.stable
    free = ran.free
    if free is None:  # the dry run did not go to its end
        return (
            [Finding("stop", _unstable(check, test, step), "the loop is unstable")]
            if starts_loose and step
            else []
        )
    worst = max(
        (s for s in (step, *(r.step for r in loose)) if s is not None), key=lambda s: s.growth, default=None
    )
    found: list[Finding] = []
    steps = [s for s in (step, *(r.step for r in check.regimes)) if s is not None]
    nowhere = bool(steps) and not any(s.stable for s in steps)
    # Below one step of a converter nothing comes back: there a loop rests that is unstable on average.
    stepped = any("quantiser" in kinds for s in steps for kinds in s.bends.values())
    fading = stepped and free.last < 0.5 * free.first and free.last < 0.5
    # Dry friction that chatters within its own width is no harm.
    chatters = any("smooth" in kinds for s in steps for kinds in s.bends.values()) and free.last < HARMLESS
    adapts = loop_adapts(check, test)
    unheld = (nowhere and not chatters) or (free.last > HARMLESS and not adapts)
    unheld = unheld and starts_loose and not check.own and not fading
    mostly = sum(r.share for r in loose) > 0.5 and any(d.ratio > 1.2 for d in ran.disturbances)
    mostly = mostly and free.last > HARMLESS
    coarse = max(steps, key=lambda s: s.spectral_radius, default=None)
    if coarse is not None and coarse.spectral_radius > COARSE and (adapts or not chatters):
        text = (
            f"a motion grows {coarse.spectral_radius:.3g} times from one sample to the next: the time step of the "
            "numerical half or of the emulated rig is too long for what is stiff in it; take more substeps, or "
            "sample faster"
        )
        return [Finding("stop", text, "the time step is too long")]
    # Gains that are never at rest hunt for ever where there is friction; the excited motion is what counts for them.
    wanders = (free.grew or free.lasts) and (not test.design.gains or bool(free.ended))
    if wanders or unheld or (mostly and not check.own):
        fate = "grows" if free.grew else "goes on by itself"
        text = (
            f"after the excitation has ended the motion {fate}: {free.last:.2g} of the run's own after "
            f"{free.seconds:.3g} s"
        )
        if worst is not None and not worst.stable:
            text = f"{_unstable(check, test, worst)}; {text}"
        return [Finding("stop", text, f"the motion {fate}")]
    again = ran.repetitions
    # A resonance that builds up grows too, but by less and less.
    faster = len(again) == 9 and again[8] - again[5] > 1.3 * (again[5] - again[2]) > 0
    if faster or (ran.given_up and len(again) > 1 and again[-1] > AGAIN * again[-2]):
        text = (
            f"the controller does not hold what it has learnt: when the excitation is repeated the motion grows to "
            f"{again[-1] / again[0]:.3g} times the first" + (f" ({ran.given_up})" if ran.given_up else "")
        )
        return [Finding("stop", text, "the motion grows from repetition to repetition")]
    if ran.given_up:
        found.append(
            Finding("care", f"if the excitation goes on: {ran.given_up}", "it would not hold a longer test")
        )
    if check.own:
        text = (
            f"the structure itself is unstable at rest: a mode grows at {max(p.real for p in check.own):.3g} 1/s in "
            "one piece too; the loop adds no unstable mode"
        )
        found.append(Finding("care", text, "the structure itself is unstable at rest"))
    elif starts_loose and step is not None:
        until = "until the controller has adapted" if test.controller.adapts else "until something bounds it"
        text = (
            f"where it starts the loop is unstable: a mode at {step.frequency:.3g} Hz grows at {step.growth:.3g} 1/s "
            f"{until}; after the dry run {free.last:.2g} of the run's own motion was left"
        )
        found.append(Finding("care", text, "unstable where it starts"))
    elif loose:
        r = loose[0]
        where = f"with {r.words}" if r.words else f"as at t = {r.time:.3g} s"
        text = (
            f"{where} the loop by itself is unstable ({r.step.growth:.3g} 1/s at {r.step.frequency:.3g} Hz), in "
            f"{100 * sum(x.share for x in loose):.0f} % of the instants looked at; the rest holds it, with this "
            "excitation: a larger one may not be held"
        )
        found.append(Finding("care", text, "unstable in a part of its motion"))
    return found


def loop_adapts(check: Check, test: HybridTest) -> bool:
    """Whether the controller changes as it runs, so that how it starts is not how it stays."""
    return bool(test.controller.adapts or test.design.gains) and bool(check.regimes)


def _grew(d: Disturbance) -> str:
    return (
        f"a disturbance at t = {d.at:.3g} s, {1e3 * d.size:.2g} mm at first, does not die away: at the end of the "
        f"dry run it is {d.ratio:.3g} times what it was"
    )


def _unstable(check: Check, test: HybridTest, step: OneStep) -> str:
    mode = f"a mode at {step.frequency:.3g} Hz grows at {step.growth:.3g} 1/s"
    if check.own:
        return f"{mode}: the structure itself is unstable, in one piece too; nothing holds it"
    if not test.feedback:
        return f"the numerical half, the controller or the rig is unstable by itself: {mode}"
    if test.controller.sampled:
        return (
            f"the loop is unstable: {mode} (spectral radius {step.spectral_radius:.6f} of one step); the "
            "compensator does not fit the rig"
        )
    if check.poles and max(p.real for p in away_from_origin(check.poles)) <= 0:
        return (
            f"sampling and latency make the loop unstable: {mode} (spectral radius {step.spectral_radius:.6f} of "
            "one step), though without them it would be stable; sample faster, or reduce the latency"
        )
    why = "; ".join(str(lag) for lag in check.lags if lag.damping < -max(lag.structure, TINY))
    return f"the loop is unstable: {mode}" + (f", because {why}" if why else "")


# -------------------------------------------------------------------- margins


def _near(check: Check, test: HybridTest) -> list[Finding]:
    m = check.margins
    if m is None or check.step is None:
        return []
    found = []
    d = m.delay
    if d is not None and d.found and d.value < max(SAMPLES * test.period, DELAY):
        text = (
            f"{1e3 * d.value:.3g} ms of extra delay ({d.value / test.period:.2g} samples) would make the loop "
            f"unstable at {d.frequency:.3g} Hz"
        )
        found.append(Finding("care", text, f"only {1e3 * d.value:.3g} ms of delay to spare"))
    for factor in (m.gain, m.least_gain):
        if factor is not None and factor.found and 1 / GAIN < factor.value < GAIN:
            text = (
                f"a measured force {100 * abs(factor.value - 1):.2g} % too "
                f"{'large' if factor.value > 1 else 'small'} would make the loop unstable at "
                f"{factor.frequency:.3g} Hz"
            )
            found.append(Finding("care", text, f"gain margin of {factor.value:.3g}"))
    if m.model_error is not None and m.model_error.found and m.model_error.value < MODEL:
        text = (
            f"an actuator that answers {100 * m.model_error.value:.2g} % differently at "
            f"{m.model_error.frequency:.3g} Hz could make the loop unstable"
        )
        short = f"the actuator may differ by {100 * m.model_error.value:.2g} % only"
        found.append(Finding("care", text, short))
    return found + _specimen(m)


def _specimen(m: Margins) -> list[Finding]:
    found = []
    for factor, what, how in ((m.stiffer, "stiff", "stiffness"), (m.lighter, "heavy", "mass")):
        if factor is not None and factor.found and 1 / GAIN < factor.value < GAIN:
            text = f"a specimen {factor.value:.3g} times as {what} would make the loop unstable at {factor.frequency:.3g} Hz"
            found.append(
                Finding("care", text, f"{how} of the specimen within {100 * abs(factor.value - 1):.2g} %")
            )
    return found
