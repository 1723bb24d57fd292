"""Transfer systems: the actuator between computer and specimen.

A transfer system is any model with a port ``out`` to which the specimen is attached and one input, the
command; or a linear system with inputs (command, load) and the velocity as output.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

from bondloop.bondgraph import Model, bond, name_or_kind
from bondloop.bondgraph.elements import SS
from bondloop.display import brief
from bondloop.engine import System, system_from_matrices
from bondloop.engine.data import POSITIVE, Family, alias
from bondloop.engine.ir import StateSpace
from bondloop.engine.passes import prefixed
from bondloop.errors import ForceOutputError, InputError, ModelError, SolveError, unknown_name
from bondloop.transfer.tolerances import NEGLIGIBLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir import Expr, Var


TransferSystem: TypeAlias = Annotated[Any, Family("transfer")]
"""A `Model`, a `System`, a `StateSpace` or a python-control system; descriptions name it by its family."""
alias("TransferSystem", TransferSystem)

OUT = "out"
"""Name of the port to which the specimen is attached."""


CAPACITIES = {"displacement": ("m", "rad"), "velocity": ("m/s", "rad/s"), "force": ("N", "N m")}
"""What a transfer system may say that it can do at most, with what each measures."""


def capacity_of(actuator: object) -> dict[str, float]:
    """Return what a transfer system says that it can do at most, in SI.

    Parameters
    ----------
    actuator
        Its ``capacity`` has numbers or texts with units for ``"displacement"``, ``"velocity"``, ``"force"``.

    Examples
    --------
    >>> class Screw:
    ...     capacity = {"velocity": "300 mm/s"}
    >>> capacity_of(Screw()), capacity_of(None)
    ({'velocity': 0.3}, {})
    """
    given: object = getattr(actuator, "capacity", {})
    where = f"{type(actuator).__name__}.capacity"
    if not isinstance(given, Mapping):
        raise InputError(f"{where}: expected a dictionary, {{'velocity': 0.3}}; found {given!r:.60}")
    for word in given:
        if word not in CAPACITIES:
            raise InputError(unknown_name("capacity", str(word), CAPACITIES, where=where))
    return {
        word: most if most == math.inf else POSITIVE.check(most, f"{where}['{word}']", *CAPACITIES[word])
        for word, most in given.items()
    }


@dataclass(frozen=True)
class Transfer:
    """A transfer system ready for analysis.

    Attributes
    ----------
    system
        Its equations, with the specimen's force as an input.
    command
        The input that the computer gives.
    load
        The input for the force that the specimen takes from it, in newtons.
    velocity
        The velocity of its output, in m/s.
    """

    system: System
    command: Var
    load: Var
    velocity: Expr

    __repr__ = brief


@dataclass(frozen=True)
class ForceOutput:
    """A transfer system that gives a force at its port: the velocity there is an input.

    Attributes
    ----------
    system
        Its equations, with the velocity of the port as an input.
    command
        The input that the computer gives.
    velocity
        The input for the velocity of its port, in m/s.
    force
        The force that it gives to the specimen, in newtons.
    """

    system: System
    command: Var
    velocity: Var
    force: Expr

    def responses(self, omega: float) -> tuple[complex, complex]:
        """Return force per command and force per displacement at an angular frequency in rad/s."""
        space = self.system.linearise()
        row = space.frequency_response([omega])[0, 0]
        by_command, by_velocity = (row[space.inputs.index(u.name)] for u in (self.command, self.velocity))
        return complex(by_command), complex(by_velocity) * 1j * omega


def transfer_system(given: TransferSystem, prefix: str = "", *, to_invert: bool = False) -> Transfer:
    """Return the equations of a transfer system given as a model, a system, or a state space.

    Parameters
    ----------
    given
        A model with a port ``out``; or a `System`, a `StateSpace` or a python-control system with the inputs
        (command, load) and the velocity as its only output.
    prefix
        Put before all its names.
    to_invert
        Write one given by matrices in the coordinates in which it can be inverted.

    Raises
    ------
    ForceOutputError
        Where a model gives a force at its port and takes the velocity; see `force_output`.
    """
    if isinstance(given, Model):
        return _from_model(given, prefix)
    if to_invert and not isinstance(given, System):
        space = _state_space(given)
        _check_channels(space.inputs, space.outputs)
        system = normal_form(space)
    else:
        system = as_system(given)
    _check_channels(system.inputs, system.outputs)
    system = prefixed(system, prefix)
    command, load = system.input_vars
    return Transfer(system, command, load, next(iter(system.output_exprs.values())))


def as_system(given: TransferSystem) -> System:
    """Return a transfer system that is given as equations or matrices as a system."""
    return given if isinstance(given, System) else System.from_state_space(_state_space(given), "transfer")


def _state_space(given: TransferSystem) -> StateSpace:
    if isinstance(given, StateSpace):
        if given.dt:
            raise InputError(
                f"expected a transfer system in continuous time; found a sample period of {given.dt} s"
            )
        return given
    if type(given).__module__.partition(".")[0] == "control":
        return System.from_control(given).numeric()
    raise InputError(
        "expected a transfer system as a Model, System, StateSpace or python-control system; "
        f"found {type(given).__name__}"
    )


def _check_channels(inputs: Sequence[str], outputs: Sequence[str]) -> None:
    if len(inputs) != 2 or len(outputs) != 1:
        raise InputError(
            "a transfer system needs two inputs (command, load) and one output (velocity); "
            f"found inputs {list(inputs)} and outputs {list(outputs)}"
        )


def force_output(model: Model, prefix: str = "") -> ForceOutput:
    """Return the equations of a transfer system with the velocity of its port imposed.

    For one without a mass at its port: a spring pulled at its far end, a drive that is a pure force.

    Parameters
    ----------
    model
        A model with a port ``out``.
    prefix
        Put before all its names.
    """
    system, command, velocity, force = _loaded(model, prefix, "flow")
    return ForceOutput(system, command, velocity, force)


def _from_model(model: Model, prefix: str) -> Transfer:
    try:
        system, command, load, velocity = _loaded(model, prefix, "effort")
    except ModelError as error:
        # Either the model is wrong as it stands, or it only refuses to be given a force.
        try:
            force_output(model)
        except ModelError:
            raise error from None
        raise _no_motion(model) from error
    if load in system.input_rates:
        raise _no_motion(model)
    return Transfer(system, command, load, velocity)


def _loaded(model: Model, prefix: str, imposes: str) -> tuple[System, Var, Var, Expr]:
    """Compile a model with an effort or a flow imposed at its port: system, command, imposed, answer."""
    if OUT not in model.ports:
        raise ModelError(
            f"the transfer system {name_or_kind(model)} has no port '{OUT}'; its ports are "
            f"{', '.join(model.ports) or 'none'}"
        )
    answer = "flow" if imposes == "effort" else "effort"
    alone = model.copy()
    alone.load = SS(imposes)
    bond(alone.out, alone.load)
    system = prefixed(alone.compile([f"load.{answer}"]), prefix)
    load = next(u for u in system.input_vars if u.name == f"{prefix}load.{imposes}")
    commands = [u for u in system.input_vars if u is not load]
    if len(commands) != 1:
        raise ModelError(
            f"the transfer system {name_or_kind(model)} must have exactly one input, the "
            f"command; found {', '.join(u.name for u in commands) or 'none'}"
        )
    return system, commands[0], load, system.output_exprs[f"{prefix}load.{answer}"]


def _no_motion(model: Model) -> ForceOutputError:
    return ForceOutputError(
        f"the transfer system {name_or_kind(model)} gives a force at its port '{OUT}' and takes the velocity "
        "there: without a mass or a damper between its drive and the port it has no motion of its own, so no "
        "poles, zeros or lag; controllers that need only where it comes to rest (Direct, compensators) or "
        "its inverse (VirtualJunction) can use it, for anything else give it the mass that moves with it "
        "(rod, load cell, clevis)"
    )


def normal_form(space: StateSpace, command: int = 0) -> System:
    """Return the same input-output behaviour with the output and its rates as states.

    With the relative degree r of the channel from the command, the states are z_k = c A^k x for k < r, a
    chain of integrators at whose end the command enters, and further ones that the command does not move at
    once: the zero dynamics (Byrnes-Isidori form; Isidori 1995, section 4.1). Any other coordinates hide the
    relative degree in sums that cancel.

    Parameters
    ----------
    space
        One output; inputs (command, load).
    command
        Column of the command.
    """
    s = space.explicit()
    A, B, C, D = (np.asarray(M.toarray(), dtype=float) for M in (s.A, s.B, s.C, s.D))
    if D[0, command] != 0.0:
        return _system(A, B, C, D, list(s.states), s)
    n, b = len(A), B[:, command]
    rows = [C[0]]
    while abs(rows[-1] @ b) <= NEGLIGIBLE * np.linalg.norm(rows[-1]) * np.linalg.norm(b):
        if len(rows) >= n:
            raise SolveError(
                "the transfer system cannot be inverted: no causal path leads from its command "
                f"'{s.inputs[command]}' to its velocity '{s.outputs[0]}'"
            )
        rows.append(rows[-1] @ A)
    r = len(rows)
    # Rows that annihilate b and complete the chain: the complement of b and of the chain's first r - 1.
    spanned = np.column_stack([b, *rows[:-1]])
    rest = (
        np.linalg.svd(spanned, full_matrices=True)[0][:, spanned.shape[1] :].T if n > r else np.zeros((0, n))
    )
    T = np.vstack([*rows, rest])
    inverse = np.linalg.inv(T)
    A, B, C = T @ A @ inverse, T @ B, C @ inverse
    A[: r - 1], C[:] = np.eye(r - 1, n, k=1), np.eye(1, n)
    B[: r - 1, command] = 0.0
    B[r:, command] = 0.0
    B[np.abs(B) <= NEGLIGIBLE * np.abs(B).max(axis=0, initial=0.0)] = 0.0
    names = [f"output_rate[{k}]" for k in range(r)] + [f"zero_dynamics[{k}]" for k in range(n - r)]
    return _system(A, B, C, D, names, s)


def _system(
    A: NDArray[np.float64],
    B: NDArray[np.float64],
    C: NDArray[np.float64],
    D: NDArray[np.float64],
    states: list[str],
    space: StateSpace,
) -> System:
    return system_from_matrices(
        A, B, C, D, states=states, inputs=list(space.inputs), outputs=list(space.outputs), name="transfer"
    )
