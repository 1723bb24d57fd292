"""A virtual junction without load cells: observers of the transfer systems tell the forces."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from bondloop.control.blocks.history import weighted
from bondloop.control.blocks.transfer_model import ackermann, with_displacement
from bondloop.control.junction.virtual_junction import JunctionWithModel
from bondloop.engine.data import Parameter
from bondloop.engine.ir import Assign, Channel, Const, Expr, Quantity, Role, Step, Update, Var, evaluate
from bondloop.engine.passes import Applied, Context
from bondloop.errors import ForceOutputError, InputError, ModelError
from bondloop.transfer import Transfer, transfer_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control.base import Design, Measured
    from bondloop.engine import System
    from bondloop.substructure import NumericalHalf
    from bondloop.transfer import TransferSystem

    Array = NDArray[np.float64]


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
        steps: list[Step] = []
        states: dict[Var, float] = {}
        channels: list[Channel] = []
        forces: dict[Var, Expr] = {}
        values = {v.name: x for v, x in design.system.values().items()}
        loads = {v.name: e for v, e in design.system.definitions.items()}
        models = zip(self.transfers(), self.prefixes(), self.names(), strict=True)
        at = zip(models, measured, design.efforts, design.sent, strict=True)
        for i, ((transfer, prefix, word), sensors, effort, sent) in enumerate(at):
            system, space = _model(transfer, values)
            observer = _observer(space, self.bandwidth, context.period, system.name)
            names = [f"{word}.{x.name.removeprefix(prefix)}" for x in system.state_vars]
            names += [f"{word}.load", f"{word}.load_rate"]
            before, ahead, now = (
                [Var(f"{name}{end}") for name in names] for end in (".before", ".ahead", "")
            )
            error = Var(f"{word}.error")
            # Up to this sample with the command of the last one; then led to what is measured.
            for v, row, gain in zip(ahead, observer.F, observer.G, strict=True):
                steps.append(Assign(v, weighted([*row, gain], [*before, sent])))
            steps.append(Assign(error, sensors.displacement - weighted(observer.C, ahead)))
            for v, x, gain in zip(now, ahead, observer.L, strict=True):
                steps.append(Assign(v, x + Const(float(gain)) * error))
            steps.append(Update(tuple(zip(before, now, strict=True))))
            states.update({sent: 0.0, **dict.fromkeys(before, 0.0)})
            # The load points as the force on the cut bond, or against it: the inverse knows.
            sign = evaluate(loads[transfer.load.name], {effort: 1.0})
            forces[effort] = Const(float(sign)) * now[-2]
            measures: list[Quantity | None] = [x.quantity for x in system.state_vars]
            for v, quantity in zip(now, [*measures, effort.quantity], strict=False):
                channels.append(Channel.of(v.name, v, quantity, Role.ESTIMATE, i))
        return Applied(steps, Const(0.0), states, channels=tuple(channels)), forces


class _Observer(NamedTuple):
    """x = F x + G u up to the next sample, then x + L (y - C x)."""

    F: Array
    G: Array
    L: Array
    C: Array


class _Space(NamedTuple):
    """dx/dt = A x + B u + E f, y = C x."""

    A: Array
    B: Array
    E: Array
    C: Array


def _model(transfer: Transfer, values: Mapping[str, float]) -> tuple[System, _Space]:
    """Return the model with its displacement as output, and its matrices with the values in force."""
    system = with_displacement(transfer)
    space = system.numeric({n: values[n] for n in system.parameters if n in values}).explicit()
    A, B, C = (np.asarray(X.toarray(), dtype=float) for X in (space.A, space.B, space.C))
    command, load = (space.inputs.index(v.name) for v in (transfer.command, transfer.load))
    return system, _Space(A, B[:, command], B[:, load], C[0])


def _observer(space: _Space, bandwidth: float, period: float, name: str) -> _Observer:
    """Return the observer of model, load and the load's rate, all its poles at the bandwidth.

    With the command held over a sample the model is discretised exactly; L follows from Ackermann's formula,
    for the observer that knows this sample's measurement: the eigenvalues of F - L C F are where they should
    be. The states are scaled by their size for a unit load, or their units would spoil the digits.
    """
    from scipy.linalg import expm

    n = len(space.A)
    m = n + 2
    whole = np.zeros((m + 1, m + 1))
    whole[:n, :n], whole[:n, n], whole[n, n + 1], whole[:n, m] = space.A, space.E, 1.0, space.B
    omega = 2 * np.pi * bandwidth
    reach = np.abs(np.linalg.solve(1j * omega * np.eye(n) - space.A, space.E))
    size = np.concatenate([np.maximum(reach, 1e-12 * reach.max(initial=1e-300)), [1.0, omega]])
    step = expm(whole * period)
    F, G = step[:m, :m] * size / size[:, None], step[:m, m] / size
    C = np.concatenate([space.C, [0.0, 0.0]]) * size
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
            f"the displacement of {name} does not tell its load: some of its states cannot be observed, or "
            "hardly; give a simpler model, or measure the force and use VirtualJunction"
        )
    return _Observer(F * size[:, None] / size, G * size, L * size, C / size)
