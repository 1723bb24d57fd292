"""Descriptions in plain words: what a thing is, and its numbers with their units.

A description comes from a file and may hold anything: what has not the form that its kind expects is written
as Python writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass

from bondloop.data.described import Parameter
from bondloop.data.kinds import FAMILIES, PYTHON, Kind, is_words, plain
from bondloop.data.ranges import Range
from bondloop.report.number_words import in_unit, kind_words
from bondloop.report.special_words import SPECIAL, several

__all__ = ["told"]

QUIET = frozenset({"rig"})
"""Families of whose arguments only those are told that are not the default ones."""

SIZES = frozenset({"amplitude", "bias", "level", "offset", "peak", "range", "rms", "value"})
"""Numbers of a signal or an imperfection that measure what the signal does."""


def told(description: object, unit: str = "", *, inside: bool = False) -> str:
    """Say in words what a description is of.

    Parameters
    ----------
    description
        Of a part of a test.
    unit
        What a signal measures, where it is one.
    inside
        Whether it stands within a sentence: its arguments are then in brackets.

    Examples
    --------
    >>> told({"transfer": "MassSpringDamper", "m": 2.2, "c": 150.8, "k": 13618.0, "drive": "position"})
    'mass-spring-damper: m 2.2 kg, c 150.8 N s/m, k 13.618 kN/m, drive position'
    >>> told({"signal": "Sine", "amplitude": 0.03, "frequency": 5.0, "phase": 0.0, "offset": 0.0}, "m/s")
    'sine: amplitude 30 mm/s, frequency 5 Hz'
    """
    return _told(description, unit, inside=inside)


def _told(description: object, unit: str, *, inside: bool) -> str:
    if isinstance(description, list):
        return several(description, unit, _told)
    if not isinstance(description, Mapping):
        return _plain_value(description, unit)
    if is_words(description):
        return str(description[PYTHON])
    kind = _kind(description)
    if kind is None:
        pairs = [f"{key} {_told(value, unit, inside=True)}" for key, value in description.items()]
        return ", ".join(pairs) or "nothing"
    special = SPECIAL.get(kind.name)
    if special is not None:
        try:
            return special(description, unit, _told)
        except (KeyError, TypeError, ValueError, IndexError):
            pass  # another kind of this name, or a file that somebody has edited: its arguments are told
    words = kind_words(kind.name)
    inner = ", ".join(_arguments(kind, description, unit))
    if not inner:
        return words
    return f"{words} ({inner})" if inside else f"{words}: {inner}"


def _kind(description: Mapping[str, object]) -> Kind | None:
    """Return the kind that the first entry of a description names."""
    family = next(iter(description), "")
    name = description.get(family)
    if family not in FAMILIES or not isinstance(name, str):
        return None
    return FAMILIES[family].get(name) or Kind(family, name, dict)


def _arguments(kind: Kind, description: Mapping[str, object], unit: str) -> list[str]:
    """Return what a thing was made with: each argument with its value, without those that say nothing."""
    said = []
    for name, value in list(description.items())[1:]:
        if (
            value is None
            or value in ({}, [], "")
            or (value == _default(kind, name) and _is_idle(kind, value))
        ):
            continue
        word = name.replace("_", " ")
        if isinstance(value, bool):
            said.append(word if value else f"not {word}")
            continue
        alone = _alone(name)
        if alone is not None and isinstance(value, Mapping):
            said.append(f"{word} {', '.join(_arguments(alone, {'': '', **value}, ''))}")
            continue
        sized = kind.family in ("signal", "imperfection")
        own = unit if sized and name in SIZES and unit else _unit_of(kind, name)
        text = _told(value, own or (unit if kind.family == "signal" else ""), inside=True)
        # "pure delay 2 ms", not "pure delay delay 2 ms"
        same = isinstance(value, float) and kind_words(kind.name).endswith(f" {word}")
        said.append(text if same else f"{word} {text}")
    return said


def _default(kind: Kind, name: str) -> object:
    """Return what an argument is where nobody says anything, described."""
    if kind.make is dict or name not in kind.parameters:
        return None
    for field in fields(kind.make) if is_dataclass(kind.make) else ():
        if field.name == name and field.default_factory is not MISSING:
            return plain(field.default_factory())
    return plain(kind.parameters[name].default)


def _alone(name: str) -> Kind | None:
    """Return the kind that an entry is of without saying so: the only one of its family."""
    only = list(FAMILIES.get(name, {}).values())
    return only[0] if len(only) == 1 and only[0].alone else None


def _is_idle(kind: Kind, value: object) -> bool:
    """Whether a default value need not be told."""
    return kind.family in QUIET or value == 0


def _unit_of(kind: Kind, name: str) -> str:
    """Return what an argument of a kind measures; of two units, along an axis and about it, the first."""
    rule = kind.allowed.get(name)
    own = vars(kind.make).get(name) if isinstance(kind.make, type) else None
    within = rule if isinstance(rule, Range) else own.range if isinstance(own, Parameter) else None
    unit = within.units[0] if within is not None and within.units else ""
    return "" if unit == "1" else unit


def _plain_value(value: object, unit: str) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, (int, float)):
        return in_unit(float(value), unit)
    return str(value)
