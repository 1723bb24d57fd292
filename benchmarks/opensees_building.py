"""The frame building of `structures.py` in OpenSeesPy; prints a velocity of its roof, CPU time and memory.

See `opensees_cantilever.py` for what it needs.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import openseespy.opensees as ops


def _memory() -> float:
    """Return the largest memory of the process so far, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024.0 * next(float(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def run(
    *,
    storeys: int,
    across: int,
    deep: int,
    section: dict[str, float],
    damping: list[float],
    h: float,
    forces: list[float],
    solver: str,
) -> None:
    """Build the model, run Newmark's average acceleration under a force at the roof, print the result."""
    before = _memory()
    ops.wipe()
    ops.model("basic", "-ndm", 3, "-ndf", 6)

    def tag(k: int, i: int, j: int) -> int:
        return 1 + (k * across + i) * deep + j

    places = [(i, j) for i in range(across) for j in range(deep)]
    for k in range(storeys + 1):
        for i, j in places:
            ops.node(tag(k, i, j), 6.0 * i, 5.0 * j, 3.2 * k)
    for i, j in places:
        ops.fix(tag(0, i, j), 1, 1, 1, 1, 1, 1)
    ops.geomTransf("Linear", 1, 1.0, 0.0, 0.0)
    ops.geomTransf("Linear", 2, 0.0, 0.0, 1.0)
    s = section
    rest = (s["A"], s["E"], s["G"], s["J"], s["Iy"], s["Iz"])
    mass = ("-mass", s["rho"] * s["A"], "-cMass")
    number = 0

    def member(one: int, two: int, direction: int) -> None:
        nonlocal number
        number += 1
        ops.element("elasticBeamColumn", number, one, two, *rest, direction, *mass)

    for k in range(1, storeys + 1):
        for i, j in places:
            here = tag(k, i, j)
            member(tag(k - 1, i, j), here, 1)
            if i:
                member(tag(k, i - 1, j), here, 2)
            if j:
                member(tag(k, i, j - 1), here, 2)
    ops.rayleigh(damping[0], 0.0, damping[1], 0.0)
    roof = tag(storeys, across - 1, deep - 1)
    ops.timeSeries("Path", 1, "-dt", h, "-values", *forces, 0.0)  # one more: past its end a path is zero
    ops.pattern("Plain", 1, 1)
    ops.load(roof, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    ops.constraints("Plain")
    ops.numberer("RCM")
    ops.system(solver)
    ops.algorithm("Linear", "-factorOnce")
    ops.integrator("Newmark", 0.5, 0.25)
    ops.analysis("Transient")
    ops.analyze(1, h)  # factors
    record = [0.0, ops.nodeVel(roof, 1)]
    began = time.process_time()
    for _ in forces[2:]:
        ops.analyze(1, h)
        record.append(ops.nodeVel(roof, 1))
    spent = time.process_time() - began
    result: dict[str, Any] = {"version": ops.version(), "seconds_per_step": spent / len(forces[2:])}
    print(json.dumps(result | {"memory": _memory() - before, "speed": record}))


if __name__ == "__main__":
    run(**json.loads(sys.argv[1]))
