"""The one reader of tables of numbers: every usual shape is read, every fault named with its line."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.readers.text import read_table

NUMBERS = [[0.0, 0.5, 1.0], [1.0, 3.0, 2.0]]


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "table.txt"
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n0.5,3\n1,2\n",
        "0,1\r\n0.5,3\r\n1,2\r\n",
        "0\t1\n\n0.5\t3\n1\t2",
        "0,0;1\n0,5;3,0\n1;2,0e0\n",
        "  0   1\n 0.5  3.\n 1.  2\n",
        "0,1,\n0.5,3,\n1,2,\n",
        '"0", "1"\n0.5 ,3\n1, 2\n',
        "0 1D0\n.5 3d+0\n1 2\n",
    ],
)
@pytest.mark.parametrize("remark", ["", "# from the rig\n", "El Centro, 1940\n% in g\n"])
def test_numbers_without_names(file, text, remark):
    table = read_table(file("\ufeff" + remark + text), header=False)
    assert table.numbers.tolist() == NUMBERS
    assert table.remarks == tuple(remark.splitlines())
    assert table.names == ()


@pytest.mark.parametrize(
    "text",
    [
        "time,force\n0,1\n0.5,3\n1,2\n",
        "# from the rig\ntime\tforce\n0\t1\n# a pause\n0.5\t3\n1\t2",
        "time;force\n0;1\n0,5;3,0\n1;2,0e0\n",
        "time force\n 0   1\n 0.5  3.\n 1.  2\n",
        '"time","force",\n0,1,\n0.5,3,\n1,2,\n',
    ],
)
def test_numbers_with_names(file, text):
    table = read_table(file(text), header=True)
    assert table.numbers.tolist() == NUMBERS
    assert table.names == ("time", "force")


def test_names_with_units_and_spaces(file):
    assert read_table(file("time [s] x [mm]\n0 1\n"), header=True).names == ("time [s]", "x [mm]")
    assert read_table(file("top of tower [mm]\n1\n"), header=True).names == ("top of tower [mm]",)
    assert read_table(file("t;2,5 Hz\n1;2,5\n"), header=True).names == ("t", "2,5 Hz")
    assert read_table(file('t;"x; top"\n1;2\n'), header=True).names == ("t", "x; top")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "a,b\n1,2\n3\n\n4,x\n",
            {"header": True},
            "2 faults: line 3: 1 column; 2 expected; line 5, column 2: 'x' is no n",
        ),
        ("a,b\n1,2,3\n", {"header": True}, "line 2: 3 columns; 2 expected"),
        ('a,b\n1,"1,000"\n', {"header": True}, "line 2, column 2: '1,000' is no number"),
        ("0 1\n1 nan\n", {"header": False}, "line 2, column 2: 'nan' is no finite number"),
        ("0,1\n1,\n", {"header": False}, "line 2, column 2: '' is no number"),
        ("0 1\n1 1e999\n", {"header": False}, "line 2, column 2: '1e999' is no finite number"),
        ("0 1 2\n", {"header": False, "width": 2}, "line 1: 3 columns; 2 expected"),
        ("0 1\n" + "x y\n" * 40, {"header": False}, "80 faults: .*; and 68 more"),
    ],
)
def test_every_fault_is_named_with_its_line(file, text, options, message):
    with pytest.raises(InputError, match=message) as refused:
        read_table(file(text), **options)
    assert "table.txt" in str(refused.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read_table(tmp_path / "none.csv", header=True)
    with pytest.raises(InputError, match="cannot read"):
        read_table(tmp_path, header=True)
    long = tmp_path / "long.csv"
    long.write_text('a,b\n1,"' + "9" * 140_000 + 'x"\n')  # more than a cell of Python's csv module may have
    with pytest.raises(InputError, match=r"line 2, column 2: '\"9+' is no number"):
        read_table(long, header=True)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), min_size=1
    ),
    separator=st.sampled_from([",", ";", "\t", " ", " , ", ", "]),
    names=st.booleans(),
)
def test_what_is_written_comes_back(tmp_path_factory, rows, separator, names):
    path = tmp_path_factory.mktemp("back") / "table.txt"
    lines = [separator.join(map(repr, row)) for row in rows]
    path.write_text("\n".join([separator.join("abc"), *lines] if names else lines))
    np.testing.assert_array_equal(read_table(path, header=names).numbers, np.array(rows).T)


@settings(max_examples=150, deadline=None)
@given(text=st.text(alphabet='0123456789.,;-+eEdD \t\n\x00xna#%"[]', max_size=80), names=st.booleans())
def test_any_text_is_read_or_refused(tmp_path_factory, text, names):
    path = tmp_path_factory.mktemp("any") / "table.txt"
    path.write_text(text)
    with contextlib.suppress(InputError):  # anything else is a fault of the reader
        table = read_table(path, header=names)
        assert table.numbers.ndim == 2
        assert names or np.isfinite(table.numbers).all()
