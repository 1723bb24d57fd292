"""How far a stable loop is from its border: extra delay, gain, specimen, model of the actuator, tracking."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from bondloop.check import tolerances
from bondloop.check.linear.delay_margins import Crossing, LateCommands, first_crossing, first_jitter
from bondloop.check.linear.loop_curves import curves_of, grid, loci_at
from bondloop.check.linear.running_loop import RunningLoop
from bondloop.check.linear.switched_modes import held, modes_of
from bondloop.check.tolerances import FOLLOWED as FOLLOWED  # noqa: PLC0414 - the figure draws it
from bondloop.engine.analysis.spectrum import Point, collection_paused, within
from bondloop.engine.ir import statements
from bondloop.errors import BondloopError
from bondloop.integrate import RK4, ForwardEuler

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.check.linear.loop_curves import Curves
    from bondloop.engine.analysis.spectrum import OneStep


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
        The shortest extra delay of all commands, in s, of any part of a sample, with which the loop is
        unstable; with a longer one it may be stable again.
    jitter
        The shortest time in s by which commands may come late *unevenly*: the smaller of the delay above and
        of the extra delay of every other command, up to one sample, that makes the loop unstable. Other
        patterns are not looked at, nor commands that overtake one another.
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
    jitter: Border | None = None
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
        if not self.delay.value:
            return -math.inf
        return math.log10(1e3 * self.delay.value) if self.delay.found else math.inf


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
        return (
            Border(1 / size, float(self.curves.frequency[worst]))
            if size * tolerances.GAIN_FACTORS[-1] > 1
            else NOWHERE
        )


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
    lively = [p for p in places if p.curves is not None]
    late, jitter, estimated = _delays(lively)
    known = replace(known, model_error=_at(delicate, delicate.model_error), delay=late, jitter=jitter)
    read = [(p, *_gains(p, p.curves)) for p in lively if p.curves is not None]
    above = min(read, key=lambda r: r[1].value)
    below = max(read, key=lambda r: r[2].value if r[2].found else 0.0)
    size = len(step.states) + step.step.places
    if size > tolerances.TRIED_PLACES or _length(loop) > tolerances.TRIED_STATEMENTS:
        words = (
            f"with {size:,} states in {_length(loop):,} statements the margins of gain are read off the "
            f"response at {len(curves.frequency)} frequencies; how much stiffer or lighter a specimen may be "
            "is left out"
        )
        return replace(
            known,
            gain=_at(above[0], above[1]),
            least_gain=_at(below[0], below[2]),
            left_out="; ".join(x for x in (words, estimated) if x),
        )
    # A stiffer specimen is one that pushes back harder, at first: it is tried where that matters most.
    stiff = above[0] if above[1].found else delicate
    gains, factors = tolerances.GAIN_FACTORS, tolerances.SPECIMEN_FACTORS
    return replace(
        known,
        gain=_at(above[0], _gain(above[0], gains, above[1])),
        least_gain=_at(below[0], _gain(below[0], [1 / k for k in gains], below[2])),
        stiffer=_scaled(stiff, "stiffness", factors),
        lighter=_scaled(stiff, "mass", [1 / k for k in factors]),
        left_out=estimated,
    )


def _length(loop: RunningLoop, substeps: int = 0) -> int:
    """Return how many statements a step of the loop has, with at least so many substeps of the rig."""
    return max(loop.test.rig.substeps, substeps) * statements(loop.tick.steps)


def _at(place: Place, found: Border) -> Border:
    """Return a border with its place."""
    return replace(found, where=place.where) if found.found else found


def _gained(place: Place, factor: float) -> OneStep:
    """Return one step with the measured forces times a factor."""
    # The output holds the probe already: f = raw + u, and u = (1 - 1/k) f makes f = k raw.
    return place.step.fed_back(place.loop.forces, place.loop.forces, 1.0 - 1.0 / factor)


def _gain(place: Place, trials: Sequence[float], read: Border) -> Border:
    """Return the border for the measured forces: tried at factors, and just past what the response says."""
    more = [read.value ** (1 + tolerances.BORDER)] if read.found else []
    return border(partial(_gained, place), sorted([*trials, *more], key=lambda k: abs(math.log(k))))


def border(
    step_at: Callable[[float], OneStep], trials: Sequence[float], precision: float = tolerances.BORDER
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
        smooth = not misled and max(-before, after) < tolerances.SAME_MOTION * min(-before, after)
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
        return _at(place, border(step_at, factors, tolerances.SPECIMEN_BORDER))
    except BondloopError:
        return None


# -------------------------------------------------------------------- delay


def _delays(places: Sequence[Place], enough: int = 3) -> tuple[Border, Border | None, str]:
    """Return the smallest margins of delay and of jitter of all places, and what of them is only estimated.

    Parameters
    ----------
    places
        With responses.
    enough
        Places beyond which only those are looked at whose estimate is shorter than what was found.
    """
    ranked = (
        [(_at(p, _estimated(p)), p) for p in places] if len(places) > 1 else [(NOWHERE, p) for p in places]
    )
    ranked.sort(key=lambda r: r[0].value)
    delay, jitter, words = NOWHERE, NOWHERE, ""
    for number, (estimate, place) in enumerate(ranked):
        if number >= enough and estimate.value >= delay.value:
            break
        late = _late_commands(place)
        if late is None:
            words = (
                "the margin of delay is read off the response, as if no command were held, and that of "
                "jitter is left out"
            )
            found = _at(place, _estimated(place))
        else:
            found = _at(place, _delay(late))
        delay = min(delay, found, key=lambda b: b.value)
        uneven = None if late is None else _jitter(late, found)
        if uneven is None and not words:
            words = "the margin of jitter is left out: it takes dozens of spectra of a large loop"
        if uneven is not None:
            jitter = min(jitter, _at(place, uneven), key=lambda b: b.value)
    return delay, None if words else jitter, words


def _late_commands(place: Place) -> LateCommands | None:
    """Return the loop at a place with commands at any instant; None where it is too large or is refused."""
    test = place.loop.test
    finer = -(-tolerances.EDGE_STEPS // test.rig.substeps) * test.rig.substeps
    if len(place.step.states) > tolerances.TRIED_PLACES:
        return None
    if _length(place.loop, finer) > tolerances.TRIED_STATEMENTS:
        return None
    try:
        rig = replace(test.rig, latency=test.period, substeps=finer)
        step = place.taken(RunningLoop(test.replaced(rig=rig)))
    except BondloopError:
        return None
    return LateCommands.of(step, finer, test.rig.latency / test.period)


def _delay(late: LateCommands) -> Border:
    """Return the shortest extra delay of the commands with which the loop is unstable."""
    at_once = late.at(0.0)
    if not at_once.stable:
        return Border(0.0, at_once.frequency)
    period = late.step.period
    angles = 2 * np.pi * period * grid(at_once, late.own)
    angles = np.append(angles, 2 * np.pi - angles[-1])  # past pi, where what changes its sign every sample is
    longest = late.latency + tolerances.LONGEST_DELAY / period
    return _border(first_crossing(late.loci, angles, late.latency, longest), period)


def _jitter(late: LateCommands, delay: Border) -> Border | None:
    """Return the smallest jitter; None where the loop is too large for its spectra."""
    if (
        late.opened.states + late.opened.places + len(late.seen) * (late.latency + 3)
        > tolerances.JITTER_PLACES
    ):
        return None
    period = late.step.period
    found = _border(first_jitter(late, delay.value / period), period) if delay.value else NOWHERE
    return min(found, delay, key=lambda b: b.value)


def _estimated(place: Place) -> Border:
    """Return the shortest delay exp(-iwt) that turns a locus of the open loop to 1, as if none were held."""
    curves, period, loop = place.curves, place.step.period, place.loop
    assert curves is not None
    sizes = np.sort(np.abs(curves.loci), axis=1)
    around = np.stack([sizes[:-1], sizes[1:]])
    passed = ((around.min(axis=0) <= 1) & (around.max(axis=0) >= 1)).any(axis=1)
    kept = np.zeros(len(sizes), dtype=bool)
    kept[:-1] |= passed
    kept[1:] |= passed
    if not kept.any():
        return NOWHERE

    def loci(angles: NDArray[np.float64], parts: NDArray[np.float64]) -> NDArray[np.complex128]:
        values = loci_at(loop.commands, place.step, angles / (2 * np.pi * period))
        values = np.take_along_axis(values, np.argsort(np.abs(values), axis=1), axis=1)
        late = np.exp(-1j * angles[:, None] * np.minimum(parts, 1.0))
        return np.asarray(values[:, None] * late[:, :, None])

    angles = 2 * np.pi * period * curves.frequency[kept]
    return _border(first_crossing(loci, angles, 0.0, tolerances.LONGEST_DELAY / period, fractions=8), period)


def _border(crossing: Crossing | None, period: float) -> Border:
    """Return a crossing in s and Hz."""
    if crossing is None:
        return NOWHERE
    return Border(float(crossing.delay * period), float(crossing.angle / (2 * np.pi * period)))


# -------------------------------------------------------------------- gain


def _side(values: NDArray[np.complex128]) -> NDArray[np.float64]:
    """Return what is zero where a locus is real: there a gain can bring it to 1."""
    return values.imag


def _gains(place: Place, curves: Curves) -> tuple[Border, Border]:
    """Return the nearest factors, above and below one, that bring a locus of the open loop to 1."""
    above, below = NOWHERE, Border(0.0)
    f, loci = curves.frequency, curves.force_loci
    # What runs away slowly crosses nothing: its locus begins on the real axis.
    slow = [(float(f[0]), complex(v)) for v in loci[0] if abs(v.imag) < tolerances.REAL_LOCUS * v.real]
    for at, value in (*slow, *_zeros(place.step, f, loci, place.loop.forces, _side)):
        if value.real <= 0:
            continue
        factor = 1 / value.real
        if 1 < factor < min(above.value, tolerances.GAIN_FACTORS[-1]):
            above = Border(factor, at)
        elif max(below.value, 1 / tolerances.GAIN_FACTORS[-1]) < factor < 1:
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
