"""Linear readings: matrices, poles, zeros, responses, round trips."""

import math
import re

import numpy as np
import pytest
import sympy as sp
from scipy import linalg

from bondloop.bondgraph import C, I, Model, One, R, Se, Sf, Zero
from bondloop.engine import System, system_from_matrices
from bondloop.errors import InputError, SolveError


def oscillator(m=2.0, c=0.4, k=8.0, **options):
    model = Model("oscillator")
    model.force, model.v = Se("F"), One()
    model.force >> model.v >> [I(mass=m, **options), C(stiffness=k), R(damping=c)]
    return model


def two_mass():
    model = Model("two_mass")
    model.F, model.v1, model.s, model.v2 = Se("F"), One(), Zero(), One()
    model.F >> model.v1 >> [I(mass=1.0), R(damping=0.1)]
    model.v1 >> model.s >> model.v2 >> [I(mass=2.0), R(damping=0.3)]
    model.s >> C(stiffness=5.0)
    return model


def test_poles_in_closed_form():
    # m s^2 + c s + k = 0.
    m, c, k = 2.0, 0.4, 8.0
    expected = -c / (2 * m) + 1j * math.sqrt(k / m - (c / (2 * m)) ** 2) * np.array([-1, 1])
    assert oscillator(m, c, k).compile().poles() == pytest.approx(expected, rel=1e-12)


def test_symbolic_transfer_function():
    m, c, k, s = sp.symbols("m c k s")
    system = oscillator(m, c, k).compile(outputs=["v.flow"])
    assert sp.simplify(system.transfer_function("v.flow", "F") - s / (m * s**2 + c * s + k)) == 0
    with pytest.raises(InputError, match=r"unknown output 'v.flw'.*did you mean 'v.flow'"):
        system.transfer_function("v.flw", "F")
    with pytest.raises(InputError, match=r"unknown input 'G'"):
        system.transfer_function("v.flow", "G")


@pytest.mark.parametrize("output", ["v1.flow", "v2.flow", "C.effort"])
def test_three_forms_of_a_transfer_function_agree(output):
    system = two_mass().compile(outputs=[output])
    space, s = system.numeric(), sp.Symbol("s")
    symbolic = sp.lambdify(s, system.transfer_function(output, "F").subs(system.parameters))
    numerator, denominator = space.transfer_function(output, "F")
    w = np.array([0.01, 0.7, 2.9, 40.0])
    response = space.frequency_response(w)[:, 0, 0]
    assert np.array([symbolic(1j * x) for x in w]) == pytest.approx(response, rel=1e-10)
    assert np.polyval(numerator, 1j * w) / np.polyval(denominator, 1j * w) == pytest.approx(
        response, rel=1e-9
    )


def test_zeros():
    # Driving point of two masses: the zeros are the second mass on its spring, m2 s^2 + c2 s + k = 0; the
    # transfer to the far mass has none.
    space = two_mass().compile(outputs=["v1.flow", "v2.flow"]).numeric()
    expected = np.roots([2.0, 0.3, 5.0])
    assert np.sort_complex(space.zeros("v1.flow", "F")) == pytest.approx(np.sort_complex(expected), rel=1e-9)
    assert len(space.zeros("v2.flow", "F")) == 0
    with pytest.raises(InputError, match=r"as many outputs as inputs"):
        space.zeros()


@pytest.mark.parametrize("stiffness", [1.0, 1e6])
def test_no_spurious_zeros_far_down_a_chain(stiffness):
    # Six masses, force on the first, velocity of the last: relative degree 11, no finite zero. A plain
    # generalised eigenvalue problem returns large wrong ones here.
    n = 6
    model = Model("chain")
    model.F, model.v = Se("F"), [One() for _ in range(n)]
    model.F >> model.v[0]
    for i, v in enumerate(model.v):
        v >> [I(mass=1.0), R(damping=0.05)]
        if i:
            spring = Zero()
            model.v[i - 1] >> spring >> v
            spring >> C(stiffness=stiffness)
    space = model.compile(outputs=[f"v[{n - 1}].flow", "v[0].flow"]).numeric()
    assert len(space.zeros(f"v[{n - 1}].flow", "F")) == 0
    # And of the driving point: the poles of the chain with the first mass held.
    zeros = space.zeros("v[0].flow", "F")
    assert len(zeros) == 2 * (n - 1)
    K = np.diag([2.0] * (n - 2) + [1.0]) - np.eye(n - 1, k=1) - np.eye(n - 1, k=-1)
    expected = np.concatenate([np.roots([1, 0.05, stiffness * x]) for x in np.linalg.eigvalsh(K)])
    for zero in expected:
        assert np.abs(zeros - zero).min() < 1e-6 * abs(zero)


def test_zeros_of_a_square_system_with_feedthrough():
    # zeros of D + C (s - A)^-1 B: s such that det [[A - s, B], [C, D]] = 0, here s = a - b c / d by hand.
    space = system_from_matrices([[-1.0]], [[2.0]], [[3.0]], [[4.0]]).numeric()
    assert space.zeros() == pytest.approx([-1 - 2 * 3 / 4])


def test_zeros_of_a_degenerate_system():
    # (s + 3)/(s + 1) in the first channel; the second input does nothing and the second output shows nothing.
    # The rank of the pencil drops at s = -3 all the same.
    space = system_from_matrices([[-1.0]], [[1.0, 0.0]], [[2.0], [0.0]], [[1.0, 0.0], [0.0, 0.0]]).numeric()
    assert space.zeros() == pytest.approx([-3.0])


def test_round_trip_through_python_control():
    control = pytest.importorskip("control")
    system = two_mass().compile(outputs=["v1.flow", "v2.flow"])
    plant = system.to_control()
    assert plant.state_labels == list(system.states)
    assert (plant.input_labels, plant.output_labels) == (["F"], ["v1_flow", "v2_flow"])
    assert plant.dt == 0
    back = System.from_control(plant, name="again")
    assert (back.states, back.inputs, back.outputs) == (system.states, system.inputs, system.outputs)
    w = np.array([0.3, 1.0, 4.0])
    expected = system.frequency_response(w)
    assert back.frequency_response(w) == pytest.approx(expected, rel=1e-12)
    assert np.moveaxis(plant(1j * w, squeeze=False), 2, 0) == pytest.approx(expected, rel=1e-10)
    with pytest.raises(InputError, match=r"continuous-time system \(dt = 0\), found dt = 0.01"):
        System.from_control(control.ss([[0.5]], [[1]], [[1]], [[0]], 0.01))
    of_transfer = System.from_control(control.tf([1.0], [1.0, 2.0]))
    assert of_transfer.poles() == pytest.approx([-2.0])


def test_to_scipy():
    system = two_mass().compile(outputs=["v2.flow"])
    plant = system.to_scipy()
    response = plant.C @ np.linalg.solve(0.7j * np.eye(3) - plant.A, plant.B) + plant.D
    assert response == pytest.approx(system.frequency_response([0.7])[0])


def test_state_space_to_system_and_back():
    space = two_mass().compile(outputs=["v2.flow"]).numeric()
    again = System.from_state_space(space, "again").numeric()
    assert again.A.toarray() == pytest.approx(space.A.toarray())
    assert again.states == space.states


def test_shapes_that_do_not_fit():
    with pytest.raises(InputError, match=r"plant: the shapes A \(1, 1\), B \(2, 1\)"):
        system_from_matrices([[1.0]], [[1.0], [2.0]], [[1.0]], [[0.0]], name="plant")


def test_large_models_use_sparse_responses():
    # Above 200 states the response is solved with sparse matrices: compare with the dense formula.
    n = 120
    model = Model("long")
    model.wall, left = Sf("r"), None
    model.v = [One() for _ in range(n)]
    for i, v in enumerate(model.v):
        s = Zero()
        (model.wall if left is None else left) >> s >> v
        s >> C(stiffness=10.0 + i)
        v >> [I(mass=1.0), R(damping=0.3)]
        left = v
    space = model.compile(outputs=["v[0].flow"]).numeric()
    A, B, C_ = space.A.toarray(), space.B.toarray(), space.C.toarray()
    expected = C_ @ np.linalg.solve(2j * np.eye(2 * n) - A, B)
    assert space.frequency_response([2.0])[0] == pytest.approx(expected, rel=1e-9)


def test_a_response_at_a_pole_is_an_error_not_infinity():
    model = oscillator(c=0.0)
    with pytest.raises(SolveError, match=r"at 2 rad/s is infinite: a pole lies there"):
        model.compile(outputs=["v.flow"]).frequency_response([2.0])


def test_linearise_against_finite_differences():
    model = Model("nonlinear")
    model.F, model.v = Se("F"), One()
    model.F >> model.v >> [I(mass=2.0), C(law=lambda q: q + q**3), R(law=lambda f: sp.tanh(3 * f))]
    system = model.compile(outputs=["C.effort", "R.effort"])
    x, u, p = np.array([0.4, -0.7]), np.array([0.3]), list(system.values().values())
    space = system.linearise(x, u)
    goals = [*system.rate_exprs, *system.output_exprs.values()]
    f = system.function(goals)

    def value(z):
        return np.array(f(z[:2].tolist(), z[2:].tolist(), [], p))

    h, z = 1e-6, np.concatenate([x, u])
    slopes = np.column_stack([(value(z + h * e) - value(z - h * e)) / (2 * h) for e in np.eye(3)])
    found = np.block([[space.A.toarray(), space.B.toarray()], [space.C.toarray(), space.D.toarray()]])
    assert found == pytest.approx(slopes, rel=1e-8, abs=1e-9)
    # The same, symbolically.
    names = dict(zip([*system.states, *system.inputs], z, strict=True)) | system.parameters
    assert np.array(system.A.subs(names), dtype=float) == pytest.approx(space.A.toarray(), rel=1e-12)


def test_linearise_with_a_nonlinear_loop_and_dependent_storage():
    model = Model("mixed")
    model.F, model.v, model.b = Se("F"), One(), Zero()
    model.F >> model.v >> [I(mass=1.0), I(mass=0.5)]
    model.v >> model.b
    model.b >> R(law=lambda f: f + f**3)
    model.w = One()
    model.b >> model.w >> [R(damping=2.0), C(stiffness=3.0)]
    system = model.compile(outputs=["w.flow"], iterations=30)
    x, u, p = np.array([0.8, 0.3]), np.array([1.2]), list(system.values().values())
    space = system.linearise(x, u)
    explicit = np.linalg.solve(space.E.toarray(), np.hstack([space.A.toarray(), space.B.toarray()]))

    def rates(z):
        return np.array(system.rates(z[:2].tolist(), z[2:].tolist(), [], p))

    z, h = np.concatenate([x, u]), 1e-6
    slopes = np.column_stack([(rates(z + h * e) - rates(z - h * e)) / (2 * h) for e in np.eye(3)])
    assert explicit == pytest.approx(slopes, rel=1e-7, abs=1e-9)


def test_numeric_of_an_affine_or_nonlinear_model_points_to_linearise():
    g = sp.Symbol("g")
    affine = Model("affine")
    affine.weight, affine.v = Se(effort=2.0 * g), One()
    affine.weight >> affine.v >> [I(mass=2.0), R(damping=1.0)]
    system = affine.let(g=9.81).compile(outputs=["v.flow"])
    with pytest.raises(SolveError, match=r"(constant term|nonlinear).*linearise"):
        system.numeric()
    assert system.linearise().poles() == pytest.approx([-0.5])
    cubic = Model("cubic")
    cubic.v = One()
    cubic.v >> [I(mass=2.0), C(law=lambda q: q**3)]
    with pytest.raises(SolveError, match=r"C.displacement\*\*3.*linearise"):
        cubic.compile().numeric()


def test_a_model_without_states():
    model = Model("static")
    model.V, model.a = Se("V"), One()
    model.V >> model.a >> [R(resistance=1.0), R(resistance=3.0)]
    system = model.compile(outputs=["a.flow"])
    space = system.numeric()
    assert system.states == ()
    assert space.D.toarray() == pytest.approx(np.array([[0.25]]))
    assert space.poles().shape == (0,)
    assert space.frequency_response([1.0])[0, 0, 0] == pytest.approx(0.25)
    assert system.steady_state({"V": 2.0}) == {}
    run = system.simulate(1, {"V": lambda t: t}, times=[0.0, 0.5, 1.0])
    assert run["a.flow"] == pytest.approx([0.0, 0.125, 0.25])


def test_simulation_against_the_matrix_exponential():
    system = two_mass().compile(outputs=["v2.flow"])
    x0 = np.array([0.5, -0.2, 0.3])
    run = system.simulate(4, {"F": 1.5}, initial=x0, times=np.linspace(0, 4, 9))
    space = system.numeric()
    A, B = space.A.toarray(), space.B.toarray()[:, 0] * 1.5
    # x(t) = e^(At) x0 + A^-1 (e^(At) - 1) B; A is regular here? the pair drifts: use the augmented matrix.
    augmented = np.block([[A, B[:, None]], [np.zeros((1, 4))]])
    for t, x in zip(run.time, run.states, strict=True):
        expected = (linalg.expm(augmented * t) @ np.append(x0, 1.0))[:3]
        assert x == pytest.approx(expected, rel=1e-7, abs=1e-10)


def test_simulation_input_forms_and_faults():
    system = oscillator().compile(outputs=["v.flow"])
    by_function = system.simulate(1, {"F": lambda t: 2 * t})["v.flow"]
    by_pair = system.simulate(1, {"F": ([0.0, 1.0], [0.0, 2.0])})["v.flow"]
    assert by_function == pytest.approx(by_pair, abs=1e-9)
    with pytest.raises(InputError, match=r"unknown input 'G' of oscillator"):
        system.simulate(1, {"G": 1.0})
    with pytest.raises(InputError, match=r"expected a number, a function of time or a pair .*; found list"):
        system.simulate(1, {"F": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"times increasing"):
        system.simulate(1, {"F": ([1.0, 0.0], [0.0, 2.0])})
    with pytest.raises(InputError, match=r"the end 0.0 s is not after the start"):
        system.simulate(0)
    with pytest.raises(InputError, match=r"do not lie within 0.0 to 1.0 s"):
        system.simulate(1, times=[0.0, 2.0])
    with pytest.raises(InputError, match=r"unknown state 'I.momentu'.*did you mean 'I.momentum'"):
        system.simulate(1, initial={"I.momentu": 1.0})
    with pytest.raises(InputError, match=r"states: expected 2 values, found shape \(3,\)"):
        system.simulate(1, initial=[1.0, 2.0, 3.0])


def test_steady_states():
    # A spring under a constant force: q = F/k, at rest.
    at_rest = oscillator().compile().steady_state({"F": 4.0})
    assert at_rest == pytest.approx({"I.momentum": 0.0, "C.displacement": 0.5}, abs=1e-12)
    # A hardening spring: q + q^3 = 10 has the root 2.
    model = Model("hardening")
    model.F, model.v = Se("F"), One()
    model.F >> model.v >> [I(mass=1.0), C(law=lambda q: q + q**3), R(damping=1.0)]
    assert model.compile().steady_state({"F": 10.0})["C.displacement"] == pytest.approx(2.0, rel=1e-9)
    # A free mass pushed for ever does not rest, however small the force.
    free = Model("free")
    free.F, free.v = Se("F"), One()
    free.F >> free.v >> I(mass=1.0)
    for force in (1.0, 1e-12):
        with pytest.raises(SolveError, match=r"I.momentum keeps changing"):
            free.compile().steady_state({"F": force})


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_steady_state_at_any_scale(scale):
    system = oscillator(m=1000.0, c=6.0 * scale, k=1e9 * scale).compile()
    assert system.steady_state({"F": 5.0 * scale})["C.displacement"] == pytest.approx(5e-9, rel=1e-9)


def test_steady_state_of_a_drifting_pair_is_the_nearest():
    # Two masses on a spring, no ground: any common position; the spring's stretch alone is determined.
    model = Model("pair")
    model.v1, model.s, model.v2 = One(), Zero(), One()
    model.v1 >> model.s >> model.v2 >> I(mass=1.0)
    model.v1 >> I(mass=1.0)
    model.s >> C(stiffness=2.0)
    state = model.compile().steady_state(initial={"C.displacement": 1.0})
    assert state["C.displacement"] == pytest.approx(0.0, abs=1e-12)


def test_input_defaults_are_used():
    model = Model("weight")
    model.w, model.v = Se(effort=9.81), One()
    model.w >> model.v >> [I(mass=1.0), R(damping=2.0)]
    system = model.compile(outputs=["v.flow"])
    assert system.simulate(40)["v.flow"][-1] == pytest.approx(9.81 / 2)
    assert system.steady_state()["I.momentum"] == pytest.approx(9.81 / 2)


BAD_NUMBERS = [None, [1.0], True, np.True_, b"1", math.nan, math.inf, "five", {"a": 1}]


@pytest.mark.parametrize("bad", BAD_NUMBERS, ids=repr)
def test_what_is_no_number_is_refused_by_name(bad):
    """As a state at the beginning, as a constant input, and as one of a simulation."""
    system = oscillator().compile()
    state, drive = system.states[0], system.inputs[0]
    for call in (
        lambda: system.initial({state: bad}),
        lambda: system.simulate(1, initial={state: bad}),
    ):
        with pytest.raises(InputError, match=re.escape(state)):
            call()
    for call in (
        lambda: system.operating_inputs({drive: bad}),
        lambda: system.steady_state(inputs={drive: bad}),
        lambda: system.simulate(1, {drive: bad}),
    ):
        with pytest.raises(InputError, match=drive):
            call()


@pytest.mark.parametrize("bad", [None, [1.0], math.nan, math.inf, "five", {"a": 1}], ids=repr)
def test_rows_that_are_not_numbers_are_refused_by_name(bad):
    with pytest.raises(InputError, match="input 'F', values"):
        oscillator().compile().simulate(1, {"F": ([0.0, 1.0], [0.0, bad])})


@pytest.mark.parametrize("returned", [None, "a", [1.0, 2.0]])
def test_an_input_that_returns_no_number_is_refused_with_the_time(returned):
    system = oscillator().compile()
    with pytest.raises(InputError, match=rf"{system.inputs[0]}.*returns a number; at t = 0 s it returned"):
        system.simulate(1, {system.inputs[0]: lambda _: returned})


def test_vectors_that_are_no_numbers_are_refused():
    system = oscillator().compile()
    with pytest.raises(InputError, match=r"I.momentum: expected a number with a unit.*; found 'a'"):
        system.initial(["a", "b"])
    with pytest.raises(InputError, match=r"states: expected 2 numbers; found \[True, False\]"):
        system.initial([True, False])
    with pytest.raises(InputError, match="inputs: expected 1 numbers"):
        system.operating_inputs([None, {}])
    assert system.simulate(0.1, {system.inputs[0]: np.float64(2.0)}).time[-1] == pytest.approx(0.1)
    assert system.initial({system.states[0]: np.array(0.5)})[0] == 0.5


@pytest.mark.parametrize("bad", [None, math.nan, math.inf])
def test_an_entry_of_a_vector_that_is_no_number_is_refused_by_name(bad):
    system = oscillator().compile()
    with pytest.raises(InputError, match=rf"state '{re.escape(system.states[1])}': expected a finite number"):
        system.simulate(0.1, initial=[1.0, bad])
    with pytest.raises(InputError, match="input 'F': expected a finite number"):
        system.operating_inputs([bad])


def test_texts_in_a_vector_measure_what_the_variables_do():
    system = oscillator().compile()
    assert system.initial(["2 N s", 1.0]).tolist() == [2.0, 1.0]
    assert system.operating_inputs(("3 kN",)).tolist() == [3000.0]
    with pytest.raises(InputError, match=r"I.momentum: .*'2 kg'"):
        system.initial(["2 kg", 1.0])
    with pytest.raises(InputError, match=r"expected 2 values.*found 1"):
        system.initial(["2 N s"])
