"""Minimal control synthesis (MCS), in the substructuring form of Wagg and Stoten 2001."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.control.base import Controller, Design, displacement_state
from bondloop.errors import InputError
from bondloop.program.expr import Const, Expr, Var, function, select
from bondloop.program.quantity import Quantity, Role, quantity_of
from bondloop.program.ranges import NOT_NEGATIVE, POSITIVE
from bondloop.program.tick import Channel
from bondloop.units import multiplied

if TYPE_CHECKING:
    from bondloop.substructure.half import NumericalHalf

__all__ = ["MCS"]


@dataclass(frozen=True)
class MCS(Controller):
    """Adaptive control that needs no model of the transfer system.

    ``u = K x + K_r r`` (Wagg 2001, eq. 6) with the gains ``K = a int(y_e x^T) dt + b y_e x^T`` and
    ``K_r = a int(y_e r^T) dt + b y_e r^T``, all from zero. The reference model is the numerical half itself:
    ``x_e = x_m - x`` is the difference between its interface motion and the transfer system's, and
    ``y_e = C_e x_e`` the filtered error.

    Parameters
    ----------
    alpha, beta
        Adaptive weights a and b; the literature keeps alpha / beta = 10.
    settling_time
        Settling time t_s in seconds of the ideal error dynamics: both poles at -4/t_s.
    order
        2: gains on displacement and velocity, ``C_e = [4/t_s, 1]``; 1: gains on displacement only,
        ``C_e = 1``.
    reference
        The signal r: None for the desired displacement, or a signal such as the support motion (Wagg 2001).
    error_filter
        ``"settling"``: C_e as above; ``"lyapunov"``: C_e = B_e^T P with A_m^T P + P A_m = -Q, Q = I, and A_m
        with both poles at -4/t_s. Either makes {A_m, B_e, C_e} strictly positive real.
    dead_zone
        Wind-up protection: the integral part does not adapt while |y_e| is below this.
    leakage
        Wind-up protection by sigma-modification: the integral part decays at this rate in 1/s.
    coupled
        For several transfer systems: gains from every measured motion to every command.
    """

    alpha: float = 100.0
    beta: float = 10.0
    settling_time: float = 0.01
    order: int = 2
    reference: Any = None
    error_filter: str = "settling"
    dead_zone: float = 0.0
    leakage: float = 0.0
    coupled: bool = False

    def __post_init__(self) -> None:
        for name, units in (("alpha", ()), ("beta", ()), ("settling_time", ("s",))):
            object.__setattr__(self, name, POSITIVE.check(getattr(self, name), f"MCS({name})", *units))
        if self.order not in (1, 2):
            raise InputError(f"MCS: order must be 1 or 2; found {self.order}")
        if self.error_filter not in ("settling", "lyapunov"):
            raise InputError(
                f"MCS: error_filter must be 'settling' or 'lyapunov'; found {self.error_filter!r}"
            )
        for name, units in (("dead_zone", ()), ("leakage", ("1/s",))):
            object.__setattr__(self, name, NOT_NEGATIVE.check(getattr(self, name), f"MCS({name})", *units))

    def error_weights(self) -> tuple[float, ...]:
        """Return the row C_e: weights of the displacement and velocity errors.

        >>> MCS(settling_time=0.01).error_weights()
        (400.0, 1.0)
        """
        pole = 4.0 / self.settling_time
        if self.order == 1:
            return (1.0,) if self.error_filter == "settling" else (1 / (2 * pole),)
        if self.error_filter == "settling":
            return (pole, 1.0)
        from scipy.linalg import solve_continuous_lyapunov

        A = np.array([[0.0, 1.0], [-(pole**2), -2 * pole]])
        P = solve_continuous_lyapunov(A.T, -np.eye(2))
        return (float(P[1, 0]), float(P[1, 1]))

    def _error(self, kinds: Sequence[Quantity]) -> Quantity | None:
        """Return what y_e measures: (4/t_s) x + v is a velocity, and x alone a displacement.

        Lyapunov's weights follow from a matrix Q = 1 of no unit, so nothing is concluded from them.
        """
        return Quantity("filtered error", kinds[-1].unit) if self.error_filter == "settling" else None

    def design(self, half: NumericalHalf, actuators: Sequence[Any]) -> Design:  # noqa: ARG002 - needs no model
        """Join the adaptive laws to the numerical half, whose interface motion is the reference model's."""
        names = [f"[{i}]" for i in range(len(half.flows))] if len(half.flows) > 1 else [""]
        states = dict(zip(half.system.state_vars, half.system.rate_exprs, strict=True))
        desired: list[Expr] = []
        for index, flow in zip(names, half.flows, strict=True):
            z, new = displacement_state(states, flow, f"controller.desired{index}.displacement")
            states.update(new)
            desired.append(z)
        words = ("displacement", "velocity")[: self.order]
        kinds = [(d.displacement, d.flow)[: self.order] for d in half.domains]
        measured = [
            [Var(f"controller.{word}{index}", quantity=q) for word, q in zip(words, of_one, strict=True)]
            for index, of_one in zip(names, kinds, strict=True)
        ]
        shared = Var("controller.reference")
        signals: dict[Var, Any] = {} if self.reference is None else {shared: self.reference}
        law = _Law(self, states, dict(half.system.definitions))
        commands: list[Expr] = []
        for i, index in enumerate(names):
            model = [desired[i], half.flows[i]][: self.order]
            seen: list[Expr] = list(measured[i])
            if self.coupled:
                seen = [v for motion in measured for v in motion]
            references = [shared] if signals else desired if self.coupled else [desired[i]]
            commands.append(law.command(index, model, measured[i], seen, references, self._error(kinds[i])))
        displacements = tuple(m[0] for m in measured)
        velocities = tuple(m[1] for m in measured) if self.order == 2 else ()
        system = half.system.replaced(
            name="computer",
            states=law.states,
            inputs=[*half.efforts, *half.excitations, *displacements, *velocities, *signals],
            outputs={f"command{index}": u for index, u in zip(names, commands, strict=True)},
            parameters={**half.system.parameters_by_var, **law.parameters},
            definitions=law.definitions,
        )
        return Design(
            system,
            tuple(commands),
            half.efforts,
            tuple(desired),
            half.flows,
            displacements,
            velocities,
            tuple(law.channels),
            signals,
            gains=tuple(law.gains),
        )


class _Law:
    """Collects the equations of the adaptive laws, one command after the other."""

    def __init__(self, mcs: MCS, states: dict[Var, Expr], definitions: dict[Var, Expr]) -> None:
        self.states, self.definitions = states, definitions
        self.parameters: dict[Var, float | None] = {}
        self.channels: list[Channel] = []
        self.gains: list[Var] = []
        self.alpha, self.beta = self._constant("alpha", mcs.alpha), self._constant("beta", mcs.beta)
        self.weights = [self._constant(f"error_weight[{i}]", w) for i, w in enumerate(mcs.error_weights())]
        self.leakage = self._constant("leakage", mcs.leakage) if mcs.leakage else None
        self.dead_zone = self._constant("dead_zone", mcs.dead_zone) if mcs.dead_zone else None

    def _constant(self, name: str, value: float) -> Var:
        var = Var(f"controller.{name}", NOT_NEGATIVE if name in ("leakage", "dead_zone") else POSITIVE)
        self.parameters[var] = value
        return var

    def command(
        self,
        index: str,
        model: Sequence[Expr],
        measured: Sequence[Expr],
        seen: Sequence[Expr],
        references: Sequence[Expr],
        measures: Quantity | None,
    ) -> Expr:
        """Add one command, ``u = K x + K_r r``; return it."""
        error: Expr = Const(0.0)
        for w, z, x in zip(self.weights, model, measured, strict=True):
            error = error + w * (z - x)
        y_e = Var(f"controller.error{index}")
        self.definitions[y_e] = error
        self.channels.append(Channel.of(y_e.name, y_e, measures, Role.ERROR))
        gains = [(f"K{index}[{j}]", x) for j, x in enumerate(seen)]
        several = len(references) > 1
        gains += [(f"K_r{index}[{j}]" if several else f"K_r{index}", r) for j, r in enumerate(references)]
        total: Expr = Const(0.0)
        for name, signal in gains:
            total = total + self._gain(f"controller.{name}", y_e, signal) * signal
        u = Var(f"command{index}")
        self.definitions[u] = total
        return u

    def _gain(self, name: str, y_e: Var, signal: Expr) -> Var:
        """Add one gain: its integral part as a state, its proportional part beside it."""
        adapting: Expr = y_e
        if self.dead_zone is not None:
            adapting = select(function("fabs", y_e) > self.dead_zone, y_e, 0)
        integral = Var(f"{name}.integral")
        self.gains.append(integral)
        growth = self.alpha * adapting * signal
        self.states[integral] = growth if self.leakage is None else growth - self.leakage * integral
        gain = Var(name)
        self.definitions[gain] = integral + self.beta * y_e * signal
        known = quantity_of(signal)
        per = None if known is None else Quantity("gain", multiplied("", known.unit, -1))
        self.channels.append(Channel.of(name, gain, per, Role.GAIN))
        return gain
