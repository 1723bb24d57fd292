"""A slow test at two sites: OpenSees here, the column in a laboratory elsewhere.

A university has the model of a portal frame in OpenSees, a laboratory has one of its columns on a rig. How
far does the beam go when both columns yield? The frame says where the column's top should be, the rig goes
there, waits and answers with the force. Here the laboratory is `bondloop serve` in its own process; the
frame is in another, in OpenSees if BONDLOOP_OPENSEES names a Python that has it, otherwise in Python over
the same protocol. What comes out: the beam's largest displacement, and the column's loop.

Run it: python examples/stories/two_sites.py [FOLDER]
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import bondloop as bl

MASS, DAMPING, PEAK, STEP, STEPS = 10e3, 5e3, 1.9, 0.01, 300
"""Of the beam in kg and N s/m; the ground shakes with so many m/s² at 1 Hz; time step in s."""
COLUMN, YIELDS = {"yield_force": 10e3, "stiffness": 2e6, "hardening": 0.02}, 5e-3


def test() -> bl.HybridTest:
    """Return the laboratory's test: the column, its servo and its limits; what moves it is elsewhere."""
    servo = bl.transfer.MassSpringDamper(m="50 kg", c="110 kN s/m", k="50 MN/m", drive="position")
    return bl.HybridTest(
        bl.substructure.ExternalHalf(stroke="20 mm", speed="50 mm/s", frequency="20 Hz", tolerance="1 µm"),
        rig=bl.rigs.Emulated(bl.rigs.mounted(bl.devices.Bilinear(**COLUMN)), servo),
        controller=bl.control.Direct(),
        excitation={},
        rate="1 kHz",
        interlock=bl.safety.Interlock(bl.safety.Limits(displacement="25 mm", force="20 kN")),
        name="two_sites",
    )


def opensees_frame() -> Callable[[Sequence[float]], Sequence[float]]:
    """Return the frame without the column that is on the rig, in OpenSees."""
    import openseespy.opensees as ops

    ops.model("basic", "-ndm", 1, "-ndf", 1)
    for node in (1, 2):  # the ground and the beam
        ops.node(node, 0.0)
    ops.fix(1, 1)
    ops.mass(2, MASS)
    ops.uniaxialMaterial("Steel01", 1, *COLUMN.values())
    ops.element("zeroLength", 1, 1, 2, "-mat", 1, "-dir", 1)
    ops.timeSeries("Trig", 1, 0.0, 100.0, 1.0)
    ops.pattern("UniformExcitation", 1, 1, "-accel", 1, "-fact", PEAK)
    ops.rayleigh(DAMPING / MASS, 0.0, 0.0, 0.0)
    ops.system("FullGeneral")
    ops.algorithm("Linear")
    ops.integrator("CentralDifference")
    ops.analysis("Transient")
    return bl.interop.OpenSeesHalf(ops, interface=[(2, 1)], time_step=STEP, directions=1)


def python_frame() -> Callable[[Sequence[float]], Sequence[float]]:
    """Return the same in Python: central differences, and a column that yields."""
    before = now = slip = n = 0.0

    def step(forces: Sequence[float]) -> Sequence[float]:
        nonlocal before, now, slip, n
        slip = min(max(slip, now - YIELDS), now + YIELDS)
        push = -MASS * PEAK * math.sin(2 * math.pi * n * STEP) - forces[0]
        push -= COLUMN["stiffness"] * (now - (1 - COLUMN["hardening"]) * slip)
        m, c = MASS / STEP**2, DAMPING / 2 / STEP
        before, now, n = now, (push + m * (2 * now - before) + c * before) / (m + c), n + 1
        return [now]

    return step


def numerical_site(address: str, frame: Callable[[Sequence[float]], Sequence[float]]) -> None:
    """Step the frame with the column on the rig at this address, and print displacements and forces."""
    with bl.interop.RemoteRig(address) as rig:
        moved = bl.interop.step_by_step(frame, rig, [0.0], STEPS)
    print(json.dumps([[wanted[0] for wanted, _ in moved], [answer.force[0] for _, answer in moved]]))


def main(folder: Path | None = None) -> dict[str, float]:
    """Check, start the laboratory, compute the frame in another process, answer."""
    print(test().check(2.0).verdict)
    opensees = os.environ.get("BONDLOOP_OPENSEES", "")
    print("The frame is in OpenSees." if opensees else "No BONDLOOP_OPENSEES: the frame is in Python.")
    place = {**os.environ, "PYTHONPATH": str(Path(bl.__file__).parents[1])}
    options = ["--port", "0", "--protocol", "plain", "--out", str(folder or "out")]
    serve = [sys.executable, "-m", "bondloop", "serve", __file__, *options]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, env=place) as laboratory:  # noqa: S603
        address = "udp" + laboratory.stdout.readline().partition("udp")[2].split(": listening")[0]
        frame = [opensees or sys.executable, __file__, "--site", address, opensees]
        site = subprocess.run(frame, capture_output=True, text=True, check=False, env=place)  # noqa: S603
        if site.returncode:
            laboratory.terminate()
        laboratory.stdout.read()  # until it has written its record
    beam, force = json.loads(site.stdout or sys.exit(site.stderr))
    largest = max(map(abs, beam))
    print(f"The beam goes {1e3 * largest:.3f} mm, {largest / YIELDS:.1f} times as far as its columns yield.")
    if folder:
        from matplotlib.figure import Figure

        axes = (figure := Figure(figsize=(6, 4.2), layout="constrained")).subplots()
        axes.plot([1e3 * x for x in beam], [1e-3 * f for f in force], ".-", color="#0072B2", ms=3, lw=0.8)
        axes.set(xlabel="displacement of the column's top (mm)", ylabel="force on the rig (kN)")
        figure.savefig(folder / "two_sites.png", dpi=110)
    return {"largest": largest, "steps": float(len(beam) - 1)}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--site"]:
        numerical_site(sys.argv[2], opensees_frame() if sys.argv[3] else python_frame())
    else:
        (target := Path(sys.argv[1] if len(sys.argv) > 1 else "out")).mkdir(parents=True, exist_ok=True)
        main(target)
