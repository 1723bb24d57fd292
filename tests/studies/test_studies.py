"""Axes, measures, tables and maps."""

import csv

import numpy as np
import pytest

from bondloop.engine.ir.expr import Var, function
from bondloop.engine.ir.tick import Channel, Tick, Update
from bondloop.errors import InputError
from bondloop.papers import bayer_substep, gawthrop_two_actuators, wagg_three_mass
from bondloop.studies import Axis, Case, axis_from, heat_maps, study
from bondloop.studies.grid_study import simulated_stability


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("k=1..3", ("1", "2", "3")),
        ("k = -1 .. 1", ("-1", "0", "1")),
        ("x=0..1/3", ("0", "0.5", "1")),
        ("x=1e-3..3e-3/3", ("0.001", "0.002", "0.003")),
        ("x=1 ms,2 ms", ("1 ms", "2 ms")),
        ("x=1 ms..3 ms", ("1 ms", "2 ms", "3 ms")),
        ("x=0..3 mm/3", ("0 mm", "1.5 mm", "3 mm")),
        ("x=-5 mm..1 cm/4", ("-0.5 cm", "0 cm", "0.5 cm", "1 cm")),
        ("v=1..4 m/s/2", ("1 m/s", "4 m/s")),
        ("v=1..2 m/s2", ("1 m/s2", "2 m/s2")),
        ("controller=direct, junction", ("direct", "junction")),
        ("a.b[0].c=3", ("3",)),
    ],
)
def test_axes_from_text(text, values):
    assert axis_from(text).values == values


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("k", "--vary takes NAME=VALUES"),
        ("=3", "--vary takes NAME=VALUES"),
        ("k=", "--vary takes NAME=VALUES"),
        ("k=3..1", "the smaller end first"),
        ("k=0.5..3", "not whole numbers; say how many"),
        ("k=0..1/1", "expected from 2 to"),
        ("k=1..1000000", "more than"),
        ("k=1,,2", "a value is missing"),
        ("k=1,1", "a value is given twice"),
        ("k=a..b", "k: "),
        ("k=1 mm, 2 kg", "k: expected quantities of one kind; found 1 mm and 2 kg"),
        ("k=1 ms..4 kg/4", "k: expected quantities of one kind; found 1 ms and 4 kg"),
        ("k=1 ms..4/4", "the unit at the last end of 1 ms..4"),
        ("k=1 m..4 mm/4", "the smaller end first"),
    ],
)
def test_faulty_axes_are_refused(text, words):
    with pytest.raises(InputError, match=words):
        axis_from(text)


def test_words_have_no_numbers():
    assert axis_from("controller=direct,junction").numbers is None
    assert Axis("t", ("1 ms",)).numbers == (0.001,)


def bayer(values):
    options = {"sub_steps": int(values["sub_steps"]), "P": float(values.get("P", 0))}
    return Case(
        bayer_substep.test(time_step=float(values.get("time_step", 0.004)), **options),
        1.0,
        bayer_substep.findings,
    )


def test_a_study_over_three_axes(tmp_path):
    axes = [axis_from("sub_steps=1..3"), axis_from("time_step=0.002,0.004"), axis_from("P=0,-1")]
    seen = []
    found = study(bayer, axes, ["stable", "error"], jobs=2, progress=lambda a, b: seen.append((a, b)))
    assert found["stable"].shape == (3, 2, 2)
    assert found["stable"][:, :, 0].tolist() == [[False, False], [True, False], [True, False]]
    assert found["stable"][:, :, 1].all()
    assert sorted(seen) == [(i, 12) for i in range(1, 13)]
    text = str(found)
    assert "stable, P = -1" in text
    assert "time_step \\ sub_steps" in text
    assert text.count("NO") == 4
    cell = found.cells[0]
    assert (cell["sub_steps"], cell["time_step"], cell["P"], cell["stable"]) == (1.0, 0.002, 0.0, False)
    with found.save(tmp_path / "study.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    assert float(rows[-1]["error"]) == pytest.approx(found["error"][-1, -1, -1])
    heat_maps(found, path=tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 10_000


def test_one_axis_makes_lines_and_a_row(tmp_path):
    found = study(bayer, [axis_from("sub_steps=2..4")], ["stable", "spectral_radius", "frequency", "linear"])
    assert str(found).splitlines()[:2] == ["stable", "sub_steps   2   3    4"]
    assert found["spectral_radius"][0] == pytest.approx(1.0214, abs=1e-4)
    assert found["linear"].all()
    figure = heat_maps(found, path=tmp_path / "line.png")
    assert len(figure.axes) == 4


def test_what_the_test_finds_can_be_measured():
    case = bayer({"sub_steps": "9"})
    assert case.measure("peak_coupling_force") > 30
    assert case.measure("delay") == pytest.approx(-0.2e-3, abs=2e-4), "a measure of the table's following"
    with pytest.raises(
        InputError, match="unknown measure 'peak_coupling_forc'; did you mean 'peak_coupling_force'"
    ):
        case.measure("peak_coupling_forc")


def test_hybrid_tests_and_nonlinear_ones_are_studied_too():
    direct = Case(gawthrop_two_actuators.test(controller="direct"), 2.0)
    assert not direct.stable
    assert not direct.simulated.stable
    junction = Case(gawthrop_two_actuators.test(), 2.0)
    assert junction.stable
    assert junction.simulated.stable
    assert 0.001 < junction.error < 0.1
    adaptive = Case(wagg_three_mass.test(), 10.0)
    assert not adaptive.step.linear
    assert adaptive.stable, "by simulation"


def test_simulation_tells_growth_from_drift_and_rounding():
    x, v, y = Var("x"), Var("v"), Var("y")

    def tick(rate, *, curve=False):
        drift = (x, x + 0.01 * v), (v, v)
        grown = rate * y + (function("tanh", y) * 1e-9 if curve else 0.0)
        steps = (Update((*drift, (y, -grown))),)
        return Tick("drift", 0.01, Var("t"), Var("k"), (), {x: 0.0, v: 1.0, y: 1.0}, {}, steps,
                    (Channel("x", x), Channel("y", y)), {"y": 1e6})  # fmt: skip

    for rate in (0.999, 1.001):
        found = simulated_stability(tick(rate), 20.0, linear=True, backend="numpy")
        assert found.stable is (rate < 1)
        assert found.growth == pytest.approx(np.log(rate) / 0.01, rel=1e-2)
    assert simulated_stability(tick(0.5), 20.0, linear=True, backend="numpy").stable, "decayed into rounding"
    stopped = simulated_stability(tick(1.1), 20.0, linear=True, backend="numpy")
    assert (stopped.stable, stopped.growth) == (False, np.inf)
    assert simulated_stability(tick(1.0, curve=True), 20.0, linear=False, backend="numpy").stable
    assert not simulated_stability(tick(1.003, curve=True), 20.0, linear=False, backend="numpy").stable


def test_faulty_studies_are_refused():
    axis = axis_from("sub_steps=1..2")
    with pytest.raises(InputError, match="one, two or three things; found 0"):
        study(bayer, [], ["stable"])
    with pytest.raises(InputError, match="each thing is varied once"):
        study(bayer, [axis, axis], ["stable"])
    with pytest.raises(InputError, match="nothing to measure"):
        study(bayer, [axis], [])
    with pytest.raises(InputError, match="at sub_steps = 0: sub_steps must be a whole number"):
        study(bayer, [axis_from("sub_steps=0..1")], ["stable"])
    with pytest.raises(InputError, match="at sub_steps = 1: unknown measure 'stabel'"):
        study(bayer, [axis], ["stabel"])
