"""Ranges of parameters: what they hold, how they are told, and that they travel with the parameter."""

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.bondgraph import MC, TF, C, Function, I, IField, Input, Model, One, R, Se, bond
from bondloop.engine.data import Described, Parameter, kinds
from bondloop.engine.data.ranges import FINITE, NOT_NEGATIVE, NOT_ZERO, POSITIVE, Range
from bondloop.engine.passes.compose import connect, prefixed, with_values
from bondloop.errors import InputError, ModelError

BOUND = st.none() | st.floats(-10, 10)


@given(BOUND, BOUND, BOUND, BOUND, st.booleans(), st.floats(-20, 20))
def test_a_range_holds_what_its_bounds_allow(least, most, above, below, nonzero, x):
    within = Range(least, most, above, below, nonzero)
    expected = not (
        (least is not None and x < least)
        or (most is not None and x > most)
        or (above is not None and x <= above)
        or (below is not None and x >= below)
        or (nonzero and x == 0)
    )
    assert (x in within) == expected
    assert (x in (within & POSITIVE)) == (expected and x > 0)
    assert Range(**within.describe()) == within


@pytest.mark.parametrize("within", [FINITE, POSITIVE, NOT_NEGATIVE, NOT_ZERO])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "1e400", "nan", "many", None, 10**400])
def test_no_range_holds_what_is_no_finite_number(within, value):
    with pytest.raises(InputError, match=r"^m\.mass: .*(expected a|too large)"):
        within.check(value, "m.mass")


def test_ranges_are_told_in_words():
    words = [str(r) for r in (FINITE, POSITIVE, NOT_ZERO, POSITIVE & NOT_ZERO, Range(least=0, most=1))]
    assert words == [
        "a finite number",
        "a number above 0",
        "a number other than 0",
        "a number above 0",
        "a number at least 0 and at most 1",
    ]


def a_model(**options):
    m = Model("m")
    m.force, m.v, m.lever, m.w = Se("F"), One(), TF(modulus=2.0), One()
    m.mass, m.spring, m.damper = I(mass=3.0), C(compliance=1e-3), R(damping=-1.0)
    m.stop = C(lambda x, k, gap: k * x + gap, ranges={"gap": NOT_NEGATIVE}, k=1.0, gap=0.0)
    m.force >> m.v >> [m.mass, m.spring, m.damper, m.stop]
    m.v >> m.lever >> m.w >> R(conductance=1.0, **options)
    return m


REFUSED = {
    "mass.mass": [0.0, -800.0],
    "spring.compliance": [0.0],
    "lever.modulus": [0.0],
    "stop.gap": [-1.0],
    "R.conductance": [0.0],
}
ALLOWED = {
    "mass.mass": [1e-9],
    "spring.compliance": [-1.0],
    "lever.modulus": [-1.0],
    "stop.gap": [0.0],
    "stop.k": [0.0, -1.0],
    "damper.damping": [0.0, -1.0],
    "R.conductance": [-1.0],
}


@pytest.mark.parametrize("path", ALLOWED)
def test_a_range_travels_from_the_element_to_every_system_made_of_it(path):
    system = a_model().compile()
    whole = connect("whole", [prefixed(system, "rig.")], {}, {})
    for good in ALLOWED[path]:
        assert with_values(whole, {f"rig.{path}": good}).parameters[f"rig.{path}"] == good
        system.values({path: good})
    for bad in REFUSED.get(path, []):
        with pytest.raises(InputError, match=rf"^rig\.{path}: expected a number .*; found {bad:g}$"):
            with_values(whole, {f"rig.{path}": bad})
        with pytest.raises(InputError, match=rf"^{path}: expected a number .*; found {bad:g}$"):
            system.numeric({path: bad})


def test_a_narrower_range_may_be_asked_of_a_coefficient():
    system = a_model(ranges={"conductance": POSITIVE}).compile()
    with pytest.raises(InputError, match=r"R\.conductance: expected a number above 0; found -1"):
        system.values({"R.conductance": -1.0})
    for wrong in (
        lambda: R(damping=-1, ranges={"damping": NOT_NEGATIVE}),
        lambda: C(stiffness=[1, -1], ranges={"stiffness": POSITIVE}),
        lambda: TF(modulus=-1, ranges={"modulus": POSITIVE}),
        lambda: MC(lambda q, x, k: k * (q - x), k=-1, ranges={"k": POSITIVE}),
        lambda: Function(lambda x, k: k * x, k=-1, ranges={"k": POSITIVE}),
    ):
        with pytest.raises(InputError, match=r"expected a number .* 0; found -1"):
            wrong()
    with pytest.raises(InputError, match=r"unknown parameter 'dampin' of R\(ranges\)"):
        R(damping=1, ranges={"dampin": POSITIVE})


def test_parameters_of_functions_and_fields_have_ranges():
    m = Model("m")
    m.x, m.scaled, m.v = Input("x"), Function(lambda x, k: x / k, k=2.0, ranges={"k": NOT_ZERO}), One(size=2)
    m.spring = MC(lambda q, x, k: k * (q - x), k=1.0, ranges={"k": POSITIVE})
    m.field = IField([[2.0, 1.0], [1.0, 3.0]])
    m.x >> m.scaled >> m.spring
    bond(m.v[0], m.spring)
    m.v >> m.field
    system = m.compile()
    system.values({"field.mass[0,1]": -1.0})
    for path, value in (("scaled.k", 0), ("spring.k", -1), ("field.mass[1,1]", 0)):
        with pytest.raises(InputError, match=r"expected a number (above|other than) 0"):
            system.values({path: value})


def test_a_symbol_obeys_every_element_that_uses_it():
    import sympy as sp

    k = sp.Symbol("k")

    def model(value):
        m = Model("m")
        m.v = One()
        m.v >> [I(mass=k), C(stiffness=k)]
        return m.let(k=value)

    with pytest.raises(InputError, match=r"I\.mass: expected a number above 0; found k = -2"):
        model(-2).compile()
    with pytest.raises(InputError, match=r"^k: expected a number above 0; found 0"):
        model(2).compile().values({"k": 0})


@pytest.mark.parametrize("text", ["1e400", "1e300 Mm^9", "1 km^999"])
def test_a_text_too_large_for_a_number_is_refused(text):
    with pytest.raises(InputError, match=r"TF\(modulus\): expected a finite number; '.*' is too large"):
        TF(modulus=text)
    with pytest.raises(InputError, match=r"I\(mass\): expected a finite number; '1e308 t' is too large"):
        I(mass="1e308 t")


def test_the_base_of_a_family_has_no_description_of_its_own(monkeypatch):
    monkeypatch.setitem(kinds.FAMILIES, "motor_of_this_test", kinds.Family())  # gone after the test
    monkeypatch.setitem(kinds._WORDS, "MotorOfThisTest", "motor_of_this_test")

    @dataclass(frozen=True)
    class MotorOfThisTest(Described, family="motor_of_this_test"):
        current: Parameter = Parameter(1.0, unit="A")  # noqa: RUF009 - a descriptor

    with pytest.raises(ModelError, match=r"is the base of the family .*class MotorOfThisTest\(_Base\)"):
        MotorOfThisTest().describe()
