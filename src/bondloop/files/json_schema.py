"""The JSON Schema of test files, for editors: what may stand where, from the signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from bondloop import papers
from bondloop.engine.data import (
    FAMILIES,
    POSITIVE,
    Kind,
    Parameter,
    Range,
    Whole,
    compatible_families,
    import_all_kinds,
    wanted,
)
from bondloop.files import test_file  # noqa: F401 - it brings all kinds
from bondloop.hybrid import parameters_of_file, types_of_file

NUMBER: dict[str, object] = {"type": ["number", "string"], "pattern": r"^\s*[-+]?\.?\d"}
"""A number, or a text with a unit; the pattern is for texts alone."""

PYTHON_FILE = r"\.py:"
"""Pattern of a name in a Python file."""

_SCALARS: dict[str, dict[str, object]] = {
    "float": NUMBER, "int": {"type": "integer"}, "bool": {"type": "boolean"}, "str": {"type": "string"},
    "Path": {"type": "string"},
}  # fmt: skip


def schema() -> dict[str, Any]:
    """Return the schema of test files (JSON Schema, draft 2020-12).

    >>> schema()["title"]
    'bondloop test'
    """
    import_all_kinds()
    for entry in papers.entries():
        entry.load()  # its models and signals can be named too
    definitions: dict[str, object] = {}
    for family in sorted(FAMILIES):
        if family == "test":
            continue
        for kind in _ours(family):
            definitions[_name(kind)] = _part(kind) if family == "part" else _object(kind, kind.parameters)
        definitions[family] = {"anyOf": _choices(family)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "bondloop test",
        "description": "A hybrid test, a pseudo-dynamic test or a simulation.",
        "anyOf": [_test(kind) for kind in FAMILIES["test"].values()],
        "$defs": definitions,
    }


def _ours(family: str) -> list[Kind]:
    return [kind for kind in FAMILIES[family].values() if kind.ours]


def _choices(family: str) -> list[dict[str, Any]]:
    """Return what may stand where a family is wanted: a member, its name alone, or a Python file's."""
    families = [own for own in compatible_families(family) if own in FAMILIES]
    kinds = [kind for own in families for kind in _ours(own)]
    plain = sorted({kind.name for kind in kinds if not kind.alone and not needed(kind.parameters)})
    python = [
        {
            "type": "object",
            "properties": {own: {"type": "string", "pattern": PYTHON_FILE}},
            "required": [own],
        }
        for own in families
    ]
    return [
        *({"$ref": f"#/$defs/{_name(kind)}"} for kind in kinds),
        {"type": "string", "enum": plain, "description": f"A {family} by its name alone."},
        {"type": "string", "pattern": PYTHON_FILE, "description": "file.py:name"},
        *python,
    ]


def needed(parameters: Mapping[str, inspect.Parameter]) -> list[str]:
    """Return the parameters without a default; the physical half is the cut's, where there is one."""
    return [
        n
        for n, p in parameters.items()
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and n != "physical"
    ]


def _name(kind: Kind) -> str:
    return f"{kind.family}.{kind.name}"


def _test(kind: Kind) -> dict[str, object]:
    entries = _object(kind, parameters_of_file(kind))
    entries["properties"]["format"] = {"type": "integer", "description": "Of the file; 1 if left out."}
    entries["properties"]["seconds"] = {**_bounded(POSITIVE), "description": "How long it is to run."}
    if kind.name == "HybridTest":  # the default; its rig takes the physical half from the cut
        entries["required"].remove("test")
        entries["properties"]["rig"] = _plain(FAMILIES["rig"]["Emulated"])
        names = {"anyOf": [{"type": "string"}, _list({"type": "string"})]}
        entries["properties"]["reference"] = _table({"of": {"$ref": "#/$defs/model"}, "outputs": names})
        table = _table({"bonds": names, "physical": {"type": "string"}})
        cut = entries["properties"]["cut"]
        entries["properties"]["cut"] = {**cut, "anyOf": [*names["anyOf"], table]}
        entries["anyOf"] = [{"required": ["structure", "cut"]}, {"required": ["numerical"]}]
    return entries


def _object(kind: Kind, parameters: dict[str, inspect.Parameter]) -> dict[str, Any]:
    words = documented(kind.make)
    properties: dict[str, object] = {} if kind.alone else {kind.family: {"const": kind.name}}
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        entry = _parameter(kind, name)
        if name in words:
            entry["description"] = words[name]
        if isinstance(parameter.default, (bool, int, float, str)):
            entry["default"] = parameter.default
        properties[name] = entry
    return {
        "type": "object",
        "description": (inspect.getdoc(kind.make) or "").partition("\n\n")[0],
        "properties": properties,
        "required": [*([] if kind.alone else [kind.family]), *needed(parameters)],
        **({} if kind.open_ended else {"additionalProperties": False}),
    }


def _part(kind: Kind) -> dict[str, object]:
    """Return the settings of a part: its coefficients by name, and any others only for a law."""
    whole = _object(kind, kind.parameters)
    coefficients = getattr(kind.make, "coefficients", None)
    if not kind.open_ended or not isinstance(coefficients, Mapping):
        return whole
    known = {**whole["properties"], **{word: {} for word in coefficients}}
    closed = {**whole, "properties": known, "additionalProperties": False}
    return {"anyOf": [closed, {**whole, "required": [*whole["required"], "law"]}]}


def _parameter(kind: Kind, name: str) -> dict[str, object]:
    hint = types_of_file(kind)[name]
    descriptor = vars(kind.make).get(name) if isinstance(kind.make, type) else None
    rule = kind.allowed.get(name)
    if isinstance(rule, tuple):
        if wanted(hint).entry is not None:
            return {**_annotated(hint), "propertyNames": {"enum": list(rule)}}
        return {"type": "string", "enum": list(rule)}
    if isinstance(rule, Range):
        return _bounded(rule)
    if isinstance(descriptor, Whole):
        return {"type": "integer", "minimum": descriptor.least, "maximum": descriptor.most}
    if isinstance(descriptor, Parameter):
        return _bounded(descriptor.range)
    return _annotated(hint)


def _bounded(range_: Range) -> dict[str, object]:
    bounds = {
        "minimum": range_.least,
        "maximum": range_.most,
        "exclusiveMinimum": range_.above,
        "exclusiveMaximum": range_.below,
    }
    return {**NUMBER, **{word: bound for word, bound in bounds.items() if bound is not None}}


def _annotated(hint: Any) -> dict[str, object]:
    """Return what may stand for a type; anything where it leaves something open."""
    want = wanted(hint)
    if want.anything:
        return {}
    choices = [_SCALARS[t] for t in sorted(scalar.__name__ for scalar in want.scalars)]
    if float in want.scalars and want.scalars <= {float, str}:
        choices = [NUMBER]
    if want.item is not None:
        item = _annotated(want.item)
        choices += [_list(item), *([] if want.scalars or want.kinds else [item])]  # or one alone
    if want.entry is not None:
        choices.append({"type": "object", "additionalProperties": _annotated(want.entry)})
    for kind in want.kinds:
        choices += _of_kind(kind)
    return dict(choices[0]) if len(choices) == 1 else {"anyOf": choices}


def _of_kind(kind: Kind | str) -> list[dict[str, object]]:
    if isinstance(kind, str):
        return [{"$ref": f"#/$defs/{kind}"}]
    if kind.alone:
        return [{"$ref": f"#/$defs/{_name(kind)}"}]
    return [{"$ref": f"#/$defs/{kind.family}"}, _plain(kind)]


def _plain(kind: Kind) -> dict[str, object]:
    """Return the settings of a kind whose name may be left out: nothing else is meant."""
    plain = _object(kind, kind.parameters)
    plain["required"].remove(kind.family)
    return plain


def _table(entries: Mapping[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": entries, "additionalProperties": False}


def _list(items: Mapping[str, object]) -> dict[str, object]:
    return {"type": "array", "items": items}


def documented(thing: object) -> dict[str, str]:
    """Return what a docstring says of each parameter, in one paragraph.

    >>> from bondloop.signals import Sine
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
