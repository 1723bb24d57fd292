"""Bridges, chains and pairs of diodes, over many decades, against node equations solved by bisection."""

import math

import numpy as np
import pytest
import sympy as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from bondloop.bondgraph import C, Model, One, R, Se, Sf, Zero
from bondloop.engine.codegen import Runner
from bondloop.errors import SolveError
from bondloop.hybrid.simulation import Simulation
from bondloop.signals import Sine

saturation = st.floats(-18, -6).map(lambda x: 10**x)  # A: from a red diode to a leaky rectifier
ohms = st.floats(-2, 5).map(lambda x: 10**x)
thermal = st.floats(0.01, 0.1)  # V: 26 mV at room temperature, times the ideality of the diode
volts = st.sampled_from([0.0, 1e-3, 0.3, 1.0, 10.0, 100.0, 1000.0]).flatmap(
    lambda v: st.sampled_from([v, -v, 0.7 * v])
)


def diode(i_s=1e-12, v_t=0.025):
    return R(inverse=lambda e, i_s, v_t: i_s * (sp.exp(e / v_t) - 1), i_s=i_s, v_t=v_t)


def current(e, i_s, v_t):
    return i_s * math.expm1(e / v_t)


def bridge(i_s=(1e-12,) * 4, v_t=0.025, ohm=1.0, farad=1e-4, load=100.0):
    """Source and resistor between a and b; diodes a-p, b-p, ground-a, ground-b; load and capacitor at p."""
    model = Model("bridge")
    model.V, model.i, model.a, model.b, model.p = Se("V"), One(), Zero(), Zero(), Zero()
    model.b >> model.i >> model.a
    model.V >> model.i
    model.r = R(resistance=ohm)
    model.i >> model.r
    model.d = [diode(x, v_t) for x in i_s]
    model.ap, model.bp, model.ga, model.gb = One(), One(), One(), One()
    model.a >> model.ap >> model.p
    model.b >> model.bp >> model.p
    model.ga >> model.a
    model.gb >> model.b
    for branch, d in zip((model.ap, model.bp, model.ga, model.gb), model.d, strict=True):
        branch >> d
    model.load, model.capacitor = R(resistance=load), C(capacitance=farad)
    model.p >> [model.load, model.capacitor]
    return model.compile(outputs=["i.flow", "p.effort"])


def bridge_current(volt, p, i_s=(1e-12,) * 4, v_t=0.025, ohm=1.0):
    """Current of the source, by bisection: the voltage of a, and of b, at which its currents balance."""

    def node(j, up, down):  # j = current(v - p, up) - current(-v, down)
        high = p + v_t * math.log1p((abs(j) + down) / up) + v_t
        low = -v_t * math.log1p((abs(j) + up) / down) - v_t
        return brentq(
            lambda v: current(v - p, up, v_t) - current(-v, down, v_t) - j,
            low,
            high,
            xtol=1e-16,
            rtol=1e-15,
            maxiter=500,
        )

    def loop(j):
        return node(j, i_s[0], i_s[2]) - node(-j, i_s[1], i_s[3]) + ohm * j - volt

    most = abs(volt) / ohm + max(i_s)
    return brentq(loop, -most, most, xtol=1e-26, rtol=1e-14, maxiter=500)


def now(system, u, x=()):
    goals = list(system.output_exprs.values())
    return system.function(goals)(list(x), list(u), [], list(system.values().values()))


@settings(max_examples=16, deadline=None)
@given(st.tuples(*[saturation] * 4), thermal, ohms, volts, st.floats(0, 1))
@example(
    (1e-6, 1e-11, 1e-6, 1e-6), 0.01171875, 1.0, 0.0, 0.0
)  # once taken for a capacitor that nothing frees
def test_a_bridge_from_a_cold_start(i_s, v_t, ohm, volt, share):
    p = share * abs(volt)
    system = bridge(i_s, v_t, ohm)
    j, _ = now(system, [volt], [p * 1e-4])
    wanted = bridge_current(volt, p, i_s, v_t, ohm)
    # Terms of V / R are summed; what they leave is known to their rounding.
    assert j == pytest.approx(wanted, rel=1e-7, abs=1e-12 * (abs(volt) + p) / ohm + 1e-9 * max(i_s))


@pytest.mark.parametrize("peak", [10.0, 1000.0])
@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_bridge_in_the_tick(peak, backend):
    test = Simulation({"b": bridge()}, excitation={"V": Sine(peak, 50.0)}, rate=20000.0)
    result = Runner(test.tick, backend).run(600)
    assert result.finished, result.message
    for n in range(0, 600, 7):
        volt, p = result.channels["V"][n], result.channels["b.p.effort"][n]
        wanted = bridge_current(volt, p)
        assert result.channels["b.i.flow"][n] == pytest.approx(wanted, rel=1e-8, abs=1e-11)
    # It rectifies: two drops of some 0.8 V and what the resistor takes are missing.
    assert 0.8 * peak < result.channels["b.p.effort"].max() < peak


@pytest.mark.parametrize("peak", [10.0, 1000.0])
def test_a_bridge_in_a_simulation(peak):
    system = bridge()
    run = system.simulate(
        0.03,
        {"V": lambda t: peak * math.sin(2 * math.pi * 50 * t)},
        times=np.linspace(0, 0.03, 50),
        rtol=1e-7,
    )
    for volt, p, j in zip(run["V"], run["p.effort"], run["i.flow"], strict=True):
        assert j == pytest.approx(bridge_current(volt, p), rel=1e-7, abs=1e-11)
    test = Simulation({"b": system}, excitation={"V": Sine(peak, 50.0)}, rate=100000.0)
    result = Runner(test.tick).run(3001)
    assert np.interp(run.time, result.time, result.channels["b.p.effort"]) == pytest.approx(
        run["p.effort"], abs=1e-4 * peak
    )


@settings(max_examples=16, deadline=None)
@given(st.lists(saturation, min_size=2, max_size=4), thermal, ohms, volts)
def test_a_chain(i_s, v_t, ohm, volt):
    model = Model("chain")
    model.V, model.i, model.r, model.d = Se("V"), One(), R(resistance=ohm), [diode(x, v_t) for x in i_s]
    model.V >> model.i >> [model.r, *model.d]
    (i,) = now(model.compile(outputs=["i.flow"]), [volt])

    def drop(j):
        return ohm * j + sum(v_t * math.log1p(j / x) for x in i_s) - volt

    least = -min(i_s) * (1 - 2**-52)
    # A chain that blocks carries the smallest saturation current, in all digits.
    wanted = (
        least if drop(least) > 0 else brentq(drop, least, abs(volt) / ohm + 1e-18, xtol=1e-30, maxiter=500)
    )
    # Of volts that are summed, a share of 1e-14 is rounding: relative to v_t, that of the current.
    assert i == pytest.approx(wanted, rel=1e-9 + 1e-13 * abs(volt) / v_t, abs=1e-15 * max(i_s) + 1e-29)


@settings(max_examples=16, deadline=None)
@given(st.tuples(saturation, saturation), thermal, st.floats(-9, 0).map(lambda x: 10**x), volts, volts)
def test_a_pair_that_shares_a_current(i_s, v_t, tail, one, other):
    # Two junctions into one node, from which a current is drawn, as in a differential pair. With
    # E = exp(-v/v_t) at the node: E (I1 exp(V1/v_t) + I2 exp(V2/v_t)) = tail + I1 + I2, in closed form.
    model = Model("pair")
    model.V1, model.V2, model.node, model.tail = Se("V1"), Se("V2"), Zero(), Sf("tail")
    model.a, model.b, model.d1, model.d2 = One(), One(), diode(i_s[0], v_t), diode(i_s[1], v_t)
    model.V1 >> model.a >> model.node
    model.V2 >> model.b >> model.node
    model.a >> model.d1
    model.b >> model.d2
    model.drawn = One()
    model.node >> model.drawn
    model.tail >> model.drawn
    system = model.compile(outputs=["a.flow", "b.flow"])
    got = now(system, [{"V1": one, "V2": other, "tail": tail}[name] for name in system.inputs])
    share = 1 / (1 + i_s[1] / i_s[0] * math.exp(min(700.0, max(-700.0, (other - one) / v_t))))
    total = tail + sum(i_s)
    wanted = [total * share - i_s[0], total * (1 - share) - i_s[1]]
    assert got == pytest.approx(wanted, rel=1e-9 + 1e-13 * (abs(one) + abs(other)) / v_t, abs=1e-11 * total)


@settings(max_examples=16, deadline=None)
@given(
    st.sampled_from(["law", "inverse"]),
    st.sampled_from(["law", "inverse"]),
    st.floats(-3, 3).map(lambda x: 10**x),
    st.floats(-3, 3).map(lambda x: 10**x),
    st.sampled_from([0.0, 1e-12, 1.0, 1e6, -4.0]),
)
def test_orifices_in_series(first, second, a, b, drop):
    def orifice(form, k):
        if form == "law":
            return R(law=lambda f, k: f * abs(f) / k**2, k=k)
        return R(inverse=lambda e, k: k * sp.sign(e) * sp.sqrt(abs(e)), k=k)

    model = Model("orifices")
    model.p, model.q, model.a, model.b = Se("p"), One(), orifice(first, a), orifice(second, b)
    model.p >> model.q >> [model.a, model.b]
    (q,) = now(model.compile(outputs=["q.flow"]), [drop])
    # drop = q |q| (1/a^2 + 1/b^2)
    wanted = math.copysign(math.sqrt(abs(drop) / (a**-2 + b**-2)), drop)
    assert q == pytest.approx(wanted, rel=1e-9, abs=1e-30)


def test_a_diode_whose_current_is_known_keeps_its_logarithm():
    model = Model("driven")
    model.J, model.d = Sf("J"), diode()
    model.J >> model.d
    system = model.compile(outputs=["d.effort"])
    assert system.notes == []
    assert now(system, [1e-3])[0] == pytest.approx(0.025 * math.log1p(1e9), rel=1e-14)


def test_linearised_where_a_diode_blocks_and_where_all_are_at_rest():
    # At zero every diode is a resistor of v_t/i_s = 25 GOhm: b to p to ground and a likewise, 25 GOhm in all
    # between a and b, and p sees two pairs in parallel: 1/R_p = 1/100 + 2/(25e9 + 25e9) + small.
    system = bridge()
    pole = system.linearise().poles()[0].real
    assert pole == pytest.approx(-(1 / 100 + 2 / 50e9) / 1e-4, rel=1e-12)
    blocked = system.linearise({"capacitor.displacement": 5e-4}, {"V": -2.0})
    assert blocked.poles()[0].real == pytest.approx(-100.0, rel=1e-6)


def test_a_tick_starts_from_its_last_solution():
    # Fourteen evaluations are too few from zero to 5 V, and enough from one sample to the next.
    model = Model("diode")
    model.V, model.i, model.r, model.d = Se("V"), One(), R(resistance=100.0), diode()
    model.V >> model.i >> [model.r, model.d]
    system = model.compile(outputs=["i.flow"], iterations=14)
    with pytest.raises(SolveError, match=r"did not converge in 14 Newton steps; worst is d\.effort"):
        now(system, [5.0])
    for backend in ("c", "numpy"):
        test = Simulation({"d": system}, excitation={"V": Sine(20.0, 5.0)}, rate=20000.0)
        result = Runner(test.tick, backend).run(2000)
        assert result.finished, result.message


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_run_that_goes_on_is_the_same_to_the_last_bit(backend):
    test = Simulation({"b": bridge()}, excitation={"V": Sine(12.0, 50.0)}, rate=20000.0)
    whole = Runner(test.tick, backend).run(120).channels["b.i.flow"]
    runner = Runner(test.tick, backend)
    runner.run(60)
    there = runner.snapshot()
    first = runner.run(60).channels["b.i.flow"]
    runner.restore(there)
    second = runner.run(60).channels["b.i.flow"]
    assert np.array_equal(whole[60:], first)
    assert np.array_equal(first, second)
    assert list(runner.state) == ["b.capacitor.displacement"]


def test_twins_agree_to_the_last_digits():
    test = Simulation({"b": bridge()}, excitation={"V": Sine(300.0, 50.0)}, rate=20000.0)
    one, other = (Runner(test.tick, b).run(200).channels["b.i.flow"] for b in ("c", "numpy"))
    assert np.abs(one - other).max() <= 1e-12 * np.abs(one).max()


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_tick_without_a_solution_names_the_worst_unknown(backend):
    # Two diodes across 1000 V and nothing else: exp(20000) A cannot be written.
    model = Model("short")
    model.V, model.i, model.d = Se("V"), One(), [diode(), diode()]
    model.V >> model.i >> model.d
    system = model.compile(outputs=["d[0].effort"])
    test = Simulation({"s": system}, excitation={"V": Sine(1000.0, 5.0)}, rate=1000.0)
    result = Runner(test.tick, backend).run(100)
    assert result.status == "loop not converged"
    assert result.stopped_at is not None
    assert "at t = " in result.message
    assert "worst is s.d[" in result.message
    assert " off)" in result.message


def test_a_simulation_without_a_solution_says_when():
    model = Model("short")
    model.V, model.i, model.d = Se("V"), One(), [diode(), diode()]
    model.p, model.c = Zero(), C(capacitance=1e-3)
    model.V >> model.i >> model.p >> model.c
    model.i >> model.d
    with pytest.raises(SolveError, match=r"short at t = .* s: the algebraic loop through d\[.*worst is d\["):
        model.compile().simulate(0.1, {"V": lambda t: 5000.0 * (t > 0.05)})


@pytest.mark.parametrize("word", ["V", "step", "law", "part", "there", "weight", "newton", "k"])
def test_names_of_a_model_do_not_meet_those_of_the_iteration(word):
    model = Model("diode")
    model.source, model.i, model.r, model.d = Se(word), One(), R(resistance=100.0), diode()
    model.source >> model.i >> [model.r, model.d]
    test = Simulation(
        {"": model.compile(outputs=["i.flow"])}, excitation={word: Sine(5.0, 50.0)}, rate=5000.0
    )
    results = [Runner(test.tick, backend).run(60) for backend in ("c", "numpy")]
    for result in results:
        assert result.finished, result.message
        wanted = [
            brentq(lambda j, v=v: 100 * j + 0.025 * math.log1p(j / 1e-12) - v, 0, 0.05)
            for v in result.channels[word]
            if v > 0.1
        ]
        got = result.channels[".i.flow"][result.channels[word] > 0.1]
        assert got == pytest.approx(wanted, rel=1e-6)
