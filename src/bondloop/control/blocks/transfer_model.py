"""A model of the transfer system that runs beside the rig: it shows what no sensor does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.control.base import displacement_state
from bondloop.control.tolerances import MOST_SUBSTEPS, STEP_REACH
from bondloop.engine.ir import (
    Assign,
    Channel,
    Const,
    Expr,
    Op,
    Quantity,
    Repeat,
    Role,
    Step,
    Update,
    Var,
    instantiate,
    select,
    substitute,
)
from bondloop.engine.passes import Applied, Context, Statements, connect
from bondloop.errors import ForceOutputError, InputError, ModelError
from bondloop.integrate import RK4
from bondloop.substructure import indexed
from bondloop.transfer import Transfer, transfer_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine import System
    from bondloop.transfer import TransferSystem


@dataclass(frozen=True)
class TransferModel:
    """A transfer system's model in the tick: driven by the command that was sent and by the measured load.

    Attributes
    ----------
    transfer
        Its equations; all names begin with ``prefix``.
    prefix
        Where it is among the variables of the tick.
    sent
        The command that acts since the last sample.
    """

    transfer: Transfer
    prefix: str
    sent: Var

    def quantity(self, path: str) -> Quantity | None:
        """Return what a variable of the model measures."""
        return self.transfer.system.quantity(path)

    def advanced(
        self, load: Expr, paths: Sequence[str], context: Context
    ) -> tuple[Applied, Mapping[str, Expr]]:
        """Return the statements that carry the model to this sample, and what variables of it then are.

        The command is held since the last sample, the load straight between what was measured at both.

        Parameters
        ----------
        load
            What the specimen takes from the transfer system at this sample, N.
        paths
            Variables to be read.
        context
            Names and period.
        """
        system = self.transfer.system
        old, new = (Var(f"{self.prefix}load_{word}") for word in ("before", "now"))
        counter, count = Var(f"{self.prefix}substep"), substeps(system, context.period)
        others = {u: system.input_defaults.get(u.name, 0.0) for u in system.input_vars}
        fixed: dict[Var, Expr] = {u: Const(float(x or 0.0)) for u, x in others.items()}

        def at(fraction: float) -> dict[Var, Expr]:
            load_now = interpolated(old, new, counter, count, fraction)
            return {**fixed, self.transfer.command: self.sent, self.transfer.load: load_now}

        stepped = RK4().discretise(system, context.period / count, at, [])
        first = [Var(f"{x.name}.first") for x in system.state_vars]
        begun = Op("gt", (context.count, Const(0.0)))
        steps: list[Step] = [Assign(new, load)]
        steps += [Assign(kept, x) for kept, x in zip(first, system.state_vars, strict=True)]
        steps.append(Repeat(count, counter, (*stepped.first, *stepped.rest)))
        # At the first sample there is nothing behind it: the model stands where it starts.
        pairs = [(x, select(begun, x, kept)) for x, kept in zip(system.state_vars, first, strict=True)]
        steps.append(Update(tuple(pairs)))
        goals = [system.expression(path) for path in paths]
        now: dict[Var, Expr] = {**fixed, self.transfer.command: self.sent, self.transfer.load: new}
        more, table = instantiate(
            system.schedule(goals), {**{x: x for x in system.state_vars}, **now}, "@sample"
        )
        read = {path: substitute(goal, table) for path, goal in zip(paths, goals, strict=True)}
        states: dict[Var, float] = {x: system.initial_by_var.get(x, 0.0) for x in system.state_vars}
        states |= {self.sent: 0.0, old: 0.0}
        applied = Applied(
            [*steps, *more, Update(((old, new),))], Const(0.0), states, parameters=dict(system.values())
        )
        return applied, read


def substeps(system: System, period: float, stretch: float = 1.0, reach: float = STEP_REACH) -> int:
    """Return how many Runge-Kutta steps a model needs in a sample.

    Parameters
    ----------
    system
        The model.
    period
        The sample period in s.
    stretch
        By which factor its fastest pole may become faster.
    reach
        Largest product of a step and that pole.
    """
    fastest = float(abs(system.linearise().poles()).max(initial=0.0)) * stretch
    return int(np.clip(np.ceil(fastest * period / reach), 1, MOST_SUBSTEPS))


def interpolated(old: Expr, new: Expr, counter: Var, count: int, fraction: float) -> Expr:
    """Return what runs straight from one sample to the next, at a fraction of a sub-step."""
    return old + (new - old) * ((counter + Const(fraction)) / Const(float(count)))


def with_displacement(transfer: Transfer, name: str = "") -> System:
    """Return a model with its displacement as its only output; a state of its own where it has none."""
    rates = dict(zip(transfer.system.state_vars, transfer.system.rate_exprs, strict=True))
    z, new = displacement_state(rates, transfer.velocity, "displacement")
    return connect(name or transfer.system.name, [transfer.system], {}, {"displacement": z}, states=new)


def ackermann(
    F: NDArray[np.float64], seen: Sequence[NDArray[np.float64]], pole: float
) -> NDArray[np.float64]:
    """Return the gains L of an observer with all its poles at one place, by Ackermann's formula.

    Parameters
    ----------
    F
        Transition from sample to sample.
    seen
        Rows of observability: what the measurement shows of the states after 0, 1, 2 ... samples.
    pole
        The place.
    """
    n = len(F)
    shifted = np.linalg.matrix_power(F - pole * np.eye(n), n)
    return np.asarray(shifted @ np.linalg.solve(np.array(seen), np.eye(n)[-1]))


def transfer_models(
    given: TransferSystem | Sequence[TransferSystem], contexts: Sequence[Context], what: str, *, coupled: bool
) -> list[TransferModel]:
    """Return models of transfer systems, ready to run beside them.

    Parameters
    ----------
    given
        One for each transfer system, or one for all.
    contexts
        Of the transfer systems.
    what
        The controller's name, for messages.
    coupled
        Whether one controller serves all, so that they are told apart by numbers.
    """
    models = list(given) if isinstance(given, (list, tuple)) else [given] * len(contexts)
    if len(models) != len(contexts):
        raise InputError(
            f"{what}.transfer: found {len(models)} models for {len(contexts)} transfer systems; give one for "
            "each, or one for all"
        )
    prefixes = [f"{context.name}.transfer." for context in contexts]
    if coupled:
        prefixes = [f"{name}." for name in indexed("controller.transfer", len(contexts))]
    return [_ready(model, prefix, what) for model, prefix in zip(models, prefixes, strict=True)]


def _ready(model: TransferSystem, prefix: str, what: str) -> TransferModel:
    """Return one model, or say why it cannot run beside a rig."""
    try:
        transfer = transfer_system(model, prefix)
    except ForceOutputError as error:
        raise ModelError(
            f"{what}.transfer: a transfer system without a mass at its port gives a force itself, and cannot "
            "be driven by the measured one; add the mass that moves with it"
        ) from error
    system = transfer.system
    if system.switching:
        raise ModelError(f"{what}.transfer: {system.name} switches, and a model beside the rig may not")
    missing = [name for name, value in system.parameters.items() if value is None]
    if missing:
        raise InputError(f"{what}.transfer: no value for {', '.join(missing)}; give one in the model")
    return TransferModel(transfer, prefix, Var(f"{prefix}sent"))


def carried(
    models: Sequence[TransferModel], loads: Sequence[Expr], paths: Mapping[str, str], context: Context
) -> tuple[Applied, dict[str, Expr]]:
    """Return the statements that carry models to this sample, and what the sensors on them read, by name.

    Parameters
    ----------
    models
        Those of one controller.
    loads
        What their transfer systems carry at this sample, N.
    paths
        Of the sensors, by name, as the user wrote them: ``transfer.spring.displacement``.
    context
        Of the controller.
    """
    whole, read = Statements(context.name), dict[str, Expr]()
    for model, load in zip(models, loads, strict=False):
        own = {n: f"{context.name}.{path}" for n, path in paths.items()}
        own = {n: path for n, path in own.items() if path.startswith(model.prefix)}
        applied, values = model.advanced(load, list(own.values()), context)
        named = {n: Var(f"{context.name}.{n}", quantity=model.quantity(path)) for n, path in own.items()}
        whole.add(applied)
        whole.steps += [Assign(v, values[own[n]]) for n, v in named.items()]
        whole.channels += [Channel.of(v.name, v, v.quantity, Role.ESTIMATE) for v in named.values()]
        read |= named
    lost = [path for n, path in paths.items() if models and n not in read]
    if lost:
        known = ", ".join(m.prefix.removeprefix(f"{context.name}.") + "..." for m in models)
        raise ModelError(f"sensors: {lost[0]} is on no model of a transfer system; expected {known}")
    return whole.applied(Const(0.0)), read


def sending(before: Applied, made: Sequence[Applied], models: Sequence[TransferModel]) -> list[Applied]:
    """Return blocks that make commands, after what comes before them; models are told the commands."""
    if not models:
        return list(made)
    first = Statements("controller")
    blocks = [first.applied(first.add(before, made[0])), *made[1:]]
    kept = Update(tuple((model.sent, block.value) for model, block in zip(models, made, strict=True)))
    return [*blocks[:-1], replace(blocks[-1], steps=[*blocks[-1].steps, kept])]
