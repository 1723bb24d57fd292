"""A law is inverted to all digits whatever the units of its effort and its flow, in Python and in C."""

import math

import numpy as np
import pytest
import sympy as sp
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from bondloop.bondgraph import MC, C, Input, Model, One, R, Se, Zero
from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.ir.newton_iteration import LoopFunctions, newton
from bondloop.hybrid import Simulation

DRAWN = settings(deadline=None, max_examples=25, phases=[Phase.generate])
scales = st.floats(-30, 30).map(lambda k: 10.0**k)

LAWS = {
    "blunt": lambda z: z + sp.tanh(z),
    "flat at zero": lambda z: z * sp.Abs(z) + z**3 + z**5,
    "steep at zero": lambda z: sp.sign(z) * sp.sqrt(sp.Abs(z)) + z,
    "exponential": lambda z: sp.sinh(z) + z,
}
symbol = sp.Symbol("z", real=True)
NUMBERS = {name: sp.lambdify(symbol, law(symbol), "math") for name, law in LAWS.items()}


def flow_at(name, share):
    """Where a law without units has a value, by bisection."""
    return brentq(lambda z: NUMBERS[name](z) - share, 0.0, 40.0, xtol=1e-300, rtol=1e-15)


def law_model(name, effort, flow):
    m = Model("law")
    # an inverse is looked for within 1e-6 and 100 of the cause; these laws rise wherever that is
    m.r = R(law=lambda f, e, w: e * LAWS[name](f / w), inverse="newton", e=effort, w=flow)
    _ = Se("F") >> m.r
    return m.compile(outputs=["r.flow"])


@DRAWN
@given(st.sampled_from(sorted(LAWS)), scales, st.floats(-6, 6).map(lambda k: 10.0**k), st.floats(0.01, 30))
def test_one_law(name, effort, flow, share):
    run = law_model(name, effort, flow).simulate(1.0, {"F": share * effort}, times=[0.0])
    assert run["r.flow"][0] / flow == pytest.approx(flow_at(name, share), rel=1e-9)


@DRAWN
@given(scales, st.floats(-6, 6).map(lambda k: 10.0**k), st.floats(0.1, 10))
def test_two_laws_in_a_loop(effort, flow, share):
    """Side by side under one flow source made of a voltage and a resistor: v + R (i1 + i2) = V."""
    m = Model("loop")
    m.i, m.n = One(), Zero()
    m.a = R(law=lambda f, e, w: e * (f / w + sp.tanh(f / w)), e=effort, w=flow)
    m.b = R(law=lambda f, e, w: e * (f / w + sp.tanh(3 * f / w)), e=effort, w=flow)
    _ = Se("V") >> m.i >> [R(resistance=effort / flow), m.n]
    _ = m.n >> [m.a, m.b]
    run = m.compile(outputs=["a.flow"]).simulate(1.0, {"V": share * effort}, times=[0.0])

    def inverse(v, k):
        return brentq(lambda z: z + math.tanh(k * z) - v, 0.0, 20.0, xtol=1e-300, rtol=1e-15)

    v = brentq(lambda v: v + inverse(v, 1) + inverse(v, 3) - share, 0.0, share, rtol=1e-15)
    assert run["a.flow"][0] / flow == pytest.approx(inverse(v, 1), rel=1e-8)


@DRAWN
@given(scales)
def test_a_modulated_spring_that_is_forced(stiffness):
    """V = k (q - s), so q = V / k + s."""
    m = Model("driven")
    m.v, m.s, m.spring = One(), Input("s"), MC(lambda q, s, k: k * (q - s), k=stiffness)
    _ = Se("V") >> m.v >> m.spring
    _ = m.s >> m.spring
    system = m.compile(outputs=["spring.displacement"])
    (displacement,) = system.function(list(system.output_exprs.values()))(
        [], [{"V": 3 * stiffness, "s": 0.7}[name] for name in system.inputs], [0.0, 0.0], [stiffness]
    )
    assert displacement == pytest.approx(3.7, rel=1e-12)


@pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")
@settings(DRAWN, max_examples=6)
@given(st.floats(-18, 18).map(lambda k: 10.0**k))
def test_a_varactor_in_the_tick(capacitance):
    """Its charge in units of the capacitance does not depend on it; C and Python agree."""
    m = Model("varactor")
    m.i, m.cap = One(), C(inverse=lambda v, c: c * (v + 0.5 * sp.tanh(v)), c=capacitance)
    _ = Se("V") >> m.i >> [m.cap, R(resistance=1e-6 / capacitance)]
    tau = 1e-6
    test = Simulation(
        {"m": m.compile(outputs=["cap.effort"])}, excitation={"V": 2.0}, rate=200 / tau, name="varactor"
    )
    compiled, twin = (test.run(0.5 * tau, backend=b)["m.cap.effort"] for b in ("c", "numpy"))
    np.testing.assert_allclose(compiled, twin, rtol=1e-12)
    # (1 + sech(v)^2 / 2) v' = (2 - v) / tau, by SciPy
    from scipy.integrate import solve_ivp

    exact = solve_ivp(
        lambda _, v: (2 - v) / (1 + 0.5 / np.cosh(v) ** 2), (0, 0.5), [0.0], rtol=1e-11, atol=1e-13
    )
    assert compiled[-1] == pytest.approx(exact.y[0, -1], rel=1e-8)


@pytest.mark.parametrize("left", [5e-324, 1e-310, 1e-300])
def test_what_is_left_of_the_smallest_numbers_is_nothing(left):
    """A residual that no step removes, too small to be weighed against anything."""
    loop = LoopFunctions(lambda _: [left], lambda _: [1.0], lambda _: [0.0], [])
    assert newton(loop, [0.0], 40).converged
