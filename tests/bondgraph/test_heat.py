"""A resistor with a thermal port: what it takes leaves it as heat, whichever way heat is counted."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.bondgraph import RS, C, I, Model, One, R, Se, Zero
from bondloop.engine.codegen import compiler
from bondloop.errors import InputError, ModelError
from bondloop.hybrid.simulation import Simulation

MASS, SPEED, DAMPING, HEAT, COLD = 4.0, 3.0, 2.0, 5.0, 293.0


def brake(gives, damping=DAMPING, **law):
    """A mass brought to rest by a brake, whose heat goes into a disc."""
    m = Model("brake")
    m.v, m.disc = One(), Zero()
    m.brake = RS(**law, gives=gives) if law else RS(damping=damping, gives=gives)
    m.mass = I(mass=MASS, initial=MASS * SPEED)
    if gives == "entropy":  # S = c ln(T / T0)
        m.store = C(lambda s, c, cold: cold * sp.exp(s / c), c=HEAT, cold=COLD)
    else:
        m.store = C(capacitance=HEAT, initial=HEAT * COLD)
    m.v >> [m.mass]
    m.v >> m.brake >> m.disc >> m.store
    return m


@pytest.mark.parametrize("gives", ["entropy", "heat"])
def test_a_brake_heats_its_disc_by_the_energy_it_takes(gives):
    run = brake(gives).compile().simulate(10, rtol=1e-12, atol=1e-13)
    temperature = run["disc.effort"]
    energy = MASS * run["v.flow"] ** 2 / 2 + HEAT * temperature
    assert np.ptp(energy) < 1e-10 * (MASS * SPEED**2 / 2)
    expected = COLD + MASS * SPEED**2 / 2 * (1 - np.exp(-2 * DAMPING / MASS * run.time)) / HEAT
    assert temperature == pytest.approx(expected, rel=1e-11)


@given(
    damping=st.floats(0.1, 50),
    power=st.sampled_from([1, 3]),
    cold=st.floats(1.0, 1000.0),
    gives=st.sampled_from(["entropy", "heat"]),
)
@settings(max_examples=30, deadline=None)
def test_power_in_is_heat_out(damping, power, cold, gives):
    model = brake(gives, law=lambda v, c: c * v**power, c=damping)
    system = model.compile()
    outputs = [system.expression(f"{p}.{w}") for p in ("brake", "brake.heat") for w in ("effort", "flow")]
    x = {
        "mass.momentum": MASS * SPEED,
        "store.displacement": HEAT * cold if gives == "heat" else np.log(cold),
    }
    e, f, t, q = system.function(outputs)(
        [x[s] for s in system.states], [], [], list(system.values().values())
    )
    assert e * f == pytest.approx(damping * SPEED ** (power + 1), rel=1e-12)
    assert (q if gives == "heat" else t * q) == pytest.approx(e * f, rel=1e-12)


def test_entropy_is_made_between_two_discs():
    # The brake's heat flows on through a resistor that makes more entropy of it, and no energy is lost.
    m = brake("entropy")
    m.other = Zero()
    m.cool = C(lambda s, c, cold: cold * sp.exp(s / c), c=2.0, cold=COLD)
    m.gap, m.film = One(), RS(conductance=0.01, gives="entropy")
    m.disc >> m.gap >> m.other >> m.cool
    m.gap >> m.film >> m.other
    run = m.compile().simulate(60, rtol=1e-11, atol=1e-13)
    energy = MASS * run["v.flow"] ** 2 / 2 + HEAT * run["disc.effort"] + 2.0 * run["other.effort"]
    assert np.ptp(energy) < 1e-8 * (MASS * SPEED**2 / 2)
    entropy = run["store.displacement"] + run["cool.displacement"]
    assert np.diff(entropy).min() > -1e-12
    # In the end both have one temperature: 18 J in 7 J/K.
    assert run["disc.effort"][-1] == pytest.approx(COLD + MASS * SPEED**2 / 2 / (HEAT + 2.0), abs=0.05)


@pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")
def test_twins():
    system = brake("entropy").compile(outputs=["v.flow", "disc.effort", "brake.heat.flow"])
    simulation = Simulation({"s": system}, excitation={}, rate=500.0)
    python, c = (simulation.run(0.5, backend=backend) for backend in ("numpy", "c"))
    for name in system.outputs:
        assert c[f"s.{name}"] == pytest.approx(python[f"s.{name}"], rel=1e-12)


def test_either_causality_of_the_resistor():
    # A voltage across it: it gives the current, u / r, and u²/r of heat.
    m = Model("heater")
    m.u, m.p, m.wire, m.room = Se("u"), Zero(), RS(resistance=8.0, gives="heat"), Zero()
    m.u >> m.p >> m.wire >> m.room >> [C(capacitance=3.0), R(conductance=0.5)]
    run = m.compile(outputs=["wire.heat.flow"]).simulate(60, {"u": 4.0})
    assert run["wire.heat.flow"] == pytest.approx(2.0)
    assert run["room.effort"][-1] == pytest.approx(2.0 / 0.5, rel=1e-3)


def test_bad_input_is_refused():
    with pytest.raises(InputError, match=r"RS\(gives\): expected 'entropy' .* or 'heat' .*; found None"):
        RS(damping=1.0)
    with pytest.raises(InputError, match=r"RS\(gives\): expected 'entropy' .* or 'heat' .*; found 'warmth'"):
        RS(damping=1.0, gives="warmth")
    with pytest.raises(InputError, match=r"RS\(damping=-1\): a damping must be positive"):
        RS(damping=-1.0, gives="heat")
    with pytest.raises(InputError, match="unknown parameter 'initial' of RS"):
        RS(damping=1.0, gives="heat", initial=2.0)
    m = Model("open")
    m.v, m.brake = One(), RS(damping=1.0, gives="heat")
    m.v >> [I(mass=1.0), m.brake]
    with pytest.raises(
        ModelError, match=r"brake.heat \(RS\) is not bonded to anything; it needs exactly one bond"
    ):
        m.compile()
