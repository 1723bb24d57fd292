"""From a hierarchical model to a flat graph of scalar nodes and bonds.

Ports disappear (a bond passes through them), vector parts become one node per component, fields one node per
port. Only scalar bonds between junctions, two-ports and one-ports remain, in plain lists.

Nodes without a reference: 0-junctions whose efforts could all be higher, and nothing would change.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bondloop.bondgraph.elements import fields, multiport, one_ports, signals, two_ports
from bondloop.bondgraph.parts import Bond, One, Part, Port, Zero, reading
from bondloop.bondgraph.passes.domains import assign_domains, together
from bondloop.errors import ModelError

if TYPE_CHECKING:
    from bondloop.bondgraph.domain import Domain
    from bondloop.bondgraph.graph import Graph


ZERO, ONE, TF, GY, SE, SF, SS, I, C, R, MATRIX = range(11)
"""Kinds of flat nodes; a field's ports count as I, C or R, those of a matrix transformer as MATRIX.

Among the kinds of parts, MATRIX is any with two different sides: an RS becomes an R and an SF.
"""

_KINDS: dict[type[Part], int] = {
    Zero: ZERO, One: ONE,
    two_ports.TF: TF, two_ports.MTF: TF, two_ports.GY: GY, two_ports.MGY: GY,
    one_ports.Se: SE, signals.MSe: SE, one_ports.Sf: SF, signals.MSf: SF, one_ports.SS: SS,
    one_ports.I: I, fields.IField: I, one_ports.C: C, signals.MC: C, fields.CField: C,
    one_ports.RS: MATRIX, one_ports.R: R, signals.MR: R, fields.RField: R, multiport.Multiport: R,
    # What switches, as it stands at first:
    one_ports.Switch: SF, one_ports.Diode: SF, one_ports.Stop: SE, one_ports.Clutch: SF,
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class FlatGraph:
    """A flat bond graph.

    Attributes
    ----------
    title
        Name of the graph.
    kind, part, path, component
        For every node: its kind, the part it came from, its path name, and its component or port number.
    incident
        For every node its bonds, in the order drawn.
    tail, head, stroke
        For every bond: its nodes, and an imposed stroke.
    ports
        All ports of all models.
    through
        For every port component, by path: the bond that passes through it.
    free
        Ports left open at a 1-junction, by path, with that junction: free ends.
    signals
        For every signal part and modulated element: where its signals come from, in order: the part, its
        component, and what is read of a storage.
    paths
        The path of every part.
    symbol_values
        Values given to symbols with ``let``; those of outer models prevail.
    first
        The first node of every part that has nodes.
    tied
        For the ports of elements that cannot be solved in every causality: the first node of the element.
    matrices
        Transformers with a matrix.
    domain, is_domain_known
        For every bond its domain, None where it cannot be told; and whether some part says it.
    mixing, multiports
        Junctions where domains meet; elements of one's own, and fields.
    """

    title: str | None = None
    kind: list[int] = field(default_factory=list)
    part: list[Part] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    component: list[int] = field(default_factory=list)
    incident: list[list[int]] = field(default_factory=list)
    tail: list[int] = field(default_factory=list)
    head: list[int] = field(default_factory=list)
    stroke: list[str | None] = field(default_factory=list)
    ports: list[Port] = field(default_factory=list)
    through: dict[str, int] = field(default_factory=dict)
    free: dict[str, Part] = field(default_factory=dict)
    signals: dict[Part, list[tuple[Part, int, str | None]]] = field(default_factory=dict)
    paths: dict[Part, str] = field(default_factory=dict)
    symbol_values: dict[str, float] = field(default_factory=dict)
    first: dict[Part, int] = field(default_factory=dict)
    tied: dict[int, int] = field(default_factory=dict)
    matrices: list[Part] = field(default_factory=list)
    domain: list[Domain | None] = field(default_factory=list)
    is_domain_known: list[bool] = field(default_factory=list)
    mixing: list[int] = field(default_factory=list)
    multiports: list[multiport.Multiport] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<FlatGraph {self.title or ''}: {len(self.kind)} nodes, {len(self.tail)} bonds>"

    def __str__(self) -> str:
        return "\n".join(map(self.name, range(len(self.tail))))

    def name(self, bond: int) -> str:
        """Return a bond as text, ``tail >> head``."""
        return f"{self.path[self.tail[bond]]} >> {self.path[self.head[bond]]}"


def flatten(model: Graph) -> FlatGraph:
    """Flatten a model; every fault that keeps it from being a bond graph is raised by name."""
    flat = FlatGraph(model._name)
    drawn: list[Bond] = []
    sizes: dict[Part, int] = {}
    valued: list[tuple[str, dict[str, float]]] = [("", model._symbol_values)]
    kinds, parts, names, components, incident = flat.kind, flat.part, flat.path, flat.component, flat.incident
    paths, first = flat.paths, flat.first
    for path, part in model.walk():
        paths[part] = path
        kind = _KINDS.get(type(part))
        if kind is None:
            if not hasattr(part, "_bonds"):
                if part._symbol_values:  # type: ignore[attr-defined]
                    valued.append((path, part._symbol_values))  # type: ignore[attr-defined]
                continue  # a model: its parts follow
            kind = _other_kind(flat, part, path)
        bonds = part._bonds
        for b in bonds:
            if b.tail is part:
                drawn.append(b)  # noqa: PERF401 - the commonest list here has one bond
        if kind is None:
            continue
        if (kind == TF or kind == MATRIX) and part._sides is not None:  # noqa: PLR1714, SIM109 - faster
            sizes[part] = part._sides[0]
            _two_sides(flat, part, path)
            continue
        size = part.size
        if size is None:
            size = _adapted_size(part, bonds)
        first[part] = len(kinds)
        if size == 1 and not isinstance(part, fields.Field):
            kinds.append(kind)
            parts.append(part)
            names.append(path)
            components.append(0)
            incident.append([])
            continue
        sizes[part] = size
        for i in range(size):
            kinds.append(kind)
            parts.append(part)
            names.append(part.component_path(path, i))
            components.append(i)
            incident.append([])
    _storage_ports(flat)
    _collect_values(flat, valued)
    if not flat.kind:
        raise ModelError(f"the model {model.path} has no elements")
    _connect(flat, drawn, sizes)
    _check(flat)
    domain, is_domain_known = assign_domains(flat)
    return replace(flat, domain=domain, is_domain_known=is_domain_known)


def _storage_ports(flat: FlatGraph) -> None:
    """Give the ports of elements with relations their kinds; note where causalities exclude one another."""
    flat.multiports[:] = [part for part in flat.first if isinstance(part, multiport.Multiport)]
    for part in flat.multiports:
        if part.relations is not None:
            node = flat.first[part]
            for i in range(part.size or 1):
                flat.kind[node + i] = {"C": C, "I": I, "": R}[part.relations.storage(i)]
            if part.relations.causalities is not None:
                flat.tied.update({node + i: node for i in range(part.size or 1)})


def _two_sides(flat: FlatGraph, part: Part, path: str) -> None:
    """Make the nodes of a part whose sides differ, one for each bond: inputs first, then outputs."""
    assert part._sides is not None
    if isinstance(part, one_ports.RS):
        nodes = [(R, path), (SF, f"{path}.heat")]
    else:
        flat.matrices.append(part)
        nodes = [
            (MATRIX, f"{path}.{side}[{i}]")
            for side, count in zip(("in", "out"), part._sides, strict=True)
            for i in range(count)
        ]
    flat.first[part] = len(flat.kind)
    for component, (kind, name) in enumerate(nodes):
        flat.kind.append(kind)
        flat.part.append(part)
        flat.path.append(name)
        flat.component.append(component)
        flat.incident.append([])


def _collect_values(flat: FlatGraph, valued: list[tuple[str, dict[str, float]]]) -> None:
    """Gather the values of symbols; an outer model's prevail, and two models side by side must agree."""
    owner: dict[str, str] = {}
    for path, values in valued:
        for name, value in values.items():
            by = owner.setdefault(name, path)
            known = flat.symbol_values.setdefault(name, value)
            if known != value and by and not path.startswith(f"{by}."):
                raise ModelError(
                    f"the symbol '{name}' is given two values, "
                    f"{known:g} in {by} and {value:g} in {path}, but "
                    "a symbol is one parameter of the whole model; use two symbols, or one value"
                )


def _other_kind(flat: FlatGraph, part: Part, path: str) -> int | None:
    """Kind of a part that is not of an element's own class: None for ports and signal parts."""
    if isinstance(part, Port):
        flat.ports.append(part)
        return None
    if part.is_signal:
        flat.signals.setdefault(part, [])
        return None
    for base, kind in _KINDS.items():
        if isinstance(part, base):
            return kind
    raise ModelError(f"{path}: a {type(part).__name__} is not a bond graph part")


def _adapted_size(part: Part, bonds: list[Bond]) -> int:
    """Size of an element that adapts: that of its bond."""
    for b in bonds:
        other, index = (b.head, b.head_index) if b.tail is part else (b.tail, b.tail_index)
        if index is not None or b.word is not None:
            continue
        if other.size is not None:
            if not isinstance(other, multiport.Multiport) and not other.is_signal:
                return other.size
        elif other._sides is not None:
            return other._sides[b.tail is other]
    return _size_beyond(part, bonds)


def _size_beyond(part: Part, bonds: list[Bond]) -> int:
    """Size found behind a row of two-ports that adapt themselves."""
    for b in bonds:
        if b.word is not None:
            continue
        seen: set[Part] = {part}
        last, other = b, _other(b, part)
        while _adapts(other) and other not in seen:
            seen.add(other)
            onward = [x for x in other._bonds if x is not last]
            if not onward:
                break
            last = onward[0]
            other = _other(last, other)
        index = last.head_index if last.head is other else last.tail_index
        if index is None and other._sides is not None:
            return other._sides[last.tail is other]
        if index is None and other.size is not None and not isinstance(other, multiport.Multiport):
            return other.size
    return 1


def _adapts(part: Part) -> bool:
    return isinstance(part, (two_ports.TF, two_ports.GY)) and part.size is None and part._sides is None


def _connect(flat: FlatGraph, bonds: list[Bond], sizes: dict[Part, int]) -> None:
    """Turn bonds into scalar bonds between nodes, passing through ports."""
    enter: dict[Part, list[Bond]] = {}
    leave: dict[Part, list[Bond]] = {}
    paths = flat.paths
    plain: list[Bond] = []
    for b in bonds:
        head, tail = b.head, b.tail
        if head not in paths or tail not in paths:
            stranger = head if head not in paths else tail
            raise ModelError(
                f"{_other(b, stranger).path} is bonded to {stranger.path}, "
                "which is not part of this model; assign it to an attribute of the model"
            )
        if tail.is_signal or head.is_signal or b.word is not None:
            _signal_bond(flat, b)
            continue
        if type(head) is Port:
            enter.setdefault(head, []).append(b)
        if type(tail) is Port:
            leave.setdefault(tail, []).append(b)
        else:
            plain.append(b)
    plain = _drop_free_ends(flat, plain, enter, leave)
    first, tails, heads, strokes, incident = flat.first, flat.tail, flat.head, flat.stroke, flat.incident
    for b in plain:
        head, stroke, gates = b.head, b.stroke, _NONE
        if type(head) is Port and stroke is None:
            head, stroke, gates = _straight_on(head, enter, leave)
        if not sizes and type(head) is not Port and first[head] != first[b.tail]:
            k = len(tails)
            t, h = first[b.tail], first[head]
            tails.append(t)
            heads.append(h)
            strokes.append(stroke)
            incident[t].append(k)
            incident[h].append(k)
            for gate in gates:
                flat.through[paths[gate]] = k
            continue
        for (part, i), (last, j), imposed, passed in _follow(b, enter, leave, sizes, paths):
            k = len(tails)
            t, h = first[part] + i + (part._sides[0] if part._sides else 0), first[last] + j
            if t == h:
                raise ModelError(f"bond {b} leads through ports back to {flat.path[t]}, where it begins")
            tails.append(t)
            heads.append(h)
            strokes.append(imposed)
            incident[t].append(k)
            incident[h].append(k)
            for gate, index in passed:
                name = paths[gate]
                flat.through[f"{name}[{index}]" if (gate.size or 1) > 1 else name] = k
    _check_ports(flat, enter, leave)


_NONE: list[Part] = []


def _straight_on(
    start: Part, enter: dict[Part, list[Bond]], leave: dict[Part, list[Bond]]
) -> tuple[Part, str | None, list[Part]]:
    """Follow a bond through ports as far as it goes straight on, as most bonds of a large model do.

    Returns where it ends, with which stroke, and the ports; `_follow` takes it from its beginning where it
    ends at a port.
    """
    stroke: str | None = None
    gates: list[Part] = []
    head = start
    while type(head) is Port and stroke is None and len(gates) < 100 and (head.size or 1) == 1:
        onward = leave.get(head, ())
        if len(onward) != 1 or len(enter[head]) != 1 or onward[0].tail_index is not None:
            break
        gates.append(head)
        stroke = onward[0].stroke
        head = onward[0].head
    return head, stroke, gates


def _check_ports(flat: FlatGraph, enter: dict[Part, list[Bond]], leave: dict[Part, list[Bond]]) -> None:
    """Every port is passed through or a free end; a port with two arrows in or out is named first."""
    paths = flat.paths
    for port in flat.ports:
        if (len(enter.get(port, ())) > 1 or len(leave.get(port, ())) > 1) and (port.size or 1) == 1:
            _unconnected(port, paths[port], 0, enter, leave)
    for port in flat.ports:
        path = paths[port]
        if path in flat.through:
            continue
        count = port.size or 1
        for i in range(count):
            if (f"{path}[{i}]" if count > 1 else path) not in flat.through and path not in flat.free:
                _unconnected(port, path, i, enter, leave)


def _drop_free_ends(
    flat: FlatGraph, plain: list[Bond], enter: dict[Part, list[Bond]], leave: dict[Part, list[Bond]]
) -> list[Bond]:
    """Leave out bonds that lead from a 1-junction to an open port: nothing is attached there."""
    dropped: set[Bond] = set()
    for port in flat.ports:
        if port in enter and port in leave:  # it is passed through
            continue
        trail: list[Part] = [port]
        bonds = [*enter.get(port, ()), *leave.get(port, ())]
        while len(bonds) == 1:
            last = bonds[0]
            end = _other(last, trail[-1])
            if type(end) is One and last.tail_index is None and last.head_index is None:
                for p in trail:
                    flat.free[flat.paths[p]] = end
                    dropped.update(enter.pop(p, ()))
                    dropped.update(leave.pop(p, ()))
                break
            if type(end) is not Port:
                break
            trail.append(end)
            bonds = [b for b in (*enter.get(end, ()), *leave.get(end, ())) if b is not last]
    if not dropped:
        return plain
    return [b for b in plain if b not in dropped]


def _other(b: Bond, part: Part) -> Part:
    return b.tail if b.head is part else b.head


def _unconnected(
    port: Part, path: str, index: int, enter: dict[Part, list[Bond]], leave: dict[Part, list[Bond]]
) -> None:
    ins, outs = enter.get(port, []), leave.get(port, [])
    label = f"{path}[{index}]" if (port.size or 1) > 1 else path
    if len(ins) >= 2 or len(outs) >= 2:
        way = "in" if len(ins) >= 2 else "out"
        raise ModelError(
            f"port {label}: both its bonds ({', '.join(str(b) for b in (ins if way == 'in' else outs))}) "
            f"point {way}; one must lead in and one out, so turn one of them round"
        )
    missing = "nothing is bonded to it" if not ins and not outs else "one side is not bonded"
    raise ModelError(
        f"port {label} is unconnected: {missing}; bond it to a part outside and one inside, or close it with "
        "Sf(flow=0) (a fixed end), Se(effort=0) (a free end) or SS() (an input and output)"
    )


def _follow(
    b: Bond,
    enter: dict[Part, list[Bond]],
    leave: dict[Part, list[Bond]],
    sizes: dict[Part, int],
    paths: dict[Part, str],
) -> list[tuple[tuple[Part, int], tuple[Part, int], str | None, list[tuple[Part, int]]]]:
    """Scalar bonds of one drawn bond, each followed through ports to its end."""

    def width(part: Part, index: int | None, *, out: bool = False) -> int:
        if part._sides is not None:
            count = part._sides[out]
            if index is not None and index >= count:
                raise ModelError(f"bond {b}: {paths[part]} {'gives' if out else 'takes'} {count} bonds; "
                                 f"there is no [{index}] on that side")  # fmt: skip
            return count if index is None else 1
        return 1 if index is not None else sizes.get(part, part.size or 1)

    n_tail, n_head = width(b.tail, b.tail_index, out=True), width(b.head, b.head_index)
    if n_tail != n_head:
        raise ModelError(
            f"bond {b}: sizes differ, {n_tail} at {b.tail.path} and {n_head} at {b.head.path}; "
            "give both parts the same size, or bond one component with [i]"
        )
    result = []
    for i in range(n_tail):
        start = (b.tail, i if b.tail_index is None else b.tail_index)
        end, index = b.head, i if b.head_index is None else b.head_index
        stroke = b.stroke
        passed: list[tuple[Part, int]] = []
        while type(end) is Port:
            passed.append((end, index))
            if len(passed) > 10_000:
                raise ModelError(f"port {end.path} leads back to itself")
            onward = [x for x in leave.get(end, []) if x.tail_index in (None, index)]
            entering = [x for x in enter.get(end, []) if x.head_index in (None, index)]
            if len(onward) != 1 or len(entering) != 1:
                _unconnected(end, paths[end], index, {end: entering}, {end: onward})
            x = onward[0]
            w_tail, w_head = width(x.tail, x.tail_index, out=True), width(x.head, x.head_index)
            if w_tail != w_head:
                raise ModelError(
                    f"bond {x}: sizes differ, {w_tail} at {x.tail.path} and {w_head} at {x.head.path}; "
                    "give both parts the same size, or bond one component with [i]"
                )
            within = 0 if x.tail_index is not None else index
            if x.stroke is not None:
                if stroke is not None and x.stroke != stroke:
                    raise ModelError(
                        f"bonds {b} and {x} are one bond through a port, but their imposed strokes differ"
                    )
                stroke = x.stroke
            end, index = x.head, within if x.head_index is None else x.head_index
        result.append((start, (end, index), stroke, passed))
    return result


def _signal_bond(flat: FlatGraph, b: Bond) -> None:
    source, target = b.tail, b.head
    if isinstance(target, (signals.De, signals.Df)):
        wanted: type[Part] = Zero if isinstance(target, signals.De) else One
        if not isinstance(source, wanted):
            what, where = ("efforts", "0-junction") if wanted is Zero else ("flows", "1-junction")
            raise ModelError(
                f"{target.path} detects {what}, so it must be bonded from a {where}; "
                f"found {source.path} ({source.symbol})"
            )
    elif isinstance(target, signals.Input):
        raise ModelError(f"{target.path} is an input; nothing can be bonded to it")
    elif b.word is None and not source.is_signal:
        raise ModelError(
            f"{target.path} takes signals; put a detector (De, Df) between {source.path} and it, or read "
            "what a storage holds (spring.displacement, mass.momentum)"
        )
    elif not target.is_signal and not target.signals:
        raise ModelError(
            f"{target.path} ({target.symbol}) takes no signal; use its modulated form (M{target.symbol})"
        )
    if b.word is not None:
        reading(source, b.word, b.tail_index)  # a part may have been swapped for one of another kind
    following = 0 if source.is_signal else flat.first[source] + 1
    if b.tail_index is None and 0 < following < len(flat.part) and flat.part[following] is source:
        raise ModelError(
            f"{source.path} has {flat.part.count(source)} components, but {target.path} detects one; "
            f"bond {source.path}[i]{'' if b.word is None else f'.{b.word}'} to it"
        )
    # In the order in which they were bonded to the target, whatever the order of the parts.
    flat.signals[target] = [
        (x.tail, x.tail_index or 0, x.word)
        for x in target._bonds
        if x.head is target
        and (target.is_signal or x.tail.is_signal or x.word is not None)
        and x.tail in flat.paths
    ]


def _check(flat: FlatGraph) -> None:
    """Every node has the bonds and signals it needs."""
    for node, (kind, bonds) in enumerate(zip(flat.kind, flat.incident, strict=True)):
        count = len(bonds)
        if kind >= SE:
            if count != 1:
                _bad_count(flat, node, count, "exactly one bond")
        elif count and kind <= ONE:
            continue
        elif kind in (TF, GY):
            if count != 2:
                _bad_count(flat, node, count, "two bonds, one in and one out")
            a, b = flat.incident[node]
            if (flat.head[a] == node) == (flat.head[b] == node):
                way = "in" if flat.head[a] == node else "out"
                raise ModelError(
                    f"{flat.path[node]} ({flat.part[node].symbol}): both its bonds point {way}; "
                    "one must lead in and one out"
                )
        elif count == 0:
            _bad_count(flat, node, count, "at least one bond")
    for part, sources in flat.signals.items():
        if part.is_signal and not sources and not isinstance(part, signals.Input):
            raise ModelError(
                f"{flat.paths[part]} ({part.symbol}): nothing is bonded to it; it needs a signal"
            )
        if isinstance(part, (signals.De, signals.Df, signals.SignalIntegrator)) and len(sources) != 1:
            raise ModelError(f"{flat.paths[part]} ({part.symbol}) takes one signal; found {len(sources)}")
    for part in flat.first:
        if part.signals and not flat.signals.get(part):
            raise ModelError(f"{flat.paths[part]} ({part.symbol}) needs a signal; bond a detector to it")


def _bad_count(flat: FlatGraph, node: int, count: int, expected: str) -> None:
    label = flat.path[node]
    if count == 0:
        raise ModelError(
            f"{label} ({flat.part[node].symbol}) is not bonded to anything; it needs {expected}, or remove it"
        )
    raise ModelError(f"{label} ({flat.part[node].symbol}) has {count} bonds; it needs {expected}")


def floating(flat: FlatGraph) -> list[list[str]]:
    """Return the paths of 0-junctions without a reference, those together that depend on each other.

    Whatever is bonded to a 0-junction is a reference, other junctions apart. A 1-junction is one unless as
    many bonds lead into it from these 0-junctions as lead out to them: it compares their efforts with others.
    """
    kinds, bonds = flat.kind, list(zip(flat.tail, flat.head, strict=True))
    alike = [(t, h) for t, h in bonds if kinds[t] == kinds[h] and kinds[t] in (ZERO, ONE)]
    at = together(len(kinds), alike)
    ring = together(len(kinds), [(at[t], at[h]) for t, h in bonds if kinds[t] + kinds[h] == ZERO + ONE])
    # Into each group of 1-junctions, bonds from 0-junctions less those to them.
    balance: dict[int, int] = {}
    held: set[int] = set()
    for tail, head in bonds:
        for node, other, sign in ((tail, head, 1), (head, tail, -1)):
            if flat.kind[node] != ZERO:
                continue
            if flat.kind[other] == ONE:
                balance[at[other]] = balance.get(at[other], 0) + sign
            elif flat.kind[other] != ZERO:
                held.add(ring[at[node]])
    held |= {ring[one] for one, count in balance.items() if count}
    result: dict[int, list[str]] = {}
    for node, kind in enumerate(flat.kind):
        if kind == ZERO and ring[at[node]] not in held:
            result.setdefault(ring[at[node]], []).append(flat.path[node])
    return list(result.values())
