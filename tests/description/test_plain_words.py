"""Slips in test files that newcomers make: each is told by its line, in words that help."""

import pytest

from bondloop import description
from bondloop.errors import InputError
from bondloop.hybrid import HybridTest
from bondloop.rigs import LoadCell

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
        description.load_text(changed(*pairs), name="damper.toml", **options)
    return str(caught.value)


SENSOR = '{imperfection = "LoadCell", range = "100 N"}'


def test_where_all_defaults_do_the_name_is_enough():
    test = description.load_text(changed((SENSOR, '"LoadCell"'))).test
    assert test.rig.sensors["force"] == LoadCell()


def test_a_sensor_that_is_none_is_told_by_its_line():
    assert fault((SENSOR, '"LoadCel"')).startswith(
        "damper.toml: line 15, rig.sensors.force.imperfection: unknown imperfection 'LoadCel'; did"
    )
    assert fault(("sensors.force", "sensors.forces")).startswith(
        "damper.toml: line 15, rig.sensors: expected sensors of 'force', 'displacement' and 'velocity'; found"
    )
    assert fault((SENSOR, '{imperfection = "Noise", rms = "1 N"}')).startswith(
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
    test = description.load_text(changed(record).replace(f'"{path}"', f'"{right}"')).test
    assert right in test.run(0.01).record


def test_the_length_of_a_run_is_kept(tmp_path):
    (tmp_path / "a.toml").write_text(DAMPER)
    test = HybridTest.from_toml(tmp_path / "a.toml")
    assert test.length == 5
    assert test.with_values({"rig.transfer.damper.damping": 21}).run().time[-1] == 5
    test.to_toml(tmp_path / "b.toml")
    assert description.read(tmp_path / "b.toml").seconds == 5
    assert "seconds = 7" in description.to_toml(test, seconds=7)
    lasting = description.load_text(changed(("seconds = 5\n", ""))).test
    assert lasting.seconds is None
    assert "seconds" not in lasting.to_toml()
    assert lasting == test  # how long it runs is no part of what it is


def test_a_file_that_cannot_be_written_gets_a_sentence(tmp_path):
    test = description.load_text(DAMPER).test
    with pytest.raises(InputError, match=r"nowhere.*x\.toml cannot be written: No such file or directory"):
        test.to_toml(tmp_path / "nowhere" / "x.toml")
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        test.to_toml(tmp_path)
