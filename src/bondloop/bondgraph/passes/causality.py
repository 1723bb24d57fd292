"""Causality by sequential assignment, as a worklist.

Sources first, then imposed strokes, then storages in integral causality, then resistors and what is left;
after each choice everything that follows from it is propagated. Each bond is assigned once and each junction
looked through a bounded number of times, so the cost is linear in the number of bonds (Karnopp, Margolis and
Rosenberg; the procedure is known as SCAP). A choice that leads to a conflict, which needs a ring of bonds, is
taken back and made the other way. Where that does not help either, an earlier choice was wrong: then all are
made again with foresight. That every junction has exactly one bond that imposes its common variable is a
matching of junctions; one is found first, and each choice is made as preferred if the matching can be changed
to hold it. So what is refused has no causality at all. Last, what divides by a modulus is turned where that
costs nothing (`multiplied`).

Modulated two-ports that multiply rather than divide by their modulus, where the causality leaves a choice.

A modulus that is a function of signals may pass zero. Multiplied by, that is no matter; divided by, it is
zero by zero. The assignment of causality does not look at it, so what divides is tried the other way round
afterwards. That is taken if no more storages become dependent, and if nothing has to change but linear
storages and resistors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.bondgraph.elements import fields, one_ports, signals, two_ports
from bondloop.bondgraph.passes.flat_graph import GY, MATRIX, ONE, SE, SF, SS, TF, ZERO, C, I, R
from bondloop.bondgraph.passes.foresight import DependentPorts, Foresight, PortRanks
from bondloop.errors import CausalityError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bondloop.bondgraph.parts import Part
    from bondloop.bondgraph.passes.flat_graph import FlatGraph


@dataclass(frozen=True, repr=False)
class CausalGraph:
    """A flat graph with its causality.

    Attributes
    ----------
    flat
        The graph.
    to_head
        For every bond: 1 if the effort goes to the head (stroke at the head), -1 if to the tail, 0 if open.
    strong
        For every junction: the bond that imposes its common variable; -1 for other nodes.
    derivative
        Nodes of storages in derivative causality.
    arbitrary
        Nodes of resistors and source-sensors whose causality was chosen, not implied.
    ranks
        For every matrix transformer which of its ports may have their flow imposed.
    """

    flat: FlatGraph
    to_head: list[int]
    strong: list[int]
    derivative: list[int]
    arbitrary: list[int]
    ranks: dict[Part, PortRanks]

    def __repr__(self) -> str:
        return (
            f"<CausalGraph {self.flat.title or ''}: {len(self.to_head)} bonds, "
            f"{len(self.derivative)} storages in derivative causality>"
        )

    def __str__(self) -> str:
        flat = self.flat
        ends = zip(flat.tail, flat.head, self.to_head, strict=True)
        return "\n".join(f"{flat.path[t]} {'>>|' if way > 0 else '|>>'} {flat.path[h]}" for t, h, way in ends)

    def strokes_at(self, node: int) -> bool:
        """Whether a one-port takes the effort of its bond, and gives the flow."""
        bond = self.flat.incident[node][0]
        return (self.to_head[bond] > 0) == (self.flat.head[bond] == node)


def assign(flat: FlatGraph, followers: Sequence[int] = ()) -> CausalGraph:
    """Assign causality to every bond, or explain the conflict; ``followers`` prefer derivative causality."""
    assignment = _Assignment(flat, followers)
    try:
        causality = assignment.run()
    except CausalityError as error:
        error.to_head = tuple(assignment.to_head)
        error.args = (f"{error}; model.draw() shows where",)
        raise
    return without_divisions(flat, causality, lambda first: _Assignment(flat, followers, first).run())


class _Assignment:
    def __init__(
        self, flat: FlatGraph, followers: Sequence[int] = (), first: Mapping[int, int] | None = None
    ) -> None:
        self.flat, self.followers, self.first = flat, followers, first or {}
        self.to_head = [0] * len(flat.tail)
        self.cause = [-1] * len(flat.tail)  # the bond from which a bond's causality followed
        self.reason: dict[int, str] = {}
        self.strong = [-1] * len(flat.kind)
        self.open = [len(b) for b in flat.incident]
        self.assigned: list[int] = []  # bonds in the order in which they were assigned
        self.visited = 0  # how many of them have been looked through
        self.foresight: Foresight | None = None
        self.ranks = {part: PortRanks(flat, part) for part in flat.matrices}

    def run(self) -> CausalGraph:
        flat, kinds, incident = self.flat, self.flat.kind, self.flat.incident
        storages, others = self.fixed()
        for bond, stroke in enumerate(flat.stroke):
            if stroke is not None:
                self.set(bond, 1 if stroke == "head" else -1, -1, "the stroke is imposed")
        # A port of an inertia field, or of any element with equations, before a mass: the mass can follow.
        storages.sort(key=lambda n: not self.leads(n))
        others.sort(key=lambda n: kinds[n] == SS)
        mark = len(self.assigned)
        try:
            arbitrary = self.choices(storages, others)
        except CausalityError:
            self.take_back(mark)
            self.foresight = Foresight(flat, self.to_head, self.strong, self.ranks)
            arbitrary = self.choices(storages, others)
        derivative = [n for n in storages if self.gives_effort(incident[n][0], n) != (kinds[n] == C)]
        return CausalGraph(flat, self.to_head, self.strong, derivative, arbitrary, self.ranks)

    def choices(self, storages: list[int], others: list[int]) -> list[int]:
        """Assign what is left, storages first; return the nodes whose causality was chosen, not implied."""
        kinds, incident, to_head = self.flat.kind, self.flat.incident, self.to_head
        for node in self.followers:
            bond = incident[node][0]
            if not to_head[bond]:
                self.choose(bond, node, gives_effort=kinds[node] != C, reason="follows other storages")
        for bond, direction in self.first.items():
            if not to_head[bond]:
                self.attempt(bond, direction, "multiplies by its modulus")
        for node in storages:
            bond = incident[node][0]
            if not to_head[bond]:
                self.choose(bond, node, gives_effort=kinds[node] == C, reason="integral causality")
        arbitrary: list[int] = []
        for node in others:
            bond = incident[node][0]
            if not to_head[bond]:
                arbitrary.append(node)
                self.choose(bond, node, gives_effort=self.prefers_effort(node), reason="chosen")
        for bond in range(len(to_head)):
            if not to_head[bond]:
                self.attempt(bond, 1, "chosen")
        return arbitrary

    def fixed(self) -> tuple[list[int], list[int]]:
        """Assign what has no choice; return the nodes of storages, and of resistors and source-sensors."""
        flat, incident = self.flat, self.flat.incident
        storages: list[int] = []
        others: list[int] = []
        for node, kind in enumerate(flat.kind):
            if kind == SE:
                self.impose(incident[node][0], node, gives_effort=True, reason="imposes the effort")
            elif kind == SF:
                self.impose(incident[node][0], node, gives_effort=False, reason="imposes the flow")
            elif kind == I or kind == C:  # noqa: PLR1714, SIM109 - faster
                storages.append(node)
            elif kind == R:
                others.append(node)
            elif kind <= ONE and len(incident[node]) == 1:
                # Nothing else to balance: the effort of a 1-junction, the flow of a 0-junction, is zero.
                self.impose(incident[node][0], node, gives_effort=kind == ONE, reason="has a single bond")
            elif kind == SS:
                given = flat.part[node].imposes  # type: ignore[attr-defined]
                if given in (None, "both", "neither"):  # what is bicausal is turned round in the equations
                    others.append(node)
                else:
                    gives = given == "effort"
                    self.impose(incident[node][0], node, gives_effort=gives, reason=f"imposes the {given}")
        for first in dict.fromkeys(flat.tied.values()):
            name = f"{flat.paths[flat.part[first]]} ({flat.part[first].symbol})"
            for bond, direction in self.tie(first, -1).items():
                self.set(bond, direction, -1, f"{name} has no other causality")
        return storages, others

    def leads(self, node: int) -> bool:
        """Whether a storage chooses before others."""
        part = self.flat.part[node]
        return part.relations is not None or (self.flat.kind[node] == I and isinstance(part, fields.Field))

    def tie(self, first: int, cause: int) -> dict[int, int]:
        """Return the directions of an element's other bonds, as far as its equations leave no choice."""
        flat = self.flat
        part = flat.part[first]
        assert part.relations is not None
        bonds = [flat.incident[first + i][0] for i in range(len(part.relations.ports))]
        known = {i: self.gives_effort(b, first + i) for i, b in enumerate(bonds) if self.to_head[b]}
        forced = part.relations.forced(known)
        if forced is None:
            ways = [f"{flat.path[first + i]} gives its {'effort' if e else 'flow'}" for i, e in known.items()]
            trail = f" ({self.trail(cause)})" if cause >= 0 else ""
            raise CausalityError(
                f"the equations of {flat.paths[part]} ({part.symbol}) cannot be solved where "
                f"{', '.join(ways) or 'its causality is as declared'}{trail}; change what it is bonded to, "
                "or write equations that hold the variables it has to give"
            )
        return {
            bonds[i]: 1 if gives == (flat.tail[bonds[i]] == first + i) else -1 for i, gives in forced.items()
        }

    def prefers_effort(self, node: int) -> bool:
        part = self.flat.part[node]
        if part.relations is not None:
            return part.relations.prefers_effort(self.flat.component[node])
        if isinstance(part, one_ports.R):
            if part.coefficient is not None:
                return part.coefficient[2] == "mul"
            return part.law is not None and part.law.law is not None
        if isinstance(part, signals.MR):
            return part.form == "mul"
        if isinstance(part, one_ports.SS):
            other = self.flat.tail[self.flat.incident[node][0]]
            if other == node:
                other = self.flat.head[self.flat.incident[node][0]]
            return self.flat.kind[other] == ONE
        return True

    def gives_effort(self, bond: int, node: int) -> bool:
        return (self.to_head[bond] > 0) == (self.flat.tail[bond] == node)

    def impose(self, bond: int, node: int, *, gives_effort: bool, reason: str) -> None:
        direction = 1 if gives_effort == (self.flat.tail[bond] == node) else -1
        self.set(bond, direction, -1, f"{self.flat.path[node]} ({self.flat.part[node].symbol}) {reason}")

    def choose(self, bond: int, node: int, *, gives_effort: bool, reason: str) -> None:
        direction = 1 if gives_effort == (self.flat.tail[bond] == node) else -1
        self.attempt(bond, direction, f"{self.flat.path[node]} ({self.flat.part[node].symbol}) {reason}")

    def attempt(self, bond: int, direction: int, reason: str) -> None:
        """Assign a bond one way; where that leads to a conflict, the other way.

        In a graph with rings what follows from a choice is not always seen one bond ahead. A choice is
        taken back with all that followed from it; the bonds before it are not looked at again.
        """
        if self.foresight is not None:
            self.with_foresight(self.foresight, bond, direction, reason)
            return
        mark = len(self.assigned)
        try:
            self.set(bond, direction, -1, reason)
        except CausalityError as error:
            self.take_back(mark)
            try:
                self.set(bond, -direction, -1, f"{reason} the other way")
            except CausalityError:
                raise error from None

    def with_foresight(self, foresight: Foresight, bond: int, direction: int, reason: str) -> None:
        """Assign a bond as preferred, if the matching allows it.

        The matching knows which entries of a matrix are zero, not its rank: what follows from the rank is
        held against it, and where that does not fit the bond is turned.
        """
        before = foresight.matching.copy() if self.ranks else None
        if not foresight.allows(bond, direction):
            direction, reason = -direction, f"{reason} the other way"
        mark = len(self.assigned)
        try:
            self.set(bond, direction, -1, reason)
            if before is not None and not all(
                foresight.allows(b, self.to_head[b]) for b in self.assigned[mark:]
            ):
                self.conflict(bond, -1, reason)
        except CausalityError:
            if before is None:
                raise
            foresight.matching = before
            if not foresight.allows(bond, -direction):
                raise
            self.take_back(mark)
            self.set(bond, -direction, -1, f"{reason} the other way")
            for b in self.assigned[mark:]:
                foresight.allows(b, self.to_head[b])

    def take_back(self, mark: int) -> None:
        flat = self.flat
        for index in range(len(self.assigned) - 1, mark - 1, -1):
            bond = self.assigned[index]
            for node in (flat.tail[bond], flat.head[bond]):
                if index < self.visited:
                    self.open[node] += 1
                if self.strong[node] == bond:
                    self.strong[node] = -1
            self.to_head[bond] = 0
            self.cause[bond] = -1
            self.reason.pop(bond, None)
        del self.assigned[mark:]
        self.visited = mark

    def set(self, bond: int, direction: int, cause: int, reason: str) -> None:  # noqa: C901, PLR0912
        """Assign a bond and everything that follows.

        What follows at junctions, which are most nodes of a graph, is written out here for speed.
        """
        flat, to_head, strong, open_ = self.flat, self.to_head, self.strong, self.open
        kinds, tails, heads, incident = flat.kind, flat.tail, flat.head, flat.incident
        work, causes, tied = self.assigned, self.cause, flat.tied
        if to_head[bond]:
            if to_head[bond] != direction:
                self.conflict(bond, cause, reason)
            return
        to_head[bond] = direction
        causes[bond] = cause
        if reason:
            self.reason[bond] = reason
        work.append(bond)
        while self.visited < len(work):
            b = work[self.visited]
            self.visited += 1
            d = to_head[b]
            open_[heads[b]] -= 1
            open_[tails[b]] -= 1
            for node, effort_in in ((heads[b], d > 0), (tails[b], d < 0)):
                kind = kinds[node]
                if kind <= ONE:
                    if effort_in == (kind == ZERO):
                        # This bond imposes the junction's common variable; no other may.
                        if strong[node] >= 0:
                            self.clash(node, self.trail(strong[node]), self.trail(b))
                        strong[node] = b
                        if open_[node]:
                            for other in incident[node]:
                                if other != b and not to_head[other]:
                                    to_head[other] = 1 if (heads[other] == node) == (kind == ONE) else -1
                                    causes[other] = b
                                    work.append(other)
                    elif strong[node] < 0:
                        if open_[node] == 1:
                            for other in incident[node]:
                                if not to_head[other]:
                                    to_head[other] = 1 if (heads[other] == node) == (kind == ZERO) else -1
                                    causes[other] = b
                                    work.append(other)
                                    break
                        elif open_[node] == 0:
                            self.starved(node)
                elif kind <= GY:
                    self.follow([self.across(node, b, effort_in)], b)
                elif node in tied:
                    self.follow(self.tie(tied[node], b).items(), b)
                elif kind == MATRIX:
                    self.follow(self.by_rank(node), b)

    def follow(self, directions: Iterable[tuple[int, int]], cause: int) -> None:
        """Take the directions of bonds that follow from another one."""
        for bond, direction in directions:
            if not self.to_head[bond]:
                self.to_head[bond] = direction
                self.cause[bond] = cause
                self.assigned.append(bond)
            elif self.to_head[bond] != direction:
                self.conflict(bond, cause, "")

    def across(self, node: int, bond: int, effort_in: bool) -> tuple[int, int]:
        """Return the other bond of a transformer or gyrator, with the direction that follows from one."""
        first, second = self.flat.incident[node]
        other = second if bond == first else first
        other_in = effort_in == (self.flat.kind[node] == GY)
        return other, 1 if other_in == (self.flat.head[other] == node) else -1

    def by_rank(self, node: int) -> list[tuple[int, int]]:
        """Bonds of a matrix transformer whose causality follows from that of its others."""
        flat, ranks = self.flat, self.ranks[self.flat.part[node]]
        bonds = [flat.incident[n][0] for n in ranks.nodes]
        takes_flow = [
            None if not self.to_head[b] else self.gives_effort(b, n)
            for b, n in zip(bonds, ranks.nodes, strict=True)
        ]
        try:
            follows = ranks.follow(takes_flow)
        except DependentPorts as error:
            trails = "; ".join(self.trail(bonds[k]) for k in error.ports[:4])
            refusal = CausalityError(f"{error} ({trails})")
            refusal.bonds = tuple(bonds[k] for k in error.ports)
            raise refusal from None
        return [
            (bonds[k], 1 if flow == (flat.tail[bonds[k]] == ranks.nodes[k]) else -1) for k, flow in follows
        ]

    # ---------------------------------------------------------------- explanations

    def trail(self, bond: int) -> str:
        """Return the path along which a bond got its causality, first cause first."""
        steps: list[int] = []
        while bond >= 0 and len(steps) < 40:
            steps.append(bond)
            bond = self.cause[bond]
        steps.reverse()
        text = self.reason.get(steps[0], "")
        return (f"{text}: " if text else "") + ", then ".join(self.flat.name(b) for b in steps)

    def clash(self, node: int, first: str, second: str, *also: int) -> None:
        zero = self.flat.kind[node] == ZERO
        what, name = ("effort", "0-junction") if zero else ("flow", "1-junction")
        error = CausalityError(
            f"two bonds impose the {what} of {name} {self.flat.path[node]}, only one may: "
            f"({first}) and ({second}); remove one of the sources, or join them through a "
            + ("1-junction with a resistor or inertia" if zero else "0-junction with a resistor or spring")
        )
        error.nodes = (node,)
        imposing = (b for b in self.flat.incident[node] if self.gives_effort(b, node) != zero)
        error.bonds = (*(b for b in imposing if self.to_head[b]), *also)
        raise error

    def starved(self, node: int, last: str = "") -> None:
        zero = self.flat.kind[node] == ZERO
        what, name = ("effort", "0-junction") if zero else ("flow", "1-junction")
        given = [self.trail(b) for b in self.flat.incident[node] if self.to_head[b]]
        trails = "; ".join([*given[:4], *([last] if last else [])])
        error = CausalityError(
            f"nothing imposes the {what} of {name} {self.flat.path[node]}: all its bonds take it ({trails}); "
            f"remove one of the sources that take it, or add an element that gives the {what}"
        )
        error.nodes, error.bonds = (node,), tuple(self.flat.incident[node])
        raise error

    def conflict(self, bond: int, cause: int, reason: str) -> None:
        """Explain why a bond cannot have the causality it has and the one that is now asked for."""
        flat, before = self.flat, self.cause[bond]
        new = self.trail(cause) if cause >= 0 else f"{reason}: {flat.name(bond)}"
        if before >= 0 and cause < 0:
            # What was fixed before came through a node next to the bond; at a junction the reason is plain.
            shared = {flat.tail[bond], flat.head[bond]} & {flat.tail[before], flat.head[before]}
            for node in sorted(n for n in shared if flat.kind[n] <= ONE):
                if self.strong[node] == before:
                    self.clash(node, self.trail(before), new, bond)
                if self.strong[node] == bond:
                    self.to_head[bond] = 0
                    self.starved(node, new)
        parts = [flat.part[flat.tied[n]] for n in (flat.tail[bond], flat.head[bond]) if n in flat.tied]
        tied = "".join(f" (the equations of {flat.paths[p]} ({p.symbol}) tie its ports)" for p in parts)
        error = CausalityError(
            f"the causality of bond {flat.name(bond)} is fixed twice, in opposite ways: "
            f"({self.trail(bond)}) and ({new}); change one of the two{tied}"
        )
        error.bonds = (bond,)
        raise error


def multiplying(flat: FlatGraph, node: int) -> tuple[int, int] | None:
    """Return a bond of a modulated two-port and its direction where it multiplies; None for other ones."""
    part = flat.part[node]
    if not isinstance(part, (two_ports.MTF, two_ports.MGY)):
        return None
    first, second = flat.incident[node]
    bond = first if flat.head[first] == node else second
    # flow_out = n flow_in, effort_in = n effort_out: the effort goes to the tail of the bond drawn to it.
    return bond, -1 if part.form == "mul" else 1


def without_divisions(
    flat: FlatGraph,
    first: CausalGraph,
    assigned: Callable[[Mapping[int, int]], CausalGraph],
    most: int = 50,
) -> CausalGraph:
    """Return a causality with fewer divisions by a modulus, or the first one.

    Parameters
    ----------
    flat
        The graph.
    first
        Its causality as it was assigned.
    assigned
        Assigns causality again, with directions of bonds that are chosen before those of the storages.
    most
        Two-ports that are tried one by one; the work is that of one more assignment for each.
    """
    dividing = _dividing(flat, first)
    if not dividing:
        return first
    every = _tried(flat, first, first, dividing, assigned)
    if every is not None:
        return every
    best, accepted = first, dict[int, int]()
    for bond, direction in list(dividing.items())[:most]:
        if best.to_head[bond] != direction:
            wanted = {**accepted, bond: direction}
            better = _tried(flat, first, best, wanted, assigned)
            if better is not None:
                best, accepted = better, wanted
    return best


def _dividing(flat: FlatGraph, causality: CausalGraph) -> dict[int, int]:
    """Return the bonds of two-ports that divide, with the directions in which these would multiply."""
    places = (multiplying(flat, node) for node, kind in enumerate(flat.kind) if kind in (TF, GY))
    return {p[0]: p[1] for p in places if p is not None and causality.to_head[p[0]] != p[1]}


def _tried(
    flat: FlatGraph,
    first: CausalGraph,
    best: CausalGraph,
    wanted: Mapping[int, int],
    assigned: Callable[[Mapping[int, int]], CausalGraph],
) -> CausalGraph | None:
    """Return the causality with some directions wanted, if it is better than the best so far."""
    try:
        new = assigned(wanted)
    except CausalityError:
        return None
    fewer = len(_dividing(flat, new)) < len(_dividing(flat, best))
    if not fewer or len(new.derivative) > len(first.derivative):
        return None
    return new if all(_may_turn(flat, n) for n in _turned(flat, first, new)) else None


def _turned(flat: FlatGraph, one: CausalGraph, other: CausalGraph) -> list[int]:
    """Return the elements whose causality differs."""
    bonds = [b for b, (p, q) in enumerate(zip(one.to_head, other.to_head, strict=True)) if p != q]
    ends = {n for b in bonds for n in (flat.tail[b], flat.head[b])}
    return [n for n in ends if len(flat.incident[n]) == 1 and flat.kind[n] > ONE]


def _may_turn(flat: FlatGraph, node: int) -> bool:
    """Whether an element is as good in its other causality: linear, with nothing to start from."""
    part = flat.part[node]
    if not isinstance(part, one_ports.OnePort) or part.coefficient is None:
        return False
    start = getattr(part, "start", 0.0)
    return not (start[flat.component[node]] if isinstance(start, list) else start)
