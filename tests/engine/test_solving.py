"""Linear solves that know a singular matrix from a badly scaled one."""

import numpy as np
import pytest
from scipy import sparse

from bondloop.engine.ir.causal_order import schedule
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.matrices import SingularError, factorised, solve_small
from bondloop.engine.ir.statement import Loop


@pytest.mark.parametrize("n", [1, 2, 5])
def test_solutions_against_numpy(n):
    rng = np.random.default_rng(n)
    M, b = rng.normal(size=(n, n)), rng.normal(size=n)
    assert solve_small(M.tolist(), b.tolist()) == pytest.approx(np.linalg.solve(M, b))
    assert factorised(sparse.csr_array(M))(b) == pytest.approx(np.linalg.solve(M, b))


def test_units_do_not_make_a_matrix_singular():
    rng = np.random.default_rng(0)
    M, x = rng.normal(size=(4, 4)), rng.normal(size=4)
    rows, columns = np.diag([1e-12, 1.0, 1e9, 1e4]), np.diag([1e10, 1e-9, 1.0, 1e3])
    scaled = rows @ M @ columns
    x = x / columns.diagonal()  # each unknown in its own unit
    b = scaled @ x
    assert solve_small(scaled.tolist(), b.tolist()) == pytest.approx(x, rel=1e-9, abs=0)
    assert factorised(sparse.csr_array(scaled))(b) == pytest.approx(x, rel=1e-9, abs=0)


@pytest.mark.parametrize(
    "M",
    [
        [[0.0]],
        [[1e-17]],
        [[1.0, 2.0], [2.0, 4.0]],
        [[1.0, 0.0], [0.0, 0.0]],
        [[0.1 + 0.2, 0.3], [1.0, 1.0]],  # singular but for rounding
        [[1.0, np.nan], [0.0, 1.0]],
    ],
)
def test_singular_matrices_are_refused(M):
    with pytest.raises(SingularError):
        solve_small(M, [1.0] * len(M))
    if len(M) > 1:
        with pytest.raises(SingularError):
            factorised(sparse.csr_array(np.array(M)))


def test_loops_are_torn_at_preferred_variables():
    a, b, c, u = (Var(n) for n in "abcu")
    definitions = {a: b + u, b: 2 * c, c: 0.25 * a}
    (loop,) = schedule(definitions, [a], preferred=[c])
    assert isinstance(loop, Loop)
    assert loop.tears == (c,)
    assert [s.target for s in loop.body] == [b, a]
    assert loop.linear
    assert loop.iterations == 1


def test_nested_loops_get_as_many_tears_as_needed():
    # Two loops through x: one tear is enough.
    x, y, z, u = (Var(n) for n in "xyzu")
    (loop,) = schedule({x: y + z + u, y: 0.1 * x, z: 0.2 * x}, [x])
    assert loop.tears == (x,)


def test_a_nonlinear_loop_is_known_as_such():
    x, u = Var("x"), Var("u")
    (loop,) = schedule({x: u - x**3}, [x], iterations=7)
    assert not loop.linear
    assert loop.iterations == 7
