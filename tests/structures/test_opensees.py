"""Models that OpenSees runs: its matrices are those of bondloop's own elements, and what is wrong is told."""

import sys
from pathlib import Path

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.structures import Frame2D, PointMass, Structure, modes, read_opensees

MODELS = Path(__file__).parent / "models"


@pytest.fixture
def read(tmp_path, opensees):
    def write(text, ending=".tcl", **options):
        path = tmp_path / f"model{ending}"
        path.write_text(text)
        return read_opensees(path, python=opensees, **options)

    return write


# Four frequencies in Hz of the two models as OpenSeesPy 3.7.1 solves for them, and bondloop's own elements.
FREQUENCIES = {
    "portal": [5.112458098082169, 19.27372415967418, 44.915425789727344, 73.1058592627022],
    "building": [5.49992485110783, 6.623569382125102, 8.486599962165855, 112.8994692225472],
}


@pytest.mark.parametrize("name", FREQUENCIES)
def test_frequencies(opensees, name):
    m = read_opensees(MODELS / f"{name}.tcl", python=opensees)
    assert modes(m, 4).frequencies == pytest.approx(FREQUENCIES[name], rel=1e-10)


def test_what_follows_a_constraint_is_eliminated(opensees):
    portal = read_opensees(MODELS / "portal.tcl", python=opensees).dofs
    assert "n3.ux" in portal
    assert not {"n4.ux", "n1.ux", "n20.ux"} & set(portal)  # tied to n3, held, held
    building = read_opensees(MODELS / "building.tcl", python=opensees).dofs
    assert set(building) == {f"n{n}.{d}" for n in (11, 12, 13, 14) for d in ("uz", "rx", "ry")} | {
        "n100.ux", "n100.uy", "n100.rz",
    }  # fmt: skip


def test_units_are_those_that_are_said(read):
    """A cantilever of 10 ft, E = 29000 ksi, I = 100 in⁴: 3EI/L³ of its tip, by hand in inches."""
    m = read(
        "model basic -ndm 2 -ndf 3\nnode 1 0 0\nnode 2 120 0\nfix 1 1 1 1\ngeomTransf Linear 1\n"
        "element elasticBeamColumn 1 1 2 10.0 29000.0 100.0 1 -mass 1.0e-4\nrayleigh 0.5 0.01 0 0\n",
        length="in",
        force="4.4482216152605 kN",
    )
    u = np.linalg.solve(m.K.toarray(), [0.0, 2 * 4448.2216152605, 0.0])
    assert u[m.index("n2.uy")] == pytest.approx(0.0254 * 2 * 120**3 / (3 * 29000 * 100), rel=1e-12)
    assert u[m.index("n2.rz")] == pytest.approx(2 * 120**2 / (2 * 29000 * 100), rel=1e-12)
    mass = 1e-4 * 120 / 2 * 4448.2216152605 / 0.0254  # kip s²/in in kg, half of it at the tip
    assert m.M[m.index("n2.ux"), m.index("n2.ux")] == pytest.approx(mass, rel=1e-12)
    assert m.C.toarray() == pytest.approx(0.5 * m.M.toarray() + 0.01 * m.K.toarray())


MAST_TCL = """
model basic -ndm 2 -ndf 3
proc storey {i h} {
    node $i 0.0 [expr {$i * $h}]
    if {$i > 0} { element elasticBeamColumn $i [expr {$i - 1}] $i 0.01 2e11 1e-4 1; mass $i 900 900 0 }
}
geomTransf PDelta 1
foreach i [list 0 1 2 3] { storey $i 3.0 }
fix 0 1 1 1
pattern Plain 1 SERIES { for {set i 1} {$i <= 3} {incr i} { load $i 0.0 -2.0e5 0.0 } }
pattern UniformExcitation 2 1 -accel "Series -dt 0.02 -values {0 0 0} -factor 1.0"
recorder Node -file out.txt -node 3 -dof 1 disp
constraints Plain; numberer RCM; system BandGeneral; test NormDispIncr 1e-8 10; algorithm Newton
integrator LoadControl 0.1; analysis Static
if {[analyze 10] != 0} { error "no equilibrium" }
loadConst -time 0.0
wipe
"""
MAST_PY = """
import openseespy.opensees as ops
from pathlib import Path
ops.model("basic", "-ndm", 2, "-ndf", 3)
ops.geomTransf("PDelta", 1)
for i in range(4):
    ops.node(i, 0.0, 3.0 * i)
    if i:
        ops.element("elasticBeamColumn", i, i - 1, i, 0.01, 2e11, 1e-4, 1)
        ops.mass(i, 900.0, 900.0, 0.0)
ops.fix(0, 1, 1, 1)
ops.timeSeries("Linear", 1)
ops.pattern("Plain", 1, 1)
for i in (1, 2, 3):
    ops.load(i, 0.0, -2.0e5, 0.0)
ops.integrator("LoadControl", 0.1)
ops.analysis("Static")
ops.analyze(10)
ops.wipe()
raise SystemExit
"""


@pytest.mark.parametrize(
    ("text", "ending", "weight"),
    [
        (MAST_TCL.replace("SERIES", "Linear"), ".tcl", 2e5),
        (MAST_TCL.replace("SERIES", '"Linear -factor 0.5"'), ".tcl", 1e5),
        (MAST_TCL.replace("SERIES", "Linear").replace("wipe", "exit\nnonsense"), ".tcl", 2e5),
        (MAST_PY, ".py", 2e5),
    ],
)
def test_the_whole_script_runs_and_gravity_softens_the_stiffness(read, tmp_path, text, ending, weight):
    """P-Δ as of bondloop's own members, with procedures, analyses and a record that is left alone."""
    m = read(text, ending)
    s = Structure()
    for i in range(4):
        s.node(f"n{i}", y=3.0 * i)
    for i in (1, 2, 3):
        s.add(Frame2D(f"n{i - 1}", f"n{i}", E=2e11, A=0.01, I=1e-4), f"column[{i}]")
        s.add(PointMass(f"n{i}", m=900.0, dofs=("ux", "uy")))
    s.support("n0")
    s.p_delta({f"column[{i}]": -weight * (4 - i) for i in (1, 2, 3)}, shape="string")
    own = s.assemble()
    order = m.indices(own.dofs)
    assert m.K.toarray()[np.ix_(order, order)] == pytest.approx(own.K.toarray(), rel=1e-9, abs=1e-3)
    assert m.M.toarray()[np.ix_(order, order)] == pytest.approx(own.M.toarray(), rel=1e-12)
    assert not (tmp_path / "out.txt").exists()


def test_other_scripts_are_found_beside_it(read, tmp_path):
    (tmp_path / "nodes.tcl").write_text("node 1 0.0; node 2 2.0\n")
    m = read(
        "model basic -ndm 1 -ndf 1\nsource nodes.tcl\nfix 1 1\nuniaxialMaterial Elastic 1 210e9\n"
        "element truss 1 1 2 1e-4 1\n"
    )
    assert m.dofs == ("n2.ux",)
    assert m.K.toarray() == pytest.approx(np.array([[210e9 * 1e-4 / 2]]))


HEAD = "model basic -ndm 2 -ndf 3\nnode 1 0 0\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            HEAD + "element truss 1 1 2 1.0 9\n",
            ["element truss 1 1 2 1.0 9", "line 3", "none found with tag: 9"],
        ),
        (HEAD + "\nnonsense 1\n", ['invalid command name "nonsense"', "line 4"]),
        (HEAD + "set x [expr {$y + 1}]\n", ['can\'t read "y"', "line 3"]),
        ("puts hello\n", ["defines no node"]),
        ("while 1 {}\n", ["has not ended after 2 s", "timeout"]),
        (HEAD + "model basic -ndm 3 -ndf 4\nnode 2 0 0 0\n", ["4 degrees of freedom in 3 dimensions"]),
        (HEAD + "fix 1 1 1 1\n", ["its supports hold every degree of freedom"]),
    ],
)
def test_what_opensees_refuses_is_told_with_its_line(read, text, words):
    with pytest.raises(InputError) as refused:
        read(text, timeout="2 s")
    assert all(word in str(refused.value) for word in words), refused.value


def test_without_opensees(tmp_path):
    model = tmp_path / "model.tcl"
    with pytest.raises(InputError, match="there is no file"):
        read_opensees(model)
    model.write_text(HEAD)
    with pytest.raises(InputError, match="quantity in m"):
        read_opensees(model, length="s")
    with pytest.raises(InputError, match="cannot run /nowhere/python"):
        read_opensees(model, python="/nowhere/python")
    lacking = tmp_path / "python"  # a Python without any package
    lacking.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    lacking.chmod(0o755)
    with pytest.raises(InputError, match=r"pip install 'bondloop\[opensees\]'"):
        read_opensees(model, python=lacking)
