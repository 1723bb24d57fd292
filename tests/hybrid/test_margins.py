"""The margins of the check are true: before each border a drawn test is stable, a little beyond it is not.

Every border that a check states is applied to the test itself, as a user would: extra latency of the rig, an
error of gain behind the force sensor, other stiffnesses and masses of the specimen. The changed tests are
built anew. Whether they are stable is told by the spectral radius of one step of their ticks, and for some by
their motion alone, far from any eigenvalue.
"""

import itertools
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for drawn_tests.py and small_pair.py

from drawn_tests import Choices, build, nonlinearity, recipe
from small_pair import halves

from bondloop.bondgraph import C, I, R
from bondloop.check.checking import check
from bondloop.control import Direct, VirtualJunction
from bondloop.engine.analysis.spectrum.linear_step import one_step
from bondloop.engine.codegen import Runner
from bondloop.errors import BondloopError
from bondloop.hybrid import HybridTest
from bondloop.integrate import RK4, Exact
from bondloop.rigs import Emulated, GainError, Sensor
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper

RIGHT = 0.98
NEAR = 0.05
"""How far from the border, of its value, the test is tried."""


@dataclass(frozen=True)
class Claim:
    """What a margin says: ``make(value)`` is stable a little before the value, and not a little beyond."""

    seed: int
    kind: str
    value: float
    make: object

    def tests(self):
        """Pairs (the changed test, whether it should be stable)."""
        outwards = 1 if self.kind in ("delay", "gain", "stiffer") else -1
        made = []
        for side in (-1, 1):
            value = self.value * (1 + side * outwards * NEAR)
            made.append((self.make(value, side) if self.kind == "delay" else self.make(value), side < 0))
        return made


def coupled(test):
    """The test as its loop is analysed: coupled from the start."""
    if test.switches is not None:
        test = test.replaced(switches=test.switches.closed())
    return test.replaced(interlock=None, limits=None)


def later(test, seconds, outwards=0):
    """Add latency: whole steps of the rig where they are short against it.

    Within a step the emulated rig is given the mean of old and new command, which damps. Of a
    border that holds for a pure delay that would be another test, so it is rounded, away from the border.
    """
    step = test.period / test.rig.substeps
    if outwards and seconds >= 20 * step:
        steps = (test.rig.latency + seconds) / step
        steps = math.ceil(steps - 1e-9) if outwards > 0 else math.floor(steps + 1e-9)
        seconds = steps * step - test.rig.latency
    return test.replaced(rig=replace(test.rig, latency=test.rig.latency + seconds))


def louder(test, factor):
    sensor = test.rig.sensors.get("force", Sensor((), "N"))
    sensor = Sensor((*sensor.imperfections, GainError(factor - 1)), "N")
    return test.replaced(rig=replace(test.rig, sensors={**test.rig.sensors, "force": sensor}))


def scaled(test, word, factor):
    own = {
        n: x
        for n, x in test.parameters.items()
        if n.startswith("rig.specimen.") and n.rpartition(".")[2] == word
    }
    return test.with_values({n: factor * x for n, x in own.items()})


CHANGES = {
    "delay": later,
    "gain": louder,
    "least_gain": louder,
    "stiffer": lambda test, k: scaled(test, "stiffness", k),
    "lighter": lambda test, k: scaled(test, "mass", k),
}


def linear_tests():
    """Drawn tests without anything that is not linear, with their numbers."""
    for seed in itertools.count():
        rng = np.random.default_rng([seed, 77])
        r = recipe(Choices(lambda most, rng=rng: int(rng.integers(most + 1))))
        if nonlinearity(r) != "none":
            continue
        try:
            test = build(r)
            _ = test.tick
        except BondloopError:
            continue
        yield seed, test


def claims(count):
    """Return the claims of so many stable tests, and how many tests had any."""
    found, tests = [], 0
    for seed, test in linear_tests():
        if tests == count:
            break
        if not one_step(coupled(test).tick).stable:
            continue
        said = check(test, 200 * test.period)
        if not said.passed or said.margins is None or said.margins.delay is None:
            continue
        tests += 1
        bare = coupled(test)
        for kind, change in CHANGES.items():
            border = getattr(said.margins, kind)
            if border is not None and border.found:
                found.append(Claim(seed, kind, border.value, lambda *x, c=change, b=bare: c(b, *x)))
    return found


def wrong(claim):
    """Say which side of a border is not as it should be, by eigenvalues; nothing if both are."""
    words = []
    for test, stable in claim.tests():
        radius = one_step(test.tick).spectral_radius
        if (radius <= 1 + 1e-9) != stable:
            side = "before" if stable else "beyond"
            words.append(f"case {claim.seed}: {claim.kind} {claim.value:.4g}: {side} it {radius - 1:+.2e}")
    return words


def grows(test):
    """Decide by the motion alone: a small push at the start, no excitation, and what becomes of it."""
    quiet = test.replaced(excitation={}, reference=None, record=())
    runner = Runner(quiet.tick)
    inputs = None
    pushed = {n: 1e-3 for n in runner.state if n.startswith("numerical.") and "momentum" in n}
    pushed = pushed or {n: 1e-3 for n in runner.state if n.startswith("numerical.")}
    runner.reset(pushed)
    names = [n for n in (c.name for c in quiet.tick.channels) if n.startswith(("actual.velocity", "force"))]
    steps = 150_000
    if quiet.tick.inputs:
        inputs = np.zeros((steps, len(quiet.tick.inputs)))
    ran = runner.run(steps, inputs, every=7)
    if not ran.finished:
        return True
    n = len(ran.time)
    levels = []
    for part in (slice(n // 3, 2 * n // 3), slice(2 * n // 3, n)):
        x = np.array([ran.channels[c][part] for c in names])
        levels.append(np.sqrt(np.mean((x - x.mean(axis=1, keepdims=True)) ** 2, axis=1)))
    before, after = levels
    big = before > 1e-9 * before.max() if before.max() > 1e-30 else np.zeros(len(names), bool)
    return bool(big.any() and math.log(np.max(after[big] / before[big])) > 0)


@pytest.fixture(scope="module", params=[20, pytest.param(60, marks=pytest.mark.nightly)])
def stated(request):
    """The claims of so many stable tests."""
    return claims(request.param)


@pytest.mark.slow
def test_borders_are_where_the_margins_say(stated):
    words = [w for claim in stated for w in wrong(claim)]
    kinds = {claim.kind for claim in stated}
    assert kinds >= {"delay", "gain", "stiffer"} | ({"lighter"} if len(stated) > 100 else set())
    assert len(words) <= (1 - RIGHT) * 2 * len(stated), "\n".join(words)


@pytest.mark.slow
def test_the_motion_agrees(stated):
    """The same by free runs, for some without noise: growth that no linearisation has a part in."""
    still = [c for c in stated if not any(s.streams for s in c.make(c.value).rig.sensors.values())]
    run = min(15, len(still) // 4)
    chosen = still[:: max(1, len(still) // run)][:run]
    words = []
    for claim in chosen:
        for test, stable in claim.tests():
            if grows(test) == stable:
                words.append(f"case {claim.seed}: {claim.kind} {claim.value:.4g}: stable {stable}")
    assert len(chosen) >= 4
    assert not words, "\n".join(words)


@pytest.mark.parametrize("negative", [1e3, 2e3, 3e3])
def test_a_specimen_that_holds_the_numerical_half_has_a_least_gain(negative):
    """The numerical half pushes itself away with a negative spring; the specimen of 4 kN/m must hold it.

    It falls, without swinging, where the force is too small. The junction adds to the command what the
    measured force f bends the actuator's spring, so with a gain g the rig is at x = x_d + (g - 1) f/k_a,
    f = 4 kN/m x; the border is g f = (negative stiffness) x_d.
    """
    parts = {"spring": C(stiffness=4e3), "damper": R(damping=20.0)}
    numerical, physical = halves("held", parts, stiffness=-negative, damping=100.0)
    actuator = MassSpringDamper(m=2, c=150, k=15e3, drive="position")
    test = HybridTest(
        numerical,
        rig=Emulated(physical, actuator),
        controller=VirtualJunction(actuator),
        excitation={"v_wall": Sine("0.1 mm", 2.0).derivative()},
        rate=1000,
    )
    found = check(test, 0.5)
    assert found.passed, found.verdict
    bent = 4e3 / 15e3
    by_hand = negative * (1 + bent) / (4e3 + bent * negative)
    assert found.margins.least_gain.value == pytest.approx(by_hand, rel=0.01)
    claim = Claim(0, "least_gain", found.margins.least_gain.value, lambda k: louder(test, k))
    assert not wrong(claim)
    assert [grows(t) for t, _ in claim.tests()] == [False, True]


@pytest.mark.parametrize("scheme", [RK4(), Exact()], ids=["RK4", "Exact"])
def test_a_border_of_the_specimen_does_not_depend_on_how_the_rig_is_integrated(scheme):
    """The exact step is computed when the test is built: another stiffness needs another one."""
    numerical, physical = halves("pair", {"spring": C(stiffness=600.0), "mass": I(mass=0.2)})
    test = HybridTest(
        numerical,
        rig=Emulated(physical, MassSpringDamper(m=2, c=150, k=15e3, drive="position"), integrator=scheme),
        controller=Direct(),
        excitation={"v_wall": Sine("1 mm", 4.0).derivative()},
        rate=1000,
    )
    found = check(test, 0.5).margins
    assert found.stiffer.found
    assert not wrong(Claim(0, "stiffer", found.stiffer.value, lambda k: scaled(test, "stiffness", k)))
    if found.lighter.found:
        assert not wrong(Claim(0, "lighter", found.lighter.value, lambda k: scaled(test, "mass", k)))
