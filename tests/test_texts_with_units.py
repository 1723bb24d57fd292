"""Every public time and rate takes text with a unit: by its annotation, and when it is called.

What is a time is told by the parameter's name or by its description; what takes numbers only is named below,
with the reason.
"""

import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import bondloop as bl
from bondloop import control, identify, results, structures, transfer
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.engine.data.described import Parameter
from bondloop.errors import InputError
from bondloop.integrate.structural import ChenRicles, simulate_structure
from bondloop.signals import Earthquake, Jennings

sys.path.append(str(Path(__file__).parent))
from public_names import callables
from test_glossary import descriptions, signatures

NAMED = re.compile(
    r"(^|_)(seconds|duration|rate|dt|(sample_)?periods?|frequenc(y|ies)|timeout|latency|delay)$"
)
"""Names of times and rates."""

SAID = re.compile(
    r"\bHz\b|\[s\]|\bin s(econds)?\b|\bseconds (of|to|between|from|that|in|spent|with|by|after|for|over)\b",
    re.IGNORECASE,
)
"""What descriptions of them say."""

NUMBER = re.compile(r"(?<!\.)\bfloat\b|\bArrayLike\b|\bParameter\b|\bNumber\b")
TAKES_TEXT = re.compile(r"\bstr\b|\bArrayLike\b|\bParameter\b|\bNumber\b|\bAny\b")
"""Annotations of numbers, and of those that may be texts; NumPy's ArrayLike and a descriptor among them."""

RESULTS = {"engine.codegen.Result"}
"""Classes that the package makes for users to read; what it puts into them is in SI."""

WITHOUT = {
    r"\.(discretise|at_start|build|EquationOfMotion)\(period\)": "of a tick that is being built, in SI",
    r"engine\.passes\.Context\(period\)|safety\.RampedSwitch\.apply\(release\)": "the same",
    r"\.analysed\(seconds\)": "called by check(seconds), which takes text",
    r"check\.SuggestionPolicy\(spans\)": "pairs, of a time in s and a count of points",
    r"identify\.ModelStructure\.coordinates\(delay\)": "coordinates of a search, all of them numbers",
}
"""Times that are numbers, and why."""


def times(things):
    """Every parameter that is a time or a rate, ``results.delay(longest)``, with annotation and owner."""
    met = set()
    for place, thing in signatures(things):
        if inspect.isclass(thing) and place in RESULTS:
            continue
        told = descriptions(thing)
        for word, parameter in inspect.signature(thing).parameters.items():
            known = NAMED.search(word) or SAID.search(told.get(word, ""))
            key = (thing.__module__, thing.__qualname__, word)
            if known and NUMBER.search(str(parameter.annotation)) and key not in met:
                met.add(key)
                yield (
                    f"{place.rpartition('.')[0]}.{thing.__qualname__}({word})",
                    str(parameter.annotation),
                    thing,
                )


TIMES = list(times(callables()))


def takers_of_numbers(found):
    return {name for name, annotation, _ in found if not TAKES_TEXT.search(annotation)}


def test_annotations_say_that_texts_are_taken():
    excused = {name for name, _, _ in TIMES if any(re.search(pattern, name) for pattern in WITHOUT)}
    assert len(TIMES) > 250
    assert takers_of_numbers(TIMES) - excused == set(), (
        "take text: bondloop.engine.data.ranges.number(..., 's')"
    )


def test_no_excuse_outlives_its_parameter():
    left = takers_of_numbers(TIMES)
    assert [pattern for pattern in WITHOUT if not any(re.search(pattern, name) for name in left)] == []
    assert set(callables()) >= RESULTS


@pytest.mark.parametrize(
    ("annotation", "word", "text", "found"),
    [
        ("float", "sample_period", "Anything.", True),
        ("float | None", "longest", "Lags beyond this are not looked at [s].", True),
        ("float", "gap", "Seconds that it may stand still.", True),
        ("Sequence[float]", "lines", "Where, in Hz.", True),
        ("float | str", "sample_period", "Anything.", False),
        ("ArrayLike", "frequency", "In Hz.", False),
        ("NDArray[np.float64]", "time", "Instants in s.", False),
        ("int", "rate", "Anything.", False),
        ("float", "speed", "How many times faster than life.", False),
    ],
)
def test_a_time_that_takes_numbers_only_is_noticed(annotation, word, text, found):
    def thing(**values):
        return values

    thing.__doc__ = f"Do something.\n\nParameters\n----------\n{word}\n    {text}\n"
    only = inspect.Parameter(word, inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
    thing.__signature__ = inspect.Signature([only])
    assert bool(takers_of_numbers(times({"room.thing": thing}))) == found


def parameters_of(cls):
    """The descriptors of a dataclass by name, those of its bases too."""
    return {key: value for base in reversed(cls.__mro__) for key, value in vars(base).items()}


DESCRIPTORS = {
    name: parameters_of(thing)[name.rpartition("(")[2][:-1]]
    for name, annotation, thing in TIMES
    if annotation == "Parameter"
}


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_descriptors_read_texts(name):
    """What measures something by itself refuses a temperature; a change a second may be one of anything."""
    parameter = DESCRIPTORS[name]
    assert isinstance(parameter, Parameter)
    if parameter.range.units:
        unit = parameter.range.units[0]
        assert parameter.accept(
            f"1000 m{unit}" if unit in {"s", "Hz"} else f"1 {unit}", name
        ) == pytest.approx(1.0)
        with pytest.raises(InputError, match="expected a"):
            parameter.accept("1 K", name)


@dataclass
class Called:
    """A call with a time or a rate: as text, as the same number, and with a text of another kind."""

    call: object
    text: object
    number: object


T = 1e-3 * np.arange(400)
X, Y = np.sin(60 * T) + 0.3 * np.sin(25 * T), 0.9 * np.sin(60 * T - 0.2) + 0.3 * np.sin(25 * T - 0.1)
NOISE = np.random.default_rng(3).normal(size=400)
PROCESS = transfer.second_order(1.0, "20 Hz", "70 %", "4 ms")
LATE = PROCESS.simulate(NOISE, 1e-3)
LINES = np.linspace(1.0, 60.0, 40)
PREDICTION = control.PolynomialPrediction("5 ms")
LAG = control.LeadCompensation("5 ms")
INVERSE = control.InverseModel(transfer.first_order(1.0, "10 ms"))
SHAPED = control.LoopShaping.for_bandwidth(transfer.first_order(1.0, "10 ms"), "5 Hz")
LQG = control.FeedforwardLQG(transfer.first_order(1.0, "10 ms"))
MATRIX = transfer.ProcessMatrix(((transfer.first_order(1.0, 0.01),),))
MOTION = results.GroundMotion(np.sin(10 * T) * np.exp(-T), 1e-3)
DATA = identify.Data.from_arrays({"u": X, "y": Y}, rate=1000)
RECORD = results.Record(T, {"x": X})
ONE = structures.Matrices([[2.0]], [[0.4]], [[8.0]], ("mass.ux",))


def swing():
    m = Model("swing")
    m.F, m.v = Se("F"), One()
    m.F >> m.v >> [I(mass=1.0), C(stiffness=25.0), R(damping=6.0)]
    return m.compile(outputs=["v.flow"])


def pair(frequency):
    return np.sin(2 * np.pi * frequency * T), np.sin(2 * np.pi * frequency * T - 0.1)


def ms(call):
    return Called(call, "1 ms", 1e-3)


def hertz(call, many=False):
    return Called(call, ["10 Hz", "0.02 kHz"] if many else "10 Hz", [10.0, 20.0] if many else 10.0)


CALLS = {
    "results.delay(sample_period)": ms(lambda v: results.delay(X, Y, v)),
    "results.delay(longest)": Called(lambda v: results.delay(X, Y, 1e-3, v), "50 ms", 0.05),
    "control.PolynomialPrediction.ticks(period)": ms(PREDICTION.ticks),
    "control.PolynomialPrediction.weights(period)": ms(PREDICTION.weights),
    "control.PolynomialPrediction.weights(ahead)": ms(lambda v: PREDICTION.weights(1e-3, ahead=v)),
    "control.PolynomialPrediction.amplification(period)": ms(PREDICTION.amplification),
    "control.PolynomialPrediction.response(frequency)": hertz(
        lambda v: PREDICTION.response(v, 1e-3), many=True
    ),
    "control.PolynomialPrediction.response(period)": ms(lambda v: PREDICTION.response(LINES, v)),
    "control.LeadCompensation.response(frequency)": hertz(lambda v: LAG.response(v, 1e-3), many=True),
    "control.LeadCompensation.response(period)": ms(lambda v: LAG.response(LINES, v)),
    "control.InverseModel.response(frequency)": hertz(lambda v: INVERSE.response(v, 1e-3), many=True),
    "control.InverseModel.response(period)": ms(lambda v: INVERSE.response(LINES, v)),
    "control.LoopShaping.shaped(period)": ms(lambda v: SHAPED.shaped(v)[0]),
    "control.LoopShaping.riccati(period)": ms(lambda v: SHAPED.riccati(v)[0]),
    "control.LoopShaping.robustness(period)": ms(SHAPED.robustness),
    "control.LoopShaping.continuous(period)": ms(lambda v: SHAPED.continuous(v).A),
    "control.LoopShaping.feedback(period)": ms(lambda v: SHAPED.feedback(v).F),
    "control.FeedforwardLQG.model(period)": ms(lambda v: LQG.model(v)[0]),
    "control.FeedforwardLQG.gains(period)": ms(lambda v: LQG.gains(v)[0]),
    "control.FeedforwardLQG.feedback(period)": ms(lambda v: LQG.feedback(v).F),
    "identify.Data.between(start)": Called(lambda v: DATA.between(v, 0.3)["u"], "100 ms", 0.1),
    "identify.Data.between(end)": Called(lambda v: DATA.between(0.1, v)["u"], "300 ms", 0.3),
    "identify.fit_time(sample_period)": ms(
        lambda v: identify.fit_time(NOISE, LATE, v, "G2D", start="rest").process.delay
    ),
    "identify.fit_time(max_delay)": Called(
        lambda v: identify.fit_time(NOISE, LATE, 1e-3, "G2D", start="rest", max_delay=v).process.delay,
        "20 ms",
        0.02,
    ),
    "identify.fit_frequency(frequency)": Called(
        lambda v: identify.fit_frequency(v, PROCESS.response(LINES), "G2D").process.delay,
        [f"{f!r} Hz" for f in LINES.tolist()],
        LINES,
    ),
    "identify.fit_frequency(held_period)": ms(
        lambda v: identify.fit_frequency(LINES, PROCESS.response(LINES), "G2D", held_period=v).process.delay
    ),
    "identify.fit_frequency(max_delay)": Called(
        lambda v: identify.fit_frequency(LINES, PROCESS.response(LINES), "G2D", max_delay=v).process.delay,
        "20 ms",
        0.02,
    ),
    "identify.fourier_point(frequency)": hertz(lambda v: identify.fourier_point(*pair(10), v, 1e-3).gain),
    "identify.fourier_point(sample_period)": ms(lambda v: identify.fourier_point(*pair(10), 10.0, v).gain),
    "identify.matrix_response(sample_period)": ms(
        lambda v: identify.matrix_response(NOISE[:, None], LATE[:, None], v, segments=4).frequency
    ),
    "identify.spectral_response(sample_period)": ms(
        lambda v: identify.spectral_response(NOISE, LATE, v, segments=4).frequency
    ),
    "identify.spectral_surface(sample_period)": ms(
        lambda v: identify.spectral_surface([X, Y], [1.0, 2.0], v).frequency
    ),
    "identify.spectral_surface(excitations)": hertz(
        lambda v: identify.spectral_surface([X, Y], v, 1e-3).excitation, many=True
    ),
    "identify.step_response(sample_period)": ms(
        lambda v: identify.step_response(NOISE, LATE, v, settling=0.05).response
    ),
    "identify.step_response(settling)": Called(
        lambda v: identify.step_response(NOISE, LATE, 1e-3, settling=v).response, "50 ms", 0.05
    ),
    "identify.stepped_sine(frequencies)": hertz(
        lambda v: identify.stepped_sine([pair(10), pair(20)], frequencies=v, sample_period=1e-3).response,
        many=True,
    ),
    "identify.stepped_sine(sample_period)": ms(
        lambda v: identify.stepped_sine([pair(10)], frequencies=[10], sample_period=v).response
    ),
    "identify.stepped_sine(settling)": Called(
        lambda v: (
            identify.stepped_sine([pair(10)], frequencies=[10], sample_period=1e-3, settling=v).response
        ),
        "20 ms",
        0.02,
    ),
    "integrate.structural.simulate_structure(period)": Called(
        lambda v: simulate_structure(ChenRicles(), 1, 0, 4, v, 5, initial=(1, 0)).displacement, "100 ms", 0.1
    ),
    "results.prediction(period)": ms(lambda v: len(results.prediction({"it": PREDICTION}, v).axes)),
    "results.prediction(frequencies)": hertz(
        lambda v: len(results.prediction({"it": PREDICTION}, 1e-3, frequencies=v).axes), many=True
    ),
    "results.subspace(sample_period)": ms(
        lambda v: results.subspace(X, Y, sample_period=v).axes[0].texts[0].get_text()
    ),
    "engine.System.simulate(duration)": Called(lambda v: swing().simulate(v).time[-1], "100 ms", 0.1),
    "signals.Earthquake.spectrum(frequency)": hertz(Earthquake("1 m/s^2", "5 s", seed=1).spectrum, many=True),
    "signals.Jennings.over(duration)": Called(lambda v: Jennings.over(v).rise, "2 min", 120.0),
    "results.GroundMotion.scaled_to(periods)": Called(
        lambda v: MOTION.scaled_to({0.1: 1.0, 1.0: 2.0}, v).scale, ("200 ms", "0.5 s"), (0.2, 0.5)
    ),
    "results.GroundMotion.scaled_to(target)": Called(
        lambda v: MOTION.scaled_to(v).scale, {"100 ms": "1 m/s^2", "1 s": "2 m/s^2"}, {0.1: 1.0, 1.0: 2.0}
    ),
    "results.GroundMotion.spectrum(periods)": Called(
        lambda v: MOTION.spectrum(v).displacement, ["200 ms", "1 s"], [0.2, 1.0]
    ),
    "results.Record.between(start)": Called(lambda v: RECORD.between(v, 0.3)["x"], "100 ms", 0.1),
    "results.Record.between(end)": Called(lambda v: RECORD.between(0.1, v)["x"], "300 ms", 0.3),
    "results.response_spectrum(sample_period)": ms(
        lambda v: results.response_spectrum(X, v, [0.2, 1.0]).displacement
    ),
    "results.response_spectrum(periods)": Called(
        lambda v: results.response_spectrum(X, 1e-3, v).displacement, ["200 ms", "1 s"], [0.2, 1.0]
    ),
    "safety.PowerTrip.decay(period)": ms(bl.safety.PowerTrip(20.0).decay),
    "structures.time_history(sample_period)": Called(
        lambda v: structures.time_history(ONE, {"mass.ux": np.ones(9)}, v).time, "10 ms", 0.01
    ),
    "transfer.Process.response(frequency)": hertz(PROCESS.response, many=True),
    "transfer.Process.simulate(period)": ms(lambda v: PROCESS.simulate(X, v)),
    "transfer.ProcessMatrix.response(frequency)": hertz(MATRIX.response, many=True),
    "transfer.first_order(time_constant)": ms(lambda v: transfer.first_order(1.0, v).denominator),
    "transfer.first_order(delay)": ms(lambda v: transfer.first_order(1.0, 0.1, v).delay),
    "transfer.second_order(frequency)": hertz(lambda v: transfer.second_order(1.0, v, 0.7).denominator),
    "transfer.second_order(delay)": ms(lambda v: transfer.second_order(1.0, 10, 0.7, v).delay),
}
"""What can be called with little."""


@pytest.mark.parametrize("name", CALLS)
def test_a_text_is_the_number_it_says(name):
    called = CALLS[name]
    given, wanted = called.call(called.text), called.call(called.number)
    if isinstance(wanted, str):
        assert given == wanted
    else:
        for one, other in zip(
            *(v.values() if isinstance(v, dict) else [v] for v in (given, wanted)), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_a_text_of_another_kind_is_refused_by_name(name):
    called = CALLS[name]
    wrong = {list: ["3 kg", "4 kg"], tuple: ("3 kg", "4 kg"), dict: {"3 kg": 1.0, "4 kg": 2.0}}
    word = name.rpartition("(")[2][:-1]
    with pytest.raises(InputError, match=rf"{word}\)?: expected a quantity in"):
        called.call(wrong.get(type(called.text), "3 kg"))


def test_what_is_called_is_a_public_time():
    assert {name for name, _, _ in TIMES} >= set(CALLS)


def test_ratios_in_percent():
    """Rayleigh's of a structure, and a spectrum's."""
    assert bl.structures.Structure().rayleigh_from("2 %", "1 Hz", 0.03, "0.002 kHz") == pytest.approx(
        bl.structures.Structure().rayleigh_from(0.02, 1.0, 0.03, 2.0)
    )
    with pytest.raises(InputError, match="zeta1: expected a number without a unit"):
        bl.structures.Structure().rayleigh_from("2 m", 1.0, 0.03, 2.0)
    assert results.response_spectrum(X, 1e-3, [1.0], "5 %").damping == 0.05
