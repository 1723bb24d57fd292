"""The judge of runs, on tests whose answer is known: eigenvalues by hand, drifts, floors, limit cycles."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm

sys.path.insert(0, str(Path(__file__).parent))  # for drawn_tests.py and truth.py

from drawn_tests import ADAPTIVE, CONTROLLERS, Drawn, build, case
from truth import judge, outcome

from bondloop.bondgraph import C, I, Model, One, Port, R, Se
from bondloop.control import Direct
from bondloop.engine.ir.tick_json import dump_tick
from bondloop.hybrid import HybridTest
from bondloop.integrate import Exact
from bondloop.rigs import Backlash, Bias, Emulated, Quantisation, Saturation, Sensor, WhiteNoise, cubic_spring
from bondloop.safety import Limits
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper

M, CN, KN, OMEGA = 10.0, 12.0, 9000.0, 30.0  # numerical half: 4.8 Hz, 2 %
MT, CT, KT = 2.0, 300.0, 40e3  # the actuator lags by 7.5 ms
RATE, LATE = 1000.0, 2  # latency in samples
WELL, BAD = {"well"}, {"grew", "left limits"}


def a_drawn(
    spring=None, *, k=KN, c=CN, sensor=(), drive=(), limit=1.0, amplitude=20.0, kind="none", near=0.0, **rig
):
    """Return one mass on a spring, driven by a force, with a specimen on an actuator that lags."""
    whole = Model("known")
    whole.push, whole.v, whole.mass = Se("push"), One(), I(mass=M)
    whole.damper = R(damping=c)
    whole.push >> whole.v >> [whole.mass, whole.damper]
    if k:
        whole.spring = C(stiffness=k)
        whole.v >> whole.spring
    whole.specimen = Model()
    whole.specimen.left, whole.specimen.v, whole.specimen.spring = Port(), One(), spring or C(stiffness=500.0)
    whole.specimen.left >> whole.specimen.v >> whole.specimen.spring
    if near:
        whole.specimen.mass = I(mass=near)
        whole.specimen.v >> whole.specimen.mass
    whole.v >> whole.specimen.left
    numerical, physical = whole.cut("v >> specimen.left")
    sensors = {"force": Sensor(tuple(sensor), "N")} if sensor else {}
    test = HybridTest(
        numerical,
        rig=Emulated(
            physical, MassSpringDamper(MT, CT, KT, drive="position"), sensors=sensors, drive=tuple(drive),
            latency=LATE / RATE, substeps=4, **rig,
        ),
        controller=Direct(),
        excitation={"push": Sine(amplitude, 3.0)},
        rate=RATE,
        limits=Limits(displacement=limit, force=1e6),
    )  # fmt: skip
    return Drawn(test, 4.0, {"nonlinearity": kind}, {"frequency": 4.8})


def radius(ks):
    """Spectral radius of one sample: mass and actuator by exponentials, both inputs held, latency shifted."""
    h = 1 / RATE
    n = np.array([[0.0, 1.0, 0.0], [-KN / M, -CN / M, -1 / M], [0, 0, 0]])  # motion, velocity, held force
    a = np.array([[0.0, 1.0, 0.0], [-(KT + ks) / MT, -CT / MT, KT / MT], [0, 0, 0]])  # and held command
    one, other = expm(n * h), expm(a * h)
    # The state: x, v of the mass; y, w of the actuator; the commands on their way.
    step = np.zeros((4 + LATE, 4 + LATE))
    step[:2, :2], step[:2, 2] = one[:2, :2], one[:2, 2] * ks
    step[2:4, 2:4], step[2:4, 3 + LATE] = other[:2, :2], other[:2, 2]
    step[4, 0] = 1.0
    for i in range(1, LATE):
        step[4 + i, 3 + i] = 1.0
    return np.abs(np.linalg.eigvals(step)).max()


def border():
    """Stiffness at which the loop is neither stable nor unstable."""
    low, high = 10.0, 9000.0
    assert radius(low) < 1 < radius(high)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if radius(middle) < 1 else (low, middle)
    return low


# ---------------------------------------------------------------------- a lag on a spring


@pytest.mark.parametrize("share", [0.3, 0.9, 0.98, 0.998, 1.002, 1.02, 1.1, 3.0])
def test_a_lag_on_a_spring_is_judged_as_its_eigenvalues_say(share):
    ks = share * border()
    found = outcome(a_drawn(C(stiffness=ks)))
    assert found.ran in (WELL if radius(ks) < 1 else BAD), found


def test_on_the_border_nothing_is_decided():
    # Both halves by exact steps, as the eigenvalues have them, so as to stand on the very border.
    drawn = a_drawn(C(stiffness=border()), integrator=Exact())
    drawn = Drawn(drawn.test.replaced(integrator=Exact()), drawn.seconds, drawn.kind, drawn.recipe)
    found = outcome(drawn)
    assert found.ran == "undecided", found
    assert found.levels[-1] == pytest.approx(found.levels[1], rel=0.2)


@pytest.mark.parametrize("share", [0.9, 1.1])
@pytest.mark.parametrize("noise", [0.01, 1.0])
def test_noise_hides_neither_decay_nor_growth(share, noise):
    found = outcome(a_drawn(C(stiffness=share * border()), sensor=[WhiteNoise(noise)]))
    assert found.ran in (WELL if share < 1 else BAD), found


def test_a_run_that_stops_is_one_that_left_its_limits():
    drawn = a_drawn(C(stiffness=3 * border()), limit=0.02)
    assert not drawn.test.run(drawn.seconds).completed
    assert outcome(drawn).ran == "left limits"
    wide = a_drawn(C(stiffness=1.1 * border()), limit=1.0)
    assert wide.test.run(wide.seconds).completed
    assert outcome(wide).ran == "grew"


# ---------------------------------------------------------------------- what is not growth


@pytest.mark.parametrize("sensor", [(), (Bias(0.5),), (WhiteNoise(0.1),)])
def test_a_free_structure_that_drifts_does_not_grow(sensor):
    # Nothing holds the mass, and the specimen gives no force: position and, with a bias, velocity go on.
    found = outcome(a_drawn(C(stiffness=0.0), k=0.0, c=0.0, sensor=sensor, limit=50.0))
    assert found.ran in ("well", "undecided"), found


def test_a_free_structure_whose_drift_is_exponential_grows():
    # The specimen is a mass. Its acceleration is read at the end of every hold, when the actuator has all but
    # arrived and slows down: the faster the drift, the more it is pushed. The exact step of one sample:
    h, ms = 1 / RATE, 0.2
    one = np.array([[1.0, h], [0.0, 1.0]])
    a = np.array([[0.0, 1.0, 0.0], [-KT / (MT + ms), -CT / (MT + ms), KT / (MT + ms)], [0, 0, 0]])
    other = expm(a * h)
    step = np.zeros((7, 7))  # x, v; y, w; commands on their way, the last one held when the force is read
    step[:2, :2] = one
    step[np.ix_([0, 1], [2, 3, 6])] = np.outer([-(h**2) / 2 / M, -h / M], ms * a[1])
    step[2:4, 2:4], step[2:4, 5] = other[:2, :2], other[:2, 2]
    step[4, 0] = step[5, 4] = step[6, 5] = 1.0
    growth = np.log(np.abs(np.linalg.eigvals(step)).max()) / h
    assert 0.1 < growth < 0.3
    found = outcome(a_drawn(C(stiffness=0.0), k=0.0, c=0.0, near=ms, limit=50.0))
    assert found.ran == "grew", found


def test_a_slow_exponential_is_growth_though_nothing_oscillates():
    # In one piece the stiffness is -10 N/m: it creeps away, with sqrt(10/10)/s at most.
    found = outcome(a_drawn(C(stiffness=-KN - 10.0), amplitude=0.02, limit=10.0, c=3000.0))
    assert found.ran in BAD, found


def test_a_double_well_falls_into_one_of_them_and_stays():
    found = outcome(a_drawn(cubic_spring(-KN - 500.0, 5e8), amplitude=200.0, c=200.0, kind="bistable"))
    assert found.ran == "well", found


@pytest.mark.parametrize(
    ("sensor", "drive"),
    [
        ((Quantisation(8, 100.0),), ()),
        ((WhiteNoise(0.05), Quantisation(10, 100.0)), ()),
        ((), (Backlash(1e-4),)),
    ],
)
def test_what_rests_on_a_floor_has_run_well(sensor, drive):
    found = outcome(a_drawn(C(stiffness=0.6 * border()), sensor=sensor, drive=drive, kind="floor"))
    assert found.ran == "well", found


def test_a_motion_as_large_as_the_runs_own_that_goes_on_by_itself_is_growth():
    # Linear it would grow; the command is limited to 2 mm, so it goes on at a certain size.
    found = outcome(a_drawn(C(stiffness=1.5 * border()), drive=[Saturation(2e-3)], kind="saturation"))
    assert found.ran in BAD, found


# ---------------------------------------------------------------------- the rules by themselves


@pytest.mark.parametrize(
    ("levels", "linear", "ran"),
    [
        ([1, 0.1, 1e-6], True, "well"),
        ([1, 0.9, 0.8], True, ""),
        ([1, 3, 9], True, "grew"),
        ([1, 0.1, 0.01, 0.01, 0.01], False, "well"),
        ([1, 0.1, 0.01, 0.01, 0.01], True, ""),
        ([1, 1, 1, 1], False, "grew"),
        ([1, 0.6, 0.6, 0.6], False, ""),
        ([1, 0.96, 0.9, 0.81], False, ""),
        ([0.3, 0.31, 0.33, 0.37], False, ""),
        ([1, 1e-12], True, "well"),
    ],
)
def test_levels_are_judged(levels, linear, ran):
    assert judge(levels, linear=linear, ticks=100_000, last=False) == ran


def test_growth_that_a_decay_has_hidden_is_seen_at_the_end():
    assert judge([1, 0.1, 0.01, 0.02, 0.09], linear=True, ticks=10**6, last=True) == "grew"
    assert judge([1, 0.9, 0.8, 0.6, 0.4], linear=True, ticks=10**6, last=True) == "well"
    assert judge([1, 1, 1.01, 1, 1], linear=True, ticks=10**6, last=True) == "undecided"


# ---------------------------------------------------------------------- the drawing


def test_a_recipe_survives_a_file_and_gives_the_same_tick():
    for seed in range(5):
        drawn = case(seed)
        if drawn.test is not None:
            again = build(json.loads(json.dumps(drawn.recipe)))
            assert dump_tick(again.tick) == dump_tick(drawn.test.tick)


def test_every_controller_is_drawn_and_most_tests_can_be_built():
    drawn = [case(seed) for seed in range(120)]
    assert {d.kind["controller"] for d in drawn} == set(CONTROLLERS)
    assert set(ADAPTIVE) <= set(CONTROLLERS)
    assert sum(d.test is None for d in drawn) < 15


@pytest.mark.parametrize(("seed", "ran"), [(9041469, "grew"), (7000125, "grew"), (9030326, "well")])
def test_without_blows_it_tells_growth_all_the_same(seed, ran):
    drawn = case(seed)  # the last of them is fragile: it grows by a blow alone
    assert outcome(drawn, blows=False).ran == ran


def test_what_is_linear_is_struck_all_the_same():
    assert outcome(a_drawn(C(stiffness=1.5 * border())), blows=False).ran in BAD
