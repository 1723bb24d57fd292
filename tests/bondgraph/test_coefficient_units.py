"""Coefficients, sources and initial values in units of another kind are refused."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.bondgraph import (
    DOMAINS,
    GY,
    MC,
    TF,
    C,
    CField,
    Df,
    Function,
    I,
    Model,
    One,
    R,
    Se,
    Sf,
    SignalIntegrator,
)
from bondloop.engine.data import Range
from bondloop.errors import InputError
from bondloop.units import _dimension, is_of_kind


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: I(mass="5 mm"), r"I\(mass\): expected a quantity in kg, or another unit .*found '5 mm'"),
        (lambda: C(stiffness="3 kg"), r"C\(stiffness\): expected a quantity in N/m or N m/rad .*'3 kg'"),
        (lambda: R(damping=["3 N s/m", "2 Ohm"]), r"R\(damping\): .*found '2 Ohm'"),
        (
            lambda: C(stiffness="3 kN/m", initial="3 deg"),
            r"C\(initial\): expected a quantity in m, .*'3 deg'",
        ),
        (lambda: C(capacitance="3 uF", initial="3 mm"), r"C\(initial\): expected a quantity in C, "),
        (lambda: I(mass=3.0, initial="3 m/s"), r"I\(initial\): expected a quantity in kg m/s"),
        (lambda: C(law=lambda q: q**3, initial="3 kg"), r"C\(initial\): .*found '3 kg'"),
        (lambda: Se(effort="3 kg"), r"Se\(effort\): .*found '3 kg'"),
        (lambda: Sf(flow="3 N"), r"Sf\(flow\): .*found '3 N'"),
        (lambda: CField([[1.0]], initial=["3 K"]), r"CField\(initial\): .*found '3 K'"),
    ],
)
def test_wrong_kinds_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_right_kinds_are_taken():
    assert I(mass="2 t", initial="3 N s").start == 3.0
    assert C(stiffness="3 kN m/rad", initial="180 deg").start == pytest.approx(3.141592653589793)
    assert C(law=lambda q, k: k * q**3, k="3 N/m^3", initial="3 mm").start == 0.003
    assert C(stiffness="3", initial="3").coefficient[1] == 3.0  # no unit: SI


_LAWS = {
    # Powers of effort, flow and second in each: momentum = effort * s, mass = momentum / flow, and so on.
    "effort": (1, 0, 0), "flow": (0, 1, 0), "momentum": (1, 0, 1), "displacement": (0, 1, 1),
    **dict.fromkeys(("mass", "inertia", "inductance", "inertance"), (1, -1, 1)),
    "stiffness": (1, -1, -1), **dict.fromkeys(("compliance", "capacitance"), (-1, 1, 1)),
    **dict.fromkeys(("damping", "resistance"), (1, -1, 0)), "conductance": (-1, 1, 0),
}  # fmt: skip


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=str)
@pytest.mark.parametrize("word", sorted(_LAWS))
def test_units_follow_from_those_of_effort_and_flow(word, domain):
    if domain.unit(word) is None:
        return
    second = np.array(_dimension("s", "s"))
    effort, flow = (np.array(_dimension(q.unit, q.unit)) for q in (domain.effort, domain.flow))
    a, b, c = _LAWS[word]
    assert tuple(a * effort + b * flow + c * second) == _dimension(domain.unit(word), domain.unit(word))
    if domain.name != "heat":  # temperature times heat flow is no power: a pseudo bond graph
        assert tuple(effort + flow) == _dimension("W", "W")
        assert domain.power.unit == "W"


INERTIAS = {"mass": "kg", "inertia": "kg m^2", "inductance": "H", "inertance": "kg/m^4"}


def joined(two_port, after, **before):
    m = Model("joined")
    m.u, m.v, m.w, m.t = Se("u"), One(), One(), two_port
    m.u >> m.v >> [I(**before), m.t]
    m.t >> m.w >> [I(**{after: f"1 {INERTIAS[after]}"}), C(lambda q: q)]
    return m.compile()


@given(
    st.sampled_from([(TF, "modulus"), (TF, "effort_ratio"), (GY, "ratio"), (GY, "admittance")]),
    st.sampled_from(sorted(INERTIAS)),
    st.sampled_from(sorted(INERTIAS)),
    st.sampled_from(["kg", "m", "s^3", "K", "Ohm", "N/A", "A s/m", "rad/m", "Pa"]),
)
def test_a_two_port_is_in_the_unit_that_its_two_sides_tell(kind, before, after, wrong):
    element, word = kind
    unit = joined(element(**{word: 2.0}), after, **{before: 1.0}).quantity(f"t.{word}").unit or "1"
    assert joined(element(**{word: f"2 {unit}"}), after, **{before: 1.0}).values()
    if not is_of_kind(f"1 {wrong}", unit):
        with pytest.raises(InputError, match=rf"t\.{word}: expected a .*found '2 {re.escape(wrong)}'"):
            joined(element(**{word: f"2 {wrong}"}), after, **{before: 1.0})
    assert joined(element(**{word: f"2 {wrong}"}), after, law=lambda p: p)  # one side tells nothing


@pytest.mark.parametrize(("initial", "good"), [("5 mm", True), ("5 N", False), ("5 deg", False)])
def test_an_integrator_begins_in_the_unit_of_its_integral(initial, good):
    m = Model("x")
    m.v, m.rate, m.way = One(), Df(), SignalIntegrator(initial=initial)
    m.v >> I(mass="1 kg")
    m.v >> m.rate >> m.way
    if good:
        assert m.compile().initial()[1] == 0.005
        return
    with pytest.raises(InputError, match=r"way\(initial\): expected a quantity in m"):
        m.compile()


@pytest.mark.parametrize("element", [C, Function, MC, R])
def test_a_parameter_of_a_law_is_in_the_unit_of_its_range(element):
    within = {"gain": Range(above=0, units=("N/m",))}

    def law(q, gain):
        return gain * q

    element(law, gain="2 MN/m", ranges=within)
    with pytest.raises(InputError, match=r"\(gain\): expected a quantity in N/m, .*found '2 MN'"):
        element(law, gain="2 MN", ranges=within)
