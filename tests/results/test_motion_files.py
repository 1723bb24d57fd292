"""COSMOS, ESM and tables of columns: what they say is believed, what they do not say is not guessed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.errors import AccuracyWarning, InputError
from bondloop.results import read_ground_motion, read_two_columns
from bondloop.results.motions.accelerograms import read_cosmos, read_esm, read_matlab_motion

G = 9.80665  # m/s², standard gravity
ESM = ("EVENT_NAME: NORCIA\nSTATION_CODE: AMT\nSTREAM: HGE\nSAMPLING_INTERVAL_S: 0.005000\nNDATA: 4\n"
       "UNITS: cm/s^2\nDATA_TYPE: ACCELERATION\nUSER5:\n")  # fmt: skip


@pytest.fixture
def file(tmp_path):
    def write(text, name="motion.txt"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def cosmos(
    values, *, unit="cm/sec2 (04)", width=10, each=8, digits=5, interval=5.0, raw=-999.0, kind="acceleration"
):
    """Return one channel as COSMOS version 1.20 orders it: reals of 15.6, values of a width of one's own."""
    reals = [-999.0] * 100
    reals[61], reals[33] = interval, raw
    text = ["Corrected acceleration    (Format v01.20 with 13 text lines)", "Record of Napa", *["x"] * 11]
    text += ["  20 Integer-header values follow on   2 lines, Format= (10I8)", *["       1" * 10] * 2]
    text += [" 100 Real-header values follow on  20 lines, Format= (5F15.6)"]
    text += ["".join(f"{x:15.6f}" for x in reals[i : i + 5]) for i in range(0, 100, 5)]
    text += [
        '   1 Comment line(s) follow, each starting with a "|":',
        "| 12 acceleration points follow, perhaps",
    ]
    text += [f"{len(values):8d} {kind} pts, approx  1 secs, units={unit},Format=({each}F{width}.{digits})"]
    cells = [f"{x:{width}.{digits}f}" for x in values]
    text += ["".join(cells[i : i + each]) for i in range(0, len(cells), each)]
    return "\n".join([*text, f"End-of-data for Chan  1 {kind}"]) + "\n"


@settings(max_examples=40, deadline=None)
@given(
    values=st.lists(st.floats(-999, 999).map(lambda x: round(x, 4)), min_size=2, max_size=40),
    each=st.integers(1, 9),
)
def test_cosmos_values_that_touch_come_back(tmp_path_factory, values, each):
    path = tmp_path_factory.mktemp("cosmos") / "a.v2"
    path.write_text(cosmos(values, width=9, each=each, digits=4))  # -999.0000 fills its column
    motion = read_cosmos(path)
    np.testing.assert_array_equal(motion.values, np.array(values) * 0.01)
    assert motion.sample_period == 0.005  # 5 ms, real header 62


def test_cosmos_with_several_channels_and_motions(file):
    both = (
        cosmos([1, 2, 3])
        + cosmos([4, 5], interval=-999.0, raw=0.02, unit="g")
        + cosmos([7, 8], kind="velocity")
    )
    path = file(both, "napa.v2")
    with pytest.raises(InputError, match="2 accelerations; say which with channel="):
        read_cosmos(path)
    second = read_ground_motion(path, channel=2)
    assert second.sample_period == 0.02  # real header 34, in s, where 62 is unknown
    np.testing.assert_allclose(second.values, np.array([4, 5]) * G, rtol=1e-15)
    for channel in (0, 3, True):
        with pytest.raises(InputError, match="the file holds 2, counted from 1"):
            read_cosmos(path, channel)


def test_all_faults_of_a_cosmos_file_at_once(file):
    text = cosmos([1, 2, 3, 4], unit="counts (50)", interval=-999.0).replace("   2.00000", "   2.0x000")
    with pytest.raises(InputError) as caught:
        read_cosmos(file(text))
    said = str(caught.value)
    assert "line 41, column 11: '2.0x000' is no number" in said  # 13 + 3 + 21 + 2 + 1 lines of header
    assert "line 40, column" in said
    assert "raw counts of a V0 file" in said
    assert "tell no sample period" in said


def test_esm(file):
    motion = read_ground_motion(file(ESM + "0\n-850.8\n12.5\n1e-2\n"))
    np.testing.assert_allclose(motion.values, [0, -8.508, 0.125, 1e-4], rtol=1e-15)
    assert (motion.sample_period, motion.title) == (0.005, "NORCIA, AMT, HGE")


@pytest.mark.parametrize("kind", ["ACCELERATION RESPONSE SPECTRUM", "Acceleration Response Spectra"])
def test_a_spectrum_of_esm_is_no_ground_motion(file, kind):
    with pytest.raises(InputError, match=f"DATA_TYPE is '{kind}'; expected ACCELERATION, the history"):
        read_esm(file(ESM.replace(": ACCELERATION", f": {kind}") + "0\n-850.8\n12.5\n1e-2\n"))


def test_all_faults_of_an_esm_file_at_once(file):
    text = ESM.replace("cm/s^2", "furlong").replace("0.005000", "-1").replace(": ACC", ": VELOCITY of ACC")
    with pytest.raises(InputError) as caught:
        read_esm(file(text.replace("VELOCITY of ACCELERATION", "VELOCITY") + "0\n1\n 2 x\n"))
    said = str(caught.value)
    for part in (
        "line 4, column 1: SAMPLING_INTERVAL_S is '-1'",
        "line 6, column 1: UNITS: 'furlong' is no unit",
        "line 7, column 1: DATA_TYPE is 'VELOCITY'",
        "line 11, column 4: 'x' is no number",
        "3 values; the header says NDATA = 4",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("header", "period", "factor"),
    [
        ("time [ms],acc [g]", 1e-3, G),
        ("# Kobe (1995)\n# t[ms] a[g]", 1e-3, G),
        ("t (s)  a (cm/s^2)", 1.0, 0.01),
        ("Time (sec), Acc (GAL)", 1.0, 0.01),
        ("% acceleration in [mm/s^2]", 1.0, 1e-3),
        ("time_s,acc_cm/s2", 1.0, 0.01),
        ("time_s,acc_g", 1.0, G),
        ("Time,Accel g", 1.0, G),
        ("time s, acceleration in g", 1.0, G),
        ("time_ms acc_mm/s^2", 1e-3, 1e-3),
        ("# Kobe (1995), Takatori\ntime_msec;NS_Gal", 1e-3, 0.01),
        ("time,acc\ns,g", 1.0, G),
        ("time [ms], acc_g", 1e-3, G),
        ("# Kobe\n# accelerations in cm/s2, every 50 ms", 1.0, 0.01),
    ],
)
def test_units_of_the_header_count(file, header, period, factor):
    motion = read_two_columns(file(f"{header}\n0 1\n0.05 2\n0.1 -3\n"))
    assert motion.sample_period == pytest.approx(0.05 * period, rel=1e-12)
    np.testing.assert_allclose(motion.values, factor * np.array([1, 2, -3]), rtol=1e-12)


@pytest.mark.parametrize(
    "header",
    ["no units at all", "t,a", "", "% time in [ms]", "time_s,accg", "g,s", "log,Kobe", "t_s a_north"],
)
def test_an_acceleration_without_a_unit_is_refused(file, header):
    """It may be in g, m/s² or cm/s²: factors of 9.81 and 100 are no matter for a guess."""
    path = file(f"{header}\n0 1\n0.01 2\n")
    with pytest.raises(InputError, match=r'the unit of the acceleration is not known: .*unit="g"'):
        read_ground_motion(path)
    assert read_ground_motion(path, unit="g").peak == 2 * G


def test_times_far_apart_and_peaks_too_strong_are_told(file):
    path = file("t,a\n0,1\n5,2\n10,3\n")
    with pytest.raises(InputError, match=r'samples every 5 s; .*time_unit="ms"'):
        read_ground_motion(path, unit="m/s^2")
    assert read_ground_motion(path, unit="m/s^2", time_unit="ms").sample_period == 0.005
    with pytest.warns(AccuracyWarning, match="samples every 5 s"):
        assert read_ground_motion(path, unit="m/s^2", time_unit="s").sample_period == 5.0
    with pytest.warns(AccuracyWarning, match="247 times gravity"):
        read_ground_motion(file("time_s,acc_g\n0,0\n0.02,247.39\n"))  # in cm/s² by all likelihood
    with pytest.raises(InputError, match="says its time_unit itself"):
        read_ground_motion(file(ESM + "0\n1\n2\n3\n"), time_unit="ms")


@pytest.mark.parametrize(
    ("header", "options", "words"),
    [
        ("t [s], a [m/s]", {}, "the acceleration: 'm/s' is no unit of acceleration"),
        ("t [mm], a [g]", {}, "the time: 'mm' is no unit of time"),
        ("t [s], a [g]", {"unit": "m/s^2"}, "in g by its header, in m/s\\^2 by what you say"),
        ("t [s], a [north]", {}, "give the unit yourself"),
        ("t [s]; a [x]", {"unit": "g", "time_unit": "ms"}, "2 faults"),
    ],
)
def test_units_that_cannot_be_are_refused(file, header, options, words):
    with pytest.raises(InputError, match=words):
        read_two_columns(file(f"{header}\n0 1\n1 2\n"), **options)


def test_a_column_of_several(file):
    path = file("time [s],EW [g],NS [cm/s^2]\n0,1,100\n0.1,2,200\n0.2,3,300\n")
    np.testing.assert_allclose(read_two_columns(path, column="NS").values, [1, 2, 3])
    np.testing.assert_allclose(read_ground_motion(path, channel=1).values, np.array([1, 2, 3]) * G)
    with pytest.raises(InputError, match="unknown column 'UD'"):
        read_two_columns(path, column="UD")
    with pytest.raises(InputError, match="expected 1 to 2"):
        read_two_columns(path, column=3)
    with pytest.raises(InputError, match="line 2: 3 columns; 2 expected"):
        read_two_columns(path)


def test_units_of_matlab_files(tmp_path):
    from scipy.io import savemat

    savemat(tmp_path / "a.mat", {"eq": {"dt": 0.02, "acc": [0.0, 1.0, 2.0], "units": "g"}})
    assert read_matlab_motion(tmp_path / "a.mat").peak == 2 * G
    assert read_ground_motion(tmp_path / "a.mat", "gal").peak == 0.02
    savemat(tmp_path / "b.mat", {"dt": 0.02, "acc": [0.0, 1.0], "units": "g", "unit": "gal"})
    with pytest.raises(InputError, match="it names 2 units"):
        read_matlab_motion(tmp_path / "b.mat")
