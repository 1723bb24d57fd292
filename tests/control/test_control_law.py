"""Controllers of one's own: against difference equations by hand, and compiled against plain numbers."""

# ruff: noqa: RUF012 - states are read, never changed

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import bilinear, lfilter

import bondloop as bl
from bondloop.control import ControlLaw, Desired, Measured
from bondloop.engine.codegen import Runner
from bondloop.engine.ir.expr import Var
from bondloop.engine.passes.block import Context
from bondloop.errors import BondloopError, InputError, ModelError
from bondloop.math import clip, exp, maximum, sin, tanh, where

sys.path.insert(0, str(Path(__file__).parent))  # for laws.py

from laws import PIWithLead, alone, floor


def by_scipy(law, x, y, period):
    """The same by SciPy's own bilinear transform and difference equations."""
    lead = bilinear([law.lead, law.corner], [1.0, law.corner], 1 / period)
    outer = bilinear([law.proportional, law.integral], [1.0, 0.0], 1 / period)
    return lfilter(*outer, lfilter(*lead, x) - y)


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_pi_with_lead_is_scipys(backend):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 400))
    law, period = PIWithLead(), 1 / 4096
    expected = by_scipy(law, x, y, period)
    size = abs(expected).max()
    np.testing.assert_allclose(alone(law, x, y, period, backend), expected, atol=1e-12 * size)
    plain = law.respond(Desired(x), Measured(displacement=y), period)
    np.testing.assert_allclose(plain, expected, atol=1e-12 * size)


@given(
    lead=st.floats(0.5, 100),
    corner=st.floats(1, 1e4),
    proportional=st.floats(0.1, 5),
    integral=st.floats(0, 500),
)
def test_any_pi_with_lead_is_scipys(lead, corner, proportional, integral):
    law, period = PIWithLead(lead, corner, proportional, integral), 1e-3
    x = np.sin(np.arange(60) * 0.3)
    expected = by_scipy(law, x, 0.3 * x, period)
    plain = law.respond(Desired(x), Measured(displacement=0.3 * x), period)
    np.testing.assert_allclose(plain, expected, atol=1e-10 * (1 + abs(expected).max()))


def test_in_a_test_it_computes_what_scipy_does_and_is_set_by_path():
    law = PIWithLead(lead=1.5, corner=100, proportional=0.5, integral=20)
    test = floor(law)
    assert test.parameters["controller.integral"] == 20
    for changed in ({}, {"controller.proportional": 0.8, "controller.integral": "35"}):
        run = test.with_values(changed).run(1)
        now = dataclasses.replace(
            law, **{k.removeprefix("controller."): float(v) for k, v in changed.items()}
        )
        expected = by_scipy(now, run["desired.displacement"], run["actual.displacement"], test.period)
        np.testing.assert_allclose(run["command"], expected, atol=1e-12 * abs(expected).max())
    assert {c.name: c.unit for c in test.tick.channels}["controller.sum"] == "m"
    assert test.check().level == "care"  # stable; a lag of 10 ms is not compensated
    with pytest.raises(InputError, match=r"controller.integral: expected a number at least 0; found -1"):
        test.with_values({"controller.integral": -1})


def test_twins():
    test = floor(PIWithLead(lead=1.5, corner=100, proportional=0.5, integral=20))
    c, python = (test.run(0.5, backend=b)["command"] for b in ("c", "numpy"))
    np.testing.assert_allclose(c, python, rtol=0, atol=1e-12 * abs(c).max())


def test_its_poles_are_the_checks():
    """The unstable gain that the check refuses is the one at which the difference equations grow."""
    stable, unstable = (floor(PIWithLead(1.0, 100, 0.5, i)).check(2) for i in (20.0, 400.0))
    assert stable.step.stable
    assert stable.passed
    assert not unstable.step.stable
    assert not unstable.passed


class Tracking(ControlLaw):
    """Everything at once: time, vectors, a smooth and a broken function, an adapted gain."""

    rate: float = 0.5
    taps: int = 3
    adapted = ("gain",)

    @property
    def states(self):
        return {"gain": 1.0, "past": np.zeros(self.taps), "peak": 0.0}

    def step(self, desired, measured):
        x = desired.displacement
        first = where(self.time == 0, x, self.past[0])
        self.past = [x, *self.past[:-1]]
        error = x - measured.displacement
        self.gain = clip(self.gain + self.rate * self.period * tanh(error * x), 0.5, 2.0)
        self.peak = maximum(self.peak, abs(x))
        mean = sum(self.past) / self.taps
        return self.gain * (x + 0.1 * (x - mean) + 0.01 * (x - first)) + 1e-3 * sin(self.time) * self.peak


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_law_with_everything_computes_the_same_compiled(backend):
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 200))
    law = Tracking(rate=30.0, taps=4)
    plain = law.respond(Desired(x), Measured(displacement=y), 0.01)
    np.testing.assert_allclose(alone(law, x, y, 0.01, backend), plain, rtol=1e-13, atol=1e-15)


def test_what_adapts_is_known_to_the_check_and_recorded():
    test = floor(Tracking(rate=1e5))
    assert test.adapts
    assert [v.name for v in test.wiring.computer.adapted] == ["controller.gain"]
    assert np.ptp(test.run(1)["controller.gain"]) > 0
    check = test.check(2)
    assert check.instants
    assert check.ensemble.twins


def test_initial_values_follow_changed_parameters():
    class Decay(ControlLaw):
        first: float = 2.0

        @property
        def states(self):
            return {"value": self.first}

        def step(self, desired, measured):  # noqa: ARG002
            self.value = self.value / 2
            return desired.displacement + 0 * self.value

    test = floor(Decay()).with_values({"controller.first": 6.0})
    names = {v.name: x for v, x in test.tick.states.items()}
    assert names["controller.value"] == 6.0


class Crossed(ControlLaw):
    """Each of two actuators is told a part of the other's error."""

    share: float = 0.1
    states = {"sum": [0.0, 0.0]}
    coupled = True

    def step(self, desired, measured):
        error = desired.displacement - measured.displacement
        self.sum = self.sum + self.period * error
        crossing = np.array([[1.0, 0.5], [0.25, 1.0]])
        return (
            desired.displacement + 0.002 * desired.velocity + self.share * (crossing @ error) + 3 * self.sum
        )


def test_several_transfer_systems_in_one_step():
    law = Crossed(share=0.2)
    test = floor(law, count=2)
    run = test.run(0.5)
    pick = lambda word: np.column_stack([run[f"{word}[{i}]"] for i in range(2)])  # noqa: E731
    x, v, y = (pick(w) for w in ("desired.displacement", "desired.velocity", "actual.displacement"))
    error = x - y
    expected = x + 0.002 * v + 0.2 * error @ np.array([[1.0, 0.5], [0.25, 1.0]]).T
    expected += 3 * np.cumsum(error, axis=0) * test.period
    np.testing.assert_allclose(pick("command"), expected, atol=1e-12)
    plain = law.respond(Desired(x, v), Measured(displacement=y), test.period)
    np.testing.assert_allclose(plain, expected, atol=1e-12)


def test_several_transfer_systems_each_on_its_own():
    law = PIWithLead(lead=1.5, corner=100, proportional=0.5, integral=20)
    test = floor(law, count=2)
    run = test.run(0.5)
    for i in range(2):
        x, y = run[f"desired.displacement[{i}]"], run[f"actual.displacement[{i}]"]
        expected = by_scipy(law, x, y, test.period)
        np.testing.assert_allclose(run[f"command[{i}]"], expected, atol=1e-12 * abs(expected).max())
    assert "controller[1].sum" in run.record.channels


# -------------------------------------------------------------------- refusals


def law_of(step, **body):
    return type("Own", (ControlLaw,), {"step": step, "__module__": __name__, **body})


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda self, d, m: d.displacement if d.displacement > 0 else 0.0, "where"),  # noqa: ARG005
        (lambda self, d, m: max(d.displacement, 0.0), "maximum"),  # noqa: ARG005
        (lambda self, d, m: float(d.displacement), "bondloop.math"),  # noqa: ARG005
        (lambda self, d, m: None, "returns nothing"),  # noqa: ARG005
        (lambda self, d, m: "fast", "expected a number"),  # noqa: ARG005
        (lambda self, d, m: ~(d.displacement > 0), "logical_not"),  # noqa: ARG005
    ],
)
def test_what_cannot_be_traced_is_refused_in_words(step, message):
    test = floor(law_of(step)())
    with pytest.raises(BondloopError, match=message):
        _ = test.tick
    check = test.check()
    assert not check.passed
    assert "cannot be built" in check.verdict


def test_states_are_named():
    def forgets(self, desired, measured):  # noqa: ARG001
        self.summ = 1.0
        return desired.displacement

    with pytest.raises(ModelError, match=r"unknown state 'summ'.*did you mean.*sum|summ"):
        _ = floor(law_of(forgets, states={"sum": 0.0})()).tick
    plain = law_of(lambda self, d, m: d.displacement, states={"sum": 0.0})()  # noqa: ARG005
    with pytest.raises(AttributeError, match="only while it runs"):
        _ = plain.sum
    with pytest.raises(dataclasses.FrozenInstanceError, match="does not change"):
        plain.sum = 1.0
    for states in ({"time": 0.0}, {"step": 0.0}, {"_hidden": 0.0}, {"a b": 0.0}, ["sum"], {"sum": np.nan}):
        with pytest.raises(BondloopError, match="states"):
            _ = floor(law_of(lambda self, d, m: d.displacement, states=states)()).tick  # noqa: ARG005
    with pytest.raises(ModelError, match="unknown state 'gain'"):
        _ = floor(law_of(lambda self, d, m: d.displacement, adapted=("gain",))()).tick  # noqa: ARG005


def test_a_misspelt_parameter_is_named_wherever_it_stands():
    class Lost(ControlLaw):
        """Misspelt in the initial values, or in the step."""

        gain: float = 1.0
        early: bool = True

        @property
        def states(self):
            return {"sum": self.gian if self.early else 0.0}

        def step(self, desired, measured):  # noqa: ARG002
            return self.gian * desired.displacement

    for early in (True, False):
        with pytest.raises(
            AttributeError, match=r"Lost: unknown parameter or state 'gian'.*did you mean 'gain'"
        ):
            _ = floor(Lost(early=early)).tick


def test_it_is_a_value_that_describes_itself():
    law = PIWithLead(proportional=3)
    assert law == PIWithLead(proportional=3.0)
    assert hash(law) == hash(PIWithLead(proportional=3))
    assert law != PIWithLead()

    class DescribedPI(PIWithLead):
        """Of a name that no page uses: a kind is found by its name."""

    one = DescribedPI(proportional=3)
    assert bl.control.Compensator.from_description(one.describe()) == one
    with pytest.raises(InputError, match="integral"):
        PIWithLead(integral=-1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'propotional'"):
        PIWithLead(propotional=1)
    with pytest.raises(InputError, match="decides how it is built"):
        floor(Tracking()).with_values({"controller.taps": 5})


def test_names_of_the_library_are_refused():
    step = lambda self, desired, measured: desired.displacement  # noqa: E731, ARG005
    for word in ("period", "time", "design", "adapts", "started"):
        with pytest.raises(ModelError, match=f"'{word}' is a name of bondloop's own"):
            law_of(step, __annotations__={word: float}, **{word: 1.0})
    with pytest.raises(ModelError, match="'commands' is a name of bondloop's own"):
        law_of(step, commands=lambda self: 0.0)  # noqa: ARG005
    with pytest.raises(ModelError, match="bondloop has a controller 'LeadCompensation' of its own"):
        type("LeadCompensation", (ControlLaw,), {"step": step, "__module__": __name__})
    law = law_of(step, __annotations__={"initial": "float"}, helper=lambda self: 2.0)(initial="3 mm")  # noqa: ARG005
    assert law.initial == 0.003


def test_decorating_it_again_does_no_harm():
    @dataclasses.dataclass(frozen=True)
    class Lead(ControlLaw):
        """A lead by the desired velocity."""

        time_ahead: float = 0.01

        def step(self, desired, measured):  # noqa: ARG002
            return desired.displacement + self.time_ahead * desired.velocity

    run = floor(Lead("9 ms")).run(0.5)
    expected = run["desired.displacement"] + 0.009 * run["desired.velocity"]
    np.testing.assert_allclose(run["command"], expected, atol=1e-15)


def test_a_long_loop_in_python_is_no_deep_expression():
    def long(self, desired, measured):  # noqa: ARG001
        a, b = desired.displacement, desired.displacement * 0.5
        for _ in range(300):
            a, b = b, 0.5 * (a + b)
        return b

    x = np.linspace(0, 1, 5)
    law = law_of(long)()
    np.testing.assert_allclose(
        alone(law, x, x, 0.01, "c"), law.respond(Desired(x), Measured(), 0.01), rtol=1e-14
    )


def test_a_derived_class_gives_other_defaults_and_keeps_bounds():
    class Softer(PIWithLead):
        """With other defaults, one more parameter, and more to do."""

        proportional = 0.5
        integral = 20.0
        lead = 1.5
        corner = 100.0
        scale: float = 1.0

        def step(self, desired, measured):
            return self.scale * super().step(desired, measured)

    law = Softer()
    assert (law.proportional, law.integral) == (0.5, 20.0)
    assert PIWithLead().proportional == 2.0
    with pytest.raises(InputError, match=r"Softer\(integral\): expected a number at least 0"):
        Softer(integral=-1)
    test = floor(Softer(scale=0.9))
    assert {"controller.integral", "controller.scale"} <= set(test.parameters)
    run = test.run(0.3)
    expected = 0.9 * by_scipy(law, run["desired.displacement"], run["actual.displacement"], test.period)
    np.testing.assert_allclose(run["command"], expected, atol=1e-12 * abs(expected).max())


def test_arrays_are_compared_entry_by_entry():
    class Gated(ControlLaw):
        """Each actuator is held while it is beyond a threshold."""

        states: dict = {"kept": [0.0, 0.0]}
        coupled: bool = True

        def step(self, desired, measured):
            x = desired.displacement
            self.kept = where((abs(x) > 1e-4) & (measured.force < 1.0), self.kept, x)
            self.kept[0] += 1e-6 * (x[0] == x[1])
            return self.kept

    law = Gated()
    run = floor(law, count=2).run(0.3)
    x, f = (np.column_stack([run[f"{w}[{i}]"] for i in range(2)]) for w in ("desired.displacement", "force"))
    plain = law.respond(Desired(x), Measured(force=f), 1e-3)
    np.testing.assert_array_equal(plain, np.column_stack([run["command[0]"], run["command[1]"]]))
    assert np.ptp(plain) > 0


def test_in_both_halves_of_a_real_time_loop():
    """The computer's half alone computes the same as the whole: what is rehearsed is what runs."""
    law = PIWithLead(lead=1.5, corner=100, proportional=0.5, integral=20)
    test = floor(law)
    whole = test.run(0.2)
    tick = test.computer_tick
    columns = {"measured.force": "force", "measured.displacement": "actual.displacement"}
    columns["measured.velocity"] = "actual.velocity"
    table = np.column_stack([whole[columns[v.name]] for v in tick.inputs])
    alone = Runner(tick, "c").run(len(table), table)
    np.testing.assert_allclose(alone.channels["command"], whole["command"], rtol=1e-12)


def test_it_moves_a_rig_in_an_experiment_but_then_has_no_desired_velocity():
    class Early(ControlLaw):
        """Needs the desired velocity."""

        def step(self, desired, measured):  # noqa: ARG002
            return desired.displacement + 0.01 * desired.velocity

    with pytest.raises(ModelError, match="desired velocity is not known"):
        Early().compensate(Var("x"), Measured(), Context("c", Var("k"), 0.001))


def test_the_check_of_a_law_is_that_of_the_compensator_it_copies():
    """The lead of the library, written anew: the same poles, the same margins."""

    class Copied(ControlLaw):
        """r - (r - 1)/(lag s + 1), exact for a demand that is linear between samples."""

        delay: float = 0.01
        ratio: float = 5.0
        states = {"origin": 0.0, "before": 0.0, "late": 0.0}

        def step(self, desired, measured):  # noqa: ARG002
            self.origin = where(self.time == 0, desired.displacement, self.origin)
            x = desired.displacement - self.origin
            lag = self.delay / (self.ratio - 1)
            decay = exp(-self.period / lag)
            share = lag / self.period * (1 - decay)
            self.late = decay * self.late + (1 - share) * x + (share - decay) * self.before
            self.before = x
            return self.origin + self.ratio * x - (self.ratio - 1) * self.late

    tests = floor(bl.control.LeadCompensation(0.01)), floor(Copied())
    ours, theirs = (t.run(0.5)["command"] for t in tests)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-15)
    one, other = (t.check(2) for t in tests)
    assert one.step.spectral_radius == pytest.approx(other.step.spectral_radius, abs=1e-12)
    assert one.margins.delay.value == pytest.approx(other.margins.delay.value, rel=1e-6)
    assert one.level == other.level
