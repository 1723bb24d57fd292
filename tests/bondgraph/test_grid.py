"""Grids of masses and springs, compiled, against matrices made of Kronecker products."""

import numpy as np
import pytest
import scipy.sparse as sp

from bondloop.bondgraph import C, I, Model, One, R, Se, Zero
from bondloop.engine.codegen import Runner, tolerances
from bondloop.engine.codegen.toolchain import compiler
from bondloop.hybrid.simulation import Simulation

RATE, STEPS = 1000.0, 60
"""Steps a second, and steps."""


def grid(n, mass, stiffness, damping=None):
    """n by n masses; springs first along each row, then across the rows, with a damper each if given."""
    model = Model("grid")
    model.v = [One() for _ in range(n * n)]
    model.force = Se("F")
    model.force >> model.v[0]
    for i, m in enumerate(mass):
        model.v[i] >> I(mass=m)
    row = [(r * n + c, r * n + c + 1) for r in range(n) for c in range(n - 1)]
    across = [(r * n + c, (r + 1) * n + c) for r in range(n - 1) for c in range(n)]
    for k, (a, b) in enumerate(row + across):
        between = Zero()
        model.v[a] >> between >> model.v[b]
        if damping is None:
            between >> C(stiffness=stiffness[k])
        else:
            both = One()
            between >> both
            both >> [C(stiffness=stiffness[k]), R(damping=damping[k])]
    return model


def incidence(n):
    """What each spring is stretched by: the displacement of its first end less that of its second."""
    D = sp.diags([np.ones(n - 1), -np.ones(n - 1)], [0, 1], shape=(n - 1, n))
    return sp.vstack([sp.kron(sp.eye(n), D), sp.kron(D, sp.eye(n))]).tocsr()


def motion(n, mass, stiffness, damping, force):
    """Velocities at every step by Runge-Kutta on M u'' + B^T C B u' + B^T K B u = F."""
    B = incidence(n)
    K, D = B.T @ sp.diags(stiffness) @ B, B.T @ sp.diags(damping) @ B
    load = np.zeros(n * n)
    load[0] = force

    def rate(x):
        u, v = x
        return np.array([v, (load - K @ u - D @ v) / mass])

    x, h, velocities = np.zeros((2, n * n)), 1 / RATE, []
    for _ in range(STEPS):
        velocities.append(x[1])
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        k4 = rate(x + h * k3)
        x = x + h / 6 * (k1 + 2 * (k2 + k3) + k4)
    return np.array(velocities)


@pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")
@pytest.mark.parametrize(("n", "damped"), [(3, False), (9, False), (12, False), (8, True)])
def test_a_compiled_grid_moves_as_its_matrices_do(n, damped, monkeypatch):
    monkeypatch.setattr(tolerances, "GROUPED_FROM", 100)
    rng = np.random.default_rng(n)
    springs = 2 * n * (n - 1)
    mass, stiffness = rng.uniform(0.5, 2, n * n), rng.uniform(500, 5000, springs)
    damping = rng.uniform(1, 30, springs) if damped else None
    model = grid(n, mass, stiffness, damping)
    outputs = [f"v[{i}].flow" for i in range(n * n)]
    simulation = Simulation({"grid": model.compile(outputs=outputs)}, excitation={"F": 3.0}, rate=RATE)
    result = Runner(simulation.tick, "c").run(STEPS)
    assert result.finished
    ours = np.array([result.channels[f"grid.{name}"] for name in outputs]).T
    theirs = motion(n, mass, stiffness, damping if damped else np.zeros(springs), 3.0)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13 * np.abs(theirs).max())


@pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")
def test_every_parameter_of_a_grid_is_set_without_compiling_anew(monkeypatch):
    monkeypatch.setattr(tolerances, "GROUPED_FROM", 100)
    n = 9
    rng = np.random.default_rng(5)
    springs = 2 * n * (n - 1)
    model = grid(n, np.ones(n * n), np.full(springs, 1000.0))
    system = model.compile(outputs=["v[80].flow"])
    simulation = Simulation({"grid": system}, excitation={"F": 3.0}, rate=RATE)
    stiffness = rng.uniform(500, 5000, springs)
    names = [p for p in simulation.tick.parameters if p.name.endswith("stiffness")]
    assert len(names) == springs
    changed = {p.name: float(k) for p, k in zip(names, stiffness, strict=True)}
    result = Runner(simulation.tick, "c").run(STEPS, parameters=changed)
    theirs = motion(n, np.ones(n * n), stiffness, np.zeros(springs), 3.0)[:, 80]
    np.testing.assert_allclose(
        result.channels["grid.v[80].flow"], theirs, rtol=0, atol=1e-13 * np.abs(theirs).max()
    )
