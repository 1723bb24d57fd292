"""What is said of a start before it, against what the switches then do."""

import re
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bondloop.engine.codegen.runner import Runner
from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.block import Context
from bondloop.hybrid import Switches
from bondloop.realtime.machine_limits import switch_facts
from bondloop.safety import RampedSwitch, start_words
from bondloop.signals import Step

T = 0.01
SHARES = st.sampled_from([0.0, 1.0]) | st.integers(1, 99).map(lambda n: n / 100)
RAMPS = st.integers(1, 50).map(lambda n: n / 10)


def moved(switch, target):
    """The switch at each tick after the start, for a tenth longer than its ramp, by the tick itself."""
    time, count = Var("t"), Var("k")
    applied = switch.apply(switch.target(time), Const(0.0), 0.05, Context("s", count, T))
    parameters = dict.fromkeys(applied.parameters, target)
    channels = (Channel("gamma", applied.value),)
    tick = Tick("switch", T, time, count, (), applied.states, parameters, tuple(applied.steps), channels)
    return Runner(tick, backend="numpy").run(int(1.1 * switch.ramp / T) + 2).channels["gamma"]


def said(switch, target):
    facts = switch_facts(SimpleNamespace(switches=Switches(displacement=switch)))
    return start_words({"displacement": facts["displacement"]}, {"displacement": target})[0]


def expect(starting, gamma, step):
    """Fail where the words do not fit what has happened; each of them is looked at."""
    words = starting.words
    assert starting.couples or (gamma == 0).all()
    if words.startswith("stays out"):
        assert not starting.couples
        return
    if found := re.search(r"begins at ([\d.]+) %", words):
        assert abs(gamma[0] - float(found[1]) / 100) <= step + 1e-9
    if found := re.fullmatch(r"coupled(?: at ([\d.]+) %)? from the first tick on", words):
        np.testing.assert_allclose(gamma, float(found[1] or 100) / 100, atol=1e-12)
        return
    found = re.search(r"(closes|opens)(?: to ([\d.]+) %)? in ([\d.]+) s", words)
    end = float(found[2]) / 100 if found[2] else float(found[1] == "closes")
    seconds = float(found[3])
    room = 0.005 * seconds + step * seconds  # three digits are said, and a tick is a tick
    at = (1 + np.arange(len(gamma))) * (gamma != end)  # ticks before it is there
    assert np.abs(gamma[-1] - end) <= 1e-9
    assert abs(at.max() * T - seconds) <= room + T + 1e-9


@given(SHARES, SHARES, SHARES, RAMPS)
def test_what_is_said_happens(schedule, initial, target, ramp):
    switch = RampedSwitch(schedule, ramp=ramp, initial=initial)
    gamma = moved(switch, target)
    expect(said(switch, target), gamma, T / ramp)


@given(SHARES, SHARES, RAMPS)
def test_a_schedule_over_time_is_followed_unless_the_operator_holds_it(initial, target, ramp):
    """A step to 1 at once, as a signal: what it does is not said in numbers, that it couples is."""
    switch = RampedSwitch(Step(1.0, at=0.0), ramp=ramp, initial=initial)
    gamma, starting = moved(switch, target), said(switch, target)
    if target == 0:
        expect(starting, gamma, T / ramp)
        return
    assert starting.couples
    assert "follows its schedule" in starting.words
    assert ("begins at" in starting.words) == (initial > 0)
    found = re.search(r"up to ([\d.]+) %", starting.words)
    assert abs(gamma[-1] - (float(found[1]) / 100 if found else 1.0)) <= 1e-9


def test_of_a_switch_of_which_nothing_is_known_the_worst_is_said():
    (starting,) = start_words({"force": None}, {"force": 0.0})
    assert starting.couples
    assert "not known" in starting.words
    waiting = {"initial": 0.0, "ramp": 1.0, "schedule": 1.0}
    assert start_words({"force": waiting}, {"force": float("nan")})[0].couples


def test_without_a_target_a_switch_closes():
    (starting,) = start_words({"force": {"initial": 0.0, "ramp": 0.5, "schedule": 1.0}}, {})
    assert (starting.words, starting.couples) == ("closes in 0.5 s after Start", True)
