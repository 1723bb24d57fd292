"""How far a stable loop is from its border: extra delay, gain, specimen, model of the actuator, tracking."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import BondloopError
from bondloop.hybrid.loop_curves import curves_of, loci_at
from bondloop.hybrid.running_loop import RunningLoop
from bondloop.integrate import RK4, ForwardEuler
from bondloop.program.tick import statements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.hybrid.loop_curves import Curves
    from bondloop.program.one_step import OneStep, Point

__all__ = ["FOLLOWED", "Border", "Margins", "Place", "margins"]

FOLLOWED = 0.05
"""Relative error up to which a motion counts as followed."""

FACTORS = (1.0, 1.1, 1.25, 1.6, 2.5, 5.0, 10.0)
"""Factors that are tried; what stands ten times as much is not near anything."""

COARSELY = (1.0, 1.25, 3.0, 10.0)
"""The same where each try means to differentiate the tick anew."""

SHORT = 100.0
"""Samples of extra delay up to which the estimate is tried on the tick itself."""

WHOLE = 10.0
"""Samples of extra delay from which it is tried in whole steps of the rig."""

CLOSE = 0.02
"""How closely the critical delay of the loop's response is held against the tick itself."""

LONGEST = 2.0
"""Seconds of extra delay beyond which none is looked for."""

MANY = 160
"""States (with places in delay lines) beyond which margins are read off the response: dozens of spectra would
take too long."""

LONG = 5000
"""Statements of a tick, times substeps of the rig, from which the same is done: a try differentiates all."""

REAL = 1e-3
"""Imaginary over real part from which the loop's slowest response counts as real."""

PRECISION = 4e-3
"""Relative precision of a border."""


@dataclass(frozen=True)
class Border:
    """Where a loop would become unstable.

    Attributes
    ----------
    value
        Seconds or a factor; infinite where no border was found.
    frequency
        Of the motion that would grow, in Hz; NaN where there is no border.
    """

    value: float
    frequency: float = math.nan

    @property
    def found(self) -> bool:
        """Whether there is one within the range that was looked at."""
        return math.isfinite(self.value)


NOWHERE = Border(math.inf)


@dataclass(frozen=True)
class Margins:
    """The distances of a stable loop from its borders; None where one does not apply or was left out.

    Attributes
    ----------
    delay
        Extra delay of the commands, in s.
    gain, least_gain
        Factors on the measured force, above and below one.
    stiffer, lighter
        Factors on all stiffnesses, and on all masses, of the specimen.
    model_error
        How wrong the actuator may be at the frequency where it matters most: the relative change of its
        response, of any phase, that would make the loop unstable.
    followed
        For each interface the frequency in Hz up to which the motion is followed to 5 %.
    where
        For a loop that is not linear, the regime that they are about: the most delicate.
    left_out
        Which are missing or only estimated, and why, in words; empty where none are.
    """

    delay: Border | None = None
    gain: Border | None = None
    least_gain: Border | None = None
    stiffer: Border | None = None
    lighter: Border | None = None
    model_error: Border | None = None
    followed: tuple[float, ...] = ()
    left_out: str = ""
    where: str = ""

    @property
    def indicator(self) -> float | None:
        """Predictive stability indicator: log10 of the critical delay in ms (Maghareh et al. 2014)."""
        if self.delay is None:
            return None
        return math.log10(1e3 * self.delay.value) if self.delay.found and self.delay.value > 0 else math.inf


@dataclass(frozen=True)
class Place:
    """Where in a run margins are taken.

    Attributes
    ----------
    loop, step
        The loop, and one step of it, which must be stable.
    point
        The point of a run at which the step was taken; none for the start.
    where
        The regime in words, of a loop that is not linear.
    """

    loop: RunningLoop
    step: OneStep
    point: Point | None = None
    where: str = ""

    @cached_property
    def curves(self) -> Curves | None:
        """The step's responses."""
        return curves_of(self.loop, self.step)

    @cached_property
    def model_error(self) -> Border:
        """The smallest relative change of the actuators' response that makes the loop unstable.

        A change of the response by a factor 1 + D, of any phase, does it where |D| = 1/|S - 1|, with S what
        becomes of a disturbance of the commands: the small-gain theorem, which is sharp.
        """
        if self.curves is None:
            return NOWHERE
        worst = int(np.argmax(self.curves.complementary))
        size = float(self.curves.complementary[worst])
        return Border(1 / size, float(self.curves.frequency[worst])) if size * FACTORS[-1] > 1 else NOWHERE


def margins(place: Place) -> Margins:
    """Return the margins of a stable loop."""
    loop, step, curves = place.loop, place.step, place.curves
    if curves is None:
        return Margins(
            left_out="margins need coupling='sampled': a continuous coupling has no commands to delay"
        )
    known = Margins(followed=_followed(curves), where=place.where)
    if not loop.closed:
        return known
    known = replace(known, model_error=place.model_error)
    places, length = len(step.states) + step.step.places, loop.test.rig.substeps * statements(loop.tick.steps)
    if places > MANY or length > LONG:
        words = (
            f"with {places:,} states in {length:,} statements these are read off the response at "
            f"{len(curves.frequency)} frequencies; how much stiffer or lighter a specimen may be is left out"
        )
        gain, least_gain = _gains(place, curves)
        return replace(
            known, delay=_crossing(place, curves), gain=gain, least_gain=least_gain, left_out=words
        )

    def gained(factor: float) -> OneStep:
        # The output holds the probe already: f = raw + u, and u = (1 - 1/k) f makes f = k raw.
        return step.fed_back(loop.forces, loop.forces, 1.0 - 1.0 / factor)

    return replace(
        known,
        delay=_delay(place, curves),
        gain=border(gained, FACTORS),
        least_gain=border(gained, [1 / k for k in FACTORS]),
        stiffer=_scaled(loop, "stiffness", COARSELY, place.point),
        lighter=_scaled(loop, "mass", [1 / k for k in COARSELY], place.point),
    )


def border(step_at: Callable[[float], OneStep], trials: Sequence[float]) -> Border:
    """Return the first value at which a loop is unstable.

    Parameters
    ----------
    step_at
        One step for a value.
    trials
        Positive values in the order in which they are tried; the first is known to be stable. The first
        unstable one and the one before it are then brought together.
    """
    good, before = trials[0], -math.inf
    for bad in trials[1:]:
        step = step_at(bad)
        if not step.stable:
            break
        good, before = bad, step.growth
    else:
        return NOWHERE
    after, frequency = step.growth, step.frequency
    smooth = math.isfinite(before) and before < after
    while abs(bad - good) > PRECISION * abs(bad):
        width = abs(math.log(bad / good))
        share = min(max(before / (before - after), 0.02), 0.98) if smooth else 0.5
        value = good * (bad / good) ** share
        # Where growth is smooth: the value at which it would be zero, then one just past that, to close in
        # from both sides. Growth that jumps, where a part begins to slide, misleads: then only halve.
        for _ in range(2 if smooth else 1):
            step = step_at(value)
            if step.stable:
                good, before = value, step.growth
            else:
                bad, after, frequency = value, step.growth, step.frequency
            value *= 1 + math.copysign(0.8 * PRECISION, (bad if step.stable else good) - value)
            if not min(good, bad) < value < max(good, bad):
                break
        smooth = smooth and abs(math.log(bad / good)) < 0.25 * width
    return Border(math.sqrt(good * bad), frequency)


def _scaled(loop: RunningLoop, word: str, factors: Sequence[float], point: Point | None) -> Border | None:
    """Return the border for all parameters of the specimen that are called so, scaled together."""
    values = {
        v.name: x
        for v, x in loop.tick.parameters.items()
        if v.name.startswith("rig.specimen.") and v.name.rpartition(".")[2] == word and x
    }
    if not values:
        return None
    # An exact step has the values built into its matrices: then the test is made anew.
    built_in = not isinstance(loop.test.rig.integrator, (RK4, ForwardEuler))

    def step_at(factor: float) -> OneStep:
        scaled = {n: factor * x for n, x in values.items()}
        return RunningLoop(loop.test.with_values(scaled)).at(point) if built_in else loop.at(point, scaled)

    try:
        return border(step_at, factors)
    except BondloopError:
        return None


# -------------------------------------------------------------------- delay


def _delay(place: Place, curves: Curves) -> Border:
    """Return the critical extra delay of the commands: estimated on the response, settled on the tick.

    On the tick the rig has the delay in its own time steps, so the estimate is tried on a tick whose rig is
    late by that much, and where the two differ the tick is right.
    """
    loop, step, point = place.loop, place.step, place.point
    estimate = _crossing(place, curves)
    if not estimate.found or estimate.value > SHORT * step.period:
        return estimate  # over many samples it does not matter how a part of one is made

    fine = step.period / loop.test.rig.substeps

    def late(seconds: float) -> OneStep:
        latency = loop.test.rig.latency + seconds
        if seconds > WHOLE * step.period:  # a part of a rig's step smooths the command, and that is not delay
            latency = round(latency / fine) * fine
        rig = replace(loop.test.rig, latency=latency)
        return RunningLoop(loop.test.replaced(rig=rig)).at(point and replace(point, lines=()))

    try:
        if late((1 - CLOSE) * estimate.value).stable and not late((1 + CLOSE) * estimate.value).stable:
            return estimate
        trials = [f * estimate.value for f in (1e-3, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 4.0)]
        return border(late, trials) if late(trials[0]).stable else Border(trials[0], estimate.frequency)
    except BondloopError:
        return estimate


def _size(value: complex) -> float:
    """Return what is zero where a locus has the size 1: there a delay can turn it to 1."""
    return abs(value) - 1


def _side(value: complex) -> float:
    """Return what is zero where a locus is real: there a gain can bring it to 1."""
    return value.imag


def _crossing(place: Place, curves: Curves) -> Border:
    """Return the shortest delay that turns a locus of the open loop to 1.

    A delay t turns the open loop L by exp(-iwt): it comes to 1 where a locus of L has the size 1 and wt is
    its angle.
    """
    best = NOWHERE
    for at, value in _zeros(place.step, curves.frequency, curves.loci, place.loop.commands, _size):
        seconds = float(np.angle(value) % (2 * np.pi)) / (2 * np.pi * at)
        if seconds < best.value:
            best = Border(seconds, at)
    return best if best.value < LONGEST else NOWHERE


def _gains(place: Place, curves: Curves) -> tuple[Border, Border]:
    """Return the nearest factors, above and below one, that bring a locus of the open loop to 1."""
    above, below = NOWHERE, Border(0.0)
    f, loci = curves.frequency, curves.force_loci
    # What runs away slowly crosses nothing: its locus begins on the real axis.
    slow = [(float(f[0]), complex(v)) for v in loci[0] if abs(v.imag) < REAL * v.real]
    for at, value in (*slow, *_zeros(place.step, f, loci, place.loop.forces, _side)):
        if value.real <= 0:
            continue
        factor = 1 / value.real
        if 1 < factor < min(above.value, FACTORS[-1]):
            above = Border(factor, at)
        elif max(below.value, 1 / FACTORS[-1]) < factor < 1:
            below = Border(factor, at)
    return above, below if below.value else NOWHERE


def _zeros(
    step: OneStep,
    f: NDArray[np.float64],
    loci: NDArray[np.complex128],
    cut: Sequence[str],
    measure: Callable[[complex], float],
) -> Iterator[tuple[float, complex]]:
    """Yield frequencies, and values there, at which a measure of a locus passes through zero."""
    for i in range(len(f) - 1):
        for a in loci[i]:
            b = loci[i + 1][np.argmin(np.abs(loci[i + 1] - a))]
            if measure(a) * measure(b) <= 0:
                yield _zero(step, cut, measure, (f[i], a), (f[i + 1], b))


def _zero(
    step: OneStep,
    cut: Sequence[str],
    measure: Callable[[complex], float],
    low: tuple[float, complex],
    high: tuple[float, complex],
) -> tuple[float, complex]:
    """Return where between two frequencies a measure of a locus is zero, and the value of the locus there."""
    (f, a), (g, b) = low, high
    for _ in range(6):
        before, after = measure(a), measure(b)
        share = before / (before - after) if after != before else 0.5
        middle = f + min(max(share, 0.05), 0.95) * (g - f)
        loci = loci_at(cut, step, middle)[0]
        between = a + share * (b - a)
        value = complex(loci[np.argmin(np.abs(loci - between))])
        if abs(measure(value)) < 1e-4 * abs(value):
            break
        if measure(value) * before > 0:
            f, a = middle, value
        else:
            g, b = middle, value
    return middle, value


def _followed(curves: Curves) -> tuple[float, ...]:
    """Return up to which frequency each interface is followed without a gap."""
    bands = []
    for column in curves.tracking.T:
        off = ~(np.abs(column - 1) <= FOLLOWED)
        first = int(np.argmax(off)) if off.any() else len(off)
        bands.append(float(curves.frequency[first - 1]) if first else 0.0)
    return tuple(bands)
