"""Inverting a coupled plant: two commands that both move both outputs."""

import numpy as np
import pytest

from bondloop.engine.ir.system_data import Interface, Program
from bondloop.engine.passes.inversion import invert
from bondloop.engine.system import System, system_from_matrices
from bondloop.errors import SolveError

A = np.array([[-1.0, 2.0, 0.5], [-3.0, -2.0, 0.0], [0.3, 0.0, -4.0]])
B = np.array([[1.0, 0.4], [0.5, -2.0], [0.7, 0.1]])
C = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.2]])


def imposing():
    """Two velocities, each a filtered force: one storage between force and velocity."""
    return system_from_matrices(
        -np.diag([2.0, 3.0]), np.eye(2), np.eye(2), np.zeros((2, 2)),
        states=["m[0]", "m[1]"], inputs=["F[0]", "F[1]"], outputs=["v[0]", "v[1]"],
    )  # fmt: skip


def test_both_outputs_follow_at_every_frequency():
    plant, given = system_from_matrices(A, B, C, np.zeros((2, 2))), imposing()
    found = invert(
        plant,
        plant.input_vars,
        list(plant.output_exprs.values()),
        list(given.output_exprs.values()),
        given,
        {},
    )
    assert found.order == (1, 1)
    assert len(found.states) == 2 + 1, (
        "the zero dynamics of a plant with three states and two relative degrees"
    )
    commands = System(
        "commands",
        Interface(
            found.states,
            given.input_vars,
            {u.name: u for u in plant.input_vars},
            {**given.parameters_by_var, **plant.parameters_by_var},
        ),
        Program(found.definitions),
    )
    omega = np.array([0.1, 1.0, 10.0])
    wanted = given.numeric().frequency_response(omega)
    u = commands.linearise().frequency_response(omega)
    moved = np.array([C @ np.linalg.solve(1j * w * np.eye(3) - A, B) @ u[i] for i, w in enumerate(omega)])
    assert moved == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_more_commands_than_outputs_are_refused():
    plant, given = system_from_matrices(A, B, C[:1], np.zeros((1, 2))), imposing()
    with pytest.raises(SolveError, match=r"more commands than outputs; u\[1\] is left over"):
        invert(
            plant,
            plant.input_vars,
            list(plant.output_exprs.values()),
            list(given.output_exprs.values())[:1],
            given,
            {},
        )
