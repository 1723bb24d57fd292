"""The one-step matrix of a tick against differences of the tick itself."""

import numpy as np
import pytest

from bondloop.compile import Runner
from bondloop.errors import SolveError
from bondloop.papers import gawthrop_three_mass, gawthrop_two_actuators, wagg_three_mass
from bondloop.program.expr import Const, Var, function, select
from bondloop.program.one_step import one_step
from bondloop.program.schedule import Assign, schedule
from bondloop.program.tick import Delay, Product, Repeat, Tick, Update

T, K = Var("t"), Var("k")
RNG = np.random.default_rng(0)


def tick_of(states, *steps, parameters=None):
    return Tick("one", 0.1, T, K, (), states, parameters or {}, steps, ())


def differences(tick, names, size=1.0):
    """Columns of the matrix by central differences on the Python twin: exact for a linear tick."""
    runner = Runner(tick, "numpy")
    start = {v.name: x for v, x in tick.states.items()}
    inputs = np.zeros((1, len(tick.inputs))) if tick.inputs else None
    columns = []
    for name in names:
        ends = []
        for sign in (1, -1):
            runner.reset({name: start[name] + sign * size})
            runner.run(1, inputs)
            ends.append(np.array([runner.state[n] for n in names]))
        columns.append((ends[0] - ends[1]) / (2 * size))
    return np.column_stack(columns)


def test_every_kind_of_statement():
    x, v, w, y, z, c = (Var(n) for n in ("x", "v", "w", "y", "z", "c"))
    p = Var("p")
    a, b = Var("a"), Var("b")
    loop = schedule({a: 0.5 * b + x, b: 0.25 * a - v}, [a, b], [], 12)
    tick = tick_of(
        {x: 1.0, v: 2.0, w: 0.0},
        Assign(y, p * x - v / 4 + function("sin", T)),
        Product((z,), np.array([[2.0, -1.0]]), (y, w)),
        *loop,
        Repeat(3, c, (Update(((x, x + 0.1 * z), (v, v - 0.2 * x + c))), Assign(y, y + x))),
        Update(((w, y + a - 2 * b + select(T < 1, x, 3 * x)),)),
        parameters={p: 0.3},
    )
    found = one_step(tick)
    assert found.linear
    assert found.states == ("x", "v", "w")
    assert found.matrix == pytest.approx(differences(tick, ["x", "v", "w"]), abs=1e-12)
    other = one_step(tick, {"p": 5.0})
    assert not np.allclose(other.matrix, found.matrix)


def test_delay_lines_are_states():
    x, late = Var("x"), Var("late")
    tick = tick_of({x: 0.0}, Delay(late, x, 3), Update(((x, -0.5 * late + 0.9 * x),)))
    found = one_step(tick)
    assert (found.states, found.step.delays, found.step.places) == (("x",), (3,), 3)
    # x_(n+1) = 0.9 x_n - 0.5 x_(n-3)
    assert np.sort_complex(found.eigenvalues) == pytest.approx(
        np.sort_complex(np.roots([1, -0.9, 0, 0, 0.5]))
    )


@pytest.mark.parametrize(
    "test",
    [gawthrop_two_actuators.test(), gawthrop_two_actuators.test(controller="direct")],
    ids=["junction", "direct"],
)
def test_a_hybrid_test_is_differentiated_as_it_runs(test):
    tick = test.tick
    found = one_step(tick)
    assert found.linear
    if not tick.delays:
        assert found.matrix == pytest.approx(differences(tick, list(found.states)), rel=1e-9, abs=1e-9)
    unstable = not found.stable
    assert unstable == (test.controller.describe()["controller"] == "Direct")


def test_what_is_not_linear_says_so():
    assert not one_step(gawthrop_three_mass.test().tick).linear, "a double well"
    assert not one_step(wagg_three_mass.test().tick).linear, "an adaptive controller"
    x, y = Var("x"), Var("y")
    for curved in (x * x, function("floor", x), 1 / (2 + x), select(x > 0, x, 2 * x), function("tanh", x)):
        assert not one_step(tick_of({x: 0.5}, Update(((x, curved),)))).linear
        assert not one_step(tick_of({x: 0.5}, Assign(y, curved), Update(((x, 2 * y),)))).linear
    watched = tick_of({x: 0.5}, Assign(y, abs(x)), Update(((x, x / 2),)))
    assert one_step(watched).linear, "what only watches does not bend the motion"


def test_at_a_point_the_slope_is_that_of_the_point():
    x = Var("x")
    found = one_step(tick_of({x: 0.5}, Update(((x, x**3),))))
    assert found.matrix[0, 0] == pytest.approx(0.75)


def test_a_nonlinear_loop_is_solved_at_the_point():
    x, a = Var("x"), Var("a")
    loop = schedule({a: x - 0.5 * function("sin", a)}, [a], [], 12)
    found = one_step(tick_of({x: 0.7}, *loop, Update(((x, a),))))
    solution = 0.7
    for _ in range(100):
        solution = 0.7 - 0.5 * np.sin(solution)
    assert found.matrix[0, 0] == pytest.approx(1 / (1 + 0.5 * np.cos(solution)))
    assert not found.linear


def test_what_runs_beside_the_test_is_left_out_only_if_it_does_not_matter():
    x, r = Var("x"), Var("reference.x")
    beside = tick_of({x: 1.0, r: 1.0}, Update(((x, x / 2), (r, 2 * r + x))))
    assert one_step(beside).states == ("x",)
    coupled = tick_of({x: 1.0, r: 1.0}, Update(((x, x / 2 + r), (r, 2 * r + x))))
    assert one_step(coupled).states == ("x", "reference.x")


def test_motions_at_rest_are_counted_apart():
    x, v, y = Var("x"), Var("v"), Var("y")
    found = one_step(tick_of({x: 0.0, v: 0.0, y: 1.0}, Update(((x, x + 0.1 * v), (v, v), (y, 0.5 * y)))))
    assert found.resting == 2
    assert found.spectral_radius == pytest.approx(0.5)
    assert found.growth == pytest.approx(np.log(0.5) / 0.1)
    assert found.stable
    nothing = one_step(tick_of({x: 0.0}, Update(((x, x),))))
    assert (nothing.spectral_radius, nothing.frequency, nothing.growth) == (0.0, 0.0, -np.inf)


def test_what_cannot_be_computed_is_an_error():
    x, a = Var("x"), Var("a")
    with pytest.raises(SolveError, match="the slope of '1/x' cannot be computed at this point"):
        one_step(tick_of({x: 0.0}, Update(((x, 1 / x),))))
    loop = schedule({a: a + x}, [a], [], 12)
    with pytest.raises(SolveError, match="no unique solution"):
        one_step(tick_of({x: 1.0}, *loop, Update(((x, a + Const(0.0)),))))
