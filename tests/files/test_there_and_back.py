"""Tests go to TOML and come back the same, to the last bit."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import bondloop as bl
from bondloop import files, papers
from bondloop.bondgraph import C, Model, One, bond
from bondloop.engine.data.restoring import restore
from bondloop.engine.ir.tick_json import dump_tick
from bondloop.errors import InputError

sys.path.insert(0, str(Path(__file__).parent))  # for files.py
sys.path.insert(0, str(Path(__file__).parents[1] / "hybrid"))  # for drawn_tests.py, drawn_stepped.py

from drawn_stepped import stepped_case
from drawn_tests import case, from_recipe, recipes
from file_cases import EXAMPLES, READY_MADE, again, hybrid, oscillator, same, written

FOUND = ("dasilva-beam", "dubois-damper")
"""Tests with numbers that are computed: a frequency, a fitted model. Their last digits are the machine's."""
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


@pytest.mark.parametrize("entry", READY_MADE, ids=lambda e: e.name)
def test_every_ready_made_test_goes_to_toml_and_back_to_the_identical_tick(entry):
    test = entry.load().test()
    same(test, again(test))


@pytest.mark.parametrize("entry", READY_MADE, ids=lambda e: e.name)
def test_the_example_of_a_paper_has_the_tick_of_the_ready_made_test(entry):
    file = files.read(EXAMPLES / f"{entry.name}.toml")
    module = entry.load()
    ticks = [json.dumps(dump_tick(test.tick)) for test in (file.test, module.test())]
    if entry.name in FOUND:
        numbers = [np.array(NUMBER.findall(tick), dtype=float) for tick in ticks]
        np.testing.assert_allclose(*numbers, rtol=1e-8)
        ticks = [NUMBER.sub("", tick) for tick in ticks]
    assert ticks[0] == ticks[1]
    assert file.seconds == module.SECONDS


@pytest.mark.parametrize("seed", range(12))
def test_drawn_tests_go_to_toml_and_back(seed):
    drawn = case(seed)
    if drawn.test is not None:
        same(drawn.test, again(drawn.test))


@pytest.mark.parametrize("seed", [s for s in range(14) if s != 2])  # whose specimen is a lambda
def test_drawn_pseudo_dynamic_tests_go_to_toml_and_back(seed):
    drawn = stepped_case(seed)
    if drawn.test is not None:
        same(drawn.test, again(drawn.test))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(recipes())
def test_descriptions_drawn_by_hypothesis_make_the_same_test(recipe):
    drawn = from_recipe(recipe)
    assume(drawn.test is not None)
    same(drawn.test, again(drawn.test))


def test_settings_that_differ_make_tests_that_differ():
    make = papers.find("gawthrop-three-mass").load().test
    assert make() == make()
    assert hash(make()) == hash(make())
    assert make() != make(c_t=1.1)
    assert make().replaced(record=()) != make()
    assert "VirtualJunction(model=MassSpringDamper(m=1.0" in repr(make())


def test_parts_with_models_are_compared_by_what_they_are_made_of():
    make = bl.transfer.MassSpringDamper
    assert bl.control.VirtualJunction(make(1, 2, 3)) == bl.control.VirtualJunction(make(1, 2, 3))
    assert bl.control.VirtualJunction(make(1, 2, 3)) != bl.control.VirtualJunction(make(1, 2, 4))
    assert len({bl.control.VirtualJunction(make(1, 2, k)) for k in (3, 3, 4)}) == 2
    assert repr(make(1.0, 2.0, 3.0)) == ("MassSpringDamper(m=1.0, c=2.0, k=3.0, drive='force', velocity=0.0)")
    M = bl.structures.Matrices
    assert M([[1.0]], None, [[2.0]], ("a",)) == M([[1.0]], [[0.0]], [[2.0]], ("a",))
    assert M([[1.0]], None, [[2.0]], ("a",)) != M([[1.0]], None, [[2.5]], ("a",))
    one, other = (hybrid(oscillator(lambda x, a=a: x + a * x**3)) for a in (1, 2))
    assert one != other  # two lambdas of one line


def test_a_file_may_name_a_ready_made_test_with_its_settings():
    text = 'test = "gawthrop-two-actuators"\ncase = "3/5"\namplitude = "2 mm"\nseconds = "1 min"'
    file = files.load_text(text)
    assert file.test == papers.find("gawthrop-two-actuators").load().test(case="3/5", amplitude=0.002)
    assert file.seconds == 60.0
    with pytest.raises(InputError, match="line 2, cse: unknown entry 'cse' of gawthrop-two-actuators"):
        files.load_text(text.replace("case", "cse"))


def test_parts_and_inputs_may_be_called_as_families_are():
    graph = {
        "model": "Model",
        "parts": {
            "model": "One",
            "signal": {"part": "Se", "name": "part"},
            "part": {"part": "I", "mass": 2.0},
        },
        "bonds": ["signal >> model", "model >> part"],
    }
    assert restore(graph).compile().inputs == ("part",)


def test_values_that_were_changed_by_path_are_kept():
    test = papers.find("gawthrop-two-actuators").load().test()
    changed = test.with_values({"rig.transfer[0].damper.damping": "160 N s/m", "excitation.scale": 0.5})
    assert again(changed).overrides == {"rig.transfer[0].damper.damping": 160.0, "excitation.scale": 0.5}
    same(changed, again(changed))


def test_a_frame_by_nodes_and_elements_with_a_file_of_forces(tmp_path):
    file = files.read(written(tmp_path))
    test = file.test
    assert file.seconds == 2.0
    assert (test.rate, test.rig.latency, test.limits.displacement) == (500.0, 0.002, 0.02)
    assert test.excitation["frame.push"].values.tolist() == [0.0, 1000.0, 0.0]
    s = bl.structures.Structure("structure")
    for name, y in (("foot", 0.0), ("mid", 1.0), ("top", 2.0)):
        s.node(name, y=y)
    for name, a, b in (("low", "foot", "mid"), ("high", "mid", "top")):
        s.add(bl.structures.Frame2D(a, b, E=210e9, A=1e-3, I=1e-7, rho=7850), name)
    s.support("foot")
    s.rayleigh(0.1, 1e-4)
    damper = Model()
    damper.rod, damper.v = bl.bondgraph.Port(), One()
    damper.spring, damper.dashpot = C(stiffness=5e3), bl.rigs.coulomb(3, 0.01)
    damper.rod >> damper.v >> [damper.spring, damper.dashpot]
    whole = Model()
    whole.frame = bl.structures.field_form(s.assemble(), forces={"mid.ux": "push"})
    whole.damper = damper
    bond(whole.frame.top.ux, whole.damper.rod)
    numerical, physical = whole.cut("frame.top.ux >> damper.rod")
    python = bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(
            physical,
            bl.transfer.MassSpringDamper(2.0, 300, 20e3, drive="position"),
            sensors={"force": bl.rigs.Sensor((bl.rigs.WhiteNoise(0.1),))},
            latency=0.002,
        ),
        controller=bl.control.PolynomialPrediction(0.017, span=0.03),
        excitation={"frame.push": bl.signals.Table([0, 0.5, 1], [0, 1000, 0])},
        rate=500,
        limits=bl.safety.Limits(displacement=0.02),
        name="frame",
    )
    assert dump_tick(test.tick) == dump_tick(python.tick)
    same(test, files.load(tmp_path / "frame.toml"))
    same(test, again(test))
