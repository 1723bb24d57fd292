"""What a caller changes after a part is made does not change the part."""

import pytest

import bondloop as bl
from bondloop import files
from bondloop.control import AdaptiveVirtualJunction, VirtualJunction
from bondloop.papers import gawthrop_three_mass
from bondloop.rigs import Emulated, LoadCell
from bondloop.structures import ShearBuilding
from bondloop.transfer import MassSpringDamper


def parts():
    actuators, sensors = [MassSpringDamper(1, 2, 3)], {"force": LoadCell("100 N")}
    physical = gawthrop_three_mass.model().cut("m2.right >> m3.left")[1]
    yield Emulated(physical, actuators, sensors), (actuators, sensors)
    models, names = [MassSpringDamper(1, 2, 3)], ["damper.damping"]
    yield VirtualJunction(models), (models,)
    yield AdaptiveVirtualJunction(models := [*models], names), (models, names)
    masses, stiffnesses, rayleigh = [1.0], [2.0], [0.1, 0.2]
    yield ShearBuilding(masses, stiffnesses, rayleigh=rayleigh), (masses, stiffnesses, rayleigh)


@pytest.mark.parametrize(("part", "arguments"), list(parts()), ids=lambda x: type(x).__name__)
def test_arguments_are_copied(part, arguments):
    before = part.describe()
    for argument in arguments:
        argument.clear()
    assert part.describe() == before


def test_arguments_of_a_test_are_copied():
    test = gawthrop_three_mass.test()
    model = gawthrop_three_mass.model()
    outputs, values, record = ["m1.v.flow"], {"numerical.m1.I.mass": 3.0}, ["numerical.m1.v.flow"]
    excitation = dict(test.excitation)
    again = test.replaced(
        reference=(model, outputs), values=values, record=record, excitation=excitation, name="again"
    )
    before = again.describe()
    for argument in (outputs, values, record, excitation):
        argument.clear()
    assert again.describe() == before
    assert bl.files.load_text(files.to_toml(again)).test == again
