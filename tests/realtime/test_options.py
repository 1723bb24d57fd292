"""Options of loop and rig: times as numbers or texts, refused where they are given; programs read numbers."""

import dataclasses
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop import realtime
from bondloop.engine.data.described import Parameter
from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime import LoopOptions, RigOptions, export_c, run_realtime
from bondloop.realtime.session import prepare

TIMES = [
    (options, field.name)
    for options in (LoopOptions, RigOptions)
    for field in dataclasses.fields(options)
    if isinstance(vars(options).get(field.name), Parameter)
]


def told(options, name):
    words = options.arguments()
    return words[words.index(f"--{name.replace('_', '-')}") + 1]


def test_every_time_is_among_them():
    assert len(TIMES) == 11, "nine of the loop, two of the rig"


@pytest.mark.drawn
@pytest.mark.parametrize(("options", "name"), TIMES)
def test_a_text_is_the_number_it_says(options, name):
    @settings(deadline=None, max_examples=30)
    @given(st.integers(1, 3_600_000))
    def same(ms):
        made = options(**{name: f"{ms} ms"})
        assert getattr(made, name) == pytest.approx(1e-3 * ms, rel=1e-15)
        assert float(told(made, name)) == getattr(made, name)

    same()


@pytest.mark.parametrize(("options", "name"), TIMES)
@pytest.mark.parametrize(
    "value", ["20 mm", "soon", "-1 s", -1.0, float("nan"), float("inf"), 1e300, True, None]
)
def test_what_is_no_such_time_is_refused_where_it_is_given(options, name, value):
    with pytest.raises(InputError, match=name.replace("_", "[_-]")):
        options(**{name: value})


def test_a_rig_waits():
    with pytest.raises(InputError, match="timeout must be positive"):
        RigOptions(timeout="0 s")


def test_values_of_parameters_are_numbers():
    assert LoopOptions(parameters={"gap": "20 mm"}).arguments()[-1] == "gap=0.02"
    with pytest.raises(InputError, match="parameter 'gap': expected a number"):
        LoopOptions(parameters={"gap": "wide"})


@pytest.mark.parametrize("word", ["--timeout", "--spin", "--priority", "--cpu", "--parent"])
@pytest.mark.parametrize("text", ["'1 s'", "1 s", "1s", "", "soon", "nan", "inf", "1e300", "-2"])
def test_the_rig_refuses_what_is_no_such_number(programs, word, text):
    """As an exported program is started: half a number, or none, must not be taken for 0."""
    done = started(programs.rig, "--link", "nowhere://", word, text)
    assert done.returncode == 1
    assert "no number" in done.stderr or f"{word} must be from" in done.stderr


@pytest.mark.parametrize("word", ["--timeout", "--spin", "--priority", "--cpu"])
@pytest.mark.parametrize("text", ["1 s", "nan", "-2"])
def test_loop_and_rig_refuse_alike(programs, word, text):
    loop, rig = (started(p, "--link", "nowhere://", word, text) for p in (programs.loop, programs.rig))
    last = loop.stderr.splitlines()[-1]
    assert last.startswith("loop: ")
    assert last.replace("loop: ", "rig: ") == rig.stderr.splitlines()[-1]
    assert (loop.returncode, rig.returncode) == (1, 1)


def test_numeric_options_are_read_in_one_file():
    texts = {p.name: p.read_text() for p in (Path(realtime.__file__).parent / "c").glob("*.c")}
    assert {n: t.count("strtod(") for n, t in texts.items() if "strtod(" in t} == {
        "number_options.c": 1,
        "loop_main.c": 1,  # of a parameter, --set NAME=VALUE
    }


@pytest.mark.parametrize("text", ["nan@", "nan@x", "nan@3x", "nan", "other@3"])
def test_the_rig_refuses_what_is_no_fault(programs, text):
    assert "--fault must be" in started(programs.rig, "--link", "nowhere://", "--fault", text).stderr


def test_the_rig_reads_numbers(programs):
    """All is read before it looks for the link."""
    words = ("--timeout", "1e-1", "--spin", "0", "--priority", "5", "--cpu", "-1", "--fault", "stop@20")
    assert "a rig listens on" in started(programs.rig, *words, "--link", "nowhere://").stderr
    assert "--timeout must be positive" in started(programs.rig, "--link", "x://", "--timeout", "0").stderr


@pytest.mark.parametrize("text", ["'1.0'", "1 N/m", "", "soon", "inf"])
def test_the_loop_sets_numbers_only(programs, text):
    done = started(programs.loop, "--link", "nowhere://", "--set", f"stiffness={text}")
    assert (done.returncode, "no finite number" in done.stderr) == (1, True)


def started(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture(scope="module")
def test():
    return gawthrop_two_actuators.test()


def test_lengths_and_rates_of_runs(test):
    assert len(run_realtime(test, "100 ms", lock_step=True, retreat="20 ms", supervisor="1 min").time) == 101
    assert len(run_realtime(test, "50 ms", rate="2 kHz", lock_step=True, supervisor=60.0).time) == 101
    for wrong in ({"seconds": "100 mm"}, {"seconds": 1, "rate": "1 s"}, {"seconds": 1, "retreat": "1 N"}):
        with pytest.raises(InputError, match="expected a quantity in"):
            run_realtime(test, **wrong)


def test_options_of_a_session(test):
    made = prepare(test, "0.1 s", options={"retreat": "20 ms", "operator_loss": "2 min"})
    assert (made.seconds, made.options.retreat, made.options.operator_loss) == (0.1, 0.02, 120.0)


def test_the_length_of_an_export(test, tmp_path):
    export_c(test, tmp_path / "text", seconds="200 ms")
    export_c(test, tmp_path / "number", seconds=0.2)
    assert (tmp_path / "text" / "README.md").read_text() == (tmp_path / "number" / "README.md").read_text()
    with pytest.raises(InputError, match="seconds: expected a quantity in s"):
        export_c(test, tmp_path / "wrong", seconds="2 kg")
