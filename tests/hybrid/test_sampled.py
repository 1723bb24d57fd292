"""Sampled coupling against a loop written out by hand: held commands, held forces, substeps, latency."""

import math

import numpy as np
import pytest

from bondloop.bondgraph import C, I, Model, One, R, Sf
from bondloop.control import Direct, VirtualJunction
from bondloop.errors import InputError, ModelError
from bondloop.hybrid import HybridTest
from bondloop.papers.gawthrop_three_mass import Mass
from bondloop.rigs import Bias, Emulated, GainError, Sensor, WhiteNoise
from bondloop.signals import Sine, Table
from bondloop.transfer import MassSpringDamper

M, CN, KN = 2.0, 1.5, 300.0  # numerical mass, its damper to ground, its spring from the wall
MS, CS, KS = 0.8, 0.6, 150.0  # specimen
MT, CT, KT = 1.0, 60.0, 4000.0  # transfer system, driven by a set point
RATE = 500.0
OMEGA = 2 * math.pi * 2.0


def structure():
    m = Model("two_mass")
    m.wall = Sf("r")
    m.m1 = Mass(M, CN, C(stiffness=KN))
    m.m2 = Mass(MS, CS, C(stiffness=KS))
    m.wall >> m.m1.left
    m.m1.right >> m.m2.left
    return m


def a_test(controller=None, excitation=None, **options):
    numerical, physical = structure().cut("m1.right >> m2.left")
    actuator = MassSpringDamper(MT, CT, KT, drive="position")
    rig = {
        k: options.pop(k)
        for k in ("substeps", "latency", "sensors", "drive", "seed", "integrator_rig")
        if k in options
    }
    return HybridTest(
        numerical,
        rig=Emulated(physical, actuator, **rig),
        controller=controller or Direct(),
        excitation={"r": Sine(0.01, 2.0)} if excitation is None else excitation,
        rate=RATE,
        **options,
    )


def rk4(f, y, h):
    k1 = f(0.0, y)
    k2 = f(h / 2, y + h / 2 * k1)
    k3 = f(h / 2, y + h / 2 * k2)
    k4 = f(h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def by_hand(steps, *, substeps=4, late=0, feedback=True, wall=lambda t: 0.01 * math.sin(OMEGA * t)):
    """Computer: wall spring d, velocity v, motion z. Rig: transfer x, w; specimen spring e, velocity q."""
    h = 1 / RATE
    computer, rig = np.zeros(3), np.zeros(4)
    line = [0.0] * late
    rows = []
    for n in range(steps):
        t = n * h
        force = KS * rig[2]
        felt = force if feedback else 0.0
        command = computer[2]
        rows.append([computer[2], rig[0], force, command])

        def numerical(dt, y, t=t, felt=felt):
            d, v, _ = y
            return np.array([wall(t + dt) - v, (KN * d - CN * v - felt) / M, v])

        for _ in range(substeps):
            line.append(command)
            held = line.pop(0) if late else line.pop()

            def emulated(_dt, y, held=held):
                x, w, e, q = y
                spring = KS * e
                return np.array([w, (KT * (held - x) - CT * w - spring) / MT, w - q, (spring - CS * q) / MS])

            rig = rk4(emulated, rig, h / substeps)
        computer = rk4(numerical, computer, h)
    return np.array(rows)


def agree(run, rows):
    names = ["desired.displacement", "actual.displacement", "force", "command"]
    for name, column in zip(names, rows.T, strict=True):
        assert np.abs(column).max() > 1e-4
        assert np.abs(run[name] - column).max() < 1e-9, name


@pytest.mark.parametrize("substeps", [1, 4, 7])
def test_one_sample_holds_the_force_and_the_command(substeps):
    agree(a_test(substeps=substeps).run(2), by_hand(1001, substeps=substeps))


@pytest.mark.parametrize(("substeps", "late"), [(1, 1), (4, 3), (4, 8)])
def test_latency_delays_the_command_by_rig_steps(substeps, late):
    latency = late / (RATE * substeps)
    agree(a_test(substeps=substeps, latency=latency).run(1), by_hand(501, substeps=substeps, late=late))


def test_without_feedback_the_numerical_half_feels_nothing():
    run = a_test(feedback=False).run(2)
    agree(run, by_hand(1001, feedback=False))
    assert run["synchronisation.force"] == pytest.approx(run["force"], abs=1e-15)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"latency": -0.001}, r"Emulated\(latency\): expected a number at least 0 and at most 60"),
        ({"latency": math.inf}, r"Emulated\(latency\): expected a finite number; found inf"),
        ({"latency": math.nan}, r"Emulated\(latency\): expected a finite number; found nan"),
        ({"latency": "1e400 s"}, r"Emulated\(latency\): expected a finite number; '1e400 s' is too large"),
        ({"latency": None}, r"Emulated\(latency\): expected a number or a text with unit; found None"),
        ({"substeps": 2.5}, r"Emulated\(substeps\): expected a whole number from 1 to .*; found 2.5"),
        ({"substeps": True}, r"Emulated\(substeps\): .*; found True"),
        ({"substeps": 0}, r"Emulated\(substeps\): .*; found 0"),
        ({"substeps": math.nan}, r"Emulated\(substeps\): .*; found nan"),
        ({"seed": -1}, r"Emulated\(seed\): expected a whole number from 0 to .*; found -1"),
    ],
)
def test_silly_rigs_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        a_test(**options)


def test_sensors_act_in_the_loop():
    """A load cell with a gain of 1.1 and a bias of 0.02 N is what the numerical half feels."""
    run = a_test(sensors={"force": Sensor((GainError(0.1), Bias(0.02)))}).run(2)
    assert run["measured.force"] == pytest.approx(1.1 * run["force"] + 0.02, abs=1e-12)
    assert run["synchronisation.force"] == pytest.approx(run["force"] - run["measured.force"], abs=1e-12)
    plain = a_test().run(2)
    assert np.abs(run["actual.displacement"] - plain["actual.displacement"]).max() > 1e-4


def test_noise_is_seeded_and_the_same_on_both_backends():
    def noisy(**options):
        return a_test(sensors={"force": Sensor((WhiteNoise(0.05),))}).run(0.5, **options)["measured.force"]

    first, second, python = noisy(), noisy(), noisy(backend="numpy")
    assert np.array_equal(first, second)
    assert np.abs(first - python).max() < 1e-12
    with pytest.raises(
        InputError, match="expected sensors of 'force', 'displacement' and 'velocity'; found 'strain'"
    ):
        a_test(sensors={"strain": Sensor(())})


def test_a_table_excites_as_the_signal_it_was_taken_from():
    times = np.arange(0, 3, 1 / RATE)
    sine = Sine(0.01, 2.0)
    table = a_test(excitation={"r": Table(times, sine(times))}).run(2)
    # Between samples the table is a straight line: second order in the step.
    exact = a_test().run(2)
    assert np.abs(table["actual.displacement"] - exact["actual.displacement"]).max() < 1e-6
    assert table["r"] == pytest.approx(sine(table.time), abs=1e-15)


def test_recording_every_few_samples_picks_them_from_the_same_run():
    every, all_of_them = a_test().run(1, every=7), a_test().run(1)
    assert np.array_equal(every["force"], all_of_them["force"][::7])
    assert np.array_equal(every.time, all_of_them.time[::7])


def test_an_output_that_depends_on_the_command_at_once_shows_the_command_still_held():
    """A rigid mass as specimen: its force is its share of the command, k_t x_d m_s/(m_t + m_s) at rest."""
    m = Model("rigid")
    m.wall = Sf("r")
    m.m1 = Mass(M, CN, C(stiffness=KN))
    m.block = One()
    m.wall >> m.m1.left
    m.m1.right >> m.block
    m.block >> [I(mass=MS), R(damping=CS)]
    numerical, physical = m.cut("m1.right >> block")
    actuator = MassSpringDamper(MT, CT, KT, drive="position")
    rig = Emulated(physical, actuator)
    run = HybridTest(
        numerical, rig=rig, controller=Direct(), excitation={"r": Sine(0.01, 2.0)}, rate=RATE
    ).run(1)
    x, w, force, held = (run[n] for n in ("actual.displacement", "actual.velocity", "force", "command"))
    a = (KT * (held[:-1] - x[1:]) - (CT + CS) * w[1:]) / (MT + MS)
    assert np.abs(force[1:]).max() > 0.1
    assert np.abs(force[1:] - (MS * a + CS * w[1:])).max() < 1e-9


def test_a_command_that_drives_a_mass_directly_is_refused():
    from bondloop.bondgraph import Port

    class Ideal(Model):
        def __init__(self):
            self.command, self.v, self.out = Sf("u"), One(), Port()
            self.command >> self.v >> self.out

    m = Model("rigid")
    m.wall = Sf("r")
    m.m1 = Mass(M, CN, C(stiffness=KN))
    m.block = One()
    m.wall >> m.m1.left
    m.m1.right >> m.block
    m.block >> I(mass=MS)
    numerical, physical = m.cut("m1.right >> block")
    test = HybridTest(
        numerical,
        rig=Emulated(physical, Ideal()),
        controller=VirtualJunction(Ideal()),
        excitation={},
        rate=RATE,
    )
    with pytest.raises(ModelError, match="the command drives a mass directly"):
        test.run(0.1)


def test_continuous_coupling_has_no_imperfections():
    for options in (
        {"latency": 1 / RATE},
        {"sensors": {"force": Sensor((WhiteNoise(1.0),))}},
        {"drive": (GainError(0.1),)},
    ):
        with pytest.raises(InputError, match="continuous coupling is ideal"):
            a_test(coupling="continuous", **options).run(1)
