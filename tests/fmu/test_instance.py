"""What an importer may do with an instance: states, parameters, reset, steps; and what it may not."""

from itertools import pairwise

import numpy as np
import pytest
from slaves import Slave, opened

from bondloop.papers import gawthrop_two_actuators


@pytest.fixture(scope="module", params=[2, 3])
def whole(request, tmp_path_factory):
    test = gawthrop_two_actuators.test()
    path = tmp_path_factory.mktemp("fmu") / "whole.fmu"
    return test, test.write_fmu(path, version=request.param, seconds=1.0)


NAMES = ["command[0]", "measured.force[1]"]


def steps(slave, test, first, count):
    rows = []
    for k in range(first, first + count):
        rows.append(slave.get(NAMES))
        slave.step(k * test.period, test.period)
    return rows


def test_states_are_kept_set_and_sent_as_bytes(whole):
    test, path = whole
    with opened(path, path) as (one, other):
        steps(one, test, 0, 40)
        state = one.fmu.getFMUState()
        ahead = steps(one, test, 40, 20)
        one.fmu.setFMUState(state)
        assert steps(one, test, 40, 20) == ahead
        data = one.fmu.serializeFMUState(state)
        one.fmu.freeFMUState(state)
        moved = other.fmu.deserializeFMUState(data)
        other.fmu.setFMUState(moved)
        other.fmu.freeFMUState(moved)
        assert steps(other, test, 40, 20) == ahead
        assert np.ptp(ahead, axis=0).min() > 0


def test_bytes_of_another_fmu_are_no_state(whole):
    test, path = whole
    with opened(path) as one:
        steps(one, test, 0, 2)
        state = one.fmu.getFMUState()
        data = bytearray(one.fmu.serializeFMUState(state))
        one.fmu.freeFMUState(state)
        data[3] ^= 1
        with pytest.raises(Exception, match="status 3"):
            one.fmu.deserializeFMUState(bytes(data))


def test_reset_begins_again(whole):
    test, path = whole
    with opened(path) as one:
        first = steps(one, test, 0, 30)
        one.fmu.reset()
        one.begin()
        assert steps(one, test, 0, 30) == first


def test_instances_do_not_share_anything(whole):
    test, path = whole
    with opened(path, path) as (one, other):
        alone = steps(one, test, 0, 20)
        one.fmu.reset()
        one.begin()
        turns = []
        for k in range(20):
            turns += steps(one, test, k, 1)
            steps(other, test, k, 1)
        assert turns == alone


def test_parameters_are_those_of_the_test(whole):
    test, path = whole
    name = "rig.transfer[0].damper.damping"
    value = test.parameters[name] * 1.1
    changed = test.with_values({name: value}).run(0.1)
    with opened(path, starts={name: value}) as one:
        assert one.get([name]) == [value]
        seen = np.array(steps(one, test, 0, 100))
    np.testing.assert_array_equal(seen[:, 0], np.asarray(changed["command[0]"])[:100])


def test_what_cannot_be_set_is_refused(whole, capfd):
    test, path = whole
    with opened(path) as one:
        for name, value in (
            ("command[0]", 1.0),
            ("time", 1.0),
            ("rig.transfer[0].damper.damping", float("nan")),
            ("rig.transfer[0].mass.mass", -1.0),
        ):
            with pytest.raises(Exception, match="status 3"):
                one.set({name: value})
        state = next(v.name for v in one.md.modelVariables if v.causality == "local")
        with pytest.raises(Exception, match="status 3"):
            one.set({state: 0.0})
        said = capfd.readouterr().out
    assert "parameter 'rig.transfer[0].mass.mass' must be at least" in said
    assert "states can be set before the initialisation only" in said
    assert test.period


def test_a_step_may_be_several_periods_long(whole):
    """As many ticks as fit into it, in steps that differ; what is shown afterwards is the rehearsal's."""
    test, path = whole
    run = test.run(0.2)
    at = [0, 1, 8, 9, 29, 129, 200]
    with opened(path) as one:
        seen = [one.get(NAMES)]
        for first, last in pairwise(at):
            one.step(first * test.period, (last - first) * test.period)
            seen.append(one.get(NAMES))
    for i, name in enumerate(NAMES):
        np.testing.assert_array_equal(np.array(seen)[:, i], np.asarray(run[name])[at])


@pytest.mark.parametrize(
    ("time", "size", "said"),
    [
        (0.0, 2.5, "a step takes 0.001 s, the period of the test, once or several times; found 0.0025 s"),
        (0.0, 0.5, "a step takes 0.001 s, the period of the test, once or several times; found 0.0005 s"),
        (0.0, 0.0, "a step takes 0.001 s"),
        (0.0, -1.0, "a step takes 0.001 s"),
        (0.0, float("inf"), "a step takes 0.001 s"),
        (3.0, 1.0, "the next step begins at t = 0 s; found 0.003 s"),
        (0.0, float("nan"), "a step takes 0.001 s"),
    ],
)
def test_no_parts_of_the_period(whole, capfd, time, size, said):
    test, path = whole
    with opened(path) as one:
        with pytest.raises(Exception, match="status 3"):
            one.step(time * test.period, size * test.period)
        assert said in capfd.readouterr().out


def test_wrong_token_is_refused(whole, capfd):
    with pytest.raises(Exception, match=r"[Ff]ailed to instantiate|NULL|instantiat"):
        Slave(whole[1], token="{00000000-0000-0000-0000-000000000000}")
    assert "this binary belongs to the FMU" in capfd.readouterr().out


def test_units_are_told(whole):
    with opened(whole[1]) as one:
        units = {v.name: v.unit for v in one.md.modelVariables}
        assert units["measured.force[0]"] == "N"
        assert units["rig.transfer[0].damper.damping"] in ("N s/m", "N*s/m", "N s/m")
        newton = next(u for u in one.md.unitDefinitions if u.name == "N").baseUnit
        assert (newton.kg, newton.m, newton.s, newton.A) == (1, 1, -2, 0)


def test_a_test_that_stops_stops_its_fmu(tmp_path, capfd):
    """Limits hold in the FMU as they do in the rehearsal: at the same tick, with the channel's name."""
    from bondloop.safety import Limits

    plain = gawthrop_two_actuators.test().replaced(interlock=None)
    half = 0.5 * np.abs(plain.run(2.0)["force[0]"]).max()
    test = plain.replaced(limits=Limits(force=float(half)))
    run = test.run(2.0)
    assert len(run.time) < 2001
    path = test.write_fmu(tmp_path / "limited.fmu", seconds=2.0)
    last = len(run.time) - 1
    with opened(path) as one:
        steps(one, test, 0, last)
        with pytest.raises(Exception, match="status 3"):
            one.step(last * test.period, test.period)
    assert f"stopped at t = {last * test.period:g} s: channel '" in capfd.readouterr().out
