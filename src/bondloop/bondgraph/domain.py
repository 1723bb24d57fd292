"""Domains: what effort and flow are, from forces and velocities to voltages and currents.

A domain names the variables of a bond and their units, and the units of the coefficients that its elements
are called by. Which domain a bond belongs to is found in :mod:`bondloop.bondgraph.passes.domains`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from bondloop.display import brief
from bondloop.engine.ir import KINDS, Quantity
from bondloop.errors import InputError, unknown_name
from bondloop.units import is_of_kind, multiplied


@dataclass(frozen=True)
class Domain:
    """What the variables of a bond are.

    Parameters
    ----------
    name
        Its name, for messages: ``"translation"``.
    effort, flow
        Each as a word and an SI unit: ``("force", "N")``.
    displacement, momentum
        Integrals of flow and effort; named after them where they have no words of their own.
    coefficients
        SI units of the coefficients that belong to it, by word: ``{"stiffness": "N/m"}``. A coefficient with
        another unit is no element of this domain.

    Examples
    --------
    A domain of one's own:

    >>> acoustic = Domain("acoustic", ("sound pressure", "Pa"), ("volume velocity", "m^3/s"))
    >>> acoustic.displacement.unit, acoustic.power.unit
    ('m^3', 'W')
    """

    name: str
    effort: Quantity
    flow: Quantity
    displacement: Quantity
    momentum: Quantity
    coefficients: Mapping[str, str] = field(default_factory=dict, compare=False)

    __repr__ = brief

    def __init__(
        self,
        name: str,
        effort: tuple[str, str],
        flow: tuple[str, str],
        displacement: tuple[str, str] | None = None,
        momentum: tuple[str, str] | None = None,
        coefficients: Mapping[str, str] | None = None,
    ) -> None:
        given: dict[str, object] = {"effort": effort, "flow": flow}  # whatever stands in a script
        for kind, words in given.items():
            if not isinstance(words, (tuple, list)) or len(words) != 2:
                raise InputError(
                    f"Domain({kind}): expected its name and its unit, ('sound pressure', 'Pa'); found "
                    f"{words!r:.60}"
                )
        integral = {
            "displacement": displacement or (f"integral of {flow[0]}", multiplied(flow[1], "s")),
            "momentum": momentum or (f"integral of {effort[0]}", multiplied(effort[1], "s")),
        }
        object.__setattr__(self, "name", name)
        for kind, words in {"effort": effort, "flow": flow, **integral}.items():
            object.__setattr__(self, kind, Quantity(*words, kind))
        object.__setattr__(self, "coefficients", dict(coefficients or {}))

    @property
    def power(self) -> Quantity:
        """Effort times flow: a power, except in thermal networks of engineers."""
        unit = multiplied(self.effort.unit, self.flow.unit)
        return Quantity("power", "W" if is_of_kind(f"1 {unit}", "W") else unit, "power")

    @property
    def acceleration(self) -> Quantity:
        """Rate of the flow."""
        rate = self.flow.rate
        return Quantity(
            "acceleration" if self.flow.name == "velocity" else rate.name, rate.unit, "acceleration"
        )

    def unit(self, word: str) -> str | None:
        """Return the unit of a coefficient or a variable of a bond; None where it has none of that name.

        Parameters
        ----------
        word
            ``"effort"``, ``"flow"``, ``"displacement"``, ``"momentum"``, or a coefficient:
            ``"stiffness"``.
        """
        found = getattr(self, word, None) if word in ("effort", "flow", "displacement", "momentum") else None
        return self.coefficients.get(word) if found is None else found.unit

    def describe(self) -> str | dict[str, Any]:
        """Describe it for files: by its name where it is ready-made."""
        if self in (*DOMAINS.values(), MIXED):
            return self.name
        words = {k: [q.name, q.unit] for k in KINDS[:4] if (q := getattr(self, k))}
        return {"name": self.name, **words, "coefficients": dict(self.coefficients)}

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:  # asked for by every coefficient of a model
        return hash(self.name)


TRANSLATION = Domain(
    "translation",
    ("force", "N"), ("velocity", "m/s"), ("displacement", "m"), ("momentum", "kg m/s"),
    {"mass": "kg", "stiffness": "N/m", "compliance": "m/N", "damping": "N s/m", "resistance": "N s/m",
     "conductance": "m/s/N"},
)  # fmt: skip
"""Forces and velocities."""
ROTATION = Domain(
    "rotation",
    ("torque", "N m"), ("angular velocity", "rad/s"), ("angle", "rad"), ("angular momentum", "N m s"),
    {"inertia": "kg m^2", "stiffness": "N m/rad", "compliance": "rad/N/m", "damping": "N m s/rad",
     "resistance": "N m s/rad", "conductance": "rad/s/N/m"},
)  # fmt: skip
"""Torques and angular velocities."""
HYDRAULIC = Domain(
    "hydraulic",
    ("pressure", "Pa"), ("volume flow", "m^3/s"), ("volume", "m^3"), ("pressure impulse", "Pa s"),
    {"inertance": "kg/m^4", "stiffness": "Pa/m^3", "compliance": "m^3/Pa", "capacitance": "m^3/Pa",
     "resistance": "Pa s/m^3", "conductance": "m^3/s/Pa"},
)  # fmt: skip
"""Pressures and volume flows."""
ELECTRIC = Domain(
    "electric",
    ("voltage", "V"), ("current", "A"), ("charge", "C"), ("flux linkage", "V s"),
    {"inductance": "H", "capacitance": "F", "resistance": "Ohm", "conductance": "A/V"},
)  # fmt: skip
"""Voltages and currents."""
THERMAL = Domain(
    "thermal",
    ("temperature", "K"), ("entropy flow", "W/K"), ("entropy", "J/K"), None,
    {"capacitance": "J/K^2", "resistance": "K^2/W", "conductance": "W/K^2"},
)  # fmt: skip
"""Temperatures and flows of entropy: effort times flow is a power."""
HEAT = Domain(
    "heat",
    ("temperature", "K"), ("heat flow", "W"), ("heat", "J"), None,
    {"capacitance": "J/K", "resistance": "K/W", "conductance": "W/K"},
)  # fmt: skip
"""Temperatures and flows of heat, the networks of engineers: the flow itself is the power."""
MAGNETIC = Domain(
    "magnetic",
    ("magnetomotive force", "A"), ("flux rate", "V"), ("flux", "V s"), None,
    {"capacitance": "H", "resistance": "A/V", "conductance": "Ohm"},
)  # fmt: skip
"""Magnetomotive forces and rates of flux."""

DOMAINS: Mapping[str, Domain] = {
    d.name: d for d in (TRANSLATION, ROTATION, HYDRAULIC, ELECTRIC, THERMAL, HEAT, MAGNETIC)
}
"""The ready-made domains by name.

``thermal`` is the true one, whose flow is that of entropy, so that effort times flow is a power; ``heat`` is
that of engineers' networks, whose flow is the power itself.
"""


MIXED = Domain("mixed", ("generalised force", ""), ("generalised velocity", ""), ("stretch", ""))
"""Of a junction whose bonds may differ in domain, and of an element there: its variables are mere numbers."""


def domains_of(
    stated: Sequence[Domain | None],
    efforts: Iterable[Quantity | None],
    flows: Iterable[Quantity | None],
) -> tuple[Domain, ...]:
    """Return domains of interfaces: as stated there, or else those whose efforts and flows measure this."""
    pairs = list(zip(efforts, flows, strict=True))
    said = stated or (None,) * len(pairs)
    return tuple(s or domain_of(*pair) for s, pair in zip(said, pairs, strict=True))


def unit_fits_domain(unit: str, units: Iterable[str], domain: Domain, rates: int = 8) -> bool:
    """Whether a unit measures in a domain what a parameter may measure in several: an angle where it turns.

    Parameters
    ----------
    unit
        In which the parameter was given.
    units
        Those that it may have, one for each domain; where none is of this domain, nothing can be said.
    domain
        Where it acts.
    rates
        Rates of rates of a variable that a parameter may measure, fewer than this.

    Examples
    --------
    >>> unit_fits_domain("deg", ("m", "rad"), ROTATION), unit_fits_domain("deg", ("m", "rad"), TRANSLATION)
    (True, False)
    """
    variables = (domain.effort, domain.flow, domain.displacement, domain.momentum)
    known = [u for u in (*(q.unit for q in variables), *domain.coefficients.values()) if u]
    units = tuple(units)
    fitting = [u for u in units if any(is_of_kind(f"1 {u}", own) for own in known)]
    if not fitting:  # rates of them, and how they follow a rate
        changes = [multiplied(own, "s", power) for own in known for power in (1, *range(-1, -rates, -1))]
        fitting = [u for u in units if any(is_of_kind(f"1 {u}", own) for own in changes)]
    return not fitting or any(is_of_kind(f"1 {unit}", u) for u in fitting)


def known_domains(
    stated: Sequence[Domain | None], domains: Sequence[Domain | None]
) -> tuple[Domain | None, ...]:
    """Return domains of interfaces where something tells them, not where translation is merely assumed.

    Parameters
    ----------
    stated
        As the interfaces state them; None where one does not.
    domains
        As from `domains_of`.
    """
    return tuple(
        told or (None if domain == TRANSLATION else domain)
        for told, domain in zip(stated, domains, strict=True)
    )


def domain_of(effort: Quantity | None, flow: Quantity | None) -> Domain:
    """Return the domain whose effort and flow measure this; translation where neither is known.

    >>> domain_of(None, Quantity("current", "A", "flow")).effort.unit
    'V'
    """
    for domain in DOMAINS.values():
        if effort in (None, domain.effort) and flow in (None, domain.flow):
            return domain
    first = ("effort", "") if effort is None else (effort.name, effort.unit)
    return Domain("own", first, ("flow", "") if flow is None else (flow.name, flow.unit))


def domain_from(given: Domain | str | Mapping[str, Any] | None, what: str) -> Domain | None:
    """Return a domain: one's own, or a ready-made one by its name; or what `Domain.describe` gave."""
    if given is None or isinstance(given, Domain):
        return given
    known = {**DOMAINS, MIXED.name: MIXED}
    if isinstance(given, Mapping):
        words: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        try:
            return Domain(**words)
        except (InputError, TypeError, IndexError):
            raise InputError(f"{what}: expected words and units of a domain; found {given!r:.80}") from None
    if given in known:
        return known[given]
    raise InputError(unknown_name("domain", str(given), known, where=what))


# DOC """What coefficients, initial values and sources measure, as far as their names and units say.
#
# The name of a coefficient tells the domains that it can belong to, and each domain tells its unit there. A
# text with a unit of another kind is a slip of the pen; a plain number is taken as SI. That all parts of one
# bond belong to one domain is looked at in :mod:`bondloop.bondgraph.passes.domains`.
# """


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
