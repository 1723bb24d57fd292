"""Virtual sensors of a controller of one's own: variables of the numerical half that its step reads."""

# ruff: noqa: ARG002, RUF012 - laws as users write them
from itertools import pairwise

import numpy as np
import pytest
from gawthrop_rig import ScrewDrive
from scipy.integrate import solve_ivp

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


# ------------------------------------------------------------------ the model of the transfer system


MODELS = [MassSpringDamper(two.MASS, c, k, drive="position") for c, k in two.TABLE_I]


class Modelled(ControlLaw):
    """Hands the demand on, and keeps what the model of the transfer system says of it."""

    transfer = MODELS
    sensors = {"moved": "transfer.spring.displacement", "force": "transfer.spring.effort"}
    states = {"seen": 0.0}
    record = {"seen": "m"}

    def step(self, desired, measured):
        self.seen = self.moved
        return desired.displacement


class ModelledTogether(ControlLaw):
    """The same, as one step for both."""

    transfer = MODELS
    sensors = {"first": "transfer[0].spring.displacement", "second": "transfer[1].spring.displacement"}
    coupled = True

    def step(self, desired, measured):
        return desired.displacement


class DrivenByModel(ControlLaw):
    """Ahead by the velocity that the model says the transfer system has."""

    ahead: float = 0.004
    transfer = MODELS[0]
    sensors = {"speed": "transfer.v.flow", "demand": "numerical.mn1.v.flow"}

    def step(self, desired, measured):
        return desired.displacement + self.ahead * (self.demand - 0.5 * self.speed)


def rehearsed(controller, backend="c", rate=1000):
    numerical, physical = two.model().cut(*two.CUTS)
    test = HybridTest(
        numerical,
        rig=Emulated(physical, MODELS),
        controller=controller,
        excitation=two.excitations("5/5", 1e-3),
        rate=rate,
        feedback=False,
    )
    return test.run(1.0, backend=backend)


def test_the_model_beside_the_rig_moves_as_the_rig():
    """The emulated rig is the model, and the load straight between samples where the rig's is curved.

    So they part with the square of the period: a quarter at twice the rate.
    """
    apart = []
    for rate in (1000, 2000):
        run = rehearsed(Modelled(), rate=rate)
        for i in range(2):
            x, seen = run[f"actual.displacement[{i}]"], run[f"controller[{i}].moved"]
            assert np.abs(x).max() > 1e-4
            apart.append(np.abs(seen - x).max() / np.abs(x).max())
            assert run[f"controller[{i}].seen"][1:] == pytest.approx(seen[:-1], rel=1e-12, abs=1e-18)
    assert max(apart) < 1e-4
    assert np.array(apart[:2]) / apart[2:] == pytest.approx(4.0, rel=0.1)


def test_a_direct_path_reads_the_command_that_still_acts():
    """Position drive: the force of the spring is k (x - x_d), x_d that of the sample before."""
    run = rehearsed(Modelled())
    for i, (_, k) in enumerate(two.TABLE_I):
        held = np.concatenate([[0.0], run[f"command[{i}]"][:-1]])
        expected = k * (run[f"controller[{i}].moved"] - held)
        assert np.abs(run[f"controller[{i}].force"]) == pytest.approx(np.abs(expected), rel=1e-9, abs=1e-9)


def test_a_coupled_law_reads_both_models_by_number():
    together, apart = rehearsed(ModelledTogether()), rehearsed(Modelled())
    for i, word in enumerate(("first", "second")):
        assert together[f"controller.{word}"] == pytest.approx(apart[f"controller[{i}].moved"], rel=1e-12)


def test_what_is_read_enters_the_command_alike_in_both_backends():
    c, numpy = (rehearsed(DrivenByModel(), backend) for backend in ("c", "numpy"))
    for i in range(2):
        assert c[f"command[{i}]"] == pytest.approx(numpy[f"command[{i}]"], rel=1e-12, abs=1e-18)
    # By hand: the command of a sample is the demand plus what both sensors read at it.
    speed, demand = c["controller[0].speed"], c["desired.velocity[0]"]
    expected = c["desired.displacement[0]"] + 0.004 * (demand - 0.5 * speed)
    assert c["command[0]"] == pytest.approx(expected, rel=1e-12, abs=1e-18)


@pytest.mark.parametrize("seed", range(8))
def test_a_model_that_is_not_the_rig_moves_as_scipy_says(seed):
    """Drawn models, half of them with dry friction: the recorded command held, the load straight between."""
    rng = np.random.default_rng([seed, 15])
    m, c, k = rng.uniform(1, 5), rng.uniform(20, 200), 10 ** rng.uniform(3, 4.5)
    dry = 0.3 * (seed % 2)

    class Beside(ControlLaw):
        transfer = ScrewDrive(k, c, dry, mass=m, width=0.01)
        sensors = {"momentum": "transfer.mass.momentum"}

        def step(self, desired, measured):
            return desired.displacement

    run = rehearsed(Beside(), rate=2000)
    t, command, load = run.time, run["command[0]"], run["measured.force[0]"]

    def rate(at, p):
        v = p[0] / m
        push = np.clip(k * command[min(int(at * 2000 + 1e-6), len(t) - 1)], -two.CAPACITY, two.CAPACITY)
        return [push - c * v - dry * np.tanh(v / 0.01) - np.interp(at, t, load)]

    p, expected = 0.0, [0.0]
    for a, b in pairwise(t[:401]):
        p = solve_ivp(rate, (a, b - 1e-9), [p], rtol=1e-9, atol=1e-15, method="DOP853").y[0, -1]
        expected.append(p)
    found = run["controller[0].momentum"][:401]
    assert np.abs(found).max() > 1e-5
    assert np.abs(found - expected).max() < 1e-4 * np.abs(found).max()


def test_a_model_that_starts_elsewhere_stands_there_at_the_first_sample():
    class Started(Modelled):
        transfer = MassSpringDamper(2.0, 3.0, 400.0, drive="position", velocity=0.5)

    run = rehearsed(Started())
    assert run["controller[0].moved"][0] == 0.0
    assert run["controller[0].moved"][1] == pytest.approx(0.5e-3, rel=2e-3)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sensors": {"moved": "transfer.sprig.displacement"}}, r"spring\.displacement"),
        ({"transfer": MODELS[:1]}, "found 1 models for 2 transfer systems"),
        ({"sensors": {"moved": "transfer[1].spring.displacement"}}, r"expected transfer\.\.\."),
        ({"transfer": None}, "unknown variable 'transfer.spring.displacement'"),
        ({"transfer": 3.0}, "expected a transfer system"),
    ],
)
def test_slips_are_told(changes, reason):
    law = type("Slip", (Modelled,), {"sensors": {"moved": "transfer.spring.displacement"}, **changes})
    with pytest.raises((InputError, ModelError), match=reason):
        rehearsed(law())
