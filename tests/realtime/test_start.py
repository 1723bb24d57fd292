"""A machine is met where it stands: compared before the first command, then led there without a jump.

The machine is played over UDP: it shows what the test wants it to show, whatever it is told.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_udp import PythonRig
from wire import ACCEPT, COMMAND, HELLO, MEASURED, pack

from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime import LoopProcess
from bondloop.realtime.console import Console
from bondloop.realtime.programs.interface import measured_names
from bondloop.realtime.session import prepare, run_realtime
from bondloop.realtime.summary import Live, summary_lines
from bondloop.safety import Interlock, Limits
from bondloop.safety.causes import Cause

LIMITS = Limits(
    displacement="25 mm",
    velocity=0.5,
    force=500,
    command="25 mm",
    command_rate="1 m/s",
    tracking_error="1 mm",
)
TICKS = 20
"""Of the approach, and of the retreat."""


@pytest.fixture(scope="module")
def test():
    interlock = Interlock(LIMITS, stale=10**6, release=0.01, retreat=0.05)
    return gawthrop_two_actuators.test().replaced(gap=60.0, interlock=interlock)


class Machine(PythonRig):
    """Shows what `shown(number of commands heard)` says, by the name of the measured value; 0 otherwise."""

    def __init__(self, test, shown):
        super().__init__(self._answer)
        self.names, self.shown = measured_names(test.computer_tick), shown

    def _answer(self, packet):
        heard = packet["sequence"] if packet["kind"] == COMMAND else 0
        values = [self.shown(heard).get(name, 0.0) for name in self.names]
        kind = ACCEPT if packet["kind"] == HELLO else MEASURED
        if kind == MEASURED and packet["kind"] != COMMAND:
            return []
        return [pack(kind, packet["session"], heard, heard, values)]

    @property
    def commands(self):
        """What it was commanded, a row each, without the copies that a loop sends when it has to wait."""
        rows = {p["sequence"]: p["values"] for p in self.seen if p["kind"] == COMMAND}
        return np.array([rows[n] for n in sorted(rows)])


def run(test, shown, seconds=0.1, **options):
    with Machine(test, shown) as machine:
        given = {"retreat": 0.05, "approach": TICKS * test.period, "timeout": 20.0, **options}
        made = run_realtime(test, seconds, link=machine.link, lock_step=True, supervisor=60.0, **given)
    return made, machine.commands


def at(offset):
    return {"measured.displacement[0]": offset, "measured.displacement[1]": offset}


@pytest.mark.parametrize("offset", [1.001e-3, -0.02, 10.0])
def test_a_rig_that_is_elsewhere_is_left_alone(test, offset):
    made, commands = run(test, lambda _: {"measured.displacement[1]": offset})
    assert not made.completed
    assert made.record.attributes["cause"] == 18
    assert "from where the test begins at interface 2" in made.record.attributes["message"]
    assert "nothing was commanded" in made.record.attributes["message"]
    assert len(commands) == 0


def run_as_told(made, approach, offset, retreat=0.05):
    """Run with another approach and retreat than `prepare` allows: what the executive makes of them."""
    with Machine(made.test, lambda _: at(offset)) as machine:
        told = replace(made.options, link=machine.link, approach=approach, retreat=retreat)
        run = replace(made, options=told).run()
    return run.record.attributes["cause"], machine.commands


def console_after(made, shown, **options):
    """Run alone, and return what a console shows of it."""
    with Machine(made.test, shown) as machine:
        told = replace(made.options, link=machine.link, **options)
        with LoopProcess(made.loop, told, made.table) as loop:
            loop.mailbox.start()
            assert loop.wait(60) == 3
            return Console(loop.segment).snapshot()


@pytest.mark.parametrize("made", ["1 m"], indirect=True)
def test_of_two_commands_the_one_that_is_too_fast_is_named_with_its_rate(made):
    """Only the second actuator stands elsewhere; as a channel, its number is that of an excitation."""
    shown = console_after(made, lambda _: {"measured.displacement[1]": 5e-3}, approach=made.test.period)
    assert shown.cause == Cause.COMMAND_RATE
    assert (shown.cause_channel, shown.cause_unit, shown.cause_limit) == ("command[1]", "m/s", 1.0)
    assert shown.cause_value == pytest.approx(5e-3 / made.test.period, rel=0.1)


def test_of_the_measured_values_the_one_that_is_no_number_is_named(made):
    shown = console_after(
        made, lambda heard: {"measured.velocity[0]": np.nan if heard > 5 else 0.0}, approach=0.0
    )
    assert shown.cause == Cause.NOT_A_NUMBER
    assert (shown.cause_channel, shown.cause_unit, shown.cause_limit) == ("measured.velocity[0]", "m/s", None)
    assert np.isnan(shown.cause_value)


@pytest.fixture(scope="module", params=["1 mm", "1 m"])
def made(test, request):
    limits = replace(LIMITS, tracking_error=request.param)
    test = test.replaced(interlock=replace(test.interlock, limits=limits))
    return prepare(test, 0.05, link="udp://127.0.0.1:9", lock_step=True, options={"timeout": 20.0})


def test_the_place_is_compared_without_an_approach_too(made):
    """An approach that was too long to be counted was none, and took the comparison with it."""
    limit = made.test.interlock.limits.tracking_error
    cause, commands = run_as_told(made, 0.0, -1.001 * limit)
    assert cause == 18
    assert len(commands) == 0
    assert run_as_told(made, 0.0, 0.9e-3)[0] != 18


@settings(deadline=None, max_examples=8)
@given(st.floats(-5, -2.1), st.floats(0, 2.5), st.floats(-9, -1))
@example(np.log10(1.9e-3), 0.0, -9.0)
@example(np.log10(7e-3), np.log10(5), -9.0)
@example(np.log10(7e-3), np.log10(30), -9.0)
def test_no_step_of_the_way_there_and_back_is_faster_than_the_rate(made, offset, length, retreat):
    """From where the rig stands on, the first tick included; where that cannot be, it is brought to rest."""
    offset, ticks = 10**offset, round(10**length)
    cause, commands = run_as_told(made, ticks * made.test.period, offset, 10**retreat)
    if offset > made.test.interlock.limits.tracking_error:
        assert (cause, len(commands)) == (18, 0)
        return
    steps = np.diff(np.vstack([np.full((1, 2), offset), commands.reshape(-1, 2)]), axis=0)
    most = 1.0 * made.test.period
    assert abs(steps).max(initial=0.0) <= most * (1 + 1e-9)
    fast = offset * np.sin(np.pi / (2 * ticks)) > most  # but for what the controller adds to the place
    assert (cause == 17) == fast or abs(offset * np.sin(np.pi / (2 * ticks)) / most - 1) < 0.1


def test_an_approach_faster_than_the_rate_is_refused(test):
    """From 1 mm away along a raised cosine the rate is π/2 · 1 mm/approach; 1 m/s allows 1.57 ms."""
    for approach in (1e-6, 1.5e-3):
        with pytest.raises(
            InputError, match=r"faster than limits.command_rate of 1 1/s; .* at least 0\.0016 s"
        ):
            prepare(test, 0.05, link="udp://127.0.0.1:9", options={"approach": approach})
    made = prepare(test, 0.05, link="udp://127.0.0.1:9", options={"approach": 1.6e-3})
    assert made.options.approach == 1.6e-3
    for approach in (1e16, 1e300, 3601.0):
        with pytest.raises(InputError, match="approach must be at most 3600; found"):
            prepare(test, 0.05, link="udp://127.0.0.1:9", options={"approach": approach})


@pytest.mark.parametrize("offset", [0.0, 0.9e-3, -0.4e-3])
def test_the_first_command_is_where_the_rig_stands(test, offset):
    """And from there to the test's own along a raised cosine: no step above |way| sin(π/2n)."""
    made, commands = run(test, lambda _: at(offset))
    ticked = np.stack([made["command[0]"], made["command[1]"]], axis=1)
    way = commands[: TICKS + 1]
    np.testing.assert_array_equal(commands[TICKS : TICKS + len(ticked)], ticked[: len(commands) - TICKS])
    np.testing.assert_allclose(way[0], offset, atol=abs(offset) * 0.01 + 1e-5)
    most = (np.abs(offset - way[-1]) + 1e-6) * np.sin(np.pi / (2 * TICKS)) * 1.05
    assert (np.abs(np.diff(way, axis=0)) <= most).all()
    share = 0.5 * (1 - np.cos(np.pi * np.arange(1, TICKS + 1) / TICKS))[:, None]
    np.testing.assert_allclose(way[:TICKS], (1 - share) * offset + share * way[TICKS - 1], atol=1e-12)


@pytest.mark.parametrize("when", [1, 7, TICKS - 1, TICKS, TICKS + 1, TICKS + 5])
def test_a_rig_that_shows_a_million_newton_stops_without_a_jump(test, when):
    """Before, during and after the approach, at the first tick and later: cause 3, a way back from there."""
    made, commands = run(
        test, lambda heard: {**at(0.9e-3), **({"measured.force[0]": 1e6} if heard >= when else {})}
    )
    assert made.record.attributes["cause"] == 3
    # What answers the command of a tick is there at the next: found at its arrival.
    assert made.record.attributes["cause_step"] == max(when - TICKS, 0)
    assert abs(commands).max() < 2e-3, "and not the 269 m that it came to without limits"
    assert (commands[-1] == 0.0).all()
    # The fastest of all: 0.9 mm in 20 ticks, and 2 mm in the 50 of the retreat.
    assert abs(np.diff(commands, axis=0)).max() < 1e-3 * np.pi / 2 / TICKS + 2e-3 * np.pi / 2 / 50
    assert len(commands) <= when + 50 + 4


def test_a_warning_comes_first_and_is_recorded(test):
    """450 N of 500 are above 80 %: the channel has the cause's number, and the run goes on."""
    made, _ = run(
        test, lambda heard: {**at(0.0), **({"measured.force[0]": 450.0} if heard == TICKS + 5 else {})}
    )
    warned = np.flatnonzero(made["interlock.warning"])
    assert made["interlock.warning"][warned[0]] == 3
    assert made["interlock.cause"][warned[0]] == 0
    assert made.record.attributes["warnings"]["force"] == 1
    assert "WARNING: near the limit of force in 1 ticks" in summary_lines(made.record.attributes)
    live = Live(1.0, "active", 0, 1e-5, 1e-4, 0.1, 0, warning=3)
    assert str(live).endswith("WARNING: near the limit of force")


def test_a_command_that_changes_too_fast_trips():
    """The rate between two ticks, against the record of the rehearsal without a limit."""
    free = gawthrop_two_actuators.test()
    commands = np.stack([free.run(0.3)[f"command[{i}]"] for i in (0, 1)], axis=1)
    rates = np.abs(np.diff(commands, axis=0)).max(axis=1) / free.period
    limit = 0.5 * rates.max()
    slow = free.replaced(interlock=Interlock(Limits(command_rate=limit))).run(0.3)
    first = 1 + int(np.argmax(rates > limit))
    assert int(np.argmax(slow["interlock.cause"] != 0)) == first
    assert slow["interlock.cause"][first] == 17
    np.testing.assert_array_equal(slow["command[0]"][:first], commands[:first, 0])
    assert slow["command[0]"][first] == commands[first - 1, 0], "the command of that tick is the one before"
