"""Bad input: each a clear error, with path and remedy."""

import math

import numpy as np
import pytest
import sympy as sp

from bondloop.bondgraph import (
    GY,
    MTF,
    SS,
    TF,
    C,
    CField,
    Clutch,
    De,
    Df,
    Function,
    I,
    ICField,
    IField,
    Model,
    One,
    Port,
    R,
    RField,
    Se,
    SignalIntegrator,
    Stop,
    Zero,
    bond,
)
from bondloop.errors import InputError, ModelError


def model_with(**parts):
    model = Model("bad")
    for name, part in parts.items():
        setattr(model, name, part)
    return model


class Cell(Model):
    def __init__(self, junction=One):
        self.port, self.v = Port(), junction()
        self.port >> self.v >> R(damping=1.0)


def test_unconnected_port_at_a_0_junction():
    model = model_with(cell=Cell(Zero), F=Se("F"), v=One())
    model.F >> model.v >> R(damping=1.0)
    with pytest.raises(
        ModelError, match=r"port cell.port is unconnected: one side is not bonded.*Sf\(flow=0\)"
    ):
        model.compile()


def test_port_with_nothing_at_all():
    model = model_with(p=Port(), F=Se("F"), v=One())
    model.F >> model.v >> R(damping=1.0)
    with pytest.raises(
        ModelError, match=r"port p is unconnected: nothing is bonded to it; bond it to a part outside"
    ):
        model.compile()


def test_port_with_two_arrows_in():
    model = model_with(cell=Cell(), other=Cell())
    model.other.port >> model.cell.port
    with pytest.raises(ModelError, match=r"port other.port: both its bonds .* point out; one must lead in"):
        model.compile()


def test_unconnected_element():
    model = model_with(m=I(mass=1.0), v=One())
    model.v >> R(damping=1.0)
    with pytest.raises(
        ModelError, match=r"m \(I\) is not bonded to anything; it needs exactly one bond, or remove it"
    ):
        model.compile()


def test_element_with_two_bonds():
    model = model_with(m=I(mass=1.0), v=One(), w=One())
    model.v >> model.m
    model.w >> model.m
    with pytest.raises(ModelError, match=r"m \(I\) has 2 bonds; it needs exactly one bond"):
        model.compile()


def test_incompatible_vector_sizes():
    model = model_with(v=One(2), w=One(3))
    model.v >> model.w
    with pytest.raises(
        ModelError, match=r"bond v >> w: sizes differ, 2 at v and 3 at w; give both parts the same size"
    ):
        model.compile()


def test_incompatible_vector_sizes_behind_a_port():
    model = model_with(cell=Cell(), v=One(2))
    model.v >> [model.cell.port, R(damping=1.0)]
    with pytest.raises(ModelError, match=r"bond v >> cell.port: sizes differ, 2 at v and 1 at cell.port"):
        model.compile()


def test_negative_and_zero_mass():
    with pytest.raises(InputError, match=r"I\(mass=-1\): a mass must be positive; check its sign and unit"):
        I(mass=-1)
    with pytest.raises(InputError, match=r"I\(mass=0\): a mass must be positive"):
        I(mass=0)
    with pytest.raises(InputError, match=r"I\(mass=-2\)"):
        I(mass=[1.0, -2.0])


def test_negative_stiffness_is_accepted():
    # Coupling springs of a beam are partly negative (da Silva 1994).
    assert C(stiffness=-3.0).coefficient == ("stiffness", -3.0, "mul")


def test_division_by_zero_coefficients():
    with pytest.raises(
        InputError, match=r"C\(compliance=0\): the law divides by the compliance; leave the element out"
    ):
        C(compliance=0)
    with pytest.raises(InputError, match=r"TF\(modulus=0\) transmits nothing"):
        TF(modulus=0)
    with pytest.raises(InputError, match=r"GY needs its ratio, such as GY\(ratio=2\)"):
        GY()


def test_zero_damping_in_conductance_causality():
    model = model_with(V=Se("V"), r=R(resistance=0.0))
    model.V >> model.r
    with pytest.raises(Exception, match=r"r\.resistance") as caught:
        model.compile(outputs=["r.flow"]).numeric()
    assert "zero" in str(caught.value)


def test_misspelt_parameter_in_a_constructor():
    with pytest.raises(InputError, match=r"unknown parameter 'mas' of I; did you mean 'mass'"):
        I(mas=1.0)
    with pytest.raises(InputError, match=r"unknown parameter 'stifness' of C; did you mean 'stiffness'"):
        C(stifness=1.0)
    with pytest.raises(InputError, match=r"unknown parameter 'modulu' of TF; did you mean 'modulus'"):
        TF(modulu=2)
    with pytest.raises(InputError, match=r"unknown parameter 'efort' of Se; did you mean 'effort'"):
        Se(efort=2)
    with pytest.raises(InputError, match=r"unknown parameter 'aa' of R's law; did you mean 'a'|known: a"):
        R(law=lambda f, a=1: a * f, aa=2.0)
    with pytest.raises(InputError, match=r"law takes a parameter 'a' that has no value; give a="):
        R(law=lambda f, a: a * f)


def test_misspelt_parameter_in_values():
    model = model_with(v=One())
    model.v >> [I(mass=1.0), R(damping=1.0)]
    system = model.compile()
    for call in (system.numeric, lambda values: system.simulate(1, values=values), system.poles):
        with pytest.raises(InputError, match=r"unknown parameter 'I.mas' of bad; did you mean 'I.mass'"):
            call({"I.mas": 2.0})
    with pytest.raises(InputError, match=r"I.mass: expected a finite number; found nan"):
        system.numeric({"I.mass": math.nan})
    with pytest.raises(InputError, match=r"I\.mass: expected a number above 0; found 0"):
        system.numeric({"I.mass": 0.0})


def test_one_coefficient_only():
    with pytest.raises(
        InputError, match=r"R takes exactly one of damping, resistance, conductance, or a law; found none"
    ):
        R()
    with pytest.raises(InputError, match=r"found damping, resistance"):
        R(damping=1.0, resistance=2.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, "soft", None, [], object(), 1j])
def test_values_that_are_no_numbers(value):
    with pytest.raises(InputError, match=r"C"):
        C(stiffness=value)


def test_not_a_number_elsewhere():
    with pytest.raises(InputError, match=r"I\(initial\): expected a finite number; found nan"):
        I(mass=1.0, initial=math.nan)
    with pytest.raises(InputError, match=r"Se\(effort\): expected a finite number"):
        Se(effort=np.nan)
    with pytest.raises(InputError, match=r"initial.*not the symbolic x0"):
        I(mass=1.0, initial=sp.Symbol("x0"))
    with pytest.raises(InputError, match=r"R stores nothing"):
        R(damping=1.0, initial=1.0)
    with pytest.raises(InputError, match=r"expected an input's name as text; found 5 .*effort="):
        Se(5)


@pytest.mark.parametrize("size", [0, -1, 2.5, "2"])
def test_sizes(size):
    for kind in (
        lambda: I(mass=1.0, size=size),
        lambda: Se("F", size=size),
        lambda: SS(size=size),
        lambda: TF(2.0, size=size),
    ):
        with pytest.raises(InputError, match=r"\(size\): expected a whole number, at least 1"):
            kind()


@pytest.mark.parametrize("kind", [One, Zero, Port])
def test_zero_size_junctions_and_ports(kind):
    with pytest.raises(ModelError, match=r"must be at least 1; found 0"):
        kind(0)


def test_initial_values_of_the_wrong_length():
    with pytest.raises(InputError, match=r"I\(initial\): 3 values for size 2"):
        I(mass=1.0, size=2, initial=np.array([1.0, 2.0, 3.0]))
    with pytest.raises(InputError, match=r"I\(mass\): 2 values for size 3"):
        I(mass=[1.0, 2.0], size=3)


def test_a_name_used_twice():
    model = model_with(v=One())
    with pytest.raises(
        ModelError, match=r"the name 'v' is used twice in bad; choose another, or .* swap\('v', ...\)"
    ):
        model.v = One()
    with pytest.raises(ModelError, match=r"'v' is used twice"):
        model.v = [One(), One()]
    model.cells = [One(), One()]
    with pytest.raises(ModelError, match=r"'cells' is used twice"):
        model.cells = One()
    with pytest.raises(ModelError, match=r"v already has a name; a part can be assigned only once"):
        model.w = model.v


def test_reserved_and_impossible_names():
    model = Model("bad")
    for name in ("copy", "walk", "path", "size"):
        with pytest.raises(ModelError, match=rf"the name '{name}' is taken by Model.{name}; choose another"):
            setattr(model, name, One())
    with pytest.raises(ModelError, match=r"must be a Python identifier; found 'a.b'"):
        setattr(model, "a.b", One())
    assert list(model.walk()) == []


def test_an_input_name_used_twice():
    model = model_with(a=Se("F"), b=Se("F"), v=One())
    model.a >> model.v
    model.b >> model.v >> I(mass=1.0)
    with pytest.raises(
        ModelError, match=r"the input name 'F' is used twice, by a and b; give the sources different names"
    ):
        model.compile()


def test_a_symbol_with_the_name_of_an_input():
    model = model_with(a=Se("F"), v=One())
    model.a >> model.v >> [I(mass=sp.Symbol("F")), R(damping=1.0)]
    with pytest.raises(ModelError, match=r"'F' is used twice, for the input of a and for a symbol"):
        model.compile()


def test_an_input_with_the_name_of_a_variable():
    model = model_with(a=Se("I.momentum"), v=One())
    model.a >> model.v >> [I(mass=1.0), R(damping=1.0)]
    with pytest.raises(ModelError, match=r"input 'I.momentum' has the name of a variable"):
        model.compile()


def test_two_port_with_two_bonds_in():
    model = model_with(t=TF(modulus=2.0), v=One(), w=One())
    model.v >> model.t
    model.w >> model.t
    for j in (model.v, model.w):
        j >> R(damping=1.0)
    with pytest.raises(ModelError, match=r"t \(TF\): both its bonds point in; one must lead in and one out"):
        model.compile()


def test_two_port_with_one_bond():
    model = model_with(t=TF(modulus=2.0), v=One())
    model.v >> [model.t, R(damping=1.0)]
    with pytest.raises(ModelError, match=r"t \(TF\) has 1 bonds; it needs two bonds, one in and one out"):
        model.compile()


def test_detectors_on_the_wrong_junction():
    model = model_with(v=One(), d=De())
    model.v >> [R(damping=1.0), model.d]
    with pytest.raises(
        ModelError, match=r"d detects efforts, so it must be bonded from a 0-junction; found v \(1\)"
    ):
        model.compile()
    model = model_with(v=Zero(), d=Df())
    model.v >> [R(damping=1.0), model.d]
    with pytest.raises(
        ModelError, match=r"d detects flows, so it must be bonded from a 1-junction; found v \(0\)"
    ):
        model.compile()


def test_modulated_parts_need_signals():
    model = model_with(t=MTF(lambda q: q), v=One(), w=One())
    model.v >> model.t >> model.w
    for j in (model.v, model.w):
        j >> R(damping=1.0)
    with pytest.raises(ModelError, match=r"t \(MTF\) needs a signal; bond a detector to it"):
        model.compile()
    with pytest.raises(
        InputError, match=r"MTF\(modulus\): expected a function of its signals; found 2 .*use TF"
    ):
        MTF(2)


def test_signals_in_the_wrong_place():
    model = model_with(v=One(), d=Df(), t=TF(modulus=1.0), w=One())
    model.v >> model.t >> model.w
    model.v >> model.d >> model.t
    for j in (model.v, model.w):
        j >> R(damping=1.0)
    with pytest.raises(ModelError, match=r"t \(TF\) takes no signal; use its modulated form \(MTF\)"):
        model.compile()
    model = model_with(v=One(), i=SignalIntegrator())
    model.v >> [R(damping=1.0), model.i]
    with pytest.raises(ModelError, match=r"i takes signals; put a detector \(De, Df\) between v and it"):
        model.compile()
    model = model_with(v=One(), d=Df(), f=Function(lambda a, b: a * b))
    model.v >> [I(mass=1.0), model.d]
    model.d >> model.f
    with pytest.raises(ModelError, match=r"f: its function takes 2 signals, but 1 are bonded to it"):
        model.compile(outputs=["f"])
    model = model_with(v=One(), i=SignalIntegrator())
    model.v >> R(damping=1.0)
    with pytest.raises(ModelError, match=r"i .*nothing is bonded to it; it needs a signal"):
        model.compile()


def test_a_part_of_another_model():
    model, other = model_with(v=One()), model_with(w=One())
    model.v >> R(damping=1.0)
    model.v >> other.w
    with pytest.raises(ModelError, match=r"v is bonded to w, which is not part of this model; assign it"):
        model.compile()


def test_bonds_that_are_no_bonds():
    model = model_with(v=One(), cell=Cell())
    with pytest.raises(ModelError, match=r"v cannot be bonded to itself"):
        model.v >> model.v
    with pytest.raises(ModelError, match=r"a model cannot be bonded itself; bond one of its ports \(port\)"):
        model.v >> model.cell
    with pytest.raises(ModelError, match=r"cannot bond v to a float"):
        model.v >> 3.0
    with pytest.raises(ModelError, match=r"stroke must be 'head', 'tail' or None; found 'left'"):
        bond(model.v, One(), stroke="left")


def test_a_bond_through_ports_back_to_its_start():
    class Through(Model):
        def __init__(self):
            self.a, self.b = Port(), Port()
            self.a >> self.b

    model = model_with(v=One(), t=Through())
    model.v >> model.t.a
    model.t.b >> model.v
    model.v >> R(damping=1.0)
    with pytest.raises(ModelError, match=r"leads through ports back to v"):
        model.compile()


def test_empty_model():
    with pytest.raises(ModelError, match=r"the model empty has no elements"):
        Model("empty").compile()


def test_wrong_inverse_word():
    with pytest.raises(InputError, match=r"R: expected inverse='newton' or a function; found 'Newton'"):
        R(law=lambda f: f, inverse="Newton")


def test_a_field_of_both_kinds_needs_to_know_which_port_holds_momentum():
    with pytest.raises(InputError, match=r"ICField needs the names of the ports that hold momentum.*CField"):
        ICField(energy=lambda p, q: p**2 + q**2)


def test_what_a_storage_does_not_hold():
    model = model_with(spring=C(stiffness=1.0), mass=I(mass=1.0), v=One())
    model.v >> [model.spring, model.mass]
    with pytest.raises(ModelError, match=r"spring \(C\) has no momentum; .*use its displacement"):
        model.spring.momentum  # noqa: B018
    with pytest.raises(ModelError, match=r"mass \(I\) has no displacement; .*use its momentum"):
        model.mass.displacement  # noqa: B018
    with pytest.raises(ModelError, match=r"v \(1\) has no momentum; only an inertia \(I, IField\) has one$"):
        model.v.momentum  # noqa: B018
    assert not hasattr(model.spring, "momentum")
    assert not hasattr(model.spring, "colour")


def test_a_clutch_by_the_name_of_its_pressure():
    with pytest.raises(InputError, match=r"Clutch\(capacity\): expected a number.*lambda p: .*; found 'p'"):
        Clutch(capacity="p")
    assert Clutch(capacity="3 kN").parameters["capacity"] == 3000.0


def test_a_stop_that_starts_beyond_its_gap():
    with pytest.raises(InputError, match=r"Stop\(gap=-1\): it would start 1 beyond the gap"):
        Stop(gap=-1)
    with pytest.raises(InputError, match=r"0.002 beyond the gap"):
        Stop(gap="3 mm", initial="5 mm")
    assert Stop(gap=-1, initial=-2).start == -2.0  # a place, counted from anywhere
    assert Stop(gap=0.5, initial=0.5).start == 0.5


def test_a_junction_by_a_name():
    with pytest.raises(ModelError, match=r"size of a junction must be a whole number; found 'v'"):
        One("v")
    assert One(np.int64(3)).size == 3


def test_units_in_the_matrix_of_a_field():
    # A beam on two supports: N/m, N and N m side by side, all in SI.
    beam = CField(stiffness=[["12 kN/m", "6 kN"], ["6 kN", "4 kN m"]])
    assert beam.matrix.tolist() == [[12000.0, 6000.0], [6000.0, 4000.0]]
    assert IField([["2 t", 0], [0, "3 kg"]]).matrix.tolist() == [[2000.0, 0.0], [0.0, 3.0]]
    assert RField([["2 N/(mm/s)"]]).matrix.tolist() == [[2000.0]]
    k = sp.Symbol("k")
    assert CField([["2 kN/m", k], [k, 3]]).matrix[0, 1] == k
    with pytest.raises(
        InputError, match=r"the entry \[0, 1\], '6 kN/m', does not fit.*'12 kN/m' and '4 kN m'"
    ):
        CField([["12 kN/m", "6 kN/m"], ["6 kN/m", "4 kN m"]])
    with pytest.raises(InputError, match=r"IField\(mass\), entry \[0, 0\]: expected a quantity in kg"):
        IField([["2 m"]])
    with pytest.raises(InputError, match=r"CField\(stiffness\): expected a square matrix.*found '2 kN/m'"):
        CField("2 kN/m")
