"""Measured data: where they come from, what is found wrong with them, and what the user is told."""

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import savemat

from bondloop.errors import InputError
from bondloop.identify import Data, read_data
from bondloop.identify.contents import contents_of
from bondloop.identify.input_output import clipping, held, slowly_held
from bondloop.identify.time_grid import find_grid
from bondloop.readers import Measurements
from bondloop.results import Record

N = 1000
T = np.arange(N) * 1e-3
U = np.sin(2 * np.pi * 7 * T)
Y = 0.8 * np.sin(2 * np.pi * 7 * T - 0.3)


def data(rate=1000, **changes):
    return Data.from_arrays({"u": U, "y": Y} | changes, rate=rate)


def write_csv(path, time, columns, header):
    rows = np.column_stack((time, *columns)) if time is not None else np.column_stack(columns)
    path.write_text(header + "\n" + "\n".join(",".join(repr(float(v)) for v in row) for row in rows))


@pytest.mark.parametrize(
    ("command", "motion", "factor", "unit"),
    [
        ("mm", "m", 1e3, "mm"),
        ("m", "mm", 1e-3, "m"),
        ("m", "in", 0.0254, "m"),
        ("rad", "deg", np.pi / 180, "rad"),
    ],
)
def test_an_output_in_another_unit_of_one_kind_is_converted(command, motion, factor, unit):
    """A gain of 0.001 between millimetres and metres would be taken for the actuator's."""
    measured = Data.from_arrays({"u": U, "y": Y}, rate=1000, units={"u": command, "y": motion})
    pair = measured.select("u", "y")
    np.testing.assert_allclose(pair.output, factor * Y, rtol=1e-14)
    assert (pair.input_unit, pair.output_unit) == (unit, unit)
    assert pair.warnings == (f"output 'y' is converted from {motion} to {unit}, the unit of 'u'",)


@pytest.mark.parametrize(
    "units", [("V", "mm"), ("mm", ""), ("", "mm"), ("mm", "mm"), ("mm", "counts"), ("Hz", "rad/s")]
)
def test_an_output_of_another_kind_stays_as_it_is(units):
    pair = Data.from_arrays({"u": U, "y": Y}, rate=1000, units=dict(zip("uy", units, strict=True))).select(
        "u", "y"
    )
    np.testing.assert_array_equal(pair.output, Y)
    assert (pair.output_unit, pair.warnings) == (units[1], ())


# Every file format gives the same channels, whatever the name of the time.


@pytest.mark.parametrize("header", ["time [s],u [m],y [m]", "t,u [m],y [m]", "Time_s,u [m],y [m]"])
def test_csv(tmp_path, header):
    write_csv(tmp_path / "a.csv", T, (U, Y), header)
    found = read_data(tmp_path / "a.csv")
    assert list(found) == ["u", "y"]
    assert found.sample_period == pytest.approx(1e-3, rel=1e-12)
    assert found.units["u"] == "m"
    np.testing.assert_array_equal(found["y"], Y)


def test_time_in_any_column_and_unit(tmp_path):
    write_csv(tmp_path / "a.csv", None, (U, T * 1e3, Y), "u,time [ms],y")
    assert read_data(tmp_path / "a.csv").rate == pytest.approx(1000)
    write_csv(tmp_path / "b.csv", None, (U, T, Y), "u,stamp,y")
    assert read_data(tmp_path / "b.csv", time="stamp").rate == pytest.approx(1000)


def test_a_file_without_time_asks_for_the_rate(tmp_path):
    write_csv(tmp_path / "a.csv", None, (U, Y), "u,y")
    with pytest.raises(InputError, match=r"no time among u, y; name the channel .* or give the sample rate"):
        read_data(tmp_path / "a.csv")
    assert read_data(tmp_path / "a.csv", rate="2 kHz").sample_period == pytest.approx(5e-4)


def test_seconds_that_increase_are_time_with_a_warning(tmp_path):
    write_csv(tmp_path / "a.csv", T, (U, Y), "Zeit [s],u,y")
    found = read_data(tmp_path / "a.csv")
    assert found.rate == pytest.approx(1000)
    assert "'Zeit' was taken for the time" in found.warnings[0]


def test_run_files_and_records(tmp_path):
    record = Record(T, {"act.x": U, "act.d": Y}, {"act.x": "m"})
    record.save(tmp_path / "run.h5")
    record.to_mat(tmp_path / "run.mat")
    record.to_csv(tmp_path / "run.csv")
    for found in (
        Data.from_record(record),
        *(read_data(tmp_path / f"run.{ending}") for ending in ("h5", "mat", "csv")),
    ):
        assert set(found) == {"act.x", "act.d"}  # MATLAB's names are turned back
        assert found.units["act.x"] == "m"
        assert found.sample_period == pytest.approx(1e-3)
        np.testing.assert_array_equal(found["act.x"], U)


def test_mat_with_structures_tables_and_a_rate(tmp_path):
    savemat(tmp_path / "a.mat", {"rig": {"u": U, "y": Y}, "fs": 500.0, "note": "text"})
    found = read_data(tmp_path / "a.mat")
    assert set(found) == {"rig.u", "rig.y"}
    assert found.rate == 500
    savemat(tmp_path / "b.mat", {"all": np.column_stack((U, Y)), "Ts": 2e-3})
    np.testing.assert_array_equal(read_data(tmp_path / "b.mat")["all.2"], Y)


def test_hdf5_of_others_and_mat_7_3(tmp_path):
    for name in ("a.h5", "b.mat"):  # a MATLAB file of version 7.3 is HDF5 with rows of shape (1, n)
        with h5py.File(tmp_path / name, "w", userblock_size=512) as file:
            file["t"] = T[None, :]
            file["test/u"] = U[None, :]
            file["test/y"] = Y[None, :]
            file["test/u"].attrs["units"] = "mm"
        if name == "b.mat":
            head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
            with (tmp_path / name).open("r+b") as raw:
                raw.write(head)
        found = read_data(tmp_path / name)
        assert set(found) == {"test.u", "test.y"}
        assert found.units["test.u"] == "mm"
        np.testing.assert_array_equal(found["test.y"], Y)


def test_npz(tmp_path):
    np.savez(tmp_path / "a.npz", u=U, y=Y, dt=1e-3)
    assert read_data(tmp_path / "a.npz").rate == pytest.approx(1000)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", b"x", r"cannot tell what a\.xlsx is"),
        ("a.mat", b"nonsense" * 40, "no MATLAB file"),
        ("a.h5", b"nonsense", "not an HDF5 file"),
        ("a.npz", b"nonsense", "no NumPy archive"),
        ("a.csv", b"u,u,time\n1,2,3\n", "stands twice"),
        ("a.csv", b"1,2,3\n1,2,3\n", "the first line holds numbers"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_data(tmp_path / name)


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read_data(tmp_path / "a.csv")


# Time stamps.


def test_gap_keeps_the_longest_stretch():
    time = np.delete(T, np.arange(300, 340))
    found = Data.from_arrays({"u": np.delete(U, np.arange(300, 340))}, time=time)
    assert len(found) == 660
    assert found.start == pytest.approx(0.34)
    assert found.sample_period == pytest.approx(1e-3)
    assert "samples are missing after t = 0.299 s (1 gap)" in found.warnings[0]
    assert "record again" in found.warnings[0]


def test_one_missing_sample_in_the_middle_is_a_gap():
    assert find_grid(np.delete(T, 500)).rows == slice(0, 500)


def test_jitter_is_interpolated_away():
    rng = np.random.default_rng(3)
    time = T + rng.uniform(-1e-4, 1e-4, N)
    found = Data.from_arrays({"u": np.sin(2 * np.pi * 7 * time)}, time=time)
    assert "jitter" in found.warnings[0]
    # Taking the stamps for even would err by 2π·7·1e-4 = 0.4 %; splines leave the ends and rounding.
    np.testing.assert_allclose(found["u"], np.sin(2 * np.pi * 7 * found.time), atol=2e-5)


def test_rounded_stamps_are_even():
    grid = find_grid(np.round(np.arange(3000) / 300, 3))  # 300 Hz written with milliseconds
    assert 1 / grid.sample_period == pytest.approx(300, rel=1e-4)
    assert not grid.resample
    assert "rounded to 0.001 s" in grid.warnings[0]


def test_single_precision_stamps_are_even():
    grid = find_grid((1000 + T).astype(np.float32).astype(float))  # single precision: 6e-5 s at 1000 s
    assert not grid.resample
    assert grid.sample_period == pytest.approx(1e-3, rel=1e-3)


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (np.concatenate((T, T[-1] + 4e-3 * np.arange(1, 500))), "sample rate changes: 1000 Hz .* 250 Hz"),
        (np.concatenate((T, T)), "time does not increase at sample 1000"),
        (np.cumsum(np.random.default_rng(1).uniform(1e-4, 3e-3, 500)), "uneven"),
        (np.where(np.arange(N) == 7, np.nan, T), "time of sample 7 is not a finite number"),
        (T[:1], "no sample period"),
    ],
)
def test_stamps_that_are_refused(time, message):
    with pytest.raises(InputError, match=message):
        Data.from_arrays({"u": np.arange(time.size)}, time=time)


def test_a_rate_that_disagrees_with_the_stamps():
    found = Data.from_arrays({"u": U}, time=T, rate=500)
    assert found.rate == 500
    assert "time stamps are 0.001 s apart" in found.warnings[0]


@given(
    start=st.floats(-1e4, 1e4),
    rate=st.floats(0.5, 2e4),
    count=st.integers(20, 400),
    cut=st.lists(st.integers(1, 398), max_size=3),
)
def test_any_even_grid_is_found_and_gaps_cut_it(start, rate, count, cut):
    time = start + np.arange(count) / rate
    cut = sorted({at for at in cut if at < count - 1})
    grid = find_grid(np.delete(time, cut))
    edges = np.concatenate(([-1], cut, [count]))
    kept = np.delete(time, cut)[grid.rows]
    assert kept.size == np.diff(edges).max() - 1
    assert grid.sample_period == pytest.approx(1 / rate, rel=1e-5)
    assert bool(grid.warnings) == bool(cut)


# What is wrong with the signals, and what to do about it.


def test_sound_data_have_no_warnings():
    pair = data().select(input="u", output="y")
    assert pair.warnings == ()
    assert (pair.input_name, pair.output_name, len(pair)) == ("u", "y", N)


def test_wrong_names_say_the_nearest():
    with pytest.raises(InputError, match=r"unknown output channel 'Yy' .* did you mean 'y'\? known: u, y"):
        data().select(input="u", output="Yy")
    with pytest.raises(InputError, match="both input and output"):
        data().select(input="u", output="u")


def test_too_short():
    with pytest.raises(InputError, match=r"only 20 samples \(0\.02 s\).* record at least 200"):
        Data.from_arrays({"u": U[:20], "y": Y[:20]}, rate=1000).select("u", "y")
    pair = Data.from_arrays({"u": U[:100], "y": Y[:100]}, rate=1000).select("u", "y")
    assert "only 100 samples" in pair.warnings[0]


def test_constant():
    with pytest.raises(InputError, match=r"input 'u' is 0\.3 throughout; .* excite the rig"):
        data(u=np.full(N, 0.3)).select("u", "y")
    with pytest.raises(InputError, match=r"output 'y' is 2 throughout; check that the actuator is enabled"):
        data(y=np.full(N, 2.0)).select("u", "y")


def test_holes_keep_the_longest_stretch():
    y = Y.copy()
    y[[100, 101, 400]] = np.nan
    pair = data(y=y).select("u", "y")
    assert len(pair) == 599
    assert pair.start == pytest.approx(0.401)
    assert "3 samples of 'y' are missing" in pair.warnings[0]
    assert np.isfinite(pair.output).all()


def test_mixed_rates():
    y = np.full(N, np.nan)
    y[::4] = Y[::4]
    with pytest.raises(InputError, match="value in one of 4 samples only: mixed sample rates"):
        data(y=y).select("u", "y")
    with pytest.raises(InputError, match=r"u 1000, y 500 samples; were they recorded at different rates"):
        data(y=Y[::2])
    assert "changes only every 5 samples" in data(y=np.repeat(Y[::5], 5)).select("u", "y").warnings[0]


def test_clipped():
    pair = data(y=np.clip(Y, -0.6, 0.6)).select("u", "y")
    assert len(pair.warnings) == 1
    assert "output 'y' stays at" in pair.warnings[0]
    assert "widen the sensor's range" in pair.warnings[0]
    assert "input 'u' stays at 0.9" in data(u=np.minimum(U, 0.9)).select("u", "y").warnings[0]


RNG = np.random.default_rng(5)
STEPS = np.repeat(RNG.choice([-1.0, 1.0], 50), 20)


@pytest.mark.parametrize(
    "signal",
    [
        U,
        U + 0.01 * RNG.normal(size=N),
        np.round(U * 64) / 64,  # coarse quantisation dwells at its peaks
        np.round(np.sin(2 * np.pi * 0.7 * T + 0.2) * 2048) / 2048,
        STEPS,  # a binary sequence lives at its extremes
        np.concatenate((np.zeros(300), 1 - np.exp(-np.arange(5000) / 20))),  # rest, then settling to rounding
        np.concatenate((np.zeros(200), U, np.zeros(200))),
    ],
)
def test_what_is_not_clipped(signal):
    assert clipping(signal) is None


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_clipping_counts_the_samples(level):
    wave = np.sin(2 * np.pi * 1.3 * np.arange(5000) * 1e-3 + 0.1)
    extreme, run, part = clipping(np.minimum(wave, level))
    assert extreme == level
    assert part == np.mean(wave >= level)
    # A sine is above a level for (π − 2 asin level)/(2π f).
    assert run == pytest.approx((np.pi - 2 * np.arcsin(level)) / (2 * np.pi * 1.3) * 1e3, abs=1.01)


def test_noise_is_not_held():
    assert held(U + 0.01 * RNG.normal(size=N)) == 1
    assert held(np.round(U * 10)) == 1


@pytest.mark.parametrize("hold", [5, 25])
def test_a_command_in_steps_is_no_slow_recording(hold):
    steps = np.repeat(np.random.default_rng(hold).normal(size=200), hold)
    late = np.convolve(steps, np.exp(-np.arange(400) / 20) / 20)[: steps.size]
    pair = Data.from_arrays({"u": steps, "y": late}, rate=1000).select("u", "y")
    assert not pair.warnings
    assert not contents_of(measured(u=steps)).channels[0].doubts
    # A smooth signal that holds is asked about, as input and as output; a motion in steps is as well.
    smooth = np.repeat(np.sin(0.2 * np.arange(200)), hold)
    said = Data.from_arrays({"u": smooth, "y": late}, rate=1000).select("u", "y").warnings[0]
    assert f"was it recorded {hold} times slower and held?" in said
    assert "and no command in steps" in said
    assert "a command in steps, or recorded" in contents_of(measured(u=smooth)).channels[0].doubts[0]
    noisy = Data.from_arrays({"u": late, "y": steps}, rate=1000).select("u", "y").warnings
    assert any(f"output 'y' changes only every {hold} samples" in w for w in noisy)


def test_steps_that_hold_on_are_no_slow_recording():
    """Levels of a slow wave, most of them held for several periods: changes are rare."""
    levels = np.repeat(np.round(np.sin(0.15 * np.arange(60)), 2), RNG.integers(1, 5, 60))
    assert held(np.repeat(levels, 10)) == 10
    assert slowly_held(np.repeat(levels, 10)) == 1


def measured(**channels):
    found = Measurements("a", "table")
    found.channels.update(channels)
    found.units.update(dict.fromkeys(channels, ""))
    return found


def test_data_do_not_change():
    with pytest.raises(ValueError, match="read-only"):
        data()["u"][0] = 3.0


def test_between():
    part = data().between(0.1, 0.2)
    assert len(part) == 101
    assert part.time[0] == pytest.approx(0.1)
    np.testing.assert_array_equal(part["u"], U[100:201])
    np.testing.assert_array_equal(data().between("100 ms", "0.2 s")["u"], part["u"])
    for edges in (("100 mm", 0.2), (0.1, "0.2 Hz"), (0.1, float("nan"))):
        with pytest.raises(InputError, match=r"between\((start|end)\): expected"):
            data().between(*edges)


@pytest.mark.parametrize(
    ("rate", "words"),
    [("1 ms", "found a time, '1 ms'; a sample every 1 ms is rate=1000"), ("5 kg", "quantity in Hz")],
)
def test_a_rate_is_a_frequency(tmp_path, rate, words):
    np.savez(tmp_path / "a.npz", u=U, y=Y)
    with pytest.raises(InputError, match=words):
        read_data(tmp_path / "a.npz", rate=rate)
    assert read_data(tmp_path / "a.npz", rate="1 kHz").sample_period == 1e-3
    with pytest.raises(InputError, match="quantity in s"):
        Data.from_arrays({"u": U}, sample_period="5 Hz")


def test_a_time_in_kilograms_is_refused(tmp_path):
    write_csv(tmp_path / "a.csv", T, (U, Y), "time [kg],u,y")
    with pytest.raises(InputError, match=r"unit of the time 'time'.*in s"):
        read_data(tmp_path / "a.csv")


def test_rates_of_a_file_that_do_not_agree_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", u=U, y=Y, dt=1e-3, fs=50.0)
    with pytest.raises(InputError, match=r"do not agree: dt = 0.001 \(1000 Hz\), fs = 50"):
        read_data(tmp_path / "a.npz")
    assert read_data(tmp_path / "a.npz", rate=1000).sample_period == 1e-3
    np.savez(tmp_path / "b.npz", u=U, y=Y, dt=0.0083, fs=120.0)
    assert read_data(tmp_path / "b.npz").sample_period == pytest.approx(1 / 120, rel=0.01)


@pytest.mark.parametrize(
    ("size", "period", "words"),
    [
        (1e308, 1e-3, "goes to 1e+308, which nothing measures"),
        (1e-308, 1e-3, "which nothing measures"),
        (1.0, 1e297, "the samples are 1e+297 s apart; expected 1e-12 to 1e"),
        (1.0, 1e-300, "the samples are 1e-300 s apart"),
    ],
)
def test_numbers_that_nothing_measures_are_refused(tmp_path, size, period, words):
    file = tmp_path / "huge.csv"
    rows = (f"{k * period!r},{size * (-1) ** (k // 7)!r},{size * (-1) ** (k // 5)!r}" for k in range(400))
    file.write_text("time [s],command,measured\n" + "\n".join(rows) + "\n")
    with pytest.raises(InputError) as found:
        read_data(file).select("command", "measured")
    assert words in str(found.value)


def test_residuals_that_never_die_out_have_a_covariance(monkeypatch):
    """The filter that whitens an offset, (1, -1), is 0 at the frequency 0."""
    from bondloop.identify import least_squares as confidence

    monkeypatch.setattr(confidence, "autoregression", lambda _: np.array([1.0, -1.0]))
    n = np.arange(2000.0)
    e = np.sin(0.3 * n) + 0.1 * n
    spread = confidence.covariance((np.cos(0.02 * n) + 1.0)[None, :], e, white=False)
    assert np.isfinite(spread).all()
    assert spread[0, 0] >= 0
