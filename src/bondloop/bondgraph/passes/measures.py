"""What the variables of a derived program measure: from the domains of their bonds, and along signals."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from bondloop.bondgraph.domain import ROTATION, TRANSLATION, unit_fits_domain
from bondloop.bondgraph.elements import fields, multiport, signals
from bondloop.bondgraph.elements.laws import check_plain
from bondloop.bondgraph.passes.field_laws import flow_states
from bondloop.bondgraph.passes.flat_graph import I
from bondloop.engine.ir import Quantity, Var, quantity_of
from bondloop.errors import InputError
from bondloop.units import dimension, multiplied

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bondloop.bondgraph.domain import Domain
    from bondloop.bondgraph.parts import Part
    from bondloop.bondgraph.passes.equations import Derivation
    from bondloop.engine.data import Range


@lru_cache(maxsize=4096)
def of_parameter(
    word: str, domain: Domain | None, within: Range | None = None, *, moved: Domain | None = None
) -> Quantity:
    """Return what a parameter measures: by its word in a domain, or by the unit of its range.

    Where that leaves two, along an axis and about it (``("N", "N m")``), the domain in which the element is
    moved tells which.
    """
    unit = None if domain is None else domain.unit(word)
    units = () if unit is not None or within is None else within.units
    if len(units) == 1:
        unit = units[0]
    elif len(units) == 2 and moved in (TRANSLATION, ROTATION) and _by_an_arm(*units):
        unit = units[moved == ROTATION]
    return Quantity(word, "" if unit in (None, "1") else unit)


def expect_unit_of_domain(
    part: Part, name: str, within: Range | None, domain: Domain | None, path: str
) -> None:
    """Refuse a parameter that was given in a unit of another domain than its element's: a gap in degrees.

    Parameters
    ----------
    part, name, within
        The element, its parameter, and what that may be.
    domain
        Of the element's bonds; None where they differ.
    path
        Of the element.
    """
    unit = part.stated.get(name, "")
    if (
        unit
        and domain is not None
        and within is not None
        and not unit_fits_domain(unit, within.units, domain)
    ):
        fitting = [u for u in within.units if unit_fits_domain(u, within.units, domain)]
        raise InputError(
            f"{path}.{name}: found a value in {unit}, but {path} is in {domain}, as its neighbours tell; "
            f"expected one in {' or '.join(fitting)}"
        )


def _by_an_arm(along: str, about: str) -> bool:
    """Whether two units measure the same along an axis and about it: their quotient is of lengths only."""
    ratio = dimension(f"1 {multiplied(about, along, -1)}")
    return ratio is not None and not any(power for i, power in enumerate(ratio) if i != 1)


def measure(d: Derivation) -> None:
    """Tell every variable of bonds, storages and signals what it measures."""
    flat = d.flat
    before = e = f = None
    for domain, effort, flow in zip(flat.domain, d.variables.effort, d.variables.flow, strict=True):
        if domain is not before:  # neighbours have the same, as a rule
            before = domain
            e, f = (None, None) if domain is None else (domain.effort, domain.flow)
        effort.quantity, flow.quantity = e, f
    for node in flat.mixing:
        d.variables.junction(node).quantity = None
    for node, var in d.holds.items():
        domain = flat.domain[flat.incident[node][0]]
        if domain is not None:
            var.quantity = domain.momentum if flat.kind[node] == I else domain.displacement
    for part in flat.multiports:
        _of_ports(d, part)
    for given, target in d.given.items():
        if given.quantity is None:
            given.quantity = target.quantity
    domains = {domain for domain in flat.domain if domain is not None}
    _signals(d, domains)
    for var, rate in (*d.rate_goals.items(), *d.dots.items(), *d.input_rates.items()):
        if var.quantity is not None:
            rate.quantity = _changed(domains, var.quantity, back=True)


def _of_ports(d: Derivation, part: multiport.Multiport) -> None:
    """Tell what the ports of a field or an element of one's own hold; a field of inertia keeps flows."""
    flat, first = d.flat, d.flat.first[part]
    inertia = isinstance(part, fields.IField) and part.relations is None
    flows = d.variables.once(flow_states, part) if inertia else []
    for node in range(first, first + (part.size or 1)):
        domain = flat.domain[flat.incident[node][0]]
        if domain is not None:
            for quantity in (domain.displacement, domain.momentum):
                var = d.variables.contents.get(f"{flat.path[node]}.{quantity.kind}")
                if var is not None:
                    var.quantity = quantity
            if flows:
                flows[node - first][0].quantity = domain.flow


def _changed(domains: Iterable[Domain], quantity: Quantity, *, back: bool = False) -> Quantity:
    """Return what the integral of a quantity measures (``back``: its rate), in the words of a domain."""
    for domain in domains:
        for whole, rate in ((domain.displacement, domain.flow), (domain.momentum, domain.effort)):
            if quantity == (whole if back else rate):
                return rate if back else whole
    return quantity.rate if back else quantity.integral


def _signals(d: Derivation, domains: Iterable[Domain]) -> None:
    """Carry quantities along signals: as stated, from what they drive, and through integrators."""
    flat = d.flat
    for part, sources in flat.signals.items():
        if isinstance(part, (signals.MSe, signals.MSf)) and part.modulation is None and len(sources) == 1:
            bond = flat.incident[flat.first[part]][0]
            domain = flat.domain[bond]
            source = d.variables.signal(sources[0][0]) if sources[0][0].is_signal else None
            if domain is not None and type(source) is Var and source.quantity is None:
                source.quantity = domain.effort if isinstance(part, signals.MSe) else domain.flow
        unit = getattr(part, "unit", None)
        value = d.variables.signal(part) if part.is_signal else None
        if unit is not None and type(value) is Var:
            value.quantity = Quantity("signal", unit)
    waiting = [p for p in flat.signals if isinstance(p, signals.SignalIntegrator)]
    for _ in waiting:  # one integrator may stand behind another
        for part in waiting:
            state = d.variables.signal(part)
            rate = quantity_of(d.states[state]) if type(state) is Var else None
            if type(state) is Var and state.quantity is None and rate is not None:
                state.quantity = _changed(domains, rate)
    for part in waiting:
        state = d.variables.signal(part)
        if type(state) is Var and state.quantity is not None:
            for text in part.texts.values():
                check_plain(text, f"{flat.paths[part]}(initial)", units=[state.quantity.unit])


def by_path(d: Derivation) -> dict[str, Quantity]:
    """Return what is measured by paths that are no variable: efforts of free ends, momenta of fields, ..."""
    flat = d.flat
    table: dict[str, Quantity] = {}
    for path, junction in flat.free.items():
        first = flat.first[junction]
        bonds = flat.incident[first]
        domain = flat.domain[bonds[0]] if bonds else None
        if domain is not None:
            table[f"{path}.effort"] = domain.effort
            table.update({f"{path}[{i}].effort": domain.effort for i in range(junction.size or 1)})
    for part in flat.multiports:
        first = flat.first[part]
        size = part.size or 1 if isinstance(part, fields.IField) and part.relations is None else 0
        for node in range(first, first + size):
            domain = flat.domain[flat.incident[node][0]]
            if domain is not None:
                table[f"{flat.path[node]}.momentum"] = domain.momentum
        for word, unit in part.units.items():
            table[f"{flat.paths[part]}.{word}"] = Quantity(word, unit)
    return table
