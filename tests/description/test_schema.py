"""The JSON Schema of test files."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

from bondloop import description

sys.path.insert(0, str(Path(__file__).parent))  # for files.py

from files import EXAMPLES, READY_MADE


def test_the_schema_knows_every_kind_and_describes_what_it_takes():
    schema = description.schema()
    definitions = schema["$defs"]
    json.dumps(schema, allow_nan=False)
    lead = definitions["controller.LeadCompensation"]
    assert lead["properties"]["ratio"]["exclusiveMinimum"] == 1
    assert lead["properties"]["delay"]["description"].startswith("The lag to cancel")
    assert lead["required"] == ["controller", "delay"]
    assert definitions["transfer.MassSpringDamper"]["properties"]["drive"] == {
        "type": "string", "default": "force", "description": '``"force"`` or ``"position"``.',
    }  # fmt: skip
    text = json.dumps(schema)
    for reference in {part.split('"')[0] for part in text.split("#/$defs/")[1:]}:
        assert reference in definitions, reference


@pytest.mark.parametrize("entry", READY_MADE, ids=lambda e: e.name)
def test_every_file_obeys_the_schema(entry):
    schema = description.schema()
    for document in (
        tomllib.loads(entry.load().test().to_toml()),
        tomllib.loads((EXAMPLES / f"{entry.name}.toml").read_text()),
    ):
        assert obeys(document, schema, schema["$defs"])
    assert not obeys({**document, "rat": 1}, schema, schema["$defs"])


def obeys(value, schema, definitions):  # noqa: PLR0911 - one for each word of the schema
    """Whether a value obeys as much of JSON Schema as ours uses."""
    if "$ref" in schema:
        return obeys(value, definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    if "anyOf" in schema and not any(obeys(value, one, definitions) for one in schema["anyOf"]):
        return False
    if "const" in schema and value != schema["const"]:
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
    if isinstance(value, float) and not (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and not value <= schema.get("exclusiveMinimum", -1e300)
    ):
        return False
    if isinstance(value, dict) and "properties" in schema:
        own = schema["properties"]
        if any(name not in value for name in schema.get("required", ())):
            return False
        if schema.get("additionalProperties") is False and any(name not in own for name in value):
            return False
        return all(obeys(v, own[name], definitions) for name, v in value.items() if name in own)
    if isinstance(value, list) and "items" in schema:
        return all(obeys(v, schema["items"], definitions) for v in value)
    return True
