"""Figures 1 to 3 of Gawthrop 2005 as bond graphs: they compile to equations (6) to (10)."""

import gawthrop_graphs as graphs
import numpy as np
import pytest
import sympy as sp

from bondloop.control import VirtualJunction
from bondloop.papers import gawthrop_three_mass as three
from bondloop.transfer import MassSpringDamper

NAMES = ("m1", "m2", "c1", "c2", "k1", "k2", "m_t", "c_t", "k_t")


def test_the_virtual_junction_is_equation_6():
    """F_T = F_P + (c_t s + k_t + m_t s^2)/s V_N, with the rate of v_N as an input of its own."""
    letters = {n: sp.Symbol(n) for n in graphs.TRANSFER}
    system = graphs.virtual_junction(letters).compile()
    assert system.dependent == ("tra.mass",)
    assert system.inputs == ("N.flow", "N.effort", "d/dt N.flow")
    A, B, C, D = (sp.Matrix(X) for X in (system.A, system.B, system.C, system.D))
    row = system.outputs.index("tra.T.effort")
    s, m, c, k = sp.Symbol("s"), *letters.values()
    response = C[row, :] * (s * sp.eye(1) - A).inv() * B + D[row, :]
    assert sp.simplify(response[0] + s * response[2] - (c * s + k + m * s**2) / s) == 0
    assert response[1] == 1


def test_the_augmented_numerical_half_is_equations_7_to_10():
    m1, m2, c1, c2, k1, k2, m_t, c_t, k_t = sp.symbols(NAMES)
    system = graphs.augmented_numerical(dict(zip(NAMES, sp.symbols(NAMES), strict=True))).compile()
    columns = [system.inputs.index(name) for name in ("F_P", "r")]
    row = system.outputs.index("tra.T.effort")
    B = sp.Matrix(system.B)[:, columns]
    C, D = sp.Matrix(system.C)[row, :], sp.Matrix(system.D)[row, columns]
    A = sp.Matrix([
        [0, -1 / m1, 0, 0, 0], [k1, -c1 / m1, -k2, 0, 0], [0, 1 / m1, 0, -1 / m2, 0],
        [0, 0, k2, -c2 / m2, 0], [0, 0, 0, 1 / m2, 0],
    ])  # fmt: skip
    assert sp.simplify(sp.Matrix(system.A) - A).is_zero_matrix
    assert sp.Matrix([[0, 1], [0, 0], [0, 0], [-1, 0], [0, 0]]) == B
    assert sp.simplify(
        C - sp.Matrix([[0, 0, k2 * m_t / m2, (c_t * m2 - c2 * m_t) / m2**2, k_t]])
    ) == sp.zeros(1, 5)
    assert sp.simplify(D[0] - (m2 - m_t) / m2) == 0
    assert D[1] == 0


def test_the_graph_is_what_the_controller_runs():
    """The bicausal graph and the controller's own inversion, at frequencies, with the numbers of figure 7."""
    numerical, _ = three.model("hardening").cut(three.CUT)
    ours = VirtualJunction(MassSpringDamper(*graphs.TRANSFER.values())).augment(numerical)
    graph = graphs.augmented_numerical().compile()
    at = np.array([0.1, 1.0, 7.0])
    a = ours.frequency_response(at)[:, 0]
    row = graph.outputs.index("tra.T.effort")
    b = graph.frequency_response(at)[:, row][:, [graph.inputs.index(n) for n in ("F_P", "r")]]
    assert a == pytest.approx(b, rel=1e-9)


def test_the_augmented_physical_half_measures_the_force_of_the_cut():
    system = graphs.augmented_physical().compile(outputs=["F_P"])
    assert system.inputs == ("F_T",)
    assert len(system.states) == 4


def test_the_cut_chain_is_the_chain():
    whole, parts = three.model().compile(), graphs.substructured().compile()
    assert len(whole.states) == len(parts.states)
    assert np.sort(whole.linearise().poles()) == pytest.approx(np.sort(parts.linearise().poles()))
