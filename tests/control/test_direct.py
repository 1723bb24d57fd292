"""The direct command: the desired displacement over the static gain."""

import math

import numpy as np
import pytest

from bondloop.bondgraph import I, Model, One, Port, R, Se
from bondloop.control import Direct
from bondloop.errors import InputError
from bondloop.hybrid import HybridTest
from bondloop.papers import gawthrop_three_mass as three
from bondloop.rigs import Emulated
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper


def a_test(actuator, frequency=1 / (2 * math.pi), **options):
    numerical, physical = three.symbolic_model().let(**three.VALUES, k3=1).cut(three.CUT)
    return HybridTest(
        numerical,
        rig=Emulated(physical, actuator),
        controller=Direct(),
        excitation={"r": Sine(0.1, frequency)},
        rate=1000,
        **options,
    )


@pytest.mark.parametrize(
    ("actuator", "gain"),
    [(MassSpringDamper(1, 30, 500), 500.0), (MassSpringDamper(1, 30, 500, drive="position"), 1.0)],
    ids=["force", "position"],
)
def test_the_command_is_the_desired_displacement_over_the_static_gain(actuator, gain):
    """A force command must be k x; a set point is the displacement itself."""
    run = a_test(actuator, feedback=False).run(20)
    assert run["command"] == pytest.approx(gain * run["desired.displacement"], rel=1e-6)
    assert a_test(actuator).parameters["controller.gain"] == pytest.approx(gain, rel=1e-6)


def test_an_open_loop_lags_by_the_static_lag():
    """Slow motion lags by c/k: 30/500 s = 60 ms behind the command."""
    run = a_test(MassSpringDamper(1, 30, 500, drive="position"), feedback=False).run(60)
    later = run.time > 30
    desired, actual = run["desired.displacement"][later], run["actual.displacement"][later]
    shifted = desired[: -60 or None]
    assert np.abs(actual[60:] - shifted).max() < 0.05 * np.abs(desired).max()


def test_an_actuator_that_rests_nowhere_is_refused():
    class Free(Model):
        def __init__(self):
            self.v, self.out, self.command = One(), Port(), Se("u")
            self.command >> self.v >> [I(mass=1), R(damping=1), self.out]

    with pytest.raises(InputError, match="no static gain from command to displacement"):
        a_test(Free()).run(1)
