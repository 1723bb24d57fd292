"""The frame of `nonlinear_frame.py`: ten storeys, three bays, bilinear hinges at the ends of all beams."""

from __future__ import annotations

from bondloop.devices import Bilinear
from bondloop.structures import Frame2D, PointMass, Structure, StructureModel, attach, field_form

STOREYS, BAYS, BAY, HEIGHT = 10, 3, 6.0, 3.5
COLUMN = {"E": 210e9, "A": 0.0240, "I": 8.0e-4}
BEAM = {"E": 210e9, "A": 0.0115, "I": 3.4e-4}
MASS, INERTIA, END = 15e3, 6e3, 2e3
"""At each joint: kg and kg m²; the beam's own share of the rotary inertia, at each of its ends."""
HINGE = {"stiffness": 6.0e8, "yield_force": 1.6e5, "hardening": 0.03}
ALPHA, BETA = 0.25, 4e-4


def joint(line: int, level: int) -> str:
    """Return the name of a joint."""
    return f"j{line}_{level}"


def beam_ends() -> list[tuple[str, str, str]]:
    """Return hinges: name, joint, and the node of the beam's end."""
    ends = []
    for level in range(1, STOREYS + 1):
        for bay in range(BAYS):
            ends.append((f"hinge_l{bay}_{level}", joint(bay, level), f"l{bay}_{level}"))
            ends.append((f"hinge_r{bay}_{level}", joint(bay + 1, level), f"r{bay}_{level}"))
    return ends


def frame() -> Structure:
    """Return the elastic part: the beams' ends turn freely against the joints."""
    s = Structure("frame")
    for line in range(BAYS + 1):
        for level in range(STOREYS + 1):
            s.node(joint(line, level), x=BAY * line, y=HEIGHT * level)
            if level:
                s.add(Frame2D(joint(line, level - 1), joint(line, level), **COLUMN, rho=0))
                s.add(PointMass(joint(line, level), m=MASS, Jz=INERTIA, dofs=("ux", "uy", "rz")))
        s.support(joint(line, 0))
    for _, column, end in beam_ends():
        s.node(end, *s.nodes[column])
        s.tie(column, end, "ux", "uy")
        s.add(PointMass(end, m=0.0, Jz=END, dofs=("rz",)))
    for level in range(1, STOREYS + 1):
        for bay in range(BAYS):
            s.add(Frame2D(f"l{bay}_{level}", f"r{bay}_{level}", **BEAM, rho=0))
    s.rayleigh(ALPHA, BETA)
    s.storeys(*(joint(0, level) for level in range(STOREYS + 1)))
    return s


def yielding(name: str = "frame") -> StructureModel:
    """Return the frame with its hinges as a bond graph."""
    model = field_form(frame().assemble(), name)
    for hinge, column, end in beam_ends():
        attach(model, hinge, Bilinear(**HINGE), {f"{end}.rz": 1, f"{column}.rz": -1})
    return model
