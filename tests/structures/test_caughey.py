"""Caughey's damping against its definition, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from bondloop.errors import InputError
from bondloop.structures import Matrices, ShearBuilding, caughey, modes


@settings(max_examples=40, deadline=None)
@given(
    masses=st.lists(st.floats(500, 2000), min_size=4, max_size=7), k=st.floats(1e5, 1e7),
    count=st.sampled_from([2, 4]),
    zeta=st.floats(0.01, 0.1),
)  # fmt: skip
def test_ratios_are_what_was_asked_for(masses, k, count, zeta):
    """The ratio of a mode is ζ where it was given: every mode's if there are as many."""
    m = ShearBuilding(masses, [k] * len(masses)).assemble()
    f = modes(m, len(masses)).frequencies
    chosen = f[np.linspace(0, len(f) - 1, count).round().astype(int)]
    damped = caughey(m, dict.fromkeys(chosen.tolist(), zeta))
    found = modes(damped, len(masses))
    at = [int(np.argmin(abs(found.frequencies - x))) for x in chosen]
    np.testing.assert_allclose(found.damping_ratios[at], zeta, rtol=1e-6)
    # The definition itself, with full matrices: C = M Σ a_b (M⁻¹K)^b.
    w = 2 * np.pi * chosen
    a = np.linalg.solve(
        np.array([[x ** (2 * b - 1) / 2 for b in range(count)] for x in w]), np.full(count, zeta)
    )
    M, K = m.M.toarray(), m.K.toarray()
    C = sum(c * M @ np.linalg.matrix_power(np.linalg.solve(M, K), b) for b, c in enumerate(a))
    np.testing.assert_allclose(damped.C.toarray(), C, rtol=1e-5, atol=1e-6 * np.abs(C).max())


def test_two_frequencies_are_rayleighs_and_large_structures_stay_sparse():
    n = 20_000
    chain = sparse.diags_array(
        [np.full(n, 2e7), np.full(n - 1, -1e7), np.full(n - 1, -1e7)], offsets=[0, 1, -1]
    )
    m = Matrices(1000.0 * sparse.eye_array(n), None, chain, tuple(f"n{i}.ux" for i in range(n)))
    top = 2 * np.sqrt(1e7 / 1000.0) / (2 * np.pi)  # Hz, the highest of a long chain
    damped = caughey(m, {2.0: 0.05, 8.0: 0.05, 18.0: 0.05, f"{top} Hz": 0.05})
    assert damped.C.nnz < 8 * n  # three neighbours on either side
    two = caughey(m, {1.0: 0.05, 5.0: 0.05}).C
    alpha, beta = 2 * 0.05 * 2 * np.pi * 5 / 6, 2 * 0.05 / (2 * np.pi * 6)  # 2ζ ω₁ω₂/(ω₁+ω₂), 2ζ/(ω₁+ω₂)
    assert abs(two - alpha * m.M - beta * m.K).max() < 1e-9 * abs(two).max()


def test_what_would_drive_modes_or_fill_up_is_refused():
    m = ShearBuilding([1.0] * 6, [1000.0] * 6).assemble()
    f = modes(m, 6).frequencies
    with pytest.raises(InputError, match="negative at"):
        caughey(m, {f[0]: 0.05, f[1]: 0.05, f[2]: 0.05})
    with pytest.raises(InputError, match="negative at"):
        caughey(m, {f[0]: 0.0, f[1]: 0.5, f[2]: 0.0, f[3]: 0.5})
    for wrong in (
        {1.0: 0.05},
        dict.fromkeys([1.0, 2, 3, 4, 5], 0.05),
        {1.0: -0.1, 2.0: 0.1},
        {-1.0: 0.1, 2.0: 0.1},
        0.05,
    ):
        with pytest.raises(InputError, match=r"caughey\(ratios\)"):
            caughey(m, wrong)
    coupled = Matrices(
        m.M + 0.1 * sparse.eye_array(6, k=1) + 0.1 * sparse.eye_array(6, k=-1), None, m.K, m.dofs
    )
    with pytest.raises(InputError, match="lumped"):
        caughey(coupled, {1.0: 0.05, 2.0: 0.05})
