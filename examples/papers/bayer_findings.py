"""Every number of Bayer, Dorka and Füllekrug 2000 beside ours, and Figure 4: peak errors over k, Δt and P.

Run: python examples/papers/bayer_findings.py out
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from bayer_equations import coupling_force
from bayer_figures import peak_heights, table_2_text
from bayer_rehearsals import Rehearsals, Rehearsed

from bondloop.papers import bayer_substep as paper
from bondloop.papers.bayer_substep import PEAKS, peaks

STEPS = (0.001, 0.002, 0.004)
"""Time steps of Figure 4. The text names 1 and 4 ms; the third is chosen."""
CASES: dict[str, dict[str, float]] = {
    "figure 3: k = 2": {"sub_steps": 2},
    "figure 3: k = 9": {"sub_steps": 9},
    "figure 5: 10 % overshoot, k = 3": {"sub_steps": 3, "overshoot": 0.1},
    "figure 5: the same, P = -1": {"sub_steps": 3, "overshoot": 0.1, "P": -1.0},
    "figure 6: 10 % undershoot, k = 3": {"sub_steps": 3, "overshoot": -0.1},
    "figure 6: the same, P = -1": {"sub_steps": 3, "overshoot": -0.1, "P": -1.0},
    "k = 3, 1 ms": {"sub_steps": 3, "time_step": 0.001},
    "k = 4": {"sub_steps": 4},
    "k = 4, P = -1": {"sub_steps": 4, "P": -1.0},
    "k = 4, 1 ms late": {"sub_steps": 4, "delay": 0.001},
    "k = 4, 1 ms late, P = -1": {"sub_steps": 4, "delay": 0.001, "P": -1.0},
}
"""What the text tells of single runs, at 4 ms unless said."""
Cells = dict[tuple[int, float, float], Rehearsed]


def rehearsed(options: Mapping[str, Any]) -> Rehearsed:
    """Rehearse the paper's test for its four seconds."""
    return Rehearsals(paper.test(**options), paper.SECONDS).at()


def equations() -> dict[str, float]:
    """Compare bondloop's test with equations (1) to (9) as NumPy has them; relative to the largest force."""
    options = {"P": -0.4, "I": 0.5, "D": 0.006, "overshoot": 0.05}
    run = paper.test(sub_steps=4, **options).run(2.0)
    force, error = coupling_force(4, 0.004, 2.0, **options)
    scale = np.abs(force).max()
    n = len(force)
    return {
        "force": float(np.abs(run["force"][:n] - force).max() / scale),
        "error force": float(np.abs(run["error.force"][:n] - error).max() / scale),
    }


def left_over(counts: tuple[int, ...] = (4, 9, 18)) -> dict[int, float]:
    """Return the rms of the error force E over that of the coupling force, by the number of sub-steps."""
    rests = {}
    for k in counts:
        run = paper.test(sub_steps=k).run(paper.SECONDS)
        rests[k] = float(np.sqrt(np.mean(run["error.force"] ** 2) / np.mean(run["force"] ** 2)))
    return rests


def near_40_hz(case: Rehearsed) -> tuple[float, float]:
    """Return the highest line between 38 and 48 Hz of the measured force and of the exact one, N."""
    f = paper.spectrum(case.exact, case.period)[0]
    inside = (f > 38) & (f < 48)
    measured, exact = (paper.spectrum(x, case.period)[1][inside].max() for x in (case.force, case.exact))
    return float(measured), float(exact)


def learned() -> dict[str, float]:
    """Return what the page tells beyond the paper, at 4 ms."""
    run = paper.test().run(paper.SECONDS)
    frequencies, ratios = paper.table_2()["combined system"]
    behind = run["actual.displacement"] - run["desired.displacement"]
    return {
        "largest acceleration of the base": float(
            np.abs(paper.StageSeparation(order=2)(np.linspace(0, 1, 10_001))).max()
        ),
        "error with forty sub-steps": rehearsed({"sub_steps": 40}).error,
        "Newmark's period elongation at 15.7 Hz": (2 * np.pi * 15.705 * 0.004) ** 2 / 12,
        "Newmark's period elongation at 12.5 Hz": (2 * np.pi * 12.5 * 0.004) ** 2 / 12,
        "Newmark's period elongation at 10 Hz": (2 * np.pi * 10 * 0.004) ** 2 / 12,
        "table behind the computed motion": float(np.std(behind) / np.std(run["desired.displacement"])),
        "decay of the structure's first mode": float(ratios[0] / 100 * 2 * np.pi * frequencies[0]),
    }


def rayleigh() -> dict[str, float]:
    """Return the α and β whose largest departure from the eight printed damping ratios is least.

    A ratio is α/2ω + βω/2, linear in both, so that is a linear programme. Departures in units of the last
    printed digit, 0.01 %, for these and for the two that the test has.
    """
    from scipy.optimize import linprog

    printed, omega = [], []
    for part, (frequencies, _) in paper.table_2().items():
        printed += paper.TABLE_2[part][1]
        omega += list(2 * np.pi * np.asarray(frequencies))
    w, target = np.array(omega), np.array(printed) / 100
    parts = np.column_stack([1 / (2 * w), w / 2])
    below = np.vstack([np.column_stack([sign * parts, -np.ones(len(w))]) for sign in (1, -1)])
    # In units of 0.01 % and of 1e-4 s, so that the three unknowns are of one size.
    size = np.array([1.0, 1e-4, 1e-4])
    best = linprog([0, 0, 1], below * size, np.concatenate([target, -target]), bounds=[(0, None)] * 3)
    alpha, beta, apart = best.x * size
    chosen = np.abs(parts @ np.array(paper.RAYLEIGH) - target).max()
    return {
        "alpha": float(alpha),
        "beta": float(beta),
        "units off": float(1e4 * apart),
        "units off, as chosen": float(1e4 * chosen),
    }


def figure_4(most: int) -> Cells:
    """Rehearse up to `most` sub-steps, with every time step, without and with compensation."""
    cells: Cells = {}
    for h in STEPS:
        for k in range(1, most + 1):
            many = Rehearsals(paper.test(sub_steps=k, time_step=h), paper.SECONDS)
            for P in (0.0, -1.0):
                cells[k, h, P] = many.at({"scheme.P": P})
    return cells


def better(cells: Cells, name: str) -> tuple[int, int]:
    """Count the cells, stable without compensation, in which it makes a peak's error smaller; and all."""
    pairs = [(cells[k, h, 0.0], cells[k, h, -1.0]) for k, h, P in cells if P == 0]
    sizes = [[abs(x.peak_errors[name]) for x in pair] for pair in pairs if pair[0].stable]
    return sum(after < before for before, after in sizes), len(sizes)


def main(out: Path, most: int = 12) -> dict[str, Any]:
    """Print and return the numbers, and draw Figure 4 with up to `most` sub-steps."""
    out.mkdir(parents=True, exist_ok=True)
    numbers: dict[str, Any] = {"equations": equations(), "left over": left_over()}
    print("Equations (1) to (9) once more in NumPy: bondloop's force differs by", end=" ")
    print(
        f"{numbers['equations']['force']:.1e}, its error force by {numbers['equations']['error force']:.1e}."
    )
    rests = ", ".join(f"{100 * x:.1f} % at k = {k}" for k, x in numbers["left over"].items())
    print(f"E, rms over that of the force: {rests}.")
    print("\nTable 2, [the paper's values]:", table_2_text(), sep="\n")

    numbers["rayleigh"] = rayleigh()
    print("Rayleigh damping that fits the eight ratios best:", end=" ")
    print(*(f"{name} {x:.5g}" for name, x in numbers["rayleigh"].items()), sep=", ")

    cases = numbers["cases"] = {title: rehearsed(options) for title, options in CASES.items()}
    base = cases["figure 3: k = 9"]
    numbers["figure 2"] = peaks(base.exact, base.period)
    print("\nFigure 2, peaks of the exact force [7.1, 15.7, about 19 Hz]:", end=" ")
    print(*(f"{p.height:.2f} N at {p.frequency:.2f} Hz" for p in numbers["figure 2"].values()), sep=", ")
    words = ", ".join(name.replace("_", " ") for name in PEAKS)
    print(f"\n{'':33} radius {'growth':>8}  {'at':>7}  {'rms error':>9}   errors of the peaks: {words}")
    for title, case in cases.items():
        heights = "".join(f"{_percent(x):>9}" for x in case.peak_errors.values())
        radius = math.exp(case.growth * case.period)
        print(
            f"{title:33} {radius:.4f} {case.growth:+8.2f}  {case.frequency:4.1f} Hz  "
            f"{_percent(case.error):>9}   {heights}"
        )
    numbers["near 40 Hz"] = {title: near_40_hz(case) for title, case in cases.items()}
    print("\nHighest line between 38 and 48 Hz, and the exact force's:")
    for title, (measured, exact) in numbers["near 40 Hz"].items():
        print(f"{title:33} {measured:10.3g} N  {exact:.3g} N")

    cells = numbers["figure 4"] = figure_4(most)
    numbers["better"] = {name: better(cells, name) for name in PEAKS}
    print("\nFigure 4, errors of the peaks without and with compensation, P = -1:")
    for h in STEPS:
        for k in (k for k in (3, 4, 8, 9, most) if k <= most):
            pair = [cells[k, h, P] for P in (0.0, -1.0)]
            columns = "   ".join(
                f"{name.replace('_', ' ')} " + " ".join(f"{_percent(x.peak_errors[name]):>8}" for x in pair)
                for name in PEAKS
            )
            rms = " ".join(f"{_percent(x.error):>8}" for x in pair)
            decay = " ".join(f"{x.growth:+6.2f}" for x in pair)
            print(f"{1e3 * h:.0f} ms, k = {k:2}   {columns}   rms {rms}   growth {decay}")
    print(f"unstable: {[(k, h, P) for (k, h, P), cell in cells.items() if not cell.stable]}")
    for name, (count, of) in numbers["better"].items():
        print(f"the compensation makes the {name.replace('_', ' ')}'s peak better in {count} of {of} cells")
    numbers["learned"] = learned()
    print(*(f"{name}: {x:.4f}" for name, x in numbers["learned"].items()), sep="\n")
    print("File:", peak_heights(cells, out / "bayer_figure_4.png"))
    return numbers


def _percent(x: float) -> str:
    return f"{100 * x:+.1f} %" if abs(x) < 100 else f"{100 * x:+.1e}"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
