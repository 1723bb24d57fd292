"""Slips in test files that newcomers make: each is told by its line, in words that help."""

import sys
import tomllib
from pathlib import Path

import pytest

import bondloop as bl
from bondloop import files
from bondloop.bondgraph import C
from bondloop.engine.data.kinds import complete
from bondloop.engine.data.restoring import restore
from bondloop.errors import InputError
from bondloop.rigs import LoadCell
from bondloop.units import quantity

sys.path.insert(0, str(Path(__file__).parent))  # for files.py

from file_cases import again, hybrid, oscillator, same

DAMPER = """
name = "damper"
rate = "1 kHz"
seconds = 5
cut = "m2.right >> m3.left"

[structure]
model = "gawthrop-three-mass"
spring = "hardening"

[rig]
rig = "Emulated"
actuators = {transfer = "MassSpringDamper", m = "1 kg", c = 20, k = "400 N/m", drive = "position"}
latency = "2 ms"
sensors.force = {imperfection = "LoadCell", range = "100 N"}

[controller]
controller = "LeadCompensation"
delay = "52 ms"

[excitation]
r = {signal = "Sine", amplitude = 0.05, frequency = "0.5 Hz"}
"""


def changed(*pairs):
    text = DAMPER
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def fault(*pairs, **options):
    with pytest.raises(InputError) as caught:
        files.load_text(changed(*pairs), name="damper.toml", **options)
    return str(caught.value)


SENSOR = '{imperfection = "LoadCell", range = "100 N"}'


def test_where_all_defaults_do_the_name_is_enough():
    test = files.load_text(changed((SENSOR, '"LoadCell"'))).test
    assert test.rig.sensors["force"] == LoadCell()


def test_a_sensor_that_is_none_is_told_by_its_line():
    assert fault((SENSOR, '"LoadCel"')).startswith(
        "damper.toml: line 15, rig.sensors.force.imperfection: unknown imperfection 'LoadCel'; did"
    )
    assert fault(("sensors.force", "sensors.forces")).startswith(
        "damper.toml: line 15, rig.sensors: expected sensors of 'force', 'displacement' and 'velocity'; found"
    )
    assert fault((SENSOR, '{imperfection = "WhiteNoise", rms = "1 N"}')).startswith(
        "damper.toml: line 15, rig.sensors: force: put imperfections into a sensor"
    )
    assert fault((SENSOR, '{range = "100 N"}')).startswith(
        "damper.toml: line 15, rig.sensors.force: which imperfection is it?"
    )
    assert fault((SENSOR, "3")).startswith(
        "damper.toml: line 15, rig.sensors.force: expected an imperfection"
    )


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("rig.specimen.m3.vv.flow", "rig.specimen.m3.v.flow"),
        ("numerical.m1.v.flwo", "numerical.m1.v.flow"),
        ("specimen.m3.v.flow", "rig.specimen.m3.v.flow"),
        ("m1.v.flow", "numerical.m1.v.flow"),
    ],
)
def test_what_cannot_be_recorded_is_told_by_its_line_with_a_name_that_can(path, right):
    record = 'name = "damper"', f'name = "damper"\nrecord = ["force", "{path}"]'
    message = fault(record)
    assert message.startswith("damper.toml: line 3, record[1]: ")
    suggestion = message.partition("did you mean '")[2] or message.partition("write '")[2]
    assert suggestion.partition("'")[0] == right
    test = files.load_text(changed(record).replace(f'"{path}"', f'"{right}"')).test
    assert right in test.run(0.01).record


def test_the_length_of_a_run_is_kept(tmp_path):
    (tmp_path / "a.toml").write_text(DAMPER)
    test = files.load(tmp_path / "a.toml")
    assert test.length == 5
    assert test.with_values({"rig.transfer.damper.damping": 21}).run().time[-1] == 5
    files.to_toml(test, tmp_path / "b.toml")
    assert files.read(tmp_path / "b.toml").seconds == 5
    assert "seconds = 7" in files.to_toml(test, seconds=7)
    lasting = files.load_text(changed(("seconds = 5\n", ""))).test
    assert lasting.seconds is None
    assert "seconds" not in files.to_toml(lasting)
    assert lasting == test  # how long it runs is no part of what it is


def test_a_file_that_cannot_be_written_gets_a_sentence(tmp_path):
    test = files.load_text(DAMPER).test
    with pytest.raises(InputError, match=r"nowhere.*x\.toml cannot be written: No such file or directory"):
        files.to_toml(test, tmp_path / "nowhere" / "x.toml")
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        files.to_toml(test, tmp_path)


FRAME = """
model = "field_form"
[matrices]
matrices = "from_structure"
[matrices.structure]
structure = "ShearBuilding"
masses = ["2 t", "1500 kg"]
stiffnesses = ["800 kN/m", "600 kN/m"]
rayleigh = RAYLEIGH
"""
BEAM = """
model = "field_form"
[matrices]
matrices = "from_structure"
[matrices.structure]
structure = "Structure"
nodes = {foot = [0, 0], top = [0, 2]}
supports = {foot = []}
rayleigh = RAYLEIGH
elements = {low = {element = "Frame2D", a = "foot", b = "top", E = "210 GPa", A = 1e-3, I = 1e-7, rho = 7850}}
"""


@pytest.mark.parametrize("structure", [FRAME, BEAM])
def test_coefficients_of_rayleigh_have_units(structure):
    def damping(values):
        return restore(tomllib.loads(structure.replace("RAYLEIGH", values))).compile().numeric().A.toarray()

    assert (damping('["0.2 1/s", "0.3 ms"]') == damping("[0.2, 3e-4]")).all()
    for values, words in {
        '["a", 3e-4]': "rayleigh: alpha: expected a number with a unit, such as '150 1/s'; found 'a'",
        '["0.2 s", 3e-4]': "rayleigh: alpha: expected a quantity in 1/s, or another unit of its kind",
        '[0.2, "3 mm"]': "rayleigh: beta: expected a quantity in s, or another unit of its kind",
        "[0.2]": "rayleigh: expected two numbers, alpha in 1/s and beta in s; found",
        "[0.2, 1, 2]": "rayleigh: expected two numbers, alpha in 1/s and beta in s; found",
        "[0.2, -1]": "rayleigh: alpha = 0.2 and beta = -1 must not be negative",
    }.items():
        with pytest.raises(InputError) as caught:
            damping(values)
        assert words in str(caught.value)


def test_g_is_the_gram():
    quake = '{signal = "Earthquake", peak = "0.1 g", duration = 10}'
    message = fault(('{signal = "Sine", amplitude = 0.05, frequency = "0.5 Hz"}', quake))
    assert message == (
        "damper.toml: line 22, excitation.r.peak: expected a quantity in m/s^2, or another unit of its kind; "
        "found '0.1 g'; g is the gram, standard gravity is gn"
    )
    with pytest.raises(InputError, match=r"found '3 kg'; g is the gram, standard gravity is gn$"):
        quantity("3 kg", "m/s^2")
    with pytest.raises(InputError, match=r"found '0.1 g'$"):
        quantity("0.1 g", "m")


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (('name = "damper"', 'name = "damper'), "line 2: Illegal character '\\n', in: name = \"damper"),
        (
            ('latency = "2 ms"', 'latency = "2 ms"\nlatency = 3'),
            "line 15: Cannot overwrite a value, in: latency",
        ),
        (("[controller]", "[rig]"), "line 17: Cannot declare ('rig',) twice, in: [rig]"),
        (("m = ", "c = "), "line 13: Duplicate inline table key 'c', in: actuators = "),
        (('rate = "1 kHz"', "rate = fast"), "line 3: Invalid value, in: rate = fast"),
        (('rate = "1 kHz"', "rate: 1000"), "line 3: Expected '=' after a key"),
        (('rate = "1 kHz"', "rate = 1 kHz"), "line 3: Expected newline or end of document after a statement"),
        (('rate = "1 kHz"', "rate = 0"), "line 3, rate: expected a number above 0; found 0"),
        (('rate = "1 kHz"', 'rate = "1 ms"'), "line 3, rate: expected a quantity in Hz, or another unit of"),
    ],
)
def test_slips_of_the_pen_are_told_with_their_line(pair, words):
    assert fault(pair).startswith(f"damper.toml: {words}")


def test_an_entry_twice_at_the_very_end_has_its_line_too():
    with pytest.raises(InputError, match=r"line 3: Cannot overwrite a value, in: a = 2"):
        files.load_text("a = 1\n\na = 2")


SINE = '{signal = "Sine", amplitude = 0.05, frequency = "0.5 Hz"}'


def test_a_factor_with_a_unit_counts_in_a_file_and_one_without_may_be_anything():
    """The input r is a velocity of the ground."""
    quake = '{signal = "Earthquake", peak = "0.01 gn", duration = 10}'
    for factor in ('"2 ms"', "0.002"):
        test = files.load_text(
            changed((SINE, f'{{signal = "Scaled", factor = {factor}, of = {quake}}}'))
        ).test
        assert test.excitation["r"].factor == 0.002
        assert files.load_text(files.to_toml(test)).test == test
    wrong = fault((SINE, f'{{signal = "Scaled", factor = "2 kg", of = {quake}}}'))
    assert wrong.startswith("damper.toml: line 22, excitation.r: the excitation of 'r' is in ")


# ------------------------------------------------------------------ told as what they are


def test_a_text_alone_is_one_name_and_not_its_letters():
    whole = oscillator(None)
    test = hybrid(whole).replaced(record="numerical.mass.momentum", reference=(whole, "v.flow"))
    assert test.record == ("numerical.mass.momentum",)
    assert {"numerical.mass.momentum", "reference.v.flow"} <= {c.name for c in test.tick.channels}
    same(again(test), test)


@pytest.mark.parametrize("name", ["12", "true", '"12"', "twelve"])
def test_a_name_that_is_set_is_a_text_whatever_it_looks_like(name):
    text = files.to_toml(hybrid(oscillator(None)))
    assert files.load_text(text, changes={"name": name}).test.name == name.strip('"')


def test_what_is_set_of_an_interlock_makes_one_where_there_is_none():
    text = files.to_toml(hybrid(oscillator(None)))
    changes = {"interlock.stale": "4", "interlock.limits.force": "5 N", "interlock.power.threshold": "3 W"}
    interlock = files.load_text(text, changes=changes).test.interlock
    assert (interlock.stale, interlock.limits.force, interlock.power.threshold) == (4, 5.0, 3.0)
    with pytest.raises(InputError, match=r"interlock\.stal: unknown entry 'stal' of Interlock; did you mean"):
        files.load_text(text, changes={"interlock.stal": "4"})


class Stiffer(bl.transfer.MassSpringDamper):
    """A ready-made transfer system that is derived from."""


def on_rig(actuator):
    test = hybrid(oscillator(None))
    return test.replaced(rig=bl.rigs.Emulated(test.rig.physical, actuator))


def test_ready_made_models_that_were_changed_are_blamed_themselves_not_their_inside():
    edited = bl.transfer.MassSpringDamper(1.0, 20.0, 400.0, drive="position")
    edited.more = C(stiffness=3.0)
    edited.v >> edited.more
    derived = Stiffer(1.0, 20.0, 400.0, drive="position")
    for actuator, words in ((edited, "edited since it was made"), (derived, "derived from MassSpringDamper")):
        with pytest.raises(InputError, match=rf"rig\.actuators: it is an object .*, {words}") as caught:
            files.to_toml(on_rig(actuator))
        assert "lambda" not in str(caught.value)
    whole = Stiffer(1.0, 20.0, 400.0)  # one without functions inside is described part by part
    assert complete(whole.describe())


# ------------------------------------------------------------------ each at its own entry


def faults_of(text):
    with pytest.raises(InputError) as caught:
        files.load_text(text)
    return str(caught.value)


def test_every_value_and_every_path_that_is_recorded_is_told_at_once():
    top = """
record = ["numerical.zz.flow", "numerical.m1.v.flow", "rigg.x"]
values = {"controller.nope" = 3, "numerical.m1.I.mass" = "3 N", "rig.transfer.mass.mass" = -1}
"""
    told = faults_of(top + DAMPER)
    assert "5 faults" in told
    for line in (
        "line 2, record[0]: unknown variable 'numerical.zz.flow'",
        "line 2, record[2]: cannot record 'rigg.x'",
        "line 3, values.\"controller.nope\": unknown parameter 'controller.nope' of the test",
        'line 3, values."numerical.m1.I.mass": expected a quantity in kg, or another unit of its kind',
        'line 3, values."rig.transfer.mass.mass": expected a number above 0; found -1',
    ):
        assert line in told


def test_outputs_of_the_reference_that_there_are_none_of_are_told_each_at_its_place():
    told = faults_of('reference = {outputs = ["m1.v.flow", "m9.v.flow", "m2.v.flwo"]}\n' + DAMPER)
    assert "2 faults" in told
    assert "line 1, reference.outputs[1]: unknown variable 'm9.v.flow'" in told
    assert "line 1, reference.outputs[2]: unknown variable 'm2.v.flwo'" in told


def test_every_fault_of_a_sensor_is_told_at_its_entry():
    bad = 'range = "100 mm", noise = "1 m", bandwidth = "3 s"'
    told = faults_of(DAMPER.replace('range = "100 N"', bad))
    assert "3 faults" in told
    for name, unit in {"range": "N", "noise": "N", "bandwidth": "Hz"}.items():
        assert f"rig.sensors.force.{name}: expected a quantity in {unit}, or another unit of its kind" in told


def test_an_error_knows_where_its_value_was_given():
    test = hybrid(oscillator(None))
    for values, place in (
        ({"numerical.mass.mass": "2 kg", "numerical.nope": 1.0}, ("values", "numerical.nope")),
        ({"numerical.mass.mass": "heavy"}, ("values", "numerical.mass.mass")),
        ({"rig.substeps": 3}, ("values", "rig.substeps")),
    ):
        with pytest.raises(InputError) as caught:
            test.with_values(values)
        assert caught.value.place == place
    with pytest.raises(InputError) as caught:
        test.replaced(excitation={"G": 1.0})
    assert caught.value.place == ("excitation", "G")


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("controller.ahed", "10 ms", "--set controller.ahed: unknown parameter 'controller.ahed'"),
        ("controller.delay", "10 mm", "--set controller.delay: expected a quantity in s"),
    ],
)
def test_a_fault_of_a_change_is_told_by_the_option(path, value, words):
    assert f"damper.toml: {words}" in fault(changes={path: value})


@pytest.mark.parametrize("seconds", [3.5, "3500 ms"])
def test_the_length_of_a_run_is_written_where_it_is_said(seconds):
    test = files.load_text(DAMPER.replace("seconds = 5", "")).test
    assert "seconds" not in files.to_toml(test)
    assert files.load_text(files.to_toml(test, seconds=seconds)).seconds == 3.5
    with pytest.raises(InputError, match="length of a run must be positive and finite; found 0 s"):
        files.to_toml(test, seconds=0)


def test_a_name_that_is_no_text_is_refused():
    test = files.load_text(DAMPER).test.replaced(name="a\ud800b")
    with pytest.raises(InputError, match=r"cannot be written to a file: '.ud800' is no character"):
        files.to_toml(test)
