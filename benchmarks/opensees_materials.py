"""Uniaxial materials of OpenSeesPy along histories, for `nonlinear.py`: cases as JSON in, stresses out.

OpenSeesPy needs Debian's libblas3, liblapack3 and libgfortran5, and may live in an environment of its own:
python benchmarks/nonlinear.py --opensees PYTHON
"""

import json
import sys
from pathlib import Path

import openseespy.opensees as ops


def along(material: str, arguments: list, strains: list, pieces: int) -> list:
    """Return the stress at every strain; each step is made in so many equal pieces."""
    ops.wipe()
    ops.model("basic", "-ndm", 1, "-ndf", 1)
    ops.uniaxialMaterial(material, 1, *arguments)
    ops.testUniaxialMaterial(1)
    stresses, last = [], 0.0
    for strain in strains:
        for i in range(1, pieces + 1):
            # The last piece ends at the strain itself: rounding would be a turn where a strain is repeated.
            ops.setStrain(strain if i == pieces else last + (strain - last) * i / pieces)
        last = strain
        stresses.append(ops.getStress())
    return stresses


def in_time(material: str, arguments: list, strains: list, velocities: list, period: float) -> list:
    """Return the force of a material between two nodes, one of which is moved; for laws with a velocity."""
    ops.wipe()
    ops.model("basic", "-ndm", 1, "-ndf", 1)
    ops.node(1, 0.0)
    ops.node(2, 0.0)
    ops.fix(1, 1)
    ops.mass(2, 1.0)
    ops.uniaxialMaterial(material, 1, *arguments)
    ops.element("zeroLength", 1, 1, 2, "-mat", 1, "-dir", 1, "-doRayleigh", 0)
    ops.node(3, 0.0)  # something that is free: OpenSees solves no system without unknowns
    ops.mass(3, 1.0)
    ops.uniaxialMaterial("Elastic", 2, 1.0)
    ops.element("zeroLength", 2, 1, 3, "-mat", 2, "-dir", 1)
    for number, values in enumerate((strains, velocities), 1):  # one more: past its end a path is zero
        ops.timeSeries("Path", number, "-dt", period, "-values", *values, values[-1])
    ops.pattern("MultipleSupport", 1)
    ops.groundMotion(1, "Plain", "-disp", 1, "-vel", 2)
    ops.imposedMotion(2, 1, 1)
    ops.constraints("Transformation")
    ops.numberer("Plain")
    ops.system("FullGeneral")
    ops.test("NormDispIncr", 1e-12, 10, 0)
    ops.algorithm("Newton")
    ops.integrator("Newmark", 0.5, 0.25)
    ops.analysis("Transient")
    forces = [0.0]
    for _ in strains[1:]:
        ops.analyze(1, period)
        forces.append(ops.eleResponse(1, "material", 1, "stress")[0])
    return forces


if __name__ == "__main__":
    answers = [in_time(**case) if "period" in case else along(**case) for case in json.load(sys.stdin)]
    answer = json.dumps({"version": ops.version(), "stresses": answers})
    Path(sys.argv[1]).write_text(answer, encoding="utf-8")
