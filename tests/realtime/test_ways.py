"""How long a way may take: drawn over all orders of magnitude, for Python's options and for the C program."""

import subprocess

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from two_halves import LoopOptions, until

from bondloop.errors import InputError
from bondloop.realtime import LoopProcess
from bondloop.safety import Interlock

LONGEST = 3600.0
LOAD = np.sin(0.02 * np.arange(1001))[:, None]
NUMBERS = st.builds(
    lambda mantissa, exponent: f"{mantissa}e{exponent}",
    st.integers(-999, 999),
    st.integers(-330, 330),
)
BAD = ("1e300", "1e16", "inf", "nan", "-1", "3600.001", "1e400", "9223372036854775", "-0.0")


def drawn(test):
    for text in BAD:
        test = example(text)(test)
    return settings(deadline=None, max_examples=60)(given(NUMBERS)(test))


@drawn
def test_a_way_is_refused_or_told_as_it_is(text):
    value = float(text)
    for name, least_is_good in (("retreat", False), ("approach", True)):
        good = value <= LONGEST and (value >= 0 if least_is_good else value > 0)
        if good:
            words = LoopOptions(**{name: value}).arguments()
            assert float(words[words.index(f"--{name}") + 1]) == value
        else:
            with pytest.raises(InputError, match=name):
                LoopOptions(**{name: value})


@drawn
def test_an_interlock_leads_nowhere_for_longer_than_an_hour(text):
    value = float(text)
    if 0.05 <= value <= LONGEST:  # the release of 50 ms is not longer
        assert Interlock(retreat=value).retreat == value
    else:
        with pytest.raises(InputError, match=r"Interlock\((retreat|release)\)"):
            Interlock(retreat=value)


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("option", "good"),
    [
        ("retreat", lambda x: 0 < x <= LONGEST),
        ("approach", lambda x: 0 <= x <= LONGEST),
        ("stale", lambda x: 1 <= x <= 2e9),
    ],
)
def test_the_program_refuses_what_it_cannot_count(programs, option, good):
    """Without Python's options, too: as the exported program is started. What it bears comes to the table."""

    @settings(deadline=None, max_examples=25)
    @given(NUMBERS)
    def refused(text):
        done = subprocess.run(
            [programs.loop, "--link", "nowhere://", f"--{option}", text],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert ("needs a table" if good(float(text)) else f"--{option} must be") in done.stderr, text

    for text in BAD:
        refused = example(text)(refused)
    refused()


@settings(deadline=None, max_examples=8)
@given(st.floats(0, 3.8))
@example(0.0)
def test_no_step_of_a_retreat_is_longer_than_a_raised_cosines(programs, exponent):
    """|last - safe| sin(π/2n) for n ticks; n from 1 to 6,000."""
    n = round(10**exponent)
    options = LoopOptions(link="loopback://", lock_step=True, steps=20, retreat=n * 1e-3, slots=8192)
    with LoopProcess(programs.loop, options, LOAD) as loop:
        assert loop.wait(60) == 0
        rows = loop.ring.read()
        command = rows["channels"][:, loop.ring.names.index("command")]
    last = int(np.flatnonzero(rows["step"] >= 0)[-1])
    way = command[last:]
    assert way[-1] == 0.0
    assert np.abs(np.diff(way)).max() <= abs(way[0]) * np.sin(np.pi / (2 * n)) * (1 + 1e-12)
    assert n <= len(way) - 1 <= n + 2


def test_the_longest_retreat_of_all_does_not_jump(programs):
    """An hour is allowed, and 1,000 ticks of it lead hardly anywhere; 10³⁰⁰ s led there in one."""
    options = LoopOptions(link="loopback://", lock_step=True, steps=20, retreat=LONGEST, slots=8192)
    with LoopProcess(programs.loop, options, LOAD) as loop:
        until(lambda: loop.ring.written > 1000)
        loop.process.kill()
        loop.wait(20)
        rows = loop.ring.read()
        command = rows["channels"][:, loop.ring.names.index("command")]
    way = command[rows["step"] < 0]
    n = LONGEST / 1e-3
    assert len(way) > 900 or rows["cycle"][0] > 0
    assert np.abs(np.diff(way)).max() <= 0.1 * np.sin(np.pi / (2 * n))
