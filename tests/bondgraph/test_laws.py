"""Laws as functions, in either causality."""

import inspect
import math
import subprocess
import sys

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

from bondloop.bondgraph import MC, C, I, Input, Model, MSe, One, R, Se, Sf, Zero
from bondloop.errors import InputError, ModelError, SolveError


def flow_of(element, effort, **options):
    """Flow of a resistor on an effort source: its law in the inverse causality."""
    model = Model("inverse")
    model.V, model.r = Se("V"), element
    model.V >> model.r
    system = model.compile(outputs=["r.flow"], **options)
    return system.function([system.output_exprs["r.flow"]])([], [effort], [], list(system.values().values()))[
        0
    ]


LAWS = {
    "tanh": (lambda f: 10 * sp.tanh(f / 0.01), lambda f: 10 * math.tanh(f / 0.01), [-9.99, -1e-6, 0.0, 3.0]),
    "cubic": (lambda f: f**3, lambda f: f**3, [-27.0, -1e-9, 0.0, 8.0]),
    "linear and cubic": (lambda f: f + f**3, lambda f: f + f**3, [-10.0, -1e-12, 0.0, 1e-12, 3.0, 1e6]),
    "shifted cubic": (lambda f: (f + 1) ** 3 + f, lambda f: (f + 1) ** 3 + f, [-10.0, 2.0, 7.0]),
    "quadratic": (lambda f: 3 * f * sp.Abs(f), lambda f: 3 * f * abs(f), [-12.0, -1e-8, 0.0, 27.0]),
    "linear and quadratic": (
        lambda f: f + 3 * f * sp.Abs(f),
        lambda f: f + 3 * f * abs(f),
        [-4.0, -1e-12, 1e-12, 14.0],
    ),
    "exponential": (lambda f: sp.exp(f) - 1, lambda f: math.exp(f) - 1, [-0.9, 0.0, 5.0]),
    "sinh": (lambda f: sp.sinh(2 * f), lambda f: math.sinh(2 * f), [-5.0, 1e-9, 30.0]),
    "saturation": (lambda f: f / (1 + sp.Abs(f)), lambda f: f / (1 + abs(f)), [-0.9, 1e-10, 0.5]),
    "two slopes": (
        lambda f: sp.Piecewise((f, f < 0), (2 * f, True)),
        lambda f: f if f < 0 else 2 * f,
        [-3.0, 0.0, 4.0],
    ),
    "root": (
        lambda f: sp.sign(f) * sp.sqrt(sp.Abs(f)),
        lambda f: math.copysign(math.sqrt(abs(f)), f),
        [-2.0, 0.5],
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_inverse_found_symbolically_against_a_root_finder(name):
    law, function, efforts = LAWS[name]
    for effort in efforts:
        scale = 10 * (1 + abs(effort))
        # brentq is relative to the bracket; the law is monotonic, so widen until the root lies inside.
        expected = (
            0.0
            if function(0.0) == effort
            else brentq(
                lambda f, e=effort: function(f) - e,
                -scale if name != "exponential" else -30,
                min(scale, 100),
                xtol=1e-300,
                rtol=1e-14,
            )
        )
        assert flow_of(R(law=law), effort) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_inverse_with_parameters_found_by_their_values():
    assert flow_of(R(law=lambda f, a: a * f * sp.Abs(f), a=3.0), -12.0) == pytest.approx(-2.0)
    # A parameter may be called x, like the argument inside.
    assert flow_of(R(law=lambda f, x: x * f, x=4.0), 2.0) == 0.5


def test_a_free_symbol_in_a_law_is_a_parameter_of_the_model():
    k3 = sp.Symbol("k3")
    model = Model("symbolic")
    model.V = Se("V")
    model.V >> R(law=lambda f: k3 * f)
    system = model.let(k3="5 Ohm").compile(outputs=["R.flow"])
    assert system.parameters == {"k3": 5.0}
    assert system.numeric().D[0, 0] == 0.2


def test_given_inverse_is_used():
    # A wrong inverse on purpose shows that the given one is taken.
    assert flow_of(R(law=lambda f: 2 * f, inverse=lambda e: 7 * e), 1.0) == 7.0


def test_an_inverse_alone_is_enough_in_both_causalities():
    assert flow_of(R(inverse=lambda e: e**3), 2.0) == 8.0
    model = Model("forward")
    model.J = Sf("J")
    model.J >> R(inverse=lambda e: e**3)
    system = model.compile(outputs=["R.effort"])
    assert system.function([system.output_exprs["R.effort"]])([], [-8.0], [], []) == pytest.approx([-2.0])


def test_inverse_by_newton():
    # f + sin(f)/2 is monotonic, but has no closed inverse.
    element = R(law=lambda f: f + sp.sin(f) / 2, inverse="newton")
    for effort in (-2.5, -0.3, 0.0, 1.7):
        expected = brentq(lambda f, e=effort: f + math.sin(f) / 2 - e, -10, 10, xtol=1e-14)
        found = flow_of(R(law=element.law.law, inverse="newton"), effort, iterations=20)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_newton_that_fails_is_an_error():
    # x^2 + 1 = 0 has no real solution.
    with pytest.raises(SolveError, match=r"r\.flow|domain|converge|singular"):
        flow_of(R(law=lambda f: f + f**2 + 1, inverse="newton"), 0.0)


@pytest.mark.parametrize(
    "law",
    [
        lambda f: f**2,
        lambda f: -f + f**3,  # the double well of Gawthrop 2005
        lambda f: f**3 - 1e-4 * f,  # falls only within 0.006 of zero: too narrow for a few probes
        lambda f: f + sp.sin(f) * 2,
        lambda f: 0 * f + 3,
    ],
)
def test_no_inverse(law):
    with pytest.raises(ModelError, match=r"^r: its law .* has no single inverse.*give inverse="):
        flow_of(R(law=law), 1.0)


def test_select_and_piecewise_laws():
    # A spring with backlash of 1 either way, stiffness 2 outside.
    def backlash(q):
        return sp.Piecewise((2 * (q - 1), q > 1), (2 * (q + 1), q < -1), (0, True))

    model = Model("backlash")
    model.v = One()
    model.v >> [I(mass=1.0), C(law=backlash)]
    system = model.compile(outputs=["C.effort"])
    f = system.function([system.output_exprs["C.effort"]])
    for q, e in ((-3.0, -4.0), (-1.0, 0.0), (0.5, 0.0), (2.0, 2.0)):
        assert f([0.0, q], [], [], list(system.values().values())) == [e]
    assert system.linearise({"C.displacement": 2.0}).A.toarray()[0, 1] == -2.0
    assert system.linearise({"C.displacement": 0.5}).A.toarray()[0, 1] == 0.0


def test_a_piecewise_that_covers_only_part_of_the_line():
    model = Model("partial")
    model.J = Sf("J")
    model.J >> R(law=lambda f: sp.Piecewise((f, f > 0)))
    with pytest.raises(InputError, match=r"^R: the Piecewise law covers only part.*\(value, True\)"):
        model.compile()


def test_a_fractional_power_of_a_negative_number_is_an_error_not_a_complex_number():
    model = Model("power")
    model.J = Sf("J")
    model.J >> R(law=lambda f: f ** sp.Rational(3, 4))
    system = model.compile(outputs=["R.effort"])
    f = system.function([system.output_exprs["R.effort"]])
    assert f([], [16.0], [], []) == pytest.approx([8.0])
    with pytest.raises(SolveError, match=r"J\*\*0\.75|R\.effort"):
        f([], [-16.0], [], [])


def test_negative_base_with_a_whole_exponent():
    model = Model("power")
    model.J = Sf("J")
    model.J >> R(law=lambda f: f**3)
    system = model.compile(outputs=["R.effort"])
    assert system.function([system.output_exprs["R.effort"]])([], [-2.0], [], []) == [-8.0]


def test_a_law_written_with_math_is_explained():
    model = Model("math")
    model.J = Sf("J")
    model.J >> R(law=math.sin)
    with pytest.raises(ModelError, match=r"^R: its law cannot be written as a formula.*SymPy"):
        model.compile()


def test_a_law_that_is_not_finite():
    model = Model("infinite")
    model.J = Sf("J")
    model.J >> R(law=lambda f: f + sp.oo)
    with pytest.raises(InputError, match=r"not a finite real number"):
        model.compile()


def test_nonlinear_inertia_and_compliance_simulate():
    # H = p^2/2 + q^4/4: energy is conserved along the motion.
    model = Model("duffing")
    model.v = One()
    model.v >> [I(mass=1.0), C(law=lambda q: q**3, initial=1.0)]
    run = model.compile().simulate(10)
    energy = run["I.momentum"] ** 2 / 2 + run["C.displacement"] ** 4 / 4
    assert energy == pytest.approx(np.full(len(run.time), 0.25), rel=1e-7)


def test_hydraulic_orifice_in_both_causalities():
    # q = K sqrt(p): in flow causality given by the inverse, in effort causality by the law p = (q/K) |q/K|.
    orifice = {"law": lambda q, K: q * sp.Abs(q) / K**2, "K": 2.0}
    assert flow_of(R(**orifice), 9.0) == pytest.approx(6.0)
    model = Model("tank")
    model.p = Zero()
    model.p >> [C(capacitance=1.0, initial=9.0), R(**orifice)]
    # dq/dt = -K sqrt(q): sqrt(q) falls linearly, from 3 to 3 - K t / 2.
    run = model.compile().simulate(2)
    assert run["C.displacement"][-1] == pytest.approx((3 - 2.0) ** 2, rel=1e-6)


@pytest.mark.parametrize(
    "law", [lambda x: x + sp.tanh(x), lambda x: 0.3 * x + sp.sinh(x), lambda x: x + x / sp.sqrt(1 + x**2)]
)
@pytest.mark.parametrize("effort", [-3.0, 0.0, 0.01, 8.0])
def test_a_law_that_rises_has_an_inverse_without_a_formula(law, effort):
    assert law(sp.Float(flow_of(R(law=law), effort))) == pytest.approx(effort, rel=1e-9, abs=1e-12)
    # The other way round: the law gives the flow, the causality asks for the effort.
    model = Model("imposed")
    model.J = Sf("J")
    model.J >> R(inverse=law)
    system = model.compile(outputs=["R.effort"])
    (found,) = system.function(list(system.output_exprs.values()))([], [effort], [], [])
    assert law(sp.Float(found)) == pytest.approx(effort, rel=1e-9, abs=1e-12)


PLAIN = [
    (lambda a, k: k * a, lambda b, a, k: k * (b - a)),
    (lambda x, k: -k * x, lambda u, x, k: k * (x - u)),
    (lambda z, k: -0.1 * z * k, lambda b, a, k: b * a - k * b),
    (lambda z, k: -(z - k), lambda b, a, k: (-a) * (k - b)),
    (lambda z, k: -z - k, lambda c, a, k: -a * c * k + a - c),
    (lambda z, k: sp.Rational(1, 3) * z * k, lambda b, a, k: -(k * (b - a))),
    (lambda z, k: 3 * z - k, lambda b, a, k: k * b - a * b),
]


@pytest.mark.parametrize(("source", "spring"), PLAIN)
def test_a_law_of_products_and_differences_is_the_one_that_sympy_would_write(source, spring):
    def through_sympy(law):
        def wrapped(*args, **parameters):
            return law(*map(sp.sympify, args), **parameters)

        wrapped.__signature__ = inspect.signature(law)
        return wrapped

    def equations(source, spring):
        m = Model("moved")
        m.v, m.command, m.push, m.spring = One(), Input("u"), MSe(source, k=2.0), MC(spring, k=3.0)
        m.command >> m.push >> m.v >> [m.spring, I(mass=2.0)]
        m.command >> m.spring
        return [(v.name, str(e)) for v, e in m.compile().definitions.items()]

    assert equations(source, spring) == equations(through_sympy(source), through_sympy(spring))


def test_a_simple_law_needs_no_sympy():
    script = (
        "import sys; from bondloop.transfer import MassSpringDamper; "
        "from bondloop.bondgraph import Se, bond; "
        "m = MassSpringDamper(1.0, 2.0, 3.0, drive='position'); m.end = Se('F'); bond(m.end, m.v); "
        "m.compile(); print('sympy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
