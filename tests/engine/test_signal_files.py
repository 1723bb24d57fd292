"""Tables from files: every usual shape of columns is read, every fault is named."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.errors import AccuracyWarning, InputError
from bondloop.signals import Signal, Table


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n0.5,3\n1,2\n",
        "\ufefftime,force\r\n0,1\r\n0.5,3\r\n1,2\r\n",
        "# from the rig\ntime\tforce\n0\t1\n\n0.5\t3\n1\t2",
        "time;force\n0;1\n0,5;3,0\n1;2,0e0\n",
        "  0   1\n 0.5  3.\n 1.  2\n",
        '"time","force",\n0,1,\n0.5,3,\n1,2,\n',
    ],
)
def test_files(tmp_path, text):
    path = tmp_path / "record.csv"
    path.write_text(text, encoding="utf-8", newline="")
    assert Table.from_file(path) == Table([0, 0.5, 1], [1, 3, 2])
    assert Table.from_file(path, unit="mm", time_unit="ms") == Table(
        [0, 0.5 * 1e-3, 1e-3], np.array([1, 3, 2]) * 1e-3, unit="mm"
    )
    if "force" in text:
        assert Table.from_file(path, time="time", column="force") == Table.from_file(path)
        with pytest.raises(InputError, match="did you mean 'force'"):
            Table.from_file(path, column="forc")


def test_a_file_without_times(tmp_path):
    path = tmp_path / "record.txt"
    path.write_text("1\n3\n2\n")
    assert Table.from_file(path, step="500 ms", beyond="zero") == Table([0, 0.5, 1], [1, 3, 2], beyond="zero")
    with pytest.raises(InputError, match="above 0"):
        Table.from_file(path, step=0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("time,force\n", "a header but no numbers"),
        ("0,1\n1,x\n2\n1.5,2\n3,4\n4,5\n5,6\n", "line 2, column 2 .*'x' is no num.*line 3: 1 column; 2"),
        ("t,x\n0,1\n1.5,nan\n3,4\n2,5\n", "line 3: 'x' is nan.*line 5: time 2 s does not come after 3 s"),
        ("0.0,1\n" * 30, "and 17 more"),
    ],
)  # fmt: skip
def test_bad_files_report_all_their_faults(tmp_path, text, message):
    path = tmp_path / "record.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        Table.from_file(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # Each was read without a word: whole parts for the values, or the times.
        ("Force [kN]\n0,5\n0,7\n-0,9\n1,1\n", "line 1 has 1 name, but line 2 has 2 .*decimal commas\\?"),
        ("Sampling rate: 100 Hz\nForce [kN]\n0,5\n0,7\n1,1\n", "line 2 has 1 name, .*decimal commas\\?"),
        ("Time [s]\tForce [kN]\n0\t0.0\t0\n1\t0.1\t1\n2\t0.2\t2\n", "line 1 has 2 names .* has 3 columns"),
        ("Time Force\n0 0.0 0\n1 0.1 1\n2 0.2 2\n", "begin line 1 with # if it has none"),
        ("0,5\n0,7\n-0,9\n1,1\n", "line 1 is '0,5', .*: 2 columns of whole numbers, or one with decimal"),
        ("# a motion, 3 points\n0,5\n0,7\n1,1\n", "line 2 is '0,5'.*Write a line of names above them"),
        ("0,5,1,2\n0,7,1,3\n1,1,1,4\n", "4 columns of whole numbers, or 2 with decimal commas"),
    ],
)
@pytest.mark.parametrize("step", [None, 0.01])
def test_columns_that_can_be_others_are_refused(tmp_path, text, words, step):
    path = tmp_path / "record.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        Table.from_file(path, step=step)


@pytest.mark.parametrize(
    "text",
    [
        "time,force\n0,1\n1,3\n",
        "# time,force\n0,1\n1,3\n",
        "0.0,1\n1.0,3\n",
        "0,1\n0.5,2\n1,3\n",
        "0,-1\n1,3\n",
        "Rig: 7\n0.0,1\n1.0,3\n",
        "# a motion\n0.0,1\n1.0,3\n",
        "5\n0 1\n1 3\n",
    ],
)
def test_columns_that_can_only_be_whole_are_read(tmp_path, text):
    path = tmp_path / "record.txt"
    path.write_text(text)
    table = Table.from_file(path)
    assert (table.times[-1], table.values[-1]) == (1.0, 3.0)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        Table.from_file(tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    with pytest.raises(InputError, match="is no text"):
        Table.from_file(tmp_path / "binary.csv")
    with pytest.raises(InputError, match="AT2"):
        Table.from_file(tmp_path / "motion.AT2")
    (tmp_path / "good.csv").write_text("0.0,1\n")
    with pytest.raises(InputError, match="counted from 0"):
        Table.from_file(tmp_path / "good.csv", column=-1)


@given(text=st.text(alphabet='0123456789.,;-+eE \t\nxna#"', max_size=80))
def test_any_file_is_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "record.csv"
    path.write_text(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)  # columns of words that were left out
            table = Table.from_file(path)
    except InputError:
        return
    assert isinstance(table, Signal)
    assert np.all(np.diff(table.times) > 0)


def test_units_of_the_file_count(tmp_path):
    """Half a kilonewton at 2 ms; in SI."""
    path = tmp_path / "rig.txt"
    path.write_text("Rig: 7\nTime\tForce\nmsec\tkN\n0\t0,1\n2\t0,5\n")
    assert Table.from_file(path) == Table([0, 0.002], [100.0, 500.0], unit="kN")
    with pytest.raises(InputError, match="in kN by the file, in N by what you say"):
        Table.from_file(path, unit="N")
    path.write_text("Time (s),Acc (g)\n0,0.1\n1,0.5\n")
    with pytest.raises(InputError, match="gravity or grams"):
        Table.from_file(path)
    assert Table.from_file(path, column="Acc", unit="gn").unit == "gn"


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        # 1 mm had become 0.001 s, and the force was played within 3 ms.
        ("Weg [mm],F [kN]\n1,5\n2,6\n3,7\n", {"column": "F"}, "'Weg' is in mm, which is no time"),
        (
            "Weg [mm],F [kN]\n1,5\n2,6\n3,7\n",
            {"time": "F", "column": "Weg"},
            "'F' is in kN, which is no time",
        ),
        ("Force [kN]\n1\n2\n3\n", {"column": "Force"}, "'Force' is in kN, which is no time"),
        ("Force\n1\n2\n3\n", {"column": "Force"}, "'Force' was taken for the time"),
    ],
)
def test_what_is_no_time_is_not_taken_for_it(tmp_path, text, more, words):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        Table.from_file(path, **more)
    assert Table.from_file(path, column=0, step=0.5).times.tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("head", ["time,force", "Zeit [s],force", "t_ms,force"])
def test_the_time_is_not_played_where_a_step_is_given(tmp_path, head):
    path = tmp_path / "a.csv"
    path.write_text(f"{head}\n0.0,5\n0.1,6\n0.2,7\n")
    assert Table.from_file(path, step=0.02) == Table([0, 0.02, 0.04], [5, 6, 7])
    assert Table.from_file(path, step=0.02, column=0).values.tolist() == [0, 0.1, 0.2], "as somebody says so"
    path.write_text("x [-],y [foo]\n1.0,5\n2.0,6\n3.0,7\n")
    assert Table.from_file(path, step=0.02).values.tolist() == [1, 2, 3]
    path.write_text("time\n0.0\n0.1\n0.2\n")
    with pytest.raises(InputError, match="only 'time', the time; expected values"):
        Table.from_file(path, step=0.02)
