"""Changes of a refused test that a laboratory can make: compensator, filter, excitation, rate, specimen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.control import AdaptiveTimeSeries, LeadCompensation, PolynomialPrediction, VirtualJunction
from bondloop.engine.analysis.spectrum import within
from bondloop.integrate import SubStep
from bondloop.rehearsal import SCALE
from bondloop.rigs import LowPass, Sensor

if TYPE_CHECKING:
    from bondloop.check.linear.running_loop import RunningLoop
    from bondloop.check.suggestions.suggestion import Kind, SuggestionPolicy
    from bondloop.engine.analysis.spectrum import OneStep
    from bondloop.hybrid import Checkable, HybridTest, PseudoDynamicTest


@dataclass(frozen=True)
class Change:
    """A change that can be tried.

    Attributes
    ----------
    kind, words
        What it is of, and the change with its numbers.
    arguments
        What the test is made with instead.
    """

    kind: Kind
    words: str
    arguments: Mapping[str, object]


def actuator_lag(loop: RunningLoop, step: OneStep, points: int = 40) -> float:
    """Return the time in s by which the actual motion comes after the command, the hold included.

    Of several actuators the slowest, at the frequency of the motion that grows. With S what becomes of a
    disturbance of the commands and A what becomes of the actual motion, the actuators alone answer A/S.

    Parameters
    ----------
    loop, step
        The loop, and one step of it; the loop may be unstable.
    points
        Frequencies along which the phase is followed.
    """
    if not loop.commands or not step.frequency > 0:
        return 0.0
    f = np.linspace(0.0, step.frequency, points + 1)[1:]
    closed = step.response(f, [*loop.commands, *loop.actual], loop.commands)
    n = len(loop.commands)
    alone = np.linalg.solve(closed[:, :n].swapaxes(1, 2), closed[:, n:].swapaxes(1, 2)).swapaxes(1, 2)
    phase = np.unwrap(np.angle(np.diagonal(alone, axis1=1, axis2=2)), axis=0)
    return max(float(-phase[-1].min() / (2 * np.pi * f[-1])), 0.0) + step.period / 2


def compensators(test: HybridTest, lag: float, policy: SuggestionPolicy) -> Iterator[Change]:
    """Yield other settings of the test's own compensator, and other compensators.

    Parameters
    ----------
    test
        The test.
    lag
        Of its actuator, in s.
    policy
        Which delays are tried.
    """
    own: Any = test.controller
    delay = getattr(own, "delay", 0.0)
    for factor in policy.factors if delay else ():
        if factor != 1.0:
            words = f"{type(own).__name__} with delay={1e3 * factor * delay:.3g} ms"
            yield Change("compensator", words, {"controller": replace(own, delay=factor * delay)})
    if not own.inverts:
        words = "a virtual junction with the actuator's model"
        yield Change("compensator", words, {"controller": VirtualJunction(test.rig.actuators)})
    if not 0 < lag <= policy.longest or test.coupling != "sampled":
        return
    for delay in (factor * lag for factor in policy.factors):
        for span, points in policy.spans:
            span = max(span, points * test.period)  # noqa: PLW2901 - points on different samples
            words = (
                f"{1e3 * delay:.3g} ms of prediction (PolynomialPrediction, order=2, {span=:g}, {points=})"
            )
            controller = PolynomialPrediction(delay, order=2, span=span, points=points)
            yield Change("compensator", words, {"controller": controller})
        words = f"a lead of {1e3 * delay:.3g} ms (LeadCompensation)"
        yield Change("compensator", words, {"controller": LeadCompensation(delay)})
    words = f"an adaptive time series that begins with {1e3 * lag:.3g} ms (AdaptiveTimeSeries)"
    yield Change("compensator", words, {"controller": AdaptiveTimeSeries(lag)})


def filters(test: HybridTest, frequency: float, policy: SuggestionPolicy) -> Iterator[Change]:
    """Yield filters of the measured force: faster ones than it has, or one where it has none.

    Parameters
    ----------
    test
        The test.
    frequency
        That grows, in Hz.
    policy
        Which corners are tried.
    """
    sensor = test.rig.sensors.get("force", Sensor((), "N"))
    if not isinstance(sensor, Sensor):
        return
    parts = sensor.imperfections
    places = [i for i, part in enumerate(parts) if isinstance(part, LowPass)]
    for factor in policy.corners:
        if places and factor > 1:
            sharper = [
                replace(part, frequency=factor * part.frequency) if isinstance(part, LowPass) else part
                for part in parts
            ]
            corner = factor * max(part.frequency for part in parts if isinstance(part, LowPass))
        elif not places and factor < 1 and 0 < factor * frequency < 0.5 * test.rate:
            corner = factor * frequency
            sharper = [*parts, LowPass(corner)]
        else:
            continue
        sensors = {**test.rig.sensors, "force": replace(sensor, imperfections=tuple(sharper))}
        words = f"a filter of the measured force with its corner at {corner:.3g} Hz"
        yield Change("filter", words, {"rig": replace(test.rig, sensors=sensors)})


def less_excitation(test: Checkable, policy: SuggestionPolicy) -> Iterator[Change]:
    """Yield smaller shares of the excitation, the largest first.

    Parameters
    ----------
    test
        The test.
    policy
        Which shares are tried.
    """
    for share in policy.scales if getattr(test, "excitation", True) else ():
        scale = share * test.scale
        words = f"{100 * share:g} % of the excitation (excitation.scale={scale:.3g})"
        yield Change("excitation", words, {"values": {**test.overrides, SCALE: scale}})


def compliant_specimen(test: Checkable, policy: SuggestionPolicy) -> Iterator[Change]:
    """Yield a specimen with all its stiffnesses smaller, as one on a compliant mount has it.

    Parameters
    ----------
    test
        The test.
    policy
        Which multiples are tried.
    """
    stiffnesses = {
        v.name: value
        for v, value in test.tick.parameters.items()
        if within(v.name, "rig.specimen")
        and v.quantity is not None
        and v.quantity.name == "stiffness"
        and value
    }
    for factor in policy.compliances if stiffnesses else ():
        values = {**test.overrides, **{n: factor * value for n, value in stiffnesses.items()}}
        words = f"a specimen that is {1 / factor:.3g} times as compliant, its mount included"
        yield Change("specimen", words, {"values": values})


def hybrid_rates(test: HybridTest, policy: SuggestionPolicy) -> Iterator[Change]:
    """Yield higher sample rates.

    Parameters
    ----------
    test
        The test.
    policy
        Which multiples are tried.
    """
    for factor in policy.rates:
        yield Change("rate", f"{factor * test.rate:g} samples a second", {"rate": factor * test.rate})


def shorter_steps(test: PseudoDynamicTest, policy: SuggestionPolicy) -> Iterator[Change]:
    """Yield more sub-steps of a pseudo-dynamic test, and shorter time steps.

    Parameters
    ----------
    test
        The test.
    policy
        Which multiples are tried.
    """
    if isinstance(test.scheme, SubStep):
        for factor in policy.rates:
            more = factor * test.scheme.sub_steps
            yield Change("rate", f"{more} sub-steps", {"scheme": replace(test.scheme, sub_steps=more)})
    for factor in policy.rates:
        shorter = test.period / factor
        yield Change("rate", f"a time step of {1e3 * shorter:.3g} ms", {"time_step": shorter})


def finer_emulation(test: Checkable, policy: SuggestionPolicy) -> Iterator[Change]:
    """Yield an emulation in finer steps: no change of the laboratory, but of its image.

    Parameters
    ----------
    test
        The test.
    policy
        How much finer.
    """
    rig: Any = getattr(test, "rig", None)
    for word in ("substeps", "integration_steps"):
        steps = getattr(rig, word, None)
        if is_dataclass(rig) and steps:
            finer: Any = replace(rig, **{word: policy.finer * steps})  # type: ignore[type-var]
            yield Change("emulation", f"{policy.finer * steps} {word} of the emulated rig", {"rig": finer})
