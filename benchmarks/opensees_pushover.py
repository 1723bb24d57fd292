"""A frame of two storeys with hinges, gravity and P-Δ, pushed in OpenSeesPy; prints JSON.

The same frame is in tests/structures/test_pushover_opensees.py, which holds what this prints.
Run: PYTHON benchmarks/opensees_pushover.py, with a Python that has OpenSeesPy.
"""

import json

import openseespy.opensees as ops

H, BAY, PUSH, TO, STEPS = 3.5, 6.0, (1.0, 2.0), 0.25, 100
COLUMN, BEAM = (0.012, 210e9, 2.5e-4), (0.0085, 210e9, 2.3e-4)
WEIGHT, HINGE = 4e5, (2.4e5, 4e8, 0.02)


def build(transformation: str) -> None:
    """Build the frame: joints 1 to 6 from left to right and upwards, hinges at feet and beam ends."""
    ops.wipe()
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    ops.geomTransf(transformation, 1)
    ops.geomTransf("Linear", 2)
    ops.uniaxialMaterial("Steel01", 1, *HINGE)
    for level in range(3):
        for line in range(2):
            ops.node(10 * level + line, line * BAY, level * H)
    for line in range(2):
        ops.fix(line, 1, 1, 1)
        ops.node(100 + line, line * BAY, 0.0)
        ops.equalDOF(line, 100 + line, 1, 2)
        ops.element("zeroLength", 500 + line, line, 100 + line, "-mat", 1, "-dir", 6)
        ops.element("elasticBeamColumn", 1 + line, 100 + line, 10 + line, *COLUMN, 1)
        ops.element("elasticBeamColumn", 11 + line, 10 + line, 20 + line, *COLUMN, 1)
    for level in (1, 2):
        for line in range(2):
            end = 200 + 10 * level + line
            ops.node(end, line * BAY, level * H)
            ops.equalDOF(10 * level + line, end, 1, 2)
            ops.element("zeroLength", 500 + end, 10 * level + line, end, "-mat", 1, "-dir", 6)
        ops.element("elasticBeamColumn", 20 + level, 200 + 10 * level, 201 + 10 * level, *BEAM, 2)


def analyse(control: tuple, steps: int) -> None:
    """Analyse in equilibrium."""
    ops.wipeAnalysis()
    ops.constraints("Transformation")
    ops.numberer("RCM")
    ops.system("BandGeneral")
    ops.test("NormDispIncr", 1e-12, 50)
    ops.algorithm("Newton")
    ops.integrator(*control)
    ops.analysis("Static")
    assert ops.analyze(steps) == 0


def pushed(transformation: str) -> dict:
    """Return roof displacements and load factors."""
    build(transformation)
    ops.timeSeries("Linear", 1)
    ops.pattern("Plain", 1, 1)
    for joint in (10, 11, 20, 21):
        ops.load(joint, 0.0, -WEIGHT, 0.0)
    analyse(("LoadControl", 0.1), 10)
    ops.loadConst("-time", 0.0)
    ops.pattern("Plain", 2, 1)
    for level, force in zip((1, 2), PUSH, strict=True):
        ops.load(10 * level, force, 0.0, 0.0)
    factors = []
    for _ in range(STEPS):
        analyse(("DisplacementControl", 20, 1, TO / STEPS), 1)
        factors.append(ops.getTime())
    return {"factors": factors[9::10], "roof": ops.nodeDisp(20, 1), "floor": ops.nodeDisp(10, 1)}


if __name__ == "__main__":
    print(json.dumps({"version": ops.version(), **{t: pushed(t) for t in ("Linear", "PDelta")}}))
