"""Loads that stay: static displacements, weight, temperature; against closed forms and energies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bondloop as bl
from bondloop.errors import InputError
from bondloop.signals import Rise, signal_from
from bondloop.structures import (
    Bar,
    Frame2D,
    Frame3D,
    Matrices,
    PointMass,
    Spring,
    Structure,
    static,
    time_history,
)

E, A, I, ALPHA, L = 2e11, 4e-3, 8e-6, 12e-6, 3.0


def beam(angle=0.0, *, far=(), **options):
    """A frame member at an angle, fixed at its root, with supports at the other end."""
    s = Structure("beam")
    s.node("a")
    s.node("b", x=L * np.cos(angle), y=L * np.sin(angle))
    s.add(Frame2D("a", "b", E=E, A=A, I=I, rho=7850, **options), "beam")
    s.support("a")
    if far:
        s.support("b", *far)
    return s


@settings(max_examples=40, deadline=None)
@given(angle=st.floats(0, 6.28), rise=st.floats(-80, 80), gradient=st.floats(-200, 200))
def test_a_free_member_lengthens_and_bends(angle, rise, gradient):
    """Free end: u = α ΔT L along it; v = -α g L²/2 across, θ = -α g L, as the curvature -α g has it."""
    s = beam(angle)
    m = s.assemble()
    u = static(m, s.thermal("beam", rise=rise, expansion=ALPHA, gradient=gradient))
    along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    moved = np.array([u[m.index("b.ux")], u[m.index("b.uy")]])
    size = 1e-12 + 1e-9 * np.abs(u).max()
    assert moved @ along == pytest.approx(ALPHA * rise * L, abs=size)
    assert moved @ across == pytest.approx(-ALPHA * gradient * L**2 / 2, abs=size)
    assert u[m.index("b.rz")] == pytest.approx(-ALPHA * gradient * L, abs=size)


def test_a_propped_member_bends_by_the_closed_form():
    """Fixed and propped: the prop's force 3 EI α g / 2L keeps v = 0; θ at the prop is then -α g L/4."""
    s = beam(far=("uy",))
    m = s.assemble()
    u = static(m, s.thermal("beam", expansion=ALPHA, gradient=50.0))
    assert u[m.index("b.rz")] == pytest.approx(-ALPHA * 50.0 * L / 4, rel=1e-10)
    hinged = beam(far=("uy", "rz"), release_b=("rz",))  # a hinge is what a free rotation is
    f = hinged.thermal("beam", rise=10.0, expansion=ALPHA, gradient=50.0)
    assert f[hinged.assemble().index("b.ux")] == pytest.approx(E * A * ALPHA * 10.0)
    # The released member's own moment at its root: 3/2 of EI α g, as a propped beam's.
    s = Structure("turned")
    for node, x in (("a", 0), ("b", L)):
        s.node(node, x=x)
    s.add(Frame2D("a", "b", E=E, A=A, I=I, rho=1.0, release_b=("rz",)), "beam")
    s.support("a", "ux", "uy")
    s.support("b", "uy", "rz")
    s.add(Spring("a", k=1e7, dof="rz"))
    m = s.assemble()
    f = s.thermal("beam", expansion=ALPHA, gradient=50.0)
    assert f[m.index("a.rz")] == pytest.approx(1.5 * E * I * ALPHA * 50.0, rel=1e-12)


@pytest.mark.parametrize("reference", [None, (0.0, 1.0, 0.3)])
def test_a_member_in_space_bends_in_both_planes(reference):
    s = Structure("space")
    s.node("a")
    s.node("b", x=1.0, y=2.0, z=2.0)  # 3 m long
    s.add(Frame3D("a", "b", E=E, G=8e10, A=A, Iy=I, Iz=2 * I, J=I, rho=1.0, reference=reference), "m")
    s.support("a")
    m = s.assemble()
    u = static(m, s.thermal("m", rise=20.0, expansion=ALPHA, gradient=30.0, gradient_z=-70.0))
    x = np.array([1.0, 2.0, 2.0]) / 3
    v = np.array([0.0, 0, 1]) if reference is None else np.array(reference)
    y = np.cross(v, x) / np.linalg.norm(np.cross(v, x))
    z = np.cross(x, y)
    moved = u[[m.index(f"b.{d}") for d in ("ux", "uy", "uz")]]
    expected = [ALPHA * 20 * 3, -ALPHA * 30 * 9 / 2, ALPHA * 70 * 9 / 2]
    np.testing.assert_allclose([moved @ x, moved @ y, moved @ z], expected, rtol=1e-9)


def test_a_heated_bar_and_what_does_not_expand():
    s = Structure("truss")
    for name, x, y in (("a", 0, 0), ("b", 4, 0), ("c", 4, 3)):
        s.node(name, x, y)
    s.add(Bar("a", "c", E=E, A=A, rho=1.0), "brace")
    s.add(Bar("b", "c", E=E, A=A, rho=1.0), "post")
    s.add(PointMass("c", m=1.0), "weight")
    s.support("a"), s.support("b")
    m = s.assemble()
    u = static(m, s.thermal("brace", rise=100.0, expansion="12e-6 1/K"))
    # Statically determinate: the post keeps its length, so c moves sideways by ΔL / cos = α ΔT · 5 · 5/4.
    assert u[m.index("c.uy")] == pytest.approx(0.0, abs=1e-12)
    assert u[m.index("c.ux")] == pytest.approx(ALPHA * 100 * 5 * 5 / 4, rel=1e-9)
    for names, options, words in (
        (("weight",), {"rise": 1.0}, "does not expand"),
        (("brace",), {"gradient": 1.0}, "does not bend"),
        (("wall",), {"rise": 1.0}, "unknown element"),
        (("brace",), {"rise": "3 m"}, "expected a quantity in K"),
    ):
        with pytest.raises(InputError, match=words):
            s.thermal(*names, expansion=ALPHA, **options)
    with pytest.raises(InputError, match="along z"):
        beam().thermal("beam", expansion=ALPHA, gradient_z=1.0)


def test_weight_hangs_a_beam_down():
    """q L⁴ / 8EI at the tip of a cantilever under its own weight; loads combine as arrays do."""
    s = beam()
    m = s.assemble()
    weight = 9.80665 * s.base_excitation("uy")
    q = 7850 * A * 9.80665
    u = static(m, np.stack([weight, s.distributed("beam", fy=-q), 1.35 * weight], axis=1))
    assert u[m.index("b.uy")] == pytest.approx(np.array([1, 1, 1.35]) * -q * L**4 / (8 * E * I), rel=1e-9)


def test_a_history_starts_from_rest_under_gravity():
    s = beam()
    s.rayleigh(0.0, 1e-3)
    m = s.assemble()
    weight = 9.80665 * s.base_excitation("uy")
    run = time_history(m, lambda _: weight, 1e-3, steps=200, initial=static(m, weight))
    assert np.abs(run["b.uy"] - run["b.uy"][0]).max() < 1e-9 * np.abs(run["b.uy"][0])


def test_static_refuses_what_it_cannot():
    loose = Matrices(np.eye(2), None, [[1.0, -1.0], [-1.0, 1.0]], ("a.ux", "b.ux"))
    with pytest.raises(InputError, match="singular"):
        static(loose, {"a.ux": 1.0})
    m = beam().assemble()
    for force, words in (({"c.ux": 1.0}, "unknown"), ([1.0], "shape"), ([np.nan] * 3, "finite")):
        with pytest.raises(InputError, match=words):
            static(m, force)


@settings(max_examples=30, deadline=None)
@given(start=st.floats(-2, 2), length=st.floats(0.1, 20), amplitude=st.floats(-5, 5))
def test_a_rise_is_smooth(start, length, amplitude):
    rise = Rise(amplitude, start, start + length)
    assert signal_from(rise.describe()) == rise
    with pytest.raises(InputError, match="expected an end after the start"):
        Rise(amplitude, start, start)
    t = np.linspace(start - 1, start + length + 1, 4001)
    s = np.clip((t - start) / length, 0, 1)
    np.testing.assert_allclose(rise(t), amplitude * (10 * s**3 - 15 * s**4 + 6 * s**5), atol=1e-12)
    slope = rise.derivative()(t)
    np.testing.assert_allclose(
        slope, amplitude * 30 * s**2 * (1 - s) ** 2 / length, atol=1e-9 * (1 + 1 / length)
    )


def test_gravity_is_brought_on_before_the_ground_moves():
    """A stage of its own: after a smooth rise it stands as it does under a load that stays."""
    from bondloop.structures import field_form

    s = beam(np.pi / 2)
    s.add(PointMass("b", m=500.0, dofs=("ux", "uy")))
    s.rayleigh(0.0, 2e-3)
    m = s.assemble("lumped")
    weight = 9.80665 * s.base_excitation("uy", mass="lumped")
    model = field_form(m, "column")
    model.apply_pattern(dict(zip(m.dofs, weight, strict=True)), "gravity")
    system = model.compile(outputs=["b.uy.flow"])
    signals = {"gravity": Rise(1.0, end=0.5)}
    run = bl.Simulation({"column": system}, excitation=signals, rate=20000).run(1.0)
    sunk = float(np.sum(run.record["column.b.uy.flow"])) / 20000
    assert sunk == pytest.approx(static(m, weight)[m.index("b.uy")], rel=1e-3)
