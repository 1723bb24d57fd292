"""Ten storeys with hinges that yield, under El Centro: beside OpenSees, and in a hybrid test at 1 kHz.

    python benchmarks/nonlinear_frame.py [--opensees PYTHON] [--seconds 20]

The frame (nonlinear_frame_model.py) in OpenSees: opensees_nonlinear_frame.py.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import nonlinear_frame_model as frame
import numpy as np

import bondloop as bl
from bondloop.bondgraph import Model
from bondloop.engine.codegen import Runner
from bondloop.integrate import NewmarkAverage
from bondloop.papers import silva_benchmark

STEP, SCALE, BLOCK = 1e-3, 1.0, 20


def opensees(python: str, ground: np.ndarray, steps: int, **options: object) -> dict:
    """Run the frame in OpenSees."""
    what = {
        "h": STEP, "steps": steps, "ground": ground.tolist(), "bays": frame.BAYS, "storeys": frame.STOREYS,
        "bay": frame.BAY, "height": frame.HEIGHT, "column": frame.COLUMN, "beam": frame.BEAM,
        "mass": frame.MASS, "inertia": frame.INERTIA, "end": frame.END, "hinge": frame.HINGE,
        "alpha": frame.ALPHA, "beta": frame.BETA, "solver": "BandGeneral", "algorithm": ["Newton"], **options,
    }  # fmt: skip
    script = str(Path(__file__).with_name("opensees_nonlinear_frame.py"))
    answer = subprocess.run(
        [python, script], input=json.dumps(what), capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise SystemExit(answer.stderr[-2000:])
    line = next(text for text in answer.stdout.splitlines() if text.startswith("{"))
    return json.loads(line.removesuffix("Process 0 Terminating"))


def drifts(floors: np.ndarray) -> np.ndarray:
    """Return the drifts of the storeys from the floors' displacements, a column each."""
    return np.diff(floors, axis=1, prepend=0.0)


def simulation(ground: object, iterations: int) -> bl.Simulation:
    """Return the frame alone, by Newmark's scheme."""
    whole = Model("whole")
    whole.frame = frame.yielding()
    floors = [f"whole.frame.{frame.joint(0, level)}.ux.displacement" for level in range(1, frame.STOREYS + 1)]
    scheme = NewmarkAverage(iterations=iterations)
    return bl.Simulation(
        {"whole": whole}, ground={"ux": ground}, rate=1 / STEP, integrator=scheme, record=floors
    )


def beside_opensees(python: str, seconds: float, iterations: int) -> None:
    """Print how far both are apart, and how long a step takes, in turns."""
    ground, steps = silva_benchmark.ground(scale=SCALE), round(seconds / STEP)
    times = STEP * np.arange(steps + 1)
    test = simulation(ground, iterations)
    run = test.run(seconds)
    ours = drifts(np.column_stack([run[name] for name in test.record]))[: steps + 1]
    values = ground(times)
    runner, rows = Runner(test.tick, backend="c"), np.column_stack([values[:-1], values[1:]])
    own, other, version = [], {}, ""
    for settings in SETTINGS:
        answer = opensees(python, values, steps, solver=settings[0], algorithm=settings[1:])
        version, theirs = answer["version"], drifts(np.array(answer["motion"]))[: len(ours)]
        other[" ".join(settings)] = answer["seconds_per_step"]
        runner.reset()
        blocks = np.split(rows, range(BLOCK, steps, BLOCK))
        own += [runner.run(len(block), block).wall_seconds / len(block) for block in blocks]
    peak = np.abs(np.abs(ours).max(axis=0) / np.abs(theirs).max(axis=0) - 1).max()
    rms = np.sqrt(((ours - theirs) ** 2).mean(axis=0) / (theirs**2).mean(axis=0)).max()
    fastest = min(other, key=other.__getitem__)
    step, ratio = float(np.median(own)), other[fastest] / float(np.median(own))
    plain = other["BandGeneral Newton"]
    print(
        f"OpenSeesPy {version}, {seconds:g} s of El Centro in steps of {1e3 * STEP:g} ms, "
        f"{iterations} sweeps; medians over all steps\n"
    )
    print("| ten storeys, three bays, 60 hinges, 180 degrees of freedom | goal | measured |\n|---|---|---|")
    print(f"| peak drifts, worst storey, beside OpenSees | 1 % | {100 * peak:.1g} % |")
    print(f"| drifts over time, rms, worst storey | 2 % | {100 * rms:.1g} % |")
    print(f"| largest drift | | {1e3 * np.abs(theirs).max():.0f} mm |")
    print(f"| a step of bondloop | | {1e6 * step:.0f} µs |")
    print(
        f"| of OpenSees, BandGeneral and Newton | 20 times | {1e6 * plain:.0f} µs, {plain / step:.0f} times |"
    )
    print(
        f"| of OpenSees, its fastest here ({fastest}) | | {1e6 * other[fastest]:.0f} µs, {ratio:.0f} times |"
    )


SETTINGS = (("BandGeneral", "Newton"), ("SparseSYM", "Newton"), ("BandGeneral", "KrylovNewton"),
            ("BandSPD", "ModifiedNewton", "-initial"), ("UmfPack", "Newton"))  # fmt: skip
"""Solvers and algorithms of OpenSees: the fastest is named."""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="A frame that yields, beside OpenSees and in a hybrid test.")
    parser.add_argument("--opensees", default=sys.executable, help="a Python that has OpenSeesPy")
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--iterations", type=int, default=2, help="sweeps over the hinges in a step")
    options = parser.parse_args()
    beside_opensees(options.opensees, options.seconds, options.iterations)


if __name__ == "__main__":
    main()
