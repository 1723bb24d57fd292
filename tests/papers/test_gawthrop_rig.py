"""A rig closer to the authors': which effect bounds figure 13 (a) and (c), and what the junction leaves."""

import gawthrop_rig_effects
import numpy as np
import pytest
from gawthrop_rig import Rig

from bondloop.check.linear.running_loop import RunningLoop
from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators as two


@pytest.fixture(scope="module")
def example():
    return gawthrop_rig_effects


@pytest.fixture(scope="module")
def rows(example):
    """The rows of the page, each computed when it is first wanted."""

    class Rows(dict):
        def __missing__(self, effect):
            self[effect] = example.row(example.EFFECTS[effect])
            return self[effect]

    return Rows()


def test_without_any_effect_it_is_the_linear_emulation(rows):
    """The digital loop in the computer instead of Table I in the rig: the same errors but for its hold."""
    matched = list(two.findings(two.test().run(10)).values())
    assert rows["none"].same == pytest.approx(matched, rel=0.05)
    assert rows["none"].open_force == pytest.approx((0.358, 0.244), abs=0.002)


@pytest.mark.parametrize(
    ("effect", "model", "fit", "same", "different", "stopped"),
    [
        ("none", (151, 13642), 99.9, (2.8, 2.2), (1.1, 1.6), 0.55),
        pytest.param(
            "bearings of the middle mass, 4 N",
            (151, 13642),
            99.9,
            (2.8, 2.2),
            (1.7, 2.3),
            0.59,
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "top speed, 640 mm/s", (151, 13642), 99.9, (2.8, 2.2), (1.1, 1.6), 0.62, marks=pytest.mark.nightly
        ),
        pytest.param(
            "friction in the drives, 0.2 N",
            (152, 13636),
            99.8,
            (5.7, 3.7),
            (1.8, 1.9),
            0.55,
            marks=pytest.mark.nightly,
        ),
        ("friction in the drives, 1 N", (157, 13597), 99.2, (17.0, 9.5), (5.0, 3.3), 0.55),
        pytest.param(
            "friction in the drives, 5 N",
            (181, 13043),
            86.0,
            (18.3, 16.6),
            (21.9, 11.8),
            0.51,
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "rotors of 0.55 kg", (150, 13674), 99.5, (9.0, 5.4), (3.5, 1.8), 0.54, marks=pytest.mark.nightly
        ),
        ("rotors of 0.55 kg, screws of 200 N/mm", (145, 13685), 97.3, (10.0, 7.1), (3.9, 3.4), 0.50),
        pytest.param(
            "all, with 1 N in the drives",
            (150, 13646),
            97.4,
            (14.4, 11.9),
            (13.8, 11.3),
            0.58,
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_the_rows_of_the_page(rows, effect, model, fit, same, different, stopped):
    """Every value of a row, to its last digit."""
    row = rows[effect]
    assert [round(v) for v in row.models[0]] == list(model)
    assert row.fit == pytest.approx(fit, abs=0.051)
    assert [100 * e for e in row.same] == pytest.approx(same, abs=0.051)
    assert [100 * e for e in row.different] == pytest.approx(different, abs=0.051)
    assert row.stopped == pytest.approx(stopped, abs=0.0051)


@pytest.mark.nightly
def test_no_effect_bounds_the_loop_without_virtual_junction(example, rows):
    """Figure 13 (a), (c): every one of them runs into the stroke, within 0.5 to 0.65 s."""
    assert all(0.45 < rows[effect].stopped < 0.65 for effect in example.EFFECTS)


def test_what_damping_would_bound_it(example):
    """Bearings of the middle mass never: with it held fast both sides still grow."""
    needed = example.damping_needed()
    assert needed["numerical dampers"] == pytest.approx(55, abs=2)
    assert needed["dampers of the springs on the rig"] == pytest.approx(131, abs=2)
    assert np.isinf(needed["bearings of the middle mass"])
    held = two.test(controller="direct").with_values({"rig.specimen.m3.I.mass": 1e7})
    step = RunningLoop(held).at()
    growth = np.log(np.abs(step.eigenvalues[:4])) / step.period
    assert growth == pytest.approx([8.7, 8.7, 7.0, 7.0], abs=0.05)


def test_with_eleven_times_the_numerical_damping_it_is_bounded_and_looks_like_open_force(example):
    assert Rig().test("direct", numerical_damping=66.0).run(10).completed
    assert example.damped() == pytest.approx((0.347, 0.250), abs=0.001)


def test_settings_are_checked():
    with pytest.raises(InputError, match="controller must be"):
        Rig().test("pid")
    with pytest.raises(InputError, match=r"Rig\(friction\)"):
        Rig(friction=-1.0)
    with pytest.raises(InputError, match="case must be"):
        Rig().test("direct", "7/7")
