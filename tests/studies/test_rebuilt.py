"""Values that are not data of the tick: tests are built anew, and run as one tick where their form is one."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bondloop.engine.codegen import Runner
from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.ir.matrices import Factored
from bondloop.engine.ir.tick import Product, revised
from bondloop.engine.passes.tick_numbers import form_of, with_numbers
from bondloop.errors import InputError
from bondloop.papers import bayer_substep, dasilva_beam
from bondloop.studies import StudyPolicy, sample

sys.path.insert(0, str(Path(__file__).parents[1] / "codegen"))
from random_ticks import ticks

STEPS = 30
DRAWN = settings(
    deadline=None,
    max_examples=10,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")


@pytest.mark.parametrize(
    "name",
    [
        "network.beam.inertia[1].mass",
        *(pytest.param(n, marks=pytest.mark.nightly) for n in ("plain.A[8,8]", "field.suspension.mass.mass")),
    ],
)
def test_what_is_worked_into_matrices_is_built_anew(name):
    """A beam's masses are in the matrices of its integrator; each case is also built and run by itself."""
    beam = dasilva_beam.test()
    own = {v.name: x for v, x in beam.tick.parameters.items()}[name]
    low, high = sorted((0.9 * own, 1.1 * own))
    channel = f"{name.partition('.')[0]}.beam.n2.uy.flow"
    found = sample(beam, {name: f"uniform({low}, {high})"}, 9, (f"peak:{channel}",), seconds=0.05)
    assert any(
        f"{name}: not data of the tick, so that 9 tests were built anew (1 form" in n for n in found.notes
    )
    assert len(set(found[f"peak:{channel}"])) == 9
    for i, row in enumerate(found.values):
        run = beam.with_values({name: row[0]}).run(0.05)
        assert found[f"peak:{channel}"][i] == pytest.approx(np.abs(run[channel]).max(), rel=1e-12)


def test_another_structure_is_another_form():
    """Numbers of sub-steps are other ticks; data varies within each of them, and is not built with."""
    built = []

    def make(values):
        built.append(dict(values))
        return bayer_substep.test(int(values["sub_steps"]))

    varied = {"sub_steps": "whole(2, 5)", "scheme.P": "uniform(-1, 0)"}
    found = sample(bayer_substep.test(), varied, 24, ("peak:force",), seconds=0.5, make=make)
    assert any(
        "sub_steps: not data of the tick, so that 4 tests were built anew (4 forms" in n for n in found.notes
    )
    assert {n["sub_steps"] for n in built} == {2, 3, 4, 5}
    for i in range(0, 24, 5):
        steps, P = found.values[i]
        run = bayer_substep.test(int(steps)).with_values({"scheme.P": P}).run(0.5)
        assert found["peak:force"][i] == pytest.approx(np.abs(run["force"]).max(), rel=1e-12)


def test_histories_are_of_tests_built_anew():
    """The peak of each history is what was measured; a state, a matrix and an option at once."""

    def make(values):
        return bayer_substep.test(int(values["sub_steps"]))

    varied = {"sub_steps": "whole(2, 4)", "scheme.P": "uniform(-1, 0)"}
    found = sample(bayer_substep.test(), varied, 8, ("peak:force",), seconds=0.2, make=make)
    runs = found.histories(bayer_substep.test(), "peak:force", "every 3", make)
    for name, i in found.choose("peak:force", "every 3").items():
        assert np.abs(runs[name]["force"]).max() == pytest.approx(found["peak:force"][i], rel=1e-12)
    with pytest.raises(InputError, match="sub_steps: no parameter of the test; say how to make= it"):
        found.histories(bayer_substep.test(), "peak:force", "worst")
    beam, name = dasilva_beam.test(), "plain.A[8,8]"
    own = {v.name: x for v, x in beam.tick.parameters.items()}[name]
    state = next(v.name for v in beam.tick.states if v.name.startswith("plain"))
    varied = {name: f"uniform({2 * own}, {own})", state: "uniform(0, 1e-3)"}
    found = sample(beam, varied, 4, ("peak:plain.beam.n2.uy.flow",), seconds=0.05)
    [run] = found.histories(beam, "peak:plain.beam.n2.uy.flow", "worst").values()
    worst = found["peak:plain.beam.n2.uy.flow"].max()
    assert np.abs(run["plain.beam.n2.uy.flow"]).max() == pytest.approx(worst, rel=1e-12)


def test_a_value_that_no_test_can_have_is_told():
    def make(values):
        return bayer_substep.test(int(values.get("sub_steps", 3)))

    with pytest.raises(InputError, match="at sub_steps = 0: sub_steps must be a whole number of at least 1"):
        sample(make({}), {"sub_steps": "whole(0, 3)"}, 16, ("peak:force",), seconds=0.1, make=make)


def test_too_many_numbers_are_ticks_of_their_own():
    beam = dasilva_beam.test()
    name, channel = "plain.A[8,8]", "plain.beam.n2.uy.flow"
    own = {v.name: x for v, x in beam.tick.parameters.items()}[name]
    varied, policy = {name: f"uniform({2 * own}, {own})"}, StudyPolicy(form_numbers=3)
    found = sample(beam, varied, 2, (f"peak:{channel}",), seconds=0.05, policy=policy)
    assert "2 forms" in " ".join(found.notes)
    for i, row in enumerate(found.values):
        run = beam.with_values({name: row[0]}).run(0.05)
        assert found[f"peak:{channel}"][i] == pytest.approx(np.abs(run[channel]).max(), rel=1e-12)


def without_zeros(step):
    if not isinstance(step, Product) or isinstance(step.matrix, Factored):
        return step
    return replace(step, matrix=np.where(step.matrix == 0, 0.25, step.matrix))


@pytest.mark.slow
@needs_compiler
@DRAWN
@given(tick=ticks(), seed=st.integers(0, 1000))
def test_a_tick_with_its_numbers_as_parameters_is_the_same_tick(tick, seed):
    """Of drawn ticks of every kind of statement, any of their numbers are made parameters.

    Matrices without zeros: whether a zero takes part, times an infinity, depends on the size of a product.
    """
    tick = replace(tick, steps=revised(tick.steps, without_zeros))
    random = np.random.default_rng(seed)
    key, numbers = form_of(tick)
    differs = {i for i in range(len(numbers)) if random.random() < 0.3}
    lifted, varied = with_numbers(tick, numbers, differs)
    assert len(varied) == len(differs)
    inputs = random.standard_normal((STEPS, 2))
    one, two = (Runner(t, "numpy").run(STEPS, inputs) for t in (tick, lifted))
    assert one.steps == two.steps
    for name, values in one.channels.items():
        np.testing.assert_allclose(two.channels[name], values, rtol=1e-9, atol=1e-12)
    again, others = form_of(with_numbers(tick, 1.5 * numbers)[0])
    assert again == key
    assert others.tolist() == (1.5 * numbers).tolist()
