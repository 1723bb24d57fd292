"""Calls with wrong arguments: the near name is said, and what is right goes through untouched."""

import copy
import dataclasses
import inspect
import pickle

import numpy as np
import pytest

import bondloop as bl
import bondloop.bondgraph as bg
from bondloop.bondgraph import SS, C, Clutch, Df, Diode, I, Model, One, R, Se, Stop, Switch
from bondloop.calls import clear_call
from bondloop.errors import InputError
from bondloop.program.system import System


def system():
    model = Model("oscillator")
    model.v = One()
    Se("F") >> model.v >> [I(mass=1.0), C(stiffness=2.0), R(damping=0.1)]
    return model.compile(outputs=["v.flow"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: system().simulate(1, parameters={}), r"'parameters' of simulate; it is called 'values'"),
        (lambda: system().simulate(1, start=[]), r"'start' of simulate; it is called 'initial'"),
        (lambda: system().steady_state(value={}), r"'value' of steady_state; did you mean 'values'"),
        (lambda: system().linearise(state={}), r"'state' of linearise; did you mean 'states'"),
        (lambda: system().poles(params={}), r"'params' of poles; it is called 'values'"),
        (lambda: system().numeric().poles(3), r"poles takes no arguments; found 1"),
        (lambda: system().simulate(), r"simulate needs the argument 'duration'; known: duration, inputs"),
        (lambda: system().inverse("v.flow"), r"inverse needs the argument 'input'"),
        (lambda: system().simulate(1, duration=1), r"'duration' is given twice"),
        (lambda: Model("m").compile(output=[]), r"'output' of compile; did you mean 'outputs'"),
        (lambda: Model("m").draw(titel=""), r"'titel' of draw; did you mean 'title'"),
        (lambda: Model(nam="m"), r"'nam' of Model; did you mean 'name'"),
        (lambda: Clutch(static=3), r"unknown argument 'static' of Clutch; known: capacity"),
        (Clutch, r"Clutch needs the argument 'capacity'"),
        (lambda: Stop(gaps=1), r"'gaps' of Stop; did you mean 'gap'"),
        (lambda: Switch("a", "b"), r"Switch takes 1 by place, the others by name; found 2"),
        (lambda: SS(impose="effort"), r"'impose' of SS; did you mean 'imposes'"),
        (lambda: One(sizes=2), r"'sizes' of One; did you mean 'size'"),
        (lambda: Diode(1), r"Diode takes no arguments; found 1"),
        (lambda: Df("x"), r"Df takes no arguments; found 1"),
    ],
)
def test_what_is_wrong_is_said(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("name", [n for n in bg.__all__ if inspect.isclass(getattr(bg, n)) and n != "Bond"])
def test_no_part_takes_an_argument_that_does_not_exist(name):
    if name == "Multiport":  # has no ports, and says so first
        return
    with pytest.raises(InputError):
        getattr(bg, name)(no_such_argument=1)


@pytest.mark.parametrize(
    "name", [n for n, f in vars(System).items() if inspect.isfunction(f) and n[0] != "_"]
)
def test_no_method_of_a_system_takes_one(name):
    if name != "replaced":  # takes any part of the definition
        with pytest.raises(InputError, match=f"'no_such_argument' of {name}"):
            getattr(system(), name)(no_such_argument=1)


class Own(Model):
    def __init__(self, mass, stiffness=1.0):
        self.v = One()
        self.v >> [I(mass=mass), C(stiffness=stiffness)]


def test_parts_of_one_s_own_too():
    with pytest.raises(InputError, match=r"'stifness' of Own; did you mean 'stiffness'"):
        Own(1.0, stifness=2.0)
    with pytest.raises(
        InputError, match=r"unknown parameter 'mas'"
    ):  # the error within is the one that is told
        type("Wrong", (Model,), {"__init__": lambda self: setattr(self, "m", I(mas=1.0))})()
    assert Own(2.0).compile().states == ("I.momentum", "C.displacement")
    assert list(inspect.signature(Own).parameters) == ["mass", "stiffness"]


def test_an_error_within_is_not_hidden():
    @clear_call
    def broken(x):
        return x + "1"

    with pytest.raises(TypeError, match="unsupported operand"):
        broken(1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bl.signals.Sine(amplitud=1, frequency=2), "'amplitud' of Sine; did you mean 'amplitude'"),
        (lambda: bl.signals.Sine(1.0), "Sine needs the argument 'frequency'"),
        (bl.rigs.Noise, "Noise needs the argument"),
        (lambda: bl.control.LeadCompensation(dely=1), "'dely' of LeadCompensation; did you mean 'delay'"),
        (bl.rigs.Emulated, "Emulated needs the argument"),
        (lambda: bl.safety.Limits(displacment=1), "'displacment' of Limits; did you mean 'displacement'"),
        (lambda: bl.integrate.RK4(order=4), "RK4"),
        (bl.HybridTest, "HybridTest needs the arguments 'numerical' and 'rig'"),
        (lambda: bl.HybridTest(None, exitation={}), "'exitation' of HybridTest; did you mean 'excitation'"),
    ],
)
def test_values_and_tests_answer_in_a_sentence_too(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_what_a_value_takes_is_still_known_and_copies_are_made():
    assert list(inspect.signature(bl.signals.Sine).parameters)[:2] == ["amplitude", "frequency"]
    sine = bl.signals.Sine(1.0, 2.0)
    assert copy.copy(sine) == pickle.loads(pickle.dumps(sine)) == dataclasses.replace(sine) == sine


@pytest.mark.parametrize("value", ["false", "no", "", 0, 1, None])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x: bl.control.MCS(coupled=x), r"MCS\(coupled\)"),
        (lambda x: bl.control.DiscreteMCS(coupled=x), r"DiscreteMCS\(coupled\)"),
        (lambda x: bl.transfer.ServoHydraulic(linear=x), r"ServoHydraulic\(linear\)"),
        (lambda x: bl.transfer.ElectroMechanical(winding=x), r"ElectroMechanical\(winding\)"),
        (lambda x: bl.rigs.Noise(1.0, common=x), r"Noise\(common\)"),
        (
            lambda x: bl.HybridTest(None, rig=None, controller=None, rate=1, feedback=x),
            r"HybridTest\(feedback\)",
        ),
    ],
)
def test_a_truth_is_true_or_false(make, name, value):
    with pytest.raises(InputError, match=rf"{name}: expected True or False; found {value!r}"):
        make(value)


def test_truths_of_numpy_are_truths():
    assert bl.control.MCS(coupled=np.bool_(True)).coupled
