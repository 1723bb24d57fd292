"""Figures of earthquake tests: diagrams on the side in tension, profiles and balances of what is recorded."""

import numpy as np
import pytest

from bondloop.engine.ir.quantity import Meaning
from bondloop.errors import InputError
from bondloop.results import Record
from bondloop.results.figures import structures as force_diagrams
from bondloop.results.figures.animation import animate_motion
from bondloop.results.figures.earthquake import drift_profile, energies, hysteresis
from bondloop.results.figures.layout import scaled
from bondloop.results.figures.run import RunPlots
from bondloop.results.figures.structures import force_diagram
from bondloop.structures import Frame2D, Frame3D, Structure
from bondloop.structures.members import largest_forces, section_forces

SPACE = {"E": 1.0, "G": 1.0, "A": 1.0, "Iy": 1.0, "Iz": 1.0, "J": 1.0}
TIME = np.linspace(0.0, 1.0, 201)


def column(space=False):
    s = Structure("column")
    s.node("foot")
    s.node("head", **({"z": 2.0} if space else {"y": 2.0}))
    s.add(
        Frame3D("foot", "head", **SPACE) if space else Frame2D("foot", "head", E=1.0, A=1.0, I=1.0), "column"
    )
    s.support("foot")
    return s


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_moments_stand_on_the_side_in_tension(side):
    """A column pulled to the right at its head is pulled apart on its left."""
    s = column()
    u = np.linalg.solve(s.assemble().K.toarray(), s.load_vector({"head.ux": side}))
    area = force_diagram(s, u, "M", scale=0.0).axes[0].collections[0].get_paths()[0].vertices
    assert side * area[:, 0].min() < -0.1 or side * area[:, 0].max() < -0.1
    assert np.abs(area[:, 0]).max() == pytest.approx(0.14 * 2.0)  # the largest ordinate, of the height


@pytest.mark.parametrize(("load", "force", "axis"), [("head.ux", "My", 0), ("head.uy", "Mz", 1)])
def test_in_space_too(load, force, axis, monkeypatch):
    s = column(space=True)
    m = s.assemble()
    u = np.linalg.solve(m.K.toarray(), s.load_vector({load: 1.0}))
    drawn = []
    monkeypatch.setattr(force_diagrams, "Poly3DCollection", lambda areas, **_: drawn.extend(areas))
    monkeypatch.setattr("mpl_toolkits.mplot3d.axes3d.Axes3D.add_collection3d", lambda *_: None)
    force_diagram(s, u, force, scale=0.0)
    corners = np.concatenate(drawn)
    bent = corners[:, axis]
    assert bent.min() < -0.1
    assert bent.max() < 1e-9


def test_profiles_and_balances_need_their_channels():
    empty = Record(TIME, {"x": TIME}, {"x": "m"})
    for draw, words in (
        (drift_profile, "no storey drifts"),
        (energies, "no energies"),
        (hysteresis, "no displacement with a force"),
    ):
        with pytest.raises(InputError, match=words):
            draw(empty)
    with pytest.raises(InputError, match="unknown section force 'Q'"):
        force_diagram(column(), {"head.ux": 1.0}, "Q")


def test_two_directions_stand_side_by_side():
    names = [f"storey[{k}].drift_ratio_{d}" for d in "xy" for k in (1, 2, 3)]
    meanings = {n: Meaning(quantity=f"storey drift ratio in {n[-1]}") for n in names}
    record = Record(
        TIME, {n: (i + 1) * 1e-3 * np.sin(9 * TIME) for i, n in enumerate(names)}, meanings=meanings
    )
    figure = drift_profile(record)
    assert [a.get_xlabel() for a in figure.axes] == [
        "storey drift ratio in x [%]",
        "storey drift ratio in y [%]",
    ]
    greatest = figure.axes[1].lines[0].get_xdata()
    np.testing.assert_allclose(greatest, [0.4, 0.5, 0.6], rtol=1e-3)


def test_a_film_is_as_long_as_the_motion(tmp_path):
    motion = np.zeros((len(TIME), 2, 6))
    motion[:, 1, 0] = 0.1 * np.sin(6 * TIME)
    page = animate_motion(column(), TIME, motion, tmp_path / "column.html", fps=20).read_text()
    assert page.count("data:image/png;base64,") == 21
    with pytest.raises(InputError, match=r"end the name in \.html or \.mp4"):
        animate_motion(column(), TIME, motion, tmp_path / "column.avi")
    with pytest.raises(InputError, match="must be positive"):
        animate_motion(column(), TIME, motion, tmp_path / "column.html", speed=0.0)


def test_forces_are_drawn_when_that_force_is_largest():
    """Not when the nodes have moved farthest; one by one the section forces say when that is."""
    s = column()
    time = np.linspace(0.0, 1.0, 41)
    motion = np.zeros((41, 2, 6))
    motion[:, 1, 0], motion[:, 1, 5] = np.sin(5 * time), 3 * np.cos(9 * time)
    plots = RunPlots(Record(time, {"x": time}, {"x": "m"}), {}, nodal=lambda _: (s, motion))
    for force in "VM":
        peaks = [
            max(max(abs(m.start[force]), abs(m.end[force])) for m in section_forces(s, x).values())
            for x in motion
        ]
        np.testing.assert_allclose(largest_forces(s, motion, force), peaks, rtol=1e-12)
        first = int(np.argmax(peaks))
        axes = plots.forces(force).axes[0]
        assert axes.get_title("left").startswith(f"t = {time[first]:.4g} s, its largest in the run\n")
        size, unit = scaled("N m" if force == "M" else "N", [np.array(peaks)])
        assert any(f"{peaks[first] * size:.3g} {unit}" in t.get_text() for t in axes.texts)
    assert "this instant" in plots.forces("M", time=0.5).axes[0].get_title("left")
    assert "tension is positive" in plots.forces("N").axes[0].get_xlabel()
    assert "fixed supports" in [line.get_label() for line in plots.forces("M").axes[0].lines]
