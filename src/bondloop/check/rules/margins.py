"""Rules BL3xx: what is left to the borders of stability."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bondloop.check.finding import multiple

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.linear.margins import Border
    from bondloop.check.policy import CheckPolicy
    from bondloop.check.rules.rule import Fields, Predicate
    from bondloop.hybrid import Checkable


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


MARGINS: Mapping[str, Predicate] = {
    "BL301": _delay(none=True),
    "BL302": _delay(none=False),
    "BL303": _factor("gain", "least_gain", none=True),
    "BL304": _factor("gain", "least_gain", none=False),
    "BL305": _factor("stiffer", none=True),
    "BL306": _factor("stiffer", none=False),
    "BL307": _factor("lighter", none=True),
    "BL308": _factor("lighter", none=False),
    "BL309": _actuator,
    "BL310": _unknown,
    "BL311": _jitter,
}
