"""Values that decide more than a number: each drawn test is the test that is built with its values."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se, Stop
from bondloop.control import ControlLaw, Direct
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.tick import Delay, Product, Tunable
from bondloop.integrate import RK4, Discretised, ForwardEuler
from bondloop.papers import gawthrop_three_mass, gawthrop_two_actuators
from bondloop.rigs import Sensor, WhiteNoise
from bondloop.studies import sample

MASS, DAMPING = "mass.body.mass", "mass.loss.damping"


def mass(initial=0.0, wall=None):
    made = Model("mass")
    made.v, made.body, made.loss = One(), I(mass=1), R(damping=2)
    made.spring = C(stiffness=100, initial=initial)
    _ = Se("F") >> made.v >> [made.body, made.loss, made.spring]
    if wall is not None:
        made.wall = wall
        _ = made.v >> made.wall
    return made


def moving(integrator=None, **model):
    return bl.Simulation(
        {"mass": mass(**model)},
        excitation={"F": bl.signals.Sine(5.0, 2.0)},
        rate=200,
        integrator=integrator or RK4(),
        record="mass.v.flow",
    )


def value(system, name):
    return system.parameters[name]


@dataclass(frozen=True)
class Threshold(RK4):
    """Another scheme below a threshold, which the value in the middle of what is drawn lies above."""

    def discretise(self, system, period, inputs, goals):
        scheme = ForwardEuler() if value(system, MASS) < 0.4 else RK4()
        return scheme.discretise(system, period, inputs, goals)


@dataclass(frozen=True)
class Zero(RK4):
    """Leaves out what a value of zero makes nothing of."""

    def discretise(self, system, period, inputs, goals):
        scheme = RK4() if value(system, DAMPING) else ForwardEuler()
        return scheme.discretise(system, period, inputs, goals)


@dataclass(frozen=True)
class Late(RK4):
    """Delays the rates' input by a time that is rounded to ticks."""

    def discretise(self, system, period, inputs, goals):
        ticks = max(1, round(0.02 * np.sqrt(np.asarray(value(system, MASS))) / period))
        [u] = system.input_vars
        late = Var("late")
        made = RK4().discretise(system, period, lambda c: {**inputs(c), u: late}, goals)
        return replace(made, first=[Delay(late, inputs(0.0)[u], ticks), *made.first])


@dataclass(frozen=True)
class Table(RK4):
    """Works a value into a matrix without a word of it, read from a table in pieces."""

    def discretise(self, system, period, inputs, goals):
        gain = np.interp(float(value(system, MASS)), [0.0, 0.5, 2.0], [1.0, 1.0, 3.0])
        [u] = system.input_vars
        more = Var("more")
        made = RK4().discretise(system, period, lambda c: {**inputs(c), u: more}, goals)
        first = [Product((more,), np.array([[gain]]), (inputs(0.0)[u],)), *made.first]
        return Discretised(first, made.table, made.rest)


@dataclass(frozen=True)
class OnlyTogether(RK4):
    """Looks at the damping of light masses only."""

    def discretise(self, system, period, inputs, goals):
        coarse = value(system, MASS) < 0.6 and value(system, DAMPING) > 2.4
        return (ForwardEuler() if coarse else RK4()).discretise(system, period, inputs, goals)


@dataclass(frozen=True)
class Careful(RK4):
    """Catches whatever goes wrong when it looks at a value."""

    def discretise(self, system, period, inputs, goals):
        try:
            light = isinstance(value(system, MASS), float) and f"{value(system, MASS):.1f}" < "0.5"
        except Exception:  # noqa: BLE001 - as a user may
            light = False
        return (ForwardEuler() if light else RK4()).discretise(system, period, inputs, goals)


def in_contact():
    return moving(initial=0.05, wall=Stop(gap=0.06, restitution=0.5))


class Ahead(ControlLaw):
    """Goes where the rig will be after a lag."""

    lead: float = 0.01

    def step(self, desired, measured):  # noqa: ARG002 - as all laws have it
        return desired.displacement + self.lead * desired.velocity


class AheadFrom(Ahead):
    """Keeps the last command, and begins at the lead itself."""

    @property
    def states(self):
        return {"last": self.lead}

    def step(self, desired, measured):
        self.last, before = super().step(desired, measured), self.last
        return 0.9 * self.last + 0.1 * before


class AheadTwice(Ahead):
    """Works something out from the lead when it is made."""

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "twice", 2 * self.lead)

    def step(self, desired, measured):  # noqa: ARG002 - as all laws have it
        return desired.displacement + self.twice * desired.velocity


def with_law(law):
    return gawthrop_three_mass.test().replaced(coupling="sampled", controller=law)


def with_noise():
    test = gawthrop_three_mass.test()
    rig = replace(test.rig, sensors={"force": Sensor([WhiteNoise("0.1 N")])})
    return test.replaced(rig=rig, coupling="sampled", controller=Direct())


STUDIES = {
    "a threshold": (lambda: moving(Threshold()), {MASS: "uniform(0.2, 1.2)"}),
    "zero": (lambda: moving(Zero()), {DAMPING: "whole(0, 3)"}),
    "a sign": (in_contact, {"mass.wall.gap": "uniform(0, 0.1)"}),
    "ticks of a delay": (lambda: moving(Late()), {MASS: "uniform(0.5, 1.5)"}),
    "a table worked into a matrix": (lambda: moving(Table()), {MASS: "uniform(0.2, 2)"}),
    "two together": (lambda: moving(OnlyTogether()), {MASS: "uniform(0.2, 1.2)", DAMPING: "uniform(1, 4)"}),
    "two, the other first": (
        lambda: moving(OnlyTogether()),
        {DAMPING: "uniform(1, 4)", MASS: "uniform(0.2, 1.2)"},
    ),
    "what is caught": (lambda: moving(Careful()), {MASS: "uniform(0.2, 1.2)"}),
    "a first state": (
        lambda: gawthrop_three_mass.test().replaced(tunable={"numerical.m1.I.mass": Tunable(0.1, 9, 0.5)}),
        {"numerical.m1.I.mass": "uniform(0.5, 2)"},
    ),
    "what a controller is designed for": (
        gawthrop_two_actuators.test,
        {"numerical.mn1.I.mass": "uniform(1, 3)"},
    ),
    "the lead of a law": (lambda: with_law(Ahead()), {"controller.lead": "uniform(-0.01, 0.01)"}),
    "a first state of a law": (lambda: with_law(AheadFrom()), {"controller.lead": "uniform(-0.01, 0.01)"}),
    "what a law works out": (lambda: with_law(AheadTwice()), {"controller.lead": "uniform(-0.01, 0.01)"}),
    "the excitation": (gawthrop_three_mass.test, {"excitation.scale": "uniform(0, 2)"}),
    "noise": (with_noise, {"rig.seed": "whole(1, 50)"}),
}


@pytest.mark.parametrize("which", STUDIES)
def test_each_drawn_test_is_the_test_with_its_values(which):
    make, distributions = STUDIES[which]
    test = make()
    channel = next(c.name for c in test.tick.channels if c.name in ("mass.v.flow", "force", "force[0]"))
    found = sample(test, distributions, 16, (f"last:{channel}", f"peak:{channel}"), seconds=0.5)
    for i in range(16):
        run = make().with_values(found.row(i)).run(0.5)
        assert found[f"last:{channel}"][i] == run[channel][-1], found.row(i)
        assert found[f"peak:{channel}"][i] == np.abs(run[channel]).max(), found.row(i)


@pytest.mark.parametrize("law", [Ahead, AheadFrom, AheadTwice])
def test_a_law_with_another_value_is_the_law_that_is_made_with_it(law):
    changed = with_law(law(lead=0.002)).with_values({"controller.lead": 0.006}).run(0.5)
    assert (changed["force"] == with_law(law(lead=0.006)).run(0.5)["force"]).all()


def test_numbers_alone_need_no_test_built_anew():
    for which in ("the excitation", "noise", "the lead of a law", "what a controller is designed for"):
        make, distributions = STUDIES[which]
        assert sample(make(), distributions, 4, ("trip",), seconds=0.1).rebuilt == ()
    assert sample(moving(), {MASS: "uniform(0.2, 2)"}, 4, ("peak:mass.v.flow",), seconds=0.1).rebuilt == ()
