"""Identification of the emulated rig by stepped sines, and the verification of the inverse models.

Du Bois 2010, sections 2.2, 3.1 and 3.2: surfaces over frequency and amplitude, four process models, and
prescribed signals sent through their inverses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.papers.dubois_rig import (
    FITTED_TO,
    MODELS,
    OUTLOOK,
    PLAY,
    PREDICTIONS,
    RATE,
    STANDARD,
    Bench,
    inverse,
    specimen,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.bondgraph import Model
    from bondloop.control import Compensator, Controller
    from bondloop.identify import Data, PlannedPoint, SteppedSine, SteppedSinePlan
    from bondloop.identify.process import ProcessFit
    from bondloop.transfer import Process


FREQUENCIES = (1, 2, 3, 4, 5, 6.3, 8, 10, 12.5, 16, 20, 25, 31.5, 40, 50, 63, 80, 100)
"""Hz."""
AMPLITUDES = (1.25e-4, 2.5e-4, 3.75e-4, 5e-4)
"""m: four, over half of the range of the surfaces, so that the valves' regime is avoided (section 3.1)."""
RANGE = 1e-3
"""m: largest amplitude of the surfaces (section 2.2)."""
MIDDLE = (5.0, 5e-4)
"""Hz and m: the operating conditions about which the damper is linearised (section 4.3)."""


@dataclass(frozen=True, eq=False)
class Identified:
    """What was measured of the rig, and the models fitted to it.

    Attributes
    ----------
    plan, data
        The stepped sines, and the record.
    surface
        Measured displacement over command, by amplitude and frequency.
    fits
        The four process models.
    """

    plan: SteppedSinePlan
    data: Data
    surface: SteppedSine
    fits: dict[str, ProcessFit]


def stepped(physical: Model, plan: SteppedSinePlan, *, tuned: bool = True, bench: Bench = STANDARD) -> Data:
    """Drive a specimen on the rig through a plan of stepped sines."""
    from bondloop.identify import Experiment

    return Experiment(bench.rig(physical, tuned=tuned), RATE).stepped(plan)


@lru_cache(maxsize=8)
def measured(bench: Bench = STANDARD) -> tuple[SteppedSinePlan, Data, SteppedSine]:
    """Drive the rig with a damper mounted, with the tuned gains, through stepped sines (section 3.1)."""
    from bondloop.identify import stepped_sine, stepped_sine_plan
    from bondloop.rigs import mounted

    plan = stepped_sine_plan(FREQUENCIES, AMPLITUDES, 0.5, 10, RATE)
    data = stepped(mounted(bench.specimen()), plan, bench=bench)
    return plan, data, stepped_sine(data.select("command", "displacement"), plan)


@lru_cache(maxsize=8)
def identified(bench: Bench = STANDARD, highest: float = FREQUENCIES[-1]) -> Identified:
    """Fit the four process models to what was measured (section 3.1).

    All four amplitudes take part at once. The paper's cost is an error over time: by Parseval a point then
    weighs with its amplitude, as here.

    Parameters
    ----------
    bench
        What stands in the laboratory.
    highest
        Highest frequency in Hz that takes part in the fits.
    """
    from bondloop.identify.process import fit_frequency

    plan, data, found = measured(bench)
    inside = found.frequency <= highest
    f = np.tile(found.frequency[inside], len(found.amplitude))
    weight = np.repeat(found.amplitude / found.amplitude.max(), inside.sum())
    response = found.response[:, inside].ravel()
    fits = {name: fit_frequency(f, response, name, weight=weight) for name in MODELS}
    return Identified(plan, data, found, fits)


@lru_cache(maxsize=16)
def verified(controller: str, bench: Bench = STANDARD) -> SteppedSine:
    """Send the sines of the identification through an inverse model, early by its delay (Figure 7)."""
    from bondloop.identify import Experiment, stepped_sine
    from bondloop.rigs import mounted

    known = identified(bench)
    delay = known.fits[controller].process.delay
    rig = bench.rig(mounted(bench.specimen()))
    experiment = Experiment(rig, RATE, compensator(controller, "known", bench), ahead=delay)
    data = experiment.stepped(known.plan)
    return stepped_sine(data.select("demand", "displacement"), known.plan)


@lru_cache(maxsize=8)
def surface(mounting: str, frame: float = 0.0) -> tuple[SteppedSine, SteppedSinePlan, Data]:
    """Measure the rig with the first gains: ``empty``, ``standard`` or ``large`` (Figures 3 to 5).

    The damper's far end is held by a rigid frame, or by one of a frequency in Hz.
    """
    from bondloop.identify import SteppedSinePlan, stepped_sine, stepped_sine_plan
    from bondloop.rigs import mounted, nothing_mounted

    if mounting not in ("empty", "standard", "large"):
        raise InputError(unknown_name("mounting", mounting, ("empty", "standard", "large")))
    physical = nothing_mounted() if mounting == "empty" else mounted(specimen(mounting, PLAY, frame))
    points: list[PlannedPoint] = []
    first = 0
    for amplitude in np.linspace(0.1, 1.0, 7) * RANGE:
        for tone in (2, 4, *range(8, 53, 4), *range(60, 101, 8)):
            # Two seconds of each: all spectra are equally fine, with a line at every multiple of 4 Hz.
            point = stepped_sine_plan([tone], [float(amplitude)], 0.5, 2 * tone, RATE).points[0]
            points.append(replace(point, first=first))
            first += point.samples
    plan = SteppedSinePlan(tuple(points), 1 / RATE)
    data = stepped(physical, plan, tuned=False)
    return stepped_sine(data.select("command", "displacement"), plan), plan, data


@lru_cache(maxsize=4)
def linearised(damper: str = "standard") -> tuple[float, float]:
    """Return c_d in N s/m and k_d in N/m of the damper at mid-range (section 4.3, eqs. 20-23).

    The rod is moved exactly; the first harmonic of the force over the displacement is a spring and a dashpot
    in series: x/F = 1/k_d + 1/(j omega c_d).
    """
    from bondloop.rigs import mounted

    frequency, amplitude = MIDDLE
    omega = 2 * np.pi * frequency
    half = mounted(specimen(damper, 0.0)).compile(outputs=["interface.effort"])
    times = np.linspace(0.0, 4 / frequency, 4 * 200 + 1)

    def velocity(t: float) -> float:
        return float(amplitude * omega * np.cos(omega * t))

    moved = half.simulate(times[-1], {"interface.flow": velocity}, times=times, max_step=1e-3)
    last = slice(-201, -1)
    wave = np.exp(-1j * omega * times[last])
    force = 2 * np.mean(moved["interface.effort"][last] * wave)
    give = (-1j * amplitude) / force
    return float(-1 / (omega * give.imag)), float(1 / give.real)


LEVELS = (5e-5, *AMPLITUDES)
"""m: amplitudes of the schedule; the smallest is what mass 2 has at the highest tones."""


FORCES = (200.0, 2000.0)
"""N: below the first the rig is taken for empty, beyond the second for loaded."""


@lru_cache(maxsize=4)
def _smallest(bench: Bench) -> NDArray[np.complex128]:
    """Measure the rig at the smallest level of the schedule."""
    from bondloop.identify import stepped_sine, stepped_sine_plan
    from bondloop.rigs import mounted

    plan = stepped_sine_plan(FREQUENCIES, LEVELS[:1], 0.5, 10, RATE)
    data = stepped(mounted(bench.specimen()), plan, bench=bench)
    return np.asarray(stepped_sine(data.select("command", "displacement"), plan).response[0])


@lru_cache(maxsize=8)
def empty_process(bench: Bench = STANDARD, highest: float = FITTED_TO) -> Process:
    """Fit G1D to the rig with nothing mounted, at the amplitudes of the identification."""
    from bondloop.identify import stepped_sine, stepped_sine_plan
    from bondloop.identify.process import fit_frequency
    from bondloop.rigs import nothing_mounted

    plan = stepped_sine_plan(FREQUENCIES, AMPLITUDES[1::2], 0.5, 10, RATE)
    data = stepped(nothing_mounted(), plan, bench=bench)
    surface = stepped_sine(data.select("command", "displacement"), plan)
    inside = surface.frequency <= highest
    f = np.tile(surface.frequency[inside], len(surface.amplitude))
    return fit_frequency(f, surface.response[:, inside].ravel(), "G1D").process


@lru_cache(maxsize=8)
def _processes(bench: Bench, highest: float) -> tuple[Process, ...]:
    """Fit G2D to each level by itself."""
    from bondloop.identify.process import fit_frequency

    surface = measured(bench)[2]
    inside = surface.frequency <= highest
    rows = (_smallest(bench), *surface.response)
    return tuple(fit_frequency(surface.frequency[inside], row[inside], "G2D").process for row in rows)


def outlook_controller(name: str, prediction: str, bench: Bench, fitted_to: float) -> Compensator:
    """Return a controller of the outlook.

    Parameters
    ----------
    name
        ``scheduled``: G2D of each amplitude, by the demand's amplitude; ``scheduled by force``: G1D of the
        empty and of the loaded rig, by the amplitude of the measured force; ``scheduled within the stroke``:
        by its value of the moment; ``adaptive``: `AdaptiveTimeSeries`, which knows nothing beforehand;
        ``empty``: G1D of the empty rig; ``load``: the same, and what the load's pressure takes away.
    prediction, bench, fitted_to
        As of `compensator`.
    """
    from bondloop.control import Scheduled
    from bondloop.control.adaptive import AdaptiveTimeSeries
    from bondloop.control.feedforward import LoadFeedforward

    if name == "scheduled":
        members = tuple(inverse(process, prediction) for process in _processes(bench, fitted_to))
        return Scheduled(members, LEVELS)
    free = inverse(empty_process(bench, fitted_to), prediction)
    if name == "empty":
        return free
    if name == "adaptive":
        return AdaptiveTimeSeries()
    if name.startswith("scheduled"):
        loaded = inverse(identified(bench, fitted_to).fits["G1D"].process, prediction)
        return Scheduled((free, loaded), FORCES, "force", 0.0 if name.endswith("stroke") else 0.5)
    from bondloop.rigs import nothing_mounted

    return LoadFeedforward(free, *bench.rig(nothing_mounted()).actuator_list()[0].give)


def compensator(
    controller: str, prediction: str = "short", bench: Bench = STANDARD, fitted_to: float = FITTED_TO
) -> Controller:
    """Return a controller by its name: ``none``, or the inverse of a process model of the rig.

    Parameters
    ----------
    controller
        ``G1``, ``G2``, ``G1D``, ``G2D`` or ``none``; the model is identified on the emulated rig. Or one of
        `OUTLOOK`.
    prediction
        ``long``, ``short``, or ``known``: the delay is left out, for a demand that is given early.
    bench
        On which the model was identified.
    fitted_to
        Highest frequency in Hz of the measured response that the model was fitted to.
    """
    from bondloop.control.feedforward import Direct

    if controller == "none":
        return Direct()
    if prediction not in (*PREDICTIONS, "known"):
        raise InputError(unknown_name("prediction", prediction, (*PREDICTIONS, "known")))
    if controller in OUTLOOK:
        return outlook_controller(controller, prediction, bench, fitted_to)
    if controller not in MODELS:
        raise InputError(unknown_name("controller", controller, (*MODELS, *OUTLOOK, "none")))
    return inverse(identified(bench, fitted_to).fits[controller].process, prediction)
