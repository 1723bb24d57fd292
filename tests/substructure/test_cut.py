"""Cutting: two ordinary models that together behave as the original."""

import numpy as np
import pytest

from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero
from bondloop.errors import InputError, ModelError
from bondloop.papers import gawthrop_three_mass, gawthrop_two_actuators
from bondloop.substructure import interfaces, numerical_half, orientation, rejoin


def simulated(model, output, inputs):
    system = model.compile(outputs=[output])
    times = np.linspace(0, 5, 101)
    return system.simulate(5, inputs, times=times, rtol=1e-12, atol=1e-14)[output]


def wall(t):
    return np.sin(3 * t)


def test_one_bond_gives_two_ordinary_models_with_their_names():
    chain = gawthrop_three_mass.model()
    before = chain.compile().states
    numerical, physical = chain.cut("m2.right >> m3.left")
    assert chain.compile().states == before, "the original is untouched"
    assert type(numerical) is type(physical) is Model
    system = numerical.compile()
    assert set(system.states) == {f"{m}.{x}" for m in ("m1", "m2") for x in ("I.momentum", "C.displacement")}
    assert set(system.inputs) == {"r", "interface.effort"}
    assert system.outputs == ("interface.flow",)
    specimen = physical.compile()
    assert set(specimen.states) == {"m3.I.momentum", "m3.C.displacement"}
    assert specimen.inputs == ("interface.flow",)
    assert specimen.outputs == ("interface.effort",)
    assert not hasattr(physical, "m1")
    assert not hasattr(physical, "wall")
    assert physical.m3.v.path == "m3.v"


@pytest.mark.parametrize("output", ["m3.v.flow", "m1.v.flow"])
def test_rejoined_halves_move_as_the_original_with_one_bond(output):
    chain = gawthrop_three_mass.model()
    half = "physical" if output.startswith("m3") else "numerical"
    whole = rejoin(*chain.cut("m2.right >> m3.left"))
    original = simulated(chain, output, {"r": wall})
    again = simulated(
        whole, f"{half}.{output}", {"r" if "r" in whole.compile().inputs else "numerical.r": wall}
    )
    assert np.abs(original).max() > 0.1
    assert np.abs(original - again).max() < 1e-10


@pytest.mark.parametrize("output", ["physical.m3.v.flow", "numerical.mn1.v.flow", "numerical.mn2.v.flow"])
def test_rejoined_halves_move_as_the_original_with_two_bonds_of_opposite_direction(output):
    """The first cut bond points into the physical half, the second out of it."""
    structure = gawthrop_two_actuators.model()
    numerical, physical = structure.cut(*gawthrop_two_actuators.CUTS)
    assert orientation(numerical) == (1, -1)
    assert orientation(physical) == (-1, 1)
    assert numerical_half(numerical).signs == (1, -1)
    whole = rejoin(numerical, physical)
    inputs = {"r1": wall, "r2": np.cos}
    names = {u: next(n for n in whole.compile().inputs if n.endswith(u)) for u in inputs}
    original = simulated(structure, output.partition(".")[2], inputs)
    again = simulated(whole, output, {names[u]: f for u, f in inputs.items()})
    assert np.abs(original).max() > 0.1
    assert np.abs(original - again).max() < 1e-10


def test_the_physical_half_is_chosen_by_any_of_its_parts():
    chain = gawthrop_three_mass.model()
    numerical, physical = chain.cut("m2.right >> m3.left", physical="m1.v")
    assert set(physical.compile().states) >= {"m1.I.momentum", "m2.I.momentum"}
    assert orientation(physical) == (1,)
    assert numerical.compile().inputs == ("interface.flow",)
    same = chain.cut("m2.right >> m3.left", physical="m3")[1]
    assert set(same.compile().states) == {"m3.I.momentum", "m3.C.displacement"}


def test_members_of_an_array_keep_their_numbers():
    row = Model("row")
    row.wall = Sf("r")
    row.v = [One() for _ in range(3)]
    row.force = [Zero() for _ in range(2)]
    for v in row.v:
        v >> [I(mass=1), R(damping=0.5)]
    row.spring = C(stiffness=2)
    row.wall >> (first := Zero())
    first >> row.spring
    first >> row.v[0]
    for i in range(2):
        row.v[i] >> row.force[i] >> row.v[i + 1]
        row.force[i] >> C(stiffness=3)
    numerical, physical = row.cut("v[1] >> force[1]")
    assert numerical.v[1].path == "v[1]"
    assert physical.v[2].path == "v[2]"
    assert "v[2]" not in numerical.parts
    assert physical.find("v[2]") is physical.v[2]
    assert numerical.compile().outputs == ("interface.flow",)


def test_a_bond_that_does_not_exist_is_refused_with_those_that_do():
    chain = gawthrop_three_mass.model()
    with pytest.raises(ModelError, match=r"there is no bond 'm1.right >> m3.left'; m1.right has .*m2.left"):
        chain.cut("m1.right >> m3.left")
    with pytest.raises(ModelError, match="unknown part 'm4'"):
        chain.cut("m3.right >> m4.left")
    with pytest.raises(InputError, match="expected a bond written as"):
        chain.cut("m2.right")
    with pytest.raises(ModelError, match="at least one bond"):
        chain.cut()


def test_a_bond_named_twice_is_refused():
    chain = gawthrop_three_mass.model()
    with pytest.raises(ModelError, match="named twice"):
        chain.cut("m2.right >> m3.left", "m2.right >> m3.left")


def test_a_cut_that_does_not_separate_is_refused_with_what_remains_joined():
    ring = Model("ring")
    ring.a, ring.b = One(), One()
    ring.f, ring.g = Zero(), Zero()
    ring.a >> [I(mass=1), ring.f, ring.g]
    ring.f >> [C(stiffness=1), ring.b]
    ring.g >> [C(stiffness=1), ring.b]
    ring.b >> I(mass=1)
    with pytest.raises(
        ModelError, match=r"does not separate the model at 'a >> f': both its ends .*name every"
    ):
        ring.cut("a >> f")
    with pytest.raises(ModelError, match="both its ends are on the numerical side"):
        ring.cut("a >> f", "a >> g", "g >> b", physical="b")
    numerical, physical = ring.cut("a >> f", "a >> g")
    assert len(interfaces(numerical)) == len(interfaces(physical)) == 2


def test_the_physical_half_may_be_several_pieces():
    """Two specimens hang on one numerical mass, each to be moved by its own actuator."""
    m = Model("fork")
    m.wall = Sf("r")
    m.root, m.left, m.right = (gawthrop_three_mass.Mass(1, 0.1, C(stiffness=k)) for k in (10.0, 5.0, 8.0))
    m.wall >> m.root.left
    m.root.v >> m.left.left
    m.root.v >> m.right.left
    numerical, physical = m.cut("root.v >> left.left", "root.v >> right.left")
    assert numerical.compile().states == ("root.C.displacement", "root.I.momentum")
    assert len(physical.compile().states) == 4
    assert physical.compile().inputs == ("interface[0].flow", "interface[1].flow")
    again = rejoin(numerical, physical)
    name = next(n for n in again.compile().inputs if n.endswith("r"))
    original = simulated(m, "right.v.flow", {"r": wall})
    assert np.abs(original - simulated(again, "physical.right.v.flow", {name: wall})).max() < 1e-10


def test_an_unknown_or_empty_physical_part_is_refused():
    chain = gawthrop_three_mass.model()
    with pytest.raises(ModelError, match="unknown part 'm5'"):
        chain.cut("m2.right >> m3.left", physical="m5")
    chain.spare = Model()
    with pytest.raises(ModelError, match="spare is empty"):
        chain.cut("m2.right >> m3.left", physical="spare")


def test_halves_of_different_cuts_do_not_join():
    one = gawthrop_three_mass.model().cut("m2.right >> m3.left")[0]
    two = gawthrop_two_actuators.model().cut(*gawthrop_two_actuators.CUTS)[1]
    with pytest.raises(ModelError, match="1 interfaces in one, 2 in the other"):
        rejoin(one, two)
    with pytest.raises(ModelError, match="has no part 'interface'"):
        interfaces(gawthrop_three_mass.model())


def test_a_half_that_would_need_the_velocity_is_refused_as_numerical():
    chain = gawthrop_three_mass.model()
    numerical = chain.cut("m2.right >> m3.left", physical="m1")[0]
    with pytest.raises(ModelError, match=r"interface: the numerical half imposes the force.*assumption 1"):
        numerical_half(numerical)


def test_ports_of_a_half_stay_usable():
    """A half is a model like any other: it can be bonded, swapped, compiled again."""
    _, physical = gawthrop_three_mass.model().cut("m2.right >> m3.left")
    bench = Model("bench")
    bench.specimen = physical
    bench.specimen.swap("interface", Port())
    bench.table = Sf("v")
    bench.table >> bench.specimen.interface
    assert bench.compile(outputs=["specimen.m3.v.flow"]).inputs == ("v",)
