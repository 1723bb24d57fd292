"""No text of a figure lies over another or off the page; sources stand outside of frames."""

import sys
from pathlib import Path

import numpy as np
import pytest

import bondloop as bl
from bondloop.bondgraph.drawing import page as drawing
from bondloop.bondgraph.drawing import sketch
from bondloop.bondgraph.drawing.geometry import SOURCES, clear_of_frames, measure
from bondloop.results import Record, time_histories
from bondloop.results.figures.histories import gains
from bondloop.results.figures.layout import STYLE, broken, every
from bondloop.studies import Axis
from bondloop.studies.figures import heat_maps, tornado
from bondloop.studies.grid_study import Study
from bondloop.studies.sensitivity_study import Index, Sensitivity

sys.path.insert(0, str(Path(__file__).parent))  # for figure_faults.py

from figure_faults import faults

LONG = "rig.transfer_system.outer_spring.stiffness"


def study(names, counts, words):
    rng = np.random.default_rng(1)
    axes = [
        Axis(
            n,
            tuple(
                f"a long word {i}" if words else f"{x:.6g}" for i, x in enumerate(np.linspace(1e-3, 1e4, c))
            ),
        )
        for n, c in zip(names, counts, strict=True)
    ]
    measured = {"tracking_error": rng.uniform(1e-5, 10, counts), "stable": rng.uniform(size=counts) > 0.3}
    return Study(tuple(axes), measured)


@pytest.mark.parametrize(
    ("names", "counts", "words"),
    [
        ((LONG, "controller.virtual_junction.damping"), (12, 9), False),
        ((LONG, "rate", "controller.model.mass_of_piston"), (6, 5, 3), False),
        (("a", LONG), (3, 30), False),
        (("controller", LONG), (9, 3), True),
        ((LONG,), (15,), True),
        ((LONG,), (5,), False),
        (("a", "b"), (2, 2), False),
    ],
)
def test_labels_of_studies_neither_overlap_nor_clip(names, counts, words):
    assert not faults(heat_maps(study(names, counts, words)))


def test_the_looker_finds_what_is_wrong():
    figure = heat_maps(study(("a", "b"), (2, 2), False))
    figure.axes[0].set_xticks([0, 0.01], ["many letters", "many letters"])
    figure.text(0.99, 0.5, "off the page")
    found = faults(figure)
    assert any("overlap" in f for f in found)
    assert any("cut off" in f for f in found)


def test_long_paths_of_uncertainties_stay_on_the_page():
    paths = [f"{LONG}.of_part_{i}" for i in range(6)]
    indices = {"tracking error": {p: Index(0.1 * i, 0.05 * i, 0.2 * i) for i, p in enumerate(paths)}}
    assert not faults(tornado(Sensitivity(indices, indices, 64, {"tracking error": 0})))


def test_many_gains_have_room_for_their_names():
    t = np.linspace(0, 1, 50)
    names = [f"controller.coefficient[{i}][{j}]" for i in range(2) for j in range(12)]
    record = Record(t, {n: t * i for i, n in enumerate(names)})
    assert not faults(gains(record, names))
    assert not faults(time_histories(record, {"a few": names[:3]}))


@pytest.mark.parametrize("text", [LONG, "a b c", "x" * 40, ""])
def test_broken_texts_lose_nothing(text):
    lines = broken(text, 1.0).splitlines()
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(len(line) * STYLE.letter <= 1.0 or not any(c in " ._" for c in line[:-1]) for line in lines)


def test_every_label_is_written_where_there_is_room():
    assert every([str(i) for i in range(10)], 10.0) == 1
    assert every(["123456"] * 20, 5.0) * 5.0 / 20 >= 6 * STYLE.letter


@pytest.fixture(scope="module")
def overview():
    return bl.papers.find("gawthrop-two-actuators").load().test().run(2).plot.overview()


def test_the_overview_has_reference_force_and_loops(overview):
    labels = [axes.get_ylabel().partition(" [")[0] for axes in overview.axes]
    assert labels == 2 * ["displacement", "error", "velocity", "force", "actual", "force"]
    legends = [axes.get_legend() for axes in overview.axes]
    words = [[t.get_text() for t in legend.get_texts()] for legend in legends if legend is not None]
    assert words == 2 * [["desired", "actual"], ["desired", "reference"]]
    assert not faults(overview)


def frames_and_guests(model):
    """Sources that stand in a frame of a sub-model that they are no part of, on the page as it is drawn."""
    nodes, edges = sketch(model)
    graph = drawing._graph(nodes, edges)
    places = drawing.layout(nodes, edges)
    after = clear_of_frames(graph, places)
    pages = [drawing.Page(graph, p) for p in (places, after)]
    found = []
    for page in pages:
        page.symbols(), page.bonds(edges), page.labels(), page.frames()
        boxes, owner = np.array(page.boxes), np.array(page.owner)
        paths = sorted({".".join(v.group.split(".")[: k + 1]) for v in nodes if v.group for k in range(9)})
        paths = [p for p in paths if any(v.group == p or v.group.startswith(f"{p}.") for v in nodes)]
        guests = {
            nodes[i].path
            for path, frame in zip(paths, boxes[owner == -3], strict=True)
            for box, i in zip(boxes, owner, strict=True)
            if i >= 0 and nodes[i].symbol in SOURCES and not f"{nodes[i].group}.".startswith(f"{path}.")
            and (box[:2] < frame[2:]).all() and (frame[:2] < box[2:]).all()
        }  # fmt: skip
        found.append(guests)
    return found, [measure(graph, p) for p in (places, after)]


def test_sources_stand_outside_of_frames():
    (before, after), (was, now) = frames_and_guests(bl.papers.find("dubois-damper").load().test().numerical)
    assert before == {"interface"}
    assert not after
    assert (now.crossings, now.bonds_over_nodes, now.overlaps) == (
        was.crossings,
        was.bonds_over_nodes,
        was.overlaps,
    )
