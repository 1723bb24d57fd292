"""The frame of `nonlinear_frame_model.py` in OpenSeesPy; prints its floors' motion and the time of a step.

OpenSeesPy needs Debian's libblas3, liblapack3 and libgfortran5, and may live in an environment of its own:
python benchmarks/nonlinear_frame.py --opensees PYTHON
"""

import json
import statistics
import sys
import time

import openseespy.opensees as ops


def build(p: dict) -> list[int]:
    """Build the frame; return the joints of its first line from the first floor up."""
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    lines, levels = p["bays"] + 1, p["storeys"]
    joint = lambda line, level: 100 * line + level + 1  # noqa: E731
    ops.geomTransf("Linear", 1)
    h = p["hinge"]
    ops.uniaxialMaterial("Steel01", 1, h["yield_force"], h["stiffness"], h["hardening"])
    tag = 0
    for line in range(lines):
        for level in range(levels + 1):
            ops.node(joint(line, level), line * p["bay"], level * p["height"])
            if not level:
                ops.fix(joint(line, 0), 1, 1, 1)
                continue
            ops.mass(joint(line, level), p["mass"], p["mass"], p["inertia"])
            tag += 1
            c = p["column"]
            ends = (joint(line, level - 1), joint(line, level))
            ops.element("elasticBeamColumn", tag, *ends, c["A"], c["E"], c["I"], 1)
    node, members = 1000, []
    for level in range(1, levels + 1):
        for bay in range(p["bays"]):
            ends = []
            for column in (joint(bay, level), joint(bay + 1, level)):
                node += 1
                ops.node(node, *ops.nodeCoord(column))
                ops.equalDOF(column, node, 1, 2)
                ops.mass(node, 0.0, 0.0, p["end"])
                ops.element("zeroLength", 10000 + node, column, node, "-mat", 1, "-dir", 6)
                ends.append(node)
            tag += 1
            b = p["beam"]
            ops.element("elasticBeamColumn", tag, *ends, b["A"], b["E"], b["I"], 1)
            members.append(tag)
    ops.rayleigh(p["alpha"], 0.0, p["beta"], 0.0)
    return [joint(0, level) for level in range(1, levels + 1)]


def main(p: dict) -> None:
    """Build, shake, print."""
    ops.wipe()
    floors = build(p)
    ops.timeSeries("Path", 1, "-dt", p["h"], "-values", *p["ground"], 0.0)
    ops.pattern("UniformExcitation", 1, 1, "-accel", 1)
    ops.constraints("Transformation")
    ops.numberer("RCM")
    ops.system(p["solver"])
    ops.test("NormDispIncr", 1e-10, 20)
    ops.algorithm(*p["algorithm"])
    ops.integrator("Newmark", 0.5, 0.25)
    ops.analysis("Transient")
    record = [[0.0] * len(floors)]
    spent = []
    for _ in range(p["steps"]):
        began = time.perf_counter()
        failed = ops.analyze(1, p["h"])
        spent.append(time.perf_counter() - began)
        assert failed == 0
        record.append([ops.nodeDisp(floor, 1) for floor in floors])
    print(
        json.dumps({"version": ops.version(), "seconds_per_step": statistics.median(spent), "motion": record})
    )


if __name__ == "__main__":
    main(json.loads(sys.stdin.read()))
