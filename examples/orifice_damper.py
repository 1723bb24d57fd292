"""An orifice damper on a servo-hydraulic actuator: the rig of du Bois, Titurus and Lieven (2010), emulated.

Problem: what does the specimen do to the actuator that moves it? The damper has poppet valves, compressible
oil and play; it is first moved exactly, then by the actuator (Figures 1 and 10), and the response of the
empty rig, of the damper with a large and with its standard orifice are compared (Figures 3 and 4).
Run: python examples/orifice_damper.py out
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from bondloop.bondgraph import Model
from bondloop.engine.codegen.runner import Runner
from bondloop.results.figures.layout import COLOURS, GREY, dress, page
from bondloop.rigs import Emulated, OrificeDamper, mounted, nothing_mounted
from bondloop.rigs.emulated import rig_tick
from bondloop.transfer import SerialPID, ServoHydraulic

RATE = 4000  # commands a second, each for one step of the rig
PLAY, FREQUENCY = "0.15 mm", 3.5  # of the bearing; Hz, as in Figure 10
AMPLITUDES = (1e-3, 3e-3)  # m
HERTZ = np.array([2, 5, 8, 10, 13, 16, 20, 25, 31, 40, 50, 63, 80, 100])  # whole periods in a second


def exactly_moved(amplitude: float) -> tuple[np.ndarray, np.ndarray]:
    """Velocity and force over one period, with the rod moved as a pure sine."""
    omega = 2 * np.pi * FREQUENCY
    times = np.linspace(0, 2 / FREQUENCY, 4001)
    damper = mounted(OrificeDamper.standard(play=PLAY)).compile(outputs=["interface.effort"])

    def velocity(t: Any) -> Any:
        return amplitude * omega * np.cos(omega * t)

    run = damper.simulate(times[-1], {"interface.flow": velocity}, times=times, max_step=1e-3)
    last = times >= 1 / FREQUENCY
    return velocity(times[last]), run["interface.effort"][last]


def on_the_rig(specimen: Model) -> Runner:
    """Return the rig with a specimen, the controller's gains as in section 2 of the paper."""
    rig = Emulated(specimen, ServoHydraulic(SerialPID.untuned()), substeps=1)
    return Runner(rig_tick(rig, rig.system(), 1 / RATE))


def driven(rig: Runner, amplitude: float, frequency: float, seconds: float) -> Any:
    """Drive the rig with a sine from rest; return the command and what the sensors read."""
    rig.reset()
    command = amplitude * np.sin(2 * np.pi * frequency * np.arange(round(seconds * RATE)) / RATE)
    found = rig.run(len(command), command[:, None])
    assert found.finished, found.message
    return command, found.channels


def response(rig: Runner, amplitude: float) -> np.ndarray:
    """Ratio of Fourier coefficients of displacement and command, at each frequency, after a second."""
    ratios = []
    for f in HERTZ:
        command, read = driven(rig, amplitude, f, 2.0)
        wave = np.exp(-2j * np.pi * f * np.arange(RATE) / RATE)
        ratios.append((read["measured.displacement"][RATE:] @ wave) / (command[RATE:] @ wave))
    return np.array(ratios)


def main(out: Path) -> dict[str, float]:
    """Draw loops and responses; print what was found and return its numbers."""
    out.mkdir(parents=True, exist_ok=True)
    figure = page(6.4)
    (exact, rigged), (gain, phase) = figure.subplots(2, 2)
    standard = on_the_rig(mounted(OrificeDamper.standard(play=PLAY)))
    for colour, amplitude in zip(COLOURS, AMPLITUDES, strict=False):
        velocity, force = exactly_moved(amplitude)
        exact.plot(1e3 * velocity, 1e-3 * force, color=colour, lw=0.8, label=f"{1e3 * amplitude:g} mm")
        _, read = driven(standard, amplitude, FREQUENCY, 4 / FREQUENCY)
        v, f = (read[f"measured.{word}"][-round(RATE / FREQUENCY) :] for word in ("velocity", "force"))
        rigged.plot(1e3 * v, 1e-3 * f, color=colour, lw=0.8)
    overshoot = float(force.max() / force[np.argmax(velocity)])
    for letter, x, y in (("A", -27, 0.6), ("C", 55, 4.3), ("D", 34, 6.3)):
        exact.text(x, y, letter, color=GREY, weight="bold")
    rigged.text(45, 0.9, "B", color=GREY, weight="bold")
    for axes in (exact, rigged):
        dress(axes, "velocity (mm/s)", "force (kN)")
    exact.set_title(f"moved exactly, {FREQUENCY:g} Hz", fontsize=9)
    rigged.set_title("moved by the actuator", fontsize=9)
    exact.legend(frameon=False, fontsize=8)

    large, small = mounted(OrificeDamper.large()), mounted(OrificeDamper.standard())
    cases = {
        "empty, 0.1 mm": (nothing_mounted(), 1e-4), "large orifice, 0.1 mm": (large, 1e-4),
        "standard, 0.1 mm": (small, 1e-4), "standard, 0.5 mm": (small, 5e-4),
    }  # fmt: skip
    found = {}
    for colour, (name, (specimen, amplitude)) in zip(COLOURS, cases.items(), strict=False):
        ratio = found[name] = response(on_the_rig(specimen), amplitude)
        gain.semilogx(HERTZ, 20 * np.log10(abs(ratio)), color=colour, marker=".", ms=3, lw=1, label=name)
        phase.semilogx(HERTZ, np.degrees(np.unwrap(np.angle(ratio))), color=colour, marker=".", ms=3, lw=1)
    dress(gain, "frequency (Hz)", "gain (dB)")
    dress(phase, "frequency (Hz)", "phase (degrees)")
    gain.legend(frameon=False, fontsize=7, loc="lower left")
    figure.savefig(out / "orifice_damper.png")

    decibel = {name: 20 * np.log10(abs(ratio)) for name, ratio in found.items()}
    numbers = {"overshoot": overshoot, "flat": float(abs(decibel["empty, 0.1 mm"][HERTZ <= 50]).max())}
    numbers.update({f"peak, {name}": float(d.max()) for name, d in decibel.items()})
    at = int(np.flatnonzero(HERTZ == 31)[0])
    numbers["rise"] = float(decibel["standard, 0.5 mm"][at] - decibel["standard, 0.1 mm"][at])
    print(
        f"Verdict: the empty rig is flat to {numbers['flat']:.1f} dB up to 50 Hz. The large orifice takes\n"
        f"damping away (peak {numbers['peak, large orifice, 0.1 mm']:.1f} dB), the standard one adds it "
        f"until its valves open: at five\ntimes the amplitude {numbers['rise']:.1f} dB more at 31 Hz. "
        f"On opening, the force overshoots by {100 * (overshoot - 1):.0f} %.\n"
        f"Files: {out / 'orifice_damper.png'}"
    )
    return numbers


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
