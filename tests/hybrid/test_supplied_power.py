"""The power that sources supply: each source in its own domain."""

import numpy as np
import pytest

import bondloop as bl
from bondloop.bondgraph import RS, C, Domain, I, Model, One, R, Se, Sf, Zero
from bondloop.control import Direct
from bondloop.rigs import Emulated
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper


def rehearsed(*, beside, excitation, record=()):
    """Rehearse a pushed mass whose spring is on the rig, with something beside it in the numerical half."""
    m = Model("pushed")
    m.push, m.v, m.w, m.spring = Se("push"), One(), One(), C(stiffness=50.0)
    m.push >> m.v >> [I(mass=3.0), C(stiffness=200.0), R(damping=2.0), m.w]
    m.w >> m.spring
    beside(m)
    numerical, physical = m.cut("v >> w")
    actuator = MassSpringDamper(m=1.0, c=20.0, k=400.0, drive="position")
    test = bl.HybridTest(
        numerical,
        rig=Emulated(physical, actuator),
        controller=Direct(),
        excitation={"push": Sine(4.0, 2.0), **excitation},
        rate=1000,
        record=["numerical.v.flow", *record],
    )
    return test.run(0.2, backend="numpy").record


def warmed(domain):
    def beside(m):
        m.q, m.T = Sf("q", domain=domain), Zero(domain=domain)
        m.q >> m.T >> [C(capacitance=10.0, initial=3000.0), R(resistance=2.0)]
        m.rs = RS(damping=1.0, gives="heat" if domain == "heat" else "entropy")
        m.v >> m.rs >> m.T

    return beside


@pytest.mark.parametrize("domain", ["heat", "thermal"])
def test_a_flow_of_heat_is_the_power_and_one_of_entropy_is_not(domain):
    """2 W of heat beside F v; or T dS/dt, with 2 W/K of entropy."""
    record = rehearsed(beside=warmed(domain), excitation={"q": 2.0}, record=["numerical.T.effort"])
    mechanical = record["push"] * record["numerical.v.flow"]
    thermal = 2.0 if domain == "heat" else 2.0 * record["numerical.T.effort"]
    np.testing.assert_allclose(record["excitation.power"], mechanical + thermal, rtol=1e-12)
    assert record.units["excitation.power"] == "W"
    assert np.ptp(mechanical) > 1e-3


def test_a_bath_of_a_given_temperature_supplies_the_heat_that_flows():
    def beside(m):
        m.bath, m.one = Se("bath", domain="heat"), One(domain="heat")
        m.bath >> m.one >> [R(resistance=2.0), C(capacitance=10.0, initial=3000.0)]

    record = rehearsed(beside=beside, excitation={"bath": 310.0}, record=["numerical.one.flow"])
    expected = record["push"] * record["numerical.v.flow"] + record["numerical.one.flow"]
    np.testing.assert_allclose(record["excitation.power"], expected, rtol=1e-12)


def test_where_effort_times_flow_is_no_power_none_is_recorded():
    level = Domain("reservoir", ("level", "m"), ("inflow", "m^3/s"))

    def beside(m):
        m.rain, m.lake = Sf("rain", domain=level), Zero(domain=level)
        m.rain >> m.lake >> [C(capacitance=10.0), R(resistance=2.0)]

    assert "excitation.power" not in rehearsed(beside=beside, excitation={"rain": 1.0})
    assert "excitation.power" in rehearsed(beside=lambda _: None, excitation={})
