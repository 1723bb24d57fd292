"""Parts of the wrong kind, units of the wrong kind, paths that do not exist: refused in words, at once."""

import math
from dataclasses import replace

import pytest

import bondloop as bl
from bondloop.bondgraph import Domain, I, One
from bondloop.bondgraph.model import model_from_parts
from bondloop.errors import InputError
from bondloop.hybrid import PseudoDynamicTest
from bondloop.papers import bayer_substep, dasilva_beam, gawthrop_two_actuators
from bondloop.rigs import Backlash, LoadCell, WhiteNoise
from bondloop.safety import RampedSwitch

TEST = gawthrop_two_actuators.test()
STEPPED = bayer_substep.test(reference=False)
MASS = "numerical.mn1.I.mass"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"excitation": None}, r"excitation: expected signals by the name .* or \{\} for none; found None"),
        ({"controller": "direct"}, r"controller: expected bondloop.control.Direct\(\), .*; found 'direct'"),
        ({"controller": bl.control.Direct}, r"found the class Direct; make one of it: Direct\(...\)"),
        ({"rig": None}, r"rig: expected bondloop.rigs.Emulated\(physical, actuator\)"),
        ({"numerical": None}, "numerical: expected the numerical half of a cut"),
        ({"limits": {"displacement": 0.1}}, r"limits: expected bondloop.safety.Limits\("),
        ({"values": {"rig.substeps": 4}}, r"decides how it is built: .* Emulated\(..., substeps=4\)"),
        ({"values": {"rig.foo": 4}}, "unknown parameter 'rig.foo' of the test; known: rig.specimen"),
        ({"values": {MASS: "10 mm"}}, f"{MASS}: expected a quantity in kg, .* found '10 mm'"),
        ({"tunable": ["a.b"]}, r"tunable: expected \{'controller.gain': Tunable\(.* found \['a.b'\]"),
        ({"reference": 3}, r"reference: expected the complete model, .* found 3"),
        ({"reference": ((1, 2), (3,))}, r"reference: expected the complete model, .* found \(1, 2\)"),
        ({"reference": ()}, r"reference: expected the complete model, or .*; found \(\)"),
        ({"reference": (1, 2)}, r"reference: expected the complete model, or .*; found \(1, 2\)"),
    ],
)
def test_parts_of_a_hybrid_test(changes, words):
    with pytest.raises(InputError, match=words):
        TEST.replaced(**changes)


@pytest.mark.parametrize("sensor", [WhiteNoise("1 N"), [WhiteNoise("1 N")], WhiteNoise, LoadCell, 3, None])
def test_sensors(sensor):
    with pytest.raises(InputError, match=r"\(sensors\): force: (put imperfections into|expected) a sensor"):
        replace(TEST.rig, sensors={"force": sensor})
    with pytest.raises(InputError, match="by what they measure"):
        replace(TEST.rig, sensors=[sensor])
    if sensor is not None:
        with pytest.raises(InputError, match=r"ShakingTable\(sensor\): (put|expected)"):
            replace(STEPPED.rig, sensor=sensor)


def test_one_imperfection_of_the_drive_will_do():
    rig = replace(TEST.rig, drive=Backlash("1 mm"))
    assert rig.drive == (Backlash("1 mm"),)
    with pytest.raises(InputError, match=r"Emulated\(drive\): expected imperfections"):
        replace(TEST.rig, drive="backlash")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"excitation": None}, "excitation: expected signals by the name"),
        ({"excitation": {"g": (1.0, 2.0)}}, r"expected a signal, or a signal with the forces per unit"),
        ({"excitation": {"g": (1.0,)}}, r"expected a signal, or a signal with the forces per unit"),
        ({"rig": bl.rigs.ShakingTable}, "found the class ShakingTable; make one of it"),
        ({"scheme": "Newmark"}, "scheme: expected bondloop.integrate.SubStep"),
        ({"numerical": [[1.0]]}, "numerical: expected M, C and K"),
        ({"limits": bl.safety.Limits(tracking_error=1.0)}, "limits.tracking_error: .* does not watch it"),
        ({"values": {"scheme.sub_steps": 3}}, r"SubStep\(..., sub_steps=3\)"),
        ({"values": {"rig.overshoot": "10 mm"}}, "rig.overshoot: expected a quantity in %"),
        ({"time_step": "4 mm"}, "time_step: expected a quantity in s"),
        ({"scale": 2}, "unknown argument 'scale' of the test"),
    ],
)
def test_parts_of_a_pseudo_dynamic_test(changes, words):
    with pytest.raises(InputError, match=words):
        STEPPED.replaced(**changes)


def test_units_that_suit_are_converted():
    assert TEST.with_values({MASS: "500 g"}).parameters[MASS] == pytest.approx(0.5)
    changed = STEPPED.with_values({"rig.overshoot": "10 %"})
    assert changed.parameters["rig.overshoot"] == pytest.approx(0.1)
    assert STEPPED.replaced(time_step="4 ms").period == pytest.approx(0.004)
    assert isinstance(changed, PseudoDynamicTest)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: bl.safety.Limits(displacement=math.inf), "must be finite; leave it out"),
        (lambda: bl.safety.Limits(force=[1]), r"limits.force: expected a number or a text with unit"),
        (lambda: replace(STEPPED.rig, stroke="2 kg"), r"ShakingTable\(stroke\): expected a quantity in m"),
        (lambda: replace(STEPPED.rig, velocity=math.inf), "expected a finite number"),
    ],
)
def test_limits(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(
    "test", [TEST, STEPPED, dasilva_beam.test()], ids=["hybrid", "stepped", "simulation"]
)
def test_lengths(test):
    assert test.length > 0
    assert test.run("50 ms").time[-1] == pytest.approx(0.05, abs=test.period)
    for wrong in ("10 mm", "-1 s", 0, math.nan, "soon"):
        with pytest.raises(InputError, match=r"seconds|the length of a run must be positive"):
            test.run(wrong)
    if hasattr(test, "check"):
        with pytest.raises(InputError, match="seconds: expected a quantity in s"):
            test.check("10 mm")


def test_a_run_without_a_length_is_as_long_as_the_excitation():
    pulse = bl.signals.Table([0.0, 0.1, 0.3], [0.0, 1.0, 0.0])
    test = STEPPED.replaced(excitation={"m1": pulse})
    assert test.length == pytest.approx(100 * test.period), "at least a hundred steps"
    endless = STEPPED.replaced(excitation={"m1": bl.signals.Sine(1.0, 2.0)})
    assert endless.length == 10.0
    assert endless.run().time[-1] == pytest.approx(10.0)


def test_a_run_that_no_memory_can_hold_is_refused(monkeypatch):
    test = gawthrop_two_actuators.test()
    with pytest.raises(InputError, match=r"1e\+12 ticks of 0\.001 s; at most 1,000,000,000 are executed"):
        test.run(1e9)
    with monkeypatch.context() as small:
        small.setattr("os.sysconf", lambda _: 1000)  # pages of 1000 bytes, so many of them
        with pytest.raises(InputError, match=r"need .* GB, and this machine has .* GB.*every="):
            test.run(60.0)
    for silly in (True, float("inf"), "5 mm", -1):
        with pytest.raises(InputError, match=r"seconds|length"):
            test.run(silly)


@pytest.mark.parametrize("reference", ["ü", {}, 3, [1.0], bl.signals.Sine])
@pytest.mark.parametrize("kind", [bl.control.MCS, bl.control.DiscreteMCS])
def test_the_reference_of_mcs_is_a_signal(kind, reference):
    with pytest.raises(InputError, match=rf"{kind.__name__}\(reference\): expected a signal"):
        kind(reference=reference)
    if isinstance(reference, dict):
        with pytest.raises(InputError, match="reference: which signal is it"):
            kind.from_description({"controller": kind.__name__, "reference": {"signalx": "Sine"}})


def test_a_simulation_without_excitation_says_so():
    with pytest.raises(InputError, match="excitation: expected signals by the name"):
        bl.Simulation(**{**dasilva_beam.test().arguments, "excitation": None})


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"simulated": RampedSwitch()}, "simulated"),
        ({"displacement": 1}, "displacement"),
        ({"force": "on"}, "force"),
    ],
)
def test_switches_are_switches(arguments, word):
    with pytest.raises(InputError, match=rf"Switches\({word}\): expected "):
        bl.Switches(**arguments)


@pytest.mark.parametrize("effort", ["Pa", 3, ("pressure",), ("a", "Pa", "c")])
def test_a_domain_is_named_with_units(effort):
    with pytest.raises(InputError, match=r"Domain\(effort\): expected its name and its unit"):
        Domain("mine", effort=effort, flow=("volume", "m^3/s"))


@pytest.mark.parametrize("bond", [-1, ["v >> mass"], {"bond": 3}, {}, "v"])
def test_a_bond_is_written_as_text(bond):
    parts = {"v": One(), "mass": I(mass=2.0)}
    with pytest.raises(InputError, match=r"expected a bond written as 'a.b >> c.d'; found"):
        model_from_parts(parts, ["v >> mass", bond])


def test_forces_of_a_load_are_numbers():
    signal = bl.signals.Sine(1.0, 2.0)
    with pytest.raises(InputError, match="the excitation 'push', m1: expected a number with a unit"):
        STEPPED.replaced(excitation={"push": (signal, {"m1": "file"})})
    STEPPED.replaced(excitation={"push": (signal, {"m1": "3 kN"})})
