"""The same matrix is factored once."""

import numpy as np
import pytest
from scipy import sparse

import bondloop.structures.factor as factor_module
from bondloop.structures import Beam, Structure, craig_bampton, modal_reduction, modes
from bondloop.structures.factor import factor


@pytest.fixture
def factored(monkeypatch):
    seen = []
    original = factor_module._factored

    def counted(columns, kind):
        seen.append(columns.shape)
        return original(columns, kind)

    monkeypatch.setattr(factor_module, "_factored", counted)
    factor_module._LAST.clear()
    return seen


@pytest.fixture
def beam():
    s = Structure("beam")
    s.node("root")
    s.node("tip", x=2.0)
    s.line("root", "tip", n=200, element=Beam("root", "tip", E=210e9, A=1e-3, I=1e-7, rho=7850.0))
    s.support("root")
    return s.assemble()


def test_modes_and_their_static_correction_factor_once(beam, factored):
    modes(beam, 4)
    modal_reduction(beam, 6, interface=["tip.uy"])
    assert factored == [(400, 400)]


def test_craig_bampton_factors_what_is_held_once(beam, factored):
    craig_bampton(beam, ["tip.uy", "tip.rz"], 4)
    assert factored == [(398, 398)]


def test_another_matrix_or_another_kind_is_factored_anew(factored):
    one = sparse.csr_array(np.diag([2.0, 4.0, 8.0]))
    for matrix, kind in ((one, "positive"), (2 * one, "positive"), (2 * one, "symmetric"), (one, "positive")):
        assert np.allclose(matrix @ factor(matrix, kind)(np.ones(3)), 1.0)
    assert len(factored) == 4
    factor(one)
    assert len(factored) == 4


def test_a_plate_ordered_by_dissection_is_solved_right():
    m = 40
    line = sparse.diags_array([-np.ones(m - 1), np.full(m, 2.01), -np.ones(m - 1)], offsets=[-1, 0, 1])
    K = sparse.csr_array(sparse.kron(line, sparse.eye_array(m)) + sparse.kron(sparse.eye_array(m), line))
    right = np.random.default_rng(1).normal(size=(m * m, 3))
    assert np.abs(K @ factor(K)(right) - right).max() < 1e-11
    assert np.abs(K @ factor(K)(right[:, 0]) - right[:, 0]).max() < 1e-11
