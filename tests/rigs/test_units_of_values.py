"""Sensors and imperfections are held against the units of what they stand on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.bondgraph import C, I, Model, One, Port, R, Se, Zero
from bondloop.control import Direct
from bondloop.errors import InputError
from bondloop.hybrid import HybridTest
from bondloop.rigs import (
    LVDT,
    Backlash,
    Bias,
    Chain,
    Emulated,
    GainError,
    Jump,
    LoadCell,
    LowPass,
    Nonlinearity,
    NotANumber,
    PureDelay,
    Quantisation,
    RateLimit,
    Saturation,
    Sensor,
    WhiteNoise,
)
from bondloop.transfer import MassSpringDamper

IMPERFECTIONS = {
    "noise": lambda u: WhiteNoise(f"1 {u}"),
    "bias": lambda u: Bias(f"1 {u}"),
    "high": lambda u: Saturation(f"5 {u}"),
    "low": lambda u: Saturation(5, low=f"-5 {u}"),
    "rate": lambda u: RateLimit(f"5 {u}/s"),
    "begun": lambda u: RateLimit(5, initial=f"5 {u}"),
    "range": lambda u: Quantisation(12, f"5 {u}"),
    "bow": lambda u: Nonlinearity("1 %", f"5 {u}"),
    "play": lambda u: Backlash(f"5 {u}"),
    "rest": lambda u: Backlash(1, initial=f"5 {u}"),
    "late": lambda u: PureDelay("2 ms", initial=f"5 {u}"),
    "slow": lambda u: LowPass("10 Hz", initial=f"5 {u}"),
    "jump": lambda u: Jump("1 s", f"5 {u}"),
    "chain": lambda u: Chain((GainError("1 %"), Bias(f"5 {u}"))),
    "sensor": lambda u: Sensor([Bias(f"5 {u}")]),
    "stated": lambda u: Sensor([Bias(5)], unit=u),
}
RIGHT = {
    "slides": {"force": "kN", "displacement": "mm", "velocity": "mm/s", "drive": "mm"},
    "turns": {"force": "kN mm", "displacement": "deg", "velocity": "rpm", "drive": "N m"},
}
WRONG = ("kg", "s", "V", "K", "Pa", "mm^2", "N s")
"""Of neither domain, in none of the four places; those of the other domain come on top."""


def halves(**inertia):
    m = Model("swing")
    m.F, m.v, m.z = Se("F"), One(), Zero()
    m.F >> m.v >> [I(**inertia), m.z]
    m.z >> C(lambda q: 1e3 * q)
    return m.cut("v >> z")


def motor():
    m = Model("motor")
    m.v, m.out, m.command = One(), Port(), Se("command")
    m.command >> m.v >> [I(inertia=1.0), R(damping=20.0), m.out]
    return m


HALVES = {"slides": halves(mass="2 kg"), "turns": halves(inertia="2 kg m^2")}
ACTUATORS = {"slides": MassSpringDamper(1.0, 10.0, 100.0, drive="position"), "turns": motor()}


def rig(domain, place, part):
    sensor = part if isinstance(part, Sensor) else Sensor([part])
    parts = {"drive": [part]} if place == "drive" else {"sensors": {place: sensor}}
    return Emulated(HALVES[domain][1], ACTUATORS[domain], **parts)


@given(
    st.sampled_from(sorted(RIGHT)),
    st.sampled_from(sorted(RIGHT["turns"])),
    st.sampled_from(sorted(IMPERFECTIONS)),
    st.sampled_from([*WRONG, ""]),
)
def test_an_imperfection_is_in_the_unit_of_its_values(domain, place, name, wrong):
    assert rig(domain, place, IMPERFECTIONS[name](RIGHT[domain][place])).system()
    other = RIGHT["turns" if domain == "slides" else "slides"][place]
    with pytest.raises(InputError, match=f"rig.*{place}: .* has values in .*; expected one in "):
        rig(domain, place, IMPERFECTIONS[name](wrong or other)).system()


def test_plain_numbers_are_in_the_unit_of_what_they_stand_on():
    for place in RIGHT["turns"]:
        assert rig("turns", place, Bias(3.0)).system()


@pytest.mark.parametrize(("place", "sensor"), [("displacement", LoadCell()), ("force", LVDT("50 mm"))])
def test_a_test_refuses_a_sensor_of_something_else_as_it_is_made(place, sensor):
    parts = {"controller": Direct(), "excitation": {}, "rate": 1000}
    with pytest.raises(InputError, match=f"rig.sensors.{place}"):
        HybridTest(HALVES["slides"][0], rig=rig("slides", place, sensor), **parts)
    with pytest.raises(InputError, match=r"rig\.drive: RateLimit has values in kg s; expected one in m"):
        HybridTest(HALVES["slides"][0], rig=rig("slides", "drive", RateLimit("5 kg")), **parts)


def test_a_load_cell_measures_no_torque():
    with pytest.raises(InputError, match=r"rig\.sensors\.force: Sensor has values in N; expected one in N m"):
        rig("turns", "force", LoadCell("100 N")).system()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Saturation("5 N", low="-1 mm"), r"Saturation\(low\): expected a quantity like one in N"),
        (lambda: RateLimit("5 N", initial="1 N"), r"RateLimit\(initial\): .* like one in N s"),
        (lambda: Backlash("5 mm", initial="1 N"), r"Backlash\(initial\)"),
        (
            lambda: Sensor([WhiteNoise("1 N"), Bias("1 mm")]),
            r"Sensor\(imperfections\[1\]\): .*found one in mm",
        ),
        (lambda: Sensor([WhiteNoise("1 N")], unit="m"), r"Sensor\(imperfections\[0\]\)"),
        (lambda: Chain((WhiteNoise("1 N"), Bias("1 mm"))), r"Chain\(parts\[1\]\)"),
        (lambda: Sensor(unit="newton"), r"Sensor\(unit\): unknown unit"),
        (lambda: LoadCell(linearity="0.5 kg"), "linearity: expected a number without a unit"),
        (lambda: GainError("0.5 kg"), r"GainError\(error\): expected a number without a unit"),
        (lambda: Nonlinearity("1 mm", "5 N"), r"Nonlinearity\(error\)"),
        (lambda: NotANumber("1 s", until="2 mm"), r"NotANumber\(until\): expected a quantity in s"),
    ],
)
def test_parts_that_contradict_themselves(make, message):
    with pytest.raises(InputError, match=message):
        make()
