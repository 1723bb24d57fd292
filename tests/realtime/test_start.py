"""A machine is met where it stands: compared before the first command, then led there without a jump.

The machine is played over UDP: it shows what the test wants it to show, whatever it is told.
"""

import numpy as np
import pytest
from test_udp import PythonRig
from wire import ACCEPT, COMMAND, HELLO, MEASURED, pack

from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime.interface import measured_names
from bondloop.realtime.live_line import Live
from bondloop.realtime.session import run_realtime
from bondloop.realtime.summary import summary_lines
from bondloop.safety import Interlock, Limits

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
        made = run_realtime(test, seconds, link=machine.link, lock_step=True, **given)
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
