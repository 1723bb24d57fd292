"""What an emulated rig is made of."""

import pytest

from bondloop.errors import InputError
from bondloop.rigs import Emulated, nothing_mounted
from bondloop.transfer import MassSpringDamper

ACTUATOR = MassSpringDamper(1, 2, 3)


@pytest.mark.parametrize(
    "physical", [None, "m3", ACTUATOR.describe(), (nothing_mounted(), nothing_mounted())], ids=type
)
def test_what_is_no_half_is_refused_when_the_rig_is_made(physical):
    with pytest.raises(
        InputError, match=r"Emulated\(physical\): expected the physical half .*mounted.*; found"
    ):
        Emulated(physical, ACTUATOR)


def test_a_rig_without_a_specimen_is_said_so():
    assert Emulated(nothing_mounted(), ACTUATOR).system().commands
