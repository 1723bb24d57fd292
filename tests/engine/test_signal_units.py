"""A signal keeps its unit through all that is made of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.signals import Chirp, Constant, Noise, Ramp, Sine, SumOfSines, Sweep, Table
from bondloop.signals.base import Scaled
from bondloop.units import is_of_kind

LENGTHS = [
    Sine("1 mm", 4.0),
    Sine(1.0, 4.0, offset="1 mm"),
    SumOfSines(["1 mm", "2 cm"], [1, 2]),
    SumOfSines([1, "2 mm"], [1, 2]),
    Constant("3 mm"),
    Ramp("3 mm"),
    Ramp.at_rate("3 mm/s"),
    Ramp.at_rate("3 m", "1 s", "2 s").derivative(),
    Sweep("1 mm", 1, 3, 10),
    Chirp("1 mm", 1, 3, 10),
    Noise("1 mm", 1, 10, 3),
    Table([0, 1, 2], [0, 1, 0], "cubic", unit="m"),
]
CHANGES = {
    "negative": (lambda s: -s, 0),
    "later": (lambda s: s.shifted("1 s"), 0),
    "rate": (lambda s: s.derivative() if s.smoothness >= 1 else None, -1),
    "sum": (lambda s: s + s, 0),
    "difference": (lambda s: s - s.shifted(0.1), 0),
    "with a number": (lambda s: 1.0 - s, 0),
    "share": (lambda s: Scaled(s, "20 %"), 0),
    "times": (lambda s: Scaled(s, "2 ms"), 1),
    "over": (lambda s: Scaled(s, "2 1/s"), -1),
}


@given(st.sampled_from(LENGTHS), st.lists(st.sampled_from(sorted(CHANGES)), max_size=4))
def test_what_is_made_of_a_length_is_one_over_seconds(signal, changes):
    seconds = 0
    for name in changes:
        make, power = CHANGES[name]
        changed = make(signal)
        if changed is not None:
            signal, seconds = changed, seconds + power
    assert is_of_kind(f"1 {signal.unit}", f"m s^{seconds}" if seconds else "m")
    with pytest.raises(InputError, match="a sum of signals in"):
        _ = (signal + Scaled(signal, "1 s")).unit


def test_a_unit_changes_no_value():
    for plain, stated in (
        (Sine(0.001, 4.0), Sine("1 mm", 4.0)),
        (SumOfSines([0.001, 0.3], [4, 5]), SumOfSines(["1 mm", "0.3 m"], [4, 5])),
        (Ramp(0.007, 1, 4), Ramp("7 mm", 1, 4)),
        (Ramp.at_rate(0.007, 1, 4), Ramp.at_rate("7 mm/s", 1, 4)),
    ):
        assert plain == stated
        assert (-plain.derivative()).describe() == (-stated.derivative()).describe()


def test_a_multiple_by_a_plain_number_may_measure_anything():
    """The number may be a mass: minus mass times acceleration is a force."""
    assert (-1.0 * Sine("1 m/s^2", 4.0)).unit == ""


def test_sines_of_two_units():
    with pytest.raises(InputError, match=r"SumOfSines\(amplitudes\[1\]\): .* one in mm, .*found one in N"):
        _ = SumOfSines(["1 mm", "2 N"], [1, 2]).unit


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SumOfSines([1], ["2 mm"]), r"SumOfSines\(frequencies\[0\]\): expected a quantity in Hz"),
        (lambda: SumOfSines([1], [2], ["3 s"]), r"SumOfSines\(phases\[0\]\): expected a quantity in rad"),
        (lambda: Ramp.at_rate("3 mm/s", "1 mm"), r"Ramp\(start\): expected a quantity in s"),
        (lambda: Table.from_file("none.csv", step="3 mm"), r"step\): expected a quantity in s"),
    ],
)
def test_times_frequencies_and_phases(make, message):
    with pytest.raises(InputError, match=message):
        make()
