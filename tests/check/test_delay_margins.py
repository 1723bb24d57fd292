"""The margins of linear loops against a judge from plain mechanics, in drawn cases.

What is promised of a delay is a delay of the command: it acts later, by whatever part of a sample, and steps
to its new value when it does. That is what `late_edges.Judge` computes. The emulated rig does the same up to
the length of one of its own fine steps, within which it averages; with many fine steps it agrees with both.
"""

import itertools
import math
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for late_edges.py and linear_cases.py

from late_edges import FARTHEST, Case, Judge
from linear_cases import drawn, made

from bondloop.check.checking import check
from bondloop.check.linear.delay_margins import first_jitter
from bondloop.check.linear.margins import Border, Place, _late_commands, margins
from bondloop.check.linear.running_loop import RunningLoop
from bondloop.check.policy import CheckPolicy

REPORTED = 4
"""Stream of the cases that are judged here; on streams 1 to 3 the methods were tried out."""

ABOVE = 1.05
"""How far a stated margin may lie above the true one."""


def place(case):
    loop = RunningLoop(made(case))
    return Place(loop, loop.at())


def stated(case):
    """The margins of a case; None where it is unstable as it is."""
    found = place(case)
    return margins([found]) if found.step.stable else None


@pytest.fixture(scope="module", params=[40, pytest.param(200, marks=pytest.mark.nightly)])
def judged(request):
    """So many stable cases with what is said of them and who judges it."""
    said = ((case, stated(case)) for case in (drawn(seed, REPORTED) for seed in itertools.count()))
    stable = ((case, m, Judge(case)) for case, m in said if m is not None)
    return list(itertools.islice(stable, request.param))


def samples(border, case):
    return float(border.value) * case.rate


@pytest.mark.parametrize("seed", range(12))
def test_the_judge_knows_the_loop(seed):
    """With whole samples of latency and many fine steps, one step has the judge's eigenvalues."""
    case = drawn(seed, 1)
    case = replace(case, latency=float(round(case.latency)), substeps=24)
    ours = RunningLoop(made(case)).at().spectral_radius
    assert ours == pytest.approx(Judge(case).radius(0.0), abs=1e-5)


def test_no_stated_delay_is_above_the_true_one(judged):
    wrong = []
    for case, m, judge in judged:
        said = samples(m.delay, case)
        true = judge.smallest(min(1.02 * said, FARTHEST))
        if said > ABOVE * true or (said <= FARTHEST and math.isinf(true) and not judge.borders(said)):
            wrong.append((case.seed, said, true))
    assert not wrong
    assert sum(c.near > 0 for c, _, _ in judged) >= len(judged) // 6


def test_a_stated_delay_is_a_border(judged):
    """None is stated too small, either: something grows just beyond it."""
    near = [(case, samples(m.delay, case), judge) for case, m, judge in judged]
    near = [(case, said, judge) for case, said, judge in near if 0 < said <= FARTHEST]
    assert len(near) > len(judged) // 3
    assert [(case.seed, said) for case, said, judge in near if not judge.borders(said)] == []


def test_jitter_is_the_worse_of_a_delay_of_all_and_of_every_other_command(judged):
    found = 0
    for case, m, judge in judged:
        said = samples(m.jitter, case)
        assert said <= samples(m.delay, case)
        assert said > 1.0 or said <= ABOVE * every_other(judge, said), case.seed
        late = _late_commands(place(case))
        alone = None if late is None else first_jitter(late, most=1.0)  # whatever a delay of all does
        assert alone is None or alone.delay == pytest.approx(every_other(judge, 1.0), rel=0.03)
        found += alone is not None
    assert found or len(judged) < 100  # one in some thirty


def every_other(judge, most):
    """The smallest lateness of every other command that makes it unstable."""
    return judge.smallest(most, lambda d: not judge.stable(0.0, d))


def test_no_stated_factor_is_beyond_a_smaller_one(judged):
    """Of gain and specimen: everything is stable on the way to the border, of a rig in many fine steps."""
    ways = {
        "gain": Judge,
        "least_gain": Judge,
        "stiffer": lambda case, k: Judge(replace(case, stiffness=k * case.stiffness)),
        "lighter": lambda case, k: Judge(replace(case, near=k * case.near, far=k * case.far)),
    }
    farthest = {"gain": 10.0, "least_gain": 0.1, "stiffer": 3.0, "lighter": 1 / 3}
    wrong = []
    for coarse, _, _ in judged[::4]:
        case = replace(coarse, latency=float(round(coarse.latency)), substeps=16)
        m = stated(case)
        for name, way in ways.items():
            border = None if m is None else getattr(m, name)
            if border is None:
                continue
            end = border.value if border.found else farthest[name]
            end *= ABOVE if end < 1 else 1 / ABOVE
            tried = np.geomspace(1.0, end, 12)[1:] if abs(math.log(end)) > math.log(ABOVE) else ()
            wrong += [(case.seed, name, k) for k in tried if not way(case, k).stable(0.0)][:1]
    assert not wrong


# Both were stated as many samples, since only whole samples were searched, or a delay that nothing holds.
HALF_A_SAMPLE = Case(
    (632.5, 835.6), (2.7625e6, 3.0133e6), (2424.0, 2909.8), "second order", (15.986, 46693.0, 3.48493e8),
    6.515, 0.0, 3.98472e6, 4027.6, "direct", 0.0, 1, 4000.0, 0.698, 40,
)  # fmt: skip
A_QUARTER = Case(
    (53.334,), (8135.4,), (45.864,), "second order", (0.058147, 34.698, 30143.7),
    3.413, 0.0, 5301.2, 38.048, "inverse", 0.0067898, 1, 200.0, 0.7975, 40,
)  # fmt: skip


@pytest.mark.parametrize(
    ("case", "unstable", "stable"),
    [(HALF_A_SAMPLE, 0.5, 1.0), (A_QUARTER, 0.25, 0.75)],
    ids=["half", "quarter"],
)
def test_a_mass_at_the_interface_makes_stability_come_and_go_with_the_delay(case, unstable, stable):
    def late(extra):
        return RunningLoop(made(replace(case, latency=case.latency + extra))).at().stable

    judge = Judge(case)
    assert [judge.stable(x) for x in (0.0, unstable, stable)] == [True, False, True]
    assert [late(x) for x in (0.0, unstable, stable)] == [True, False, True]  # the emulated rig agrees
    found = check(made(case), 0.5).margins
    assert found.delay.value * case.rate == pytest.approx(judge.smallest(1.0), rel=0.01)
    assert found.delay.value * case.rate < unstable


def test_jitter_is_said_where_it_is_worse_than_delay():
    test = made(A_QUARTER)
    found = check(test, 0.5)
    assert found.margins.jitter == found.margins.delay
    assert "of every other command" not in str(found)
    assert not [f for f in found.findings if f.rule == "BL311"]
    uneven = replace(found, margins=replace(found.margins, jitter=Border(5e-4, 60.0))).judged(test)
    (finding,) = (f for f in uneven.findings if f.rule == "BL311")
    assert "0.5 ms" in finding.text
    assert "0.1 samples" in finding.text
    assert "of every other command" in str(uneven)
    assert uneven.to_dict()["margins"]["jitter"]["value"] == 5e-4
    generous = replace(uneven, policy=CheckPolicy(delay_margin=0.0, delay_samples=0.0)).judged(test)
    assert not [f for f in generous.findings if f.rule == "BL311"]


@pytest.mark.parametrize("case", [HALF_A_SAMPLE, A_QUARTER], ids=["half", "quarter"])
def test_every_other_command_late_is_what_the_judge_says(case):
    alone = first_jitter(_late_commands(place(case)), most=1.0)
    true = every_other(Judge(case), 1.0)
    assert alone.delay == pytest.approx(true, rel=0.02) if alone else math.isinf(true)


def test_a_long_delay_is_judged_in_little_time():
    case = replace(A_QUARTER, rate=4000.0, latency=2000.0, near=0.0, compensator="direct", stiffness=10.0)
    test = made(replace(case, substeps=4))
    began = time.process_time()
    loop = RunningLoop(test)
    step = loop.at()
    assert step.stable
    found = margins([Place(loop, step)])
    assert time.process_time() - began < 2.0
    assert "jitter" in found.left_out
