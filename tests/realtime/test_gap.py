"""How long a loop may stand still is part of the test: in Python, in its file, by --set, in the run file."""

import json

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop import files
from bondloop.cli.main import app
from bondloop.cli.settings import find_test
from bondloop.errors import InputError
from bondloop.files import load_text
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime import LoopOptions
from bondloop.realtime.session import prepare, run_realtime
from bondloop.rehearsal import Run

TEST = "gawthrop-two-actuators"


@pytest.fixture(scope="module")
def test():
    return gawthrop_two_actuators.test()


def told(options):
    """What the loop's program is told, in s."""
    words = options.arguments()
    return float(words[words.index("--gap") + 1])


def test_there_and_back(test):
    assert test.gap == 0.02
    other = test.replaced(gap="35 ms")
    assert other.gap == 0.035
    assert other != test
    again = load_text(files.to_toml(other)).test
    assert again == other
    assert again.gap == 0.035
    # A file from before says nothing of it.
    text = files.to_toml(other).replace("gap = 0.035\n", "")
    assert load_text(text).test.gap == 0.02


def test_by_set(tmp_path, test):
    assert find_test(TEST, ["gap=50 ms"])[0].gap == 0.05
    path = tmp_path / "test.toml"
    path.write_text(files.to_toml(test.replaced(gap=0.03)))
    assert find_test(str(path), [])[0].gap == 0.03
    assert find_test(str(path), ["gap=40 ms"])[0].gap == 0.04
    words = ["realtime", TEST, "--dry", "--json", "--seconds", "0.1", "--set", "gap=60 ms"]
    told_arguments = json.loads(CliRunner().invoke(app, words).stdout)["arguments"]
    assert told_arguments[told_arguments.index("--gap") + 1] == "0.06"


def test_in_the_loop_and_in_the_run_file(test, tmp_path):
    other = test.replaced(gap=0.5)
    assert told(prepare(other, 0.1).options) == 0.5
    assert told(prepare(other, 0.1, rate=500.0).options) == 0.5
    path = tmp_path / "run.h5"
    run_realtime(other, 0.05, lock_step=True, retreat=0.02, record=path, supervisor=60.0)
    description = Run.load(path).record.description
    assert description["gap"] == description["realtime"]["gap"] == 0.5


@settings(max_examples=40, deadline=None)
@given(
    st.one_of(
        st.floats(max_value=0.0), st.sampled_from([float("inf"), float("nan"), "0 s", "20 mm", "", None])
    )
)
def test_never_is_no_gap(test, gap):
    """Negative, zero, infinite, no number, no time: refused."""
    with pytest.raises(InputError, match="gap"):
        test.replaced(gap=gap)


def test_it_is_no_option_of_the_loop_alone(test):
    with pytest.raises(InputError, match="gap is part of the test"):
        prepare(test, 0.1, options={"gap": 1.0})
    with pytest.raises(InputError, match="gap must be positive"):
        LoopOptions(gap=0.0)
    for word in ("hot", "bare"):  # they are for measuring, not for a test
        with pytest.raises(InputError, match=f"unknown option '{word}' of the loop"):
            prepare(test, 0.1, options={word: 1})


def test_missed_ticks_are_made_good_on_an_emulated_rig_only(test):
    """All at once they would be a jump for a machine."""
    assert prepare(test, 0.1).options.catch_up == 10
    assert prepare(test, 0.1, link="shm://somewhere", start_rig=True).options.catch_up == 10
    assert prepare(test, 0.1, link="udp://10.0.0.7:5005", emulated=True).options.catch_up == 0
