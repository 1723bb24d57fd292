"""How far a stable loop is from its border: extra delay, gain, specimen, model of the actuator, tracking."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from bondloop.check.loop_curves import curves_of, loci_at
from bondloop.check.running_loop import RunningLoop
from bondloop.check.switched_modes import held, modes_of
from bondloop.engine.analysis.spectrum import Point, collection_paused, within
from bondloop.engine.ir import statements
from bondloop.errors import BondloopError
from bondloop.integrate import RK4, ForwardEuler

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.check.loop_curves import Curves
    from bondloop.engine.analysis.spectrum import OneStep


FOLLOWED = 0.05
"""Relative error up to which a motion counts as followed."""

FACTORS = (1.0, 1.1, 1.25, 1.6, 2.5, 5.0, 10.0)
"""Factors that are tried; what stands ten times as much is not near anything."""

SPECIMENS = (1.0, 1.25, 3.0)
"""The same for a specimen's stiffness or mass, where each try means to differentiate the tick anew. No
estimate of a specimen is three times off; and far stiffer ones are too stiff for the time steps of the
emulation, which says nothing of the rig."""

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

ROUGHLY = 1e-2
"""The same where each try means to differentiate the tick anew."""

ALIKE = 30.0
"""Decay on one side of a border and growth on the other, within such a factor, are taken for one motion's."""


@dataclass(frozen=True)
class Border:
    """Where a loop would become unstable.

    Attributes
    ----------
    value
        Seconds or a factor; infinite where no border was found.
    frequency
        Of the motion that would grow, in Hz; NaN where there is no border.
    where
        The regime in which it is, of a loop that is not linear.
    """

    value: float
    frequency: float = math.nan
    where: str = ""

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
        For a loop that is not linear, the regime that stands the least error of an actuator. Each margin is
        the smallest of all regimes, and says in which one it is.
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

    def taken(
        self, loop: RunningLoop | None = None, parameters: Mapping[str, float] | None = None
    ) -> OneStep:
        """Return one step at this place, with what switches kept in its modes: a change of mode is no motion.

        A delay line gives what it gave, however long it is now. One that was not there holds what goes into
        it: empty it would stop the rig, at another place, where friction sticks or a valve is shut.

        Parameters
        ----------
        loop
            Another loop, of the same test but for a detail.
        parameters
            Values by name instead of the tick's own.
        """
        point, loop = self.point, loop or self.loop
        if point is not None and loop is not self.loop:
            names = [d.target.name for d in self.loop.tick.delays]
            contents = dict(zip(names, point.lines, strict=True))
            lines = [contents.get(d.target.name, ()) for d in loop.tick.delays]
            point = replace(point, lines=lines, steady=True)
        modes = modes_of(self.loop.test, self.step) if self.loop.test.switching else ()
        return held(loop, point or Point(), modes, parameters) if modes else loop.at(point, parameters)

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


@collection_paused()  # once for all trials, see `regimes`
def margins(places: Sequence[Place]) -> Margins:
    """Return the margins of a stable loop: each the smallest of all the places where it was looked at."""
    delicate = min(places, key=lambda p: p.model_error.value)
    curves = delicate.curves
    if curves is None:
        return Margins(
            left_out="margins need coupling='sampled': a continuous coupling has no commands to delay"
        )
    loop, step = delicate.loop, delicate.step
    known = Margins(followed=_followed(curves), where=delicate.where)
    if not loop.closed:
        return known
    known = replace(known, model_error=_at(delicate, delicate.model_error))
    size, length = len(step.states) + step.step.places, loop.test.rig.substeps * statements(loop.tick.steps)
    read = [(p, _crossing(p, p.curves), *_gains(p, p.curves)) for p in places if p.curves is not None]
    late, early = min(read, key=lambda r: r[1].value)[:2]
    above = min(read, key=lambda r: r[2].value)
    below = max(read, key=lambda r: r[3].value if r[3].found else 0.0)
    if size > MANY or length > LONG:
        words = (
            f"with {size:,} states in {length:,} statements these are read off the response at "
            f"{len(curves.frequency)} frequencies; how much stiffer or lighter a specimen may be is left out"
        )
        return replace(
            known,
            delay=_at(late, early),
            gain=_at(above[0], above[2]),
            least_gain=_at(below[0], below[3]),
            left_out=words,
        )
    # A stiffer specimen is one that pushes back harder, at first: it is tried where that matters most.
    stiff = above[0] if above[2].found else delicate
    return replace(
        known,
        delay=_at(late, _delay(late, early)),
        gain=_at(above[0], border(partial(_gained, above[0]), FACTORS)),
        least_gain=_at(below[0], border(partial(_gained, below[0]), [1 / k for k in FACTORS])),
        stiffer=_scaled(stiff, "stiffness", SPECIMENS),
        lighter=_scaled(stiff, "mass", [1 / k for k in SPECIMENS]),
    )


def _at(place: Place, found: Border) -> Border:
    """Return a border with its place."""
    return replace(found, where=place.where) if found.found else found


def _gained(place: Place, factor: float) -> OneStep:
    """Return one step with the measured forces times a factor."""
    # The output holds the probe already: f = raw + u, and u = (1 - 1/k) f makes f = k raw.
    return place.step.fed_back(place.loop.forces, place.loop.forces, 1.0 - 1.0 / factor)


def border(
    step_at: Callable[[float], OneStep], trials: Sequence[float], precision: float = PRECISION
) -> Border:
    """Return the first value at which a loop is unstable.

    Parameters
    ----------
    step_at
        One step for a value.
    trials
        Positive values in the order in which they are tried; the first is known to be stable. The first
        unstable one and the one before it are then brought together.
    precision
        How closely, relative to the value.
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
    misled = False
    while abs(bad - good) > precision * abs(bad):
        width = abs(math.log(bad / good))
        smooth = not misled and max(-before, after) < ALIKE * min(-before, after)
        share = min(max(before / (before - after), 0.02), 0.98) if smooth else 0.5
        value = good * (bad / good) ** share
        # Where growth is smooth: the value at which it would be zero, then one just past that, to close in
        # from both sides. Growth that jumps, where a part begins to slide, misleads, and so do a slow decay
        # and a fast growth, of two motions: then only halve.
        for _ in range(2 if smooth else 1):
            step = step_at(value)
            if step.stable:
                good, before = value, step.growth
            else:
                bad, after, frequency = value, step.growth, step.frequency
            value *= 1 + math.copysign(0.8 * precision, (bad if step.stable else good) - value)
            if not min(good, bad) < value < max(good, bad):
                break
        misled = smooth and abs(math.log(bad / good)) > 0.25 * width
    return Border(math.sqrt(good * bad), frequency)


def _scaled(place: Place, word: str, factors: Sequence[float]) -> Border | None:
    """Return the border for all parameters of the specimen that are called so, scaled together."""
    loop = place.loop
    values = {
        v.name: x
        for v, x in loop.tick.parameters.items()
        if within(v.name, "rig.specimen") and v.quantity is not None and v.quantity.name == word and x
    }
    if not values:
        return None
    # An exact step has the values built into its matrices: then the test is made anew.
    built_in = not isinstance(loop.test.rig.integrator, (RK4, ForwardEuler))

    def step_at(factor: float) -> OneStep:
        scaled = {n: factor * x for n, x in values.items()}
        if built_in:
            return place.taken(RunningLoop(loop.test.with_values(scaled)))
        return place.taken(parameters=scaled)

    try:
        return _at(place, border(step_at, factors, ROUGHLY))
    except BondloopError:
        return None


# -------------------------------------------------------------------- delay


def _delay(place: Place, estimate: Border) -> Border:
    """Return the critical extra delay of the commands: estimated on the response, settled on the tick.

    On the tick the rig has the delay in its own time steps, so the estimate is tried on a tick whose rig is
    late by that much, and where the two differ the tick is right.
    """
    loop, step = place.loop, place.step
    if not estimate.found or estimate.value > SHORT * step.period:
        return estimate  # over many samples it does not matter how a part of one is made

    fine = step.period / loop.test.rig.substeps

    def late(seconds: float) -> OneStep:
        latency = loop.test.rig.latency + seconds
        if seconds > WHOLE * step.period:  # a part of a rig's step smooths the command, and that is not delay
            latency = round(latency / fine) * fine
        rig = replace(loop.test.rig, latency=latency)
        return place.taken(RunningLoop(loop.test.replaced(rig=rig)))

    try:
        if late((1 - CLOSE) * estimate.value).stable and not late((1 + CLOSE) * estimate.value).stable:
            return estimate
        trials = [f * estimate.value for f in (1e-3, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 4.0)]
        return border(late, trials) if late(trials[0]).stable else Border(trials[0], estimate.frequency)
    except BondloopError:
        return estimate


def _size(values: NDArray[np.complex128]) -> NDArray[np.float64]:
    """Return what is zero where a locus has the size 1: there a delay can turn it to 1."""
    return np.abs(values) - 1


def _side(values: NDArray[np.complex128]) -> NDArray[np.float64]:
    """Return what is zero where a locus is real: there a gain can bring it to 1."""
    return values.imag


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
    measure: Callable[[NDArray[np.complex128]], NDArray[np.float64]],
) -> list[tuple[float, complex]]:
    """Return frequencies, and values there, at which a measure of a locus passes through zero.

    All crossings are closed in on together, each by the rule of false position kept off the ends.
    """
    follower = np.abs(loci[1:, None, :] - loci[:-1, :, None]).argmin(axis=2)
    a, b = loci[:-1], np.take_along_axis(loci[1:], follower, axis=1)
    rows, columns = np.nonzero(measure(a) * measure(b) <= 0)
    a, b, low, high = a[rows, columns], b[rows, columns], f[rows], f[rows + 1]
    at, value = low.copy(), a.copy()
    open_ = np.arange(len(rows))
    for _ in range(6):
        if not len(open_):
            break
        before, after = measure(a[open_]), measure(b[open_])
        same = before == after
        share = np.where(same, 0.5, before / np.where(same, 1.0, before - after))
        between = a[open_] + share * (b[open_] - a[open_])
        at[open_] = low[open_] + np.clip(share, 0.05, 0.95) * (high[open_] - low[open_])
        points = loci_at(cut, step, at[open_])
        near = np.abs(points - between[:, None]).argmin(axis=1)
        value[open_] = points[np.arange(len(open_)), near]
        onward = measure(value[open_]) * before > 0
        forth, back = open_[onward], open_[~onward]
        low[forth], a[forth] = at[forth], value[forth]
        high[back], b[back] = at[back], value[back]
        open_ = open_[np.abs(measure(value[open_])) >= 1e-4 * np.abs(value[open_])]
    return list(zip(at.tolist(), value.tolist(), strict=True))


def _followed(curves: Curves) -> tuple[float, ...]:
    """Return up to which frequency each interface is followed without a gap."""
    bands = []
    for column in curves.tracking.T:
        off = ~(np.abs(column - 1) <= FOLLOWED)
        first = int(np.argmax(off)) if off.any() else len(off)
        bands.append(float(curves.frequency[first - 1]) if first else 0.0)
    return tuple(bands)
