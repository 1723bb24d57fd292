"""The JSON Schema of test files."""

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from bondloop import files
from bondloop.errors import InputError

sys.path.insert(0, str(Path(__file__).parent))  # for files.py

from file_cases import EXAMPLES, READY_MADE


def test_the_schema_knows_every_kind_and_describes_what_it_takes():
    schema = files.schema()
    definitions = schema["$defs"]
    json.dumps(schema, allow_nan=False)
    lead = definitions["controller.LeadCompensation"]
    assert lead["properties"]["ratio"]["exclusiveMinimum"] == 1
    assert lead["properties"]["delay"]["description"].startswith("The lag to cancel")
    assert lead["required"] == ["controller", "delay"]
    assert definitions["transfer.MassSpringDamper"]["properties"]["drive"] == {
        "type": "string", "enum": ["force", "position"], "default": "force",
        "description": '``"force"`` or ``"position"``.',
    }  # fmt: skip
    text = json.dumps(schema)
    for reference in {part.split('"')[0] for part in text.split("#/$defs/")[1:]}:
        assert reference in definitions, reference


@pytest.mark.parametrize("entry", READY_MADE, ids=lambda e: e.name)
def test_every_file_obeys_the_schema(entry):
    schema = files.schema()
    for document in (
        tomllib.loads(files.to_toml(entry.load().test())),
        tomllib.loads((EXAMPLES / f"{entry.name}.toml").read_text()),
    ):
        assert obeys(document, schema, schema["$defs"])
    assert not obeys({**document, "rat": 1}, schema, schema["$defs"])


def obeys(value, schema, definitions):  # noqa: C901, PLR0911 - one for each word of the schema
    """Whether a value obeys as much of JSON Schema as ours uses."""
    if "$ref" in schema:
        return obeys(value, definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    if "anyOf" in schema and not any(obeys(value, one, definitions) for one in schema["anyOf"]):
        return False
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        return False
    types = schema.get("type", [])
    known = {
        "number": (int, float),
        "string": str,
        "integer": int,
        "boolean": bool,
        "array": list,
        "object": dict,
    }
    wanted = [known[t] for t in ([types] if isinstance(types, str) else types)]
    if wanted and not any(isinstance(value, t) for t in wanted):
        return False
    if isinstance(value, bool) and wanted and bool not in wanted:
        return False
    if isinstance(value, (int, float)) and not (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and not value <= schema.get("exclusiveMinimum", -1e300)
    ):
        return False
    if isinstance(value, dict) and not all(
        obeys(name, schema.get("propertyNames", {}), definitions) for name in value
    ):
        return False
    if isinstance(value, dict) and "properties" in schema:
        own = schema["properties"]
        if any(name not in value for name in schema.get("required", ())):
            return False
        if schema.get("additionalProperties") is False and any(name not in own for name in value):
            return False
        return all(obeys(v, own[name], definitions) for name, v in value.items() if name in own)
    if isinstance(value, dict) and any(name not in value for name in schema.get("required", ())):
        return False
    if isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        return all(obeys(v, schema["additionalProperties"], definitions) for v in value.values())
    if isinstance(value, list) and "items" in schema:
        return all(obeys(v, schema["items"], definitions) for v in value)
    return True


FILE = """
name = "damper"
rate = "1 kHz"
seconds = 5
cut = "m2.right >> m3.left"
controller = "Direct"
structure = "gawthrop-three-mass"
excitation = {r = {signal = "Sine", amplitude = 0.05, frequency = "0.5 Hz"}}

[rig]
actuators = {transfer = "MassSpringDamper", m = "1 kg", c = 20, k = "400 N/m", drive = "position"}

[limits]
displacement = "200 mm"
"""

SINE = '{signal = "Sine", amplitude = 0.05, frequency = "0.5 Hz"}'


@pytest.mark.parametrize(
    ("old", "new", "good"),
    [
        ("", "", True),
        ('"m2.right >> m3.left"', '["m2.right >> m3.left"]', True),
        ('"m2.right >> m3.left"', '{bonds = "m2.right >> m3.left", physical = "m3"}', True),
        ('"m2.right >> m3.left"', '{bonds = ["m2.right >> m3.left"]}', True),
        ('"m2.right >> m3.left"', '{bonds = "m2.right >> m3.left", phys = "m3"}', False),
        ('"Direct"', '{controller = "Direct"}', True),
        ('"Direct"', '"LeadCompensation"', False),
        ('"Direct"', '"Foo"', False),
        ('"Direct"', '{controller = "LeadCompensation", delay = -5}', False),
        ('"Direct"', '{controller = "LeadCompensation", delay = "1 ms", foo = 3}', False),
        ('"Direct"', "true", False),
        (SINE, "5", True),
        (SINE, '"5 mm/s"', True),
        (SINE, "true", False),
        (SINE, "[1]", False),
        (SINE, '{signal = "Foo"}', False),
        (SINE, '{signal = "Sine", amplitude = 1}', False),
        (SINE, '{signal = "Sine", amplitude = 1, frequency = -3}', False),
        (SINE, '{signal = "Scaled", of = 5, factor = 2}', False),
        ('"1 kHz"', "0", False),
        ('"1 kHz"', '"x"', False),
        ("seconds = 5", "seconds = -1", False),
        ('"200 mm"', "-1", False),
        ('"200 mm"', '"x"', False),
        ("[rig]", '[rig]\nrig = "Emulated"', True),
        ("[rig]", '[rig]\ndrive = {imperfection = "Saturation", high = 3}', True),
        ("[rig]", '[rig]\ndrive = "x"', False),
        ("[rig]", 'reference = {outputs = "m1.v.flow"}\n[rig]', True),
        ("[rig]", 'reference = {outputs = ["m1.v.flow"]}\n[rig]', True),
        ("[rig]", 'coupling = "continuous"\n[rig]', True),
        ("[rig]", 'coupling = "foo"\n[rig]', False),
        ("[rig]", 'integrator = "Exactt"\n[rig]', False),
        ('structure = "gawthrop-three-mass"', "", False),
        ("[rig]", 'ground = {uy = {signal = "Sinn", amplitude = 1, frequency = 2}}\n[rig]', False),
        ("[rig]", 'ground = {uy = {signal = "Sine", amplitude = 1, frequensy = 2}}\n[rig]', False),
        (
            '"Direct"',
            '{controller = "MCS", reference = {signal = "Sine", amplitude = 1, frequency = 2}}',
            True,
        ),
        ('"Direct"', '{controller = "MCS", reference = {signalx = "Sine"}}', False),
        ('"Direct"', '{controller = "MCS", reference = "Sinn"}', False),
        ('"position"', '"position", friction = {part = "coulomb", force = "1 N", width = 0.01}', True),
        ('"position"', '"position", friction = {part = "coulomb", forc = "1 N", width = 0.01}', False),
        ('"position"', '"position", friction = {part = "R", damping = 3}', True),
        ('"position"', '"position", friction = {part = "R", dampin = 3}', False),
        ("[rig]", '[rig]\nsensors.force = {imperfection = "LoadCell", range = "1 kN"}', True),
        ("[rig]", '[rig]\nsensors.forc = {imperfection = "LoadCell", range = "1 kN"}', False),
    ],
)
def test_the_schema_takes_what_the_file_may_hold_and_nothing_else(old, new, good):
    text = FILE.replace(old, new) if old else FILE
    schema = files.schema()
    assert obeys(tomllib.loads(text), schema, schema["$defs"]) is good
    if good:
        files.load_text(text)
    else:
        with pytest.raises(InputError):
            files.load_text(text)
