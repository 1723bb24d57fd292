"""Figures of structures: bent as beams bend, in the plane and in space."""

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.results import deformed_shape, mode_shapes
from bondloop.results.figures.layout import STYLE
from bondloop.results.figures.structures import lines
from bondloop.structures import Bar, Beam, Frame3D, PointMass, Structure, modes, time_history

UNIT = {"E": 1.0, "A": 1.0, "I": 1.0, "rho": 1.0}
SPACE = {"E": 30e9, "G": 12e9, "A": 0.16, "Iy": 2e-3, "Iz": 2e-3, "J": 3e-3, "rho": 2500.0}


def cantilever(**options):
    s = Structure("cantilever")
    s.node("root")
    s.node("tip", x=2.0)
    s.add(Beam("root", "tip", **UNIT, **options))
    s.add(PointMass("tip", m=0.1))
    s.support("root")
    return s


def tower():
    s = Structure("tower")
    for k in range(3):
        for i, (x, y) in enumerate([(0, 0), (4, 0), (4, 3), (0, 3)]):
            s.node(f"n{k}{i}", x=x, y=y, z=3.0 * k)
    for k in (1, 2):
        for i in range(4):
            s.add(Frame3D(f"n{k - 1}{i}", f"n{k}{i}", **SPACE))
            s.add(Frame3D(f"n{k}{i}", f"n{k}{(i + 1) % 4}", **SPACE))
    for i in range(4):
        s.support(f"n0{i}")
    return s


def test_a_beam_is_bent_by_its_exact_cubic():
    s = cantilever()
    model = s.assemble()
    u = np.linalg.solve(model.K.toarray(), s.load_vector({"tip.uy": 3.0}))
    shape = lines(s, u)
    x = np.linspace(0, 2, STYLE.points)
    np.testing.assert_allclose(shape.moved[0, :, 1], 3 * x**2 * (6 - x) / 6, rtol=1e-12)  # Px²(3L-x)/6EI
    assert shape.plane
    np.testing.assert_allclose(shape.masses_moved[0], [0, u[model.index("tip.uy")], 0])


def test_a_hinged_end_has_no_moment():
    s = Structure("propped")
    s.node("a")
    s.node("b", x=1.0)
    s.add(Beam("a", "b", **UNIT, release_b=("rz",)))
    s.support("a")
    bent = lines(s, {"b.uy": 1.0}).moved[0, :, 1]
    x = np.linspace(0, 1, STYLE.points)
    np.testing.assert_allclose(bent, (3 * x**2 - x**3) / 2, atol=1e-12)


def test_bars_stay_straight_and_a_rigid_turn_keeps_beams_straight():
    s = Structure("truss")
    s.node("a")
    s.node("b", x=1.0, y=1.0)
    s.node("c", x=2.0)
    s.add(Bar("a", "b", E=1.0, A=1.0, rho=1.0))
    s.add(Bar("b", "c", E=1.0, A=1.0, rho=1.0))
    s.support("a")
    s.support("c")
    moved = lines(s, {"b.ux": 0.3, "b.uy": -0.1}).moved[0]
    np.testing.assert_allclose(np.diff(moved, 2, axis=0), 0, atol=1e-15)
    t = tower()
    t.supports.clear()
    motion = {f"{n}.uy": x for n, (x, _, _) in t.nodes.items()}
    motion |= {f"{n}.ux": -y for n, (_, y, _) in t.nodes.items()} | {f"{n}.rz": 1.0 for n in t.nodes}
    shape = lines(t, motion)
    np.testing.assert_allclose(np.diff(shape.moved, 2, axis=1), 0, atol=1e-12)


@pytest.mark.parametrize("ending", ["svg", "png"])
@pytest.mark.parametrize("structure", [cantilever(), tower()])
def test_mode_shapes_save(tmp_path, structure, ending):
    found = modes(structure.assemble(), 2)
    path = tmp_path / f"modes.{ending}"
    figure = mode_shapes(structure, found, path=path)
    assert path.stat().st_size > 2000
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles[0] == f"1: {found.frequencies[0]:.{1 if found.frequencies[0] >= 10 else 2}f} Hz"
    assert figure.axes[0].name == ("3d" if structure.name == "tower" else "rectilinear")


def test_deformed_shape_at_a_time_of_a_run(tmp_path):
    s = tower()
    run = time_history(s.assemble(), {"n20.ux": lambda t: 1e5 * np.sin(9 * t)}, 0.01, steps=50)
    figure = deformed_shape(s, run, 0.204, title="tower", path=tmp_path / "a.png")
    assert figure.axes[0].get_title("left").startswith("tower; t = 0.2 s: displacements enlarged")
    plane = deformed_shape(cantilever(), {"tip.uy": 0.01}, scale=5.0)
    assert plane.axes[0].get_xlabel() == "x [m]   (displacements enlarged 5 times; largest 0.01 m)"
    assert plane.axes[0].lines[2].get_ydata()[STYLE.points - 1] == pytest.approx(0.05)


def test_what_is_refused(tmp_path):
    s = cantilever()
    found = modes(s.assemble(), 2)
    run = time_history(s.assemble(), {}, 0.1, steps=3)
    with pytest.raises(InputError, match="modes 1 to 2"):
        mode_shapes(s, found, [3])
    with pytest.raises(InputError, match="no folder"):
        mode_shapes(s, found, path=tmp_path / "b" / "modes.png")
    with pytest.raises(InputError, match="give the time"):
        deformed_shape(s, run)
    with pytest.raises(InputError, match="outside the history"):
        deformed_shape(s, run, 9.0)
    with pytest.raises(InputError, match="belongs to a time history"):
        deformed_shape(s, {"tip.uy": 1.0}, 1.0)
    with pytest.raises(InputError, match="degree of freedom"):
        deformed_shape(s, {"tip.ux": 1.0})
    with pytest.raises(InputError, match="2 degrees of freedom"):
        deformed_shape(s, np.zeros(5))
