"""Interlock and switches in whole tests: every fault trips, in Python and in C, and the rig comes to rest."""

from dataclasses import replace

import numpy as np
import pytest

from bondloop.bondgraph import C, Model, Sf
from bondloop.control import Direct
from bondloop.errors import InputError
from bondloop.hybrid import HybridTest, Switches, Tunable
from bondloop.papers.gawthrop_three_mass import Mass
from bondloop.realtime.machine_limits import switch_facts
from bondloop.rigs import Emulated, Frozen, Infinite, Jump, NotANumber, Sensor, WhiteNoise
from bondloop.safety import Cause, Interlock, Limits, PowerTrip, RampedSwitch
from bondloop.safety import causes as channel_names
from bondloop.safety.switch import start_words
from bondloop.signals import Sine, Step, Table
from bondloop.transfer import MassSpringDamper

AT, RATE = 0.6, 500
LIMITS = Limits(displacement=0.05, velocity=1.0, force=20.0, command=0.05)
QUIET = Interlock(LIMITS, release=0.02, retreat=0.2)


def a_test(**options):
    """Two masses and a wall that moves; the spring between the masses is the specimen, on a stiff rig."""
    m = Model("chain")
    m.wall, m.m1, m.m2 = Sf("r"), Mass(5.0, 8.0, C(stiffness=400.0)), Mass(0.5, 6.0, C(stiffness=30.0))
    m.wall >> m.m1.left
    m.m1.right >> m.m2.left
    numerical, physical = m.cut("m1.right >> m2.left")
    actuator = MassSpringDamper(1.0, 600.0, 9e4, drive="position")
    rig = Emulated(physical, actuator, sensors=options.pop("sensors", {}), drive=options.pop("drive", ()))
    given = {"interlock": QUIET, "excitation": {"r": Sine(0.1, 2.0)}, "controller": Direct(), "rate": RATE}
    return HybridTest(numerical, rig=rig, **{**given, **options})


def test_a_tick_has_the_channels_and_parameters_that_others_look_for():
    limits = replace(LIMITS, command_rate=1.0, tracking_error=0.05, warning=0.9)
    test = a_test(
        interlock=Interlock(limits, power=PowerTrip(5.0), release=0.02, retreat=0.2),
        switches=Switches(RampedSwitch(1.0), RampedSwitch(1.0)),
        tunable={name: Tunable(least=1e-9, rate=100.0) for name in channel_names.LIMITS},
    )
    recorded = {c.name for c in test.tick.channels}
    switches = {channel_names.DISPLACEMENT_SWITCH, channel_names.FORCE_SWITCH}
    assert {channel_names.CAUSE, channel_names.WARNING, channel_names.POWER} | switches <= recorded
    targets = {channel_names.DISPLACEMENT_TARGET, channel_names.FORCE_TARGET}
    changed = {v.name for v in test.tick.parameters}
    assert {channel_names.TRIP, *targets, *channel_names.LIMITS} <= changed


def sensor(*imperfections):
    return Sensor(tuple(imperfections))


FAULTS = {
    # what trips: (cause, sensors with the fault, other options, ticks allowed after the fault)
    "displacement": (Cause.DISPLACEMENT, {"displacement": sensor(Jump(AT, 0.06))}, {}, 0),
    "velocity": (Cause.VELOCITY, {"velocity": sensor(Jump(AT, -2.0))}, {}, 0),
    "force": (Cause.FORCE, {"force": sensor(Jump(AT, 30.0))}, {}, 0),
    "not a number": (Cause.NOT_A_NUMBER, {"force": sensor(NotANumber(AT))}, {}, 0),
    "infinite": (Cause.NOT_A_NUMBER, {"displacement": sensor(Infinite(AT))}, {}, 0),
    "command": (
        *(Cause.COMMAND, {}),
        {"excitation": {"r": Step(5.0, at=AT)}, "interlock": Interlock(Limits(command=0.02))},
        100,
    ),
    "tracking error": (
        *(Cause.TRACKING_ERROR, {"displacement": sensor(Jump(AT, 0.02))}),
        *({"interlock": Interlock(Limits(tracking_error=0.015))}, 0),
    ),
    "power": (
        *(Cause.POWER, {"velocity": sensor(Jump(AT, 1.0))}),
        *({"interlock": Interlock(power=PowerTrip(0.5, cutoff=5.0))}, 60),
    ),
    "frozen": (
        *(Cause.STALE, {"force": sensor(WhiteNoise(1e-3), Frozen(AT))}),
        *({"interlock": Interlock(stale=20)}, 20),
    ),
}


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_trips_and_the_rig_comes_to_rest(fault, backend):
    cause, sensors, options, ticks = FAULTS[fault]
    test = a_test(sensors=sensors, **options)
    run = test.run(2.5, backend=backend)
    assert run.completed, "the run goes on while the rig is brought to its safe position"
    tripped = np.flatnonzero(run["interlock.cause"])
    assert set(run["interlock.cause"][tripped]) == {cause}, "the first cause is latched"
    first = tripped[0]
    assert round(AT * RATE) <= first <= round(AT * RATE) + ticks + 1
    retreat = test.interlock.retreat
    over = first + round(retreat * RATE) + 2
    assert np.all(run["command"][over:] == 0.0), "the safe position"
    assert np.all(np.isfinite(run["command"]))
    # A raised cosine from x0 to rest in n ticks moves by at most x0 pi/(2 n) in one of them.
    x0 = abs(run["command"][first - 1])
    steps = np.abs(np.diff(run["command"][first - 1 : over]))
    assert steps.max() <= 1.01 * x0 * np.pi / (2 * retreat * RATE) + 1e-15
    assert np.abs(run["actual.displacement"][-50:]).max() < 2e-3
    assert run.trip is not None
    assert "interlock tripped" in run.verdict
    assert run.record.attributes["cause_words"] == run.trip[1]


def test_without_a_fault_nothing_trips_and_nothing_changes():
    with_it, without = a_test().run(1.0), a_test(interlock=None).run(1.0)
    assert with_it.trip is None
    assert with_it.record.attributes["cause_words"] == "no trip"
    assert "cause_words" not in without.record.attributes
    np.testing.assert_allclose(with_it["command"], without["command"], rtol=1e-12, atol=1e-15)


def test_switches_bring_the_halves_together_smoothly():
    """With an exact simulated specimen the numerical half does not notice who gives the force."""
    whole = a_test(interlock=None)
    physical = whole.rig.physical
    switches = Switches(
        displacement=RampedSwitch(Step(1.0, at=0.5), ramp=0.3),
        force=RampedSwitch(Step(1.0, at=1.5), ramp=0.3),
        simulated=physical,
    )
    run = a_test(switches=switches).run(3.0)
    assert run.completed
    assert run.trip is None
    t = run.time
    assert np.all(run["command"][t < 0.5] == 0)
    for name, begin in (("switch.displacement", 0.5), ("switch.force", 1.5)):
        gamma = run[name]
        assert gamma[t < begin].max() == 0
        assert gamma[t > begin + 0.31].min() == 1
        assert np.abs(np.diff(gamma)).max() <= 1 / (0.3 * RATE) + 1e-12
    # While the simulated specimen acts, the numerical half moves as the structure in one piece does.
    complete = a_test(interlock=None, switches=Switches(force=RampedSwitch(0.0), simulated=physical)).run(3.0)
    early = t < 1.5
    np.testing.assert_allclose(
        run["desired.displacement"][early], complete["desired.displacement"][early], atol=1e-12
    )
    # Coupled, the rig follows; metrics leave out the time before.
    assert run.coupled.time[0] == pytest.approx(0.8, abs=0.01)
    assert run.metrics[0]["normalised_rms_error"] < 0.2


def test_a_start_does_to_the_switches_what_was_said_before_it():
    """One that closes by itself, and one that the operator has ramped out before."""
    switch = RampedSwitch(1.0, ramp="200 ms", initial=0.0)
    test = a_test(switches=Switches(displacement=switch, force=switch), interlock=None)
    said = start_words(switch_facts(test), {"displacement": 1.0, "force": 0.0})
    assert [str(s) for s in said] == [
        "displacement: closes in 0.2 s after Start",
        "force: stays out until ramped in",
    ]
    run = test.run(0.3, sets={0: {"switch.force.target": 0.0}})
    assert run["switch.force"].max() == 0.0
    gamma = run["switch.displacement"]
    assert gamma[run.time >= 0.2].min() == 1.0
    assert gamma[run.time < 0.19].max() < 1.0
    assert start_words(switch_facts(a_test()), {})[0].couples, "without switches"


def test_an_uncoupled_specimen_pushes_as_nothing():
    """Without a simulated specimen an open force switch leaves the numerical half alone."""
    alone = a_test(interlock=None, switches=Switches(force=RampedSwitch(0.0))).run(1.0)
    unfed = a_test(interlock=None, feedback=False).run(1.0)
    np.testing.assert_allclose(alone["desired.displacement"], unfed["desired.displacement"], atol=1e-15)


def test_the_check_looks_at_the_closed_loop():
    switches = Switches(force=RampedSwitch(Step(1.0, at=1.0)))
    checked, plain = a_test(switches=switches).check(), a_test(interlock=None).check()
    assert checked.step is not None
    assert plain.step is not None
    assert checked.step.spectral_radius == pytest.approx(plain.step.spectral_radius, rel=1e-9)
    assert any("both switches closed" in n for n in checked.notes)


def test_continuous_coupling_has_no_switches():
    with pytest.raises(InputError, match="sample by sample"):
        _ = a_test(coupling="continuous").tick


def test_the_check_warns_of_sensors_that_are_still_at_rest():
    noisy = {word: sensor(WhiteNoise(1e-6)) for word in ("force", "displacement", "velocity")}
    quiet = a_test(interlock=Interlock(stale=50), sensors={**noisy, "force": sensor()}).check()
    assert any("sensors of force have no noise" in note for note in quiet.notes)
    assert not any(
        "no noise" in note for note in a_test(interlock=Interlock(stale=50), sensors=noisy).check().notes
    )


def test_a_switch_follows_a_schedule_from_a_table():
    """A table is read as the signal that it holds: the same command as from the closed form."""
    t = np.arange(0, 2.5, 1 / RATE)
    closed = Step(1.0, at=0.5)
    table = Table(t, closed(t))
    runs = [
        a_test(switches=Switches(RampedSwitch(s, ramp=0.3)), interlock=None).run(1.5) for s in (closed, table)
    ]
    np.testing.assert_allclose(runs[0]["command"], runs[1]["command"], atol=1e-12)
    assert np.abs(runs[0]["command"]).max() > 1e-4
