"""Zeros in a channels file: set with time and operator, taken back, everything else left as it was."""

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.files import read_channels
from bondloop.files.channels_file import set_zero, undo_zero, zero_in_unit

TEXT = """# The lab
[[channel]]  # first
name = "force"   # the load cell
direction = "input"
unit = "kN"
channel = 0
gain = "2 kN/V"
  zero = "12 N"   # from 2024

[[channel]]
name = 'place'
direction = "input"
unit = "mm"
channel = 1
gain = 5
"""
NOON = dt.datetime(2026, 11, 16, 12, 0, tzinfo=dt.UTC)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "lab.toml"
    path.write_text(TEXT)
    return path


def test_a_zero_is_set_and_noted_and_nothing_else_changes(file):
    note = set_zero(file, "force", 0.0305, "Ada", now=NOON)
    assert (note.before, note.after) == (0.012, 0.0305)
    text = file.read_text()
    assert text.startswith(TEXT.replace('zero = "12 N"', "zero = 0.0305").rstrip())
    assert text[len(TEXT) - 4 :].split("[[zeroing]]")[1].split("\n")[1:6] == [
        'channel = "force"',
        "before = 0.012",
        "after = 0.0305",
        'time = "2026-11-16T12:00:00+00:00"',
        'operator = "Ada"',
    ]
    lab = read_channels(file)
    assert lab["force"].zero == pytest.approx(30.5)
    assert lab.zeroings == (note,)


def test_the_ends_of_lines_stay_as_they_are(file):
    file.write_bytes(TEXT.replace("\n", "\r\n").encode())
    set_zero(file, "place", 0.25, "Ada", now=NOON)
    written = file.read_bytes()
    assert written.count(b"\n") == written.count(b"\r\n")
    assert b"zero = 0.25\r\n" in written


def test_undo_goes_back_one_at_a_time_and_is_noted_too(file):
    for value in (0.5, 0.7):
        set_zero(file, "place", value, "Ada")
    set_zero(file, "force", 0.1, "Bob")
    undone = [undo_zero(file, "place", "Cyd").after for _ in range(2)]
    assert undone == [0.5, 0.0]
    lab = read_channels(file)
    assert (zero_in_unit(lab, "place"), zero_in_unit(lab, "force")) == (0.0, pytest.approx(0.1))
    assert [z.undo for z in lab.zeroings] == [False, False, False, True, True]
    with pytest.raises(InputError, match="no zero of 'place' is noted"):
        undo_zero(file, "place", "Cyd")
    set_zero(file, "place", 0.9, "Ada")
    assert undo_zero(file, "place", "Cyd").after == 0.0


@given(value=st.floats(-1e6, 1e6), who=st.text(min_size=1, max_size=30).filter(str.strip), crlf=st.booleans())
@settings(max_examples=30, deadline=None)
def test_any_value_by_anybody_is_read_back(tmp_path_factory, value, who, crlf):
    if any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) < 0xE000 for c in who):
        who = "Ada"
    file = tmp_path_factory.mktemp("zero") / "lab.toml"
    file.write_bytes((TEXT.replace("\n", "\r\n") if crlf else TEXT).encode())
    set_zero(file, "place", value, who)
    lab = read_channels(file)
    assert zero_in_unit(lab, "place") == pytest.approx(value, rel=1e-9, abs=1e-300)
    assert lab.zeroings[0].operator == who.strip()


def test_refusals_leave_the_file_alone(file):
    for name, who, words in (("fource", "Ada", "did you mean 'force'"), ("force", " ", "set by somebody")):
        with pytest.raises(InputError, match=words):
            set_zero(file, name, 1.0, who)
    assert file.read_text() == TEXT
    assert sorted(p.name for p in file.parent.iterdir()) == ["lab.toml"]


def test_a_zero_is_set_in_a_table_of_one_line_too(file):
    file.write_text('channel = [{name = "a", direction = "input", unit = "N", channel = 0, gain = 1}]\n')
    set_zero(file, "a", 1.5, "Ada", now=NOON)
    assert zero_in_unit(read_channels(file), "a") == 1.5
