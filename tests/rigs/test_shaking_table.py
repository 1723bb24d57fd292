"""The shaking table, actuators that ramp and hold, and specimens."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero
from bondloop.engine.codegen import Runner
from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.errors import InputError, ModelError
from bondloop.rigs import RampHold, Sensor, ShakingTable, Specimen, WhiteNoise, cubic_spring
from bondloop.structures import Matrices

SPRING = [[100.0, -100.0], [-100.0, 100.0]]
DASHPOT = [[2.0, -2.0], [-2.0, 2.0]]


def one_mass(base_mass=0.0, coupling=0.0):
    M = [[base_mass, coupling], [coupling, 2.0]]
    return Specimen.from_matrices(Matrices(M, DASHPOT, SPRING, ("base", "top")), "base")


def driven(rig, commands, seconds):
    """Run a rig alone under a list of commands, each for one sub-step; forces and motion after each."""
    command = Var("command")
    built = rig.build(seconds)
    count = Var("k")
    steps = (*built.before, *built.impose([command] * len(built.force), count))
    channels = [Channel(v.name, v) for v in built.force]
    channels += [Channel(word, exprs[0]) for word, exprs in built.motion.items()]
    tick = Tick(
        "rig", seconds, Var("t"), count, (command,), built.states, built.parameters, steps, tuple(channels)
    )
    runner = Runner(tick, "numpy")
    padded = np.append(commands, 0.0)[:, None]
    found = runner.run(len(padded), padded).channels
    return {name: values[1:] for name, values in found.items()}


def exact(commands, seconds, force, system, n):
    """Integrate with SciPy: states (x, v, ...), the acceleration held; the force at the end of every hold."""
    state, found = np.zeros(n), []
    for a in commands:
        run = solve_ivp(lambda _t, y, a=a: system(y, a), (0, seconds), state, rtol=1e-10, atol=1e-14)
        state = run.y[:, -1]
        found.append(force(state, a))
    return np.array(found)


def mass_on_table(y, a):
    x, v, u, w = y
    return [v, a, w, (100 * (x - u) + 2 * (v - w)) / 2]


COMMANDS = np.array([3.0, -1.0, 2.0, 0.0, -4.0, 1.0])


def test_a_linear_specimen_is_integrated_exactly_within_the_sub_step():
    found = driven(ShakingTable(one_mass()), COMMANDS, 0.05)
    expected = exact(COMMANDS, 0.05, lambda y, _a: 100 * (y[2] - y[0]) + 2 * (y[3] - y[1]), mass_on_table, 4)
    assert np.abs(found["rig.force"] - expected).max() < 1e-9
    velocity = np.cumsum(COMMANDS) * 0.05
    assert found["velocity"] == pytest.approx(velocity, abs=1e-14)
    before = np.append(0, velocity[:-1])
    assert found["displacement"] == pytest.approx(
        np.cumsum(before * 0.05 + COMMANDS * 0.05**2 / 2), abs=1e-14
    )


def test_overshoot_scales_the_command():
    plain = driven(ShakingTable(one_mass()), 1.1 * COMMANDS, 0.05)
    over = driven(ShakingTable(one_mass(), overshoot=0.1), COMMANDS, 0.05)
    assert over["rig.force"] == pytest.approx(plain["rig.force"], abs=1e-13)
    under = driven(ShakingTable(one_mass(), overshoot=-0.1), COMMANDS, 0.05)
    assert under["displacement"] == pytest.approx(plain["displacement"] * 0.9 / 1.1, abs=1e-15)


def test_a_mass_at_the_interface_answers_to_the_acceleration_at_once():
    light, heavy = (driven(ShakingTable(one_mass(m)), COMMANDS, 0.05)["rig.force"] for m in (0.0, 3.0))
    assert heavy == pytest.approx(light - 3.0 * COMMANDS, abs=1e-12)


def test_a_consistent_mass_couples_the_acceleration_into_the_specimen():
    def system(y, a):
        x, v, u, w = y
        return [v, a, w, (100 * (x - u) + 2 * (v - w) - 0.4 * a) / 2]

    def force(y, a):
        pull = 100 * (y[2] - y[0]) + 2 * (y[3] - y[1])
        return pull - 1.0 * a - 0.4 * system(y, a)[3]

    found = driven(ShakingTable(one_mass(1.0, 0.4)), COMMANDS, 0.05)["rig.force"]
    assert np.abs(found - exact(COMMANDS, 0.05, force, system, 4)).max() < 1e-9


def test_table_dynamics_are_second_order():
    omega, zeta = 2 * np.pi * 5, 0.6

    def system(y, a):
        acc, jerk, *rest = y
        return [jerk, omega**2 * (a - acc) - 2 * zeta * omega * jerk, *mass_on_table(rest, acc)]

    table = ShakingTable(one_mass(), bandwidth="5 Hz", damping=zeta)
    found = driven(table, COMMANDS, 0.05)["rig.force"]
    expected = exact(COMMANDS, 0.05, lambda y, _a: 100 * (y[4] - y[2]) + 2 * (y[5] - y[3]), system, 6)
    assert np.abs(found - expected).max() < 1e-8
    fast = driven(ShakingTable(one_mass(), bandwidth=2000.0), COMMANDS, 0.05)["rig.force"]
    ideal = driven(ShakingTable(one_mass()), COMMANDS, 0.05)["rig.force"]
    assert np.abs(fast - ideal).max() < 0.01 * np.abs(ideal).max()


def payload(spring):
    """A mass on a spring, cut from a moving mass."""
    return halves(spring)[1]


def halves(spring):

    class Mass(Model):
        def __init__(self, m, k):
            self.left, self.right = Port(), Port()
            self.force, self.stretch, self.v = Zero(), One(), One()
            self.left >> self.force >> self.v >> self.right
            self.force >> self.stretch >> [k, R(damping=2.0)]
            self.v >> I(mass=m)

    whole = Model("pair")
    whole.wall, whole.a, whole.b = Sf("r"), Mass(1.0, C(stiffness=50.0)), Mass(2.0, spring)
    whole.wall >> whole.a.left
    whole.a.right >> whole.b.left
    return whole.cut("a.right >> b.left")


def test_a_bond_graph_specimen_is_the_same_as_its_matrices():
    graph = driven(ShakingTable(Specimen.from_model(payload(C(stiffness=100.0)))), COMMANDS, 0.05)
    matrices = driven(ShakingTable(one_mass()), COMMANDS, 0.05)
    assert graph["rig.force"] == pytest.approx(matrices["rig.force"], abs=1e-12)


def test_a_nonlinear_specimen_is_integrated_with_rk4():
    hard = Specimen.from_model(payload(cubic_spring(100.0, 5e4)))
    assert not hard.system.is_linear

    def spring(d):
        return 100 * d + 5e4 * d**3

    def system(y, a):
        x, v, u, w = y
        return [v, a, w, (spring(x - u) + 2 * (v - w)) / 2]

    def force(y, _a):
        return -(spring(y[0] - y[2]) + 2 * (y[1] - y[3]))

    expected = exact(COMMANDS, 0.01, force, system, 4)
    errors = []
    for steps in (1, 4):
        found = driven(ShakingTable(hard, integration_steps=steps), COMMANDS, 0.01)["rig.force"]
        errors.append(np.abs(found - expected).max())
    assert errors[1] < 1e-6
    assert errors[1] < errors[0] / 50


def test_ramp_and_hold_reach_the_command_and_relax():
    dashpot = Matrices(np.zeros((1, 1)), [[2.0]], [[100.0]], ("base",))
    specimen = Specimen.from_matrices(dashpot, "base")
    path = np.array([0.1, 0.3, 0.2])
    for ramp in (1.0, 0.25):
        found = driven(RampHold(specimen, ramp=ramp), path, 0.1)
        assert found["displacement"] == pytest.approx(path, abs=1e-15)
        viscous = 2.0 * np.diff(path, prepend=0.0) / 0.1 if ramp == 1 else 0.0
        assert found["rig.force"] == pytest.approx(-100 * path - viscous, abs=1e-12)


def test_several_interfaces_have_a_table_each():
    M = np.diag([0.0, 2.0, 0.0])
    K = 100 * np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    specimen = Specimen.from_matrices(Matrices(M, None, K, ("left", "middle", "right")), ["left", "right"])
    found = driven(ShakingTable(specimen), COMMANDS, 0.05)
    assert found["rig.force[0]"] == pytest.approx(found["rig.force[1]"], abs=1e-12)
    assert np.abs(found["rig.force[0]"]).max() > 0


def test_noise_of_the_force_sensor_is_new_in_every_sub_step():
    rig = ShakingTable(one_mass(), sensor=Sensor((WhiteNoise(0.5),), unit="N"), seed=3)
    found = driven(rig, np.zeros(200), 0.01)["rig.force"]
    assert 0.4 < np.std(found) < 0.6
    assert len(np.unique(found)) == 200
    assert rig.describe()["sensor"]["unit"] == "N"


def test_initial_forces_are_those_of_the_initial_state():
    hung = Specimen.from_model(payload(C(stiffness=100.0, initial=0.02)))
    built = ShakingTable(hung).build(0.01)
    assert [built.states[v] for v in built.force] == pytest.approx([-2.0])
    assert isinstance(built.impose([Const(0.0)], Const(0.0)), list)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"overshoot": -1.0}, "expected a number above -1 and below 10"),
        ({"overshoot": float("nan")}, "expected a finite number; found nan"),
        ({"stroke": "-3 mm"}, r"ShakingTable\(stroke\): expected a number above 0; found -0.003"),
        ({"velocity": 0}, r"ShakingTable\(velocity\): expected a number above 0; found 0"),
        ({"acceleration": float("inf")}, r"ShakingTable\(acceleration\): expected a finite number"),
        ({"bandwidth": 0.0}, r"ShakingTable\(bandwidth\): expected a number above 0"),
        ({"damping": -0.1}, r"ShakingTable\(damping\): expected a number above 0"),
        ({"integration_steps": 0}, "integration_steps must be a whole number"),
    ],
)
def test_bad_tables_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        ShakingTable(one_mass(), **options)


def test_bad_specimens_and_actuators_are_refused():
    with pytest.raises(InputError, match=r"make one with Specimen.from_matrices"):
        ShakingTable(Matrices([[1.0]], None, [[1.0]], ("a",)))
    with pytest.raises(InputError, match=r"RampHold\(ramp\): expected a number above 0 and at most 1"):
        RampHold(one_mass(), ramp=0.0)
    with pytest.raises(InputError, match=r"RampHold\(stroke\): expected a number above 0"):
        RampHold(one_mass(), stroke=-1)
    with pytest.raises(InputError, match=r"mass at its interface .* RampHold does not impose"):
        RampHold(one_mass(1.0)).build(0.1)
    with pytest.raises(InputError, match="without mass inside"):
        Specimen.from_matrices(Matrices(np.zeros((2, 2)), None, SPRING, ("base", "top")), "base")
    with pytest.raises(InputError, match="each of its degrees of freedom once"):
        Specimen.from_matrices(Matrices(np.eye(2), None, SPRING, ("base", "top")), ["base", "base"])
    with pytest.raises(InputError, match=r"unknown parameter 'rig.overshot' of the rig; did you mean"):
        ShakingTable(one_mass()).build(0.1, values={"rig.overshot": 1.0})
    with pytest.raises(ModelError, match=r"the specimen takes r, interface.effort"):
        Specimen.from_model(halves(C(stiffness=100.0))[0])
