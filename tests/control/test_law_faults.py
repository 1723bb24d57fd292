"""Laws of one's own that are wrong: each gets a sentence, when the class, the part or the test is made."""

# ruff: noqa: ARG005, E501, RUF012 - laws take what they must; states are read, never changed; a row a fault

import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import bondloop as bl
from bondloop.bondgraph import Multiport
from bondloop.control import ControlLaw, Desired, Measured
from bondloop.devices import Device, Imposed, OdeSpecimen
from bondloop.errors import BondloopError, InputError, ModelError
from bondloop.extend import Parameter
from bondloop.math import exp, where
from bondloop.rigs import mounted

sys.path.insert(0, str(Path(__file__).parent))  # for laws.py

from laws import alone, floor


def law(step, **entries):
    return type("Mine", (ControlLaw,), {"__doc__": "A law.", "step": step, **entries})


def specimen(**entries):
    return type("Mine", (OdeSpecimen,), {"__doc__": "A specimen.", **entries})


FAULTS = {
    "two values": (lambda s, d, m: (d.displacement, 1), r"Mine\.step: expected one number; found 2"),
    "an array": (lambda s, d, m: np.ones(3) * d.displacement, r"Mine\.step: expected one number; found 3"),
    "nothing": (lambda s, d, m: None, r"Mine\.step returns nothing"),
    "a comparison": (lambda s, d, m: d.displacement > 0, r"Mine\.step: .* found the comparison .*where\("),
    "a truth": (lambda s, d, m: True, r"Mine\.step: expected a number; found the comparison 'True'"),
    "both": (lambda s, d, m: (d.velocity > 0) & (m.force > 0), r"found the comparison"),
    "np.sin": (lambda s, d, m: np.sin(d.displacement), r"NumPy's sin cannot take it; use .* bondloop\.math"),
    "np.hypot": (lambda s, d, m: np.hypot(d.displacement, 1.0), r"NumPy's hypot cannot take it; use .*math"),
    "np.add.reduce": (lambda s, d, m: np.add.reduce(d.displacement), r"NumPy's add cannot take it"),
    "np.sin of an array": (lambda s, d, m: np.sin(np.ones(2) * d.displacement)[0], r"line \d+ of .*bondloop\.math"),
    "np.nan_to_num": (lambda s, d, m: np.nan_to_num(m.force), r"NumPy's nan_to_num cannot take it; use .*math"),
    "np.nan_to_num of an array": (lambda s, d, m: np.nan_to_num(np.ones(2) * m.force)[0], r"NumPy's nan_to_num cannot take it"),
    "np.median": (lambda s, d, m: np.median(m.force), r"NumPy's median cannot take it"),
    "np.isreal": (lambda s, d, m: m.force * np.isreal(m.force), r"NumPy's isreal cannot take it"),
    "2 &": (lambda s, d, m: 1e-3 * (2 & (d.displacement > 0)), r"'&' joins two conditions.* found .* and 2; use .*logical_and"),
    "a number |": (lambda s, d, m: m.force | (d.displacement > 0), r"'\|' joins two conditions.*logical_or"),
    "math.sin": (lambda s, d, m: math.sin(d.displacement), r"known only when the test runs; use .*bondloop\.math"),
    "%": (lambda s, d, m: d.displacement % 2, r"'%'.*floor"),
    "2 %": (lambda s, d, m: 2 % d.displacement, r"'%'.*floor"),
    "//": (lambda s, d, m: d.displacement // 2, r"'//'.*floor"),
    "acceleration": (lambda s, d, m: d.acceleration, r"unknown entry 'acceleration' of Desired; known: displacement, velocity"),
    "position": (lambda s, d, m: m.position, r"unknown entry 'position' of Measured; known: displacement, force, velocity"),
    "self.foo": (lambda s, d, m: s.foo * d.displacement, r"Mine: unknown parameter or state 'foo'"),
    "a parameter assigned": (lambda s, d, m: setattr(s, "gain", 2.0), r"Mine: 'gain' is a parameter, .* cannot be assigned; .* is a state"),
    "the time assigned": (lambda s, d, m: setattr(s, "time", 2.0), r"Mine: 'time' is read, and cannot be assigned"),
    "an index": (lambda s, d, m: [1.0][len("four")] * d.displacement, r"Mine\.step, line \d+ of test_law_faults\.py: IndexError"),
    "a text": (lambda s, d, m: d.displacement + "1", r"Mine\.step, line \d+ of test_law_faults\.py: TypeError"),
}  # fmt: skip


@pytest.mark.parametrize("what", FAULTS)
def test_a_step_that_is_wrong_gets_a_sentence_which_the_check_prints(what):
    step, message = FAULTS[what]
    test = floor(law(step, gain=1.0, __annotations__={"gain": float})())
    with pytest.raises(ModelError, match=message):
        _ = test.tick
    if what in ("np.sin", "acceleration", "%", "two values"):
        answer = test.check()
        assert [f.rule for f in answer.findings] == ["BL101"]
        assert re.search(message, answer.findings[0].text)
        assert "Error:" not in str(answer)


def test_a_class_without_a_step_is_told_so():
    class Empty(ControlLaw):
        """Nothing."""

    (finding,) = floor(Empty()).check().findings
    assert finding.rule == "BL101"
    assert "Empty: write its method step(self, desired, measured)" in finding.text


def test_numbers_are_held_to_the_same():
    two = law(lambda s, d, m: (d.displacement, 1.0))()
    with pytest.raises(ModelError, match=r"Mine\.step: expected one number; found 2"):
        two.respond(Desired(np.ones(3)), Measured(), 1e-3)
    with pytest.raises(ModelError, match="unknown entry 'acceleration' of Desired"):
        law(lambda s, d, m: d.acceleration)().respond(Desired(np.ones(3)), Measured(), 1e-3)


@pytest.mark.parametrize("number", [np.float64(0.3), np.array(0.3), np.int64(2), np.float32(0.5)])
def test_numbers_of_numpy_go_with_what_is_traced_on_either_side(number):
    def step(_self, desired, _measured):
        x = desired.displacement
        least = where(number < x, number, x)
        return (
            number * x - x / number + (number - x) ** np.float64(2) + least + where(x <= number, abs(x), -x)
        )

    mine, x = law(step)(), np.linspace(-1, 3, 9)
    expected = mine.respond(Desired(x), Measured(), 1e-3)
    n = float(number)
    by_hand = n * x - x / n + (n - x) ** 2 + np.minimum(n, x) + np.where(x <= n, abs(x), -x)
    np.testing.assert_allclose(expected, by_hand, rtol=1e-12)
    np.testing.assert_allclose(alone(mine, x, 0 * x, 1e-3, "numpy"), by_hand, rtol=1e-12)


MOVED = {
    "concatenate": lambda x: np.concatenate([x[:1], 2 * x[1:]])[1],
    "stack": lambda x: np.stack([x[0], x[2]])[1] + np.vstack([x, x])[1, 2] + np.hstack([x, [3.0]])[1],
    "append": lambda x: np.append(np.ones(2), x[0])[2] + np.insert(x, 1, 5.0)[2] + np.delete(x, 0)[0],
    "roll": lambda x: np.roll(x, 1)[0] + np.flip(x)[0] + np.tile(x, 2)[3] + np.repeat(x, 2)[1],
    "sum": lambda x: np.sum(x) + np.sum(x[0]) + np.mean(x) + np.average(x, weights=[1, 2, 3]),
    "prod": lambda x: np.prod(x) + np.cumprod(x)[1] + np.cumsum(x)[2],
    "dot": lambda x: np.dot(x, [1.0, 2, 3]) + np.inner([1.0, 2, 3], x) + np.outer([1.0, 2], x)[1, 2],
    "einsum": lambda x: np.einsum("ij,j->i", np.ones((2, 3)), x)[0] + np.tensordot(x, x, 1),
    "trace": lambda x: np.trace(np.outer(x, x)) + np.diag(np.outer(x, x))[1] + np.kron(x, [1.0, 2])[5],
    "diff": lambda x: np.diff(x)[1] + np.trapezoid(x, dx=0.1) + np.convolve(x, [1.0, 0.5])[1],
    "cross": lambda x: np.cross(x, [1.0, 2, 3])[0] + np.polyval([1.0, 2, 3], x[1]),
    "reshape": lambda x: np.reshape(x, (3, 1))[1, 0] + np.transpose(np.atleast_2d(x))[2, 0],
    "where": lambda x: np.where([True, False, True], x, 0.0)[2] + np.broadcast_to(x[0], (2,))[1],
    "triu": lambda x: np.triu(np.outer(x, x))[0, 2] + np.linalg.matrix_power(np.outer(x, x), 2)[0, 1],
}  # fmt: skip


@pytest.mark.parametrize("what", MOVED)
def test_functions_of_numpy_that_move_and_add_entries_are_traced_as_they_are(what):
    """NumPy on plain floats is what the tick must give."""

    def step(_self, desired, _measured):
        x = desired.displacement
        return MOVED[what](bl.math.abs([x + 1, 2 * x, x - 3]))

    x = np.linspace(-1, 3, 9)
    by_hand = [MOVED[what](np.abs([v + 1, 2 * v, v - 3])) for v in x]
    np.testing.assert_allclose(alone(law(step)(), x, 0 * x, 1e-3, "numpy"), by_hand, rtol=1e-12)


def test_conditions_are_joined_as_python_joins_them():
    def step(_self, desired, _measured):
        x = desired.displacement
        return where(((x > 0) & (x < 2) & True) | (x == -1) | np.bool_(False), 1.0, 0.0)

    x = np.linspace(-1, 3, 9)
    expected = ((x > 0) & (x < 2)) | (x == -1)
    np.testing.assert_array_equal(alone(law(step)(), x, 0 * x, 1e-3, "numpy"), expected)


@pytest.mark.parametrize("record", [{"sum": "metre"}, {"sum": 3}, ("sum",), "sum"])
def test_units_of_what_is_recorded_are_known(record):
    with pytest.raises(BondloopError, match=r"Mine\.record(: expected units|\['sum'\]: )"):
        law(lambda s, d, m: d.displacement, states={"sum": 0.0}, record=record)


UNDEFINED = {
    "1/x": lambda _, x: where(x != 0, 1 / x, 0.0),
    "1/abs": lambda _, x: where(x != 0, 1 / bl.math.abs(x), 0.0),
    "a state": lambda s, x: where(s.past != 0, x / s.past, 7.0),
    "a parameter": lambda s, x: where(x > 0, x / s.width, 0.0),
    "a root": lambda _, x: where(x > 0, x**0.5, -((-x) ** 0.5)),
    "0 to the power": lambda _, x: where(x != 0, x**-1.0, 0.0),
    "too large": lambda _, x: where(x > 0, 1e308 * x * 1e10, 0.0),
    "one in a list": lambda _, x: bl.math.sin([x]),
}


class Undefined(ControlLaw):
    """A law that chooses around what Python's numbers refuse to compute."""

    width: float = 0.0
    which: str = ""
    states = {"past": 0.0}

    def step(self, desired, _measured):
        command = UNDEFINED[self.which](self, desired.displacement)
        self.past = desired.displacement
        return command


@pytest.mark.parametrize("which", UNDEFINED)
def test_numbers_give_what_the_tick_gives_where_python_raises_an_exception(which):
    mine, x = Undefined(which=which), np.array([0.0, 0.5, 0.0, -1.0, 2.0])
    tried = mine.respond(Desired(x), Measured(), 1e-3)
    assert tried.shape == (5,)
    np.testing.assert_allclose(tried, alone(mine, x, 0 * x, 1e-3, "numpy"), rtol=1e-15)


class Reading(ControlLaw):
    """A law with a virtual sensor, which reads 0 where there is no numerical half."""

    sensors = {"speed": "numerical.v0.flow"}

    def step(self, desired, _measured):
        return where(self.speed != 0, desired.displacement / self.speed, 3.0)


def test_virtual_sensors_are_numbers_of_the_same_kind():
    assert Reading().respond(Desired(np.ones(2)), Measured(), 1e-3).tolist() == [3.0, 3.0]


def test_a_fault_in_numbers_is_told_with_its_line():
    faulty = law(lambda s, d, m: [1.0][len("four")])()
    with pytest.raises(ModelError, match=r"Mine\.step, line \d+ of test_law_faults\.py: IndexError"):
        faulty.respond(Desired(np.ones(3)), Measured(), 1e-3)


class Typed(ControlLaw):
    """A law with fields of all types that a file can hold."""

    gain: float = 0.3
    terms: int = 3
    forward: bool = True
    mode: str = "x"
    taps: tuple[float, ...] = (1.0, 2.0)
    offset: float | None = None
    table: dict[str, float] = None

    def step(self, desired, _measured):
        return desired.displacement * self.taps[0] * self.terms + (self.offset or 0.0)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("terms", 2.0, "expected a whole number; found 2.0"),
        ("terms", np.float64(2.0), "expected a whole number; found 2.0"),
        ("terms", True, "expected a whole number; found true"),
        ("terms", None, "expected a whole number; found None"),
        ("forward", 1, "expected true or false; found 1"),
        ("mode", 3, "expected a text; found 3"),
        ("taps", 3.0, "expected a list; found 3.0"),
        ("taps", (1.0, "x"), r"\[1\]: expected a number with a unit"),
        ("offset", "3 metres", "unknown unit"),
        ("table", {"a": [1]}, r"a: expected a number or a text with a unit; found a list"),
    ],
)
def test_fields_are_held_to_what_a_file_may_say(field, value, message):
    with pytest.raises(InputError, match=rf"Typed\({field}\): .*{message}"):
        Typed(**{field: value})


@pytest.mark.parametrize(
    ("field", "value", "kept"),
    [
        ("terms", np.int64(2), 2),
        ("taps", [1, "3 mm"], (1, 0.003)),
        ("taps", np.array([1.0, 2.5]), (1.0, 2.5)),
        ("offset", "3 mm", 0.003),
        ("offset", None, None),
        ("table", {"a": "2 mm"}, {"a": 0.002}),
    ],
)
def test_fields_are_as_a_file_would_give_them(field, value, kept):
    mine = Typed(**{field: value})
    assert getattr(mine, field) == kept
    assert type(getattr(mine, field)) is type(kept)
    assert Typed.from_description(mine.describe()) == mine


def test_units_of_parameters_are_known():
    with pytest.raises(InputError, match=r"Parameter\(unit\): unknown unit 'secs'"):
        Parameter(0.006, least=0, unit="secs")
    Parameter(0.006, unit=("1", "N s/m", ""))


def test_arguments_of_methods_are_looked_at_when_the_class_is_made():
    with pytest.raises(
        ModelError, match=r"Mine\.step: expected step\(self, desired, measured\); found step\(s, d\)"
    ):
        law(lambda s, d: d.displacement)
    with pytest.raises(ModelError, match=r"Mine\.force: expected force\(self, motion\)"):
        specimen(force=lambda s: 0.0)
    law(lambda s, *rest: rest[0].displacement)  # it takes them all the same
    law(lambda s, d, m: s.force() * d.displacement, force=lambda s: 2.0)  # no method of a controller's


def element(kind):
    return mounted(kind()).compile()


def test_states_are_not_assigned_in_rates_or_force():
    def assign(self, motion):
        self.z = 0.5
        return {"z": motion.velocity - self.z}

    def assign_entry(self, motion):
        self.past[0] = 1.0
        return {"past": [motion.velocity, 0.0]}

    with pytest.raises(ModelError, match=r"states cannot be assigned in rates or force, found 'z'"):
        element(specimen(states={"z": 0.0}, rates=assign, force=lambda s, m: s.z))
    with pytest.raises(ModelError, match=r"Mine\.rates, line \d+ of .*read-only"):
        element(specimen(states={"past": [0.0, 0.0]}, rates=assign_entry, force=lambda s, m: s.past[0]))
    at = specimen(states={"z": 0.0}, rates=assign, force=lambda s, m: s.z)().at_states(z=0.1)
    with pytest.raises(ModelError, match="states cannot be assigned"):
        at.rates(Imposed())


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"units": {"z": "mmm"}}, r"Mine\.units\['z'\]: unknown unit 'mmm'"),
        ({"units": ["z"]}, r"Mine\.units: expected units by names"),
        ({"force": lambda s, m: m.acceleration}, "unknown entry 'acceleration' of Imposed; known: displacement, velocity"),
        ({"force": lambda s, m: (s.z, 1)}, r"Mine\.force: expected one number; found 2"),
        ({"force": lambda s, m: s.z > 0}, r"Mine\.force: expected a number; found the comparison"),
        ({"force": lambda s, m: None}, r"Mine\.force returns nothing"),
        ({"force": lambda s, m: np.tanh(m.velocity)}, r"NumPy's tanh cannot take it"),
        ({"rates": lambda s, m: {"z": m.velocity % 1}}, "'%'"),
    ],
)  # fmt: skip
def test_a_specimen_that_is_wrong_gets_a_sentence(entries, message):
    right = {
        "states": {"z": 0.0},
        "rates": lambda s, m: {"z": m.velocity * exp(-s.z)},
        "force": lambda s, m: s.z,
    }
    element(specimen(**right))
    with pytest.raises(BondloopError, match=message):
        element(specimen(**{**right, **entries}))


def test_units_of_elements_are_known():
    class Mine(Multiport):
        ports, states, units = ("end",), ("z",), {"z": "mmm"}

        def equations(self, end, z):
            return {end.effort: z.value, z.rate: end.flow}

    with pytest.raises(InputError, match=r"Mine\.units\['z'\]: unknown unit 'mmm'"):
        Mine()


@pytest.mark.parametrize("value", [[1.0, 2.0], (1.0, 2.0), np.ones(2)])
def test_a_state_of_one_number_is_not_assigned_several(value):
    def step(self, desired, measured):  # noqa: ARG001
        self.sum = value
        return desired.displacement

    with pytest.raises(ModelError, match="the state 'sum' is one number; found 2"):
        law(step, states={"sum": 0.0})().started(0.01).step(Desired(1.0), Measured())


@pytest.mark.parametrize("kind", [ControlLaw, OdeSpecimen])
def test_a_law_has_no_constructor_of_its_own(kind):
    def start(self, gain):
        self.gain = gain

    with pytest.raises(ModelError, match=r"Mine: a law has no __init__ of its own; write its parameters as"):
        type("Mine", (kind,), {"__init__": start})


def test_arguments_by_the_names_of_the_others_are_refused():
    with pytest.raises(
        ModelError, match=r"expected step\(self, desired, measured\); found step\(s, measured, desired\)"
    ):
        law(lambda s, measured, desired: desired.displacement)


def test_a_state_is_not_deleted():
    def step(self, desired, _measured):
        del self.sum
        return desired.displacement

    with pytest.raises(ModelError, match="'sum' cannot be deleted; a state has a value at every sample"):
        _ = floor(law(step, states={"sum": 0.0})()).tick


SUMS = {
    "a sum": lambda x, y: (x > 0) + (y > 0) + 0.0,
    "a difference": lambda x, y: (x > 0) - (y > 0) + 0.0,
    "a negative": lambda x, _: -(x > 0) * 1.0,
    "of results": lambda x, y: (
        (2 * x - y > 0) + (bl.math.sin(x) > y) + (abs(-x) >= x**2) + 1e-3 * (y / 2 <= x)
    ),
    "of joined ones": lambda x, y: 0.5 * ((x > 0) & (y > 0)) + ((x > 0) | (y > 0)) * 2.0,
    "of constants": lambda x, y: (where(x > 0, 1.0, -1.0) > 0) + (bl.math.clip(x, -1, 1) != y) + 0.0,
    "a product": lambda x, y: (x > 0) * (y > 0) * x - (x == y),
}


class Summing(ControlLaw):
    """A law that counts comparisons, of its state too."""

    which: str = "a sum"
    states = {"past": 0.0}

    def step(self, desired, measured):
        x, y = desired.displacement, measured.displacement
        count = (x > self.past) + (y > self.past) - (self.past > 0)
        self.past = x
        return SUMS[self.which](x, y) + 10 * count


class SummingTwo(ControlLaw):
    """The same for two, with arrays."""

    which: str = "a sum"
    coupled = True

    def step(self, desired, measured):
        x, y = desired.displacement, measured.displacement
        return [SUMS[self.which](x[0], y[0]), (SUMS[self.which](x, y))[1]]


@pytest.mark.parametrize("which", SUMS)
def test_comparisons_add_up_to_what_they_do_in_the_tick(which):
    mine = Summing(which=which)
    x, y = np.random.default_rng(7).choice([-1.0, 0.0, 0.5, 2.0], size=(2, 40))
    expected = alone(mine, x, y, 1e-3, "numpy")
    np.testing.assert_array_equal(mine.respond(Desired(x), Measured(displacement=y), 1e-3), expected)
    both = SummingTwo(which=which).respond(
        Desired(np.array([x, x]).T), Measured(displacement=np.array([y, y]).T), 1e-3
    )
    plain = Summing(which=which).started(1e-3)  # by Python's own floats, without the count of the state
    assert type(plain.step(Desired(0.5), Measured(displacement=2.0))) is float
    by_hand = [[SUMS[which](float(a), float(b))] * 2 for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(both, by_hand, rtol=1e-15)


def test_samples_that_do_not_fit_are_refused_by_name():
    mine = law(lambda s, d, m: d.displacement)()
    with pytest.raises(InputError, match=r"found 2 of desired\.displacement, 3 of measured\.displacement"):
        mine.respond(Desired([0.0, 1.0]), Measured(0.0, [0.0, 1.0, 2.0]), 0.01)
    with pytest.raises(
        InputError, match=r"respond\(desired\.displacement\): expected a quantity in m or rad"
    ):
        mine.respond(Desired(["1 kg"]), Measured(0.0), 0.01)
    with pytest.raises(InputError, match=r"respond\(measured\.force\): expected numbers or texts with units"):
        mine.respond(Desired(0.0), Measured([{}, 1]), 0.01)
    assert mine.respond(Desired(["1 mm", 2]), Measured(0.0), "10 ms").tolist() == [0.001, 2.0]
    assert mine.respond(Desired(np.array([False, True])), Measured(0.0), "10 ms").tolist() == [0.0, 1.0]
    coil = type(
        "Coil", (Device,), {"inputs": {"current": "A"}, "force": lambda s, m: s.current * m.velocity}
    )()
    with pytest.raises(InputError, match=r"respond\(current\): expected a quantity in A"):
        coil.respond([0.0, 0.001, 0.002], 100, current="5 kg")


def test_states_measure_what_their_class_says():
    told = r"Mine\.states\['z'\]: expected a quantity in m, or another unit of its kind; found '5 N'"
    for start in ("5 N", ["1 mm", "5 N"]):
        with pytest.raises(InputError, match=told):
            law(lambda s, d, m: d.displacement, states={"z": start}, record={"z": "m"})().started("1 ms")
        with pytest.raises(InputError, match=told):
            specimen(
                states={"z": start}, units={"z": "m"}, rates=lambda s, m: {"z": s.z}, force=lambda s, m: 0.0
            )().initial_states()
    mine = law(lambda s, d, m: d.displacement, states={"z": ["1 mm", 2.0]}, record={"z": "m"})()
    assert mine.started("1 ms").z.tolist() == [0.001, 2.0]
