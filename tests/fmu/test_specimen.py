"""An FMU as specimen: against the same specimen in the rig's own equations, and in the loop."""

import numpy as np
import pytest
from test_foreign import halves, hybrid

import bondloop as bl
from bondloop.bondgraph import C, Model, One, Port, R
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.quantity import Quantity
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.errors import InputError
from bondloop.fmu import write_tick_fmu
from bondloop.realtime import run_realtime
from bondloop.rigs import Emulated, FmuSpecimen, mounted

STIFFNESS, DAMPING = 400.0, 8.0
ACTUATOR = bl.transfer.MassSpringDamper(m=2, c=150, k=15e3, drive="position")


def written(path, period, version=3):
    """Write a spring with a damper: its force follows its inputs at once, without any state."""
    x = Var("x", quantity=Quantity("displacement", "m"))
    v = Var("v", quantity=Quantity("velocity", "m/s"))
    channels = (Channel("F", STIFFNESS * x + DAMPING * v, "N"),)
    tick = Tick("spring", period, Var("t"), Var("k"), (x, v), {}, {}, (), channels)
    return write_tick_fmu(tick, path, version=version)


def own():
    """Return the same as a bond graph."""
    spring = Model("spring")
    spring.end, spring.v = Port(), One()
    _ = spring.end >> spring.v >> [C(stiffness=STIFFNESS), R(damping=DAMPING)]
    return mounted(spring)


def make(physical, substeps):
    return hybrid(halves()[0], rig=Emulated(physical, ACTUATOR, substeps=substeps))


def specimen(path):
    return FmuSpecimen(path, force="F", displacement="x", velocity="v")


@pytest.mark.parametrize("version", [2, 3])
def test_force_held_over_a_step_is_of_first_order(tmp_path, version):
    """What differs from the specimen in the equations is that the force is held: half the step, half."""
    reference = make(own(), 32).run(0.3)
    errors = []
    for substeps in (4, 8):
        path = written(tmp_path / f"{substeps}.fmu", 1e-3 / substeps, version)
        run = make(specimen(path), substeps).run(0.3)
        errors.append(np.abs(np.asarray(run["force"]) - np.asarray(reference["force"])).max())
    size = np.abs(np.asarray(reference["force"])).max()
    assert errors[0] < 0.05 * size
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.2)


def test_force_is_that_of_the_motion_a_step_before(tmp_path):
    """Without sub-steps each force can be worked out from the motion that was recorded a tick before."""
    test = make(specimen(written(tmp_path / "spring.fmu", 1e-3)), 1)
    runs = [test.run(0.2, backend=backend) for backend in ("c", "numpy")]
    for run in runs:
        x, v = (np.asarray(run[f"actual.{word}"]) for word in ("displacement", "velocity"))
        force = STIFFNESS * x + DAMPING * v
        np.testing.assert_allclose(np.asarray(run["force"])[1:], force[:-1], rtol=1e-12, atol=1e-12)
    assert np.ptp(np.asarray(runs[0]["force"])) > 0.5


@pytest.mark.realtime
def test_it_runs_in_the_loop(tmp_path):
    test = make(specimen(written(tmp_path / "spring.fmu", 1e-3)), 1)
    run = run_realtime(test, 0.1, lock_step=True, force=True, supervisor=60.0)
    np.testing.assert_array_equal(np.asarray(run["command"]), np.asarray(test.run(0.1)["command"]))


def test_both_halves_may_be_fmus(tmp_path):
    from test_foreign import fmu_half, stepped

    physical = specimen(written(tmp_path / "spring.fmu", 1e-3))
    rig = Emulated(physical, ACTUATOR, substeps=1)
    run = hybrid(fmu_half(stepped(tmp_path / "half.fmu")), rig=rig).run(0.2)
    other = hybrid(halves()[0], rig=rig).run(0.2)
    np.testing.assert_array_equal(np.asarray(run["command"]), np.asarray(other["command"]))


def test_the_check_rehearses_and_says_so(tmp_path):
    check = make(specimen(written(tmp_path / "spring.fmu", 1e-3)), 1).check(0.2)
    assert "the physical half is the FMU spring.fmu, which cannot be linearised" in str(check)


def test_names_must_fit(tmp_path):
    path = written(tmp_path / "spring.fmu", 1e-3)
    for options, said in (
        ({"force": "F"}, "as many displacements, velocities or both; found 1, 0 and 0"),
        ({"force": "G", "displacement": "x"}, "unknown output 'G' of spring.fmu; known: F"),
        ({"force": "F", "displacement": "v"}, "'v' is in m/s; expected m"),
    ):
        with pytest.raises(InputError, match=said):
            FmuSpecimen(path, **options)
