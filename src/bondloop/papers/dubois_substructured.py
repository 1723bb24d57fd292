"""Substructured runs with stepped sines (du Bois 2010, section 4.5, Figures 13 and 14), and the trip.

One compiled tick serves all frequencies of a controller: the base moves by a table of sines, one after
another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from bondloop.papers.dubois_damper import (
    DISPLACEMENT_CLOSED,
    FITTED_TO,
    FORCE_CLOSED,
    RAMP,
    RATE,
    SECONDS,
    STANDARD,
    STRUCTURE,
    Bench,
    closing,
    compensator,
    coupled,
)
from bondloop.papers.dubois_damper import test as build
from bondloop.papers.dubois_identification import linearised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control.base import Controller
    from bondloop.hybrid import Run
    from bondloop.identify import SteppedSine, SteppedSinePlan

__all__ = ["BANDS", "SIZES", "TONES", "Tracking", "lagging", "sizes_at", "tracked", "tracking", "typical"]

TONES = (2, 3, 4, 5, 6.3, 8, 10, 12.5, 16, 20, 25, 31.5, 40)
"""Hz: as far as the paper's (section 4.5)."""
BANDS = {"2 to 10 Hz": (2.0, 10.0), "12.5 to 20 Hz": (12.5, 20.0), "25 to 40 Hz": (25.0, 40.0)}
"""Hz: over which errors are averaged."""
SIZES = {"small": 0.5, "large": 1.0}
"""The two levels of excitation."""
AMPLITUDE, VELOCITY = 4e-4, 0.025
"""m and m/s: what mass 2 is to reach at the large level, whichever is less."""
SETTLING, PERIODS, FADE = 2.5, 12, 1.0
"""s, whole periods of each sine that are measured, and the s in which it fades in."""
QUIET, START = FORCE_CLOSED + RAMP, FORCE_CLOSED + RAMP + 1.0
"""s: when both switches are closed, and when the first sine begins."""
LAGGING = (6.3, 10e-3)
"""Hz and s: frequency and latency of the run that is to trip."""
TYPICAL = 8.6
"""Hz: the typical example (Figure 12)."""
LOST = 5e-3
"""m: a motion beyond this belongs to no test any more."""


@dataclass(frozen=True, eq=False)
class Tracking:
    """How the rig followed mass 2, sine by sine.

    Attributes
    ----------
    response
        Measured over numerical displacement, first harmonic, by size and frequency.
    error
        Rms of measured less numerical displacement in m, shape (sizes, frequencies).
    demand
        Rms of the numerical displacement in m, alike.
    noise
        Standard deviation of the measured displacement at rest, m.
    jitter
        Standard deviation in m of command less demand while nothing excites the closed loop: what the
        compensator makes of the load cell's noise.
    peak
        Largest numerical or measured displacement, m.
    """

    response: SteppedSine
    error: NDArray[np.float64]
    demand: NDArray[np.float64]
    noise: float
    jitter: float
    peak: float

    @property
    def stable(self) -> bool:
        """Whether the motion stayed bounded."""
        return self.peak < LOST

    def harmonic_error(self, low: float, high: float, size: str | None = None) -> float:
        """Return the rms of |G - 1| over a band in Hz, of one size or of both."""
        f = self.response.frequency
        rows = list(SIZES).index(size) if size else slice(None)
        values = np.abs(self.response.response[rows][..., (f >= low) & (f <= high)] - 1)
        return float(np.sqrt(np.mean(values**2)))

    def rms_error(self, low: float, high: float, size: str | None = None) -> float:
        """Return the mean over a band in Hz of the rms error, in standard deviations of the noise."""
        f = self.response.frequency
        rows = list(SIZES).index(size) if size else slice(None)
        return float(np.mean(self.error[rows][..., (f >= low) & (f <= high)]) / self.noise)


def sizes_at(frequency: float) -> float:
    """Return the amplitude in m that mass 2 is to have at the large level."""
    return min(AMPLITUDE, VELOCITY / (2 * np.pi * frequency))


@lru_cache(maxsize=64)
def tracking(
    controller: str, prediction: str = "short", bench: Bench = STANDARD, fitted_to: float = FITTED_TO
) -> Tracking:
    """Run all sines of both sizes with the inverse of a process model, force fed back."""
    return tracked(compensator(controller, prediction, bench, fitted_to), bench)


def tracked(controller: Controller, bench: Bench = STANDARD) -> Tracking:
    """Run all sines of both sizes with any controller, force fed back."""
    from bondloop.identify import stepped_sine_plan
    from bondloop.program.signals import Table

    k, c = STRUCTURE.stiffness1, STRUCTURE.beta * STRUCTURE.stiffness1
    plan = stepped_sine_plan(TONES, list(SIZES.values()), SETTLING, PERIODS, RATE)
    ratio = dict(zip(TONES, np.abs(STRUCTURE.transfer(TONES, *linearised(bench.damper))[0]), strict=True))
    lead, fade = round(START * RATE), round(FADE * RATE)
    force = np.zeros(lead + round(plan.duration * RATE) + fade)
    for point in plan:
        first, last = lead + point.first, lead + point.first + point.samples
        t = np.arange(point.samples + fade) / RATE
        base = point.amplitude * sizes_at(point.frequency) / ratio[point.frequency]
        omega = 2 * np.pi * point.frequency
        # Each sine fades in while the last one fades out: a jump would shake the structure for seconds.
        loud = _smooth(t / FADE) * _smooth((t[-1] - t) / FADE)
        force[first : last + fade] += base * loud * (k * np.sin(omega * t) + c * omega * np.cos(omega * t))
    table = Table(np.arange(len(force)) / RATE, force)
    test = coupled(controller, table, bench=bench, switches=closing(bench.damper))
    run = test.run((len(force) - 1) / RATE)
    return _tracked(run, plan, lead)


def _smooth(part: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a step from 0 to 1 as part goes from 0 to 1, with three continuous derivatives."""
    x = np.clip(part, 0.0, 1.0)
    return np.asarray(x**4 * (35 - 84 * x + 70 * x**2 - 20 * x**3))


def _tracked(run: Run, plan: SteppedSinePlan, lead: int) -> Tracking:
    from bondloop.identify import stepped_sine

    desired, seen = run["desired.displacement"], run["measured.displacement"]
    n = plan.points[-1].first + plan.points[-1].samples
    short = lead + n - len(desired)
    if short > 0:
        desired, seen = (np.concatenate((x, np.full(short, 1.0))) for x in (desired, seen))
    shape = len(SIZES), len(TONES)
    error, demand = np.full(shape, np.nan), np.full(shape, np.nan)
    for i, point in enumerate(plan):
        part = slice(lead + point.first + point.settling, lead + point.first + point.samples)
        row, column = divmod(i, len(TONES))
        error[row, column] = np.std(seen[part] - desired[part])
        demand[row, column] = np.std(desired[part])
    response = stepped_sine((desired, seen), plan, sample_period=1 / RATE, delay=lead / RATE)
    peak = float(max(np.abs(desired).max(), np.abs(seen).max()))
    noise = float(np.std(seen[: round(DISPLACEMENT_CLOSED * RATE)]))
    quiet = slice(round(QUIET * RATE), round(START * RATE))
    jitter = float(np.std(run["command"][quiet] - run["desired.displacement"][quiet]))
    return Tracking(response, error, demand, noise, jitter, peak)


@lru_cache(maxsize=1)
def lagging() -> Run:
    """Run a deliberately lagging controller: no compensation, and 10 ms of latency, near the second mode."""
    return build(controller="none", frequency=LAGGING[0], latency=LAGGING[1]).run(SECONDS)


@lru_cache(maxsize=1)
def typical() -> Run:
    """Run the example of Figure 12: the second-order model without delay, at 8.6 Hz."""
    return build(controller="G2", frequency=TYPICAL).run(SECONDS)
