"""Excitations of an identification experiment, and their responses of a rig."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.control import Measured
from bondloop.display import brief, with_progress
from bondloop.engine.codegen import Runner
from bondloop.engine.data import POSITIVE, Parameter, number
from bondloop.engine.ir import Assign, Channel, Expr, Role, Tick, Var
from bondloop.engine.passes import Context
from bondloop.errors import InputError
from bondloop.identify.data import Data
from bondloop.rigs import MEASURED, RigBlock
from bondloop.signals import Sine, SumOfSines
from bondloop.transfer import width

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control import Controller
    from bondloop.rigs import Emulated
    from bondloop.signals import Signal


Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Experiment:
    """A rig with one transfer system that is driven by a demand of one's own: nothing is fed back.

    The demand becomes the command as it is (identification), or through a compensator (verification of an
    inverse model by prescribed signals: du Bois 2010, Figure 7).

    Parameters
    ----------
    rig
        The rig; the specimen may be attached or not.
    rate
        Samples a second.
    compensator
        What makes the command of the demand; None sends the demand itself.
    ahead
        The compensator is given the demand of so many seconds later. A prescribed signal is known beforehand,
        so the delay of an inverse model need not be predicted.

    Examples
    --------
    An empty rig whose actuator is a process model: it answers a step with that model's lag and latency.

    >>> from bondloop.signals import Step
    >>> from bondloop.rigs import Emulated, nothing_mounted
    >>> from bondloop.transfer import first_order
    >>> rig = Emulated(nothing_mounted(), first_order(0.98, 0.01).actuator(), latency=0.004)
    >>> data = Experiment(rig, 1000.0).run(Step(1e-3, at=0.0), 0.1)
    >>> data
    <Data: 101 samples at 1000 Hz: demand, command, force, displacement, velocity>
    >>> (1e3 * data["displacement"][[4, 14, 100]]).round(4).tolist()  # mm: 0.98 (1 - e^-1) after a lag
    [0.0, 0.6195, 0.9799]
    """

    rig: Emulated
    rate: Parameter = Parameter(above=0, unit="Hz")
    compensator: Controller | None = None
    ahead: Parameter = Parameter(0.0, unit="s")

    def __post_init__(self) -> None:
        count = sum(width(actuator) for actuator in self.rig.actuator_list())
        if count != 1:
            raise InputError(
                f"an experiment drives one transfer system; the rig has {count}: build a rig with one of them"
            )

    @with_progress("running the experiment")
    def run(
        self, demand: Signal, seconds: float | str, *, backend: str = "auto", progress: Progress | None = None
    ) -> Data:
        """Drive the rig with a signal: a step, a sweep, a multisine, noise.

        Parameters
        ----------
        demand
            The demanded displacement in m.
        seconds
            How long.
        backend, progress
            As for a rehearsal.

        Returns
        -------
        Data
            Channels ``demand``, ``command``, ``displacement``, ``velocity``, ``force``.
        """
        seconds = POSITIVE.check(seconds, "seconds", "s")
        t = np.arange(round(seconds * self.rate) + 1) / self.rate
        return self._run(_sampled(demand, t), _sampled(demand, t + self.ahead), backend, progress)

    @with_progress("running the experiment")
    def stepped(
        self, plan: SteppedSinePlan, *, backend: str = "auto", progress: Progress | None = None
    ) -> Data:
        """Drive the rig through a plan of stepped sines, one after another without a pause.

        Parameters
        ----------
        plan
            From `stepped_sine_plan`, at this experiment's rate.
        backend, progress
            As for a rehearsal.
        """
        if abs(plan.sample_period * self.rate - 1) > 1e-9:
            raise InputError(
                f"the plan is made for {1 / plan.sample_period:g} Hz, the experiment runs at {self.rate:g} "
                "Hz; make both the same"
            )
        now, later = [], []
        for point in plan:
            t = np.arange(point.samples) / self.rate
            now.append(_sampled(point.signal, t))
            later.append(_sampled(point.signal, t + self.ahead))
        return self._run(np.concatenate(now), np.concatenate(later), backend, progress)

    def _run(
        self,
        demand: NDArray[np.float64],
        given: NDArray[np.float64],
        backend: str,
        progress: Progress | None,
    ) -> Data:
        tick = self.tick()
        runner = Runner(tick, backend)
        result = runner.run(len(demand), given[:, None], progress=progress)
        if not result.finished:
            raise InputError(f"the experiment was {result.message}; lower the amplitude or mend the rig")
        channels = {"demand": demand, **result.channels}
        units = {c.name: c.unit for c in tick.channels if c.meaning.interface is not None}
        units["demand"] = units["command"]
        return Data(channels, 1 / self.rate, units, source="the experiment")

    def tick(self) -> Tick:
        """Return one sample of the experiment; its input is what the compensator is given."""
        time, count, demand, command = Var("t"), Var("k"), Var("given"), Var("command")
        value: Expr
        period = 1 / self.rate
        rig = self.rig.system()
        block = RigBlock(self.rig, rig, count, period)
        steps = block.measure()
        value = demand
        states: dict[Var, float] = {}
        parameters: dict[Var, float] = {}
        channels = [Channel.of("command", command, rig.commands[0].quantity, Role.COMMAND, 0)]
        for word in MEASURED:
            seen = block.measured[word][0]
            channels.append(Channel.of(word, seen, seen.quantity, Role.MEASURED, 0))
        if self.compensator is not None:
            measured = Measured(*(block.measured[word][0] for word in MEASURED))
            applied = self.compensator.compensate(demand, measured, Context("controller", count, period))
            steps += applied.steps
            value, states, parameters = applied.value, applied.states, applied.parameters
            channels += applied.channels
        steps.append(Assign(command, value))
        steps += block.advance([command])
        return Tick(
            *("experiment", period, time, count, (demand,), {**block.states, **states}),
            *({**block.parameters, **parameters}, tuple(steps), tuple(channels)),
        )


def _sampled(signal: Signal, t: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(signal.sampled(t), dtype=float)


@dataclass(frozen=True)
class PlannedPoint:
    """One sine of a stepped-sine test: settle for whole periods, then measure whole periods.

    Attributes
    ----------
    frequency, amplitude
        Of the sine, [Hz] and the unit of the input.
    first
        Number of its first sample in the whole plan.
    settling, samples
        Samples to let pass, and samples in all.
    periods
        Whole periods measured.

    Examples
    --------
    >>> point = PlannedPoint(frequency=5.0, amplitude=1e-3, first=0, settling=400, samples=1400, periods=5)
    >>> (point.samples - point.settling) / point.periods  # samples a period
    200.0
    """

    frequency: float
    amplitude: float
    first: int
    settling: int
    samples: int
    periods: int

    @property
    def signal(self) -> Sine:
        """The sine, from phase zero at the start of the point."""
        return Sine(self.amplitude, self.frequency)


@dataclass(frozen=True)
class SteppedSinePlan:
    """A stepped-sine test, point after point.

    Parameters
    ----------
    points
        One for each pair of frequency and amplitude, in the order in which they are run.
    sample_period
        In s.

    Examples
    --------
    >>> plan = stepped_sine_plan([5, 10], ["1 mm", "2 mm"], settling=0.5, periods=8, rate=1000)
    >>> len(plan), plan.duration, [point.samples for point in plan]
    (4, 7.0, [2200, 1300, 2200, 1300])
    """

    points: tuple[PlannedPoint, ...]
    sample_period: float

    __repr__ = brief

    def __iter__(self) -> Iterator[PlannedPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def duration(self) -> float:
        """Seconds that all the points take together."""
        last = self.points[-1]
        return float(f"{(last.first + last.samples) * self.sample_period:.12g}")

    def samples(self) -> NDArray[np.float64]:
        """Return the whole input, sampled, shape (n,): the sines one after another, each from phase zero."""
        return np.concatenate(
            [point.signal(np.arange(point.samples) * self.sample_period) for point in self.points]
        )


def stepped_sine_plan(
    frequencies: Sequence[float | str],
    amplitudes: Sequence[float | str],
    settling: float | str,
    periods: int,
    rate: float | str,
) -> SteppedSinePlan:
    """Return the points of a stepped-sine test, all frequencies at the first amplitude, then at the next.

    Parameters
    ----------
    frequencies, amplitudes
        Of the sines, as numbers in SI or texts with units.
    settling
        Least time [s] to let pass before measuring; made up to whole periods.
    periods
        Whole periods to measure at each point.
    rate
        Sample rate [Hz].
    """
    tones = [number(value, "stepped_sine_plan(frequencies)") for value in frequencies]
    sizes = [number(value, "stepped_sine_plan(amplitudes)") for value in amplitudes]
    wait, speed = number(settling, "stepped_sine_plan(settling)"), number(rate, "stepped_sine_plan(rate)")
    if not tones or not sizes:
        raise InputError("a stepped-sine plan needs at least one frequency and one amplitude")
    if min(tones) <= 0 or max(tones) >= 0.49 * speed:
        raise InputError(
            f"frequencies must lie between 0 and half the sample rate ({0.5 * speed:g} Hz); found "
            f"{min(tones):g} to {max(tones):g} Hz"
        )
    if min(sizes) <= 0:
        raise InputError(f"amplitudes must be positive; found {min(sizes):g}")
    if wait < 0 or int(periods) < 1:
        raise InputError(f"settling must not be negative and periods at least 1; found {wait:g} s, {periods}")
    points: list[PlannedPoint] = []
    first = 0
    for amplitude in sizes:
        for frequency in tones:
            waiting = math.ceil(wait * frequency - 1e-9)
            total = math.ceil((waiting + int(periods)) * speed / frequency - 1e-9)
            settled = round(waiting * speed / frequency)
            points.append(PlannedPoint(frequency, amplitude, first, settled, total, int(periods)))
            first += total
    return SteppedSinePlan(tuple(points), 1 / speed)


def multisine(
    lowest: float | str, highest: float | str, period: float | str, rms: float | str = 1.0
) -> SumOfSines:
    """Return a periodic signal with equal lines at every multiple of 1/period from `lowest` to `highest`.

    The phases are Schroeder's, φ_k = −π k (k − 1)/n, which keep the peaks low: below 2 times the rms, where
    random phases give 3 and more.

    Parameters
    ----------
    lowest, highest
        The band [Hz].
    period
        Of the whole signal [s]; the lines are 1/period apart.
    rms
        Root mean square, in the unit of the input.

    References
    ----------
    Schroeder (1970), Synthesis of low-peak-factor signals and binary sequences with low autocorrelation.

    Examples
    --------
    >>> wave = multisine(1, 50, period=4, rms="1 mm")
    >>> samples = wave(np.arange(4000) * 1e-3)
    >>> (
    ...     len(wave.frequencies),
    ...     round(float(samples.std()), 9),
    ...     round(float(abs(samples).max() / samples.std()), 2),
    ... )
    (197, 0.001, 1.8)
    """
    low, high = number(lowest, "multisine(lowest)"), number(highest, "multisine(highest)")
    T, size = number(period, "multisine(period)"), number(rms, "multisine(rms)")
    if not (0 < low < high and T > 0 and size > 0):
        raise InputError(
            f"a multisine needs 0 < lowest < highest, a period and an rms above 0; found {low:g}, {high:g} "
            f"Hz, {T:g} s, {size:g}"
        )
    orders = np.arange(math.ceil(low * T - 1e-9), math.floor(high * T + 1e-9) + 1)
    n = orders.size
    if n < 1:
        raise InputError(
            f"no multiple of 1/period = {1 / T:g} Hz lies in {low:g} to {high:g} Hz; take a longer period"
        )
    k = np.arange(1, n + 1)
    phases = np.mod(-np.pi * k * (k - 1) / n, 2 * np.pi)
    amplitude = size * math.sqrt(2 / n)
    return SumOfSines((amplitude,) * n, tuple((orders / T).tolist()), tuple(phases.tolist()))
