"""Transfer systems: the actuator between computer and specimen, one or several that move each other.

A transfer system is any model with a port ``out`` to which the specimen is attached and one input, the
command; or a linear system with inputs (command, load) and the velocity as output. A coupled one has ports
``out[0]``, ``out[1]``, ... and as many commands; each command moves all ports.
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
from bondloop.units import is_of_kind

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
    """A transfer system with one port or several, ready for analysis.

    Attributes
    ----------
    system
        Its equations, with the specimen's forces as inputs.
    commands
        The inputs that the computer gives.
    loads
        The inputs for the forces that the specimen takes from it, in newtons, as many.
    velocities
        The velocities of its ports, in m/s, as many.
    """

    system: System
    commands: tuple[Var, ...]
    loads: tuple[Var, ...]
    velocities: tuple[Expr, ...]

    __repr__ = brief

    @property
    def command(self) -> Var:
        """The first command."""
        return self.commands[0]

    @property
    def load(self) -> Var:
        """The first load."""
        return self.loads[0]

    @property
    def velocity(self) -> Expr:
        """The velocity of the first port."""
        return self.velocities[0]


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
    return Transfer(system, (command,), (load,), tuple(system.output_exprs.values()))


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
    return Transfer(system, (command,), (load,), (velocity,))


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


def out_ports(model: Model) -> list[str]:
    """Return the names of the ports for the specimen: ``out``, or ``out[0]``, ``out[1]``, ..."""
    names = list(model.ports)
    several: list[str] = []
    while f"{OUT}[{len(several)}]" in names:
        several.append(f"{OUT}[{len(several)}]")
    return [OUT] if OUT in names else several


def width(given: TransferSystem) -> int:
    """Return at how many interfaces a transfer system stands.

    Parameters
    ----------
    given
        As `coupled_transfer` takes it.

    Examples
    --------
    >>> from bondloop.transfer import MassSpringDamper, ProcessMatrix, first_order
    >>> strong, weak = first_order(1.0, "10 ms"), first_order(0.1, "10 ms")
    >>> width(MassSpringDamper(1, 1, 1)), width(ProcessMatrix(((strong, weak), (weak, strong))).actuator())
    (1, 2)
    """
    if isinstance(given, Model):
        ports = out_ports(given)
        if not ports:
            raise ModelError(
                f"the transfer system {name_or_kind(given)} has no port '{OUT}' (or "
                f"'{OUT}[0]', '{OUT}[1]', ...); its ports are {', '.join(given.ports) or 'none'}"
            )
        return len(ports)
    if isinstance(given, (System, StateSpace)):
        return max(1, len(given.outputs))
    return int(getattr(given, "noutputs", None) or 1)  # python-control's word


def coupled_transfer(given: TransferSystem, prefix: str = "") -> Transfer:
    """Return the equations of a transfer system with one port or several.

    Parameters
    ----------
    given
        A model with the ports ``out[0]``, ``out[1]``, ... and as many inputs; or a `System`, a `StateSpace`
        or a python-control system with the inputs (commands, then loads) and the velocities as outputs; or
        whatever `transfer_system` takes.
    prefix
        Put before all its names.

    Examples
    --------
    >>> from bondloop.transfer import ProcessMatrix, first_order
    >>> strong, weak = first_order(1.0, "10 ms"), first_order(0.1, "10 ms")
    >>> coupled_transfer(ProcessMatrix(((strong, weak), (weak, strong))).actuator()).commands
    (<Var command[0]>, <Var command[1]>)
    """
    n = width(given)
    if n == 1:
        return transfer_system(given, prefix)
    if isinstance(given, Model):
        return _coupled_model(given, prefix)
    system = prefixed(as_system(given), prefix)
    if len(system.inputs) != 2 * n:
        raise InputError(
            f"a coupled transfer system with {n} outputs (velocities) needs {2 * n} inputs, {n} commands and "
            f"then {n} loads; found {list(system.inputs)}"
        )
    inputs = system.input_vars
    return Transfer(system, tuple(inputs[:n]), tuple(inputs[n:]), tuple(system.output_exprs.values()))


def _coupled_model(model: Model, prefix: str) -> Transfer:
    ports = out_ports(model)
    alone = model.copy()
    alone.load = [SS("effort") for _ in ports]
    for port, load in zip(alone.out, alone.load, strict=True):
        bond(port, load)
    system = prefixed(alone.compile([f"load[{i}].flow" for i in range(len(ports))]), prefix)
    by_name = dict(zip(system.inputs, system.input_vars, strict=True))
    loads = [f"{prefix}load[{i}].effort" for i in range(len(ports))]
    missing = [name for name in loads if name not in by_name]
    if missing or system.input_rates:
        raise ModelError(
            f"the transfer system {name_or_kind(model)} gives a force at one of its ports "
            "and takes the velocity there; give it the mass that moves with it (rod, load cell, clevis)"
        )
    commands = tuple(u for u in system.input_vars if u.name not in loads)
    check_commands(commands, len(ports), model)
    velocities = tuple(system.output_exprs[f"{prefix}load[{i}].flow"] for i in range(len(ports)))
    return Transfer(system, commands, tuple(by_name[name] for name in loads), velocities)


def check_commands(commands: Sequence[Var], count: int, model: Model) -> None:
    """Refuse a transfer system that has not as many inputs as ports."""
    if len(commands) != count:
        raise ModelError(
            f"the transfer system {name_or_kind(model)} must have as many inputs (commands) "
            f"as ports, {count}; found {', '.join(u.name for u in commands) or 'none'}"
        )


def motion_space(
    given: TransferSystem,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return A, B, C of a transfer system from its commands to its displacements, without load.

    The displacements are integrals of the velocities, states of their own at the end.

    Parameters
    ----------
    given
        As `coupled_transfer` takes it; linear.
    """
    transfer = coupled_transfer(given)
    if not transfer.system.is_linear:
        raise InputError(
            f"{transfer.system.name} is not linear; give a linear model of it, an identified one or one that "
            "is linearised"
        )
    outputs = {f"velocity[{i}]": v for i, v in enumerate(transfer.velocities)}
    space = transfer.system.replaced(outputs=outputs).numeric().explicit()
    a, b, c, d = (np.asarray(M.toarray(), dtype=float) for M in (space.A, space.B, space.C, space.D))
    columns = [space.inputs.index(u.name) for u in transfer.commands]
    n, m = len(a), len(columns)
    A = np.block([[a, np.zeros((n, m))], [c, np.zeros((m, m))]])
    B = np.vstack([b[:, columns], d[:, columns]])
    return A, B, np.hstack([np.zeros((m, n)), np.eye(m)])


def expect_set_point(actuator: TransferSystem, who: str, unit: str = "m", port: int = 0) -> None:
    """Refuse a transfer system whose command is known to be something else than a displacement.

    Parameters
    ----------
    actuator
        The transfer system.
    who
        What sends it displacements, for the message.
    unit
        Of the displacement.
    port
        Which of its ports, of a coupled one.

    Examples
    --------
    >>> from bondloop.transfer import MassSpringDamper
    >>> expect_set_point(MassSpringDamper(1, 1, 1, drive="position"), "ATS")
    >>> expect_set_point(MassSpringDamper(1, 1, 1, drive="force"), "ATS")
    Traceback (most recent call last):
    bondloop.errors.InputError: ATS sends displacements, in m; the command of the transfer system is in N: ...
    """
    try:
        command = coupled_transfer(actuator).commands[port]
    except ForceOutputError:
        command = force_output(actuator).command
    known = command.unit
    if known and not is_of_kind(f"1 {known}", unit):
        raise InputError(
            f"{who} sends displacements, in {unit}; the command of the transfer system is in {known}: give "
            "one with a displacement loop of its own (drive='position'), or a controller that makes forces"
        )
