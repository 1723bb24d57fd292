"""Devices beside equations written down here, solved by SciPy; and beside closed forms.

The history is a sum of two sines, whose velocity is known. Forces agree to 1e-6 of the largest.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from bondloop import devices as d
from bondloop.errors import InputError

A, B, P, Q = 0.03, 0.012, 2 * np.pi * 0.5, 2 * np.pi * 1.3
T = np.arange(0, 3.0, 5e-4)


def x_at(t):
    return A * np.sin(P * t) + B * np.sin(Q * t)


def v_at(t):
    return A * P * np.cos(P * t) + B * Q * np.cos(Q * t)


def hysteretic(z, v, n, beta, gamma):
    """What Bouc and Wen multiply the velocity by; z in units of its end."""
    return 1 - abs(z) ** n * (gamma + beta * np.sign(v * z))


def bouc_wen(t, y):
    z, e = y
    rate = v_at(t) * (1 - 1e-3 * e - (1 + 2e-3 * e) * (1 - hysteretic(z / 5e-3, v_at(t), 1.5, 0.6, 0.3)))
    return [rate / (1 + 1e-3 * e), 0.9 * 2e5 * z * v_at(t)]


def baber_noori(t, y):
    z, e = y
    z_rate, e_rate = (
        v_at(t) * (1 - (1 + 2e-4 * e) * abs(z / 5e-3) * (0.5 + 0.5 * np.sign(z * v_at(t)))),
        0.9 * 2e5 * z * v_at(t),
    )
    zeta = 0.9 * (1 - np.exp(-5e-3 * e))
    width = (0.3 + 1e-5 * e) * (0.5 + zeta)
    h = 1 - zeta * np.exp(-((z / 5e-3 * np.sign(v_at(t)) - 0.2 / (1 + 2e-4 * e)) ** 2) / width**2)
    return [h * z_rate / (1 + 5e-4 * e), e_rate]


def lead(t, y):
    z, warm = y
    stress = 10e6 * np.exp(-0.0069 * warm)
    return [v_at(t) / 0.01 * hysteretic(z, v_at(t), 2, 0.5, 0.5), stress * abs(v_at(t) * z) / (1.45e6 * 0.25)]


def column(t, y):
    """The level by its own equation, with the acceleration of the end: no momenta."""
    level, speed = y
    a = -A * P**2 * np.sin(P * t) - B * Q**2 * np.sin(Q * t)
    return [speed, (-3.0 * a - 2 * 9.80665 * level - 0.5 * 5.0 * abs(speed) * speed) / 4.0]


def column_force(t, y):
    """All water's inertia, less that of the mass that the device leaves to its user."""
    a = -A * P**2 * np.sin(P * t) - B * Q**2 * np.sin(Q * t)
    level_rate = np.array([column(s, w)[1] for s, w in zip(t, y.T, strict=True)])
    return 1000 * 0.2 * (4.0 * a + 3.0 * level_rate) - 1000 * 0.2 * (4.0 - 9.0 / 4.0) * a


CASES = {
    "BoucWen": (
        d.BoucWen(2e5, 5e-3, 0.1, 1.5, 0.3, 0.6, 1e-3, 2e-3, 1e-3), bouc_wen, [0.0, 0.0],
        lambda t, y: 2e4 * x_at(t) + 1.8e5 * y[0],
    ),
    "BaberNoori": (d.BaberNoori(), baber_noori, [0.0, 0.0], lambda t, y: 2e4 * x_at(t) + 1.8e5 * y[0]),
    "LeadRubberBearing": (
        d.LeadRubberBearing(), lead, [0.0, 0.0],
        lambda t, y: 1e6 * x_at(t) + 5e3 * v_at(t) + 7.9e-3 * 10e6 * np.exp(-0.0069 * y[1]) * y[0],
    ),
    "ElastomericBearing": (
        d.ElastomericBearing(), lambda t, y: [350 * v_at(t) * hysteretic(y[0], v_at(t), 1, 0.5, 0.5)], [0.0],
        lambda t, y: 20e3 * y[0] + 1e6 * x_at(t) + 2e7 * x_at(t) ** 3,
    ),
    "WireRope": (
        d.WireRope(asymmetry=5.0, quadratic=1e5),
        lambda t, y: [2e5 * v_at(t) * hysteretic(y[0] / 300, v_at(t), 1, 0.7, 0.3)], [0.0],
        lambda t, y: np.exp(5 * x_at(t))
        * (2e4 * x_at(t) + 1e5 * x_at(t) * abs(x_at(t)) + 4e7 * x_at(t) ** 3 + y[0]),
    ),
    "Maxwell": (
        d.Maxwell(1e6, 2e5), lambda t, y: [1e6 * v_at(t) - 5 * y[0]], [0.0], lambda _, y: y[0],
    ),
    "FluidViscousDamper": (
        d.FluidViscousDamper(2e6, 2e4, 0.6),
        lambda t, y: [2e6 * (v_at(t) - np.sign(y[0]) * (abs(y[0]) / 2e4) ** (1 / 0.6))], [0.0],
        lambda _, y: y[0],
    ),
    "TunedMass": (
        d.TunedMass(100, 4e3, 100),
        lambda t, y: [y[1], (4e3 * (x_at(t) - y[0]) + 100 * (v_at(t) - y[1])) / 100], [0.0, 0.0],
        lambda t, y: 4e3 * (x_at(t) - y[0]) + 100 * (v_at(t) - y[1]),
    ),
    # At rest before its end starts: the level's speed is that of the momentum zero.
    "TunedLiquidColumn": (d.TunedLiquidColumn(), column, [0.0, -0.75 * (A * P + B * Q)], column_force),
    "Inerter": (
        d.Inerter(500, 1e6, 2e3, 50, 1e-2),
        lambda t, y: [
            v_at(t) - y[1], (1e6 * y[0] + 2e3 * (v_at(t) - y[1]) - 50 * np.tanh(y[1] / 1e-2)) / 500,
        ],
        [0.0, 0.0], lambda t, y: 1e6 * y[0] + 2e3 * (v_at(t) - y[1]),
    ),
    "KelvinVoigt": (d.KelvinVoigt(1e5, 2e3), None, [], lambda t, _: 1e5 * x_at(t) + 2e3 * v_at(t)),
    "PowerDamper": (
        d.PowerDamper(2e4, 0.5, 1e-9), None, [], lambda t, _: 2e4 * np.sign(v_at(t)) * abs(v_at(t)) ** 0.5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_device_beside_scipy(name):
    device, rates, start, force = CASES[name]
    y = None
    if rates is not None:
        y = solve_ivp(rates, (0, T[-1]), start, t_eval=T, rtol=1e-10, atol=1e-12, max_step=2e-3).y
    expected = force(T, y)
    # The device moves in straight lines between samples, so they are close: its error goes with their square.
    fine = np.arange(0, T[-1] + 1e-9, 5e-5)
    found = device.respond(x_at(fine), 2e4, velocity=v_at(fine), substeps=2)[::10]
    assert np.max(np.abs(found - expected)) < 1e-6 * np.max(np.abs(expected))


def test_ramberg_osgood_beside_its_equation():
    device = d.RambergOsgood(2e6, 1e4, 1.5, 7.0)
    x = 0.03 * np.sin(T[::40] * 4) * np.exp(-T[::40] / 4)  # each turn within the one before: no loop closes

    def curve(force):
        return force / 2e6 + 1.5 * 5e-3 * np.sign(force) * abs(force / 1e4) ** 7

    turn, turned, scale, last, sense = 0.0, 0.0, 1.0, 0.0, 0.0
    expected, force = [0.0], 0.0
    for place in x[1:]:
        way = np.sign(place - last)
        if way * sense < 0:
            turn, turned, scale = last, force, 2.0
        sense, last = way, place

        def off(f, p=place, turn=turn, turned=turned, scale=scale):
            return scale * curve((f - turned) / scale) - (p - turn)

        force = brentq(off, -1e5, 1e5, xtol=1e-9)
        expected.append(force)
    assert np.max(np.abs(device.respond(x, 100) - expected)) < 1e-9 * np.max(np.abs(expected))


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.3])
def test_ramberg_osgood_is_many_springs_that_yield_one_after_the_other(noise):
    """Iwan's springs through 800 points of the curve remember every loop (Masing): those of the curve, too.

    Noise turns at every other sample: a law that begins an elastic branch at each turn and never rejoins the
    one that it left would end at five times this force.
    """
    device = d.RambergOsgood()
    first = device.yield_force / device.stiffness
    F = np.linspace(0.02, 1.6, 800) * device.yield_force
    X = F / device.stiffness + device.offset * first * (F / device.yield_force) ** device.exponent
    springs = d.Multilinear(tuple(X.tolist()), tuple(F.tolist()))
    rng = np.random.default_rng(7)
    walk = np.cumsum(rng.normal(0, 1, 150))
    x = np.concatenate([[0.0], 5 * walk / np.max(np.abs(walk)), np.linspace(walk[-1], 6, 100)]) * first
    x[1:] += noise * first * rng.normal(size=len(x) - 1)
    expected = springs.respond(x, 100, backend="numpy")
    # 2e-5: the pieces between points, each a straight line.
    assert np.max(np.abs(device.respond(x, 100) - expected)) < 2e-5 * np.max(np.abs(expected))


def test_noise_on_what_stands_still_stays_within_sixteen_turns():
    """More loops within loops than are remembered: the force is off by little, and never outside."""
    device = d.RambergOsgood()
    first = device.yield_force / device.stiffness
    x = np.append(0.0, first * (2 + 0.3 * np.random.default_rng(1).normal(size=3000)))
    assert np.max(np.abs(device.respond(x, 100))) <= np.max(device.respond([0.0, np.max(x)], 100)) * (
        1 + 1e-9
    )


@pytest.mark.parametrize("exponent", [1.0, 1.5, 3.0, 20.0, 100.0])
def test_ramberg_osgoods_root_is_found(exponent):
    """Whatever the exponent and however far it is drawn out, the Newton steps are enough."""
    device = d.RambergOsgood(2e6, 1e4, 0.3, exponent)
    for x in 10.0 ** np.arange(-12, 3):
        y = device.respond([0.0, x], 100, backend="numpy")[1] / 1e4
        assert y + 0.3 * y**exponent == pytest.approx(x * 200, rel=1e-12)


def test_a_friction_pendulum_loops_as_its_formula_says():
    """A loop of friction: 4 μ W (X - d) less the elastic corners, where the friction is constant."""
    bearing = d.FrictionPendulum(1e6, 2.0, 0.05, 0.05, 0.0, 1e-3)
    phase = np.linspace(0, 4 * np.pi, 40001)
    x = 0.2 * np.sin(phase)
    force = bearing.respond(x, 1000)[20000:]
    assert np.trapezoid(force, x[20000:]) == pytest.approx(4 * 0.05 * 1e6 * (0.2 - 1e-3), rel=1e-6)
    fast = d.FrictionPendulum(1e6, 2.0, 0.06, 0.03, 50.0, 1e-3)
    at = [0.0, 0.1, 0.2]
    for v in (0.0, 0.01, 0.1):
        found = fast.respond(at, 10, velocity=[v] * 3)[2]
        assert found == pytest.approx(1e5 + 1e6 * (0.06 - 0.03 * np.exp(-50 * v)))


def test_a_triple_pendulum_goes_as_far_as_its_surfaces():
    """Fenz and Constantinou (2008): the stops of the series add up to the travel of the four surfaces."""
    bearing = d.TripleFrictionPendulum(slow_share=1.0, stick_displacement=1e-6)
    W, Ri, R = bearing.weight, bearing.inner_radius, bearing.lower_radius
    outer, inner = 0.1875, 0.025
    converted = outer * (R - Ri) / R
    assert (bearing.lower_stop, bearing.upper_stop) == pytest.approx((converted, converted))
    assert bearing.inner_stop == pytest.approx(2 * outer + 2 * inner - 2 * converted)
    # All outer stops are met, one after the other, before the inner one ends the travel.
    x = np.linspace(0, 2 * outer + 2 * inner, 40001)
    force = bearing.respond(x, 1000)
    slope = np.gradient(force, x)
    last = np.array([bearing.lower_friction, bearing.upper_friction]) + converted / (R - Ri)
    for level, radius in ((0.12, 2 * R), (last.mean(), R + Ri), (last[1] + 1e-3, 2 * Ri)):
        assert slope[np.argmin(np.abs(force - level * W))] == pytest.approx(W / radius, rel=1e-3)
    assert force[-2] == pytest.approx(W * (bearing.inner_friction + bearing.inner_stop / (2 * Ri)), rel=1e-3)


def test_a_triple_pendulum_beside_its_regimes():
    """Fenz and Constantinou (2008), table 1: the stiffness of each regime; then a series solved by roots."""
    W, Ri, R1, R4 = 1e6, 0.4, 2.0, 2.2
    mu = (0.02, 0.05, 0.08)
    stops = (1.0, 0.2 * (R1 - Ri) / R1, 0.25 * (R4 - Ri) / R4)
    bearing = d.TripleFrictionPendulum(W, Ri, R1, R4, *mu, 1.0, 0.0, *stops, 1e-6)
    x = np.linspace(0, 0.55, 200001)
    force = bearing.respond(x, 1000)
    slope = np.gradient(force, x)

    def slope_at(level):
        return slope[np.argmin(np.abs(force - level * W))]

    assert slope_at(0.03) == pytest.approx(W / (2 * Ri), rel=1e-4)  # I: the inner surfaces
    assert slope_at(0.06) == pytest.approx(
        W / (R1 + Ri), rel=1e-4
    )  # II: the lower outer one and an inner one
    assert slope_at(0.10) == pytest.approx(W / (R1 + R4), rel=1e-4)  # III: both outer ones
    first, second = mu[1] + stops[1] / (R1 - Ri), mu[2] + stops[2] / (R4 - Ri)
    assert first < second
    assert slope_at((first + second) / 2) == pytest.approx(W / (R4 + Ri), rel=1e-4)  # IV: one stop is met
    assert slope_at(second + 0.01) == pytest.approx(W / (2 * Ri), rel=1e-4)  # V: both are

    # Along a walk, with the force sought by bisection and each pendulum moved by hand.
    bearing = d.TripleFrictionPendulum(W, Ri, R1, R4, *mu, 1.0, 0.0, *stops, 1e-3)
    walk = np.cumsum(np.random.default_rng(7).normal(0, 0.06, 80))
    walk = np.concatenate([[0.0], walk - np.linspace(0, walk[-1], 80)])
    u, k = [0.0, 0.0, 0.0], mu[0] * W / 1e-3
    radii = (2 * Ri, R1 - Ri, R4 - Ri)

    def moved(f):
        result = []
        for slip, R, m, stop in zip(u, radii, mu, stops, strict=True):
            low, high = (f / W - m) * R, (f / W + m) * R
            result.append(min(max(min(max(slip, low), high), -stop), stop))
        return result

    expected = []
    for place in walk:
        f = brentq(lambda f, p=place: f / k + sum(moved(f)) - p, -1e8, 1e8, xtol=1e-6)
        u = moved(f)
        expected.append(f)
    found = bearing.respond(walk, 100)
    assert np.max(np.abs(found - expected)) < 1e-9 * np.max(np.abs(expected))
    assert np.max(np.abs(expected)) / W > second, "stops must have been met"


def test_a_brace_beside_small_steps():
    """Plasticity in rate form, along very small steps: kinematic, and isotropic up to a bound."""
    brace = d.BucklingRestrainedBrace(2e8, 5e5, 1.15, 0.02, 0.01, 0.05)
    x = 0.02 * np.sin(np.linspace(0, 12, 60001))
    k, fy, phi, H, h, most = 2e8, 5e5, 1.15, 0.02 * 2e8, 0.01 * 2e8, 0.05 * 5e5
    plastic = back = way = 0.0
    expected = []
    for place in x:
        ahead = k * (place - plastic) - back
        factor = phi if ahead < 0 else 1.0
        grown = h * way < most
        excess = abs(ahead) - factor * (fy + min(h * way, most))
        if excess > 0:
            step = excess / (k + H + (factor * h if grown else 0.0))
            plastic, back, way = plastic + np.sign(ahead) * step, back + np.sign(ahead) * H * step, way + step
        expected.append(k * (place - plastic))
    found = brace.respond(x, 1000)
    assert way * h > 2 * most, "the growth must have ended"
    assert np.max(np.abs(found - expected)) < 1e-4 * np.max(np.abs(expected))


def test_isotropic_points_grow_along_the_plastic_way():
    """Turned round, an isotropic spring yields where it had come to; its points are on the first curve."""
    spring = d.Multilinear((0.005, 0.01, 0.03), (10e3, 14e3, 16e3), "isotropic")
    assert spring.respond([0, 0.005, 0.01, 0.02, 0.03], 10) == pytest.approx([0, 10e3, 14e3, 15e3, 16e3])
    k = 2e6
    force = spring.respond([0, 0.02, 0.02 - 2 * 15e3 / k], 10)
    assert force[2] == pytest.approx(-15e3)
    bilinear = d.Bilinear(k, 10e3, 0.4, 1.0)
    two = d.Multilinear((0.005, 0.01), (10e3, 14e3), "isotropic")
    x = np.cumsum(np.random.default_rng(4).normal(0, 4e-3, 300))
    assert two.respond(x, 10) == pytest.approx(bilinear.respond(x, 10), rel=1e-9)


def test_a_tuned_mass_is_told_in_any_unit():
    assert d.TunedMass.tuned("0.1 t", "1.5 Hz", "2 %") == d.TunedMass.tuned(100.0, 1.5, 0.02)
    for given in (("100 m", 1.5, 0.02), (100.0, "1.5 s", 0.02), (100.0, 1.5, -0.02), (100.0, None, 0.02)):
        with pytest.raises(InputError, match=r"TunedMass\.tuned\((mass|frequency|ratio)\): expected"):
            d.TunedMass.tuned(*given)


def test_a_tuned_mass_is_den_hartogs():
    """Both peaks of the structure's response are equal: √(1 + 2/μ) times the static one."""
    ratio, omega = 0.05, 2 * np.pi
    damper = d.TunedMass.tuned(50.0, 1.0, ratio)
    k, c, m = damper.stiffness, damper.damping, damper.mass
    w = np.linspace(0.7, 1.3, 20001) * omega
    M = m / ratio
    absorbed = (k + 1j * w * c) * m * w**2 / (k + 1j * w * c - m * w**2)
    response = np.abs(M * omega**2 / (M * omega**2 - M * w**2 - absorbed))
    peaks = response[1:-1][(response[1:-1] > response[:-2]) & (response[1:-1] > response[2:])]
    assert len(peaks) == 2
    assert peaks == pytest.approx(np.sqrt(1 + 2 / ratio), rel=0.01)
