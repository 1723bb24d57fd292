"""The programme of du Bois, Titurus and Lieven 2010 on the emulated rig: all its sines, cases and benches.

Run: python examples/papers/dubois_programme.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.identify import Experiment, SteppedSinePlan, stepped_sine, stepped_sine_plan
from bondloop.papers.dubois_damper import (
    DISPLACEMENT_CLOSED,
    FITTED_TO,
    FORCE_CLOSED,
    MODELS,
    OUTLOOK,
    PLAY,
    PREDICTIONS,
    RAMP,
    RATE,
    SECONDS,
    STANDARD,
    STRUCTURE,
    Bench,
    closing,
    compensator,
    coupled,
    identified,
    linearised,
    specimen,
    stepped,
    test,
)
from bondloop.rigs import mounted, nothing_mounted
from bondloop.signals import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control import Controller
    from bondloop.identify import Data, PlannedPoint, SteppedSine
    from bondloop.rehearsal import Run

__all__ = [
    "BANDS", "CASES", "COMPARED", "FRAMED", "LAGGING", "RANGE", "SIZES", "SLOW", "TONES", "USED", "Tracking",
    "cases", "compared", "good_to", "holds_to", "known_error", "lagging", "large_cases", "noise_gain",
    "programme", "surface", "tracked", "tracking", "typical", "used_cases", "verified",
]  # fmt: skip


RANGE = 1e-3
"""m: largest amplitude of the surfaces (section 2.2)."""


@lru_cache(maxsize=16)
def verified(controller: str, bench: Bench = STANDARD) -> SteppedSine:
    """Send the sines of the identification through an inverse model, early by its delay (Figure 7)."""
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
    return test(controller="none", frequency=LAGGING[0], latency=LAGGING[1]).run(SECONDS)


@lru_cache(maxsize=1)
def typical() -> Run:
    """Run the example of Figure 12: the second-order model without delay, at 8.6 Hz."""
    return test(controller="G2", frequency=TYPICAL).run(SECONDS)


CASES = {
    "none": ("none", "short"), "G1": ("G1", "short"), "G2": ("G2", "short"),
    "G1D long": ("G1D", "long"), "G2D long": ("G2D", "long"),
    "G1D short": ("G1D", "short"), "G2D short": ("G2D", "short"),
}  # fmt: skip
"""The substructured runs: controller and prediction."""


ALIKE = 0.15
"""Responses that differ by less are taken for alike."""


USED = 40.0
"""Hz: end of the band in which the rig is used. Fitted only up to here, the models do better."""


GOOD_GAIN, GOOD_PHASE = 0.1, 10.0
"""A prediction is good while its gain is within 10 % and its phase within 10 degrees."""


def cases() -> dict[str, Tracking]:
    """Return the substructured runs of all controllers."""
    return {name: tracking(*case) for name, case in CASES.items()}


def used_cases() -> dict[str, Tracking]:
    """Return the runs of the models that were fitted only to the band in which they are used."""
    return {name: tracking(*CASES[name], fitted_to=USED) for name in ("G1", "G2", "G1D short", "G2D short")}


def large_cases() -> dict[str, Tracking]:
    """Return the runs with the large orifice, a specimen that is nearly linear, all fitted up to 100 Hz."""
    return {name: tracking(*CASES[name], Bench("large")) for name in ("G1", "G2", "G1D short")}


def good_to(prediction: str, controller: str = "G1D", bench: Bench = STANDARD) -> float:
    """Return the frequency in Hz up to which a prediction is good, in closed form (Figure 15)."""
    ahead = compensator(controller, prediction, bench).prediction  # type: ignore[attr-defined]
    f = np.arange(0.1, 100.0, 0.1)
    H = ahead.response(f, 1 / RATE)
    bad = (np.abs(np.abs(H) - 1) > GOOD_GAIN) | (np.abs(np.degrees(np.angle(H))) > GOOD_PHASE)
    return float(f[np.argmax(bad)]) if bad.any() else float(f[-1])


def noise_gain(controller: str, prediction: str = "short") -> float:
    """Return the rms of the command for white noise of rms 1 in the demand, in closed form."""
    H = compensator(controller, prediction).response(  # type: ignore[attr-defined]
        np.linspace(0.0, RATE / 2, 2001), 1 / RATE
    )
    return float(np.sqrt(np.mean(np.abs(H) ** 2)))


def known_error(controller: str, low: float, high: float, bench: Bench = STANDARD) -> float:
    """Return the rms of |G - 1| over a band in Hz where the demand is known beforehand (Figure 7)."""
    found = verified(controller, bench)
    inside = (found.frequency >= low) & (found.frequency <= high)
    return float(np.sqrt(np.mean(np.abs(found.response[:, inside] - 1) ** 2)))


@lru_cache(maxsize=1)
def programme() -> dict[str, float]:
    """Return the numbers of the paper's programme, by a name in words."""
    fits = identified().fits
    found: dict[str, float] = {}
    for name in MODELS:
        found[f"fit_percent_of_{name}"] = fits[name].fit
    for name in ("G1D", "G2D"):
        found[f"delay_of_{name}_ms"] = 1e3 * fits[name].process.delay
    for name in MODELS:
        found[f"error_with_known_signal_{name}_1_to_40_Hz"] = known_error(name, 1.0, 40.0)
        found[f"error_with_known_signal_{name}_50_to_100_Hz"] = known_error(name, 50.0, 100.0)
    for prediction in PREDICTIONS:
        found[f"prediction_{prediction}_good_to_Hz"] = good_to(prediction)
    for case in ("G1D long", "G1D short"):
        found[f"substructured_{case.replace(' ', '_')}_as_good_as_known_to_Hz"] = holds_to(case)
    for name, run in cases().items():
        for band, (low, high) in BANDS.items():
            label = f"{name}_{band}".replace(" ", "_")
            found[f"error_substructured_{label}"] = run.harmonic_error(low, high)
            found[f"rms_error_over_noise_{label}"] = run.rms_error(low, high)
    for case, runs in ((f"fitted_to_{USED:g}_Hz", used_cases()), ("large_orifice", large_cases())):
        for name, run in runs.items():
            for band, (low, high) in BANDS.items():
                label = f"{case}_{name}_{band}".replace(" ", "_")
                found[f"error_{label}"] = run.harmonic_error(low, high)
    trip = lagging()
    if trip.trip is not None:
        found["lagging_controller_tripped_at_s"] = trip.trip[0]
        found["lagging_controller_largest_displacement_mm"] = 1e3 * float(
            np.abs(trip["actual.displacement"]).max()
        )
    return found


def holds_to(case: str) -> float:
    """Return the highest tone in Hz up to which a large motion is followed as well as in the verification.

    The substructured response is compared with the nearest of those of the four amplitudes of Figure 7. (The
    small motion is smaller than all of those, within the play at the highest tones.)
    """
    found, known = cases()[case].response, verified(CASES[case][0])
    same = [int(np.argmin(np.abs(known.frequency - f))) for f in found.frequency]
    apart = np.abs(found.response[-1] - known.response[:, same]).min(axis=0)
    good = int(np.argmax(apart > ALIKE)) if np.any(apart > ALIKE) else apart.size
    return float(found.frequency[good - 1]) if good else 0.0


SLOW = Bench(valve=40.0)
"""A bench with a servovalve of 40 Hz."""


FRAMED = Bench(frame=40.0)
"""A bench with a frame that has a mode at 40 Hz."""


COMPARED = ("G2", "G1D", "G2D", *OUTLOOK)
"""Controllers beside each other; ``empty`` is G1D of the rig without a damper."""


def compared(bench: Bench = STANDARD, highest: float = USED) -> dict[str, Tracking]:
    """Run all sines with every controller of `COMPARED`, fitted to the band in which they are used."""
    return {name: tracking(name, "short", bench, highest) for name in COMPARED}


if __name__ == "__main__":
    for name, value in programme().items():
        print(f"{name.replace('_', ' ')}: {value:.4g}")
