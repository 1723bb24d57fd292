"""Runs: what is recorded, what is kept, what is refused, how they stop."""

import itertools

import numpy as np
import pytest

from bondloop.engine.codegen import BACKENDS, Runner, compiler
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Delay, Tick, Update
from bondloop.errors import InputError

pytestmark = pytest.mark.parametrize(
    "backend",
    ["numpy", pytest.param("c", marks=pytest.mark.skipif(compiler() is None, reason="no C compiler"))],
)


def growing(bound=None):
    """x grows by the input times the gain; late is x two ticks ago."""
    x, late, u, gain, y = Var("x"), Var("late"), Var("u"), Var("gain"), Var("y")
    steps = (Assign(y, gain * u), Delay(late, x, 2), Update(((x, x + y),)))
    channels = (Channel("x", x), Channel("late", late), Channel("y", y))
    bounds = {} if bound is None else {"x": bound}
    return Tick("growing", 0.5, Var("t"), Var("k"), (u,), {x: 1.0}, {gain: 1.0}, steps, channels, bounds)


def ones(steps):
    return np.ones((steps, 1))


def test_keeps_its_state(backend):
    whole = Runner(growing(), backend).run(12, ones(12))
    runner = Runner(growing(), backend)
    parts = [runner.run(5, ones(6)), runner.run(7, ones(7))]
    for name, values in whole.channels.items():
        assert np.concatenate([p.channels[name] for p in parts]).tolist() == values.tolist()
    assert np.concatenate([p.time for p in parts]).tolist() == whole.time.tolist()
    assert runner.state == {"x": 13.0}
    assert runner.count == 12
    runner.reset({"x": -1.0})
    assert runner.run(3, ones(3)).channels["late"].tolist() == [0.0, 0.0, -1.0]


@pytest.mark.parametrize("every", [1, 2, 3, 7, 50])
def test_records_some_ticks(backend, every):
    runner = Runner(growing(), backend)
    parts = [runner.run(n, ones(n), every=every) for n in (5, 1, 0, 9)]
    expected = np.arange(0, 15, every)
    assert np.concatenate([p.channels["x"] for p in parts]).tolist() == (1.0 + expected).tolist()
    assert np.concatenate([p.time for p in parts]).tolist() == (0.5 * expected).tolist()


@pytest.mark.parametrize("every", [1, 3, 7])
@pytest.mark.parametrize("within", [1, 2, 5, 100])
def test_however_often_it_is_looked_at_the_record_is_the_same(backend, every, within):
    plain, watched = (Runner(growing(), backend) for _ in range(2))
    seen = [0]
    for n in (4, 15):
        whole = plain.run(n, ones(n), every=every)
        parts = watched.run(
            n, ones(n), every=every, progress=lambda *_: seen.append(watched.count), within=within
        )
        assert parts.channels["x"].tolist() == whole.channels["x"].tolist()
        assert parts.time.tolist() == whole.time.tolist()
    assert max(b - a for a, b in itertools.pairwise(seen)) == min(within, 15)
    assert watched.state == plain.state


@pytest.mark.parametrize("within", [0, -1])
def test_looking_at_it_less_than_every_tick_is_refused(backend, within):
    with pytest.raises(InputError, match=f"within = {within}"):
        Runner(growing(), backend).run(3, ones(3), within=within)


def test_parameters_change_without_compiling(backend):
    runner = Runner(growing(), backend)
    runner.run(2, ones(2), parameters={"gain": 10.0})
    runner.run(2, ones(2))
    assert runner.state == {"x": 23.0}


def test_stops_at_a_bound_and_keeps_the_record(backend):
    result = Runner(growing(bound=3.5), backend).run(100, ones(100))
    assert (result.status, result.stopped_channel, result.stopped_at) == ("beyond bounds", "x", 1.5)
    assert result.channels["x"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert "t = 1.5 s" in result.message
    assert "'x' left its bounds" in result.message


def test_stops_at_nan(backend):
    x, y = Var("x"), Var("y")
    steps = (Assign(y, (x - 3) / (x - 3)), Update(((x, x + 1),)))
    tick = Tick("nan", 0.1, Var("t"), Var("k"), (), {x: 0.0}, {}, steps, (Channel("x", x), Channel("y", y)))
    result = Runner(tick, backend).run(10, every=2)
    assert (result.status, result.stopped_channel, result.steps) == ("not a number", "y", 4)
    assert result.channels["x"].tolist() == [0.0, 2.0]


def test_shows_progress_and_can_be_interrupted(backend):
    seen = []
    runner = Runner(growing(), backend)
    assert runner.run(5000, ones(5000), progress=lambda done, of: seen.append((done, of))).finished
    assert seen[-1] == (5000, 5000)
    assert len(seen) > 1

    def interrupt(*_):
        raise KeyboardInterrupt

    runner.reset()
    with pytest.raises(KeyboardInterrupt):
        runner.run(5000, ones(5000), progress=interrupt)
    assert runner.state["x"] == 1.0 + runner.count


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": -1}, "steps = -1"),
        ({"steps": 3, "inputs": ones(3), "every": 0}, "every = 0"),
        ({"steps": 3}, "needs a row of inputs per step: u"),
        ({"steps": 3, "inputs": ones(5)}, r"shape \(3, 1\) for u; found \(5, 1\)"),
        ({"steps": 3, "inputs": [1.0, 2.0, 3.0]}, r"found \(3,\)"),
        ({"steps": 2, "inputs": [[1.0], [float("nan")]]}, "'u' is nan at step 1"),
        ({"steps": 1, "inputs": ones(1), "parameters": {"gian": 1.0}}, "did you mean 'gain'"),
        (
            {"steps": 1, "inputs": ones(1), "parameters": {"gain": float("inf")}},
            "gain: expected a finite number; found inf",
        ),
    ],
)
def test_refuses(backend, arguments, message):
    with pytest.raises(InputError, match=message):
        Runner(growing(), backend).run(**arguments)


def test_refuses_unknown_states_and_backends(backend):
    with pytest.raises(InputError, match="unknown state 'z'"):
        Runner(growing(), backend).reset({"z": 1.0})
    with pytest.raises(InputError, match="unknown backend 'fortran'"):
        Runner(growing(), "fortran")


def test_a_back_end_is_told_whether_to_be_quick(backend, monkeypatch):
    told = []

    class Told:
        chunk = 50

        def obstacle(self, tick):
            return BACKENDS[backend].obstacle(tick)

        def load(self, tick, *, quick=False):
            told.append(quick)
            return BACKENDS[backend].load(tick, quick=quick)

    monkeypatch.setitem(BACKENDS, "told", Told())
    runs = [Runner(growing(), "told", **options).run(5, ones(5)) for options in ({}, {"quick": True})]
    assert told == [False, True]
    assert runs[0].channels["x"].tolist() == runs[1].channels["x"].tolist()
