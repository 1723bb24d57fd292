"""Rules BL3xx: what is left to the borders of stability."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from bondloop.check.finding import multiple
from bondloop.check.rules.rule import Rule

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.linear.margins import Border
    from bondloop.check.policy import CheckPolicy
    from bondloop.hybrid import Checkable

    Predicate = Callable[[Check, Checkable, CheckPolicy], Iterator["Fields"]]

Fields = Mapping[str, object]


def _unknown(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    m = check.margins
    if m is not None and check.step is not None and m.delay is None and m.gain is None and test.feedback:
        yield {"why": m.left_out}


def _delay(*, none: bool) -> Predicate:
    """Return the predicate of a delay margin that is small; or, in a linear loop, that is `none` at all."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        delay = None if check.margins is None or check.step is None else check.margins.delay
        if delay is None or not delay.found:
            return
        if not delay.value < max(policy.delay_samples * test.period, policy.delay_margin):
            return
        if none == (check.linear and delay.value < policy.no_delay):
            yield {
                "delay": 1e3 * delay.value,
                "samples": delay.value / test.period,
                "frequency": delay.frequency,
            }

    return found


def _jitter(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    m = None if check.step is None else check.margins
    if m is None or m.jitter is None or m.delay is None:
        return
    small = m.jitter.value < max(policy.delay_samples * test.period, policy.delay_margin)
    if (
        small and m.jitter.value < m.delay.value
    ):  # where all commands may not be so late, another rule says it
        yield {
            "jitter": 1e3 * m.jitter.value,
            "samples": m.jitter.value / test.period,
            "frequency": m.jitter.frequency,
        }


def _factor(*names: str, none: bool) -> Predicate:
    """Return the predicate of a margin that is a factor, and small; or in a linear loop `none` at all."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        if check.margins is None or check.step is None:
            return
        for name in names:
            border: Border | None = getattr(check.margins, name)
            if border is None or not border.found:
                continue
            off = abs(border.value - 1)
            small = 1 / policy.gain_margin < border.value < policy.gain_margin
            if small and none == (check.linear and off < policy.no_margin):
                yield {
                    "factor": multiple(border.value),
                    "percent": 100 * off,
                    "direction": "large" if border.value > 1 else "small",
                    "which": "gain margin" if border.value > 1 else "least gain",
                    "frequency": border.frequency,
                }

    return found


def _actuator(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    error = None if check.margins is None or check.step is None else check.margins.model_error
    if error is not None and error.found and error.value < policy.actuator_error:
        yield {"percent": 100 * error.value, "frequency": error.frequency}


DELAY = (
    "{delay:.3g} ms of extra delay ({samples:.2g} samples) would make the loop unstable at {frequency:.3g} Hz"
)
GAIN = "a measured force {percent:.2g} % too {direction} would make the loop unstable at {frequency:.3g} Hz"
STIFFNESS = "a specimen {factor} times as stiff would make the loop unstable at {frequency:.3g} Hz"
MASS = "a specimen {factor} times as heavy would make the loop unstable at {frequency:.3g} Hz"

MARGINS = (
    Rule(
        "BL301",
        "No margin of delay",
        "stop",
        "only {delay:.3g} ms of delay to spare",
        DELAY,
        "The loop is linear and stable on paper only: the jitter of a computer is as long as the delay that "
        "would make it unstable.",
        _delay(none=True),
    ),
    Rule(
        "BL302",
        "Small margin of delay",
        "care",
        "only {delay:.3g} ms of delay to spare",
        DELAY,
        "A filter that was forgotten, a driver with a buffer, or a valve on a cold morning adds a "
        "millisecond. Measure the delay of the rig before the test, and compensate more of it.",
        _delay(none=False),
    ),
    Rule(
        "BL303",
        "No margin of gain",
        "stop",
        "{which} of {factor}",
        GAIN,
        "The loop is linear, and an error of the force that no load cell excludes makes it unstable.",
        _factor("gain", "least_gain", none=True),
    ),
    Rule(
        "BL304",
        "Small margin of gain",
        "care",
        "{which} of {factor}",
        GAIN,
        "The loop stands only as long as the measured force is right to the percentage that is stated. "
        "Calibrate the load cell, and look at what friction and inertia of the fixture add to the force.",
        _factor("gain", "least_gain", none=False),
    ),
    Rule(
        "BL305",
        "No margin of the specimen's stiffness",
        "stop",
        "stiffness of the specimen within {percent:.2g} %",
        STIFFNESS,
        "The loop is linear, and a specimen that differs by less than anybody knows it makes it unstable.",
        _factor("stiffer", none=True),
    ),
    Rule(
        "BL306",
        "Small margin of the specimen's stiffness",
        "care",
        "stiffness of the specimen within {percent:.2g} %",
        STIFFNESS,
        "A specimen is tested because it is not known. Begin with small motions, identify its stiffness, "
        "and check the test again with what was found.",
        _factor("stiffer", none=False),
    ),
    Rule(
        "BL307",
        "No margin of the specimen's mass",
        "stop",
        "mass of the specimen within {percent:.2g} %",
        MASS,
        "The loop is linear, and a specimen heavier by less than anybody knows it makes it unstable. Mass at "
        "an interface that is imposed is the part of a cut that stability depends on most.",
        _factor("lighter", none=True),
    ),
    Rule(
        "BL308",
        "Small margin of the specimen's mass",
        "care",
        "mass of the specimen within {percent:.2g} %",
        MASS,
        "Fixtures, grips and the moving part of a load cell belong to the mass of the specimen. Weigh them, "
        "or move mass from the specimen to the numerical half.",
        _factor("lighter", none=False),
    ),
    Rule(
        "BL309",
        "Little may be wrong with the actuator's model",
        "care",
        "the actuator may differ by {percent:.2g} % only",
        "an actuator that answers {percent:.2g} % differently at {frequency:.3g} Hz could make the loop "
        "unstable",
        "The smallest error of the actuator's frequency response, in amplitude or phase, with which the loop "
        "could be unstable. Identify the actuator with the specimen mounted, at the stated frequency.",
        _actuator,
    ),
    Rule(
        "BL310",
        "Margins are not known",
        "care",
        "unknown margins",
        "how far it is from the border is not known: {why}",
        "Neither a margin of delay nor of gain could be worked out, for the reason that is stated. The loop "
        "is stable, and nobody knows how much may change before it is not.",
        _unknown,
    ),
    Rule(
        "BL311",
        "Small margin of jitter",
        "care",
        "only {jitter:.3g} ms of jitter to spare",
        "{jitter:.3g} ms of extra delay of every other command ({samples:.2g} samples) would make the loop "
        "unstable at {frequency:.3g} Hz, where the same delay of all would not",
        "A computer that is late now and then, or a link that repeats a packet, delays some commands and not "
        "others. Measure when the commands reach the drive, not how long they take on the average, and give "
        "the loop a fixed delay that none of them exceeds.",
        _jitter,
    ),
)
