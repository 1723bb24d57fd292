"""A frame with a friction brace on one actuator under an earthquake: the figures of docs/structures.md.

Run: python docs/figures/structure_response.py [FOLDER]
"""

# ruff: noqa: INP001 - a script, no part of a package

import sys
from pathlib import Path

import bondloop as bl
from bondloop.bondgraph import C, Model, One, Port
from bondloop.hybrid import HybridTest
from bondloop.rehearsal import Run
from bondloop.structures import Frame2D, PointMass, Structure, elongation, field_form, in_coordinates

SECONDS = 12.0


def frame() -> Structure:
    """Return a frame of three storeys."""
    s = Structure("frame")
    for k in range(4):
        for side, x in (("a", 0.0), ("b", 6.0)):
            s.node(f"{side}{k}", x=x, y=3.2 * k)
    for k in range(1, 4):
        for side in "ab":
            column = Frame2D(
                f"{side}{k - 1}", f"{side}{k}", E="210 GPa", rho=7850, A="84 cm^2", I="8000 cm^4"
            )
            s.add(column, f"column_{side}[{k}]")
            s.add(PointMass(f"{side}{k}", m="9 t", Jz=900.0))
        girder = Frame2D(f"a{k}", f"b{k}", E="210 GPa", rho=7850, A="84 cm^2", I="23000 cm^4")
        s.add(girder, f"girder[{k}]")
    s.support("a0")
    s.support("b0")
    s.storeys("a0", "a1", "a2", "a3")
    s.rayleigh_from(0.02, "1.2 Hz", 0.02, "9 Hz")
    return s


def test() -> HybridTest:
    """Return the test: the brace of the first storey, a spring with dry friction, on one actuator."""
    s = frame()
    braced = in_coordinates(s.assemble(), {"brace": elongation(s, "a0", "b1")})
    whole = Model("building")
    whole.frame = field_form(braced.matrices, "frame")
    whole.brace = Model("brace")
    whole.brace.end, whole.brace.v = Port(), One()
    whole.brace.end >> whole.brace.v >> [C(stiffness="4 kN/mm"), bl.rigs.coulomb("30 kN", 0.02)]
    whole.frame.brace >> whole.brace.end
    numerical, physical = whole.cut("frame.brace >> brace.end")
    return HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, bl.transfer.MassSpringDamper(m=50, c=2e5, k=2e8, drive="position")),
        controller=bl.control.Direct(),
        ground={"ux": bl.signals.Earthquake("0.35 gn", duration=SECONDS, seed=4)},
        rate=4000,
        record=[
            "numerical.frame.*.displacement",
            "numerical.frame.storey[*].drift_ratio_x",
            "numerical.frame.base.shear_x",
            "energy.*",
        ],
    )


def figures(folder: Path) -> Run:
    """Write the figures."""
    run = test().run(SECONDS, every=8)
    run.plot.drifts(path=folder / "structure_drifts.png")
    run.plot.forces("M", path=folder / "structure_moments.png")
    run.plot.hysteresis(path=folder / "structure_hysteresis.png")
    run.plot.energies(path=folder / "structure_energies.png")
    return run


if __name__ == "__main__":
    figures(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
