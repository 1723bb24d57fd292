"""Hierarchy, names, edits, outputs by path, readable equations."""

import copy

import numpy as np
import pytest
import sympy as sp

from bondloop.bondgraph import (
    GY,
    RS,
    SS,
    TF,
    C,
    De,
    Df,
    Function,
    I,
    Model,
    One,
    Port,
    R,
    RField,
    Se,
    Sf,
    SignalIntegrator,
    Zero,
    bond,
)
from bondloop.errors import InputError, ModelError


def oscillator(**options):
    model = Model("oscillator")
    model.force, model.v = Se("F"), One()
    model.force >> model.v >> [I(mass=2.0, **options), C(stiffness=8.0), R(damping=0.4)]
    return model


# ---------------------------------------------------------------- equations


def test_equations_as_text():
    assert str(oscillator().compile(outputs=["v.flow"]).equations()) == (
        "d/dt I.momentum     = -C.displacement*C.stiffness + F - I.momentum*R.damping/I.mass\n"
        "d/dt C.displacement = I.momentum/I.mass\n"
        "v.flow              = I.momentum/I.mass"
    )


def test_causal_equations_are_one_assignment_a_line_in_order():
    assert str(oscillator().compile(outputs=["v.flow"]).equations("causal")) == (
        "force.effort        = F\n"
        "C.effort            = C.stiffness*C.displacement\n"
        "v.flow              = I.momentum/I.mass\n"
        "R.effort            = R.damping*v.flow\n"
        "I.effort            = force.effort - C.effort - R.effort\n"
        "d/dt I.momentum     = I.effort\n"
        "d/dt C.displacement = v.flow"
    )


def test_equations_as_latex():
    latex = oscillator().compile(outputs=["v.flow"]).equations().latex()
    assert latex.startswith("\\begin{align*}\n  \\dot{p}_{\\mathrm{I}} &= ")
    assert "\\dot{q}_{\\mathrm{C}} &= \\frac{p_{\\mathrm{I}}}{m_{\\mathrm{I}}}" in latex
    assert latex.endswith("\\end{align*}")


def test_every_causal_assignment_holds_in_the_evaluated_program():
    system = oscillator().compile(outputs=["v.flow"])
    x, u, p = [3.0, -1.0], [0.7], list(system.values().values())
    values = dict(zip([*system.states, *system.inputs, *system.parameters], [*x, *u, *p], strict=True))
    for left, right in system.equations("causal").sides:
        found = float(right.subs({s: values[s.name] for s in right.free_symbols}))
        if left.startswith("d/dt "):
            assert found == pytest.approx(
                dict(zip(system.states, system.rates(x, u, [], p), strict=True))[left[5:]]
            )
        else:
            values[left] = found
            assert found == pytest.approx(system.function([system.expression(left)])(x, u, [], p)[0])


def test_a_nonlinear_loop_is_listed_as_an_equation_to_solve():
    model = Model("loop")
    model.V, model.a, model.b = Se("V"), One(), Zero()
    model.V >> model.a >> model.b
    model.a >> R(law=lambda f: f + f**3)
    model.b >> [R(resistance=2.0), R(resistance=3.0)]
    rows = model.compile(outputs=["a.flow"]).equations().rows
    assert [left for left, _ in rows] == ["a.flow", "0"]
    assert "a.flow**3" in rows[1][1]


def test_unknown_form_of_equations():
    with pytest.raises(InputError, match=r"'state', 'descriptor' or 'causal'"):
        oscillator().compile().equations("matrix")


# ---------------------------------------------------------------- names and hierarchy


def test_arrays_and_find(chain):
    model = chain([1.0, 2.0], [0.1, 0.1], [1.0, 1.0])
    assert model.find("cell[1].v") is model.cell[1].v
    assert model.cell[1].v.path == "cell[1].v"
    assert model.compile().states[-1] == "cell[1].I.momentum"
    with pytest.raises(ModelError, match=r"unknown part 'cel\[1\]'.*did you mean 'cell\[1\]'"):
        model.find("cel[1].v")
    with pytest.raises(ModelError, match=r"cell\[1\]\.v has no parts"):
        model.find("cell[1].v.x")
    with pytest.raises(AttributeError, match=r"unknown part 'cells'.*did you mean"):
        _ = model.cells


def test_automatic_names_are_unique_and_can_be_replaced_once():
    model = Model("names")
    model.v = One()
    model.v >> [R(damping=1.0), R(damping=2.0), R(damping=3.0)]
    assert list(model.parts) == ["v", "R", "R2", "R3"]
    model.brake = model.R
    assert list(model.parts) == ["v", "R2", "R3", "brake"]
    model.v >> (extra := R(damping=4.0))
    assert model.R4 is extra
    assert "R" not in model.parts
    with pytest.raises(AttributeError, match="unknown part 'R'"):
        _ = model.R


def test_ports_through_three_levels():
    class Inner(Model):
        def __init__(self):
            self.port, self.v = Port(), One()
            self.port >> self.v >> [I(mass=2.0), R(damping=1.0)]

    class Middle(Model):
        def __init__(self):
            self.port, self.inner = Port(), Inner()
            self.port >> self.inner.port

    class Outer(Model):
        def __init__(self):
            self.port, self.middle = Port(), Middle()
            self.port >> self.middle.port

    model = Model("deep")
    model.F, model.outer = Se("F"), Outer()
    model.F >> model.outer.port
    paths = ["outer.port", "outer.middle.port", "outer.middle.inner.port"]
    system = model.compile(outputs=[f"{p}.{w}" for p in paths for w in ("effort", "flow")])
    assert system.states == ("outer.middle.inner.I.momentum",)
    response = system.numeric().frequency_response([1.0])[0, :, 0]
    assert response == pytest.approx([1, 1 / (2j + 1)] * 3)


def test_values_of_symbols_with_units_and_levels():
    k, m = sp.symbols("k m")
    inner = Model()
    inner.port, inner.v = Port(), One()
    inner.port >> inner.v >> [I(mass=m), C(stiffness=k)]
    inner.let(k=1.0, m="500 g")
    model = Model("levels")
    model.F, model.part = Se("F"), inner
    model.F >> inner.port
    assert model.compile().parameters == {"m": 0.5, "k": 1.0}
    model.let(k="2 kN/m")  # the outer model's value prevails
    assert model.compile().parameters == {"m": 0.5, "k": 2000.0}


def test_side_by_side_values_of_one_symbol_must_agree():
    model = Model("sides")
    for name, value in (("a", 1.0), ("b", 2.0)):
        part = Model()
        part.v = One()
        part.v >> [I(mass=sp.Symbol("m")), R(damping=1.0)]
        part.let(m=value)
        setattr(model, name, part)
    with pytest.raises(ModelError, match=r"symbol 'm' is given two values, 1 in a and 2 in b"):
        model.compile()


def test_a_misspelt_let_is_noted_beside_the_missing_value():
    model = Model("misspelt")
    model.v = One()
    model.v >> [I(mass=sp.Symbol("m")), R(damping=1.0)]
    system = model.let(mm=2.0).compile()
    assert any("values to mm, which no coefficient uses; without a value: m" in note for note in system.notes)
    with pytest.raises(InputError, match=r"no value for m; give one with model.let"):
        system.numeric()
    assert system.numeric({"m": 2.0}).poles() == pytest.approx([-0.5])


def test_units_as_text():
    model = Model("units")
    model.v = One()
    model.v >> [I(mass="2.2 kg"), C(stiffness="4.75 kN/m", initial="150 mm"), R(damping="6 N s/m")]
    system = model.compile()
    assert list(system.parameters.values()) == pytest.approx([2.2, 4750.0, 6.0])
    assert system.initial().tolist() == [0.0, 0.15]


def test_symbolic_source_is_a_constant_of_the_model():
    # A falling mass: gravity as a source with symbols; terminal speed m g / c.
    m, g = sp.symbols("m g")
    model = Model("falling")
    model.weight, model.v = Se(effort=m * g), One()
    model.weight >> model.v >> [I(mass=m), R(damping=0.5)]
    system = model.let(m=2.0, g=9.81).compile(outputs=["v.flow"])
    assert system.inputs == ()
    assert system.steady_state()["I.momentum"] == pytest.approx(2.0 * 2.0 * 9.81 / 0.5)


def test_sources_with_names_and_values():
    model = Model("sources")
    model.a, model.b, model.c = Se("F", effort=0), Se(effort=3.0), Sf(flow=0)
    model.v, model.s = One(), Zero()
    model.a >> model.v >> I(mass=1.0)
    model.b >> model.v >> model.s >> C(stiffness=1.0)
    model.c >> model.s
    system = model.compile()
    assert system.inputs == ("F", "b")  # a named input stays an input; an unnamed zero is a fixed wall
    assert system.input_defaults == {"b": 3.0}
    assert system.simulate(0.1, {})["I.effort"][0] == pytest.approx(3.0)


# ---------------------------------------------------------------- edits


def test_insert_a_two_port():
    model = oscillator()
    model.insert(TF(modulus=2.0), "force >> v", name="lever")
    assert str(model.bond_at("force >> lever")) == "force >> lever"
    response = model.compile(outputs=["v.flow"]).numeric().frequency_response([1.0])[0, 0, 0]
    assert response == pytest.approx(0.5 / (2j + 0.4 - 8j))


def test_insert_that_fails_leaves_the_model_as_it_was():
    model = oscillator()
    before = [str(b) for b in model.bonds()]
    with pytest.raises(ModelError, match="'v' is used twice"):
        model.insert(TF(modulus=2.0), "force >> v", name="v")
    assert [str(b) for b in model.bonds()] == before
    with pytest.raises(ModelError, match=r"there is no bond 'force >> C'; force has force >> v"):
        model.insert(TF(modulus=2.0), "force >> C")
    with pytest.raises(InputError, match=r"written as 'a.b >> c.d'"):
        model.insert(TF(modulus=2.0), "force")


@pytest.mark.parametrize(
    ("part", "found"),
    [
        (C(stiffness=2.0), "found C, a part that ends a bond. Insert a junction"),
        (Se(effort=1.0), "found Se, a part that ends a bond. Insert a junction"),
        (Model("arm"), "found Model. Open the bond, and bond the ports"),
        (RField(np.eye(2)), "found RField. Open the bond, and bond the ports"),
        (None, "found None. Insert a junction"),
    ],
)
def test_insert_refuses_what_ends_a_bond(part, found):
    model = oscillator()
    before = [str(b) for b in model.bonds()]
    with pytest.raises(InputError, match=rf"expected a junction .*TF\(modulus=2\); {found}"):
        model.insert(part, "force >> v", name="between")
    assert [str(b) for b in model.bonds()] == before


@pytest.mark.parametrize("part", [De(), SignalIntegrator()], ids=["De", "SignalIntegrator"])
def test_insert_refuses_signals_where_power_flows(part):
    model = oscillator()
    before = [str(b) for b in model.bonds()]
    with pytest.raises(InputError, match=r"carries power, and .* is a part for signals"):
        model.insert(part, "force >> v")
    assert [str(b) for b in model.bonds()] == before


@pytest.mark.parametrize(
    "part", [One(), Zero(), TF(modulus=1.0), GY(ratio=1.0), RS(damping=1.0, gives="heat")]
)
def test_insert_takes_all_that_goes_on(part):
    model = oscillator()
    assert model.insert(part, "force >> v") is part
    assert [b.tail is part for b in part._bonds] == [False, True]


def test_swap_an_element():
    model = oscillator()
    model.swap("C", C(law=lambda q: q**3))
    assert list(model.parts) == ["force", "v", "I", "C", "R"]
    assert not model.compile().is_linear
    with pytest.raises(ModelError, match=r"already part of a model"):
        model.swap("C", model.R)
    with pytest.raises(ModelError, match=r"not a model"):
        model.swap("C", Model())


def test_swap_a_model(mass, chain):
    model = chain([1.0, 1.0], [0.1, 0.1], [1.0, 1.0])
    model.swap("cell[1]", mass(5.0, 0.2, C(stiffness=3.0)))
    assert model.cell[1].I.coefficient[1] == 5.0
    expected = chain([1.0, 5.0], [0.1, 0.2], [1.0, 3.0])
    assert model.compile().numeric().A.toarray() == pytest.approx(expected.compile().numeric().A.toarray())
    with pytest.raises(ModelError, match=r"the new cell\[0\] lacks the port left, right"):
        model.swap("cell[0]", Model())


def test_remove(chain):
    model = chain([1.0, 2.0], [0.1, 0.1], [1.0, 1.0])
    model.remove("cell[1]")
    assert model.compile().numeric().A.toarray() == pytest.approx(
        chain([1.0], [0.1], [1.0]).compile().numeric().A.toarray()
    )
    model = oscillator()
    model.remove("R")
    assert model.compile().numeric().poles() == pytest.approx([-2j, 2j])


def test_copies_are_independent(chain):
    model = chain([1.0, 2.0], [0.1, 0.1], [1.0, 1.0]).let(unused=1.0)
    twin, deep = model.copy(), copy.deepcopy(model)
    for other in (twin, deep):
        assert type(other.cell[0]) is type(model.cell[0])
        assert other.cell[0] is not model.cell[0]
        assert other.cell[0] is other.find("cell[0]")
        assert other.cell[0].v._bonds[0].tail._owner is other.cell[0]
    twin.swap("cell[0].C", C(stiffness=9.0))
    twin.cell[1].remove("R")
    twin.let(unused=2.0)
    assert deep.compile().parameters == model.compile().parameters
    assert "cell[1].R.damping" in model.compile().parameters
    assert model._symbol_values == {"unused": 1.0}
    assert [str(b) for b in deep.bonds()] == [str(b) for b in model.bonds()]
    assert deep.compile().states == model.compile().states


def test_a_copy_of_a_part_stands_alone(chain):
    model = chain([1.0, 2.0], [0.1, 0.1], [1.0, 1.0])
    part = model.cell[0].copy()
    assert part._owner is None
    assert part.left._bonds[0].head is part.spring_side
    assert all(b.tail is not model.wall for b in part.left._bonds)
    assert len(model.cell[0].left._bonds) == 2


def test_long_chains_can_be_copied(chain):
    n = 1500  # deeper than Python's stack, if bonds were followed
    model = chain([1.0] * n, [0.1] * n, [1.0] * n)
    assert len(model.copy().compile().states) == 2 * n


# ---------------------------------------------------------------- outputs by path


def test_outputs_by_any_path():
    model = Model("paths")
    model.V, model.i, model.w = Se("V"), One(), One()
    model.V >> model.i >> [I(inductance=2.0), R(resistance=1.0)]
    model.i >> GY(ratio=3.0) >> model.w >> [I(inertia=5.0), R(damping=0.7)]
    paths = [
        "i.flow",
        "I.effort",
        "R.effort",
        "R.flow",
        "GY.in.effort",
        "GY.out.effort",
        "GY.in.flow",
        "GY.out.flow",
        "I2.momentum",
        "V",
        "V.flow",
        "R2.damping",
    ]
    system = model.compile(outputs=paths)
    x, u, p = [4.0, 10.0], [6.0], list(system.values().values())
    values = dict(zip(paths, system.function(list(system.output_exprs.values()))(x, u, [], p), strict=True))
    i, w = 4 / 2, 10 / 5
    assert values == pytest.approx(
        {
            "i.flow": i,
            "I.effort": 6 - i - 3 * w,
            "R.effort": i,
            "R.flow": i,
            "GY.in.effort": 3 * w,
            "GY.out.effort": 3 * i,
            "GY.in.flow": i,
            "GY.out.flow": w,
            "I2.momentum": 10.0,
            "V": 6.0,
            "V.flow": i,
            "R2.damping": 0.7,
        }
    )


def test_outputs_that_do_not_exist_or_are_ambiguous():
    model = oscillator()
    with pytest.raises(InputError, match=r"v is a 1-junction: it has one flow.*name an element or port"):
        model.compile(outputs=["v.effort"])
    with pytest.raises(InputError, match=r"unknown variable 'v.flwo' of oscillator; did you mean 'v.flow'"):
        model.compile(outputs=["v.flwo"])
    model.insert(TF(modulus=2.0), "force >> v", name="lever")
    with pytest.raises(InputError, match=r"lever.flow is ambiguous.*lever.in.flow or lever.out.flow"):
        model.compile(outputs=["lever.flow"])


def test_one_output_may_be_given_as_text():
    assert oscillator().compile(outputs="v.flow").outputs == ("v.flow",)


def test_free_ends(chain):
    system = chain([1.0, 2.0], [0.1, 0.1], [1.0, 1.0]).compile(
        outputs=["cell[1].right.effort", "cell[1].right.flow"]
    )
    assert "port cell[1].right is left open: a free end, no effort acts there" in system.notes
    assert system.C.tolist() == [[0, 0, 0, 0], [0, 0, 0, 1 / sp.Symbol("cell[1].I.mass")]]


def test_free_end_through_two_levels(mass):
    outer = Model("outer")
    outer.wall, outer.right = Sf("r"), Port()
    outer.m = mass(1.0, 0.1, C(stiffness=1.0))
    outer.wall >> outer.m.left
    outer.m.right >> outer.right
    system = outer.compile(outputs=["right.flow"])
    assert len(system.states) == 2
    assert system.C[0, 1] != 0


def test_source_sensors_in_both_causalities():
    model = Model("probe")
    model.v, model.tip = One(), SS()
    model.v >> [I(mass=2.0), R(damping=1.0)]
    model.tip >> model.v
    system = model.compile()
    assert (system.inputs, system.outputs) == (("tip.effort",), ("tip.flow",))
    assert system.numeric().frequency_response([1.0])[0, 0, 0] == pytest.approx(1 / (2j + 1))
    driven = Model("driven")
    driven.v, driven.tip = One(), SS(imposes="flow")
    driven.v >> [I(mass=2.0), R(damping=1.0)]
    driven.tip >> driven.v
    system = driven.compile()
    assert (system.inputs, system.outputs) == (("tip.flow",), ("tip.effort",))
    assert system.numeric().frequency_response([1.0])[0, 0, 0] == pytest.approx(2j + 1)
    spring = Model("spring")
    spring.e, spring.tip = Zero(), SS()
    spring.tip >> spring.e >> [C(stiffness=2.0), R(resistance=5.0)]
    system = spring.compile()
    assert (system.inputs, system.outputs) == (("tip.flow",), ("tip.effort",))
    assert system.numeric().frequency_response([1.0])[0, 0, 0] == pytest.approx(1 / (1j / 2 + 1 / 5))


def test_imposed_strokes_are_respected():
    # Both resistors could take either causality; the stroke at the element's end makes it give the flow.
    model = Model("strokes")
    model.V, model.a, model.b = Se("V"), One(), Zero()
    model.V >> model.a >> model.b
    model.r1, model.r2, model.r3 = (R(resistance=float(r)) for r in (1, 2, 3))
    bond(model.a, model.r1, stroke="head")
    model.b >> [model.r2, model.r3]
    system = model.compile(outputs=["a.flow"])
    assert str(system.definitions[system.expression("a.flow")]) == "r1.effort/r1.resistance"
    assert system.numeric().D[0, 0] == pytest.approx(5 / 11)


def test_signals_modulate():
    # Function of two detectors, integrated: d(out)/dt = 2 e f.
    model = Model("signals")
    model.V, model.a, model.b = Se("V"), One(), Zero()
    model.V >> model.a >> [R(resistance=1.0), model.b]
    model.b >> C(capacitance=1.0)
    model.i, model.e, model.power, model.work = (
        Df(),
        De(),
        Function(lambda e, f: 2 * e * f),
        SignalIntegrator(),
    )
    model.b >> model.e
    model.a >> model.i
    model.e >> model.power
    model.i >> model.power >> model.work
    system = model.compile(outputs=["work"])
    run = system.simulate(2, {"V": 1.0})
    # e = 1 - exp(-t), f = exp(-t): the integral of 2 e f is (1 - exp(-t))^2.
    assert run["work"][-1] == pytest.approx((1 - np.exp(-2)) ** 2, rel=1e-7)


@pytest.mark.parametrize("depth", [1000, 5000])
def test_models_within_models_are_as_deep_as_one_likes(depth):
    model = inner = Model("deep")
    for _ in range(depth):
        inner.m = Model()
        inner = inner.m
    inner.v, inner.force = One(), Se("F")
    inner.force >> inner.v >> [I(mass=2), C(stiffness=8)]
    path = "m." * depth
    assert model.compile().states == (f"{path}I.momentum", f"{path}C.displacement")
    assert len(model.copy().bonds()) == 3
    entries = model.describe()["parts"]
    for _ in range(depth):
        entries = entries["m"]["parts"]
    assert entries["I"] == {"part": "I", "mass": 2.0}
