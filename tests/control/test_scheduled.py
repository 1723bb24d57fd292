"""Compensators scheduled by an amplitude: the blend against its formula, twins, descriptions, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop import files
from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero
from bondloop.control import (
    AdaptivePrediction,
    Compensator,
    InverseModel,
    LeadCompensation,
    Measured,
    PolynomialPrediction,
    PythonControl,
    Scheduled,
)
from bondloop.engine.codegen.runner import Runner
from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.block import Context
from bondloop.errors import InputError
from bondloop.hybrid import HybridTest
from bondloop.rigs import Emulated
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper, first_order, second_order

FREE, LOADED = InverseModel(first_order(1.0, 0.003)), InverseModel(second_order(0.95, 20.0, 0.7))
THREE = (LeadCompensation(0.002), FREE, LOADED)


def run(compensator, demand, force, backend="numpy"):
    """The channels for a sequence of demands and measured forces."""
    x, f, count, out = Var("x"), Var("f"), Var("k"), Var("out")
    applied = compensator.compensate(
        x, Measured(f, Const(0.0), Const(0.0)), Context("controller", count, 1e-3)
    )
    channels = (Channel("command", out), *applied.channels)
    tick = Tick(
        *(
            "one",
            1e-3,
            Var("t"),
            count,
            (x, f),
            applied.states,
            {},
            (*applied.steps, Assign(out, applied.value)),
        ),
        channels,
    )
    return Runner(tick, backend).run(len(demand), np.column_stack([demand, force])).channels


def envelope(values, memory):
    """The formula, sample by sample."""
    kept, level, levels = np.exp(-1e-3 / memory) if memory else 0.0, 0.0, []
    for value in values:
        level = max(abs(value), kept * level)
        levels.append(level)
    return np.array(levels)


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    by=st.sampled_from(["displacement", "force"]),
    memory=st.sampled_from([0.0, 0.01, 0.5]),
    size=st.sampled_from([0.0, 1e-6, 1.0, 1e3]),
)
def test_the_command_is_the_blend_of_its_members(seed, by, memory, size):
    """Interpolated by NumPy between the commands that the members give by themselves; both back ends."""
    rng = np.random.default_rng(seed)
    t = np.arange(200) * 1e-3
    demand = rng.uniform(-1, 1) + size * np.sin(40 * t + rng.uniform(0, 6)) * rng.uniform(0.5, 2) * np.exp(
        -5 * t
    )
    force = size * rng.normal(size=len(t))
    levels = np.sort(rng.uniform(0.05, 2.0, 3)) * max(size, 1e-6)
    given_by = demand - demand[0] if by == "displacement" else force
    level = envelope(given_by, memory)
    alone = np.array([run(member, demand, force)["command"] for member in THREE])
    expected = [np.interp(a, levels, column) for a, column in zip(level, alone.T, strict=True)]
    law = Scheduled(THREE, tuple(levels), by, memory)
    for backend in ("numpy", "c"):
        seen = run(law, demand, force, backend)
        scale = max(1.0, np.abs(alone).max())
        assert np.abs(seen["command"] - expected).max() <= 1e-9 * scale
        assert seen["controller.level"] == pytest.approx(level, rel=1e-12, abs=1e-300)


def test_members_of_every_kind_keep_their_states_and_channels_apart():
    law = Scheduled((AdaptivePrediction(0.005), AdaptivePrediction(0.005)), (1e-3, 2e-3))
    t = np.arange(600) * 1e-3
    seen = run(law, 1.5e-3 * np.sin(30 * t), 0 * t)
    alone = run(AdaptivePrediction(0.005), 1.5e-3 * np.sin(30 * t), 0 * t)
    assert seen["command"] == pytest.approx(alone["command"], abs=1e-15)
    names = {"controller.at[0].delay", "controller.at[1].delay", "controller.level"}
    assert names <= seen.keys()
    applied = law.compensate(Var("x"), Measured(), Context("controller", Var("k"), 1e-3))
    assert len(applied.adapted) == 5  # the level, and gain and delay of each


@pytest.mark.parametrize("by", ["displacement", "force"])
def test_a_description_gives_the_same_compensator_back(by):
    members = (FREE, InverseModel(first_order(1.0, 0.01, 0.004), PolynomialPrediction(0.004)))
    law = Scheduled(members, (1e-4, 5e-4), by, memory="200 ms")
    assert Compensator.from_description(law.describe()) == law


def pair():
    """A mass, and a second one with a cubic spring that is on the rig."""

    class Mass(Model):
        def __init__(self, m, c, k):
            self.left, self.right, self.force, self.v = Port(), Port(), Zero(), One()
            self.left >> self.force >> self.v >> self.right
            self.force >> C(stiffness=k)
            self.v >> [I(mass=m), R(damping=c)]

    whole = Model("pair")
    whole.wall, whole.a, whole.b = Sf("v_wall"), Mass(20, 120, 50e3), Mass(2, 12, 400)
    whole.wall >> whole.a.left
    whole.a.right >> whole.b.left
    return whole.cut("a.right >> b.left")


def test_in_a_hybrid_test_it_runs_is_checked_and_is_written_to_a_file(tmp_path):
    numerical, physical = pair()
    actuator = MassSpringDamper(m=2, c=150, k=15e3, drive="position")
    law = Scheduled(
        (InverseModel(first_order(1.0, 0.01)), InverseModel(first_order(1.0, 0.011))), (1e-4, 1e-2)
    )
    test = HybridTest(
        numerical, rig=Emulated(physical, actuator), controller=law,
        excitation={"v_wall": Sine("2 mm", 4.0).derivative()}, rate=1000,
    )  # fmt: skip
    result = test.run(3)
    assert result.metrics[0]["normalised_rms_error"] < 0.15
    assert result["controller.level"].max() == pytest.approx(
        np.abs(result["desired.displacement"]).max(), rel=1e-6
    )
    assert test.check(1).passed
    file = tmp_path / "test.toml"
    file.write_text(files.to_toml(test), encoding="utf-8")
    again = files.load(file).run(0.5)["command"]
    assert np.array_equal(again, result["command"][: len(again)])


def test_a_python_function_among_its_members_makes_it_opaque():
    def follow(desired, measured, time):
        return desired.displacement + 0 * measured.force + 0 * time

    assert "follow" in Scheduled((FREE, PythonControl(follow)), (1e-4, 1e-3)).opaque
    assert not Scheduled(THREE, (1e-4, 2e-4, 3e-4)).opaque


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (((FREE,), (1e-3,)), "expected two compensators or more"),
        (((FREE, "G1"), (1e-3, 2e-3)), r"compensators\[1\]\): expected a compensator"),
        ((FREE, (1e-3, 2e-3)), "expected two compensators or more"),
        (((FREE, LOADED), (2e-3, 1e-3)), "expected 2 rising amplitudes"),
        (((FREE, LOADED), (1e-3, 1e-3)), "expected 2 rising amplitudes"),
        (((FREE, LOADED), (1e-3,)), "expected 2 rising amplitudes"),
        (((FREE, LOADED), "1 mm"), "expected a list of amplitudes"),
        (((FREE, LOADED), (0.0, 1e-3)), r"levels\[0\]"),
        (((FREE, LOADED), ("1 mm", "2 kN")), r"levels\[1\]"),
        (((FREE, LOADED), (1e-3, 2e-3), "velocity"), "unknown quantity to schedule by 'velocity'"),
    ],
)
def test_what_cannot_be_built_is_refused_with_the_reason(arguments, reason):
    with pytest.raises(InputError, match=reason):
        Scheduled(*arguments)


def test_levels_in_a_file_are_held_to_their_unit():
    """A unit in a list of a file counts as it does in Python."""
    controller = Scheduled((LeadCompensation("5 ms"), LeadCompensation("9 ms")), ("0.5 mm", "2 mm"))
    description = controller.describe()
    again = Compensator.from_description({**description, "levels": ["0.5 mm", "2 mm"]})
    assert again == controller
    with pytest.raises(InputError, match="expected a quantity in m"):
        Compensator.from_description({**description, "levels": ["1 N", "2 N"]})
