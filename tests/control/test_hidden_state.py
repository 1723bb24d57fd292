"""Laws that keep something elsewhere than in their states are refused: they are traced, not called."""

# ruff: noqa: ARG002, RUF012 - laws have both arguments, and their states are read, never changed

import itertools
import random

import pytest

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.control import ControlLaw
from bondloop.devices import OdeSpecimen
from bondloop.errors import ModelError
from bondloop.rigs import mounted

DIFFERENT = "gives another formula each time"


def machine(controller, *, interfaces=1):
    model = Model("machine")
    model.push, model.v = Se("push"), One()
    model.push >> model.v >> [I(mass=2.0), C(stiffness=500.0), R(damping=12.0)]
    for i in range(interfaces):
        arm = One()
        setattr(model, f"arm_{i}", arm)
        arm >> [I(mass=1.0), C(stiffness=100.0), R(damping=3.0)]
        model.v >> arm
    numerical, physical = model.cut(*(f"v >> arm_{i}" for i in range(interfaces)))
    actuator = bl.transfer.MassSpringDamper(m=1, c=40, k=400, drive="position")
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, [actuator] * interfaces),
        controller=controller,
        excitation={"push": bl.signals.Sine(1.0, 2.0)},
        rate=1000,
    )


def last_of(kept):
    class Lagged(ControlLaw):
        def step(self, desired, measured):
            kept.append(desired.displacement)
            return desired.displacement - 0.5 * kept[max(len(kept) - 2, 0)]

    return Lagged()


def counter(count):
    class Counting(ControlLaw):
        def step(self, desired, measured):
            return desired.displacement * next(count)

    return Counting()


def drawn(rng):
    class Dithered(ControlLaw):
        def step(self, desired, measured):
            return desired.displacement + 1e-6 * rng.random()

    return Dithered()


def first_state(kept):
    class Borrowed(ControlLaw):
        states = {"sum": 0.0}

        def step(self, desired, measured):
            self.sum = self.sum + desired.displacement
            if not kept:
                kept.append(self.sum)
            return kept[0]

    return Borrowed()


def warm(kept):
    class Warm(ControlLaw):
        def step(self, desired, measured):
            kept.append(1)
            return desired.displacement if len(kept) > 1 else 0.0

    return Warm()


@pytest.mark.parametrize("interfaces", [1, 2])
@pytest.mark.parametrize(
    "law",
    [
        lambda: counter(itertools.count(1)),
        lambda: drawn(random.Random(5)),
        lambda: first_state([]),
        lambda: warm([]),
    ],
)
def test_what_a_law_keeps_for_itself_is_refused(law, interfaces):
    with pytest.raises(ModelError, match=DIFFERENT):
        _ = machine(law(), interfaces=interfaces).tick


@pytest.mark.parametrize("interfaces", [1, 2])
def test_a_list_does_not_carry_values_from_sample_to_sample_or_to_another_actuator(interfaces):
    with pytest.raises(ModelError, match=DIFFERENT):
        _ = machine(last_of([]), interfaces=interfaces).tick


@pytest.mark.parametrize("method", ["rates", "force"])
def test_specimens_too(method):
    count = itertools.count(1)

    class Pad(OdeSpecimen):
        states = {"creep": 0.0}

        def rates(self, motion):
            return {"creep": motion.velocity * (next(count) if method == "rates" else 1)}

        def force(self, motion):
            return self.creep * (next(count) if method == "force" else 1)

    with pytest.raises(ModelError, match=rf"Pad\.{method} {DIFFERENT}"):
        mounted(Pad())


def test_what_is_the_same_each_time_is_no_matter():
    table = [0.5, 0.25]

    class Weighted(ControlLaw):
        states = {"old": [0.0, 0.0]}

        def step(self, desired, measured):
            kept = [x * w for x, w in zip(self.old, table, strict=True)]
            self.old = [desired.displacement, self.old[0]]
            return desired.displacement + sum(kept) + float("nan") * 0.0 + self.time * 0

    assert len(machine(Weighted(), interfaces=2).tick.states)


@pytest.mark.parametrize("period", [2, 3, 5])
def test_every_call_is_compared(period):
    """The counter is out of sight: a generator's frame is no attribute."""

    def counting():
        while True:
            yield from [1.0] * (period - 1)
            yield 2.0

    count = counting()

    class Counting(ControlLaw):
        def step(self, desired, measured):
            return desired.displacement * next(count)

    def build():  # of four calls in a row, somewhere, two that are compared differ
        for _ in range(period):
            _ = machine(Counting()).tick

    with pytest.raises(ModelError, match=DIFFERENT):
        build()


def test_a_table_that_is_filled_once_and_locals_of_a_step_are_no_matter():
    table = {}

    class Tabled(ControlLaw):
        def step(self, desired, measured):
            if "gain" not in table:
                table["gain"] = 0.5
            total = 0.0

            def add(x):
                nonlocal total
                total = total + x

            add(desired.displacement)
            add(table["gain"] * measured.displacement)
            return total

    assert len(machine(Tabled()).tick.states)
