"""A vibration absorber on a steel platform, beside Den Hartog's promise.

A compressor shakes the steel platform that it stands on. An absorber of 4 % of the platform's moving mass
was tuned after Den Hartog, and the maker sent a prototype. It stands on a shaking table; the platform, a
frame in space, is in the computer, and the compressor runs up slowly through its resonance.
What comes out: the largest amplification, beside the √(1 + 2/μ) of Den Hartog's book.

Run it: python examples/stories/absorber_frame.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import bondloop as bl
from bondloop.bondgraph import Model, bond
from bondloop.devices import TunedMass
from bondloop.structures import Frame3D, Matrices, PointMass, Structure, craig_bampton, field_form, modes

HEIGHT, BAY, MACHINE, RATIO, PUSH = 3.0, 4.0, 8000.0, 0.04, 400.0
STEEL = {"E": "210 GPa", "G": "81 GPa", "rho": 7850.0}
COLUMN = {"A": "78 cm^2", "Iy": "5700 cm^4", "Iz": "5700 cm^4", "J": "60 cm^4"}
BEAM = {"A": "84 cm^2", "Iy": "23000 cm^4", "Iz": "600 cm^4", "J": "50 cm^4"}
DECK, SWEEP = "platform.deck.ux", (0.75, 1.2)
"""Where the absorber stands; where the compressor starts and ends, over the resonance."""


def platform() -> Matrices:
    """Return the frame in space: four columns, four beams, a stiff deck with the compressor on it."""
    frame = Structure("platform")
    corners = [(0.0, 0.0), (BAY, 0.0), (BAY, BAY), (0.0, BAY)]
    for k, (x, y) in enumerate(corners):
        frame.node(f"foot{k}", x=x, y=y, z=0.0)
        frame.node(f"top{k}", x=x, y=y, z=HEIGHT)
        frame.support(f"foot{k}")
    frame.node("deck", x=BAY / 2, y=BAY / 2, z=HEIGHT)
    for k in range(4):
        frame.add(Frame3D(f"foot{k}", f"top{k}", **STEEL, **COLUMN))
        frame.add(Frame3D(f"top{k}", f"top{(k + 1) % 4}", **STEEL, **BEAM))
    frame.add(PointMass("deck", m=MACHINE, Jz=MACHINE * BAY**2 / 6, dofs=("ux", "uy", "rz")))
    frame.rigid_floor(master="deck", nodes=[f"top{k}" for k in range(4)], plane="xy")
    return frame.assemble()


def first_mode(matrices: Matrices) -> tuple[float, float, float]:
    """Return frequency in Hz, moving mass in kg and static stiffness in N/m of the deck along x."""
    basis = modes(matrices, 6)
    row = list(matrices.dofs).index("deck.ux")
    frequency = float(basis.frequencies[int(np.argmax(np.abs(basis.shapes[row])))])
    # The platform is square: it sways as fast along y, and a solver may turn the two modes as it likes.
    alike = np.isclose(basis.frequencies, frequency, rtol=1e-6)
    mass = 1 / float(np.sum(basis.shapes[row, alike] ** 2))
    return frequency, mass, mass * (2 * np.pi * frequency) ** 2


def test(matrices: Matrices) -> bl.HybridTest:
    """Cut between deck and absorber; the compressor sweeps slowly from 0.75 to 1.2 of the resonance."""
    frequency, mass, _ = first_mode(matrices)
    whole = Model("platform_with_absorber")
    small = craig_bampton(matrices, interface=["deck.ux"], count=4)
    whole.platform = field_form(small.matrices, "platform", forces={"deck.ux": "compressor"})
    whole.absorber = TunedMass.tuned(RATIO * mass, frequency, RATIO).element()
    bond(whole.platform.deck.ux, whole.absorber)
    numerical, physical = whole.cut("platform.deck.ux >> absorber")
    table = bl.transfer.MassSpringDamper(m="300 kg", c="80 kN s/m", k="8 MN/m", drive="position")
    sweep = bl.signals.Sweep(PUSH, SWEEP[0] * frequency, SWEEP[1] * frequency, 120.0)
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, table),
        controller=bl.control.VirtualJunction(table),
        excitation={"platform.compressor": sweep},
        rate=2000,
        reference=(whole, [f"{DECK}.flow"]),
        limits=bl.safety.Limits(displacement="20 mm", force="5 kN"),
        name="absorber_frame",
    )


def main(folder: Path | None = None) -> dict[str, float]:
    """Check, rehearse, answer."""
    matrices = platform()
    frequency, mass, stiffness = first_mode(matrices)
    print(
        f"{len(matrices)} degrees of freedom; the deck sways at {frequency:.2f} Hz, with {mass:.0f} kg moving"
    )
    hybrid = test(matrices)
    check = hybrid.check(20.0)
    print(check.verdict)
    run = hybrid.run(120.0)
    print(run.verdict)
    found = float(np.abs(run["actual.displacement"]).max() * stiffness / PUSH)
    promised = (1 + 2 / RATIO) ** 0.5
    print(f"The deck moves {found:.2f} times as far as under a static force; Den Hartog: {promised:.2f}")
    if folder:
        share = SWEEP[0] + (SWEEP[1] - SWEEP[0]) * run.time / run.time[-1]
        axes = (figure := Figure(figsize=(7, 4.2), layout="constrained")).subplots()
        axes.plot(frequency * share, run["actual.displacement"] * stiffness / PUSH, color="#0072B2", lw=0.4)
        axes.axhline(promised, color="#D55E00", label="Den Hartog's two peaks, √(1 + 2/μ)")
        axes.set(xlabel="frequency of the compressor (Hz)", ylabel="deck, over its static displacement")
        axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
        figure.savefig(folder / "absorber_frame.png", dpi=110)
    return {"amplification": found, "frequency": frequency, "passed": float(check.passed)}


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    target.mkdir(parents=True, exist_ok=True)
    main(target)
