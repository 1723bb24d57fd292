"""Transfer systems that give a force, and specimens that begin with a mass, with every kind of controller."""

import math

import pytest

from bondloop import control
from bondloop.bondgraph import (
    MC,
    C,
    Function,
    I,
    Input,
    Model,
    MSe,
    One,
    Port,
    R,
    Se,
    Sf,
    SignalIntegrator,
    Zero,
)
from bondloop.errors import ForceOutputError, InputError, ModelError
from bondloop.hybrid import HybridTest
from bondloop.rigs import Emulated
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper, first_order, transfer_system
from bondloop.transfer.base import force_output


class Soft(Model):
    """A set point that pulls at the far end of a spring; at its near end nothing but the port."""

    def __init__(self, k=2e5):
        super().__init__("soft")
        self.v, self.out, self.command = One(), Port(), Input("x_d")
        self.spring = MC(lambda q, x_d, stiffness: stiffness * (q - x_d), stiffness=k)
        self.command >> self.spring
        self.v >> [self.spring, self.out]


class Lagged(Model):
    """The same spring behind a lag of first order."""

    def __init__(self):
        super().__init__("lagged")
        self.v, self.out, self.command, self.x = One(), Port(), Input("x_d"), SignalIntegrator()
        self.lag = Function(lambda u, x: 400 * (u - x))
        self.spring = MC(lambda q, x_d, stiffness: stiffness * (q - x_d), stiffness=2e5)
        [self.command, self.x] >> self.lag >> self.x >> self.spring
        self.v >> [self.spring, self.out]


class Force(Model):
    """A pure force."""

    def __init__(self):
        super().__init__("pure_force")
        self.v, self.out, self.command = One(), Port(), Se("u")
        self.command >> self.v >> self.out


class Series(Model):
    """A velocity on one end of a spring, the port on the other."""

    def __init__(self):
        super().__init__("series")
        self.force, self.out, self.command = Zero(), Port(), Sf("v_d")
        self.command >> self.force >> self.out
        self.force >> C(stiffness=2e4)


class LaggedForce(Model):
    """A force behind a lag, as of a coil."""

    def __init__(self):
        super().__init__("coil")
        self.v, self.out, self.command, self.x, self.push = (
            One(),
            Port(),
            Input("u"),
            SignalIntegrator(),
            MSe(),
        )
        self.lag = Function(lambda u, x: 200 * (u - x))
        [self.command, self.x] >> self.lag >> self.x >> self.push >> self.v >> self.out


FORCES = [Soft, Lagged, Force, Series, LaggedForce]


def structure(payload, drag):
    """A mass on a spring from a wall, with a payload bolted to it: the cut goes between the two masses."""
    m = Model("structure")
    m.wall, m.shear, m.v, m.w = Sf("v_wall"), Zero(), One(), One()
    m.spring, m.mass, m.damper = C(stiffness=5e3), I(mass=4.0), R(damping=40.0)
    m.payload, m.drag = I(mass=payload), R(damping=drag)
    m.wall >> m.shear >> m.v >> m.w >> [m.payload, m.drag]
    m.shear >> m.spring
    m.v >> [m.mass, m.damper]
    return m


def a_test(actuator, controller, payload=0.05, drag=200.0):
    numerical, physical = structure(payload, drag).cut("v >> w")
    return HybridTest(
        numerical,
        rig=Emulated(physical, actuator, substeps=16),
        controller=controller,
        excitation={"v_wall": Sine("1 mm", 2.0).derivative()},
        rate=1000,
    )


def error(run):
    assert run.completed, run.record.attributes["message"]
    return run.metrics[0]["normalised_rms_error"]


COMPENSATORS = {
    "PolynomialPrediction": lambda: control.PolynomialPrediction(0.001, order=2),
    "LeadCompensation": lambda: control.LeadCompensation(0.001),
    "AdaptiveTimeSeries": control.AdaptiveTimeSeries,
    "AdaptivePrediction": lambda: control.AdaptivePrediction(0.001, order=2),
    "AdaptiveModelBased": lambda: control.AdaptiveModelBased(0.001),
    "InverseModel": lambda: control.InverseModel(first_order(1.0, 0.001)),
}


@pytest.mark.parametrize("actuator", FORCES)
def test_what_gives_a_force_is_told_in_words_of_the_actuator(actuator):
    given = actuator()
    with pytest.raises(ForceOutputError) as caught:
        transfer_system(given, "rig.transfer.")
    words = str(caught.value)
    assert words.startswith(f"the transfer system {given._name} gives a force at its port 'out'")
    assert "load." not in words
    assert isinstance(caught.value, ModelError)
    assert force_output(given, "a.").velocity.name == "a.load.flow"


def test_a_model_that_is_wrong_in_itself_keeps_its_own_error():
    wrong = Soft()
    wrong.v >> [Sf("a"), Sf("b")]
    with pytest.raises(ModelError) as caught:
        transfer_system(wrong)
    assert not isinstance(caught.value, ForceOutputError)


@pytest.mark.parametrize("actuator", [Soft, Lagged])
def test_direct_sends_a_set_point_through_a_spring_as_it_is(actuator):
    test = a_test(actuator(), control.Direct())
    assert test.parameters["controller.gain"] == pytest.approx(1.0, rel=1e-6)
    assert error(test.run(1)) < 0.1


@pytest.mark.parametrize("actuator", [Force, LaggedForce, Series])
def test_direct_needs_a_place_to_come_to_rest(actuator):
    given = actuator()
    with pytest.raises(InputError, match=rf"{given._name} has no static gain from command to displacement"):
        _ = a_test(given, control.Direct()).design


@pytest.mark.parametrize("name", COMPENSATORS)
@pytest.mark.parametrize("actuator", [Soft, Lagged])
def test_compensators_need_no_model_of_it(actuator, name):
    assert error(a_test(actuator(), COMPENSATORS[name]()).run(1)) < 0.15


def test_a_virtual_junction_inverts_a_spring_without_mass():
    """u = x_N + F_P/k, the limit of (m dv/dt + k x_N + F_P)/k for a mass that vanishes."""
    soft = Soft(2e5)
    test = a_test(soft, control.VirtualJunction(soft))
    run = test.run(1)
    # The error is added up once a sample, so what is left is one sample of lag: ωT at 2 Hz and 1 kHz.
    assert error(run) == pytest.approx(4e-3 * math.pi, rel=0.1)
    command = run["desired.displacement"] + run["measured.force"] / 2e5
    assert run["command"] == pytest.approx(command, abs=1e-12)
    assert error(run) < error(a_test(soft, control.Direct()).run(1))


@pytest.mark.parametrize(
    ("actuator", "words"),
    [
        (Force, "pure_force: it is a pure force, which is the same wherever its port moves"),
        (LaggedForce, "coil: it is a pure force"),
        (Series, "series: it gives a force at its port, and its command reaches that force only through"),
        (Lagged, "lagged: it gives a force at its port, and its command reaches that force only through"),
    ],
)
def test_a_virtual_junction_says_why_it_cannot_use_the_others(actuator, words):
    given = actuator()
    with pytest.raises(ModelError, match=words) as caught:
        _ = a_test(given, control.VirtualJunction(given)).design
    assert "load." not in str(caught.value)
    assert "add the mass that moves with it" in str(caught.value)


@pytest.mark.parametrize("name", ["Direct", "VirtualJunction", *COMPENSATORS])
@pytest.mark.parametrize("payload", [0.5, 3.0])
def test_a_specimen_that_begins_with_a_mass_runs_with_every_controller(name, payload):
    actuator = MassSpringDamper(2.0, 150.0, 15e4, drive="position")
    made = {
        "Direct": control.Direct,
        "VirtualJunction": lambda: control.VirtualJunction(actuator),
        **COMPENSATORS,
    }
    test = a_test(actuator, made[name](), payload, drag=5.0)
    assert test.rig_system.system.dependent  # the two masses move as one
    assert error(test.run(1)) < (0.02 if name == "VirtualJunction" else 0.15)
