"""Tables from files: every usual shape of columns is read, every fault is named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.program.signals import Signal, Table


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
        ("", "no numbers"),
        ("# nothing\n", "no numbers"),
        ("time,force\n", "a header but no numbers"),
        ("0,1\n1,x\n2\n1.5,nan\n3,4\n2,5\n", "line 2: 'x' .*line 3: 1 col.*line 4: 'nan'.*line 6: time 2"),
        ("0,1\n" * 30, "and 19 more"),
    ],
)  # fmt: skip
def test_bad_files_report_all_their_faults(tmp_path, text, message):
    path = tmp_path / "record.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        Table.from_file(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        Table.from_file(tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    with pytest.raises(InputError, match="not a text file"):
        Table.from_file(tmp_path / "binary.csv")
    with pytest.raises(InputError, match="AT2"):
        Table.from_file(tmp_path / "motion.AT2")
    (tmp_path / "good.csv").write_text("0,1\n")
    with pytest.raises(InputError, match="counted from 0"):
        Table.from_file(tmp_path / "good.csv", column=-1)


@given(text=st.text(alphabet='0123456789.,;-+eE \t\nxna#"', max_size=80))
def test_any_file_is_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "record.csv"
    path.write_text(text)
    try:
        table = Table.from_file(path)
    except InputError:
        return
    assert isinstance(table, Signal)
    assert np.all(np.diff(table.times) > 0)
