"""The whole PID of Bayer, Dorka and Füllekrug 2000, equation (9): a map, and gains that bear a real table.

The paper tries P = -1, I = D = 0 and leaves the rest open. Here, at its 4 ms and 4 sub-steps: which gains are
accurate on an ideal table, which stay stable where the table overshoots or is late, and which also do on a
servo-hydraulic one.
Run: python examples/papers/bayer_compensation.py out
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from bayer_figures import compensation_maps
from bayer_rehearsals import Rehearsals

from bondloop.engine.analysis.spectrum.linear_step import one_step
from bondloop.papers import bayer_substep as paper
from bondloop.rigs import Sensor, TableDrive, WhiteNoise
from bondloop.transfer import ServoHydraulic

if TYPE_CHECKING:
    from bondloop.hybrid import PseudoDynamicTest

SUB_STEPS, TIME_STEP, SECONDS = 4, 0.004, 2.0
OVERSHOOTS, DELAYS = (-0.1, 0.0, 0.1), (0.0, 0.5e-3, 1e-3)
"""What a table does wrong: a fraction, and seconds."""
PROPORTIONAL = tuple(0.0 - i / 10 for i in range(11))
DERIVATIVE = tuple(i / 500 for i in range(11))
"""The map."""
GAINS: dict[str, tuple[float, float]] = {
    "none": (0.0, 0.0),
    "the paper's P = -1": (-1.0, 0.0),
    "P = -0.4, D = 4 ms": (-0.4, 0.004),
    "P = -0.4, D = 6 ms": (-0.4, 0.006),
    "P = -0.9, D = 12 ms": (-0.9, 0.012),
    "P = -0.5, D = 16 ms": (-0.5, 0.016),
    "P = -0.4, D = 16 ms": (-0.4, 0.016),
}
RECOMMENDED = "P = -0.4, D = 16 ms"


def on_table(I: float = 0.0, **rig: Any) -> PseudoDynamicTest:
    """Return the paper's test with a compensation whose gains are parameters, on another table."""
    made = paper.test(sub_steps=SUB_STEPS, time_step=TIME_STEP, P=-1.0, I=I, D=TIME_STEP)
    return made.replaced(rig=replace(made.rig, **rig))


@cache
def late(delay: float) -> Rehearsals:
    """Return the test on a late table, compiled once and rehearsed with each pair of gains."""
    return Rehearsals(on_table(delay=delay), SECONDS)


def values(P: float, D: float, overshoot: float = 0.0) -> dict[str, float]:
    """Return the parameters by path."""
    return {"scheme.P": P, "scheme.D": D, "rig.overshoot": overshoot}


def mapped(gains: Sequence[float], times: Sequence[float]) -> dict[str, np.ndarray[Any, Any]]:
    """Rehearse every pair of gains on every table: error and growth, shape (overshoots, delays, P, D)."""
    shape = (len(OVERSHOOTS), len(DELAYS), len(gains), len(times))
    maps = {"error": np.empty(shape), "growth": np.empty(shape)}
    for j, delay in enumerate(DELAYS):
        for (i, over), (m, P), (n, D) in itertools.product(*map(enumerate, (OVERSHOOTS, gains, times))):
            case = late(delay).at(values(P, D, over))
            maps["error"][i, j, m, n], maps["growth"][i, j, m, n] = case.error, case.growth
    return maps


def bears(P: float, D: float, overshoot: float) -> float:
    """Return the longest delay, in steps of 0.1 ms, up to which the test is stable; -1 ms if none."""
    longest = -1e-3
    for delay in np.arange(0, 31) * 1e-4:
        if not one_step(late(float(delay)).test.tick, values(P, D, overshoot)).stable:
            break
        longest = float(delay)
    return longest


def second_mode(P: float, D: float) -> tuple[float, float]:
    """Return frequency in Hz and decay in 1/s of the mode near 15.7 Hz in the test, on an ideal table."""
    roots = np.log(
        np.linalg.eigvals(one_step(late(0.0).test.tick, values(P, D)).matrix).astype(complex) + 1e-300
    )
    near = roots[np.argmin(np.abs(roots.imag / TIME_STEP - 2 * np.pi * 15.705))] / TIME_STEP
    return float(near.imag / (2 * np.pi)), float(near.real)


def hydraulic(delay: float, *, linear: bool) -> dict[str, Any]:
    """Rehearse the gains on a servo-hydraulic table with leads that fit it."""
    many = Rehearsals(on_table(delay=delay, drive=_drive(linear=linear)), SECONDS)
    return {name: many.at(values(*pair)) for name, pair in GAINS.items()}


def drift(delay: float) -> tuple[float, float]:
    """Return how far off the servo-hydraulic table is after 4 s, and its rms motion, both in m."""
    table = on_table(delay=delay, drive=_drive(linear=False))
    run = table.with_values(values(*GAINS[RECOMMENDED])).run(paper.SECONDS)
    wanted = run["desired.displacement"]
    return float(run["actual.displacement"][-1] - wanted[-1]), float(np.std(wanted))


def _drive(*, linear: bool) -> TableDrive:
    return TableDrive.tuned(ServoHydraulic(linear=linear))


def main(
    out: Path, gains: Sequence[float] = PROPORTIONAL, times: Sequence[float] = DERIVATIVE
) -> dict[str, Any]:
    """Draw the map; print and return what was found."""
    out.mkdir(parents=True, exist_ok=True)
    numbers: dict[str, Any] = {"map": mapped(gains, times)}
    error, growth = numbers["map"]["error"], numbers["map"]["growth"]
    robust = (growth < -0.05).all(axis=(0, 1))  # decays on all nine tables
    worst_late = np.where(robust, error[1].max(axis=0), np.inf)  # worst over the delays, without overshoot
    m, n = np.unravel_index(int(np.argmin(worst_late)), worst_late.shape)
    numbers["best"] = (gains[m], times[n], float(worst_late[m, n]))
    print(
        f"Of {robust.size} pairs {robust.sum()} decay on all nine tables; without overshoot the worst error "
        f"is least, {100 * worst_late[m, n]:.1f} %, at P = {gains[m]:g}, D = {1e3 * times[n]:g} ms."
    )
    print(
        "\nrms error (growth in 1/s) without overshoot, at delays of 0, 0.5 and 1 ms; at most over all nine:"
    )
    numbers["tables"] = {}
    for name, (P, D) in GAINS.items():
        maps = mapped([P], [D])
        numbers["tables"][name] = {word: x[:, :, 0, 0] for word, x in maps.items()}
        cells = [
            f"{_percent(e)} ({g:+.2f})"
            for e, g in zip(maps["error"][1].flat, maps["growth"][1].flat, strict=True)
        ]
        worst = f"{_percent(maps['error'].max())} ({maps['growth'].max():+.2f})"
        print(f"{name:20}", *(f"{c:>20}" for c in (*cells, worst)))

    numbers["peaks"] = {}
    print("\nErrors of the peaks at 7.1, 15.7 and 19 Hz over 4 s, without overshoot, at the same delays:")
    for delay in DELAYS:
        many = Rehearsals(on_table(delay=delay), paper.SECONDS)
        for name in ("P = -0.9, D = 12 ms", "P = -0.5, D = 16 ms", RECOMMENDED):
            peaks = numbers["peaks"][name, delay] = list(many.at(values(*GAINS[name])).peak_errors.values())
            print(f"{name:20} {1e3 * delay:3.1f} ms ", *(f"{100 * x:+8.1f} %" for x in peaks))

    numbers["hydraulic"] = {}
    for delay, linear in itertools.product((0.0, 1e-3), (True, False)):
        cases = numbers["hydraulic"][delay, linear] = hydraulic(delay, linear=linear)
        print(f"\nServo-hydraulic, {'small-signal' if linear else 'whole'} model, {1e3 * delay:g} ms late:")
        print(*(f"{name}: {_percent(c.error)} ({c.growth:+.2f})" for name, c in cases.items()), sep="; ")

    numbers["drift"] = {delay: drift(delay) for delay in (0.0, 1e-3)}
    far = ", ".join(
        f"{1e3 * x:+.2f} mm (motion {1e3 * size:.2f} mm)" for x, size in numbers["drift"].values()
    )
    print(f"\nAfter 4 s the table of the whole model has drifted by {far}, 0 and 1 ms late.")

    numbers["bears"] = {}
    for name, over in itertools.product(("none", "the paper's P = -1", RECOMMENDED), OVERSHOOTS):
        most = numbers["bears"][name, over] = bears(*GAINS[name], over)
        print(f"{name} bears {1e3 * most:.1f} ms of delay with {100 * over:+.0f} % overshoot")
    numbers["second mode"] = {name: second_mode(*pair) for name, pair in GAINS.items()}
    print(
        "Second mode in the test:",
        *(f"{n}: {f:.2f} Hz, {r:+.2f} 1/s" for n, (f, r) in numbers["second mode"].items()),
        sep="\n  ",
    )

    P, D = GAINS[RECOMMENDED]
    frequencies, ratios = paper.table_2()["combined system"]
    omega = 2 * np.pi * frequencies[[1, 3]]
    numbers["taken away"] = abs(P) * D * TIME_STEP / SUB_STEPS * omega**2
    numbers["structure"] = (frequencies[1], -ratios[1] / 100 * omega[0])
    print(f"  in the structure: {frequencies[1]:.3f} Hz, {numbers['structure'][1]:+.2f} 1/s")
    print("D takes away", *(f"{_percent(x)} of the force" for x in numbers["taken away"]), "in modes 2 and 4")
    integral = Rehearsals(on_table(I=1.0, delay=1e-3), SECONDS)
    numbers["integral"] = {I: integral.at({**values(P, D), "scheme.I": I}).error for I in (-1.0, 0.0, 1.0)}
    print("I =", *(f"{I:+g} 1/s: {_percent(e)}" for I, e in numbers["integral"].items()))
    noisy = Rehearsals(on_table(sensor=Sensor((WhiteNoise(0.1),), unit="N")), SECONDS)
    numbers["noise"] = {name: noisy.at(values(*pair)).error for name, pair in GAINS.items()}
    print(
        "With 0.1 N of noise:",
        *(f"{name}: {_percent(e)}" for name, e in numbers["noise"].items()),
        sep="\n  ",
    )
    print(
        "File:",
        compensation_maps(numbers["map"], gains, times, GAINS[RECOMMENDED], out / "bayer_compensation.png"),
    )
    return numbers


def _percent(x: float) -> str:
    return f"{100 * x:.1f} %" if x < 100 else f"{100 * x:.0e} %"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
