"""Every number of the page about du Bois 2010; equations by dubois_equations, tables by dubois_tables.

Run: python examples/papers/dubois_numbers.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dubois_equations
import dubois_programme
import dubois_tables
import numpy as np
from dubois_programme import BANDS, FRAMED, SLOW, lagging, surface, tracking, typical

from bondloop.papers import dubois_damper
from bondloop.papers.dubois_damper import (
    FORCE_CLOSED,
    MODELS,
    RATE,
    SECONDS,
    STANDARD,
    STRUCTURE,
    emulated_rig,
    identified,
    linearised,
    specimen,
    test,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.identify import SteppedSine

__all__ = ["between_harmonics", "numbers"]


def numbers() -> dict[str, float]:
    """Return every single number of the page, by what it is."""
    return {
        **_rig(),
        **_models(),
        **_hybrid(),
        **_substructured(),
        **_open_question(),
        **_trip(),
        **_benches(),
        **dubois_equations.numbers(),
    }


# ---------------------------------------------------------------- sections 2 to 5, one after another


def _rig() -> dict[str, float]:
    """Figures 3 to 5: what the rig does with the first gains."""
    empty, standard, large = (surface(name)[0] for name in ("empty", "standard", "large"))
    soft, loud = standard.amplitude[0], standard.amplitude[-1]
    found = {
        "empty rig, gain at 48 Hz [dB]": _decibel(_mean(empty, 48.0)),
        "empty rig, gain at 100 Hz [dB]": _decibel(_mean(empty, 100.0)),
        "empty rig, gain at 24 Hz, 0.25 mm [dB]": _decibel(_at(empty, 2.5e-4, 24.0)),
        "large orifice, gain at 24 Hz, 0.25 mm [dB]": _decibel(_at(large, 2.5e-4, 24.0)),
        "large orifice without play, gain at 24 Hz, 0.25 mm [dB]": _decibel(_without_play()),
        "standard orifice, gain at 24 Hz, 0.25 mm [dB]": _decibel(_at(standard, 2.5e-4, 24.0)),
        "standard orifice, gain at 32 Hz, 0.25 mm [dB]": _decibel(_at(standard, 2.5e-4, 32.0)),
        "standard orifice, gain at 32 Hz, 1 mm [dB]": _decibel(_at(standard, loud, 32.0)),
        "standard orifice, lowest phase [degrees]": float(np.degrees(standard.phase).min()),
    }
    for word, one in (("empty rig", empty), ("standard orifice", standard), ("large orifice", large)):
        found[f"{word}, spread of the gain over amplitude to 32 Hz [dB]"] = _spread(one, 32.0)
    # The edge: where one step of 4 Hz takes most of the gain away.
    for amplitude in (4e-4, 5.5e-4, 7e-4, 8.5e-4):
        gain = 20 * np.log10(np.abs(standard.response[_row(standard, amplitude)]))
        band = (standard.frequency >= 20) & (standard.frequency <= 60)
        drop = np.diff(gain[band])
        found[f"edge at {1e3 * amplitude:g} mm [Hz]"] = float(standard.frequency[band][1:][np.argmin(drop)])
    data = specimen(play=0.0).data
    found["force at which the valves open [kN]"] = 1e-3 * data.threshold * data.area
    for amplitude in (2.5e-4, 4e-4):
        force = 1e-3 * float(np.abs(_steady("standard", amplitude, 12.0, "force")).max())
        found[f"peak force at 12 Hz, {1e3 * amplitude:g} mm [kN]"] = force
    for name, amplitude in (("empty", soft), ("standard", soft), ("standard", loud)):
        found[f"third harmonic at 12 Hz, {name}, {1e3 * amplitude:g} mm [µm]"] = _third(name, amplitude)
    return found


def _models() -> dict[str, float]:
    """Figures 6, 7 and 15: fits, known signals, predictions."""
    known, found = identified(), {}
    for name in MODELS:
        found[f"{name}, fit [%]"] = known.fits[name].fit
        process = known.fits[name].process
        model = process.response(known.surface.frequency)
        ratio = model / known.surface.response.mean(axis=0)
        phase, level = np.degrees(np.angle(ratio)), 20 * np.log10(np.abs(ratio))
        found[f"{name}, phase within 10 degrees to [Hz]"] = _last(known.surface, np.abs(phase) < 10)
        found[f"{name}, gain within 1 dB to [Hz]"] = _last(known.surface, np.abs(level) < 1)
        found[f"{name}, error with the signal known, 1 to 40 Hz [%]"] = 100 * dubois_programme.known_error(
            name, 1, 40
        )
        found[f"{name}, noise gain"] = dubois_programme.noise_gain(name)
    found["G1D, delay [ms]"] = 1e3 * known.fits["G1D"].process.delay
    found["G1D, noise gain, long prediction"] = dubois_programme.noise_gain("G1D", "long")
    for prediction in ("long", "short"):
        found[f"{prediction} prediction good to [Hz]"] = dubois_programme.good_to(prediction)
    return found


def _hybrid() -> dict[str, float]:
    """Figures 10 and 11: the damper as a spring and a dashpot, and the poles."""
    damping, stiffness = linearised()
    found = {"c_d [kN s/m]": 1e-3 * damping, "k_d [MN/m]": 1e-6 * stiffness}
    for i, pole in enumerate(p for p in STRUCTURE.poles(damping, stiffness) if p.imag >= 0):
        found[f"pole {i + 1}, damped frequency [Hz]"] = pole.imag / (2 * np.pi)
        found[f"pole {i + 1}, damping ratio"] = -pole.real / abs(pole)
    return found


def _substructured() -> dict[str, float]:
    """Figures 12 to 14 and the trip."""
    run, made = typical(), dubois_programme.cases()
    part = run.coupled.between(float(run.time[-1]) - 20 / 8.6, float(run.time[-1]))
    desired, actual = part["desired.displacement"], part["actual.displacement"]
    apart = actual - desired
    wave = np.exp(-2j * np.pi * 8.6 * part.time)
    first = np.sqrt(2) * abs(np.mean(apart * wave))
    found = {
        "Figure 12: error at 8.6 Hz with G2 [%]": 100 * dubois_damper.findings(run)["harmonic_error"],
        "Figure 12: difference of displacements, rms [%]": 100 * _rms(apart) / _rms(desired),
        "Figure 12: of which at 8.6 Hz [%]": 100 * first / _rms(desired),
    }
    for case in ("G1", "G2", "G1D long", "G1D short"):
        found[f"{case}, follows as with the signal known to [Hz]"] = dubois_programme.holds_to(case)
    for case in ("none", "G1", "G2", "G1D long", "G1D short"):
        found[f"{case}, error from 2 to 40 Hz [%]"] = 100 * made[case].harmonic_error(2, 40)
    for case in ("G1", "G2"):
        found[f"{case}, rms error from 5 to 10 Hz over noise"] = made[case].rms_error(5, 10)
        found[f"{case}, rms error from 12.5 to 40 Hz over noise"] = made[case].rms_error(12.5, 40)
    low, high = (made["G2"].response.response[row] for row in (0, 1))
    inside = made["G2"].response.frequency <= 20
    found["G2, small and large motion apart, to 20 Hz [%]"] = 100 * float(np.abs(low - high)[inside].max())
    return found


def _open_question() -> dict[str, float]:
    """Errors of small and large motion together, band by band and at single tones, and noise."""
    made, found = dubois_programme.cases(), {}
    used, large = dubois_programme.used_cases(), dubois_programme.large_cases()
    groups = {"to 100 Hz": made, "to 40 Hz": used, "large orifice": large}
    for word, runs in groups.items():
        for case in ("G1", "G2", "G1D short"):
            for band, limits in BANDS.items():
                found[f"{word}, {case}, error {band} [%]"] = 100 * runs[case].harmonic_error(*limits)
    for case in ("G1", "G2", "G1D short"):
        found[f"{case}, rms error 25 to 40 Hz over noise"] = made[case].rms_error(25, 40)
    for case, tones in (("G1D long", (10, 12.5, 16, 20)), ("G1D short", (20, 31.5, 40))):
        response = made[case].response
        for tone in tones:
            error = np.abs(response.response[-1][response.frequency == tone] - 1)[0]
            found[f"{case}, large motion, error at {tone:g} Hz [%]"] = 100 * float(error)
    found["gain of G1D fitted to 40 Hz"] = (
        identified(STANDARD, dubois_programme.USED).fits["G1D"].process.gain
    )
    found["noise of the transducer [µm]"] = 1e6 * made["G2"].noise
    for case in ("G2", "G1D short"):
        found[f"{case}, noise at the command [µm]"] = 1e6 * made[case].jitter
    return found


def _trip() -> dict[str, float]:
    """Look at the lagging controller, and at what the trip sees of a good one."""
    run, found = lagging(), {}
    if run.trip is not None:
        moved, after = np.abs(run["actual.displacement"]), run.time >= run.trip[0]
        found["trip [s]"] = run.trip[0]
        found["largest displacement before the trip [mm]"] = 1e3 * float(moved[~after].max())
        found["largest displacement after the trip [mm]"] = 1e3 * float(moved[after].max())
    power = run["interlock.power"][run.time < FORCE_CLOSED]
    found["lagging, power discrepancy with the force switch open [W]"] = float(power.max())
    for tone in (6.3, 8.6):
        seen = dubois_damper.findings(test(frequency=tone).run(SECONDS))["largest_power_discrepancy_W"]
        found[f"good controller, power discrepancy at {tone:g} Hz [W]"] = seen
    return found


def _benches() -> dict[str, float]:
    """Other benches: how far apart G1D and G2D are, and rms errors below 10 Hz."""
    found = {}
    f = np.linspace(1.0, 100.0, 100)
    for word, bench in (("standard", STANDARD), ("slow valve", SLOW), ("frame", FRAMED)):
        fits = identified(bench).fits
        apart = np.abs(fits["G1D"].process.response(f) - fits["G2D"].process.response(f)).max()
        found[f"{word}: G1D and G2D apart [%]"] = 100 * float(apart)
        found[f"{word}: delay of G1D [ms]"] = 1e3 * fits["G1D"].process.delay
        found[f"{word}: delay of G2D [ms]"] = 1e3 * fits["G2D"].process.delay
    framed = surface("standard", FRAMED.frame)[0]
    found["frame: largest gain of the standard damper at 1 mm"] = float(np.abs(framed.response[-1]).max())
    for word, frame in (("rigid", 0.0), ("frame", FRAMED.frame)):
        found[f"{word}: largest spectral density between the harmonics over noise"] = between_harmonics(frame)
    for word, bench in (("standard", STANDARD), ("slow valve", SLOW)):
        pure = min(tracking(name, "short", bench).rms_error(2, 10) for name in ("G1", "G2"))
        for name in ("G1D", "G2D"):
            share = tracking(name, "long", bench).rms_error(2, 10) / pure
            found[f"{word}: rms error of {name}, long prediction, over the better of G1 and G2"] = share
    for name in ("G1D", "G2D"):
        for band, limits in list(BANDS.items())[:2]:
            error = tracking(name, "long", SLOW).rms_error(*limits)
            found[f"slow valve: rms error of {name}, long prediction, {band} over noise"] = error
    for name in ("G1D", "G2D"):
        found[f"slow valve: short prediction of {name} good to [Hz]"] = dubois_programme.good_to(
            "short", name, SLOW
        )
    return found


# ---------------------------------------------------------------- arithmetic


def _decibel(value: float) -> float:
    return float(20 * np.log10(value))


def _row(found: SteppedSine, amplitude: float) -> int:
    return int(np.argmin(np.abs(found.amplitude - amplitude)))


def _at(found: SteppedSine, amplitude: float, frequency: float) -> float:
    column = int(np.argmin(np.abs(found.frequency - frequency)))
    return float(np.abs(found.response[_row(found, amplitude), column]))


def _mean(found: SteppedSine, frequency: float) -> float:
    return float(np.mean([_at(found, a, frequency) for a in found.amplitude]))


def _spread(found: SteppedSine, highest: float) -> float:
    level = 20 * np.log10(np.abs(found.response[:, found.frequency <= highest]))
    return float(np.ptp(level, axis=0).max())


def _last(found: SteppedSine, good: NDArray[np.bool_]) -> float:
    """Return the frequency up to which all are good."""
    bad = int(np.argmin(good)) if not good.all() else len(good)
    return float(found.frequency[bad - 1]) if bad else 0.0


def _without_play() -> float:
    """Return the gain of the rig with the large orifice in bearings without play, at 24 Hz and 0.25 mm."""
    from bondloop.identify import stepped_sine, stepped_sine_plan
    from bondloop.identify.experiment import Experiment
    from bondloop.rigs import mounted

    plan = stepped_sine_plan([24.0], [2.5e-4], 0.5, 24, RATE)
    rig = emulated_rig(mounted(specimen("large", 0.0)), tuned=False)
    data = Experiment(rig, RATE).stepped(plan)
    return float(stepped_sine(data.select("command", "displacement"), plan).gain[0, 0])


def _steady(mounting: str, amplitude: float, frequency: float, channel: str) -> NDArray[np.float64]:
    """Return what was measured at one point of a surface, once it had settled."""
    _, plan, data = surface(mounting)
    point = next(p for p in plan if abs(p.amplitude - amplitude) < 1e-9 and p.frequency == frequency)
    return data[channel][point.first + point.settling : point.first + point.samples]


def _third(mounting: str, amplitude: float) -> float:
    x = _steady(mounting, amplitude, 12.0, "displacement")
    return 2e6 * float(abs(np.mean(x * np.exp(-2j * np.pi * 36.0 * np.arange(len(x)) / RATE))))


def between_harmonics(frame: float) -> float:
    """Return the largest density at 1 mm half-way between harmonics, over the transducer's own."""
    from bondloop.identify import spectral_surface

    _, plan, data = surface("standard", frame)
    loud = [p for p in plan if p.amplitude > 0.99e-3 and p.frequency >= 28]
    parts = [data["displacement"][p.first + p.settling : p.first + p.samples] for p in loud]
    density = spectral_surface(parts, [p.frequency for p in loud], 1e-3)
    noise = 2 * np.hypot(7.5e-6, 0.15 / 2**16 / np.sqrt(12)) ** 2 / 1000.0  # one-sided, of white noise
    largest = 0.0
    for point, row in zip(loud, density.density, strict=True):
        order = density.frequency / point.frequency
        away = np.abs(order - np.round(order)) * point.frequency > 12.0  # three lines of the window
        largest = max(largest, float(np.median(row[away & (density.frequency < 250)])))
    return largest / noise


def _rms(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(values**2)))


if __name__ == "__main__":
    for label, value in numbers().items():
        print(f"{label:90s} {value:.4g}")
    print(*dubois_tables.rows(), sep="\n")
