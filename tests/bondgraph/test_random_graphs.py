"""Drawn graphs against their tableau: equations, refusals, power, motions, steady states.

benchmarks/random_graphs.py does the same for 10,000 graphs.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))  # for drawn_graphs.py and its neighbours

import drawn_kinds as kinds
from agreement import AGREED, JUMPS, PROVED, UNSOLVED, judged
from drawn_graphs import FAMILIES, Graph, drawn, graph
from motions import MOVED, Motion
from rests import settled

QUICK = settings(max_examples=12, phases=[Phase.explicit, Phase.reuse, Phase.generate])


@pytest.mark.parametrize("family", FAMILIES)
@given(rng=st.randoms(use_true_random=False))
@QUICK
def test_drawn_graphs_agree_with_their_tableau(family, rng):
    one = graph(rng, family)
    verdict = judged(one)
    assert verdict.outcome in (AGREED, PROVED, JUMPS, UNSOLVED), f"{verdict}\n{one.script()}"
    assert verdict.outcome != UNSOLVED or family in ("modulated", "all at once"), one.script()
    assert verdict.power < 1e-9, one.script()  # into all parts together, against what they exchange


@pytest.mark.parametrize("family", FAMILIES)
def test_seeded_graphs_agree_with_their_tableau(family):
    outcomes = [judged(drawn(seed, family), seed).outcome for seed in range(30)]
    assert set(outcomes) == {AGREED, PROVED}
    assert outcomes.count(AGREED) > 17


@pytest.mark.parametrize(
    ("family", "seed", "outcome"),
    [
        ("fields", 418, AGREED),  # by their values matrices cancel in a ring
        ("fields", 1179, AGREED),  # a flow cancels beside a transformer of -1, and is a rate
        ("nonlinear", 740, AGREED),  # a content of a field that its effort says nothing of
        ("mixed domains", 1254, AGREED),  # a transformer of 1 beside a bond
        ("fields", 283, JUMPS),  # the same where both storages are bound
        ("modulated", 405, JUMPS),  # 1 ohm and -1 ohm
    ],
)
def test_numbers_that_cancel(family, seed, outcome):
    assert judged(drawn(seed, family), seed).outcome == outcome


@pytest.mark.parametrize("family", MOVED)
def test_motions_agree_with_their_tableau(family):
    followed = 0
    for seed in range(20):
        one = drawn(seed, family)
        if len(one.bonds) > 9 or judged(one, seed).outcome != AGREED:
            continue
        motion = Motion(one, seed)
        if not len(motion.x):
            continue
        assert motion.simulated() < 1e-8
        assert motion.energy() < 1e-8
        assert motion.stepped("numpy") < 1e-9
        followed += 1
        if followed == 2:
            return
    assert followed


def test_a_compiled_step_agrees_with_its_tableau():
    assert Motion(drawn(1, "nonlinear"), 1).stepped("c") < 1e-9


@given(seed=st.integers(0, 10_000), family=st.sampled_from(["tree", "mesh", "fields", "mixed domains"]))
@QUICK
def test_steady_states_are_the_ends_of_motions(seed, family):
    difference = settled(drawn(seed, family), seed)
    assume(difference is not None)
    assert difference < 1e-8


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        ("all at once", 25),  # a momentum that nothing touches
        ("modulated", 28),  # integrals of the same flow
        ("modulated", 749),  # an integral whose slopes at rest are rounding
        ("mixed domains", 622),  # linear: pascals beside metres
        *(("nonlinear", seed) for seed in range(6)),
        *(("modulated", seed) for seed in range(6)),
    ],
)
def test_steady_states_that_were_wrong_once_or_are_not_linear(family, seed):
    difference = settled(drawn(seed, family), seed)
    assert difference is None or difference < 1e-8


def test_a_rest_beyond_a_place_where_the_equations_divide_by_zero():
    # At 0.52 and 2.51 s the gain 1 - m of a ring passes zero, and momenta in it are divided by that. With the
    # content of p16 as a state instead of p8's nothing is, and its motion ends at this value (SciPy's DOP853
    # and LSODA to 1e-13, Radau to 1e-9: all the same).
    system = drawn(376, "modulated").model().compile(outputs=[])
    start = 0.5 * np.random.default_rng(376).normal(size=len(system.states))
    assert system.steady_state(initial=start)["s3.value"] == pytest.approx(2.05852144947, abs=1e-9)


# ---------------------------------------------------------------- the judge can tell right from wrong


def oscillator(stiffness=2.0):
    one = Graph()
    v = one.add(kinds.Junction(zero=False))
    for kind in (kinds.Inertia(1.5), kinds.Compliance(stiffness), kinds.Resistor(0.3)):
        one.bond(v, one.add(kind))
    one.bond(one.add(kinds.Source(True, "F")), v)
    return one


def test_the_tableau_has_the_poles_of_an_oscillator():
    # det(s E + A) vanishes where 1.5 s^2 + 0.3 s + 2 does, and nowhere else.
    from tableau import Tableau, smallness

    tableau = Tableau(oscillator())
    E, A, _ = tableau.slopes(np.zeros(2), np.zeros(tableau.size), np.zeros(1))
    for root in np.roots([1.5, 0.3, 2.0]):
        assert smallness(root * E + A) < 1e-14
        assert smallness((root + 0.1) * E + A) > 1e-4


def test_neighbours_have_more_states_where_resistances_cancel():
    from neighbours import NEAR, states_of_neighbours

    def circuit(first, second):
        one = Graph()
        i = one.add(kinds.Junction(zero=False))
        for kind in (kinds.Resistor(first), kinds.Resistor(second), kinds.Compliance(2.0)):
            one.bond(i, one.add(kind))
        return one, (np.zeros(1), np.zeros(7), np.zeros(0))

    # The pole is -2 / (R1 + R2), and with changes by NEAR the sum is between -2 and 2 NEAR.
    here, most, fastest = states_of_neighbours(*circuit(1.0, -1.0))
    assert (here, most) == (0, 1)
    assert fastest > 1 / NEAR
    assert states_of_neighbours(*circuit(0.1 + 0.2, -0.3))[:2] == (0, 1)  # but for rounding
    assert states_of_neighbours(*circuit(1.0, -0.9)) == (1, 1, 0.0)


def test_nearly_singular_is_not_singular():
    # Two 1-junctions in a ring with a transformer: their flow is zero unless its modulus is one.
    from neighbours import is_singular
    from tableau import Tableau

    for modulus, outcome in ((1 - 1e-13, AGREED), (1.0, PROVED)):
        one = Graph()
        a, b = one.add(kinds.Junction(zero=False)), one.add(kinds.Junction(zero=False))
        ratio = one.add(kinds.Transformer(modulus))
        one.bond(a, b)
        one.bond(a, (ratio, 0))
        one.bond((ratio, 1), b)
        one.bond(b, one.add(kinds.Inertia(1e-4)))
        tableau = Tableau(one)
        point = tableau.anywhere(np.random.default_rng(0))
        assert tableau.pencil_is_singular(*point)
        assert is_singular(tableau, point) == (modulus == 1.0)
        assert judged(one).outcome == outcome


def test_a_wrong_equation_is_noticed():
    class Wrong(kinds.Compliance):
        def part(self):
            return type(super().part())(stiffness=self.stiffness * (1 + 1e-7))

    one = oscillator()
    one.nodes[2] = Wrong(2.0)
    assert judged(oscillator()).outcome == AGREED
    verdict = judged(one)
    assert verdict.outcome == "disagreed"
    assert 1e-9 < verdict.error < 1e-6


def test_a_wrong_refusal_and_a_wrong_acceptance_are_noticed():
    class Stubborn(kinds.Resistor):
        def part(self):
            from bondloop.bondgraph import Se

            return Se(effort=1.0)  # a second source: refused, which the tableau does not call for

    one = Graph()
    p = one.add(kinds.Junction(zero=True))
    one.bond(one.add(kinds.Source(True, "F")), p)
    one.bond(p, one.add(Stubborn(1.0)))
    assert judged(one).outcome == "refused, but well posed"
    two = Graph()
    p = two.add(kinds.Junction(zero=True))

    class Second(kinds.Source):
        def part(self):
            from bondloop.bondgraph import Sf

            return Sf(self.name)  # bondloop sees a source of flow, the tableau a second effort

    two.bond(two.add(kinds.Source(True, "F")), p)
    two.bond(two.add(Second(True, "G")), p)
    two.bond(p, two.add(kinds.Resistor(1.0)))
    assert judged(two).outcome == "accepted, but ill posed"
