"""The 100-element cantilever of `structures.py` in OpenSeesPy; prints its tip's motion and time per step.

OpenSeesPy needs Debian's libblas3, liblapack3 and libgfortran5, and may live in an environment of its own:
python benchmarks/structures.py --opensees PYTHON
"""

import json
import math
import sys
import time

import openseespy.opensees as ops


def run(elements: int, length: float, E: float, A: float, I: float, rho: float, h: float, steps: int) -> None:
    """Build the model, run Newmark's average acceleration under a sine at the tip, print the result."""
    ops.wipe()
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    for i in range(elements + 1):
        ops.node(i + 1, length * i / elements, 0.0)
    ops.fix(1, 1, 1, 1)
    ops.geomTransf("Linear", 1)
    for i in range(elements):
        ops.element("elasticBeamColumn", i + 1, i + 1, i + 2, A, E, I, 1, "-mass", rho * A, "-cMass")
    tip = elements + 1
    values = [math.sin(30.0 * k * h) for k in range(steps + 2)]  # one more: past its end a path is zero
    ops.timeSeries("Path", 1, "-dt", h, "-values", *values)
    ops.pattern("Plain", 1, 1)
    ops.load(tip, 0.0, 1000.0, 0.0)
    ops.constraints("Plain")
    ops.numberer("RCM")
    ops.system("BandSPD")
    ops.algorithm("Linear", "-factorOnce")
    ops.integrator("Newmark", 0.5, 0.25)
    ops.analysis("Transient")
    record = [0.0]
    began = time.perf_counter()
    for _ in range(steps):
        ops.analyze(1, h)
        record.append(ops.nodeDisp(tip, 2))
    wall = time.perf_counter() - began
    print(json.dumps({"version": ops.version(), "seconds_per_step": wall / steps, "tip": record}))


if __name__ == "__main__":
    run(**json.loads(sys.argv[1]))
