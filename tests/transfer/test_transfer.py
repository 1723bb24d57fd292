"""Transfer systems: closed forms, ways to give them, and the form in which matrices are inverted."""

import numpy as np
import pytest
import sympy as sp

import control
from bondloop.bondgraph import I, Model, One, Port, Se
from bondloop.engine.system import system_from_matrices
from bondloop.errors import InputError, ModelError, SolveError
from bondloop.transfer import MassSpringDamper, transfer_system
from bondloop.transfer.base import normal_form

OMEGA = np.array([0.3, 2.0, 11.0])


def test_force_drive_is_the_papers_equation_6():
    """Gawthrop 2005, eq. 6: T^-1 = (m_t s^2 + c_t s + k_t)/s, for the command and against the load."""
    m, c, k, s = sp.symbols("m_t c_t k_t s")
    t = transfer_system(MassSpringDamper(m, c, k))
    assert t.system.outputs == ("load.flow",)
    for name, sign in (("u", 1), ("load.effort", -1)):
        assert (
            sp.simplify(t.system.transfer_function("load.flow", name) - sign * s / (m * s**2 + c * s + k))
            == 0
        )


def test_position_drive_is_a_second_order_lag():
    """Figure 11: X/X_d = k_t / (m_t s^2 + c_t s + k_t), so V/X_d has an s above."""
    m, c, k, s = sp.symbols("m_t c_t k_t s")
    t = transfer_system(MassSpringDamper(m, c, k, drive="position"))
    found = t.system.transfer_function("load.flow", t.command.name)
    assert sp.simplify(found - k * s / (m * s**2 + c * s + k)) == 0
    assert transfer_system(MassSpringDamper(1, 1, 1, drive="position")).command.quantity.unit == "m"


def test_initial_velocity_and_units():
    system = transfer_system(MassSpringDamper("2.2 kg", 1, 1, velocity=0.01)).system
    assert dict(zip(system.states, system.initial(), strict=True))["mass.momentum"] == pytest.approx(0.022)
    with pytest.raises(InputError, match="drive must be 'force' or 'position'"):
        MassSpringDamper(1, 1, 1, drive="hydraulic")


def test_a_model_needs_the_port_and_one_command():
    class Deaf(Model):
        def __init__(self):
            self.v, self.out = One(), Port()
            self.v >> [I(mass=1), self.out]

    class Double(Deaf):
        def __init__(self):
            super().__init__()
            self.a, self.b = Se("a"), Se("b")
            [self.a, self.b] >> self.v

    class Portless(Model):
        def __init__(self):
            self.v, self.end = One(), Port()
            self.v >> [I(mass=1), self.end]

    with pytest.raises(ModelError, match="exactly one input, the command; found none"):
        transfer_system(Deaf())
    with pytest.raises(ModelError, match="exactly one input, the command; found a, b"):
        transfer_system(Double())
    with pytest.raises(ModelError, match="no port 'out'; its ports are end"):
        transfer_system(Portless())


def test_equations_need_a_command_a_load_and_a_velocity():
    with pytest.raises(InputError, match="two inputs"):
        transfer_system(control.ss([[-1]], [[1]], [[1]], [[0]]))
    with pytest.raises(InputError, match="continuous-time"):
        transfer_system(control.ss([[0.5]], [[1, 1]], [[1]], [[0, 0]], dt=0.1))
    with pytest.raises(InputError, match="found str"):
        transfer_system("actuator")


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_normal_form_is_the_same_system_with_its_relative_degree_in_plain_sight(degree):
    """In random coordinates the relative degree hides in sums that cancel."""
    rng = np.random.default_rng(degree)
    n = 5
    T = rng.normal(size=(n, n))
    companion = np.vstack([np.eye(n - 1, n, k=1), -np.poly(-1.0 - rng.random(n))[:0:-1]])
    numerator = np.zeros(n)
    numerator[: n - degree + 1] = np.poly(-2.0 - rng.random(n - degree))[::-1]
    b = np.column_stack([np.eye(n)[-1], rng.normal(size=n)])
    A, B, C = T @ companion @ np.linalg.inv(T), T @ b, (numerator @ np.linalg.inv(T))[None, :]
    space = system_from_matrices(A, B, C, np.zeros((1, 2))).numeric()
    found = normal_form(space)
    exact = np.array([C @ np.linalg.solve(1j * w * np.eye(n) - A, B) for w in OMEGA])
    assert found.numeric().frequency_response(OMEGA) == pytest.approx(exact, rel=1e-8)
    matrix = found.numeric().B.toarray()[:, 0]
    assert np.flatnonzero(matrix).tolist() == [degree - 1]


def test_the_normal_form_of_a_direct_path_stays_as_it_is():
    space = system_from_matrices([[-1.0]], [[1.0, 0.0]], [[1.0]], [[2.0, 0.0]]).numeric()
    assert normal_form(space).states == space.states


def test_a_velocity_that_the_command_does_not_reach_has_no_normal_form():
    space = system_from_matrices([[-1, 0], [0, -2]], [[1, 0], [0, 1]], [[0, 1]], [[0, 0]]).numeric()
    with pytest.raises(SolveError, match="no causal path"):
        normal_form(space)
