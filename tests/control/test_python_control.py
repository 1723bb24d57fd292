"""Any Python function as a controller: rehearsed, and never called passed."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import bondloop as bl
from bondloop.check.linear.running_loop import RunningLoop
from bondloop.control import ControlLaw, PythonControl
from bondloop.errors import BondloopError, CompileError, InputError

sys.path.insert(0, str(Path(__file__).parent))  # for laws.py

from laws import floor


class Integral:
    """A function that keeps something, with numbers and an ``if``."""

    def __init__(self):
        self.calls, self.sum, self.times = 0, 0.0, []

    def reset(self):
        self.__init__()

    def __call__(self, desired, measured, time):
        self.calls += 1
        self.times.append(time)
        error = desired.displacement - measured.displacement
        if abs(error) > 1e-9:
            self.sum += 0.01 * error
        return desired.displacement + 0.004 * desired.velocity + self.sum


class TracedIntegral(ControlLaw):
    """The same law, traced."""

    states = {"sum": 0.0}  # noqa: RUF012

    def step(self, desired, measured):
        error = desired.displacement - measured.displacement
        self.sum = bl.math.where(abs(error) > 1e-9, self.sum + 0.01 * error, self.sum)
        return desired.displacement + 0.004 * desired.velocity + self.sum


def test_it_is_called_once_a_sample_and_anew_in_every_run():
    function = Integral()
    test = floor(function)
    runs = [test.run(1.0)["command"] for _ in range(2)]
    np.testing.assert_array_equal(*runs)
    assert function.calls == len(runs[0])
    np.testing.assert_allclose(function.times, np.arange(len(runs[0])) / 1000)
    expected = floor(TracedIntegral()).run(1.0)["command"]
    np.testing.assert_allclose(runs[0], expected, atol=1e-12 * abs(expected).max())


def test_several_transfer_systems():
    test = floor(lambda d, m, t: d.displacement[::-1] + 0 * m.force + 0 * t, count=2)
    run = test.run(0.2)
    np.testing.assert_array_equal(run["command[0]"], run["desired.displacement[1]"])
    np.testing.assert_array_equal(run["command[1]"], run["desired.displacement[0]"])


def test_the_check_never_passes_it_and_says_why():
    """The traced twin of the same law passes: it is the not knowing that is refused, not the loop."""
    check = floor(Integral()).check(2)
    assert not check.passed
    assert check.step is None
    assert check.margins is None
    assert check.suggest().proposed is None
    assert "ControlLaw" in check.suggest().reason
    assert check.dry_run.completed
    assert "Python function" in str(check)
    assert "not known" in check.problems[0]
    assert check.to_dict()["verdict"]
    assert floor(TracedIntegral()).check(2).passed


def test_nothing_else_can_be_made_of_it(tmp_path):
    test = floor(Integral())
    with pytest.raises(CompileError, match=r"Integral is a Python function.*ControlLaw"):
        test.run(0.1, backend="c")
    with pytest.raises(CompileError, match="Python function"):
        test.write_c(tmp_path)
    with pytest.raises(BondloopError):
        RunningLoop(test).at()
    run = test.run(0.1)
    assert "Integral is a Python function" in run.record.attributes["backend_message"]
    assert "class Integral" in run.record.description["controller"]["function"]["python"]
    run.save(tmp_path / "run.h5")
    with pytest.raises(InputError, match="repeat"):
        bl.rerun(tmp_path / "run.h5")


def test_what_is_no_controller_is_refused():
    with pytest.raises(InputError, match="three arguments"):
        floor(lambda desired, measured: 0.0)  # noqa: ARG005
    with pytest.raises(InputError, match="expected a function"):
        PythonControl(3)
    with pytest.raises(InputError, match="found the class"):
        floor(TracedIntegral)
    with pytest.raises(InputError, match=r"expected a number, the command; found None at t = 0 s"):
        floor(lambda d, m, t: None).run(0.1)  # noqa: ARG005
    with pytest.raises(InputError, match="expected 2 numbers"):
        floor(lambda d, m, t: [1.0, 2.0, 3.0], count=2).run(0.1)  # noqa: ARG005
    with pytest.raises(InputError, match="sample by sample"):
        _ = floor(lambda d, m, t: 0.0, coupling="continuous").tick  # noqa: ARG005


def test_an_error_of_the_functions_own_is_not_hidden():
    def fails(desired, measured, time):  # noqa: ARG001
        if time > 0.05:
            raise KeyError("no such gain")
        return desired.displacement

    with pytest.raises(KeyError, match="no such gain"):
        floor(fails).run(0.2)


@pytest.mark.parametrize("text", ["x", "5", "", True, np.bool_(False), np.array(True)])
def test_a_text_or_a_comparison_is_no_command(text):
    with pytest.raises(
        InputError, match=re.escape(f"expected a number, the command; found {text!r} at t = ")
    ):
        floor(lambda d, m, t: text).run(0.1)  # noqa: ARG005
    with pytest.raises(InputError, match="expected 2 numbers"):
        floor(lambda d, m, t: [text, 1.0], count=2).run(0.1)  # noqa: ARG005
