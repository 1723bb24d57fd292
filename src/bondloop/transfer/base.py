"""Transfer systems: the actuator between computer and specimen.

A transfer system is any model with a port ``out`` to which the specimen is attached and one input, the
command; or a linear system with inputs (command, load) and the velocity as output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph import SS, Model, bond
from bondloop.errors import InputError, ModelError
from bondloop.program.compose import prefixed
from bondloop.program.statespace import StateSpace
from bondloop.program.system import System
from bondloop.transfer.normal_form import normal_form

if TYPE_CHECKING:
    from bondloop.program.expr import Expr, Var

__all__ = ["OUT", "Transfer", "transfer_system"]

OUT = "out"
"""Name of the port to which the specimen is attached."""


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


def transfer_system(given: Any, prefix: str = "", *, to_invert: bool = False) -> Transfer:
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
    """
    if isinstance(given, Model):
        return _from_model(given, prefix)
    if isinstance(given, System):
        system = given
    else:
        space = _state_space(given)
        _check_channels(space.inputs, space.outputs)
        system = normal_form(space) if to_invert else space.to_system("transfer")
    _check_channels(system.inputs, system.outputs)
    system = prefixed(system, prefix)
    command, load = system.input_vars
    return Transfer(system, command, load, next(iter(system.output_exprs.values())))


def _state_space(given: Any) -> StateSpace:
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


def _from_model(model: Model, prefix: str) -> Transfer:
    if OUT not in model.ports:
        raise ModelError(
            f"the transfer system {model._name or type(model).__name__} has no port '{OUT}'; its ports are "
            f"{', '.join(model.ports) or 'none'}"
        )
    alone = model.copy()
    alone._owner = None
    alone.load = SS("effort")
    bond(alone.out, alone.load)
    system = prefixed(alone.compile(["load.flow"]), prefix)
    load = next(u for u in system.input_vars if u.name == f"{prefix}load.effort")
    commands = [u for u in system.input_vars if u is not load]
    if len(commands) != 1:
        raise ModelError(
            f"the transfer system {model._name or type(model).__name__} must have exactly one input, the "
            f"command; found {', '.join(u.name for u in commands) or 'none'}"
        )
    return Transfer(system, commands[0], load, system.output_exprs[f"{prefix}load.flow"])
