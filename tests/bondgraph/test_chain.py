"""Chains of masses: the paper's matrices, and M, C, K put together independently with NumPy."""

import numpy as np
import pytest
import sympy as sp

from bondloop.bondgraph import C, Model, Sf


@pytest.fixture
def three_mass(mass):
    symbols = {name: sp.Symbol(name) for name in ["m1", "m2", "m3", "c1", "c2", "c3", "k1", "k2", "k3"]}
    model = Model("three_mass")
    model.wall = Sf("r")
    for i in (1, 2, 3):
        spring = C(stiffness=symbols[f"k{i}"])
        setattr(model, f"m{i}", mass(m=symbols[f"m{i}"], c=symbols[f"c{i}"], spring=spring))
    model.wall >> model.m1.left
    model.m1.right >> model.m2.left
    model.m2.right >> model.m3.left
    return model


def test_symbolic_matrices_of_gawthrop_2005(three_mass):
    # Gawthrop 2005, section 2: springs join neighbours, dampers go to ground (A(2,2) = -c1/m1), r is the
    # wall's velocity: dq_i/dt = p_(i-1)/m_(i-1) - p_i/m_i, dp_i/dt = k_i q_i - c_i p_i/m_i - k_(i+1) q_(i+1).
    m1, m2, m3, c1, c2, c3, k1, k2, k3 = sp.symbols("m1 m2 m3 c1 c2 c3 k1 k2 k3")
    system = three_mass.compile()
    assert system.states == (
        "m1.C.displacement", "m1.I.momentum", "m2.C.displacement", "m2.I.momentum", "m3.C.displacement",
        "m3.I.momentum",
    )  # fmt: skip
    assert (
        sp.Matrix(
            [
                [0, -1 / m1, 0, 0, 0, 0],
                [k1, -c1 / m1, -k2, 0, 0, 0],
                [0, 1 / m1, 0, -1 / m2, 0, 0],
                [0, 0, k2, -c2 / m2, -k3, 0],
                [0, 0, 0, 1 / m2, 0, -1 / m3],
                [0, 0, 0, 0, k3, -c3 / m3],
            ]
        )
        == system.A
    )
    assert sp.Matrix([1, 0, 0, 0, 0, 0]) == system.B


def test_numerical_half_of_equation_7(mass):
    # Equation (7) restricted to masses 1 and 2, the force of the physical half at the free end of mass 2 left
    # out.
    m1, m2, c1, c2, k1, k2 = sp.symbols("m1 m2 c1 c2 k1 k2")
    model = Model("numerical")
    model.wall = Sf("r")
    model.m1 = mass(m=m1, c=c1, spring=C(stiffness=k1))
    model.m2 = mass(m=m2, c=c2, spring=C(stiffness=k2))
    model.wall >> model.m1.left
    model.m1.right >> model.m2.left
    system = model.compile()
    expected = sp.Matrix(
        [[0, -1 / m1, 0, 0], [k1, -c1 / m1, -k2, 0], [0, 1 / m1, 0, -1 / m2], [0, 0, k2, -c2 / m2]]
    )
    assert expected == system.A
    assert sp.Matrix([1, 0, 0, 0]) == system.B


def second_order(masses, dampings, stiffnesses):
    """M, C, K of a chain hung on a moving wall, by the direct stiffness method."""
    n = len(masses)
    M, C, K = np.diag(masses), np.diag(dampings), np.zeros((n, n))
    for i, k in enumerate(stiffnesses):
        K[i, i] += k
        if i:
            K[i - 1, i - 1] += k
            K[i - 1, i] -= k
            K[i, i - 1] -= k
    return M, C, K


@pytest.mark.parametrize("n", range(2, 7))
def test_chain_against_mass_damping_stiffness(chain, n):
    rng = np.random.default_rng(n)
    m, c, k = rng.uniform(0.5, 2, n), rng.uniform(0.01, 0.5, n), rng.uniform(1, 100, n)
    M, D, K = second_order(m, c, k)
    space = chain(m.tolist(), c.tolist(), k.tolist()).compile(outputs=[f"cell[{n - 1}].v.flow"]).numeric()
    # Poles: roots of det(M s^2 + D s + K).
    companion = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    expected = np.linalg.eigvals(companion)
    found = space.poles()
    for pole in expected:
        assert np.abs(found - pole).min() < 1e-9 * abs(pole)
    # Frequency response from the wall's velocity r: force k1 r/s on mass 1, velocity s x_n.
    for w in (0.3, 2.0, 17.0):
        s = 1j * w
        force = np.zeros(n, dtype=complex)
        force[0] = k[0] / s
        x = np.linalg.solve(M * s**2 + D * s + K, force)
        assert space.frequency_response([w])[0, 0, 0] == pytest.approx(s * x[-1], rel=1e-10)


@pytest.mark.parametrize("n", range(2, 7))
def test_symbolic_and_numeric_matrices_agree_with_the_change_of_variables(chain, n):
    m, c, k = ([sp.Symbol(f"{letter}{i}") for i in range(n)] for letter in "mck")
    system = chain(m, c, k).compile()
    # States q_i = u_(i-1) - u_i, p_i = m_i v_i. In matrix form: dq/dt = -G v, dp/dt = G' K_s q - C v.
    G = sp.Matrix(n, n, lambda i, j: int(i == j) - int(j == i - 1))
    order = [x for i in range(n) for x in (i, n + i)]
    inverse_mass = sp.diag(*[1 / x for x in m])
    A = sp.Matrix(
        sp.BlockMatrix([[sp.zeros(n), -G * inverse_mass], [G.T * sp.diag(*k), -sp.diag(*c) * inverse_mass]])
    )
    assert sp.simplify(system.A - A.extract(order, order)) == sp.zeros(2 * n)
    values = {str(x): 1.0 + 0.3 * i for i, x in enumerate([*m, *c, *k])}
    numeric = system.numeric(values)
    assert np.array(system.A.subs(values), dtype=float) == pytest.approx(numeric.A.toarray(), rel=1e-14)
    assert numeric.E.toarray() == pytest.approx(np.eye(2 * n))
    assert numeric.B.toarray()[:, 0].tolist() == [1.0] + [0.0] * (2 * n - 1)
