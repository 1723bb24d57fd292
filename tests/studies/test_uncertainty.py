"""What is drawn together: correlations, what identifications leave uncertain, files and texts."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, spearmanr

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.errors import InputError
from bondloop.identify import fit_bond_graph, fit_time
from bondloop.identify.process.process_fit import ModelStructure
from bondloop.papers import wagg_three_mass
from bondloop.studies import sample
from bondloop.studies.distributions import Correlated, Distribution, unit_points
from bondloop.studies.uncertainty import (
    UncertainProcess,
    Uncertainty,
    coefficients,
    from_identified,
    identified_file,
    read_uncertainty,
)
from bondloop.transfer import MassSpringDamper, second_order

MASS, SPRING = "rig.transfer.mass.mass", "rig.transfer.spring.stiffness"


def shares(dimensions, count=4096):
    return unit_points(dimensions, count, "sobol", 3)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 1000), n=st.integers(2, 5))
def test_normal_ones_have_the_covariance_that_was_asked_for(seed, n):
    random = np.random.default_rng(seed)
    root = random.normal(size=(n, n))
    covariance = root @ root.T
    deviation = np.sqrt(np.diag(covariance))
    names = [f"p{i}" for i in range(n)]
    mean = random.normal(size=n)
    whole = Correlated(
        {m: Distribution("normal", a, s) for m, a, s in zip(names, mean, deviation, strict=True)},
        covariance / np.outer(deviation, deviation),
    )
    values = whole.at(shares(n))
    np.testing.assert_allclose(values.mean(axis=1), mean, atol=3e-3 * deviation.max())
    scale = np.outer(deviation, deviation)
    np.testing.assert_allclose(np.cov(values) / scale, covariance / scale, atol=0.02)


def test_others_keep_their_own_distributions():
    whole = Correlated({"a": "uniform(2, 3)", "b": "lognormal(5, 20%)"}, -0.7)
    a, b = whole.at(shares(2))
    assert np.sort(a) == pytest.approx(2 + (np.arange(4096) + 0.5) / 4096, abs=0.02)
    assert np.log(b / 5).std() == pytest.approx(0.2, rel=0.01)
    # A Gaussian copula of correlation r has Spearman's 6/pi asin(r/2).
    assert spearmanr(a, b)[0] == pytest.approx(6 / np.pi * math.asin(-0.35), abs=0.01)


def test_alike_in_all_is_allowed():
    a, b = Correlated({"a": "normal(0, 1)", "b": "normal(0, 2)"}, 1.0).at(shares(2, 64))
    np.testing.assert_allclose(b, 2 * a, rtol=1e-6)


@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.9])
def test_the_probability_of_a_stop_is_that_of_the_distribution(correlation):
    """A sum of two normal ones is normal, of variance 2 + 2r: beyond its bound it stops."""
    a, b = Var("a"), Var("b")
    tick = Tick(
        "sum", 0.1, Var("t"), Var("k"), (), {}, {a: 0.0, b: 0.0}, (), (Channel("y", a + b),), {"y": 2.0}
    )
    test = SimpleNamespace(tick=tick, period=0.1, tables={}, seconds=0.1)
    both = Correlated({"a": "normal(0, 1)", "b": "normal(0.5, 1)"}, correlation)
    found = sample(test, {"": both}, 4096, ("last:y",))
    deviation = math.sqrt(2 + 2 * correlation)
    expected = norm.sf((2 - 0.5) / deviation) + norm.cdf((-2 - 0.5) / deviation)
    chance = found.probability()
    assert chance.low <= expected <= chance.high
    assert chance.value == pytest.approx(expected, abs=0.003)  # the sequence is even: better than by chance


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.eye(3), "2 by 2"),
        ([[1, 0.5], [0.4, 1]], "symmetric"),
        ([[2, 0.5], [0.5, 2]], "ones on the diagonal"),
        (1.5, "contradict each other"),
        ([[1, math.nan], [math.nan, 1]], "symmetric"),
        ("high", "expected a matrix"),
    ],
)
def test_what_is_no_correlation_is_told(matrix, words):
    with pytest.raises(InputError, match=words):
        Correlated({"a": "normal(0, 1)", "b": "normal(0, 1)"}, matrix)


@settings(deadline=None, max_examples=30)
@given(
    poles=st.integers(1, 5), zeros=st.integers(0, 2), delay=st.booleans(), pade=st.integers(1, 3),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_coefficients_are_those_of_the_model_itself(poles, zeros, delay, pade, seed):
    """Each row, by the way that builds one model: coordinates, polynomials, actuator."""
    kind = ModelStructure(poles, min(zeros, poles - 1), delay)
    random = np.random.default_rng(seed)
    theta = random.uniform(0.5, 2.0, (3, kind.size)) * 0.01
    told = [kind.reported(row)[0] for row in theta]
    above, below = coefficients(kind, {n: np.array([t[n] for t in told]) for n in told[0]}, pade)
    for i, row in enumerate(theta):
        model = kind.process(row)
        for name, value in model.actuator(pade).parameters.items():
            power = int(name[2:-1])
            own = -below[power][i] / below[-1][i] if name[0] == "a" else above[power][i] / below[-1][i]
            assert own == pytest.approx(value, rel=1e-9), name


@pytest.fixture(scope="module")
def fit():
    random = np.random.default_rng(4)
    u = np.cumsum(random.normal(size=3000)) * 1e-4
    y = second_order(1.0, 12.0, 0.7, 0.004).simulate(u, 1e-3) + 2e-4 * random.normal(size=3000)
    return fit_time(u, y, 1e-3, "G2D")


def test_an_identified_process_is_drawn_by_its_covariance(fit):
    drawn = from_identified(fit, pade=2)
    assert isinstance(drawn, UncertainProcess)
    values = drawn.at(shares(drawn.size))
    median = fit.process.actuator(2).parameters
    assert drawn.names == tuple(median)
    np.testing.assert_allclose(np.median(values, axis=1), list(median.values()), rtol=0.02)
    # What was drawn comes back: gain and frequency from the coefficients, with their covariance.
    b, a = dict(zip(drawn.names, values, strict=True)), list(fit.parameters)
    gain = -b["b[0]"] / b["a[0]"]
    i = a.index("gain")
    assert gain.mean() == pytest.approx(fit.parameters["gain"].value, rel=1e-3)
    assert gain.std() == pytest.approx(math.sqrt(fit.covariance[i, i]), rel=0.02)


def test_a_delay_that_the_data_do_not_ask_for_is_none(fit):
    """At its bound the delay is 0 and known: the actuator has no approximation of it."""
    known = fit.covariance.copy()
    known[-1] = known[:, -1] = 0.0
    still = {**fit.parameters, "delay": replace(fit.parameters["delay"], value=0.0, deviation=0.0)}
    prompt = replace(fit, process=replace(fit.process, delay=0.0), parameters=still, covariance=known)
    drawn = from_identified(prompt, pade=2)
    assert drawn.names == ("a[1]", "a[0]", "b[0]")
    gain = fit.parameters["gain"].value
    a, b = (dict(zip(drawn.names, drawn.at(shares(3, 64)), strict=True))[n] for n in ("a[0]", "b[0]"))
    assert np.median(-b / a) == pytest.approx(gain, rel=1e-2)


def test_a_model_file_says_the_same(fit, tmp_path):
    fit.process.save(tmp_path / "model.json", fit.to_dict())
    again = identified_file(tmp_path / "model.json", pade=1)
    np.testing.assert_array_equal(
        again.at(shares(again.size, 32)), from_identified(fit, pade=1).at(shares(again.size, 32))
    )
    fit.process.save(tmp_path / "old.json", {"model": "G2D"})
    with pytest.raises(InputError, match="does not say how uncertain"):
        identified_file(tmp_path / "old.json")
    content = json.loads((tmp_path / "model.json").read_text())
    content["about"]["model"] = "2 poles, 1 zero"  # as many parameters, and another process
    (tmp_path / "other.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="does not say how uncertain"):
        identified_file(tmp_path / "other.json")
    content["about"]["covariance"] = [[1.0]]
    (tmp_path / "bad.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="does not say how uncertain"):
        identified_file(tmp_path / "bad.json")


def frame_test(process, pade):
    """Return a mass on a spring in the computer, and a mass on the rig, on an actuator of this model."""
    whole = Model("whole")
    whole.ground, whole.shear, whole.drift, whole.v = Sf("v_g"), Zero(), One(), One()
    whole.spring, whole.damper, whole.mass = C(stiffness=4000), R(damping=40), I(mass=10)
    whole.ground >> whole.shear >> whole.v >> whole.mass
    whole.shear >> whole.drift >> [whole.spring, whole.damper]
    whole.top = Model("top")
    whole.top.below, whole.top.node, whole.top.side = Port(), Zero(), One()
    whole.top.k, whole.top.c, whole.top.m, whole.top.v = C(stiffness=300), R(damping=9), I(mass=1), One()
    whole.top.below >> whole.top.node >> whole.top.v >> whole.top.m
    whole.top.node >> whole.top.side >> [whole.top.k, whole.top.c]
    whole.v >> whole.top.below
    numerical, physical = whole.cut("v >> top.below")
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, process.actuator(pade)),
        controller=bl.control.Direct(),
        excitation={"v_g": bl.signals.Sine("5 mm", 2.0).derivative()},
        rate=1000,
    )


def test_a_test_with_an_identified_actuator(fit):
    test = frame_test(fit.process, 2)
    found = sample(test, {"rig.transfer": from_identified(fit, pade=2)}, 8, ("error", "delay"), seconds=1.0)
    names = list(found.distributions)
    assert names[0].startswith("rig.transfer.")
    row = found.worst("delay", 1)[0]
    run = test.with_values(row).run(1.0)
    desired, actual = run["desired.displacement"], run["actual.displacement"]
    expected = np.sqrt(np.mean((actual - desired) ** 2) / np.mean(desired**2))
    assert expected in [pytest.approx(e, rel=1e-9) for e in found["error"]]
    with pytest.raises(InputError, match="unknown parameter"):
        Uncertainty({"rig.transfer": from_identified(fit, pade=3)}, test)
    with pytest.raises(InputError, match="drawn once"):
        Uncertainty({"rig.transfer": from_identified(fit, pade=2), names[0]: "normal(1, 1%)"}, test)


def test_the_parameters_of_a_bond_graph():
    random = np.random.default_rng(2)
    model = MassSpringDamper(1.0, 20.0, 900.0, drive="force")
    u = np.repeat(random.normal(size=60), 10)
    y = model.compile(outputs=["v.flow"]).simulate(
        5.99, {"u": lambda t: u[min(int(t * 100 + 1e-9), 599)]}, times=np.arange(600) / 100
    )["v.flow"]
    free = {"damper.damping": (5.0, 50.0), "spring.stiffness": (300.0, 2000.0)}
    fit = fit_bond_graph(model, {"u": u}, {"v.flow": y + 1e-3 * random.normal(size=600)}, 0.01, free)
    drawn = from_identified(fit)
    assert drawn.names == tuple(free)
    values = drawn.at(shares(2))
    np.testing.assert_allclose(np.cov(values), fit.covariance, rtol=0.1, atol=1e-3 * fit.covariance.max())


@settings(deadline=None, max_examples=25)
@given(data=st.data(), poles=st.integers(1, 8), delay=st.booleans())
def test_of_a_process_model_all_but_gain_and_zeros_is_positive(data, poles, delay):
    """What places the poles, and a delay, in whatever words it is told: drawn down to -1 it is refused."""
    kind = ModelStructure(poles, data.draw(st.integers(0, poles - 1)), delay)
    theta = np.ones(kind.size)
    values, _, _ = kind.reported(theta)
    values = {f"p{i}": x for i, x in enumerate(values.values())}
    place = data.draw(st.integers(0, kind.size - 1))
    drawn = {f"p{place}": Distribution("uniform", -1.0, 1.0)}
    whole = UncertainProcess(kind, kind.process(theta), values, drawn, np.eye(1), 0)
    if place > kind.zeros:
        with pytest.raises(InputError, match=f"the identified p{place}, .* reaches -"):
            whole.at(shares(1, 8))
    else:
        assert np.isfinite(whole.at(shares(1, 8))).all()


def test_what_is_hardly_known_is_not_drawn_beyond_what_exists(fit):
    poor = bl.identify.ProcessFit(**{**vars(fit), "covariance": fit.covariance * 1e6})
    with pytest.raises(InputError, match=r"reaches -.*hardly determine it"):
        from_identified(poor).at(shares(4))
    near = from_identified(fit, within=2.0)
    tight = near.at(shares(near.size, 256))
    wide = from_identified(fit).at(shares(near.size, 256))
    assert np.ptp(tight, axis=1) == pytest.approx(np.ptp(wide, axis=1), rel=0.5)
    assert (np.ptp(tight, axis=1) < np.ptp(wide, axis=1)).all()
    with pytest.raises(InputError, match="above 0"):
        from_identified(fit, within=0)
    with pytest.raises(InputError, match="found str"):
        from_identified("model.json")


def test_texts_and_files(fit, tmp_path):
    test = wagg_three_mass.test()
    text = "correlated(mass.mass=normal(1 kg, 5%), spring.stiffness=lognormal(1, 0.1), 0.8)"
    both = Uncertainty({"rig.transfer": text}, test)
    assert list(both.owners) == [MASS, SPRING]
    values = both.at(shares(2))
    score = norm.ppf(norm.cdf(np.log(values[:, 1]) / 0.1))
    assert np.corrcoef(values[:, 0], score)[0, 1] == pytest.approx(0.8, abs=0.01)
    assert str(both.parts["rig.transfer"]).endswith("spring.stiffness=lognormal(1, 0.1), 0.8)")
    fit.process.save(tmp_path / "model.json", fit.to_dict())
    file = tmp_path / "rig.toml"
    file.write_text('[vary]\n"rig.transfer" = "identified(model.json, pade=2, within=3)"\n')
    own = frame_test(fit.process, 2)
    drawn = Uncertainty(read_uncertainty(file), own).at(shares(4, 16))
    np.testing.assert_array_equal(drawn, from_identified(fit, pade=2, within=3).at(shares(4, 16)).T)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("correlated(mass.mass=normal(1, 5%), spring.stiffness=normal(1, 5%))", "have 1 correlations"),
        ("correlated(mass.mass=normal(1 m, 5%), spring.stiffness=normal(1, 5%), 0)", "quantity in kg"),
        ("correlated(mass.mas=normal(1, 5%))", "unknown parameter"),
        ("correlated(mass.mass=normal(1, 5%), mass.mass=normal(1, 5%), 0)", "twice"),
        ("correlated(mass.mass=normal(1, 5%), spring.stiffness=normal(1, 5%), 2)", "contradict"),
        ("correlated(0.5)", "have 0 correlations|nothing is correlated"),
        ("identified(x.json, order=2)", "found 'order=2'"),
        ("identified(x.json, pade=1.5)", "whole number"),
    ],
)
def test_what_is_wrong_with_a_text_is_told(text, words):
    with pytest.raises(InputError, match=words):
        Uncertainty({"rig.transfer": text}, wagg_three_mass.test())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vary = 3", r"expected a table \[vary\]"),
        ("[vary]\na.b = 'normal(1, 1%)'", "a name with dots in quotes"),
        ("[vary", "no TOML file"),
        ("[vary]\n'a' = 'normal(1, 1%)'\n[more]\nb = 1", "nothing else"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(text, words, tmp_path):
    (tmp_path / "rig.toml").write_text(text)
    with pytest.raises(InputError, match=words):
        read_uncertainty(tmp_path / "rig.toml")
