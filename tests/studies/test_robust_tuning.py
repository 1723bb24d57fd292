"""Settings over uncertain rigs: against a search by hand, and the same with the same seed."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from bondloop.engine.ir.expr import Var, function
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.tick_numbers import placed
from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators, wagg_three_mass
from bondloop.studies.figures import exceedance_curves, overlay, tornado, trade_off
from bondloop.studies.robust_tuning import Setting, tune_over
from bondloop.studies.sensitivity_study import sensitivity

MASS = "rig.transfer.mass.mass"


class Closed(SimpleNamespace):
    """A test of one channel, an expression of its parameters."""

    def with_values(self, values):
        parameters = {v: placed(v.name, values.get(v.name, x)) for v, x in self.tick.parameters.items()}
        changed = Tick(
            **{n: getattr(self.tick, n) for n in ("name", "period", "time", "count", "inputs", "states")},
            parameters=parameters, steps=(), channels=self.tick.channels, bounds=self.tick.bounds,
        )  # fmt: skip
        return Closed(tick=changed, period=0.1, tables={}, seconds=0.1)


def closed():
    """y = |s - a|, with a limit of 1; z = s: what is best for y in the quantile is known by hand."""
    s, a = Var("s"), Var("a")
    channels = (Channel("y", function("fabs", s - a)), Channel("z", s))
    values = {s: 0.9, a: 0.0}
    tick = Tick("closed", 0.1, Var("t"), Var("k"), (), {}, values, (), channels, {"y": 1.0})
    return Closed(tick=tick, period=0.1, tables={}, seconds=0.1)


MEASURES = ("largest:y", "largest:0 - z")


def test_it_finds_the_best_in_the_quantile():
    """For a uniform from 0 to 1 the 95 % quantile of abs(s - a) is least at s = 1/2, and 0.475 there."""
    found = tune_over(
        closed(), {"s": (-2.0, 3.0)}, {"a": "uniform(0, 1)"}, measures=MEASURES, samples=256, generations=20
    )
    assert found.best.values["s"] == pytest.approx(0.5, abs=0.02)
    assert found.best.quantiles["largest:y"] == pytest.approx(0.475, abs=0.02)
    assert found.own.values == {"s": 0.9}
    assert found.own.quantiles["largest:y"] == pytest.approx(0.85, abs=0.01)
    # Beyond s = 1 there are rigs with y above its limit: they stop, and so many that the quantile does.
    assert any(math.isinf(s.quantiles["largest:y"]) and s.stopped > 0.05 for s in found.tried)
    assert found.test.tick.parameters.values() == pytest.approx([found.best.values["s"], 0.0])
    assert len(found.before) == len(found.after) == 2048


def test_the_trade_off_is_what_none_is_better_than():
    found = tune_over(
        closed(), {"s": (0.0, 1.5)}, {"a": "uniform(0, 1)"}, measures=MEASURES, samples=64, generations=6
    )
    front = found.trade_off
    ran = [s for s in found.tried if all(map(math.isfinite, s.quantiles.values()))]
    for one in front:
        assert not any(other.better(one) for other in ran)
    for one in ran:
        assert any(other.better(one) or other.quantiles == one.quantiles for other in front)
    # A larger s makes the second smaller: it runs from the best to where tests begin to stop.
    assert min(s.values["s"] for s in front) == pytest.approx(0.5, abs=0.05)
    assert "trade-off of largest:y and largest:0 - z" in str(found)


def test_the_same_seed_finds_the_same():
    def find(seed):
        return tune_over(
            wagg_three_mass.test(), {"controller.alpha": (10.0, 1000.0)}, {MASS: "normal(1, 5%)"},
            samples=8, generations=2, seconds=0.5, seed=seed,
        )  # fmt: skip

    one, two, other = find(1), find(1), find(2)
    assert [s.values for s in one.tried] == [s.values for s in two.tried]
    assert one.best == two.best
    assert [s.values for s in one.tried] != [s.values for s in other.tried]
    # In decades: half of the first generation lies below the geometric mean.
    below = sum(s.values["controller.alpha"] < 100 for s in one.tried[1:8])
    assert 2 <= below <= 5


@pytest.mark.parametrize("generations", [0, 2])
def test_interrupted_it_keeps_what_was_tried(generations):
    """Ctrl-C within a generation: the generations before it count; before the first there is nothing."""

    def stop(done, _):
        if done > generations * 8 * 16:
            raise KeyboardInterrupt

    def find(**options):
        return tune_over(
            closed(), {"s": (0.0, 1.0)}, {"a": "uniform(0, 1)"}, measures=MEASURES, samples=16, **options
        )

    if not generations:
        with pytest.raises(KeyboardInterrupt):
            find(progress=stop)
        return
    found = find(progress=stop)
    assert found.interrupted
    assert str(found).startswith("interrupted, best of 16 settings")
    whole = find(generations=generations - 1)
    assert not whole.interrupted
    assert found.best == whole.best


def test_better_is_better_in_something_and_worse_in_nothing():
    a, b, c = (Setting({}, {"error": e, "limit": m}, 0.0) for e, m in ((1, 2), (1, 3), (2, 1)))
    assert a.better(b)
    assert not b.better(a)
    assert not a.better(c)
    assert not c.better(a)
    assert not a.better(a)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"settings": {"controller.alfa": (1, 2)}}, "unknown parameter 'controller.alfa'"),
        ({"settings": {"controller.alpha": (2, 1)}}, "smaller end first"),
        ({"settings": {"controller.alpha": 3}}, "expected two ends"),
        ({"settings": {}}, "nothing is varied"),
        ({"settings": {MASS: (0.5, 2.0)}}, "either set or uncertain"),
        ({"settings": {"numerical.m1.I.mass": (-1.0, 2.0)}}, "reaches -1"),
        ({"share": 1.0}, "between 0 and 1"),
        ({"samples": 0}, "whole number"),
        ({"generations": 1.5}, "whole number"),
        ({"measures": ("trip",)}, "no trip"),
        ({"measures": ()}, "at least one"),
    ],
)
def test_what_is_wrong_is_told(change, words):
    given = {
        "settings": {"controller.alpha": (10, 1000)}, "distributions": {MASS: "normal(1, 5%)"}, "seconds": 0.1
    } | change  # fmt: skip
    with pytest.raises(InputError, match=words):
        tune_over(wagg_three_mass.test(), **given)


def test_figures(tmp_path):
    test = gawthrop_two_actuators.test()
    varied = {"excitation.scale": "uniform(5, 40)"}
    found = tune_over(
        test, {"controller.transfer[0].damper.damping": (100.0, 200.0)}, varied,
        samples=8, generations=1, seconds=0.5,
    )  # fmt: skip
    trade_off(found, path=tmp_path / "a.png")
    figure = exceedance_curves({"before": found.before, "after": found.after}, "limit")
    line = figure.axes[0].lines[0]
    ended = found.before["limit"][~found.before.stopped]
    assert (line.get_xdata()[0], line.get_xdata()[-1]) == (ended.min(), ended.max())
    runs = found.before.histories(test, "limit", "worst, best")
    axes = overlay(runs, "force[0]", limit=500.0, path=tmp_path / "b.png").axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), runs["worst 1"]["force[0]"])
    indices = sensitivity(
        test, varied | {"numerical.mn1.I.mass": "normal(2.2, 5%)"}, 16, ("limit",), seconds=0.2
    )
    axes = tornado(indices, path=tmp_path / "c.png").axes[0]
    largest = max(indices.total["limit"], key=lambda name: indices.total["limit"][name].value)
    assert axes.get_yticklabels()[-1].get_text() == largest
    for name in "abc":
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
    with pytest.raises(InputError, match="unknown channel"):
        overlay(runs, "forces")
    for draw, nothing in ((overlay, ({}, "x")), (exceedance_curves, ({}, "x"))):
        with pytest.raises(InputError, match="there are no"):
            draw(*nothing)
