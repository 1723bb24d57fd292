"""The field's benchmark: its plant, the published table of the sample controller, what ours must reach."""

import numpy as np
import pytest

from bondloop import files
from bondloop.check.checking import check
from bondloop.cli.settings import find_test, length_of
from bondloop.errors import InputError
from bondloop.papers import silva_benchmark as paper
from bondloop.papers.silva_benchmark import NUMBERS, criteria, lag

PUBLISHED = {
    1: (4.6, 10.4, 11.5, 36.1, 19.0, 32.3, 32.4, 14.8, 14.8),
    2: (4.6, 9.8, 11.1, 33.1, 17.1, 30.5, 30.5, 15.3, 15.2),
    3: (4.6, 9.1, 10.2, 49.9, 36.7, 49.8, 49.8, 35.5, 35.6),
    4: (4.6, 10.5, 11.3, 72.6, 35.2, 68.5, 68.7, 33.4, 33.3),
}
"""Silva et al. 2020, El Centro at 40 %: J1 in ms, J2 to J9 in per cent."""

FLOOR_J2 = {1: 2.56, 2: 2.39, 3: 1.58, 4: 2.00}
"""What J2 would be if the rig moved exactly as it should: the sensor's noise over the desired motion."""


@pytest.fixture(scope="module")
def found():
    runs = {}

    def of(controller, case, **options):
        key = (controller, case, *options.items())
        if key not in runs:
            runs[key] = criteria(paper.test(case, controller, **options).run(paper.SECONDS))
        return runs[key]

    return of


def test_the_nominal_plant_has_the_poles_and_delays_of_the_benchmark():
    """Poles -48.2, -184 ± 230j, -8.0 ± 422j; gain 1.0075; 24.96, 22.7, 19.0 ms late at 1, 5, 10 Hz."""
    process = paper.Plant().process()
    poles = np.sort_complex(np.roots(process.denominator))
    assert poles.real == pytest.approx([-184, -184, -48.2, -8.0, -8.0], rel=5e-3)
    assert np.abs(poles.imag) == pytest.approx([230, 230, 0, 422, 422], rel=5e-3)
    assert process.numerator[0] == pytest.approx(1.0075, rel=1e-4)
    for f, delay in ((1, 24.96e-3), (5, 22.7e-3), (10, 19.0e-3)):
        response = process.numerator[0] / np.polyval(process.denominator, 2j * np.pi * f)
        assert -np.angle(response) / (2 * np.pi * f) == pytest.approx(delay, rel=3e-3)


def test_the_plant_in_the_loop_is_that_process():
    """The bond graph of servo and specimen, compiled, against the polynomial written by hand."""
    whole = paper.actuator()
    whole.specimen = paper.model().cut("floors[0] >> specimen")[1]
    physical = paper.test(1, "none").rig_system
    space = physical.system.linearise()
    poles = np.sort_complex(space.poles())
    expected = np.sort_complex(np.roots(paper.Plant().process().denominator))
    moving = poles[np.abs(poles) > 1e-6]
    assert moving == pytest.approx(expected, rel=1e-6)


def test_without_compensation_the_loop_is_unstable():
    for case in paper.CASES:
        assert not check(paper.test(case, "none"), 2.0).passed


@pytest.mark.parametrize("case", paper.CASES)
def test_the_sample_controller_reproduces_the_published_table(found, case):
    """Within 0.6 points: J3 and J5 are peaks of what the noise makes, and its draw is another one."""
    ours = found("sample", case)
    for (name, number), published in zip(NUMBERS.items(), PUBLISHED[case], strict=True):
        assert ours[name] == pytest.approx(published, abs=0.6), (number, name)


@pytest.mark.parametrize("case", paper.CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_adaptive_ones_reach_the_noise_floor(found, case, seed):
    """One setting for all: |J1| at most 0.5 ms, J2 and J4 at most 1.1 of J2's floor, J6 and J7 0.5 %."""
    ours = found("amb", case, seed=seed)
    assert abs(ours["delay_ms"]) <= 0.5
    assert ours["tracking_rms_percent"] <= 1.1 * FLOOR_J2[case]
    assert ours["floor_1_rms_percent"] <= 1.1 * FLOOR_J2[case]
    assert ours["floor_2_rms_percent"] <= 0.5
    assert ours["floor_3_rms_percent"] <= 0.5


def test_plants_that_differ_are_followed_as_well(found):
    nominal = found("amb", 4, seed=1)
    for number in (3, 5):
        other = found("amb", 4, plant=number)
        for name in ("tracking_rms_percent", "floor_1_rms_percent", "floor_2_rms_percent"):
            assert other[name] <= nominal[name] + 0.3


@pytest.mark.parametrize("case", [1, 4])
@pytest.mark.parametrize("name", ["ats", "cats", "fir", "two-stage"])
def test_others_that_adapt_reach_the_noise_floor_too(found, name, case):
    ours = found(name, case)
    assert abs(ours["delay_ms"]) <= 0.5
    assert ours["tracking_rms_percent"] <= 1.1 * FLOOR_J2[case]
    assert ours["floor_1_rms_percent"] <= 1.1 * FLOOR_J2[case]
    assert ours["floor_2_rms_percent"] <= 0.3


@pytest.mark.parametrize(
    ("name", "floor_1", "floor_2"),
    [("adaptive-prediction", 5.6, 5.0), ("sliding", 3.0, 1.6), ("smith", 3.4, 1.8)],
)
def test_what_the_rest_of_the_field_comes_to(found, name, floor_1, floor_2):
    """Bounds a little above what was measured in case 4; the sample controller has 72 and 68 %."""
    ours = found(name, 4)
    assert ours["floor_1_rms_percent"] <= floor_1
    assert ours["floor_2_rms_percent"] <= floor_2


@pytest.mark.parametrize("name", ["cats", "fir", "two-stage", "adaptive-prediction", "sliding", "smith"])
def test_they_can_be_checked_and_written_down(name, tmp_path):
    """The check of the prediction once met numbers beyond all floats, beside poles of its long history."""
    test = paper.test(4, name)
    files.to_toml(test, tmp_path / "mine.toml")
    assert files.load(tmp_path / "mine.toml") == test
    assert check(test, 10.0).passed


def test_the_whole_frame_is_the_same_whatever_stands_on_the_rig():
    a, b = (paper.model(2, k).compile().poles() for k in (paper.STIFFNESS, 1.3 * paper.STIFFNESS))
    slow = [np.sort(np.abs(p[np.abs(p) < 300].imag)) for p in (a, b)]
    assert slow[0][-6:] == pytest.approx(slow[1][-6:], rel=1e-4)


def test_plants_are_drawn_alike_each_time_and_as_the_benchmark_says():
    many = [paper.Plant.numbered(n) for n in range(1, 4001)]
    assert paper.Plant.numbered(7) == paper.Plant.numbered(7)
    for word, mean, spread in (
        ("a3", 3.3, 1.3),
        ("b1", 425, 3.3),
        ("b2", 9.9976e4, 3.3e3),
        ("stiffness", 1.19e6, 5e4),
    ):
        values = np.array([getattr(p, word) for p in many])
        assert values.mean() == pytest.approx(mean, abs=4 * spread / 4000**0.5)
        assert values.std() == pytest.approx(spread, rel=0.05)


def test_lags_are_found_to_the_sample():
    x = np.random.default_rng(4).normal(size=5000).cumsum()
    for shift in (-37, 0, 12, 80):
        assert lag(x[200 - shift : 4200 - shift], x[200:4200], 0.001) == pytest.approx(shift * 0.001)


def test_options_from_the_command_line(tmp_path):
    record = tmp_path / "mine.csv"
    record.write_text(
        "time [s],acceleration [m/s2]\n" + "".join(f"{0.01 * i},{np.sin(i / 7)}\n" for i in range(300))
    )
    test, module = find_test(
        "silva-benchmark",
        ["case=3", "controller=ats", f"record={record}", "scale=0.2", "plant=7", "noise=false"],
    )
    assert module is paper
    assert test.name == "silva_benchmark_3"
    assert test.excitation["ground"]([0.11]) == pytest.approx(0.2 * np.sin(11 / 7))
    with pytest.raises(InputError, match="unknown controller 'atz'"):
        find_test("silva-benchmark", ["controller=atz"])
    with pytest.raises(InputError, match="case must be 1, 2, 3 or 4"):
        find_test("silva-benchmark", ["case=5"])
    with pytest.raises(InputError, match="plant must be 0"):
        find_test("silva-benchmark", ["plant=-1"])


@pytest.mark.parametrize(
    "options",
    [{"case": True}, {"plant": float("nan")}, {"plant": "x"}, {"record": 5}, {"controller": None},
     {"controller": []}, {"noise": "false"}],
)  # fmt: skip
def test_silly_options_are_refused_in_words(options):
    with pytest.raises(InputError, match=f"{next(iter(options))}"):
        paper.test(**options)


def test_no_plant_leaks_upwards():
    assert min(paper.Plant.numbered(n).a3 for n in range(1, 1000)) > 0  # 316, 755, 865, 898 were drawn so


def test_a_longer_record_is_run_to_its_end(tmp_path):
    record = tmp_path / "late.txt"
    t = np.arange(0, 90, 0.01)
    np.savetxt(record, np.c_[t, np.where(t > 60, np.sin(6 * t), 0)], header="time [s] acceleration [m/s2]")
    test, module = find_test("silva-benchmark", [f"record={record}"])
    assert length_of(test, module, None) == pytest.approx(89.99)
    assert length_of(test, module, 5.0) == 5.0
    test, module = find_test("silva-benchmark", [])
    assert length_of(test, module, None) == 41.0


def test_beyond_what_the_rig_can_do_a_run_stops():
    """At three times the benchmark's own scale the stroke of 7 mm is passed."""
    run = paper.test(4, "amb", scale=1.2).run(10.0)
    assert not run.completed


def test_a_frame_that_does_not_move_has_no_errors_to_speak_of():
    values = criteria(paper.test(1, "sample", scale=0.0).run(0.5))
    assert np.isnan(values["floor_2_rms_percent"])
