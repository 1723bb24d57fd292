"""The external half: the way to a target against its closed form, and that nothing hastens it."""

import numpy as np
import pytest
from column_on_rig import column_test
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.engine.codegen import Runner
from bondloop.errors import InputError
from bondloop.substructure import ExternalHalf

TEST = column_test()
TARGET = TEST.numerical.targets[0]


def test_the_way_is_that_of_a_critically_damped_oscillator() -> None:
    """Within 2 speed/omega of the target nothing is held: x = D (1 - (1 + ωt) exp(-ωt))."""
    way, omega = 2e-4, 2 * np.pi * 20
    assert way < 2 * TEST.numerical.speed / omega
    run = TEST.with_values({TARGET: way}).run(0.3)
    exact = way * (1 - (1 + omega * run.time) * np.exp(-omega * run.time))
    # RK4 with omega h = 0.126: its error after a time constant is of the order (omega h)^4 / 120.
    assert np.abs(run["desired.displacement"] - exact).max() < 1e-5 * way


@settings(max_examples=25)
@given(st.lists(st.floats(-10, 10) | st.sampled_from([1e300, -1e300]), min_size=1, max_size=6))
def test_no_target_makes_it_faster_or_leads_it_further(targets: list[float]) -> None:
    """Values are set in the tick past every check, as by a faulty mailbox: speed and stroke hold."""
    half = TEST.numerical
    runner = Runner(TEST.tick, "numpy")
    index = [v.name for v in runner.tick.parameters].index(TARGET)
    for target in targets:
        runner._defaults[index] = target
        result = runner.run(60)
        assert np.abs(result.channels["desired.velocity"]).max() <= half.speed * (1 + 1e-9)
        assert np.abs(result.channels["desired.displacement"]).max() <= half.stroke * (1 + 1e-3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"stroke": -1}, "ExternalHalf(stroke)"),
        ({"speed": "3 kg"}, "ExternalHalf(speed)"),
        ({"interfaces": 0}, "whole number from 1 to 4"),
        ({"interfaces": 5}, "whole number from 1 to 4"),
        ({"interfaces": True}, "whole number from 1 to 4"),
        ({"tolerance": 0}, "ExternalHalf(tolerance)"),
        ({"stiffness": [[1.0, 2.0]]}, "a matrix of 1 times 1"),
        ({"stiffness": [["x"]]}, "expected a number with a unit"),
        ({"stiffness": ["2 kN/m"]}, "a matrix of 1 times 1"),
    ],
)
def test_what_cannot_be_is_refused(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as error:
        ExternalHalf(**{"stroke": 0.02, "speed": 0.05, **arguments})
    assert words in str(error.value)


def test_several_interfaces_have_a_target_each() -> None:
    half = ExternalHalf(0.02, 0.05, interfaces=2)
    assert half.targets == ["numerical.target[0].value", "numerical.target[1].value"]
    assert len(half.compile().states) == 4


def test_the_check_asks_for_care_and_for_no_excitation() -> None:
    """What moves it is on the other side of the link."""
    answer = TEST.check(1.0)
    assert answer.level == "care"
    assert [f.rule for f in answer.findings] == ["BL705"]


def test_it_stands_in_test_files(tmp_path) -> None:
    from bondloop.files import load, to_toml

    to_toml(TEST, tmp_path / "test.toml")
    again = load(tmp_path / "test.toml")
    assert isinstance(again.numerical, ExternalHalf)
    assert again.numerical.tolerance == TEST.numerical.tolerance
