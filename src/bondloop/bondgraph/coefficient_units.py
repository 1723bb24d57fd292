"""What coefficients, initial values and sources measure, as far as their names say.

The name of a coefficient tells the domains that it can belong to, and each domain tells its unit there. A
text with a unit of another kind is a slip of the pen; a plain number is taken as SI. That the elements of one
junction belong to one domain is not looked at here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bondloop.units import is_of_kind

__all__ = ["initial_units", "units_of"]

_UNITS: dict[str, dict[str, str]] = {
    "effort": {"translation": "N", "rotation": "N m", "hydraulics": "Pa", "electricity": "V", "heat": "K",
               "magnetism": "A"},
    "flow": {"translation": "m/s", "rotation": "rad/s", "hydraulics": "m3/s", "electricity": "A", "heat": "W",
             "magnetism": "V"},
    "momentum": {"translation": "kg m/s", "rotation": "N m s", "hydraulics": "Pa s", "electricity": "V s"},
    "displacement": {"translation": "m", "rotation": "rad", "hydraulics": "m3", "electricity": "C",
                     "heat": "J", "magnetism": "V s"},
    "mass": {"translation": "kg"},
    "inertia": {"rotation": "kg m2"},
    "inductance": {"electricity": "H"},
    "inertance": {"hydraulics": "kg/m4"},
    "stiffness": {"translation": "N/m", "rotation": "N m/rad", "hydraulics": "Pa/m3"},
    "compliance": {"translation": "m/N", "rotation": "rad/N/m", "hydraulics": "m3/Pa"},
    "capacitance": {"electricity": "F", "hydraulics": "m3/Pa", "heat": "J/K", "magnetism": "H"},
    "damping": {"translation": "N s/m", "rotation": "N m s/rad"},
    "resistance": {"electricity": "Ohm", "hydraulics": "Pa s/m3", "translation": "N s/m",
                   "rotation": "N m s/rad", "heat": "K/W", "magnetism": "A/V"},
    "conductance": {"electricity": "A/V", "hydraulics": "m3/s/Pa", "translation": "m/s/N",
                    "rotation": "rad/s/N/m", "heat": "W/K", "magnetism": "Ohm"},
}  # fmt: skip
"""By word and domain; what is not here can be anything."""


def units_of(word: str) -> tuple[str, ...]:
    """Return the units that a coefficient, an effort or a flow may have, one for each domain.

    >>> units_of("mass"), units_of("damping"), units_of("modulus")
    (('kg',), ('N s/m', 'N m s/rad'), ())
    """
    return tuple(_UNITS.get(word, {}).values())


def initial_units(word: str, coefficients: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the units of what a storage holds, in the domains that its coefficient leaves open.

    >>> initial_units("displacement", {"stiffness": "4.75 kN/m"})
    ('m',)
    """
    known = _UNITS.get(word, {})
    domains = set(known)
    for name, value in coefficients.items():
        units = _UNITS.get(name)
        if units is not None:
            domains &= {d for d, u in units.items() if not isinstance(value, str) or is_of_kind(value, u)}
    return tuple(unit for domain, unit in known.items() if domain in domains)
