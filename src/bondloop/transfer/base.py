"""Transfer systems: the actuator between computer and specimen.

A transfer system is any model with a port ``out`` to which the specimen is attached and one input, the
command; or a linear system with inputs (command, load) and the velocity as output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bondloop.bondgraph import SS, Model, bond
from bondloop.errors import InputError, ModelError
from bondloop.program.compose import prefixed
from bondloop.program.expr import Expr, Var
from bondloop.program.statespace import StateSpace
from bondloop.program.system import System

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


def transfer_system(given: Any, prefix: str = "") -> Transfer:
    """Return the equations of a transfer system given as a model, a system, or a state space."""
    if isinstance(given, Model):
        return _from_model(given, prefix)
    if isinstance(given, StateSpace):
        system = given.to_system("transfer")
    elif isinstance(given, System):
        system = given
    elif type(given).__module__.partition(".")[0] == "control":
        system = System.from_control(given)
    else:
        raise InputError(
            f"expected a transfer system as a Model, System, StateSpace or python-control system; found {type(given).__name__}"
        )
    if len(system.inputs) != 2 or len(system.outputs) != 1:
        raise InputError(
            f"a transfer system needs two inputs (command, load) and one output (velocity); "
            f"found inputs {list(system.inputs)} and outputs {list(system.outputs)}"
        )
    system = prefixed(system, prefix)
    command, load = system.input_vars
    return Transfer(system, command, load, next(iter(system.output_exprs.values())))


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
    system = prefixed(alone.compile(), prefix)
    load = next(u for u in system.input_vars if u.name == f"{prefix}load.effort")
    commands = [u for u in system.input_vars if u is not load]
    if len(commands) != 1:
        raise ModelError(
            f"the transfer system {model._name or type(model).__name__} must have exactly one input, the command; "
            f"found {', '.join(u.name for u in commands) or 'none'}"
        )
    return Transfer(system, commands[0], load, system.output_exprs[f"{prefix}load.flow"])
