"""Each fault of a structure is named with its element or node, all of them at once."""

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.structures import (
    Bar,
    Beam,
    Dashpot,
    Frame2D,
    Frame3D,
    PointMass,
    ShearBuilding,
    Spring,
    Structure,
    Timoshenko,
)

STEEL = {"E": 210e9, "A": 1e-3, "I": 2e-6, "rho": 7850.0}


def two_nodes():
    s = Structure("s")
    s.node("a")
    s.node("b", x=1.0)
    s.support("a")
    return s


@pytest.mark.parametrize("name", ["E", "A", "I"])
@pytest.mark.parametrize("value", [-1.0, 0.0])
def test_values_that_must_be_positive(name, value):
    s = two_nodes()
    s.add(Beam("a", "b", **{**STEEL, name: value}))
    with pytest.raises(InputError, match=rf"beam\[0\] \(a to b\): {name} = .* must be positive"):
        s.assemble()


@pytest.mark.parametrize(
    ("element", "message"),
    [
        (Beam("a", "b", **{**STEEL, "rho": -1}), r"beam\[0\].*rho = -1 must not be negative"),
        (Beam("a", "b", **{**STEEL, "rho": np.nan}), r"beam\[0\].*rho = nan is not finite"),
        (Beam("a", "b", **{**STEEL, "E": None}), "E is None; expected a number"),
        (Timoshenko("a", "b", **STEEL, G=-1.0), "G = -1 must be positive"),
        (Frame2D("a", "b", **STEEL, beta=-1), "beta = -1 must not be negative"),
        (Dashpot("a", "b", c=-1.0), r"dashpot\[0\].*c = -1 must not be negative"),
        (PointMass("b", m=-1.0), r"mass\[0\].*m = -1 must not be negative"),
        (Beam("a", "a", **STEEL), r"beam\[0\] \(a to a\): has no length"),
        (Spring("b", "b", k=1.0), "has no length.*give dof="),
        (Spring("b", k=1.0), "needs a direction"),
        (Spring("b", k=1.0, dof="uq"), "unknown degree of freedom 'uq'"),
        (Beam("a", "c", **STEEL), r"beam\[0\]: unknown node 'c'"),
        (Beam("a", "b", **STEEL, release_a=("ry",)), "cannot release 'ry'"),
    ],
)
def test_faults_of_elements(element, message):
    s = two_nodes()
    s.add(element)
    with pytest.raises(InputError, match=message):
        s.assemble()


def test_faults_of_space_members():
    values = {"E": 2e11, "G": 8e10, "A": 1e-3, "Iy": 1e-6, "Iz": 1e-6, "J": 1e-6}
    for more, message in (
        ({"reference": (1.0, 0, 0)}, "not along the member"),
        ({"release_a": ("ux",)}, "cannot release 'ux'"),
        ({"release_a": ("rx",), "release_b": ("rx",)}, "release torsion"),
    ):
        s = two_nodes()
        s.add(Frame3D("a", "b", **values, **more))
        with pytest.raises(InputError, match=message):
            s.assemble()


def test_a_plane_member_out_of_its_plane():
    s = two_nodes()
    s.node("c", z=1.0)
    s.add(Frame2D("a", "c", **STEEL))
    with pytest.raises(InputError, match=r"leaves the xy-plane.*Frame3D"):
        s.assemble()


def test_all_faults_are_reported_at_once():
    s = two_nodes()
    s.add(Beam("a", "b", E=-1.0, A=1e-3, I=2e-6, rho=-5.0))
    s.add(Bar("a", "missing", E=1.0, A=1.0), name="tie")
    s.support("nowhere")
    s.support("b", "uq")
    s.constrain({"b.uy": 1.0, "gone.uy": -1.0})
    s.rigid_floor(master="lost", nodes=["b"])
    with pytest.raises(InputError) as caught:
        s.assemble()
    text = str(caught.value)
    for part in (
        "structure 's': 7 faults",
        "beam[0] (a to b): E = -1 must be positive",
        "beam[0] (a to b): rho = -5 must not be negative",
        "tie: unknown node 'missing'",
        "support: unknown node 'nowhere'",
        "support of 'b': unknown degree of freedom 'uq'",
        "constraint +1 b.uy -1 gone.uy = 0: unknown node 'gone'",
        "rigid floor of 'lost': unknown node 'lost'",
    ):
        assert part in text


def test_names_used_twice():
    s = two_nodes()
    with pytest.raises(InputError, match="node 'a' exists already"):
        s.node("a", x=3.0)
    s.add(Beam("a", "b", **STEEL), name="girder")
    with pytest.raises(InputError, match="element 'girder' exists already"):
        s.add(Beam("a", "b", **STEEL), name="girder")


@pytest.mark.parametrize(
    "values",
    [
        {**STEEL, "I": 2e6},  # mm⁴ taken for m⁴
        {**STEEL, "rho": 7.85e-9},  # t/mm³ taken for kg/m³
    ],
)
def test_units_that_cannot_be_right(values):
    s = two_nodes()
    s.add(Beam("a", "b", **values))
    with pytest.raises(InputError, match=r"beam\[0\] \(a to b\).*would vibrate at .* Hz; check the units"):
        s.assemble()
    s.highest_frequency = 1e12
    s.assemble()


def test_a_fine_mesh_is_no_fault_of_units():
    """Elements of 1 mm vibrate above 100 MHz by themselves; what counts is the member."""
    s = two_nodes()
    s.line("a", "b", n=1000, element=Frame2D("a", "b", **STEEL))
    assert len(s.assemble()) == 3000


def test_mechanisms_are_named():
    s = Structure("hinged")
    for i in range(4):
        s.node(f"n{i}", x=float(i))
    s.add(Frame2D("n0", "n1", **STEEL))
    s.add(Frame2D("n1", "n2", **STEEL, release_a=("rz",), release_b=("rz",)))
    s.add(Frame2D("n2", "n3", **STEEL))
    s.support("n0", "ux", "uy")
    s.support("n3")
    with pytest.raises(InputError, match=r"structure 'hinged' is a mechanism: 1 motion.*n1\.uy") as caught:
        s.assemble()
    assert "n2" not in str(caught.value)


def test_unsupported_structures_are_mechanisms_unless_meant():
    s = Structure("plane")
    s.node("a")
    s.node("b", x=1.0)
    s.line("a", "b", n=100, element=Frame2D("a", "b", **STEEL))
    with pytest.raises(InputError, match="3 motion"):
        s.assemble()
    assert len(s.assemble(free=True)) == 303


def test_a_large_mechanism_is_found_by_inverse_iteration():
    s = two_nodes()
    s.line("a", "b", n=200, element=Beam("a", "b", **STEEL))
    s.node("loose", x=5.0)
    s.node("looser", x=6.0)
    s.add(Bar("loose", "looser", E=1e9, A=1e-4, rho=1.0))
    with pytest.raises(InputError, match=r"1 motion.*loose"):
        s.assemble()


def test_a_mass_or_dashpot_alone_moves_freely():
    s = Structure("alone")
    s.node("b")
    s.add(PointMass("b", m=1.0, dofs=("ux",)))
    with pytest.raises(InputError, match=r"mechanism.*b\.ux"):
        s.assemble()
    assert s.assemble(free=True).dofs == ("b.ux",)


def test_a_mass_on_a_node_without_degrees_of_freedom():
    s = two_nodes()
    s.node("c", y=1.0)
    s.add(Beam("a", "b", **STEEL))
    s.add(PointMass("c", m=1.0))
    with pytest.raises(InputError, match=r"mass\[0\]: node 'c' has no degree of freedom.*dofs="):
        s.assemble()


def test_loads_and_motions_of_what_does_not_exist():
    s = two_nodes()
    s.add(Beam("a", "b", **STEEL))
    with pytest.raises(InputError, match=r"load on unknown degree of freedom 'b\.ux'"):
        s.load_vector({"b.ux": 1.0})
    with pytest.raises(InputError, match=r"'a\.uy', which a support holds"):
        s.load_vector({"a.uy": 1.0})
    with pytest.raises(InputError, match="unknown direction 'x'"):
        s.influence("x")
    with pytest.raises(InputError, match=r"unknown degree of freedom 'b\.ux'"):
        s.prescribed("b.ux")
    with pytest.raises(InputError, match="unknown element 'bean'; did you mean"):
        s.distributed("bean", fy=1.0)
    with pytest.raises(InputError, match="nothing along its axis"):
        s.distributed("beam", fx=1.0)
    with pytest.raises(InputError, match="'consistent' or 'lumped'"):
        s.assemble("diagonal")


def test_odd_constraints_floors_and_lines():
    s = two_nodes()
    with pytest.raises(InputError, match="not a degree of freedom"):
        s.constrain({"a": 1.0})
    with pytest.raises(InputError, match="at least one"):
        s.constrain({"a.ux": 0.0})
    with pytest.raises(InputError, match="plane 'zz'"):
        s.rigid_floor(master="a", nodes=["b"], plane="zz")
    with pytest.raises(InputError, match="unknown node 'c'"):
        s.line("a", "c", n=2, element=Beam("a", "b", **STEEL))
    with pytest.raises(InputError, match="at least one element"):
        s.line("a", "b", n=0, element=Beam("a", "b", **STEEL))
    with pytest.raises(InputError, match="has no elements"):
        s.assemble()
    with pytest.raises(InputError, match="not finite"):
        s.node("d", x=float("inf"))
    with pytest.raises(InputError, match="unit"):
        Beam("a", "b", E="210 GPaa", A=1.0, I=1.0)


def test_shear_building_faults_at_once():
    with pytest.raises(InputError) as caught:
        ShearBuilding([1.0, -2.0], [1.0, 2.0, 0.0], [-1.0, 0.0])
    text = str(caught.value)
    assert "2 masses but 3 stiffnesses" in text
    assert "storey 2: masses -2 kg" in text
    assert "storey 3: stiffnesses 0 N/m" in text
    assert "storey 1: dampings -1 N s/m" in text


def test_a_building_on_a_bearing_is_told_how():
    with pytest.raises(
        InputError, match=r"storey 1: stiffnesses 0 N/m must be positive; .* on a bearing .*1 N/m"
    ):
        ShearBuilding(masses=[3e4, 2e4], stiffnesses=[0.0, 2e7])
    with pytest.raises(InputError, match=r"storey 2: stiffnesses 0 N/m must be positive$"):
        ShearBuilding(masses=[3e4, 2e4], stiffnesses=[2e7, 0.0])


def test_degrees_of_freedom_of_a_support_in_a_list():
    s = Structure("frame")
    s.node("a", x=0.0)
    with pytest.raises(
        InputError, match=r"one by one, support\('a', 'ux', 'uy'\); found \(\['ux', 'uy'\],\)"
    ):
        s.support("a", ["ux", "uy"])
