"""Descriptions in plain words: what a thing is, and its numbers with their units.

A description comes from a file and may hold anything: what has not the form that its kind expects is written
as Python writes it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import numpy as np

from bondloop.engine.data import FAMILIES, PYTHON, Kind, Parameter, Range, import_all_kinds, is_words, plain
from bondloop.results.figures import pretty, scaled

LISTED_VALUES = 6
"""Values of a row, or parts of a whole, that are listed before an ellipsis."""

LONG_NUMBER = r"\d+\.\d{6,}(e[+-]?\d+)?"
"""A number with more digits than anybody reads."""

PERSONS = frozenset(
    [
        "baber",
        "bouc",
        "chen",
        "coulomb",
        "giuffre",
        "jennings",
        "kelvin",
        "maxwell",
        "menegotto",
        "newmark",
        "noori",
        "osgood",
        "pinto",
        "rayleigh",
        "ramberg",
        "ricles",
        "rosenbrock",
        "smith",
        "stribeck",
        "timoshenko",
        "voigt",
        "wen",
    ]
)
"""Words of names that are names of persons."""


def in_unit(value: float, unit: str) -> str:
    """Write a value with its unit, in the multiple of it that makes the number short.

    >>> in_unit(600e3, "N/m"), in_unit(0.0039677, "s"), in_unit(20e3, "kg"), in_unit(-1.4e-7, "m^2")
    ('600 kN/m', '3.9677 ms', '20 t', '-0.14 mm²')
    >>> in_unit(0.35, ""), in_unit(13618.0, "N/m"), in_unit(0.0, "m")
    ('0.35', '13.618 kN/m', '0 m')
    """
    if not math.isfinite(value):
        return f"{value} {unit}".strip()
    if unit == "s" and 0 < abs(value) < 0.1:
        factor, word = 1e3, "ms"
    elif unit == "kg" and abs(value) >= 1e4:
        factor, word = 1e-3, "t"
    elif unit == "m^2" and 0 < abs(value) < 1e-2:
        factor, word = 1e6, "mm²"
    else:
        factor, word = scaled(unit, [np.array([value])])
        if abs(value * factor) >= 1e5:  # no prefix is large enough
            factor, word = 1.0, pretty(unit)
    return f"{float(f'{value * factor:.5g}'):.6g} {word}".strip()


def kind_words(name: str) -> str:
    """Return the name of a class or function as words; names of single letters and capitals stay.

    >>> kind_words("MassSpringDamper"), kind_words("MRDamper"), kind_words("RK4"), kind_words("field_form")
    ('mass-spring-damper', 'MR damper', 'RK4', 'field form')
    >>> kind_words("mr-damper-building"), kind_words("my.py:OwnLaw"), kind_words("KelvinVoigt")
    ('mr-damper-building', 'own law', 'Kelvin-Voigt')
    """
    last = name.rpartition(".py:")[2] or name
    if last == "MassSpringDamper":  # the literature's hyphens
        return "mass-spring-damper"
    parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*[A-Z]*|\d+|-+", last.replace("_", " "))
    if "-" in last or not parts:
        return last
    text = ""
    for i, part in enumerate(parts):
        person = part.lower() in PERSONS
        joint = "-" if person and i and parts[i - 1].lower() in PERSONS else " " if i else ""
        text += joint + (part.capitalize() if person else part if part.isupper() else part.lower())
    return text


def short_numbers(text: str) -> str:
    """Return a text whose long numbers are shortened.

    >>> short_numbers("[0.0036000000000000003]")
    '[0.0036]'
    """
    return re.sub(LONG_NUMBER, lambda match: f"{float(match[0]):.6g}", text)


def several(values: Sequence[Any], unit: str) -> str:
    """Return the entries of a list; equal numbers once, a matrix by its size, many by the largest.

    >>> several([2.0, 2.0], "kg"), several([0.0, -1.0] * 500, "m/s^2"), several([[1.0, 0.0], [0.0, 1.0]], "")
    ('2 times 2 kg', '1,000 values, largest 1 m/s²', 'a matrix of 2 by 2')
    """
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if len(numbers) == len(values) > 1 and len(set(numbers)) == 1:
        return f"{len(values)} times {in_unit(float(numbers[0]), unit)}"
    if len(values) > 1 and all(isinstance(v, list) and len(v) == len(values[0]) for v in values):
        return f"a matrix of {len(values)} by {len(values[0])}"
    if len(numbers) == len(values) > LISTED_VALUES:
        return f"{len(values):,} values, largest {in_unit(max(map(abs, numbers)), unit)}"
    texts = [in_words(v, unit, inside=True) for v in values[:LISTED_VALUES]]
    more = f", ... ({len(values)} in all)" if len(values) > LISTED_VALUES else ""
    return f"{', '.join(texts)}{more}"


def _by_name(things: Mapping[str, Any], unit: str) -> str:
    """Return things with names: one by one, or how many there are of each kind."""
    kinds = [kind for value in things.values() if isinstance(value, Mapping) and (kind := _kind(value))]
    if len(things) > LISTED_VALUES and len(kinds) == len(things):
        counts = Counter(kind_words(kind.name) for kind in kinds)
        return ", ".join(f"{n} of the kind {word}" for word, n in counts.items())
    return ", ".join(f"{key} {in_words(value, unit, inside=True)}" for key, value in things.items())


def _process(description: Mapping[str, Any], _: str) -> str:
    """Say a process as its transfer function.

    >>> in_words({"process": "Process", "numerator": [2.0], "denominator": [0.012, 1.0], "delay": 0.004})
    'G(s) = 2 / (0.012 s + 1), delay 4 ms'
    """
    above, below = _polynomial(description["numerator"]), _polynomial(description["denominator"])
    over = above if "+" not in above and " - " not in above else f"({above})"
    delay = float(description.get("delay") or 0.0)
    later = f", delay {in_unit(delay, 's')}" if delay else ""
    return f"G(s) = {over}{'' if below == '1' else f' / ({below})'}{later}"


def _polynomial(coefficients: Sequence[float]) -> str:
    """Write a polynomial in s, the highest power first.

    >>> _polynomial([1e-4, -0.02, 1.0]), _polynomial([0.0])
    ('0.0001 s² - 0.02 s + 1', '0')
    """
    highest = len(coefficients) - 1
    text = ""
    for i, value in enumerate(map(float, coefficients)):
        if value == 0.0:
            continue
        power = highest - i
        letter = "" if power == 0 else "s" if power == 1 else f"s{str(power).translate(RAISED)}"
        size = "" if letter and abs(value) == 1.0 else f"{abs(value):.5g}"
        sign = (" - " if text else "-") if value < 0 else (" + " if text else "")
        text += sign + " ".join(filter(None, (size, letter)))
    return text or "0"


RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _scaled(description: Mapping[str, Any], _: str) -> str:
    """Say a scaled signal; in what unit the signal itself is, nobody knows."""
    return f"{float(description['factor']):.5g} times ({in_words(description['of'])})"


def _sum(description: Mapping[str, Any], unit: str) -> str:
    return " plus ".join(in_words(term, unit, inside=True) for term in description["terms"])


FORMS: Mapping[str, Callable[[Mapping[str, Any], str], str]] = {
    "Process": _process, "Scaled": _scaled, "Sum": _sum
}  # fmt: skip
"""Kinds that have a form of their own: a formula."""

HELD: Mapping[str, str] = {
    "actuator": "process", "from_matrices": "matrices", "from_structure": "structure", "from_model": "of",
    "field_form": "matrices", "network_form": "matrices", "ode_element": "law", "Model": "parts",
}  # fmt: skip
"""Kinds that are nothing but one thing that they hold, and which."""

UNITS: Mapping[str, str] = {
    "times": "s", "masses": "kg", "stiffnesses": "N/m", "dampings": "N s/m", "heights": "m", "weights": "N",
}  # fmt: skip
"""Units of arguments whose classes do not declare them."""

QUIET = frozenset({"rig"})
"""Families of whose arguments only those are told that are not the default ones."""

SIZES = frozenset({"amplitude", "bias", "level", "offset", "peak", "range", "rms", "value"})
"""Numbers of a signal or an imperfection that measure what the signal does."""


def in_words(description: object, unit: str = "", *, inside: bool = False) -> str:
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
    >>> in_words({"transfer": "MassSpringDamper", "m": 2.2, "c": 150.8, "k": 13618.0, "drive": "position"})
    'mass-spring-damper: m 2.2 kg, c 150.8 N s/m, k 13.618 kN/m, drive position'
    >>> in_words({"signal": "Sine", "amplitude": 0.03, "frequency": 5.0, "phase": 0.0, "offset": 0.0}, "m/s")
    'sine: amplitude 30 mm/s, frequency 5 Hz'
    """
    if isinstance(description, list):
        return several(description, unit)
    if not isinstance(description, Mapping):
        return _plain_value(description, unit)
    if is_words(description):
        return str(description[PYTHON])
    kind = _kind(description)
    if kind is None:
        return _by_name(description, unit) or "nothing"
    try:
        if kind.name in FORMS:
            return FORMS[kind.name](description, unit)
        if kind.name in HELD:
            return in_words(description[HELD[kind.name]], unit)
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
    if family not in FAMILIES:
        import_all_kinds()
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
        text = in_words(value, own or (unit if kind.family == "signal" else ""), inside=True)
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
    only = list(FAMILIES[name].values()) if name in FAMILIES else []
    return only[0] if len(only) == 1 and only[0].alone else None


def _is_idle(kind: Kind, value: object) -> bool:
    """Whether a default value need not be told."""
    return kind.family in QUIET or value == 0


def _unit_of(kind: Kind, name: str) -> str:
    """Return what an argument of a kind measures; of two units, along an axis and about it, the first."""
    rule = kind.allowed.get(name)
    own = vars(kind.make).get(name) if isinstance(kind.make, type) else None
    within = rule if isinstance(rule, Range) else own.range if isinstance(own, Parameter) else None
    unit = within.units[0] if within is not None and within.units else UNITS.get(name, "")
    return "" if unit == "1" else unit


def _plain_value(value: object, unit: str) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, (int, float)):
        return in_unit(float(value), unit)
    return str(value)
