"""The electro-mechanical actuator: a transfer function written by hand, limits, stiffness, the winding."""

import math

import numpy as np
import pytest

from bondloop.engine.codegen.runner import Runner
from bondloop.engine.codegen.toolchain import compiler
from bondloop.errors import InputError
from bondloop.rigs import Emulated, nothing_mounted
from bondloop.rigs.emulated import rig_tick
from bondloop.transfer import BallScrew, CascadedLoops, ElectroMechanical, ServoMotor, transfer_system

HERTZ = np.array([0.5, 4.0, 15.0, 40.0, 120.0, 400.0])


def by_hand(actuator, f, feedback, winding):
    """X/X_d at frequencies, from the equations of motion solved as a 2 x 2 system and the loops on top.

    J s w = k_t i - b w - r F, m s v = F - c v, F = (k/s + d)(r w - v); i = G_i i_d - Y w, with the winding's
    G_i and back-EMF admittance Y; i_d = K_s (1 + 1/(T s)) (w_d - w), w_d = K_p (x_d - x)/r.
    """
    motor, screw, loops = actuator.motor_data, actuator.screw_data, actuator.loops_data
    r, kt = screw.lead / (2 * math.pi), motor.torque_constant
    rigid = motor.inertia + screw.mass * r**2
    speed_gain = 2 * math.pi * loops.speed_bandwidth * rigid / kt
    bandwidth = 2 * math.pi * loops.current_bandwidth
    result = []
    for s in 2j * np.pi * f:
        if winding:
            controller = bandwidth * (motor.inductance + motor.resistance / s)
            circuit = motor.inductance * s + motor.resistance + controller
            follow, back = controller / circuit, kt / circuit
        else:
            follow, back = bandwidth / (s + bandwidth), 0.0
        z = screw.stiffness / s + screw.damping
        A = np.array(
            [
                [motor.inertia * s + motor.friction + r * r * z + kt * back, -r * z],
                [-r * z, screw.mass * s + screw.viscous + z],
            ]
        )
        w, v = np.linalg.solve(A, [kt * follow, 0.0])  # per ampere demanded
        pi = speed_gain * (1 + 1 / (loops.reset_time * s))
        x = (v if feedback == "carriage" else r * w) / s
        gain = pi * loops.position_gain / r
        result.append(gain * (v / s) / (1 + pi * w + gain * x))
    return np.array(result)


@pytest.mark.parametrize("feedback", ["carriage", "motor"])
@pytest.mark.parametrize("winding", [False, True])
def test_the_small_signal_response_is_the_one_written_by_hand(feedback, winding):
    actuator = ElectroMechanical(
        CascadedLoops(position_gain=50), feedback=feedback, winding=winding, linear=True
    )
    system = transfer_system(actuator).system
    assert system.is_linear
    assert system.poles().real.max() < 0
    velocity = system.frequency_response(2 * np.pi * HERTZ)[:, 0, 0]
    expected = by_hand(actuator, HERTZ, feedback, winding)
    np.testing.assert_allclose(velocity / (2j * np.pi * HERTZ), expected, rtol=1e-8)


def test_the_lag_at_low_frequency_is_the_reciprocal_of_the_position_gain():
    """A type-1 loop whose speed loop has an integral part follows a ramp 1/K_p late, if nothing rubs."""
    actuator = ElectroMechanical(CascadedLoops(position_gain=40), linear=True)
    omega = 2 * np.pi * 0.05
    x = transfer_system(actuator).system.frequency_response([omega])[0, 0, 0] / (1j * omega)
    assert -np.angle(x) / omega == pytest.approx(1 / 40, rel=1e-3)


@pytest.mark.parametrize("winding", [False, True])
def test_limits_of_speed_and_of_force(winding):
    screw = BallScrew(viscous=0, coulomb=0)
    motor = ServoMotor(friction=0)
    actuator = ElectroMechanical(CascadedLoops(top_speed=0.3), motor=motor, screw=screw, winding=winding)
    t = transfer_system(actuator)
    run = t.system.simulate(0.6, {"set_point": 0.2}, times=np.linspace(0, 0.6, 601), max_step=1e-3)
    # 18 N m on 1.2e-3 + 20 r^2 = 1.25e-3 kg m^2 reach 0.3 m/s (188 rad/s) in 13 ms; it then slews at 0.3 m/s.
    slewing = (run.time > 0.2) & (run.time < 0.5)
    np.testing.assert_allclose(run["load.flow"][slewing], 0.3, rtol=5e-3)
    # A load at 90 % of the peak force can be held, at 110 % it runs away: k_t i / r = 0.6 * 30 * 2 pi/0.01.
    peak = 0.6 * 30 * 2 * math.pi / 0.01
    assert actuator.peak_force == pytest.approx(peak, rel=1e-12)
    for share in (0.9, 1.1):
        held = t.system.simulate(
            0.5, {"load.effort": share * peak}, times=np.linspace(0, 0.5, 501), max_step=1e-3
        )
        late = held["load.flow"][held.time > 0.4].mean()
        assert abs(late) < 1e-2 if share < 1 else late < -0.5


def test_dry_friction_stops_a_small_motion_and_parameters_are_reached_by_path():
    system = transfer_system(ElectroMechanical()).system
    assert system.parameters["guide.coulomb"] == 40.0
    assert system.parameters["current_output.gain"] == pytest.approx(
        2 * math.pi * 60 * (1.2e-3 + 20 * (0.01 / (2 * math.pi)) ** 2) / 0.6
    )
    assert transfer_system(ElectroMechanical()).command.quantity.unit == "m"
    for value in (ServoMotor(), BallScrew(lead="5 mm"), CascadedLoops()):
        assert type(value).from_description(value.describe()) == value


@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
@pytest.mark.parametrize("winding", [False, True])
def test_c_and_numpy_agree_and_the_step_is_short_enough(winding):
    emulated = Emulated(nothing_mounted(), ElectroMechanical(winding=winding), substeps=4)
    rig = emulated.system()
    assert np.abs(rig.system.linearise().poles()).max() * 0.25e-3 < 2.0
    tick = rig_tick(emulated, rig, 1e-3)
    command = 5e-3 * np.sign(np.sin(2 * np.pi * 5 * 1e-3 * np.arange(400)))[:, None]  # steps: all limits act
    runs = [Runner(tick, backend).run(400, command).channels for backend in ("c", "numpy")]
    for name in runs[0]:
        scale = np.abs(runs[0][name]).max()
        np.testing.assert_allclose(runs[0][name], runs[1][name], atol=1e-9 * scale)
    assert np.abs(runs[0]["measured.displacement"]).max() == pytest.approx(5e-3, rel=0.05)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BallScrew(lead=0), r"BallScrew\(lead\): expected a number above 0"),
        (lambda: ElectroMechanical(feedback="load"), "feedback must be 'carriage' or 'motor'"),
        (lambda: ElectroMechanical(motor=BallScrew()), "expected ServoMotor"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InputError, match=message):
        make()
