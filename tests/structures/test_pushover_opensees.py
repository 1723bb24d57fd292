"""A frame with hinges, gravity and P-Δ pushed beside OpenSees.

The numbers are what benchmarks/opensees_pushover.py prints, which builds the same frame in OpenSeesPy 3.7.1.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bondloop.devices import Bilinear
from bondloop.structures import Frame2D, PointMass, Structure, attach, field_form, pushover, static

H, BAY, TO, STEPS = 3.5, 6.0, 0.25, 100
COLUMN = {"A": 0.012, "E": 210e9, "I": 2.5e-4}
BEAM = {"A": 0.0085, "E": 210e9, "I": 2.3e-4}
WEIGHT = 4e5
HINGE = Bilinear(yield_force=2.4e5, stiffness=4e8, hardening=0.02)
OPENSEES = {
    "Linear": {
        "factors": [
            47391.45924266383, 78201.15794446446, 91591.90024207652, 100190.40055235426, 108381.24428619618,
            116572.0880200381, 124762.93175388001, 132953.77548772196, 141144.61922156386, 149335.46295540576,
        ],
        "floor": 0.13001688265443295,
    },
    "PDelta": {
        "factors": [
            45747.51495288926, 74682.27688701074, 86156.5696868588, 93196.60272629236, 99662.76649545158,
            106128.97389063696, 112595.22442486917, 119061.51761115338, 125527.85296247927, 131994.2299918211,
        ],
        "floor": 0.13078665454091437,
    },
}  # fmt: skip


def frame(axial=None):
    """Two storeys and one bay; hinges at the feet and at the ends of the beams."""
    s = Structure("frame")
    for level in range(3):
        for line in "ab":
            s.node(f"{line}{level}", x=BAY * (line == "b"), y=H * level)
    hinges = {}
    for line in "ab":
        s.support(f"{line}0", "ux", "uy")
        hinges[f"foot_{line}"] = {f"{line}0.rz": 1.0}
        for level in (1, 2):
            s.add(Frame2D(f"{line}{level - 1}", f"{line}{level}", **COLUMN), f"column[{level}{line}]")
            s.add(PointMass(f"{line}{level}", m=1e3, Jz=1e3))
            s.node(f"end_{line}{level}", *s.nodes[f"{line}{level}"])
            s.tie(f"{line}{level}", f"end_{line}{level}", "ux", "uy")
            s.add(PointMass(f"end_{line}{level}", m=0.0, Jz=1e3, dofs=("rz",)))
            hinges[f"beam_{line}{level}"] = {f"end_{line}{level}.rz": 1.0, f"{line}{level}.rz": -1.0}
        s.add(PointMass(f"{line}0", m=0.0, Jz=1e3, dofs=("rz",)))
    for level in (1, 2):
        s.add(Frame2D(f"end_a{level}", f"end_b{level}", **BEAM), f"beam[{level}]")
    s.p_delta(axial or {}, "string")
    model = field_form(s.assemble(free=True), "frame")
    for name, way in hinges.items():
        attach(model, name, HINGE, way)
    return s, model


def pushed(transformation):
    weight = {f"{line}{level}.uy": -WEIGHT for line in "ab" for level in (1, 2)}
    s, model = frame()
    if transformation == "PDelta":
        axial = s.axial_forces(static(model, weight))
        assert axial["column[1a]"] == pytest.approx(-2 * WEIGHT)
        s, model = frame(axial)
    push = {"a1.ux": 1.0, "a2.ux": 2.0}
    return pushover(model, push, control="a2.ux", to=TO, steps=STEPS, gravity=weight)


@pytest.mark.parametrize("transformation", ["Linear", "PDelta"])
def test_the_curve_is_that_of_opensees(transformation):
    curve, expected = pushed(transformation), OPENSEES[transformation]
    # The axial forces stay those of gravity here; in OpenSees those of the push add to them.
    share = 1e-10 if transformation == "Linear" else 1e-4
    np.testing.assert_allclose(curve.load_factor[10::10], expected["factors"], rtol=share)
    assert curve["a1.ux"][-1] == pytest.approx(expected["floor"], rel=10 * share)
    assert len(curve.yielding) == 6
    assert list(np.diff([y.load_factor for y in curve.yielding]) >= 0) == [True] * 5


@pytest.mark.skipif(
    importlib.util.find_spec("openseespy") is None,
    reason="OpenSeesPy is not installed: the numbers above are those of its version 3.7.1",
)
def test_the_numbers_are_those_of_opensees():
    script = Path(__file__).parents[2] / "benchmarks" / "opensees_pushover.py"
    answer = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    line = next(text for text in answer.stdout.splitlines() if text.startswith("{"))
    printed = json.loads(line)
    for name, expected in OPENSEES.items():
        np.testing.assert_allclose(printed[name]["factors"], expected["factors"], rtol=1e-9)
