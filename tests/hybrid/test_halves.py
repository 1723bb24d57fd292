"""The two halves of a tick: together they are the test's tick, to the last bit."""

import numpy as np
import pytest

from bondloop.engine.codegen import Runner
from bondloop.papers import gawthrop_two_actuators, wagg_two_mass_rig


@pytest.mark.parametrize("paper", [gawthrop_two_actuators, wagg_two_mass_rig])
def test_computer_and_rig_in_lock_step_are_the_test(paper):
    test = paper.test()
    steps = 200
    whole = test.run((steps - 1) * test.period)
    computer, rig = Runner(test.computer_tick), Runner(test.rig_tick())
    names = [v.name for v in test.rig_tick().inputs]
    n_measured = len(test.rig_tick().channels)
    assert [v.name for v in test.computer_tick.inputs[-n_measured:]] == [
        c.name for c in test.rig_tick().channels
    ]
    assert len(test.computer_tick.inputs) == n_measured, "no tabulated signals in these tests"
    commands = []
    for _ in range(steps):
        # What the sensors read at the beginning of a tick does not depend on the command of this tick: a copy
        # of the rig that is given zeros shows it.
        peek = Runner(rig.tick)
        peek._state, peek._first = rig._state.copy(), rig._first
        seen = [v[0] for v in peek.run(1, np.zeros((1, len(names)))).channels.values()]
        out = computer.run(1, [seen]).channels
        command = [out[n][0] for n in names]
        rig.run(1, [command])
        commands.append(command)
    for j, name in enumerate(names):
        np.testing.assert_array_equal(np.array(commands)[:, j], whole[name])


def test_a_rig_at_a_rate_of_its_own_reads_the_same_motion():
    """With its own step as period, the rig's tick repeated is the rig's tick of a whole sample."""
    test = gawthrop_two_actuators.test()
    n = test.rig.substeps
    slow, fast = Runner(test.rig_tick()), Runner(test.rig_tick(test.period / n))
    rng = np.random.default_rng(1)
    commands = 1e-3 * rng.normal(size=(50, 2))
    a = slow.run(50, commands).channels
    b = fast.run(50 * n, np.repeat(commands, n, axis=0)).channels
    for name, values in a.items():
        np.testing.assert_allclose(values, b[name][::n], rtol=1e-12, atol=1e-15)
