"""H14 of a numerical half: against the matrices of the chain, assembled by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.bondgraph import C, I, Model, One, Sf, Zero
from bondloop.errors import ModelError
from bondloop.papers import gawthrop_two_actuators as two
from bondloop.papers.gawthrop_three_mass import Mass
from bondloop.substructure import numerical_half, reference_model

positive = st.floats(0.1, 50)


def chain(m, c, k):
    whole = Model("chain")
    whole.wall = Sf("r")
    left = whole.wall
    for i, (mass, damping, stiffness) in enumerate(zip(m, c, k, strict=True)):
        part = Mass(mass, damping, C(stiffness=stiffness))
        setattr(whole, f"m{i}", part)
        left >> part.left
        left = part.right
    return whole


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 5).flatmap(
        lambda n: st.tuples(*(st.lists(positive, min_size=n, max_size=n) for _ in range(3)))
    )
)
def test_it_is_the_block_of_the_chain_s_own_matrices(values):
    """M z'' + D z' + K z: mass i hangs on spring i from mass i - 1; the last part is cut off (eq. 17)."""
    m, c, k = (np.array(v) for v in values)
    n = len(m) - 1
    half = numerical_half(chain(m, c, k).cut(f"m{n - 1}.right >> m{n}.left")[0])
    M, D, K = np.diag(m[:n]), np.diag(c[:n]), np.zeros((n, n))
    for i in range(n):
        K[i, i] += k[i]
        if i:
            K[i - 1, i - 1] += k[i]
            K[i - 1, i] -= k[i]
            K[i, i - 1] -= k[i]
    whole = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    which = [n - 1, 2 * n - 1]  # z and its velocity at the interface
    model = reference_model(half)
    np.testing.assert_allclose(model.A, whole[np.ix_(which, which)], rtol=1e-9, atol=1e-12)
    assert model.B.tolist() == [[0.0], [1.0]]


def test_two_interfaces_have_a_block_each():
    """Masses of 2.2 kg, each on 4750 N/m and 6 N s/m, the specimen's springs cut off."""
    A = reference_model(numerical_half(two.model().cut(*two.CUTS)[0])).A
    expected = np.zeros((4, 4))
    expected[:2, 2:] = np.eye(2)
    expected[2:, :2] = -4750 / 2.2 * np.eye(2)
    expected[2:, 2:] = -6 / 2.2 * np.eye(2)
    np.testing.assert_allclose(A, expected, rtol=1e-9)


def test_a_motion_that_is_no_mass_s_own_has_none():
    """Two masses behind one joint: the interface's velocity is the sum of theirs."""
    whole = Model("joint")
    whole.a, whole.b, whole.joint = One(), One(), Zero()
    for v in (whole.a, whole.b):
        v >> [I(mass=1.0), C(stiffness=1.0)]
        v >> whole.joint
    whole.end = Mass(1.0, 0.1, C(stiffness=1.0))
    whole.joint >> whole.end.left
    half = numerical_half(whole.cut("joint >> end.left")[0])
    with pytest.raises(ModelError, match=r"interface 1 depends on .*momentum, .*momentum.*one mass"):
        reference_model(half)
