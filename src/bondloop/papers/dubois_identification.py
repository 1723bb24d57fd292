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
from bondloop.papers.dubois_damper import (
    MODELS,
    PLAY,
    RATE,
    STANDARD,
    Bench,
    compensator,
    specimen,
)

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.identify import Data, PlannedPoint, SteppedSine, SteppedSinePlan
    from bondloop.identify.process.process_fit import ProcessFit

__all__ = [
    "AMPLITUDES",
    "FREQUENCIES",
    "Identified",
    "identified",
    "linearised",
    "measured",
    "surface",
    "verified",
]

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
    from bondloop.identify.experiment import Experiment

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
    from bondloop.identify.process.fit_frequency import fit_frequency

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
    from bondloop.identify import stepped_sine
    from bondloop.identify.experiment import Experiment
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
