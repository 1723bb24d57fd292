"""Compensators, imperfections and schemes that anyone may write: slips are told as those of the part."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

import bondloop as bl
from bondloop.control.base import Compensator
from bondloop.engine.ir.expr import Var, evaluate, function
from bondloop.engine.ir.statement import Assign
from bondloop.engine.passes.block import Applied, Context, applied_of
from bondloop.errors import InputError, ModelError
from bondloop.integrate.structural.base import Scheme, Stepped
from bondloop.integrate.structural.simulate import simulate_structure
from bondloop.papers import dubois_damper
from bondloop.rigs import Imperfection
from bondloop.transfer.base import capacity_of

Y = Var("y")
SLIPS = {
    "nothing": (lambda _: None, r"expected Applied\(steps, value\); found None"),
    "the value alone": (lambda v: v * 2, r"expected Applied\(steps, value\); found"),
    "a comparison": (
        lambda v: Applied([], v > 3),
        "found the comparison '.*'; choose between numbers by select",
    ),
    "logic": (lambda v: Applied([], bl.math.logical_not(v > 3)), "found the comparison"),
    "no value": (lambda _: Applied([], None), "expected an expression as the value; found None"),
    "a text": (lambda _: Applied([], "1"), "expected an expression as the value; found '1'"),
    "true": (lambda _: Applied([], True), "expected an expression as the value; found True"),
    "a list": (lambda v: Applied([], [v]), "expected an expression as the value"),
    "no steps": (lambda v: Applied(None, v), "expected a list of statements"),
    "one step": (lambda v: Applied(Assign(Y, v), v), "expected a list of statements"),
    "words": (lambda v: Applied(["y = 1"], v), "expected a list of statements"),
    "a state's name": (lambda v: Applied([], v, {"y": 0.0}), "initial values of states by variable"),
    "no start": (lambda v: Applied([], v, {Y: None}), "the state y: expected a number"),
    "a true start": (lambda v: Applied([], v, {Y: True}), "the state y: expected a number"),
    "no number": (lambda v: Applied([], v, {Y: np.nan}), "the state y: expected a finite number"),
    "adapted by name": (lambda v: Applied([], v, {}, adapted=("K",)), "variables that adapt"),
    "an if": (lambda v: Applied([], v if v > 3 else -v), "cannot be written down as statements: .*select"),
    "NumPy": (lambda v: Applied([], np.sin(v)), "cannot be written down as statements"),
    "a remainder": (lambda v: Applied([], v % 2), "cannot be written down as statements"),
    "a field": (lambda v: Applied([], v.displacement), "cannot be written down as statements"),
    "arguments": (lambda v: Applied([], function("sin", v, v)), "sin takes 1 arguments; found 2"),
}


@dataclass(frozen=True)
class Worse(Imperfection):
    """What a case says."""

    case: str = ""

    def apply(self, value, context):  # noqa: ARG002
        return SLIPS[self.case][0](value)


@dataclass(frozen=True)
class Ahead(Compensator):
    """What a case says."""

    case: str = ""

    def compensate(self, desired, measured, context):  # noqa: ARG002
        return SLIPS[self.case][0](desired)


@pytest.mark.parametrize("case", SLIPS)
def test_slips_of_an_imperfection(case):
    chain = bl.rigs.Chain((Worse(case),))
    with pytest.raises((InputError, ModelError), match=SLIPS[case][1]):
        chain.apply(Var("x"), Context("rig.force", Var("k"), 1e-3))


@pytest.mark.parametrize(
    "case", ["nothing", "the value alone", "a comparison", "no start", "an if", "arguments"]
)
def test_slips_of_a_compensator(case):
    test = dubois_damper.test().replaced(controller=Ahead(case))
    with pytest.raises((InputError, ModelError), match=rf"{SLIPS[case][1]}"):
        _ = test.tick


def test_a_method_that_is_not_written():
    class Empty(Imperfection):
        """Has no apply."""

    with pytest.raises(ModelError, match=r"Empty.apply is not written"):
        bl.rigs.Chain((Empty(),)).apply(Var("x"), Context("rig.force", Var("k"), 1e-3))


def test_numbers_and_functions_of_bondloop_math_are_values():
    class Sine:
        def apply(self, value):
            return Applied([], bl.math.sin(value) + bl.math.where(value > 1, bl.math.hypot(value, 2.0), 0))

    x = Var("x")
    made = applied_of(Sine(), "apply", x).value
    for at in (0.5, 1.5):
        wanted = np.sin(at) + (np.hypot(at, 2.0) if at > 1 else 0.0)
        assert evaluate(made, {x: at}) == pytest.approx(wanted, rel=1e-15)

    class Still:
        def apply(self, value):  # noqa: ARG002
            return Applied([], 2.0, {Y: "3 mm"})

    still = applied_of(Still(), "apply", x)
    assert evaluate(still.value, {}) == 2.0
    assert still.states == {Y: 0.003}


@dataclass(frozen=True)
class Own(Scheme):
    """Does what it is told."""

    order: ClassVar[int] = 1
    way: object = field(default=None, compare=False)

    def advance(self, equation):
        return self.way(equation.motion)


@pytest.mark.parametrize(
    ("way", "words"),
    [
        (lambda _: None, r"Own.advance: expected Stepped\(steps, command=...\); found None"),
        (lambda m: ([], m), r"expected Stepped"),
        (lambda _: Stepped([], command=[]), "expected command with 1 entries, .*; found 0"),
        (lambda _: Stepped(None, command=[1.0]), "expected a list of statements"),
        (lambda m: 0.1 * m.velocity, "Own.advance cannot be written down as statements: can't multiply"),
    ],
)
def test_slips_of_a_scheme(way, words):
    with pytest.raises(ModelError, match=words):
        simulate_structure(Own(way=way), 1, 0, 4, period=0.1, steps=2)


@pytest.mark.parametrize(
    ("capacity", "words"),
    [
        ({"velocity": np.nan}, r"capacity\['velocity'\]: expected a finite number"),
        ({"velocity": -1}, "expected a number above 0; found -1"),
        ({"velocity": True}, "found True"),
        ({"velocty": 0.3}, "velocty"),
        ({"velocity": "3 kg"}, "'3 kg'"),
        ({"force": [1, 2]}, "expected a number"),
        ([1], "expected a dictionary"),
    ],
)
def test_what_an_actuator_can_do_is_looked_at(capacity, words):
    class Drive:
        pass

    drive = Drive()
    drive.capacity = capacity
    with pytest.raises(InputError, match=words):
        capacity_of(drive)
    drive.capacity = {"velocity": "300 mm/s", "force": "2 kN", "displacement": np.inf}
    assert capacity_of(drive) == {"velocity": 0.3, "force": 2000.0, "displacement": np.inf}
