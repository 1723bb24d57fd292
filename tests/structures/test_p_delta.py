"""P-Δ: buckling loads, frequencies and drifts under axial forces, against closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.errors import InputError, SolveError
from bondloop.structures import (
    Bar,
    Beam,
    Frame2D,
    Frame3D,
    PointMass,
    ShearBuilding,
    Spring,
    Structure,
    modes,
    static,
)
from bondloop.structures.p_delta import bending_geometric
from bondloop.structures.structure import structure_from_tables

E, A, I, RHO, L = 210e9, 6e-3, 2e-5, 7850.0, 5.0
EULER = np.pi**2 * E * I / L**2


def column(ends, n=8, force=-1e3, shape="consistent", **more):
    """A column of n elements: what is held at its foot and at its head."""
    s = Structure("column")
    s.node("foot")
    s.node("head", y=L)
    s.line("foot", "head", n=n, element=Frame2D("foot", "head", E=E, A=A, I=I, rho=RHO, **more), name="part")
    for node, dofs in zip(("foot", "head"), ends, strict=True):
        if dofs:
            s.support(node, *dofs)
    s.p_delta({"part": force}, shape)
    return s


CASES = {
    "pinned": ((("ux", "uy"), ("ux",)), 1.0),
    "cantilever": ((("ux", "uy", "rz"), ()), 2.0),
    "fixed": ((("ux", "uy", "rz"), ("ux", "rz")), 0.5),
    "sways": ((("ux", "uy", "rz"), ("rz",)), 1.0),
    "fixed and pinned": ((("ux", "uy", "rz"), ("ux",)), np.pi / 4.493409457909064),  # tan x = x
}


@pytest.mark.parametrize("case", CASES)
def test_buckling_loads_are_eulers(case):
    ends, factor = CASES[case]
    found = column(ends).buckling(2)
    assert found.factors[0] * 1e3 == pytest.approx(EULER / factor**2, rel=1e-3)
    assert np.abs(found.shapes).max() == 1.0
    errors = [column(ends, n).buckling().factors[0] * 1e3 / (EULER / factor**2) - 1 for n in (4, 8)]
    assert 0 < errors[1] < errors[0] / 12  # from above, of fourth order


def test_shear_lowers_the_buckling_load_as_engesser_has_it():
    G, kappa = 1e9, 0.5
    expected = EULER / (1 + EULER / (kappa * G * A))
    errors = []
    for n in (8, 16):
        s = column(CASES["pinned"][0], n, G=G, kappa=kappa)
        errors.append(abs(s.buckling().factors[0] * 1e3 / expected - 1))
    assert EULER / (kappa * G * A) > 0.05
    assert errors[1] < errors[0] / 3
    assert errors[1] < 1e-3


def test_released_ends_are_pins():
    s = Structure("strut")
    s.node("a")
    s.node("b", x=L)
    strut = Frame2D("a", "b", E=E, A=A, I=I, release_a=("rz",), release_b=("rz",))
    s.line("a", "b", n=8, element=strut, name="strut")
    s.support("a")
    s.support("b", "uy", "rz")
    s.p_delta({"strut": "-1 kN"})
    assert s.buckling().factors[0] * 1e3 == pytest.approx(EULER, rel=1e-4)


def test_a_mast_in_space_buckles_about_its_weak_axis():
    s = Structure("mast")
    s.node("foot")
    s.node("head", z=L)
    mast = Frame3D("foot", "head", E=E, G=80e9, A=A, Iy=I, Iz=3 * I, J=1e-6, rho=RHO)
    s.line("foot", "head", n=6, element=mast, name="mast")
    s.support("foot")
    s.p_delta({"mast": -1e3})
    found = s.buckling(2).factors * 1e3
    np.testing.assert_allclose(found, [EULER / 4, 3 * EULER / 4], rtol=1e-4)


@settings(max_examples=10, deadline=None)
@given(share=st.floats(-0.9, 3.0), n=st.integers(6, 12))
def test_frequencies_of_a_beam_under_an_axial_force(share, n):
    """ω₁ = (π/L)² √(EI/ρA) √(1 + N/P): none is left at the buckling load."""
    s = Structure("beam")
    s.node("a")
    s.node("b", x=L)
    s.line("a", "b", n=n, element=Beam("a", "b", E=E, A=A, I=I, rho=RHO), name="beam")
    s.support("a", "uy")
    s.support("b", "uy")
    s.p_delta({"beam": share * EULER})
    expected = (np.pi / L) ** 2 * np.sqrt(E * I / (RHO * A)) * np.sqrt(1 + share) / (2 * np.pi)
    assert modes(s.assemble(), 1).frequencies[0] == pytest.approx(expected, rel=1e-3)


def test_a_taut_line_of_bars_sounds_as_a_string():
    n, tension = 40, 2e4
    s = Structure("string")
    s.node("a")
    s.node("b", x=L)
    s.line("a", "b", n=n, element=Bar("a", "b", E=E, A=1e-5, rho=RHO), name="wire")
    for node in s.nodes:
        s.add(PointMass(node, m=1e-9, dofs=("ux", "uy")))
        if node in ("a", "b"):
            s.support(node)
    s.p_delta({"wire": tension})
    expected = np.sqrt(tension / (RHO * 1e-5)) / (2 * L)
    assert modes(s.assemble(), 1).frequencies[0] == pytest.approx(expected, rel=1e-3)


def test_strings_lean_and_shapes_bend():
    """A cantilever of one element: 3EI/L³ becomes less by N/L, or by 6/5 of it and more."""
    ends = CASES["cantilever"][0]
    assert column(ends, 1, shape="string").buckling().factors[0] * 1e3 == pytest.approx(3 * E * I / L**2)
    exact = np.pi**2 * E * I / (4 * L**2)
    assert column(ends, 1).buckling().factors[0] * 1e3 == pytest.approx(exact, rel=0.01)


@settings(max_examples=20, deadline=None)
@given(N=st.floats(-1e5, 1e5), length=st.floats(0.1, 20), phi=st.floats(0, 5), string=st.booleans())
def test_a_member_that_turns_as_a_whole_needs_a_couple_alone(N, length, phi, string):
    G = bending_geometric(*(np.array([x]) for x in (N, length, phi)), string=string)[0]
    turned = np.array([0.0, 0.0 if string else 1.0, length, 0.0 if string else 1.0])
    np.testing.assert_allclose(G @ turned, [-N, 0, N, 0], atol=1e-9 * (abs(N) + 1) * max(1, length))
    np.testing.assert_allclose(G @ [1.0, 0, 1, 0], 0, atol=1e-9 * (abs(N) + 1) / min(1, length))


@settings(max_examples=20, deadline=None)
@given(theta=st.floats(0, 0.95), k=st.floats(1e3, 1e8), h=st.floats(2, 6))
def test_drift_of_a_storey_grows_by_one_over_one_minus_theta(theta, k, h):
    plain = ShearBuilding([1e3], [k])
    leaning = ShearBuilding([1e3], [k], heights=[h], weights=[theta * k * h])
    assert leaning.stability_coefficients()[0] == pytest.approx(theta)
    drifts = [static(b.assemble(), {"floor[1].ux": 1.0})[0] for b in (plain, leaning)]
    assert drifts[1] / drifts[0] == pytest.approx(1 / (1 - theta))


def test_storeys_carry_what_is_above_them():
    b = ShearBuilding([1e3, 2e3], [1e6, 1e6], heights=["4 m", 3.0])
    g = 9.80665
    np.testing.assert_allclose(b.stability_coefficients(), [3e3 * g / 4e6, 2e3 * g / 3e6])
    assert ShearBuilding([1.0], [1.0]).stability_coefficients().tolist() == [0.0]


def test_a_frame_of_stiff_girders_is_a_storey_that_leans():
    """Sideways 12EI/h³ a column, less 6/5 P/h of its gravity load, found from the weight itself."""
    s = Structure("storey")
    for side, x in (("a", 0.0), ("b", 6.0)):
        s.node(f"{side}0", x=x)
        s.node(f"{side}1", x=x, y=3.0)
        s.add(Frame2D(f"{side}0", f"{side}1", E=E, A=10.0, I=I), f"column_{side}")
        s.support(f"{side}0")
    s.add(Frame2D("a1", "b1", E=E, A=10.0, I=10.0), "girder")
    dead = s.load_vector({"a1.uy": -2e5, "b1.uy": -2e5})
    before = static(s.assemble(), s.load_vector({"a1.ux": 1e3}))
    axial = s.axial_forces(static(s.assemble(), dead))
    assert axial["column_a"] == pytest.approx(-2e5)
    s.p_delta(axial)
    after = static(s.assemble(), s.load_vector({"a1.ux": 1e3}))
    at = s.assemble().index("a1.ux")
    assert 1e3 / before[at] == pytest.approx(24 * E * I / 27, rel=1e-4)
    assert 1e3 / after[at] == pytest.approx(24 * E * I / 27 - 2 * 1.2 * 2e5 / 3, rel=1e-4)
    tables = {k: v for k, v in s.describe().items() if k not in ("structure", "elements")}
    again = structure_from_tables(**tables, elements=s.elements)
    assert abs(again.assemble().K - s.assemble().K).max() == 0
    s.p_delta({})
    np.testing.assert_allclose(static(s.assemble(), s.load_vector({"a1.ux": 1e3})), before)


@pytest.mark.parametrize("warm", [("ab",), ("ab", "bc"), ("all",)])
@pytest.mark.parametrize("kind", [Bar, Frame2D])
def test_a_warm_member_between_walls_is_pressed(warm, kind):
    """The free strain is taken off: half of EA α ΔT where one of two members is warm, else all of it."""
    s = Structure("line")
    for name, x in zip("abc", (0.0, 2.0, 4.0), strict=True):
        s.node(name, x=x)
    more = {} if kind is Bar else {"I": I}
    names = ("all[1]", "all[2]") if warm == ("all",) else ("ab", "bc")
    for (i, j), name in zip(("ab", "bc"), names, strict=True):
        s.add(kind(i, j, E=E, A=A, **more), name)
    for end in "ac":
        s.support(end)
    if kind is Bar:
        s.support("b", "uy")
    u = static(s.assemble(), 0.6 * s.thermal(*warm, rise=50, expansion=12e-6))
    axial = s.axial_forces(u, dict.fromkeys(warm, 0.6 * 50 * 12e-6))
    expected = -E * A * 0.6 * 50 * 12e-6 * (0.5 if warm == ("ab",) else 1.0)
    assert axial == pytest.approx(dict.fromkeys(names, expected))


def test_large_structures_take_another_solver():
    ends, factor = CASES["cantilever"]
    found = column(ends, 200).buckling(2).factors * 1e3
    np.testing.assert_allclose(found, [EULER / factor**2, 9 * EULER / factor**2], rtol=1e-6)
    column(ends, 200, -0.99 * EULER / 4).assemble()
    with pytest.raises(InputError, match=r"load factor is 0\.99"):
        column(ends, 200, -1.01 * EULER / 4).assemble()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s.p_delta({"parts": 1.0}), "unknown element 'parts'"),
        (lambda s: s.p_delta({"part": np.inf}), "finite"),
        (lambda s: s.p_delta({"part": "3 kg"}), "kg"),
        (lambda s: s.p_delta({"spring": 1.0}), "Spring, which has no axis"),
        (lambda s: s.p_delta({"part": 1.0}, "curved"), "'consistent' or 'string'"),
        (lambda s: s.axial_forces(np.zeros(3)), "24 displacements"),
        (lambda s: s.axial_forces(np.zeros(24), {"parts": 1e-4}), "unknown element 'parts'"),
        (lambda s: s.axial_forces(np.zeros(24), {"part": np.inf}), "finite strain"),
        (lambda s: s.axial_forces(np.zeros(24), {"spring": 1e-4}), "spring does not expand"),
        (lambda s: s.buckling(0), "from 1 to 24"),
        (lambda s: (s.p_delta({}), s.buckling()), "needs axial forces"),
        (lambda s: (s.p_delta({"part": -1e9}), s.assemble()), "buckles under its axial forces"),
        (lambda _s: ShearBuilding([1.0], [1.0], heights=[3.0], weights=[3.0]), "falls over"),
        (lambda _s: ShearBuilding([1.0], [1.0], weights=[3.0]), "no heights"),
        (lambda _s: ShearBuilding([1.0], [1.0], heights=[-3.0]), "must be positive"),
    ],
)
def test_bad_input(change, words):
    s = column(CASES["cantilever"][0])
    s.add(Spring("head", k=1.0, dof="ux"), "spring")
    with pytest.raises(InputError, match=words):
        change(s)


def test_a_mechanism_has_no_buckling_load():
    s = column(((), ()))
    with pytest.raises((InputError, SolveError), match="mechanism"):
        s.buckling()
