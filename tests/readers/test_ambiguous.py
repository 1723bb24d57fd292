"""What can be read in two ways is refused or told, never read in the wrong one: signs, clocks, units."""

import re
import warnings

import numpy as np
import pytest

from bondloop.errors import AccuracyWarning, InputError
from bondloop.identify import read_data
from bondloop.identify.contents import read_contents
from bondloop.readers import Measurements, read_measurements, sampling_of
from bondloop.readers.text import from_lines
from bondloop.signals import Table

RAMP = np.arange(6.0)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (
            "t;F\n0.1;998.5\n0.2;999.5\n0.3;1,000\n",
            ["line 4, column 2 (F): is the comma in '1,000' a decimal"],
        ),
        (
            "t;F\n0,1;998,5\n0,2;999,5\n0,3;1.000\n",
            ["line 4, column 2 (F): is the point in '1.000' a decimal"],
        ),
        ("t\tF\n1\t998\n2\t999\n3\t1,000\n", ["line 4, column 2 (F): is the comma in '1,000' a decimal"]),
        ("t;F\n0.1;1,000\n0.2;1,001\n", ["line 2, column 2 (F): is the comma", "line 3, column 2 (F)"]),
        ("t;F\n0.1;1,000.5\n0.2;1,001.5\n0.3;7.5\n", ["line 2, column 2 (F): '1,000.5' is no number: save"]),
        ('t,F\n0.1,"1,000.5"\n0.2,"1,001.5"\n', ["line 2, column 2 (F): '1,000.5' is no number: save"]),
    ],
)
def test_signs_between_thousands_are_never_read_as_decimal_ones(text, faults):
    with pytest.raises(InputError) as caught:
        from_lines(text.splitlines(), "rig.txt")
    for fault in faults:
        assert fault in str(caught.value)


def test_decimal_commas_with_three_digits_are_read():
    """Where every number has one, or some have other digits behind it, a comma is a decimal one."""
    for text in ("t;F\n1,000;998,125\n2,000;1,250\n", "t;F\n0;0,5\n1;1,125\n", "t;F\n0.5;1,25\n1.5;1,125\n"):
        found = from_lines(text.splitlines(), "rig.txt")
        assert found.channels["F"][1] in (1.25, 1.125)


@pytest.mark.parametrize(
    ("said", "rate"),
    [("1,000 Hz", None), ("10,000.0 Hz", 10e3), ("1.000,0", 1e3), ("1,5 kHz", 1.5e3), ("1,000,000", 1e6)],
)
def test_stated_rates_with_signs_between_thousands(said, rate):
    found = from_lines(f"Sampling Rate: {said}\nx\tF\n0.5\t1\n1.5\t2\n".splitlines(), "rig.txt")
    assert found.numbers.get("sampling_rate") == rate
    assert (rate is None) == any("one, or a thousand" in note for note in found.notes)


@pytest.mark.parametrize(
    ("said", "rate"),
    [("2 kS/s", 2e3), ("500 S/s", 500.0), ("1 MS/s", 1e6), ("2 ksps", 2e3), ("5 samples/sec", 5.0),
     ("2 mS/s", None), ("2 foo", None)],
)  # fmt: skip
def test_a_rate_in_samples_a_second_and_in_no_unit(said, rate):
    """A unit that is not known was left out of account: 2 kS/s were 2 Hz."""
    found = from_lines(f"Scan Rate: {said}\nx\tF\n0.5\t1\n1.5\t2\n".splitlines(), "rig.txt")
    assert found.numbers.get("scan_rate") == rate
    assert (rate is None) == any("expected Hz or S/s" in note for note in found.notes)


def test_the_day_of_a_clock_counts():
    rows = ["2024-02-28T18:00:00", "2024-02-28T18:00:01.5", "2024-02-29T08:00:00", "2024-03-01T08:00:00"]
    found = from_lines(["when,F", *(f"{row},1" for row in rows)], "rig.csv")
    assert found.clock.tolist() == [0.0, 1.5, 14 * 3600.0, 38 * 3600.0]
    rows = ["2024-03-31 01:59:59+01:00", "2024-03-31 03:00:00+02:00"]
    found = from_lines(["when,F", *(f"{row},1" for row in rows)], "rig.csv")
    assert found.clock.tolist() == [0.0, 1.0]


def test_the_unit_in_the_name_of_a_groups_time_counts():
    times = np.arange(4.0)
    found = Measurements("a.tdms", "", {"A.t_ms": times, "A.F": times}, {"A.t_ms": "", "A.F": ""})
    assert sampling_of(found).stamps.tolist() == [0.0, 0.001, 0.002, 0.003]


def test_two_clocks_are_not_taken_for_one():
    times = np.arange(4.0)
    found = Measurements("a.tdms", "", {"A.time": times, "B.time": times / 2}, {"A.time": "s", "B.time": "s"})
    with pytest.raises(InputError, match=r"'A.time' and 'B.time' are different times; say"):
        sampling_of(found)
    assert sampling_of(found, "B.time").stamps[1] == 0.5


def write_tdms(path, channels):
    """Write channels of TDMS: group, name, values, properties."""
    nptdms = pytest.importorskip("nptdms", reason="npTDMS is not installed")
    with nptdms.TdmsWriter(str(path)) as writer:
        writer.write_segment([nptdms.ChannelObject(*channel) for channel in channels])
    return path


def test_waveforms_that_begin_later_are_left_out(tmp_path):
    """Sample by sample they do not belong to the others."""
    first, late = {"wf_increment": 0.1}, {"wf_increment": 0.1, "wf_start_offset": 0.3}
    channels = [("G", "F", RAMP, first), ("G", "x", RAMP, late), ("G", "y", RAMP, first)]
    found = read_measurements(write_tdms(tmp_path / "a.tdms", channels))
    assert list(found.channels) == ["F", "y"]
    assert "left out, as they begin at another time than F: x (+0.3 s)" in found.notes
    stamps = [np.datetime64("2024-01-01T00:00:00"), np.datetime64("2024-01-01T00:00:01")]
    channels = [
        ("G", n, RAMP, {"wf_increment": 0.1, "wf_start_time": at}) for n, at in zip("Fx", stamps, strict=True)
    ]
    found = read_measurements(write_tdms(tmp_path / "b.tdms", channels))
    assert list(found.channels) == ["F"]


def test_time_stamps_are_in_seconds_whatever_the_file_says(tmp_path):
    at = np.datetime64("2024-01-01") + (100 * np.arange(6)).astype("m8[ms]")
    channels = [("G", "Time", at.astype("M8[us]"), {"unit_string": "ms"}), ("G", "F", RAMP, {})]
    assert read_contents(write_tdms(tmp_path / "a.tdms", channels)).rate == pytest.approx(10.0)


def test_two_channels_that_differ_in_their_unit_are_both_there(tmp_path):
    channels = [("G", "F (kN)", RAMP, {}), ("G", "F (N)", 1e3 * RAMP, {}), ("G", "t", RAMP, {})]
    write_tdms(tmp_path / "a.tdms", channels)
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    parquet.write_table(pa.table({"t": RAMP, "F (kN)": RAMP, "F (N)": 1e3 * RAMP}), tmp_path / "a.parquet")
    for ending in ("tdms", "parquet"):
        found = read_measurements(tmp_path / f"a.{ending}")
        assert (found.units["F"], found.units["F (N)"]) == ("kN", "N")
        assert (found.channels["F"][1], found.channels["F (N)"][1]) == (1.0, 1e3)


def test_a_channel_that_is_called_as_another_without_its_unit_is_there(tmp_path):
    """In whatever order they come: F (kN) does not take the name of F."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    columns = {"F (kN)": RAMP, "F": 7 * RAMP, "x (mm)": RAMP}
    for names in (list(columns), list(columns)[::-1]):
        parquet.write_table(pa.table({name: columns[name] for name in names}), tmp_path / "a.parquet")
        channels = [("G", name, columns[name], {}) for name in names]
        for file in (tmp_path / "a.parquet", write_tdms(tmp_path / "a.tdms", channels)):
            found = read_measurements(file)
            assert found.units == {"F": "", "F (kN)": "kN", "x": "mm"}
            assert (found.channels["F"][1], found.channels["F (kN)"][1]) == (7.0, 1.0)


def test_a_count_with_signs_between_thousands_is_not_one():
    rows = [f"{0.5 * i}\t1" for i in range(1000)]
    assert from_lines(["Samples: 1,000", "x\tF", *rows], "rig.txt").notes == []
    [note] = from_lines(["Samples: 1000", "x\tF", *rows[1:]], "rig.txt").notes
    assert note == "its head says 1,000 samples; 999 are there"


def test_samples_that_are_marked_as_invalid_are_missing_and_keep_their_time(tmp_path):
    asammdf = pytest.importorskip("asammdf", reason="asammdf is not installed")
    invalid = np.arange(6) == 2
    signal = asammdf.Signal(RAMP, RAMP / 10, unit="kN", name="F", invalidation_bits=invalid)
    other = asammdf.Signal(RAMP, RAMP / 10, unit="N", name="G")
    with asammdf.MDF(version="4.10") as file:
        file.append([signal, other])
        file.save(tmp_path / "a.mf4")
    found = read_measurements(tmp_path / "a.mf4")
    assert found.channels["time"].tolist() == (RAMP / 10).tolist()
    assert np.flatnonzero(np.isnan(found.channels["F"])).tolist() == [2]
    assert found.channels["G"].tolist() == RAMP.tolist()


def test_an_excitation_has_the_clock_of_everybody_else(tmp_path):
    """Its time in milliseconds, by its name; and no first column for a time where the rates do not agree."""
    file = tmp_path / "a.csv"
    file.write_text("t_ms,F [N]\n0,1\n1,2\n2,3\n")
    assert Table.from_file(file, column="F")(0.001) == 2.0
    file.write_text("when,x [m],F [N]\n10:00:00,1,5\n10:00:01,2,6\n10:00:02,4,7\n")
    for unit in ("", "s"):  # of a clock, not of the first column
        with pytest.warns(AccuracyWarning) as said:
            assert Table.from_file(file, column="F", time_unit=unit)(1.0) == 6.0
        assert any("the clock times of its rows were taken for the time" in str(w.message) for w in said)
    steps = [("G", "F", RAMP, {"wf_increment": 0.1}), ("G", "x", RAMP, {"wf_increment": 0.2})]
    with pytest.raises(InputError, match="its rates do not agree"):
        Table.from_file(write_tdms(tmp_path / "a.tdms", steps), column="x")


def test_accelerations_in_g_are_none_in_metres(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("time [s],a (g)\n0,0\n1,1\n2,0\n")
    assert Table.from_file(file, column="a", unit="gn")(1.0) == 9.80665
    with pytest.raises(InputError, match="is in g by the file, in m/s\\^2 by what you say"):
        Table.from_file(file, column="a", unit="m/s^2")


@pytest.mark.parametrize(
    ("head", "names", "units"),
    [
        ("Time;Force\nSEC;KN", ["Time", "Force"], ["s", "KN"]),
        ("Time;Force;Strain\ns;KN;ustrain", ["Time", "Force", "Strain"], ["s", "KN", "ustrain"]),
        ("Zeit;Kraft\ns;KN", ["Zeit", "Kraft"], ["s", "KN"]),
        ("Weg;Kraft\nMM;kN", ["Weg", "Kraft"], ["MM", "kN"]),
        ("Rig: 7\nTime;T1;T2\n[s];[degF];[KN]", ["Time", "T1", "T2"], ["s", "degF", "KN"]),
        # What is no line of units stays one of names.
        ("Operator;Ada\nTime;F", ["Time", "F"], ["", ""]),
        ("Statistics;Values\nmax;min", ["max", "min"], ["", ""]),
        ("Zürich;Bridge\nWeg;F", ["Weg", "F"], ["", ""]),
        ("Zürich;Bridge\nWeg;Kraft (kN)", ["Weg", "Kraft"], ["", "kN"]),
        ("Date;Monday\nWeg;Kraft", ["Weg", "Kraft"], ["", ""]),
        ("Rate: 7;Hz\nmm;Kraft", ["mm", "Kraft"], ["", ""]),
    ],
)
def test_a_line_of_units_of_which_few_are_known(head, names, units):
    width = len(names)
    rows = [";".join(f"{i + k},5" for k in range(width)) for i in range(5)]
    found = from_lines([*head.splitlines(), *rows], "rig.txt")
    assert (list(found.channels), list(found.units.values())) == (names, units)


def test_a_line_that_may_be_units_is_told_and_units_that_are_not_known_are_refused(tmp_path):
    path = tmp_path / "rig.txt"
    path.write_text("Time;Force\nSEC;KN\n0,0;1\n0,1;2\n0,2;3\n")
    with pytest.raises(InputError, match="'Force' is in 'KN', which is no unit that is known"):
        Table.from_file(path)
    assert Table.from_file(path, unit="kN").values.tolist() == [1e3, 2e3, 3e3]
    for head in ("Time;Force\nSEKUNDE;KN", "Zürich;Bridge\nWeg;F"):
        found = from_lines([*head.splitlines(), "0;1,5", "1;2,5"], "rig.txt")
        assert any("line 2 was taken for the names" in note for note in found.notes)
    for head in ("Operator;Ada\nWeg;Kraft", "Operator;Ada\nTime;Force", "Time;Force"):
        assert not from_lines([*head.splitlines(), "0;1,5", "1;2,5"], "rig.txt").notes


RATED = "Sampling Rate: 1000 Hz\n{};Force [kN]\n" + "\n".join(f"{i};{i % 7}" for i in range(20))


def test_a_rate_that_contradicts_times_without_a_unit_is_refused(tmp_path):
    """They were milliseconds, and read as seconds."""
    path = tmp_path / "rig.csv"
    path.write_text(RATED.format("Time"))
    for reads in (read_data, Table.from_file):
        with pytest.raises(InputError, match=r"states 1000 Hz, but by 'Time' samples are 1 s apart if it is"):
            reads(path)
    assert Table.from_file(path, time_unit="ms").times[-1] == pytest.approx(0.019)
    assert read_data(path, rate=1000).rate == pytest.approx(1000)
    path.write_text(RATED.format("Time [ms]"))
    assert Table.from_file(path).times[-1] == pytest.approx(0.019)
    assert not read_data(path).warnings
    path.write_text(RATED.format("t_ms"))
    assert Table.from_file(path, time="t_ms") == Table.from_file(path)
    assert Table.from_file(path).times[-1] == pytest.approx(0.019)


def test_a_rate_that_contradicts_times_is_told(tmp_path):
    path = tmp_path / "rig.csv"
    words = "states 1000 Hz, but by '.*' samples are 1 s apart, which is used"
    for name in ("Time [s]", "Zeit [s]"):
        path.write_text(RATED.format(name))
        assert any(re.search(words, note) for note in read_data(path).warnings)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert Table.from_file(path).times[-1] == 19
        assert any(re.search(words, str(w.message)) for w in said)
    path.write_text(RATED.format("Time"))
    with pytest.warns(AccuracyWarning, match=words):
        assert Table.from_file(path, time_unit="s").times[-1] == 19
    path.write_text(RATED.replace("1000 Hz", "0.995 Hz").format("Time"))  # rounded
    assert not read_data(path).warnings


def test_what_is_noteworthy_of_an_excitation_is_warned_of(tmp_path):
    path = tmp_path / "rig.csv"
    path.write_text("Samples: 7\nTime [s];F [kN]\n0;1,5\n1;2,5\n")
    with pytest.warns(AccuracyWarning, match="rig.csv: its head says 7 samples; 2 are there"):
        Table.from_file(path)


def write_hdf5(path, values, **attributes):
    """Write 10 Hz and a variable x with attributes."""
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(path, "w") as file:
        file["time"] = np.arange(len(values)) / 10
        file["time"].attrs["units"] = ["s"]
        file["x"] = values
        for name, value in attributes.items():
            file["x"].attrs[name] = value
    return path


@pytest.mark.parametrize("units", ["mm", ["mm"], np.array([b"mm"]), np.array([["mm"]], dtype=object)])
def test_a_unit_that_is_the_only_one_of_an_array_counts(tmp_path, units):
    if isinstance(units, np.ndarray) and units.dtype == object:
        units = units.astype("S")
    path = write_hdf5(tmp_path / "a.h5", RAMP, units=units)
    assert read_measurements(path).units == {"time": "s", "x": "mm"}
    assert Table.from_file(path, column="x").values[-1] == pytest.approx(5e-3)


@pytest.mark.parametrize("units", [["mm", "m"], 3, [1.0]])
def test_a_unit_that_is_no_text_is_told(tmp_path, units):
    found = read_measurements(write_hdf5(tmp_path / "a.h5", RAMP, units=units))
    assert found.units["x"] == ""
    assert any("'x' has a unit that is no text, which was not used" in note for note in found.notes)


def test_packed_variables_are_unpacked(tmp_path):
    """What netCDF keeps as whole numbers has a scale, an offset, and a number for what is missing."""
    packed = np.array([0, 100, -32768, 300], dtype="i2")
    attributes = {"scale_factor": np.array([0.01]), "add_offset": 5.0, "_FillValue": np.int16(-32768)}
    found = read_measurements(write_hdf5(tmp_path / "a.nc", packed, units="mm", **attributes))
    np.testing.assert_allclose(found.channels["x"], [5.0, 6.0, np.nan, 8.0])
    values = np.array([1, 1e20, 3], dtype="f4")
    found = read_measurements(write_hdf5(tmp_path / "b.nc", values, missing_value=1e20))
    np.testing.assert_allclose(found.channels["x"], [1.0, np.nan, 3.0])
    found = read_measurements(write_hdf5(tmp_path / "c.nc", packed, scale_factor="a tenth"))
    assert "x" not in found.channels
    assert "'x' was left out: its scale_factor is no number: 'a tenth'" in found.notes
