"""The virtual junction of Gawthrop 2005, and the one without load cells, by observers."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from bondloop.control.base import Controller, Design, displacement_state
from bondloop.control.blocks.filters import weighted
from bondloop.control.blocks.transfer_model import ackermann, with_displacement
from bondloop.engine.data import Parameter
from bondloop.engine.ir import Assign, Channel, Const, Expr, Quantity, Role, Update, Var, evaluate
from bondloop.engine.passes import Applied, Context, Inverse, Statements, connect, invert
from bondloop.errors import ForceOutputError, InputError, ModelError, SolveError
from bondloop.substructure import NumericalHalf, indexed, numerical_half
from bondloop.transfer import ForceOutput, Transfer, TransferSystem, force_output, transfer_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.bondgraph import Model
    from bondloop.control.base import Measured
    from bondloop.engine import System

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class VirtualJunction(Controller):
    """Cancels the transfer system by its inverse: F_T = F_P + T^-1 v_N (Gawthrop 2005, eq. 4).

    The inverse is derived from the model of the transfer system, whatever it is: a bond graph or a state
    space, linear or not, one interface or several. It is joined to the numerical half, whose own equations
    give the accelerations that the inverse needs; so nothing is differentiated numerically. A transfer system
    without a mass at its port gives a force instead of taking one; its inverse is that of a mass that
    vanishes. The measured force then brings back the last command itself, so that a sampled loop adds up the
    error once a sample: the specimen must follow the transfer system's spring within a few samples. Refused
    are one that is a pure force, and one whose command reaches the force only through a storage. Refused too
    is one that the load moves after fewer storages than the command does (assumption 5), such as the full
    models `ServoHydraulic` and `ElectroMechanical`: their inverse would need the rate of the measured force.
    A simpler model of such an actuator, `MassSpringDamper` with its lag, can be given instead.

    Parameters
    ----------
    model
        Model of the transfer system, one per interface (a single one, or a list). It need not be the rig's
        own: that is how errors of the model are studied.
    """

    inverts: ClassVar[bool] = True
    model: TransferSystem | Sequence[TransferSystem]

    def __post_init__(self) -> None:
        if isinstance(self.model, list):  # a copy: the caller's list may change
            object.__setattr__(self, "model", tuple(self.model))

    def models(self) -> list[TransferSystem]:
        """Return the transfer systems' models as a list."""
        return list(self.model) if isinstance(self.model, (list, tuple)) else [self.model]

    def prefixes(self) -> list[str]:
        """Return with what the names of each model's variables begin."""
        return [f"{name}." for name in indexed("controller.transfer", len(self.models()))]

    def augment(self, numerical: Model) -> System:
        """Return the augmented numerical substructure: numerical half and virtual junction as one system.

        Its inputs are the measured forces, then the excitations; its outputs the commands.

        Parameters
        ----------
        numerical
            The numerical half, as `Model.cut` returns it.
        """
        return self.design(numerical_half(numerical), self.models()).system

    def design(self, half: NumericalHalf, actuators: Sequence[TransferSystem]) -> Design:  # noqa: ARG002 - has its own
        """Join the inverse of the transfer systems' models to the numerical half."""
        models = self.models()
        if len(models) != len(half.flows):
            raise InputError(
                f"the virtual junction has {len(models)} transfer system models, but the cut has "
                f"{len(half.flows)} interfaces; give one for each"
            )
        transfers = [_transfer(m, prefix) for m, prefix in zip(models, self.prefixes(), strict=True)]
        _check_zero_dynamics(transfers)
        plant = connect("transfer", [t.system for t in transfers], {}, {})
        inverse = _inverse(plant, transfers, half)
        states = dict(inverse.states)
        extra: dict[Var, Expr] = {}
        desired = []
        known = {
            **states,
            **{s: inverse.definitions.get(r, r) if isinstance(r, Var) else r for s, r in states.items()},
        }
        names = indexed("", len(models))
        for index, flow, t, domain in zip(names, half.flows, transfers, half.domains, strict=True):
            z, new = displacement_state(
                {**known, **extra}, flow, f"controller.desired{index}.displacement", domain
            )
            if new and isinstance(
                t, Transfer
            ):  # the transfer system's own position follows the imposed velocity
                z, new = displacement_state({**states, **extra}, t.velocity, z.name, domain)
            extra.update(new)
            desired.append(z)
        outputs: dict[str, Expr] = {f"command{i}": t.command for i, t in zip(names, transfers, strict=True)}
        system = half.system.replaced(
            name="computer",
            states={**states, **extra},
            inputs=[*half.efforts, *half.excitations],
            outputs=outputs,
            parameters={**half.system.parameters_by_var, **plant.parameters_by_var},
            definitions=inverse.definitions,
            tears=[*half.system.tears, *plant.tears],
            initial={
                k: v for k, v in {**half.system.initial_by_var, **plant.initial_by_var}.items() if k in states
            },
            dots={s: d for s, d in half.system.dots.items() if s in states},
            input_rates=inverse.input_rates,
            dependent=[*half.system.dependent, *(s.name for s in inverse.dependent)],
            iterations=max(half.system.iterations, plant.iterations),
        )
        return Design(system, tuple(t.command for t in transfers), half.efforts, tuple(desired), half.flows)


class JunctionWithModel(VirtualJunction, ABC, family="controller"):
    """Base: a virtual junction that runs something beside the rig, driven by the commands that were sent."""

    sampled: ClassVar[bool] = True

    label: ClassVar[str]
    """What runs beside the rig, in names."""

    @abstractmethod
    def transfers(self) -> list[Transfer]:
        """Return the equations of the models, each with the measured load as an input."""

    def design(self, half: NumericalHalf, actuators: Sequence[TransferSystem]) -> Design:
        """Join the inverse of the transfer systems' models to the numerical half, and keep the commands."""
        made = super().design(half, actuators)
        return replace(made, sent=tuple(Var(f"{name}.sent") for name in self.names()))

    def names(self) -> list[str]:
        """Return with what the names of each model's statements begin."""
        return indexed(f"controller.{self.label}", len(self.models()))

    def commands(
        self,
        design: Design,
        values: Mapping[Var, Expr],
        measured: Sequence[Measured],
        contexts: Sequence[Context],
    ) -> list[Applied]:
        """Leave the commands as they are, and keep each for the next sample."""
        made = super().commands(design, values, measured, contexts)
        return [
            replace(block, steps=[*block.steps, Update(((sent, block.value),))])
            for block, sent in zip(made, design.sent, strict=True)
        ]


def _transfer(model: TransferSystem, prefix: str) -> Transfer | ForceOutput:
    """Return a model's equations with the load imposed or, where it gives a force itself, the velocity."""
    try:
        return transfer_system(model, prefix, to_invert=True)
    except ForceOutputError:
        given = force_output(model, prefix)
    fast = max(1.0, float(abs(given.system.linearise().poles()).max(initial=0.0)))
    if not any(abs(given.responses(omega)[1]) > 0 for omega in (1e-3 * fast, fast)):
        raise ModelError(
            f"a virtual junction cannot use the transfer system {given.system.name.removeprefix(prefix)}: it "
            "is a pure force, which is the same wherever its port moves, so no command makes it follow a "
            "motion; add the mass that moves with it, or the spring or damper it works against"
        )
    return given


def _inverse(plant: System, transfers: Sequence[Transfer | ForceOutput], half: NumericalHalf) -> Inverse:
    """Find the commands for which each port has the numerical half's velocity under the measured force.

    Both variables of the port are given (it is bicausal). Where the transfer system takes a force, the
    measured one is its input and the velocity is what it must come to; where it takes a velocity it is the
    other way round: the limit of the former for a mass that vanishes.
    """
    links: dict[Var, Expr] = {}
    outputs: list[Expr] = []
    imposed: list[Expr] = []
    for t, flow, effort, sign in zip(transfers, half.flows, half.efforts, half.signs, strict=True):
        load = effort if sign > 0 else -effort
        if isinstance(t, Transfer):
            links[t.load] = load
            outputs.append(t.velocity)
            imposed.append(flow)
        else:
            links[t.velocity] = flow
            outputs.append(t.force)
            imposed.append(load)
    commands = [t.command for t in transfers]
    try:
        return invert(plant, commands, outputs, imposed, half.system, links, measured=half.efforts)
    except SolveError as error:
        massless = [t.system.name for t in transfers if isinstance(t, ForceOutput)]
        if not massless:
            names = ", ".join(t.system.name for t in transfers)
            raise SolveError(
                f"a virtual junction cannot use {names}: {error}; give it a simpler model of the actuator, "
                "such as MassSpringDamper(..., drive='position') with the actuator's lag, or use "
                "InverseModel or a prediction"
            ) from error
        raise ModelError(
            f"a virtual junction cannot use {', '.join(massless)}: it gives a force at its port, and its "
            "command reaches that force only through a storage, so the inverse would need the rate of the "
            "measured force; use Direct or a compensator, or add the mass that moves with it"
        ) from error


def _check_zero_dynamics(transfers: Sequence[Transfer | ForceOutput]) -> None:
    """Refuse a transfer system whose inverse would be unstable (Gawthrop 2005, assumption 4)."""
    for t in transfers:
        if any(value is None for value in t.system.parameters.values()):
            continue  # symbols without values: nothing to check yet
        space = t.system.linearise()
        zeros = space.zeros(space.outputs[0], t.command.name)
        scale = max(1.0, float(abs(space.poles()).max(initial=0.0)))
        bad = [z for z in zeros if z.real > 1e-7 * scale]
        if bad:
            raise SolveError(
                f"{t.system.name} has unstable zero dynamics (zero at {bad[0]:.4g} rad/s), so its inverse "
                "would "
                "grow without bound and a virtual junction cannot be used (Gawthrop 2005, assumption 4)"
            )


@dataclass(frozen=True, eq=False)
class ObservedVirtualJunction(JunctionWithModel):
    """A virtual junction that needs no load cell: its virtual sensor is an observer (Gawthrop 2005, sec. 6).

    The model of the transfer system runs beside it, driven by the command; the load is one more state of the
    model, and the load's rate another, so that a load that changes steadily is followed without lag. What the
    measured displacement differs from the modelled one leads all of them to where they are: Luenberger's
    observer, with all poles at one place. The estimated load takes the place of the measured force, in the
    junction and in the numerical half. Every state of the model and the load are recorded as channels.

    Parameters
    ----------
    model
        Model of the transfer system, one per interface; linear.
    bandwidth
        Where the observer's poles lie, in Hz. A slow observer makes the force late, which may destabilise the
        loop (the check tells); a fast one passes the noise of the displacement, multiplied by the mass and by
        the square of this.

    References
    ----------
    Karnopp (1979), Bond graphs in control: physical state variables and observers. Journal of the Franklin
    Institute 308, 221-234.

    Examples
    --------
    >>> from bondloop.transfer import MassSpringDamper
    >>> actuator = MassSpringDamper(m=2.2, c=150, k=13.6e3, drive="position")
    >>> ObservedVirtualJunction(actuator, bandwidth="80 Hz").bandwidth
    80.0
    """

    label: ClassVar[str] = "observed"

    bandwidth: Parameter = Parameter(150.0, above=0, unit="Hz")

    def transfers(self) -> list[Transfer]:
        """Return the equations of the models, each with the measured load as an input."""
        try:
            return [transfer_system(m, p) for m, p in zip(self.models(), self.prefixes(), strict=True)]
        except ForceOutputError as error:
            raise ModelError(
                "ObservedVirtualJunction: a transfer system without a mass at its port gives a force itself; "
                "its motion does not tell the load. Add the mass that moves with it, or measure the force "
                "and use VirtualJunction"
            ) from error

    def design(self, half: NumericalHalf, actuators: Sequence[TransferSystem]) -> Design:
        """Join the inverse to the numerical half; refuse models that cannot be observed."""
        for transfer in self.transfers():
            if not transfer.system.is_linear:
                raise InputError(
                    f"{transfer.system.name} is not linear, and the observer's gains follow from a linear "
                    "model; give a linear one, or measure the force and use VirtualJunction"
                )
        return super().design(half, actuators)

    def observe(
        self, design: Design, measured: Sequence[Measured], context: Context
    ) -> tuple[Applied, Mapping[Var, Expr]]:
        """Return the statements of the observers; the estimated loads take the place of the forces."""
        body = Statements(context.name)
        forces: dict[Var, Expr] = {}
        values = {v.name: x for v, x in design.system.values().items()}
        loads = {v.name: e for v, e in design.system.definitions.items()}
        models = zip(self.transfers(), self.prefixes(), self.names(), strict=True)
        at = zip(models, measured, design.efforts, design.sent, strict=True)
        for i, ((transfer, prefix, word), sensors, effort, sent) in enumerate(at):
            system, observer = load_observer(transfer, values, self.bandwidth, context.period)
            names = [f"{word}.{x.name.removeprefix(prefix)}" for x in system.state_vars]
            names += [f"{word}.load", f"{word}.load_rate"]
            before, ahead, now = (
                [Var(f"{name}{end}") for name in names] for end in (".before", ".ahead", "")
            )
            error = Var(f"{word}.error")
            # Up to this sample with the command of the last one; then led to what is measured.
            for v, row, gain in zip(ahead, observer.F, observer.G, strict=True):
                body.steps.append(Assign(v, weighted([*row, gain], [*before, sent])))
            body.steps.append(Assign(error, sensors.displacement - weighted(observer.C, ahead)))
            for v, x, gain in zip(now, ahead, observer.L, strict=True):
                body.steps.append(Assign(v, x + Const(float(gain)) * error))
            body.update(dict(zip(before, now, strict=True)))
            body.states.update({sent: 0.0, **dict.fromkeys(before, 0.0)})
            # The load points as the force on the cut bond, or against it: the inverse knows.
            sign = evaluate(loads[transfer.load.name], {effort: 1.0})
            forces[effort] = Const(float(sign)) * now[-2]
            measures: list[Quantity | None] = [x.quantity for x in system.state_vars]
            for v, quantity in zip(now, [*measures, effort.quantity], strict=False):
                body.channels.append(Channel.of(v.name, v, quantity, Role.ESTIMATE, i))
        return body.applied(Const(0.0)), forces


class _Observer(NamedTuple):
    """x = F x + G u up to the next sample, then x + L (y - C x)."""

    F: Array
    G: Array
    L: Array
    C: Array


def load_observer(
    transfer: Transfer, values: Mapping[str, float], bandwidth: float, period: float
) -> tuple[System, _Observer]:
    """Return the model with its displacement, and an observer of it, of the load and of the load's rate.

    All its poles are at the bandwidth. With the command held over a sample the model is discretised exactly;
    L follows from Ackermann's formula, for the observer that knows this sample's measurement: the eigenvalues
    of F - L C F are where they should be. The states are scaled by their size for a unit load, or their units
    would spoil the digits.
    """
    from scipy.linalg import expm

    system = with_displacement(transfer)
    space = system.numeric({n: values[n] for n in system.parameters if n in values}).explicit()
    A, B, C = (np.asarray(X.toarray(), dtype=float) for X in (space.A, space.B, space.C))
    command, load = (space.inputs.index(v.name) for v in (transfer.command, transfer.load))
    n = len(A)
    m = n + 2
    whole = np.zeros((m + 1, m + 1))
    whole[:n, :n], whole[:n, n], whole[n, n + 1], whole[:n, m] = A, B[:, load], 1.0, B[:, command]
    omega = 2 * np.pi * bandwidth
    reach = np.abs(np.linalg.solve(1j * omega * np.eye(n) - A, B[:, load]))
    size = np.concatenate([np.maximum(reach, 1e-12 * reach.max(initial=1e-300)), [1.0, omega]])
    step = expm(whole * period)
    F, G = step[:m, :m] * size / size[:, None], step[:m, m] / size
    C = np.concatenate([C[0], [0.0, 0.0]]) * size
    seen = [C @ np.linalg.matrix_power(F, k) for k in range(1, m + 1)]
    pole = np.exp(-omega * period)
    try:
        L = ackermann(F, seen, pole)
        largest = float(abs(np.linalg.eigvals(F - np.outer(L, C @ F))).max())
    except np.linalg.LinAlgError:
        largest = np.inf
    # Poles in one place come out apart by rounding, the more of them the farther.
    if not largest < 1 - 0.5 * (1 - pole):
        raise InputError(
            f"the displacement of {system.name} does not tell its load: some of its states cannot be "
            "observed, or hardly; give a simpler model, or measure the force and use VirtualJunction"
        )
    return system, _Observer(F * size[:, None] / size, G * size, L * size, C / size)
