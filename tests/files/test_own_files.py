"""Laws of one name in several files, laws within classes, and scripts that read back their own law."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from bondloop import files, papers
from bondloop.control import Compensator, Direct
from bondloop.devices import OdeSpecimen
from bondloop.engine.ir.tick_json import dump_tick
from bondloop.errors import InputError
from bondloop.files.test_file import recorded_test
from bondloop.rehearsal import Run, rerun

LAW = """
from bondloop.control import ControlLaw
from bondloop.devices import OdeSpecimen

class Mine(ControlLaw):
    gain: float = 1.0
    def step(self, desired, measured):
        return {factor} * self.gain * desired.displacement

class Plain(Mine):
    gain = 2.0

class Pad(OdeSpecimen):
    stiffness: float = 10.0
    def force(self, motion):
        return {factor} * self.stiffness * motion.displacement

class Outer:
    class Inner(ControlLaw):
        def step(self, desired, measured):
            return {factor} * desired.displacement
"""


def three_masses(**changes):
    return papers.find("gawthrop-three-mass").load().test().replaced(coupling="sampled", **changes)


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def two(tmp_path: Path):
    """Two files with laws of the same names, imported one after the other."""
    modules = []
    for factor in (1, 2):
        path = tmp_path / f"laws_{factor}.py"
        path.write_text(LAW.format(factor=factor))
        modules.append(imported(path))
    yield modules
    for module in modules:
        del sys.modules[module.__name__]


@pytest.mark.parametrize("name", ["Mine", "Plain", "Outer.Inner"])
def test_a_law_is_named_by_its_own_file(two, tmp_path, name):
    for module in two:
        law = module
        for word in name.split("."):
            law = getattr(law, word)
        assert Compensator.from_description(law().describe()) == law()
        test = three_masses(controller=law())
        text = files.to_toml(test, tmp_path / "test.toml")
        assert f'"{module.__name__}.py:{name}"' in text
        again = files.load(tmp_path / "test.toml")
        assert again == test
        assert json.dumps(dump_tick(again.tick)) == json.dumps(dump_tick(test.tick))
        assert str(tmp_path) not in repr(test)


def test_a_run_names_the_file_of_a_law_and_not_where_it_lay(two, tmp_path):
    test = three_masses(controller=two[0].Mine())
    run = test.run(0.01)
    run.save(tmp_path / "run.h5")
    for described in (run.record.description, Run.load(tmp_path / "run.h5").record.description):
        assert described["controller"]["controller"] == "laws_1.py:Mine"
        assert str(tmp_path) not in json.dumps(described)
    assert test.describe()["controller"]["controller"] == f"{tmp_path.resolve()}/laws_1.py:Mine"
    again = rerun(tmp_path / "run.h5")  # by its tick: the file is not needed
    np.testing.assert_array_equal(again.record["command"], run.record["command"])
    with pytest.raises(InputError, match=r"'laws_1.py:Mine' is in a Python file, which is not run"):
        recorded_test(run.record.description)


def test_laws_of_one_name_in_two_files_are_not_equal(two, tmp_path):
    tests = [three_masses(controller=module.Mine()) for module in two]
    assert tests[0] != tests[1]
    assert tests[0] == three_masses(controller=two[0].Mine())
    pads = [module.Pad() for module in two]
    assert pads[0].element().describe() != pads[1].element().describe()
    assert OdeSpecimen.from_description(pads[0].describe()) == pads[0]
    # Read by files in turn: each remembers its own.
    text = files.to_toml(tests[0], tmp_path / "one.toml")
    (tmp_path / "two.toml").write_text(text.replace("laws_1", "laws_2"))
    one, other = files.load(tmp_path / "one.toml"), files.load(tmp_path / "two.toml")
    assert one != other
    assert files.to_toml(one, tmp_path / "again.toml") == text


def test_a_class_that_is_not_within_another_is_refused(two, tmp_path):
    text = files.to_toml(three_masses(controller=two[0].Outer.Inner()), tmp_path / "test.toml")
    with pytest.raises(InputError, match="no class 'Other' within 'Outer'"):
        files.load_text(text.replace("Outer.Inner", "Outer.Other"), folder=tmp_path)


SCRIPT = """
import sys
import bondloop as bl
from bondloop.control import ControlLaw
print("begins")
{early}
class Mine(ControlLaw):
    def step(self, desired, measured):
        return desired.displacement
test = bl.papers.find("gawthrop-three-mass").load().test().replaced(controller=Mine())
print(bl.files.load_text(bl.files.to_toml(test)).test == test)
"""

EARLY = """bl.files.load_text('controller = "script.py:Mine"')"""


@pytest.mark.parametrize("command", [["script.py"], ["-c", "import script"]])
def test_a_script_that_reads_back_its_own_law_runs_once(tmp_path, command):
    (tmp_path / "script.py").write_text(SCRIPT.format(early=""))
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["begins", "True"]


def test_a_file_that_a_test_file_names_may_read_its_own_law(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT.format(early=""))
    text = files.to_toml(three_masses(controller=Direct())).replace('"Direct"', '"script.py:Mine"')
    assert type(files.load_text(text, folder=tmp_path).test.controller).__name__ == "Mine"


def test_a_script_that_asks_for_a_law_before_it_is_there_is_told_so(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT.format(early=EARLY))
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.split() == ["begins"]
    assert "before it has defined it" in done.stderr
