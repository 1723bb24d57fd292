"""A portal frame in OpenSees, one column of which stands on a rig.

Needs OpenSeesPy alone. First the rig, then the frame, which says how far it is from itself without a rig:

    bondloop serve examples/opensees/column.py --port 8090
    python examples/opensees/frame.py --port 8090
"""

import argparse
import json
import math
import socket

import openseespy.opensees as ops

TIME_STEP = 0.01
STEEL = (
    10e3,
    2e6,
    0.02,
    20.0,
    0.925,
    0.15,
)  # of a column's lateral spring: yield force in N, stiffness in N/m, ...


def build(port: int | None = None, *, tcp: bool = False, scale: float = 1.6) -> None:
    """Build the frame: a beam of 10 t on two columns. With a port, the right one is on the rig there."""
    ops.wipe()
    ops.model("basic", "-ndm", 2, "-ndf", 2)
    for node in (1, 2, 3):  # the ground, and the tops of the columns
        ops.node(node, 0.0, 0.0)
    ops.fix(1, 1, 1)
    ops.fix(2, 0, 1)
    ops.fix(3, 0, 1)
    ops.equalDOF(2, 3, 1)
    ops.mass(2, 5e3, 0.0)
    ops.mass(3, 5e3, 0.0)
    ops.uniaxialMaterial("Steel02", 1, *STEEL)
    ops.element("zeroLength", 1, 1, 2, "-mat", 1, "-dir", 1)
    if port is None:
        ops.uniaxialMaterial("Steel02", 2, *STEEL)
        ops.element("zeroLength", 2, 1, 3, "-mat", 2, "-dir", 1)
    else:
        how = [] if tcp else ["-udp"]
        ops.element("genericClient", 2, "-node", 3, "-dof", 1, "-server", port, "127.0.0.1", *how)
    ops.timeSeries("Trig", 1, 0.0, 100.0, 1.0)  # a ground that shakes at 1 Hz
    ops.pattern("UniformExcitation", 1, 1, "-accel", 1, "-fact", scale)
    ops.rayleigh(0.5, 0.0, 0.0, 0.0)
    ops.constraints("Transformation")
    ops.numberer("Plain")
    ops.system("FullGeneral")
    ops.algorithm("Linear")  # one trial a step: a rig goes there, and cannot take it back
    ops.integrator("NewmarkExplicit", 0.5)
    ops.analysis("Transient")


def analyse(steps: int, port: int = 0) -> tuple[list[float], str]:
    """Return the beam's displacement step by step, and what the rig says where it ends early."""
    beam = []
    for _ in range(steps):
        code = ops.analyze(1, TIME_STEP)
        displacement = ops.nodeDisp(2, 1)
        if code != 0 or math.isnan(displacement):  # not a number: the rig has measured none
            return beam, ask(port)
        beam.append(displacement)
    return beam, ""


def ask(port: int) -> str:
    """Ask the rig how it is."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as rig:
        rig.settimeout(5)
        rig.sendto(b"status", ("127.0.0.1", port))
        return json.loads(rig.recv(65536))["message"]


def main() -> None:
    """Analyse the frame alone, then with its column on the rig, and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--tcp", action="store_true")
    given = parser.parse_args()
    build()
    alone, _ = analyse(given.steps)
    build(given.port, tcp=given.tcp)
    coupled, message = analyse(given.steps, given.port)
    ops.wipe()  # tells the rig that it is over
    largest = max(abs(x) for x in alone)
    error = max(abs(a - b) for a, b in zip(alone, coupled, strict=False))
    print(
        f"{len(coupled)} of {given.steps} steps, {error / largest:.1e} off the frame without a rig, "
        f"beam up to {1e3 * largest:.2f} mm"
    )
    if message:
        print(f"the rig says: {message}")


if __name__ == "__main__":
    main()
