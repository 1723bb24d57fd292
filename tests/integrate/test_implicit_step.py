"""The implicit step of large systems: against histories by another program, and against full matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.engine.codegen import Runner
from bondloop.engine.ir.matrices import Factored
from bondloop.engine.ir.tick import Product
from bondloop.hybrid.simulation import Simulation
from bondloop.integrate import NewmarkAverage
from bondloop.integrate import newmark as trapezoidal
from bondloop.integrate.structural import (
    AlphaOS,
    CentralDifference,
    ChenRicles,
    HHTAlpha,
    KRAlpha,
    NewmarkExplicit,
    NewmarkImplicit,
    Rosenbrock,
    simulate_structure,
)
from bondloop.integrate.structural import base as scheme_matrices
from bondloop.structures import Frame2D, Matrices, Structure, field_form, time_history

SECTION = {"E": 210e9, "A": 1e-2, "I": 1e-5, "rho": 7850.0}


def frame(storeys: int, bays: int, damped: bool) -> Matrices:
    s = Structure("frame")
    for k in range(storeys + 1):
        for i in range(bays + 1):
            s.node(f"n{k}_{i}", x=5.0 * i, y=3.0 * k)
    for k in range(1, storeys + 1):
        for i in range(bays + 1):
            s.add(Frame2D(f"n{k - 1}_{i}", f"n{k}_{i}", **SECTION))
            if i:
                s.add(Frame2D(f"n{k}_{i - 1}", f"n{k}_{i}", **SECTION))
    for i in range(bays + 1):
        s.support(f"n0_{i}")
    if damped:
        s.rayleigh_from(0.02, 1.0, 0.02, 6.0)
    return s.assemble()


def tick_of(model: Matrices, dof: str):
    system = field_form(model, forces=[dof]).compile(outputs=[f"{dof}.flow"])
    forces = {system.inputs[0]: 1000.0}
    return Simulation({"half": system}, excitation=forces, rate=100.0, integrator=NewmarkAverage()).tick


def factored(tick) -> bool:
    """Whether the states at the end of a step are solved for with factors."""
    found = [s for s in tick.steps if isinstance(s, Product) and isinstance(s.matrix, Factored)]
    return any(v.name.endswith("@next") for s in found for v in s.targets)


@settings(max_examples=4, deadline=None)
@given(st.integers(90, 110), st.just(1), st.booleans())
def test_a_tick_by_factors_is_newmarks_scheme(storeys, bays, damped):
    model = frame(storeys, bays, damped)
    dof = model.dofs[-3]
    tick = tick_of(model, dof)
    assert factored(tick)
    speed = next(v for n, v in Runner(tick).run(41).channels.items() if n.endswith(".flow"))
    expected = time_history(model, {dof: 1000.0}, 0.01, steps=40, outputs=[dof]).velocities[:, 0]
    assert np.abs(speed - expected).max() < 1e-9 * np.abs(expected).max()


def test_small_systems_keep_their_full_matrix():
    model = frame(12, 1, True)
    assert not factored(tick_of(model, model.dofs[-3]))


def test_factors_and_full_matrix_give_one_motion(monkeypatch):
    model = frame(90, 1, True)
    by_factors = tick_of(model, model.dofs[-3])
    monkeypatch.setattr(trapezoidal, "worth_factors", lambda _: False)
    by_matrix = tick_of(model, model.dofs[-3])
    assert factored(by_factors)
    assert not factored(by_matrix)
    one, two = (next(iter(Runner(t, "numpy").run(4).channels.values())) for t in (by_factors, by_matrix))
    assert np.allclose(one, two, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "scheme",
    [
        AlphaOS(-0.1), HHTAlpha(-0.1), KRAlpha(0.7), CentralDifference(),
        *(pytest.param(s, marks=pytest.mark.nightly)
          for s in (NewmarkImplicit(), ChenRicles(), Rosenbrock(), NewmarkExplicit())),
    ],
    ids=lambda s: type(s).__name__,
)  # fmt: skip
def test_schemes_by_factors_move_as_by_inverses(scheme, monkeypatch):
    n, rng = 90, np.random.default_rng(5)
    k = 1e3 * rng.uniform(1.0, 2.0, n + 1)
    K = np.diag(k[:-1] + k[1:]) - np.diag(k[1:-1], 1) - np.diag(k[1:-1], -1)
    M = np.diag(rng.uniform(1.0, 2.0, n)) + 0.1 * (np.eye(n, k=1) + np.eye(n, k=-1))
    C = 0.1 * M + 1e-4 * K

    def motion():
        load = np.zeros((31, n))
        load[:, n // 2] = np.sin(np.arange(31.0))
        return simulate_structure(scheme, M, C, K, period=0.01, steps=30, load=load).displacement

    monkeypatch.setattr(scheme_matrices, "worth_factors", lambda _: True)
    found = motion()
    monkeypatch.setattr(scheme_matrices, "worth_factors", lambda _: False)
    expected = motion()
    assert np.abs(expected).max() > 0
    assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()
