"""Devices beside OpenSees' uniaxial materials, along the same random history; and what a force costs.

Run: python benchmarks/nonlinear.py (--opensees PYTHON names a Python that has OpenSeesPy)
With --write FILE the histories are written as a table, from which the tests of the devices read.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from bondloop.devices import (
    BaberNoori,
    Bilinear,
    BoucWen,
    FluidViscousDamper,
    Gap,
    GiuffreMenegottoPinto,
    Hook,
    Multilinear,
)
from bondloop.devices.driven import driven_tick
from bondloop.engine.codegen import Runner

SAMPLES, WRITTEN, PIECES = 1000, 150, 2000
"""Samples of the history, those that go into the table, and pieces of a step for OpenSees' Bouc-Wen."""

K, FY, D = 2e6, 1e4, 5e-3

CASES = {
    "Steel01": (Bilinear(K, FY, 0.05), "Steel01", [FY, K, 0.05]),
    "Hardening": (
        Bilinear(K, FY, 0.05, 0.6), "Hardening", [K, FY, K * 0.05 / 0.95 * 0.6, K * 0.05 / 0.95 * 0.4],
    ),
    "Steel02": (GiuffreMenegottoPinto(K, FY, 0.02), "Steel02", [FY, K, 0.02, 20, 0.925, 0.15]),
    "Steel02 isotropic": (
        GiuffreMenegottoPinto(K, FY, 0.02, 18, 0.9, 0.15, 0.05, 1.0, 0.03, 2.0),
        "Steel02", [FY, K, 0.02, 18, 0.9, 0.15, 0.05, 1.0, 0.03, 2.0],
    ),
    "MultiLinear": (Multilinear(), "MultiLinear", [5e-3, 10e3, 10e-3, 14e3, 30e-3, 16e3]),
    "ElasticPPGap": (Hook(1e6, 2e-3, FY, 0.1), "ElasticPPGap", [1e6, FY, 2e-3, 0.1, "damage"]),
    "ElasticPPGap pushed": (Gap(1e6, 2e-3, FY, 0.1), "ElasticPPGap", [1e6, -FY, -2e-3, 0.1, "damage"]),
    "BoucWen": (
        BoucWen(2e5, D, 0.1, 1.0, 0.3, 0.7, 0.0, 1e-4, 2e-4),
        "BoucWen", [0.1, 2e5, 1.0, 0.3 / D, 0.7 / D, 1.0, 0.0, 1e-4, 2e-4, 1e-13, 50],
    ),
    "BWBN": (
        BaberNoori(2e5, D, 0.1, 1.0, 0.3, 0.7, 0.0, 0.0, 0.0, 0.9, 2e-3, 0.2, 0.3, 1e-5, 0.5),
        "BWBN", [0.1, 2e5, 1.0, 0.3 / D, 0.7 / D, 1.0, 0.2, 0.9, 2e-3, 0.3 * D, 1e-5 * D, 0.5, 1e-13, 50],
    ),
}  # fmt: skip
"""Device, and material of OpenSees with its arguments."""

INTEGRATED = ("BoucWen", "BWBN")
"""OpenSees takes one implicit Euler step a strain for these: its answers are extrapolated to small steps."""


def history(samples: int) -> np.ndarray:
    """Return a random walk that comes back to where it began."""
    walk = np.concatenate([[0.0], np.cumsum(np.random.default_rng(19).normal(0, 4e-3, samples - 1))])
    return walk - np.linspace(0, walk[-1], samples)


def opensees(python: str, cases: list[dict]) -> tuple[str, list[np.ndarray]]:
    """Return the version and the stresses of some cases."""
    script = Path(__file__).with_name("opensees_materials.py")
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        subprocess.run([python, str(script), str(answer)], input=json.dumps(cases), text=True, check=True,
                       capture_output=True)  # fmt: skip
        found = json.loads(answer.read_text(encoding="utf-8"))
    return found["version"], [np.array(s) for s in found["stresses"]]


def beside_opensees(python: str) -> dict[str, np.ndarray]:
    """Print how far each device is from OpenSees, in its largest force."""
    x = history(SAMPLES)
    cases, wanted = [], []
    for name, (_, material, arguments) in CASES.items():
        pieces = (PIECES, 2 * PIECES) if name in INTEGRATED else (1,)
        strains = (x[:WRITTEN] if name in INTEGRATED else x).tolist()
        case = {"material": material, "arguments": arguments, "strains": strains}
        cases += [{**case, "pieces": count} for count in pieces]
        wanted.append(len(pieces))
    period, f = 1e-4, 0.5
    t = np.arange(20001) * period
    a, b = 2 * np.pi * f * t, np.pi * t / 3
    sine = 0.05 * np.sin(a) * np.sin(b)
    speed = 0.05 * (2 * np.pi * f * np.cos(a) * np.sin(b) + np.pi / 3 * np.sin(a) * np.cos(b))
    damper = FluidViscousDamper(2e6, 2e4, 0.6)
    cases.append({"material": "ViscousDamper", "arguments": [2e6, 2e4, 0.6, 0.0, 1, 1e-10, 1e-12, 15],
                  "strains": sine.tolist(), "velocities": speed.tolist(), "period": period})  # fmt: skip
    version, answers = opensees(python, cases)
    print(f"OpenSeesPy {version}\n\n| law | largest difference / largest force | one step |\n|---|---|---|")
    columns = {"displacement": x}
    for (name, (device, _, _)), count in zip(CASES.items(), wanted, strict=True):
        own = [answers.pop(0) for _ in range(count)]
        reference = (
            own[0] if count == 1 else 2 * own[1] - own[0]
        )  # the error of Euler's method goes with the step
        columns[name] = reference
        report(name, device, x[: len(reference)], reference, 100.0, 256 if name in INTEGRATED else 1)
    report("ViscousDamper", damper, sine, answers.pop(0), 1 / period, 1)
    return columns


def report(
    name: str, device: object, x: np.ndarray, reference: np.ndarray, rate: float, substeps: int
) -> None:
    """Print one line."""
    force = device.respond(x, rate, substeps=substeps)
    runner = Runner(driven_tick(device, 1 / rate, 1), backend="c")
    rows = np.column_stack([x, 0 * x, np.append(x[1:], x[-1])])
    wall = min(runner.run(len(x), rows).wall_seconds for _ in range(5))
    error = np.max(np.abs(force - reference)) / np.max(np.abs(reference))
    print(f"| {name} | {error:.1e} | {1e9 * wall / len(x):.0f} ns |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--opensees", default=sys.executable, help="a Python that has OpenSeesPy")
    parser.add_argument("--write", type=Path, help="write the histories here, as CSV")
    given = parser.parse_args()
    table = beside_opensees(given.opensees)
    if given.write:
        with given.write.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            writer.writerows(zip(*(column[:WRITTEN].tolist() for column in table.values()), strict=True))
