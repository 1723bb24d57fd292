"""Domains: what is said of one, how it follows along bonds, where two meet, and what variables measure."""

import json
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.bondgraph import (
    DOMAINS,
    ELECTRIC,
    GY,
    HYDRAULIC,
    ROTATION,
    RS,
    TF,
    TRANSLATION,
    C,
    CField,
    Df,
    Domain,
    Function,
    I,
    IField,
    Input,
    Model,
    MSe,
    Multiport,
    One,
    Port,
    R,
    Se,
    Sf,
    SignalIntegrator,
    Zero,
    bond,
)
from bondloop.bondgraph.graph import describe_model
from bondloop.bondgraph.model import rejoin
from bondloop.engine.data.restoring import restore
from bondloop.engine.passes.compose import prefixed
from bondloop.errors import InputError, ModelError
from bondloop.units import _dimension, multiplied


def units(model, *paths):
    system = model.compile()
    return {p: None if (q := system.quantity(p)) is None else q.unit for p in paths}


def one(*parts, junction=None, source=None):
    """Parts on one junction, with a source."""
    m = Model("one")
    m.source, m.v = source or Se("u"), junction or One()
    m.source >> m.v
    for i, part in enumerate(parts):
        setattr(m, f"p{i}", part)
        m.v >> part
    return m


@pytest.mark.parametrize(
    ("parts", "effort", "flow"),
    [
        ([I(mass=2.0), R(damping=1.0)], "N", "m/s"),
        ([I(inertia=2.0), R(damping=1.0)], "N m", "rad/s"),
        ([I(inductance=2.0), R(resistance=1.0)], "V", "A"),
        ([I(inertance=2.0), R(resistance=1.0)], "Pa", "m^3/s"),
        ([R(resistance="3 Ohm"), C(capacitance=1e-6)], "V", "A"),
        ([R(resistance="3 Pa s/m3"), C(capacitance=1e-6)], "Pa", "m^3/s"),
        ([R(resistance="3 K/W"), C(capacitance=1e3)], "K", "W"),
        ([C(stiffness="3 N m/rad"), R(damping=1.0)], "N m", "rad/s"),
        ([C(stiffness=3.0, initial="2 deg"), R(damping=1.0)], "N m", "rad/s"),
        ([C(stiffness=3.0), R(damping=1.0)], "N", "m/s"),  # mechanical words: along an axis if not said
        ([R(lambda f: f**3)], "N", "m/s"),  # nothing is said
        ([R(resistance=1.0), C(capacitance=1e-6)], None, None),  # of four domains: not told
        ([R(resistance=1.0, domain="electric"), C(capacitance=1e-6)], "V", "A"),
    ],
)
def test_coefficients_tell_the_domain(parts, effort, flow):
    found = units(one(*parts), "u", "v.flow", "p0.effort")
    assert found == {"u": effort, "v.flow": flow, "p0.effort": effort}


@pytest.mark.parametrize("source", [Se(effort="3 V"), Sf(flow="2 mA"), Se("u", domain="electric")])
def test_sources_tell_the_domain(source):
    assert units(one(R(lambda f: f), source=source), "v.flow") == {"v.flow": "A"}


def test_a_domain_follows_through_ports_and_junctions_and_ends_at_a_two_port():
    """A direct-current motor: voltage and current on one side, torque and speed on the other."""
    motor = Model("motor")
    motor.inside = Model()
    motor.inside.plug, motor.inside.i = Port(), One()
    motor.inside.plug >> motor.inside.i >> [R(resistance=1.0), C(lambda q: q)]
    motor.supply, motor.w, motor.gyrator = Zero(), One(), GY(ratio=0.1)
    motor.source = Se("V")
    motor.source >> motor.supply
    motor.supply >> motor.inside.plug
    motor.coil = One()
    motor.supply >> motor.coil >> [I(inductance=0.1), motor.gyrator]
    motor.gyrator >> motor.w >> [I(inertia=0.2), R(lambda f: f**3)]
    assert units(
        motor, "inside.plug.effort", "inside.i.flow", "inside.C.displacement", "w.flow", "R.effort", "V",
        "gyrator.in.effort", "gyrator.out.effort", "gyrator.ratio", "I.momentum", "I2.inertia",
    ) == {
        "inside.plug.effort": "V", "inside.i.flow": "A", "inside.C.displacement": "C", "w.flow": "rad/s",
        "R.effort": "N m", "V": "V", "gyrator.in.effort": "V", "gyrator.out.effort": "N m",
        "gyrator.ratio": "V s/rad", "I.momentum": "V s", "I2.inertia": "kg m^2",
    }  # fmt: skip


def test_two_domains_without_a_two_port_between_them_are_refused_with_reasons():
    with pytest.raises(ModelError) as caught:
        one(I(mass=2.0), R(resistance="3 ohm")).compile()
    text = str(caught.value)
    assert "p0 belongs to translation, by its mass" in text
    assert "p1 belongs to electric, by its resistance = '3 ohm'" in text
    assert "put a TF or GY between them" in text
    with pytest.raises(
        ModelError, match="p0 belongs to rotation, by its inertia; v belongs to hydraulic, as stated"
    ):
        one(I(inertia=2.0), junction=One(domain=HYDRAULIC)).compile()
    with pytest.raises(ModelError, match="p0 belongs to electric, as stated"):
        one(I(mass=2.0, domain="electric")).compile()


def test_no_pair_need_contradict_for_three_to_do_so():
    """A stiffness and a capacitance: hydraulic; but an angle is not."""
    with pytest.raises(ModelError, match="two domains meet"):
        one(C(stiffness=1.0, initial="2 deg"), C(capacitance=1.0)).compile()


def test_a_port_of_a_model_may_state_its_domain():
    m = one(R(lambda f: f))
    m.out = Port(domain="electric")
    m.v >> m.out  # left open
    assert units(m, "v.flow", "out.effort") == {"v.flow": "A", "out.effort": "V"}


def test_a_cut_keeps_the_domain_in_both_halves():
    whole = Model("circuit")
    whole.source, whole.i, whole.v = Se("V"), One(), Zero()
    whole.source >> whole.i >> [I(inductance=1.0), whole.v]
    whole.v >> R(lambda f: f + f**3)
    numerical, physical = whole.cut("i >> v")
    assert physical.compile().quantity("interface.effort").unit == "V"
    assert numerical.compile().quantity("interface.flow").unit == "A"
    assert units(rejoin(numerical, physical), "physical.R.flow") == {"physical.R.flow": "A"}


def test_thermal_ports_know_which_flow_they_carry():
    for gives, unit in (("heat", "W"), ("entropy", "W/K")):
        m = Model("brake")
        m.v, m.brake, m.disc = One(), RS(damping=2.0, gives=gives), Zero()
        m.v >> I(mass=1.0)
        m.v >> m.brake >> m.disc >> C(lambda q: 300 + q)
        assert units(m, "brake.heat.flow", "disc.effort", "v.flow") == {
            "brake.heat.flow": unit, "disc.effort": "K", "v.flow": "m/s",
        }  # fmt: skip


class Valve(Multiport):
    """A restriction with a spool."""

    ports = ("fluid", "spool")
    states = ("opening",)
    domains: ClassVar = {"fluid": "hydraulic", "spool": TRANSLATION}
    units: ClassVar = {"opening": "m", "share": ""}

    def equations(self, fluid, spool, opening, k):
        return {
            fluid.effort: k * fluid.flow, spool.effort: k * spool.displacement, opening.rate: spool.flow,
            "share": opening.value,
        }  # fmt: skip


def test_an_element_of_ones_own_states_domains_and_units():
    m = Model("valve")
    m.p, m.v, m.valve = Zero(), One(), Valve(k=2.0)
    Sf("Q") >> m.p >> m.valve.fluid
    Se("F") >> m.v >> [m.valve.spool, I(mass=1.0)]
    assert units(
        m, "valve.fluid.effort", "valve.spool.displacement", "valve.opening", "valve.share", "Q", "F"
    ) == {
        "valve.fluid.effort": "Pa", "valve.spool.displacement": "m", "valve.opening": "m",
        "valve.share": "", "Q": "m^3/s", "F": "N",
    }  # fmt: skip


def test_signals_carry_what_they_measure():
    m = Model("signals")
    m.w, m.rate, m.angle, m.twice = One(), Df(), SignalIntegrator(), SignalIntegrator()
    m.w >> I(inertia=1.0)
    m.w >> m.rate >> m.angle >> m.twice
    m.demand, m.torque = Input("demand"), MSe()
    m.demand >> m.torque >> m.w
    m.gain = Function(lambda a, k: k * a, k=3.0, unit="V")
    m.angle >> m.gain
    m.free = Function(lambda a: 2 * a)
    m.angle >> m.free
    assert units(m, "rate", "angle", "twice", "demand", "gain", "free") == {
        "rate": "rad/s", "angle": "rad", "twice": "rad s", "demand": "N m", "gain": "V", "free": None,
    }  # fmt: skip
    with pytest.raises(InputError, match=r"Input\(unit\)"):
        Input("x", unit="furlong")
    with pytest.raises(InputError, match="without a factor"):
        Input("x", unit="mm")


def test_fields_and_free_ends_measure_too():
    m = Model("fields")
    m.v = One(size=2)
    m.mass, m.spring = IField([[2.0, 0.1], [0.1, 1.0]]), CField([[2.0, -1.0], [-1.0, 1.0]])
    m.v >> [m.mass, m.spring]
    m.end = Port(size=2)
    m.v >> m.end
    assert units(m, "mass[1].momentum", "spring[0].displacement", "end[1].effort", "mass[0].flow") == {
        "mass[1].momentum": "kg m/s", "spring[0].displacement": "m", "end[1].effort": "N",
        "mass[0].flow": "m/s",
    }  # fmt: skip


def test_a_domain_of_ones_own():
    acoustic = Domain("acoustic", ("sound pressure", "Pa"), ("volume velocity", "m^3/s"))
    m = one(I(inertance=1.0), C(capacitance=1.0), junction=One(domain=acoustic))
    assert m.compile().quantity("v.flow").name == "volume velocity"
    strict = Domain("strict", ("a", "N"), ("b", "m/s"), coefficients={"damping": "N s/m"})
    assert units(one(R(damping=1.0), junction=One(domain=strict)), "v.flow") == {"v.flow": "m/s"}
    with pytest.raises(ModelError, match="belongs to strict, as stated"):
        one(I(mass=1.0), junction=One(domain=strict)).compile()
    with pytest.raises(InputError, match="did you mean 'electric'"):
        One(domain="electrc")
    with pytest.raises(InputError, match="unknown domain '3'"):
        One(domain=3)


@pytest.mark.parametrize(
    "domain",
    [
        "electric",
        ELECTRIC,
        Domain("acoustic", ("p", "Pa"), ("q", "m^3/s"), coefficients={"damping": "Pa s/m^3"}),
    ],
)
def test_a_domain_is_described_and_made_again(domain):
    m = one(R(damping=1.0) if getattr(domain, "name", "") == "acoustic" else R(resistance=1.0))
    m.v.domain = domain if isinstance(domain, Domain) else DOMAINS[domain]
    again = restore(json.loads(json.dumps(describe_model(m))))
    assert again.compile().quantity("v.flow") == m.compile().quantity("v.flow") == m.v.domain.flow
    with pytest.raises(InputError, match="words and units of a domain"):
        One(domain={"name": "half", "effort": ["p"]})


def test_units_survive_prefixes_inverses_and_derivatives():
    m = one(I(inductance=2.0), R(resistance=1.0))
    system = m.compile(outputs=["v.flow"])
    assert prefixed(system, "rig.").quantity("rig.v.flow").unit == "A"
    inverse = system.inverse("v.flow", "u")
    assert {u: inverse.quantity(u).unit for u in inverse.inputs} == {"v.flow": "A", "d/dt v.flow": "A/s"}
    sensitive = system.sensitivity(["p1.resistance"])
    assert sensitive.quantity("d(p0.momentum)/d(p1.resistance)").unit == "V s/Ohm"


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_chain_of_domains_keeps_each_to_its_side(data):
    """A chain of domains joined by transformers: every bond has the units of its own, and power is power."""
    order = data.draw(
        st.lists(st.sampled_from([TRANSLATION, ROTATION, HYDRAULIC, ELECTRIC]), min_size=1, max_size=6)
    )
    m = Model("chain")
    m.source = Se("u")
    last = m.source
    for i, domain in enumerate(order):
        junction, word = One(), {"translation": "mass", "rotation": "inertia", "hydraulic": "inertance",
                                 "electric": "inductance"}[domain.name]  # fmt: skip
        setattr(m, f"j{i}", junction)
        if i:
            two = data.draw(st.sampled_from([TF, GY]))(data.draw(st.floats(0.5, 2)))
            setattr(m, f"t{i}", two)
            bond(last, two)
            last = two
        bond(last, junction)
        bond(junction, I(**{word: 1.0}))
        last = junction
    system = m.compile()
    for i, domain in enumerate(order):
        assert system.quantity(f"j{i}.flow") == domain.flow
        if i:
            unit = system.quantity(f"t{i}.{m.find(f't{i}').word}").unit
            effort, flow = system.quantity(f"t{i}.in.effort").unit, system.quantity(f"t{i}.in.flow").unit
            assert _dimension(multiplied(effort, flow), "") == _dimension("W", "")
            over = flow if m.find(f"t{i}").word == "modulus" else system.quantity(f"t{i}.out.flow").unit
            assert unit is not None
            assert over


def test_every_ready_made_domain_is_complete():
    for domain in DOMAINS.values():
        second = np.array(_dimension("s", "s"))
        for whole, rate in ((domain.displacement, domain.flow), (domain.momentum, domain.effort)):
            assert tuple(np.array(_dimension(rate.unit, "")) + second) == _dimension(whole.unit, "")
