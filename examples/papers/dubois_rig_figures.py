"""Figures 1, 3 to 5, 8 to 12 of du Bois, Titurus and Lieven 2010, and a trip: rig, damper, hybrid system."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from dubois_programme import lagging, surface, typical
from matplotlib.colors import LogNorm
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bondloop.papers.dubois_damper import POWER, RATE, STRUCTURE, emulated_rig, linearised, model, specimen
from bondloop.results.figures.layout import (
    ACTUAL,
    COLOURS,
    DESIRED,
    GREY,
    INK,
    STYLE,
    dress,
    finish,
    heading,
    legend,
    page,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.identify import Data

__all__ = [
    "curves", "damper_features", "damper_graph", "damper_loops", "hertz", "hybrid_graph", "hybrid_system",
    "interface", "spectra", "surfaces", "trip",
]  # fmt: skip

MOUNTINGS = {"empty": "no damper", "standard": "standard orifice", "large": "large orifice"}
LOOPS = (3.5, (3e-4, 1e-3))
"""Hz and m of the loops (Figure 10)."""


def surfaces(path: Path) -> Path:
    """Draw gain and phase over frequency and amplitude for three rigs (Figure 3)."""
    figure = page(4.6)
    panels = figure.subplots(2, 3, sharex=True, sharey=True)
    found = {name: surface(name)[0] for name in MOUNTINGS}
    rows: tuple[tuple[str, Any], ...] = (
        ("gain [dB]", {n: 20 * np.log10(s.gain) for n, s in found.items()}),
        ("phase [°]", {n: np.degrees(s.phase) for n, s in found.items()}),
    )
    for axes_row, (label, values) in zip(panels, rows, strict=True):
        low, high = min(v.min() for v in values.values()), max(v.max() for v in values.values())
        for axes, name in zip(axes_row, MOUNTINGS, strict=True):
            s = found[name]
            mesh = axes.pcolormesh(
                s.frequency, 1e3 * s.amplitude, values[name], vmin=low, vmax=high, cmap="viridis",
                shading="gouraud", rasterized=True,
            )  # fmt: skip
            axes.set_xscale("log")
            hertz(axes, 2, 100)
            dress(
                *(axes, "frequency [Hz]" if axes in panels[1] else ""),
                "amplitude [mm]" if name == "empty" else "",
            )
            axes.grid(visible=False)
            if axes in panels[0]:
                heading(axes, MOUNTINGS[name])
        bar = figure.colorbar(mesh, ax=list(axes_row), pad=0.02, aspect=22)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=STYLE.tick)
        bar.set_label(label, fontsize=STYLE.label, color=INK)
    finish(figure, path)
    return path


def curves(path: Path) -> Path:
    """Draw the responses of the rig with the standard damper, a line for each amplitude (Figure 4)."""
    from bondloop.results.figures.identification import response_curves

    found: Any = surface("standard")[0]
    response_curves(found, "m", title="Standard damper, gains of section 2.1", path=path)
    return path


def spectra(path: Path) -> Path:
    """Draw power spectral densities of the displacement over the excitation frequency (Figure 5)."""
    from bondloop.identify import spectral_surface

    figure = page(5.0)
    panels = figure.subplots(2, 3, sharex=True, sharey=True)
    for column, (name, title) in enumerate(MOUNTINGS.items()):
        found, plan, data = surface(name)
        for row, amplitude in enumerate((found.amplitude[0], found.amplitude[-1])):
            points = [p for p in plan if abs(p.amplitude - amplitude) < 1e-9 and p.frequency >= 4]
            parts = [data["displacement"][p.first + p.settling : p.first + p.samples] for p in points]
            density = spectral_surface(parts, [p.frequency for p in points], 1 / RATE)
            axes = panels[row][column]
            peak = float(density.density.max())
            shown = np.maximum(density.density.T, 1e-9 * peak) / peak
            mesh = axes.pcolormesh(
                density.excitation, density.frequency, shown, norm=LogNorm(1e-9, 1.0), cmap="magma",
                shading="nearest", rasterized=True,
            )  # fmt: skip
            axes.set_ylim(0, 250)
            dress(
                *(axes, "excitation [Hz]" if row else "", "" if column else "response [Hz]"),
            )
            axes.grid(visible=False)
            heading(axes, f"{title}, {1e3 * amplitude:g} mm")
    bar = figure.colorbar(mesh, ax=panels, pad=0.02, aspect=32)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=STYLE.tick)
    bar.set_label("power spectral density / its peak", fontsize=STYLE.label, color=INK)
    finish(figure, path)
    return path


def damper_features(path: Path) -> Path:
    """Draw force over velocity with the features of the damper marked by the paper's letters (Figure 1)."""
    data = _loop(LOOPS[1][-1])
    v, f = 1e3 * data["velocity"], 1e-3 * data["force"]
    peak, away = float(np.abs(f).max()), 0.035 * float(np.ptp(v))
    reversing = (f > 0) & (f < 0.25 * peak) & (v > 0)
    holding = (f > 0.85 * peak) & (v > 0)
    where = {
        "A": int(np.argmax(np.where(np.abs(f) < 0.05 * peak, v, 0.0))),
        "B": int(np.argmin(np.where(reversing, v, np.inf))),
        "C": int(np.argmin(np.where(holding, np.abs(v - 10.0), np.inf))),
        "D": int(np.argmax(f)),
    }
    sides = {"A": (away, 0.0), "B": (-away, 0.0), "C": (-0.6 * away, 0.09 * peak), "D": (0.0, 0.09 * peak)}
    figure = page(3.0, 4.2)
    axes = figure.subplots()
    axes.plot(v, f, color=COLOURS[0], linewidth=1.0)
    for letter, (across, up) in sides.items():
        at = where[letter]
        place = {"ha": "center", "va": "center", "fontsize": 10, "color": INK, "weight": "bold"}
        axes.text(v[at] + across, f[at] + up, letter, **place)
    axes.set_ylim(-1.25 * peak, 1.25 * peak)
    dress(axes, "velocity [mm/s]", "force [kN]")
    finish(figure, path)
    return path


def hybrid_graph(path: Path) -> Path:
    """Draw the bond graph of structure and damper: two modes, masses 1 and 2 (Figure 8)."""
    model(play=0.0).draw(path, title="Two modes and the damper", fold=False)
    return path


def damper_graph(path: Path) -> Path:
    """Draw the bond graph of the simulated damper: oil, orifice, and the loop of the valves (Figure 9)."""
    from bondloop.rigs import mounted

    mounted(specimen(play=0.0)).draw(path, title="The simulated damper", fold=False)
    return path


def damper_loops(path: Path) -> Path:
    """Draw force over velocity, measured on the rig and simulated, at two amplitudes (Figure 10)."""
    frequency, amplitudes = LOOPS
    figure = page(3.0)
    panels = figure.subplots(1, 2)
    for axes, amplitude in zip(panels, amplitudes, strict=True):
        data = _loop(amplitude)
        axes.plot(*_simulated(amplitude, frequency), label="simulated", **DESIRED)
        v, f = data["velocity"], data["force"]
        axes.plot(1e3 * v, 1e-3 * f, label="measured", **{**ACTUAL, "linestyle": "-", "linewidth": 0.9})
        dress(axes, "velocity [mm/s]", "force [kN]" if amplitude == amplitudes[0] else "")
        heading(axes, f"{1e3 * amplitude:g} mm at {frequency:g} Hz", lines_below=1)
        legend(axes)
    finish(figure, path)
    return path


@lru_cache(maxsize=4)
def _loop(amplitude: float) -> Data:
    """Return the last period of a sine on the rig, sent as it is."""
    from bondloop.identify.experiment import Experiment
    from bondloop.rigs import mounted
    from bondloop.signals import Sine

    frequency = LOOPS[0]
    data = Experiment(emulated_rig(mounted(specimen())), RATE).run(Sine(amplitude, frequency), 4 / frequency)
    return data.between(data.time[-1] - 1 / frequency, data.time[-1])


def _simulated(amplitude: float, frequency: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return velocity in mm/s and force in kN of the simulated damper, moved exactly, over a period."""
    from bondloop.rigs import mounted

    omega = 2 * np.pi * frequency
    times = np.linspace(0, 2 / frequency, 1201)

    def velocity(t: Any) -> Any:
        return amplitude * omega * np.cos(omega * t)

    half = mounted(specimen(play=0.0)).compile(outputs=["interface.effort"])
    run = half.simulate(times[-1], {"interface.flow": velocity}, times=times, max_step=1e-3)
    last = slice(600, None)
    return 1e3 * velocity(times[last]), 1e-3 * run["interface.effort"][last]


def hybrid_system(path: Path) -> Path:
    """Draw the theoretical hybrid system: x1 and x2 over x0, with its poles (Figure 11)."""
    damper = linearised()
    f = np.geomspace(0.5, 50, 500)
    x2, x1 = STRUCTURE.transfer(f, *damper)
    figure = page(4.0)
    above, below = figure.subplots(2, 1, sharex=True)
    for H, name, look in ((x1, "x1/x0", {"color": COLOURS[0]}), (x2, "x2/x0", {"color": COLOURS[1]})):
        above.semilogx(f, 20 * np.log10(np.abs(H)), label=name, linewidth=1.2, **look)
        below.semilogx(f, np.degrees(np.unwrap(np.angle(H))), linewidth=1.2, **look)
    rows = [
        f"$f_d$ = {p.imag / (2 * np.pi):5.2f} Hz   $\\omega_0$ = {abs(p):5.1f} rad/s   "
        f"$\\zeta$ = {-p.real / abs(p):.3f}"
        for p in STRUCTURE.poles(*damper)
        if p.imag >= 0
    ]
    above.text(0.02, 0.06, "\n".join(rows), transform=above.transAxes, fontsize=8, color=INK)
    dress(above, "", "gain [dB]")
    dress(below, "frequency [Hz]", "phase [°]")
    below.yaxis.set_major_locator(FixedLocator([-360, -270, -180, -90, 0]))
    hertz(below, 0.5, 50)
    legend(above)
    figure.align_ylabels([above, below])
    finish(figure, path)
    return path


def interface(path: Path) -> Path:
    """Draw displacement, velocity and force against each other at the interface, with G2 (Figure 12)."""
    part = typical().coupled
    last = part.between(part.time[-1] - 0.5, part.time[-1])
    figure = page(2.7)
    panels = figure.subplots(1, 3)
    force = 1e-3 * last["force"]
    thin = {**ACTUAL, "linestyle": "-", "linewidth": 0.8}
    motions = {"numerical": ("desired", DESIRED), "physical": ("actual", thin)}
    x, v, f = "displacement [mm]", "velocity [mm/s]", "force [kN]"
    for label, (word, look) in motions.items():
        moved, speed = 1e3 * last[f"{word}.displacement"], 1e3 * last[f"{word}.velocity"]
        panels[0].plot(moved, speed, label=label, **look)
        panels[1].plot(moved, force, **look)
        panels[2].plot(speed, force, **look)
    for axes, (across, up) in zip(panels, ((x, v), (x, f), (v, f)), strict=True):
        dress(axes, across, up)
    legend(panels[0])
    finish(figure, path)
    return path


def trip(path: Path) -> Path:
    """Draw the run of the deliberately lagging controller: motion, command, switches, power."""
    from bondloop.results import time_histories

    run = lagging()
    groups = {
        "motion": {"mass 2": "desired.displacement", "rig": "actual.displacement"},
        "command": ["command"],
        "switches": {"displacement": "switch.displacement", "force": "switch.force"},
        "power discrepancy": {"filtered": "interlock.power"},
    }
    part = run.record.between(1.5, float(run.time[-1]) - 2.0)
    figure = time_histories(part, groups)
    if run.trip is not None:
        for axes in figure.axes:
            axes.axvline(run.trip[0], color=GREY, linewidth=0.8, linestyle=(0, (1, 1.2)))
        figure.axes[-1].axhline(POWER, color=GREY, linewidth=0.8, linestyle=(0, (1, 1.2)))
    finish(figure, path)
    return path


def hertz(axes: Any, low: float, high: float) -> None:
    """Mark an axis of frequencies with round numbers."""
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(FixedLocator([0.5, 1, 2, 5, 10, 20, 40, 100]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
