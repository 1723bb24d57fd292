"""Python in test files: refused where it is hidden, run where it is named."""

import importlib
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import bondloop as bl
from bondloop import files, papers
from bondloop.bondgraph import I, One
from bondloop.engine.ir.tick_json import dump_tick
from bondloop.errors import InputError

sys.path.insert(0, str(Path(__file__).parent))  # for files.py

from file_cases import again, hybrid, oscillator


def test_a_lambda_is_refused_by_name():
    test = hybrid(oscillator(lambda x: x + x**3))
    with pytest.raises(InputError) as caught:
        files.to_toml(test)
    assert "structure.parts.spring.law: it is a lambda in test_python_files.py, line" in str(caught.value)
    assert 'structure = {model = "chain.py:chain"}' in str(caught.value)
    run = test.run(0.1, backend="numpy")  # its run file holds the tick, and says what has no description
    assert "lambda" in run.record.description["structure"]["parts"]["spring"]["law"]["python"]


def test_a_model_that_was_edited_is_described_as_it_is():
    whole = papers.find("gawthrop-two-actuators").load().model()
    assert whole.describe() == {"model": "gawthrop-two-actuators"}
    copy = whole.copy()
    assert copy.describe() == whole.describe()
    copy.swap("m3.v", One())
    copy.m3.swap("I", I(mass=5.0))
    assert copy.describe()["parts"]["m3"]["parts"]["I"] == {"part": "I", "mass": 5.0}
    rubbing = bl.transfer.MassSpringDamper(1.0, 2.0, 3.0, friction=bl.rigs.coulomb(1.0))
    assert rubbing.copy().describe()["transfer"] == "MassSpringDamper"
    rubbing.swap("friction", bl.rigs.coulomb(2.0))
    assert rubbing.describe()["parts"]["friction"] == {"part": "coulomb", "force": 2.0, "width": 0.001}
    actuator = bl.transfer.MassSpringDamper(np.float64(1.0), 2.0, 3.0)
    assert type(actuator.describe()["m"]) is float
    actuator.damper.coefficient = ("damping", 7.0, "mul")
    assert actuator.describe()["model"] == "Model"


def test_a_structure_that_is_edited_after_the_cut_is_not_taken_for_the_one_that_was_cut():
    whole = oscillator(None)
    test = hybrid(whole)
    before = dump_tick(test.tick)
    assert "structure" in test.describe()
    whole.swap("mass", I(mass=99.0))
    assert "structure" not in test.describe()
    assert dump_tick(again(test.replaced(reference=None)).tick) == dump_tick(
        test.replaced(reference=None).tick
    )
    assert dump_tick(test.tick) == before


PYTHON = """
from dataclasses import dataclass
from bondloop.bondgraph import C, I, Model, One, R, Se, Zero
from bondloop.control import Direct

def chain(hardening=1.0):
    whole = Model("oscillator")
    whole.push, whole.v, whole.mass = Se("F"), One(), I(mass=2.0)
    whole.spring = C(law=lambda x: x + hardening * x**3)
    whole.w, whole.link, whole.damper = One(), C(stiffness=3.0), R(damping=1.0)
    whole.push >> whole.v >> [whole.mass, whole.spring]
    whole.z = Zero()
    whole.v >> whole.z >> whole.w >> whole.damper
    whole.z >> whole.link
    return whole

whole = chain()

@dataclass(frozen=True)
class Careful(Direct):
    care: float = 1.0

def broken():
    return 1 / 0
"""

FILE = """
rate = 200
cut = "v >> z"
[structure]
model = "models/chain.py:chain"
hardening = 2
[rig]
rig = "Emulated"
actuators = {transfer = "MassSpringDamper", m = 1, c = 20, k = 400, drive = "position"}
[controller]
controller = "models/chain.py:Careful"
care = 2
[excitation]
F = {signal = "Sine", amplitude = 1, frequency = 1}
"""


def test_a_python_file_is_named_and_its_path_is_relative_to_the_file(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "chain.py").write_text(PYTHON)
    (tmp_path / "test.toml").write_text(FILE)
    test = files.load(tmp_path / "test.toml")
    assert type(test.controller).__name__ == "Careful"
    assert test.controller.care == 2
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    text = files.to_toml(test, elsewhere / "again.toml")
    document = tomllib.loads(text)
    assert document["structure"]["model"] == "../models/chain.py:chain"
    assert document["controller"]["controller"] == "../models/chain.py:Careful"
    other = files.load(elsewhere / "again.toml")
    assert dump_tick(other.tick) == dump_tick(test.tick)
    assert other.describe() == test.describe()
    one = files.load_text(FILE.replace(":chain", ":whole").replace("hardening = 2", ""), tmp_path).test
    assert len(one.tick.states) == len(test.tick.states)
    for wrong, words in (
        (":chian", "unknown name 'chian' of .*; did you mean 'chain'"),
        (":broken", "ZeroDivisionError: division by zero"),
    ):
        text = FILE.replace(":chain", wrong).replace("hardening = 2", "")
        with pytest.raises(InputError, match=words):
            files.load_text(text, tmp_path)
    with pytest.raises(InputError, match=r"there is no such file"):
        files.load_text(FILE, tmp_path / "models")


def test_a_class_of_ones_own_in_a_module_is_named_by_its_file(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(PYTHON)
    monkeypatch.syspath_prepend(tmp_path)
    mine = importlib.import_module("mine")
    test = hybrid(oscillator(None), mine.Careful(care=3.0))
    text = files.to_toml(test, tmp_path / "test.toml")
    assert tomllib.loads(text)["controller"] == {"controller": "mine.py:Careful", "care": 3.0}
    assert files.load(tmp_path / "test.toml").controller.care == 3.0

    @dataclass(frozen=True)
    class Hidden(bl.control.Direct):
        pass

    with pytest.raises(InputError, match="controller: Hidden is defined where a file cannot find it"):
        files.to_toml(hybrid(oscillator(None), Hidden()))


def test_nothing_runs_unless_a_python_file_is_named(tmp_path):
    """Names of modules, of builtins and of functions in them are no kinds; run files never run Python."""
    for name in ("os:system", "os.system", "builtins:exec", "bondloop.papers", "__import__"):
        for family in ("model", "controller", "signal", "part"):
            with pytest.raises(InputError, match=r"unknown|expected a model; found a"):
                files.load_text(f'structure = {{{family} = "{name}"}}', tmp_path)
    (tmp_path / "bad.py").write_text("raise SystemExit('it ran')")
    with pytest.raises(InputError, match="Python files are not read here"):
        bl.signals.signal_from({"signal": f"{tmp_path / 'bad.py'}:signal"})


def test_a_class_of_the_prompt_is_no_part_of_a_file():
    """What Python runs from a text, python -c or its prompt, is in no file."""
    program = """
from bondloop.control import ControlLaw
from bondloop.files import to_toml
from bondloop.papers import gawthrop_three_mass
from bondloop.errors import InputError
class Mine(ControlLaw):
    def step(self, desired, measured):
        return desired.displacement
try:
    to_toml(gawthrop_three_mass.test().replaced(controller=Mine()))
except InputError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Mine is defined where a file cannot find it" in said.stdout
