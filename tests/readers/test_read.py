"""Files of recorders of several makes are read as they are; what is wrong with one is told, all at once."""

import contextlib
import json
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from bondloop.errors import InputError
from bondloop.identify import read_data
from bondloop.identify.contents import read_contents
from bondloop.readers import Measurements, read_measurements, sampling_of
from bondloop.readers.text import from_lines, from_lvm
from bondloop.readers.text_cells import heading
from bondloop.signals import Table

sys.path.insert(0, str(Path(__file__).parent))  # for recorders.py

from recorders import LAYOUTS, lvm, signals, write_mdf

NAMES = {
    "daq": ("CHANNEL0", "CHANNEL1", "", ""),  # a logger of volts says no unit
    "mts": ("Axial Displacement", "Axial Force", "mm", "kN"),
    "commas": ("Command", "Force", "mm", "kN"),
    "utf16": ("Command", "Force", "mm", "kN"),
    "lvm": ("Command", "Force", "mm", "kN"),
}
ENDINGS = {"daq": "txt", "mts": "dat", "commas": "csv", "utf16": "txt", "lvm": "lvm"}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_is_read_as_it_is(tmp_path, layout):
    path = tmp_path / f"rig.{ENDINGS[layout]}"
    path.write_bytes(LAYOUTS[layout](300))
    data = read_data(path)
    _, x, f = signals(300)
    command, force, *units = NAMES[layout]
    np.testing.assert_allclose(data[command], x, atol=6e-5)  # written with four digits or more
    np.testing.assert_allclose(data[force], f, atol=6e-5)
    assert [data.units[command], data.units[force]] == units
    assert data.rate == pytest.approx(1000)
    assert len(data) == 300


def test_mdf(tmp_path):
    write_mdf(tmp_path / "a.mf4", 300)
    data = read_data(tmp_path / "a.mf4")
    _, x, f = signals(300)
    assert data["Command"].tolist() == x.tolist()
    assert data["Force"].tolist() == f.tolist()
    assert (data.units["Command"], data.rate) == ("mm", 1000)
    assert any("slow (group 1)" in warning for warning in data.warnings)


def test_lvm_with_times_in_it(tmp_path):
    (tmp_path / "a.lvm").write_bytes(lvm(100, columns="One"))
    assert read_data(tmp_path / "a.lvm").rate == pytest.approx(1000)
    (tmp_path / "b.lvm").write_bytes(lvm(100)[:200])
    with pytest.raises(InputError, match="0 of the two lines"):
        read_data(tmp_path / "b.lvm")


def test_segments_of_lvm(tmp_path):
    text = lvm(50).decode()
    again = text[text.index("Channels\t") :].replace("\t0.0000000000000000E+0", "\t5.0000000000000000E-2")
    (tmp_path / "a.lvm").write_text(text + "\r\n" + again, newline="")
    found = read_measurements(tmp_path / "a.lvm")
    assert found.channels["time"].tolist() == pytest.approx(np.arange(100) / 1000)
    (tmp_path / "b.lvm").write_text(text + "\r\n" + text[text.index("Channels\t") :], newline="")
    found = read_measurements(tmp_path / "b.lvm")
    assert (found.channels["time"].size, "the longest of 2" in found.notes[0]) == (50, True)


def test_segments_of_lvm_in_other_units_are_not_joined(tmp_path):
    text = lvm(50).decode()
    again = text[text.index("Channels\t") :].replace("\t0.0000000000000000E+0", "\t5.0000000000000000E-2")
    (tmp_path / "a.lvm").write_text(text + "\r\n" + again.replace("kN", "N"), newline="")
    found = read_measurements(tmp_path / "a.lvm")
    assert (found.channels["Force"].size, "other channels or units" in found.notes[0]) == (50, True)


def test_units_of_lvm_with_a_time_for_each_channel():
    """What the head says of a channel stands in the channel's column, with one of times before each."""
    lines = [
        "LabVIEW Measurement\t", "X_Columns\tMulti", "***End_of_Header***\t", "Channels\t2\t\t\t",
        "Y_Unit_Label\tVolts\t\tg\t", "X_Dimension\tTime\t\tTime\t", "X0\t0\t\t0\t", "***End_of_Header***\t",
        "X_Value\tU\tX_Value\ta\tComment", "0\t1\t0\t2", "0.1\t3\t0.1\t4",
    ]  # fmt: skip
    found = from_lvm(lines, "a.lvm")
    assert found.units == {"time": "s", "U": "V", "a": "g"}
    assert found.channels["a"].tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("X_Dimension\tTime\tTime", "X_Dimension\tFrequency\tFrequency", "over Frequency, not over time"),
        ("X0\t0.0", "X0\t0.5", "channels that begin at different times, 0 s, 0.5 s"),
    ],
)
def test_what_is_over_no_time_or_over_two_is_refused(old, new, words):
    lines = lvm(50).decode().replace(old, new).splitlines()
    with pytest.raises(InputError, match=words):
        from_lvm(lines, "a.lvm")


def test_how_a_table_was_taken_is_said(tmp_path):
    """Where rows are no more than columns, which of them are the channels is a guess."""
    table = np.arange(12.0).reshape(3, 4)
    found = Measurements("a.npz", "")
    found.take("tall", table.T)
    assert found.notes == []
    found.take("wide", table)
    found.take("square", table[:, :3])
    found.take("z", 1j * table)
    found.take("deep", np.zeros((2, 3, 4)))
    assert found.channels["wide.2"].tolist() == [4, 5, 6, 7]
    assert found.channels["square.2"].tolist() == [1, 5, 9]
    assert found.notes == [
        "'wide' has 3 rows and 4 columns; its rows were taken for channels",
        "'square' has 3 rows and 3 columns; its columns were taken for channels, not its rows",
        "'z' was left out: it has complex numbers",
        "'deep' was left out: it has 3 dimensions",
    ]
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:  # MATLAB 7.3 writes the transpose
        file["square"] = table[:, :3].T
    head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    with (tmp_path / "a.mat").open("r+b") as file:
        file.write(head)
    assert read_measurements(tmp_path / "a.mat").channels["square.2"].tolist() == [1, 5, 9]


def test_numbers_at_the_end_of_their_range_are_shown_without_a_warning(tmp_path):
    (tmp_path / "a.csv").write_text("time [s],x\n0,1e308\n0.1,-1e308\n0.2,1\n0.3,2\n")
    assert read_contents(tmp_path / "a.csv").channels[0].greatest == 1e308


def test_a_matlab_file_is_an_excitation(tmp_path):
    t = np.arange(5) / 10
    savemat(tmp_path / "a.mat", {"t": t, "force": [1.0, 2.0, 3.0, 2.0, 1.0]})
    assert Table.from_file(tmp_path / "a.mat", unit="kN").values.tolist() == [1e3, 2e3, 3e3, 2e3, 1e3]
    savemat(tmp_path / "b.mat", {"fs": 10.0, "rig": {"force": [1.0, 2.0, 3.0]}})
    assert Table.from_file(tmp_path / "b.mat") == Table([0, 0.1, 0.2], [1, 2, 3])


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("Command (mm)", ("Command", "mm")),
        ("Force [kN]", ("Force", "kN")),
        ("Damping (N/(mm/s))", ("Damping", "N/(mm/s)")),
        ("Position / mm", ("Position", "mm")),
        ("Time (Sec)", ("Time", "s")),
        ("ratio [-]", ("ratio", "")),
        ("Sensor (left)", ("Sensor (left)", "")),
        ("force[0]", ("force[0]", "")),
        ("a/b", ("a/b", "")),
        ("(mm)", ("(mm)", "")),
        ("", ("", "")),
    ],
)
def test_headings(cell, expected):
    assert heading(cell) == expected


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (
            "Rig: 7\nt [s]\tx [mm]\n0\t1\n1\tone\n2\n3\t4\t5\n4\t5\n5\t6\n6\t7\n7\t8\n",
            [
                "line 4, column 2 (x): 'one' is no number",
                "line 5: 1 column; 2 exp",
                "line 6: 3 columns; 2 exp",
            ],
        ),
        ("t;x\n0;oops\n1;2\n2;3\n3;4\n4;5\n", ["line 2, column 2 (x): 'oops' is no number"]),
        ("0,1\n1,2\n", ["the first line holds numbers"]),
        ("Rig: 7\n0,1\n1,2\n", ["line 2, the first with numbers,"]),
        ("t,x,x\n0,1,2\n1,2,3\n", ["the name 'x' stands twice"]),
        ("a\nb\nc\n", ["no rows of numbers", "'c'"]),
    ],
)
def test_every_fault_is_told_by_line_and_column(text, faults):
    with pytest.raises(InputError) as caught:
        from_lines(text.splitlines(), "rig.txt")
    for fault in faults:
        assert fault in str(caught.value)


def test_the_clock_is_compared_with_the_rate():
    text = LAYOUTS["daq"](100).decode()
    assert sampling_of(from_lines(text.splitlines(), "a.txt")).notes == ()
    late = text.replace("04:05:36.7", "04:05:39.7")  # from the 27th row on, three seconds later
    (note,) = sampling_of(from_lines(late.splitlines(), "a.txt")).notes
    assert "3.001 s pass after sample 26" in note
    alone = [line for line in text.splitlines() if not line.startswith("Sampling")]
    found = sampling_of(from_lines(alone, "a.txt"))
    assert found.stamps.tolist() == pytest.approx((np.arange(100) / 1000).tolist())
    past_midnight = from_lines(["clock,x", "23:59:59.5,1", "00:00:00.5,2", "00:00:01.5,3"], "a.txt")
    assert past_midnight.clock.tolist() == [0, 1, 2]


def test_counts_that_do_not_agree_are_noted():
    text = LAYOUTS["daq"](100).decode().replace("Sample Count:  100", "Sample Count:  5000")
    assert "says 5,000 samples; 100 are there" in " ".join(from_lines(text.splitlines(), "a").notes)


def test_what_looks_wrong_is_told(tmp_path):
    rng = np.random.default_rng(1)
    t = np.arange(2000) / 100
    wave = np.sin(3 * t) + 0.01 * rng.normal(size=t.size)
    stuck = np.where(t > 15, wave[1500], wave)
    columns = {
        "good": wave, "clipped": np.clip(wave, -0.5, 2), "frozen": stuck, "dead": 0 * t,
        "slow": np.repeat(wave[::4], 4), "holes": np.where(np.arange(2000) % 500 < 10, np.nan, wave),
    }  # fmt: skip
    np.savez(tmp_path / "a.npz", time=t, **columns)
    doubts = {c.name: " ".join(c.doubts) for c in read_contents(tmp_path / "a.npz").channels}
    assert doubts["good"] == ""
    expected = {"clipped": "clipped: at -0.5", "frozen": "looks frozen", "dead": "rests at 0 throughout"}
    for name, words in (expected | {"slow": "every 4 samples", "holes": "40 samples in 4 gaps"}).items():
        assert words in doubts[name]


PIECES = st.sampled_from(
    ["\n", "\r\n", "\t", ";", ",", " ", '"', "#", "%", "0", "1.5", "2,5", "-3e2", "1D-3", "nan", "time",
     "x [mm]", "Force (kN)", "[s]", "mm", "Sampling Rate: 100", "10:00:01.5", "LabVIEW Measurement",
     "***End_of_Header***", "Channels\t2", "X_Value\ta\tb", "\ufeff", "\x00", "é", "MTS793|"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    pieces=st.lists(PIECES, max_size=60), encoding=st.sampled_from(["utf-8", "utf-16", "utf-16-le", "cp1252"])
)
@example(["LabVIEW Measurement", "\n", "***End_of_Header***", "\n", "***End_of_Header***"], "utf-8")
def test_any_text_is_read_or_refused(tmp_path_factory, pieces, encoding):
    path = tmp_path_factory.mktemp("any") / "a.txt"
    path.write_bytes("".join(pieces).encode(encoding, "ignore"))
    with contextlib.suppress(InputError):  # anything else is a fault of the reader
        found = read_contents(path)
        json.dumps(found.to_dict())
        assert str(found)
        read_data(path)


@settings(max_examples=200, deadline=None)
@given(raw=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("any") / "a.txt"
    path.write_bytes(raw)
    with contextlib.suppress(InputError):
        read_contents(path)


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    separator=st.sampled_from(["\t", ";", ",", "  "]),
    comma=st.booleans(),
    head=st.sampled_from(["", "Rig: 7\n", "Operator;A\nRate 5\n", "# made by hand\n"]),
    row_of_units=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le"]),
)
def test_drawn_tables_are_read(tmp_path_factory, data, separator, comma, head, row_of_units, encoding):
    """Numbers in any usual layout come back, with their units."""
    rows, width = data.draw(st.integers(6, 20)), data.draw(st.integers(2, 4))
    if comma and separator == ",":
        comma = False
    numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))
    table = [[k / 100, *(data.draw(numbers) for _ in range(width - 1))] for k in range(rows)]
    units = ["s", "mm", "kN", "m/s"][:width]
    names = ["Time", "Command", "Force", "Velocity"][:width]
    if row_of_units:
        lines = [separator.join(names), separator.join(units)]
    else:
        lines = [separator.join(f"{n} [{u}]" for n, u in zip(names, units, strict=True))]
    for row in table:
        line = separator.join(f"{x:.3f}" for x in row)
        lines.append(line.replace(".", ",") if comma else line)
    path = tmp_path_factory.mktemp("drawn") / "a.txt"
    path.write_bytes((head + "\n".join(lines)).encode(encoding))
    found = read_measurements(path)
    assert list(found.channels) == names
    assert list(found.units.values()) == units
    np.testing.assert_array_equal(np.array(list(found.channels.values())).T, table)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Logger: 7\nTime [s],x [mm]\n0,000,1,5\n0,001,1,6\n0,002,1,7\n",
            "line 2 has 2 names, but line 3 has 4 numbers between commas ('0,000,1,5')",
        ),
        (
            "t;x\n0,0\n0,001\n0,002\n",
            "line 1 has a semicolon between names ('t;x'), but line 2 has only commas",
        ),
        ("t\tx\n0,0\n0,001\n0,002\n", "line 1 has a tab between names"),
    ],
)
def test_decimal_commas_between_commas_are_said(tmp_path, text, words):
    file = tmp_path / "comma.csv"
    file.write_text(text)
    with pytest.raises(InputError) as found:
        read_measurements(file)
    assert words in str(found.value)
    assert "save it again with semicolons or tabs" in str(found.value)
