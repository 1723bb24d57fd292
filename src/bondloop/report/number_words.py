"""Names of kinds and numbers with units, as one writes them in a sentence."""

from __future__ import annotations

import math
import re

import numpy as np

from bondloop.plots.axis_unit import pretty, scaled

__all__ = ["in_unit", "kind_words", "short_numbers"]

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
