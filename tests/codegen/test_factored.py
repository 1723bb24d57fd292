"""Inverses as factors: right, the same to the last bit in every back end, in files and in linearisations."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from bondloop.engine.analysis.spectrum.linear_step import one_step
from bondloop.engine.codegen import Runner, write_c
from bondloop.engine.codegen.c_writer import write_c_apart
from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.ir.expr import Var, evaluate
from bondloop.engine.ir.matrices import Factored, SingularError, SolvedMatrix, dissected, worth_factors
from bondloop.engine.ir.tick import Channel, Product, Tick, Update
from bondloop.engine.ir.tick_json import dump_tick, load_tick
from bondloop.errors import InputError
from bondloop.hybrid.simulation import Simulation
from bondloop.structures import Beam, Structure, field_form, network_form


def grid(rows: int, columns: int, symmetric: bool, seed: int, units: int = 20) -> sparse.csr_array:
    """Return a matrix with the pattern of a net, dominated by its diagonal, in units that differ widely."""
    rng = np.random.default_rng(seed)
    n = rows * columns

    def line(m: int) -> sparse.csr_array:
        return sparse.diags_array([np.ones(m - 1), np.ones(m - 1)], offsets=[-1, 1], shape=(m, m))

    pattern = sparse.coo_array(
        sparse.kron(line(rows), sparse.eye_array(columns))
        + sparse.kron(sparse.eye_array(rows), line(columns))
    )
    pattern.data = rng.uniform(-1.0, 1.0, pattern.nnz)
    A = sparse.csr_array((pattern + pattern.T) / 2 if symmetric else pattern)
    A = A + sparse.diags_array(4.1 + rng.uniform(size=n))
    size = sparse.diags_array(2.0 ** rng.integers(-units, units + 1, n))
    return sparse.csr_array(size @ A @ size)


def stepping(A: sparse.csr_array, name: str = "solving") -> Tick:
    """Return a tick whose states are A⁻¹ times a sum of all neighbours' states, and a number beside."""
    n = A.shape[0]
    x, y, b = ([Var(f"{w}[{i}]") for i in range(n)] for w in ("x", "y", "b"))
    inverse = Factored(A)
    mixed = sparse.csr_array(0.6 * A + 0.1 * sparse.diags_array(A.diagonal()))
    steps = (
        Product(tuple(b), mixed, tuple(x)),
        Product(tuple(y), inverse, tuple(b)),
        Update(tuple(zip(x, y, strict=True))),
    )
    states = dict(zip(x, np.random.default_rng(n).normal(size=n).tolist(), strict=True))
    channels = tuple(Channel(f"y{i}", y[i]) for i in (0, n // 2, n - 1))
    return Tick(name, 0.1, Var("t"), Var("k"), (), states, {}, steps, channels)


@given(st.integers(1, 14), st.integers(1, 14), st.booleans(), st.integers(0, 2**20))
def test_a_solution_with_factors_fulfils_the_equations(rows, columns, symmetric, seed):
    A = grid(rows, columns, symmetric, seed)
    inverse, b = Factored(A), np.random.default_rng(seed).normal(size=rows * columns)
    x = inverse @ b
    # Backward stable: what is left over is rounding of the terms of each row.
    left = np.abs(A @ x - b)
    assert (left <= 1e-12 * (abs(A) @ np.abs(x) + np.abs(b))).all()
    if symmetric:
        assert inverse.upper is inverse.lower


def test_factors_of_a_plate_are_ordered_by_nested_dissection_and_smaller():
    A = grid(45, 45, True, 1)
    order = dissected(A)
    assert order is not None
    assert np.array_equal(np.sort(order), np.arange(45 * 45))
    from scipy.sparse.linalg import splu

    plain = splu(sparse.csc_array(A), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    assert len(Factored(A).lower.values) < 1.3 * plain.L.nnz
    x = Factored(A) @ np.ones(45 * 45)
    assert np.allclose(x, plain.solve(np.ones(45 * 45)), rtol=1e-9, atol=0)


def test_singular_matrices_are_refused():
    for singular in (
        sparse.csr_array(np.ones((3, 3))),
        sparse.csr_array((2, 2)),
        sparse.diags_array([1.0, 0.0]),
    ):
        with pytest.raises(SingularError):
            _ = Factored(singular).lower


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
@pytest.mark.parametrize(("rows", "columns", "symmetric"), [(3, 4, True), (9, 11, False), (30, 40, True)])
def test_c_and_python_agree_to_the_last_bit(rows, columns, symmetric):
    tick = stepping(grid(rows, columns, symmetric, rows))
    ran = [Runner(tick, backend) for backend in ("c", "numpy")]
    records = [runner.run(4).channels for runner in ran]
    for name in records[0]:
        assert np.array_equal(records[0][name], records[1][name])
    assert ran[0].state == ran[1].state


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_large_tables_are_handed_over_and_one_library_keeps_its_own():
    ticks = [stepping(grid(40, 40, True, seed)) for seed in (1, 2)]
    sources = [write_c_apart(tick) for tick in ticks]
    assert all(numbers is not None for _, _, numbers in sources)
    assert len(sources[0][0]) < 0.4 * len(write_c(ticks[0]))
    runners = [Runner(tick, "c") for tick in (*ticks, ticks[0])]
    first = runners[0].run(2).channels["y0"]
    del runners[0]  # the third has the same tables
    assert np.array_equal(runners[1].run(2).channels["y0"], first)
    assert not np.array_equal(runners[0].run(2).channels["y0"], first)


def test_a_tick_with_factors_can_be_written_and_read():
    tick = stepping(grid(4, 5, False, 3))
    data = json.loads(json.dumps(dump_tick(tick)))
    again = load_tick(data)
    assert np.array_equal(
        Runner(tick, "numpy").run(3).channels["y0"], Runner(again, "numpy").run(3).channels["y0"]
    )
    entry = data["tick"]["steps"][1]["matrix"]
    for inverse, values in (
        (False, entry["values"]),
        (True, [0.0] * len(entry["values"])),
        (3, entry["values"]),
    ):
        data["tick"]["steps"][1]["matrix"] = {**entry, "inverse": inverse, "values": values}
        with pytest.raises(InputError, match="inverse"):
            load_tick(data)


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_tick_with_factors_is_linearised_exactly(symmetric):
    A = grid(5, 7, symmetric, 8, units=0)
    matrix = one_step(stepping(A)).matrix
    dense = A.toarray()
    expected = np.linalg.solve(dense, 0.6 * dense + 0.1 * np.diag(dense.diagonal()))
    assert np.allclose(matrix.toarray() if hasattr(matrix, "toarray") else matrix, expected, atol=1e-12)


def test_factors_are_taken_where_they_are_less_work():
    beam = sparse.diags_array([np.ones(599), np.full(600, 4.0), np.ones(599)], offsets=[-1, 0, 1])
    assert worth_factors(Factored(beam))
    assert not worth_factors(Factored(beam.tocsr()[:200, :200]))
    full = sparse.csr_array(np.eye(100) + 0.001)
    assert not worth_factors(Factored(full))
    right = sparse.csr_array(sparse.eye_array(600))
    solved = SolvedMatrix(beam.tocsr(), right, "mass")
    assert np.allclose(solved.inverse @ np.ones(600), solved.values @ np.ones(600), rtol=1e-13)


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
@settings(max_examples=6, deadline=None)  # each is compiled
@given(st.integers(0, 2**20), st.booleans())
def test_products_gather_their_vectors_from_where_they_lie(seed, single):
    """Results of two products and states, in any order, with expressions between them."""
    rng, n = np.random.default_rng(seed), 90
    x, y, z, w = ([Var(f"{name}[{i}]") for i in range(n)] for name in "xyzw")

    def matrix():
        return sparse.csr_array(sparse.random_array((n, n), density=0.1, rng=rng) + sparse.eye_array(n))

    mixed = [*x, *y, *z]
    sources = (
        [mixed[k] for k in rng.permutation(3 * n)[:n]] if not single else [y[k] for k in rng.permutation(n)]
    )
    sources[7] = 2 * sources[7] + 1
    A, B, D = (matrix() for _ in range(3))
    steps = (
        Product(tuple(y), A, tuple(x)),
        Product(tuple(z), B, tuple(y[::-1])),
        Product(tuple(w), D, tuple(sources)),
    )
    start = rng.normal(size=n)
    states = dict(zip(x, start.tolist(), strict=True))
    channels = tuple(Channel(f"w{i}", v) for i, v in enumerate(w))
    tick = Tick("gathering", 0.1, Var("t"), Var("k"), (), states, {}, steps, channels)
    found, twin = (np.array([*Runner(tick, b).run(1).channels.values()])[:, 0] for b in ("c", "numpy"))
    values = dict(zip(mixed, [*start, *(A @ start), *(B @ (A @ start)[::-1])], strict=True))
    vector = np.array([evaluate(e, values) for e in sources])
    assert np.array_equal(found, twin)
    assert np.allclose(found, D @ vector, rtol=1e-12, atol=1e-12)


def test_the_text_of_a_large_structure_does_not_grow_with_its_statements():
    """Twice the structure: longer tables and structures, but not one more line in the tick itself."""

    def lines(elements, form):
        beam = Structure("beam")
        beam.node("root")
        beam.node("tip", x=1.0)
        beam.line("root", "tip", n=elements, element=Beam("root", "tip", E=210e9, A=1e-3, I=1e-7, rho=7850.0))
        beam.support("root")
        system = form(beam.assemble(), forces=["tip.uy"]).compile(outputs=["tip.uy.flow"])
        tick = Simulation({"beam": system}, excitation={"F_tip_uy": 1.0}, rate=1e6).tick
        text = write_c_apart(tick)[0]
        return text[text.index("_tick(") :].count("\n")

    for form in (field_form, network_form):
        assert lines(300, form) == lines(600, form)
