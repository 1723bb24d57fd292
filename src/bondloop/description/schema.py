"""The JSON Schema of test files, for editors: what may stand where, from the signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from typing import Any

from bondloop import papers
from bondloop.description import test_file  # noqa: F401 - it brings all kinds
from bondloop.hybrid.test_data import parameters_of_file
from bondloop.program.annotations import annotation_of, read_annotation
from bondloop.program.described import Parameter, Whole
from bondloop.program.kinds import FAMILIES, Kind

__all__ = ["schema"]

NUMBER: dict[str, Any] = {"type": ["number", "string"]}
"""A number, or a text with a unit."""

_SCALARS: dict[str, dict[str, Any]] = {
    "float": NUMBER, "Number": NUMBER, "int": {"type": "integer"}, "bool": {"type": "boolean"},
    "str": {"type": "string"}, "Path": {"type": "string"},
}  # fmt: skip


def schema() -> dict[str, Any]:
    """Return the schema of test files (JSON Schema, draft 2020-12).

    >>> schema()["title"]
    'bondloop test'
    """
    for entry in papers.entries():
        entry.load()  # its models and signals can be named too
    definitions: dict[str, Any] = {}
    for family, members in sorted(FAMILIES.items()):
        kinds = [kind for kind in members.values() if kind.make.__module__.startswith("bondloop.")]
        if family == "test":
            continue
        for kind in kinds:
            definitions[_name(kind)] = _object(kind, kind.parameters)
        choices = [{"$ref": f"#/$defs/{_name(kind)}"} for kind in kinds]
        names = {"type": "string", "description": f"a {family} by its name alone, or file.py:name"}
        python = {
            "type": "object",
            "properties": {family: {"type": "string", "pattern": r"\.py:"}},
            "required": [family],
        }
        definitions[family] = {"anyOf": [*choices, names, python]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "bondloop test",
        "description": "A hybrid test, a pseudo-dynamic test or a simulation.",
        "anyOf": [_test(kind) for kind in FAMILIES["test"].values()],
        "$defs": definitions,
    }


def _name(kind: Kind) -> str:
    return f"{kind.family}.{kind.name}"


def _test(kind: Kind) -> dict[str, Any]:
    entries = _object(kind, parameters_of_file(kind))
    entries["properties"]["seconds"] = {**NUMBER, "description": "How long it is to run."}
    if kind.name == "HybridTest":  # the default; its rig takes the physical half from the cut
        entries["required"].remove("test")
        entries["properties"]["rig"] = {"$ref": "#/$defs/rig.Emulated"}
        entries["properties"]["reference"] = {
            "type": "object",
            "properties": {"of": {"$ref": "#/$defs/model"}, "outputs": _list({"type": "string"})},
            "additionalProperties": False,
        }
    return entries


def _object(kind: Kind, parameters: dict[str, inspect.Parameter]) -> dict[str, Any]:
    words = documented(kind.make)
    properties: dict[str, Any] = {} if kind.alone else {kind.family: {"const": kind.name}}
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        entry = _parameter(kind, name, parameter)
        if name in words:
            entry["description"] = words[name]
        if isinstance(parameter.default, (bool, int, float, str)):
            entry["default"] = parameter.default
        properties[name] = entry
    needed = [
        n
        for n, p in parameters.items()
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and n != "physical"
    ]
    return {
        "type": "object",
        "description": (inspect.getdoc(kind.make) or "").partition("\n\n")[0],
        "properties": properties,
        "required": [*([] if kind.alone else [kind.family]), *needed],
        **({} if kind.open_ended else {"additionalProperties": False}),
    }


def _parameter(kind: Kind, name: str, parameter: inspect.Parameter) -> dict[str, Any]:
    descriptor = vars(kind.make).get(name) if isinstance(kind.make, type) else None
    if isinstance(descriptor, Whole):
        return {"type": "integer", "minimum": descriptor.least, "maximum": descriptor.most}
    if isinstance(descriptor, Parameter):
        bounds = {
            "minimum": descriptor.range.least,
            "maximum": descriptor.range.most,
            "exclusiveMinimum": descriptor.range.above,
            "exclusiveMaximum": descriptor.range.below,
        }
        return {**NUMBER, **{word: bound for word, bound in bounds.items() if bound is not None}}
    return _annotated(annotation_of(parameter))


def _annotated(annotation: str) -> dict[str, Any]:
    """Return what may stand for an annotation; anything where it leaves something open."""
    want = read_annotation(annotation)
    if want.anything:
        return {}
    choices = [_SCALARS[t] for t in sorted(want.scalars)]
    if want.scalars & {"float", "Number"} and want.scalars <= {"float", "Number", "str"}:
        choices = [NUMBER]
    if want.item is not None:
        item = _annotated(want.item)
        choices += [_list(item), *([] if want.scalars or want.kinds else [item])]  # or one alone
    if want.entry is not None:
        choices.append({"type": "object"})
    for kind in want.kinds:
        choices += _of_kind(kind)
    return dict(choices[0]) if len(choices) == 1 else {"anyOf": choices}


def _of_kind(kind: Kind | str) -> list[dict[str, Any]]:
    if isinstance(kind, str):
        return [{"$ref": f"#/$defs/{kind}"}]
    if kind.alone:
        return [{"$ref": f"#/$defs/{_name(kind)}"}]
    plain = _object(kind, kind.parameters)  # its name may be left out: nothing else is meant
    plain["required"].remove(kind.family)
    return [{"$ref": f"#/$defs/{kind.family}"}, plain]


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def documented(thing: Any) -> dict[str, str]:
    """Return what a docstring says of each parameter, in one paragraph.

    >>> from bondloop.program.signals import Sine
    >>> documented(Sine)["frequency"]
    'Hz, not negative.'
    """
    text = inspect.getdoc(thing) or ""
    section = re.search(r"(?:Parameters|Attributes)\n-+\n(.*?)(?:\n\n\w[^\n]*\n-{3,}|\Z)", text, re.DOTALL)
    words: dict[str, str] = {}
    if section is None:
        return words
    for match in re.finditer(r"^(\S[^\n]*)\n((?:[ \t]+[^\n]*\n?|\n)+)", section[1] + "\n", re.MULTILINE):
        said = " ".join(match[2].split())
        for name in match[1].split(","):
            words[name.strip().lstrip("*")] = said
    return words
