"""The figures: what is on them, that they save, and that odd runs do not break them."""

import matplotlib as mpl
import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.results import Record, subspace, time_histories
from bondloop.results.figures.histories import gains
from bondloop.results.figures.layout import page
from bondloop.results.figures.run import RunPlots, overview
from bondloop.results.figures.spectra import amplitude_spectrum, draw_spectrum

T = np.arange(3000) * 1e-3
W = 2 * np.pi * 5
PAIRS = {"actuator 1": ("z1", "x1"), "actuator 2": ("z2", "x2")}


def record(**changes):
    channels = {
        "z1": 0.008 * np.sin(W * T),
        "x1": 0.008 * np.sin(W * (T - 0.004)),
        "z2": 2.0 * np.sin(0.6 * W * T),
        "x2": 2.1 * np.sin(0.6 * W * T),
        "mcs.K": T,
        "F": 1e4 * np.sin(W * T),
    }
    units = {"z1": "m", "x1": "m", "z2": "m/s", "x2": "m/s", "F": "N"}
    return Record(T, channels | changes, units, attributes={"status": "completed"})


def test_no_global_setting_is_touched(tmp_path):
    before = dict(mpl.rcParams)
    RunPlots(record(), PAIRS, ["mcs.K"]).overview(path=tmp_path / "a.svg")
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
@pytest.mark.parametrize("figure", ["subspace", "histories", "gains", "spectra", "overview"])
def test_every_figure_saves_in_every_format(tmp_path, figure, ending):
    path = tmp_path / f"figure.{ending}"
    getattr(RunPlots(record(), PAIRS, ["mcs.K"], title="a $ test_of"), figure)(path=path)
    start = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[ending]
    assert path.read_bytes().startswith(start)


def test_where_a_figure_cannot_be_saved(tmp_path):
    with pytest.raises(InputError, match=r"end the name in \.svg, \.pdf or \.png"):
        gains(record(), ["mcs.K"], path=tmp_path / "a.bmp")
    with pytest.raises(InputError, match="no folder"):
        gains(record(), ["mcs.K"], path=tmp_path / "b" / "a.png")


def test_histories_have_units_and_one_time_axis():
    figure = time_histories(record(), {"one": ("z1", "x1"), "force": ["F"], "mixed": ["z1", "F"]})
    assert [axes.get_ylabel() for axes in figure.axes] == ["displacement [mm]", "force [kN]", ""]
    assert [text.get_text() for text in figure.axes[2].get_legend().get_texts()] == ["z1 [m]", "F [N]"]
    assert figure.axes[-1].get_xlabel() == "time [s]"
    desired, actual = figure.axes[0].get_lines()
    assert desired.get_linestyle() != actual.get_linestyle()  # told apart in black and white too
    assert np.abs(desired.get_ydata()).max() == pytest.approx(8.0, rel=1e-4)  # 8 mm
    assert len(time_histories(record()).axes) == 6  # every channel by itself


def test_subspace_is_square_with_its_diagonal_and_numbers():
    figure = RunPlots(record(), PAIRS).subspace()
    assert len(figure.axes) == 2
    for axes in figure.axes:
        assert axes.get_aspect() == 1.0
        assert axes.get_xlim() == axes.get_ylim()
        diagonal = axes.get_lines()[0]
        np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    # 2 sin(ωτ/2) = 12.6 % for 4 ms at 5 Hz; |2.1/2 - 1| = 5 %
    notes = [axes.texts[0].get_text() for axes in figure.axes]
    assert notes[0] == "NRMSE 12.6 %, delay 4.0 ms"
    assert notes[1].startswith("NRMSE 5.00 %, delay")
    assert figure.axes[1].get_xlabel() == "desired [m/s]"


def test_four_actuators_take_two_rows():
    assert len(subspace([T] * 4, [T] * 4, titles=list("abcd")).axes) == 4
    with pytest.raises(InputError, match="2 desired and 1 actual"):
        subspace([T, T], [T])
    with pytest.raises(InputError, match="1 titles for 2"):
        subspace([T, T], [T, T], titles=["a"])


def test_spectrum_reads_amplitudes_and_ends_above_the_noise():
    frequency, amplitude = amplitude_spectrum(3 * np.sin(W * T), 1e-3)
    assert amplitude[np.argmin(np.abs(frequency - 5))] == pytest.approx(3.0, rel=1e-9)
    noise = 1e-3 * np.random.default_rng(0).standard_normal(T.size)
    axes, other = page(2.7).subplots(2)
    draw_spectrum(axes, np.sin(W * T), np.sin(W * T) + noise, 1e-3, "m")
    assert 5 < axes.get_xlim()[1] < 50
    assert axes.get_xlabel() == "frequency [Hz]"
    draw_spectrum(other, T, T, 1e-3, "m", 40.0)
    assert other.get_xlim()[1] == 40.0


def test_a_long_record_is_thin_on_paper_and_keeps_its_spike():
    n = 400_000
    t = np.arange(n) * 1e-3
    x = np.sin(W * t) + 0.3 * np.random.default_rng(0).standard_normal(n)
    x[123_457] = 9.0
    long = Record(t, {"z": np.sin(W * t), "x": x}, {"z": "m", "x": "m"})
    axes = time_histories(long, {"a": ("z", "x")}).axes[0]
    line = axes.get_lines()[1].get_ydata()
    assert line.size < 20_000
    assert line.max() == 9.0
    assert len(RunPlots(long, {"a": ("z", "x")}).subspace().axes[0].get_images()) == 1


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(T.size),
        np.full(T.size, np.nan),
        np.where(T < 2, T, np.inf),
        1e-3 * np.exp(230 * T),
        np.full(T.size, 1e-320),
    ],
    ids=["zero", "nan", "infinite", "huge", "tiny"],
)
def test_odd_runs_are_drawn_all_the_same(tmp_path, values):
    run = record(x1=values)
    RunPlots(run, PAIRS).overview(path=tmp_path / "a.png")
    RunPlots(run, PAIRS).histories(path=tmp_path / "b.png")
    RunPlots(run, PAIRS).subspace(path=tmp_path / "c.png")


def test_a_diverged_run_says_so_on_the_page():
    run = Record(T, {"z": T, "x": T}, attributes={"status": "diverged", "message": "x left ±150 mm"})
    figure = time_histories(run, [("z", "x")])
    assert figure.get_suptitle() == "diverged at t = 2.999 s: x left ±150 mm"
    assert "diverged: x left ±150 mm" in overview(run, {"a": ("z", "x")}, title="t").get_suptitle()


def test_what_cannot_be_drawn():
    with pytest.raises(InputError, match="unknown channel 'zz'"):
        time_histories(record(), [["zz"]])
    with pytest.raises(InputError, match="unknown channel 'K'"):
        gains(record(), ["K"])
    with pytest.raises(InputError, match="'z1' is in m, 'x2' in m/s"):
        overview(record(), {"a": ("z1", "x2")})
    with pytest.raises(InputError, match="a desired and an actual"):
        overview(record(), {"a": ("z1",)})
    with pytest.raises(InputError, match="no pairs"):
        RunPlots(record(), {}).subspace()
    with pytest.raises(InputError, match="no channels"):
        time_histories(record(), [])
