"""Which domain every bond of a flat graph belongs to.

A domain follows along bonds and through junctions; transformers, gyrators and elements with several ports end
it. What the parts along the way say (a domain stated, a coefficient's word, a unit) must fit one domain.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph.domain import DOMAINS, HEAT, MIXED, THERMAL, TRANSLATION, Domain, candidates
from bondloop.bondgraph.elements import multiport, one_ports, two_ports
from bondloop.bondgraph.parts import Port
from bondloop.errors import ModelError
from bondloop.units import is_of_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bondloop.bondgraph.parts import Bond, Part
    from bondloop.bondgraph.passes.flat_graph import FlatGraph


_MECHANICAL = frozenset({"stiffness", "compliance", "damping"})
"""Words of which one is enough to take an open domain for translation."""


@dataclass(frozen=True)
class DomainEvidence:
    """What one part says of the domain of its bond.

    Attributes
    ----------
    path
        Of the part.
    stated
        The domain, where it is stated.
    word, text
        Otherwise a coefficient or variable of the part, and what was written for it, if that has a unit.
    """

    path: str
    stated: Domain | None = None
    word: str = ""
    text: str | None = None

    def fits(self, domain: Domain) -> bool:
        """Whether it holds in a domain."""
        if self.stated is not None:
            return domain == self.stated
        unit = domain.unit(self.word)
        if unit is None:  # a domain of one's own that names no coefficients takes any
            return not domain.coefficients
        return self.text is None or is_of_kind(self.text, unit)

    def why(self, names: str) -> str:
        """Say why the part is believed to belong where it is."""
        if self.stated is not None:
            return f"{self.path} belongs to {names}, as stated"
        what = self.word if self.text is None else f"{self.word} = {self.text!r}"
        return f"{self.path} belongs to {names}, by its {what}"


@dataclass
class _Group:
    """Bonds of one domain."""

    able: frozenset[Domain]
    evidence: dict[frozenset[Domain], DomainEvidence] = field(default_factory=dict)
    mechanical: bool = False

    @property
    def domain(self) -> Domain | None:
        """The domain: the only one left; translation where that is open; None where it cannot be told."""
        if len(self.able) == 1:
            return next(iter(self.able))
        silent = not self.evidence
        return TRANSLATION if TRANSLATION in self.able and (self.mechanical or silent) else None


def assign_domains(flat: FlatGraph) -> tuple[list[Domain | None], list[bool]]:
    """Return the domain of every bond, None where it cannot be told; and whether it was said by some part.

    Where nothing is said, or nothing but a stiffness or a damping, it is taken for translation.

    Raises
    ------
    ModelError
        Where two domains meet without a transformer or gyrator between them.
    """
    root = _joined(flat)
    plain, evidence = _evidence(flat, root)
    every = frozenset({*DOMAINS.values(), *(said.stated for _, said in evidence if said.stated is not None)})
    extra = every - frozenset(DOMAINS.values())
    groups: dict[int, _Group] = {}
    for bond, said in (*plain.values(), *evidence):
        group = groups.get(root[bond])
        if group is None:
            group = groups[root[bond]] = _Group(every)
        if said.stated is not None:
            able = frozenset({said.stated})
        else:
            group.mechanical = group.mechanical or said.word in _MECHANICAL
            fitting = candidates(said.word, said.text)
            if fitting is None:
                continue
            able = fitting | {d for d in extra if said.fits(d)} if extra else fitting
        if able not in group.evidence:
            group.evidence[able] = said
            group.able &= able
            if not group.able:
                raise _conflict(group, able)
    nothing = _Group(every)
    known = {r: groups.get(r, nothing) for r in set(root)}
    domain = {r: group.domain for r, group in known.items()}
    certain = {r: len(group.able) == 1 for r, group in known.items()}
    return [domain[r] for r in root], [certain[r] for r in root]


def _joined(flat: FlatGraph) -> list[int]:
    """Return for every bond the number of its domain: junctions join what meets there."""
    flat.mixing.clear()
    pairs: list[tuple[int, int]] = []
    for node, (kind, bonds) in enumerate(zip(flat.kind, flat.incident, strict=True)):
        if kind > 1:  # no junction
            continue
        part = flat.part[node]
        if "domain" in part.__dict__ and part.domain == MIXED:
            flat.mixing.append(node)
        else:
            first = bonds[0]
            pairs += [(first, bond) for bond in bonds]
    return together(len(flat.tail), pairs)


def together(count: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each of some things the number of its group, where pairs of them belong together.

    >>> together(4, [(0, 2), (2, 3)])
    [0, 1, 0, 0]
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    ends = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    links = sparse.coo_array((np.ones(len(pairs), dtype=np.int8), (ends[0], ends[1])), shape=(count, count))
    groups: list[int] = connected_components(links, directed=False)[1].tolist()
    return groups


def _evidence(
    flat: FlatGraph, root: list[int]
) -> tuple[dict[tuple[int, str], tuple[int, DomainEvidence]], list[tuple[int, DomainEvidence]]]:
    """Return what is said of bonds, each with the bond: by mere words of coefficients, and all the rest.

    Most parts of a large model say by a word what one before them has said of the same bonds: that is passed
    over quickly.
    """
    plain: dict[tuple[int, str], tuple[int, DomainEvidence]] = {}
    rest: list[tuple[int, DomainEvidence]] = []
    incident = flat.incident
    for node, (kind, part) in enumerate(zip(flat.kind, flat.part, strict=True)):
        own = part.__dict__
        if kind <= 1:
            if "domain" not in own or part.domain == MIXED:
                continue
        elif kind > 6 and "domain" not in own and "texts" not in own:  # I, C, R
            coefficient = own.get("coefficient")
            if type(coefficient) is tuple:
                bond, word = incident[node][0], coefficient[0]
                key = (root[bond], word)
                if key not in plain:
                    plain[key] = bond, DomainEvidence(flat.path[node], None, word)
                if type(part) is not one_ports.RS:
                    continue
        if flat.incident[node]:
            rest += [(flat.incident[node][0], said) for said in _evidence_of(flat, node)]
    return plain, [*rest, *_of_ports(flat)]


def _of_ports(flat: FlatGraph) -> Iterator[tuple[int, DomainEvidence]]:
    for port in flat.ports:
        if port.domain is None:
            continue
        path = flat.paths[port]
        for i in range(port.size or 1):
            name = f"{path}[{i}]" if (port.size or 1) > 1 else path
            if name in flat.through:
                yield flat.through[name], DomainEvidence(path, port.domain)
            elif path in flat.free:
                bonds = flat.incident[flat.first[flat.free[path]] + i]
                if bonds:
                    yield bonds[0], DomainEvidence(path, port.domain)


def _evidence_of(flat: FlatGraph, node: int) -> Iterator[DomainEvidence]:
    """Give what the part of a node says of its bond; a two-port says nothing, since it has two."""
    part = flat.part[node]
    kind = type(part)
    if kind is one_ports.RS and flat.component[node]:
        yield DomainEvidence(flat.path[node], THERMAL if part.gives == "entropy" else HEAT)  # type: ignore[attr-defined]
        return
    if part.domain is not None:
        yield DomainEvidence(flat.path[node], part.domain)
    elif isinstance(part, multiport.Multiport):
        stated = part.domain_of_port(flat.component[node])
        if stated is not None:
            yield DomainEvidence(flat.path[node], stated)
    coefficient = getattr(part, "coefficient", None)
    if type(coefficient) is tuple:
        yield DomainEvidence(flat.path[node], None, coefficient[0], part.texts.get(coefficient[0]))
    for word, text in part.texts.items():
        if type(coefficient) is not tuple or word != coefficient[0]:
            yield DomainEvidence(flat.path[node], None, word, text)


def _conflict(group: _Group, able: frozenset[Domain]) -> ModelError:
    """Name two parts that cannot belong to one domain, and why each is where it is."""
    last = group.evidence[able]
    apart = [a for a in group.evidence if not a & able]
    other = apart[0] if apart else next(iter(group.evidence))

    def names(some: frozenset[Domain]) -> str:
        return " or ".join(sorted(d.name for d in some if d.coefficients) or sorted(d.name for d in some))

    for said, told in ((last, group.evidence[other]), (group.evidence[other], last)):
        own = said.stated
        if own is None or own in (*DOMAINS.values(), MIXED) or told.stated is not None:
            continue
        if own.unit(told.word) is None:
            return ModelError(
                f"{told.path}: the domain {own} has no coefficient '{told.word}'; it names: "
                f"{', '.join(sorted(own.coefficients))}; name it there with its unit, or put a TF or GY "
                f"between {told.path} and {said.path}, which belongs to {own}, as stated"
            )
    return ModelError(
        f"two domains meet without a transformer or gyrator between them: "
        f"{group.evidence[other].why(names(other))}; {last.why(names(able))}; put a TF or GY between them, "
        "or correct the coefficient or domain of one"
    )


def domain_at(flat: FlatGraph, drawn: Bond) -> Domain | None:
    """Return the domain of a drawn bond where some part says it; None where it is open."""
    found: set[Domain | None] = set()
    for part, index in ((drawn.tail, drawn.tail_index), (drawn.head, drawn.head_index)):
        found |= {flat.domain[b] if flat.is_domain_known[b] else None for b in _bonds_of(flat, part, index)}
        if found:
            break
    return next(iter(found)) if len(found) == 1 else None


def _bonds_of(flat: FlatGraph, part: Part, index: int | None) -> list[int]:
    """Return one bond for each component of a part that has only one domain for each."""
    if isinstance(part, Port):
        path, count = flat.paths[part], part.size or 1
        names = [path] if count == 1 else [f"{path}[{i}]" for i in range(count) if index in (None, i)]
        return [flat.through[n] for n in names if n in flat.through]
    first = flat.first.get(part)
    if first is None or isinstance(part, (two_ports.TF, two_ports.MTF, two_ports.GY, two_ports.MGY)):
        return []
    nodes = (
        [n for n in range(first, len(flat.part)) if flat.part[n] is part]
        if index is None
        else [first + index]
    )
    return [flat.incident[n][0] for n in nodes if flat.incident[n]]
