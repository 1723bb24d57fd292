"""The servo-hydraulic actuator: hand-derived transfer function, closed forms, limits, paper's findings."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from bondloop.bondgraph import Df, Function, Input, Model, MSe, One, R
from bondloop.engine.codegen.runner import Runner
from bondloop.engine.codegen.toolchain import compiler
from bondloop.errors import InputError
from bondloop.rigs import Emulated, OrificeDamper, mounted, nothing_mounted
from bondloop.rigs.emulated import rig_tick
from bondloop.transfer import Cylinder, SerialPID, ServoHydraulic, ServoValve, transfer_system

STEP = 0.25e-3  # the rig's own step: 4 in a sample at 1 kHz
HERTZ = np.array([0.5, 5.0, 20.0, 47.0, 90.0, 250.0])


def hand_derived(pid, valve, cylinder):
    """Numerator and denominator of X/X_d, multiplied out by hand from the block diagram.

    K = K_P (s + K_I) ((K_D + T_f) s + 1) / (s (T_f s + 1)) / stroke, the valve Q_0 w²/(s² + 2 z w s + w²),
    the cylinder A / (s ((V s/4B + G)(m s + c) + A²)), the transducer 1/(T_l s + 1) in the feedback.
    """
    p, v, c = pid, valve, cylinder
    w = 2 * np.pi * v.frequency
    lag = np.array([1 / (2 * np.pi * c.bandwidth), 1.0])
    oil = np.polymul([c.volume / (4 * c.bulk_modulus), c.leakage], [c.mass, c.viscous])
    oil = np.polyadd(oil, [c.area**2])
    gain = 10 ** (p.proportional / 20) / c.stroke * v.rated_flow * math.sqrt(c.supply_pressure / v.rated_drop)
    forward = gain * w**2 * c.area * np.polymul([1, p.integral], [p.derivative + p.filter, 1])
    below = [1.0, 0.0, 0.0]
    for factor in ([p.filter, 1], [1, 2 * v.damping * w, w**2], oil, lag):
        below = np.polymul(below, factor)
    return np.polymul(forward, lag), np.polyadd(below, forward)


@pytest.mark.parametrize("pid", [SerialPID(), SerialPID.untuned(), SerialPID(24, 3.0, "1 ms", "0.2 ms")])
def test_the_small_signal_model_has_the_poles_and_response_derived_by_hand(pid):
    actuator = ServoHydraulic(pid, linear=True)
    system = transfer_system(actuator).system
    assert system.is_linear
    above, below = hand_derived(pid, actuator.valve_data, actuator.cylinder_data)
    np.testing.assert_allclose(np.sort_complex(system.poles()), np.sort_complex(np.roots(below)), rtol=1e-6)
    s = 2j * np.pi * HERTZ
    velocity = system.frequency_response(2 * np.pi * HERTZ)[:, 0, 0]
    np.testing.assert_allclose(velocity / s, np.polyval(above, s) / np.polyval(below, s), rtol=1e-9)


def test_at_rest_the_full_model_is_the_small_signal_model():
    """Roots and signs are smooth: without dry friction the linearisation is the linear model exactly."""
    cylinder = Cylinder(coulomb=0)
    full = transfer_system(ServoHydraulic(cylinder=cylinder)).system.linearise()
    small = transfer_system(ServoHydraulic(cylinder=cylinder, linear=True)).system.numeric()
    assert full.states == small.states
    np.testing.assert_allclose(full.A.toarray(), small.A.toarray(), rtol=1e-9)
    np.testing.assert_allclose(full.B.toarray(), small.B.toarray(), rtol=1e-9)


def test_oil_column_frequency():
    """With the loop open (-400 dB) and no friction the piston bounces at sqrt(4 B A²/(V m)): Merritt 1967."""
    cylinder = Cylinder(
        viscous=0, leakage=1e-20, area="10 cm^2", volume="200 cm^3", mass=25, bulk_modulus="1 GPa"
    )
    actuator = ServoHydraulic(SerialPID(proportional=-400), cylinder=cylinder, linear=True)
    expected = math.sqrt(4 * 1e9 * 1e-6 / (2e-4 * 25))  # 894.4 rad/s by hand
    poles = transfer_system(actuator).system.poles()
    assert np.abs(np.abs(poles) - expected).min() < 1e-6 * expected
    assert actuator.oil_frequency == pytest.approx(expected / (2 * math.pi), rel=1e-12)


@pytest.fixture(scope="module")
def slew():
    """A step of 60 mm without friction or leakage, which keeps the valve fully open for most of its way."""
    actuator = ServoHydraulic(SerialPID(30, 5.0, 0), cylinder=Cylinder(viscous=0, coulomb=0, leakage=1e-18))
    t = transfer_system(actuator)
    names = ["position.value", "pid.integral.value", "pid.output.value", "spool.value"]
    system = t.system.replaced(
        outputs={**t.system.output_exprs, **{n: t.system.expression(n) for n in names}}
    )
    times = np.linspace(0, 0.6, 2401)
    return actuator, system.simulate(0.6, {"set_point": 0.06}, times=times, max_step=1e-3)


def test_the_largest_velocity_is_the_largest_flow_over_the_area(slew):
    actuator, run = slew
    steady = (run.time > 0.06) & (run.time < 0.1)
    flow = 19e-3 / 60 * math.sqrt(210 / 70)  # m3/s: a matched valve's flow goes with the root of the pressure
    np.testing.assert_allclose(run["load.flow"][steady], flow / 12e-4, rtol=2e-3)
    assert actuator.top_speed == pytest.approx(flow / 12e-4, rel=1e-12)


def test_the_integral_does_not_wind_up_while_the_drive_is_at_its_limit(slew):
    """Back-calculation holds K_I I to about the limit over K_P; unstopped it would be 5 * 0.05 = 0.25."""
    _, run = slew
    assert (run["pid.output.value"] > 1)[run.time < 0.1].all()
    share = 5.0 * np.abs(run["pid.integral.value"]).max()
    assert 1e-3 < share < 1 / 31.6
    assert 0.0595 < run["position.value"][-1] < 0.0605
    assert run["position.value"].max() < 0.06 + 0.075 / 31.6  # the same bound, of the stroke


def test_valve_flow_follows_the_root_of_its_pressure_drop():
    system = transfer_system(ServoHydraulic()).system
    flow = system.function([system.expression("flow.value")])
    index = {n: i for i, n in enumerate(system.states)}
    values = list(system.values().values())

    def at(spool, pressure):
        x = np.zeros(len(index))
        x[index["spool.value"]] = spool
        x[index["oil.displacement"]] = pressure * 240e-6 / (4 * 1.2e9)
        return flow(list(x), [0.0, 0.0], [], values)[0]

    top = 19e-3 / 60 * math.sqrt(3)
    for spool, share in [(1, 0.0), (0.5, 0.4), (-0.5, 0.4), (0.3, -0.5), (-1, -0.8), (3.0, 0.75)]:
        opening = max(-1, min(1, spool))  # beyond its stroke the spool does not go
        expected = top * opening * math.sqrt(1 - math.copysign(1, spool) * share)
        assert at(spool, share * 210e5) == pytest.approx(expected, rel=4e-3)  # the smooth root
    assert at(1, 210e5) == pytest.approx(0, abs=1e-5 * top)  # stall
    assert at(1, 220e5) < -0.1 * top  # a load beyond stall drives the oil back


def test_a_load_beyond_the_stall_force_pushes_it_back():
    t = transfer_system(ServoHydraulic())
    for share, away in ((0.9, False), (1.1, True)):
        load = share * 25.2e3  # 210 bar on 12 cm2
        run = t.system.simulate(0.3, {"load.effort": load}, times=np.linspace(0, 0.3, 301), max_step=1e-3)
        late = run["load.flow"][run.time > 0.15].mean()
        assert late < -0.05 if away else abs(late) < 0.05


# ---------------------------------------------------------------- on the rig


def rig(specimen, pid=None, **options):
    return Emulated(specimen, ServoHydraulic(pid, **options))


def runner(specimen, pid=None, backend="auto"):
    emulated = Emulated(specimen, ServoHydraulic(pid), substeps=1)
    return Runner(rig_tick(emulated, emulated.system(), STEP), backend)


def response(run, amplitude, frequencies):
    """First Fourier coefficient of the displacement over that of the command, settled, over whole periods."""
    result = []
    for f in frequencies:
        run.reset()
        settle = round(0.4 / STEP)
        count = settle + round(10 / f / STEP)
        t = STEP * np.arange(count)
        command = amplitude * np.sin(2 * np.pi * f * t)
        found = run.run(count, command[:, None])
        assert found.finished
        wave = np.exp(-2j * np.pi * f * t[settle:])
        result.append((found.channels["measured.displacement"][settle:] @ wave) / (command[settle:] @ wave))
    return np.array(result)


def decibel(values):
    return 20 * np.log10(np.abs(values))


def test_findings_of_du_bois_2010_section_2_2():
    """Empty: flat to about 50 Hz. Large orifice: less damped. Standard: more damped, and nonlinear."""
    f = [5, 10, 20, 25, 30, 40, 50, 100]
    pid = SerialPID.untuned()
    empty = runner(nothing_mounted(), pid)
    standard = runner(mounted(OrificeDamper.standard()), pid)
    small = {
        "empty": response(empty, 1e-4, f),
        "large": response(runner(mounted(OrificeDamper.large()), pid), 1e-4, f),
        "standard": response(standard, 1e-4, f),
    }
    assert np.abs(decibel(small["empty"])[:7]).max() < 1.2
    assert decibel(small["empty"])[7] < -10
    # It does not depend on the amplitude, to 10 times.
    assert np.abs(decibel(response(empty, 1e-3, f[:6]) / small["empty"][:6])).max() < 0.6
    assert decibel(small["large"]).max() > decibel(small["empty"]).max() + 1.0
    assert decibel(small["standard"])[2:5].max() < -1.0
    # The poppet valves lower the damping: at five times the amplitude the response is up, by 3 dB at 30 Hz.
    change = decibel(response(standard, 5e-4, f[2:5]) / small["standard"][2:5])
    assert change[2] > 3
    # Beyond -180 degrees: more than a second order.
    for found in small.values():
        assert np.unwrap(np.angle(found))[-1] < -np.pi


def test_every_pole_of_the_rig_fits_the_step():
    """RK4 needs |pole| h < 2.5 or so (2.78 on the real axis); with the play closed and valves open, too."""
    damper = OrificeDamper.standard(play="0.1 mm")
    system = rig(mounted(damper)).system().system
    pressure = 45e5
    points = [{}, {"contact.displacement": 1e-4}]
    points.append(
        {**points[1], "poppet_position.value": pressure, "oil.displacement": pressure * 300e-6 / 4e9}
    )
    for point in points:
        local = system.linearise({f"rig.specimen.{n}": v for n, v in point.items()})
        assert np.abs(local.poles()).max() * STEP < 2.0


@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
def test_c_numpy_and_scipy_agree():
    damper = mounted(OrificeDamper.standard(play="0.1 mm"))
    t = STEP * np.arange(1200)
    command = 1.5e-3 * np.sin(2 * np.pi * 8 * t)
    c, python = (runner(damper, backend=b).run(len(t), command[:, None]).channels for b in ("c", "numpy"))
    for name in ("measured.force", "measured.displacement", "measured.velocity"):
        np.testing.assert_allclose(c[name], python[name], rtol=1e-9, atol=1e-9 * np.abs(c[name]).max())
    # An independent integrator, with the command held over each step as in the tick.
    system = rig(damper).system()
    rates, values = system.system.rates, list(system.system.values().values())
    place = system.system.states.index("rig.transfer.position.value")
    x, positions = system.system.initial(), []
    for u in command[:240]:
        positions.append(x[place])
        held = [u]
        solution = solve_ivp(
            lambda _t, y, u=held: rates(y, u, [], values), (0, STEP), x, rtol=1e-8, atol=1e-14
        )
        x = solution.y[:, -1]
    np.testing.assert_allclose(c["measured.displacement"][:240], positions, atol=2e-4 * 1.5e-3)


def test_signals_reach_a_function_in_the_order_in_which_they_were_bonded():
    """Whatever the order of the parts: here the second signal's part was named first."""
    m = Model("order")
    m.second, m.first = Input("b"), Input("a")
    m.law, m.force, m.v, m.speed = Function(lambda a, b, k: k * (a - 2 * b), k=3.0), MSe(), One(), Df()
    m.first >> m.law
    m.second >> m.law >> m.force >> m.v >> [R(damping=1.0), m.speed]
    system = m.compile()
    run = system.simulate(0.1, {"a": 5.0, "b": 1.0})
    assert run["speed"][-1] == pytest.approx(3 * (5 - 2))
    assert system.parameters["law.k"] == 3.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cylinder(area=0), r"Cylinder\(area\): expected a number above 0"),
        (lambda: ServoValve(rated_flow="19 xyz"), "unknown unit"),
        (lambda: SerialPID(derivative=-1), r"SerialPID\(derivative\): expected a number at least 0"),
        (lambda: ServoHydraulic(30), "expected a SerialPID; found 30"),
        (lambda: ServoHydraulic(valve=Cylinder()), "expected a ServoValve"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_descriptions_can_be_read_back():
    for value in (SerialPID.untuned(), ServoValve(frequency=60), Cylinder(stroke="50 mm")):
        assert type(value).from_description(value.describe()) == value
    assert transfer_system(ServoHydraulic()).command.quantity.unit == "m"
