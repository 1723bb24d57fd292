"""Bars and cables that turn: snap-through, hanging cables, a pendulum, against closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import ellipk

import bondloop as bl
from bondloop.devices import Imposed, LargeBar
from bondloop.errors import InputError
from bondloop.structures import PointMass, Structure, attach_bar, field_form, pushover, static


def chain(points, mass=1.0, held=(), dofs=("ux", "uy")):
    s = Structure("chain")
    for name, at in points.items():
        s.node(name, *at)
        s.add(PointMass(name, m=mass, dofs=dofs))
        if name in held:
            s.support(name)
    return s, field_form(s.assemble(free=True), "chain")


@settings(max_examples=8, deadline=None)
@given(h=st.floats(0.05, 0.8), EA=st.floats(1e3, 1e7))
def test_a_shallow_truss_snaps_through(h, EA):
    """von Mises: P = 2 EA (L₀ - l)/L₀ (h - w)/l, followed from the peak to the other side."""
    s, model = chain({"a": (-1.0, 0), "top": (0.0, h), "b": (1.0, 0)}, held=("a", "b"))
    for side in "ab":
        attach_bar(model, side, s, side, "top", EA=EA)
    curve = pushover(model, {"top.uy": -1.0}, control="top.uy", to=-2.5 * h, steps=30)
    w = -curve.displacement
    l0, now = np.hypot(1, h), np.hypot(1, h - w)
    expected = 2 * EA * (l0 - now) / l0 * (h - w) / now
    np.testing.assert_allclose(curve.load_factor, expected, atol=1e-7 * np.abs(expected).max())
    assert curve.load_factor.min() < 0 < curve.load_factor[-1]
    assert curve.forces["a"].shape == (31, 2)


def test_a_cable_hangs_as_a_catenary():
    """Of length S across 10 m: it sags by a (cosh(5/a) - 1), where 2 a sinh(5/a) = S."""
    EA, weight, sag, errors = 1e8, 1000.0, 3.0, []
    for n in (8, 16):
        # Nodes on a parabola, with about the tension that it would have there; the cable finds its own shape.
        x = np.linspace(-5, 5, n + 1)
        y = sag * ((x / 5) ** 2 - 1)
        pieces = np.hypot(np.diff(x), np.diff(y))
        S, pull = pieces.sum(), weight * 10**2 / (8 * sag)
        points = {f"n{i}": at for i, at in enumerate(zip(x.tolist(), y.tolist(), strict=True))}
        s, model = chain(points, held=("n0", f"n{n}"))
        for i, piece in enumerate(pieces):
            tension = pull * piece / (10 / n)
            attach_bar(model, f"bar_{i}", s, f"n{i}", f"n{i + 1}", EA=EA, tension=tension, tension_only=True)
        halves = np.append(0, pieces) / 2 + np.append(pieces, 0) / 2
        u = static(model, {f"n{i}.uy": -weight * halves[i] for i in range(1, n)})
        a = brentq(lambda a, S=S: 2 * a * np.sinh(5 / a) - S, 1, 100)
        middle = y[n // 2] + u[model.dofs.index(f"n{n // 2}.uy")]
        errors.append(abs(-middle / (a * (np.cosh(5 / a) - 1)) - 1))
    assert errors[1] < errors[0] / 3  # of second order in the pieces
    assert errors[1] < 3e-3


def test_a_pendulum_swings_as_elliptic_integrals_say():
    g, length, angle = 9.80665, 1.0, np.pi / 2
    s, model = chain({"pivot": (0.0, 0.0), "bob": (length, 0.0)}, held=("pivot",))
    attach_bar(model, "rod", s, "pivot", "bob", EA=4e5)
    model.apply_pattern({"bob.uy": -g}, "weight")
    period = 4 * np.sqrt(length / g) * ellipk(np.sin(angle / 2) ** 2)
    run = bl.Simulation(
        {"p": model}, excitation={"weight": bl.signals.Step(1.0)}, rate=4000,
        record=["p.bob.ux.displacement", "p.bob.uy.displacement", "p.energy.*"],
    ).run(1.05 * period)  # fmt: skip
    x, y = length + run["p.bob.ux.displacement"], run["p.bob.uy.displacement"]
    np.testing.assert_allclose(np.hypot(x, y), length, rtol=5e-4)
    assert x.min() == pytest.approx(-length, rel=1e-3)
    returned = run.time[len(x) // 2 :][np.argmax(x[len(x) // 2 :])]
    assert returned == pytest.approx(period, rel=2e-3)
    # Nothing is lost: what the weight puts in is motion, but for what stretches the rod.
    assert np.abs(run["p.energy.error"]).max() < 1e-4 * run["p.energy.kinetic"].max()
    assert np.abs(run["p.energy.hysteretic"]).max() < 1e-4 * run["p.energy.kinetic"].max()


def test_twins_agree():
    """A cable of two pieces that goes slack and taut again, in C and in Python."""
    points = {"left": (-1.0, 0.0), "middle": (0.0, 0.0), "right": (1.0, 0.0)}
    s, model = chain(points, held=("left", "right"))
    for side in ("left", "right"):
        attach_bar(model, f"piece_{side}", s, side, "middle", EA=2e4, tension=5.0, tension_only=True)
    model.apply_forces({"middle.uy": "push", "middle.ux": "pull"})
    loads = {"push": bl.signals.Sine(300.0, 3.0), "pull": bl.signals.Sine(80.0, 2.0)}
    test = bl.Simulation(
        {"c": model}, excitation=loads, rate=1000, record=["c.middle.*.displacement", "c.energy.*"]
    )
    runs = [test.run(0.5, backend=backend) for backend in ("numpy", "c")]
    y = runs[0]["c.middle.uy.displacement"]
    assert np.ptp(y) > 0.05
    for name in ("c.middle.ux.displacement", "c.middle.uy.displacement", "c.energy.devices"):
        np.testing.assert_allclose(runs[0][name], runs[1][name], atol=1e-12 * np.abs(runs[1][name]).max())
    assert np.abs(runs[0]["c.energy.error"]).max() < 1e-3 * runs[0]["c.energy.kinetic"].max()


def test_in_space_and_slack():
    s, model = chain(
        {"a": (0, 0, 0), "b": (0, 3, 4)}, held=("a",), dofs=("ux", "uy", "uz"),
    )  # fmt: skip
    attach_bar(model, "stay", s, "a", "b", EA="1 MN", tension="5 kN", tension_only=True)
    bar = model.stay.law
    assert bar.interfaces == 3
    force = bar.force(Imposed(np.zeros(3)))
    np.testing.assert_allclose(force, [0, 3e3, 4e3], rtol=1e-12)
    np.testing.assert_array_equal(bar.force(Imposed(np.array([0.0, -1.5, -2.0]))), 0.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda s, m: attach_bar(m, "x", s, "a", "c", EA=1.0), "unknown node 'c'"),
        (lambda s, m: attach_bar(m, "x", s, "a", "b", EA=-1.0), "EA"),
        (lambda s, m: attach_bar(m, "x", s, "a", "b", EA=1.0, tension=-2.0), "more than -EA"),
        (lambda _s, _m: LargeBar(span_x=0.0), "at one place"),
        (lambda _s, _m: LargeBar(dimensions=4), "2 or 3"),
        (lambda _s, _m: LargeBar(span_z=1.0), "span_z is 0"),
    ],
)
def test_bad_input(make, words):
    s, model = chain({"a": (0.0, 0.0), "b": (1.0, 0.0)}, held=("a",))
    with pytest.raises(InputError, match=words):
        make(s, model)
