"""All faults of one part at once, each at its own line; and entries changed by path."""

import pytest

from bondloop import files
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.errors import FaultsError, InputError
from bondloop.hybrid import HybridTest
from bondloop.rigs import Emulated
from bondloop.transfer import MassSpringDamper

GOOD = """
name = "damper"
rate = "1 kHz"
cut = "m2.right >> m3.left"
controller = "Direct"
structure = "gawthrop-three-mass"

[excitation.r]
signal = "Sine"
amplitude = 0.05
frequency = "0.5 Hz"

[rig.actuators]
transfer = "MassSpringDamper"
m = "1 kg"
c = 20
k = "400 N/m"
drive = "position"

[limits]
displacement = "200 mm"
velocity = 5
"""


def faults_of(*changes):
    text = GOOD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(FaultsError) as caught:
        files.load_text(text, name="f")
    first, *rest = str(caught.value).splitlines()
    assert first == f"f: {len(rest)} faults:"
    return [line.strip() for line in rest]


def test_every_limit_is_looked_at():
    told = faults_of(('"200 mm"', '"2 N"'), ("velocity = 5", 'velocity = -5\nforce = "1 m"\ncommand = "x"'))
    assert [line.partition(": ")[0] for line in told] == [
        "line 21, limits.displacement",
        "line 22, limits.velocity",
        "line 23, limits.force",
        "line 24, limits.command",
    ]
    assert told[1].endswith("expected a number above 0; found -5")


def test_every_setting_of_an_actuator_is_looked_at_and_called_as_it_is_there():
    told = faults_of(
        ('m = "1 kg"', "m = -1"), ("c = 20", 'c = "20 kg"'), ('"400 N/m"', '"400 s"'), ('"position"', '"foo"')
    )
    assert [line.partition(": ")[0] for line in told] == [
        f"line {15 + i}, rig.actuators.{word}" for i, word in enumerate(("m", "c", "k", "drive"))
    ]
    assert told[3].endswith("expected 'force' or 'position'; found 'foo'")


def test_the_rate_beside_others():
    told = faults_of(('"1 kHz"', '"1 kg"'), ('"Direct"', '"Foo"'), ('"200 mm"', "0"))
    assert told[0] == "line 3, rate: expected a quantity in Hz, or another unit of its kind; found '1 kg'"
    assert len(told) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"c": "20 kg"}, r"MassSpringDamper\(c\): expected a quantity in N s/m"),
        ({"k": "20 kg"}, r"MassSpringDamper\(k\): expected a quantity in N/m"),
        ({"k": "20 kg", "drive": "position"}, r"MassSpringDamper\(k\): expected a quantity in N/m"),
    ],
)
def test_an_actuator_calls_its_arguments_by_their_names(arguments, words):
    with pytest.raises(InputError, match=words):
        MassSpringDamper(**{"m": 1, "c": 2, "k": 3} | arguments)


def test_limits_can_be_set_that_the_file_does_not_have():
    changes = {"limits.force": "5 N"}
    assert files.load_text(GOOD, changes=changes).test.limits.force == 5.0
    none = GOOD.partition("[limits]")[0]
    limits = files.load_text(none, changes=changes).test.limits
    assert (limits.force, limits.displacement) == (5.0, None)
    with pytest.raises(InputError, match="unknown entry 'froce' of Limits; did you mean 'force'"):
        files.load_text(GOOD, changes={"limits.froce": "5 N"})
    changed = files.load_text(GOOD, changes={"rig.transfer.mass.mass": "2 kg"}).test
    assert changed.overrides == {"rig.transfer.mass.mass": 2.0}


def test_a_unit_in_a_file_is_looked_at_as_one_in_python_is():
    text = GOOD.replace("amplitude = 0.05", 'amplitude = "5 kg"')
    with pytest.raises(InputError, match="is in kg"):
        files.load_text(text)


def test_a_part_may_be_called_python():
    model = Model("machine")
    model.push, model.v, model.python = Se("push"), One(), One()
    model.push >> model.v >> [I(mass=2.0), C(stiffness=500.0), R(damping=12.0)]
    model.python >> [I(mass=1.0), R(damping=3.0)]
    model.v >> model.python
    numerical, physical = model.cut("v >> python")
    rig = Emulated(physical, MassSpringDamper(1, 40, 400, drive="position"))
    controller = files.load_text(GOOD).test.controller
    test = HybridTest(numerical, rig=rig, controller=controller, excitation={"push": 1.0}, rate=1000)
    again = files.load_text(files.to_toml(test)).test
    assert again == test
    assert "python" in repr(test)
