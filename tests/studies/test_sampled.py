"""Many rehearsals drawn from distributions: the drawn numbers, the measures, the probabilities."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.engine.ir.expr import Var
from bondloop.errors import BondloopError, InputError
from bondloop.papers import gawthrop_two_actuators, silva_benchmark, wagg_three_mass
from bondloop.studies import Sampled, sample
from bondloop.studies.campaign import Interrupted, has_parquet
from bondloop.studies.distributions import Distribution, distribution
from bondloop.studies.figures import differs, exceedance
from bondloop.studies.tick_measures import Measure, measuring, named_measure

MASS, SPRING = "rig.transfer.mass.mass", "rig.transfer.spring.stiffness"


def test_distributions_have_their_moments():
    shares = (np.arange(200_000) + 0.5) / 200_000
    normal = distribution("normal(3 mm, 10 %)").at(shares)
    assert normal.mean() == pytest.approx(3e-3, rel=1e-9)
    assert normal.std() == pytest.approx(0.3e-3, rel=1e-4)
    uniform = distribution("uniform(1, 4)").at(shares)
    assert (uniform.min(), uniform.max()) == pytest.approx((1, 4), abs=1e-4)
    assert uniform.var() == pytest.approx(9 / 12, rel=1e-6)
    logarithm = np.log(distribution("lognormal(2, 0.3)").at(shares))
    assert logarithm.mean() == pytest.approx(math.log(2), rel=1e-9)
    assert logarithm.std() == pytest.approx(0.3, rel=1e-4)
    # A normal one cut at one deviation on both sides has variance 1 - 2 pdf(1)/(2 cdf(1) - 1) = 0.2911.
    cut = distribution("truncated(normal(0, 1), -1, 1)").at(shares)
    assert cut.var() == pytest.approx(0.29112, rel=1e-4)
    assert np.abs(cut).max() <= 1


@given(
    st.sampled_from(["normal", "uniform", "lognormal"]), st.floats(0.1, 10), st.floats(0.01, 3),
    st.floats(-5, 5), st.floats(0.1, 5),
)  # fmt: skip
def test_a_distribution_reads_back_and_stays_inside(kind, first, width, low, more):
    second = first + width if kind == "uniform" else width
    try:
        whole = Distribution(kind, first, second, low, low + more)
    except InputError:
        return
    values = whole.at(np.linspace(0, 1, 101)[1:-1])
    assert (np.diff(values) >= 0).all()
    assert values.min() >= low
    assert values.max() <= low + more


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("normal", "expected a distribution such as"),
        ("gamma(1, 2)", "unknown distribution 'gamma'"),
        ("normal(1)", "takes 2 values"),
        ("normal(1, 0)", "standard deviation above 0"),
        ("uniform(2, 1)", "smaller end first"),
        ("uniform(2, 5 %)", "not shares"),
        ("lognormal(-1, 0.1)", "median above 0"),
        ("truncated(normal(0, 1), 50, 60)", "nothing of it"),
        ("normal(1e999, 1)", "finite"),
        ("whole(1, 2.5)", "expected whole numbers"),
        ("truncated(whole(1, 9), 2, 3)", "not cut off"),
    ],
)
def test_what_is_no_distribution_is_told(text, words):
    with pytest.raises(InputError, match=words):
        distribution(text)


def test_measures_on_the_way_are_those_of_the_record():
    test = wagg_three_mass.test()
    x, y = Var("desired.displacement"), Var("actual.displacement")
    measures = {
        "error": named_measure("error", test.tick),
        "spread": Measure("largest", y - x),
        "least": Measure("smallest", y),
        "mean": named_measure("mean:force", test.tick),
        "peak": named_measure("peak:command", test.tick),
        "last": named_measure("last:actual.velocity", test.tick),
        "when": Measure("first", y > 0.1),
    }
    found = sample(test, {MASS: "uniform(0.9, 1.1)"}, 5, measures, seconds=3.0)
    for i, values in enumerate(found.values):
        run = test.with_values({MASS: values[0]}).run(3.0)
        desired, actual = run["desired.displacement"], run["actual.displacement"]
        expected = {
            "error": np.sqrt(np.mean((actual - desired) ** 2) / np.mean(desired**2)),
            "spread": (actual - desired).max(),
            "least": actual.min(),
            "mean": run["force"].mean(),
            "peak": np.abs(run["command"]).max(),
            "last": run["actual.velocity"][-1],
            "when": run.time[np.argmax(actual > 0.1)] if (actual > 0.1).any() else np.nan,
        }
        for name, value in expected.items():
            assert found[name][i] == pytest.approx(value, rel=1e-12, nan_ok=True), name


def test_measures_of_what_all_share_end_where_a_test_stops():
    """The ground's motion is the same for all, and its rms is that of the test's own time."""
    test = gawthrop_two_actuators.test().with_values({"excitation.scale": 40.0})
    found = sample(test, {"numerical.mn1.I.mass": "normal(1, 5%)"}, 3, ("rms:r1", "last:r1"), seconds=1.0)
    for i, row in enumerate(found.values):
        run = test.with_values({"numerical.mn1.I.mass": row[0]}).run(1.0)
        assert not run.completed
        assert found["rms:r1"][i] == pytest.approx(np.sqrt(np.mean(run["r1"] ** 2)), rel=1e-12)
        assert found["last:r1"][i] == run["r1"][-1]


def test_when_a_test_tripped_is_ranked_among_those_that_did():
    found = of_shares(3, 6)
    when = np.where(found.stopped, [0.3, 0.1, 0.2, 0, 0, 0], np.nan)
    timed = replace(found, measured={"trip_time": when, "trip": found.stopped.astype(float)})
    assert timed.quantile("trip_time", 0.5) == 0.2
    assert [w["a"] for w in timed.worst("trip_time", 2)] == [0.2, 0.4]
    assert timed.quantile("trip", 1.0) == 1.0
    assert differs(timed) == {"trip_time": pytest.approx(when, nan_ok=True)}


@pytest.mark.parametrize("method", ["sobol", "latin", "random"])
def test_the_same_seed_gives_the_same_tests(method):
    test = wagg_three_mass.test()
    varied = {MASS: "normal(1, 5%)", SPRING: "lognormal(1, 0.1)"}
    one, two, other = (sample(test, varied, 24, seconds=0.2, method=method, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one["error"], two["error"])
    assert not np.array_equal(one.values, other.values)


def of_shares(happened, n):
    stopped = np.arange(n) < happened
    error = np.linspace(0, 1, n)
    return Sampled(
        {"a": Distribution("uniform", 0, 1)}, error[:, None], {"error": error}, stopped, {}, "lanes", 1.0
    )


def test_probabilities_have_their_interval():
    # Clopper and Pearson: 0 of n is below 1 - 0.025^(1/n); 5 of 50 lies between 3.33 and 21.81 %.
    assert of_shares(0, 100).probability() == pytest.approx((0, 0, 1 - 0.025**0.01), rel=1e-9)
    assert of_shares(5, 50).probability() == pytest.approx((0.1, 0.03328, 0.21813), rel=1e-3)
    assert of_shares(50, 50).probability().high == 1.0


def test_the_interval_holds_what_it_promises():
    # The true probability lies in it at least 95 times in a hundred, whatever it is.
    random = np.random.default_rng(7)
    for p in (0.01, 0.2, 0.5):
        inside = 0
        for k in random.binomial(60, p, 400):
            found = of_shares(int(k), 60).probability()
            inside += found.low <= p <= found.high
        assert inside / 400 >= 0.94


def test_a_test_that_stopped_is_the_worst():
    found = of_shares(2, 10)
    assert found.quantile("error", 1.0) == math.inf
    assert [w["a"] for w in found.worst("error", 3)] == [pytest.approx(1 / 9), 0.0, 1.0]
    assert found.quantile("error", 0.0) == pytest.approx(2 / 9)


def test_it_is_saved(tmp_path):
    found = replace(of_shares(1, 3), stopped_by=np.array(["force", "", ""], dtype=object))
    lines = found.save(tmp_path / "tests.csv").read_text().splitlines()
    assert lines == [
        "test,a,error,stopped,stopped_by", "0,0.0,0.0,True,force", "1,0.5,0.5,False,", "2,1.0,1.0,False,",
    ]  # fmt: skip


def test_a_full_disk_leaves_the_file_that_was_there(tmp_path, monkeypatch):
    path = of_shares(1, 3).save(tmp_path / "tests.csv")
    before = path.read_text()

    def full(scratch, _):
        scratch.write_text("test,a")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bondloop.studies.sampled.write_csv", full)
    with pytest.raises(BondloopError, match=r"cannot write .*tests\.csv: No space left on device"):
        of_shares(2, 4).save(path)
    assert path.read_text() == before
    assert [f.name for f in tmp_path.iterdir()] == ["tests.csv"]


def test_every_table_has_the_same_columns(tmp_path):
    test = gawthrop_two_actuators.test()
    found = sample(test, {"excitation.scale": "uniform(5, 60)"}, 8, ("limit",), seconds=0.5)
    names = ["test", "excitation.scale", "limit", "stopped", "stopped_by"]
    assert found.save(tmp_path / "t.csv").read_text().splitlines()[0] == ",".join(names)
    by = found.columns()["stopped_by"]
    assert {cause: by.tolist().count(cause) for cause in found.causes} == found.causes
    if has_parquet():
        from pyarrow import parquet

        kept = tmp_path / "k.parquet"
        sample(test, {"excitation.scale": "uniform(5, 60)"}, 8, ("limit",), seconds=0.5, keep=kept)
        for path in (kept, found.save(tmp_path / "t.parquet")):
            assert parquet.read_table(path).column_names == names


@pytest.mark.parametrize(
    ("distributions", "options", "words"),
    [
        ({}, {}, "nothing is varied"),
        ({"rig.mass": "normal(1, 1%)"}, {}, "unknown parameter 'rig.mass'"),
        ({MASS: "normal(1, 60%)"}, {"samples": 200}, "cut it off, truncated"),
        ({MASS: "normal(1, 1%)"}, {"samples": 2.5}, "whole number"),
        ({MASS: "normal(1, 1%)"}, {"samples": -3.0}, r"whole number from 1 to 1,073,741,824; found -3$"),
        ({MASS: "normal(1, 1%)"}, {"measures": ("eror",)}, "unknown measure 'eror'"),
        ({MASS: "normal(1, 1%)"}, {"measures": ("peak:x",)}, "unknown channel 'x'"),
        ({MASS: "normal(1, 1%)"}, {"method": "halton"}, "unknown method"),
        ({MASS: "normal(1 mm, 5%)"}, {}, "expected a quantity in kg"),
        ({MASS: "uniform(1 kg, 2 mm)"}, {}, "expected a quantity in kg"),
        ({MASS: 3}, {}, "expected a distribution"),
        ({MASS: "normal(1, 1%)"}, {"samples": 1e12}, "from 1 to"),
        ({MASS: "normal(1, 1%)"}, {"samples": "5"}, "from 1 to"),
        ({MASS: "normal(1, 1%)"}, {"seed": -1}, "from 0 to"),
        ({MASS: "normal(1, 1%)"}, {"measures": "error"}, "expected several names"),
        ({MASS: "normal(1, 1%)"}, {"measures": {"stopped": Measure("peak", Var("force"))}}, "rename it"),
        ({"rig.latency": "normal(1 ms, 1%)"}, {}, "decides how a test is built"),
    ],
)
def test_what_is_wrong_is_told(distributions, options, words):
    given = {"samples": 8, "seconds": 0.1} | options
    with pytest.raises(InputError, match=words):
        sample(wagg_three_mass.test(), distributions, **given)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"jobs": -3}, "jobs: expected a whole number from 1"),
        ({"backend": None}, "unknown backend 'None'"),
        ({"keep": "x.csv"}, "kept in a Parquet file, samples.parquet; found 'x.csv'"),
        ({"measures": {"trip": Measure("peak", Var("force"))}}, "a measure is called 'trip'"),
        ({"measures": {"trip_time": Measure("peak", Var("force"))}}, "a measure is called 'trip_time'"),
        ({"samples": 2**30}, "tests need about .* GB of memory"),
        ({"distributions": {"rig.seed": "whole(1, 9)"}}, "rig.seed: the rig of .* has no noise"),
    ],
)
def test_what_cannot_be_is_told_beforehand(options, words, monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 2**12 if name == "SC_PAGE_SIZE" else 2**22)  # 17 GB
    whole = {"distributions": {MASS: "normal(1, 5%)"}, "samples": 4, "seconds": 0.1, **options}
    with pytest.raises(InputError, match=words):
        sample(wagg_three_mass.test(), **whole)


def test_no_tests_are_told():
    def press(*_):
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stop:
        sample(wagg_three_mass.test(), {MASS: "normal(1, 5%)"}, 8, ("error",), seconds=0.1, progress=press)
    found = stop.value.sampled
    if not len(found):
        assert str(found) == "no test was done"
        assert found.worst("error") == []
        for ask in (found.probability, lambda: found.quantile("error", 0.5)):
            with pytest.raises(InputError, match="no test was done"):
                ask()
    none = replace(
        of_shares(0, 1), values=np.zeros((0, 1)), measured={"error": np.zeros(0)}, stopped=np.zeros(0, bool)
    )
    assert str(none) == "no test was done"
    with pytest.raises(InputError, match="no test was done"):
        none.probability()


def test_the_figure_of_a_time_has_a_curve_and_names_stay_in_their_columns():
    found = of_shares(3, 6)
    when = np.where(found.stopped, [0.3, 0.1, 0.2, 0, 0, 0], np.nan)
    long = "peak:max(abs(force[0] - force[1]), abs(force[1] + 2*force[0]))"
    figure = exceedance(replace(found, measured={"trip_time": when, long: found["error"]}))
    time, peak = figure.axes[1], figure.axes[4]
    np.testing.assert_allclose(time.lines[0].get_xydata(), [[0.1, 1 / 6], [0.2, 2 / 6], [0.3, 3 / 6]])
    assert len(peak.get_xlabel()) <= 26
    figure.canvas.draw()
    for axes in figure.axes:
        if axes.get_xlabel() == "rank correlation":
            continue
        boxes = [t.get_window_extent() for t in axes.get_xticklabels() if t.get_text()]
        assert all(a.x1 < b.x0 for a, b in pairwise(sorted(boxes, key=lambda box: box.x0)))


def test_values_that_hardly_differ_stand_whole_and_apart_on_their_axis():
    """Of a measure between 0.41249 and 0.41254 the offset of the axis was written over its name."""
    found = of_shares(0, 200)
    close = 0.41249 + 5e-5 * np.linspace(0, 1, 200)
    figure = exceedance(replace(found, measured={"limit": close, "error": close - 0.4077}))
    figure.canvas.draw()
    for axes in (figure.axes[0], figure.axes[1], figure.axes[3], figure.axes[4]):
        assert axes.xaxis.get_offset_text().get_text() == ""
        boxes = [t.get_window_extent() for t in axes.get_xticklabels() if t.get_text()]
        assert len(boxes) > 1
        assert all(a.x1 < b.x0 for a, b in pairwise(sorted(boxes, key=lambda box: box.x0)))


def test_a_measuring_tick_moves_as_before():
    test = wagg_three_mass.test()
    whole = measuring(test.tick, {"error": named_measure("error", test.tick)})
    assert whole.tick.channels == test.tick.channels
    assert set(test.tick.states.items()) < set(whole.tick.states.items())


def test_whole_numbers_are_each_as_likely():
    values = distribution("whole(3, 6)").at((np.arange(4000) + 0.5) / 4000)
    assert np.unique(values, return_counts=True)[1].tolist() == [1000] * 4


def test_seeds_of_noise_are_drawn():
    """Each seed is another noise, and the test that was made with it has the same."""
    test = silva_benchmark.test(4, "ats")
    found = sample(test, {"rig.seed": "whole(1, 1000)"}, 4, ("rms:measured.displacement",), seconds=1.0)
    assert len(np.unique(found["rms:measured.displacement"])) == len(np.unique(found.values))
    run = test.with_values(found.worst("rms:measured.displacement", 4)[0]).run(1.0)
    expected = np.sqrt(np.mean(run["measured.displacement"] ** 2))
    assert found["rms:measured.displacement"].max() == pytest.approx(expected, rel=1e-12)
    with pytest.raises(InputError, match="whole"):
        sample(test, {"rig.seed": "uniform(1, 9)"}, 4, seconds=0.1)


def test_what_stops_tests_is_told():
    # The stroke is 25 mm: a hundred times the excitation leaves it, a hundredth does not.
    test = gawthrop_two_actuators.test()
    found = sample(test, {"excitation.scale": "uniform(0.01, 200)"}, 32, ("trip", "trip_time"), seconds=4.0)
    for values, trip, when in zip(found.values, found["trip"], found["trip_time"], strict=True):
        run = test.with_values({"excitation.scale": values[0]}).run(4.0)
        assert run.completed == (not trip)
        assert math.isnan(when) if run.completed else when == pytest.approx(run.time[-1], abs=1e-9)
    assert 0 < found.probability().value < 1
    assert sum(found.causes.values()) == found.stopped.sum()
    assert all("displacement" in cause or "force" in cause for cause in found.causes)
