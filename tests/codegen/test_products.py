"""Matrix products in every form that the C writer has: each is the matrix times the vector, as in Python."""

import numpy as np
import pytest
from scipy import sparse

from bondloop.engine.codegen import Runner, compiler, write_c
from bondloop.engine.codegen.c_products import bands
from bondloop.engine.codegen.plan import sparse as few
from bondloop.engine.ir.expr import Const, Var
from bondloop.engine.ir.tick import Channel, Product, Tick, Update

BACKENDS = ["numpy", pytest.param("c", marks=pytest.mark.skipif(compiler() is None, reason="no C compiler"))]
RNG = np.random.default_rng(7)


def diagonals(n):
    return sparse.csr_array(
        sparse.block_array([[sparse.diags_array(RNG.standard_normal(n)) for _ in range(2)] for _ in range(2)])
    )


MATRICES = {
    "bands": sparse.hstack([diagonals(50), RNG.standard_normal((100, 2))]).tocsr(),
    "bands over the end of the states": sparse.csr_array(np.eye(100, 102, k=2)),
    "empty rows": sparse.vstack([sparse.csr_array((60, 102)), sparse.eye_array(40, 102)]).tocsr(),
    "scattered": sparse.random_array((100, 102), density=0.1, rng=RNG).tocsr(),
    "dense": RNG.standard_normal((100, 102)),
    "few long rows": RNG.standard_normal((100, 102))[:3],
    "many terms": sparse.hstack([sparse.eye_array(100, 80), RNG.standard_normal((100, 22))]).tocsr(),
}


def ticking(matrix, update):
    n, m = matrix.shape
    states = [Var(f"x[{i}]") for i in range(100)]
    targets = tuple(Var(f"y[{i}]") for i in range(n))
    u = Var("u")
    step = Product(targets, matrix, (*states, u, Const(0.5) * u)[:m])
    pairs = tuple(zip(states[:n], targets, strict=True))
    steps = (step, Update((*pairs, (u, u * 0.9 + 0.01 * states[0]))) if update else Update(()))
    start = dict(zip(states, RNG.standard_normal(100), strict=True))
    channels = tuple(Channel(v.name, v) for v in targets)
    return Tick("times", 0.1, Var("t"), Var("k"), (), {**start, u: 1.5}, {}, steps, channels)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MATRICES)
def test_the_product_is_right(backend, name):
    matrix = MATRICES[name]
    tick = ticking(matrix, update=False)
    x = np.array([*tick.states.values(), 0.75])
    found = Runner(tick, backend).run(1)
    right = matrix @ x
    np.testing.assert_allclose([found.channels[f"y[{i}]"][0] for i in range(len(right))], right, atol=1e-13)


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("name", MATRICES)
def test_c_and_python_agree_to_the_last_bit_over_several_ticks(name):
    tick = ticking(0.1 * MATRICES[name], update=True)
    both = [Runner(tick, backend) for backend in ("c", "numpy")]
    results = [runner.run(5) for runner in both]
    for channel, values in results[0].channels.items():
        np.testing.assert_array_equal(values, results[1].channels[channel])
    assert both[0].state == both[1].state


def test_repeated_rows_are_bands_and_others_are_not():
    def of(matrix):
        n, m = matrix.shape
        return bands(
            few(Product(tuple(Var("y") for _ in range(n)), matrix, tuple(Var("x") for _ in range(m))))
        )

    assert [band.rows for band in of(MATRICES["bands"])] == [50, 50]
    assert of(MATRICES["scattered"]) is None
    assert of(sparse.csr_array(np.fliplr(np.eye(60)))) is None


def test_states_are_read_in_place_and_written_back_in_one_loop():
    source = write_c(ticking(MATRICES["bands"], update=True))
    assert "const double *const z = (const double *)s;" in source
    assert "((double *)s)[0 + i] = product_1[0 + i];" in source
