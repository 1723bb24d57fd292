"""Causality: strokes, conflicts explained by their path, cost linear in the bonds."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from bondloop.bondgraph import GY, TF, C, I, Model, One, R, Se, Sf, Zero, bond
from bondloop.bondgraph.passes.causality import _Assignment, assign
from bondloop.bondgraph.passes.flat_graph import GY as GYRATOR
from bondloop.bondgraph.passes.flat_graph import ONE, SE, SF, ZERO, flatten
from bondloop.bondgraph.passes.flat_graph import TF as TRANSFORMER
from bondloop.errors import CausalityError, ModelError


def strokes(model):
    flat = flatten(model)
    return {flat.name(b): d for b, d in enumerate(assign(flat).to_head)}


def test_textbook_oscillator():
    # Karnopp, Margolis and Rosenberg: the source and the spring give efforts, the mass takes the sum, the
    # damper follows. +1: the effort goes to the head.
    model = Model("oscillator")
    model.F, model.v, model.m, model.k, model.c = (
        Se("F"),
        One(),
        I(mass=1.0),
        C(stiffness=1.0),
        R(damping=1.0),
    )
    model.F >> model.v >> [model.m, model.k, model.c]
    assert strokes(model) == {"F >> v": 1, "v >> m": 1, "v >> k": -1, "v >> c": -1}


def test_two_flow_sources_on_a_1_junction():
    model = Model("twice")
    model.a, model.v, model.b = Sf("a"), One(), Sf("b")
    model.a >> model.v
    model.b >> model.v >> I(mass=1.0)
    with pytest.raises(CausalityError) as caught:
        model.compile()
    message = str(caught.value)
    assert "two bonds impose the flow of 1-junction v, only one may" in message
    assert "a (Sf) imposes the flow: a >> v" in message
    assert "b (Sf) imposes the flow: b >> v" in message
    assert "remove one of the sources, or join them through a 0-junction with a resistor or spring" in message


def test_two_effort_sources_on_a_0_junction():
    model = Model("short")
    model.a, model.p, model.b = Se("a"), Zero(), Se("b")
    model.a >> model.p
    model.b >> model.p >> C(stiffness=1.0)
    with pytest.raises(
        CausalityError, match=r"effort of 0-junction p.*1-junction with a resistor or inertia"
    ):
        model.compile()


def test_a_conflict_far_away_is_explained_by_its_path():
    model = Model("far")
    model.a, model.b = Sf("a"), Sf("b")
    model.v, model.w, model.z = One(), One(), One()
    model.a >> model.v >> TF(modulus=2.0) >> model.w
    model.b >> model.z >> TF(modulus=3.0) >> model.w
    with pytest.raises(CausalityError) as caught:
        model.compile()
    message = str(caught.value)
    assert "two bonds impose the flow of 1-junction z" in message
    assert (
        "(a (Sf) imposes the flow: a >> v, then v >> TF, then TF >> w, then TF2 >> w, then z >> TF2)"
        in message
    )
    assert "(b (Sf) imposes the flow: b >> z)" in message


def test_a_starved_junction():
    model = Model("starved")
    model.a, model.b, model.v = Se("a"), Se("b"), One()
    model.a >> model.v
    model.b >> model.v
    with pytest.raises(
        CausalityError,
        match=r"nothing imposes the flow of 1-junction v: .*a >> v; .*b >> v.*add an element",
    ):
        model.compile()


def test_source_against_gyrated_source():
    model = Model("gyrated")
    model.a, model.b = Se("a"), Sf("b")
    model.a >> GY(ratio=1.0) >> model.b
    with pytest.raises(CausalityError, match=r"fixed twice, in opposite ways.*(a|b) \(S[ef]\) imposes"):
        model.compile()


def test_an_imposed_stroke_against_a_source():
    model = Model("imposed")
    model.F, model.v = Se("F"), One()
    bond(model.F, model.v, stroke="tail")
    model.v >> I(mass=1.0)
    with pytest.raises(CausalityError, match=r"bond F >> v is fixed twice.*F \(Se\).*stroke is imposed"):
        model.compile()


@pytest.mark.parametrize("size", [50, 100, 400])
def test_every_bond_is_visited_once(chain, size):
    flat = flatten(chain([1.0] * size, [0.1] * size, [1.0] * size))
    assignment = _Assignment(flat)
    assignment.run()
    # Counted, not timed: visits grow with the bonds exactly.
    assert assignment.visited == len(flat.tail) == len(assignment.assigned)
    assert len(set(assignment.assigned)) == len(flat.tail)


def test_incidences_looked_through_grow_linearly(chain):
    class Counting(list):
        looked = 0

        def __iter__(self):
            for item in super().__iter__():
                Counting.looked += 1
                yield item

    counts = []
    for size in (100, 200, 400):
        flat = flatten(chain([1.0] * size, [0.1] * size, [1.0] * size))
        flat = replace(flat, incident=[Counting(b) for b in flat.incident])
        Counting.looked = 0
        assign(flat)
        counts.append(Counting.looked)
    assert counts[2] - counts[1] == pytest.approx(2 * (counts[1] - counts[0]), rel=0.01)


def test_a_choice_that_fails_is_taken_back():
    # Every assignment found on a ring satisfies the junction rules: exactly one bond imposes the common
    # variable.
    import itertools

    tried = 0
    for kinds in itertools.product([Zero, One], repeat=4):
        model = Model("ring")
        model.j = [kind() for kind in kinds]
        for a, b in ((0, 1), (1, 2), (2, 3), (3, 0)):
            model.j[a] >> model.j[b]
        for j in model.j:
            j >> [I(mass=1.0), C(stiffness=1.0)]
        flat = flatten(model)
        try:
            found = assign(flat)
        except CausalityError:
            continue
        tried += 1
        for node, part in enumerate(flat.part):
            if isinstance(part, (Zero, One)):
                effort_in = [(found.to_head[b] > 0) == (flat.head[b] == node) for b in flat.incident[node]]
                assert effort_in.count(isinstance(part, Zero)) == 1
    assert tried >= 2


def test_conflicting_ring_restores_its_counts():
    # take_back must undo exactly what followed from the choice.
    model = Model("undo")
    model.v = One()
    model.v >> [I(mass=1.0), R(damping=1.0)]
    assignment = _Assignment(flatten(model))
    before = (list(assignment.to_head), list(assignment.strong), list(assignment.open))
    assignment.set(0, 1, -1, "trial")
    assert assignment.visited == 2
    assignment.take_back(0)
    assert (assignment.to_head, assignment.strong, assignment.open) == before
    assert (assignment.assigned, assignment.visited, assignment.reason) == ([], 0, {})


# ---------------------------------------------------------------- meshes, against every assignment there is


def mesh(seed):
    """Return a small graph with rings: junctions joined at random, some through two-ports, with elements."""
    rng = np.random.default_rng([seed, 12])
    model = Model("mesh")
    model.j = [One() if rng.random() < 0.5 else Zero() for _ in range(int(rng.integers(2, 6)))]
    model.t = []
    joined = [(int(rng.integers(0, i)), i) for i in range(1, len(model.j))]
    joined += [
        tuple(int(k) for k in rng.choice(len(model.j), 2, replace=False)) for _ in range(rng.integers(0, 4))
    ]
    two_ports = []
    for a, b in joined:
        kind = rng.choice(["none", "none", "TF", "GY"])
        if kind == "none":
            model.j[a] >> model.j[b]
        else:
            two_ports.append((a, TF(2.0) if kind == "TF" else GY(3.0), b))
    model.t = [part for _, part, _ in two_ports]
    for a, part, b in two_ports:
        model.j[a] >> part >> model.j[b]
    model.e = []
    elements = []
    for k in range(len(model.j)):
        for _ in range(int(rng.integers(0, 3))):
            word = rng.choice(["I", "C", "R", "R", "Se", "Sf"])
            made = {"I": lambda: I(mass=1.0), "C": lambda: C(stiffness=1.0), "R": lambda: R(resistance=1.0),
                    "Se": lambda: Se(effort=1.0), "Sf": lambda: Sf(flow=1.0)}[word]()  # fmt: skip
            elements.append((k, made))
    model.e = [made for _, made in elements]
    for k, made in elements:
        model.j[k] >> made
    return model


def possible(flat):
    """Whether one of all assignments of strokes is a causality: by counting through."""
    for strokes in itertools.product((1, -1), repeat=len(flat.tail)):
        for node, kind in enumerate(flat.kind):
            bonds = flat.incident[node]
            into = [(strokes[b] > 0) == (flat.head[b] == node) for b in bonds]
            if kind == ZERO:
                good = sum(into) == 1
            elif kind == ONE:
                good = sum(not x for x in into) == 1
            elif kind == TRANSFORMER:
                good = into[0] != into[1]
            elif kind == GYRATOR:
                good = into[0] == into[1]
            else:
                good = into[0] == (kind == SF) if kind in (SE, SF) else True
            if not good:
                break
        else:
            return True
    return False


@pytest.mark.parametrize("first", range(0, 600, 60))
def test_what_is_refused_has_no_causality(first):
    seen = {True: 0, False: 0}
    for seed in range(first, first + 60):
        try:
            flat = flatten(mesh(seed))
        except ModelError:
            continue
        if len(flat.tail) > 11:
            continue
        try:
            assign(flat)
            found = True
        except CausalityError:
            found = False
        assert found == possible(flat), seed
        seen[found] += 1
    assert min(seen.values()) > 0
