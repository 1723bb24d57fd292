"""The frame of frame.py, stepped in Python: the column's measured force is a load on OpenSees' model.

Needs OpenSeesPy, and bondloop without what it computes with (PYTHONPATH=src does).

    bondloop serve examples/opensees/column.py --port 8090 --protocol plain
    python examples/opensees/stepped.py --port 8090
"""

import argparse
import sys
from pathlib import Path

import openseespy.opensees as ops

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "src")]

import frame  # noqa: E402 - found by the line above

from bondloop.interop import OpenSeesHalf, RemoteRig, step_by_step  # noqa: E402


def explicit() -> None:
    """Take central differences: what acts at the beginning of a step tells its end."""
    ops.wipeAnalysis()
    ops.constraints("Transformation")
    ops.numberer("Plain")
    ops.system("FullGeneral")
    ops.algorithm("Linear")
    ops.integrator("CentralDifference")
    ops.analysis("Transient")


def main() -> None:
    """Step the frame with its column on the rig, and compare with the frame alone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--steps", type=int, default=400)
    given = parser.parse_args()
    frame.build()
    explicit()
    alone = frame.analyse(given.steps)[0]
    frame.build()
    ops.remove("element", 2)  # the column that is on the rig
    explicit()
    half = OpenSeesHalf(ops, interface=[(3, 1)], time_step=frame.TIME_STEP, directions=2)
    with RemoteRig(f"udp://127.0.0.1:{given.port}") as rig:
        moved = step_by_step(half, rig, [0.0], given.steps)
    coupled = [displacements[0] for displacements, _ in moved[1:]]
    largest = max(abs(x) for x in alone)
    error = max(abs(a - b) for a, b in zip(alone, coupled, strict=True))
    print(
        f"{len(coupled)} steps, {error / largest:.1e} off the frame without a rig, "
        f"beam up to {1e3 * largest:.2f} mm"
    )


if __name__ == "__main__":
    main()
