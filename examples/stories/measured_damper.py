"""A building with a measured MR damper, and what one ampere buys.

A magneto-rheological damper was moved on a rig at the UTFSM in Chile, at three currents; a law with its
parameters comes from those records. A building of three storeys is to have one in its first storey. Is the
law as good as the damper, and how much does one ampere buy in El Centro? The damper stands on the rig, the
building is in the computer.
What comes out: the energy of a cycle, measured and by the law, and the drift of the first storey at 0 and 1
A.

Run it: python examples/stories/measured_damper.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

import bondloop as bl  # noqa: TC001 - as everywhere
from bondloop.papers import mr_damper_building as building

Array = NDArray[np.float64]
RECORD, CURRENT, PERIOD = "10mm1Hz1A", 1.0, 1.0
"""Which measurement judges the law: 10 mm, 1 Hz, 1 A."""
SECONDS = 25.0


def loops() -> dict[str, tuple[Array, Array]]:
    """Return displacement in m and force in N of the last cycle, measured and by the law moved likewise."""
    data = building.measurements()[RECORD].select(input="displacement", output="force")
    time, moved = data.sample_period * np.arange(data.input.size), 1e-3 * data.input  # the file is in mm
    fine = np.arange(0.0, time[-1], 1e-4)  # the law is fast, and 50 samples a second are few
    x = CubicSpline(time, moved)(fine)
    force = building.damper(CURRENT).respond(x, rate=1e4)
    measured, law = (t >= t[-1] - PERIOD - 1e-9 for t in (time, fine))
    return {"measured": (moved[measured], data.output[measured]), "law": (x[law], force[law])}


def energy(loop: tuple[Array, Array]) -> float:
    """Return the work of a cycle, J."""
    return float(np.trapezoid(loop[1], loop[0]))


def drift(current: float) -> tuple[bl.Run, float]:
    """Check and rehearse at a current; return the run and the first storey's largest drift, mm."""
    hybrid = building.test(current=current)
    print(f"{current:g} A: {hybrid.check(SECONDS).verdict}")
    run = hybrid.run(SECONDS)
    return run, float(building.findings(run)["drift_1_mm"])


def main(folder: Path | None = None) -> dict[str, float]:
    """Judge the law by the measurement, check and rehearse, answer."""
    both = loops()
    measured, law = energy(both["measured"]), energy(both["law"])
    print(f"A cycle of 10 mm at 1 Hz and 1 A takes {measured:.2f} J as measured, {law:.2f} J by the law.")
    (_, without), (run, drifted) = drift(0.0), drift(CURRENT)
    print(run.verdict)
    print(f"The first storey drifts by {without:.1f} mm without current and by {drifted:.1f} mm with 1 A.")
    if folder:
        figure = Figure(figsize=(6, 4.2), layout="constrained")
        axes = figure.subplots()
        for (name, (x, force)), style in zip(both.items(), ("#1a1a1a", "#D55E00"), strict=True):
            axes.plot(1e3 * x, 1e-3 * force, color=style, label=f"{name}: {energy((x, force)):.1f} J a cycle")
        axes.set(xlabel="displacement (mm)", ylabel="force (kN)")
        axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
        figure.savefig(folder / "measured_damper.png", dpi=110)
    return {"measured": measured, "law": law, "drift_0A": without, "drift_1A": drifted}


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    target.mkdir(parents=True, exist_ok=True)
    main(target)
