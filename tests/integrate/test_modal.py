"""The modal integrator: exact, the same in C and in Python, and written so that its cost is linear."""

import numpy as np
import pytest
from scipy.linalg import expm

from bondloop.engine.codegen import Runner, compiler, write_c
from bondloop.engine.ir.expr import Const, Var, function, substitute
from bondloop.engine.ir.system_data import Interface
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.system import System, system_from_matrices
from bondloop.errors import InputError
from bondloop.integrate import Exact, Modal
from bondloop.structures import Matrices, modal_system

BACKENDS = ["numpy", pytest.param("c", marks=pytest.mark.skipif(compiler() is None, reason="no C compiler"))]
H = 0.05


def chain(n, damped=True, free=False):
    K = 40 * (np.diag([2.0] * n) - np.eye(n, k=1) - np.eye(n, k=-1))
    if free:
        K[0, 0] = K[-1, -1] = 40
    return Matrices(np.eye(n), 0.01 * K if damped else None, K, tuple(f"m{i}.ux" for i in range(n)))


def ticking(system, integrator, signal=lambda t: function("sin", 3 * t), h=H):
    """A tick that integrates a system, the same force on every input, and records states and outputs."""
    t, k = Var("t"), Var("k")

    def inputs(fraction):
        return {u: signal(t + Const(fraction * h)) for u in system.input_vars}

    made = integrator.discretise(system, h, inputs, list(system.output_exprs.values()))
    channels = [Channel(v.name, v) for v in system.state_vars]
    channels += [Channel(n, substitute(e, made.table)) for n, e in system.output_exprs.items()]
    states = dict(zip(system.state_vars, system.initial(), strict=True))
    return Tick("modal", h, t, k, (), states, system.values(), (*made.first, *made.rest), tuple(channels))


def expected(system, hold, steps, start):
    space = system.numeric().explicit()
    A, B, C = (M.toarray() for M in (space.A, space.B, space.C))
    n, m = B.shape
    big = np.zeros((n + 2 * m, n + 2 * m))
    big[:n, :n], big[:n, n : n + m], big[n : n + m, n + m :] = A * H, B * H, np.eye(m)
    E = expm(big)[:n]
    x, rows = np.asarray(start, dtype=float), []
    for k in range(steps):
        u, after = np.full(m, np.sin(3 * k * H)), np.full(m, np.sin(3 * (k + 1) * H))
        rows.append(np.concatenate([x, C @ x]))
        x = E @ np.concatenate([x, u, after - u if hold == "first" else 0 * u])
    return np.array(rows)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("hold", ["zero", "first"])
@pytest.mark.parametrize(("n", "kind"), [(3, {}), (40, {}), (40, {"damped": False}), (20, {"free": True})])
def test_exact_against_the_matrix_exponential(backend, hold, n, kind):
    model = chain(n, **kind)
    places = ["m0.ux", f"m{n - 1}.ux"]
    system = modal_system(model, places, ["m1.ux", "d/dt m0.ux", "m2.ux"], count=n)
    runner = Runner(ticking(system, Modal(hold=hold)), backend)
    start = np.random.default_rng(n).standard_normal(2 * n)
    runner.reset(dict(zip(system.states, start, strict=True)))
    result = runner.run(60)
    found = np.stack(list(result.channels.values()), axis=1)
    right = expected(system, hold, 60, start)
    np.testing.assert_allclose(found, right, atol=1e-12 * np.abs(right).max())


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_c_and_python_agree_to_the_last_bit():
    system = modal_system(chain(60), ["m0.ux", "m5.ux"], ["m1.ux", "m7.ux", "d/dt m3.ux"], count=60)
    tick = ticking(system, Modal(hold="first"))
    both = [Runner(tick, backend).run(50) for backend in ("c", "numpy")]
    for name, values in both[0].channels.items():
        np.testing.assert_array_equal(values, both[1].channels[name])


def test_the_step_is_written_as_plain_loops_over_neighbours():
    system = modal_system(chain(200), ["m0.ux"], ["m1.ux"], count=200)
    tick = ticking(system, Modal(hold="first"))
    lean = Tick("modal", H, tick.time, tick.count, (), tick.states, {}, tick.steps, tick.channels[-1:])
    body = write_c(lean)
    assert "modal_band_0_0" in body
    assert "modal_starts" not in body  # no compressed rows, no gathers
    tick_text = body[body.index("void modal_tick") : body.index("modal_outside")]
    assert tick_text.count("\n") < 60  # not a line per mode


def test_parts_that_are_no_modes_are_carried_by_their_exponential():
    rng = np.random.default_rng(2)
    A = np.zeros((7, 7))
    A[:3, :3] = rng.standard_normal((3, 3)) - 2 * np.eye(3)
    A[3, 4], A[4, 3], A[4, 4] = 1.0, -9.0, -0.1  # a mode
    A[5, 5], A[6, 6] = -1.0, 0.0  # a lag and an integrator
    B, C = rng.standard_normal((7, 2)), rng.standard_normal((2, 7))
    system = system_from_matrices(A, B, C, np.zeros((2, 2)))
    for hold in ("zero", "first"):
        runs = [
            np.stack(list(Runner(ticking(system, scheme), "numpy").run(40).channels.values()), axis=1)
            for scheme in (Modal(hold=hold), Exact(hold=hold))
        ]
        np.testing.assert_allclose(runs[0], runs[1], atol=1e-12 * np.abs(runs[1]).max())


def test_an_input_on_the_displacement_itself():
    A = np.array([[0.0, 1.0], [-9.0, -0.4]])
    system = system_from_matrices(A, np.array([[0.7], [0.2]]), np.eye(2), np.zeros((2, 1)))
    found = Runner(ticking(system, Modal(hold="first")), "numpy").run(30)
    right = expected(system, "first", 30, np.zeros(2))
    np.testing.assert_allclose(np.stack(list(found.channels.values()), axis=1), right, atol=1e-12)


def test_what_is_refused():
    with pytest.raises(InputError, match="hold"):
        Modal(hold="second")
    x = Var("x")
    with pytest.raises(InputError, match="nonlinear"):
        Modal().discretise(System("cubic", Interface({x: -(x**3)})), H, lambda _: {}, [])
    n = 210
    A = -2 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
    tied = system_from_matrices(A, np.ones((n, 1)), np.ones((1, n)), [[0.0]])
    with pytest.raises(InputError, match="210 states are coupled"):
        Modal().discretise(tied, H, lambda _: dict.fromkeys(tied.input_vars, Const(0.0)), [])
    assert Modal(hold="first").describe() == {"integrator": "Modal", "hold": "first"}
