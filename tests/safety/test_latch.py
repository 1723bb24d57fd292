"""The latch, the reset and the way to the safe position."""

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.rigs import Jump, NotANumber
from bondloop.safety import Cause, Interlock, Limits, PowerTrip, RampedSwitch, safety_from

LIMITS = Limits(displacement=0.02, force=500)
RESET = {"interlock.reset": 1.0}
T = 0.001


class Session:
    """Runs a bench piece by piece, as an operator sees it, and joins the records."""

    def __init__(self, bench, motion, backend):
        self.runner, self.motion, self.pieces = bench.runner(backend), motion, []

    def run(self, ticks, parameters=None):
        result = self.runner.run(ticks, self.motion(ticks, first=self.runner.count), parameters)
        assert result.finished, result.message
        self.pieces.append(result)
        return result.channels["interlock.cause"]

    def __getitem__(self, name):
        return np.concatenate([p.channels[name] for p in self.pieces])


@pytest.fixture
def session(Bench, motion, backend):
    def make(interlock, faults, **rest):
        return Session(Bench(interlock, faults, **rest), motion, backend)

    return make


def test_the_first_cause_stays(session):
    faults = {
        "force": Jump(0.1, 1000, until=0.11),
        "displacement": Jump(0.12, 1),
        "command": NotANumber(0.13),
    }
    s = session(Interlock(LIMITS), faults)
    s.run(300)
    np.testing.assert_array_equal(s["interlock.cause"], [0] * 100 + [Cause.FORCE] * 200)
    assert s.runner.state["interlock.tripped_at"] == pytest.approx(0.1)


def test_only_a_reset_clears_and_only_when_all_is_well(session):
    s = session(Interlock(LIMITS, retreat=0.1), {"force": Jump(0.1, 1000, until=0.5)})
    s.run(150)
    assert (s.run(10, RESET) == Cause.FORCE).all(), "retreat not over, force still there"
    assert (s.run(140) == Cause.FORCE).all()
    assert (s.run(400, RESET) == Cause.FORCE).all(), "the edge came too early; left at 1 it does nothing"
    assert (s.run(100) == Cause.FORCE).all(), "all is well again, but nobody reset"
    assert not s.run(1, RESET).any()
    assert not s.run(200).any()
    assert s.runner.state["interlock.tripped_at"] == -1


def test_a_reset_waits_for_the_end_of_the_retreat(session):
    """Tripped at tick 100, retreat of 100 ticks, one for the switches: ticks 101 to 201 refuse."""
    for tick, cleared in ((201, False), (202, True)):
        s = session(Interlock(LIMITS, retreat=0.1), {"force": Jump(0.1, 1000, until=0.11)})
        s.run(tick)
        assert bool(s.run(1, RESET)[0] == 0) is cleared


def test_a_request_must_be_withdrawn_before_the_reset(session):
    s = session(Interlock(retreat=0.1), {})
    s.run(10, {"interlock.trip": 10})
    s.run(300, {"interlock.trip": 10})
    assert (s.run(10, {"interlock.trip": 10, **RESET}) == Cause.LINK_LOST).all()
    s.run(1)
    assert not s.run(1, RESET).any()


def test_a_reset_that_is_left_on_does_not_prevent_the_next_trip(session):
    s = session(Interlock(LIMITS), {"force": Jump(0.1, 1000)})
    s.run(3000, RESET)
    assert (s["interlock.cause"][100:] == Cause.FORCE).all()


@pytest.mark.parametrize("safe", [0.0, -0.004])
def test_the_way_back_is_a_raised_cosine(session, safe):
    retreat, n = 0.25, 250
    s = session(Interlock(LIMITS, retreat=retreat, safe_position=safe), {"force": NotANumber(0.14)})
    s.run(600)
    command = s["command[0]"]
    last = command[139]
    assert last == pytest.approx(0.001 * np.sin(2 * np.pi * 5 * 0.139), rel=1e-12)
    k = np.minimum(np.arange(460), n)
    expected = safe + (last - safe) * 0.5 * (1 + np.cos(np.pi * k / n))
    np.testing.assert_allclose(command[140:], expected, rtol=0, atol=1e-17)
    assert (command[140 + n :] == safe).all()
    # Largest step of the sampled cosine: |cos a - cos b|/2 = |sin((a+b)/2) sin((b-a)/2)| <= sin(π/2n).
    steps = np.abs(np.diff(command[139:]))
    assert steps.max() <= abs(last - safe) * np.sin(np.pi / (2 * n)) * (1 + 1e-9)
    assert steps.max() >= 0.999 * abs(last - safe) * np.sin(np.pi / (2 * n))


@pytest.mark.parametrize("switch", [None, RampedSwitch(1.0, ramp=0.3), RampedSwitch(0.5, ramp=0.2)])
def test_the_command_never_jumps(session, switch):
    """Trip while the switch is up, reset, come back: steps are those of motion, cosine or ramp."""
    retreat, safe, peak = 0.4, -0.002, 0.001
    s = session(
        Interlock(LIMITS, release=0.01, retreat=retreat, safe_position=safe),
        {"force": Jump(0.1, 1000, until=0.12)},
        displacement=switch,
    )
    s.run(700)
    s.run(1, RESET)
    s.run(1000)
    command, cause = s["command[0]"], s["interlock.cause"]
    assert cause[100:700].all()
    assert not cause[700:].any()
    top = 0.5 if switch is not None and switch.schedule == 0.5 else 1.0
    ramp = retreat if switch is None else switch.ramp
    reach = peak - safe
    moving = 2 * peak * np.sin(np.pi * 5 * T)  # largest step of the sampled sine
    assert (
        np.abs(np.diff(command[:700])).max() <= max(moving, reach * np.sin(np.pi * T / (2 * retreat))) + 1e-15
    )
    assert np.abs(np.diff(command[699:])).max() <= moving + reach * T / ramp + 1e-15
    assert command[700] == safe
    t = np.arange(1701) * T
    wanted = safe + top * (peak * np.sin(2 * np.pi * 5 * t) - safe)
    back = 701 + round(top * ramp / T) + 1
    np.testing.assert_allclose(command[back:], wanted[back:], rtol=0, atol=1e-16)


def test_a_controller_that_has_gone_mad_does_not_move_the_rig(session):
    s = session(
        Interlock(LIMITS, retreat=0.1), {"command": NotANumber(0.1), "desired_velocity": NotANumber(0.1)}
    )
    s.run(400)
    assert np.isfinite(s["command[0]"]).all()
    assert (s["command[0]"][200:] == 0).all()
    assert (s.run(5, RESET) == Cause.NOT_A_NUMBER).all(), "still mad: no reset"


def test_a_trip_at_the_first_tick_gives_the_safe_position(session):
    s = session(Interlock(safe_position=0.003), {"command": NotANumber(0)})
    s.run(10)
    assert (s["command[0]"] == 0.003).all()


def test_the_force_switch_opens_at_the_tick_after_the_trip(session):
    """Release of 20 ms: from 1 to 0 in 20 ticks, 1/20 each."""
    s = session(Interlock(LIMITS, release=0.02), {"force": Jump(0.1, 1000)})
    s.run(200)
    expected = np.clip(1 - (np.arange(200) - 100) / 20, 0, 1)
    np.testing.assert_allclose(s["gamma"], expected, rtol=0, atol=1e-14)
    assert (s["gamma"][121:] == 0).all()


def test_an_uncoupled_rig_need_not_follow(session):
    """With the displacement switch at 0 the numerical half moves 1 mm; neither tracking nor power trips."""
    s = session(
        Interlock(Limits(tracking_error=1e-4), PowerTrip(1e-3)),
        {"displacement": Jump(0, 0), "velocity": Jump(0, 0)},
        displacement=RampedSwitch(0.0),
    )
    still = s.motion

    def held(ticks, first=0):
        table = still(ticks, first)
        table[:, 1:3] = 0
        return table

    s.motion = held
    assert not s.run(500).any()
    assert (s["command[0]"] == 0).all()


def test_descriptions():
    interlock = Interlock(LIMITS, PowerTrip("20 W", cutoff=2), stale=50, safe_position="-2 mm")
    assert safety_from(interlock.describe()) == interlock
    assert interlock.safe_position == -0.002


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"limits": 3}, r"expected Limits\(\.\.\.\)"),
        ({"power": 20.0}, r"expected PowerTrip\(\.\.\.\)"),
        ({"stale": 0}, "number of samples"),
        ({"stale": 2.5}, "number of samples"),
        ({"release": 2.0}, "release of 2 s and a retreat of 1 s"),
        ({"retreat": 0}, "above 0"),
        ({"limits": Limits(command=0.1), "safe_position": 0.2}, "within the limit of the command"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        Interlock(**given)
