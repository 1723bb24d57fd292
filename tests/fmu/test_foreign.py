"""FMUs that come in: those of ours as rig and as numerical half give the same run, to the last bit."""

import numpy as np
import pytest

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero
from bondloop.errors import InputError
from bondloop.fmu import read_fmu
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime import run_realtime
from bondloop.realtime.programs.export import export_c
from bondloop.substructure import FmuHalf


class Mass(Model):
    """A mass with a damper to ground, on a spring that is stretched at first."""

    def __init__(self, m, c, k):
        self.left, self.right = Port(), Port()
        self.force, self.v = Zero(), One()
        _ = self.left >> self.force >> self.v >> self.right
        self.spring, self.mass, self.damper = C(stiffness=k, initial=0.004), I(mass=m), R(damping=c)
        _ = self.force >> self.spring
        _ = self.v >> [self.mass, self.damper]


def halves():
    pair = Model("pair")
    pair.wall = Sf("v_wall")
    pair.a, pair.b = Mass(2, 12, 5e3), Mass(2, 12, 4e2)
    _ = pair.wall >> pair.a.left
    _ = pair.a.right >> pair.b.left
    return pair.cut("a.right >> b.left")


def hybrid(numerical, excitation=None, **options):
    actuator = bl.transfer.MassSpringDamper(m=2, c=150, k=15e3, drive="position")
    settings = {
        "rig": bl.rigs.Emulated(halves()[1], actuator),
        "controller": bl.control.Direct(),
        "excitation": excitation or {},
        "rate": 1000,
    }
    return bl.HybridTest(numerical, **{**settings, **options})


def stepped(path, version=3):
    """Write the numerical half of the test as an FMU of its own: force in, velocity and displacement out."""
    test = hybrid(halves()[0])
    outputs = {"v": test.half.flows[0], "x": test.design.desired_displacements[0]}
    return test.design.system.replaced(name="half", outputs=outputs).write_fmu(
        path, rate=1000, version=version
    )


def fmu_half(path, **options):
    names = {"force": "numerical.interface.effort", "velocity": "v", "displacement": "x"}
    return FmuHalf(path, **{**names, **options})


def same(run, other, *names):
    for name in names or ("command", "desired.displacement", "actual.displacement", "measured.force"):
        np.testing.assert_array_equal(np.asarray(run[name]), np.asarray(other[name]), err_msg=name)
    return True


@pytest.mark.realtime
@pytest.mark.parametrize("version", [2, 3])
def test_rig_of_ours_gives_the_same_run(tmp_path, version):
    test = gawthrop_two_actuators.test()
    path = test.write_fmu(tmp_path / "a rig.fmu", half="rig", version=version)
    run = run_realtime(test, 0.3, link=f"fmu://{path}", lock_step=True, supervisor=60.0)
    assert run.completed
    assert same(run, test.run(0.3), "command[0]", "command[1]", "measured.force[0]", "measured.force[1]")


@pytest.mark.realtime
def test_rig_on_the_clock_moves_as_in_the_rehearsal(tmp_path):
    """However late a tick is, the FMU takes one step for each command: what was recorded is the rehearsal."""
    test = gawthrop_two_actuators.test().replaced(gap=60.0)
    path = test.write_fmu(tmp_path / "rig.fmu", half="rig")
    run = run_realtime(test, 0.2, link=f"fmu://{path}", supervisor=60.0)
    own = test.run(0.2)
    k = len(run.time)
    assert k > 1
    np.testing.assert_array_equal(np.asarray(run["command[0]"]), np.asarray(own["command[0]"])[:k])


@pytest.mark.realtime
def test_signals_are_bound_by_other_names_or_refused(tmp_path):
    test = gawthrop_two_actuators.test()
    path = test.write_fmu(tmp_path / "rig.fmu", half="rig")
    swapped = f"fmu://{path}?command[0]=command[1]&command[1]=command[0]"
    run = run_realtime(test, 0.05, link=swapped, lock_step=True, supervisor=60.0)
    assert not np.array_equal(
        np.asarray(run["measured.force[0]"]), np.asarray(test.run(0.05)["measured.force[0]"])
    )
    for query, said in (
        ("command[0]=nothing", r"unknown input 'nothing' of rig.fmu; known: command\[0\], command\[1\]"),
        ("comand=x", "unknown signal 'comand'"),
        ("command[0]=measured.force[0]", "is no input"),
        ("measured.force[0]=measured.velocity[0]", "is in m/s; expected N"),
    ):
        with pytest.raises(InputError, match=said):
            run_realtime(test, 0.05, link=f"fmu://{path}?{query}", lock_step=True, supervisor=60.0)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_numerical_half_of_ours_gives_the_same_run(tmp_path, version, backend):
    own = hybrid(halves()[0]).run(0.3)
    test = hybrid(fmu_half(stepped(tmp_path / "half.fmu", version)))
    assert same(test.run(0.3, backend=backend), own)
    assert same(test.run(0.3, backend=backend), own), "a second run begins anew"
    assert np.ptp(np.asarray(own["command"])) > 1e-3


@pytest.mark.realtime
def test_numerical_half_runs_in_the_loop(tmp_path):
    test = hybrid(fmu_half(stepped(tmp_path / "half.fmu")))
    run = run_realtime(test, 0.2, lock_step=True, force=True, supervisor=60.0)
    assert same(run, hybrid(halves()[0]).run(0.2), "command", "measured.force")


def test_the_check_rehearses_and_says_so(tmp_path):
    check = hybrid(fmu_half(stepped(tmp_path / "half.fmu"))).check(0.2)
    assert "cannot be linearised: the test was rehearsed instead" in str(check)
    assert check.step is None
    assert check.assumptions is None


def test_inputs_of_the_fmu_are_excited_and_parameters_set(tmp_path):
    """What drives the FMU is held over a step: a constant is the same in both, and a parameter too."""
    path = stepped(tmp_path / "half.fmu")
    values = {"numerical.a.damper.damping": 30.0}
    half = fmu_half(path, excitations=["numerical.v_wall"], parameters=values)
    test = hybrid(half, excitation={"numerical.v_wall": 0.01})
    own = hybrid(halves()[0], excitation={"v_wall": 0.01}, values=values)
    assert same(test.run(0.1), own.run(0.1))
    assert not np.array_equal(
        np.asarray(test.run(0.1)["command"]), np.asarray(hybrid(halves()[0]).run(0.1)["command"])
    )


def test_what_needs_equations_is_refused(tmp_path):
    half = fmu_half(stepped(tmp_path / "half.fmu"))
    actuator = bl.transfer.MassSpringDamper(m=2, c=150, k=15e3, drive="position")
    with pytest.raises(InputError, match="VirtualJunction needs the equations"):
        hybrid(half, controller=bl.control.VirtualJunction(actuator))
    with pytest.raises(InputError, match="no masses that the ground could load"):
        hybrid(half, ground={"ux": bl.signals.Sine(1.0, 1.0)})
    with pytest.raises(InputError, match="cannot be written into an FMU"):
        hybrid(half).write_fmu(tmp_path / "x.fmu")
    with pytest.raises(InputError, match="the folder would not run on another"):
        export_c(hybrid(half), tmp_path / "folder")
    for options, said in (
        ({"velocity": "w"}, "unknown output 'w' of half.fmu; known: v, x"),
        ({"velocity": "x"}, "'x' is in m; expected m/s"),
        ({"velocity": ["v", "v"]}, "one velocity and one displacement for each interface; found 1, 2 and 1"),
        ({"parameters": {"mass": 1}}, "unknown parameter 'mass'"),
    ):
        with pytest.raises(InputError, match=said):
            fmu_half(tmp_path / "half.fmu", **options)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "5 kN/m"])
def test_a_parameter_that_is_no_number_is_refused(tmp_path, value):
    path = stepped(tmp_path / "half.fmu")
    name = next(v.name for v in read_fmu(path).variables.values() if v.causality == "parameter" and v.real)
    with pytest.raises(InputError, match="expected a finite number"):
        fmu_half(path, parameters={name: value})


def test_an_input_is_connected_once(tmp_path):
    """The excitation would have been set after the force, and the force lost."""
    path = stepped(tmp_path / "half.fmu")
    with pytest.raises(InputError, match="is connected twice"):
        fmu_half(path, excitations=["numerical.interface.effort"])


def test_a_step_that_the_fmu_refuses_ends_the_run(tmp_path, capfd):
    """This FMU takes steps of whole milliseconds; the test wants 2.5 ms."""
    test = hybrid(fmu_half(stepped(tmp_path / "half.fmu")), rate=400)
    with pytest.raises(InputError, match=r"half.fmu: a step failed; it says: a step takes 0.001 s"):
        test.run(0.1, backend="numpy")
    run = test.run(0.1, backend="c")
    assert len(run.time) == 2
    assert "it says: a step takes 0.001 s" in capfd.readouterr().err
    assert (
        "the FMU half.fmu is a part of it, and says why on standard error" in run.record.attributes["message"]
    )
