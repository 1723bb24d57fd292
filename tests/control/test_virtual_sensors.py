"""Virtual sensors of a controller of one's own: variables of the numerical half that its step reads."""

# ruff: noqa: ARG002, RUF012 - laws as users write them
import numpy as np
import pytest

from bondloop.control import ControlLaw, Desired, Measured
from bondloop.errors import InputError, ModelError, UnknownNameError
from bondloop.hybrid import HybridTest
from bondloop.identify import Experiment
from bondloop.papers import gawthrop_two_actuators as two
from bondloop.rigs import Emulated, nothing_mounted
from bondloop.transfer import MassSpringDamper


class Lead(ControlLaw):
    """Ahead by the desired velocity."""

    ahead: float = 0.01

    def step(self, desired, measured):
        return desired.displacement + self.ahead * desired.velocity


class SensedLead(ControlLaw):
    """The same, with the velocity of mass 1, and the stretch of its spring, read where they are."""

    ahead: float = 0.01
    sensors = {"speed": "numerical.mn1.v.flow", "stretch": "numerical.outer1.C.displacement"}
    states = {"last": 0.0}
    record = {"last": "m"}

    def step(self, desired, measured):
        self.last = self.stretch
        return desired.displacement + self.ahead * self.speed


def a_test(controller):
    numerical, physical = two.model().cut(*two.CUTS)
    actuators = [MassSpringDamper(two.MASS, c, k, drive="position") for c, k in two.TABLE_I]
    return HybridTest(
        numerical,
        rig=Emulated(physical, actuators),
        controller=controller,
        excitation=two.excitations("5/5", 1e-3),
        rate=1000,
        feedback=False,
        record=["numerical.outer1.C.displacement"],
    )


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_a_virtual_sensor_reads_what_the_numerical_half_has_at_this_sample(backend):
    sensed, told = (a_test(law).run(1.0, backend=backend) for law in (SensedLead(), Lead()))
    assert np.ptp(told["command[0]"]) > 1e-4
    assert sensed["command[0]"] == pytest.approx(told["command[0]"], rel=1e-12, abs=1e-18)
    # The second interface moves with mass 2, but the sensor is on mass 1.
    assert np.abs(sensed["command[1]"] - told["command[1]"]).max() > 1e-5
    stretch = sensed["numerical.outer1.C.displacement"]
    assert sensed["controller[0].last"][1:] == pytest.approx(stretch[:-1], rel=1e-12, abs=1e-18)


def test_it_can_be_tried_with_numbers():
    law = SensedLead(0.5).started(period=1e-3, speed=0.2, stretch=0.003)
    assert law.step(Desired(1.0), Measured()) == pytest.approx(1.1)
    assert law.last == 0.003
    with pytest.raises(InputError, match="unknown state 'sped'"):
        SensedLead().started(period=1e-3, sped=0.2)


def test_a_path_that_is_none_is_refused_with_the_nearest():
    class Misspelt(ControlLaw):
        sensors = {"speed": "numerical.mn1.v.flw"}

        def step(self, desired, measured):
            return self.speed

    with pytest.raises(UnknownNameError, match=r"numerical\.mn1\.v\.flow"):
        _ = a_test(Misspelt()).tick


@pytest.mark.parametrize(
    ("sensors", "reason"),
    [
        ({"gain": "numerical.mn1.v.flow"}, "none can be called 'gain'"),
        ({"sum": "numerical.mn1.v.flow"}, "none can be called 'sum'"),
        ({"time": "numerical.mn1.v.flow"}, "none can be called 'time'"),
        ({"a b": "numerical.mn1.v.flow"}, "none can be called 'a b'"),
        ({"speed": 3}, "expected paths by name"),
        (["numerical.mn1.v.flow"], "expected paths by name"),
    ],
)
def test_names_that_mean_something_else_are_refused(sensors, reason):
    with pytest.raises(ModelError, match=reason):
        type(
            "Wrong",
            (ControlLaw,),
            {"__annotations__": {"gain": float}, "gain": 1.0, "states": {"sum": 0.0}, "sensors": sensors},
        )


def test_without_a_numerical_half_there_is_nothing_to_read():
    rig = Emulated(nothing_mounted(), MassSpringDamper(1, 2, 300, drive="position"))
    with pytest.raises(ModelError, match="read the numerical half, and a compensator"):
        Experiment(rig, 1000.0, SensedLead()).tick()
