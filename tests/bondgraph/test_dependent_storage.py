"""Derivative causality: storages that cannot move independently."""

import math

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from bondloop.bondgraph import GY, MC, TF, C, De, Df, I, Input, Model, MSe, MSf, One, R, Se, Sf, Zero, bond
from bondloop.errors import ModelError, SolveError


def pushed(*elements):
    model = Model("pushed")
    model.F, model.v = Se("F"), One()
    model.F >> model.v >> [*elements]
    return model


@pytest.mark.parametrize("masses", [(2.0, 3.0), (2.0, 3.0, 5.0)])
def test_rigidly_joined_masses_behave_as_their_sum(masses):
    # (m1 + m2 + ...) dv/dt = F - c v, so v/F = 1 / (m s + c) with the summed mass.
    system = pushed(*(I(mass=m) for m in masses), R(damping=0.5)).compile(outputs=["v.flow"])
    space, w = system.numeric(), 0.7
    assert space.poles() == pytest.approx([-0.5 / sum(masses)])
    assert space.frequency_response([w])[0, 0, 0] == pytest.approx(1 / (1j * w * sum(masses) + 0.5))
    v = system.simulate(3, {"F": 1.0})["v.flow"][-1]
    assert v == pytest.approx(2 * (1 - math.exp(-0.5 * 3 / sum(masses))), rel=1e-8)
    assert any("derivative causality: I2" in note for note in system.notes)


def test_symbolic_sum_of_masses():
    m1, m2, c = sp.symbols("m1 m2 c", positive=True)
    system = pushed(I(mass=m1), I(mass=m2), R(damping=c)).compile(outputs=["v.flow"])
    s = sp.Symbol("s")
    plain = {a: sp.Symbol(a.name) for a in (m1, m2, c)}
    expected = (1 / ((m1 + m2) * s + c)).subs(plain)
    assert sp.simplify(system.transfer_function("v.flow", "F") - expected) == 0


def test_the_force_inside_the_joint():
    # F = (m1 + m2) a: the second mass feels m2 a.
    system = pushed(I(mass=2.0), I(mass=3.0)).compile(outputs=["I.effort", "I2.effort"])
    assert system.numeric().D.toarray()[:, 0] == pytest.approx([2 / 5, 3 / 5])


def test_a_mass_behind_a_transformer_counts_with_the_square_of_the_modulus():
    # flow_out = n flow_in: kinetic energy m2 (n v)^2 / 2, so m1 + n^2 m2.
    model = Model("geared")
    model.F, model.v, model.w = Se("F"), One(), One()
    model.F >> model.v >> I(mass=2.0)
    model.v >> TF(modulus=3.0) >> model.w >> I(mass=0.5)
    space = model.compile(outputs=["v.flow"]).numeric()
    assert space.frequency_response([1.0])[0, 0, 0] == pytest.approx(1 / (1j * (2 + 9 * 0.5)))


def test_rigid_masses_with_nonlinear_friction():
    # (m1 + m2) dv/dt = F - 2 v^3 - v: integrated separately with SciPy.
    from scipy.integrate import solve_ivp

    system = pushed(I(mass=1.0), I(mass=0.5), R(law=lambda f: f + 2 * f**3)).compile(outputs=["v.flow"])
    run = system.simulate(2, {"F": lambda t: math.sin(3 * t)}, times=np.linspace(0, 2, 41))
    reference = solve_ivp(
        lambda t, v: (math.sin(3 * t) - v - 2 * v**3) / 1.5, (0, 2), [0.0], rtol=1e-10, atol=1e-13,
        t_eval=np.linspace(0, 2, 41),
    )  # fmt: skip
    assert run["v.flow"] == pytest.approx(reference.y[0], abs=1e-8)


def test_compliances_in_parallel_on_a_0_junction():
    # One effort, flows add: the compliances add, C = 1/2 + 1/3.
    model = Model("hydraulic")
    model.Q, model.p = Sf("Q"), Zero()
    model.Q >> model.p >> [C(stiffness=2.0), C(stiffness=3.0), R(conductance=0.1)]
    space = model.compile(outputs=["p.effort"]).numeric()
    w = 0.4
    assert space.frequency_response([w])[0, 0, 0] == pytest.approx(1 / (1j * w * 5 / 6 + 0.1), rel=1e-12)


def test_an_electric_inductance_through_a_gyrator_onto_a_spring_is_dependent():
    # GY turns an inertia into a compliance: e = r f, so p = L f = L e / r is bound to the spring's effort:
    # both store q with stiffness k and r^2/L, in parallel: k_total of the two compliances 1/k + L/r^2.
    model = Model("gyrated")
    model.Q, model.p, model.i = Sf("Q"), Zero(), One()
    model.Q >> model.p >> [C(stiffness=2.0), R(resistance=1.0)]
    model.p >> GY(ratio=4.0) >> model.i >> I(inductance=3.0)
    space = model.compile(outputs=["p.effort"]).numeric()
    w = 0.9
    expected = 1 / (1j * w * (1 / 2 + 3 / 16) + 1)
    assert space.frequency_response([w])[0, 0, 0] == pytest.approx(expected, rel=1e-12)


class TestDrivenByAFlowSource:
    def model(self):
        model = Model("driven")
        model.wall, model.v = Sf("r"), One()
        model.wall >> model.v >> [I(mass=2.0), R(damping=0.5)]
        return model

    def test_the_force_is_mass_times_the_rate_of_the_input(self):
        system = self.model().compile(outputs=["wall.effort"])
        assert any("rate of input r is needed" in note for note in system.notes)
        run = system.simulate(2, {"r": math.sin, "d/dt r": math.cos}, times=np.linspace(0, 2, 9))
        assert run["wall.effort"] == pytest.approx(2 * np.cos(run.time) + 0.5 * np.sin(run.time), rel=1e-12)

    def test_frequency_response_is_improper_and_explicit_refuses(self):
        space = self.model().compile(outputs=["wall.effort"]).numeric()
        assert space.frequency_response([3.0])[0, 0, 0] == pytest.approx(0.5 + 2j * 3.0)
        with pytest.raises(SolveError, match=r"'wall.effort' depends on the rate of input 'r'"):
            space.explicit()

    def test_a_missing_rate_is_asked_for(self):
        with pytest.raises(
            Exception, match=r"rate of input 'r' is needed; give it as a function under 'd/dt r'"
        ):
            self.model().compile().simulate(1, {"r": math.sin})

    def test_the_rate_of_interpolated_values_is_worked_out(self):
        run = self.model().compile(outputs=["wall.effort"]).simulate(1, {"r": ([0.0, 1.0], [0.0, 3.0])})
        assert run["wall.effort"][500] == pytest.approx(2 * 3 + 0.5 * 1.5)

    def test_explicit_with_a_proper_output(self):
        # The driven mass carries a second one on a spring: its velocity is a proper response to r, whose rate
        # does not matter. (m2 s^2 + k) x2 = k x1.
        model = self.model()
        model.s, model.v2 = Zero(), One()
        model.v >> model.s >> model.v2 >> I(mass=1.5)
        model.s >> C(stiffness=7.0)
        space = model.compile(outputs=["v2.flow"]).numeric()
        explicit = space.explicit()
        w = np.array([0.3, 1.1, 5.0])
        expected = 7 / (7 - 1.5 * w**2)
        assert space.frequency_response(w)[:, 0, 0] == pytest.approx(expected, rel=1e-12)
        assert explicit.frequency_response(w)[:, 0, 0] == pytest.approx(expected, rel=1e-12)

    def test_input_rate_in_the_state_equation_disappears_in_explicit_form(self):
        # Masses m1 (driven through a TF of modulus 1 by r over a rigid lever) is awkward to draw; a voltage
        # source on two capacitors in series with a resistor does the same: the current needs d/dt V. V = e1 +
        # e2, e1 = q/c1 is on a 1-junction with the source through C2 in derivative causality.
        model = Model("divider")
        model.V, model.top, model.mid = Se("V"), One(), Zero()
        model.V >> model.top >> model.mid
        model.top >> C(capacitance=2.0)
        model.mid >> [C(capacitance=3.0), R(resistance=5.0)]
        space = model.compile(outputs=["mid.effort"]).numeric()
        w = np.array([0.05, 0.4, 3.0])
        s = 1j * w
        below = 1 / (3 * s + 1 / 5)
        expected = below / (below + 1 / (2 * s))
        assert space.F.nnz > 0
        assert space.frequency_response(w)[:, 0, 0] == pytest.approx(expected, rel=1e-12)
        assert space.explicit().frequency_response(w)[:, 0, 0] == pytest.approx(expected, rel=1e-12)
        assert space.explicit().is_explicit


def test_a_loop_inside_a_dependent_chain():
    # A mass is bound through resistors that form a loop: flow of I2 = loop solution. Solved by hand:
    # source V, R1 in series, then R2 to ground and a GY to a spring-like dependent inertia.
    model = Model("mixed")
    model.F, model.v = Se("F"), One()
    model.F >> model.v >> [I(mass=2.0), R(damping=1.0)]
    model.a = Zero()
    model.v >> TF(modulus=2.0) >> (link := One())
    link >> [I(mass=0.25), R(damping=0.5)]
    link >> model.a >> R(damping=3.0)
    model.b = One()
    model.a >> model.b >> R(damping=6.0)
    # By hand: the link's flow is 2 v; R3 and R6 share it at a: equivalent 3*6/(3+6) = 2.
    # Referred to v: mass 2 + 4*0.25 = 3; damping 1 + 4*(0.5 + 2) = 11.
    system = model.compile(outputs=["v.flow"])
    assert any("algebraic loop" in note for note in system.notes)
    w = 1.3
    assert system.numeric().frequency_response([w])[0, 0, 0] == pytest.approx(1 / (3j * w + 11), rel=1e-12)


def test_badly_scaled_masses_are_not_called_singular():
    # A gram-sized rotor of a micro-machine beside a ship: inertia ratios of 1e18 are legal.
    model = Model("scales")
    for name, m1, m2 in (("small", 1e-12, 3e-12), ("large", 1e9, 3e9), ("steep", 1e-9, 1e9)):
        source, junction = Se(f"F_{name}"), One()
        setattr(model, f"F_{name}", source)
        setattr(model, name, junction)
        source >> junction >> [I(mass=m1), I(mass=m2)]
    space = model.compile(outputs=["small.flow", "large.flow", "steep.flow"]).numeric()
    expected = np.diag([1 / 4e-12, 1 / 4e9, 1 / (1e9 + 1e-9)]) / 1j
    assert space.frequency_response([1.0])[0] == pytest.approx(expected, rel=1e-12)


def test_an_initial_value_of_a_dependent_storage_is_refused():
    with pytest.raises(ModelError, match=r"I2 is in derivative causality.*set theirs instead"):
        pushed(I(mass=1.0), I(mass=1.0, initial=3.0)).compile()


def test_nonlinear_mass_in_derivative_causality():
    # flow = tanh(p): p = atanh(v), dp/dt = v'/(1 - v^2). With m v' + v'/(1 - v^2) = F.
    model = pushed(I(mass=1.0), I(law=sp.tanh))
    system = model.compile(outputs=["v.flow"])
    (rate,) = system.rates([0.5], [1.0], [], list(system.values().values()))
    assert rate == pytest.approx(1.0 / (1 + 1 / (1 - 0.25)))


def test_a_detector_is_an_output_by_default():
    model = pushed(I(mass=1.0))
    model.speed = Df()
    model.v >> model.speed
    assert model.compile().outputs == ("speed",)


def test_an_imposed_stroke_makes_the_other_storage_the_state():
    model = Model("imposed")
    model.F, model.v, model.first, model.second = Se("F"), One(), I(mass=2.0), I(mass=3.0)
    model.F >> model.v >> model.first
    bond(model.v, model.second, stroke="head")
    assert model.compile().states == ("second.momentum",)


def test_a_modulated_spring_in_derivative_causality():
    # V = k (q - s), so q = V/k + s and the flow is V'/k + s'.
    model = Model("driven")
    model.V, model.v, model.s = Se("V"), One(), Input("s")
    model.spring = MC(lambda q, s: 4.0 * (q - s))
    model.V >> model.v >> model.spring
    model.s >> model.spring
    system = model.compile(outputs=["v.flow", "spring.displacement"])
    values, rates = {"V": 3.0, "s": 0.5}, {"V": 0.7, "s": 0.2}
    u, du = [values[name] for name in system.inputs], [rates[u.name] for u in system.input_rates]
    ours = system.function(list(system.output_exprs.values()))([], u, du, [])
    assert ours == pytest.approx([0.7 / 4 + 0.2, 3.0 / 4 + 0.5])


def test_a_modulated_spring_that_turns_back_has_no_inverse():
    model = Model("driven")
    model.V, model.v, model.s = Se("V"), One(), Input("s")
    model.spring = MC(lambda q, s: q**3 - s * q)
    model.V >> model.v >> model.spring
    model.s >> model.spring
    with pytest.raises(ModelError, match=r"spring \(MC\) is forced into derivative causality.*no inverse"):
        model.compile()


def test_a_storage_that_follows_its_own_rate_is_a_state():
    # F = k (q - b q'): the effort is imposed, and the spring reads its own flow. q' = (q - F/k) / b.
    model = Model("own")
    model.F, model.v, model.speed = Se("F"), One(), Df()
    model.spring = MC(lambda q, f: 4.0 * (q - 0.5 * f))
    model.F >> model.v >> model.spring
    model.v >> model.speed >> model.spring
    system = model.compile()
    assert system.states == ("spring.displacement",)
    assert system.dependent == ()
    assert system.rates([3.0], [2.0], [], list(system.values().values())) == pytest.approx(
        [(3 - 2 / 4) / 0.5]
    )
    assert system.numeric().poles() == pytest.approx([2.0])


def test_a_second_rate_of_an_input_is_asked_for_by_no_one():
    # q1 = V / k is imposed, a source gives 2 q1' to a second spring: its flow would be V'' 2 / k^2.
    model = Model("twice")
    model.V, model.v, model.w, model.speed, model.push = Se("V"), One(), One(), Df(), MSe(lambda f: 2 * f)
    model.V >> model.v >> C(stiffness=3.0)
    model.v >> model.speed >> model.push >> model.w >> C(stiffness=3.0)
    with pytest.raises(
        SolveError, match=r"^C2\.displacement follow from the rates of other.*index above one"
    ):
        model.compile()


@pytest.mark.parametrize("ratio", [1.0, 0.6])
@pytest.mark.parametrize("cubic", [0.0, 0.2])
def test_masses_that_a_source_moves_by_their_own_effort(ratio, cubic):
    # At the source v / ratio = -(g e + cubic e^3), at the masses e / ratio = (m1 + m2) v' + r v: one state,
    # though either momentum follows from its own rate.
    g, m1, m2, r = 0.7, 1.2, 0.5, 0.3
    model = Model("driven by its effort")
    model.z, model.e, model.v, model.n = Zero(), De(), One(), TF(modulus=ratio)
    model.source = MSf(lambda e: -(g * e + cubic * e**3))
    model.z >> model.e >> model.source
    model.source >> model.z >> model.n >> model.v
    model.v >> [I(mass=m1), I(mass=m2), R(damping=r)]
    system = model.compile(outputs=["v.flow"])
    assert system.states == ("I.momentum",)

    def rate(_t, z):
        v = z[0] / ratio
        e = brentq(lambda e: g * e + cubic * e**3 + v, -1e3, 1e3, xtol=1e-14)
        return [(e / ratio - r * z[0]) / (m1 + m2)]

    times = np.linspace(0, 1, 11)
    run = system.simulate(1.0, initial={"I.momentum": 2.0 * m1}, times=times, rtol=1e-11, atol=1e-13)
    hand = solve_ivp(rate, (0, 1), [2.0], method="DOP853", t_eval=times, rtol=1e-11, atol=1e-13)
    assert run["v.flow"] == pytest.approx(hand.y[0], rel=1e-8)
