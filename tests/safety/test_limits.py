"""Limits: given in SI or as text, positive, described."""

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.safety import Limits


def test_units_are_accepted_as_text():
    limits = Limits(displacement="25 mm", force="0.5 kN", velocity=0.2)
    assert (limits.displacement, limits.force, limits.velocity) == pytest.approx((0.025, 500.0, 0.2))
    assert limits.describe() == {
        "displacement": 0.025, "velocity": 0.2, "force": 500.0, "command": None, "tracking_error": None,
        "command_rate": None, "warning": None,
    }  # fmt: skip


@pytest.mark.parametrize("value", [0, -1, float("nan"), "0 mm"])
def test_a_limit_must_be_positive(value):
    with pytest.raises(InputError, match=r"limits\.displacement must be positive"):
        Limits(displacement=value)


@pytest.mark.parametrize("value", ["1e999 mm", float("inf"), "1e308 km", 10**400])
def test_a_limit_is_finite(value):
    with pytest.raises(InputError, match=r"limits\.force"):
        Limits(force=value)
    with pytest.raises(InputError, match=r"limits\.displacement.*(finite|number)"):
        Limits(displacement=value)


@pytest.mark.parametrize("share", [1, "100 %", 1.5, -0.1, float("nan")])
def test_a_warning_comes_before_the_limit(share):
    with pytest.raises(InputError, match=r"limits\.warning"):
        Limits(force=1.0, warning=share)


@pytest.mark.parametrize("value", [True, False, b"1", bytearray(b"1"), np.True_, [1.0], 1 + 0j])
def test_a_limit_is_a_number(value):
    with pytest.raises(InputError, match=r"limits\.displacement: expected a number or a text with unit"):
        Limits(displacement=value)


def test_a_text_that_is_no_quantity_is_refused():
    with pytest.raises(InputError, match="furlong"):
        Limits(displacement="3 furlong")


@pytest.mark.parametrize(
    ("name", "text"),
    [("displacement", "100 N"), ("velocity", "3 mm"), ("force", "3 mm"), ("tracking_error", "1 m/s")],
)
def test_a_limit_knows_what_it_measures(name, text):
    with pytest.raises(InputError, match=rf"limits\.{name}: expected a quantity in .*found '{text}'"):
        Limits(**{name: text})
