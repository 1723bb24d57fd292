"""Hybrid tests of structures on moving ground, beside OpenSees' models of the whole structures.

    python benchmarks/earthquake.py [--opensees PYTHON] [--seconds 10]

Four structures (earthquake_models.py), two kinds of damping, relative and absolute coordinates: the largest
difference of any motion from that of the model in one piece (opensees_earthquake.py), as a share of the
largest motion. Both programs take Newmark's average acceleration with the same step; no actuator has dynamics
that show, for a virtual junction cancels them.

OpenSeesPy may live in an environment of its own, with NumPy: the path of its Python is the argument.
Without it a fresh one is made with `python -m venv` and pip.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import earthquake_models as models
import numpy as np

from bondloop.integrate import NewmarkAverage
from bondloop.papers import silva_benchmark
from bondloop.signals import Table

HERE = Path(__file__).parent
STEP = 0.005


def environment() -> str:
    """Make an environment with OpenSeesPy and return its Python."""
    folder = Path(tempfile.mkdtemp()) / "opensees"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "openseespy", "numpy"], check=True)
    return python


def grounds(wheres: tuple[str, ...], seconds: float) -> dict[str, Table]:
    """Return El Centro for each direction or support: weaker in others, later and stronger at others."""
    times = np.arange(round(seconds / 0.02) + 3) * 0.02
    record = silva_benchmark.ground(scale=1.0)
    return {
        w: Table(times, (1.0 - 0.3 * i) * record(times - 0.06 * i), beyond="zero")
        for i, w in enumerate(wheres)
    }


def opensees(python: str, case: models.Case, damping: str, ground: dict[str, Table], steps: int) -> dict:
    """Run the whole structure in OpenSees."""
    times = STEP * np.arange(steps + 1)
    specimens = [models.ISOLATOR, models.TABLE, models.BRIDGE_MASS, models.BRACE]
    names = [c.name for c in models.cases()]
    kinds = {"rayleigh": {"alpha": models.ALPHA, "beta": models.BETA}, "modal": {"ratio": models.RATIO}}
    what = {
        "case": case.name, "h": STEP, "steps": steps, "damping": kinds[damping],
        "ground": {w: s(times).tolist() for w, s in ground.items()},
        "specimen": specimens[names.index(case.name)], "masses": models.MASSES,
        "stiffnesses": models.STIFFNESSES, "span": models.SPAN, "piers": models.PIERS, "deck": models.DECK,
        "pier": models.PIER, "node": models.NODE, "bay": models.BAY, "storey": models.STOREY,
        "floor": models.FLOOR,
        "corner": models.CORNER, "inertia": models.INERTIA, "steel": models.STEEL, "column": models.COLUMN,
        "beam": models.BEAM,
    }  # fmt: skip
    command = [python, str(HERE / "opensees_earthquake.py")]
    answer = subprocess.run(command, input=json.dumps(what), capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(answer.stderr[-2000:])
    line = next(text for text in answer.stdout.splitlines() if text.startswith("{"))
    return json.loads(line.removesuffix("Process 0 Terminating"))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Hybrid tests on moving ground, beside OpenSees.")
    parser.add_argument("--opensees", help="Python of an environment with OpenSeesPy and NumPy")
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    python = options.opensees or environment()
    steps = round(options.seconds / STEP)
    print("| structure and specimen | damping | coordinates | largest difference |")
    print("|---|---|---|---|")
    version, worst = "", 0.0
    for case in models.cases():
        ground = grounds(case.wheres, options.seconds)
        for damping in ("rayleigh", "modal"):
            answer = opensees(python, case, damping, ground, steps)
            version, exact = answer["version"], np.array(answer["motion"])
            for coordinates in ("relative", "absolute"):
                settings = {"rate": 1 / STEP, "integrator": NewmarkAverage(), "reference": None}
                fresh = next(c for c in models.cases() if c.name == case.name)
                run = fresh.test(ground, damping, coordinates, **settings).run(options.seconds)
                ours = np.column_stack([run[f"numerical.frame.{dof}.displacement"] for dof in case.watched])
                difference = np.abs(ours - exact[: len(ours)]).max(axis=0) / np.abs(exact).max(axis=0)
                worst = float(np.maximum(worst, difference.max()))
                print(f"| {case.name} | {damping} | {coordinates} | {difference.max():.1e} |")
    print(f"\nOpenSees {version}, {options.seconds:g} s of El Centro in steps of {1e3 * STEP:g} ms")
    if not worst <= 1e-6:
        raise SystemExit(f"a motion differs by {worst:.1e}")


if __name__ == "__main__":
    main()
