"""What coefficients, initial values and sources measure, as far as their names and units say.

The name of a coefficient tells the domains that it can belong to, and each domain tells its unit there. A
text with a unit of another kind is a slip of the pen; a plain number is taken as SI. That all parts of one
bond belong to one domain is looked at in :mod:`bondloop.bondgraph.domains`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from bondloop.bondgraph.domain import DOMAINS, Domain
from bondloop.units import is_of_kind

__all__ = ["candidates", "initial_units", "units_of"]


@lru_cache(maxsize=4096)
def candidates(word: str, text: str | None = None) -> frozenset[Domain] | None:
    """Return the ready-made domains that have a coefficient or variable, in the unit of a text.

    None where the word says nothing: it is not known to any of them.

    >>> sorted(d.name for d in candidates("stiffness")), [d.name for d in candidates("resistance", "3 ohm")]
    (['hydraulic', 'rotation', 'translation'], ['electric'])
    """
    units = {d: unit for d in DOMAINS.values() if (unit := d.unit(word)) is not None}
    if not units:
        return None
    return frozenset(d for d, unit in units.items() if text is None or is_of_kind(text, unit))


@cache
def units_of(word: str) -> tuple[str, ...]:
    """Return the units that a coefficient, an effort or a flow may have, one for each domain.

    >>> units_of("mass"), units_of("damping"), units_of("modulus")
    (('kg',), ('N s/m', 'N m s/rad'), ())
    """
    return tuple(dict.fromkeys(unit for d in DOMAINS.values() if (unit := d.unit(word)) is not None))


def initial_units(word: str, coefficients: Mapping[str, object]) -> tuple[str, ...]:
    """Return the units of what a storage holds, in the domains that its coefficient leaves open.

    >>> initial_units("displacement", {"stiffness": "4.75 kN/m"})
    ('m',)
    """
    domains = set(candidates(word) or ())
    for name, value in coefficients.items():
        able = candidates(name, value if isinstance(value, str) else None)
        if able is not None:
            domains &= able
    return tuple(unit for d in DOMAINS.values() if d in domains and (unit := d.unit(word)) is not None)
