"""The figure of docs/yielding-structures.md, from the code of that page.

Run: python docs/figures/yielding_frame.py [FILE]
"""

# ruff: noqa: INP001, S102 - a script, no part of a package, which runs the page that it belongs to

import doctest
import sys
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

BLUE, RED, GREEN, GREY = "#1f6f8b", "#c1440e", "#2a9d5c", "0.55"


def page() -> dict[str, Any]:
    """Return what the page computes, by name."""
    text = (Path(__file__).parents[1] / "yielding-structures.md").read_text(encoding="utf-8")
    known: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(text):
        exec(compile(example.source, "page", "exec"), known)
    return known


def draw(known: dict[str, Any]) -> Figure:
    """Draw four pictures."""
    figure = Figure(figsize=(10.0, 6.6), layout="constrained")
    (push, roof), (loops, energy) = figure.subplots(2, 2)
    for name, colour, label in (("flat", GREY, "without P-Δ"), ("curve", BLUE, "with P-Δ")):
        curve = known[name]
        push.plot(1e3 * curve.displacement, curve.base_shear / 1e3, color=colour, label=label)
        x = [1e3 * y.displacement for y in curve.yielding]
        push.plot(x, [y.load_factor / 1e3 for y in curve.yielding], "o", color=colour, markersize=4)
    push.set(xlabel="roof [mm]", ylabel="base shear [kN]", title="Pushover; dots: a hinge yields")
    for name, colour, label in (("without", GREY, "without P-Δ"), ("run", BLUE, "with P-Δ")):
        run = known[name]
        roof.plot(run.time, 1e3 * run["own.frame.a3.ux.displacement"], color=colour, label=label, linewidth=1)
    roof.set(xlabel="time [s]", ylabel="roof [mm]", title="El Centro")
    run = known["run"]
    turn, moment = run["own.frame.foot_a.displacement"], run["own.frame.foot_a.effort"]
    loops.plot(1e3 * turn, moment / 1e3, color=BLUE, linewidth=0.9)
    loops.set(
        xlabel="rotation of the hinge [mrad]", ylabel="moment [kN m]", title="Hinge at the foot, with P-Δ"
    )
    words = {"damping": BLUE, "devices": RED, "strain": GREEN, "kinetic": GREY}
    parts = [run[f"own.energy.{word}"] / 1e3 for word in words]
    energy.stackplot(run.time, *parts, labels=list(words), colors=list(words.values()), alpha=0.75)
    energy.plot(run.time, run["own.energy.input"] / 1e3, color="black", linewidth=1, label="input")
    energy.set(xlabel="time [s]", ylabel="energy [kJ]", title="Where the energy went, with P-Δ")
    for axes in (push, roof, loops, energy):
        axes.set_axisbelow(True)
        axes.grid(visible=True, color="0.9", linewidth=0.6)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    for axes in (push, roof, energy):
        axes.legend(frameon=False, fontsize=8, loc="best")
    return figure


if __name__ == "__main__":
    draw(page()).savefig(sys.argv[1] if len(sys.argv) > 1 else "docs/figures/yielding_frame.png", dpi=110)
