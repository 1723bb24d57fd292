"""LQG, loop shaping and adaptive remainders in a hybrid test: run, checked, written and read."""

import numpy as np
import pytest

from bondloop import files
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.control import (
    AdaptiveModelBased,
    AdaptiveRemainder,
    AdaptiveTimeSeries,
    FeedforwardLQG,
    InverseModel,
    LoopShaping,
)
from bondloop.hybrid import Extrapolation, HybridTest
from bondloop.rigs import Emulated
from bondloop.signals import Sine
from bondloop.transfer import first_order, second_order

BELIEF, TRUTH = first_order(1.0, 0.012), second_order(0.95, 15.0, 0.8)
INVERSE = InverseModel(BELIEF, ahead=0.5)
LAWS = [
    FeedforwardLQG(BELIEF, disturbance="1 mm", corner="2 Hz"),
    LoopShaping.for_bandwidth(BELIEF, "5 Hz"),
    AdaptiveRemainder(INVERSE, AdaptiveTimeSeries(largest_delay="20 ms")),
    FeedforwardLQG(BELIEF, AdaptiveRemainder(INVERSE, AdaptiveModelBased(largest_delay="20 ms"))),
]


def hybrid(law, extrapolation=None):
    """A mass with a spring in the computer, a spring on the rig; the actuator is not what it is taken for."""
    whole = Model("mass")
    whole.load, whole.v, whole.spring = Se("force"), One(), One()
    whole.load >> whole.v
    whole.v >> [I(mass=10.0), C(stiffness=4e3), R(damping=60.0)]
    whole.spring >> [C(stiffness=1e3), R(damping=0.1)]
    whole.v >> whole.spring
    numerical, physical = whole.cut("v >> spring")
    return HybridTest(
        numerical,
        rig=Emulated(physical, TRUTH.actuator(), substeps=4),
        controller=law,
        excitation={"force": Sine(20.0, 1.3) + Sine(10.0, 3.1)},
        rate=500,
        extrapolation=extrapolation,
    )


def error(run):
    x, y = (run[f"{word}.displacement"][-2000:] for word in ("desired", "actual"))
    return np.sqrt(np.mean((x - y) ** 2) / np.mean(x**2))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_it_is_run_checked_and_written(law, tmp_path):
    test = hybrid(law, Extrapolation())
    run = test.run(8)
    assert error(run) < 0.7 * error(hybrid(INVERSE).run(8))
    assert test.check(4).passed
    file = tmp_path / "test.toml"
    file.write_text(files.to_toml(test), encoding="utf-8")
    again = files.load(file)
    assert again.controller == law
    python = again.run(0.4, backend="numpy")["command"]
    assert python == pytest.approx(run["command"][: len(python)], abs=1e-12)
    assert again.computer_tick.inputs  # the same computer can be given to a real-time loop
