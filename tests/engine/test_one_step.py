"""The one-step matrix of a tick against differences of the tick itself."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "hybrid"))  # for small_pair.py

from small_pair import halves

from bondloop.check.linear.running_loop import RunningLoop
from bondloop.engine.analysis.spectrum.linear_step import one_step
from bondloop.engine.codegen import Runner
from bondloop.engine.ir.causal_order import schedule
from bondloop.engine.ir.expr import Const, Var, function, select
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Delay, Product, Repeat, Tick, Update
from bondloop.errors import SolveError
from bondloop.papers import gawthrop_three_mass, gawthrop_two_actuators, wagg_three_mass

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


@pytest.mark.parametrize(("rate", "stable"), [(0.9e-4, True), (-0.9e-4, True), (1.1e-4, False)])
def test_what_takes_hours_to_grow_is_at_rest(rate, stable):
    x, y = Var("x"), Var("y")
    tick = replace(tick_of({x: 0.0, y: 1.0}, Update(((x, (1 + rate * 1e-3) * x), (y, y / 2)))), period=1e-3)
    found = one_step(tick)
    assert found.stable is stable
    assert found.resting == stable


def test_what_cannot_be_computed_is_an_error():
    x, a = Var("x"), Var("a")
    with pytest.raises(SolveError, match="the slope of '1/x' cannot be computed at this point"):
        one_step(tick_of({x: 0.0}, Update(((x, 1 / x),))))
    loop = schedule({a: a + x}, [a], [], 12)
    with pytest.raises(SolveError, match="no unique solution"):
        one_step(tick_of({x: 1.0}, *loop, Update(((x, a + Const(0.0)),))))


# ---------------------------------------------------------------------- at a point of a run


def slopes_of_the_run(runner, step, inputs, sizes):
    """Return d(next state)/d(state) by central differences of the compiled tick, where the run stands."""
    here = runner.snapshot()
    columns = []
    for name in step.states:
        ends = []
        for sign in (1, -1):
            runner.restore(here, {name: sign * sizes[name]})
            runner.run(1, inputs)
            ends.append(np.array([runner.state[n] for n in step.states]))
        columns.append((ends[0] - ends[1]) / (2 * sizes[name]))
    runner.restore(here)
    return np.column_stack(columns)


def row(tick, test, k):
    """Return the inputs of the tick with this number, as one row and by variable."""
    if not tick.inputs:
        return None, {}
    from bondloop.signals.in_tick import tabulated_inputs

    table = tabulated_inputs(test.tables.values(), k + 2, tick.period)[k : k + 1]
    return table, dict(zip(tick.inputs, table[0].tolist(), strict=True))


def compare_at(test, ticks, rel=2e-5):
    """Hold the step's matrix of the states against differences of the compiled tick, after so many ticks."""
    tick = test.tick
    runner = Runner(tick)
    table = None
    if tick.inputs:
        from bondloop.signals.in_tick import tabulated_inputs

        table = tabulated_inputs(test.tables.values(), ticks, tick.period)
    ran = runner.run(ticks, table)
    assert ran.finished, ran.message
    here, given = row(tick, test, ticks)
    step = one_step(tick, at=runner.point(given))
    sizes = {n: 1e-6 * max(abs(runner.state[n]), 1e-5) for n in step.states}
    expected = slopes_of_the_run(runner, step, here, sizes)
    found = step.step.A if isinstance(step.step.A, np.ndarray) else step.step.A.toarray()
    # Rows and columns have units: each entry is held against the size of its row in units of the states.
    unit = np.array([max(abs(runner.state[n]), 1e-5) for n in step.states])
    gap = np.abs(found - expected) * unit[None, :] / unit[:, None]
    scale = np.maximum(np.abs(expected) * unit[None, :] / unit[:, None], 1.0)
    assert (gap / scale).max() < rel, test.name
    return step


def nonlinear_test(spring=None, friction=None, controller=None, **options):
    from bondloop.bondgraph import C, R
    from bondloop.control import Direct
    from bondloop.hybrid import HybridTest
    from bondloop.rigs import Emulated
    from bondloop.signals import Sine
    from bondloop.transfer import MassSpringDamper

    parts = {"element": [spring or C(stiffness=1e3), friction or R(damping=5.0)]}
    numerical, physical = halves("curved", parts, damping=40.0)
    rig = {k: options.pop(k) for k in ("sensors", "drive", "latency", "substeps") if k in options}
    return HybridTest(
        numerical,
        rig=Emulated(physical, MassSpringDamper(2, 150, 15e3, drive="position"), **rig),
        controller=controller or Direct(),
        excitation={"v_wall": Sine(2e-3, 4.0).derivative()},
        rate=1000,
        **options,
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["cubic", "friction", "stribeck", "junction", "latency", "continuous"])
def test_at_a_point_of_a_run_it_is_the_slope_of_the_compiled_tick(kind, seed):
    from bondloop.control import VirtualJunction
    from bondloop.rigs import coulomb, cubic_spring, stribeck
    from bondloop.transfer import MassSpringDamper

    rng = np.random.default_rng([seed, 9])
    strength, ticks = 10 ** rng.uniform(-0.5, 0.5), int(rng.integers(20, 700))
    model = MassSpringDamper(2, 150, 15e3, drive="position")
    options = {
        "cubic": {"spring": cubic_spring(1e3, 1e9 * strength)},
        "friction": {"friction": coulomb(strength, 0.01)},
        "stribeck": {"friction": stribeck(strength, 1.5 * strength, 0.05, 2.0, 0.01)},
        "junction": {"spring": cubic_spring(1e3, 1e9 * strength), "controller": VirtualJunction(model)},
        "latency": {"friction": coulomb(strength, 0.01), "latency": 1.7e-3, "substeps": 3},
        "continuous": {
            "spring": cubic_spring(1e3, 1e9 * strength), "controller": VirtualJunction(model),
            "coupling": "continuous",
        },
    }[kind]  # fmt: skip
    step = compare_at(nonlinear_test(**options), ticks)
    assert not step.linear
    if kind == "latency":
        assert step.step.delays


def test_what_leaves_a_delay_line_acts_as_in_the_run():
    """The whole matrix, places of the line included, against the recurrence that it stands for."""
    x, late, y = Var("x"), Var("late"), Var("y")
    tick = tick_of({x: 0.4}, Delay(late, x, 4), Assign(y, late * late), Update(((x, 0.5 * x - 0.3 * y),)))
    runner = Runner(tick)
    runner.run(9)
    point = runner.point()
    found = one_step(tick, at=point)
    before = point.lines[0][0]  # what leaves it in this tick
    # x' = 0.5 x - 0.3 late², so with late about its value: 0.5 dx - 0.6 late dlate, four ticks late
    wanted = np.roots([1, -0.5, 0, 0, 0, 0.6 * before])
    assert np.sort_complex(found.eigenvalues) == pytest.approx(np.sort_complex(wanted))
    runner.run(1)
    assert found.at.after[0] == pytest.approx(runner.state["x"])


def test_random_ticks_with_substeps_and_lines_at_a_point():
    x, v, late, c, force = (Var(n) for n in ("x", "v", "late", "c", "force"))
    for seed in range(8):
        rng = np.random.default_rng(seed)
        a, b, d = rng.uniform(0.1, 0.9, 3)
        body = (
            Assign(force, a * function("sin", x) + b * v**3 - d * function("tanh", 3 * v) * x),
            Update(((x, x + 0.05 * v), (v, v - 0.05 * force))),
        )
        tick = tick_of(
            {x: float(rng.normal()), v: float(rng.normal())},
            Delay(late, x, int(rng.integers(1, 5))),
            Repeat(int(rng.integers(1, 5)), c, body),
            Update(((v, v - 0.02 * late * late),)),
        )
        runner = Runner(tick)
        runner.run(int(rng.integers(6, 30)))
        step = one_step(tick, at=runner.point())
        expected = slopes_of_the_run(runner, step, None, dict.fromkeys(step.states, 1e-5))
        A = step.step.A if isinstance(step.step.A, np.ndarray) else step.step.A.toarray()
        assert pytest.approx(expected, abs=1e-7) == A
        assert not step.linear


def test_a_staircase_counts_with_the_slope_of_its_line():
    x = Var("x")
    found = one_step(tick_of({x: 0.37}, Update(((x, 0.01 * function("floor", 90 * x)),))))
    assert found.matrix[0, 0] == pytest.approx(0.9)
    assert found.bends["x"] == {"quantiser"}


def test_a_part_of_a_response_is_that_part_of_the_whole():
    loop = RunningLoop(gawthrop_two_actuators.test())
    step = loop.at()
    f = [0.1, 3.0, 40.0]
    whole = step.response(f)
    outputs, probes = [step.outputs[-1], step.outputs[0]], list(step.probes[1:])
    part = step.response(f, outputs, probes)
    rows = [len(step.outputs) - 1, 0]
    assert part == pytest.approx(whole[:, rows][:, :, 1:], rel=1e-9, abs=1e-12)
    assert step.response(f, [], probes).shape == (3, 0, len(probes))


@pytest.mark.parametrize(
    "curved",
    [lambda x: function("sign", x), lambda x: select(x > 0, Const(1.0), Const(-1.0))],
    ids=["sign", "relay"],
)
def test_a_jump_is_noted_and_not_taken_for_an_open_loop(curved):
    x = Var("x")
    found = one_step(tick_of({x: 0.5}, Update(((x, 0.9 * x - 0.1 * curved(x)),))))
    assert found.matrix[0, 0] == pytest.approx(0.9)
    assert "step" in found.bends["x"]
    assert not found.linear


def test_a_choice_by_time_alone_is_linear():
    x = Var("x")
    tick = tick_of({x: 0.5}, Update(((x, select(T < 1, 0.5 * x, 0.25 * x)),)))
    from bondloop.engine.analysis.spectrum.walk import Point

    early, late = one_step(tick), one_step(tick, at=Point(count=20))
    assert early.linear
    assert late.linear
    assert (early.matrix[0, 0], late.matrix[0, 0]) == (0.5, 0.25)
