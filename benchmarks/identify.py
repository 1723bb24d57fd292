"""How fast measured data become ranked models: 60 s at 1 kHz, nine models. Prints a table in Markdown.

Run: python benchmarks/identify.py (--repeat N; about half a minute)
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bondloop.identify.models.bond_graph_fit import fit_bond_graph
from bondloop.identify.process.ranking import USUAL, rank_frequency, rank_time
from bondloop.identify.process.time_fit import fit_time
from bondloop.transfer import MassSpringDamper
from bondloop.transfer.process import Process, second_order

PERIOD, SAMPLES = 1e-3, 60_000
TRUE = second_order(0.97, 22.0, 0.6, delay=0.00437)


def record(kind: str, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return 60 s of command and position, with noise 40 dB below the signal."""
    rng = np.random.default_rng(seed)
    t = np.arange(SAMPLES) * PERIOD
    commands = {
        "noise": lambda: rng.normal(size=SAMPLES),
        "sweep": lambda: np.sin(2 * np.pi * (0.5 * t + 0.5 * t**2)),  # 0.5 to 60 Hz
        "steps": lambda: np.repeat(rng.normal(size=SAMPLES // 250), 250),
    }
    u = commands[kind]()
    y = TRUE.simulate(u, PERIOD)
    return u, y + 0.01 * y.std() * rng.normal(size=SAMPLES)


def timed(call: Callable[[], Any], repeat: int) -> tuple[Any, float, float]:
    """Return the result, and the median wall and CPU seconds."""
    walls, cpus = [], []
    result = None
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        result = call()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return result, float(np.median(walls)), float(np.median(cpus))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the median is taken")
    repeat = parser.parse_args().repeat
    fit_time(*(x[:2000] for x in record("noise")), PERIOD, "G1")  # imports
    head = f"60 s at 1 kHz, {len(USUAL)} models ranked"
    print(f"| {head} | wall (s) | CPU (s) | recommended | delay error (samples) |")
    print("|---|---:|---:|---|---:|")
    for kind in ("noise", "sweep", "steps"):
        u, y = record(kind)
        found, wall, cpu = timed(lambda u=u, y=y: rank_time(u, y, PERIOD), repeat)
        error = (found.recommended.process.delay - TRUE.delay) / PERIOD
        print(f"| {kind} | {wall:.2f} | {cpu:.2f} | {found.recommended.name} | {error:+.4f} |")
    print("\n| one fit | wall (s) | CPU (s) |\n|---|---:|---:|")
    u, y = record("noise")
    for name in ("G1", "G2D", "3 poles, 1 zero, delay"):
        _, wall, cpu = timed(lambda name=name: fit_time(u, y, PERIOD, name), repeat)
        print(f"| {name}, 60 s at 1 kHz | {wall:.2f} | {cpu:.2f} |")
    f = np.linspace(0.5, 70, 140)
    _, wall, cpu = timed(lambda: rank_frequency(f, TRUE.response(f) * (1 + 0.002 * np.cos(9 * f))), repeat)
    print(f"| {len(USUAL)} models to 140 spectral lines | {wall:.2f} | {cpu:.2f} |")
    rng = np.random.default_rng(1)
    c, k = 150.8, 13618.0
    x = Process((k,), (2.2, c, k)).simulate(u, PERIOD)
    x += 0.01 * x.std() * rng.normal(size=SAMPLES)
    free = {"damper.damping": (10.0, 1e3), "spring.stiffness": (1e3, 1e5)}
    guess = MassSpringDamper(2.2, 40.0, 3000.0, drive="position")
    fit, wall, cpu = timed(
        lambda: fit_bond_graph(guess, {"x_d": u}, {"spring.displacement": x}, PERIOD, free), repeat
    )
    error = max(abs(fit.values["damper.damping"] / c - 1), abs(fit.values["spring.stiffness"] / k - 1))
    print(f"| bond graph, 2 of 3 parameters free, 60 s at 1 kHz | {wall:.2f} | {cpu:.2f} |")
    print(f"\nThe bond graph's parameters are right to {100 * error:.3f} %.")


if __name__ == "__main__":
    main()
