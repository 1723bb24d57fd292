"""What adapts can begin from an identified process, stands still at rest, and wakes up afterwards."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.control import (
    AdaptiveModelBased,
    AdaptivePrediction,
    AdaptiveTimeSeries,
    ConditionalTimeSeries,
    PolynomialPrediction,
    RecursiveFir,
    TwoStageAdaptive,
)
from bondloop.control.blocks.filters import motion_gate
from bondloop.control.feedforward.inverse_model import inverse_series
from bondloop.engine.codegen.runner import Runner
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.block import Context
from bondloop.errors import InputError
from bondloop.papers import silva_benchmark
from bondloop.papers.silva_benchmark import Entry, lag
from bondloop.transfer import Process, first_order, second_order

SERIES = (AdaptiveTimeSeries, AdaptiveModelBased, ConditionalTimeSeries)


@settings(max_examples=40)
@given(
    gain=st.floats(0.1, 10.0),
    poles=st.lists(st.floats(1e-3, 0.05), min_size=1, max_size=4),
    zero=st.floats(-0.02, 0.02),
    delay=st.floats(0.0, 0.05),
)
def test_the_series_is_that_of_the_inverse(gain, poles, zero, delay):
    """Against 1/G itself at a low complex frequency: what is left is of the next order."""
    below = np.array([1.0])
    for time_constant in poles:
        below = np.polymul(below, [time_constant, 1.0])
    process = Process((gain * zero, gain), tuple(below), delay)
    a = inverse_series(process, 3, "process")
    s = 0.02 * np.exp(0.7j)
    inverse = np.polyval(below, s) * np.exp(s * delay) / (gain * (zero * s + 1))
    assert abs(np.polyval(a[::-1], s) - inverse) < 1e-8 * abs(inverse)


@pytest.mark.parametrize("kind", SERIES)
def test_coefficients_begin_as_those_of_the_process(kind, alone):
    process = second_order(0.9, 12.0, 0.8, delay=0.004)
    law = kind(process=process, order=3, ahead=2.0)
    a = inverse_series(replace(process, delay=0.006), 3, "process")  # two samples of 1 ms more
    channels = alone(law, np.zeros(5))
    assert [channels[f"controller.a{j}"][0] for j in range(4)] == pytest.approx(a, rel=1e-12)


def test_coefficients_beyond_their_bounds_begin_at_them(alone):
    resonant = second_order(1.0, 4.0, 0.02)  # 1/w^2 = 1.6e-3 s^2, beyond 0.05^2/2
    channels = alone(AdaptiveTimeSeries(process=resonant), np.zeros(5))
    assert channels["controller.a2"][0] == pytest.approx(0.05**2 / 2)


def test_a_prediction_begins_with_gain_and_delay_of_the_process(alone):
    law = AdaptivePrediction(process=first_order(0.8, 0.01, delay=0.005), ahead=2.0)
    channels = alone(law, np.zeros(5))
    assert channels["controller.gain"][0] == pytest.approx(1.25)
    assert channels["controller.delay"][0] == pytest.approx(0.017)


def test_a_prediction_leads_by_as_many_samples_as_it_should(loop):
    t = np.arange(20000) * 0.001
    x = 0.01 * np.sin(2 * np.pi * 2 * t)
    plain, early = (
        loop(AdaptivePrediction(ahead=ahead), first_order(1.0, 0.01), x)["controller.delay"][-1]
        for ahead in (0.0, 3.0)
    )
    assert early - plain == pytest.approx(0.003, abs=1e-4)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"process": first_order(1.0, 0.01), "delay": 0.01}, "two beginnings"),
        ({"process": "G"}, "expected a process model"),
        ({"process": first_order(1.0, 0.08)}, "longer than the largest"),
        ({"process": Process((0.02, 1.0), (0.01, 1.0))}, "0.01 s early"),
        ({"process": first_order(5.0, 0.01)}, "gain of 0.2 is not between"),
    ],
)
def test_silly_beginnings_of_a_prediction_are_refused(words, said):
    with pytest.raises(InputError, match=said):
        AdaptivePrediction(**words)


def test_the_gate_opens_by_the_running_rms_of_the_stride():
    """A stride of 1 from the start on: its mean square is 1 - e^(-t/memory), seen where it passes a level."""
    x, count, T = Var("x"), Var("k"), 0.01
    memory, share = 0.8, 0.12
    applied, moving = motion_gate(x, 5.0, Context("c", count, T), memory=memory, share=share)
    tick = Tick("gate", T, Var("t"), count, (x,), applied.states, {}, tuple(applied.steps),
                (Channel("moving", moving),))  # fmt: skip
    table = np.ones((400, 1))
    table[200:] = 0.0
    level = (share * 5.0) ** 2
    for backend in ("numpy", "c"):
        found = Runner(tick, backend).run(400, table).channels["moving"]
        opens = math.ceil(-memory * math.log(1 - level) / T) - 1
        closes = 200 + math.floor(memory * math.log((1 - math.exp(-200 * T / memory)) / level) / T)
        assert np.flatnonzero(found).tolist() == list(range(opens, closes))


def late(law, run):
    """The delay in s that its parameters make up for, at every sample."""
    if isinstance(law, RecursiveFir):
        taps = np.array([run[f"controller.tap{i}"] for i in range(law.taps)])
        gain, rate = law._series(1 / silva_benchmark.RATE)[0][:2] @ taps
        return rate / gain + (law.first_stage.delay if law.first_stage else 0.0)
    if isinstance(law, AdaptivePrediction):
        return run["controller.delay"]
    return run["controller.a1"] / run["controller.a0"]


@pytest.fixture(scope="module")
def rest_and_quake(tmp_path_factory):
    """60 s of nothing, then El Centro."""
    quake = np.loadtxt(silva_benchmark.DATA / "elcentro.csv", delimiter=",", skiprows=1)[:1000]
    path = tmp_path_factory.mktemp("record") / "late.csv"
    values = np.concatenate([np.zeros(3000), quake[:, 1]])  # every 0.02 s
    path.write_text(
        "time [s],acceleration [m/s2]\n"
        + "".join(f"{0.02 * i:.6f},{a!r}\n" for i, a in enumerate(values.tolist()))
    )
    return str(path)


@pytest.mark.parametrize(
    "law",
    [
        *(kind("21 ms", order=3) for kind in SERIES),
        AdaptivePrediction("21 ms", 2, "20 ms"),
        RecursiveFir(4, process=first_order(1.0, 0.0, 0.021)),
        TwoStageAdaptive(
            3,
            process=first_order(1.0, 0.0, 0.021),
            prediction=PolynomialPrediction("5 ms", 3, "5 ms", 8),
        ),
    ],
    ids=lambda law: type(law).__name__,
)
def test_a_minute_of_noise_moves_nothing_and_an_earthquake_does(law, rest_and_quake, monkeypatch):
    """On the field's benchmark, whose plant is 25 ms late, with noise of 16 µm and 2.18 N; from 21 ms on."""
    monkeypatch.setattr(silva_benchmark, "CONTROLLERS", {"mine": Entry(lambda: law, "mine")})
    run = silva_benchmark.test(1, "mine", record=rest_and_quake).run(80)
    assert run.completed, run.record.attributes["message"]
    delay = late(law, run)
    rest = run.time < 60
    assert np.std(run["measured.displacement"][rest]) > 15e-6
    assert np.abs(delay[rest] - 0.021).max() < 1e-3
    assert abs(delay[-1] - 0.021) > 5e-4
    end = run.time > 68
    behind = lag(run["actual.displacement"][end], run["desired.displacement"][end], 1 / silva_benchmark.RATE)
    assert abs(behind) < 0.6e-3
