"""What du Bois, Titurus and Lieven 2010 propose in section 5: gain scheduling, and a state that is observed.

All on the emulated rig, beside what the paper has.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from bondloop.papers.dubois_damper import FITTED_TO, OUTLOOK, RATE, STANDARD, Bench, inverse
from bondloop.papers.dubois_findings import USED
from bondloop.papers.dubois_identification import AMPLITUDES, FREQUENCIES, identified, measured, stepped
from bondloop.papers.dubois_substructured import tracking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control.base import Compensator
    from bondloop.papers.dubois_substructured import Tracking
    from bondloop.transfer.process import Process

__all__ = [
    "COMPARED",
    "FORCES",
    "FRAMED",
    "LEVELS",
    "SLOW",
    "compared",
    "empty_process",
    "outlook_controller",
]

LEVELS = (5e-5, *AMPLITUDES)
"""m: amplitudes of the schedule; the smallest is what mass 2 has at the highest tones."""
FORCES = (200.0, 2000.0)
"""N: below the first the rig is taken for empty, beyond the second for loaded."""
SLOW = Bench(valve=40.0)
"""A bench with a servovalve of 40 Hz."""
FRAMED = Bench(frame=40.0)
"""A bench with a frame that has a mode at 40 Hz."""
COMPARED = ("G2", "G1D", "G2D", *OUTLOOK)
"""Controllers beside each other; ``empty`` is G1D of the rig without a damper."""


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
    from bondloop.identify.process.fit_frequency import fit_frequency
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
    from bondloop.identify.process.fit_frequency import fit_frequency

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
        As of `dubois_damper.compensator`.
    """
    from bondloop.control import AdaptiveTimeSeries, LoadFeedforward, Scheduled

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


def compared(bench: Bench = STANDARD, highest: float = USED) -> dict[str, Tracking]:
    """Run all sines with every controller of `COMPARED`, fitted to the band in which they are used."""
    return {name: tracking(name, "short", bench, highest) for name in COMPARED}
