"""Minimal control synthesis (MCS), in the substructuring form of Wagg and Stoten 2001."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondloop.control.base import Controller, Design, displacement_state
from bondloop.errors import InputError
from bondloop.program.expr import Const, Expr, Var, function, select
from bondloop.program.system import System
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
        2: gains on displacement and velocity, ``C_e = [4/t_s, 1]``; 1: gains on displacement only, ``C_e = 1``.
    reference
        The signal r: None for the desired displacement, or a signal such as the support motion (Wagg 2001).
    error_filter
        ``"settling"``: C_e as above; ``"lyapunov"``: C_e = B_e^T P with A_m^T P + P A_m = -Q, Q = I, and A_m with
        both poles at -4/t_s. Either makes {A_m, B_e, C_e} strictly positive real.
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
        for name in ("alpha", "beta", "settling_time"):
            if not getattr(self, name) > 0:
                raise InputError(f"MCS: {name} must be positive; found {getattr(self, name)}")
        if self.order not in (1, 2):
            raise InputError(f"MCS: order must be 1 or 2; found {self.order}")
        if self.error_filter not in ("settling", "lyapunov"):
            raise InputError(
                f"MCS: error_filter must be 'settling' or 'lyapunov'; found {self.error_filter!r}"
            )
        if self.dead_zone < 0 or self.leakage < 0:
            raise InputError("MCS: dead_zone and leakage must not be negative")

    def error_weights(self) -> tuple[float, ...]:
        """The row C_e: weights of the displacement and velocity errors.

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

    def design(self, half: NumericalHalf, actuators: Sequence[Any]) -> Design:
        several = len(half.flows) > 1
        states = dict(zip(half.system.state_vars, half.system.rate_exprs, strict=True))
        definitions = dict(half.system.definitions)
        parameters: dict[Var, float | None] = dict(half.system.parameters_by_var)

        def constant(name: str, value: float) -> Var:
            var = Var(f"controller.{name}")
            parameters[var] = value
            return var

        alpha, beta = constant("alpha", self.alpha), constant("beta", self.beta)
        weights = [constant(f"error_weight[{i}]", w) for i, w in enumerate(self.error_weights())]
        leak = constant("leakage", self.leakage) if self.leakage else None
        zone = constant("dead_zone", self.dead_zone) if self.dead_zone else None
        desired: list[Expr] = []
        motions: list[list[Var]] = []
        for i, flow in enumerate(half.flows):
            index = f"[{i}]" if several else ""
            z, new = displacement_state(states, flow, f"controller.desired{index}.displacement")
            states.update(new)
            desired.append(z)
            motions.append(
                [Var(f"controller.displacement{index}"), Var(f"controller.velocity{index}")][: self.order]
            )
        signals: dict[Var, Any] = {}
        if self.reference is not None:
            shared = Var("controller.reference")
            signals[shared] = self.reference
            references: list[list[Expr]] = [[shared]] * len(desired)
        else:
            references = [[z] for z in desired]
        channels: dict[str, tuple[Expr, str]] = {}
        commands: list[Expr] = []
        for i, (z, flow, measured) in enumerate(zip(desired, half.flows, motions, strict=True)):
            index = f"[{i}]" if several else ""
            errors = [z - measured[0], *([flow - measured[1]] if self.order == 2 else [])]
            total: Expr = Const(0.0)
            for w, e in zip(weights, errors, strict=True):
                total = total + w * e
            y_e = Var(f"controller.error{index}")
            definitions[y_e] = total
            adapting: Expr = y_e if zone is None else select(function("fabs", y_e) > zone, y_e, 0)
            others = range(len(motions)) if self.coupled else [i]
            regressors = [(f"K{index}[{j}]", m) for j, m in enumerate(v for o in others for v in motions[o])]
            regressors += [(f"K_r{index}" + (f"[{j}]" if self.coupled and several and self.reference is None else ""), r)
                           for j, r in enumerate(r for o in (others if self.reference is None else [i]) for r in references[o])]  # fmt: skip
            command: Expr = Const(0.0)
            for name, signal in regressors:
                integral = Var(f"controller.{name}.integral")
                growth = alpha * adapting * signal
                states[integral] = growth if leak is None else growth - leak * integral
                gain = Var(f"controller.{name}")
                definitions[gain] = integral + beta * y_e * signal
                command = command + gain * signal
                channels[gain.name] = (gain, "")
            u = Var(f"command{index}")
            definitions[u] = command
            commands.append(u)
            channels[y_e.name] = (y_e, "")
        displacements = tuple(m[0] for m in motions)
        velocities = tuple(m[1] for m in motions) if self.order == 2 else ()
        system = System(
            "computer",
            states,
            [*half.efforts, *half.excitations, *displacements, *velocities, *signals],
            {f"command{f'[{i}]' if several else ''}": u for i, u in enumerate(commands)},
            parameters,
            definitions,
            tears=half.system.tears,
            initial=half.system.initial_by_var,
            dots=half.system.dots,
            input_rates=half.system.input_rates,
            input_defaults={u: half.system.input_defaults.get(u.name, 0.0) for u in half.system.input_vars},
            lookup=half.system.expression,
            dependent=half.system.dependent,
            remarks=half.system.remarks,
        )
        return Design(
            system, tuple(commands), half.efforts, tuple(desired), half.flows,
            displacements, velocities, channels, signals,
        )  # fmt: skip

    def describe(self) -> dict[str, Any]:
        return {
            "controller": "MCS", "alpha": self.alpha, "beta": self.beta, "settling_time": self.settling_time,
            "order": self.order, "error_filter": self.error_filter, "dead_zone": self.dead_zone,
            "leakage": self.leakage, "coupled": self.coupled,
        }  # fmt: skip
