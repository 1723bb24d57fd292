"""Figures 1, 2, 3 and 12 of Gawthrop, Wallace and Wagg 2005, Table I, and identification on line (section 6).

Section 5.1 from end to end: a drive in its digital position loop (equation 11) is driven by set points,
frequency-sampling filters make step responses of the records, the sensitivity bond graph fits the model of
Figure 11 to them. Then what that cannot tell, the moving mass, and what it costs.

Run: python examples/papers/gawthrop_figures.py [folder]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import gawthrop_graphs
import gawthrop_rig as section
import numpy as np
from gawthrop_rig import Rig

from bondloop.control import ObservedVirtualJunction, VirtualJunction
from bondloop.engine.analysis.spectrum.linear_step import one_step
from bondloop.hybrid import HybridTest
from bondloop.identify import fit_bond_graph
from bondloop.papers import gawthrop_two_actuators as two
from bondloop.results.figures.layout import (
    ACTUAL,
    COLOURS,
    DASHES,
    DESIRED,
    dress,
    finish,
    heading,
    legend,
    page,
)
from bondloop.rigs import LVDT, Emulated, Sensor
from bondloop.transfer import MassSpringDamper

__all__ = [
    "Drives",
    "draw",
    "drives",
    "free_mass",
    "heavier",
    "largest_factor",
    "numbers",
    "on_line",
    "one_model_for_both",
    "proportion",
]

FACTORS = (1.0, 1.25)
"""By which the mass that moves may be larger than the one that was put in."""


class Drives(NamedTuple):
    """What section 5.1 finds of both drives, and of the first with 5 N of dry friction."""

    linear: list[section.Identified]
    dry: section.Identified


def drives() -> Drives:
    """Identify the drives as the paper does, with the three gains."""
    return Drives([section.identify(section.table_drive(n)) for n in (1, 2)], Rig(friction=5.0).identified[0])


def one_model_for_both() -> list[float]:
    """Return both errors at 5/5 Hz where the junction has the model of actuator 1 for both."""
    test = two.test()
    first = MassSpringDamper(two.MASS, *two.TABLE_I[0], drive="position")
    mixed = HybridTest(
        test.numerical, rig=test.rig, controller=VirtualJunction([first, first]), rate=1000,
        excitation=two.excitations("5/5", 1e-3),
    )  # fmt: skip
    return list(two.findings(mixed.run(two.SECONDS)).values())


def heavier(factor: float) -> HybridTest:
    """Return the test at 5/5 Hz where more moves than the 2.2 kg that the model has, by a factor.

    Mass, damping and stiffness are larger by one factor, so that the step response without load is the same.
    """
    moving, models = (
        [MassSpringDamper(f * two.MASS, f * c, f * k, drive="position") for c, k in two.TABLE_I]
        for f in (factor, 1.0)
    )
    numerical, physical = two.model().cut(*two.CUTS)
    return HybridTest(
        numerical,
        rig=Emulated(physical, moving),
        controller=VirtualJunction(models),
        excitation=two.excitations("5/5", 1e-3),
        rate=1000,
    )


def largest_factor() -> float:
    """Return the factor of the mass at which the sampled loop becomes unstable, to 0.01."""
    return _border(heavier, stable=1.0, unstable=2.0, to=0.01)[1]


def observed(bandwidth: float = 150.0, **sensors: Sensor) -> HybridTest:
    """Return the test at 5/5 Hz without load cells, its observer at a bandwidth in Hz."""
    test = two.test()
    models = [MassSpringDamper(two.MASS, c, k, drive="position") for c, k in two.TABLE_I]
    return HybridTest(
        test.numerical,
        rig=replace(test.rig, sensors=sensors),
        controller=ObservedVirtualJunction(models, bandwidth=bandwidth),
        excitation=two.excitations("5/5", 1e-3),
        rate=1000,
    )


def least_bandwidth() -> float:
    """Return the bandwidth of the observer, in Hz, below which the loop is unstable; to 1 Hz."""
    return _border(observed, stable=150.0, unstable=40.0, to=1.0)[0]


def _border(
    make: Callable[[float], HybridTest], *, stable: float, unstable: float, to: float
) -> tuple[float, float]:
    """Close in on a setting where the sampled loop becomes unstable; return both sides of it."""
    while abs(stable - unstable) > to:
        middle = (stable + unstable) / 2
        if one_step(make(middle).tick).stable:
            stable = middle
        else:
            unstable = middle
    return stable, unstable


def on_line() -> dict[str, list[float]]:
    """Return both errors at 5/5 Hz with models wrong by +30 % and -20 %, and identified as the test runs."""
    wrong = {"damping_error": 0.3, "stiffness_error": -0.2}
    names = ("virtual-junction", "adaptive", "adaptive-sensitivities")
    return {
        name: list(two.findings(two.test(controller=name, **wrong).run(two.SECONDS)).values())
        for name in names
    }


def numbers(known: Drives) -> dict[str, float]:
    """Return every number of the page's section 5.1 and 6, by what it is."""
    table: dict[str, float] = {}
    for i, (drive, values) in enumerate(zip(known.linear, two.TABLE_I, strict=True), 1):
        table |= {
            f"c_t{i}, Table I {values[0]:g} [N s/m]": drive.damping,
            f"k_t{i}, Table I {values[1]:g} [N/m]": drive.stiffness,
            f"fit of the model to the step response, drive {i} [%]": drive.fit.fit["spring.displacement"],
        }
        for gain, step in drive.steps.items():
            table[f"rise time, drive {i}, g = {gain:g} [ms]"] = 1e3 * step.rise_time
            table[f"overshoot, drive {i}, g = {gain:g} [%]"] = 100 * step.overshoot
    table["fit of the model with 5 N of friction in drive 1 [%]"] = known.dry.fit.fit["spring.displacement"]
    for factor in FACTORS:
        for i, error in enumerate(two.findings(heavier(factor).run(two.SECONDS)).values(), 1):
            table[f"error {i}, {factor:g} times the mass [%]"] = 100 * error
    table["times the mass at which the loop becomes unstable"] = largest_factor()
    for i, (error, band) in enumerate(
        zip(one_model_for_both(), two.test().check().margins.followed, strict=True), 1
    ):
        table[f"error {i}, the model of actuator 1 for both [%]"] = 100 * error
        table[f"actuator {i} follows to 5 % up to [Hz]"] = band
    table["least bandwidth of the observer [Hz]"] = least_bandwidth()
    table["growth with an observer of 40 Hz [1/s]"] = one_step(observed(40.0).tick).growth
    for words, controller in {
        "with load cells": "virtual-junction",
        "without load cells": "observed",
    }.items():
        margins = two.test(controller=controller).check().margins
        table[f"by how much the actuators may differ, {words} [%]"] = 100 * margins.model_error.value
    for words, test in {
        "without load cells": observed(),
        "without load cells, noise of the LVDTs": observed(displacement=LVDT()),
    }.items():
        for i, error in enumerate(two.findings(test.run(two.SECONDS)).values(), 1):
            table[f"error {i}, {words} [%]"] = 100 * error
    for word, share in proportion().items():
        table[f"departure from proportion with 5 N of friction, {word} loop [%]"] = 100 * share
    for name, found in on_line().items():
        for i, error in enumerate(found, 1):
            table[f"error {i}, models wrong by +30 % and -20 %, {name} [%]"] = 100 * error
    return table


def proportion() -> dict[str, float]:
    """Return how far a drive with 5 N of friction departs from proportion, in its loop and without.

    Inputs of 2 mm and of four times as much: the rms difference of the responses, each over its input, as a
    share of the larger. Without the loop the input is the force.
    """
    from bondloop.identify import Experiment
    from bondloop.rigs import nothing_mounted

    rig = Emulated(nothing_mounted(), Rig(friction=5.0).drives()[0])
    table = {}
    for word, controller in {"closed": section.position_loop(), "open": None}.items():
        small, large = (
            Experiment(rig, 1000.0, controller).run(section.set_points(factor * 2e-3, 4.0), 4.0)[
                "displacement"
            ]
            / factor
            for factor in (1.0, 4.0)
        )
        table[word] = float(np.sqrt(np.mean((large - small) ** 2) / np.mean(large**2)))
    return table


def free_mass() -> tuple[str, ...]:
    """Return what the fit says where the mass is to be found from an unloaded test as well."""
    data = section.measure(section.table_drive(1), 1.0, seconds=4.0)
    fit = fit_bond_graph(
        MassSpringDamper(3.0, 100.0, 1e4, drive="position"),
        {"x_d": data["demand"]}, {"spring.displacement": data["displacement"]}, section.PERIOD,
        {"mass.mass": (0.2, 20.0), **section.FREE},
    )  # fmt: skip
    return fit.warnings


def draw(known: Drives, folder: Path) -> list[Path]:
    """Draw the paper's graphs, and figure 12."""
    pictures = {
        "1": (gawthrop_graphs.substructured(), "Numerical and physical half", {"fold": True}),
        "2a": (
            gawthrop_graphs.augmented_numerical(),
            "Augmented numerical half",
            {"fold": True, "unfold": ["tra"]},
        ),
        "2b": (gawthrop_graphs.augmented_physical(), "Augmented physical half", {"fold": False}),
        "3": (gawthrop_graphs.virtual_junction(), "Virtual junction", {"fold": False}),
    }
    files = []
    for number, (model, title, options) in pictures.items():
        files.append(folder / f"gawthrop_figure_{number}.svg")
        model.draw(files[-1], title=title, **options)  # type: ignore[arg-type]
    return [*files, _steps(known, folder / "gawthrop_figure_12.png")]


def _steps(known: Drives, path: Path) -> Path:
    figure = page(2.9)
    a, b, c = figure.subplots(1, 3, sharey=True)
    first = known.linear[0]
    for (gain, step), colour, dash in zip(first.steps.items(), COLOURS, DASHES, strict=False):
        a.plot(1e3 * step.time, step.response, color=colour, linestyle=dash, label=f"g = {gain:g}")
    for axes, drive in ((b, first), (c, known.dry)):
        step = drive.steps[1.0]
        axes.plot(1e3 * step.time, step.response, label="measured", **DESIRED)
        axes.plot(1e3 * step.time, drive.fit.predicted["spring.displacement"], label="model", **ACTUAL)
    for axes, title in ((a, "(a)"), (b, "(b) g = 1"), (c, "(c) 5 N of friction")):
        dress(axes, "time [ms]", "displacement" if axes is a else "")
        heading(axes, title, lines_below=1)
        legend(axes)
        axes.set_xlim(0, 200)
    finish(figure, path)
    return path


if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    out.mkdir(parents=True, exist_ok=True)
    both = drives()
    for name, value in numbers(both).items():
        print(f"{name:78s} {value:.4g}")
    print("With the mass free:", *free_mass())
    print(*draw(both, out), sep="\n")
