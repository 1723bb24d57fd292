"""Statics of structures with devices: collapse by hand, laws by themselves, loads and displacements."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.bondgraph import bond
from bondloop.devices import Bilinear, BoucWen, GiuffreMenegottoPinto, Hook, Multilinear, RambergOsgood
from bondloop.errors import InputError, SolveError
from bondloop.structures import (
    Frame2D,
    PointMass,
    ShearBuilding,
    Structure,
    attach,
    field_form,
    network_form,
    pushover,
    static,
)

E, A, I, HEIGHT, SPAN, MOMENT, HINGE = 210e9, 1.0, 1e-4, 3.0, 6.0, 1e5, 1e9


def portal(P=0.0, hardening=0.0, form=field_form):
    """A portal whose columns have hinges at both ends, under a stiff girder; P on each of them."""
    s = Structure("portal")
    for side, x in (("a", 0.0), ("b", SPAN)):
        s.node(f"foot_{side}", x=x)
        for name in (side, f"top_{side}"):
            s.node(name, x=x, y=HEIGHT)
        s.add(Frame2D(f"foot_{side}", f"top_{side}", E=E, A=A, I=I), f"column_{side}")
        s.tie(side, f"top_{side}", "ux", "uy")
        s.support(f"foot_{side}", "ux", "uy")
        s.add(PointMass(side, m=1e3, Jz=10.0))
        for node in (f"foot_{side}", f"top_{side}"):
            s.add(PointMass(node, m=0.0, Jz=10.0, dofs=("rz",)))
    s.add(Frame2D("a", "b", E=E, A=A, I=1.0), "girder")
    s.p_delta({"column_a": -P, "column_b": -P}, "string")
    model = form(s.assemble(free=True), "portal")
    for side in "ab":
        attach(model, f"low_{side}", Bilinear(HINGE, MOMENT, hardening), {f"foot_{side}.rz": 1})
        way = {f"top_{side}.rz": 1, f"{side}.rz": -1}
        attach(model, f"high_{side}", Bilinear(HINGE, MOMENT, hardening), way)
    return model


PUSH = {"a.ux": 0.5, "b.ux": 0.5}


@pytest.mark.parametrize("form", [field_form, network_form])
@pytest.mark.parametrize("P", [0.0, 5e5])
def test_a_portal_collapses_at_four_moments_over_its_height(P, form):
    """H h = 4 M_p - 2 P Δ: the mechanism of four hinges, falling by 2 P/h where P leans on it."""
    curve = pushover(portal(P, form=form), PUSH, control="a.ux", to="100 mm", steps=20)
    after = curve.displacement > 0.02
    expected = 4 * MOMENT / HEIGHT - 2 * P / HEIGHT * curve.displacement
    np.testing.assert_allclose(curve.load_factor[after], expected[after], rtol=1e-6)
    np.testing.assert_allclose(curve.base_shear, curve.load_factor)
    assert len(curve.yielding) == 4
    # Elastic: two columns of 12EI/h³ with springs at their ends, and P on them.
    k = 24 * E * I / HEIGHT**3 / (1 + 6 * E * I / (HEIGHT * HINGE)) - 2 * P / HEIGHT
    assert curve.load_factor[1] / curve.displacement[1] == pytest.approx(k, rel=2e-3)
    yields = 4 * MOMENT / HEIGHT / (k + 2 * P / HEIGHT)
    for event in curve.yielding:
        assert event.displacement == pytest.approx(yields, rel=0.01)
    assert np.abs(curve.forces["low_a"]).max() == pytest.approx(MOMENT)
    assert "yields at" in str(curve)


def test_loads_and_displacements_lead_along_one_curve():
    model = portal(hardening=0.1)
    led = pushover(model, PUSH, control="a.ux", to=0.03, steps=30)
    loaded = pushover(model, PUSH, control="a.ux", load_factor=float(led.load_factor[-1]), steps=30)
    assert loaded.displacement[-1] == pytest.approx(0.03, rel=1e-6)
    assert static(model, {d: f * led.load_factor[-1] for d, f in PUSH.items()})[
        model.dofs.index("a.ux")
    ] == pytest.approx(0.03, rel=1e-6)


def test_gravity_comes_first_and_stays():
    """Two springs that yield below a mass: gravity uses up a part of what they can bear."""
    model = field_form(ShearBuilding([1e3], [1e3]).assemble())
    attach(model, "brace", Bilinear(1e5, 1e3, 0.0), {"floor[1].ux": 1})
    plain = pushover(model, {"floor[1].ux": 1.0}, control="floor[1].ux", to=0.05)
    after = pushover(
        model, {"floor[1].ux": 1.0}, control="floor[1].ux", to=0.05, gravity={"floor[1].ux": 400.0}
    )
    assert after.load_factor[0] == 0.0
    assert after.displacement[0] == pytest.approx(400 / 101e3)
    assert after.load_factor[-1] == pytest.approx(plain.load_factor[-1] - 400)
    beyond = pushover(model, {"floor[1].ux": 1.0}, control="floor[1].ux", to=0.5, gravity=[1030.0])
    assert beyond.yielding[0].load_factor == 0.0


LAWS = st.one_of(
    st.builds(Bilinear, st.floats(1e5, 1e7), st.floats(1e3, 1e5), st.floats(0, 0.5), st.floats(0, 1)),
    st.builds(GiuffreMenegottoPinto, st.floats(1e5, 1e7), st.floats(1e3, 1e5), st.floats(0.001, 0.5)),
    st.builds(RambergOsgood, st.floats(1e5, 1e7), st.floats(1e3, 1e5), st.floats(0.1, 2), st.floats(2, 20)),
    st.just(Multilinear()),
)


@settings(max_examples=12, deadline=None)
@given(law=LAWS, stretch=st.floats(0.5, 20), k=st.floats(1e4, 1e6))
def test_a_storey_with_a_device_carries_what_both_carry(law, stretch, k):
    model = field_form(ShearBuilding([1e3], [k]).assemble())
    attach(model, "brace", law, {"floor[1].ux": 1})
    to = stretch * law.stroke / 4
    curve = pushover(model, {"floor[1].ux": 1.0}, control="floor[1].ux", to=to, steps=25)
    alone = law.respond(curve.displacement, 100.0, backend="numpy")
    np.testing.assert_allclose(curve.load_factor, k * curve.displacement + alone, rtol=1e-7, atol=1e-6)


def test_what_is_pushed_back_remembers():
    """There and back and on: the brace goes round its loop, beside the storey's spring."""
    model = field_form(ShearBuilding([1e3], [1e3]).assemble())
    brace = Bilinear(1e5, 1e3, 0.02, 0.5)
    attach(model, "brace", brace, {"floor[1].ux": 1})
    ends = ["50 mm", -0.03, 0.04]
    there = pushover(model, {"floor[1].ux": 1.0}, control="floor[1].ux", to=ends, steps=10)
    x = there.displacement
    assert x[[10, 20, 30]] == pytest.approx([0.05, -0.03, 0.04])
    alone = brace.respond(x, 100.0, backend="numpy")
    np.testing.assert_allclose(there.forces["brace"], alone, rtol=1e-9)
    np.testing.assert_allclose(there.load_factor, 1e3 * x + alone, rtol=1e-7)


def test_a_load_that_is_taken_off_leaves_a_displacement():
    model = field_form(ShearBuilding([1e3], [1e3]).assemble())
    attach(model, "brace", Bilinear(1e5, 1e3, 0.0), {"floor[1].ux": 1})
    curve = pushover(model, {"floor[1].ux": 1.0}, control="floor[1].ux", load_factor=[1050.0, 0], steps=8)
    # 0.05 m at 1050 N, of which the brace has flowed 0.04; then both springs bear -1050 N together.
    assert curve.displacement[8] == pytest.approx(0.05)
    assert curve.displacement[-1] == pytest.approx(0.05 - 1050 / 1.01e5)
    assert curve.load_factor[-1] == 0.0


def column(axial, stiffness=1e7):
    """A stiff column of 4 m on a hinge."""
    s = Structure("column")
    s.node("foot")
    s.node("top", y=4.0)
    s.add(Frame2D("foot", "top", E=210e9, A=1e-2, I=1.0), "column")
    s.support("foot", "ux", "uy")
    s.add(PointMass("foot", m=0.0, Jz=10.0, dofs=("rz",)))
    s.add(PointMass("top", m=1e4, Jz=10.0))
    s.p_delta({"column": -axial}, "string")
    model = field_form(s.assemble(free=True), "column")
    attach(model, "hinge", Bilinear(stiffness, 5e4, 0.0), {"foot.rz": 1})
    return model


@pytest.mark.parametrize("load", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("share", [0.5, 0.99])
def test_a_small_load_on_a_stiff_member_is_balanced(share, load):
    """Forces of 1e10 N/m cancel to a small one, near buckling: rounding is no lack of balance."""
    k, h, flexible = 1e7, 4.0, 4.0**3 / (3 * 210e9)
    critical = k / h
    model = column(share * critical, k)
    u = static(model, {"top.ux": load})[model.dofs.index("top.ux")]
    # With the column's own flexibility 1/k_s the storey is 1/(h²/k + 1/k_s) less P/h.
    assert u == pytest.approx(load / (1 / (h * h / k + flexible) - share * critical / h), rel=1e-5)


@pytest.mark.parametrize("share", [1.001, 1.5])
def test_what_has_buckled_is_not_balanced(share):
    """Forces balance on the side from which the load pushes, and nothing stands there."""
    model = column(share * 1e7 / 4.0)
    for lead in (
        lambda: static(model, {"top.ux": 1.0}),
        lambda: pushover(model, {"top.ux": 1.0}, control="top.ux", load_factor=1.0),
        lambda: pushover(model, {"top.ux": 1.0}, control="top.ux", to=0.1, gravity={"top.ux": 1.0}),
    ):
        with pytest.raises(SolveError, match="has buckled at 0 of the load"):
            lead()


def test_a_figure_and_names(tmp_path):
    curve = pushover(portal(), PUSH, control="a.ux", to=0.05, steps=10)
    figure = curve.plot(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 5000
    assert figure.axes[0].get_xlabel() == "displacement a.ux [mm]"
    assert figure.axes[0].get_ylabel() == "load [kN]"
    assert "1\u20134" in [text.get_text() for text in figure.axes[0].texts]  # all four hinges at once
    np.testing.assert_array_equal(curve["a.ux"], curve.displacement)
    with pytest.raises(InputError, match=r"unknown degree of freedom 'c\.ux'"):
        curve["c.ux"]
    with pytest.raises(InputError, match="cannot write"):
        curve.plot(tmp_path / "none" / "curve.png")


def test_what_cannot_be_borne_is_said():
    with pytest.raises(SolveError, match=r"no equilibrium beyond 1[23]\d{4} of the load"):
        pushover(portal(), PUSH, control="a.ux", load_factor=2e5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"control": "a.ux"}, "found neither"),
        ({"control": "a.ux", "to": 1.0, "load_factor": 1.0}, "found both"),
        ({"control": "c.ux", "to": 1.0}, "unknown degree of freedom 'c.ux'"),
        ({"control": "a.ux", "to": "3 kg"}, "kg"),
        ({"control": "a.ux", "to": np.nan}, "finite"),
        ({"control": "a.ux", "to": []}, "finite end"),
        ({"control": "a.ux", "to": [0.1, [0.2]]}, "several in a row"),
        ({"control": "a.ux", "load_factor": "much"}, "several in a row"),
        ({"control": "a.ux", "to": 0.1, "steps": 0}, "at least 1"),
        ({"control": "a.ux", "to": 0.1, "pattern": {}}, "pattern is zero"),
        ({"control": "a.ux", "to": 0.1, "pattern": {"foot_a.ux": 1.0}}, "held by a support"),
        ({"control": "a.ux", "to": 0.1, "pattern": [1.0]}, "finite forces"),
        (
            {"control": "a.ux", "to": 0.1, "pattern": ["10 kN"]},
            "pattern.: expected forces by degree of freedom",
        ),
        ({"control": "a.ux", "to": 0.1, "pattern": {"a.ux": None}}, "the force on a.ux: expected a number"),
        ({"control": "a.ux", "to": 0.1, "pattern": {"a.ux": "ten"}}, "the force on a.ux: expected a number"),
        ({"control": "a.ux", "to": 0.1, "gravity": [np.inf] * 8}, "not all of them finite"),
    ],
)
def test_bad_input(options, words):
    given_ = {"pattern": PUSH, **options}
    with pytest.raises(InputError, match=words):
        pushover(portal(), given_.pop("pattern"), **given_)


@pytest.mark.parametrize("form", [lambda m: m, field_form])
def test_loads_that_stay_may_have_units(form):
    model = form(ShearBuilding([1e3, 1e3], [1e6, 2e6]).assemble())
    expected = static(model, {"floor[2].ux": 1e4})
    np.testing.assert_allclose(static(model, {"floor[2].ux": "10 kN"}), expected)
    for load, words in (
        ({"floor[2].ux": "10 kg"}, r"static: the force on floor\[2\].ux: expected a quantity in N"),
        ({"floor[2].ux": None}, r"static: the force on floor\[2\].ux: expected a number"),
        (["10 kN", "0 kN"], "static: expected forces by degree of freedom"),
    ):
        with pytest.raises(InputError, match=words):
            static(model, load)


def test_devices_that_live_in_time_are_refused():
    model = field_form(ShearBuilding([1e3], [1e3]).assemble())
    attach(model, "damper", BoucWen(), {"floor[1].ux": 1})
    with pytest.raises(InputError, match="'damper' is a BoucWen, whose state"):
        static(model, {"floor[1].ux": 1.0})


def test_a_hook_that_is_slack_is_passed_over():
    model = field_form(ShearBuilding([1e3], [1e4]).assemble())
    attach(model, "hook", Hook(1e5, 0.01, 500.0), {"floor[1].ux": 1})
    curve = pushover(model, {"floor[1].ux": 1.0}, control="floor[1].ux", to=0.02, steps=4)
    np.testing.assert_allclose(curve.load_factor, [0, 50, 100, 650, 700], rtol=1e-9)
    assert curve.yielding == ()


def test_what_was_not_attached_is_not_passed_over():
    model = field_form(ShearBuilding([1e3], [1e4]).assemble())
    model.brace = Bilinear().element()
    bond(model.junction("floor[1].ux"), model.brace)
    with pytest.raises(InputError, match="'brace' is moved is not known"):
        static(model, {"floor[1].ux": 1.0})
