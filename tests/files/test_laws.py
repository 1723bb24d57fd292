"""Controllers and specimens of one's own in test files: by the Python file that has their class."""

import importlib
import sys

import pytest

from bondloop import files
from bondloop.engine.ir.tick_json import dump_tick
from bondloop.errors import BondloopError, InputError

PYTHON = '''
"""My own controller and specimen."""
import bondloop as bl
from bondloop.bondgraph import I, Model, One, R, Se
from bondloop.control import ControlLaw
from bondloop.extend import Parameter
from bondloop.devices import OdeSpecimen


class Lead(ControlLaw):
    """A lead with an integral."""

    ahead: float = 0.01
    gain: Parameter = Parameter(2.0, least=0)
    taps: int = 2
    states = {"sum": 0.0}

    def step(self, desired, measured):
        self.sum = self.sum + self.gain * self.period * (desired.displacement - measured.displacement)
        return desired.displacement + self.ahead * desired.velocity + self.sum / self.taps


class Hardening(OdeSpecimen):
    """A spring that hardens and creeps."""

    stiffness: float = 400.0
    cubic: float = 1e5
    states = {"creep": 0.0}

    def rates(self, motion):
        return {"creep": (motion.displacement - self.creep) / 2.0}

    def force(self, motion):
        x = motion.displacement - 0.1 * self.creep
        return self.stiffness * x + self.cubic * x**3


def make(**options):
    floor = Model("floor")
    floor.push, floor.v, floor.spring = Se("F"), One(), Hardening(stiffness="0.5 kN/m").element()
    floor.push >> floor.v >> [I(mass=20.0), R(damping=120.0), floor.spring]
    numerical, physical = floor.cut("v >> spring")
    actuator = bl.transfer.MassSpringDamper(m=2, c=150, k=15e3, drive="position")
    return bl.HybridTest(
        numerical, rig=bl.rigs.Emulated(physical, actuator), rate=1000,
        excitation={"F": bl.signals.Sine(10.0, 2.0)}, **{"controller": Lead("8 ms", taps=3), **options},
    )
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "my_laws.py").write_text(PYTHON)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_laws", raising=False)
    importlib.invalidate_caches()
    return importlib.import_module("my_laws")


def test_there_and_back(module, tmp_path):
    test = module.make(values={"controller.gain": 5.0, "rig.specimen.spring.cubic": 2e5})
    text = files.to_toml(test, tmp_path / "test.toml")
    assert 'controller = "my_laws.py:Lead"' in text
    assert 'ode = "my_laws.py:Hardening"' in text
    again = files.load(tmp_path / "test.toml")
    assert dump_tick(again.tick) == dump_tick(test.tick)
    assert files.to_toml(again, tmp_path / "again.toml") == text


@pytest.mark.parametrize(
    ("wrong", "right", "words"),
    [
        ("gain = 2.0", "gain = -2.0", "at least 0"),
        ("taps = 3", "tapes = 3", "tapes"),
        ("stiffness = 500.0", 'stiffness = "stiff"', "stiffness"),
        ('"my_laws.py:Lead"', '"my_laws.py:Leda"', "Leda"),
    ],
)
def test_faults_are_named_by_place(module, tmp_path, wrong, right, words):
    text = files.to_toml(module.make(), tmp_path / "test.toml")
    assert wrong in text
    (tmp_path / "wrong.toml").write_text(text.replace(wrong, right))
    with pytest.raises(BondloopError, match=words):
        files.load(tmp_path / "wrong.toml")


def test_a_run_tells_what_stood_in_the_files_of_its_laws(module, tmp_path):
    """The folder is left out, and another content under the same name is another file."""
    from hashlib import sha256

    test = module.make()
    digest = sha256((tmp_path / "my_laws.py").read_bytes()).hexdigest()[:16]
    assert test.about()["files"] == {"my_laws.py:Lead": digest, "my_laws.py:Hardening": digest}
    assert str(tmp_path) not in str(test.about())
    (tmp_path / "my_laws.py").write_text(PYTHON + "\n# changed\n")
    assert test.about()["files"]["my_laws.py:Lead"] != digest
    (tmp_path / "my_laws.py").unlink()
    assert "files" not in test.about()


def test_a_python_function_is_not_data(module):
    test = module.make(controller=lambda desired, _measured, _time: desired.displacement)
    with pytest.raises(InputError, match=r"controller.function: it is a lambda"):
        files.to_toml(test)
