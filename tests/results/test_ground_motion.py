"""Ground-motion readers: the two AT2 headers, plain columns, and what they refuse."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.results import read_two_columns
from bondloop.results.motions.accelerograms import read_at2, read_matlab_motion

NEW = "PEER NGA STRONG MOTION DATABASE RECORD\nLoma Prieta, 0\nACCELERATION TIME SERIES IN UNITS OF G\n"
OLD = "PACIFIC ENGINEERING STRONG-MOTION DATA\nIMPERIAL VALLEY\nACCELERATION TIME HISTORY IN UNITS OF G\n"
G = 9.80665  # m/s², standard gravity


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "motion.txt"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    "header",
    [
        NEW + "NPTS=   6, DT=   .0050 SEC,",
        NEW + "NPTS=  6, DT= 5.0E-3 SEC",
        NEW + "npts=6,dt=0.005",
        OLD + "   6   0.0050  NPTS, DT",
    ],
)
def test_both_headers(file, header):
    motion = read_at2(file(f"{header}\n  .1000000E-02  -.2000000E-02\n 0.3\n-.1E+01-.2E+00 .0D+00\n"))
    assert motion.sample_period == 0.005
    np.testing.assert_allclose(motion.values, G * np.array([1e-3, -2e-3, 0.3, -1.0, -0.2, 0.0]), rtol=1e-15)
    assert motion.peak == pytest.approx(G)
    assert motion.time[-1] == pytest.approx(0.025)  # five periods
    assert motion.title == header.splitlines()[1].strip()


def test_all_faults_of_an_at2_file_at_once(file):
    with pytest.raises(InputError) as caught:
        read_at2(file(NEW.replace("OF G", "OF FURLONGS") + "NPTS= 3, DT= .000 SEC\n1 2 x\n"))
    for part in (
        "4 faults",
        "line 4, column 14: DT is 0 s",
        "FURLONGS",
        "line 5, column 5: 'x' is no number",
        "2 values; the header says NPTS = 3",
    ):
        assert part in str(caught.value)


def test_a_velocity_file_and_a_foreign_file_are_refused(file):
    with pytest.raises(InputError, match="velocity or displacement"):
        read_at2(file("A\nB\nVELOCITY TIME SERIES IN UNITS OF CM/S\nNPTS= 1, DT= .01 SEC\n1\n"))
    with pytest.raises(InputError, match="no AT2 file"):
        read_at2(file("0 1\n1 2\n"))
    with pytest.raises(InputError, match="there is no file"):
        read_at2("nowhere.at2")


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.floats(-9.0, 9.0).map(lambda x: float(f"{x:.7E}")), min_size=2, max_size=40),
    columns=st.integers(1, 8),
)
def test_fixed_width_columns_come_back(tmp_path_factory, values, columns):
    """PEER's Fortran format E15.7, whose numbers touch where they are negative."""
    words = [f"{value:15.7E}" for value in values]
    rows = ["".join(words[i : i + columns]) for i in range(0, len(words), columns)]
    path = tmp_path_factory.mktemp("at2") / "a.at2"
    path.write_text(f"{NEW}NPTS= {len(values)}, DT= .01 SEC\n" + "\n".join(rows))
    np.testing.assert_array_equal(read_at2(path).values, np.array(values) * G)


@settings(max_examples=100, deadline=None)
@given(tail=st.text(alphabet="0123456789.-+eED \nNPTS=,", max_size=60), whole=st.booleans())
def test_any_text_is_read_or_refused(tmp_path_factory, tail, whole):
    path = tmp_path_factory.mktemp("any") / "a.txt"
    path.write_text((NEW + "NPTS= 2, DT= .01\n" if whole else "") + tail)
    for read in (read_at2, read_two_columns):
        with contextlib.suppress(InputError):  # anything else is a fault of the reader
            assert np.isfinite(read(path).sample_period)


def test_two_columns_with_header_and_coarse_times(file):
    # 512 Hz printed with four digits: no time is exact, no sample is lost
    lines = "\n".join(f"{k / 512:.4f}, {k}" for k in range(100))
    motion = read_two_columns(file(f"# Kobe\ntime, acceleration\n{lines}\n"), unit="cm/s^2")
    assert motion.title == "Kobe"
    assert motion.sample_period == pytest.approx(1 / 512, rel=1e-3)
    assert motion.values[-1] == pytest.approx(0.99)  # 99 cm/s²
    assert read_two_columns(file("0 1\n0.1 1\n"), unit="g").peak == G


def test_two_columns_refuse_gaps_and_torn_lines(file):
    with pytest.raises(InputError, match="do not increase evenly"):
        read_two_columns(file("0 1\n1 1\n3 1\n4 1\n"), unit="g")
    with pytest.raises(
        InputError, match=r"2 faults: line 2: 3 columns; 2 expected; line 4: 1 column; 2 expected"
    ):
        read_two_columns(file("0 1\n1 1 7\n2 1\nend\n"))


# ------------------------------------------------------------------ MATLAB


MOTION = np.sin(np.arange(50) / 3)
TIME = 0.02 * np.arange(50)


@pytest.mark.parametrize(
    "content",
    [
        {"t": TIME, "ag": MOTION},
        {"Time": TIME[:, None], "Acc": MOTION[:, None], "station": "Takatori", "extra": np.eye(3)},
        {"time": TIME, "whatever": MOTION, "dt": 0.02, "short": MOTION[:7]},
        {"eq": {"dt": 0.02, "acceleration": MOTION}},
        {"fs": 50.0, "acc": MOTION},
        {"ElCentro": np.c_[TIME, MOTION]},
        {"signal": np.vstack([TIME, MOTION])},
        {"record": {"first": {"t": TIME, "a": MOTION}}},
    ],
)
def test_matlab_files_of_many_shapes(tmp_path, content):
    from scipy.io import savemat

    savemat(tmp_path / "a.mat", content)
    with pytest.raises(InputError, match=r"the unit of the acceleration .* is not known"):
        read_matlab_motion(tmp_path / "a.mat")
    motion = read_matlab_motion(tmp_path / "a.mat", "m/s^2")
    assert motion.sample_period == pytest.approx(0.02)
    np.testing.assert_array_equal(motion.values, MOTION)
    assert read_matlab_motion(tmp_path / "a.mat", unit="g").values[5] == MOTION[5] * G


def test_matlab_7_3(tmp_path):
    """As MATLAB writes it: matrices with their dimensions turned, texts as numbers, cells aside."""
    import h5py

    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
        file["eq/t"], file["eq/xgdd"] = TIME[None, :], MOTION[None, :]
        file["#refs#/a"] = MOTION
        file["name"] = np.array([75, 111, 98, 101], dtype=np.uint16)
        file["name"].attrs["MATLAB_class"] = np.bytes_("char")
    with (tmp_path / "a.mat").open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
    motion = read_matlab_motion(tmp_path / "a.mat", "m/s^2")
    np.testing.assert_array_equal(motion.values, MOTION)
    assert motion.title == "eq.xgdd"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"a": MOTION}, r"expected one time .* found a \(50\)"),
        ({"t": TIME, "x": MOTION, "y": MOTION}, "expected one time"),
        ({"t": TIME, "a": MOTION[:20]}, "expected one time"),
        ({"dt": 0.0, "a": MOTION}, r"expected one time .* found a \(50\)"),
        ({"one": np.c_[TIME, MOTION], "two": np.c_[TIME, MOTION]}, "expected one time"),
        ({"t": TIME**2, "a": MOTION}, "do not increase evenly"),
        (
            {"t": TIME, "a": np.where(TIME > 0.5, np.nan, MOTION)},
            "acceleration has values that are no finite",
        ),
        ({"name": "Kobe"}, "found no numbers"),
    ],
)
def test_what_matlab_files_do_not_say_is_not_guessed(tmp_path, content, words):
    from scipy.io import savemat

    savemat(tmp_path / "a.mat", content)
    with pytest.raises(InputError, match=words):
        read_matlab_motion(tmp_path / "a.mat")


def test_what_is_no_matlab_file_is_refused(tmp_path):
    (tmp_path / "a.mat").write_text("0 1\n1 2\n")
    for name in ("a.mat", "nowhere.mat"):
        with pytest.raises(InputError):
            read_matlab_motion(tmp_path / name)
