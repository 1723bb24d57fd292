"""What a test asks of its compensator: the motion of the complete structure, and a model of the actuator."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.check import RunningLoop, coupled
from bondloop.control import LeadCompensation, Task
from bondloop.engine.analysis.spectrum import within
from bondloop.engine.ir import Var
from bondloop.errors import BondloopError, InputError
from bondloop.hybrid import Extrapolation, Simulation
from bondloop.identify.process import rank_frequency
from bondloop.signals import Noise
from bondloop.substructure import indexed
from bondloop.tuning.policy import POLICY, TuningPolicy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.bondgraph import Model
    from bondloop.hybrid import HybridTest
    from bondloop.transfer import Process


def plain_model(process: Process, frequencies: NDArray[np.float64], trifle: float = 1e-4) -> Process:
    """Return a model without the zeros and poles that lie so far beyond a band that nothing in it shows them.

    A fit with more zeros than there are puts them there, on either side; an inverse would act on them.

    Parameters
    ----------
    process
        The model.
    frequencies
        Of the band, in Hz.
    trifle
        Largest change of the response, against that of slow motions, that counts as none.

    Examples
    --------
    >>> from bondloop.transfer import Process
    >>> odd = Process((-1e-9, 1.0), (1e-12, 0.01, 1.0), 0.002)
    >>> print(plain_model(odd, np.linspace(0.1, 20.0, 10)))
    (1) / (0.01 s + 1) exp(-0.002 s)
    """
    wanted = process.response(frequencies)
    nothing = trifle * abs(process.gain)
    plain = process
    while True:
        above, below = plain.numerator, plain.denominator
        simpler = [replace(plain, numerator=above[1:])] if len(above) > 1 else []
        if len(below) > max(len(above), 2):
            simpler.append(replace(plain, denominator=below[1:]))
        same = [p for p in simpler if np.max(np.abs(p.response(frequencies) - wanted)) <= nothing]
        if not same:
            return plain
        plain = same[0]


PLAIN = LeadCompensation(0.0)
"""Sends the demand as it is, whatever the transfer system."""


def with_excitation(test: HybridTest, policy: TuningPolicy = POLICY) -> HybridTest:
    """Return the test with an excitation: noise in the numerical half's inputs where it has none of its own.

    The noise goes up to a tenth of the sample rate or 20 Hz, and is small against the limits.
    """
    inputs = [test.input_name(u) for u in test.half.excitations]
    if test.excitation or not inputs:
        return test
    high = min(policy.nyquist * test.rate, 20.0)
    seconds = policy.duration
    noise = {n: Noise(1.0, 0.02 * high, high, seconds, seed=i) for i, n in enumerate(inputs)}
    limit = getattr(test.limits, "displacement", None)
    loud = open_loop_velocity(test.replaced(excitation=noise), seconds)
    stroke = float(np.abs(_displacement(loud, test.period)).max(initial=0.0))
    if not stroke > 0:
        return test
    rms = (policy.noise_share * limit if limit is not None else policy.noise_displacement) / stroke
    return test.replaced(excitation={n: rms * s for n, s in noise.items()})


def task_of(
    test: HybridTest, process: Process | None, velocity: NDArray[np.float64], policy: TuningPolicy = POLICY
) -> Task:
    """Return what the compensator of a test is to do.

    Parameters
    ----------
    test
        With something to do.
    process
        Model of the transfer system; where there is none, the test's own actuator is identified.
    velocity
        Of the interface, as it should move, at the test's samples.
    policy
        What the highest frequency of interest is.
    """
    period = test.period
    x = _displacement(velocity, period)
    power = np.cumsum(np.abs(np.fft.rfft(velocity - velocity.mean())) ** 2)
    frequencies = np.fft.rfftfreq(len(velocity), period)
    stroke = float(np.abs(x).max(initial=0.0))
    if not (stroke > 0 and power[-1] > 0):
        raise InputError(
            f"'{test.name}' does not move: there is nothing by which to tell one compensator from another; "
            "give the test an excitation"
        )
    highest = float(frequencies[min(int(np.searchsorted(power, policy.power * power[-1])), len(power) - 1)])
    highest = min(max(highest, 1 / (len(velocity) * period)), policy.nyquist / test.period)
    if process is None:
        process = identified_process(test, highest, policy)
    return Task(process, test.period, highest, stroke)


def open_loop_velocity(test: HybridTest, seconds: float) -> NDArray[np.float64]:
    """Return the velocity of the interface that moves most: in the test's own reference, if it has one.

    The measured force is not fed back, so that nothing is unstable that will not be so with a compensator.
    """
    open_loop = test.replaced(controller=PLAIN, feedback=False, limits=None, interlock=None)
    record = open_loop.run(seconds).record
    names = [n for n in indexed("reference.velocity", test.interfaces) if n in record]
    names = names or indexed("desired.velocity", test.interfaces)
    columns = [np.asarray(record[n]) for n in names]
    return max(columns, key=lambda v: float(np.abs(v).max(initial=0.0)))


def _displacement(velocity: NDArray[np.float64], period: float) -> NDArray[np.float64]:
    x = np.cumsum(velocity) * period
    return np.asarray(x - x.mean())


def identified_process(
    test: HybridTest, frequency: float, policy: TuningPolicy = POLICY, points: int = 60
) -> Process:
    """Return a process model of a test's emulated actuator with the specimen on it.

    It is fitted to the response of the tick itself, from command to actual displacement, where the test
    starts; the hold of the command is taken out.

    Parameters
    ----------
    test
        The test.
    frequency
        Highest frequency of interest in Hz; the model is fitted to several times that.
    policy
        How far it is fitted, and which error is good enough.
    points
        Frequencies of the fit.
    """
    loop = RunningLoop(coupled(test).replaced(controller=PLAIN, feedback=False))
    step = loop.at()
    high = min(policy.fitted_band * frequency, 0.2 / test.period)
    f = np.geomspace(min(frequency / 20, high / 100), high, points)
    response = step.response(f)
    best: tuple[float, Process] | None = None
    for actual, command in zip(loop.actual, loop.commands, strict=True):
        column = response[:, step.outputs.index(actual), step.probes.index(command)]
        x = f * test.period
        column = column / (np.sinc(x) * np.exp(-1j * np.pi * x))
        if not np.all(np.isfinite(column)) or not abs(column[0]) > 1e-9:
            raise InputError(
                "the emulated actuator does not answer a small command where the test starts, so it "
                "cannot be identified; give a process, from `bondloop identify` or by hand"
            )
        ranking = rank_frequency(f, column)
        # An inverse needs as many derivatives as the model has poles: the simplest that is good enough.
        good = [fit.process for fit in ranking.fits if fit.rms <= policy.fitted_error * abs(column[0])]
        simple = sorted((plain_model(p, f) for p in good), key=_size)
        others = (plain_model(fit.process, f) for fit in (ranking.recommended, *ranking.fits))
        models = [*simple, *others]
        process = next((model for model in models if model.invertible), models[0])
        late = -float(np.unwrap(np.angle(column))[-1])
        if best is None or late > best[0]:  # of several, the slowest
            best = late, process
    assert best is not None
    assert math.isfinite(best[0])
    return best[1]


def _size(process: Process) -> int:
    """Return how many numbers a model has."""
    return process.order + len(process.numerator) + (process.delay > 0)


def true_velocities(
    test: HybridTest, seconds: float, policy: TuningPolicy = POLICY, agree: float = 1e-3
) -> dict[str, NDArray[np.float64]]:
    """Return the interfaces' velocities in the structure from which a test's halves were cut.

    By the name of the channel that should equal it; empty where the structure is not known, or cannot be
    computed in one piece.

    Parameters
    ----------
    test
        The test.
    seconds
        Length of the run.
    policy
        Which steps are tried.
    agree
        Relative difference (rms) of two of them that agree.
    """
    whole = test.structure
    if whole is test.numerical:
        return {}
    names = indexed("desired.velocity", len(test.half.flows))
    paths = {
        name: flow.name.removeprefix("numerical.")
        for name, flow in zip(names, test.half.flows, strict=True)
        if isinstance(flow, Var)
    }
    if len(paths) < len(names):
        return {}
    try:
        coarse: NDArray[np.float64] | None = None
        for finer in policy.finer:
            fine = _simulated(test, whole, list(paths.values()), seconds, finer)
            if fine is None:
                continue
            if coarse is not None and _difference(coarse, fine) < agree:
                return dict(zip(paths, fine, strict=True))
            coarse = fine
    except BondloopError:
        return {}
    return {}


def _simulated(
    test: HybridTest, whole: Model, paths: list[str], seconds: float, finer: int
) -> NDArray[np.float64] | None:
    """Return variables of the complete structure at the test's samples; None where it diverges."""
    system = whole.compile(paths)
    # Values that were changed in the halves are those of the structure too.
    values = {}
    for path, value in test.overrides.items():
        for half in ("numerical", "rig.specimen"):
            if within(path, half) and path.removeprefix(f"{half}.") in system.parameters:
                values[f"whole.{path.removeprefix(f'{half}.')}"] = value
    excitation = {n: test.scale * s for n, s in test.excitation.items()}
    simulation = Simulation(
        {"whole": system}, excitation=excitation, rate=finer * test.rate, values=values, name=test.name
    )
    run = simulation.run(seconds, every=finer)
    return np.array([run.record[f"whole.{path}"] for path in paths]) if run.completed else None


def _difference(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    size = float(np.sqrt(np.mean(other**2)))
    return float(np.sqrt(np.mean((one - other) ** 2))) / size if size > 0 else 0.0


def late_samples(test: HybridTest, frequency: float) -> float:
    """Return by how many samples the measured force comes later than the force itself, the worst of all.

    Parameters
    ----------
    test
        The test.
    frequency
        In Hz, at which phases are compared.
    """
    loop = RunningLoop(coupled(test).replaced(controller=PLAIN, feedback=False))
    true = indexed("force", loop.count)
    step = loop.at(more=true)
    response = step.response(np.array([frequency]))[0]
    latest = 0.0
    for measured, force, command in zip(loop.forces, true, loop.commands, strict=True):
        column = response[:, step.probes.index(command)]
        whole, part = column[step.outputs.index(force)], column[step.outputs.index(measured)]
        # A force that a small motion does not make, within a play, tells nothing.
        if abs(whole) > 0 and 0.5 < abs(part / whole) < 2:
            latest = max(latest, float(-np.angle(part / whole) / (2 * np.pi * frequency * test.period)))
    return float(round(latest, 3))


def carried_on(test: HybridTest, frequency: float, policy: TuningPolicy = POLICY) -> HybridTest | None:
    """Return the test with its measured force carried on; None where it has its own way, or cannot.

    Parameters
    ----------
    test
        The test.
    frequency
        In Hz, of the motion.
    policy
        How late a force may be, and what its line is fitted to.
    """
    if test.extrapolation is not None or not test.feedback:
        return None
    try:
        late = late_samples(test, frequency)
        if late > policy.latest_force:
            return None
        carried = test.replaced(extrapolation=Extrapolation(late=late, points=policy.force_points))
        _ = carried.replaced(controller=PLAIN).tick
    except BondloopError:
        return None
    return carried
