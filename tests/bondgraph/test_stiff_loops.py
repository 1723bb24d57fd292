"""Algebraic loops that Newton's method alone does not solve from zero: diodes, orifices, bridges."""

import math

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

from bondloop.bondgraph import Model, One, R, RField, Se
from bondloop.engine.codegen import Runner
from bondloop.hybrid.simulation import Simulation
from bondloop.signals import Sine

SATURATION, THERMAL = 1e-12, 0.025


def diode(f):
    """Flow through a diode by its effort: I_s (exp(e/V_T) - 1)."""
    return SATURATION * (sp.exp(f / THERMAL) - 1)


def with_resistor(ohm=100.0):
    model = Model("diode")
    model.V, model.i = Se("V"), One()
    model.r, model.d = R(resistance=ohm), R(inverse=diode)
    model.V >> model.i >> [model.r, model.d]
    return model.compile(outputs=["i.flow"])


@pytest.mark.parametrize("volts", [-5.0, 0.0, 0.3, 0.8, 1.5, 5.0, 24.0, 100.0])
def test_a_diode_with_a_resistor(volts):
    # The current by bisection: i with V = R i + V_T log(1 + i / I_s).
    system = with_resistor()
    got = system.function([system.expression("i.flow")])([], [volts], [], list(system.values().values()))[0]
    wanted = brentq(
        lambda e: SATURATION * math.expm1(e / THERMAL) - (volts - e) / 100.0,
        min(volts, -1e-9),
        1.0,
        xtol=1e-15,
    )
    assert got == pytest.approx((volts - wanted) / 100.0, rel=1e-9, abs=1e-13)


def orifices():
    model = Model("orifices")
    model.p, model.q = Se("p"), One()
    model.a, model.b = R(inverse=lambda e: sp.sign(e) * sp.sqrt(abs(e))), R(law=lambda f: f * abs(f))
    model.p >> model.q >> [model.a, model.b]
    return model.compile(outputs=["q.flow"])


@pytest.mark.parametrize("drop", [0.0, 1e-12, 1.0, 1e6, -4.0])
def test_two_orifices_in_series(drop):
    system = orifices()
    got = system.function([system.expression("q.flow")])([], [drop], [], list(system.values().values()))[0]
    assert got == pytest.approx(math.copysign(math.sqrt(abs(drop) / 2), drop), rel=1e-9, abs=1e-30)


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("volts", [0.8, 5.0, 40.0])
def test_in_the_tick(backend, volts):
    # Every sample against bisection, from a start at zero each time.
    test = Simulation({"d": with_resistor()}, excitation={"V": Sine(volts, 5.0)}, rate=1000.0)
    result = Runner(test.tick, backend).run(200)
    assert result.finished, result.message
    for t, got in zip(result.time, result.channels["d.i.flow"], strict=True):
        v = volts * math.sin(2 * math.pi * 5.0 * t)
        drop = brentq(
            lambda e, v=v: SATURATION * math.expm1(e / THERMAL) - (v - e) / 100.0,
            min(v, 0) - 1e-9,
            1.5,
            xtol=1e-15,
        )
        assert got == pytest.approx((v - drop) / 100.0, rel=1e-7, abs=1e-12)


def test_both_back_ends_take_the_same_steps():
    test = Simulation({"d": with_resistor()}, excitation={"V": Sine(12.0, 5.0)}, rate=1000.0)
    one, other = (Runner(test.tick, b).run(200).channels["d.i.flow"] for b in ("c", "numpy"))
    assert np.abs(one - other).max() <= 1e-12 * np.abs(one).max()


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("force", [0.01, 1.0, -40.0])
def test_a_loop_in_which_one_unknown_rests_at_zero_first(backend, force):
    # The tangents at rest say that the free end stays: 2 g = 2 (f - g)^3 moves it only then. With g known,
    # F = f + 2 (f - g)^3 = 3 g + cbrt(g).
    model = Model("pair")
    model.F, model.v, model.end = Se("F"), One(), One()
    model.D = RField(dissipation=lambda x, y: x**2 / 2 + y**2 + (x - y) ** 4 / 2)
    model.F >> model.v >> model.D[0]
    model.end >> model.D[1]
    test = Simulation({"d": model.compile(outputs=["end.flow"])}, excitation={"F": force}, rate=1000.0)
    result = Runner(test.tick, backend).run(3)
    assert result.finished, result.message
    wanted = brentq(lambda g: 3 * g + np.cbrt(g) - force, -50, 50, xtol=1e-300, rtol=1e-14)
    assert result.channels["d.end.flow"] == pytest.approx([wanted] * len(result.time), rel=1e-9)
