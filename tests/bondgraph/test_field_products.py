"""Fields of many ports, whose matrices stay matrices, against the same fields written out entry by entry."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse

from bondloop.bondgraph import C, CField, I, IField, Model, One, R, RField, Se, Sf
from bondloop.bondgraph.passes import field_laws
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.matrices import ConstantMatrix, MatrixRow
from bondloop.engine.ir.tick import Product
from bondloop.engine.passes.inversion import merged
from bondloop.hybrid import Simulation
from bondloop.integrate import RK4
from bondloop.signals import Sine


def definite(rng, n):
    A = rng.normal(size=(n, n))
    return A @ A.T + n * np.eye(n)


def drawn(seed, n, cubic=False):
    """Return mass, stiffness and damping fields on n velocities, some imposed, some with another mass."""
    rng = np.random.default_rng(seed)
    model = Model("drawn")
    model.v = [One() for _ in range(n)]
    model.mass, model.spring = IField(definite(rng, n)), CField(definite(rng, n))
    damping = rng.normal(size=(n, n))
    model.damper = RField(damping - damping.T + np.diag(rng.uniform(0.5, 2.0, n)))
    model.force = Se("F")
    model.force >> model.v[0]
    for i, v in enumerate(model.v):
        v >> model.mass[i]
        if rng.random() < 0.5:
            v >> model.spring[i]
        else:
            model.spring[i] >> v
        v >> model.damper[i]
        if rng.random() < 0.3:
            v >> I(mass=rng.uniform(0.5, 2.0))
        if cubic:
            v >> C(law=lambda q: q**3)
    if rng.random() < 0.5:
        model.table = Sf("r")
        model.table >> model.v[n - 1]
    return model.compile(outputs=["v[0].flow", "mass[0].effort", "damper[0].effort"])


def both(monkeypatch, build):
    monkeypatch.setattr(field_laws, "FEW_PORTS", 0)
    products = build()
    monkeypatch.setattr(field_laws, "FEW_PORTS", 99)
    return products, build()


def numbers(system, x):
    u, du = [0.7] * len(system.inputs), [-0.4] * len(system.input_rates)
    goals = [*system.rate_exprs, *system.output_exprs.values()]
    return system.function(goals)(x, u, du, list(system.values().values()))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.booleans())
def test_products_and_entries_agree(seed, n, cubic):
    with pytest.MonkeyPatch.context() as patch:
        products, entries = both(patch, lambda: drawn(seed, n, cubic))
    assert any(isinstance(e, MatrixRow) for e in products.definitions.values())
    assert not any(isinstance(e, MatrixRow) for e in entries.definitions.values())
    assert products.states == entries.states
    x = np.random.default_rng(seed).normal(size=len(products.states)).tolist()
    assert numbers(products, x) == pytest.approx(numbers(entries, x), rel=1e-9, abs=1e-9)
    one, two = (s.linearise(x) for s in (products, entries))
    for letter in "ABCDFH":  # rows of E may be combined differently, so rates are compared
        a, b = (getattr(s, letter).toarray() for s in (one, two))
        if letter in "ABF":
            a, b = np.linalg.solve(one.E.toarray(), a), np.linalg.solve(two.E.toarray(), b)
        assert a == pytest.approx(b, rel=1e-8, abs=1e-8)


def test_a_resistor_field_that_takes_efforts_is_solved(monkeypatch):
    def build():
        model = Model("conductances")
        model.v = [One() for _ in range(3)]
        model.field = RField([[2.0, 1.0, 0.0], [-1.0, 3.0, 0.5], [0.0, -0.5, 1.0]])
        model.e = [Se("a"), Se("b"), Se("c")]
        for i in range(3):
            model.e[i] >> model.v[i]
            if i == 1:
                model.field[i] >> model.v[i]
            else:
                model.v[i] >> model.field[i]
        return model.compile(outputs=[f"v[{i}].flow" for i in range(3)])

    products, entries = both(monkeypatch, build)
    assert products.numeric().D.toarray() == pytest.approx(entries.numeric().D.toarray(), rel=1e-12)


def test_the_tick_keeps_products_and_runs_the_same_in_c(monkeypatch):
    products, entries = both(monkeypatch, lambda: drawn(3, 6))
    runs, ticks = [], []
    for system in (products, entries):
        shaken = {u: Sine(amplitude=1.0, frequency=0.7) for u in system.inputs}
        simulation = Simulation({"m": system}, excitation=shaken, rate=500, integrator=RK4())
        ticks.append(simulation.tick)
        runs.append(simulation.run(1.0))
    assert any(isinstance(s, Product) for s in ticks[0].steps)
    for name in ("m.v[0].flow", "m.damper[0].effort"):
        assert runs[0][name] == pytest.approx(runs[1][name], rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("dense", [True, False])
def test_a_large_field_against_its_eigenvalues(dense):
    n, rng = 40, np.random.default_rng(1)
    if dense:
        M, K = definite(rng, n), definite(rng, n)
    else:
        K = np.diag(np.full(n, 2.0)) - np.eye(n, k=1) - np.eye(n, k=-1)
        M = np.diag(rng.uniform(1.0, 2.0, n)) + 0.2 * (np.eye(n, k=1) + np.eye(n, k=-1))
    model = Model("beam")
    model.v = One(size=n)
    given = (M, K) if dense else (sparse.csr_array(M), sparse.csr_array(K))
    model.v >> [IField(given[0]), CField(given[1])]
    system = model.compile(outputs=["v[0].flow"])
    assert not system.parameters  # no parameter an entry
    space = system.numeric()
    assert space.E.toarray()[:n, :n] == pytest.approx(M)  # as it stands
    omega = np.sqrt(linalg.eigh(K, M, eigvals_only=True))
    assert np.sort(space.poles().imag)[n:] == pytest.approx(omega, rel=1e-9)
    x = rng.normal(size=2 * n)
    rates = np.array(system.rates(x.tolist(), [], [], []))
    assert rates[:n] == pytest.approx(-np.linalg.solve(M, K @ x[n:]), rel=1e-9)
    text = str(system.equations())
    assert "IField.mass*d/dt IField[:].flow.state" in text
    assert "CField.stiffness*CField[:].displacement" in text
    assert len(text) < 8000
    assert np.array(system.A, dtype=float) == pytest.approx(
        np.linalg.solve(space.E.toarray(), space.A.toarray()), rel=1e-9, abs=1e-9
    )


def test_letters_stay_letters():
    n = 10
    model = Model("letters")
    model.v = One(size=n)
    k = sp.Symbol("k")
    model.v >> [I(mass=[1.0] * n), CField(k * sp.eye(n))]
    assert list(model.compile().parameters)[-1] == "k"


def test_a_singular_field_that_takes_efforts_is_closed_from_outside(monkeypatch):
    # Ones in every place: rank one, so the field alone cannot say which flows its efforts cause. The dampers
    # beside it can: (D + 1 1^T) f = F, solved by hand.
    def build():
        model = Model("singular")
        model.v = [One() for _ in range(3)]
        model.field = RField(np.ones((3, 3)))
        model.F = [Se("a"), Se("b"), Se("c")]
        for i in range(3):
            model.F[i] >> model.v[i] >> [model.field[i], R(damping=1.0 + i)]
        return model.compile(outputs=[f"v[{i}].flow" for i in range(3)])

    expected = np.linalg.inv(np.diag([1.0, 2.0, 3.0]) + np.ones((3, 3)))
    for system in both(monkeypatch, build):
        assert system.numeric().D.toarray() == pytest.approx(expected, rel=1e-12)


def test_different_rows_are_not_merged():
    x = (Var("x"), Var("y"))
    one, two = (ConstantMatrix(np.full((2, 2), v), "M") for v in (1.0, 2.0))
    targets = [Var(name) for name in "abcd"]
    rows = [MatrixRow(one, 0, x), MatrixRow(one, 1, x), MatrixRow(two, 0, x), MatrixRow(one, 0, x)]
    kept, same = merged(dict(zip(targets, rows, strict=True)), set())
    assert list(kept) == targets[:3]
    assert same == {targets[3]: targets[0]}


def test_the_inverse_of_a_large_field_against_its_frequency_response():
    n, rng = 12, np.random.default_rng(5)
    M, K, R_ = definite(rng, n), definite(rng, n), definite(rng, n)
    model = Model("frame")
    model.v, model.force = One(size=n), Se("F")
    model.v >> [IField(M), CField(K), RField(R_)]
    model.force >> model.v[0]
    system = model.compile(outputs=["v[0].flow"])
    assert any(isinstance(e, MatrixRow) for e in system.definitions.values())
    inverse = system.inverse("v[0].flow", "F")
    w = np.array([0.3, 1.1, 5.0])
    Z = [1j * x * M + R_ + K / (1j * x) for x in w]  # impedance, assembled by hand
    expected = np.array([1 / np.linalg.inv(z)[0, 0] for z in Z])
    response = inverse.frequency_response(w)[:, inverse.outputs.index("F"), :]
    assert set(inverse.inputs) <= {"v[0].flow", "d/dt v[0].flow"}
    powers = [(1j * w) ** int(name.startswith("d/dt ")) for name in inverse.inputs]  # a rate is s times it
    total = sum(response[:, j] * power for j, power in enumerate(powers))
    assert total == pytest.approx(expected, rel=1e-8)
