"""Quantities as text, against the definitions of the units (BIPM, NIST SP 811)."""

import math

import pytest

from bondloop.errors import InputError
from bondloop.units import is_of_kind, quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("150 mm", 0.15),
        ("150mm", 0.15),
        ("-3", -3.0),
        ("1e3 N", 1000.0),
        (".5 kN", 500.0),
        ("4.75 kN/m", 4750.0),
        ("6 N s/m", 6.0),
        ("6 N*s/m", 6.0),
        ("2 kg m2", 2.0),
        ("2 m^2", 2.0),
        ("2 m**2", 2.0),
        ("3 cm2", 3e-4),
        ("5 s^-1", 5.0),
        ("5 ms^-1", 5000.0),
        ("21 MPa", 21e6),
        ("210 bar", 21e6),
        ("90 deg", math.pi / 2),
        ("60 rpm", 2 * math.pi),
        ("1 in", 0.0254),
        ("1 psi", 6894.757293168),
        ("1 lbf", 4.4482216152605),
        ("2 L/min", 2e-3 / 60),
        ("1 gn", 9.80665),
        ("2.2 kg", 2.2),
        ("3 µm", 3e-6),
        ("5 %", 0.05),
        ("1 J/kg/K", 1e0),
        ("1 t", 1000.0),
        ("3 N/(mm/s)", 3000.0),
        ("1 N/(m s)", 1.0),
        ("2 kN/(mm s2/(kg))", 2e6),
        ("2 (km/h)^2", 2 / 3.6**2),
        ("5 (ms)-1", 5000.0),
        ("6 (N*s)/(mm)", 6000.0),
    ],
)
def test_values(text, value):
    assert quantity(text) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mm",
        "nan",
        "inf N",
        "1 parsec",
        "1 N/(m s",
        "1 N/m)",
        "1 N/()m",
        "5 ()",
        "1 N//m",
        "1 N/",
        "1 (m/s)/K s",
        "1,5 mm",
    ],
)
def test_unreadable(text):
    with pytest.raises(InputError):
        quantity(text)


def test_what_a_slash_divides_must_be_plain():
    with pytest.raises(InputError, match=r"'1 J/kg K' can be read in two ways; write '/K' to divide by it"):
        quantity("1 J/kg K")


def test_a_misspelt_unit_is_suggested():
    with pytest.raises(InputError, match=r"unknown unit 'ohms'; did you mean .*ohm"):
        quantity("3 ohms")


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("150 mm", "m", 0.15), ("2", "N", 2.0), ("3 kg m/s2", "N", 3.0), ("1 J/m", "N", 1.0),
        ("2 V A", "W", 2.0), ("4 N/A/m", "T", 4.0), ("1 C/V", "F", 1.0), ("5 Ohm s", "H", 5.0),
    ],
)  # fmt: skip
def test_a_quantity_of_the_right_kind(text, unit, value):
    # Identities of the SI: J = N m, W = V A, T = N/(A m), F = C/V, H = Ohm s.
    assert quantity(text, unit) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "unit"), [("100 N", "m"), ("3 mm", "N"), ("1 m/s2", "m/s"), ("1 rpm", "m/s"), ("2 kg", "s")]
)
def test_a_quantity_of_the_wrong_kind_is_refused(text, unit):
    with pytest.raises(InputError, match=rf"expected a quantity in {unit}.*found '{text}'"):
        quantity(text, unit)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 g^-200", "'g' to the -200"),
        ("1 m^999999999", "'m' to the 999999999"),
        ("1 (m^10)^10", "'m' to the 100"),
        ("1 " + "(" * 3000 + "m" + ")" * 3000, "a unit of 6,001 characters"),
        ("1 " + "m*" * 20_000 + "m", "a unit of 40,001 characters"),
        ("1e999 mm", "too large"),
    ],
)
def test_units_of_no_quantity_are_refused_at_once(text, words):
    with pytest.raises(InputError, match=words) as caught:
        quantity(text)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("text", "value"), [("5 \u03bcm", 5e-6), ("5 \u00b5m", 5e-6), ("2 k\u2126", 2e3)])
def test_letters_that_look_alike_are_the_same_unit(text, value):
    """Keyboards and other programs write the Greek mu and the sign of the ohm."""
    assert quantity(text) == pytest.approx(value, rel=1e-15)
    assert is_of_kind(text, "m" if "m" in text else "Ohm")
