"""The modal form is the structure, as far as its modes go."""

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.structures import Matrices, field_form, modal_form, modal_system, modes

M = np.diag([1.0, 2.0, 1.5])
K = np.array([[50.0, -20, 0], [-20, 45, -25], [0, -25, 25]])
CHAIN = Matrices(M, 0.1 * M + 2e-3 * K, K, ("a.ux", "b.ux", "c.ux"))
OMEGA = np.array([0.5, 2.0, 4.5, 9.0])


def test_all_modes_are_the_structure():
    """With all modes the mobility equals that of the field form: M, C, K themselves."""
    ours = modal_form(modes(CHAIN, 3), forces=["a.ux"]).compile(["c.ux.flow"])
    theirs = field_form(CHAIN, forces=["a.ux"]).compile(["c.ux.flow"])
    np.testing.assert_allclose(
        ours.frequency_response(OMEGA), theirs.frequency_response(OMEGA), rtol=1e-9, atol=1e-12
    )


def test_some_modes_are_the_sum_of_their_transfer_functions():
    """Mobility s sum of Phi_ji Phi_ki H_i(s), du Bois 2010, equation 14."""
    few = modes(CHAIN, 2)
    ours = modal_form(few, ["b.ux"], forces=["b.ux"]).compile(["b.ux.flow"])
    assert len(ours.states) == 4
    s = 1j * OMEGA[:, None]
    H = 1 / (s**2 + few.damping * s + few.omega**2)
    expected = (s * H * few.shapes[1] ** 2).sum(axis=1)
    np.testing.assert_allclose(ours.frequency_response(OMEGA)[:, 0, 0], expected, rtol=1e-9)
    system = modal_system(few, inputs=["b.ux"], outputs=["d/dt b.ux"])
    np.testing.assert_allclose(system.frequency_response(OMEGA)[:, 0, 0], expected, rtol=1e-9)


def test_an_unknown_degree_of_freedom_is_refused():
    with pytest.raises(InputError, match=r"no degree of freedom d\.ux"):
        modal_form(modes(CHAIN, 2), ["d.ux"])
