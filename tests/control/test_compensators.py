"""What all compensators share: twins, descriptions, bounds."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.bondgraph import C
from bondloop.control import (
    AdaptiveModelBased,
    AdaptivePrediction,
    AdaptiveRemainder,
    AdaptiveTimeSeries,
    Compensator,
    ConditionalTimeSeries,
    Direct,
    FeedforwardLQG,
    InverseModel,
    LeadCompensation,
    LoadFeedforward,
    LoopShaping,
    Measured,
    OuterLoop,
    PolynomialPrediction,
    RecursiveFir,
    Scheduled,
    SlidingMode,
    SmithPredictor,
    TwoStageAdaptive,
)
from bondloop.engine.codegen.runner import Runner
from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.block import Context
from bondloop.errors import InputError
from bondloop.hybrid import HybridTest
from bondloop.papers import gawthrop_three_mass as three
from bondloop.rigs import Emulated
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper, Process, second_order

ALL = [
    PolynomialPrediction(0.005),
    InverseModel(second_order(1.0, 20.0, 0.7, 0.005), PolynomialPrediction(0.005), "polynomial"),
    InverseModel(Process((0.004, 1.0), (1e-6, 3e-4, 0.02, 1.0))),
    LeadCompensation(0.01),
    OuterLoop(0.8, 20.0, derivative="2 ms", lead="5 ms", lag="1 ms"),
    AdaptivePrediction(0.005),
    AdaptiveTimeSeries(window=0.05),
    AdaptiveModelBased(order=3),
    AdaptiveModelBased(process=second_order(0.9, 20.0, 0.7, 0.002), ahead=1.5),
    AdaptivePrediction(process=second_order(0.9, 20.0, 0.7, 0.002), ahead=0.5),
    ConditionalTimeSeries("5 ms", order=3, memory=0.5),
    RecursiveFir(3, covariance=((2e4, -1e4, 0.0), (-1e4, 2e4, 0.0), (0.0, 0.0, 1e4)), memory=2.0),
    TwoStageAdaptive(2, prediction=PolynomialPrediction("4 ms", 2), ahead=1.0),
    SlidingMode(Process((0.004, 1.0), (1e-6, 3e-4, 0.02, 1.0)), bandwidth=10.0),
    SmithPredictor(
        second_order(1.0, 20.0, 0.7, 0.0055), OuterLoop(0.8, 20.0), PolynomialPrediction(0.005, 2)
    ),
    LoadFeedforward(LeadCompensation(0.01), 3e-9, 2e-10),
    Scheduled((LeadCompensation(0.002), LeadCompensation(0.01)), (1e-3, 1e-2)),
    FeedforwardLQG(second_order(1.0, 20.0, 0.7, 0.0047)),
    LoopShaping.for_bandwidth(second_order(1.0, 20.0, 0.7, 0.0047), "3 Hz", LeadCompensation(0.01)),
    AdaptiveRemainder(
        InverseModel(second_order(1.0, 20.0, 0.7)), AdaptiveTimeSeries(largest_delay=0.01, window=0.05)
    ),
    AdaptiveRemainder(LeadCompensation(0.01), AdaptivePrediction(0.0)),
]
ADAPTIVE = [c for c in ALL if c.adapts]


def runner(compensator, backend):
    x, y, count, out = Var("x"), Var("y"), Var("k"), Var("out")
    measured = Measured(Const(0.0), y, Const(0.0))
    applied = compensator.compensate(x, measured, Context("controller", count, 0.001))
    channels = [Channel("command", out), *applied.channels]
    steps = (*applied.steps, Assign(out, applied.value))
    return Runner(
        Tick("one", 0.001, Var("t"), count, (x, y), applied.states, {}, steps, tuple(channels)), backend
    )


def data(seed, count=600):
    rng = np.random.default_rng(seed)
    t = np.arange(count) * 0.001
    x = 0.01 * sum(np.sin(2 * np.pi * f * t + p) for f, p in zip((3, 8), rng.uniform(0, 6, 2), strict=True))
    return np.column_stack([x, 0.9 * np.roll(x, 6) + 1e-5 * rng.normal(size=count)])


@pytest.mark.parametrize("compensator", ALL, ids=lambda c: type(c).__name__)
def test_c_and_numpy_agree(compensator):
    table = data(7)
    a, b = (runner(compensator, backend).run(len(table), table).channels for backend in ("numpy", "c"))
    assert a.keys() == b.keys()
    for name, values in a.items():
        assert np.abs(values - b[name]).max() <= 1e-12 * max(1.0, np.abs(values).max()), name
    assert np.abs(a["command"]).max() > 0.01


@pytest.mark.parametrize("compensator", ALL, ids=lambda c: type(c).__name__)
def test_a_description_gives_the_same_compensator_back(compensator):
    description = compensator.describe()
    assert description["controller"] == type(compensator).__name__
    assert Compensator.from_description(description) == compensator


@pytest.mark.parametrize("compensator", ALL, ids=lambda c: type(c).__name__)
def test_several_transfer_systems_record_under_their_own_names(compensator):
    x, y, count = Var("x"), Var("y"), Var("k")
    measured = Measured(Const(0.0), y, Const(0.0))
    for name, start in (("controller[1]", "controller[1]."), ("other", "controller.other.")):
        applied = compensator.compensate(x, measured, Context(name, count, 0.001))
        assert all(channel.name.startswith(start) for channel in applied.channels)
        assert bool(applied.channels) == compensator.adapts


def bounds(compensator):
    if isinstance(compensator, AdaptiveRemainder):
        adaptive, word = compensator.adaptive, "controller.adaptive"
        if isinstance(adaptive, AdaptivePrediction):
            most = adaptive.largest_delay
            return {
                f"{word}.delay": (-most, most),
                f"{word}.gain": (adaptive.least_gain, adaptive.largest_gain),
            }
        return {f"{word}.a{j}": b for j, b in enumerate(adaptive.bounds(both=True))}
    if isinstance(compensator, AdaptivePrediction):
        return {
            "controller.delay": (0.0, compensator.largest_delay),
            "controller.gain": (compensator.least_gain, compensator.largest_gain),
        }
    if isinstance(
        compensator, RecursiveFir
    ):  # the bounds are those of the taps' sums, see test_recursive_fir
        return {f"controller.tap{i}": (-1e9, 1e9) for i in range(compensator.taps)}
    if isinstance(compensator, Scheduled):
        return {"controller.level": (0.0, 2e150)}  # the largest motion that is drawn below
    return {f"controller.a{j}": b for j, b in enumerate(compensator.bounds())}


_runners: dict[int, Runner] = {}


@settings(max_examples=60, deadline=None)
@given(
    which=st.integers(0, len(ADAPTIVE) - 1),
    size=st.sampled_from([0.0, 1e-300, 1e-6, 1.0, 1e6, 1e100, 1e150]),
    other=st.sampled_from([0.0, 1e-6, 1.0, 1e6, 1e150]),
    kind=st.sampled_from(["zero", "constant", "noise", "sine", "steps", "opposite"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_adapted_parameters_stay_in_bounds_whatever_comes(which, size, other, kind, seed):
    compensator = ADAPTIVE[which]
    rng = np.random.default_rng(seed)
    t = np.arange(300) * 0.001
    shapes = {
        "zero": np.zeros((300, 2)),
        "constant": np.ones((300, 2)),
        "noise": rng.uniform(-1, 1, (300, 2)),
        "sine": np.column_stack([np.sin(40 * t), np.cos(40 * t)]),
        "steps": np.sign(rng.uniform(-1, 1, (300, 2))),
        "opposite": np.column_stack([np.sin(40 * t), -np.sin(40 * t)]),
    }
    if which not in _runners:
        _runners[which] = runner(replace(compensator), "c")
    run = _runners[which]
    run.reset()
    found = run.run(300, shapes[kind] * [size, other]).channels
    for name, (least, most) in bounds(compensator).items():
        assert np.all(found[name] >= least - 1e-12 * abs(least))
        assert np.all(found[name] <= most * (1 + 1e-12))


@pytest.mark.parametrize("compensator", ADAPTIVE, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("value", [0.0, 0.02, 1e150])
def test_the_python_twin_meets_no_division_by_zero(compensator, value):
    """Python raises where C goes on with infinities; rest and extremes are where divisors vanish."""
    table = np.full((200, 2), value)
    table[100:] *= -1
    found = runner(compensator, "numpy").run(200, table).channels
    for name, (least, most) in bounds(compensator).items():
        assert np.all((found[name] >= least - 1e-12 * abs(least)) & (found[name] <= most * (1 + 1e-12)))


TRANSFER = (1.0, 30.0, 1000.0)  # lags by c/k = 30 ms


def hybrid(controller):
    """The chain of Gawthrop 2005 with a hardening spring, sampled at 1 kHz."""
    chain = three._chain(three.VALUES, C(law=lambda d: d + d**3))
    numerical, physical = chain.cut(three.CUT)
    return HybridTest(
        numerical,
        rig=Emulated(physical, MassSpringDamper(*TRANSFER, drive="position")),
        controller=controller,
        excitation={"r": Sine(-0.5, 1 / (2 * math.pi))},
        rate=1000,
    ).run(40)


def tracking(run):
    """Rms synchronisation error over the last quarter, as a share of the motion's deviation."""
    x, y = (run[f"{w}.displacement"][-10_000:] for w in ("desired", "actual"))
    return np.sqrt(np.mean((x - y) ** 2)) / np.std(x)


@pytest.fixture(scope="module")
def direct():
    return tracking(hybrid(Direct()))


@pytest.mark.parametrize(
    ("controller", "share"),
    [
        (InverseModel(Process((1000.0,), TRANSFER)), 0.2),
        (LeadCompensation(0.0305), 0.2),
        (PolynomialPrediction(0.0305), 0.2),
        (AdaptiveTimeSeries(), 0.2),
        (AdaptiveModelBased(), 0.2),
        (ConditionalTimeSeries(), 0.2),
        (RecursiveFir(), 0.2),
        (SlidingMode(Process((1000.0,), TRANSFER), bandwidth=20.0), 0.2),
        (AdaptivePrediction(0.0), 0.5),
    ],
    ids=lambda c: type(c).__name__ if isinstance(c, Compensator) else "",
)
def test_in_a_hybrid_test_the_lag_is_cancelled(controller, share, direct):
    run = hybrid(controller)
    assert run.completed
    assert tracking(run) < share * direct


@pytest.mark.parametrize("compensator", ALL, ids=lambda c: type(c).__name__)
def test_a_command_that_is_a_force_is_refused_by_what_sends_displacements(compensator):
    """With a model of the transfer system, the model says what the command is."""
    numerical, physical = three.model().cut("m2.right >> m3.left")

    def made(drive):
        rig = Emulated(physical, MassSpringDamper(1, 1, 1, drive=drive))
        return HybridTest(numerical, rig=rig, controller=compensator, excitation={}, rate=1000).design

    assert made("position").commands
    if compensator.set_point:
        with pytest.raises(InputError, match=r"sends displacements, in m; the command .* is in N"):
            made("force")
    else:
        assert made("force").commands
